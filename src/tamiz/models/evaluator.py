"""Cross-validated scores of column sets, by a fold backend or by refits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import cached_property, partial
from itertools import groupby, islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context, get_config
from sklearn.dummy import DummyClassifier, DummyRegressor

from tamiz.models.base import ColumnIndices, CVTask, FittedFold, FoldBackend, FoldRows
from tamiz.models.fit_errors import ConstantInFoldError, error_context
from tamiz.models.permutation_losses import check_permutable, permutation_losses
from tamiz.models.refit_workers import RefitWorkers
from tamiz.models.refits import RefitBackend
from tamiz.models.score_functions import (
    LikelihoodScore,
    baseline_confusion,
    baseline_squared_errors,
    confusion_scorer,
    likelihood_scorer,
    squared_error_scorer,
)
from tamiz.models.task import overlap_warnings
from tamiz.models.task_identity import task_identity_fields
from tamiz.runtime import parallel
from tamiz.statistics.base import Floats
from tamiz.subsets.candidates import Candidates, Masks
from tamiz.subsets.evaluator import Evaluator, Unit


class _RefitJob(NamedTuple):
    """One refit.

    Attributes
    ----------
    columns : ndarray
    fold : int
    rows : FoldRows or None
        The rows that a worker process needs.
    refit : callable
        refit(columns) in this process.
    sklearn_config : dict
        The configuration of scikit-learn in the calling thread.
    """

    columns: ColumnIndices
    fold: int
    rows: FoldRows | None
    refit: Callable[[ColumnIndices], FittedFold]
    sklearn_config: dict[str, Any]


# Fits to fewer rows spend most of their time in Python under the GIL, where threads slow each other down: logistic regression on
# 500 rows takes 2.6 ms per fit on one thread and 3.6 ms on two.
_FEW_ROWS = 2000
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
        encoding_notes = self.task.matrix.notes() if self.task.encode else []
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
        """Return the score of every candidate in every fold, of shape (n_candidates, n_folds)."""
        empty = candidates.sizes() == 0
        if not empty.any():
            return self._scores_or_minus_inf(candidates)
        scores = np.empty((len(candidates), len(self.task.folds)))
        scores[empty] = self._baseline_scores
        if not empty.all():
            scores[~empty] = self._scores_or_minus_inf(candidates[np.flatnonzero(~empty)])
        return scores

    def fold_refit_scores(self, fold: int, masks: Masks) -> Floats:
        """Return the score of every set in one fold, by refits; minus infinity if a fit fails on a constant column."""
        sets = [np.flatnonzero(mask) for mask in masks]
        config, refit = get_config(), self.backend.fold_refitter(np.flatnonzero(masks.any(axis=0)), fold)

        def of_set(columns: ColumnIndices) -> float | ConstantInFoldError:
            try:
                return (
                    self._score_refit(_RefitJob(columns, fold, None, refit, config))
                    if len(columns)
                    else float(self._baseline_scores[fold])
                )
            except ConstantInFoldError as error:
                return error

        with self.task.fit_warnings.capture(), parallel.single_threaded() if self._has_few_rows else nullcontext():
            found = list(parallel.map_blocks(of_set, sets))
        for error in (one for one in found if isinstance(one, ConstantInFoldError)):
            self._first_unscored, self._n_unscored = self._first_unscored or str(error), self._n_unscored + 1
        return np.array([-np.inf if isinstance(one, ConstantInFoldError) else one for one in found])

    def _scores_or_minus_inf(self, candidates: Candidates) -> Floats:
        """Return the scores; minus infinity for a set on which a fit fails because a column is constant in a fold."""
        try:
            return self._scores_with_warnings(candidates)
        except ConstantInFoldError as error:
            n = len(candidates)
            if n == 1:
                self._first_unscored, self._n_unscored = self._first_unscored or str(error), self._n_unscored + 1
                return np.full((1, len(self.task.folds)), -np.inf)
            halves = np.array_split(np.arange(n), 2)
            return np.concatenate([self._scores_or_minus_inf(candidates[half]) for half in halves])

    def _scores_with_warnings(self, candidates: Candidates) -> Floats:
        with self.task.fit_warnings.capture():
            return self._dispatch_scores(candidates)

    def _dispatch_scores(self, candidates: Candidates) -> Floats:
        score = confusion_scorer(self.task)
        if score is not None and (counts := self.backend.confusion_counts(candidates)) is not None:
            return score(counts)
        score = squared_error_scorer(self.task)
        if score is not None and (squares := self.backend.squared_errors(candidates)) is not None:
            return score(squares)
        likelihood = likelihood_scorer(self.task) if self.backend.has_likelihoods else None
        return self._refit_scores(candidates) if likelihood is None else self._likelihood_scores(candidates, likelihood)

    def _likelihood_scores(self, candidates: Candidates, score: LikelihoodScore) -> Floats:
        """Return scores from joint log-likelihoods, and from refits where rounding could change them."""
        config, folds = get_config(), range(len(self.task.folds))

        def of_set(columns: ColumnIndices) -> list[float]:
            found = [score(self.backend, columns, fold) for fold in folds]
            return [
                self._score_refit(_RefitJob(columns, fold, None, partial(self.backend.fit_fold, fold=fold), config))
                if value is None
                else value
                for fold, value in enumerate(found)
            ]

        sets = [np.flatnonzero(mask) for mask in candidates.masks()]
        return np.array(list(parallel.map_blocks(of_set, sets)))

    def _refit_scores(self, candidates: Candidates) -> Floats:
        sets = [np.flatnonzero(mask) for mask in candidates.masks()]
        n_left = len(self.task.folds) * len(sets)
        jobs = self._refit_jobs(sets)
        found: list[float] = []
        while n_left and not (self.backend.can_refit_in_workers and self._workers.are_available(n_left)):
            # With few rows in batches: workers may become ready before the end.
            n = min(self._workers.batch_size(n_left), n_left) if self._has_few_rows else n_left
            begun = time.perf_counter()
            with parallel.single_threaded() if self._has_few_rows else nullcontext():
                found += parallel.map_blocks(self._score_refit, islice(jobs, n))
                self._workers.record_time((time.perf_counter() - begun) * parallel.n_session_threads(), n)
            n_left -= n
        if n_left:
            for scores in parallel.map_blocks(
                self._score_by_worker, _batch_by_fold(jobs, self._workers.batch_size(n_left))
            ):
                found += scores
        # C order with one row per candidate, so that a mean is summed in the same order for any number of candidates.
        return np.ascontiguousarray(np.array(found).reshape(len(self.task.folds), -1).T)

    def _refit_jobs(self, sets: Sequence[ColumnIndices]) -> Iterator[_RefitJob]:
        """Yield refits fold after fold; the rows of a fold are cut out once for all sets."""
        # scikit-learn's configuration is local to this thread.
        config = get_config()
        columns_needed = np.unique(np.concatenate(sets))
        for fold in range(len(self.task.folds)):
            rows = self.backend.fold_rows(columns_needed, fold)
            refit = (
                self.backend.fold_refitter(columns_needed, fold)
                if rows is None
                else partial(rows.refit, self.task.estimator)
            )
            for columns in sets:
                yield _RefitJob(columns, fold, rows, refit, config)

    def _score_by_worker(self, jobs: Sequence[_RefitJob]) -> list[float]:
        """Return the scores of sets in a fold by a worker process, and by this process for sets that failed there."""
        assert jobs[0].rows is not None
        found = self._workers.scores(jobs[0].rows, [item.columns for item in jobs])
        for _, fit_warnings in filter(None, found):
            self.task.fit_warnings.add_fit(fit_warnings)
        return [self._score_refit(item) if one is None else one[0] for item, one in zip(jobs, found, strict=True)]

    def _score_refit(self, job: _RefitJob) -> float:
        with config_context(**job.sklearn_config), self.task.fit_warnings.record_fit():
            with error_context(self.task, job.columns, job.fold, self.task.label):
                fitted = job.refit(job.columns)
            with error_context(self.task, job.columns, job.fold, self.task.scoring.name):
                return self._test_score(fitted, job.fold)

    def _test_score(self, fitted: FittedFold, fold: int) -> float:
        rows = self.task.folds[fold].test
        return self.task.scoring.score(
            fitted.estimator, fitted.test_rows, self.task.target_at(rows), self.task.weight_at(rows)
        )

    @cached_property
    def _has_few_rows(self) -> bool:
        return max(len(fold.train) for fold in self.task.folds) < _FEW_ROWS

    @cached_property
    def _workers(self) -> RefitWorkers:
        return RefitWorkers(self.task, few_rows=self._has_few_rows)

    @cached_property
    def _refit_backend(self) -> RefitBackend:
        return RefitBackend(self.task)

    @property
    def _baseline_scores(self) -> NDArray[np.float64]:
        if not self.task.has_target:
            # Without columns and target there is nothing to fit or score.
            return np.full(len(self.task.folds), -np.inf)
        score = confusion_scorer(self.task) if self.task.has_classes else None
        if score is not None:
            return score(baseline_confusion(self.task))
        score = squared_error_scorer(self.task)
        if score is not None:
            return score(baseline_squared_errors(self.task)[None])[0]
        model = DummyClassifier(strategy="prior") if self.task.has_classes else DummyRegressor()
        scores = []
        for f, fold in enumerate(self.task.folds):
            with error_context(self.task, np.empty(0, dtype=np.intp), f, self.task.scoring.name):
                train, test = np.empty((len(fold.train), 0)), np.empty((len(fold.test), 0))
                weight = self.task.weight_at(fold.train)
                model.fit(train, self.task.target[fold.train], sample_weight=weight)
                scores.append(self._test_score(FittedFold(model, test), f))
        return np.array(scores)


def _batch_by_fold(jobs: Iterator[_RefitJob], max_size: int) -> Iterator[list[_RefitJob]]:
    """Yield batches of refits of one fold, with at most max_size each."""
    for _, items in groupby(jobs, lambda item: item.fold):
        while some := list(islice(items, max_size)):
            yield some
