"""Fold backends: what predicts like an estimator that is refitted on some columns and a fold, and the scores that follow.

A `FoldBackend` returns the estimator as a refit would be. A fast one also returns sums that common scores are functions of
(`CountsPredictions`, `SumsErrors`, `HasLikelihoods`), for many column sets at once, without a refit. The score functions return the
value of the scikit-learn scorer of that name, for many column sets and folds. `RefitBackend` serves every other estimator.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from tamiz.arrays import Floats, Indices, Masks, divide_or_zero
from tamiz.exceptions import DataError
from tamiz.kernels import CandidateArrays, read_only
from tamiz.models.design_matrix import EncodedMatrix, Predict, PredictionCounts, column_to_floats
from tamiz.models.estimators import accepts_sparse, fit_weighted, is_plain_sklearn
from tamiz.models.task import CVTask, error_context
from tamiz.runtime import parallel
from tamiz.runtime.validation import check_memory
from tamiz.search.base import Candidates
from tamiz.table.schema import Column
from tamiz.table.views import select_columns

# Rows of a trial fit that shows whether an estimator accepts its parameters.
_PROBE_ROWS = 50
# Folds whose rows are in memory at once when threads finish one fold and begin the next.
_FOLDS_AT_ONCE = 3
# Terms that one thread sums: about half a millisecond.
_TERMS_PER_THREAD = 1_000_000
_EPS = float(np.finfo(np.float64).eps)
# Largest error of a log-likelihood in units in the last place: values are several standard deviations from a mean, means up to a
# hundred from 0, and there is a term per column.
_MAX_ROUNDINGS = 1024
# The average error in these units, and the largest relative error of a loss.
_MEAN_ROUNDINGS, _LOSS_TOLERANCE = 32, 1e-10


@dataclass(frozen=True)
class FittedFold:
    """An estimator fitted on some columns of a fold's training rows, and the test rows in the form that it accepts."""

    estimator: Any
    test_rows: Any


class FoldBackend(ABC):
    """Returns the models of column sets in every fold.

    Attributes
    ----------
    estimator_class : type
        The exact type of the estimators that the backend is for. A subclass may behave differently and is refitted.
    method : str
        What replaces the refits, in a few words.
    """

    estimator_class: ClassVar[type]
    method: ClassVar[str]

    def __init__(self, task: CVTask) -> None:
        self.task = task

    @classmethod
    def unsupported_reason(cls, task: CVTask) -> str | None:  # noqa: ARG003 - overrides read the estimator's parameters
        """Return why the estimator must be refitted, None where the backend supports it."""
        return None

    @abstractmethod
    def fit_fold(self, columns: Indices, fold: int) -> FittedFold:
        """Return the estimator as a refit on a fold's training rows and on at least one column would be."""

    @abstractmethod
    def max_bytes(self) -> float:
        """Return the bytes of memory that the backend needs beyond the table."""

    @abstractmethod
    def evaluation_cost(self) -> float:
        """Return the approximate microseconds per column set."""


class CountsPredictions(ABC):
    """A backend that counts predictions."""

    @abstractmethod
    def confusion_counts(self, candidates: Candidates) -> Floats:
        """Return the weight of the test rows by true and predicted class; no candidate is the empty set.

        The shape is (n_candidates, n_folds, n_classes, n_classes).
        """


class SumsErrors(ABC):
    """A backend that sums squared errors."""

    @abstractmethod
    def squared_errors(self, candidates: Candidates) -> Floats:
        """Return the weighted sum of the test rows' squared errors, of shape (n_candidates, n_folds)."""


class HasLikelihoods(FoldBackend):
    """A backend with likelihoods; they are `exact` where they are those of the refit, to the last bit."""

    exact: ClassVar[bool] = False

    @abstractmethod
    def joint_log_likelihood(self, columns: Indices, fold: int) -> Floats | None:
        """Return log prior plus log likelihood of the test rows in every training class, None where only a refit is exact.

        The shape is (n_test, n_train_classes), with the classes of the training rows ascending.
        """


