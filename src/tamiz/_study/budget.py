"""What a study may take."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, TypeVar

from tamiz.runtime import progress
from tamiz.runtime.memory import format_bytes, free_memory
from tamiz.search.stopping import Evaluations, Seconds, StoppingRule

# Seconds that a study of an ordinary table may take on two cores where nobody said.
DEFAULT_SECONDS = 120.0
# The share of what is left that the search may take, and what it may take at least.
_SEARCH_SHARE, _MIN_SEARCH_SECONDS = 0.4, 0.1
# Sets that a search among so many columns evaluates where nobody said: they take some 10 seconds and 0.3 GB.
_MANY_COLUMNS, _MAX_SETS = 10_000, 5_000_000


@dataclass(frozen=True)
class StepEstimate:
    """What a step takes on two cores.

    Attributes
    ----------
    seconds : float
    n_bytes : float
        At most at one time, beyond the table and what earlier steps keep.
    n_rows : int
        Rows that it reads: all, or a sample.
    """

    seconds: float
    n_bytes: float
    n_rows: int

    def per_part(self, n_parts: int) -> StepEstimate:
        """Return what one of n alike parts takes, one after the other."""
        return replace(self, seconds=self.seconds / n_parts)

    def __str__(self) -> str:
        """Return it as a reader needs it: to one digit."""
        return f"about {_round_to_one_digit(max(self.seconds, 0.1)):g} s and {format_bytes(_round_to_one_digit(self.n_bytes))}"


class Budget:
    """What a study may take.

    Parameters
    ----------
    max_seconds : float, default=None
        None is about two minutes: samples are sized by estimates alone, so that a table and a seed give one result on every
        machine. A number scales those samples, is looked at on the clock before every step, and ends the search. Infinity
        samples nothing but what costs the square of the rows.

    Attributes
    ----------
    scale : float
        The seconds as a share of the usual ones: work that grows with the rows is scaled by it.
    """

    def __init__(self, max_seconds: float | None = None) -> None:
        self.scale = 1.0 if max_seconds is None else check_seconds(max_seconds) / DEFAULT_SECONDS
        self._max_seconds = max_seconds
        self._start_time = time.monotonic()

    @property
    def seconds_left(self) -> float:
        """Seconds that are left, infinity where none were stated."""
        return math.inf if self._max_seconds is None else self._max_seconds - (time.monotonic() - self._start_time)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Do not count what is done inside."""
        begun = time.monotonic()
        try:
            yield
        finally:
            self._start_time += time.monotonic() - begun

    def scale_linear(self, work: float, maximum: float = math.inf) -> int:
        """Return an amount of work that grows with the seconds, whole, and at most so much."""
        return int(min(self.scale * work, maximum))

    def scale_quadratic(self, work: float, maximum: float = math.inf) -> int:
        """Return the side of work that grows with its square, whole, and at most so much."""
        return int(min(math.sqrt(self.scale) * work, maximum))

    def search_stopping(self, stop: StoppingRule | None, n_columns: int) -> StoppingRule | None:
        """Return what ends a search among so many columns that begins now.

        That is its own rule, and its share of the seconds where some were stated; of very many columns, each step tries all, and
        where nothing was stated a number of sets ends it.
        """
        if not math.isinf(self.seconds_left):
            limit = Seconds(max(_SEARCH_SHARE * self.seconds_left, _MIN_SEARCH_SECONDS))
            return limit if stop is None else stop | limit
        if stop is None and self._max_seconds is None and n_columns >= _MANY_COLUMNS:
            return Evaluations(_MAX_SETS)
        return stop

    def refusal_reason(self, estimate: StepEstimate) -> str | None:
        """Return why a step that could be left out cannot be done, None where it can."""
        if estimate.seconds > self.seconds_left:
            return f"the {self._max_seconds:g} seconds of max_seconds (--max-seconds) are over, or too few are left"
        if estimate.n_bytes > (free := free_memory()):
            return f"{format_bytes(free)} of memory are free (memory=, --memory)"
        return None


# Nothing of it depends on a clock.
DEFAULT_BUDGET: Budget = Budget()


def check_seconds(value: Any) -> float:
    """Return a number of seconds above 0, or infinity."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"max_seconds must be a number of seconds, got {value!r}.")
    if not (seconds := float(value)) > 0:
        raise ValueError(f"max_seconds must be above 0, got {value!r}.")
    return seconds


def _round_to_one_digit(value: float) -> float:
    """Return a number with its first digit alone."""
    unit = 10.0 ** math.floor(math.log10(value))
    return round(value / unit) * unit


# MERGED: The steps of a study, timed, and what Ctrl-C and a budget leave of them.
StepResult = TypeVar("StepResult")


class StepRunner:
    """The steps of a study, timed; after Ctrl-C the rest are skipped, and those that the budget has no room for.

    Parameters
    ----------
    budget : Budget

    Attributes
    ----------
    timings : list of dict
        The step, its seconds, and what was estimated.
    interruption_note : str or None
        The step that Ctrl-C ended, a sentence.
    estimates : dict of str to Estimate
        What steps take, by their names.
    """

    def __init__(self, budget: Budget = DEFAULT_BUDGET) -> None:
        self.budget = budget
        self.timings: list[dict[str, Any]] = []
        self.interruption_note: str | None = None
        self.estimates: Mapping[str, StepEstimate] = {}
        self._omitted: dict[str, list[str]] = {}

    def run_required(self, name: str, work: Callable[[], StepResult]) -> StepResult:
        """Return what the work gives; without it there is no study."""
        begun = time.perf_counter()
        estimate = self.estimates.get(name)
        progress.report_progress(f"Step: {name}" if estimate is None else f"Step: {name}, {estimate}", 0)
        given = work()
        timing: dict[str, Any] = {"step": name, "seconds": round(time.perf_counter() - begun, 4)}
        if estimate is not None:
            timing |= {"estimated_seconds": estimate.seconds, "estimated_bytes": estimate.n_bytes}
        self.timings.append(timing)
        return given

    def run_step(self, name: str, work: Callable[[], StepResult]) -> StepResult | None:
        """Return what the work gives, None when it or an earlier step was interrupted."""
        if self.interruption_note:
            return None
        try:
            return self.run_required(name, work)
        except KeyboardInterrupt:
            self.record_interrupt(name)
            return None

    def run_optional(self, name: str, work: Callable[[], StepResult], description: str) -> StepResult | None:
        """Return what `run_step` does; None where the budget has no room for it, and then `omission_notes` say that `description` is left out."""
        if self.fits_budget(self.estimates.get(name), description):
            return self.run_step(name, work)
        return None

    def fits_budget(self, estimate: StepEstimate | None, description: str) -> bool:
        """Whether the budget has room for a part of the study; where it has none, `omission_notes` tell of it."""
        refusal = None if estimate is None or self.interruption_note else self.budget.refusal_reason(estimate)
        if refusal is not None:
            self._omitted.setdefault(refusal, []).append(f"{description} ({estimate})")
        return refusal is None

    def omission_notes(self) -> list[str]:
        """Return what was left out, and why."""
        return [f"Left out, because {why}: {', '.join(parts)}." for why, parts in self._omitted.items()]

    def seconds(self, name: str) -> float:
        """Return how long a step took, 0 where it was not made."""
        return float(sum(timing["seconds"] for timing in self.timings if timing["step"] == name))

    def record_interrupt(self, name: str) -> None:
        """Take note of Ctrl-C."""
        self.interruption_note = f"Interrupted in the step '{name}'; what was found until then is shown."
