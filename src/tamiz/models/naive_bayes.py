"""Fold backends for naive Bayes: the joint log-likelihood of a class is a sum over the columns of a set.

A kernel adds a column to the sums of a parent set and counts the predictions; where rounding could change one, it adds the terms
again in the order of the refit, or leaves the fold to a refit.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB

from tamiz.arrays import Floats, Indices, Masks
from tamiz.exceptions import DataError
from tamiz.kernels import CandidateArrays, LabelledRows, read_only
from tamiz.kernels.class_likelihoods import (
    CodedModel,
    CodedValues,
    GaussianModel,
    LinearModel,
    coded_confusion,
    fold_class_moments,
    gaussian_confusion,
    joint_log_likelihoods,
    linear_confusion,
)
from tamiz.models.backends import (
    CountsPredictions,
    FittedFold,
    FoldBackend,
    HasLikelihoods,
    MatrixBackend,
    candidate_arrays,
    count_in_passes,
    count_predictions,
)
from tamiz.models.design_matrix import TrainingSums
from tamiz.models.estimators import fit_weighted
from tamiz.models.mixed_nb import ColumnLayout, MixedCounts, MixedNB, column_layout
from tamiz.models.task import CVTask
from tamiz.runtime.user_warnings import capture_warnings
from tamiz.search.base import Candidates
from tamiz.statistics.base import Block
from tamiz.table.base import Table, target_array
from tamiz.table.schema import Schema
from tamiz.table.views import select_columns, select_rows

# The largest |mean| / standard deviation of a column for which squared deviations are accurate to nine digits.
_MAX_MEAN_RATIO = 100.0
# scikit-learn replaces a smaller alpha by this value, unless force_alpha is True.
_MIN_ALPHA = 1e-10
_LARGEST_CODE = 2**31 - 2


class _SumBackend(FoldBackend, CountsPredictions):
    """Sums of log-likelihoods over columns; `_counter` returns the kernel with its arrays."""

    @abstractmethod
    def _counter(self) -> Callable[..., None]:
        """Return a kernel of the labelled test rows, candidates, their range, the counts and the doubtful folds."""

    def _kernel_candidates(self, candidates: Candidates) -> Candidates:
        """Return the candidates as sets of what the kernel calls columns."""
        return self.task.matrix.to_coordinates(candidates)

    def confusion_counts(self, candidates: Candidates) -> Floats:
        sets = candidate_arrays(self._kernel_candidates(candidates))
        return count_predictions(self, candidates, partial(self._counter(), self.task.labelled_test_rows, sets))

    def evaluation_cost(self) -> float:
        """Return the approximate microseconds of adding a column to the sums of every test row and class."""
        return 1.0 + 2e-3 * len(self.task.test_rows) * len(self.task.classes)


class GaussianNBBackend(_SumBackend, MatrixBackend, HasLikelihoods):
    """scikit-learn adds `var_smoothing` times the largest variance of a column to every variance, so the terms depend on the set.

    The sums of a set are those of its parent plus the new terms only if both have the same largest variance.
    """

    estimator_class: ClassVar[type] = GaussianNB
    method: ClassVar[str] = "log-likelihoods are kept for every row, fold and class, and a column is added to them"

    def __init__(self, task: CVTask) -> None:
        super().__init__(task)
        matrix, n_folds, n_classes = task.matrix, len(task.folds), len(task.classes)
        total = np.zeros((n_folds, n_classes))
        mean, variance = np.zeros((2, n_folds, n_classes, matrix.n_coordinates))
        total_variance = np.zeros((n_folds, matrix.n_coordinates))
        values = matrix.transposed_values()
        for f, fold in enumerate(task.folds):
            own = np.ascontiguousarray(matrix.train_rows(fold).T) if values is None else values
            order = np.argsort(task.codes[fold.train], kind="stable")
            codes, weights = task.codes[fold.train[order]], task.weight_or_ones[fold.train[order]]
            ends = np.searchsorted(codes, np.arange(n_classes + 1))
            rows = order if values is None else fold.train[order]
            fold_class_moments(own, rows, ends, weights, total[f], mean[f], variance[f], total_variance[f])
        smallest = (variance + task.estimator.var_smoothing * total_variance[:, None]).min(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            mean_ratio = np.nan_to_num(np.abs(mean).max(axis=1) / np.sqrt(smallest), nan=0.0)
        arrays = (mean, variance, total_variance, mean_ratio, _log_priors(task, total))
        self._model = GaussianModel(*map(read_only, arrays))
        if values is None:
            self._test_values = np.ascontiguousarray(np.concatenate([matrix.test_rows(fold) for fold in task.folds]).T)
        else:
            self._test_values = np.ascontiguousarray(values[:, task.test_rows])

    def joint_log_likelihood(self, columns: Indices, fold: int) -> Floats | None:
        at = self.task.matrix.coordinates_of(columns)
        log_prior = self._model.prior[fold]
        known = np.flatnonzero(np.isfinite(log_prior))
        tested = self._test_values[at, self.task.test_starts[fold] : self.task.test_starts[fold + 1]]
        mean = self._model.mean[fold][np.ix_(known, at)]
        smoothing = self.task.estimator.var_smoothing * self._model.column_variance[fold, at].max()
        variance = self._model.variance[fold][np.ix_(known, at)] + smoothing
        # As for the counts: a variance of 0 or NaN, or means that are large against the variance, need the refit.
        if not variance.min() > 0 or self._model.relative_offset[fold, at].max() > _MAX_MEAN_RATIO:
            return None
        squares = (((tested - mean[:, :, None]) ** 2) / variance[:, :, None]).sum(axis=1)
        logs = np.log(2 * np.pi * variance).sum(axis=1)
        return (log_prior[known, None] - 0.5 * (logs[:, None] + squares)).T

    def max_bytes(self) -> float:
        return float(self._test_values.nbytes)

    def _counter(self) -> Callable[..., None]:
        return partial(gaussian_confusion, self._test_values, self._model, float(self.task.estimator.var_smoothing))


def _log_priors(task: CVTask, total: Floats) -> Floats:
    """Return the log prior of every class in every fold, minus infinity for a class without training rows."""
    priors = np.zeros_like(total)
    for f, weight in enumerate(total):
        present = weight > 0
        fixed = task.estimator.priors
        priors[f, present] = weight[present] / weight.sum() if fixed is None else fixed
    with np.errstate(divide="ignore"):
        return np.log(priors)


class DiscreteNBBackend(_SumBackend, MatrixBackend):
    """A model fitted once per fold on all columns: its parameters for a column do not depend on the other columns.

    Attributes
    ----------
    accepts_negative : bool
        Whether the estimator accepts values below 0.
    requires_codes : bool
        Whether values must be category codes, whole numbers of at least 0.
    """

    accepts_negative: ClassVar[bool] = False
    requires_codes: ClassVar[bool] = False

    def __init__(self, task: CVTask) -> None:
        super().__init__(task)
        n_folds, n_classes, matrix = len(task.folds), len(task.classes), task.matrix
        self._log_prior = np.full((n_folds, n_classes), -np.inf)
        self._has_class = np.zeros((n_folds, n_classes), dtype=bool)
        tested = []
        for f, fold in enumerate(task.folds):
            train, test = matrix.train_rows(fold), matrix.test_rows(fold)
            if not self.accepts_negative:
                self._check_values(train, fold.train)
                self._check_values(test, fold.test)
            model = fit_weighted(clone(task.estimator), train, task.target[fold.train], task.weight_at(fold.train))
            here = np.searchsorted(task.classes, model.classes_)
            self._has_class[f, here], self._log_prior[f, here] = True, model.class_log_prior_
            self._store_model(f, here, model)
            tested.append(test)
        self._test_values = np.ascontiguousarray(np.concatenate(tested).T)

    @classmethod
    def unsupported_reason(cls, task: CVTask) -> str | None:
        """Return why the parameter alpha is not supported."""
        if np.ndim(task.estimator.alpha):
            return "alpha differs from column to column"
        if not isinstance(task.estimator.alpha, Real):
            return "alpha is not a number"
        if not task.estimator.force_alpha and task.estimator.alpha < _MIN_ALPHA:
            return f"alpha is below {_MIN_ALPHA:g} and force_alpha is False"
        return None

    @abstractmethod
    def _store_model(self, fold: int, class_codes: Indices, model: Any) -> None:
        """Store the parameters of a model for the classes `class_codes`."""

    def _check_values(self, values: Floats, rows: Indices) -> None:
        """Raise an error for the first value that the estimator does not accept."""
        advice = "Use GaussianNB or MixedNB."
        checks = [(values < 0, f"is below 0, and {self.task.estimator_name} counts. {advice}")]
        if self.requires_codes:
            no_code = (values < 0) | (values != np.floor(values))
            too_large = f"is too large for a code; the largest is {_LARGEST_CODE}."
            checks = [
                (no_code, f"is not a code, a whole number of at least 0. {advice}"),
                (values > _LARGEST_CODE, too_large),
            ]
        for wrong, what in checks:
            if wrong.any():
                i, j = np.argwhere(wrong)[0].tolist()
                where = f"row {self._row_number(rows[i])}, column {self._column_name(j)}"
                raise DataError(f"{where}: {values[i, j]:g} {what}")

    def _row_number(self, row: int) -> int:
        return int(self.task.table.row_numbers[row])

    def _column_name(self, coordinate: int) -> str:
        return self.task.table.schema.names[self.task.matrix.column_of[coordinate]]

    def max_bytes(self) -> float:
        return float(self._test_values.nbytes)


class CategoricalNBBackend(DiscreteNBBackend):
    """One term per code of a column.

    scikit-learn adds the terms in the order of the columns, then the prior, and so does the kernel for doubtful rows, such as rows
    whose classes have equal terms in a different order. No fold is refitted.
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
        table = np.concatenate(self._tables)
        self._tables.clear()
        # Test codes above the largest training code have no likelihood: a set with such a column raises an error.
        self._has_unseen_code = np.zeros((n_folds, n), dtype=bool)
        for f in range(n_folds):
            here = slice(task.test_starts[f], task.test_starts[f + 1])
            self._has_unseen_code[f] = self._test_values[:, here].max(axis=1) >= self._table_widths[f]
            self._test_values[self._has_unseen_code[f], here] = 0
        codes, no_numbers = self._test_values.astype(np.uint32), np.empty((0, self._test_values.shape[1]))
        self._values = CodedValues(read_only(no_numbers), read_only(codes), read_only(-1 - np.arange(n)))
        no_normals = np.empty((n_folds, len(task.classes), 0))
        tables = (table, self._table_starts, self._table_widths)
        self._model = CodedModel(*map(read_only, (*[no_normals] * 3, *tables, self._log_prior, self._has_class)))

    @classmethod
    def unsupported_reason(cls, task: CVTask) -> str | None:
        """Return why min_categories or alpha is not supported."""
        if np.ndim(task.estimator.min_categories):
            return "min_categories differs from column to column"
        return super().unsupported_reason(task)

    def _store_model(self, fold: int, class_codes: Indices, model: Any) -> None:
        n_classes, done = len(self.task.classes), sum(len(table) for table in self._tables)
        for j, log_shares in enumerate(model.feature_log_prob_):
            table = np.zeros((n_classes, log_shares.shape[1]))
            table[class_codes] = log_shares
            self._table_starts[fold, j], self._table_widths[fold, j] = done, log_shares.shape[1]
            self._tables.append(table.ravel())
            done += table.size

    def _check_codes_known(self, fold: int, coordinates: Indices) -> None:
        """Raise an error for a test code above the largest training code, as scikit-learn does."""
        unseen = coordinates[self._has_unseen_code[fold, coordinates]]
        if len(unseen):
            matrix, part, j = self.task.matrix, self.task.folds[fold], int(unseen[0])
            values, n_known = matrix.test_rows(part)[:, j], int(self._table_widths[fold, j])
            i = int(np.argmax(values >= n_known))
            largest = max(float(matrix.test_rows(one)[:, j].max()) for one in self.task.folds)
            raise DataError(
                f"Fold {fold + 1} of {len(self.task.folds)}, column {self._column_name(j)}: the test row "
                f"{self._row_number(part.test[i])} has code {values[i]:g}, but the largest training code is {n_known - 1}. Pass "
                f"CategoricalNB(min_categories={int(largest) + 1})."
            )

    def fit_fold(self, columns: Indices, fold: int) -> FittedFold:
        self._check_codes_known(fold, self.task.matrix.coordinates_of(columns))
        return super().fit_fold(columns, fold)

    def _kernel_candidates(self, candidates: Candidates) -> Candidates:
        found = super()._kernel_candidates(candidates)
        if self._has_unseen_code.any():
            used = np.flatnonzero(found.masks().any(axis=0))
            for fold in range(len(self.task.folds)):
                self._check_codes_known(fold, used)
        return found

    def _counter(self) -> Callable[..., None]:
        return partial(coded_confusion, self._values, self._model)

    def max_bytes(self) -> float:
        return float(self._values.codes.nbytes + self._model.table.nbytes)


