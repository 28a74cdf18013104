"""Methods by name: one line of text each, classes loaded when asked for.

A registry is read as text so that `tamiz --help` can list every method without importing numpy. A line holds
the name, "module:Name" (the module relative to the package), the kind and the label:

    information_gain   information_gain:InformationGain   relevance   Information gain
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import Any


# MERGED: What the parts of a study are called: as their registry lists them.
def method_label(registry: Registry, method: Any) -> dict[str, str]:
    """Return the name and label of a part; its class is its name where nothing lists it."""
    name = type(method).__name__
    entry = next((entry for entry in registry if entry.attribute == name), None)
    return entry_label(entry) if entry else {"id": name, "label": name}


def entry_label(entry: Entry) -> dict[str, str]:
    """Return the name and label of what a registry lists."""
    return {"id": entry.name, "label": entry.label}


@dataclass(frozen=True)
class Entry:
    """One line of a registry."""

    name: str
    package: str
    module: str
    attribute: str
    kind: str
    label: str

    def load(self) -> Any:
        """Return the class or function that the line names."""
        return getattr(import_module(f"{self.package}.{self.module}"), self.attribute)


class Registry:
    """The lines of one package."""

    def __init__(self, package: str, lines: str) -> None:
        self.package = package
        self._entries: dict[str, Entry] = {}
        for line in filter(None, map(str.strip, lines.splitlines())):
            name, target, kind, label = line.split(maxsplit=3)
            module, _, attribute = target.partition(":")
            self._entries[name] = Entry(name, package, module, attribute, kind, label)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def __getitem__(self, name: str) -> Entry:
        if name not in self._entries:
            raise ValueError(
                f"{self.package} has no {name!r}{suggestion(name, self._entries)}; it has {', '.join(self._entries)}."
            )
        return self._entries[name]

    def find(self, name: str, kind: str) -> Entry:
        """Return the line of a kind that a name stands for, written as on the command line or as in the text."""
        return find_entry({command_name(entry): entry for entry in self.of_kind(kind)}, name, kind)

    def of_kind(self, kind: str) -> list[Entry]:
        """Return the lines of one kind, in the order of the text."""
        return [entry for entry in self if entry.kind == kind]

    def lazy_module(self) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
        """Return `__getattr__`, `__dir__` and `__all__` of a package that imports its members on first use."""
        members = {entry.attribute: entry for entry in self}

        def load(attribute: str) -> Any:
            if attribute not in members:
                raise AttributeError(f"module {self.package!r} has no attribute {attribute!r}")
            return members[attribute].load()

        return load, lambda: sorted(members), list(members)

    def stub(self) -> str:
        """Return the type stub of the package: the same members, imported where a type checker sees them."""
        lines = [f"from {e.package}.{e.module} import {e.attribute} as {e.attribute}" for e in self]
        own = ["registry: Registry"] if "." in self.package else ["__version__: str", "registry: Registry"]
        return "\n".join(["from tamiz.runtime.registry import Registry", *sorted(lines), "", *own, ""])


def command_name(entry: Entry) -> str:
    """Return the name of a method on the command line."""
    return entry.name.replace("_", "-")


def find_entry(entries: Mapping[str, Entry], name: str, kind: str) -> Entry:
    """Return the line of a name with dashes or underscores; its first words do where no other line has them.

    Parameters
    ----------
    entries : dict of str to Entry
        By their names on the command line.
    name, kind : str
        What is asked for, and what it should be.
    """
    asked = name.strip().lower().replace("_", "-")
    begun = [known for known in entries if f"{known}-".startswith(f"{asked}-")]
    if asked not in entries and len(begun) == 1:
        asked = begun[0]
    if asked not in entries:
        raise ValueError(f"{name!r} is no {kind}{suggestion(asked, entries)}; there are: {', '.join(entries)}.")
    return entries[asked]


def suggestion(name: str, known: Any) -> str:
    """Return `" (did you mean 'x'?)"` for the closest known name, or nothing."""
    close = get_close_matches(str(name), [str(k) for k in known], n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
