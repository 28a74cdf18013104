"""The general way: fit, and predict."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from tamiz.exceptions import DataError
from tamiz.validation import check_memory
from tamiz.wrappers.base import Columns, Fitted, Task, Way
from tamiz.wrappers.estimators import fit_weighted, is_plain
from tamiz.wrappers.given import Given, Part

# Folds whose rows are there at once, where two threads come to the end of one and begin the next.
_AT_ONCE = 3


class Refits(Way):
    """Every estimator, fitted anew for every set of columns and fold.

    The rows of a fold are taken once for many sets: a refit costs a copy of its columns beside the fit.
    """

    kind = object
    how = "refits"

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
        return Given(self.task.source)

    def most_bytes(self) -> float:
        """Return the bytes of the rows of a few folds."""
        schema = self.task.source.schema
        width = self.task.points.n_coordinates if self.task.encode else len(schema.used)
        return _AT_ONCE * 8.0 * schema.n_rows * width

    def fitted(self, columns: Columns, fold: int) -> Fitted:
        """Fit a copy of the estimator."""
        return self.refits(columns, fold)(columns)

    def refits(self, columns: Columns, fold: int) -> Callable[[Columns], Fitted]:
        """Take the rows of the fold, and return what fits copies of the estimator on sets among their columns."""
        task = self.task
        part = task.folds[fold]
        # Points are made of rows in the order of the table.
        rows = part.train if task.encode else part.in_order
        train, test = self._taken(rows, columns, fold), self._taken(part.test, columns, fold)
        labels, weight = task.labels[rows], task.weight_in(rows)

        def refit(chosen: Columns) -> Fitted:
            return Fitted(fit_weighted(clone(task.estimator), train(chosen), labels, weight), test(chosen))

        return refit

    def _taken(self, rows: NDArray[np.intp], columns: Columns, fold: int) -> Callable[[Columns], Any]:
        """Return what gives rows of the fold with some of the columns."""
        task = self.task
        if not task.encode:
            return self._given.rows(rows, columns).of
        points, part = task.points, task.folds[fold]
        at = points.coordinates_of(columns)
        values = points.train(part, at) if rows is part.train else points.test(part, at)
        taken = Part(values, np.arange(len(at)))
        widths = np.array([len(points.coordinates[j]) for j in columns.tolist()])
        starts = np.cumsum(widths) - widths

        def of(chosen: Columns) -> Any:
            places = np.searchsorted(columns, chosen)
            return taken.of(np.concatenate([starts[k] + np.arange(widths[k]) for k in places.tolist()]))

        return of
