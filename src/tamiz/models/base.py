"""What cross-validation of one estimator over many sets of columns is made of.

A `Task` is a table, an estimator, folds and a score, made ready once. A `Way` gives the estimator as its refit on some columns and
a fold would be; a fast way also gives the sums that common scores are made of, for many sets of columns at once, without a refit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier

from tamiz.models.design_matrix import DesignMatrix, EncodedMatrix, NumericMatrix
from tamiz.models.estimators import fit_weighted, unwrap_estimator
from tamiz.models.fit_warnings import FitWarnings
from tamiz.models.folds import Fold
from tamiz.models.native_table import NativeRows
from tamiz.models.scoring import Scoring
from tamiz.sources.base import Source
from tamiz.statistics.base import Floats
from tamiz.subsets.candidates import Candidates

# MERGED: The rows of a fold as an estimator takes them.


ColumnIndices = NDArray[np.intp]


@dataclass(frozen=True)
class FittedFold:
    """An estimator as fitted on some columns and the rows that a fold learns from.

    Attributes
    ----------
    estimator : estimator
    test_rows : array or frame
        The rows tested, as it takes them.
    """

    estimator: Any
    test_rows: Any


@dataclass(frozen=True)
class EncodedRows:
    """Encoded rows, of which the coordinates of columns are taken.

    Attributes
    ----------
    rows : Part
    columns, widths : ndarray
        The columns, ascending, and how many coordinates each has.
    """

    rows: NativeRows
    columns: ColumnIndices
    widths: NDArray[np.intp]

    def select(self, columns: ColumnIndices) -> Any:
        """Return the coordinates of some of the columns, as a copy."""
        starts = np.cumsum(self.widths) - self.widths
        places = np.searchsorted(self.columns, columns).tolist()
        return self.rows.select(np.concatenate([starts[k] + np.arange(self.widths[k]) for k in places]))


@dataclass(frozen=True)
class FoldRows:
    """The rows of a fold, for refits on sets of columns in this process or another.

    Attributes
    ----------
    train, test : Part or Coordinates
    train_target, test_target : ndarray or None
        The target of both.
    train_weight, test_weight : ndarray or None
    """

    train: NativeRows | EncodedRows
    test: NativeRows | EncodedRows
    train_target: NDArray[Any] | None
    test_target: NDArray[Any] | None
    train_weight: Floats | None
    test_weight: Floats | None

    def refit(self, estimator: Any, columns: ColumnIndices) -> FittedFold:
        """Fit a copy of an estimator on a set of columns."""
        fitted = fit_weighted(clone(estimator), self.train.select(columns), self.train_target, self.train_weight)
        return FittedFold(fitted, self.test.select(columns))


@dataclass(frozen=True)
class CVTask:
    """Cross-validation of an estimator over columns of one table.

    Attributes
    ----------
    estimator : estimator
        Not fitted, and never to be: ways fit copies. Parts of it that draw lots have their seeds.
    source : Source
        Rows with a weight of 0 are not among them.
    folds : tuple of Fold
        Every one has at least a row to learn from and one to test.
    target : ndarray of shape (n_rows,)
        The target as the estimator is to see it: labels of the user's, or float64. Of several targets it is of shape
        (n_rows, n_outputs), and without a target (n_rows, 0).
    weight : ndarray of shape (n_rows,) or None
    scoring : Scoring
    encode : bool
        Whether the estimator sees mixed columns as points (`tamiz.sources.encoding`), fitted inside every fold.
    impute : bool
        Whether missing values are imputed in the points.
    label : str
        What the estimator is called.
    seed : int
        What lots that belong to the task are drawn by.
    fold_warnings, fold_notes : tuple of str
        What a user is warned of when folds are made of the table, and what a reader of the scores may want to know of them.
    """

    estimator: Any
    source: Source
    folds: tuple[Fold, ...]
    target: NDArray[Any]
    weight: Floats | None
    scoring: Scoring
    encode: bool
    impute: bool
    label: str
    seed: int
    fold_warnings: tuple[str, ...] = ()
    fold_notes: tuple[str, ...] = ()

    @cached_property
    def estimator_name(self) -> str:
        """The name of the estimator's class."""
        return type(unwrap_estimator(self.estimator)).__name__

    @cached_property
    def has_classes(self) -> bool:
        """Whether the estimator predicts classes."""
        return bool(is_classifier(self.estimator))

    @property
    def has_target(self) -> bool:
        """Whether there is something to predict."""
        return self.target.ndim == 1 or self.target.shape[1] > 0

    @property
    def is_multioutput(self) -> bool:
        """Whether several targets are predicted at once."""
        return self.target.ndim == 2 and self.has_target

    @cached_property
    def classes(self) -> NDArray[Any]:
        """Every label that occurs, ascending."""
        return np.unique(self.target)

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """The labels as positions in `classes`."""
        return np.searchsorted(self.classes, self.target).astype(np.int64)

    @cached_property
    def weight_or_ones(self) -> Floats:
        """The weight of every row, 1 where there are none."""
        return np.ones(len(self.target)) if self.weight is None else self.weight

    @cached_property
    def matrix(self) -> DesignMatrix:
        """The rows as numbers, for ways that compute with them."""
        return EncodedMatrix(self.source, self.folds, impute=self.impute) if self.encode else NumericMatrix(self.source)

    @cached_property
    def test_rows(self) -> NDArray[np.intp]:
        """The rows tested, one fold after the other; those of fold f are tested[starts[f] : starts[f + 1]]."""
        return np.concatenate([fold.test for fold in self.folds])

    @cached_property
    def test_starts(self) -> NDArray[np.int64]:
        """Where each fold's tested rows begin, and the number of all: of shape (n_folds + 1,)."""
        return np.cumsum([0, *(len(fold.test) for fold in self.folds)]).astype(np.int64)

    @cached_property
    def fit_warnings(self) -> FitWarnings:
        """Warnings of the estimator's refits and of the scorer."""
        return FitWarnings()

    def target_at(self, rows: NDArray[np.intp]) -> NDArray[Any] | None:
        """Return the target of some rows, None where there is none."""
        return self.target[rows] if self.has_target else None

    def weight_at(self, rows: NDArray[np.intp]) -> Floats | None:
        """Return the weights of some rows, None where there are none."""
        return None if self.weight is None else self.weight[rows]


