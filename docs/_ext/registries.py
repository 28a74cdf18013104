"""A page for every public class and function, written from the registries each time that the site is built.

Every registered object has a page, in the section of its package and under the heading of its kind. Every record that a
function, a selector or a map returns has one too; records are found by the class names in docstrings.
"""

from __future__ import annotations

import inspect
import re
import shutil
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from numpydoc.docscrape import ClassDoc, FunctionDoc

import tamiz
from tamiz.runtime.registry import Registry

FOLDER = "methods"
# Order of the packages on the site; other packages follow.
ORDER = [
    "",
    "criteria",
    "search",
    "error_control",
    "assessment",
    "reduction",
    "metrics",
    "comparison",
    "graphs",
    "neighbors",
    "cluster",
    "display",
]
# Kinds that are chosen by name: they are listed in a table and have no page.
NAMED_ONLY = ("backend", "model", "section", "file")
# Kinds whose return values are for users; those of criteria and searches are for selectors.
RETURNING = ("selector", "function", "map", "graph", "record", "result")
HEADINGS = {
    "relevance": "Relevances: scores of single columns",
    "merit": "Merits: scores of sets of columns",
    "wrapper": "Wrappers: scores of models",
    "discretization": "Discretisations",
    "search": "Searches",
    "stopping": "Stopping rules",
    "map": "Maps",
    "builder": "Graph builders",
    "weight": "Edge weights",
    "neighbors": "Nearest-neighbour searches",
    "clustering": "Clusterings",
    "display": "Displays",
    "selector": "Selectors",
    "estimator": "Estimators",
    "function": "Functions",
    "predictor": "Predictors",
    "backend": "Fold backends: estimators that are not refitted",
    "model": "Models by name",
    "section": "Sections of the report",
    "file": "Files",
    "base": "Base classes",
    "record": "Records",
}


class Page(NamedTuple):
    """A public object, the module that exports it, and the path of its page."""

    thing: Any
    name: str
    module: str
    label: str
    kind: str
    path: str

    @property
    def full_name(self) -> str:
        return f"{self.module}.{self.name}"

    @property
    def summary(self) -> str:
        """The first paragraph of the docstring."""
        return " ".join((inspect.getdoc(self.thing) or "").split("\n\n")[0].split())


def packages() -> list[str]:
    """Return the names of the packages with a registry, without "tamiz."."""
    root = Path(tamiz.__file__).parent
    found = []
    for init in sorted(root.glob("**/__init__.py")):
        name = ".".join(init.parent.relative_to(root).parts)
        if isinstance(getattr(import_module(_module(name)), "registry", None), Registry):
            found.append(name)
    return sorted(found, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))


def pages() -> dict[str, list[Page]]:
    """Return the pages of every package; an object that is registered twice has one page, in the first package."""
    seen: set[int] = set()
    found: dict[str, list[Page]] = {}
    for package in packages():
        found[package] = []
        for entry in import_module(_module(package)).registry:
            thing = entry.load()
            if entry.kind not in NAMED_ONLY and id(thing) not in seen:
                seen.add(id(thing))
                path = f"{FOLDER}/{package or 'tamiz'}/{entry.name}"
                found[package].append(Page(thing, entry.attribute, _module(package), entry.label, entry.kind, path))
    _add_records(found, seen)
    # Records follow the objects that return them.
    return {package: sorted(listed, key=lambda page: page.kind == "record") for package, listed in found.items()}


def _add_records(found: dict[str, list[Page]], seen: set[int]) -> None:
    """Add the records that public objects return, and the records that those return."""
    waiting = [page.thing for listed in found.values() for page in listed if page.kind in RETURNING]
    while waiting:
        for record in _returned_records(waiting.pop(0)):
            if id(record) not in seen:
                seen.add(id(record))
                waiting.append(record)
                package = record.__module__.removeprefix("tamiz.").split(".")[0]
                path = f"{FOLDER}/{package}/{record.__module__.rsplit('.', 1)[-1]}-{record.__name__}"
                # Records of packages without a registry are internal.
                if package in found:
                    found[package].append(Page(record, record.__name__, record.__module__, "", "record", path))


def _returned_records(thing: Any) -> Iterator[type]:
    """Yield the documented classes of tamiz that the docstrings of an object name as attributes or return values."""
    texts = [(thing, section) for section in _sections(thing)]
    if inspect.isclass(thing):
        texts += [(method, section) for method in _own(thing) for section in _sections(method)]
    for documented, text in texts:
        scope = vars(sys.modules[inspect.unwrap(documented).__module__])
        for word in re.findall(r"\b[A-Z]\w+", text):
            named = scope.get(word)
            if inspect.isclass(named) and named.__module__.startswith("tamiz.") and ClassDoc(named)["Attributes"]:
                yield named


