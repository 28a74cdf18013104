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
from tamiz.wrappers.base import CVTask, MatrixBackend, column_cost
from tamiz.wrappers.estimators import fit_weighted
from tamiz.wrappers.folds import RowIndices

# scikit-learn takes so much for less, where it is not told to keep it.
_MIN_ALPHA = 1e-10


class DiscreteNBBackend(MatrixBackend):
    """A model fitted once on all columns for every fold: what it says of a column does not depend on the others.

    Attributes
    ----------
    accepts_negative : bool
        Whether the estimator takes values below 0.
    requires_codes : bool
        Whether values are codes.
    """

    accepts_negative: ClassVar[bool] = False
    requires_codes: ClassVar[bool] = False

    def __init__(self, task: CVTask) -> None:
        super().__init__(task)
        n_folds, n_classes, points = len(task.folds), len(task.classes), task.matrix
        self._log_prior = np.full((n_folds, n_classes), -np.inf)
        self._has_class = np.zeros((n_folds, n_classes), dtype=bool)
        self._test_codes = np.ascontiguousarray(task.codes[task.test_rows])
        self._test_weights = np.ascontiguousarray(task.weight_or_ones[task.test_rows])
        tested = []
        for f, fold in enumerate(task.folds):
            train, test = points.train_rows(fold), points.test_rows(fold)
            if not self.accepts_negative:
                self._check_values(train, fold.train)
                self._check_values(test, fold.test)
            model = fit_weighted(clone(task.estimator), train, task.target[fold.train], task.weight_at(fold.train))
            here = np.searchsorted(task.classes, model.classes_)
            self._has_class[f, here], self._log_prior[f, here] = True, model.class_log_prior_
            self._store_model(f, here, model)
            tested.append(test)
        self._test_values = np.ascontiguousarray(np.concatenate(tested).T)

    @classmethod
    def unsupported_reason(cls, task: CVTask) -> str | None:
        """Return why not: a count added that differs from column to column, or is not what it seems."""
        if np.ndim(task.estimator.alpha):
            return "alpha differs from column to column"
        if not isinstance(task.estimator.alpha, Real):
            return "alpha is no number"
        if not task.estimator.force_alpha and task.estimator.alpha < _MIN_ALPHA:
            return f"alpha is below {_MIN_ALPHA:g} and force_alpha is False"
        return None

    @abstractmethod
    def _store_model(self, fold: int, class_codes: NDArray[np.intp], model: Any) -> None:
        """Keep what a model says of the classes `class_codes`."""

    def _check_values(self, values: Floats, rows: RowIndices) -> None:
        """Refuse what the estimator cannot take, naming the first such value."""
        wrong = values < 0
        if self.requires_codes:
            wrong |= values != np.floor(values)
        if wrong.any():
            i, coordinate = np.argwhere(wrong)[0].tolist()
            what = (
                "is no code, a whole number of at least 0"
                if self.requires_codes
                else f"is below 0, and {self.task.estimator_name} counts"
            )
            raise DataError(
                f"row {self._row_number(rows[i])}, column {self._column_name(coordinate)}: {values[i, coordinate]:g} {what}. Use GaussianNB or "
                "MixedNB."
            )

    def _row_number(self, row: int) -> int:
        return int(self.task.source.row_numbers[row])

    def _column_name(self, coordinate: int) -> str:
        own = self.task.matrix.coordinates
        return self.task.source.schema.names[next(j for j, mine in enumerate(own) if coordinate in mine)]

    def max_bytes(self) -> float:
        """Return the bytes of the rows tested."""
        return float(self._test_values.nbytes)

    def evaluation_cost(self) -> float:
        """Return the microseconds or so of adding a column."""
        return column_cost(self.task)


def kernel_arguments(candidates: Candidates) -> tuple[NDArray[Any], ...]:
    """Return candidates as kernels take them: parents, parent, starts and flipped."""
    numbers = (candidates.parent_index, candidates.starts, candidates.flipped)
    return np.ascontiguousarray(candidates.parents), *(np.ascontiguousarray(each, dtype=np.int64) for each in numbers)
