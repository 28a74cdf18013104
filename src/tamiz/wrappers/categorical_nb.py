"""Naive Bayes of codes without refits."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.naive_bayes import CategoricalNB

from tamiz.candidates import Candidates
from tamiz.exceptions import DataError
from tamiz.kernels.coded_bayes import coded_confusion
from tamiz.statistics.base import Floats
from tamiz.wrappers.base import ColumnIndices, CVTask
from tamiz.wrappers.counting import count_predictions
from tamiz.wrappers.discrete_nb import DiscreteNBBackend, kernel_arguments
from tamiz.wrappers.fold_rows import FittedFold

_LARGEST_CODE = 2**31 - 2


class CategoricalNBBackend(DiscreteNBBackend):
    """The logarithm of a row's likelihood in a class is a sum over columns, one term a code.

    scikit-learn adds the terms in the order of the columns, and the prior to that. So are they here in rows where rounding could
    decide, such as those in which two classes say the same in another order: no fold is ever refitted.
    """

    estimator_class: ClassVar[type] = CategoricalNB
    method: ClassVar[str] = (
        "logarithms of every code's share are kept for every fold and class, and a column is added to them"
    )
    requires_codes: ClassVar[bool] = True

    def __init__(self, task: CVTask) -> None:
        n_folds, n = len(task.folds), task.matrix.n_coordinates
        self._table_starts, self._table_widths = np.zeros((2, n_folds, n), dtype=np.int64)
        self._tables: list[Floats] = []
        super().__init__(task)
        self._table = np.concatenate(self._tables)
        self._tables.clear()
        # Codes that are tested and that nothing can be said of: a set with such a column cannot be tested.
        self._has_unseen_code = np.zeros((n_folds, n), dtype=bool)
        for f in range(n_folds):
            here = slice(task.test_starts[f], task.test_starts[f + 1])
            self._has_unseen_code[f] = self._test_values[:, here].max(axis=1) >= self._table_widths[f]
            self._test_values[self._has_unseen_code[f], here] = 0
        self._test_values = self._test_values.astype(np.uint32)

    @classmethod
    def unsupported_reason(cls, task: CVTask) -> str | None:
        """Return why not: numbers of codes that differ from column to column."""
        if np.ndim(task.estimator.min_categories):
            return "min_categories differs from column to column"
        return super().unsupported_reason(task)

    def _store_model(self, fold: int, class_codes: NDArray[np.intp], model: Any) -> None:
        n_classes, done = len(self.task.classes), sum(len(table) for table in self._tables)
        for j, said in enumerate(model.feature_log_prob_):
            table = np.zeros((n_classes, said.shape[1]))
            table[class_codes] = said
            self._table_starts[fold, j], self._table_widths[fold, j] = done, said.shape[1]
            self._tables.append(table.ravel())
            done += table.size

    def _check_values(self, values: Floats, rows: NDArray[np.intp]) -> None:
        super()._check_values(values, rows)
        if values.max() > _LARGEST_CODE:
            i, j = np.argwhere(values > _LARGEST_CODE)[0].tolist()
            raise DataError(
                f"row {self._row_number(rows[i])}, column {self._column_name(j)}: {values[i, j]:g} is too large for a code."
            )

    def _check_codes_known(self, fold: int, coordinates: NDArray[np.intp]) -> None:
        """Refuse a fold that tests a code of which the rows learned from say nothing, as scikit-learn does."""
        beyond = coordinates[self._has_unseen_code[fold, coordinates]]
        if len(beyond):
            part, j = self.task.folds[fold], int(beyond[0])
            values, n_known = self.task.matrix.test_rows(part)[:, j], int(self._table_widths[fold, j])
            i = int(np.argmax(values >= n_known))
            raise DataError(
                f"Fold {fold + 1} of {len(self.task.folds)}, column {self._column_name(j)}: the code {values[i]:g} of row "
                f"{self._row_number(part.test[i])} is tested, and the largest one learned from is {n_known - 1}. Pass "
                f"CategoricalNB(min_categories={int(self._largest_code(j)) + 1})."
            )

    def _largest_code(self, j: int) -> float:
        return max(float(self.task.matrix.test_rows(fold)[:, j].max()) for fold in self.task.folds)

    def fit_fold(self, columns: ColumnIndices, fold: int) -> FittedFold:
        """Return the model as fitted on the rows that the fold learns from."""
        self._check_codes_known(fold, self.task.matrix.coordinates_of(columns))
        return super().fit_fold(columns, fold)

    def confusion_counts(self, candidates: Candidates) -> Floats:
        """Return the weights of the tested rows by class and predicted class."""
        part = self.task.matrix.to_coordinates(candidates)
        if self._has_unseen_code.any():
            taken = np.flatnonzero(part.masks().any(axis=0))
            for fold in range(len(self.task.folds)):
                self._check_codes_known(fold, taken)
        nothing = np.empty((len(self.task.folds), len(self.task.classes), 0))
        given = (np.empty((0, self._test_values.shape[1])), self._test_values, -1 - np.arange(len(self._test_values)))
        known = (
            nothing,
            nothing,
            nothing,
            self._table,
            self._table_starts,
            self._table_widths,
            self._log_prior,
            self._has_class,
        )
        of_rows = (self._test_codes, self._test_weights, self.task.test_starts)
        flips = kernel_arguments(part)

        def count(first: int, stop: int, counts: Floats, doubtful: NDArray[np.bool_]) -> None:
            coded_confusion(*given, *known, *of_rows, *flips, first, stop, counts, doubtful)

        return count_predictions(self, candidates, count)

    def max_bytes(self) -> float:
        """Return the bytes of the rows tested and of the tables."""
        return float(self._test_values.nbytes + self._table.nbytes)
