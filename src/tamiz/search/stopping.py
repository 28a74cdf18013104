"""When to stop: rules that look at the archive only, so that any rule goes with any search."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod

from sklearn.base import BaseEstimator

from tamiz.runtime.validation import check_integer, check_real
from tamiz.search.archive import Archive


class StoppingRule(BaseEstimator, ABC):
    """A rule for stopping; `a | b` stops when either does, `a & b` when both do."""

    def start(self) -> StoppingRule:
        """Return the rule for one run: itself, where it holds nothing of the run."""
        return self

    @abstractmethod
    def reason(self, archive: Archive) -> str | None:
        """Return why to stop now, or None to go on."""

    def remaining_evaluations(self, archive: Archive) -> int | None:  # noqa: ARG002 - a rule with a limit reads the archive
        """Return how many evaluations may still be made, None without a limit: the last batch is cut to it."""
        return None

    def time_limit(self) -> float | None:
        """Return how long a search may take, None where the rule does not look at the clock."""
        return None

    @property
    def tolerance(self) -> float:
        """What a set may lose to the best one where it has fewer columns."""
        return 0.0

    def __or__(self, other: StoppingRule) -> StoppingRule:
        return AnyOf(self, other)

    def __and__(self, other: StoppingRule) -> StoppingRule:
        return AllOf(self, other)


class AnyOf(StoppingRule):
    """Stop when either of two rules does."""

    def __init__(self, first: StoppingRule, second: StoppingRule) -> None:
        self.first = first
        self.second = second

    @property
    def tolerance(self) -> float:
        """The larger of the two."""
        return max(self.first.tolerance, self.second.tolerance)

    def start(self) -> StoppingRule:
        """Return both begun."""
        return AnyOf(self.first.start(), self.second.start())

    def reason(self, archive: Archive) -> str | None:
        """Return the first reason there is."""
        return self.first.reason(archive) or self.second.reason(archive)

    def remaining_evaluations(self, archive: Archive) -> int | None:
        """Return the smaller room."""
        rooms = [
            room
            for room in (self.first.remaining_evaluations(archive), self.second.remaining_evaluations(archive))
            if room is not None
        ]
        return min(rooms, default=None)

    def time_limit(self) -> float | None:
        """Return the shorter time."""
        times = [limit for limit in (self.first.time_limit(), self.second.time_limit()) if limit is not None]
        return min(times, default=None)


class AllOf(StoppingRule):
    """Stop when both of two rules do."""

    def __init__(self, first: StoppingRule, second: StoppingRule) -> None:
        self.first = first
        self.second = second

    @property
    def tolerance(self) -> float:
        """The larger of the two."""
        return max(self.first.tolerance, self.second.tolerance)

    def start(self) -> StoppingRule:
        """Return both begun."""
        return AllOf(self.first.start(), self.second.start())

    def reason(self, archive: Archive) -> str | None:
        """Return both reasons, when there are two."""
        reasons = self.first.reason(archive), self.second.reason(archive)
        return None if None in reasons else " and ".join(map(str, reasons))

    def remaining_evaluations(self, archive: Archive) -> int | None:
        """Return the larger room, None where one of the rules has no limit."""
        rooms = self.first.remaining_evaluations(archive), self.second.remaining_evaluations(archive)
        return None if rooms[0] is None or rooms[1] is None else max(rooms[0], rooms[1])

    def time_limit(self) -> float | None:
        """Return the longer time, None where one of the rules does not look at the clock."""
        times = self.first.time_limit(), self.second.time_limit()
        return None if times[0] is None or times[1] is None else max(times[0], times[1])


class Evaluations(StoppingRule):
    """Stop after `limit` evaluated sets; the last batch is cut.

    Parameters
    ----------
    limit : int

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import SubsetSelector
    >>> from tamiz.criteria import CFS
    >>> from tamiz.search import Evaluations, Forward
    >>> X, y = load_iris(return_X_y=True)
    >>> SubsetSelector(CFS(), Forward(), stop=Evaluations(6)).fit(X, y).archive_.stopped
    '6 evaluations made'
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def remaining_evaluations(self, archive: Archive) -> int:
        """Return what is left."""
        return check_integer("limit", self.limit, low=1) - archive.n_evaluations

    def reason(self, archive: Archive) -> str | None:
        """Return a reason when the number is reached."""
        if archive.n_evaluations < self.limit:
            return None
        return "1 evaluation made" if self.limit == 1 else f"{self.limit} evaluations made"