class HasSetNotes(ABC):
    """A backend with notes on the score of a set."""

    @abstractmethod
    def subset_notes(self, columns: Indices) -> list[str]:
        """Return notes for a reader of the score of some columns."""


class SharesProducts(ABC):
    """A backend that computes its products for several targets at once."""

    @abstractmethod
    def share_products(self, others: Sequence[Any]) -> None:
        """Compute for backends of the same class, whose tasks are equal except for their targets, too."""


class MatrixBackend(FoldBackend):
    """A backend whose refits use the design matrix."""

    def fit_fold(self, columns: Indices, fold: int) -> FittedFold:
        task, part = self.task, self.task.folds[fold]
        if task.reads_in_passes:
            view = select_columns(task.table, columns.tolist())
            matrix = EncodedMatrix(view, task.folds, task.encoding, impute=task.impute)
        else:
            matrix = task.matrix
        at = matrix.coordinates_of(columns)
        # C order, as scikit-learn converts it: the last bits of its sums depend on it.
        train, test = (np.ascontiguousarray(rows_of(part, at)) for rows_of in (matrix.train_rows, matrix.test_rows))
        model = clone(task.estimator)
        return FittedFold(fit_weighted(model, train, task.target[part.train], task.weight_at(part.train)), test)


def candidate_arrays(candidates: Candidates) -> CandidateArrays:
    """Return candidates as a parameter of kernels."""
    numbers = (candidates.parent_index, candidates.starts, candidates.flipped)
    arrays = (np.ascontiguousarray(each, dtype=np.int64) for each in numbers)
    return CandidateArrays(*map(read_only, (np.ascontiguousarray(candidates.parents), *arrays)))


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
    has_likelihood_score = issubclass(backend_class, HasLikelihoods) and likelihood_scorer(task) is not None
    if confusion_scorer(task) or squared_error_scorer(task) or has_likelihood_score:
        return backend_class(task), f"{name} is not refitted: {backend_class.method}."
    score = task.scoring.name.replace("_", " ")
    method = f"{name} predicts anew for every set and fold: its {score} is not a function of sums."
    return backend_class(task), method


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


