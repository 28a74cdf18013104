"""What scikit-learn's naive Bayes models of codes and counts have in common."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from tamiz.candidates import Candidates
from tamiz.exceptions import DataError
from tamiz.statistics.base import Floats
from tamiz.wrappers.base import OnPoints, Task, effort_of
from tamiz.wrappers.estimators import fit_weighted
from tamiz.wrappers.folds import Rows

# scikit-learn takes so much for less, where it is not told to keep it.
_LEAST_ALPHA = 1e-10


class DiscreteWay(OnPoints):
    """A model fitted once on all columns for every fold: what it says of a column does not depend on the others.

    Attributes
    ----------
    signed : bool
        Whether the estimator takes values below 0.
    whole : bool
        Whether values are codes.
    """

    signed: ClassVar[bool] = False
    whole: ClassVar[bool] = False

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        n_folds, n_classes, points = len(task.folds), len(task.classes), task.points
        self._prior = np.full((n_folds, n_classes), -np.inf)
        self._present = np.zeros((n_folds, n_classes), dtype=bool)
        self._classes = np.ascontiguousarray(task.codes[task.tested])
        self._weights = np.ascontiguousarray(task.weights[task.tested])
        tested = []
        for f, fold in enumerate(task.folds):
            train, test = points.train(fold), points.test(fold)
            if not self.signed:
                self._check(train, fold.train)
                self._check(test, fold.test)
            model = fit_weighted(clone(task.estimator), train, task.labels[fold.train], task.weight_in(fold.train))
            here = np.searchsorted(task.classes, model.classes_)
            self._present[f, here], self._prior[f, here] = True, model.class_log_prior_
            self._take(f, here, model)
            tested.append(test)
        self._tested = np.ascontiguousarray(np.concatenate(tested).T)

    @classmethod
    def declines(cls, task: Task) -> str | None:
        """Return why not: a count added that differs from column to column, or is not what it seems."""
        if np.ndim(task.estimator.alpha):
            return "alpha differs from column to column"
        if not isinstance(task.estimator.alpha, Real):
            return "alpha is no number"
        if not task.estimator.force_alpha and task.estimator.alpha < _LEAST_ALPHA:
            return f"alpha is below {_LEAST_ALPHA:g} and force_alpha is False"
        return None

    @abstractmethod
    def _take(self, fold: int, here: NDArray[np.intp], model: Any) -> None:
        """Keep what a model says of the classes `here`."""

    def _check(self, values: Floats, rows: Rows) -> None:
        """Refuse what the estimator cannot take, naming the first such value."""
        wrong = values < 0
        if self.whole:
            wrong |= values != np.floor(values)
        if wrong.any():
            i, coordinate = np.argwhere(wrong)[0].tolist()
            what = (
                "is no code, a whole number of at least 0" if self.whole else f"is below 0, and {self.task.name} counts"
            )
            raise DataError(
                f"row {self._row(rows[i])}, column {self._name(coordinate)}: {values[i, coordinate]:g} {what}. Use GaussianNB or "
                "MixedNB."
            )

    def _row(self, row: int) -> int:
        return int(self.task.source.row_numbers[row])

    def _name(self, coordinate: int) -> str:
        own = self.task.points.coordinates
        return self.task.source.schema.names[next(j for j, mine in enumerate(own) if coordinate in mine)]

    def most_bytes(self) -> float:
        """Return the bytes of the rows tested."""
        return float(self._tested.nbytes)

    def effort(self) -> float:
        """Return the microseconds or so of adding a column."""
        return effort_of(self.task)


def sets(candidates: Candidates) -> tuple[NDArray[Any], ...]:
    """Return candidates as kernels take them: parents, parent, starts and flipped."""
    numbers = (candidates.parent, candidates.starts, candidates.flipped)
    return np.ascontiguousarray(candidates.parents), *(np.ascontiguousarray(each, dtype=np.int64) for each in numbers)
