"""Products of columns over the rows that each fold learns from: sums over its rows, or over the other folds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tamiz.statistics.base import Floats
from tamiz.wrappers.base import Task
from tamiz.wrappers.folds import Fold


@dataclass(frozen=True)
class Products:
    """Means of columns in classes, and products of what is left of the columns.

    Attributes
    ----------
    total : ndarray of shape (n_classes,)
        Weight of the rows.
    mean : ndarray of shape (n_classes, n_columns)
        0 in a class without rows, and where columns are not to be centred.
    scatter : ndarray of shape (n_columns, n_columns)
        Weighted products of columns, each row less the mean of its class.
    largest : ndarray of shape (n_columns,)
        The largest absolute values.
    """

    total: Floats
    mean: Floats
    scatter: Floats
    largest: Floats

    @classmethod
    def of(cls, rows: Floats, codes: NDArray[np.int64], weights: Floats, n_classes: int, *, centred: bool) -> Products:
        """Return the products of some rows, at least one."""
        total = np.bincount(codes, weights, n_classes).astype(np.float64)
        mean = np.zeros((n_classes, rows.shape[1]))
        left = rows
        if centred:
            for k in np.flatnonzero(total):
                mean[k] = weights[codes == k] @ rows[codes == k] / total[k]
            left = rows - mean[codes]
        return cls(total, mean, left.T @ (left * weights[:, None]), np.abs(rows).max(axis=0))

    def merged(self, other: Products) -> Products:
        """Return the products of these rows and others: nothing but squares is added, and nothing cancels."""
        total = self.total + other.total
        share = np.divide(other.total, total, out=np.zeros_like(total), where=total > 0)
        between = np.where((self.total > 0)[:, None] & (other.total > 0)[:, None], other.mean - self.mean, 0.0)
        mean = np.where((self.total > 0)[:, None], self.mean + share[:, None] * between, other.mean)
        apart = between * np.sqrt(self.total * share)[:, None]
        return Products(
            total, mean, self.scatter + other.scatter + apart.T @ apart, np.maximum(self.largest, other.largest)
        )


@dataclass(frozen=True)
class Reading:
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

    task: Task
    codes: NDArray[np.int64]
    n_classes: int
    target: Floats | None
    centred: bool

    def folds(self, first: int, stop: int) -> Iterator[tuple[Products, Floats]]:
        """Yield what each of some folds learns from, and the rows that it tests."""
        folds = self.task.folds
        if self.task.encode or not _exchange(folds, len(self.task.labels)):
            for fold in folds[first:stop]:
                rows = self._with_target(self.task.points.train(fold), fold.train)
                yield self._products(rows, fold.train), self.tested(fold)
            return
        # Whatever is tested elsewhere is learned from: each row is read once.
        outside = [fold for f, fold in enumerate(folds) if not first <= f < stop]
        beyond = None
        if outside:
            rows = np.concatenate([self.tested(fold) for fold in outside])
            beyond = self._products(rows, np.concatenate([fold.test for fold in outside]))
        tested = [self.tested(fold) for fold in folds[first:stop]]
        inside = [self._products(rows, fold.test) for rows, fold in zip(tested, folds[first:stop], strict=True)]
        yield from zip(_without_each(_joined(inside), beyond), tested, strict=True)

    def tested(self, fold: Fold) -> Floats:
        """Return the rows that a fold tests."""
        return self._with_target(self.task.points.test(fold), fold.test)

    def _products(self, values: Floats, rows: NDArray[np.intp]) -> Products:
        codes, weights = self.codes[rows], self.task.weights[rows]
        return Products.of(values, codes, weights, self.n_classes, centred=self.centred)

    def _with_target(self, values: Floats, rows: NDArray[np.intp]) -> Floats:
        return values if self.target is None else np.column_stack([values, self.target[rows]])


@dataclass(frozen=True)
class _Joined:
    """Products of parts, and the two halves of the parts."""

    products: Products
    halves: tuple[_Joined, ...] = ()


def _joined(parts: Sequence[Products]) -> _Joined:
    if len(parts) == 1:
        return _Joined(parts[0])
    left, right = _joined(parts[: len(parts) // 2]), _joined(parts[len(parts) // 2 :])
    return _Joined(left.products.merged(right.products), (left, right))


def _without_each(joined: _Joined, beyond: Products | None) -> Iterator[Products]:
    """Yield for each part what is beyond and all other parts together."""
    if not joined.halves:
        assert beyond is not None
        yield beyond
        return
    left, right = joined.halves
    for mine, other in ((left, right.products), (right, left.products)):
        yield from _without_each(mine, other if beyond is None else beyond.merged(other))


def _exchange(folds: Sequence[Fold], n_rows: int) -> bool:
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
