"""The general way: fit, and predict."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from tamiz.exceptions import DataError
from tamiz.validation import check_memory
from tamiz.wrappers.base import Columns, Task, Way
from tamiz.wrappers.estimators import accepts_sparse, is_plain
from tamiz.wrappers.fold_rows import Coordinates, Fitted, FoldRows
from tamiz.wrappers.given import Given, Part

# Folds whose rows are there at once, where two threads come to the end of one and begin the next.
_AT_ONCE = 3


class Refits(Way):
    """Every estimator, fitted anew for every set of columns and fold.

    The rows of a fold are taken once for many sets: a refit costs a copy of its columns beside the fit.
    """

    kind = object
    how = "refits"
    hands_rows_on = True

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        if not task.encode:
            self._check_dates()
            check_memory(
                self.most_bytes(),
                f"Rows of {_AT_ONCE} folds for an estimator",
                "Leave columns out with kinds, or rows.",
            )

    def _check_dates(self) -> None:
        """Refuse dates of a frame for an estimator of scikit-learn's own; a pipeline may know what to do with them."""
        task, schema = self.task, self.task.source.schema
        dates = [j for j in schema.used.tolist() if schema.columns[j].kind == "date"]
        if not dates or self._given.is_read or not is_plain(task.estimator):
            return
        raise DataError(
            f"Column {schema.columns[dates[0]].name!r} holds dates, and {task.name} takes numbers: pass encode=True, or a pipeline "
            "that encodes."
        )

    @cached_property
    def _given(self) -> Given:
        return Given(self.task.source, accepts_sparse=accepts_sparse(self.task.estimator))

    def most_bytes(self) -> float:
        """Return the bytes of the rows of a few folds."""
        if not self.task.encode:
            return _AT_ONCE * self._given.n_bytes
        return _AT_ONCE * 8.0 * self.task.source.schema.n_rows * self.task.points.n_coordinates

    def fitted(self, columns: Columns, fold: int) -> Fitted:
        """Fit a copy of the estimator."""
        return self.refits(columns, fold)(columns)

    def refits(self, columns: Columns, fold: int) -> Callable[[Columns], Fitted]:
        """Take the rows of the fold, and return what fits copies of the estimator on sets among their columns."""
        return partial(self.rows(columns, fold).refit, self.task.estimator)

    def rows(self, columns: Columns, fold: int) -> FoldRows:
        """Return the rows of a fold for refits on sets among some columns."""
        task = self.task
        part = task.folds[fold]
        # Points are made of rows in the order of the table.
        rows = part.train if task.encode else part.in_order
        return FoldRows(
            self._taken(rows, columns, fold),
            self._taken(part.test, columns, fold),
            task.target_in(rows),
            task.target_in(part.test),
            task.weight_in(rows),
            task.weight_in(part.test),
        )

    def _taken(self, rows: NDArray[np.intp], columns: Columns, fold: int) -> Part | Coordinates:
        """Return rows of the fold, of which sets of columns are taken."""
        task = self.task
        if not task.encode:
            return self._given.rows(rows, columns)
        points, part = task.points, task.folds[fold]
        at = points.coordinates_of(columns)
        values = points.train(part, at) if rows is part.train else points.test(part, at)
        widths = np.array([len(points.coordinates[j]) for j in columns.tolist()])
        return Coordinates(Part(values, np.arange(len(at))), columns, widths)
