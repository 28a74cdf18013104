"""What a search will take, told before it begins."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tamiz.memory import format_bytes


@dataclass(frozen=True)
class SearchPlan:
    """What a search takes at most.

    Attributes
    ----------
    max_evaluations : int or None
        Sets, None where the search itself knows no limit.
    estimated_seconds : float or None
        By the pace of the sets that were timed; None where the number of sets is not known.
    time_limit : float or None
        The rule that stops it, where one looks at the clock.
    max_bytes : float
        For the sets that are written down and for what the merit holds.
    n_timed : int
        Sets that were timed.
    method : str
        How the merit of a set is found, a sentence.
    """

    max_evaluations: int | None
    estimated_seconds: float | None
    time_limit: float | None
    max_bytes: float
    n_timed: int
    method: str = ""

    def __str__(self) -> str:
        """Return one sentence."""
        if self.max_evaluations is None:
            sets = "no number of evaluations can be given: the search goes on while it gains"
        else:
            sets = f"at most {_format_count(self.max_evaluations, 'evaluation')}"
        told = [f"Plan: {sets}"]
        if self.estimated_seconds is not None:
            told.append(f"{_format_duration(self.estimated_seconds)} at the pace of the first {self.n_timed:,}")
        if self.time_limit is not None:
            told.append(f"stopped after {self.time_limit:g} seconds")
        told.append(f"at most {format_bytes(self.max_bytes)} of memory beyond the table")
        return " ".join(filter(None, ["; ".join(told) + ".", self.method]))


def _format_count(n: int, word: str) -> str:
    # Numbers of sets go far beyond the largest float.
    return f"{n:,} {word}{'' if n == 1 else 's'}" if n < 10**12 else f"about 10^{round(math.log10(n))} {word}s"


def _format_duration(seconds: float) -> str:
    """Return a time in the unit that suits it."""
    if seconds > 1e13:
        return "more than 100,000 years"
    for unit, size in (("years", 31_557_600.0), ("days", 86_400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"at most {seconds / size:,.0f} {unit}"
    return f"at most {seconds:.2g} seconds"