class FoldBackend(ABC):
    """How the refits of an estimator over sets of columns are had.

    Parameters
    ----------
    task : Task

    Attributes
    ----------
    estimator_class : type
        The estimator's exact type: a subclass may do anything, and is refitted.
    method : str
        What is done in place of refits, in a few words.
    has_likelihoods : bool
        Whether `joint_log_likelihood` tells any.
    can_refit_in_workers : bool
        Whether refits need no more than `fold_rows`, so that another process can do them.
    """

    estimator_class: ClassVar[type]
    method: ClassVar[str]
    has_likelihoods: ClassVar[bool] = False
    can_refit_in_workers: ClassVar[bool] = False

    def __init__(self, task: CVTask) -> None:
        self.task = task

    @classmethod
    def unsupported_reason(cls, task: CVTask) -> str | None:  # noqa: ARG003 - most look at the estimator's parameters
        """Return why the estimator is to be refitted after all, None where the way takes it."""
        return None

    @abstractmethod
    def fit_fold(self, columns: ColumnIndices, fold: int) -> FittedFold:
        """Return the estimator as its refit on columns of the table, at least one, and the rows that a fold learns from."""

    def fold_refitter(self, columns: ColumnIndices, fold: int) -> Callable[[ColumnIndices], FittedFold]:  # noqa: ARG002 - for ways that take rows once
        """Return what gives the refits of a fold on sets among some columns."""
        return partial(self.fit_fold, fold=fold)

    def fold_rows(self, columns: ColumnIndices, fold: int) -> FoldRows | None:  # noqa: ARG002 - for ways that hand rows on
        """Return the rows of a fold for refits on sets among some columns, None where these need more."""
        return None

    def confusion_counts(self, candidates: Candidates) -> Floats | None:  # noqa: ARG002 - for ways that count
        """Return the weight of the tested rows by their class and the class predicted, None where only refits tell.

        The shape is (n_candidates, n_folds, n_classes, n_classes); no candidate is the empty set.
        """
        return None

    def squared_errors(self, candidates: Candidates) -> Floats | None:  # noqa: ARG002 - for ways that add up
        """Return the weighted sum of the tested rows' squared errors, of shape (n_candidates, n_folds), None likewise."""
        return None

    def subset_notes(self, columns: ColumnIndices) -> list[str]:  # noqa: ARG002 - most have nothing to say
        """Return what a reader of the score of some columns must know, a sentence each."""
        return []

    def joint_log_likelihood(self, columns: ColumnIndices, fold: int) -> Floats | None:  # noqa: ARG002 - for ways that know likelihoods
        """Return the logarithm of prior times likelihood of the tested rows in every class learned, up to rounding; None likewise.

        The shape is (n_test, n_learned), the classes among the rows that the fold learns from in ascending order.
        """
        return None

    def test_values(self, columns: ColumnIndices, fold: int) -> Floats:
        """Return the rows that a fold tests as numbers: rows that are equal have the same likelihoods."""
        return self.task.matrix.test_rows(self.task.folds[fold], self.task.matrix.coordinates_of(columns))

    def max_bytes(self) -> float:
        """Return what the way holds in memory beyond the table."""
        return 0.0

    def evaluation_cost(self) -> float:
        """Return how much work a set is, in microseconds or so: a refit takes a few milliseconds."""
        return sum(3000.0 + len(fold.train) for fold in self.task.folds)


class MatrixBackend(FoldBackend):
    """A way whose refits are made on the rows as points."""

    def fit_fold(self, columns: ColumnIndices, fold: int) -> FittedFold:
        """Return the model as fitted on the rows that the fold learns from."""
        task, part = self.task, self.task.folds[fold]
        at = task.matrix.coordinates_of(columns)
        # Rows one after the other, as scikit-learn takes them: the last bits of its sums depend on it.
        train, test = (
            np.ascontiguousarray(points(part, at)) for points in (task.matrix.train_rows, task.matrix.test_rows)
        )
        model = clone(task.estimator)
        return FittedFold(fit_weighted(model, train, task.target[part.train], task.weight_at(part.train)), test)


def column_cost(task: CVTask) -> float:
    """Return the microseconds or so of adding a column to a sum for every row tested and class."""
    return 1.0 + 2e-3 * len(task.test_rows) * len(task.classes)
