"""Fold backends for scikit-learn's CategoricalNB, MultinomialNB and BernoulliNB.

`DiscreteNBBackend` fits the estimator once per fold on all columns: its parameters for one column do not depend on the others. A
class's joint log-likelihood is then a sum over the columns of a set.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, MultinomialNB

from tamiz.arrays import Floats, Indices, Masks
from tamiz.exceptions import DataError
from tamiz.kernels import read_only
from tamiz.kernels.discrete_bayes import CodedModel, CodedValues, LinearModel, coded_confusion, linear_confusion
from tamiz.models.base import CVTask, FittedFold, MatrixBackend, candidate_arrays, column_cost
from tamiz.models.estimators import fit_weighted
from tamiz.models.score_functions import count_predictions
from tamiz.subsets.candidates import Candidates

# scikit-learn replaces a smaller alpha by this value, unless force_alpha is True.
_MIN_ALPHA = 1e-10
_LARGEST_CODE = 2**31 - 2


class DiscreteNBBackend(MatrixBackend):
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
        wrong = values < 0
        if self.requires_codes:
            wrong |= values != np.floor(values)
        if wrong.any():
            i, coordinate = np.argwhere(wrong)[0].tolist()
            what = (
                "is not a code, a whole number of at least 0"
                if self.requires_codes
                else f"is below 0, and {self.task.estimator_name} counts"
            )
            raise DataError(
                f"row {self._row_number(rows[i])}, column {self._column_name(coordinate)}: {values[i, coordinate]:g} {what}. Use "
                "GaussianNB or MixedNB."
            )

    def _row_number(self, row: int) -> int:
        return int(self.task.table.row_numbers[row])

    def _column_name(self, coordinate: int) -> str:
        own = self.task.matrix.coordinates
        return self.task.table.schema.names[next(j for j, mine in enumerate(own) if coordinate in mine)]

    def max_bytes(self) -> float:
        return float(self._test_values.nbytes)

    def evaluation_cost(self) -> float:
        return column_cost(self.task)


class CategoricalNBBackend(DiscreteNBBackend):
    """Sums of log-likelihoods over columns, with one term per code.

    scikit-learn adds the terms in the order of the columns, then the prior. The kernel uses the same order for rows in which
    rounding could change the prediction, such as rows whose classes have equal terms in a different order. No fold is refitted.
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
        self._table = np.concatenate(self._tables)
        self._tables.clear()
        # Test codes above the largest training code have no likelihood: a set with such a column raises an error.
        self._has_unseen_code = np.zeros((n_folds, n), dtype=bool)
        for f in range(n_folds):
            here = slice(task.test_starts[f], task.test_starts[f + 1])
            self._has_unseen_code[f] = self._test_values[:, here].max(axis=1) >= self._table_widths[f]
            self._test_values[self._has_unseen_code[f], here] = 0
        self._test_values = self._test_values.astype(np.uint32)

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

    def _check_values(self, values: Floats, rows: Indices) -> None:
        super()._check_values(values, rows)
        if values.max() > _LARGEST_CODE:
            i, j = np.argwhere(values > _LARGEST_CODE)[0].tolist()
            raise DataError(
                f"row {self._row_number(rows[i])}, column {self._column_name(j)}: {values[i, j]:g} is too large for a code; the "
                f"largest is {_LARGEST_CODE}."
            )

    def _check_codes_known(self, fold: int, coordinates: Indices) -> None:
        """Raise an error for a test code above the largest training code, as scikit-learn does."""
        unseen = coordinates[self._has_unseen_code[fold, coordinates]]
        if len(unseen):
            part, j = self.task.folds[fold], int(unseen[0])
            values, n_known = self.task.matrix.test_rows(part)[:, j], int(self._table_widths[fold, j])
            i = int(np.argmax(values >= n_known))
            raise DataError(
                f"Fold {fold + 1} of {len(self.task.folds)}, column {self._column_name(j)}: the test row "
                f"{self._row_number(part.test[i])} has code {values[i]:g}, but the largest training code is {n_known - 1}. Pass "
                f"CategoricalNB(min_categories={int(self._largest_code(j)) + 1})."
            )

    def _largest_code(self, j: int) -> float:
        return max(float(self.task.matrix.test_rows(fold)[:, j].max()) for fold in self.task.folds)

    @cached_property
    def _coded_values(self) -> CodedValues:
        n_columns, n_rows = self._test_values.shape
        return CodedValues(*map(read_only, (np.empty((0, n_rows)), self._test_values, -1 - np.arange(n_columns))))

    @cached_property
    def _model(self) -> CodedModel:
        no_numbers = np.empty((len(self.task.folds), len(self.task.classes), 0))
        tables = (self._table, self._table_starts, self._table_widths)
        return CodedModel(*map(read_only, (*[no_numbers] * 3, *tables, self._log_prior, self._has_class)))

    def fit_fold(self, columns: Indices, fold: int) -> FittedFold:
        """Return the model fitted on the training rows of a fold."""
        self._check_codes_known(fold, self.task.matrix.coordinates_of(columns))
        return super().fit_fold(columns, fold)

    def confusion_counts(self, candidates: Candidates) -> Floats:
        """Return the weights of the test rows by true and predicted class."""
        part = self.task.matrix.to_coordinates(candidates)
        if self._has_unseen_code.any():
            used = np.flatnonzero(part.masks().any(axis=0))
            for fold in range(len(self.task.folds)):
                self._check_codes_known(fold, used)
        rows, sets = self.task.labelled_test_rows, candidate_arrays(part)

        def count(first: int, stop: int, counts: Floats, doubtful: Masks) -> None:
            coded_confusion(self._coded_values, self._model, rows, sets, first, stop, counts, doubtful)

        return count_predictions(self, candidates, count)

    def max_bytes(self) -> float:
        return float(self._test_values.nbytes + self._table.nbytes)


class LinearNBBackend(DiscreteNBBackend):
    """The joint log-likelihood of a class is the log prior plus, for every column, a slope times the value plus a constant."""

    def __init__(self, task: CVTask) -> None:
        shape = (len(task.folds), len(task.classes), task.matrix.n_coordinates)
        # Per class: the slope, the constant, the column's part in the total count of the class, and the slope of the column by
        # itself.
        self._slope, self._constant, self._mass, self._single_slope = np.zeros((4, *shape))
        super().__init__(task)

    @cached_property
    def _model(self) -> LinearModel:
        terms = (self._slope, self._constant, self._mass, self._single_slope)
        return LinearModel(*map(read_only, (*terms, self._log_prior, self._has_class)))

    def confusion_counts(self, candidates: Candidates) -> Floats:
        """Return the weights of the test rows by true and predicted class."""
        rows, sets = self.task.labelled_test_rows, candidate_arrays(self.task.matrix.to_coordinates(candidates))

        def count(first: int, stop: int, counts: Floats, doubtful: Masks) -> None:
            linear_confusion(self._test_values, self._model, rows, sets, first, stop, counts, doubtful)

        return count_predictions(self, candidates, count)


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
    """Sums of log-likelihoods over columns: one term for a column that is 1, another for a column that is 0."""

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
