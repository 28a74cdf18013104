"""Output of commands: tables and lines on stdout; notes, summaries and progress on stderr."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import sys
import textwrap
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from tamiz.exceptions import TamizWarning
from tamiz.runtime import progress
from tamiz.runtime.user_warnings import is_muted
from tamiz.runtime.verdicts import Verdict

if TYPE_CHECKING:
    import pyarrow as pa

Cell: TypeAlias = "str | float"

# Standard input for a table, standard output for an output.
STDOUT = Path("-")

# Rows converted to text at a time.
_ROWS_AT_ONCE = 10_000
# Characters that control a terminal: control characters except tabs and line ends, overrides of the text direction, and
# surrogates, which cannot be encoded.
_CONTROL_CHARACTERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_SCRIPT = re.compile(r"(<script\b.*?</script>)", re.DOTALL)


class Messenger:
    """Messages of a command on stderr; none if `quiet`."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._written_notes: set[str] = set()

    def write_line(self, line: str) -> None:
        if not self._quiet:
            sys.stderr.write(escape_nonprintable(line) + "\n")

    def write_verdict(self, lines: Sequence[str]) -> None:
        """Write lines, on a terminal wrapped at its width, with the columns that are kept and the warnings in colour."""
        if self._quiet or not sys.stderr.isatty():
            for line in lines:
                self.write_line(line)
            return
        width = shutil.get_terminal_size().columns
        for line in lines:
            indent, shown = " " * (len(line) - len(line.lstrip()) + 2), escape_nonprintable(line)
            for part in textwrap.wrap(shown, width, subsequent_indent=indent, drop_whitespace=False) or [""]:
                sys.stderr.write(f"{_color_line(part, line)}\n")

    def write_note(self, sentence: str) -> None:
        """Write a note, or a verdict with its severity and code; the same one is written once, and a muted one never."""
        if sentence not in self._written_notes and not is_muted(sentence):
            self._written_notes.add(sentence)
            kind = f"{sentence.severity} {sentence.code}" if isinstance(sentence, Verdict) else "note"
            self.write_line(f"{kind}: {sentence}")

    @contextmanager
    def capture_messages(self, *, notes: bool = True) -> Iterator[None]:
        """Show progress, a bar on a terminal and lines in a log, and write warnings of tamiz, unless `notes` is False."""
        with ExitStack() as stack:
            stack.enter_context(warnings.catch_warnings())
            warnings.simplefilter("always", TamizWarning)
            default_showwarning = warnings.showwarning

            def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
                if issubclass(category, TamizWarning):
                    if not notes:
                        return
                    self.write_note(message.args[0] if isinstance(message, TamizWarning) else str(message))
                else:
                    default_showwarning(escape_control(str(message)), category, *where, **more)

            warnings.showwarning = show
            if not self._quiet:
                stack.enter_context(progress.display_progress(self.write_line))
            yield


def _color_line(text: str, line: str) -> str:
    """Return a part of a line of a verdict in its colour, as it is where NO_COLOR is set."""
    if os.environ.get("NO_COLOR"):
        return text
    if line.startswith("  Keep "):
        return click.style(text, bold=True)
    if line.startswith("  ! "):
        return click.style(text, fg="yellow")
    return text.replace("  keep  ", click.style("  keep  ", fg="green"), 1) if "  keep  " in line else text


def escape_nonprintable(text: str) -> str:
    """Return text on one line, with non-printable characters as escapes."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def escape_control(text: str) -> str:
    """Return text with control characters as escapes; tabs, line ends and unusual spaces are unchanged, for programs to read."""
    return _CONTROL_CHARACTERS.sub(lambda match: repr(match[0])[1:-1], text)


def show_text(text: str) -> None:
    click.echo(escape_control(text))


def show_json(value: Any, *, indent: int | None = 2) -> None:
    """Write a value as JSON to stdout; control characters are written as \\u escapes, which a JSON parser decodes."""
    click.echo(_escape_as_json(json.dumps(value, ensure_ascii=False, indent=indent)))


def write_page(result: Any, output: Path) -> None:
    """Write a page to a file and its path to stdout; for "-" the page itself, with control characters escaped."""
    if output != STDOUT:
        show_text(str(result.to_html(output)))
        return
    parts = _SCRIPT.split(result.page())
    parts[::2] = [_CONTROL_CHARACTERS.sub(lambda match: f"&#{ord(match[0])};", text) for text in parts[::2]]
    parts[1::2] = map(_escape_as_json, parts[1::2])
    click.echo("".join(parts), nl=False)


def _escape_as_json(text: str) -> str:
    """Return JSON or a script with control characters as \\u escapes."""
    return _CONTROL_CHARACTERS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def show_table(header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
    """Write a table to stdout: aligned on a terminal, tab separated with all digits in a pipe."""
    if sys.stdout.isatty():
        click.echo(_align_columns(header, rows))
    else:
        click.echo(_tab_separated([header, *rows]), nl=False)


def show_records(records: Sequence[Mapping[str, str]], *, as_json: bool) -> None:
    """Write records of the same keys as JSON, or as `show_table` does."""
    if as_json:
        show_json(records)
    else:
        show_table(tuple(records[0]), [tuple(one.values()) for one in records])


def show_frame(frame: pa.Table) -> None:
    """Write a small table without missing values as `show_table` does."""
    show_table(frame.column_names, [list(row.values()) for row in frame.to_pylist()])


def show_rows(table: pa.Table) -> None:
    """Write the rows of a table as `show_table` does, in batches; a missing value is an empty cell."""
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
    """Write one value per line to stdout; in a pipe, a value with tabs, quotes or line ends is quoted as in a table."""
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
