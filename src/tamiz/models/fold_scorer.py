"""Scores of a model on column sets, fold by fold: `FoldScorer`, and `score_folds` for a few sets.

All scores of a model come from here: those of searches (`tamiz.models.evaluator`) and those of assessments. A `FoldScorer` computes
scores from the sums of a fold backend, and refits the model where a score is no function of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import groupby, islice
from typing import Any, NamedTuple

import numpy as np
from sklearn import config_context, get_config
from sklearn.dummy import DummyClassifier, DummyRegressor

from tamiz.arrays import Floats, Indices, Masks, is_missing
from tamiz.models.base import CVTask, FittedFold, FoldBackend, FoldRows
from tamiz.models.fit_errors import error_context
from tamiz.models.folds import Folds
from tamiz.models.named_models import Model
from tamiz.models.refit_workers import RefitWorkers
from tamiz.models.refits import RefitBackend, choose_backend
from tamiz.models.score_functions import (
    LikelihoodScore,
    baseline_confusion,
    baseline_squared_errors,
    confusion_scorer,
    likelihood_scorer,
    squared_error_scorer,
)
from tamiz.models.scoring import Scoring, score_fitted
from tamiz.models.task import make_task
from tamiz.runtime import parallel, progress
from tamiz.runtime.verdicts import Verdict
from tamiz.subsets.candidates import Candidates
from tamiz.table.base import Table
from tamiz.table.views import select_columns

# Fits to fewer rows spend most of their time in Python under the GIL, where threads slow each other down: logistic regression on
# 500 rows takes 2.6 ms per fit on one thread and 3.6 ms on two.
_FEW_ROWS = 2000


@dataclass(frozen=True)
class SetScores:
    """The scores of a model on column sets.

    Attributes
    ----------
    values : ndarray of shape (n_scorings, n_sets, n_folds)
    notes : tuple of Verdict
        Warnings of the fits.
    """

    values: Floats
    notes: tuple[Verdict, ...]


def score_folds(
    model: Model,
    table: Table,
    folds: Folds,
    scoring: Scoring | Sequence[Scoring],
    *,
    sets: Masks | None = None,
    seed: int = 0,
) -> SetScores:
    """Fit a model on the training rows of every fold for each of a few column sets, and score it on the test rows.

    Parameters
    ----------
    model : Model
    table : Table
    folds : Folds
        Of the rows of the table.
    scoring : Scoring or list of Scoring
    sets : ndarray of shape (n_sets, n_columns) or (n_sets, n_folds, n_columns), bool, default=None
        The columns, the same in every fold or others in each. None is one set of all columns. A column that the table excludes is
        in no set. The score of the empty set is the baseline score.
    seed : int, default=0
        Seed of an estimator without one.

    Raises
    ------
    DataError
        When the table, a fold or the model cannot be used, or a fit fails; the message names the fold and the columns.

    Notes
    -----
    The scores are those of scikit-learn's `cross_validate` for the model and its encoding on the same folds. Equal sets in a fold
    share a fit. The model is refitted for every set and fold, as a fold backend pays for many sets only, except for naive Bayes on
    mixed columns, whose backend needs one pass for all sets.
    """
    scorings = (scoring,) if isinstance(scoring, Scoring) else tuple(scoring)
    used = np.zeros(table.schema.n_columns, dtype=bool)
    used[table.schema.used] = True
    masks = used[None] if sets is None else sets & used
    n_sets, n_folds = len(masks), len(folds)
    needed = np.ones((n_sets, n_folds), dtype=bool)
    if masks.ndim == 3:
        # Set s of fold f is row (s, f), which is needed in its own fold only.
        needed = np.tile(np.eye(n_folds, dtype=bool), (n_sets, 1))
        masks = masks.reshape(-1, masks.shape[2])
    unique, back = np.unique(masks, axis=0, return_inverse=True)
    back = back.ravel()
    unique_needed = np.zeros((len(unique), n_folds), dtype=bool)
    np.logical_or.at(unique_needed, back, needed)
    columns = np.flatnonzero(unique.any(axis=0))
    # Other columns would be read and encoded too.
    view = select_columns(table, (columns if len(columns) else table.schema.used[:1]).tolist())
    task = make_task(model, view, cv=folds, scoring=scorings[0], seed=seed)
    with progress.use_listener(None):
        # A scorer that reads more than predictions gets the rows in the user's type.
        from_views = model.reads_table and all(one.uses_predictions_only for one in scorings)
        backend = choose_backend(task)[0] if from_views else RefitBackend(task)
        scorer = FoldScorer(task, backend, scorings)
        values = scorer.scores(Candidates.from_masks(unique), unique_needed)[:, back]
    if len(back) > n_sets:
        values = values.reshape(len(scorings), n_sets, n_folds, n_folds)[:, :, np.arange(n_folds), np.arange(n_folds)]
    return SetScores(values, tuple(task.fit_warnings.notes(task.label)))


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

    columns: Indices
    fold: int
    rows: FoldRows | None
    refit: Callable[[Indices], FittedFold]
    sklearn_config: dict[str, Any]


class FoldScorer:
    """Scores column sets in every fold by several scorings; the score of the empty set is the baseline score.

    The baseline score is that of class frequencies or of the mean. Without a target the empty set scores minus infinity.

    Parameters
    ----------
    task : CVTask
    backend : FoldBackend
    scorings : tuple of Scoring, default=None
        None is the scoring of the task.
    """

    def __init__(self, task: CVTask, backend: FoldBackend, scorings: tuple[Scoring, ...] | None = None) -> None:
        self.task = task
        self.backend = backend
        self.scorings = tuple(one.with_requests(task.table.metadata) for one in scorings or (task.scoring,))

    def scores(self, candidates: Candidates, needed: Masks | None = None) -> Floats:
        """Return the scores, of shape (n_scorings, n_candidates, n_folds); those not needed are NaN or undefined.

        Parameters
        ----------
        candidates : Candidates
        needed : ndarray of shape (n_candidates, n_folds), bool, default=None
            None needs all.
        """
        shape = (len(candidates), len(self.task.folds))
        wanted = np.ones(shape, dtype=bool) if needed is None else needed
        empty = np.tile((candidates.sizes() == 0)[:, None], shape[1])
        if self._absent is not None:
            empty |= ~(candidates.masks()[:, None] & ~self._absent).any(axis=2)
        if not empty.any():
            return self._column_scores(candidates, wanted)
        scores = np.tile(self.baseline_scores[:, None], (1, shape[0], 1))
        rows = np.flatnonzero(~empty.all(axis=1))
        if len(rows):
            found = self._column_scores(candidates[rows], (wanted & ~empty)[rows])
            scores[:, rows] = np.where(empty[rows], scores[:, rows], found)
        return scores

    @cached_property
    def _absent(self) -> Masks | None:
        """The columns without a value in the training rows of each fold, None if there are none.

        No model is fitted on them, except for an estimator that gets the rows in the user's type.
        """
        task, schema = self.task, self.task.table.schema
        if not task.is_encoded and isinstance(self.backend, RefitBackend):
            return None
        absent = np.zeros((len(task.folds), schema.n_columns), dtype=bool)
        columns = [j for j in schema.used.tolist() if schema.columns[j].n_missing]
        for j in columns:
            values = task.table.column(j)
            missing = is_missing(values)
            absent[:, j] = [missing[fold.train].all() for fold in task.folds]
        return absent if absent.any() else None

    def _column_scores(self, candidates: Candidates, needed: Masks) -> Floats:
        """Return the scores of sets that are not empty: from sums or likelihoods where possible, else from refits."""
        with self.task.fit_warnings.capture():
            found = self._sum_scores(candidates)
            for k, task in enumerate(self._tasks):
                likelihood = likelihood_scorer(task) if self.backend.has_likelihoods and k not in found else None
                if likelihood is not None:
                    found[k] = self._likelihood_scores(k, candidates, likelihood, needed)
            rest = [k for k in range(len(self.scorings)) if k not in found]
            if rest:
                found |= dict(zip(rest, self._refit_scores(candidates, needed, rest), strict=True))
        return np.array([found[k] for k in range(len(self.scorings))])

    def _sum_scores(self, candidates: Candidates) -> dict[int, Floats]:
        """Return the scores, by the number of the scoring, that are functions of the backend's counts or squared errors."""
        found: dict[int, Floats] = {}
        by_counts = {k: score for k, task in enumerate(self._tasks) if (score := confusion_scorer(task)) is not None}
        by_squares = {
            k: score
            for k, task in enumerate(self._tasks)
            if k not in by_counts and (score := squared_error_scorer(task)) is not None
        }
        if by_counts and (counts := self.backend.confusion_counts(candidates)) is not None:
            found |= {k: score(counts) for k, score in by_counts.items()}
        if by_squares and (squares := self.backend.squared_errors(candidates)) is not None:
            found |= {k: score(squares) for k, score in by_squares.items()}
        return found

    @cached_property
    def _tasks(self) -> list[CVTask]:
        return [
            self.task if scoring is self.task.scoring else replace(self.task, scoring=scoring)
            for scoring in self.scorings
        ]

    def _likelihood_scores(self, scoring: int, candidates: Candidates, score: LikelihoodScore, needed: Masks) -> Floats:
        """Return scores from joint log-likelihoods, and from refits where rounding could change them."""
        config = get_config()

        def of_set(s: int) -> list[float]:
            columns, found = sets[s], []
            for fold in range(needed.shape[1]):
                value = score(self.backend, columns, fold) if needed[s, fold] else np.nan
                if value is None:
                    job = _RefitJob(columns, fold, None, partial(self.backend.fit_fold, fold=fold), config)
                    (value,) = self._score_refit(job, [scoring])
                found.append(value)
            return found

        sets = [np.flatnonzero(mask) for mask in candidates.masks()]
        return np.array(list(parallel.map_blocks(of_set, range(len(sets)))))

    def _refit_scores(self, candidates: Candidates, needed: Masks, scorings: Sequence[int]) -> Floats:
        sets = [np.flatnonzero(mask) for mask in candidates.masks()]
        n_left = int(np.count_nonzero(needed))
        jobs = self._refit_jobs(sets, needed)
        found: list[list[float]] = []
        score = partial(self._score_refit, scorings=scorings)
        while n_left and not (self.backend.can_refit_in_workers and self._workers.are_available(n_left)):
            # With few rows in batches: workers may become ready before the end.
            n = min(self._workers.batch_size(n_left), n_left) if self.has_few_rows else n_left
            begun = time.perf_counter()
            with parallel.single_threaded() if self.has_few_rows else nullcontext():
                found += parallel.map_blocks(score, islice(jobs, n))
                self._workers.record_time((time.perf_counter() - begun) * parallel.n_session_threads(), n)
            n_left -= n
        if n_left:
            for values in parallel.map_blocks(
                self._score_by_worker, _batch_by_fold(jobs, self._workers.batch_size(n_left))
            ):
                found += values
        # C order with one row per candidate, so that a mean is summed in the same order for any number of candidates.
        scores = np.full((len(scorings), *needed.shape), np.nan)
        folds, numbers = np.nonzero(needed.T)
        scores[:, numbers, folds] = np.reshape(found, (-1, len(scorings))).T
        return scores

    def _refit_jobs(self, sets: Sequence[Indices], needed: Masks) -> Iterator[_RefitJob]:
        """Yield refits fold after fold; the rows of a fold are cut out once for all sets."""
        # scikit-learn's configuration is local to this thread.
        config = get_config()
        for fold in range(needed.shape[1]):
            own = [sets[s] for s in np.flatnonzero(needed[:, fold]).tolist()]
            if self._absent is not None:
                own = [columns[~self._absent[fold, columns]] for columns in own]
            if not own:
                continue
            columns = np.unique(np.concatenate(own))
            rows = self.backend.fold_rows(columns, fold)
            refit = (
                self.backend.fold_refitter(columns, fold) if rows is None else partial(rows.refit, self.task.estimator)
            )
            for one in own:
                yield _RefitJob(one, fold, rows, refit, config)

    def _score_by_worker(self, jobs: Sequence[_RefitJob]) -> list[list[float]]:
        """Return the scores of sets in a fold by a worker process, and by this process for sets that failed there."""
        assert jobs[0].rows is not None
        found = self._workers.scores(jobs[0].rows, [item.columns for item in jobs])
        for _, fit_warnings in filter(None, found):
            self.task.fit_warnings.add_fit(fit_warnings)
        every = range(len(self.scorings))
        return [
            self._score_refit(item, every) if one is None else one[0] for item, one in zip(jobs, found, strict=True)
        ]

    def score_set(
        self, columns: Indices, fold: int, refit: Callable[[Indices], FittedFold], config: dict[str, Any]
    ) -> float:
        return self._score_refit(_RefitJob(columns, fold, None, refit, config), [0])[0]

    def score_fitted(self, fitted: FittedFold, columns: Indices, fold: int) -> float:
        """Return the score of a fitted model by the first scoring."""
        return self._test_scores(fitted, columns, fold, [0])[0]

    def _score_refit(self, job: _RefitJob, scorings: Sequence[int]) -> list[float]:
        with config_context(**job.sklearn_config), self.task.fit_warnings.record_fit():
            with error_context(self.task, job.columns, job.fold, self.task.label):
                fitted = job.refit(job.columns)
            return self._test_scores(fitted, job.columns, job.fold, scorings)

    def _test_scores(self, fitted: FittedFold, columns: Indices, fold: int, scorings: Sequence[int]) -> list[float]:
        rows = self.task.folds[fold].test
        known = self.task.target_at(rows), self.task.weight_at(rows), self.task.metadata_at(rows)
        values = score_fitted([self.scorings[k] for k in scorings], fitted.estimator, fitted.test_rows, *known)
        found = []
        for k in scorings:
            with error_context(self._tasks[k], columns, fold, self.scorings[k].name):
                found.append(next(values))
        return found

    @cached_property
    def has_few_rows(self) -> bool:
        """Whether threads slow each other down in refits."""
        return max(len(fold.train) for fold in self.task.folds) < _FEW_ROWS

    @cached_property
    def _workers(self) -> RefitWorkers:
        return RefitWorkers(self.task, self.scorings, few_rows=self.has_few_rows)

    @cached_property
    def baseline_scores(self) -> Floats:
        """The baseline scores, of shape (n_scorings, n_folds)."""
        return np.array([self._baseline(k) for k in range(len(self.scorings))])

    def _baseline(self, scoring: int) -> Floats:
        task = self._tasks[scoring]
        if not task.has_target:
            # Without columns and target there is nothing to fit or score.
            return np.full(len(task.folds), -np.inf)
        score = confusion_scorer(task) if task.has_classes else None
        if score is not None:
            return score(baseline_confusion(task))
        score = squared_error_scorer(task)
        if score is not None:
            return score(baseline_squared_errors(task)[None])[0]
        model = DummyClassifier(strategy="prior") if task.has_classes else DummyRegressor()
        scores, no_column = [], np.empty(0, dtype=np.intp)
        for f, fold in enumerate(task.folds):
            train, test = np.empty((len(fold.train), 0)), np.empty((len(fold.test), 0))
            model.fit(train, task.target[fold.train], sample_weight=task.weight_at(fold.train))
            scores += self._test_scores(FittedFold(model, test), no_column, f, [scoring])
        return np.array(scores)


def _batch_by_fold(jobs: Iterator[_RefitJob], max_size: int) -> Iterator[list[_RefitJob]]:
    """Yield batches of refits of one fold, with at most max_size each."""
    for _, items in groupby(jobs, lambda item: item.fold):
        while some := list(islice(items, max_size)):
            yield some
