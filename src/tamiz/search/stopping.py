"""When to stop: rules that look at the archive only, so that any rule goes with any search."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod

from sklearn.base import BaseEstimator

from tamiz.search.archive import Archive
from tamiz.validation import check_integer, check_real


class Stopping(BaseEstimator, ABC):
    """A rule for stopping; `a | b` stops when either does, `a & b` when both do."""

    def begin(self) -> Stopping:
        """Return the rule for one run: itself, where it holds nothing of the run."""
        return self

    @abstractmethod
    def reason(self, archive: Archive) -> str | None:
        """Return why to stop now, or None to go on."""

    def room(self, archive: Archive) -> int | None:  # noqa: ARG002 - a rule with a limit reads the archive
        """Return how many evaluations may still be made, None without a limit: the last batch is cut to it."""
        return None

    def seconds(self) -> float | None:
        """Return how long a search may take, None where the rule does not look at the clock."""
        return None

    @property
    def tolerance(self) -> float:
        """What a set may lose to the best one where it has fewer columns."""
        return 0.0

    def __or__(self, other: Stopping) -> Stopping:
        return AnyOf(self, other)

    def __and__(self, other: Stopping) -> Stopping:
        return AllOf(self, other)


class AnyOf(Stopping):
    """Stop when either of two rules does."""

    def __init__(self, first: Stopping, second: Stopping) -> None:
        self.first = first
        self.second = second

    @property
    def tolerance(self) -> float:
        """The larger of the two."""
        return max(self.first.tolerance, self.second.tolerance)

    def begin(self) -> Stopping:
        """Return both begun."""
        return AnyOf(self.first.begin(), self.second.begin())

    def reason(self, archive: Archive) -> str | None:
        """Return the first reason there is."""
        return self.first.reason(archive) or self.second.reason(archive)

    def room(self, archive: Archive) -> int | None:
        """Return the smaller room."""
        rooms = [room for room in (self.first.room(archive), self.second.room(archive)) if room is not None]
        return min(rooms, default=None)

    def seconds(self) -> float | None:
        """Return the shorter time."""
        times = [limit for limit in (self.first.seconds(), self.second.seconds()) if limit is not None]
        return min(times, default=None)


class AllOf(Stopping):
    """Stop when both of two rules do."""

    def __init__(self, first: Stopping, second: Stopping) -> None:
        self.first = first
        self.second = second

    @property
    def tolerance(self) -> float:
        """The larger of the two."""
        return max(self.first.tolerance, self.second.tolerance)

    def begin(self) -> Stopping:
        """Return both begun."""
        return AllOf(self.first.begin(), self.second.begin())

    def reason(self, archive: Archive) -> str | None:
        """Return both reasons, when there are two."""
        reasons = self.first.reason(archive), self.second.reason(archive)
        return None if None in reasons else " and ".join(map(str, reasons))

    def room(self, archive: Archive) -> int | None:
        """Return the larger room, None where one of the rules has no limit."""
        rooms = self.first.room(archive), self.second.room(archive)
        return None if rooms[0] is None or rooms[1] is None else max(rooms[0], rooms[1])

    def seconds(self) -> float | None:
        """Return the longer time, None where one of the rules does not look at the clock."""
        times = self.first.seconds(), self.second.seconds()
        return None if times[0] is None or times[1] is None else max(times[0], times[1])


class Evaluations(Stopping):
    """Stop after `most` evaluated sets; the last batch is cut.

    Parameters
    ----------
    most : int

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

    def __init__(self, most: int) -> None:
        self.most = most

    def room(self, archive: Archive) -> int:
        """Return what is left."""
        return check_integer("most", self.most, low=1) - archive.n_evaluations

    def reason(self, archive: Archive) -> str | None:
        """Return a reason when the number is reached."""
        if archive.n_evaluations < self.most:
            return None
        return "1 evaluation made" if self.most == 1 else f"{self.most} evaluations made"


class Seconds(Stopping):
    """Stop after the part of a batch during which `most` seconds have passed. The one rule whose result depends on the machine.

    Parameters
    ----------
    most : float
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

    def __init__(self, most: float) -> None:
        self.most = most

    def begin(self) -> Stopping:
        """Return a rule whose clock runs."""
        return _Deadline(self.most, time.monotonic() + self.seconds())

    def seconds(self) -> float:
        """Return the time."""
        most = check_real("most", self.most)
        if most <= 0:
            raise ValueError(f"most must be above 0 seconds, got {self.most}.")
        return most

    def reason(self, archive: Archive) -> str | None:  # noqa: ARG002 - before the run no time has passed
        """Return None: the clock runs in what `begin` returns."""
        return None


class _Deadline(Stopping):
    """Stop when a moment is past."""

    def __init__(self, most: float, moment: float) -> None:
        self.most = most
        self.moment = moment

    def reason(self, archive: Archive) -> str | None:  # noqa: ARG002 - only the clock counts
        """Return a reason when the time is over."""
        if time.monotonic() < self.moment:
            return None
        return "1 second has passed" if self.most == 1 else f"{self.most:g} seconds have passed"


class Stale(Stopping):
    """Stop after `most` steps (batches) in a row without a better set.

    Parameters
    ----------
    most : int

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import SubsetSelector
    >>> from tamiz.criteria import CFS
    >>> from tamiz.search import BestFirst, Stale
    >>> X, y = load_iris(return_X_y=True)
    >>> SubsetSelector(CFS(), BestFirst(), stop=Stale(2)).fit(X, y).archive_.stopped
    '2 steps in a row without a better set'
    """

    def __init__(self, most: int) -> None:
        self.most = most

    def reason(self, archive: Archive) -> str | None:
        """Return a reason when nothing better came for so long."""
        if archive.stale_steps < check_integer("most", self.most, low=1):
            return None
        return "1 step without a better set" if self.most == 1 else f"{self.most} steps in a row without a better set"


class MinGain(Stopping):
    """Stop at the first step whose best set improves on the best so far by less than `least`.

    Parameters
    ----------
    least : float
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

    def __init__(self, least: float) -> None:
        self.least = least

    @property
    def tolerance(self) -> float:
        """The loss that is tolerated."""
        return max(0.0, -check_real("least", self.least))

    def reason(self, archive: Archive) -> str | None:
        """Return a reason when the last step gained too little."""
        least, gain = check_real("least", self.least), archive.last_gain
        if gain is None or gain >= least:
            return None
        return f"a step gained less than {least:g}" if least >= 0 else f"a step lost more than {-least:g}"


class Target(Stopping):
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
