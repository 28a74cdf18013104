"""`tamiz methods`: list all registered methods."""

from __future__ import annotations

import inspect
import json
import shutil
import sys
from collections.abc import Iterator
from importlib.resources import files
from itertools import groupby

import click

from tamiz.cli.command import command
from tamiz.cli.options import JSON
from tamiz.cli.select_methods import SELECTORS
from tamiz.cli.terminal import show_json, show_table, show_text
from tamiz.cluster import registry as clusters
from tamiz.criteria import registry as criteria
from tamiz.graphs import registry as graphs
from tamiz.method_lookup import SHORTHAND_PARAMETERS
from tamiz.models import registry as wrappers
from tamiz.runtime.registry import Entry, Registry, command_name
from tamiz.search import registry as searches
from tamiz.table import registry as sources

# Written by `tools/stubs.py`.
METHODS_FILE = "methods.json"
# Kinds that only Python code uses.
_EXCLUDED_KINDS = ("function", "base", "wrapper")


@command("List every method, with its name and a summary.")
def methods(_: click.Context, *, as_json: bool = JSON) -> None:
    """\b
    tamiz methods
    tamiz methods --json | jq '.[] | select(.kind == "search")'

    List every criterion, search, selection, graph, map, clustering and file format: kind, name on the command
    line, label and summary.
    """
    listed = json.loads((files("tamiz.cli") / METHODS_FILE).read_text(encoding="utf-8"))
    if as_json:
        show_json(listed)
    elif sys.stdout.isatty():
        show_text("\n".join(_grouped_lines(listed)))
    else:
        show_table(tuple(listed[0]), [tuple(method.values()) for method in listed])


def _grouped_lines(listed: list[dict[str, str]]) -> Iterator[str]:
    """Yield the names with their summaries under each kind, in lines of the width of the terminal."""
    width, limit = max(len(method["name"]) for method in listed), shutil.get_terminal_size().columns
    for kind, methods in groupby(listed, lambda method: method["kind"]):
        yield kind.upper()
        for method in methods:
            line = f"  {method['name']:<{width}}  {method['summary']}"
            yield line if len(line) <= limit else f"{line[: limit - 1]}…"


def list_methods() -> list[dict[str, str]]:
    """Return every method from the registries. Importing all of them takes seconds, so the command reads a stored list."""
    from tamiz.reduction.named_maps import list_map_methods

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
    shorthand = SHORTHAND_PARAMETERS.get(entry.name)
    if shorthand is None:
        return [""]
    default = inspect.signature(entry.load()).parameters[shorthand.name].default
    return list(shorthand.choices) or [str(default)]


def _registry_rows(registry: Registry) -> list[tuple[Entry, str, str, str]]:
    return [(e, e.kind, command_name(e), e.label) for e in registry if e.kind not in _EXCLUDED_KINDS]