class LinearNBBackend(DiscreteNBBackend):
    """The joint log-likelihood of a class is the log prior plus, for every column, a slope times the value plus a constant."""

    def __init__(self, task: CVTask) -> None:
        shape = (len(task.folds), len(task.classes), task.matrix.n_coordinates)
        # Per class: the slope, the constant, the column's part in the total count of the class, and the slope of the column by
        # itself.
        self._slope, self._constant, self._mass, self._single_slope = np.zeros((4, *shape))
        super().__init__(task)

    def _counter(self) -> Callable[..., None]:
        terms = (self._slope, self._constant, self._mass, self._single_slope)
        model = LinearModel(*map(read_only, (*terms, self._log_prior, self._has_class)))
        return partial(linear_confusion, self._test_values, model)


class MultinomialNBBackend(LinearNBBackend):
    """The parameter of a column is its share of the total count of the class, over the columns of the set.

    .. math:: \\sum_j x_j \\log(n_{kj} + \\alpha) - \\sum_j x_j \\log \\sum_j (n_{kj} + \\alpha)

    These are three sums over columns; the last logarithm depends on the set.
    """

    estimator_class: ClassVar[type] = MultinomialNB
    method: ClassVar[str] = (
        "sums of counts and their logarithms are kept for every row, fold and class, and a column is added to them"
    )

    def _store_model(self, fold: int, class_codes: Indices, model: Any) -> None:
        mass = model.feature_count_ + model.alpha
        # The log of 1 for classes without training rows, which are never predicted.
        self._mass[fold] = 1.0
        self._mass[fold, class_codes] = mass
        with np.errstate(divide="ignore", invalid="ignore"):
            self._slope[fold, class_codes] = np.log(mass)
            # The value that scikit-learn computes for a set of one column.
            self._single_slope[fold, class_codes] = np.log(mass) - np.log(mass)