class ColumnRows:
    """Rows of some columns (an array, a sparse matrix or a frame), from which subsets of the columns are selected.

    `owners` has the number of the column in the table for each column of the rows: an encoded categorical column has several.
    """

    def __init__(self, rows: Any, owners: Indices, *, keep_sparse: bool = False) -> None:
        self._rows, self._owners, self._keep_sparse = _wrap_rows(rows), owners, keep_sparse

    def __getstate__(self) -> dict[str, Any]:
        """Return a picklable state: a frame of its library instead of narwhals."""
        return {**self.__dict__, "_rows": nw.to_native(self._rows, pass_through=True)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._rows = _wrap_rows(self._rows)

    def select(self, columns: Indices) -> Any:
        """Return some of the columns as a copy, into which an estimator may write."""
        at = np.flatnonzero(np.isin(self._owners, columns))
        if isinstance(self._rows, np.ndarray):
            # C order, as in an array sliced by scikit-learn: sums then have the same last bits.
            return np.take(self._rows, at, axis=1)
        if sparse.issparse(self._rows):
            selected = self._rows[:, at]
            return selected.tocsr() if self._keep_sparse else selected.toarray()
        return self._rows[:, at.tolist()].to_native()


def _wrap_rows(rows: Any) -> Any:
    """Return an array as it is, a masked array with NaN, a sparse matrix as CSC, and a frame wrapped by narwhals."""
    if sparse.issparse(rows):
        return rows.tocsc()
    if isinstance(rows, np.ma.MaskedArray):
        return np.ma.filled(rows.astype(np.float64), np.nan)
    return rows if isinstance(rows, np.ndarray) else nw.from_native(rows, eager_only=True)


@dataclass(frozen=True)
class FoldRows:
    """The rows of a fold, for refits on column sets in this process or in a worker process.

    `fit_options` is the metadata of the training rows by the parameters of the estimator's fit, and `tested` the target, weights
    and metadata of the test rows.
    """

    train: ColumnRows
    test: ColumnRows
    train_target: NDArray[Any] | None
    train_weight: Floats | None
    fit_options: Mapping[str, Any]
    tested: tuple[NDArray[Any] | None, Floats | None, Mapping[str, Any]]

    def refit(self, estimator: Any, columns: Indices) -> FittedFold:
        """Fit a copy of an estimator on a set of columns."""
        train = self.train.select(columns)
        fitted = fit_weighted(clone(estimator), train, self.train_target, self.train_weight, self.fit_options)
        return FittedFold(fitted, self.test.select(columns))


class RefitBackend(FoldBackend):
    """Refits any estimator for every column set and fold, on encoded rows or on rows in the user's own type.

    Without an encoding an array stays an array, and a frame a frame of its library, with its dtypes. A sparse matrix stays sparse
    if the estimator accepts it. Files and Arrow tables, which estimators do not accept, become a pandas frame: numbers as float64,
    dates as seconds, booleans as bool (with missing values as 0, 1 and NaN), levels as pandas categories. Without pandas they
    become a matrix of numbers.
    """

    estimator_class = object
    method = "refits"

    def __init__(self, task: CVTask) -> None:
        super().__init__(task)
        self._keep_sparse = accepts_sparse(task.estimator)
        if task.is_encoded:
            return
        schema = task.table.schema
        dates = [j for j in schema.used.tolist() if schema.columns[j].kind == "date"]
        # A pipeline may transform dates.
        if dates and not self._needs_conversion and is_plain_sklearn(task.estimator):
            raise DataError(
                f"Column {schema.columns[dates[0]].name!r} contains dates, and {task.estimator_name} accepts only numbers: pass "
                "encode=True, or a pipeline that encodes."
            )
        advice = "Leave columns out with kinds, or rows."
        check_memory(self.max_bytes(), f"Rows of {_FOLDS_AT_ONCE} folds for an estimator", advice)

    @property
    def _first_row(self) -> Any:
        return self.task.table.frame(self.task.table.schema.used[:1].tolist(), np.zeros(1, dtype=np.intp))

    @cached_property
    def _needs_conversion(self) -> bool:
        """Whether the columns come from a file or an Arrow table and must be converted."""
        return isinstance(self._first_row, pa.Table)

    @cached_property
    def _converted(self) -> Any:
        schema, used = self.task.table.schema, self.task.table.schema.used.tolist()
        check_memory(
            8.0 * schema.n_rows * len(used),
            f"A table of {schema.n_rows:,} rows and {len(used):,} columns for an estimator",
            "Leave columns out with kinds, or rows.",
        )
        columns = {j: self.task.table.column(j) for j in used}
        if find_spec("pandas") is not None:
            return _wrap_rows(_pandas_frame(schema.columns, columns))
        for j in schema.categorical:
            if schema.columns[j].kind != "boolean":
                raise DataError(
                    f"Column {schema.columns[j].name!r} contains text, which needs pandas for an estimator: pass encode=True, or "
                    "install pandas."
                )
        return np.column_stack([column_to_floats(schema.columns[j], values) for j, values in columns.items()])

    def max_bytes(self) -> float:
        schema = self.task.table.schema
        if self.task.is_encoded:
            return _FOLDS_AT_ONCE * 8.0 * schema.n_rows * self.task.matrix.n_coordinates
        if self._keep_sparse and sparse.issparse(self._first_row):
            rows = self.task.table.frame()
            return _FOLDS_AT_ONCE * float(rows.data.nbytes + rows.indices.nbytes)
        return _FOLDS_AT_ONCE * 8.0 * schema.n_rows * len(schema.used)

    def evaluation_cost(self) -> float:
        return sum(3000.0 + len(fold.train) for fold in self.task.folds)

    def fit_fold(self, columns: Indices, fold: int) -> FittedFold:
        return self.fold_rows(columns, fold).refit(self.task.estimator, columns)

    def fold_rows(self, columns: Indices, fold: int) -> FoldRows:
        """Cut out the rows of a fold once, for refits on subsets of some columns: a refit then copies its columns only."""
        task = self.task
        part = task.folds[fold]
        # Encoded rows are in the order of the table.
        rows = part.train if task.is_encoded else part.train_in_order
        metadata = task.metadata_at(rows)
        if task.is_encoded:
            at = task.matrix.coordinates_of(columns)
            values = task.matrix.train_rows(part, at), task.matrix.test_rows(part, at)
            train, test = (ColumnRows(one, task.matrix.column_of[at]) for one in values)
        else:
            train, test = self._native_rows(rows, columns), self._native_rows(part.test, columns)
        return FoldRows(
            train,
            test,
            task.target_at(rows),
            task.weight_at(rows),
            {parameter: metadata[name] for parameter, name in task.fit_requests.items()},
            task.scored_rows(part.test),
        )

    def _native_rows(self, rows: Indices, columns: Indices) -> ColumnRows:
        if not self._needs_conversion:
            return ColumnRows(self.task.table.frame(columns.tolist(), rows), columns, keep_sparse=self._keep_sparse)
        at, part = np.searchsorted(self.task.table.schema.used, columns), self._converted
        return ColumnRows(part[np.ix_(rows, at)] if isinstance(part, np.ndarray) else part[rows, at.tolist()], columns)


def _pandas_frame(schema: Sequence[Column], columns: dict[int, NDArray[Any]]) -> Any:
    pd = import_module("pandas")

    def series(column: Column, values: NDArray[Any]) -> Any:
        if values.dtype.kind == "f":
            return values
        if column.kind != "boolean":
            return pd.Categorical.from_codes(values, list(column.levels))
        numbers = column_to_floats(column, values)
        return numbers if column.n_missing else numbers.astype(bool)

    return pd.DataFrame({schema[j].name: series(schema[j], values) for j, values in columns.items()})


# Scores as functions of confusion counts, squared errors, or joint log-likelihoods.


def count_predictions(
    backend: FoldBackend, candidates: Candidates, fill_counts: Callable[[int, int, Floats, Masks], None]
) -> Floats:
    """Return the weights of test rows by true and predicted class, of shape (n_candidates, n_folds, n_classes, n_classes).

    fill_counts(first, stop, counts, doubtful) fills those of candidates first .. stop. A fold of a candidate in which the best two
    classes of a row differ by no more than rounding errors is doubtful: it is predicted by a refit, so that counts do not depend on
    the order of summation.
    """
    task = backend.task
    n_folds, n_classes = len(task.folds), len(task.classes)
    counts = np.zeros((len(candidates), n_folds, n_classes, n_classes))
    doubtful = np.zeros((len(candidates), n_folds), dtype=bool)
    size = max(1, _TERMS_PER_THREAD // (len(task.test_rows) * n_classes))

    def work(span: tuple[int, int]) -> None:
        fill_counts(*span, counts, doubtful)

    parallel.run_blocks(work, parallel.block_ranges(len(candidates), size))
    return refit_doubtful(backend, candidates, counts, doubtful)


def count_in_passes(backend: FoldBackend, candidates: Candidates, columns: Indices, predict: Predict) -> Floats:
    """Return the same from a pass over some columns of the table."""
    task = backend.task
    n_classes = len(task.classes)
    roles = task.row_roles.with_values(task.table, [task.codes.astype(np.int32)])
    shape = len(candidates), len(task.folds), n_classes, n_classes
    (found,) = task.table.reduce(PredictionCounts(tuple(columns.tolist()), roles, predict, shape))
    return refit_doubtful(backend, candidates, found.counts, found.doubtful)


def refit_doubtful(backend: FoldBackend, candidates: Candidates, sums: Floats, doubtful: Masks) -> Floats:
    """Return counts or squared errors with those of refits where rounding could change them."""
    if doubtful.any():
        masks = candidates.masks()
        refits = [(np.flatnonzero(masks[c]), fold) for c, fold in np.argwhere(doubtful).tolist()]
        sums[doubtful] = list(parallel.map_blocks(lambda item: _refit_sums(backend, *item), refits))
    return sums


def _refit_sums(backend: FoldBackend, columns: Indices, fold: int) -> Floats:
    """Return the confusion counts of a refit, for a numeric target the squared errors."""
    task = backend.task
    rows = task.folds[fold].test
    with task.fit_warnings.record_fit(), error_context(task, columns, fold, task.label):
        fitted = backend.fit_fold(columns, fold)
        predicted = fitted.estimator.predict(fitted.test_rows)
    if not task.has_classes:
        return np.asarray(task.weight_or_ones[rows] @ (task.target[rows] - predicted) ** 2)
    counts = np.zeros((len(task.classes), len(task.classes)))
    np.add.at(counts, (task.codes[rows], np.searchsorted(task.classes, predicted)), task.weight_or_ones[rows])
    return counts


def baseline_confusion(task: CVTask) -> Floats:
    """Return confusion counts of predicting the most frequent training class, of equally frequent classes the first."""
    n = len(task.classes)
    counts = np.zeros((len(task.folds), n, n))
    for f, fold in enumerate(task.folds):
        shares = np.bincount(task.codes[fold.train], task.weight_or_ones[fold.train], n)
        counts[f, :, int(shares.argmax())] = np.bincount(task.codes[fold.test], task.weight_or_ones[fold.test], n)
    return counts


def baseline_squared_errors(task: CVTask) -> Floats:
    """Return the weighted sum of squared errors of predicting the training mean, for every fold."""
    squares = np.empty(len(task.folds))
    for f, fold in enumerate(task.folds):
        mean = np.average(task.target[fold.train], weights=task.weight_or_ones[fold.train])
        squares[f] = task.weight_or_ones[fold.test] @ (task.target[fold.test] - mean) ** 2
    return squares


# score(backend, columns, fold): None where a refit is needed.
LikelihoodScore = Callable[[HasLikelihoods, Indices, int], float | None]


def likelihood_scorer(task: CVTask) -> LikelihoodScore | None:
    """Return the score of the task as a function of joint log-likelihoods, None if there is no such function."""
    if not task.scoring.is_sklearn or not task.has_classes or task.is_multioutput:
        return None
    return _LIKELIHOOD_SCORES.get(task.scoring.name)


def _log_loss(backend: HasLikelihoods, columns: Indices, fold: int) -> float | None:
    task = backend.task
    part = task.folds[fold]
    codes, weight = task.codes[part.test], task.weight_or_ones[part.test]
    train_classes = np.unique(task.codes[part.train])
    # For different classes in training and test rows, the refit raises scikit-learn's own error.
    if not np.array_equal(np.unique(codes), train_classes):
        return None
    joint = backend.joint_log_likelihood(columns, fold)
    if joint is None or _has_no_likelihood(joint):
        return None
    probabilities = np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))
    noise = _EPS * (1 + np.abs(joint).max(axis=1))
    if len(train_classes) == 2:
        # With two classes scikit-learn computes the first probability as 1 minus the second, with the rounding of that.
        probabilities[:, 0] = 1 - probabilities[:, 1]
    own = np.clip(probabilities[np.arange(len(codes)), np.searchsorted(train_classes, codes)], _EPS, 1 - _EPS)
    if len(train_classes) == 2:
        noise *= np.where(codes == train_classes[0], probabilities[:, 1] / own, 1.0)
    score = float(np.average(np.log(own), weights=weight))
    # A loss near 0 consists of rounding errors.
    return score if float(np.average(noise, weights=weight)) * _MEAN_ROUNDINGS <= _LOSS_TOLERANCE * abs(score) else None


