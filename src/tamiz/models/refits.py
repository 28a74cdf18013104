"""The general way: fit, and predict."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from tamiz.exceptions import DataError
from tamiz.models.base import ColumnIndices, CVTask, EncodedRows, FittedFold, FoldBackend, FoldRows
from tamiz.models.estimators import accepts_sparse, fit_weighted, is_plain_sklearn
from tamiz.models.native_table import NativeRows, NativeTable
from tamiz.models.score_functions import confusion_scorer, likelihood_scorer, squared_error_scorer
from tamiz.runtime.validation import check_memory

# MERGED: Which way an estimator takes.
# So many rows show whether an estimator can be fitted.
_PROBE_ROWS = 50


def choose_backend(task: CVTask) -> tuple[FoldBackend, str]:
    """Return the way, and in words what is done and why."""
    # Here and not above: the package that lists the ways is imported by their modules.
    from tamiz.models import registry

    entry = next((entry for entry in registry.of_kind("backend") if entry.name == task.estimator_name), None)
    if entry is None:
        return RefitBackend(task), f"{task.estimator_name} is refitted for every set and fold: it has no fast way."
    if task.is_multioutput:
        return RefitBackend(
            task
        ), f"{task.estimator_name} is refitted for every set and fold: several targets are predicted at once."
    kind: type[FoldBackend] = entry.load()
    if kind.estimator_class is not type(task.estimator):
        return RefitBackend(
            task
        ), f"{task.estimator_name} is refitted for every set and fold: it is no {entry.name} of scikit-learn's."
    if not task.scoring.uses_predictions_only:
        return RefitBackend(
            task
        ), f"{task.estimator_name} is refitted for every set and fold: {task.scoring.name} may read anything."
    if (why := kind.unsupported_reason(task)) is not None:
        return RefitBackend(task), f"{task.estimator_name} is refitted for every set and fold: {why}."
    if not _can_be_fitted(task):
        # The refit says what is wrong.
        return RefitBackend(
            task
        ), f"{task.estimator_name} is refitted for every set and fold: its parameters do not fit the table."
    if not (confusion_scorer(task) or squared_error_scorer(task) or (kind.has_likelihoods and likelihood_scorer(task))):
        name = task.scoring.name.replace("_", " ")
        return kind(task), f"{task.estimator_name} is asked anew for every set and fold: its {name} is no sum."
    return kind(task), f"{task.estimator_name} is not refitted: {kind.method}."


def _can_be_fitted(task: CVTask) -> bool:
    """Return whether the estimator takes its parameters, and the classes of every fold: those it has by default go anywhere."""
    given, usual = (one.get_params(deep=False) for one in (task.estimator, type(task.estimator)()))
    if all(repr(value) == repr(usual[name]) for name, value in given.items() if name != "random_state"):
        return True
    # A column of no meaning: what the table holds is for the ways to judge.
    column = np.random.default_rng(0).integers(0, 2, (len(task.target), 1)).astype(np.float64)
    seen: set[bytes] = set()
    for fold in task.folds:
        labels = task.target[fold.train]
        # Folds of the same classes are alike, and all folds of numbers are.
        classes = np.unique(task.codes[fold.train]).tobytes() if task.has_classes else b""
        if classes in seen:
            continue
        seen.add(classes)
        tried = np.arange(min(len(labels), _PROBE_ROWS))
        if task.has_classes:
            tried = np.union1d(tried, np.unique(labels, return_index=True)[1])
        rows = fold.train[tried]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                fit_weighted(clone(task.estimator), column[rows], task.target[rows], task.weight_at(rows))
            except Exception:  # noqa: BLE001 - whatever it is, the refit raises it again and is listened to
                return False
    return True


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
