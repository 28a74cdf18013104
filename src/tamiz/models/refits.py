"""Choice of the fold backend for an estimator, and the general backend, which refits for every column set and fold."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cached_property, partial

import numpy as np
from sklearn.base import clone

from tamiz.arrays import Indices
from tamiz.exceptions import DataError
from tamiz.models.base import CVTask, EncodedRows, FittedFold, FoldBackend, FoldRows
from tamiz.models.estimators import accepts_sparse, fit_weighted, is_plain_sklearn
from tamiz.models.native_table import NativeRows, NativeTable
from tamiz.models.score_functions import confusion_scorer, likelihood_scorer, squared_error_scorer
from tamiz.runtime.validation import check_memory

# Rows of a trial fit that shows whether an estimator accepts its parameters.
_PROBE_ROWS = 50
# Folds whose rows are in memory at once when threads finish one fold and begin the next.
_FOLDS_AT_ONCE = 3


def choose_backend(task: CVTask) -> tuple[FoldBackend, str]:
    """Return the backend, and a sentence on the method and the reason."""
    # A local import: the modules of the backends import the package that lists them.
    from tamiz.models import registry

    name = task.estimator_name
    entry = next((entry for entry in registry.of_kind("backend") if entry.name == name), None)
    backend_class: type[FoldBackend] | None = None if entry is None else entry.load()
    if (reason := _refit_reason(task, backend_class)) is not None:
        return RefitBackend(task), f"{name} is refitted for every set and fold: {reason}."
    assert backend_class is not None
    has_likelihood_score = backend_class.has_likelihoods and likelihood_scorer(task) is not None
    if not (confusion_scorer(task) or squared_error_scorer(task) or has_likelihood_score):
        score = task.scoring.name.replace("_", " ")
        return backend_class(
            task
        ), f"{name} predicts anew for every set and fold: its {score} is not a function of sums."
    return backend_class(task), f"{name} is not refitted: {backend_class.method}."


def _refit_reason(task: CVTask, backend_class: type[FoldBackend] | None) -> str | None:
    """Return why an estimator must be refitted, None if a backend supports it."""
    if backend_class is None:
        return "it has no fast method"
    if task.fit_requests or task.scoring.requests:
        return "it, or its score, reads metadata of the rows"
    if task.is_multioutput:
        return "several targets are predicted at once"
    if backend_class.estimator_class is not type(task.estimator):
        return "it is another class of that name"
    if not task.scoring.uses_predictions_only:
        return f"{task.scoring.name} may read more than predictions"
    if (reason := backend_class.unsupported_reason(task)) is not None:
        return reason
    # The refit then reports what is wrong.
    return None if _can_be_fitted(task) else "its parameters do not fit the table"


def _can_be_fitted(task: CVTask) -> bool:
    """Return whether a trial fit accepts the parameters for the classes of every fold; default parameters need no trial."""
    actual, default = (one.get_params(deep=False) for one in (task.estimator, type(task.estimator)()))
    if all(repr(value) == repr(default[name]) for name, value in actual.items() if name != "random_state"):
        return True
    # A random column: the backends check the values of the table themselves.
    column = np.random.default_rng(0).integers(0, 2, (len(task.target), 1)).astype(np.float64)
    seen: set[bytes] = set()
    for fold in task.folds:
        labels = task.target[fold.train]
        # One trial is enough for folds with the same classes, and for all folds of a numeric target.
        classes = np.unique(task.codes[fold.train]).tobytes() if task.has_classes else b""
        if classes in seen:
            continue
        seen.add(classes)
        probe = np.arange(min(len(labels), _PROBE_ROWS))
        if task.has_classes:
            probe = np.union1d(probe, np.unique(labels, return_index=True)[1])
        rows = fold.train[probe]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                fit_weighted(clone(task.estimator), column[rows], task.target[rows], task.weight_at(rows))
            except Exception:  # noqa: BLE001 - the refit raises it again, with its context
                return False
    return True


class RefitBackend(FoldBackend):
    """Refits any estimator for every column set and fold.

    The rows of a fold are cut out once for many sets: a refit costs a copy of its columns beside the fit.
    """

    estimator_class = object
    method = "refits"
    can_refit_in_workers = True

    def __init__(self, task: CVTask) -> None:
        super().__init__(task)
        if not task.is_encoded:
            self._check_dates()
            check_memory(
                self.max_bytes(),
                f"Rows of {_FOLDS_AT_ONCE} folds for an estimator",
                "Leave columns out with kinds, or rows.",
            )

    def _check_dates(self) -> None:
        """Raise DataError for dates in a frame and a plain scikit-learn estimator; a pipeline may transform them."""
        task, schema = self.task, self.task.table.schema
        dates = [j for j in schema.used.tolist() if schema.columns[j].kind == "date"]
        if not dates or self._native_table.needs_conversion or not is_plain_sklearn(task.estimator):
            return
        raise DataError(
            f"Column {schema.columns[dates[0]].name!r} contains dates, and {task.estimator_name} accepts only numbers: pass "
            "encode=True, or a pipeline that encodes."
        )

    @cached_property
    def _native_table(self) -> NativeTable:
        return NativeTable(self.task.table, accepts_sparse=accepts_sparse(self.task.estimator))

    def max_bytes(self) -> float:
        if not self.task.is_encoded:
            return _FOLDS_AT_ONCE * self._native_table.n_bytes
        return _FOLDS_AT_ONCE * 8.0 * self.task.table.schema.n_rows * self.task.matrix.n_coordinates

    def fit_fold(self, columns: Indices, fold: int) -> FittedFold:
        return self.fold_refitter(columns, fold)(columns)

    def fold_refitter(self, columns: Indices, fold: int) -> Callable[[Indices], FittedFold]:
        """Cut out the rows of the fold, and return a function that fits clones of the estimator on subsets of the columns."""
        return partial(self.fold_rows(columns, fold).refit, self.task.estimator)

    def fold_rows(self, columns: Indices, fold: int) -> FoldRows:
        task = self.task
        part = task.folds[fold]
        # Encoded rows are in the order of the table.
        rows = part.train if task.is_encoded else part.train_in_order
        metadata = task.metadata_at(rows)
        return FoldRows(
            self._select_rows(rows, columns, fold),
            self._select_rows(part.test, columns, fold),
            task.target_at(rows),
            task.target_at(part.test),
            task.weight_at(rows),
            task.weight_at(part.test),
            {parameter: metadata[name] for parameter, name in task.fit_requests.items()},
            task.metadata_at(part.test),
        )

    def _select_rows(self, rows: Indices, columns: Indices, fold: int) -> NativeRows | EncodedRows:
        """Return training or test rows of the fold, from which column sets can be selected."""
        task = self.task
        if not task.is_encoded:
            return self._native_table.take_rows(rows, columns)
        matrix, part = task.matrix, task.folds[fold]
        at = matrix.coordinates_of(columns)
        values = matrix.train_rows(part, at) if rows is part.train else matrix.test_rows(part, at)
        return EncodedRows(NativeRows(values, at), {j: matrix.coordinates[j] for j in columns.tolist()})
