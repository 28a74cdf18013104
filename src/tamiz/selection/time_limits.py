"""The time of a selection: its limit, and its estimate before it starts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np

from tamiz.runtime import progress
from tamiz.runtime.memory import format_bytes
from tamiz.runtime.user_warnings import capture_warnings
from tamiz.runtime.validation import check_positive
from tamiz.runtime.verdicts import Verdict
from tamiz.search.runner import format_duration
from tamiz.table.base import Table
from tamiz.table.views import select_columns

Item = TypeVar("Item")

# A repetition that ends sooner is timed again: the first one loads code.
_MAX_FIRST_SECONDS = 2.0
# A selection that cannot be repeated is timed on few columns, and on twice as many until it takes this long.
_MIN_COLUMNS, _MIN_SECONDS = 64, 0.5


@dataclass(frozen=True)
class RepetitionPlan:
    """The estimated largest cost of a selection.

    Attributes
    ----------
    unit : str
        The computation that is repeated, in the plural: "iterations".
    seconds_per_repetition : float
        The time of one on the whole table.
    estimated_seconds : float
        The time of all.
    advice : str
        What makes the selection faster, as a sentence.
    max_bytes : float
        The memory of its matrices, beyond the table.
    """

    unit: str
    max_repetitions: int
    seconds_per_repetition: float
    estimated_seconds: float
    advice: str
    max_bytes: float

    def __str__(self) -> str:
        several = f"at most {self.max_repetitions:,} {self.unit}, {self.seconds_per_repetition:.2g} seconds each; "
        return (
            f"Plan: {several if self.max_repetitions > 1 else ''}{format_duration(self.estimated_seconds)}; about "
            f"{format_bytes(self.max_bytes)} of memory beyond the table. {self.advice}"
        )


def time_repetitions(
    run: Callable[[], object], max_repetitions: int, unit: str, advice: str, max_bytes: float
) -> RepetitionPlan:
    """Return the plan of a selection that calls `run` up to `max_repetitions` times, after one or two calls."""
    progress.report_progress(f"Timing one of {max_repetitions:,} {unit}", 0)
    with capture_warnings(), progress.use_listener(None):
        seconds = _time_call(run)
        if seconds < _MAX_FIRST_SECONDS:
            seconds = min(seconds, _time_call(run))
    return RepetitionPlan(unit, max_repetitions, seconds, seconds * max_repetitions, advice, max_bytes)


def time_on_columns(run: Callable[[Table], object], table: Table, exponent: float, min_columns: int = 0) -> float:
    """Return the largest time of a computation whose cost grows with a power of the columns, from its time on some of them.

    `min_columns` is the smallest number of columns that is computed as all columns are.
    """
    progress.report_progress("Timing the selection on some of the columns", 0)
    used = table.schema.used
    n, fixed, times = min(len(used), max(_MIN_COLUMNS, min_columns)), 0.0, list[float]()
    while True:
        # Spread over the table: neighbouring columns are often alike.
        columns = used[np.linspace(0, len(used) - 1, n).astype(np.intp)] if n else used
        compute = partial(run, select_columns(table, columns.tolist()))
        with capture_warnings(), progress.use_listener(None):
            seconds = _time_call(compute)
            if not times and seconds < _MAX_FIRST_SECONDS:
                seconds = min(seconds, _time_call(compute))
        if times:
            # What does not grow with the columns, from the times of n / 2 and of n of them.
            fixed = max((2**exponent * times[-1] - seconds) / (2**exponent - 1), 0.0)
        if seconds > _MIN_SECONDS or 2 * n > len(used):
            return fixed + (seconds - fixed) * (len(used) / max(n, 1)) ** exponent
        times.append(seconds)
        n *= 2


def _time_call(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


class TimeLimit:
    """The seconds after which a selection ends, None for no limit; they begin with this object."""

    def __init__(self, max_seconds: float | None) -> None:
        self.seconds = None if max_seconds is None else check_positive("max_seconds", max_seconds)
        self._end = np.inf if self.seconds is None else time.monotonic() + self.seconds

    @property
    def has_passed(self) -> bool:
        return time.monotonic() > self._end

    def check(self, what: str) -> None:
        """Raise TimeoutError if the time is over: nothing can be selected yet."""
        if self.has_passed:
            raise TimeoutError(
                f"{what} takes longer than max_seconds={self.seconds:g} (--max-seconds), and a part of it selects nothing: allow "
                "more time, or leave columns out. plan() (--dry-run) estimates the time."
            )

    def take(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield items until the time is over, at least one."""
        for k, item in enumerate(items):
            if k and self.has_passed:
                return
            yield item

    def describe(self, n_done: int, n_planned: int, unit: str) -> list[Verdict]:
        """Return a warning if fewer repetitions were done than planned."""
        return (
            [
                Verdict(
                    "TZ503",
                    f"max_seconds={self.seconds:g} (--max-seconds) ended the selection after {n_done:,} of {n_planned:,} {unit}.",
                )
            ]
            if n_done < n_planned
            else []
        )
