"""Ranks of columns and of the target: sums by group for classes and levels, products for two numbers."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats, Masks
from tamiz.kernels.midranks import centred_midranks, rank_products
from tamiz.statistics.base import WholeColumns

# Bytes for each row while a column is ranked: its values, their order, ranks, codes and a mask.
_ROW_BYTES = 40
_MEMORY_HINT = "The tests on values (test='parametric') sort no columns."


@dataclass(frozen=True)
class GroupRanks:
    """Sums of midranks by group: the weight of each group, and the sum of its ranks minus the mean rank of all rows.

    `squares` is the sum of squares of all ranks about their mean.
    """

    weight: Floats
    rank_sum: Floats
    squares: float


@dataclass(frozen=True)
class RankCovariance:
    """Sums of squares and products, about the means, of the midranks of a column and a numeric target."""

    weight: float
    column_squares: float
    target_squares: float
    products: float


@dataclass(eq=False)
class TargetRanks(WholeColumns):
    """Midranks of the numeric one of column and target, summed over the groups of the other; products of ranks for two numbers.

    The columns are numeric with a target of classes, and any with a numeric target (`n_classes` 0). With `missing_is_level` a
    missing value of a categorical column is one more level; otherwise its row is not used.
    """

    n_levels: Mapping[int, int] = field(compare=False)
    n_classes: int
    missing_is_level: bool

    @property
    def ranks(self) -> dict[int, GroupRanks | RankCovariance]:
        return self.results

    @property
    def key(self) -> Hashable:
        return super().key, *self.n_levels.items()

    def finish(self) -> None:
        y = np.concatenate([np.empty(0, dtype=np.int32 if self.n_classes else np.float64), *self._y])
        ranker = _TargetRanker(y, self._all_weights())

        def rank(column: int, pieces: list[NDArray[Any]]) -> GroupRanks | RankCovariance:
            if self.n_classes:
                return ranker.column_ranks(np.concatenate([np.empty(0), *pieces]), self.n_classes)
            if column not in self.n_levels:
                return ranker.rank_covariance(np.concatenate([np.empty(0), *pieces]))
            codes = np.concatenate([np.empty(0, dtype=np.int32), *pieces])
            if self.missing_is_level:
                codes[codes < 0] = self.n_levels[column]
            return ranker.target_ranks(codes, self.n_levels[column] + self.missing_is_level)

        self._map_columns(rank, "Ranking", _ROW_BYTES, _MEMORY_HINT)


class _TargetRanker:
    """Ranks columns against one target, of which numbers are sorted once."""

    def __init__(self, y: NDArray[Any], weight: Floats) -> None:
        self._y = np.ascontiguousarray(y)
        self._weight = weight
        self._every_row = np.ones(len(y), dtype=bool)
        if y.dtype == np.float64:
            self._order = np.argsort(self._y)
            self._complete = self._rank(self._y, self._order, self._every_row)

    def _rank(self, values: Floats, order: NDArray[np.int64], included: Masks) -> tuple[Floats, Floats]:
        """Return the centred ranks of the rows, and their weight and sum of squares."""
        ranks, sums = np.empty(len(values)), np.empty(2)
        centred_midranks(values, order, included, self._weight, ranks, sums)
        return ranks, sums

    def column_ranks(self, values: Floats, n_classes: int) -> GroupRanks:
        ranks, sums = self._rank(values, np.argsort(values), self._every_row)
        return self._sum_by_group(values, ranks, self._every_row, self._y.astype(np.int32), n_classes, sums)

    def target_ranks(self, codes: NDArray[np.int32], n_levels: int) -> GroupRanks:
        included = codes >= 0
        ranks, sums = self._complete if included.all() else self._rank(self._y, self._order, included)
        return self._sum_by_group(self._y, ranks, included, codes, n_levels, sums)

    def rank_covariance(self, values: Floats) -> RankCovariance:
        """Return the sums of squares and products of the ranks of a numeric column and the target."""
        included = ~np.isnan(values)
        column, column_sums = self._rank(values, np.argsort(values), included)
        target, target_sums = self._complete if included.all() else self._rank(self._y, self._order, included)
        products = rank_products(column, target, self._weight)
        return RankCovariance(float(column_sums[0]), float(column_sums[1]), float(target_sums[1]), products)

    def _sum_by_group(
        self,
        values: Floats,
        ranks: Floats,
        included: Masks,
        labels: NDArray[np.int32],
        n_groups: int,
        sums: Floats,
    ) -> GroupRanks:
        used = included & ~np.isnan(values) & (self._weight > 0)
        labels, weight = labels[used], self._weight[used]
        group_weight = np.bincount(labels, weight, n_groups).astype(np.float64)
        rank_sum = np.bincount(labels, weight * ranks[used], n_groups).astype(np.float64)
        return GroupRanks(group_weight, rank_sum, float(sums[1]))