def _roc_auc(backend: HasLikelihoods, columns: Indices, fold: int) -> float | None:
    task = backend.task
    part = task.folds[fold]
    positive, weight = task.codes[part.test] == 1, task.weight_or_ones[part.test]
    if len(task.classes) != 2 or positive.all() or not positive.any():
        return None
    joint = backend.joint_log_likelihood(columns, fold)
    if joint is None or joint.shape[1] != 2 or _has_no_likelihood(joint):
        return None
    probability = np.exp(joint[:, 1] - np.logaddexp.reduce(joint, axis=1))
    if backend.exact:
        return _roc_area(probability, np.zeros_like(probability), positive, weight, None)
    noise = _MAX_ROUNDINGS * _EPS * probability * (1 + np.abs(joint).max(axis=1))
    at = task.matrix.coordinates_of(columns)
    return _roc_area(probability, noise, positive, weight, lambda rows: task.matrix.test_rows(part, at)[rows])


def _has_no_likelihood(joint: Floats) -> bool:
    """Return whether all likelihoods of a row underflow; the estimator then decides its probabilities."""
    return not bool(np.isfinite(joint.max(axis=1)).all())


def _roc_area(
    probability: Floats,
    noise: Floats,
    positive: Masks,
    weight: Floats,
    values: Callable[[Indices], Floats] | None,
) -> float | None:
    """Return the area under the ROC curve; None if unequal rows of both classes differ by no more than rounding errors.

    `values` returns rows; None means that the probabilities are those of a refit.
    """
    order = np.argsort(probability, kind="stable")
    probability, noise, positive, weight = probability[order], noise[order], positive[order], weight[order]
    near = np.diff(probability) <= noise[1:] + noise[:-1]
    group = np.concatenate([[0], np.cumsum(~near)])
    n = int(group[-1]) + 1
    above = np.bincount(group, weight * positive, n)
    below = np.bincount(group, weight * ~positive, n)
    mixed = np.flatnonzero((above > 0) & (below > 0))
    if values is not None and len(mixed):
        inside = np.isin(group, mixed)
        rows = values(order[inside])
        same = (np.diff(rows, axis=0) == 0).all(axis=1) | (np.diff(group[inside]) > 0)
        # Equal rows have equal probabilities; the order of other rows needs the refit.
        if not same.all():
            return None
    return float(_area_of_groups(above, below))


