"""Naive Bayes of codes without refits."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.naive_bayes import CategoricalNB

from tamiz.candidates import Candidates
from tamiz.exceptions import DataError
from tamiz.kernels.coded_bayes import coded_counts
from tamiz.statistics.base import Floats
from tamiz.wrappers.base import Columns, Task
from tamiz.wrappers.counting import counted
from tamiz.wrappers.discrete_nb import DiscreteWay, sets
from tamiz.wrappers.fold_rows import Fitted

_LARGEST_CODE = 2**31 - 2


class CategoricalNBWay(DiscreteWay):
    """The logarithm of a row's likelihood in a class is a sum over columns, one term a code.

    scikit-learn adds the terms in the order of the columns, and the prior to that. So are they here in rows where rounding could
    decide, such as those in which two classes say the same in another order: no fold is ever refitted.
    """

    kind: ClassVar[type] = CategoricalNB
    how: ClassVar[str] = (
        "logarithms of every code's share are kept for every fold and class, and a column is added to them"
    )
    whole: ClassVar[bool] = True

    def __init__(self, task: Task) -> None:
        n_folds, n = len(task.folds), task.points.n_coordinates
        self._where, self._widths = np.zeros((2, n_folds, n), dtype=np.int64)
        self._tables: list[Floats] = []
        super().__init__(task)
        self._table = np.concatenate(self._tables)
        self._tables.clear()
        # Codes that are tested and that nothing can be said of: a set with such a column cannot be tested.
        self._beyond = np.zeros((n_folds, n), dtype=bool)
        for f in range(n_folds):
            here = slice(task.starts[f], task.starts[f + 1])
            self._beyond[f] = self._tested[:, here].max(axis=1) >= self._widths[f]
            self._tested[self._beyond[f], here] = 0
        self._tested = self._tested.astype(np.uint32)

    @classmethod
    def declines(cls, task: Task) -> str | None:
        """Return why not: numbers of codes that differ from column to column."""
        if np.ndim(task.estimator.min_categories):
            return "min_categories differs from column to column"
        return super().declines(task)

    def _take(self, fold: int, here: NDArray[np.intp], model: Any) -> None:
        n_classes, done = len(self.task.classes), sum(len(table) for table in self._tables)
        for j, said in enumerate(model.feature_log_prob_):
            table = np.zeros((n_classes, said.shape[1]))
            table[here] = said
            self._where[fold, j], self._widths[fold, j] = done, said.shape[1]
            self._tables.append(table.ravel())
            done += table.size

    def _check(self, values: Floats, rows: NDArray[np.intp]) -> None:
        super()._check(values, rows)
        if values.max() > _LARGEST_CODE:
            i, j = np.argwhere(values > _LARGEST_CODE)[0].tolist()
            raise DataError(
                f"row {self._row(rows[i])}, column {self._name(j)}: {values[i, j]:g} is too large for a code."
            )

    def _check_known(self, fold: int, coordinates: NDArray[np.intp]) -> None:
        """Refuse a fold that tests a code of which the rows learned from say nothing, as scikit-learn does."""
        beyond = coordinates[self._beyond[fold, coordinates]]
        if len(beyond):
            part, j = self.task.folds[fold], int(beyond[0])
            values, n_known = self.task.points.test(part)[:, j], int(self._widths[fold, j])
            i = int(np.argmax(values >= n_known))
            raise DataError(
                f"Fold {fold + 1} of {len(self.task.folds)}, column {self._name(j)}: the code {values[i]:g} of row "
                f"{self._row(part.test[i])} is tested, and the largest one learned from is {n_known - 1}. Pass "
                f"CategoricalNB(min_categories={int(self._largest(j)) + 1})."
            )

    def _largest(self, j: int) -> float:
        return max(float(self.task.points.test(fold)[:, j].max()) for fold in self.task.folds)

    def fitted(self, columns: Columns, fold: int) -> Fitted:
        """Return the model as fitted on the rows that the fold learns from."""
        self._check_known(fold, self.task.points.coordinates_of(columns))
        return super().fitted(columns, fold)

    def confusion(self, candidates: Candidates) -> Floats:
        """Return the weights of the tested rows by class and predicted class."""
        part = self.task.points.translated(candidates)
        if self._beyond.any():
            taken = np.flatnonzero(part.masks().any(axis=0))
            for fold in range(len(self.task.folds)):
                self._check_known(fold, taken)
        nothing = np.empty((len(self.task.folds), len(self.task.classes), 0))
        given = (np.empty((0, self._tested.shape[1])), self._tested, -1 - np.arange(len(self._tested)))
        known = (nothing, nothing, nothing, self._table, self._where, self._widths, self._prior, self._present)
        of_rows = (self._classes, self._weights, self.task.starts)
        flips = sets(part)

        def count(first: int, stop: int, counts: Floats, doubtful: NDArray[np.bool_]) -> None:
            coded_counts(*given, *known, *of_rows, *flips, first, stop, counts, doubtful)

        return counted(self, candidates, count)

    def most_bytes(self) -> float:
        """Return the bytes of the rows tested and of the tables."""
        return float(self._tested.nbytes + self._table.nbytes)
