"""Rows of the matrix of associations between columns, counted when they are asked for, and exact sums over them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.candidates import Indices, Masks
from tamiz.criteria.base import PairwiseAssociations
from tamiz.kernels import subset_sums as kernels
from tamiz.statistics.base import Floats
from tamiz.statistics.exact import SplitNumbers, power_of_two_scale, round_to_scale, splitter
from tamiz.validation import check_memory

# A column that goes with itself by less than this share of what another does would lose digits that count.
_MIN_DIAGONAL_SHARE = 2.0**-16


class AssociationMatrix:
    """The matrix A of associations of one table.

    Parameters
    ----------
    associations : Pairs
    n_columns : int
    used : ndarray
        The columns that take part; the others' associations are 0.

    Attributes
    ----------
    exact : bool
        Whether sums are exact. They are not where associations of columns with themselves differ so much in size, such as
        variances of columns in different units, that the small ones would be lost beside the large ones.
    """

    def __init__(self, associations: PairwiseAssociations, n_columns: int, used: NDArray[np.intp]) -> None:
        self._associations = associations
        self._used = used
        own = np.zeros(n_columns)
        own[used] = associations.self_associations(used)
        # No column goes with another more than one of the two goes with itself.
        scale = power_of_two_scale(own)
        self.exact = bool((own[own > 0] > _MIN_DIAGONAL_SHARE * scale).all())
        self._scale = scale if self.exact else 0.0
        self._large = splitter(self._scale)
        self._diagonal = round_to_scale(own, self._scale)
        self._diagonal_parts = SplitNumbers.from_values(own, self._scale)
        self._matrix = np.empty((0, n_columns))
        # Where the row of a column stands, -1 while it is not there.
        self._row_index = np.full(n_columns, -1, dtype=np.int64)
        self._computed_columns = np.empty(0, dtype=np.intp)

    def column_sums(self, mask: Masks) -> SplitNumbers:
        """Return for every column its sum of associations with a set."""
        heads, tails = np.zeros((2, len(mask)))
        self._compute_rows(mask)
        kernels.add_split_rows(self._matrix, self._row_index[mask], self._large, heads, tails)
        return SplitNumbers(heads, tails)

    def totals(self, masks: Masks) -> Floats:
        """Return for every set the sum over all pairs of its columns, each with itself among them."""
        self._compute_rows(np.logical_or.reduce(masks))
        members = np.nonzero(masks)[1].astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(masks.sum(axis=1))]).astype(np.int64)
        out = np.empty((len(masks), 2))
        kernels.subset_pair_sums(self._matrix, self._row_index, self._diagonal, starts, members, self._large, out)
        return SplitNumbers(out[:, 0], out[:, 1]).value

    def totals_after_flips(self, mask: Masks, sums: SplitNumbers, columns: Indices, signs: Floats) -> Floats:
        """Return the totals of one set with each row of `columns` flipped; a sign is 1 for a column that comes in, else -1."""
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

    def to_dense(self) -> Floats:
        """Return the matrix."""
        self._compute_rows(np.isin(np.arange(len(self._row_index)), self._used))
        matrix = np.zeros((len(self._row_index), len(self._row_index)))
        matrix[self._computed_columns] = self._matrix[: len(self._computed_columns)]
        return matrix

    def _compute_rows(self, mask: Masks) -> None:
        """Count the rows of a set that are not there yet."""
        missing = np.flatnonzero(mask & (self._row_index < 0))
        if not len(missing):
            return
        self._reserve_rows(len(self._computed_columns) + len(missing))
        for column in missing.tolist():
            self._add_row(column)

    def _reserve_rows(self, n_rows: int) -> None:
        if n_rows <= len(self._matrix):
            return
        # For twice as many each time, so that a long search does not move them at every step.
        room = min(max(n_rows, 2 * len(self._matrix)), len(self._used))
        check_memory(
            8.0 * room * len(self._row_index),
            f"{room:,} rows of {len(self._row_index):,} associations",
            "Keep fewer columns first, with RankSelector, or search forward.",
        )
        matrix = np.empty((room, len(self._row_index)))
        matrix[: len(self._computed_columns)] = self._matrix[: len(self._computed_columns)]
        self._matrix = matrix

    def _add_row(self, column: int) -> None:
        place = len(self._computed_columns)
        row = self._matrix[place]
        row[:] = 0.0
        row[column] = self._diagonal[column]
        row[self._computed_columns] = self._matrix[:place, column]
        rest = self._used[(self._row_index[self._used] < 0) & (self._used != column)]
        row[rest] = self._rounded_associations(np.full(len(rest), column), rest)
        self._row_index[column] = place
        self._computed_columns = np.append(self._computed_columns, column)

    def _rounded_associations(self, i: NDArray[Any], j: NDArray[Any]) -> Floats:
        # Always from the lower column to the higher: the two ways round differ in their last bit.
        return round_to_scale(self._associations.associations(np.minimum(i, j), np.maximum(i, j)), self._scale)
