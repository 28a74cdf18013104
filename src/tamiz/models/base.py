"""The parts of the cross-validation of one estimator over many sets of columns.

A `CVTask` is a table, an estimator, folds and a score, checked once. A `FoldBackend` returns the estimator as a refit on some
columns and a fold would be. A fast backend also returns the sums that common scores are computed from (confusion counts, squared
errors, log likelihoods), for many column sets at once, without a refit. `FoldRows` are the rows of one fold, cut out once for many
refits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier

from tamiz.arrays import Floats, Indices
from tamiz.kernels import CandidateArrays, LabelledRows, read_only
from tamiz.models.design_matrix import N_FOLD_MATRICES, EncodedMatrix, MatrixEncoder, MatrixEncoding
from tamiz.models.estimators import fit_weighted, requested_metadata, unwrap_estimator
from tamiz.models.fit_warnings import FitWarnings
from tamiz.models.fold_sums import RowRoles, fit_encodings, has_repeated_rows
from tamiz.models.folds import Folds
from tamiz.models.native_table import NativeRows
from tamiz.models.scoring import Scoring
from tamiz.runtime.memory import free_memory
from tamiz.subsets.candidates import Candidates
from tamiz.table.base import Table
from tamiz.table.views import metadata_at, select_columns
from tamiz.table.worker_tasks import find_worker_block


@dataclass(frozen=True)
class FittedFold:
    """An estimator fitted on some columns of a fold's training rows.

    Attributes
    ----------
    estimator : estimator
    test_rows : array or frame
        The test rows, in the form that the estimator accepts.
    """

    estimator: Any
    test_rows: Any


@dataclass(frozen=True)
class EncodedRows:
    """Encoded rows, from which the coordinates of columns are selected.

    Attributes
    ----------
    rows : NativeRows
        Of coordinates.
    coordinates : dict of ndarray
        The coordinates of every column.
    """

    rows: NativeRows
    coordinates: dict[int, Indices]

    def select(self, columns: Indices) -> Any:
        """Return the coordinates of some of the columns, ascending, as a copy."""
        return self.rows.select(np.sort(np.concatenate([self.coordinates[j] for j in columns.tolist()])))


@dataclass(frozen=True)
class FoldRows:
    """The rows of a fold, for refits on column sets in this process or in a worker process.

    Attributes
    ----------
    train, test : NativeRows or EncodedRows
    train_target, test_target : ndarray or None
    train_weight, test_weight : ndarray or None
    fit_options, test_metadata : dict
        The metadata of the training rows by the parameters of the estimator's fit, and all metadata of the test rows.
    """

    train: NativeRows | EncodedRows
    test: NativeRows | EncodedRows
    train_target: NDArray[Any] | None
    test_target: NDArray[Any] | None
    train_weight: Floats | None
    test_weight: Floats | None
    fit_options: Mapping[str, Any]
    test_metadata: Mapping[str, Any]

    def refit(self, estimator: Any, columns: Indices) -> FittedFold:
        """Fit a copy of an estimator on a set of columns."""
        train = self.train.select(columns)
        fitted = fit_weighted(clone(estimator), train, self.train_target, self.train_weight, self.fit_options)
        return FittedFold(fitted, self.test.select(columns))


@dataclass(frozen=True)
class CVTask:
    """Cross-validation of an estimator over columns of one table.

    Attributes
    ----------
    estimator : estimator
        Not fitted; backends fit clones. Every random_state is set.
    table : Table
        The table, without rows of weight 0.
    folds : Folds
        Each has at least one training row and one test row.
    target : ndarray of shape (n_rows,)
        The target as the estimator receives it: the user's labels, or float64. The shape is (n_rows, n_outputs) for several
        targets and (n_rows, 0) without a target.
    weight : ndarray of shape (n_rows,) or None
    scoring : Scoring
    encoding : {"standard", "indicators", "codes", "none"}
        How columns are encoded as numbers (`EncodedMatrix`). With "none" refits get the rows in the user's type.
    impute : bool
        Whether the standard encoding imputes missing values.
    label : str
        The readable name of the estimator.
    seed : int
        Seed of the random draws of the task.
    """

    estimator: Any
    table: Table
    folds: Folds
    target: NDArray[Any]
    weight: Floats | None
    scoring: Scoring
    encoding: MatrixEncoding
    impute: bool
    label: str
    seed: int

    @cached_property
    def estimator_name(self) -> str:
        return type(unwrap_estimator(self.estimator)).__name__

    @cached_property
    def has_classes(self) -> bool:
        return bool(is_classifier(self.estimator))

    @property
    def has_target(self) -> bool:
        return self.target.ndim == 1 or self.target.shape[1] > 0

    @property
    def is_multioutput(self) -> bool:
        """Whether several targets are predicted at once."""
        return self.target.ndim == 2 and self.has_target

    @cached_property
    def classes(self) -> NDArray[Any]:
        """The labels that occur, ascending."""
        return np.unique(self.target)

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """The labels as positions in `classes`."""
        return np.searchsorted(self.classes, self.target).astype(np.int64)

    @cached_property
    def weight_or_ones(self) -> Floats:
        """The weight of every row, 1 for a table without weights."""
        return np.ones(len(self.target)) if self.weight is None else self.weight

    @property
    def is_encoded(self) -> bool:
        """Whether refits get encoded rows instead of those in the user's type."""
        return self.encoding != "none"

    @cached_property
    def reads_in_passes(self) -> bool:
        """Whether sums over the rows are computed in passes over the table: workers read it, or it does not fit in memory."""
        schema = self.table.schema
        n_bytes = (1 + N_FOLD_MATRICES) * 8.0 * schema.n_rows * len(schema.used)
        if n_bytes <= free_memory() and find_worker_block(self.table.workers, self.table.blocks()) is None:
            return False
        return not has_repeated_rows(self.folds)

    @cached_property
    def matrix(self) -> EncodedMatrix:
        """The design matrix, for backends that compute with numbers."""
        return EncodedMatrix(self.table, self.folds, self.encoding, impute=self.impute)

    @cached_property
    def encoder(self) -> MatrixEncoder:
        if not self.reads_in_passes:
            return self.matrix
        made = MatrixEncoder(self.table.schema, self.encoding, impute=self.impute)
        if self.encoding == "standard":
            fit_encodings(made, self.table, self.folds, self.row_roles)
        return made

    @cached_property
    def row_roles(self) -> RowRoles:
        """In which folds each row is a training or test row, for passes over the table."""
        return RowRoles.of(self.table, self.folds)

    @cached_property
    def test_rows(self) -> Indices:
        """The test rows, fold after fold; those of fold f are test_rows[test_starts[f] : test_starts[f + 1]]."""
        return np.concatenate([fold.test for fold in self.folds])

    @cached_property
    def test_starts(self) -> NDArray[np.int64]:
        """Where each fold begins in `test_rows`, and the total number: of shape (n_folds + 1,)."""
        return np.cumsum([0, *(len(fold.test) for fold in self.folds)]).astype(np.int64)

    @cached_property
    def labelled_test_rows(self) -> LabelledRows:
        """The classes and weights of the test rows as a parameter of kernels."""
        rows = self.test_rows
        return LabelledRows(*map(read_only, (self.codes[rows], self.weight_or_ones[rows], self.test_starts)))

    @cached_property
    def fit_warnings(self) -> FitWarnings:
        return FitWarnings()

    def target_at(self, rows: Indices) -> NDArray[Any] | None:
        """Return the target of some rows, None for a table without a target."""
        return self.target[rows] if self.has_target else None

    def weight_at(self, rows: Indices) -> Floats | None:
        """Return the weights of some rows, None for a table without weights."""
        return None if self.weight is None else self.weight[rows]

    @cached_property
    def fit_requests(self) -> dict[str, str]:
        """The parameters of the estimator's fit that are metadata of the rows, with the names of the metadata."""
        return requested_metadata(self.estimator, "fit", {name: name for name in self.table.metadata})

    def metadata_at(self, rows: Indices) -> dict[str, Any]:
        return metadata_at(self.table.metadata, rows, len(self.target))


