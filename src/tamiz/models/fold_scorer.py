"""Scores of a model on column sets, fold by fold: `FoldScorer`, and `score_folds` for a few sets.

All scores of a model come from here: those of searches (`tamiz.models.evaluator`) and those of assessments. A `FoldScorer` computes
scores from the sums of a fold backend, and refits the model where a score is no function of them, in worker processes where there
are many short refits.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import groupby, islice
from typing import Any, NamedTuple

import numpy as np
from joblib import wrap_non_picklable_objects
from sklearn import config_context, get_config
from sklearn.dummy import DummyClassifier, DummyRegressor

from tamiz.arrays import Floats, Indices, Masks, is_missing
from tamiz.models.backends import (
    CountsPredictions,
    FittedFold,
    FoldBackend,
    FoldRows,
    HasLikelihoods,
    LikelihoodScore,
    RefitBackend,
    SumsErrors,
    baseline_confusion,
    baseline_squared_errors,
    choose_backend,
    confusion_scorer,
    likelihood_scorer,
    squared_error_scorer,
)
from tamiz.models.folds import Folds
from tamiz.models.named_models import Model
from tamiz.models.scoring import Scoring, score_fitted
from tamiz.models.task import CVTask, FitWarnings, error_context, make_task
from tamiz.runtime import parallel, progress, workers
from tamiz.runtime.verdicts import Verdict
from tamiz.search.base import Candidates
from tamiz.table.base import Table
from tamiz.table.views import select_columns

# Fits to fewer rows spend most of their time in Python under the GIL, where threads slow each other down: logistic regression on
# 500 rows takes 2.6 ms per fit on one thread and 3.6 ms on two.
_FEW_ROWS = 2000
# Seconds of refits, past and remaining, from which on workers are started: a start takes one to three seconds, nearly all of them
# the import of scikit-learn, on an idle core, and a search is expected to take as long again as it has taken so far.
_MIN_START_SECONDS = 1.0
# Seconds of remaining refits from which on ready workers are used.
_MIN_REQUEST_SECONDS = 0.05
# Seconds per refit from which on most of it runs without the GIL, so that threads are as fast.
_LONG_REFIT_SECONDS = 0.05
# Seconds per request: an interrupt waits for the end of a request.
_REQUEST_SECONDS = 0.25

# The scores by every scoring and the warnings of a refit; None if the refit failed.
RefitScores = tuple[list[float], dict[type[Warning], str]] | None


@dataclass(frozen=True)
class SetScores:
    """The scores of a model on column sets, of shape (n_scorings, n_sets, n_folds), and the warnings of the fits."""

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

    `sets`, of shape (n_sets, n_columns) or (n_sets, n_folds, n_columns), has the columns, the same in every fold or others in each;
    None is one set of all columns. A column that the table excludes is in no set. The score of the empty set is the baseline score.
    `seed` is that of an estimator without one.

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
    """One refit; `rows` are those that a worker process needs, None where the backend refits."""

    columns: Indices
    fold: int
    rows: FoldRows | None
    # scikit-learn's configuration is local to a thread.
    sklearn_config: dict[str, Any]


class FoldScorer:
    """Scores column sets in every fold by several scorings (by default that of the task).

    The score of the empty set is the baseline score: that of class frequencies or of the mean. Without a target it is minus
    infinity.
    """

    def __init__(self, task: CVTask, backend: FoldBackend, scorings: tuple[Scoring, ...] | None = None) -> None:
        self.task = task
        self.backend = backend
        self.scorings = tuple(one.with_requests(task.table.metadata) for one in scorings or (task.scoring,))
        self._tasks = [task if one is task.scoring else replace(task, scoring=one) for one in self.scorings]
        # With few rows threads slow each other down in refits.
        self.has_few_rows = max(len(fold.train) for fold in task.folds) < _FEW_ROWS
        self._workers = RefitWorkers(task, self.scorings, few_rows=self.has_few_rows)

    def scores(self, candidates: Candidates, needed: Masks | None = None) -> Floats:
        """Return the scores, of shape (n_scorings, n_candidates, n_folds).

        Those not `needed`, a mask of shape (n_candidates, n_folds), are NaN or undefined.
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
        for j in [j for j in schema.used.tolist() if schema.columns[j].n_missing]:
            missing = is_missing(task.table.column(j))
            absent[:, j] = [missing[fold.train].all() for fold in task.folds]
        return absent if absent.any() else None

    def _column_scores(self, candidates: Candidates, needed: Masks) -> Floats:
        """Return the scores of sets that are not empty: from sums or likelihoods where possible, else from refits."""
        backend, found = self.backend, dict[int, Floats]()
        with self.task.fit_warnings.capture():
            by_counts, by_squares = self._sum_scorers
            if isinstance(backend, CountsPredictions) and by_counts:
                counts = backend.confusion_counts(candidates)
                found |= {k: score(counts) for k, score in by_counts.items()}
            if isinstance(backend, SumsErrors) and by_squares:
                squares = backend.squared_errors(candidates)
                found |= {k: score(squares) for k, score in by_squares.items()}
            for k, task in enumerate(self._tasks):
                if isinstance(backend, HasLikelihoods) and k not in found:
                    likelihood = likelihood_scorer(task)
                    if likelihood is not None:
                        found[k] = self._likelihood_scores(backend, k, candidates, likelihood, needed)
            rest = [k for k in range(len(self.scorings)) if k not in found]
            if rest:
                found |= dict(zip(rest, self._refit_scores(candidates, needed, rest), strict=True))
        return np.array([found[k] for k in range(len(self.scorings))])

    @cached_property
    def _sum_scorers(self) -> tuple[dict[int, Any], dict[int, Any]]:
        """The scores, by the number of the scoring, that are functions of confusion counts, and those of squared errors."""
        counts, squares = (
            {k: scorer(task) for k, task in enumerate(self._tasks)}
            for scorer in (confusion_scorer, squared_error_scorer)
        )
        by_counts = {k: score for k, score in counts.items() if score is not None}
        return by_counts, {k: score for k, score in squares.items() if score is not None and k not in by_counts}

    def _likelihood_scores(
        self, backend: HasLikelihoods, scoring: int, candidates: Candidates, score: LikelihoodScore, needed: Masks
    ) -> Floats:
        """Return scores from joint log-likelihoods, and from refits where rounding could change them."""
        config, sets = get_config(), [np.flatnonzero(mask) for mask in candidates.masks()]

        def of_set(s: int) -> list[float]:
            found = []
            for fold in range(needed.shape[1]):
                value = score(backend, sets[s], fold) if needed[s, fold] else np.nan
                if value is None:
                    (value,) = self._score_refit(_RefitJob(sets[s], fold, None, config), [scoring])
                found.append(value)
            return found

        return np.array(list(parallel.map_blocks(of_set, range(len(sets)))))

    def _refit_scores(self, candidates: Candidates, needed: Masks, scorings: Sequence[int]) -> Floats:
        sets = [np.flatnonzero(mask) for mask in candidates.masks()]
        n_left = int(np.count_nonzero(needed))
        jobs = self._refit_jobs(sets, needed)
        found: list[list[float]] = []
        score = partial(self._score_refit, scorings=scorings)
        while n_left and not (isinstance(self.backend, RefitBackend) and self._workers.are_available(n_left)):
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
        config = get_config()
        for fold in range(needed.shape[1]):
            own = [sets[s] for s in np.flatnonzero(needed[:, fold]).tolist()]
            if self._absent is not None:
                own = [columns[~self._absent[fold, columns]] for columns in own]
            rows = None
            if own and isinstance(self.backend, RefitBackend):
                rows = self.backend.fold_rows(np.unique(np.concatenate(own)), fold)
            for one in own:
                yield _RefitJob(one, fold, rows, config)

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

    def _score_refit(self, job: _RefitJob, scorings: Sequence[int]) -> list[float]:
        with config_context(**job.sklearn_config), self.task.fit_warnings.record_fit():
            with error_context(self.task, job.columns, job.fold, self.task.label):
                if job.rows is None:
                    fitted = self.backend.fit_fold(job.columns, job.fold)
                else:
                    fitted = job.rows.refit(self.task.estimator, job.columns)
            return self.score_fitted(fitted, job.columns, job.fold, scorings)

    def score_fitted(self, fitted: FittedFold, columns: Indices, fold: int, scorings: Sequence[int]) -> list[float]:
        """Return the scores of a fitted model by some of the scorings."""
        known = self.task.scored_rows(self.task.folds[fold].test)
        values = score_fitted([self.scorings[k] for k in scorings], fitted.estimator, fitted.test_rows, *known)
        found = []
        for k in scorings:
            with error_context(self._tasks[k], columns, fold, self.scorings[k].name):
                found.append(next(values))
        return found

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
            scores += self.score_fitted(FittedFold(model, test), no_column, f, [scoring])
        return np.array(scores)


