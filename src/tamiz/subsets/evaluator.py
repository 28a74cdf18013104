"""Evaluators: the merits of candidate subsets over one table, and protocols of what some merits offer beyond their values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from tamiz.arrays import Floats, Indices, Masks
from tamiz.exceptions import DataError
from tamiz.runtime.user_warnings import list_names
from tamiz.runtime.verdicts import Verdict
from tamiz.subsets.candidates import Candidates

Unit = Indices
# How the importances of columns are found, as `RecursiveElimination` describes it.
ImportanceGetter: TypeAlias = "str | Callable[[Any], Any]"


class Evaluator(ABC):
    """The merits of candidate subsets over one table.

    Attributes
    ----------
    method : str
        How the merit is computed, one sentence for the report; "" if the name suffices.
    evaluation_cost : float
        Cost of evaluating a set, in units of about a microsecond.
    """

    method: str = ""
    evaluation_cost: float = 1.0

    @property
    def name(self) -> str:
        return type(self).__name__.strip("_").removesuffix("Evaluator")

    @abstractmethod
    def evaluate(self, candidates: Candidates) -> Floats:
        """Return the merit of every candidate; each value depends only on its candidate."""

    def max_bytes(self) -> float:
        """Return the maximum memory of the evaluator in bytes, without the table."""
        return 0.0

    def identity_fields(self) -> dict[str, Any]:
        """Return what the merits depend on beyond columns, data and name of the merit, as JSON values, for a journal's identity."""
        return {}

    def notes(self) -> list[Verdict]:
        """Return notes for the user at the end of a search, one sentence each."""
        return []


@runtime_checkable
class HasFolds(Protocol):
    """A merit that is the mean of scores in folds."""

    def fold_scores(self, candidates: Candidates) -> Floats:
        """Return the fold scores, of shape (n_candidates, n_folds)."""


@runtime_checkable
class HasQuadraticForm(Protocol):
    """A merit c'x / sqrt(x'Ax)."""

    def quadratic_form(self) -> tuple[Floats, Floats] | None:
        """Return c and A, None where the sums are not exact."""


@runtime_checkable
class HasBounds(Protocol):
    """A merit with upper bounds."""

    def upper_bounds(self, masks: Masks) -> Floats | None:
        """Return upper bounds of the merits of all subsets of each mask, None where the merit has none with its parameters."""


@runtime_checkable
class HasImportances(Protocol):
    """A merit that shows the importance of each column within a set without the merits of other sets."""

    def importances(
        self, mask: Masks, units: Sequence[Unit], n_repeats: int, getter: ImportanceGetter = "auto"
    ) -> Floats | None:
        """Return the importance of each unit of columns within a set, None where the getter finds none.

        Importances that differ by rounding errors only are equal. Those that are random are means over `n_repeats` draws, which
        depend only on the set and the seed of the merit. `getter` is the `importance_getter` of `RecursiveElimination`.
        """


@runtime_checkable
class HasSetNotes(Protocol):
    """A merit with notes on its value for the set that a search selected."""

    def subset_notes(self, mask: Masks) -> list[str]:
        """Return notes on the merit of a set, one sentence each."""


@runtime_checkable
class HasSetWarnings(Protocol):
    """A merit with warnings on the columns of the set that a search selected."""

    def subset_warnings(self, mask: Masks, free: Masks) -> list[Verdict]:
        """Return warnings on the columns of a set; the `free` columns are neither fixed nor excluded."""


# From candidates to their merits and fold scores.
MeritFunction: TypeAlias = Callable[[Candidates], tuple[Floats, Floats | None]]


def merit_name(merit: object) -> str:
    """Return the name of a merit for messages."""
    return merit.name if isinstance(merit, Evaluator) else type(merit).__name__


def checked_merits(
    evaluator: Evaluator, names: Sequence[str] | None, candidates: Candidates
) -> tuple[Floats, Floats | None]:
    """Return the merits and the fold scores (None if the merit has no folds) from one evaluation; raise DataError for NaN.

    `names` are those of the columns, None to name columns by number.
    """
    scores = evaluator.fold_scores(candidates) if isinstance(evaluator, HasFolds) else None
    merits = evaluator.evaluate(candidates) if scores is None else scores.mean(axis=1)
    bad = np.flatnonzero(np.isnan(merits))
    if len(bad):
        (mask,) = candidates[bad[:1]].masks()
        named = [str(j) if names is None else names[j] for j in np.flatnonzero(mask).tolist()]
        raise DataError(
            f"The merit of the set of {list_names(named) or 'no column'} is not a number. "
            "Every set must have a merit: exclude columns that the criterion cannot use."
        )
    return merits, scores
