"""Registries of methods: one line of text for each method, whose class is imported at first use.

A registry is text so that `tamiz --help` lists every method without importing numpy. A line has the name, "module:Name"
(relative to the package), the kind and the label:

    information_gain   information_gain:InformationGain   relevance   Information gain
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import Any


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
        """Return the class or function of the entry."""
        return getattr(import_module(f"{self.package}.{self.module}"), self.attribute)


class Registry:
    """The methods of one package."""

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

    def find(self, name: str, kind: str, label: str = "") -> Entry:
        """Return the entry of a kind with a name, which may have dashes or underscores; an error calls the kind `label`."""
        return find_entry({command_name(entry): entry for entry in self.of_kind(kind)}, name, label or kind)

    def of_kind(self, kind: str) -> list[Entry]:
        """Return the entries of one kind, in the order of the registry."""
        return [entry for entry in self if entry.kind == kind]

    def lazy_module(self) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
        """Return `__getattr__`, `__dir__` and `__all__` of a package that imports its members at first use."""
        members = {entry.attribute: entry for entry in self}

        def load(attribute: str) -> Any:
            if attribute not in members:
                raise AttributeError(f"module {self.package!r} has no attribute {attribute!r}")
            return members[attribute].load()

        return load, lambda: sorted(members), list(members)

    def stub(self) -> str:
        """Return the type stub of the package, which imports all members for type checkers."""
        lines = [f"from {e.package}.{e.module} import {e.attribute} as {e.attribute}" for e in self]
        own = ["registry: Registry"] if "." in self.package else ["__version__: str", "registry: Registry"]
        return "\n".join(["from tamiz.runtime.registry import Registry", *sorted(lines), "", *own, ""])


def command_name(entry: Entry) -> str:
    return entry.name.replace("_", "-")


def find_entry(entries: Mapping[str, Entry], name: str, kind: str) -> Entry:
    """Return the entry with a name, in dashes or underscores; its first words suffice if they are unambiguous.

    ValueError, which suggests the closest name and lists all, if no entry matches.
    """
    key = name.strip().lower().replace("_", "-")
    matches = [known for known in entries if f"{known}-".startswith(f"{key}-")]
    if key not in entries and len(matches) == 1:
        key = matches[0]
    if key not in entries:
        raise ValueError(f"{name!r} is no {kind}{suggestion(key, entries)}; there are: {', '.join(entries)}.")
    return entries[key]


def method_label(registry: Registry, method: Any) -> dict[str, str]:
    """Return the name and label of a method; both are the name of its class if the registry does not list it."""
    name = type(method).__name__
    entry = next((entry for entry in registry if entry.attribute == name), None)
    return entry_label(entry) if entry else {"id": name, "label": name}


def entry_label(entry: Entry) -> dict[str, str]:
    return {"id": entry.name, "label": entry.label}


def number_repeated(names: Sequence[str]) -> list[str]:
    """Return names, and those that occur more than once with their number among equal ones, such as "mds_2"."""
    return [name if names.count(name) == 1 else f"{name}_{names[: k + 1].count(name)}" for k, name in enumerate(names)]


def suggestion(name: str, known: Any) -> str:
    """Return `" (did you mean 'x'?)"` for the closest known name, or "" if none is close."""
    spelled = {str(one).casefold().strip(): str(one) for one in known}
    close = get_close_matches(str(name).casefold().strip(), spelled, n=1)
    return f" (did you mean {spelled[close[0]]!r}?)" if close else ""