def _area_of_groups(above: NDArray[Any], below: NDArray[Any]) -> Floats:
    """Return the area under the ROC curve from weights of both classes at ascending values, which are on the last axis."""
    through = below.cumsum(axis=-1)
    return np.asarray((above * (through - below / 2)).sum(axis=-1) / (above.sum(axis=-1) * through[..., -1]))


def roc_areas(values: Floats, positive: Floats, negative: Floats) -> Floats:
    """Return the area under the ROC curve of each row of values, of shape (n_rankings, n_rows).

    `positive` and `negative` are the weights of the rows of both classes, 0 for those of the other class.
    """
    order = np.argsort(values, axis=1)
    ranked = np.take_along_axis(values, order, axis=1)
    # Equal values are one group, numbered over all rankings; groups of weight 0 fill the rest.
    is_new = np.ones(values.shape, dtype=bool)
    is_new[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
    group = is_new.cumsum(axis=1) - 1 + np.arange(len(values))[:, None] * values.shape[1]
    above, below = (
        np.bincount(group.ravel(), weight[order].ravel(), values.size).reshape(values.shape)
        for weight in (positive, negative)
    )
    return _area_of_groups(above, below)


_LIKELIHOOD_SCORES: dict[str, LikelihoodScore] = {"neg_log_loss": _log_loss, "roc_auc": _roc_auc}


def confusion_scorer(task: CVTask) -> Callable[[Floats], Floats] | None:
    """Return the score as a function of confusion counts, None if there is no such function.

    Counts have the shape (..., n_classes, n_classes), true class before predicted class.
    """
    if not task.scoring.is_sklearn or task.is_multioutput:
        return None
    name = task.scoring.name
    if name in _CONFUSION_SCORES:
        return _CONFUSION_SCORES[name]
    kind, _, average = name.partition("_")
    if kind not in ("precision", "recall", "f1") or average not in _AVERAGES:
        return None
    if not average and (len(task.classes) != 2 or task.classes[1] != 1):
        # scikit-learn's positive class is 1; without it the refit raises scikit-learn's own error.
        return None
    return lambda counts: _AVERAGES[average](_class_score(counts, kind), counts)


def squared_error_scorer(task: CVTask) -> Callable[[Floats], Floats] | None:
    """Return the score as a function of squared errors of shape (n_candidates, n_folds), None if there is no such function."""
    found = (
        _SQUARED_ERROR_SCORES.get(task.scoring.name) if task.scoring.is_sklearn and not task.is_multioutput else None
    )
    return None if found is None else partial(found, task)


def _accuracy(counts: Floats) -> Floats:
    return np.trace(counts, axis1=-2, axis2=-1) / counts.sum(axis=(-2, -1))


def _balanced_accuracy(counts: Floats) -> Floats:
    true = counts.sum(axis=-1)
    return _class_score(counts, "recall").sum(axis=-1) / (true > 0).sum(axis=-1)


def _class_score(counts: Floats, kind: str) -> Floats:
    """Return precision, recall or F1 of every class; a class that does not occur, or is never predicted, scores 0."""
    correct, true, predicted = np.diagonal(counts, axis1=-2, axis2=-1), counts.sum(axis=-1), counts.sum(axis=-2)
    if kind == "f1":
        return divide_or_zero(2 * correct, true + predicted)
    return divide_or_zero(correct, true if kind == "recall" else predicted)


def _macro(values: Floats, counts: Floats) -> Floats:
    """Return the mean over the classes that occur or are predicted."""
    occurs = (counts.sum(axis=-1) > 0) | (counts.sum(axis=-2) > 0)
    return np.where(occurs, values, 0.0).sum(axis=-1) / occurs.sum(axis=-1)


def _weighted(values: Floats, counts: Floats) -> Floats:
    true = counts.sum(axis=-1)
    return (values * true).sum(axis=-1) / true.sum(axis=-1)


def _r2(task: CVTask, squares: Floats) -> Floats:
    total = np.empty(len(task.folds))
    for f, fold in enumerate(task.folds):
        if len(fold.test) < 2:
            raise DataError(
                f"R2 is undefined for the 1 test row of fold {f + 1} of {len(task.folds)}; use fewer folds, or "
                "scoring='neg_mean_squared_error'."
            )
        y, weight = task.target[fold.test].astype(np.float64), task.weight_or_ones[fold.test]
        total[f] = weight @ (y - np.average(y, weights=weight)) ** 2
    # scikit-learn's convention for a constant test target: 1 for predictions without error, else 0.
    constant = np.where(squares == 0, 1.0, 0.0)
    return np.where(total > 0, 1 - squares / np.where(total > 0, total, 1.0), constant)


def _neg_mean_squared_error(task: CVTask, squares: Floats) -> Floats:
    return -squares / np.array([task.weight_or_ones[fold.test].sum() for fold in task.folds])


def _neg_root_mean_squared_error(task: CVTask, squares: Floats) -> Floats:
    return -np.sqrt(-_neg_mean_squared_error(task, squares))


_CONFUSION_SCORES: dict[str, Callable[[Floats], Floats]] = {
    "accuracy": _accuracy,
    "balanced_accuracy": _balanced_accuracy,
}
# Averages of the scores of every class.
_AVERAGES: dict[str, Callable[[Floats, Floats], Floats]] = {
    "": lambda values, _: values[..., 1],
    "macro": _macro,
    "micro": lambda _, counts: _accuracy(counts),
    "weighted": _weighted,
}
_SQUARED_ERROR_SCORES: dict[str, Callable[[CVTask, Floats], Floats]] = {
    "r2": _r2,
    "neg_mean_squared_error": _neg_mean_squared_error,
    "neg_root_mean_squared_error": _neg_root_mean_squared_error,
}
