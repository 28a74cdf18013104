"""What a person or a pipe is shown: tables and lines on stdout; notes, summaries and progress on stderr."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from tamiz.exceptions import TamizWarning
from tamiz.runtime import progress

if TYPE_CHECKING:
    import pyarrow as pa

Cell: TypeAlias = "str | float"

# Rows that are made text at a time.
_ROWS_AT_ONCE = 10_000
# Signs that steer a terminal wherever they end: control signs but tabs and line ends, overrides of the direction of writing, and
# halves of a sign, which are no text.
_CONTROL_CHARACTERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_SCRIPT = re.compile(r"(<script\b.*?</script>)", re.DOTALL)


class Messenger:
    """What a command says on stderr.

    Parameters
    ----------
    quiet : bool
        Say nothing.
    """

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._written_notes: set[str] = set()

    def write_line(self, line: str) -> None:
        """Write a line."""
        if not self._quiet:
            sys.stderr.write(escape_nonprintable(line) + "\n")

    def write_note(self, sentence: str) -> None:
        """Write what a reader of the numbers must know, once."""
        if sentence not in self._written_notes:
            self._written_notes.add(sentence)
            self.write_line(f"note: {sentence}")

    @contextmanager
    def capture_messages(self) -> Iterator[None]:
        """Turn tamiz's warnings into notes, and show how far the work inside has come: a bar on a terminal, lines in a log."""
        with ExitStack() as stack:
            stack.enter_context(warnings.catch_warnings())
            warnings.simplefilter("always", TamizWarning)
            others = warnings.showwarning

            def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
                if issubclass(category, TamizWarning):
                    self.write_note(str(message))
                else:
                    others(escape_control(str(message)), category, *where, **more)

            warnings.showwarning = show
            if not self._quiet:
                stack.enter_context(progress.display_progress(self.write_line))
            yield


def escape_nonprintable(text: str) -> str:
    """Return text without signs that move a terminal's cursor or end the line: those are shown as escapes."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def escape_control(text: str) -> str:
    """Return text with the signs that steer a terminal as escapes; tabs, line ends and rare blanks stay, for programs to read."""
    return _CONTROL_CHARACTERS.sub(lambda sign: repr(sign[0])[1:-1], text)


def show_text(text: str) -> None:
    """Write text to stdout."""
    click.echo(escape_control(text))


def show_json(value: Any, *, indent: int | None = 2, sort_keys: bool = False) -> None:
    """Write a value as JSON to stdout; signs that steer a terminal are written as numbers, of which a reader makes them again."""
    click.echo(_escape_as_json(json.dumps(value, ensure_ascii=False, indent=indent, sort_keys=sort_keys)))


def show_page(page: str) -> None:
    """Write HTML to stdout; signs that steer a terminal are written as references, in scripts as numbers."""
    parts = _SCRIPT.split(page)
    parts[::2] = [_CONTROL_CHARACTERS.sub(lambda sign: f"&#{ord(sign[0])};", text) for text in parts[::2]]
    parts[1::2] = map(_escape_as_json, parts[1::2])
    click.echo("".join(parts), nl=False)


def _escape_as_json(text: str) -> str:
    """Return JSON or a script with the signs that steer a terminal written as their numbers."""
    return _CONTROL_CHARACTERS.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)


def show_table(header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
    """Write a table to stdout: aligned on a terminal, tab separated with full numbers in a pipe."""
    if sys.stdout.isatty():
        click.echo(_align_columns(header, rows))
    else:
        click.echo(_tab_separated([header, *rows]), nl=False)


def show_rows(table: pa.Table) -> None:
    """Write the rows of a table as `show_table` does, some at a time; a missing value is empty."""
    import pyarrow as pa

    if sys.stdout.isatty():
        show_table(table.column_names, [[_cell(value) for value in row.values()] for row in table.to_pylist()])
        return
    click.echo(_tab_separated([table.column_names]), nl=False)
    for batch in table.to_batches(max_chunksize=_ROWS_AT_ONCE):
        columns = [column.cast(pa.string()).fill_null("").to_pylist() for column in batch.columns]
        click.echo(_tab_separated(list(zip(*columns, strict=True))), nl=False)


def _cell(value: Any) -> Cell:
    return value if isinstance(value, float) else "" if value is None else str(value)


def show_lines(lines: Sequence[str]) -> None:
    """Write one value a line to stdout; in a pipe, one that holds tabs, quotes or line ends is quoted as in a table."""
    if sys.stdout.isatty():
        click.echo("".join(f"{escape_nonprintable(line)}\n" for line in lines), nl=False)
    else:
        click.echo(_tab_separated([[line] for line in lines]), nl=False)


def _tab_separated(rows: Sequence[Sequence[Cell]]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, delimiter="\t", lineterminator="\n").writerows(rows)
    return escape_control(buffer.getvalue())


def _align_columns(header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    shown = [
        [escape_nonprintable(cell) if isinstance(cell, str) else f"{cell:.4g}" for cell in row]
        for row in [header, *rows]
    ]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    numbers = [bool(rows) and not isinstance(cell, str) for cell in (rows[0] if rows else header)]
    limit = shutil.get_terminal_size().columns
    lines = []
    for row in shown:
        cells = [f"{c:>{w}}" if right else f"{c:<{w}}" for c, w, right in zip(row, widths, numbers, strict=True)]
        line = "  ".join(cells).rstrip()
        lines.append(line if len(line) <= limit else line[: limit - 1] + "…")
    return "\n".join(lines)
