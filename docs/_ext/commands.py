"""The page of the command line, written from the commands themselves each time that the site is built."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner

from tamiz.cli import main

# Width of code on the site without a scroll bar.
WIDTH = 92


def write(app: Any) -> None:
    """Write `commands.rst` into the folder of the site's sources."""
    (Path(app.srcdir) / "commands.rst").write_text(page(), encoding="utf-8")


def page() -> str:
    """Return the help of every command, and the names of methods that commands accept."""
    top = click.Context(main, info_name="tamiz", **_settings(main))
    parts = [
        _heading("Command line", "="),
        "The output of ``tamiz -h``, and of ``-h`` of every command.",
        _shown(main, top),
    ]
    for name in main.list_commands(top):
        command = main.get_command(top, name)
        assert command is not None
        context = click.Context(command, info_name=name, parent=top, **_settings(command))
        parts += [_heading(f"tamiz {name}", "-"), _shown(command, context)]
    listed = CliRunner().invoke(main, ["methods"], env={"COLUMNS": str(WIDTH), "NO_COLOR": "1"}, catch_exceptions=False)
    parts += [_heading("Names of methods", "-"), "The output of ``tamiz methods``:", _literal(listed.stdout)]
    return "\n\n".join(parts) + "\n"


def _settings(command: click.Command) -> dict[str, Any]:
    return {**command.context_settings, "terminal_width": WIDTH}


def _shown(command: click.Command, context: click.Context) -> str:
    return _literal(command.get_help(context))


def _literal(text: str) -> str:
    lines = (f"   {line}".rstrip() for line in text.strip("\n").splitlines())
    return ".. code-block:: text\n\n" + "\n".join(lines)


def _heading(text: str, line: str) -> str:
    return f"{text}\n{line * len(text)}"


def setup(app: Any) -> dict[str, Any]:
    """Write the page before the sources are read."""
    app.connect("builder-inited", write, priority=100)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
