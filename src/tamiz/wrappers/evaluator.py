"""Cross-validated scores of sets of columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier, DummyRegressor

from tamiz import parallel
from tamiz.candidates import Candidates, Masks
from tamiz.evaluator import Evaluator, Unit
from tamiz.exceptions import DataError
from tamiz.statistics.base import Floats
from tamiz.wrappers.base import Columns, Fitted, Task, Way
from tamiz.wrappers.counting import counts_of_no_column
from tamiz.wrappers.importance import check_exchangeable, losses
from tamiz.wrappers.measures import of_counts, of_squares
from tamiz.wrappers.refits import Refits

# As many columns are named in an error.
_MOST_NAMED = 5


class WrapperEvaluator(Evaluator):
    """The mean score over the folds; of no column that of the class shares, or of the mean, on the same folds.

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
        return self.way.effort()

    def evaluate(self, candidates: Candidates) -> Floats:
        """Return the mean over the folds for every candidate."""
        return self.fold_scores(candidates).mean(axis=1)

    def importances(self, mask: Masks, units: Sequence[Unit], n_repeats: int) -> Floats:
        """Return what the score loses, over the folds, when tested rows exchange their values in each unit of columns."""
        check_exchangeable(self.task)
        refits, columns = Refits(self.task), np.flatnonzero(mask)

        def of_fold(fold: int) -> Floats:
            with self._named(columns, fold):
                return losses(refits, columns, units, fold, n_repeats)

        if not units:
            return np.empty(0)
        return np.mean(list(parallel.map_blocks(of_fold, range(len(self.task.folds)))), axis=0)

    def most_bytes(self) -> float:
        """Return what the way holds."""
        return self.way.most_bytes()

    def fold_scores(self, candidates: Candidates) -> Floats:
        """Return the score of every candidate in every fold, of shape (n_candidates, n_folds)."""
        empty = candidates.sizes() == 0
        if not empty.any():
            return self._scores(candidates)
        scores = np.empty((len(candidates), len(self.task.folds)))
        scores[empty] = self._of_no_column
        if not empty.all():
            scores[~empty] = self._scores(candidates[np.flatnonzero(~empty)])
        return scores

    def _scores(self, candidates: Candidates) -> Floats:
        score = of_counts(self.task)
        if score is not None and (counts := self.way.confusion(candidates)) is not None:
            return score(counts)
        score = of_squares(self.task)
        if score is not None and (squares := self.way.squares(candidates)) is not None:
            return score(squares)
        n_folds = len(self.task.folds)
        columns = [np.flatnonzero(mask) for mask in candidates.masks()]
        found = parallel.map_blocks(self._score, [(each, fold) for each in columns for fold in range(n_folds)])
        return np.array(list(found)).reshape(-1, n_folds)

    def _score(self, item: tuple[Columns, int]) -> float:
        columns, fold = item
        with self._named(columns, fold):
            return self._value(self.way.fitted(columns, fold), fold)

    def _value(self, fitted: Fitted, fold: int) -> float:
        rows = self.task.folds[fold].test
        return self.task.scoring.value(fitted.estimator, fitted.rows, self.task.labels[rows], self.task.weight_in(rows))

    @contextmanager
    def _named(self, columns: Columns, fold: int) -> Iterator[None]:
        """Say in an error for which columns and in which fold it was."""
        try:
            yield
        except Exception as error:
            names = [self.task.source.schema.names[j] for j in columns[:_MOST_NAMED].tolist()]
            more = f" and {len(columns) - _MOST_NAMED:,} more" if len(columns) > _MOST_NAMED else ""
            where = f"Fold {fold + 1} of {len(self.task.folds)}, columns {', '.join(names)}{more}"
            said = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
            raise DataError(f"{where}, {self.task.name}: {said}") from error

    @property
    def _of_no_column(self) -> NDArray[np.float64]:
        score = of_counts(self.task) if self.task.has_classes else None
        if score is not None:
            return score(counts_of_no_column(self.task))
        model = DummyClassifier(strategy="prior") if self.task.has_classes else DummyRegressor()
        scores = []
        for f, fold in enumerate(self.task.folds):
            with self._named(np.empty(0, dtype=np.intp), f):
                nothing = np.empty((len(fold.train), 0)), np.empty((len(fold.test), 0))
                weight = self.task.weight_in(fold.train)
                model.fit(nothing[0], self.task.labels[fold.train], sample_weight=weight)
                scores.append(self._value(Fitted(model, nothing[1]), f))
        return np.array(scores)
