"""Write the files generated from the registries: a type stub for every package, and the list of `tamiz methods`."""

import inspect
import json
from importlib import import_module
from pathlib import Path

import tamiz
from tamiz.cli.methods import METHODS_FILE
from tamiz.cli.select import SELECTORS
from tamiz.cluster import registry as clusters
from tamiz.criteria import registry as criteria
from tamiz.graphs import registry as graphs
from tamiz.models import registry as wrappers
from tamiz.reduction.named_maps import list_map_methods
from tamiz.runtime.registry import Entry, Registry, command_name
from tamiz.search import registry as searches
from tamiz.table import registry as sources

ROOT = Path(tamiz.__file__).parent
# Kinds that only Python code uses.
_EXCLUDED_KINDS = ("function", "base", "wrapper")


def list_methods() -> list[dict[str, str]]:
    """Return every method from the registries. Importing all of them takes seconds, so the command reads the stored list."""
    # Each with its entry, kind, name on the command line and label.
    lines: list[tuple[Entry, str, str, str]] = [
        *_registry_rows(criteria),
        *((one, "merit", f"wrapper:{command_name(one)}", f"Score of {one.label}") for one in wrappers.of_kind("model")),
        *(
            (one, one.kind, ":".join(filter(None, [command_name(one), argument])), one.label)
            for one in searches.of_kind("search")
            for argument in _argument_choices(one)
        ),
        *((one.entry, "selection", name, one.entry.label) for name, one in SELECTORS.items()),
        *((one, "graph", command_name(one), one.label) for one in graphs.of_kind("builder")),
        *((one.entry, "map", one.name, one.label) for one in list_map_methods()),
        *_registry_rows(clusters),
        *_registry_rows(sources),
    ]
    return [
        {"kind": kind, "name": name, "label": label, "summary": (inspect.getdoc(entry.load()) or "").split("\n")[0]}
        for entry, kind, name, label in lines
    ]


def _argument_choices(entry: Entry) -> list[str]:
    """Return the arguments that a search accepts: its choices, or the default where it accepts any number."""
    search = entry.load()
    shorthand = search.shorthand
    if shorthand is None:
        return [""]
    default = inspect.signature(search).parameters[shorthand.name].default
    return list(shorthand.choices) or [str(default)]


def _registry_rows(registry: Registry) -> list[tuple[Entry, str, str, str]]:
    return [(e, e.kind, command_name(e), e.label) for e in registry if e.kind not in _EXCLUDED_KINDS]


def main() -> None:
    for init in sorted(ROOT.glob("**/__init__.py")):
        package = ".".join(["tamiz", *init.parent.relative_to(ROOT).parts])
        registry = getattr(import_module(package), "registry", None)
        if isinstance(registry, Registry):
            init.with_suffix(".pyi").write_text(registry.stub(), encoding="utf-8")
    (ROOT / "cli" / METHODS_FILE).write_text(
        json.dumps(list_methods(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