class FoldBackend(ABC):
    """Computes fold scores of an estimator over column sets.

    Parameters
    ----------
    task : CVTask

    Attributes
    ----------
    estimator_class : type
        The exact type of the estimators that the backend is for. A subclass may behave differently and is refitted.
    method : str
        What replaces the refits, in a few words.
    has_likelihoods : bool
        Whether `joint_log_likelihood` is implemented.
    exact_likelihoods : bool
        Whether its values are those of the refit, to the last bit.
    can_refit_in_workers : bool
        Whether refits need only `fold_rows`, so that another process can do them.
    """

    estimator_class: ClassVar[type]
    method: ClassVar[str]
    has_likelihoods: ClassVar[bool] = False
    exact_likelihoods: ClassVar[bool] = False
    can_refit_in_workers: ClassVar[bool] = False

    def __init__(self, task: CVTask) -> None:
        self.task = task

    @classmethod
    def unsupported_reason(cls, task: CVTask) -> str | None:  # noqa: ARG003 - overrides read the estimator's parameters
        """Return why the estimator must be refitted, None where the backend supports it."""
        return None

    @abstractmethod
    def fit_fold(self, columns: Indices, fold: int) -> FittedFold:
        """Return the estimator as a refit on a fold's training rows and on at least one column would be."""

    def fold_refitter(self, columns: Indices, fold: int) -> Callable[[Indices], FittedFold]:  # noqa: ARG002 - for backends that cut out rows once
        """Return a function that refits in a fold on any subset of some columns."""
        return partial(self.fit_fold, fold=fold)

    def fold_rows(self, columns: Indices, fold: int) -> FoldRows | None:  # noqa: ARG002 - for backends that refit in workers
        """Return the rows of a fold for refits on subsets of some columns, None where refits need more than rows."""
        return None

    def confusion_counts(self, candidates: Candidates) -> Floats | None:  # noqa: ARG002 - for backends that count
        """Return the weight of the test rows by true and predicted class, None where only refits can predict.

        The shape is (n_candidates, n_folds, n_classes, n_classes). No candidate is the empty set.
        """
        return None

    def squared_errors(self, candidates: Candidates) -> Floats | None:  # noqa: ARG002 - for backends that sum errors
        """Return the weighted sum of the test rows' squared errors, of shape (n_candidates, n_folds), None likewise."""
        return None

    def subset_notes(self, columns: Indices) -> list[str]:  # noqa: ARG002 - most have none
        """Return notes for a reader of the score of some columns."""
        return []

    def joint_log_likelihood(self, columns: Indices, fold: int) -> Floats | None:  # noqa: ARG002 - for backends with likelihoods
        """Return log prior plus log likelihood of the test rows in every training class, up to rounding; None likewise.

        The shape is (n_test, n_train_classes), with the classes of the training rows ascending.
        """
        return None

    def test_values(self, columns: Indices, fold: int) -> Floats:
        """Return the test rows of a fold as numbers; equal rows have equal likelihoods."""
        return self.task.matrix.test_rows(self.task.folds[fold], self.task.matrix.coordinates_of(columns))

    def max_bytes(self) -> float:
        """Return the bytes of memory that the backend needs beyond the table."""
        return 0.0

    def evaluation_cost(self) -> float:
        """Return the approximate microseconds per column set; a refit takes a few milliseconds."""
        return sum(3000.0 + len(fold.train) for fold in self.task.folds)


