"""What gives merits to candidates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.exceptions import DataError
from tamiz.subsets.candidates import Candidates, Masks

Floats = NDArray[np.float64]
Unit = NDArray[np.intp]

# As many columns of a set are named in one sentence.
_MAX_LISTED = 5


class MeritProperties:
    """What is known of a merit beyond its values: that is what exact searches live on."""

    @property
    def name(self) -> str:
        """What the merit is called in messages."""
        return type(self).__name__.strip("_").removesuffix("Evaluator")

    @property
    def method(self) -> str:
        """How the merit of a set is found, a sentence; "" where that goes without saying."""
        return ""

    @property
    def evaluation_cost(self) -> float:
        """How much work a set is, in sums of a few numbers: a microsecond or so each."""
        return 1.0

    def quadratic_form(self) -> tuple[Floats, Floats] | None:
        """Return c and A where merit = c'x / sqrt(x'Ax), None where it is no such quotient."""
        return None

    def upper_bounds(self, masks: Masks) -> Floats | None:  # noqa: ARG002 - a merit with a bound reads the masks
        """Return upper bounds of the merits of all subsets of each mask, None where there is no bound."""
        return None

    def importances(self, mask: Masks, units: Sequence[Unit], n_repeats: int) -> Floats | None:  # noqa: ARG002
        """Return what each unit of columns is worth to the merit of a set that holds them, None where only other sets tell.

        Parameters
        ----------
        mask : ndarray of shape (n_columns,), bool
        units : list of ndarray
            Columns of the set that are judged together; there may be none.
        n_repeats : int
            How often lots are drawn, where they are. They depend on the set and on the merit's seed alone.
        """
        return None

    def max_bytes(self) -> float:
        """Return what the merit holds in memory at most beyond the table."""
        return 0.0

    def identity_fields(self) -> dict[str, Any]:
        """Return what the merits depend on beyond columns, data and the merit's name, as JSON has it."""
        return {}

    def notes(self) -> list[str]:
        """Return what the user is to be told at the end of a search, a sentence each."""
        return []

    def subset_notes(self, mask: Masks) -> list[str]:  # noqa: ARG002 - most have nothing to say of a set
        """Return what a reader of the merit of a set must know, a sentence each."""
        return []


class Evaluator(MeritProperties, ABC):
    """A merit over one table."""

    @abstractmethod
    def evaluate(self, candidates: Candidates) -> Floats:
        """Return the merit of every candidate; each value depends on its candidate alone."""

    def fold_scores(self, candidates: Candidates) -> Floats | None:  # noqa: ARG002 - a merit with folds reads the candidates
        """Return the scores whose mean over the folds is the merit, of shape (n_candidates, n_folds); None without folds."""
        return None

    def evaluate_with_folds(self, candidates: Candidates) -> tuple[Floats, Floats | None]:
        """Return the merit of every candidate, and its scores in the folds where the merit has folds, from one evaluation."""
        scores = self.fold_scores(candidates)
        return (self.evaluate(candidates), None) if scores is None else (scores.mean(axis=1), scores)


class NaNCheckEvaluator(Evaluator):
    """Merits that are numbers: a set whose merit is none is named.

    Parameters
    ----------
    evaluator : Evaluator
    names : list of str
        The columns' names.
    """

    def __init__(self, evaluator: Evaluator, names: Sequence[str]) -> None:
        self._evaluator = evaluator
        self._names = names

    @property
    def name(self) -> str:
        """What the merit is called."""
        return self._evaluator.name

    @property
    def method(self) -> str:
        """How the merit is found."""
        return self._evaluator.method

    @property
    def evaluation_cost(self) -> float:
        """How much work a set is."""
        return self._evaluator.evaluation_cost

    def evaluate(self, candidates: Candidates) -> Floats:
        """Return the merits; a NaN is a DataError."""
        merits = self._evaluator.evaluate(candidates)
        self._check(merits, candidates)
        return merits

    def fold_scores(self, candidates: Candidates) -> Floats | None:
        """Return the scores in the folds; a NaN is a DataError."""
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
        more = f", and {len(named) - _MAX_LISTED:,} more" if len(named) > _MAX_LISTED else ""
        raise DataError(
            f"The merit of the set of {', '.join(named[:_MAX_LISTED]) or 'no column'}{more} is not a number. "
            "Every set must have one: leave out columns that the merit cannot take."
        )

    def quadratic_form(self) -> tuple[Floats, Floats] | None:
        """Return c and A of the merit."""
        return self._evaluator.quadratic_form()

    def upper_bounds(self, masks: Masks) -> Floats | None:
        """Return upper bounds of the merit."""
        return self._evaluator.upper_bounds(masks)

    def importances(self, mask: Masks, units: Sequence[Unit], n_repeats: int) -> Floats | None:
        """Return what units of columns are worth to a set."""
        return self._evaluator.importances(mask, units, n_repeats)

    def max_bytes(self) -> float:
        """Return what the merit holds."""
        return self._evaluator.max_bytes()

    def identity_fields(self) -> dict[str, Any]:
        """Return what the merits depend on."""
        return self._evaluator.identity_fields()

    def notes(self) -> list[str]:
        """Return what the user is to be told."""
        return self._evaluator.notes()

    def subset_notes(self, mask: Masks) -> list[str]:
        """Return what a reader of the merit of a set must know."""
        return self._evaluator.subset_notes(mask)
