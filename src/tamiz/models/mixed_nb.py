"""Naive Bayes on mixed columns with missing values: the estimator `MixedNB`, and its sufficient statistics, `MixedCounts`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, assert_all_finite, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from tamiz.arrays import Floats, Indices, divide_or_zero
from tamiz.exceptions import DataError
from tamiz.kernels.class_likelihoods import joint_log_likelihoods
from tamiz.runtime import parallel
from tamiz.runtime.user_warnings import warn_user
from tamiz.runtime.validation import check_real
from tamiz.statistics.base import Block
from tamiz.statistics.contingency import Coding, ContingencyTables
from tamiz.statistics.moments import ClassMoments
from tamiz.table.base import Table, target_array, weights_or_ones
from tamiz.table.factory import align_to_schema, as_table, check_features, mixed_table_tags, open_batch, record_features
from tamiz.table.in_memory import from_array_api
from tamiz.table.kinds import level_text
from tamiz.table.roles import to_row_numbers
from tamiz.table.schema import Column, Schema, sort_levels
from tamiz.table.views import with_target, with_weight

# Values that are predicted from at a time.
_VALUES_PER_BATCH = 2**20
_FIELDS = ("weight", "mean", "squared_deviations", "minimum", "maximum")
# The smallest allowed parameters: the logarithm of a smaller count or variance is dominated by rounding.
_MIN_ALPHA, _MIN_SMOOTHING = 1e-10, 1e-30
# Numbers and codes by columns, and the position of each column among them.
ColumnLayout: TypeAlias = tuple[Floats, NDArray[np.uint32], NDArray[np.int64]]


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
        numbers, codes, at = column_layout([block], columns, schema)
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


def column_layout(blocks: Iterable[Block], columns: list[int], schema: Schema) -> ColumnLayout:
    """Return numbers and codes by columns (a missing code is n_levels), and the position of each column among them.

    Positions of codes are negative: -1 - q is row q of the codes.
    """
    parts = list(blocks)
    numeric = [j for j in columns if schema.columns[j].is_number]
    coded = [j for j in columns if not schema.columns[j].is_number]
    n_rows = sum(len(block.rows) for block in parts)
    numbers, codes = np.empty((len(numeric), n_rows)), np.empty((len(coded), n_rows), dtype=np.uint32)
    position = {**{j: p for p, j in enumerate(numeric)}, **{j: -1 - q for q, j in enumerate(coded)}}
    done = 0
    for block in parts:
        here = slice(done, done + len(block.rows))
        for p, j in enumerate(numeric):
            numbers[p, here] = block.column(j)
        for q, j in enumerate(coded):
            values = block.column(j)
            codes[q, here] = np.where(values < 0, len(schema.columns[j].levels), values)
        done += len(block.rows)
    return numbers, codes, np.array([position[j] for j in columns], dtype=np.int64)


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


def open_labelled_table(X: Any, y: Any, sample_weight: Any) -> tuple[Table, NDArray[Any]]:
    """Return rows and target as a table, and the user's class labels in the order of their codes."""
    if isinstance(X, Table):
        table = as_table(X, y, sample_weight)
        if table.class_labels is None:
            raise DataError(
                "MixedNB predicts classes, and the table has a numeric target or none; pass kinds, or name a target."
            )
        return table, table.class_labels
    if y is None:
        raise ValueError("MixedNB requires y to be passed, but the target y is None.")
    y = _check_labels(y)
    labels, codes = np.unique(y, return_inverse=True)
    if len(labels) == 1:
        raise DataError(f"y has 1 class, {labels[0]!s}, in all {len(y):,} rows; at least 2 are needed.")
    names = pa.array([str(k) for k in range(len(labels))])
    target = pa.chunked_array([pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), names)])
    return _with_raw_weight(as_table(X, target, sample_weight), sample_weight), labels


