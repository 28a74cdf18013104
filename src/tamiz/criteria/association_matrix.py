"""Sums over sets of columns: of a value of each column, and of a value of each pair, from a matrix computed row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats, Masks
from tamiz.criteria.base import PairwiseAssociations
from tamiz.kernels import subset_merits as kernels
from tamiz.runtime.validation import check_memory
from tamiz.statistics.exact_sums import SplitNumbers, power_of_two_scale, round_to_scale, splitter
from tamiz.subsets.candidates import Candidates, Indices

# Sums are not exact where a diagonal element of A is smaller than this share of the largest: too many of its digits would be lost.
_MIN_DIAGONAL_SHARE = 2.0**-16


class SetSums:
    """The sums of the relevances of the columns of a set, and of the associations of its pairs.

    Sums are exact (`tamiz.statistics.exact_sums`), so their bits depend only on the set, neither on the parent nor on earlier
    evaluations. Where the associations differ too much in size for exact sums, every set is summed anew, in column order: updates
    of the parent's sums would leave rounding errors of dropped columns.
    """

    def __init__(self, relevances: Floats, matrix: AssociationMatrix) -> None:
        self.matrix = matrix
        self._relevances = SplitNumbers.from_values(relevances, power_of_two_scale(relevances) if matrix.exact else 0.0)

    @property
    def relevances(self) -> Floats:
        """The relevances, rounded to the resolution of the sums."""
        relevances: Floats = self._relevances.value
        return relevances

    def evaluate(self, candidates: Candidates) -> tuple[Floats, Floats]:
        """Return for every candidate x the sum of its relevances, and its total x'Ax."""
        if not self.matrix.exact:
            candidates = Candidates.from_masks(candidates.masks())
        relevances, totals = np.empty((2, len(candidates)))
        whole = np.diff(candidates.starts) == 0
        if whole.any():
            masks = candidates.parents[candidates.parent_index[whole]]
            relevances[whole] = SplitNumbers(masks @ self._relevances.head, masks @ self._relevances.tail).value
            totals[whole] = self.matrix.totals(masks)
        for parent in np.unique(candidates.parent_index[~whole]).tolist():
            mask = candidates.parents[parent]
            relevance, sums = self._relevances[mask].sum(), self.matrix.column_sums(mask)
            for where, columns in candidates.flips_by_width(parent):
                if columns.shape[1]:
                    signs = np.where(mask[columns], -1.0, 1.0)
                    change = SplitNumbers(
                        (self._relevances.head[columns] * signs).sum(axis=1),
                        (self._relevances.tail[columns] * signs).sum(axis=1),
                    )
                    relevances[where] = (relevance + change).value
                    totals[where] = self.matrix.totals_after_flips(mask, sums, columns, signs)
        return relevances, totals


