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

from tamiz.cli.command import DataCommand
from tamiz.cli.map_options import list_maps
from tamiz.cli.options import json_flag
from tamiz.cli.search_options import list_searches, list_wrappers
from tamiz.cli.select_methods import list_selectors
from tamiz.cli.terminal import show_json, show_table, show_text
from tamiz.cluster import registry as clusters
from tamiz.criteria import registry as criteria
from tamiz.graphs import registry as graphs
from tamiz.runtime.registry import Entry, Registry, command_name
from tamiz.table import registry as sources

# Written by `tools/stubs.py`.
METHODS_FILE = "methods.json"
# Kinds that only Python code uses.
_EXCLUDED_KINDS = ("function", "base", "wrapper")


@click.command(cls=DataCommand, short_help="List every method, with its name and a summary.")
@json_flag
def methods(as_json: bool) -> None:
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
    # On the command line a builder is called a graph.
    builders = [(entry, "graph", command_name(entry), entry.label) for entry in graphs.of_kind("builder")]
    lines = [
        *_registry_rows(criteria),
        *list_wrappers(),
        *list_searches(),
        *list_selectors(),
        *builders,
        *list_maps(),
        *_registry_rows(clusters),
        *_registry_rows(sources),
    ]
    return [
        {"kind": kind, "name": name, "label": label, "summary": (inspect.getdoc(entry.load()) or "").split("\n")[0]}
        for entry, kind, name, label in lines
    ]


def _registry_rows(registry: Registry) -> list[tuple[Entry, str, str, str]]:
    return [(e, e.kind, command_name(e), e.label) for e in registry if e.kind not in _EXCLUDED_KINDS]
