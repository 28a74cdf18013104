"""Stopping rules. A rule reads only the archive and the clock, so every rule works with every search."""

from __future__ import annotations

from abc import ABC, abstractmethod

from sklearn.base import BaseEstimator

from tamiz.runtime.validation import check_integer, check_real
from tamiz.search.archive import Archive


class StoppingRule(BaseEstimator, ABC):
    """A stopping rule; `a | b` stops when either does, `a & b` when both do."""

    @abstractmethod
    def reason(self, archive: Archive) -> str | None:
        """Return why to stop now, None to continue."""

    def remaining_evaluations(self, archive: Archive) -> int | None:  # noqa: ARG002 - a rule with a limit reads the archive
        """Return how many evaluations are left, None without a limit; the last batch is cut to this number."""
        return None

    def time_limit(self) -> float | None:
        """Return the time limit of a search in seconds, None where the rule has none."""
        return None

    @property
    def tolerance(self) -> float:
        """By how much the merit of a smaller set may be below the best merit."""
        return 0.0

    def __or__(self, other: StoppingRule) -> StoppingRule:
        return AnyOf(self, other)

    def __and__(self, other: StoppingRule) -> StoppingRule:
        return AllOf(self, other)


class _TwoRules(StoppingRule):
    def __init__(self, first: StoppingRule, second: StoppingRule) -> None:
        self.first = first
        self.second = second

    @property
    def tolerance(self) -> float:
        return max(self.first.tolerance, self.second.tolerance)

    def remaining_evaluations(self, archive: Archive) -> int | None:
        limit = self._limit(self.first.remaining_evaluations(archive), self.second.remaining_evaluations(archive))
        return None if limit is None else int(limit)

    def time_limit(self) -> float | None:
        return self._limit(self.first.time_limit(), self.second.time_limit())

    @abstractmethod
    def _limit(self, *limits: float | None) -> float | None:
        """Return the limit of both rules, None for no limit."""


class AnyOf(_TwoRules):
    """Stop when either of two rules does."""

    def reason(self, archive: Archive) -> str | None:
        return self.first.reason(archive) or self.second.reason(archive)

    def _limit(self, *limits: float | None) -> float | None:
        return min((limit for limit in limits if limit is not None), default=None)


class AllOf(_TwoRules):
    """Stop when both of two rules do."""

    def reason(self, archive: Archive) -> str | None:
        """Return both reasons where both rules stop, else None."""
        reasons = self.first.reason(archive), self.second.reason(archive)
        return None if None in reasons else " and ".join(map(str, reasons))

    def _limit(self, *limits: float | None) -> float | None:
        return None if None in limits else max(limit for limit in limits if limit is not None)


class Evaluations(StoppingRule):
    """Stop after `limit` evaluations; the last batch is cut.

    Parameters
    ----------
    limit : int
        Number of evaluations, at least 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import SubsetSelector
    >>> from tamiz.criteria import CFS
    >>> from tamiz.search import Evaluations, Forward
    >>> X, y = load_iris(return_X_y=True)
    >>> SubsetSelector(CFS(), Forward(), stop=Evaluations(6)).fit(X, y).archive_.stop_reason
    '6 evaluations made'
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def remaining_evaluations(self, archive: Archive) -> int:
        """Return the number of evaluations left."""
        return check_integer("limit", self.limit, low=1) - archive.n_evaluations

    def reason(self, archive: Archive) -> str | None:
        """Return the reason when the limit is reached."""
        if archive.n_evaluations < self.limit:
            return None
        return "1 evaluation made" if self.limit == 1 else f"{self.limit} evaluations made"


class Seconds(StoppingRule):
    """Stop at the end of the chunk of evaluations in which `limit` seconds have passed; the result depends on the machine.

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
    >>> SubsetSelector(CFS(), Forward(), stop=Seconds(60)).fit(X, y).archive_.stop_reason
    'no further column raises the merit'
    """

    def __init__(self, limit: float) -> None:
        self.limit = limit

    def time_limit(self) -> float:
        """Return the time limit in seconds."""
        limit = check_real("limit", self.limit)
        if limit <= 0:
            raise ValueError(f"limit must be above 0 seconds, got {self.limit}.")
        return limit

    def reason(self, archive: Archive) -> str | None:
        """Return the reason when the time is over."""
        if archive.seconds < self.time_limit():
            return None
        return "1 second has passed" if self.limit == 1 else f"{self.limit:g} seconds have passed"


class Patience(StoppingRule):
    """Stop after `n_steps` steps (batches) in a row without a better set.

    Parameters
    ----------
    n_steps : int
        Number of steps, at least 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import SubsetSelector
    >>> from tamiz.criteria import CFS
    >>> from tamiz.search import BestFirst, Patience
    >>> X, y = load_iris(return_X_y=True)
    >>> SubsetSelector(CFS(), BestFirst(), stop=Patience(2)).fit(X, y).archive_.stop_reason
    '2 steps in a row without a better set'
    """

    def __init__(self, n_steps: int) -> None:
        self.n_steps = n_steps

    def reason(self, archive: Archive) -> str | None:
        """Return the reason when `n_steps` steps had no better set."""
        if archive.n_steps_without_gain < check_integer("n_steps", self.n_steps, low=1):
            return None
        return (
            "1 step without a better set"
            if self.n_steps == 1
            else f"{self.n_steps} steps in a row without a better set"
        )


class MinGain(StoppingRule):
    """Stop at the first step whose best set exceeds the best merit so far by less than `min_gain`.

    Parameters
    ----------
    min_gain : float
        In the unit of the merit. A negative value is a tolerated loss for fewer columns: the search stops at the first step whose
        best merit is more than `-min_gain` below the best so far, `Backward` drops columns until then, and the smallest evaluated
        set whose merit is within `-min_gain` of the best is selected.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import SubsetSelector
    >>> from tamiz.criteria import CFS
    >>> from tamiz.search import Forward, MinGain
    >>> X, y = load_iris(return_X_y=True)
    >>> SubsetSelector(CFS(), Forward(), stop=MinGain(0.5)).fit(X, y).archive_.stop_reason
    'a step gained less than 0.5'
    """

    def __init__(self, min_gain: float) -> None:
        self.min_gain = min_gain

    @property
    def tolerance(self) -> float:
        """The tolerated loss of merit, 0 where `min_gain` is not negative."""
        return max(0.0, -check_real("min_gain", self.min_gain))

    def reason(self, archive: Archive) -> str | None:
        """Return the reason when the last step gained too little."""
        least, gain = check_real("min_gain", self.min_gain), archive.last_gain
        if gain is None or gain >= least:
            return None
        return f"a step gained less than {least:g}" if least >= 0 else f"a step lost more than {-least:g}"


class TargetMerit(StoppingRule):
    """Stop when a set reaches a merit of at least `merit`.

    Parameters
    ----------
    merit : float
        In the unit of the merit.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import SubsetSelector
    >>> from tamiz.criteria import CFS
    >>> from tamiz.search import Forward, TargetMerit
    >>> X, y = load_iris(return_X_y=True)
    >>> SubsetSelector(CFS(), Forward(), stop=TargetMerit(0.8)).fit(X, y).archive_.stop_reason
    'a merit of 0.8 is reached'
    """

    def __init__(self, merit: float) -> None:
        self.merit = merit

    def reason(self, archive: Archive) -> str | None:
        """Return the reason when the merit is reached."""
        check_real("merit", self.merit)
        return f"a merit of {self.merit:g} is reached" if archive.best_merit >= self.merit else None
