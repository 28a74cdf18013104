"""Progress of long work, reported to a listener; there is none unless the command line or a caller sets one."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from datetime import timedelta
from typing import TypeAlias, TypeVar

ProgressListener: TypeAlias = "Callable[[str, int, int | None], None]"
Item = TypeVar("Item")

# Larger totals are shown rounded to two digits.
_ROUNDED_TOTAL = 10**12
# Seconds between two lines in a log.
_LOG_INTERVAL = 5.0

_listener: ContextVar[ProgressListener | None] = ContextVar("tamiz_listener", default=None)


@contextmanager
def show_progress(listener: ProgressListener | None = None) -> Iterator[None]:
    """Show the progress of the work inside on standard error, or pass it to a function.

    Parameters
    ----------
    listener : callable, default=None
        Called as `listener(label, done, total)` with the name of the step, the number of its parts that are done, and their total
        number, None if unknown. An exception that it raises ends the work. By default a bar is shown on a terminal, and in a
        log a line every 5 seconds.

    Returns
    -------
    context manager

    Notes
    -----
    Applies to all work of tamiz inside the `with` block in this thread. The cost is not measurable: parts take milliseconds.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import show_progress, study
    >>> labels = []
    >>> with show_progress(lambda label, done, total: labels.append(label)):
    ...     result = study(*load_iris(return_X_y=True), maps=[], assess=False)
    >>> "Searching, best merit 0.8874 of 2 columns" in labels
    True
    """
    with display_progress(lambda line: sys.stderr.write(f"{line}\n")) if listener is None else use_listener(listener):
        yield


@contextmanager
def use_listener(listener: ProgressListener | None) -> Iterator[None]:
    """Call `listener(label, done, total)` for the progress of the work inside; None discards it."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def report_progress(label: str, done: int, total: int | None = None) -> None:
    """Report the progress of the step `label` to the listener."""
    listener = _listener.get()
    if listener is not None:
        listener(label, done, total)


def track_progress(label: str, items: Iterable[Item], total: int | None = None) -> Iterator[Item]:
    """Yield the items, and report the number of items done."""
    report_progress(label, 0, total)
    for done, item in enumerate(items, start=1):
        yield item
        report_progress(label, done, total)


def display_progress(write: Callable[[str], object]) -> AbstractContextManager[None]:
    """Show progress as a bar if standard error is a terminal, and otherwise as lines passed to `write`."""
    return _progress_bar() if sys.stderr.isatty() else use_listener(_log_listener(write))


def _log_listener(write: Callable[[str], object]) -> ProgressListener:
    """Return a listener for a log, which writes at most one line every 5 seconds."""
    last = time.monotonic()

    def listen(label: str, done: int, total: int | None) -> None:
        nonlocal last
        if time.monotonic() - last < _LOG_INTERVAL:
            return
        last = time.monotonic()
        write(label if not done else f"{label}: {_format_count(done, total)}")

    return listen


@contextmanager
def _progress_bar() -> Iterator[None]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[done]}", markup=False),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}", markup=False),
    )
    # Standard output is for results, and rich must not redirect it.
    with Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False) as bar:
        task, stage = bar.add_task("Starting", total=None, done="", left=""), ""

        def listen(label: str, done: int, total: int | None) -> None:
            nonlocal task, stage
            if (name := label.partition(",")[0]) != stage:
                # A new task, because the speed of one stage does not predict that of the next.
                bar.remove_task(task)
                task, stage = bar.add_task(label, total=total, done="", left=""), name
            bar.update(task, description=label, completed=done, total=total)
            bar.update(task, done=_format_count(done, total), left=_format_time_left(bar.tasks[0].time_remaining))

        with use_listener(listen):
            yield


def _format_count(done: int, total: int | None) -> str:
    """Return the number of parts done, and their total if known."""
    if total is None:
        return f"{done:,}"
    return f"{done:,} of {total:,}" if total < _ROUNDED_TOTAL else f"{done:,} of {total:.2g}"


def _format_time_left(seconds: float | None) -> str:
    """Return the remaining time, or "" if it is unknown."""
    return f"about {timedelta(seconds=round(seconds))} left" if seconds else ""
