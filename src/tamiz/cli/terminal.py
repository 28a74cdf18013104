"""What a person or a pipe is shown: tables and lines on stdout; notes, summaries and progress on stderr."""

from __future__ import annotations

import csv
import io
import shutil
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from tamiz import progress
from tamiz.exceptions import TamizWarning

if TYPE_CHECKING:
    import pyarrow as pa

Cell: TypeAlias = "str | float"

# Rows that are made text at a time.
_ROWS_AT_ONCE = 10_000
# What nobody counts to the last digit.
_HUGE = 10**12
# What goes into a file is told so often.
_SECONDS_A_LINE = 5.0


class Voice:
    """What a command says on stderr.

    Parameters
    ----------
    quiet : bool
        Say nothing.
    """

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._noted: set[str] = set()

    def say(self, line: str) -> None:
        """Write a line."""
        if not self._quiet:
            sys.stderr.write(printable(line) + "\n")

    def note(self, sentence: str) -> None:
        """Write what a reader of the numbers must know, once."""
        if sentence not in self._noted:
            self._noted.add(sentence)
            self.say(f"note: {sentence}")

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Turn tamiz's warnings into notes, and show how far the work inside has come: a bar on a terminal, lines in a log."""
        with ExitStack() as stack:
            stack.enter_context(warnings.catch_warnings())
            warnings.simplefilter("always", TamizWarning)
            others = warnings.showwarning

            def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
                if issubclass(category, TamizWarning):
                    self.note(str(message))
                else:
                    others(message, category, *where, **more)

            warnings.showwarning = show
            if not self._quiet:
                stack.enter_context(_bar() if sys.stderr.isatty() else progress.listening(self._now_and_then()))
            yield

    def _now_and_then(self) -> progress.Listener:
        """Return what writes a line where the last one is some seconds old, for a log."""
        last = time.monotonic()

        def listen(label: str, done: int, total: int | None) -> None:
            nonlocal last
            if time.monotonic() - last < _SECONDS_A_LINE:
                return
            last = time.monotonic()
            self.say(label if not done else f"{label}: {_progressed(done, total)}")

        return listen


@contextmanager
def _bar() -> Iterator[None]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[done]}", markup=False),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}", markup=False),
    )
    # Standard output holds the answer and is not rich's to redirect.
    with Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False) as bar:
        task, stage = bar.add_task("Starting", total=None, done="", left=""), ""

        def listen(label: str, done: int, total: int | None) -> None:
            nonlocal task, stage
            if (name := label.partition(",")[0]) != stage:
                # The pace of one stage says nothing of the next.
                bar.remove_task(task)
                task, stage = bar.add_task(label, total=total, done="", left=""), name
            bar.update(task, description=label, completed=done, total=total)
            bar.update(task, done=_progressed(done, total), left=_left(bar.tasks[0].time_remaining))

        with progress.listening(listen):
            yield


def _progressed(done: int, total: int | None) -> str:
    """Return how far work has come, in numbers."""
    if total is None:
        return f"{done:,}"
    return f"{done:,} of {total:,}" if total < _HUGE else f"{done:,} of {total:.2g}"


def _left(seconds: float | None) -> str:
    """Return how long work goes on at its pace, where that is known."""
    return f"about {timedelta(seconds=round(seconds))} left" if seconds else ""


def printable(text: str) -> str:
    """Return text without signs that move a terminal's cursor or end the line: those are shown as escapes."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def show_table(header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
    """Write a table to stdout: aligned on a terminal, tab separated with full numbers in a pipe."""
    if sys.stdout.isatty():
        click.echo(_aligned(header, rows))
    else:
        click.echo(_separated([header, *rows]), nl=False)


def show_rows(table: pa.Table) -> None:
    """Write the rows of a table as `show_table` does, some at a time; a missing value is empty."""
    import pyarrow as pa

    if sys.stdout.isatty():
        show_table(table.column_names, [[_cell(value) for value in row.values()] for row in table.to_pylist()])
        return
    click.echo(_separated([table.column_names]), nl=False)
    for batch in table.to_batches(max_chunksize=_ROWS_AT_ONCE):
        columns = [column.cast(pa.string()).fill_null("").to_pylist() for column in batch.columns]
        click.echo(_separated(list(zip(*columns, strict=True))), nl=False)


def _cell(value: Any) -> Cell:
    return value if isinstance(value, float) else "" if value is None else str(value)


def show_lines(lines: Sequence[str]) -> None:
    """Write one value a line to stdout; one that holds tabs, quotes or line ends is quoted as in a table."""
    click.echo(_separated([[line] for line in lines]), nl=False)


def _separated(rows: Sequence[Sequence[Cell]]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, delimiter="\t", lineterminator="\n").writerows(rows)
    return buffer.getvalue()


def _aligned(header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    shown = [[printable(cell) if isinstance(cell, str) else f"{cell:.4g}" for cell in row] for row in [header, *rows]]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    numbers = [bool(rows) and not isinstance(cell, str) for cell in (rows[0] if rows else header)]
    limit = shutil.get_terminal_size().columns
    lines = []
    for row in shown:
        cells = [f"{c:>{w}}" if right else f"{c:<{w}}" for c, w, right in zip(row, widths, numbers, strict=True)]
        line = "  ".join(cells).rstrip()
        lines.append(line if len(line) <= limit else line[: limit - 1] + "…")
    return "\n".join(lines)
