"""Evaluators: the merits of candidate subsets over one table, and the properties of a merit that exact searches use."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from tamiz.arrays import Floats, Indices, Masks
from tamiz.exceptions import DataError
from tamiz.runtime.user_warnings import list_names
from tamiz.runtime.verdicts import Verdict
from tamiz.subsets.candidates import Candidates

Unit = Indices
# How the importances of columns are found, as `RecursiveElimination` describes it.
ImportanceGetter: TypeAlias = "str | Callable[[Any], Any]"


class MeritProperties:
    """Properties of a merit beyond its values, which exact searches and reports use."""

    @property
    def name(self) -> str:
        return type(self).__name__.strip("_").removesuffix("Evaluator")

    @property
    def method(self) -> str:
        """How the merit is computed, one sentence for the report; "" if the name suffices."""
        return ""

    @property
    def evaluation_cost(self) -> float:
        """Cost of evaluating a set, in units of about a microsecond."""
        return 1.0

    def quadratic_form(self) -> tuple[Floats, Floats] | None:
        """Return c and A if the merit is c'x / sqrt(x'Ax), else None."""
        return None

    def upper_bounds(self, masks: Masks) -> Floats | None:  # noqa: ARG002 - a merit with a bound reads the masks
        return None

    def importances(
        self,
        mask: Masks,  # noqa: ARG002
        units: Sequence[Unit],  # noqa: ARG002
        n_repeats: int,  # noqa: ARG002
        getter: ImportanceGetter = "auto",  # noqa: ARG002
    ) -> Floats | None:
        """Return the importance of each unit of columns within a set, None if only the merits of other sets show it.

        Importances that differ by rounding errors only are equal.

        Parameters
        ----------
        mask : ndarray of shape (n_columns,), bool
        units : list of ndarray
            Columns of the set that are evaluated together; there may be none.
        n_repeats : int
            Number of random repetitions, if the importance is random. Draws depend only on the set and the seed of the merit.
        getter : str or callable
            `importance_getter` of `RecursiveElimination`.
        """
        return None

    def max_bytes(self) -> float:
        """Return the maximum memory of the evaluator in bytes, without the table."""
        return 0.0

    def identity_fields(self) -> dict[str, Any]:
        """Return what the merits depend on beyond columns, data and name of the merit, as JSON values; part of a journal's
        identity.
        """
        return {}

    def notes(self) -> list[Verdict]:
        """Return notes for the user at the end of a search, one sentence each."""
        return []

    def subset_notes(self, mask: Masks) -> list[str]:  # noqa: ARG002 - most merits have no notes on a set
        """Return notes on the merit of one set, one sentence each."""
        return []

    def subset_warnings(self, mask: Masks, free: Masks) -> list[Verdict]:  # noqa: ARG002 - most merits have no warnings on a set
        """Return warnings on the columns of the set that a search selected; the `free` columns are neither fixed nor excluded."""
        return []


class Evaluator(MeritProperties, ABC):
    @abstractmethod
    def evaluate(self, candidates: Candidates) -> Floats:
        """Return the merit of every candidate; each value depends only on its candidate."""

    def fold_scores(self, candidates: Candidates) -> Floats | None:  # noqa: ARG002 - a merit with folds reads the candidates
        """Return the fold scores, shape (n_candidates, n_folds), whose means are the merits; None if the merit has no folds."""
        return None

    def evaluate_with_folds(self, candidates: Candidates) -> tuple[Floats, Floats | None]:
        """Return the merits and the fold scores (None if the merit has no folds) from one evaluation."""
        scores = self.fold_scores(candidates)
        return (self.evaluate(candidates), None) if scores is None else (scores.mean(axis=1), scores)


class NaNCheckEvaluator(Evaluator):
    """An evaluator that raises DataError for a set whose merit is NaN.

    Parameters
    ----------
    evaluator : Evaluator
    names : list of str
        The names of the columns.
    """

    def __init__(self, evaluator: Evaluator, names: Sequence[str]) -> None:
        self._evaluator = evaluator
        self._names = names

    @property
    def name(self) -> str:
        return self._evaluator.name

    @property
    def method(self) -> str:
        return self._evaluator.method

    @property
    def evaluation_cost(self) -> float:
        return self._evaluator.evaluation_cost

    def evaluate(self, candidates: Candidates) -> Floats:
        """Return the merits; raise DataError for NaN."""
        merits = self._evaluator.evaluate(candidates)
        self._check(merits, candidates)
        return merits

    def fold_scores(self, candidates: Candidates) -> Floats | None:
        """Return the fold scores; raise DataError for NaN."""
        scores = self._evaluator.fold_scores(candidates)
        if scores is not None:
            self._check(scores.mean(axis=1), candidates)
        return scores

    def _check(self, merits: Floats, candidates: Candidates) -> None:
        bad = np.flatnonzero(np.isnan(merits))
        if not len(bad):
            return
        (mask,) = candidates[bad[:1]].masks()
        named = [self._names[j] for j in np.flatnonzero(mask).tolist()]
        raise DataError(
            f"The merit of the set of {list_names(named) or 'no column'} is not a number. "
            "Every set must have a merit: exclude columns that the criterion cannot use."
        )

    def quadratic_form(self) -> tuple[Floats, Floats] | None:
        return self._evaluator.quadratic_form()

    def upper_bounds(self, masks: Masks) -> Floats | None:
        return self._evaluator.upper_bounds(masks)

    def importances(
        self, mask: Masks, units: Sequence[Unit], n_repeats: int, getter: ImportanceGetter = "auto"
    ) -> Floats | None:
        """Return the importance of each unit of columns within a set."""
        return self._evaluator.importances(mask, units, n_repeats, getter)

    def max_bytes(self) -> float:
        return self._evaluator.max_bytes()

    def identity_fields(self) -> dict[str, Any]:
        """Return what the merits depend on beyond columns, data and name."""
        return self._evaluator.identity_fields()

    def notes(self) -> list[Verdict]:
        return self._evaluator.notes()

    def subset_notes(self, mask: Masks) -> list[str]:
        return self._evaluator.subset_notes(mask)

    def subset_warnings(self, mask: Masks, free: Masks) -> list[Verdict]:
        """Return warnings on the columns of the set that a search selected."""
        return self._evaluator.subset_warnings(mask, free)
