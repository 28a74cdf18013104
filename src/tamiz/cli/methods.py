"""`tamiz methods`: list all registered methods."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from importlib.resources import files
from itertools import groupby

from tamiz.cli.command import command
from tamiz.cli.options import JSON
from tamiz.cli.terminal import Messenger, show_records, show_text

# Written by `tools/stubs.py`.
METHODS_FILE = "methods.json"


@command("List every method, with its name and a summary.")
def methods(_: Messenger, *, as_json: bool = JSON) -> None:
    """\b
    tamiz methods
    tamiz methods --json | jq '.[] | select(.kind == "search")'

    List every criterion, search, selection, graph, map, clustering and file format: kind, name on the command
    line, label and summary.
    """
    listed = json.loads((files("tamiz.cli") / METHODS_FILE).read_text(encoding="utf-8"))
    if sys.stdout.isatty() and not as_json:
        show_text("\n".join(_grouped_lines(listed)))
    else:
        show_records(listed, as_json=as_json)


def _grouped_lines(listed: list[dict[str, str]]) -> Iterator[str]:
    """Yield the names with their summaries under each kind, in lines of the width of the terminal."""
    width, limit = max(len(method["name"]) for method in listed), shutil.get_terminal_size().columns
    for kind, methods in groupby(listed, lambda method: method["kind"]):
        yield kind.upper()
        for method in methods:
            line = f"  {method['name']:<{width}}  {method['summary']}"
            yield line if len(line) <= limit else f"{line[: limit - 1]}…"
