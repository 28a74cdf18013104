"""Rows of the matrix of associations between columns, counted when they are asked for, and exact sums over them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.candidates import Masks, Numbers
from tamiz.criteria.base import Pairs
from tamiz.kernels import subset_sums as kernels
from tamiz.statistics.base import Floats
from tamiz.statistics.exact import Parts, large_of, rounded, scale_of
from tamiz.validation import check_memory

# A column that goes with itself by less than this share of what another does would lose digits that count.
_LEAST_SHARE = 2.0**-16


class AssociationRows:
    """The matrix A of associations of one table.

    Parameters
    ----------
    pairs : Pairs
    n_columns : int
    used : ndarray
        The columns that take part; the others' associations are 0.

    Attributes
    ----------
    exact : bool
        Whether sums are exact. They are not where associations of columns with themselves differ so much in size, such as
        variances of columns in different units, that the small ones would be lost beside the large ones.
    """

    def __init__(self, pairs: Pairs, n_columns: int, used: NDArray[np.intp]) -> None:
        self._pairs = pairs
        self._used = used
        own = np.zeros(n_columns)
        own[used] = pairs.own(used)
        # No column goes with another more than one of the two goes with itself.
        scale = scale_of(own)
        self.exact = bool((own[own > 0] > _LEAST_SHARE * scale).all())
        self._scale = scale if self.exact else 0.0
        self._large = large_of(self._scale)
        self._diagonal = rounded(own, self._scale)
        self._own = Parts.of(own, self._scale)
        self._matrix = np.empty((0, n_columns))
        # Where the row of a column stands, -1 while it is not there.
        self._place = np.full(n_columns, -1, dtype=np.int64)
        self._known = np.empty(0, dtype=np.intp)

    def sums(self, mask: Masks) -> Parts:
        """Return for every column its sum of associations with a set."""
        heads, tails = np.zeros((2, len(mask)))
        self._need(mask)
        kernels.add_rows(self._matrix, self._place[mask], self._large, heads, tails)
        return Parts(heads, tails)

    def totals(self, masks: Masks) -> Floats:
        """Return for every set the sum over all pairs of its columns, each with itself among them."""
        self._need(np.logical_or.reduce(masks))
        members = np.nonzero(masks)[1].astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(masks.sum(axis=1))]).astype(np.int64)
        out = np.empty((len(masks), 2))
        kernels.pair_sums(self._matrix, self._place, self._diagonal, starts, members, self._large, out)
        return Parts(out[:, 0], out[:, 1]).value

    def flipped_totals(self, mask: Masks, sums: Parts, columns: Numbers, signs: Floats) -> Floats:
        """Return the totals of one set with each row of `columns` flipped; a sign is 1 for a column that comes in, else -1."""
        total = sums[mask].sum()
        for w in range(columns.shape[1]):
            flipped, sign = columns[:, w], signs[:, w]
            total = total + sums[flipped] * (2 * sign) + self._own[flipped]
            for earlier in range(w):
                between = Parts.of(self._between(columns[:, earlier], flipped), self._scale)
                total = total + between * (2 * sign * signs[:, earlier])
        return total.value

    def whole(self) -> Floats:
        """Return the matrix."""
        self._need(np.isin(np.arange(len(self._place)), self._used))
        matrix = np.zeros((len(self._place), len(self._place)))
        matrix[self._known] = self._matrix[: len(self._known)]
        return matrix

    def _need(self, mask: Masks) -> None:
        """Count the rows of a set that are not there yet."""
        missing = np.flatnonzero(mask & (self._place < 0))
        if not len(missing):
            return
        self._make_room(len(self._known) + len(missing))
        for column in missing.tolist():
            self._add_row(column)

    def _make_room(self, n_rows: int) -> None:
        if n_rows <= len(self._matrix):
            return
        # For twice as many each time, so that a long search does not move them at every step.
        room = min(max(n_rows, 2 * len(self._matrix)), len(self._used))
        check_memory(
            8.0 * room * len(self._place),
            f"{room:,} rows of {len(self._place):,} associations",
            "Keep fewer columns first, with RankSelector, or search forward.",
        )
        matrix = np.empty((room, len(self._place)))
        matrix[: len(self._known)] = self._matrix[: len(self._known)]
        self._matrix = matrix

    def _add_row(self, column: int) -> None:
        place = len(self._known)
        row = self._matrix[place]
        row[:] = 0.0
        row[column] = self._diagonal[column]
        row[self._known] = self._matrix[:place, column]
        rest = self._used[(self._place[self._used] < 0) & (self._used != column)]
        row[rest] = self._between(np.full(len(rest), column), rest)
        self._place[column] = place
        self._known = np.append(self._known, column)

    def _between(self, i: NDArray[Any], j: NDArray[Any]) -> Floats:
        # Always from the lower column to the higher: the two ways round differ in their last bit.
        return rounded(self._pairs.pairs(np.minimum(i, j), np.maximum(i, j)), self._scale)