def read_batch(X: Any, y: Any, sample_weight: Any, classes: NDArray[Any], known_schema: Schema | None) -> Table:
    """Return a batch as a table with class codes that are positions in `classes`."""
    if isinstance(X, Table):
        table, labels = open_labelled_table(X, y, sample_weight)
        return with_target(table, _class_codes(labels, classes)[target_array(table)])
    if y is None:
        raise ValueError("MixedNB requires y to be passed, but the target y is None.")
    codes = _class_codes(_check_labels(y), classes)
    table = open_batch(X, {} if known_schema is None else known_kinds(known_schema))
    check_consistent_length(codes, np.empty(table.schema.n_rows))
    return _with_raw_weight(with_target(table, codes), sample_weight)


def _with_raw_weight(table: Table, sample_weight: Any) -> Table:
    """Return a view with unscaled weights, because sampling weights of all batches have one scale."""
    if sample_weight is None:
        return table
    weight = column_or_1d(from_array_api(sample_weight), dtype=np.float64)
    check_consistent_length(weight, np.empty(table.schema.n_rows))
    return with_weight(table, weight, "sample_weight", to_row_numbers(weight, None, lambda at: f"row {at}")[1])


def _class_codes(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int32]:
    """Return the positions of labels in `classes`; raise DataError for an unknown label."""
    new = np.setdiff1d(labels, classes)
    if len(new):
        raise DataError(f"The class {new[0]!s} of y is not among the classes {classes.tolist()} of the first call.")
    return np.searchsorted(classes, labels).astype(np.int32)


def _check_labels(y: Any) -> NDArray[Any]:
    """Return the labels as an array; raise DataError if one is missing."""
    labels = column_or_1d(from_array_api(y), warn=True)
    if labels.dtype.kind in "fO" and len(
        missing := np.flatnonzero([one is None or one != one for one in labels.tolist()])
    ):
        raise DataError(f"y has no class in row {missing[0]} (Input y contains NaN or None); leave the row out.")
    if labels.dtype.kind == "f":
        assert_all_finite(labels, input_name="y")
    # The check converts numbers to integers, which may overflow.
    with np.errstate(invalid="ignore"):
        check_classification_targets(labels)
    return labels


