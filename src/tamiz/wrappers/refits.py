"""The general way: fit, and predict."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from tamiz.exceptions import DataError
from tamiz.validation import check_memory
from tamiz.wrappers.base import ColumnIndices, CVTask, FoldBackend
from tamiz.wrappers.estimators import accepts_sparse, is_plain_sklearn
from tamiz.wrappers.fold_rows import EncodedRows, FittedFold, FoldRows
from tamiz.wrappers.given import NativeRows, NativeTable

# Folds whose rows are there at once, where two threads come to the end of one and begin the next.
_FOLDS_AT_ONCE = 3


class RefitBackend(FoldBackend):
    """Every estimator, fitted anew for every set of columns and fold.

    The rows of a fold are taken once for many sets: a refit costs a copy of its columns beside the fit.
    """

    estimator_class = object
    method = "refits"
    can_refit_in_workers = True

    def __init__(self, task: CVTask) -> None:
        super().__init__(task)
        if not task.encode:
            self._check_dates()
            check_memory(
                self.max_bytes(),
                f"Rows of {_FOLDS_AT_ONCE} folds for an estimator",
                "Leave columns out with kinds, or rows.",
            )

    def _check_dates(self) -> None:
        """Refuse dates of a frame for an estimator of scikit-learn's own; a pipeline may know what to do with them."""
        task, schema = self.task, self.task.source.schema
        dates = [j for j in schema.used.tolist() if schema.columns[j].kind == "date"]
        if not dates or self._native_table.needs_conversion or not is_plain_sklearn(task.estimator):
            return
        raise DataError(
            f"Column {schema.columns[dates[0]].name!r} holds dates, and {task.estimator_name} takes numbers: pass encode=True, or a pipeline "
            "that encodes."
        )

    @cached_property
    def _native_table(self) -> NativeTable:
        return NativeTable(self.task.source, accepts_sparse=accepts_sparse(self.task.estimator))

    def max_bytes(self) -> float:
        """Return the bytes of the rows of a few folds."""
        if not self.task.encode:
            return _FOLDS_AT_ONCE * self._native_table.n_bytes
        return _FOLDS_AT_ONCE * 8.0 * self.task.source.schema.n_rows * self.task.matrix.n_coordinates

    def fit_fold(self, columns: ColumnIndices, fold: int) -> FittedFold:
        """Fit a copy of the estimator."""
        return self.fold_refitter(columns, fold)(columns)

    def fold_refitter(self, columns: ColumnIndices, fold: int) -> Callable[[ColumnIndices], FittedFold]:
        """Take the rows of the fold, and return what fits copies of the estimator on sets among their columns."""
        return partial(self.fold_rows(columns, fold).refit, self.task.estimator)

    def fold_rows(self, columns: ColumnIndices, fold: int) -> FoldRows:
        """Return the rows of a fold for refits on sets among some columns."""
        task = self.task
        part = task.folds[fold]
        # Points are made of rows in the order of the table.
        rows = part.train if task.encode else part.train_in_order
        return FoldRows(
            self._select_rows(rows, columns, fold),
            self._select_rows(part.test, columns, fold),
            task.target_at(rows),
            task.target_at(part.test),
            task.weight_at(rows),
            task.weight_at(part.test),
        )

    def _select_rows(self, rows: NDArray[np.intp], columns: ColumnIndices, fold: int) -> NativeRows | EncodedRows:
        """Return rows of the fold, of which sets of columns are taken."""
        task = self.task
        if not task.encode:
            return self._native_table.take_rows(rows, columns)
        points, part = task.matrix, task.folds[fold]
        at = points.coordinates_of(columns)
        values = points.train_rows(part, at) if rows is part.train else points.test_rows(part, at)
        widths = np.array([len(points.coordinates[j]) for j in columns.tolist()])
        return EncodedRows(NativeRows(values, np.arange(len(at))), columns, widths)