def _sections(thing: Any) -> list[str]:
    doc = ClassDoc(thing)["Attributes"] if inspect.isclass(thing) else FunctionDoc(thing)["Returns"]
    returned = getattr(thing, "__annotations__", {}).get("return", "")
    return [f"{item.name} {item.type}" for item in doc] + ([returned] if isinstance(returned, str) else [])


def _own(cls: type) -> list[Any]:
    return [getattr(cls, name) for name in members(cls) if inspect.isroutine(getattr(cls, name))]


def members(cls: type) -> list[str]:
    """Return the public methods and properties of a class that tamiz wrote and documented, in the order of the source."""
    names: dict[str, None] = {}
    for base in cls.__mro__:
        if base.__module__.startswith("tamiz"):
            for name, member in vars(base).items():
                documented = isinstance(member, property | classmethod | staticmethod) or inspect.isfunction(member)
                if not name.startswith("_") and documented and inspect.getdoc(getattr(cls, name)):
                    names.setdefault(name)
    return list(names)


def inherited(cls: type) -> list[str]:
    """Return the public methods that a class inherits from scikit-learn."""
    own = set(members(cls))
    return sorted(
        name
        for name, member in inspect.getmembers(cls, inspect.isfunction)
        if not name.startswith("_") and name not in own and member.__module__.startswith("sklearn")
    )


def write(app: Any) -> None:
    """Write all pages into the folder of the site's sources."""
    root = Path(app.srcdir)
    shutil.rmtree(root / FOLDER, ignore_errors=True)
    found = pages()
    for package, listed in found.items():
        for page in listed:
            _save(root, page.path, page_text(page))
        _save(root, f"{FOLDER}/{package or 'tamiz'}/index", package_text(package, listed))
    sections = "\n".join(f"   {package or 'tamiz'}/index" for package in found)
    lead = "One page per method, by package, with its definition, cost and source."
    _save(
        root,
        f"{FOLDER}/index",
        f"{_heading('Every method', '=')}\n\n{lead}\n\n.. toctree::\n   :maxdepth: 2\n\n{sections}\n",
    )


def _save(root: Path, path: str, text: str) -> None:
    file = root / f"{path}.rst"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def page_text(page: Page) -> str:
    """Return the page of one object."""
    parts = [_heading(page.name, "=")]
    if page.label:
        parts.append(f".. rst-class:: method\n\n{page.label}: ``from {page.module} import {page.name}``")
    if inspect.isclass(page.thing):
        own, others = members(page.thing), inherited(page.thing)
        lines = [f".. autoclass:: {page.full_name}"]
        if own:
            lines += [f"   :members: {', '.join(own)}", "   :member-order: bysource"]
        parts.append("\n".join(lines))
        if others:
            parts.append("From scikit-learn: " + ", ".join(f"``{name}``" for name in others) + ".")
    else:
        parts.append(f".. autofunction:: {page.full_name}")
    parts.append(f".. minigallery:: {page.full_name}\n   :add-heading: In the gallery\n   :heading-level: -")
    return "\n\n".join(parts) + "\n"


def package_text(package: str, listed: list[Page]) -> str:
    """Return the page of a package: a table for each kind of object."""
    module = import_module(_module(package))
    parts = [f".. module:: {module.__name__}", _heading(module.__name__, "="), inspect.getdoc(module) or ""]
    kinds = dict.fromkeys([*(page.kind for page in listed), *(e.kind for e in module.registry if e.kind in NAMED_ONLY)])
    for kind in kinds:
        parts.append(_heading(HEADINGS.get(kind, kind.capitalize()), "-"))
        if kind in NAMED_ONLY:
            parts.append(_table([(f"``{entry.name}``", entry.label) for entry in module.registry.of_kind(kind)]))
        else:
            of_kind = [page for page in listed if page.kind == kind]
            parts.append(_table([(f":doc:`{page.name} </{page.path}>`", page.summary) for page in of_kind]))
    paths = "\n".join(f"   {page.name} </{page.path}>" for page in listed)
    parts.append(f".. toctree::\n   :hidden:\n\n{paths}")
    return "\n\n".join(parts) + "\n"


def _table(rows: list[tuple[str, str]]) -> str:
    lines = [".. list-table::", "   :widths: 30 70", ""]
    for name, summary in rows:
        lines += [f"   * - {name}", f"     - {summary}"]
    return "\n".join(lines)


def _heading(text: str, line: str) -> str:
    return f"{text}\n{line * len(text)}"


def _module(package: str) -> str:
    return f"tamiz.{package}".rstrip(".")


def setup(app: Any) -> dict[str, Any]:
    """Write the pages before the sources are read."""
    app.connect("builder-inited", write, priority=100)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