class BernoulliNBBackend(LinearNBBackend):
    """One term for a column that is 1, another for a column that is 0."""

    estimator_class: ClassVar[type] = BernoulliNB
    method: ClassVar[str] = (
        "log-likelihoods of 0 and 1 are kept for every fold and class, and a column is added to them"
    )
    accepts_negative: ClassVar[bool] = True

    def __init__(self, task: CVTask) -> None:
        super().__init__(task)
        if (threshold := task.estimator.binarize) is not None:
            self._test_values = (self._test_values > threshold).astype(np.float64)

    def _store_model(self, fold: int, class_codes: Indices, model: Any) -> None:
        present = model.feature_log_prob_
        with np.errstate(divide="ignore", invalid="ignore"):
            absent = np.log(1 - np.exp(present))
        self._constant[fold, class_codes] = absent
        self._slope[fold, class_codes] = self._single_slope[fold, class_codes] = present - absent


@dataclass(frozen=True)
class _RowPredictor:
    """Predicts the test rows of a block, on a worker too (`tamiz.models.design_matrix.Predict`).

    `model` and `columns` are those that are read, and `sets` has columns of the table.
    """

    model: CodedModel
    schema: Schema
    columns: list[int]
    sets: CandidateArrays

    def __call__(
        self, block: Block, test_rows: list[Indices], codes: NDArray[np.int64], counts: Floats, doubtful: Masks
    ) -> None:
        rows = np.concatenate(test_rows)
        starts = np.cumsum([0, *map(len, test_rows)]).astype(np.int64)
        numbers, levels, positions = column_layout([block], self.columns, self.schema)
        slots = np.zeros(self.schema.n_columns, dtype=np.int64)
        slots[self.columns] = positions
        values: Any = (np.ascontiguousarray(numbers[:, rows]), np.ascontiguousarray(levels[:, rows]), slots)
        coded_confusion(
            CodedValues(*map(read_only, values)),
            CodedModel(*map(read_only, self.model)),
            LabelledRows(*map(read_only, (codes[rows], block.weight_or_ones[rows], starts))),
            CandidateArrays(*map(read_only, self.sets)),
            0,
            len(counts),
            counts,
            doubtful,
        )


