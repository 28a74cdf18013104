"""Cross-validated scores of sets of columns."""

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

from tamiz import parallel
from tamiz.candidates import Candidates, Masks
from tamiz.evaluator import Evaluator, Unit
from tamiz.statistics.base import Floats
from tamiz.wrappers.base import Columns, Task, Way
from tamiz.wrappers.counting import counts_of_no_column, squares_of_no_column
from tamiz.wrappers.facts import facts_of
from tamiz.wrappers.failures import ConstantInFoldError, named
from tamiz.wrappers.fold_rows import Fitted, FoldRows
from tamiz.wrappers.importance import check_exchangeable, losses
from tamiz.wrappers.likelihoods import Score, of_joint
from tamiz.wrappers.measures import of_counts, of_squares
from tamiz.wrappers.processes import Processes
from tamiz.wrappers.refits import Refits
from tamiz.wrappers.task import overlaps


class _Item(NamedTuple):
    """One refit.

    Attributes
    ----------
    columns : ndarray
    fold : int
    rows : FoldRows or None
        What another process needs for it.
    refit : callable
        What does it here.
    config : dict
        What scikit-learn was told.
    """

    columns: Columns
    fold: int
    rows: FoldRows | None
    refit: Callable[[Columns], Fitted]
    config: dict[str, Any]


# Of a fit to fewer rows most is Python's work, of which one thread runs at a time, and two hinder each other: logistic regression
# on 500 rows takes 2.6 ms a fit alone and 3.6 on two threads.
_FEW_ROWS = 2000
# Microseconds a fold of an area or a loss from joint likelihoods: numpy calls for few rows.
_JOINT_EFFORT = 250.0