@dataclass(frozen=True)
class MixedCounts:
    """Weight, moments and level counts by class of all rows so far."""

    schema: Schema
    # Of the rows of each class.
    weight: Floats
    # Weight, mean, sum of squares about the mean, minimum and maximum, of shape (5, n_classes, n_numeric).
    moments: Floats
    # Weights of shape (n_levels, n_classes), for each categorical column.
    tables: tuple[Floats, ...]
    # Sum of the squared weights of the rows.
    squared_weight: float

    @classmethod
    def of(cls, table: Table, n_classes: int) -> MixedCounts:
        """Count the rows of a table whose target is class codes below `n_classes`."""
        sums = table.reduce(*cls.statistics(table.schema, n_classes))
        return cls.from_sums(table.schema, *sums, target_array(table), weights_or_ones(table))

    @staticmethod
    def statistics(schema: Schema, n_classes: int) -> tuple[ClassMoments, ContingencyTables]:
        """Return the empty statistics of rows that the counts consist of."""
        coding = Coding({**schema.n_levels, schema.n_columns: n_classes}, {})
        pairs = [(j, schema.n_columns) for j in schema.categorical]
        return ClassMoments(schema.numeric, n_classes), ContingencyTables(pairs, coding)

    @classmethod
    def from_sums(
        cls, schema: Schema, moments: ClassMoments, tables: ContingencyTables, codes: NDArray[Any], weights: Floats
    ) -> MixedCounts:
        """Return the counts of rows with these statistics, classes and weights."""
        return cls(
            schema,
            np.bincount(codes, weights, moments.n_classes).astype(np.float64),
            np.stack([getattr(moments, name) for name in _FIELDS]),
            tuple(one[:-1, :-1] for one in tables.tables),
            float(np.square(weights).sum()),
        )

    def as_row_numbers(self) -> MixedCounts:
        """Return the counts with sampling weights scaled to a sum of the effective sample size of all rows."""
        if self.schema.weight_kind != "sampling":
            return self
        factor = float(self.weight.sum()) / self.squared_weight
        scaled = np.array([factor, 1.0, factor, 1.0, 1.0])[:, None, None]
        return replace(
            self,
            weight=factor * self.weight,
            moments=scaled * self.moments,
            tables=tuple(factor * table for table in self.tables),
        )

    def select_classes(self, codes: Indices) -> MixedCounts:
        """Return the counts of some classes, in the order of their codes."""
        return replace(
            self,
            weight=self.weight[codes],
            moments=self.moments[:, codes],
            tables=tuple(table[:, codes] for table in self.tables),
        )

    def merge(self, other: MixedCounts) -> MixedCounts:
        """Return the counts of both batches; a level or column that only one of them has counts 0 in the other."""
        pairs = zip(self.schema.columns, other.schema.columns, strict=True)
        columns = tuple(_merge_columns(mine, theirs) for mine, theirs in pairs)
        n_rows = self.schema.n_rows + other.schema.n_rows
        kinds = self.schema.weight_kind, other.schema.weight_kind
        kind = "sampling" if "sampling" in kinds else kinds[0] or kinds[1]
        schema = replace(self.schema, columns=columns, n_rows=n_rows, weight_kind=kind)
        moments = self._moments(schema).merge(other._moments(schema))
        # Two batches that are constant may have different values.
        one_value = moments.minimum.min(axis=0, initial=np.inf) == moments.maximum.max(axis=0, initial=-np.inf)
        constant = {j: bool(one) for j, one in zip(schema.numeric, one_value, strict=True)}
        columns = tuple(replace(c, constant=c.constant and constant.get(j, True)) for j, c in enumerate(columns))
        schema = replace(schema, columns=columns)
        tables = zip(self._tables(schema), other._tables(schema), strict=True)
        return MixedCounts(
            schema,
            self.weight + other.weight,
            np.stack([getattr(moments, name) for name in _FIELDS]),
            tuple(mine + theirs for mine, theirs in tables),
            self.squared_weight + other.squared_weight,
        )

    def _moments(self, schema: Schema) -> ClassMoments:
        """Return the moments of the numeric columns of a schema, empty for columns that had no value so far."""
        found = ClassMoments(schema.numeric, len(self.weight))
        at = np.searchsorted(schema.numeric, self.schema.numeric)
        for name, values in zip(_FIELDS, self.moments, strict=True):
            getattr(found, name)[:, at] = values
        return found

    def _tables(self, schema: Schema) -> list[Floats]:
        """Return the level counts of the categorical columns of a schema, in the order of its levels."""
        own = dict(zip(self.schema.categorical, self.tables, strict=True))
        found = []
        for j in schema.categorical:
            code = {level: v for v, level in enumerate(schema.columns[j].levels)}
            table = np.zeros((len(code), len(self.weight)))
            if j in own:
                table[[code[level] for level in self.schema.columns[j].levels]] = own[j]
            found.append(table)
        return found


def known_kinds(schema: Schema) -> dict[str, Any]:
    """Return the kind of every column that had a value, by name, to open the next batch with."""
    return {c.name: c.kind for c in schema.columns if c.exclusion_reason is None or c.kind in ("text", "id")}


def _merge_columns(first: Column, second: Column) -> Column:
    """Return the schema of a column over the rows of two batches."""
    n_missing = first.n_missing + second.n_missing
    if second.exclusion_reason is not None:
        # An excluded kind in both batches, or no value in the second one.
        return replace(first, n_missing=n_missing, constant=first.constant and first.exclusion_reason is not None)
    if first.exclusion_reason is not None:
        return replace(second, n_missing=n_missing, constant=False)
    if first.is_number != second.is_number:
        raise DataError(
            f"Column {first.name!r} is {first.kind} in earlier batches and {second.kind} in this one; open this batch with "
            f"kinds={{{first.name!r}: {first.kind!r}}}."
        )
    levels = first.levels if first.levels == second.levels else tuple(sort_levels({*first.levels, *second.levels}))
    constant = first.constant and second.constant and (first.is_number or len(levels) == 1)
    return replace(first, levels=levels, n_missing=n_missing, constant=constant)