class MatrixBackend(FoldBackend):
    """A backend whose refits use the design matrix."""

    def fit_fold(self, columns: Indices, fold: int) -> FittedFold:
        """Return the model fitted on the training rows of a fold."""
        task, part = self.task, self.task.folds[fold]
        matrix = self._matrix_of(columns)
        at = matrix.coordinates_of(columns)
        # C order, as scikit-learn converts it: the last bits of its sums depend on it.
        train, test = (np.ascontiguousarray(rows_of(part, at)) for rows_of in (matrix.train_rows, matrix.test_rows))
        model = clone(task.estimator)
        return FittedFold(fit_weighted(model, train, task.target[part.train], task.weight_at(part.train)), test)

    def _matrix_of(self, columns: Indices) -> EncodedMatrix:
        """Return a design matrix with some columns: that of the task, unless it does not fit in memory."""
        task = self.task
        if not task.reads_in_passes:
            return task.matrix
        return EncodedMatrix(
            select_columns(task.table, columns.tolist()), task.folds, task.encoding, impute=task.impute
        )


def candidate_arrays(candidates: Candidates) -> CandidateArrays:
    numbers = (candidates.parent_index, candidates.starts, candidates.flipped)
    arrays = (np.ascontiguousarray(each, dtype=np.int64) for each in numbers)
    return CandidateArrays(*map(read_only, (np.ascontiguousarray(candidates.parents), *arrays)))


def column_cost(task: CVTask) -> float:
    """Return the approximate microseconds of adding a column to the sums of every test row and class."""
    return 1.0 + 2e-3 * len(task.test_rows) * len(task.classes)
