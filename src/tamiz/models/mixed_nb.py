"""Naive Bayes on mixed columns with gaps, and without refits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import Tags, column_or_1d
from sklearn.utils.validation import check_is_fitted

from tamiz.kernels.discrete_bayes import coded_confusion, joint_log_likelihoods
from tamiz.models.base import ColumnIndices, CVTask, FittedFold, FoldBackend, column_cost
from tamiz.models.discrete_nb import kernel_arguments
from tamiz.models.mixed_nb_counts import MixedCounts, open_labelled_source, read_batch
from tamiz.models.score_functions import count_predictions
from tamiz.runtime import parallel
from tamiz.runtime.user_warnings import capture_warnings, warn_user
from tamiz.runtime.validation import check_real
from tamiz.sources.base import Source
from tamiz.sources.factory import align_to_schema
from tamiz.sources.feature_checks import check_features, mixed_table_tags, record_features
from tamiz.sources.kinds import level_text
from tamiz.sources.schema import Column, Schema
from tamiz.sources.views import select_columns, select_rows
from tamiz.statistics.base import Block, Floats
from tamiz.subsets.candidates import Candidates

# Values looked at in one go.
_VALUES_PER_BATCH = 2**20
# Below these a count or a variance is as good as none, and its logarithm no number to go by.
_MIN_ALPHA, _MIN_SMOOTHING = 1e-10, 1e-30


class MixedNB(ClassifierMixin, BaseEstimator):
    """Classes by the product of what each column says of them: numbers, categories and gaps as they come.

    .. math:: P(c \\mid x) \\propto P(c) \\prod_j P(x_j \\mid c)

    A number is normal within a class, with the class's mean and variance (the sum of squares over the weight). A category has the
    shares of its levels, each count `alpha` larger than it is, and so have the classes themselves. A missing value says nothing,
    when it is learned from and when it is met. A row of weight 2 counts as two.

    Parameters
    ----------
    alpha : float, default=1.0
        What is added to the count of every class, and of every level in every class.
    var_smoothing : float, default=1e-9
        A variance is at least so much of the column's over all rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels of the classes that occur among the rows learned from, ascending.
    class_count_ : ndarray of shape (n_classes,)
        Weight of the rows of each class.
    class_prior_ : ndarray of shape (n_classes,)
        Shares of the classes, `alpha` added to each count.
    class_log_prior_ : ndarray of shape (n_classes,)
        Their logarithms.
    theta_, var_ : ndarray of shape (n_classes, n_numeric)
        Mean and variance of the numeric columns in each class: a row for each of `classes_`, a column for each number in
        `schema_.numeric`, the positions of the numeric columns in the table. Categories have no column here. The variance of a
        column that is constant over all rows is 0.
    schema_ : Schema
        The columns as they were taken. The levels are those of the table: where it is part of a larger one, a level that only the
        larger one has counts `alpha`.
    n_features_in_ : int
    feature_names_in_ : ndarray, a name for every column
        Only where the columns have names that are text.

    Raises
    ------
    ValueError
        When the table, the target or a parameter cannot be used, and when `partial_fit` is given a class or a kind of column that
        the calls before it do not have.

    Notes
    -----
    Cost O(n p) in one pass over the rows, which need not fit in memory. A class that has fewer than two values of a number would be
    certain of itself: it takes the column's mean and variance over all rows. A number that is constant over all rows says nothing.
    A level met that was not learned is a missing value, and that is told. A row so far from every class that all likelihoods are
    below the smallest float has equal probabilities. With Laplace's count of 1 these are the numbers of Weka's naive Bayes on
    categories.

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
        """Count.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Source
            A source has its own target and weights.
        y : array of shape (n_samples,), default=None
        sample_weight : array of shape (n_samples,), default=None
            A weight of 2 counts as the row twice.
        """
        self._check_parameters()
        with parallel.thread_session():
            source, labels = open_labelled_source(X, y, sample_weight)
            counts = MixedCounts.of(source, source.schema.n_classes)
        record_features(self, X)
        warn_user(source.schema.excluded_column_notes)
        present = np.flatnonzero(counts.weight > 0)
        codes = present[np.argsort(labels[present])]
        return self._set_model(counts.select_classes(codes), labels, labels[codes])

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Count the rows of one more batch; after all batches the model is that of `fit` on all rows, up to rounding.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Source
            The columns of the first batch. A column keeps the kind of the first batch with a value of it; new levels are added.
        y : array of shape (n_samples,), default=None
            A source has its own target.
        classes : array of shape (n_classes,), default=None
            Every class that may occur in any batch. Required in the first call, unless `fit` came before it. A class without rows
            has a count of `alpha`.
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
        if not hasattr(self, "classes_"):
            if classes is None:
                raise ValueError("classes must be passed on the first call to partial_fit: every label that may occur.")
            labels = np.unique(column_or_1d(classes))
            if len(labels) < 2:
                raise ValueError(f"classes has {len(labels)} class; at least 2 are needed.")
            return labels
        if classes is not None:
            known, now = (dict.fromkeys(labels.tolist()) for labels in (self.classes_, column_or_1d(classes)))
            new, gone = [one for one in now if one not in known], [one for one in known if one not in now]
            if new or gone:
                has = f"has a label that they lack, {new[0]!r}" if new else f"lacks a label that they have, {gone[0]!r}"
                raise ValueError(f"classes is not the same as in the calls before: it {has}; leave it out.")
        return np.asarray(self.classes_)

    def _set_model(self, counts: MixedCounts, labels: NDArray[Any], classes: NDArray[Any]) -> Self:
        """Set what the counts of the classes say; `labels` are those of the whole table, which may have more."""
        target = counts.schema.target or Column("y", "categorical")
        levels = tuple(str(level_text(label)) for label in labels.tolist())
        self.schema_ = replace(counts.schema, target=replace(target, levels=levels))
        self._counts = replace(counts, schema=self.schema_)
        self.classes_, self.class_count_ = classes, counts.weight
        prior = counts.weight + self.alpha
        self.class_prior_ = prior / prior.sum()
        self.class_log_prior_ = np.log(self.class_prior_)
        self.theta_, self.var_, self._normal_terms = _fit_normals(counts.moments, self.var_smoothing)
        self._level_log_shares = [_log_level_shares(table, self.alpha) for table in counts.tables]
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of every row, the first of equals.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Source
        """
        check_is_fitted(self)
        return np.concatenate([self.classes_[joint.argmax(axis=0)] for joint in self._joint_batches(X)])

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Return the logarithm of the prior times the likelihood of every class, of shape (n_samples, n_classes).

        A missing value, and a number that is constant over all rows learned from, has the likelihood 1.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Source
        """
        check_is_fitted(self)
        return np.concatenate([joint.T for joint in self._joint_batches(X)])

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithm of the probability of every class, of shape (n_samples, n_classes).

        Parameters
        ----------
        X : array, sparse matrix, data frame or Source
        """
        check_is_fitted(self)
        return np.concatenate([_log_probabilities(joint).T for joint in self._joint_batches(X)])

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of every class, of shape (n_samples, n_classes).

        Parameters
        ----------
        X : array, sparse matrix, data frame or Source
        """
        return np.exp(self.predict_log_proba(X))

    def _joint_batches(self, X: Any) -> Iterator[Floats]:
        """Yield the logarithms of the products, of shape (n_classes, n_rows), for a piece of the rows at a time."""
        check_features(self, X)
        fitted = self.schema_
        source = X if isinstance(X, Source) and _has_same_encoding(X.schema, fitted) else align_to_schema(X, fitted)
        # Of a column without a value in the rows met there is nothing to read.
        columns = [j for j in fitted.used.tolist() if source.schema.columns[j].exclusion_reason is None]
        size = max(1, _VALUES_PER_BATCH // max(len(columns), 1))
        for block in source.blocks(columns):
            for piece in block.split_rows(size):
                yield self._joint_log_likelihood(piece, columns)

    def _joint_log_likelihood(self, block: Block, columns: list[int]) -> Floats:
        schema, n_classes = self.schema_, len(self.classes_)
        numbers, codes, at = _column_layout(block, columns, schema)
        wanted = set(columns)
        mine = [p for p, j in enumerate(schema.numeric) if j in wanted]
        said = [self._level_log_shares[q].T.ravel() for q, j in enumerate(schema.categorical) if j in wanted]
        widths = np.array([len(each) // n_classes for each in said], dtype=np.int64)
        where = np.cumsum([0, *map(len, said)])[:-1].astype(np.int64)
        normals = (np.ascontiguousarray(each[:, mine]) for each in self._normal_terms)
        joint = np.empty((n_classes, len(block.rows)))
        joint_log_likelihoods(
            numbers, codes, at, *normals, np.concatenate([*said, [0.0]]), where, widths, self.class_log_prior_, joint
        )
        return joint


def _log_probabilities(joint: Floats) -> Floats:
    """Return the logarithms of the classes' shares; of a row so far from every class that no likelihood is a number, equal ones."""
    joint[:, np.isneginf(joint.max(axis=0))] = 0.0
    return joint - logsumexp(joint, axis=0)


def _has_same_encoding(new: Schema, fitted: Schema) -> bool:
    """Whether the columns learned from are there under the same names, their values encoded alike."""
    pairs = [(new.columns[j], fitted.columns[j]) for j in fitted.used.tolist()]
    return all((a.name, a.kind, a.levels) == (b.name, b.kind, b.levels) for a, b in pairs)


def _column_layout(
    block: Block, columns: list[int], schema: Schema
) -> tuple[Floats, NDArray[np.uint32], NDArray[np.int64]]:
    """Return the rows' numbers and codes, column by column, a missing code one above all, and where each column is to be found."""
    numeric = [j for j in columns if schema.columns[j].is_number]
    coded = [j for j in columns if not schema.columns[j].is_number]
    numbers, codes = np.empty((len(numeric), len(block.rows))), np.empty((len(coded), len(block.rows)), dtype=np.uint32)
    at, place = np.empty(len(columns), dtype=np.int64), {j: i for i, j in enumerate(columns)}
    for p, j in enumerate(numeric):
        numbers[p], at[place[j]] = block.column(j), p
    for q, j in enumerate(coded):
        values = block.column(j)
        codes[q], at[place[j]] = np.where(values < 0, len(schema.columns[j].levels), values), -1 - q
    return numbers, codes, at


def _fit_normals(moments: Floats, min_share: float) -> tuple[Floats, Floats, tuple[Floats, Floats, Floats]]:
    """Return mean and variance of every number in each class, and centre, scale and constant of the normal's logarithm.

    That is constant + scale * (x - centre)**2. Moments are those of `MixedCounts`.
    """
    weight, mean, squares, least, largest = moments
    total = weight.sum(axis=0)
    safe = np.where(total > 0, total, 1.0)
    centre = (weight * mean).sum(axis=0) / safe
    spread = (squares + weight * (mean - centre) ** 2).sum(axis=0) / safe
    says_nothing = ~((least.min(axis=0, initial=np.inf) < largest.max(axis=0, initial=-np.inf)) & (spread > 0))
    few = (weight < 2) | says_nothing
    variance = np.divide(squares, weight, out=np.zeros_like(squares), where=weight > 0)
    variance = np.where(few, spread, np.maximum(variance, min_share * spread))
    safe = np.where(says_nothing, 1.0, variance)
    mean = np.where(few, centre, mean)
    scale = np.where(says_nothing, 0.0, -0.5 / safe)
    constant = np.where(says_nothing, 0.0, -0.5 * np.log(2 * np.pi * safe))
    return mean, np.where(says_nothing, 0.0, variance), (mean, scale, constant)


def _log_level_shares(table: Floats, alpha: float) -> Floats:
    """Return the logarithms of the levels' shares in each class, of shape (n_levels + 1, n_classes), the last row 0: of a gap."""
    counts = table + alpha
    return np.vstack([np.log(counts / counts.sum(axis=0)), np.zeros(table.shape[1])])


class MixedNBBackend(FoldBackend):
    """The logarithm of a row's likelihood in a class is a sum over columns; a refit sees a view of the table, levels and all.

    In rows where rounding could decide, the terms are added in the order in which `MixedNB` adds them: no fold is ever refitted.
    """

    estimator_class: ClassVar[type] = MixedNB
    method: ClassVar[str] = "what every column says of every class is kept for every fold, and a column is added"
    has_likelihoods: ClassVar[bool] = True

    def __init__(self, task: CVTask) -> None:
        super().__init__(task)
        schema, n_folds, n_classes = task.source.schema, len(task.folds), len(task.classes)
        self._log_prior = np.full((n_folds, n_classes), -np.inf)
        self._has_class = np.zeros((n_folds, n_classes), dtype=bool)
        self._centre, self._scale, self._constant = np.zeros((3, n_folds, n_classes, len(schema.numeric)))
        sizes = np.array([len(schema.columns[j].levels) + 1 for j in schema.categorical], dtype=np.int64)
        offsets = np.cumsum([0, *(n_classes * sizes)]).astype(np.int64)
        self._table = np.zeros((n_folds, int(offsets[-1])))
        self._table_starts = offsets[:-1] + offsets[-1] * np.arange(n_folds)[:, None]
        self._table_widths = np.tile(sizes, (n_folds, 1))
        place = {j: at for kind in (schema.numeric, schema.categorical) for at, j in enumerate(kind)}
        for f, fold in enumerate(task.folds):
            model = self._fit_model(select_rows(task.source, fold.train))
            here = np.searchsorted(task.classes, model.classes_)
            self._has_class[f, here], self._log_prior[f, here] = True, model.class_log_prior_
            # A column without a value among the rows learned from says nothing.
            for own, said in zip((self._centre, self._scale, self._constant), model._normal_terms, strict=True):
                for p, j in enumerate(model.schema_.numeric):
                    own[f, here, place[j]] = said[:, p]
            for j, levels in zip(model.schema_.categorical, model._level_log_shares, strict=True):
                q = place[j]
                self._table[f, offsets[q] : offsets[q + 1]].reshape(n_classes, -1)[here] = levels.T
        self._load_test_values()

    def _load_test_values(self) -> None:
        """Take the rows tested."""
        task, schema = self.task, self.task.source.schema
        used = schema.used.tolist()
        parts = [_column_layout(block, used, schema) for block in task.source.blocks(used)]
        self._numbers = np.ascontiguousarray(np.concatenate([part[0] for part in parts], axis=1)[:, task.test_rows])
        self._codes = np.ascontiguousarray(np.concatenate([part[1] for part in parts], axis=1)[:, task.test_rows])
        # Columns that take no part are in no set.
        self._column_positions = np.zeros(schema.n_columns, dtype=np.int64)
        self._column_positions[used] = parts[0][2]

    @classmethod
    def unsupported_reason(cls, task: CVTask) -> str | None:
        """Return why not: points in place of columns."""
        return "with encode=True it sees points" if task.encode else None

    def _fit_model(self, rows: Source) -> MixedNB:
        # Which columns take no part in a set or have no value in a fold is nobody's surprise.
        with capture_warnings():
            model: MixedNB = clone(self.task.estimator).fit(rows)
        return model

    def fold_refitter(self, columns: ColumnIndices, fold: int) -> Callable[[ColumnIndices], FittedFold]:
        """Return what gives the refits of a fold on sets among some columns."""
        part, taken = self.task.folds[fold], select_columns(self.task.source, columns.tolist())
        train, test = select_rows(taken, part.train), select_rows(taken, part.test)
        return lambda some: FittedFold(self._fit_model(select_columns(train, some.tolist())), test)

    def fit_fold(self, columns: ColumnIndices, fold: int) -> FittedFold:
        """Return the model as fitted on the rows that the fold learns from."""
        return self.fold_refitter(columns, fold)(columns)

    def confusion_counts(self, candidates: Candidates) -> Floats:
        """Return the weights of the tested rows by class and predicted class."""
        task, flips = self.task, kernel_arguments(candidates)
        given = (
            self._numbers,
            self._codes,
            self._column_positions,
            self._centre,
            self._scale,
            self._constant,
            self._table.ravel(),
        )
        known = (self._table_starts, self._table_widths, self._log_prior, self._has_class)
        of_rows = (task.codes[task.test_rows], task.weight_or_ones[task.test_rows], task.test_starts)

        def count(first: int, stop: int, counts: Floats, doubtful: NDArray[np.bool_]) -> None:
            coded_confusion(*given, *known, *of_rows, *flips, first, stop, counts, doubtful)

        return count_predictions(self, candidates, count)

    def joint_log_likelihood(self, columns: ColumnIndices, fold: int) -> Floats:
        """Return the logarithms of prior times likelihood, added up as `MixedNB` does."""
        here = slice(self.task.test_starts[fold], self.task.test_starts[fold + 1])
        numbers, codes = np.ascontiguousarray(self._numbers[:, here]), np.ascontiguousarray(self._codes[:, here])
        normals = (self._centre[fold], self._scale[fold], self._constant[fold])
        tables = (self._table.ravel(), self._table_starts[fold], self._table_widths[fold])
        joint = np.empty((len(self.task.classes), numbers.shape[1]))
        joint_log_likelihoods(
            numbers, codes, self._column_positions[columns], *normals, *tables, self._log_prior[fold], joint
        )
        return joint[self._has_class[fold]].T

    def test_values(self, columns: ColumnIndices, fold: int) -> Floats:
        """Return the numbers and codes of the rows that a fold tests."""
        here, at = slice(self.task.test_starts[fold], self.task.test_starts[fold + 1]), self._column_positions[columns]
        return np.concatenate([self._numbers[at[at >= 0], here], self._codes[-1 - at[at < 0], here]]).T

    def evaluation_cost(self) -> float:
        """Return the microseconds or so of adding a column."""
        return column_cost(self.task)

    def max_bytes(self) -> float:
        """Return the bytes of the rows tested and of the tables."""
        return float(self._numbers.nbytes + self._codes.nbytes + self._table.nbytes)
