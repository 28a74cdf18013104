"""Exact search by a k-d tree, for few columns."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from tamiz import parallel, progress
from tamiz.graphs.points import Points
from tamiz.graphs.search.base import NeighborSearch
from tamiz.graphs.search.distinct import Distinct
from tamiz.graphs.search.euclidean_index import EuclideanIndex, refusal_without_rows
from tamiz.graphs.search.exact import ByProducts
from tamiz.graphs.search.pairs import Found, in_order
from tamiz.kernels.nearest import measure, refine
from tamiz.statistics.base import Floats

# Columns in which a tree still passes over most points, at its best: where the rows lie near a surface of few dimensions.
_MOST_COLUMNS = 15
# Points asked for beyond those wanted, first and for the rows that these leave in doubt: equally distant ones are many.
_MARGINS = (8, 64)
# The tree adds squares in another order: its distances may differ from ours by less than this share.
_ROUNDING = 1e-9
# Queries at a time.
_ROWS = 1024
# A number above this is too far away for the tree's squares.
_FARTHEST = 1e150


class Tree(NeighborSearch):
    """The nearest rows by a k-d tree, in at most 15 columns.

    Notes
    -----
    Cost O(n log n) in two or three columns, doubled by every further one where the rows fill them. Distances and ties are
    those of `Exact`, to the bit: what the tree finds is measured again, and rows for which equal distances leave a doubt
    are asked about more widely, in the end by comparing them with all rows.

    References
    ----------
    Friedman, Bentley and Finkel (1977), An algorithm for finding best matches in logarithmic expected time, ACM Transactions on
    Mathematical Software 3.

    Examples
    --------
    >>> from tamiz.graphs import Tree
    >>> from tamiz.graphs.points import Rows
    >>> Tree().fit(Rows([[0.0], [1.0], [3.0]])).query(1).indices
    array([1, 0, 1], dtype=int32)
    """

    def refusal(self, points: Points) -> str | None:
        """Return why the points are not rows of 1 to 15 columns of numbers, None where they are."""
        values = points.euclidean()
        if values is None:
            return refusal_without_rows(self, points)
        if 1 <= values.shape[1] <= _MOST_COLUMNS:
            return None
        return f"Tree takes 1 to {_MOST_COLUMNS} columns, got {values.shape[1]:,}. Use Exact()."

    def fit(self, points: Points) -> TreeIndex:
        """Make points ready for queries."""
        values = points.euclidean()
        assert values is not None
        return TreeIndex(points, Distinct(values))

    def seconds(self, n_points: int, n_columns: int) -> float:
        """Return about how long one core takes for the nearest of all points, when the rows fill the columns."""
        return 1.3e-6 * n_points * 2.0**n_columns * (n_points / 1e5) ** 0.4


class TreeIndex(EuclideanIndex):
    """Points in a Euclidean space of few columns, in a k-d tree."""

    description = "exact, by a k-d tree"

    def __init__(self, points: Points, distinct: Distinct) -> None:
        super().__init__(points, distinct)
        self._tree = cKDTree(distinct.values, balanced_tree=False)

    @cached_property
    def _exact(self) -> ByProducts:
        return ByProducts(self.points, self.distinct)

    def of_points(self, size: int) -> tuple[Floats, NDArray[np.int32]]:
        """Return the `size` nearest rows of every point, those it stands for among them."""
        return self.of_rows(self.distinct.values, size)

    def of_rows(self, values: Floats, size: int) -> tuple[Floats, NDArray[np.int32]]:
        """Return the `size` nearest rows of rows of numbers, with equal ones among them."""
        dist = np.full((len(values), size), np.inf)
        rows = np.full((len(values), size), self.points.n_samples, dtype=np.int32)
        near = np.abs(values).max(axis=1) <= _FARTHEST
        doubtful = np.flatnonzero(near)
        for margin in _MARGINS:
            doubtful = self._asked(values, doubtful, dist, rows, margin)
        rest = np.concatenate([doubtful, np.flatnonzero(~near)])
        if len(rest):
            found = self._exact.of_rows(values[rest], size)
            dist[rest], rows[rest] = (part.reshape(-1, size) for part in found)
        return dist.reshape(-1), rows.reshape(-1)

    def _asked(
        self, values: Floats, asked: NDArray[np.intp], dist: Floats, rows: NDArray[np.int32], margin: int
    ) -> NDArray[np.intp]:
        """Fill the lists of some rows by the tree; return those that points it did not name may belong to."""
        distinct, size = self.distinct, dist.shape[1]
        n_named = min(distinct.n_points, size + margin)

        def search(span: tuple[int, int]) -> NDArray[np.intp]:
            part = asked[slice(*span)]
            reached, named = self._tree.query(values[part], k=np.arange(1, n_named + 1))
            heaps = np.full(len(part) * size, np.inf), np.full(len(part) * size, self.points.n_samples, dtype=np.int32)
            standing = distinct.members, distinct.starts
            refine(values[part], distinct.values, named.astype(np.int32), *standing, *heaps, size)
            in_order(*heaps, np.arange(0, len(part) * size + 1, size))
            dist[part], rows[part] = (heap.reshape(-1, size) for heap in heaps)
            if n_named == distinct.n_points:
                return part[:0]
            return part[dist[part, -1] * (1.0 + _ROUNDING) >= reached[:, -1]]

        spans = parallel.spans(len(asked), _ROWS)
        doubtful = list(progress.track("Neighbours", parallel.map_blocks(search, spans), len(spans)))
        return np.concatenate(doubtful) if doubtful else asked

    def pairs(self, values: Floats, reach: float, *, own: bool) -> Iterator[Found]:
        """Yield the pairs of rows of numbers and points within reach, those of the points themselves each once."""
        if np.abs(values).max(initial=0.0) > _FARTHEST:
            return self._exact.pairs(values, reach, own=own)

        def pairs(span: tuple[int, int]) -> Found:
            some = cKDTree(values[slice(*span)], balanced_tree=False)
            named = some.sparse_distance_matrix(self._tree, reach * (1.0 + _ROUNDING), output_type="ndarray")
            low, high = (named[side].astype(np.int32) for side in ("i", "j"))
            low += np.int32(span[0])
            if own:
                low, high = low[low < high], high[low < high]
            dist = np.empty(len(low))
            measure(values, low, self.distinct.values, high, dist)
            kept = dist <= reach
            return low[kept], high[kept], dist[kept]

        spans = parallel.spans(len(values), _ROWS)
        return progress.track("Neighbours", parallel.map_blocks(pairs, spans), len(spans))
