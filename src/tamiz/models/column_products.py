"""Weighted products of columns about their means in classes: mergeable, also in a tree that leaves out one part at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats, divide_or_zero


@dataclass(frozen=True)
class ColumnProducts:
    """Means of columns in classes, and products of the columns about these means.

    Attributes
    ----------
    class_weight : ndarray of shape (n_classes,)
        Weight of the rows.
    mean : ndarray of shape (n_classes, n_columns)
        0 in a class without rows, and without centring.
    scatter : ndarray of shape (n_columns, n_columns)
        Weighted products of columns about the class means.
    lowest, highest : ndarray of shape (n_columns,)
        The extreme values.
    """

    class_weight: Floats
    mean: Floats
    scatter: Floats
    lowest: Floats
    highest: Floats

    @classmethod
    def empty(cls, n_classes: int, width: int) -> ColumnProducts:
        low, high = np.full(width, np.inf), np.full(width, -np.inf)
        return cls(np.zeros(n_classes), np.zeros((n_classes, width)), np.zeros((width, width)), low, high)

    @property
    def max_abs(self) -> Floats:
        return np.maximum(self.highest, -self.lowest)

    @classmethod
    def from_rows(
        cls, rows: Floats, codes: NDArray[np.int64], weights: Floats, n_classes: int, *, centred: bool
    ) -> ColumnProducts:
        total = np.bincount(codes, weights, n_classes).astype(np.float64)
        mean = np.zeros((n_classes, rows.shape[1]))
        deviations = rows
        if centred:
            for k in np.flatnonzero(total):
                mean[k] = weights[codes == k] @ rows[codes == k] / total[k]
            deviations = rows - mean[codes]
        scatter = deviations.T @ (deviations * weights[:, None])
        return cls(total, mean, scatter, rows.min(axis=0), rows.max(axis=0))

    def merge(self, other: ColumnProducts) -> ColumnProducts:
        """Return the products of both sets of rows; only squares are added, so nothing cancels."""
        total = self.class_weight + other.class_weight
        share = divide_or_zero(other.class_weight, total)
        between = np.where(
            (self.class_weight > 0)[:, None] & (other.class_weight > 0)[:, None], other.mean - self.mean, 0.0
        )
        mean = np.where((self.class_weight > 0)[:, None], self.mean + share[:, None] * between, other.mean)
        apart = between * np.sqrt(self.class_weight * share)[:, None]
        return ColumnProducts(
            total,
            mean,
            self.scatter + other.scatter + apart.T @ apart,
            np.minimum(self.lowest, other.lowest),
            np.maximum(self.highest, other.highest),
        )


@dataclass(frozen=True)
class ProductTree:
    """The merged products of some folds, and a tree for each half of the folds."""

    products: ColumnProducts
    halves: tuple[ProductTree, ...] = ()


def build_product_tree(parts: Sequence[ColumnProducts]) -> ProductTree:
    if len(parts) == 1:
        return ProductTree(parts[0])
    left, right = build_product_tree(parts[: len(parts) // 2]), build_product_tree(parts[len(parts) // 2 :])
    return ProductTree(left.products.merge(right.products), (left, right))


def leave_one_out(tree: ProductTree, outside: ColumnProducts | None) -> Iterator[ColumnProducts]:
    """Yield for each leaf the merged products of all other leaves and of `outside`."""
    if not tree.halves:
        assert outside is not None
        yield outside
        return
    left, right = tree.halves
    for mine, other in ((left, right.products), (right, left.products)):
        yield from leave_one_out(mine, other if outside is None else outside.merge(other))
