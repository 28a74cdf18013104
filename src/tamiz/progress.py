"""Progress of long work, told to whoever listens; nobody listens unless the command line or a caller asks."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from datetime import timedelta
from typing import TypeAlias, TypeVar

Listener: TypeAlias = "Callable[[str, int, int | None], None]"
Item = TypeVar("Item")

# What nobody counts to the last digit.
_HUGE = 10**12
# A log gets a line so often.
_SECONDS_A_LINE = 5.0

_listener: ContextVar[Listener | None] = ContextVar("tamiz_listener", default=None)


@contextmanager
def show_progress(listener: Listener | None = None) -> Iterator[None]:
    """Show on standard error how far the work inside has come, or hand it to a function.

    Parameters
    ----------
    listener : callable, default=None
        Called as `listener(label, done, total)`: what is at work, how many of its pieces are done, and of how many, None where
        nobody can know; what it raises ends the work. None shows a bar on a terminal and a line every 5 seconds in a log.

    Returns
    -------
    context manager

    Notes
    -----
    One `with` holds for everything that tamiz does inside it in this thread. Costs nothing measurable: pieces take milliseconds.

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
    with shown(lambda line: sys.stderr.write(f"{line}\n")) if listener is None else listening(listener):
        yield


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call `listener(label, done, total)` as work inside goes on; `total` is None where nobody can know it."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def tell(label: str, done: int, total: int | None = None) -> None:
    """Say how far the work named `label` has come."""
    listener = _listener.get()
    if listener is not None:
        listener(label, done, total)


def track(label: str, items: Iterable[Item], total: int | None = None) -> Iterator[Item]:
    """Yield the items, telling how many are done."""
    tell(label, 0, total)
    for done, item in enumerate(items, start=1):
        yield item
        tell(label, done, total)


def shown(write: Callable[[str], object]) -> AbstractContextManager[None]:
    """Show work inside as a bar where standard error is a terminal, and else by lines that `write` takes."""
    return _bar() if sys.stderr.isatty() else listening(_now_and_then(write))


def _now_and_then(write: Callable[[str], object]) -> Listener:
    """Return a listener that writes a line where the last one is some seconds old, for a log."""
    last = time.monotonic()

    def listen(label: str, done: int, total: int | None) -> None:
        nonlocal last
        if time.monotonic() - last < _SECONDS_A_LINE:
            return
        last = time.monotonic()
        write(label if not done else f"{label}: {_progressed(done, total)}")

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

        with listening(listen):
            yield


def _progressed(done: int, total: int | None) -> str:
    """Return how far work has come, in numbers."""
    if total is None:
        return f"{done:,}"
    return f"{done:,} of {total:,}" if total < _HUGE else f"{done:,} of {total:.2g}"


def _left(seconds: float | None) -> str:
    """Return how long work goes on at its pace, where that is known."""
    return f"about {timedelta(seconds=round(seconds))} left" if seconds else ""
