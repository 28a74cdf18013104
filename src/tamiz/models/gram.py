"""Gram matrices (products of columns) of the training rows of every fold, and backends that solve column sets from them.

Where every row is tested once, the products of a fold's training rows are merged from those of the other folds, so that each row
is read once. `ProductBackend` runs a kernel over ranges of folds that fit in memory.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats, Indices, Masks
from tamiz.kernels import CandidateArrays
from tamiz.models.base import CVTask, MatrixBackend, candidate_arrays
from tamiz.models.column_products import ColumnProducts, build_product_tree, leave_one_out
from tamiz.models.fold_sums import FoldProductSums
from tamiz.models.folds import Fold
from tamiz.runtime import parallel
from tamiz.subsets.candidates import Candidates

# Folds whose products need more memory are processed in ranges.
_MAX_PRODUCT_BYTES = 2**28
# Square matrices per fold while the products are computed.
_MATRICES_PER_FOLD = 4


# The record of arrays that a kernel reads.
FoldArrays = TypeVar("FoldArrays")


@dataclass(frozen=True)
class FoldRange(Generic[FoldArrays]):
    """The folds first .. stop, and the arrays that a kernel reads."""

    first: int
    stop: int
    arrays: FoldArrays


class ProductBackend(MatrixBackend, Generic[FoldArrays]):
    """Stores the products of columns of every fold, and solves a set from its rows and columns of them."""

    @abstractmethod
    def read_folds(self, first: int, stop: int) -> FoldRange[FoldArrays]:
        """Compute the arrays of some folds."""

    def max_bytes(self) -> float:
        """Return the bytes of the products and rows of one range of folds."""
        first, stop = self._fold_ranges[0]
        width = self.task.encoder.n_coordinates
        n_rows = sum(len(fold.test) for fold in self.task.folds[first:stop])
        return 8.0 * width * (_MATRICES_PER_FOLD * (stop - first) * width + 2 * n_rows)

    @cached_property
    def _fold_ranges(self) -> list[tuple[int, int]]:
        if self.task.reads_in_passes:
            return [(0, len(self.task.folds))]
        matrix = 8 * (self.task.encoder.n_coordinates + 1) ** 2
        return parallel.block_ranges(len(self.task.folds), max(1, _MAX_PRODUCT_BYTES // (_MATRICES_PER_FOLD * matrix)))

    @cached_property
    def _all_folds(self) -> FoldRange[FoldArrays]:
        return self.read_folds(*self._fold_ranges[0])

    def _iter_ranges(self) -> Iterator[FoldRange[FoldArrays]]:
        """Yield all folds at once if they fit in memory; else ranges of folds, computed again at every call."""
        if len(self._fold_ranges) == 1:
            yield self._all_folds
            return
        for first, stop in self._fold_ranges:
            yield self.read_folds(first, stop)

    def sum_over_folds(
        self,
        candidates: Candidates,
        fill: Callable[[FoldArrays, CandidateArrays, tuple[int, int], Floats, Masks], None],
        shape: tuple[int, ...],
        n_pairs: int,
        doubtful_shape: tuple[int, ...] = (),
    ) -> tuple[Floats, Masks]:
        """Return sums of a shape for every candidate and fold, and which of them need a refit because of rounding.

        `fill` fills the sums of a range of candidates, for the folds of some arrays; a thread gets about `n_pairs` (candidate,
        fold) pairs. `doubtful_shape` is the shape of the parts of a sum that are refitted one by one.
        """
        sets = candidate_arrays(self.task.encoder.to_coordinates(candidates))
        m, n_folds = len(candidates), len(self.task.folds)
        sums, doubtful = np.zeros((m, n_folds, *shape)), np.ones((m, n_folds, *doubtful_shape), dtype=bool)
        for part in self._iter_ranges():
            n = part.stop - part.first
            found, unsure = np.zeros((m, n, *shape)), np.ones((m, n, *doubtful_shape), dtype=bool)

            def work(
                span: tuple[int, int], arrays: FoldArrays = part.arrays, out: tuple[Any, Any] = (found, unsure)
            ) -> None:
                fill(arrays, sets, span, *out)

            parallel.run_blocks(work, parallel.block_ranges(m, max(1, n_pairs // n)))
            sums[:, part.first : part.stop], doubtful[:, part.first : part.stop] = found, unsure
        return sums, doubtful


@dataclass(frozen=True)
class FoldProducts:
    """Computes the products of the training rows of every fold.

    Attributes
    ----------
    task : CVTask
    codes : ndarray of shape (n_rows,)
        The class of each row; all 0 without classes.
    n_classes : int
    target : ndarray of shape (n_rows,) or (n_rows, n_targets), or None
        Appended as the last columns.
    centred : bool
    """

    task: CVTask
    codes: NDArray[np.int64]
    n_classes: int
    target: Floats | None
    centred: bool

    def iter_folds(self, first: int, stop: int) -> Iterator[tuple[ColumnProducts, ColumnProducts, Floats]]:
        """Yield the products of the training rows and of the test rows of some folds, and their test rows.

        A task that reads its table in passes has no test rows.
        """
        folds = self.task.folds
        if self.task.reads_in_passes:
            none = np.empty((0, self._width))
            yield from ((self._sums.train[f], self._sums.test[f], none) for f in range(first, stop))
            return
        if self.task.is_encoded or not _is_partition(folds, len(self.task.target)):
            for fold in folds[first:stop]:
                rows = self._with_target(self.task.matrix.train_rows(fold), fold.train)
                own = self.test_rows(fold)
                yield self._products(rows, fold.train), self._products(own, fold.test), own
            return
        # The training rows of a fold are the test rows of the others: each row is read once.
        outside = [fold for f, fold in enumerate(folds) if not first <= f < stop]
        outside_products = None
        if outside:
            rows = np.concatenate([self.test_rows(fold) for fold in outside])
            outside_products = self._products(rows, np.concatenate([fold.test for fold in outside]))
        tested = [self.test_rows(fold) for fold in folds[first:stop]]
        inside = [self._products(rows, fold.test) for rows, fold in zip(tested, folds[first:stop], strict=True)]
        yield from zip(leave_one_out(build_product_tree(inside), outside_products), inside, tested, strict=True)

    @property
    def _width(self) -> int:
        return self.task.encoder.n_coordinates + (0 if self.target is None else self.target.shape[1])

    @cached_property
    def _sums(self) -> FoldProductSums:
        """The products of all folds, from one pass over the table."""
        task = self.task
        targets = () if self.target is None else np.ascontiguousarray(self.target.T)
        roles = task.row_roles.with_values(task.table, (self.codes, *targets))
        (sums,) = task.table.reduce(FoldProductSums(task.encoder, roles, self.n_classes, centred=self.centred))
        return sums

    def test_rows(self, fold: Fold) -> Floats:
        return self._with_target(self.task.matrix.test_rows(fold), fold.test)

    def _products(self, values: Floats, rows: Indices) -> ColumnProducts:
        codes, weights = self.codes[rows], self.task.weight_or_ones[rows]
        return ColumnProducts.from_rows(values, codes, weights, self.n_classes, centred=self.centred)

    def _with_target(self, values: Floats, rows: Indices) -> Floats:
        return values if self.target is None else np.column_stack([values, self.target[rows]])


def _is_partition(folds: Sequence[Fold], n_rows: int) -> bool:
    """Return whether every row is tested once, and is a training row of every other fold."""
    tested = np.concatenate([fold.test for fold in folds])
    if len(tested) != n_rows or len(np.unique(tested)) != n_rows:
        return False
    outside = np.ones(n_rows, dtype=bool)
    for fold in folds:
        outside[fold.test] = False
        others = len(fold.train) == n_rows - len(fold.test) and outside[fold.train].all()
        outside[fold.test] = True
        if not others or (np.diff(fold.train) <= 0).any():
            return False
    return True


def column_scale(squares: Floats) -> Floats:
    """Return the square roots of sums of squares, 1 for a column of zeros."""
    return np.where(squares > 0, np.sqrt(np.maximum(squares, 0.0)), 1.0)
