"""What a study may take."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

from tamiz.memory import format_bytes, free_memory
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
DEFAULT_BUDGET = Budget()


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
