"""Naive Bayes on mixed columns with missing values: the estimator `MixedNB`, and its fold backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import Tags, column_or_1d
from sklearn.utils.validation import check_is_fitted

from tamiz.arrays import Floats, Indices, Masks, divide_or_zero
from tamiz.kernels import CandidateArrays, LabelledRows, read_only
from tamiz.kernels.discrete_bayes import CodedModel, CodedValues, coded_confusion, joint_log_likelihoods
from tamiz.models.base import CVTask, FittedFold, FoldBackend, candidate_arrays, column_cost
from tamiz.models.fold_sums import TrainingSums
from tamiz.models.mixed_nb_counts import MixedCounts, open_labelled_table, read_batch
from tamiz.models.score_functions import count_in_passes, count_predictions
from tamiz.runtime import parallel
from tamiz.runtime.user_warnings import capture_warnings, warn_user
from tamiz.runtime.validation import check_real
from tamiz.statistics.base import Block
from tamiz.subsets.candidates import Candidates
from tamiz.table.base import Table
from tamiz.table.factory import align_to_schema
from tamiz.table.feature_checks import check_features, mixed_table_tags, record_features
from tamiz.table.in_memory import from_array_api
from tamiz.table.kinds import level_text
from tamiz.table.schema import Column, Schema
from tamiz.table.views import select_columns, select_rows, target_array

# Values that are predicted from at a time.
_VALUES_PER_BATCH = 2**20
# The smallest allowed parameters: the logarithm of a smaller count or variance is dominated by rounding.
_MIN_ALPHA, _MIN_SMOOTHING = 1e-10, 1e-30


# Numbers and codes by columns, and the position of each column among them.
_Layout: TypeAlias = tuple[Floats, NDArray[np.uint32], NDArray[np.int64]]


class MixedNB(ClassifierMixin, BaseEstimator):
    """Naive Bayes classifier for numeric and categorical columns with missing values.

    .. math:: P(c \\mid x) \\propto P(c) \\prod_j P(x_j \\mid c)

    A numeric column is normal within each class, with the class mean and variance (the sum of squares over the weight). A
    categorical column has the smoothed frequencies of its levels: `alpha` is added to each count, and to the counts of the classes.
    Missing values are ignored in fit and in predict. A row of weight 2 counts as two.

    Parameters
    ----------
    alpha : float, default=1.0
        Added to the count of every class, and of every level in every class (Laplace smoothing).
    var_smoothing : float, default=1e-9
        A class variance is at least this multiple of the variance of the column over all rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels of the classes that occur among the training rows, ascending.
    class_count_ : ndarray of shape (n_classes,)
        Weight of the rows of each class.
    class_prior_ : ndarray of shape (n_classes,)
        Frequencies of the classes, with `alpha` added to each count.
    class_log_prior_ : ndarray of shape (n_classes,)
        Their logarithms.
    theta_, var_ : ndarray of shape (n_classes, n_numeric)
        Mean and variance of the numeric columns in each class: a row for each of `classes_`, a column for each entry of
        `schema_.numeric`, the positions of the numeric columns in the table. The variance of a column that is constant over all
        rows is 0.
    schema_ : Schema
        The columns with their kinds and levels. A view of part of a table has the levels of the whole table: a level that only the
        whole table has gets a count of `alpha`.
    n_features_in_ : int
    feature_names_in_ : ndarray, a name for every column
        Only where the columns have names that are text.

    Raises
    ------
    ValueError
        When the table, the target or a parameter is invalid, and when a batch of `partial_fit` has a class or a kind of column that
        differs from earlier calls.

    Notes
    -----
    Cost O(n p) in one pass over the rows, which need not fit in memory. For a class with fewer than two values of a numeric column,
    the mean and variance over all rows are used. A numeric column that is constant over all rows is ignored. An unknown level in
    new rows is treated as missing, with a warning. If all likelihoods of a row underflow, its class probabilities are equal. With
    `alpha` = 1 the probabilities for categorical columns equal those of Weka's naive Bayes.

    References
    ----------
    John and Langley (1995), Estimating continuous distributions in Bayesian classifiers, UAI.

    Examples
    --------
    >>> import numpy as np
    >>> from tamiz import MixedNB
    >>> X = np.array([[1.2, "red"], [0.9, "red"], [3.1, "blue"], [None, "blue"], [2.8, None]], dtype=object)
    >>> model = MixedNB().fit(X, ["a", "a", "b", "b", "b"])
    >>> model.predict(np.array([[1.0, None], [None, "blue"]], dtype=object)).tolist()
    ['a', 'b']
    """

    def __init__(self, *, alpha: float = 1.0, var_smoothing: float = 1e-9) -> None:
        self.alpha = alpha
        self.var_smoothing = var_smoothing

    def __sklearn_tags__(self) -> Tags:
        return mixed_table_tags(super().__sklearn_tags__())

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the class distributions of all columns.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Table
            A Table has its own target and weights.
        y : array of shape (n_samples,), default=None
        sample_weight : array of shape (n_samples,), default=None
            A weight of 2 counts as the row twice.
        """
        self._check_parameters()
        with parallel.thread_session():
            table, labels = open_labelled_table(X, y, sample_weight)
            counts = MixedCounts.of(table, table.schema.n_classes)
        record_features(self, X)
        warn_user(table.schema.excluded_column_notes)
        return self._fit_counts(counts, labels)

    def _fit_counts(self, counts: MixedCounts, labels: NDArray[Any]) -> Self:
        """Compute the fitted attributes from the counts of all classes, whose labels are given."""
        present = np.flatnonzero(counts.weight > 0)
        codes = present[np.argsort(labels[present])]
        return self._set_model(counts.select_classes(codes), labels, labels[codes])

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add a batch of rows; after all batches the model equals that of `fit` on all rows, up to rounding.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Table
            The columns of the first batch. A column keeps the kind of the first batch with a value in it; new levels are added.
        y : array of shape (n_samples,), default=None
            A Table has its own target.
        classes : array of shape (n_classes,), default=None
            Every class that may occur in any batch. Required in the first call, unless `fit` was called before. A class without
            rows has a count of `alpha`.
        sample_weight : array of shape (n_samples,), default=None
            A weight of 2 counts as the row twice.
        """
        self._check_parameters()
        known = hasattr(self, "classes_")
        labels = self._check_classes(classes)
        if known:
            check_features(self, X)
        with parallel.thread_session():
            batch = read_batch(X, y, sample_weight, labels, self._counts.schema if known else None)
            counts = MixedCounts.of(batch, len(labels))
        if not known:
            record_features(self, X)
            warn_user(batch.schema.excluded_column_notes)
        return self._set_model(self._counts.merge(counts) if known else counts, labels, labels)

    def _check_parameters(self) -> None:
        check_real("alpha", self.alpha, low=_MIN_ALPHA)
        check_real("var_smoothing", self.var_smoothing, low=_MIN_SMOOTHING)

    def _check_classes(self, classes: Any) -> NDArray[Any]:
        """Return the classes of all batches, ascending."""
        classes = from_array_api(classes)
        if not hasattr(self, "classes_"):
            if classes is None:
                raise ValueError(
                    "classes must be passed on the first call to partial_fit, with every label that may occur."
                )
            labels = np.unique(column_or_1d(classes))
            if len(labels) < 2:
                raise ValueError(f"classes has {len(labels)} class; at least 2 are needed.")
            return labels
        if classes is not None:
            known, now = (dict.fromkeys(labels.tolist()) for labels in (self.classes_, column_or_1d(classes)))
            new, gone = [one for one in now if one not in known], [one for one in known if one not in now]
            if new or gone:
                difference = f"has the new label {new[0]!r}" if new else f"lacks the label {gone[0]!r}"
                raise ValueError(f"classes differs from earlier calls of partial_fit: it {difference}; leave it out.")
        return np.asarray(self.classes_)

    def _set_model(self, counts: MixedCounts, labels: NDArray[Any], classes: NDArray[Any]) -> Self:
        """Compute the fitted attributes from counts; `labels` are those of the whole table, which may have more classes."""
        target = counts.schema.target or Column("y", "categorical")
        levels = tuple(str(level_text(label)) for label in labels.tolist())
        self._counts = replace(counts, schema=replace(counts.schema, target=replace(target, levels=levels)))
        counts = self._counts.as_row_numbers()
        total = None if counts.schema.weight_kind is None else float(counts.weight.sum())
        self.schema_ = replace(counts.schema, total_weight=total)
        self.classes_, self.class_count_ = classes, counts.weight
        prior = counts.weight + self.alpha
        self.class_prior_ = prior / prior.sum()
        self.class_log_prior_ = np.log(self.class_prior_)
        self.theta_, self.var_, self._normal_terms = _fit_normals(counts.moments, self.var_smoothing)
        self._level_log_shares = [_log_level_shares(table, self.alpha) for table in counts.tables]
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of every row; of equally probable classes the first.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Table
        """
        check_is_fitted(self)
        return np.concatenate([self.classes_[joint.argmax(axis=0)] for joint in self._joint_batches(X)])

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Return the logarithm of the prior times the likelihood of every class, of shape (n_samples, n_classes).

        A missing value, and a numeric column that is constant over all training rows, has likelihood 1.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Table
        """
        check_is_fitted(self)
        return np.concatenate([joint.T for joint in self._joint_batches(X)])

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithm of the probability of every class, of shape (n_samples, n_classes).

        Parameters
        ----------
        X : array, sparse matrix, data frame or Table
        """
        check_is_fitted(self)
        return np.concatenate([_log_probabilities(joint).T for joint in self._joint_batches(X)])

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of every class, of shape (n_samples, n_classes).

        Parameters
        ----------
        X : array, sparse matrix, data frame or Table
        """
        return np.exp(self.predict_log_proba(X))

    def _joint_batches(self, X: Any) -> Iterator[Floats]:
        """Yield joint log-likelihoods of shape (n_classes, n_rows) for batches of rows."""
        check_features(self, X)
        fitted = self.schema_
        table = X if isinstance(X, Table) and _has_same_encoding(X.schema, fitted) else align_to_schema(X, fitted)
        # Columns without a value in the new rows are skipped.
        columns = [j for j in fitted.used.tolist() if table.schema.columns[j].exclusion_reason is None]
        size = max(1, _VALUES_PER_BATCH // max(len(columns), 1))
        for block in table.blocks(columns):
            for batch in block.split_rows(size):
                yield self._joint_log_likelihood(batch, columns)

    def _joint_log_likelihood(self, block: Block, columns: list[int]) -> Floats:
        schema, n_classes = self.schema_, len(self.classes_)
        numbers, codes, at = _column_layout(block, columns, schema)
        wanted = set(columns)
        mine = [p for p, j in enumerate(schema.numeric) if j in wanted]
        tables = [self._level_log_shares[q].T.ravel() for q, j in enumerate(schema.categorical) if j in wanted]
        widths = np.array([len(each) // n_classes for each in tables], dtype=np.int64)
        starts = np.cumsum([0, *map(len, tables)])[:-1].astype(np.int64)
        normals = (np.ascontiguousarray(each[:, mine]) for each in self._normal_terms)
        joint = np.empty((n_classes, len(block.rows)))
        joint_log_likelihoods(
            numbers, codes, at, *normals, np.concatenate([*tables, [0.0]]), starts, widths, self.class_log_prior_, joint
        )
        return joint


def _log_probabilities(joint: Floats) -> Floats:
    """Return log probabilities; equal ones for a row whose likelihoods all underflow."""
    joint[:, np.isneginf(joint.max(axis=0))] = 0.0
    return np.asarray(joint - np.logaddexp.reduce(joint, axis=0))


def _has_same_encoding(new: Schema, fitted: Schema) -> bool:
    """Return whether the training columns have the same names, kinds and levels in both schemas."""
    pairs = [(new.columns[j], fitted.columns[j]) for j in fitted.used.tolist()]
    return all((a.name, a.kind, a.levels) == (b.name, b.kind, b.levels) for a, b in pairs)


def _column_layout(block: Block, columns: list[int], schema: Schema) -> _Layout:
    """Return numbers and codes by columns (a missing code is n_levels), and the position of each column among them.

    Positions of codes are negative: -1 - q is row q of the codes.
    """
    numeric = [j for j in columns if schema.columns[j].is_number]
    coded = [j for j in columns if not schema.columns[j].is_number]
    numbers, codes = np.empty((len(numeric), len(block.rows))), np.empty((len(coded), len(block.rows)), dtype=np.uint32)
    at, index = np.empty(len(columns), dtype=np.int64), {j: i for i, j in enumerate(columns)}
    for p, j in enumerate(numeric):
        numbers[p], at[index[j]] = block.column(j), p
    for q, j in enumerate(coded):
        values = block.column(j)
        codes[q], at[index[j]] = np.where(values < 0, len(schema.columns[j].levels), values), -1 - q
    return numbers, codes, at


def _join_layouts(parts: list[_Layout]) -> _Layout:
    numbers, codes = [part[0] for part in parts], [part[1] for part in parts]
    return np.concatenate(numbers, axis=1), np.concatenate(codes, axis=1), parts[0][2]


def _fit_normals(moments: Floats, min_share: float) -> tuple[Floats, Floats, tuple[Floats, Floats, Floats]]:
    """Return mean and variance of every numeric column in each class, and the centre, scale and constant of the log density.

    The log density is constant + scale * (x - centre)**2. Moments are those of `MixedCounts`.
    """
    weight, mean, squares, minimum, maximum = moments
    total = weight.sum(axis=0)
    safe = np.where(total > 0, total, 1.0)
    centre = (weight * mean).sum(axis=0) / safe
    total_variance = (squares + weight * (mean - centre) ** 2).sum(axis=0) / safe
    varies = minimum.min(axis=0, initial=np.inf) < maximum.max(axis=0, initial=-np.inf)
    is_constant = ~(varies & (total_variance > 0))
    few = (weight < 2) | is_constant
    variance = divide_or_zero(squares, weight)
    variance = np.where(few, total_variance, np.maximum(variance, min_share * total_variance))
    safe = np.where(is_constant, 1.0, variance)
    mean = np.where(few, centre, mean)
    scale = np.where(is_constant, 0.0, -0.5 / safe)
    constant = np.where(is_constant, 0.0, -0.5 * np.log(2 * np.pi * safe))
    return mean, np.where(is_constant, 0.0, variance), (mean, scale, constant)


def _log_level_shares(table: Floats, alpha: float) -> Floats:
    """Return the log frequencies of levels in each class, of shape (n_levels + 1, n_classes); the last row is 0, for missing."""
    counts = table + alpha
    return np.vstack([np.log(counts / counts.sum(axis=0)), np.zeros(table.shape[1])])


@dataclass(frozen=True)
class _RowPredictor:
    """Predicts the test rows of a block, on a worker too (`tamiz.models.fold_sums.Predict`).

    Attributes
    ----------
    model : CodedModel
        Of the columns that are read.
    schema : Schema
    columns : list of int
    sets : CandidateArrays
    """

    model: CodedModel
    schema: Schema
    columns: list[int]
    sets: CandidateArrays

    def __call__(
        self,
        block: Block,
        test_rows: list[Indices],
        codes: NDArray[np.int64],
        counts: Floats,
        doubtful: Masks,
    ) -> None:
        rows = np.concatenate(test_rows)
        starts = np.cumsum([0, *map(len, test_rows)]).astype(np.int64)
        numbers, levels, positions = _column_layout(block, self.columns, self.schema)
        slots = np.zeros(self.schema.n_columns, dtype=np.int64)
        slots[self.columns] = positions
        numbers, levels = np.ascontiguousarray(numbers[:, rows]), np.ascontiguousarray(levels[:, rows])
        coded_confusion(
            CodedValues(read_only(numbers), read_only(levels), read_only(slots)),
            CodedModel(*map(read_only, self.model)),
            LabelledRows(read_only(codes[rows]), read_only(block.weight_or_ones[rows]), read_only(starts)),
            CandidateArrays(*map(read_only, self.sets)),
            0,
            len(counts),
            counts,
            doubtful,
        )


class MixedNBBackend(FoldBackend):
    """Sums of log-likelihoods over columns; refits get a view of the table with the levels of the whole table.

    For rows in which rounding could change the prediction, terms are added in the order of `MixedNB`. No fold is refitted.
    """

    estimator_class: ClassVar[type] = MixedNB
    method: ClassVar[str] = "log-likelihoods are kept for every column, fold and class, and a column is added to them"
    has_likelihoods: ClassVar[bool] = True
    exact_likelihoods: ClassVar[bool] = True

    def __init__(self, task: CVTask) -> None:
        super().__init__(task)
        schema, n_folds, n_classes = task.table.schema, len(task.folds), len(task.classes)
        self._log_prior = np.full((n_folds, n_classes), -np.inf)
        self._has_class = np.zeros((n_folds, n_classes), dtype=bool)
        self._centre, self._scale, self._constant = np.zeros((3, n_folds, n_classes, len(schema.numeric)))
        sizes = np.array([len(schema.columns[j].levels) + 1 for j in schema.categorical], dtype=np.int64)
        offsets = np.cumsum([0, *(n_classes * sizes)]).astype(np.int64)
        self._table = np.zeros((n_folds, int(offsets[-1])))
        self._table_starts = offsets[:-1] + offsets[-1] * np.arange(n_folds)[:, None]
        self._table_widths = np.tile(sizes, (n_folds, 1))
        position = {j: at for kind in (schema.numeric, schema.categorical) for at, j in enumerate(kind)}
        for f, model in enumerate(self._fit_folds()):
            here = np.searchsorted(task.classes, model.classes_)
            self._has_class[f, here], self._log_prior[f, here] = True, model.class_log_prior_
            # A column without a value among the training rows has zero terms.
            for own, fitted in zip((self._centre, self._scale, self._constant), model._normal_terms, strict=True):
                for p, j in enumerate(model.schema_.numeric):
                    own[f, here, position[j]] = fitted[:, p]
            for j, levels in zip(model.schema_.categorical, model._level_log_shares, strict=True):
                q = position[j]
                self._table[f, offsets[q] : offsets[q + 1]].reshape(n_classes, -1)[here] = levels.T
        self._numbers, self._codes = np.empty((0, 0)), np.empty((0, 0), dtype=np.uint32)
        if not task.reads_in_passes:
            self._load_test_values()

    def _fit_folds(self) -> Iterator[MixedNB]:
        """Yield the model of all columns for the training rows of every fold."""
        task = self.task
        if not task.reads_in_passes:
            yield from (self._fit_model(select_rows(task.table, fold.train)) for fold in task.folds)
            return
        schema, labels = task.table.schema, task.table.class_labels
        assert labels is not None
        empty = MixedCounts.statistics(schema, schema.n_classes)
        (sums,) = task.table.reduce(TrainingSums(empty, task.row_roles))
        codes, weights = target_array(task.table), task.weight_or_ones
        for (moments, tables), fold in zip(sums.folds, task.folds, strict=True):
            counts = MixedCounts.from_sums(schema, moments, tables, codes[fold.train], weights[fold.train])
            yield clone(task.estimator)._fit_counts(counts, labels)

    def _load_test_values(self) -> None:
        """Store the numbers and codes of the test rows."""
        task, schema = self.task, self.task.table.schema
        used = schema.used.tolist()
        numbers, codes, positions = _join_layouts(
            [_column_layout(block, used, schema) for block in task.table.blocks(used)]
        )
        self._numbers = np.ascontiguousarray(numbers[:, task.test_rows])
        self._codes = np.ascontiguousarray(codes[:, task.test_rows])
        # Unused columns are in no set.
        self._column_positions = np.zeros(schema.n_columns, dtype=np.int64)
        self._column_positions[used] = positions

    @cached_property
    def _coded_values(self) -> CodedValues:
        return CodedValues(read_only(self._numbers), read_only(self._codes), read_only(self._column_positions))

    @cached_property
    def _model(self) -> CodedModel:
        normals = (self._centre, self._scale, self._constant)
        tables = (self._table.ravel(), self._table_starts, self._table_widths)
        return CodedModel(*map(read_only, (*normals, *tables, self._log_prior, self._has_class)))

    @classmethod
    def unsupported_reason(cls, task: CVTask) -> str | None:
        """Return a reason if the columns are encoded as numbers."""
        return "encode=True encodes all columns as numbers" if task.is_encoded else None

    def _fit_model(self, rows: Table) -> MixedNB:
        # Warnings about columns that are unused in a set or empty in a fold are not passed on.
        with capture_warnings():
            model: MixedNB = clone(self.task.estimator).fit(rows)
        return model

    def fold_refitter(self, columns: Indices, fold: int) -> Callable[[Indices], FittedFold]:
        """Return a function that refits in a fold on any subset of some columns."""
        part, view = self.task.folds[fold], select_columns(self.task.table, columns.tolist())
        train, test = select_rows(view, part.train), select_rows(view, part.test)
        return lambda subset: FittedFold(self._fit_model(select_columns(train, subset.tolist())), test)

    def fit_fold(self, columns: Indices, fold: int) -> FittedFold:
        """Return the model fitted on the training rows of a fold."""
        return self.fold_refitter(columns, fold)(columns)

    def confusion_counts(self, candidates: Candidates) -> Floats:
        """Return the weights of the test rows by true and predicted class."""
        if self.task.reads_in_passes:
            columns = np.flatnonzero(candidates.masks().any(axis=0))
            predict = _RowPredictor(
                self._model_of(columns), self.task.table.schema, columns.tolist(), candidate_arrays(candidates)
            )
            return count_in_passes(self, candidates, columns, predict)
        rows, sets = self.task.labelled_test_rows, candidate_arrays(candidates)

        def count(first: int, stop: int, counts: Floats, doubtful: Masks) -> None:
            coded_confusion(self._coded_values, self._model, rows, sets, first, stop, counts, doubtful)

        return count_predictions(self, candidates, count)

    def _model_of(self, columns: Indices) -> CodedModel:
        schema, model = self.task.table.schema, self._model
        mine = np.flatnonzero(np.isin(schema.numeric, columns))
        coded = np.flatnonzero(np.isin(schema.categorical, columns))
        normals = (each[:, :, mine] for each in model[:3])
        tables = (model.table, model.table_starts[:, coded], model.n_codes[:, coded])
        return CodedModel(*(np.ascontiguousarray(each) for each in (*normals, *tables, *model[-2:])))

    def _test_layout(self, columns: Indices, fold: int) -> _Layout:
        """Return what `_column_layout` does of columns, ascending, for the test rows of a fold."""
        if self.task.reads_in_passes:
            own = columns.tolist()
            rows = select_rows(select_columns(self.task.table, own), self.task.folds[fold].test)
            return _join_layouts([_column_layout(block, own, self.task.table.schema) for block in rows.blocks(own)])
        here, at = slice(self.task.test_starts[fold], self.task.test_starts[fold + 1]), self._column_positions[columns]
        is_number: Masks = at >= 0
        slots = np.where(is_number, np.cumsum(is_number) - 1, -np.cumsum(np.logical_not(is_number)))
        numbers, codes = self._numbers[at[is_number], here], self._codes[-1 - at[~is_number], here]
        return np.ascontiguousarray(numbers), np.ascontiguousarray(codes), slots

    def joint_log_likelihood(self, columns: Indices, fold: int) -> Floats:
        """Return log prior plus log likelihood, added in the order of `MixedNB`."""
        numbers, codes, slots = self._test_layout(columns, fold)
        model = self._model_of(columns)
        normals = (np.ascontiguousarray(each[fold]) for each in model[:3])
        tables = (model.table, *(np.ascontiguousarray(each[fold]) for each in (model.table_starts, model.n_codes)))
        joint = np.empty((len(self.task.classes), numbers.shape[1]))
        joint_log_likelihoods(numbers, codes, slots, *normals, *tables, self._log_prior[fold], joint)
        return joint[self._has_class[fold]].T

    def test_values(self, columns: Indices, fold: int) -> Floats:
        """Return the numbers and codes of the test rows of a fold."""
        numbers, codes, _ = self._test_layout(columns, fold)
        return np.concatenate([numbers, codes]).T

    def evaluation_cost(self) -> float:
        return column_cost(self.task)

    def max_bytes(self) -> float:
        return float(self._numbers.nbytes + self._codes.nbytes + self._table.nbytes)
