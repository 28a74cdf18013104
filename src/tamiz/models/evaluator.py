"""Cross-validated scores of column sets, by a fold backend or by refits."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import cached_property
from typing import Any

import numpy as np
from sklearn import get_config

from tamiz.models.base import ColumnIndices, CVTask, FoldBackend
from tamiz.models.fit_errors import ConstantInFoldError, error_context
from tamiz.models.fold_scorer import FoldScorer
from tamiz.models.permutation_losses import check_permutable, permutation_losses
from tamiz.models.refits import RefitBackend
from tamiz.models.score_functions import confusion_scorer, likelihood_scorer, squared_error_scorer
from tamiz.models.task import overlap_warnings
from tamiz.models.task_identity import task_identity_fields
from tamiz.runtime import parallel
from tamiz.statistics.base import Floats
from tamiz.subsets.candidates import Candidates, Masks
from tamiz.subsets.evaluator import Evaluator, Unit

# Microseconds per fold of a ROC AUC or log loss from joint log-likelihoods, dominated by numpy calls.
_LIKELIHOOD_COST = 250.0


class WrapperEvaluator(Evaluator):
    """Mean cross-validation score of column sets.

    The score of the empty set is the baseline score on the same folds: that of class frequencies or of the mean. Without a target
    the empty set scores minus infinity.

    Parameters
    ----------
    task : CVTask
    backend : FoldBackend
    method : str
        A sentence on how scores are computed.
    """

    def __init__(self, task: CVTask, backend: FoldBackend, method: str) -> None:
        self.task = task
        self.backend = backend
        self._method = method
        self._scorer = FoldScorer(task, backend)
        # The error of the first set without a score, and the number of such sets.
        self._first_unscored, self._n_unscored = "", 0

    @property
    def name(self) -> str:
        """The name of the merit."""
        return f"{self.task.scoring.name.replace('_', ' ')} of {self.task.label}"

    @property
    def method(self) -> str:
        """How a score is computed."""
        return self._method

    @property
    def evaluation_cost(self) -> float:
        """The approximate microseconds per column set."""
        cost, sum_scorer = (
            self.backend.evaluation_cost(),
            confusion_scorer(self.task) or squared_error_scorer(self.task),
        )
        if sum_scorer is None and self.backend.has_likelihoods and likelihood_scorer(self.task) is not None:
            return max(cost, _LIKELIHOOD_COST * len(self.task.folds))
        return cost

    def evaluate(self, candidates: Candidates) -> Floats:
        """Return the mean over the folds for every candidate."""
        return self.fold_scores(candidates).mean(axis=1)

    def importances(self, mask: Masks, units: Sequence[Unit], n_repeats: int) -> Floats:
        """Return the mean loss of score, over folds and repeats, when each unit of columns is permuted in the test rows."""
        return self.permutation_losses(mask, units, n_repeats).mean(axis=2).mean(axis=0)

    def permutation_losses(self, mask: Masks, units: Sequence[Unit], n_repeats: int) -> Floats:
        """Return the loss by each permutation in each fold, of shape (n_folds, n_units, n_repeats)."""
        check_permutable(self.task)
        refits, columns = self._refit_backend, np.flatnonzero(mask)
        if not units:
            return np.empty((len(self.task.folds), 0, n_repeats))

        def of_fold(fold: int) -> Floats:
            with self.task.fit_warnings.record_fit(), error_context(self.task, columns, fold, self.task.label):
                return permutation_losses(refits, columns, units, fold, n_repeats)

        with self.task.fit_warnings.capture():
            return np.array(list(parallel.map_blocks(of_fold, range(len(self.task.folds)))))

    def max_bytes(self) -> float:
        """Return the bytes of memory that the backend needs."""
        return self.backend.max_bytes()

    def identity_fields(self) -> dict[str, Any]:
        """Return what the scores depend on beyond the columns and the data."""
        return task_identity_fields(self.task)

    def subset_notes(self, mask: Masks) -> list[str]:
        """Return notes about the score of a set and about the folds."""
        return [*(self.backend.subset_notes(np.flatnonzero(mask)) if mask.any() else []), *self.task.folds.fold_notes]

    def notes(self) -> list[str]:
        """Return warnings about the folds, notes on the encoding, warnings of refits, and the number of sets without a score."""
        encoding_notes = self.task.matrix.notes() if self.task.is_encoded else []
        unscored = []
        if self._n_unscored:
            sets = "1 set has" if self._n_unscored == 1 else f"{self._n_unscored:,} sets have"
            unscored = [f"{sets} no score and cannot be selected. {self._first_unscored}"]
        return [
            *self.task.folds.fold_warnings,
            *overlap_warnings(self.task.folds),
            *encoding_notes,
            *self.task.fit_warnings.notes(self.task.label),
            *unscored,
        ]

    def fold_scores(self, candidates: Candidates) -> Floats:
        """Return the score of every candidate in every fold, of shape (n_candidates, n_folds).

        It is minus infinity for a set on which a fit fails because a column is constant in a fold.
        """
        try:
            return self._scorer.scores(candidates)[0]
        except ConstantInFoldError as error:
            n = len(candidates)
            if n == 1:
                self._count_unscored(error)
                return np.full((1, len(self.task.folds)), -np.inf)
            halves = np.array_split(np.arange(n), 2)
            return np.concatenate([self.fold_scores(candidates[half]) for half in halves])

    def fold_refit_scores(self, fold: int, masks: Masks) -> Floats:
        """Return the score of every set in one fold, by refits; minus infinity if a fit fails on a constant column."""
        scorer, sets = self._scorer, [np.flatnonzero(mask) for mask in masks]
        config, refit = get_config(), self.backend.fold_refitter(np.flatnonzero(masks.any(axis=0)), fold)

        def of_set(columns: ColumnIndices) -> float | ConstantInFoldError:
            try:
                return (
                    scorer.score_set(columns, fold, refit, config)
                    if len(columns)
                    else float(scorer.baseline_scores[0, fold])
                )
            except ConstantInFoldError as error:
                return error

        with self.task.fit_warnings.capture(), parallel.single_threaded() if scorer.has_few_rows else nullcontext():
            found = list(parallel.map_blocks(of_set, sets))
        for error in (one for one in found if isinstance(one, ConstantInFoldError)):
            self._count_unscored(error)
        return np.array([-np.inf if isinstance(one, ConstantInFoldError) else one for one in found])

    def _count_unscored(self, error: ConstantInFoldError) -> None:
        self._first_unscored, self._n_unscored = self._first_unscored or str(error), self._n_unscored + 1

    @cached_property
    def _refit_backend(self) -> RefitBackend:
        return RefitBackend(self.task)