class MixedNBBackend(_SumBackend, HasLikelihoods):
    """Refits get a view of the table with the levels of the whole table; for doubtful rows terms are added in their order.

    No fold is refitted.
    """

    estimator_class: ClassVar[type] = MixedNB
    method: ClassVar[str] = "log-likelihoods are kept for every column, fold and class, and a column is added to them"
    exact: ClassVar[bool] = True

    def __init__(self, task: CVTask) -> None:
        super().__init__(task)
        schema, n_folds, n_classes = task.table.schema, len(task.folds), len(task.classes)
        log_prior, has_class = np.full((n_folds, n_classes), -np.inf), np.zeros((n_folds, n_classes), dtype=bool)
        normals = np.zeros((3, n_folds, n_classes, len(schema.numeric)))
        sizes = np.array([len(schema.columns[j].levels) + 1 for j in schema.categorical], dtype=np.int64)
        offsets = np.cumsum([0, *(n_classes * sizes)]).astype(np.int64)
        table = np.zeros((n_folds, int(offsets[-1])))
        starts = offsets[:-1] + offsets[-1] * np.arange(n_folds)[:, None]
        position = {j: at for kind in (schema.numeric, schema.categorical) for at, j in enumerate(kind)}
        for f, model in enumerate(self._fit_folds()):
            here = np.searchsorted(task.classes, model.classes_)
            has_class[f, here], log_prior[f, here] = True, model.class_log_prior_
            # A column without a value among the training rows has zero terms.
            for own, fitted in zip(normals, model._normal_terms, strict=True):
                for p, j in enumerate(model.schema_.numeric):
                    own[f, here, position[j]] = fitted[:, p]
            for j, levels in zip(model.schema_.categorical, model._level_log_shares, strict=True):
                q = position[j]
                table[f, offsets[q] : offsets[q + 1]].reshape(n_classes, -1)[here] = levels.T
        tables = (table.ravel(), starts, np.tile(sizes, (n_folds, 1)))
        self._model = CodedModel(*map(read_only, (*normals, *tables, log_prior, has_class)))
        self._values = None if task.reads_in_passes else self._read_values()

    def _fit_folds(self) -> Iterator[MixedNB]:
        """Yield the model of all columns for the training rows of every fold."""
        task = self.task
        if not task.reads_in_passes:
            yield from (self._fit(select_rows(task.table, fold.train)) for fold in task.folds)
            return
        schema, labels = task.table.schema, task.table.class_labels
        assert labels is not None
        empty = MixedCounts.statistics(schema, schema.n_classes)
        (sums,) = task.table.reduce(TrainingSums(empty, task.row_roles))
        codes, weights = target_array(task.table), task.weight_or_ones
        for (moments, tables), fold in zip(sums.folds, task.folds, strict=True):
            counts = MixedCounts.from_sums(schema, moments, tables, codes[fold.train], weights[fold.train])
            yield clone(task.estimator)._fit_counts(counts, labels)

    def _fit(self, rows: Table) -> MixedNB:
        # Warnings about columns that are unused in a set or empty in a fold are not passed on.
        with capture_warnings():
            model: MixedNB = clone(self.task.estimator).fit(rows)
        return model

    def _read_values(self) -> CodedValues:
        """Return the numbers and codes of the test rows."""
        task, schema = self.task, self.task.table.schema
        used = schema.used.tolist()
        numbers, codes, positions = column_layout(task.table.blocks(used), used, schema)
        # Unused columns are in no set.
        slots = np.zeros(schema.n_columns, dtype=np.int64)
        slots[used] = positions
        rows = task.test_rows
        values: Any = (np.ascontiguousarray(numbers[:, rows]), np.ascontiguousarray(codes[:, rows]), slots)
        return CodedValues(*map(read_only, values))

    @classmethod
    def unsupported_reason(cls, task: CVTask) -> str | None:
        """Return a reason if the columns are encoded as numbers."""
        return "encode=True encodes all columns as numbers" if task.is_encoded else None

    def fit_fold(self, columns: Indices, fold: int) -> FittedFold:
        part, view = self.task.folds[fold], select_columns(self.task.table, columns.tolist())
        return FittedFold(self._fit(select_rows(view, part.train)), select_rows(view, part.test))

    def _kernel_candidates(self, candidates: Candidates) -> Candidates:
        return candidates

    def _counter(self) -> Callable[..., None]:
        return partial(coded_confusion, self._values, self._model)

    def confusion_counts(self, candidates: Candidates) -> Floats:
        if not self.task.reads_in_passes:
            return super().confusion_counts(candidates)
        columns = np.flatnonzero(candidates.masks().any(axis=0))
        schema, sets = self.task.table.schema, candidate_arrays(candidates)
        predict = _RowPredictor(self._model_of(columns), schema, columns.tolist(), sets)
        return count_in_passes(self, candidates, columns, predict)

    def _model_of(self, columns: Indices) -> CodedModel:
        schema, model = self.task.table.schema, self._model
        mine = np.flatnonzero(np.isin(schema.numeric, columns))
        coded = np.flatnonzero(np.isin(schema.categorical, columns))
        normals = (each[:, :, mine] for each in model[:3])
        tables = (model.table, model.table_starts[:, coded], model.n_codes[:, coded])
        return CodedModel(*(np.ascontiguousarray(each) for each in (*normals, *tables, *model[-2:])))

    def _test_layout(self, columns: Indices, fold: int) -> ColumnLayout:
        """Return the layout of columns, ascending, for the test rows of a fold."""
        if self._values is None:
            own = columns.tolist()
            rows = select_rows(select_columns(self.task.table, own), self.task.folds[fold].test)
            return column_layout(rows.blocks(own), own, self.task.table.schema)
        all_numbers, all_codes, slots = self._values
        here, at = slice(self.task.test_starts[fold], self.task.test_starts[fold + 1]), slots[columns]
        is_number: Masks = at >= 0
        own_slots = np.where(is_number, np.cumsum(is_number) - 1, -np.cumsum(np.logical_not(is_number)))
        numbers, codes = all_numbers[at[is_number], here], all_codes[-1 - at[~is_number], here]
        return np.ascontiguousarray(numbers), np.ascontiguousarray(codes), own_slots

    def joint_log_likelihood(self, columns: Indices, fold: int) -> Floats:
        """Return log prior plus log likelihood, added in the order of `MixedNB`."""
        numbers, codes, slots = self._test_layout(columns, fold)
        model = self._model_of(columns)
        own = (np.ascontiguousarray(each[fold]) for each in (*model[:3], *model[4:7]))
        centre, scale, constant, starts, widths, log_prior = own
        joint = np.empty((len(self.task.classes), numbers.shape[1]))
        terms = (centre, scale, constant, model.table, starts, widths, log_prior)
        joint_log_likelihoods(numbers, codes, slots, *terms, joint)
        return joint[model.present[fold]].T

    def max_bytes(self) -> float:
        values = 0 if self._values is None else self._values.numbers.nbytes + self._values.codes.nbytes
        return float(values + self._model.table.nbytes)
