"""Products of columns over the rows that each fold learns from: sums over its rows, or over the other folds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tamiz.statistics.base import Floats
from tamiz.wrappers.base import CVTask
from tamiz.wrappers.folds import Fold


@dataclass(frozen=True)
class ColumnProducts:
    """Means of columns in classes, and products of what is left of the columns.

    Attributes
    ----------
    class_weight : ndarray of shape (n_classes,)
        Weight of the rows.
    mean : ndarray of shape (n_classes, n_columns)
        0 in a class without rows, and where columns are not to be centred.
    scatter : ndarray of shape (n_columns, n_columns)
        Weighted products of columns, each row less the mean of its class.
    max_abs : ndarray of shape (n_columns,)
        The largest absolute values.
    """

    class_weight: Floats
    mean: Floats
    scatter: Floats
    max_abs: Floats

    @classmethod
    def from_rows(
        cls, rows: Floats, codes: NDArray[np.int64], weights: Floats, n_classes: int, *, centred: bool
    ) -> ColumnProducts:
        """Return the products of some rows, at least one."""
        total = np.bincount(codes, weights, n_classes).astype(np.float64)
        mean = np.zeros((n_classes, rows.shape[1]))
        left = rows
        if centred:
            for k in np.flatnonzero(total):
                mean[k] = weights[codes == k] @ rows[codes == k] / total[k]
            left = rows - mean[codes]
        return cls(total, mean, left.T @ (left * weights[:, None]), np.abs(rows).max(axis=0))

    def merge(self, other: ColumnProducts) -> ColumnProducts:
        """Return the products of these rows and others: nothing but squares is added, and nothing cancels."""
        total = self.class_weight + other.class_weight
        share = np.divide(other.class_weight, total, out=np.zeros_like(total), where=total > 0)
        between = np.where(
            (self.class_weight > 0)[:, None] & (other.class_weight > 0)[:, None], other.mean - self.mean, 0.0
        )
        mean = np.where((self.class_weight > 0)[:, None], self.mean + share[:, None] * between, other.mean)
        apart = between * np.sqrt(self.class_weight * share)[:, None]
        return ColumnProducts(
            total, mean, self.scatter + other.scatter + apart.T @ apart, np.maximum(self.max_abs, other.max_abs)
        )


@dataclass(frozen=True)
class FoldProducts:
    """Rows as sums are taken of them.

    Attributes
    ----------
    task : Task
    codes : ndarray of shape (n_rows,)
        The class of each row; all 0 where there are none.
    n_classes : int
    target : ndarray of shape (n_rows,) or None
        Taken as one more column, the last.
    centred : bool
    """

    task: CVTask
    codes: NDArray[np.int64]
    n_classes: int
    target: Floats | None
    centred: bool

    def iter_folds(self, first: int, stop: int) -> Iterator[tuple[ColumnProducts, Floats]]:
        """Yield what each of some folds learns from, and the rows that it tests."""
        folds = self.task.folds
        if self.task.encode or not _is_partition(folds, len(self.task.target)):
            for fold in folds[first:stop]:
                rows = self._with_target(self.task.matrix.train_rows(fold), fold.train)
                yield self._products(rows, fold.train), self.test_rows(fold)
            return
        # Whatever is tested elsewhere is learned from: each row is read once.
        outside = [fold for f, fold in enumerate(folds) if not first <= f < stop]
        beyond = None
        if outside:
            rows = np.concatenate([self.test_rows(fold) for fold in outside])
            beyond = self._products(rows, np.concatenate([fold.test for fold in outside]))
        tested = [self.test_rows(fold) for fold in folds[first:stop]]
        inside = [self._products(rows, fold.test) for rows, fold in zip(tested, folds[first:stop], strict=True)]
        yield from zip(_leave_one_out(_build_product_tree(inside), beyond), tested, strict=True)

    def test_rows(self, fold: Fold) -> Floats:
        """Return the rows that a fold tests."""
        return self._with_target(self.task.matrix.test_rows(fold), fold.test)

    def _products(self, values: Floats, rows: NDArray[np.intp]) -> ColumnProducts:
        codes, weights = self.codes[rows], self.task.weight_or_ones[rows]
        return ColumnProducts.from_rows(values, codes, weights, self.n_classes, centred=self.centred)

    def _with_target(self, values: Floats, rows: NDArray[np.intp]) -> Floats:
        return values if self.target is None else np.column_stack([values, self.target[rows]])


@dataclass(frozen=True)
class _ProductTree:
    """Products of parts, and the two halves of the parts."""

    products: ColumnProducts
    halves: tuple[_ProductTree, ...] = ()


def _build_product_tree(parts: Sequence[ColumnProducts]) -> _ProductTree:
    if len(parts) == 1:
        return _ProductTree(parts[0])
    left, right = _build_product_tree(parts[: len(parts) // 2]), _build_product_tree(parts[len(parts) // 2 :])
    return _ProductTree(left.products.merge(right.products), (left, right))


def _leave_one_out(tree: _ProductTree, outside: ColumnProducts | None) -> Iterator[ColumnProducts]:
    """Yield for each part what is beyond and all other parts together."""
    if not tree.halves:
        assert outside is not None
        yield outside
        return
    left, right = tree.halves
    for mine, other in ((left, right.products), (right, left.products)):
        yield from _leave_one_out(mine, other if outside is None else outside.merge(other))


def _is_partition(folds: Sequence[Fold], n_rows: int) -> bool:
    """Return whether every row is tested once, and learned from by every other fold."""
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
    """Return the roots of sums of squares as units, 1 for a column without any."""
    return np.where(squares > 0, np.sqrt(np.maximum(squares, 0.0)), 1.0)