class AssociationMatrix:
    """The matrix A of associations of the used columns of one table; its rows are computed on demand, and sums over them are exact.

    `bound` is an upper bound of the absolute values of all associations; None is the largest association of a column with itself.
    Sums are not `exact` where the associations of columns with themselves differ by a factor of more than 2^16, such as variances
    of columns in different units.
    """

    def __init__(
        self,
        associations: PairwiseAssociations,
        n_columns: int,
        used: NDArray[np.intp],
        bound: float | None = None,
    ) -> None:
        self._associations = associations
        self._used = used
        own = np.zeros(n_columns)
        own[used] = associations.self_associations(used)
        scale = power_of_two_scale(own if bound is None else np.array([bound]))
        self.exact = bool((own[own > 0] > _MIN_DIAGONAL_SHARE * scale).all())
        self._scale = scale if self.exact else 0.0
        self._large = splitter(self._scale)
        self._diagonal = round_to_scale(own, self._scale)
        self._diagonal_parts = SplitNumbers.from_values(own, self._scale)
        self._matrix = np.empty((0, n_columns))
        # The row of `_matrix` of each column, -1 while it is not computed.
        self._row_index = np.full(n_columns, -1, dtype=np.int64)
        self._computed_columns = np.empty(0, dtype=np.intp)

    def column_sums(self, mask: Masks) -> SplitNumbers:
        heads, tails = np.zeros((2, len(mask)))
        self._compute_rows(mask)
        kernels.add_split_rows(self._matrix, self._row_index[mask], self._large, heads, tails)
        return SplitNumbers(heads, tails)

    def totals(self, masks: Masks) -> Floats:
        """Return x'Ax of every set: the sum over all pairs of its columns, each column with itself included."""
        self._compute_rows(np.logical_or.reduce(masks))
        members = np.nonzero(masks)[1].astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(masks.sum(axis=1))]).astype(np.int64)
        out = np.empty((len(masks), 2))
        kernels.subset_pair_sums(self._matrix, self._row_index, self._diagonal, starts, members, self._large, out)
        return SplitNumbers(out[:, 0], out[:, 1]).value

    def totals_after_flips(self, mask: Masks, sums: SplitNumbers, columns: Indices, signs: Floats) -> Floats:
        """Return the totals of one set with each row of `columns` flipped; a sign is 1 for an addition, -1 for a drop."""
        total = sums[mask].sum()
        for w in range(columns.shape[1]):
            flipped, sign = columns[:, w], signs[:, w]
            total = total + sums[flipped] * (2 * sign) + self._diagonal_parts[flipped]
            for earlier in range(w):
                between = SplitNumbers.from_values(
                    self._rounded_associations(columns[:, earlier], flipped), self._scale
                )
                total = total + between * (2 * sign * signs[:, earlier])
        return total.value

    def rows(self, mask: Masks) -> tuple[Floats, NDArray[np.int64]]:
        """Return a matrix with the rows of the columns of a set, and for every column the number of its row, -1 without one."""
        self._compute_rows(mask)
        return self._matrix, self._row_index

    def to_dense(self) -> Floats:
        self._compute_rows(np.isin(np.arange(len(self._row_index)), self._used))
        matrix = np.zeros((len(self._row_index), len(self._row_index)))
        matrix[self._computed_columns] = self._matrix[: len(self._computed_columns)]
        return matrix

    def _compute_rows(self, mask: Masks) -> None:
        """Compute the rows of a set that are not computed yet."""
        pending = np.flatnonzero(mask & (self._row_index < 0))
        if not len(pending):
            return
        self._reserve_rows(len(self._computed_columns) + len(pending))
        for column in pending.tolist():
            self._add_row(column)

    def _reserve_rows(self, n_rows: int) -> None:
        if n_rows <= len(self._matrix):
            return
        # The capacity doubles, so that a long search does not copy the matrix at every step.
        capacity = min(max(n_rows, 2 * len(self._matrix)), len(self._used))
        check_memory(
            8.0 * capacity * len(self._row_index),
            f"{capacity:,} rows of {len(self._row_index):,} associations",
            "Keep fewer columns first, with RankSelector, or search forward.",
        )
        matrix = np.empty((capacity, len(self._row_index)))
        matrix[: len(self._computed_columns)] = self._matrix[: len(self._computed_columns)]
        self._matrix = matrix

    def _add_row(self, column: int) -> None:
        n_rows = len(self._computed_columns)
        row = self._matrix[n_rows]
        row[:] = 0.0
        row[column] = self._diagonal[column]
        row[self._computed_columns] = self._matrix[:n_rows, column]
        rest = self._used[(self._row_index[self._used] < 0) & (self._used != column)]
        row[rest] = self._rounded_associations(np.full(len(rest), column), rest)
        self._row_index[column] = n_rows
        self._computed_columns = np.append(self._computed_columns, column)

    def _rounded_associations(self, i: NDArray[Any], j: NDArray[Any]) -> Floats:
        # Always in the order (lower column, higher column): the two orders can differ in the last bit.
        return round_to_scale(self._associations.associations(np.minimum(i, j), np.maximum(i, j)), self._scale)
