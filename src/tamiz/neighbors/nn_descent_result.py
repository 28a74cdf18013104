"""The run of a nearest-neighbour descent: passes that improve the lists of neighbours, their recall, and the search of new rows.

`NeighborLists` contains the lists in float32, `NNDescentResult` computes the exact distances of their rows.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats
from tamiz.kernels.nearest_neighbors import hash_rows, pair_distances
from tamiz.kernels.nn_descent import (
    GROUP_SIZE,
    best_first_search,
    build_links,
    expand_neighbor_lists,
    join_groups,
    join_leaves,
)
from tamiz.kernels.primitives import distance_keys
from tamiz.neighbors.projection_tree import ProjectionTree, build_trees
from tamiz.neighbors.search_rows import DistinctRows, ReducedRows
from tamiz.runtime import parallel, progress
from tamiz.runtime.validation import check_memory

Floats32 = NDArray[np.float32]
Indices = NDArray[np.int32]

# Points whose neighbours are searched exactly to estimate the recall.
_RECALL_SAMPLE = 500
# Least number of entries of a list; with fewer, the descent does not converge.
_MIN_LIST_SIZE = 16
# Largest number of passes; least gain of recall of a pass, absolute and as a share of the missing recall.
_MAX_PASSES, _MIN_GAIN, _MIN_RELATIVE_GAIN = 12, 0.002, 0.1
# Largest share of the n^2 ordered pairs that passes may compare.
_MAX_PAIR_SHARE = 0.25
# Relative rounding, in units of a neighbour's distance, above which float32 rows are too coarse for a search.
_MAX_ROUNDING = 0.1
# Least number of candidates in the search for a new row.
_MIN_CANDIDATES = 48
# Lists whose distances are computed at a time, and products computed at a time.
_LIST_BATCH, _CHUNK_VALUES = 1024, 2**22
# Bound of the rounding error of a squared distance in float32, relative to the squared lengths.
_ROUNDING = 1e-5
# Number of nearest list entries that a wide or a narrow pass follows. With reverse links, a row has at most twice as many links.
_WIDE_PASS, _NARROW_PASS = 16, 8
# Groups per block of work.
_GROUPS_PER_CHUNK = 16
# Number of blocks in which links are built; each block reads all lists.
_N_LINK_RANGES = 8
# Trees in which the search for new rows starts, and rows searched at a time.
_N_START_TREES, _QUERY_BATCH = 4, 256


class NeighborLists:
    """The nearest rows found so far of every row, with the rows sorted by the leaves of a tree.

    The first lists contain the nearest rows of the same leaf, in one tree per seed. Passes improve them in place. New rows are
    searched after the last pass; the links that `find_nearest` follows are cached until the next pass.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_columns), float32
    n_listed : int
        Entries of each list.
    seeds : ndarray of int64
        A seed for each tree.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_columns), float32
        The rows, sorted by leaf.
    original_rows : ndarray of shape (n_rows,), int32
        Original number of each sorted row.
    positions : ndarray of shape (n_rows,), int32
        Sorted position of each original row.
    distances, entries : ndarrays of shape (n_rows, n_listed), float32 and int32
        The lists, in the format of `tamiz.kernels.nn_descent`; there are no distances after `discard_distances`.
    """

    def __init__(self, rows: Floats32, n_listed: int, seeds: NDArray[np.int64]) -> None:
        n = len(rows)
        first = ProjectionTree.build(rows, int(seeds[0]), offset=False)
        self.original_rows, self.rows = first.order, rows[first.order]
        self.positions = np.empty(n, dtype=np.int32)
        self.positions[self.original_rows] = np.arange(n, dtype=np.int32)
        self.distances = np.full((n, n_listed), np.inf, dtype=np.float32)
        self.entries = np.full((n, n_listed), -1, dtype=np.int32)
        self._cached_links: tuple[Indices, Indices] | None = None
        trees = [replace(first, order=np.arange(n, dtype=np.int32)), *build_trees(self.rows, seeds[1:])]
        self._trees = trees[:_N_START_TREES]
        self._join_leaves(trees)

    def add_trees(self, seeds: NDArray[np.int64]) -> None:
        """Compare the rows that share a leaf in additional trees."""
        self._join_leaves(build_trees(self.rows, seeds))

    def _join_leaves(self, trees: list[ProjectionTree]) -> None:
        self._cached_links = None
        for tree in trees:
            # One tree at a time: a row is in one leaf of a tree, so no two threads change the same list.
            order, offset = tree.order, tree.offset

            def join(span: tuple[int, int], order: Indices = order, offset: int = offset) -> None:
                join_leaves(self.rows, order, offset, *span, self.distances, self.entries)

            parallel.run_blocks(join, parallel.block_ranges(len(order) + offset, _GROUPS_PER_CHUNK * GROUP_SIZE))

    def improve(self, n_followed: int) -> int:
        """Compare the rows with neighbours of their neighbours, except pairs compared before; return the number of pairs."""
        self._cached_links = None
        links, filled = self._links(n_followed)
        self.entries[:, :n_followed] &= ~1

        def join(span: tuple[int, int]) -> int:
            return int(join_groups(self.rows, links, filled, *span, self.distances, self.entries))

        return sum(parallel.map_blocks(join, parallel.block_ranges(len(self.rows), _GROUPS_PER_CHUNK * GROUP_SIZE)))

    def _links(self, n_followed: int) -> tuple[Indices, Indices]:
        """Return the rows that each row is linked to, in either direction, and their numbers."""
        n = len(self.rows)
        links, filled = np.empty((n, 2 * n_followed), dtype=np.int32), np.empty(n, dtype=np.int32)

        def fill(span: tuple[int, int]) -> None:
            build_links(self.entries, min(n_followed, self.entries.shape[1]), *span, links, filled)

        parallel.run_blocks(fill, parallel.block_ranges(n, -(-n // _N_LINK_RANGES)))
        return links, filled

    def find_nearest(self, rows: Floats32, size: int) -> Indices:
        """Return the original numbers of the `size` rows found nearest to each new row; -1 where fewer were found."""
        self._cached_links = links = self._links(_WIDE_PASS) if self._cached_links is None else self._cached_links
        orders = np.stack([tree.order for tree in self._trees])
        out = np.empty((len(rows), size), dtype=np.int32)

        def search(span: tuple[int, int]) -> None:
            part = rows[slice(*span)]
            starts = np.stack([tree.leaf_starts(part) for tree in self._trees], axis=1)
            best_first_search(self.rows, *links, part, starts, orders, out[slice(*span)])

        parallel.run_blocks(search, parallel.block_ranges(len(rows), _QUERY_BATCH))
        return np.where(out < 0, np.int32(-1), self.original_rows[out])

    def discard_distances(self) -> None:
        """Free the distances of the lists, which only passes need; there can be no further pass."""
        del self.distances

    def listed_rows(self, positions: slice | NDArray[np.int32]) -> tuple[Indices, Indices]:
        """Return the original numbers of the rows at some positions, and of the rows in their lists; -1 for empty entries."""
        entries = self.entries[positions]
        return self.original_rows[positions], np.where(entries < 0, np.int32(-1), self.original_rows[entries >> 1])


class NNDescentResult:
    """The neighbours of points, found by nearest-neighbour descent.

    Parameters
    ----------
    distinct : DistinctRows
    k : int
        Neighbours of each row.
    target : float
        The recall at which to stop.
    seed : int

    Attributes
    ----------
    k : int
    needs_brute_force : bool
        Whether all pairs must be compared instead: because that is less work than reaching the target, or because float32 cannot
        distinguish the rows.
    """

    def __init__(self, distinct: DistinctRows, k: int, target: float, seed: int) -> None:
        self.k = k
        self._distinct = distinct
        n = distinct.n_points
        rng = np.random.default_rng(seed)
        sample = rng.permutation(n)[:_RECALL_SAMPLE]
        seeds = rng.integers(2**62, size=(_MAX_PASSES + 1, max(3, round(np.log2(n)) - 8)))
        progress.report_progress("Neighbours", 0, _MAX_PASSES + 2)
        check_memory(
            n * (8.0 * distinct.values.shape[1] + 40.0 * (k + 1) + 512.0),
            f"A descent on {n:,} rows of {distinct.values.shape[1]:,} columns",
            "Use fewer rows, or reduce the columns first.",
        )
        self._reduced_rows = ReducedRows.from_values(distinct.values, k, 1.0 - (1.0 - target) / 4.0)
        self.needs_brute_force = self._reduced_rows.relative_rounding > _MAX_ROUNDING
        if self.needs_brute_force:
            return
        n_listed = max(self._reduced_rows.n_listed, _MIN_LIST_SIZE)
        self._lists = NeighborLists(self._reduced_rows.rows, max(1, min(n_listed, n - 1)), seeds[0])
        progress.report_progress("Neighbours", 1, _MAX_PASSES + 2)
        self._sample = self._improve(sample, target, seeds[1:])
        self._lists.discard_distances()
        # The lists have a sorted copy of the rows.
        self._reduced_rows = replace(self._reduced_rows, rows=self._lists.rows[:0])
        progress.report_progress("Neighbours", _MAX_PASSES + 2, _MAX_PASSES + 2)

    def _improve(self, sample: NDArray[np.int64], target: float, seeds: NDArray[np.int64]) -> _RecallSample:
        """Run passes until the recall reaches the target or hardly improves; return the sample on which it is estimated.

        The first pass is wide. Then narrow passes follow while they improve the recall, then wide ones, then wide ones with
        additional trees.
        """
        n_pairs = self._lists.improve(_WIDE_PASS)
        recall_sample = _RecallSample(self._distinct, self._lists, self._reduced_rows.scale, sample, self.k + 1)
        widths = [_NARROW_PASS, _WIDE_PASS, _WIDE_PASS]
        for n_passes, tree_seeds in enumerate(seeds):
            before = recall_sample.recall(self.k)
            self.needs_brute_force = before < target and n_pairs > _MAX_PAIR_SHARE * self._distinct.n_points**2
            if before >= target or self.needs_brute_force or not widths:
                break
            progress.report_progress("Neighbours", 1 + n_passes, _MAX_PASSES + 2)
            if len(widths) == 1:
                self._lists.add_trees(tree_seeds)
            n_pairs += self._lists.improve(widths[0])
            recall_sample.update()
            if recall_sample.recall(self.k) - before < max(_MIN_GAIN, _MIN_RELATIVE_GAIN * (target - before)):
                widths.pop(0)
        return recall_sample

    def recall(self, k: int) -> float:
        """Return the estimated share of the true k nearest neighbours that are in the lists."""
        return self._sample.recall(k)

    def nearest_lists(self, size: int) -> tuple[Floats, Indices]:
        """Return the `size` nearest rows of every list with exact distances, as flat arrays; they are computed on each call."""
        n = self._distinct.n_points
        dist, rows = np.empty((n, size)), np.empty((n, size), dtype=np.int32)

        def measure(span: tuple[int, int]) -> None:
            points, near = self._lists.listed_rows(slice(*span))
            candidates = np.column_stack([points, near])
            dist[points], rows[points] = _nearest_rows(self._distinct, self._distinct.values, points, candidates, size)

        parallel.run_blocks(measure, parallel.block_ranges(n, _LIST_BATCH))
        return dist.reshape(-1), rows.reshape(-1)

    def find_nearest(self, values: Floats, k: int) -> tuple[Floats, Indices]:
        """Return the k rows found nearest to each new row; the result of a row is independent of others."""
        n_candidates = max(_MIN_CANDIDATES, 2 * k + 2)

        def search(span: tuple[int, int]) -> tuple[Floats, Indices]:
            part = values[slice(*span)]
            candidates = np.column_stack(
                [
                    self._lists.find_nearest(self._reduced_rows.transform(part), n_candidates),
                    self._equal_points(part, k),
                ]
            )
            return _nearest_rows(self._distinct, part, np.arange(len(part), dtype=np.int32), candidates, k)

        found = list(parallel.map_blocks(search, parallel.block_ranges(len(values), _LIST_BATCH)))
        dist, rows = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return dist, rows

    @cached_property
    def _sorted_hashes(self) -> tuple[NDArray[np.uint64], Indices]:
        """Hashes of the points in ascending order, and the points in this order."""
        hashes = _hash_rows(self._distinct.values)
        order = np.argsort(hashes, kind="stable")
        return hashes[order], order.astype(np.int32)

    def _equal_points(self, values: Floats, k: int) -> Indices:
        """Return up to k points with the hash of each row, padded with -1: the first equal points, and possibly collisions."""
        hashes, points = self._sorted_hashes
        own = _hash_rows(values)
        at = np.searchsorted(hashes, own)[:, None] + np.arange(k)
        inside = np.minimum(at, len(hashes) - 1)
        same = (at < len(hashes)) & (hashes[inside] == own[:, None])
        return np.where(same, points[inside], np.int32(-1))


def _hash_rows(values: Floats) -> NDArray[np.uint64]:
    hashes = np.empty(len(values), dtype=np.uint64)
    hash_rows(np.ascontiguousarray(values).view(np.uint64), hashes)
    return hashes


def _nearest_rows(
    distinct: DistinctRows, values: Floats, row_indices: Indices, candidates: Indices, size: int
) -> tuple[Floats, Indices]:
    """Return the `size` nearest rows of each row among its candidate points, with exact distances.

    Parameters
    ----------
    distinct : DistinctRows
    values : ndarray of shape (n_rows, n_columns)
    row_indices : ndarray of shape (n_lists,), int32
        The rows of `values` for which lists are computed.
    candidates : ndarray of shape (n_lists, n_candidates), int32
        Points of `distinct`. Negative entries are ignored, and duplicates are allowed.
    size : int

    Returns
    -------
    dist, rows : ndarrays of shape (n_lists, size)
        Nearest first, ties ordered by the lower row; inf and -1 if there are fewer rows.
    """
    n_lists, n_candidates = candidates.shape
    lengths = np.empty(candidates.size)
    pair_distances(
        values, np.repeat(row_indices, n_candidates), distinct.values, np.maximum(candidates, 0).reshape(-1), lengths
    )
    dist, rows = np.empty((n_lists, size)), np.empty((n_lists, size), dtype=np.int32)
    expand_neighbor_lists(candidates, lengths.reshape(candidates.shape), distinct.members, distinct.starts, dist, rows)
    return dist, rows


class _RecallSample:
    """A sample of points with known true neighbours, on which the recall of lists is estimated.

    Parameters
    ----------
    distinct : DistinctRows
    lists : NeighborLists
    scale : float
        Distances between the rows of the lists are at most those of the points times this scale.
    points : ndarray of shape (n_sampled,)
        The sampled points.
    size : int
        Number of nearest rows of each point, including the point itself.
    """

    def __init__(
        self, distinct: DistinctRows, lists: NeighborLists, scale: float, points: NDArray[np.int64], size: int
    ) -> None:
        self._distinct = distinct
        self._lists = lists
        self._scale = scale
        self._positions = lists.positions[points]
        self._size = size
        self.update()
        self._exact_distances = self._true_distances()

    def update(self) -> None:
        """Read the current lists of the sampled points."""
        points, near = self._lists.listed_rows(self._positions)
        candidates = np.column_stack([points, near])
        self._found_distances, _ = _nearest_rows(self._distinct, self._distinct.values, points, candidates, self._size)

    def recall(self, k: int) -> float:
        """Return the share of the k nearest neighbours that were found; others at the same distance count as found."""
        found, exact = (
            distance_keys(self._found_distances[:, : k + 1]),
            distance_keys(self._exact_distances[:, k, None]),
        )
        return float((found <= exact).sum() - len(found)) / (k * len(found))

    def _true_distances(self) -> Floats:
        """Return the true distances, computed from all points that may be as near as the last point found, by float32 bounds."""
        rows, numbers, values = self._lists.rows, self._lists.original_rows, self._distinct.values
        halves = np.einsum("ij,ij->i", rows, rows) * np.float32((1 - _ROUNDING) / 2)
        # A point v is a candidate of x if |v|^2 / 2 - x.v is at most this limit.
        limits = (self._found_distances[:, -1] * self._scale) ** 2 * (0.5 + _ROUNDING) - halves[self._positions] * (
            1 - 2 * _ROUNDING
        )
        limits = limits.astype(np.float32)

        def search(span: tuple[int, int]) -> Floats:
            positions = self._positions[slice(*span)]
            products = rows[positions] @ rows.T
            found = np.empty((len(positions), self._size))
            for i, (at, limit) in enumerate(zip(positions, limits[slice(*span)], strict=True)):
                near = numbers[np.flatnonzero(products[i] >= halves - limit)]
                found[i], _ = _nearest_rows(self._distinct, values, numbers[at : at + 1], near[None], self._size)
            return found

        spans = parallel.block_ranges(len(self._positions), max(1, _CHUNK_VALUES // len(rows)))
        return np.concatenate(list(parallel.map_blocks(search, spans)))