class Seconds(StoppingRule):
    """Stop after the part of a batch during which `limit` seconds have passed. The one rule whose result depends on the machine.

    Parameters
    ----------
    limit : float
        Seconds, above 0.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import SubsetSelector
    >>> from tamiz.criteria import CFS
    >>> from tamiz.search import Forward, Seconds
    >>> X, y = load_iris(return_X_y=True)
    >>> SubsetSelector(CFS(), Forward(), stop=Seconds(60)).fit(X, y).archive_.stopped
    'no further column raises the merit'
    """

    def __init__(self, limit: float) -> None:
        self.limit = limit

    def start(self) -> StoppingRule:
        """Return a rule whose clock runs."""
        return _Deadline(self.limit, time.monotonic() + self.time_limit())

    def time_limit(self) -> float:
        """Return the time."""
        most = check_real("limit", self.limit)
        if most <= 0:
            raise ValueError(f"most must be above 0 seconds, got {self.limit}.")
        return most

    def reason(self, archive: Archive) -> str | None:  # noqa: ARG002 - before the run no time has passed
        """Return None: the clock runs in what `begin` returns."""
        return None


class _Deadline(StoppingRule):
    """Stop when a moment is past."""

    def __init__(self, limit: float, deadline: float) -> None:
        self.limit = limit
        self.deadline = deadline

    def reason(self, archive: Archive) -> str | None:  # noqa: ARG002 - only the clock counts
        """Return a reason when the time is over."""
        if time.monotonic() < self.deadline:
            return None
        return "1 second has passed" if self.limit == 1 else f"{self.limit:g} seconds have passed"


class Patience(StoppingRule):
    """Stop after `n_steps` steps (batches) in a row without a better set.

    Parameters
    ----------
    n_steps : int

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import SubsetSelector
    >>> from tamiz.criteria import CFS
    >>> from tamiz.search import BestFirst, Patience
    >>> X, y = load_iris(return_X_y=True)
    >>> SubsetSelector(CFS(), BestFirst(), stop=Patience(2)).fit(X, y).archive_.stopped
    '2 steps in a row without a better set'
    """

    def __init__(self, n_steps: int) -> None:
        self.n_steps = n_steps

    def reason(self, archive: Archive) -> str | None:
        """Return a reason when nothing better came for so long."""
        if archive.n_steps_without_gain < check_integer("n_steps", self.n_steps, low=1):
            return None
        return (
            "1 step without a better set"
            if self.n_steps == 1
            else f"{self.n_steps} steps in a row without a better set"
        )


class MinGain(StoppingRule):
    """Stop at the first step whose best set improves on the best so far by less than `min_gain`.

    Parameters
    ----------
    min_gain : float
        In the unit of the merit. Below 0 it is a loss that is tolerated for fewer columns: the search stops at the first step that
        loses more than -least to the best merit so far, `Backward` goes on dropping columns until then, and the smallest evaluated
        set that loses no more than that to the best is chosen.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import SubsetSelector
    >>> from tamiz.criteria import CFS
    >>> from tamiz.search import Forward, MinGain
    >>> X, y = load_iris(return_X_y=True)
    >>> SubsetSelector(CFS(), Forward(), stop=MinGain(0.5)).fit(X, y).archive_.stopped
    'a step gained less than 0.5'
    """

    def __init__(self, min_gain: float) -> None:
        self.min_gain = min_gain

    @property
    def tolerance(self) -> float:
        """The loss that is tolerated."""
        return max(0.0, -check_real("min_gain", self.min_gain))

    def reason(self, archive: Archive) -> str | None:
        """Return a reason when the last step gained too little."""
        least, gain = check_real("min_gain", self.min_gain), archive.last_gain
        if gain is None or gain >= least:
            return None
        return f"a step gained less than {least:g}" if least >= 0 else f"a step lost more than {-least:g}"


class TargetMerit(StoppingRule):
    """Stop when a set reaches a merit of at least `merit`.

    Parameters
    ----------
    merit : float

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import SubsetSelector
    >>> from tamiz.criteria import CFS
    >>> from tamiz.search import Forward, Target
    >>> X, y = load_iris(return_X_y=True)
    >>> SubsetSelector(CFS(), Forward(), stop=Target(0.8)).fit(X, y).archive_.stopped
    'a merit of 0.8 is reached'
    """

    def __init__(self, merit: float) -> None:
        self.merit = merit

    def reason(self, archive: Archive) -> str | None:
        """Return a reason when the merit is reached."""
        check_real("merit", self.merit)
        return f"a merit of {self.merit:g} is reached" if archive.best_merit >= self.merit else None