def _batch_by_fold(jobs: Iterator[_RefitJob], max_size: int) -> Iterator[list[_RefitJob]]:
    """Yield batches of refits of one fold, with at most max_size each."""
    for _, items in groupby(jobs, lambda item: item.fold):
        while some := list(islice(items, max_size)):
            yield some


@dataclass
class RefitWorkers:
    """Worker processes for the refits of a task.

    After a second of refits, one worker fewer than there are threads is started: this process takes its share of the refits, all of
    them until the workers are ready. With `few_rows` threads slow each other down, however long a refit takes.
    """

    task: CVTask
    scorings: tuple[Scoring, ...]
    few_rows: bool

    def __post_init__(self) -> None:
        self._seconds, self._n_refits = 0.0, 0
        self._pickled_model: bytes | None = None
        self._failed = False

    def record_time(self, seconds: float, n_refits: int) -> None:
        """Add refits done in this process, and the thread seconds that they took."""
        self._seconds += seconds
        self._n_refits += n_refits

    def batch_size(self, n_left: int) -> int:
        """Return the number of refits per batch: several batches for every worker, and few refits if one is slow."""
        if not self._n_refits:
            return 1
        share = max(n_left / (4 * parallel.n_session_threads()), _MIN_REQUEST_SECONDS / self._seconds_per_refit / 4)
        return max(1, int(min(share, _REQUEST_SECONDS / self._seconds_per_refit)))

    @property
    def _seconds_per_refit(self) -> float:
        return max(self._seconds, 1e-9) / max(self._n_refits, 1)

    def are_available(self, n_left: int) -> bool:
        """Return whether workers are ready for the remaining refits; start workers if that pays."""
        n, left = parallel.n_session_threads(), n_left * self._seconds_per_refit
        is_short = self.few_rows or self._seconds_per_refit < _LONG_REFIT_SECONDS
        if self._failed or n < 2 or not self._n_refits or not is_short:
            return False
        if left > _MIN_REQUEST_SECONDS and workers.are_idle(n - 1):
            return self._is_picklable()
        if self._seconds + left > _MIN_START_SECONDS and workers.can_start(n) and self._is_picklable():
            workers.start(n - 1, pickle.dumps((load_model, (self._pickled_model,))))
        return False

    def _is_picklable(self) -> bool:
        """Return whether the model can be pickled; classes and functions of the user's program are pickled by value."""
        if self._pickled_model is None and not self._failed:
            try:
                model = (self.task.estimator, self.scorings)
                self._pickled_model = pickle.dumps(wrap_non_picklable_objects(model, keep_wrapper=False))
            except Exception:  # noqa: BLE001 - after any error the refits stay in this process
                self._failed = True
        return not self._failed

    def scores(self, rows: FoldRows, sets: Sequence[Indices]) -> list[RefitScores]:
        """Return the scores of refits in a worker, None for refits that this process has to do."""
        try:
            found: list[RefitScores] = workers.call(score_refits, rows, self._pickled_model, sets, get_config())
        except workers.NoIdleWorkerError:
            return [None] * len(sets)
        except workers.WorkerError:
            self._failed = True
            return [None] * len(sets)
        return found


def load_model(model: bytes) -> None:
    """Unpickle a model, which imports the modules that its refits need."""
    pickle.loads(model)


def score_refits(rows: FoldRows, model: bytes, sets: Sequence[Indices], config: dict[str, Any]) -> list[RefitScores]:
    """Return the scores and warnings of refits in a worker; None for a failed one, which the parent repeats to report its error."""
    estimator, scorings = pickle.loads(model)
    fit_warnings = FitWarnings()

    def score(columns: Indices) -> RefitScores:
        try:
            with fit_warnings.record_fit() as found:
                fitted = rows.refit(estimator, columns)
                values = list(score_fitted(scorings, fitted.estimator, fitted.test_rows, *rows.tested))
        except Exception:  # noqa: BLE001 - raised again, with its context, by the parent process
            return None
        return values, found

    with config_context(**config), fit_warnings.capture():
        return [score(columns) for columns in sets]