class WrapperEvaluator(Evaluator):
    """The mean score over the folds; of no column that of the class shares, or of the mean, on the same folds.

    Without a target there is no score of no column.

    Parameters
    ----------
    task : Task
    way : Way
    how : str
        What is done for a score, in words.
    """

    def __init__(self, task: Task, way: Way, how: str) -> None:
        self.task = task
        self.way = way
        self._how = how
        # The first set without a score, and how many there are.
        self._unscored, self._n_unscored = "", 0

    @property
    def name(self) -> str:
        """What the merit is called."""
        return f"{self.task.scoring.name.replace('_', ' ')} of {self.task.label}"

    @property
    def how(self) -> str:
        """How a score is found."""
        return self._how

    @property
    def effort(self) -> float:
        """How much work a set is."""
        effort, of_sums = self.way.effort(), of_counts(self.task) or of_squares(self.task)
        if of_sums is None and self.way.knows_likelihoods and of_joint(self.task) is not None:
            return max(effort, _JOINT_EFFORT * len(self.task.folds))
        return effort

    def evaluate(self, candidates: Candidates) -> Floats:
        """Return the mean over the folds for every candidate."""
        return self.fold_scores(candidates).mean(axis=1)

    def importances(self, mask: Masks, units: Sequence[Unit], n_repeats: int) -> Floats:
        """Return what the score loses, over the folds, when tested rows exchange their values in each unit of columns."""
        return self.losses(mask, units, n_repeats).mean(axis=2).mean(axis=0)

    def losses(self, mask: Masks, units: Sequence[Unit], n_repeats: int) -> Floats:
        """Return what each exchange costs in each fold, of shape (n_folds, n_units, n_repeats)."""
        check_exchangeable(self.task)
        refits, columns = self._refits, np.flatnonzero(mask)
        if not units:
            return np.empty((len(self.task.folds), 0, n_repeats))

        def of_fold(fold: int) -> Floats:
            with self.task.warned.refit(), named(self.task, columns, fold, self.task.label):
                return losses(refits, columns, units, fold, n_repeats)

        with self.task.warned.listening():
            return np.array(list(parallel.map_blocks(of_fold, range(len(self.task.folds)))))

    def most_bytes(self) -> float:
        """Return what the way holds."""
        return self.way.most_bytes()

    def facts(self) -> dict[str, Any]:
        """Return what the scores depend on beyond the columns and the data."""
        return facts_of(self.task)

    def about(self, mask: Masks) -> list[str]:
        """Return what the way has to say of a set, and what there is to know of the folds."""
        return [*(self.way.about(np.flatnonzero(mask)) if mask.any() else []), *self.task.remarks]

    def notes(self) -> list[str]:
        """Return what there is to know of the folds, what was done to the rows, and what refits warned of."""
        # Gaps of points that nobody has asked for are nobody's business.
        points = self.task.points.notes() if self.task.encode else []
        unscored = []
        if self._n_unscored:
            sets = "1 set has" if self._n_unscored == 1 else f"{self._n_unscored:,} sets have"
            unscored = [f"{sets} no score and cannot be chosen. {self._unscored}"]
        return [
            *self.task.notes,
            *overlaps(self.task.folds),
            *points,
            *self.task.warned.notes(self.task.label),
            *unscored,
        ]

    def fold_scores(self, candidates: Candidates) -> Floats:
        """Return the score of every candidate in every fold, of shape (n_candidates, n_folds)."""
        empty = candidates.sizes() == 0
        if not empty.any():
            return self._known_scores(candidates)
        scores = np.empty((len(candidates), len(self.task.folds)))
        scores[empty] = self._of_no_column
        if not empty.all():
            scores[~empty] = self._known_scores(candidates[np.flatnonzero(~empty)])
        return scores

    def scores_in(self, fold: int, masks: Masks) -> Floats:
        """Return the score of every set in one fold, by a refit; what has none there scores minus infinity."""
        sets = [np.flatnonzero(mask) for mask in masks]
        config, refit = get_config(), self.way.refits(np.flatnonzero(masks.any(axis=0)), fold)

        def of_set(columns: Columns) -> float | ConstantInFoldError:
            try:
                return (
                    self._score(_Item(columns, fold, None, refit, config))
                    if len(columns)
                    else float(self._of_no_column[fold])
                )
            except ConstantInFoldError as error:
                return error

        with self.task.warned.listening(), parallel.alone() if self._has_few_rows else nullcontext():
            found = list(parallel.map_blocks(of_set, sets))
        for error in (one for one in found if isinstance(one, ConstantInFoldError)):
            self._unscored, self._n_unscored = self._unscored or str(error), self._n_unscored + 1
        return np.array([-np.inf if isinstance(one, ConstantInFoldError) else one for one in found])

    def _known_scores(self, candidates: Candidates) -> Floats:
        """Return the scores, minus infinity for a set with a column that is constant in a fold and that the model fails on."""
        try:
            return self._scores(candidates)
        except ConstantInFoldError as error:
            n = len(candidates)
            if n == 1:
                self._unscored, self._n_unscored = self._unscored or str(error), self._n_unscored + 1
                return np.full((1, len(self.task.folds)), -np.inf)
            halves = np.array_split(np.arange(n), 2)
            return np.concatenate([self._known_scores(candidates[half]) for half in halves])

    def _scores(self, candidates: Candidates) -> Floats:
        with self.task.warned.listening():
            return self._listened(candidates)

    def _listened(self, candidates: Candidates) -> Floats:
        score = of_counts(self.task)
        if score is not None and (counts := self.way.confusion(candidates)) is not None:
            return score(counts)
        score = of_squares(self.task)
        if score is not None and (squares := self.way.squares(candidates)) is not None:
            return score(squares)
        likely = of_joint(self.task) if self.way.knows_likelihoods else None
        return self._refitted(candidates) if likely is None else self._likely(candidates, likely)

    def _likely(self, candidates: Candidates, score: Score) -> Floats:
        """Return scores by likelihoods, and by refits where only these can tell."""
        config, folds = get_config(), range(len(self.task.folds))

        def of_set(columns: Columns) -> list[float]:
            found = [score(self.way, columns, fold) for fold in folds]
            return [
                self._score(_Item(columns, fold, None, partial(self.way.fitted, fold=fold), config))
                if value is None
                else value
                for fold, value in enumerate(found)
            ]

        sets = [np.flatnonzero(mask) for mask in candidates.masks()]
        return np.array(list(parallel.map_blocks(of_set, sets)))

    def _refitted(self, candidates: Candidates) -> Floats:
        sets = [np.flatnonzero(mask) for mask in candidates.masks()]
        n_left = len(self.task.folds) * len(sets)
        work = self._work(sets)
        found: list[float] = []
        while n_left and not (self.way.hands_rows_on and self._processes.are_ready(n_left)):
            # Of few rows some at a time: workers may be ready before the end.
            n = min(self._processes.n_at_a_time(n_left), n_left) if self._has_few_rows else n_left
            begun = time.perf_counter()
            with parallel.alone() if self._has_few_rows else nullcontext():
                found += parallel.map_blocks(self._score, islice(work, n))
                self._processes.observe((time.perf_counter() - begun) * parallel.width(), n)
            n_left -= n
        if n_left:
            for scores in parallel.map_blocks(
                self._score_by_worker, _by_fold(work, self._processes.n_at_a_time(n_left))
            ):
                found += scores
        # Candidates behind one another: a mean is added up in one order, however many there are.
        return np.ascontiguousarray(np.array(found).reshape(len(self.task.folds), -1).T)

    def _work(self, sets: Sequence[Columns]) -> Iterator[_Item]:
        """Yield what there is to refit, fold after fold: the rows of a fold are taken once for all sets."""
        # What scikit-learn was told in this thread, other threads do not know.
        config = get_config()
        asked = np.unique(np.concatenate(sets))
        for fold in range(len(self.task.folds)):
            rows = self.way.rows(asked, fold)
            refit = self.way.refits(asked, fold) if rows is None else partial(rows.refit, self.task.estimator)
            for columns in sets:
                yield _Item(columns, fold, rows, refit, config)

    def _score_by_worker(self, items: Sequence[_Item]) -> list[float]:
        """Return the scores of sets in a fold by a worker process, and by this one where that has none."""
        assert items[0].rows is not None
        found = self._processes.scores(items[0].rows, [item.columns for item in items])
        for _, warned in filter(None, found):
            self.task.warned.count(warned)
        return [self._score(item) if one is None else one[0] for item, one in zip(items, found, strict=True)]

    def _score(self, item: _Item) -> float:
        with config_context(**item.config), self.task.warned.refit():
            with named(self.task, item.columns, item.fold, self.task.label):
                fitted = item.refit(item.columns)
            with named(self.task, item.columns, item.fold, self.task.scoring.name):
                return self._value(fitted, item.fold)

    def _value(self, fitted: Fitted, fold: int) -> float:
        rows = self.task.folds[fold].test
        return self.task.scoring.value(
            fitted.estimator, fitted.rows, self.task.target_in(rows), self.task.weight_in(rows)
        )

    @cached_property
    def _has_few_rows(self) -> bool:
        return max(len(fold.train) for fold in self.task.folds) < _FEW_ROWS

    @cached_property
    def _processes(self) -> Processes:
        return Processes(self.task, few_rows=self._has_few_rows)

    @cached_property
    def _refits(self) -> Refits:
        return Refits(self.task)

    @property
    def _of_no_column(self) -> NDArray[np.float64]:
        if not self.task.has_target:
            # Rows of no column are all the same: there is nothing to learn, and no score of it.
            return np.full(len(self.task.folds), -np.inf)
        score = of_counts(self.task) if self.task.has_classes else None
        if score is not None:
            return score(counts_of_no_column(self.task))
        score = of_squares(self.task)
        if score is not None:
            return score(squares_of_no_column(self.task)[None])[0]
        model = DummyClassifier(strategy="prior") if self.task.has_classes else DummyRegressor()
        scores = []
        for f, fold in enumerate(self.task.folds):
            with named(self.task, np.empty(0, dtype=np.intp), f, self.task.scoring.name):
                nothing = np.empty((len(fold.train), 0)), np.empty((len(fold.test), 0))
                weight = self.task.weight_in(fold.train)
                model.fit(nothing[0], self.task.labels[fold.train], sample_weight=weight)
                scores.append(self._value(Fitted(model, nothing[1]), f))
        return np.array(scores)


def _by_fold(work: Iterator[_Item], most: int) -> Iterator[list[_Item]]:
    """Yield refits of one fold together, so many at most."""
    for _, items in groupby(work, lambda item: item.fold):
        while some := list(islice(items, most)):
            yield some
