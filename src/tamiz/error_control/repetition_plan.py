"""The largest cost of a selection with error control, which repeats one computation: timed before the run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from tamiz.runtime import progress
from tamiz.runtime.user_warnings import capture_warnings
from tamiz.search.runner import format_duration

# A repetition that ends sooner is timed again: the first one loads code.
_MAX_FIRST_SECONDS = 2.0


@dataclass(frozen=True)
class RepetitionPlan:
    """The estimated largest cost of a selection that repeats one computation.

    Attributes
    ----------
    unit : str
        The computation, in the plural: "iterations".
    max_repetitions : int
    seconds_per_repetition : float
        The time of one on the whole table.
    estimated_seconds : float
        The time of all.
    advice : str
        What makes the selection faster, as a sentence.
    """

    unit: str
    max_repetitions: int
    seconds_per_repetition: float
    estimated_seconds: float
    advice: str

    def __str__(self) -> str:
        """Return the plan as two sentences."""
        return (
            f"Plan: at most {self.max_repetitions:,} {self.unit}, {self.seconds_per_repetition:.2g} seconds each; "
            f"{format_duration(self.estimated_seconds)}. {self.advice}"
        )


def time_repetitions(run: Callable[[], object], max_repetitions: int, unit: str, advice: str) -> RepetitionPlan:
    """Return the plan of a selection that calls `run` up to `max_repetitions` times, after one or two calls."""
    progress.report_progress(f"Timing one of {max_repetitions:,} {unit}", 0)
    with capture_warnings(), progress.use_listener(None):
        seconds = _time_call(run)
        if seconds < _MAX_FIRST_SECONDS:
            seconds = min(seconds, _time_call(run))
    return RepetitionPlan(unit, max_repetitions, seconds, seconds * max_repetitions, advice)


def _time_call(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started
