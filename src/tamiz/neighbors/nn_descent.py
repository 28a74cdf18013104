"""Approximate nearest neighbours by nearest-neighbour descent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats
from tamiz.kernels.matrix_products import project_rows
from tamiz.kernels.nearest_neighbors import pair_distances, row_distances
from tamiz.kernels.nn_descent import (
    GROUP_SIZE,
    best_first_search,
    build_links,
    expand_neighbor_lists,
    find_leaves,
    grow_tree,
    join_groups,
    join_leaves,
)
from tamiz.kernels.primitives import distance_keys
from tamiz.neighbors.base import (
    DistinctRows,
    EuclideanIndex,
    Neighbors,
    NeighborSearch,
    PairArrays,
    drop_own_rows,
    evenly_spaced_rows,
    leading_directions,
    unsupported_points_message,
)
from tamiz.neighbors.exact_search import ProductIndex
from tamiz.neighbors.points import Points, hash_values
from tamiz.runtime import parallel, progress
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.user_warnings import warn
from tamiz.runtime.validation import check_memory, check_real
from tamiz.storage.invariants import Integer, Invariants, Nullable, Number

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


# Up to this number of columns all are used; with more, the smallest sufficient one of these numbers of directions.
_MAX_PLAIN_COLUMNS = 128


_DIRECTION_COUNTS = (64, 96, 128)


# Sample sizes: rows for the directions, rows for the centre, rows whose neighbours are compared with those along the directions.
_DIRECTION_ROWS, _CENTRE_ROWS, _TRIAL_ROWS = 4096, 1024, 64


# Limits of the sample for the relative rounding: rows and values; and the rounding above which lists are made longer.
_MIN_ROUNDING_ROWS, _MAX_ROUNDING_ROWS, _MAX_ROUNDING_VALUES, _HIGH_ROUNDING = 4, 16, 2**28, 2.0**-10


# Scaled values are clipped to this magnitude.
_MAX_ABS_VALUE = 2.0**50


# Values per block of work.
_REDUCED_CHUNK = 2**19


@dataclass(frozen=True)
class ReducedRows:
    """Centred and scaled rows in float32, along a few orthonormal directions or, with `directions` None, in all columns.

    Their distances are those of the original rows times `scale`, a power of two, or shorter along directions. Lists need
    `n_listed` entries to contain the k nearest original rows. `relative_rounding` is the rounding to float32 in units of the
    distance of the k-th neighbour; it is large if groups of rows are far apart.
    """

    rows: Floats32
    n_listed: int
    relative_rounding: float
    centre: Floats
    scale: float
    directions: Floats | None = None

    @classmethod
    def from_values(cls, values: Floats, k: int, min_recall: float) -> Self:
        """Return the reduced rows of a matrix; directions are used if lists along them contain the share `min_recall` of a
        sample.
        """
        sample = values[evenly_spaced_rows(len(values), _DIRECTION_ROWS)]
        centre, scale = _centre_and_scale(sample)
        rounding = _relative_rounding(values, centre, k)
        n_listed = 2 * k + 2
        if values.shape[1] > _MAX_PLAIN_COLUMNS and len(values) > 8 * n_listed and rounding < _HIGH_ROUNDING:
            directions = leading_directions(
                _scale_rows(sample, centre, scale).astype(np.float32), _DIRECTION_COUNTS[-1]
            ).T.astype(np.float64)
            along, squared_distances = _project_rows(values, centre, scale, directions)
            for n_directions in _DIRECTION_COUNTS:
                part = along[:, :n_directions]
                if _projected_recall(part, squared_distances, k, n_listed) >= min_recall:
                    kept = np.ascontiguousarray(directions[:n_directions])
                    return cls(np.ascontiguousarray(part), n_listed, rounding, centre, scale, kept)
        rows = np.empty(values.shape, dtype=np.float32)

        def fill(span: tuple[int, int]) -> None:
            rows[slice(*span)] = _scale_rows(values[slice(*span)], centre, scale)

        _map_chunks(values, fill)
        return cls(rows, n_listed if rounding > _HIGH_ROUNDING else k + 1, rounding, centre, scale)

    def transform(self, values: Floats) -> Floats32:
        """Return the reduced form of new rows, each independent of the others."""
        scaled = _scale_rows(values, self.centre, self.scale)
        if self.directions is None:
            return scaled.astype(np.float32)
        along = np.empty((len(values), len(self.directions)))
        project_rows(scaled, self.directions, along)
        return along.astype(np.float32)


def _centre_and_scale(sample: Floats) -> tuple[Floats, float]:
    """Return the median of sampled rows, and the power of two that scales the median deviation to about 1; both are robust."""
    centre = np.median(sample[evenly_spaced_rows(len(sample), _CENTRE_ROWS)], axis=0)
    deviations = np.abs(sample - centre)
    deviations = deviations[deviations > 0.0]
    return centre, float(np.ldexp(1.0, -int(np.frexp(np.median(deviations))[1]))) if deviations.size else 1.0


def _scale_rows(values: Floats, centre: Floats, scale: float) -> Floats:
    """Return centred and scaled rows, clipped to values whose squares are within the range of float32."""
    scaled = values - centre
    scaled *= scale
    return np.clip(scaled, -_MAX_ABS_VALUE, _MAX_ABS_VALUE, out=scaled)


def _relative_rounding(values: Floats, centre: Floats, k: int) -> float:
    """Return the rounding of a row to float32 relative to the distance of its k-th neighbour: the 0.9 quantile of a sample."""
    n_sampled = int(np.clip(_MAX_ROUNDING_VALUES // values.size, _MIN_ROUNDING_ROWS, _MAX_ROUNDING_ROWS))
    sampled = evenly_spaced_rows(len(values), n_sampled)

    def relative_rounding(row: int) -> float:
        distances = np.empty(len(values))
        row_distances(values, row, values, distances)
        last = min(k, len(values) - 1)
        distance = float(np.partition(distances, last)[last])
        return float(np.linalg.norm(values[row] - centre)) * 2.0**-24 / distance if distance > 0.0 else 0.0

    return float(np.quantile(list(parallel.map_blocks(relative_rounding, sampled)), 0.9))


def _map_chunks(values: Floats, fill: Callable[[tuple[int, int]], None]) -> None:
    parallel.run_blocks(fill, parallel.block_ranges(len(values), 1 + _REDUCED_CHUNK // max(values.shape[1], 1)))


def _project_rows(values: Floats, centre: Floats, scale: float, directions: Floats) -> tuple[Floats32, Floats32]:
    """Return the projections of all rows, and the squared distances from the rows of a sample to all rows."""
    along = np.empty((len(values), len(directions)), dtype=np.float32)
    sample = _scale_rows(values[evenly_spaced_rows(len(values), _TRIAL_ROWS)], centre, scale).astype(np.float32)
    squared_distances = np.empty((len(sample), len(values)), dtype=np.float32)
    transposed = np.ascontiguousarray(directions.T, dtype=np.float32)
    lengths = np.einsum("ij,ij->i", sample, sample)[:, None]

    def fill(span: tuple[int, int]) -> None:
        part = _scale_rows(values[slice(*span)], centre, scale).astype(np.float32)
        np.matmul(part, transposed, out=along[slice(*span)])
        squared_distances[:, slice(*span)] = lengths + np.einsum("ij,ij->i", part, part) - 2 * (sample @ part.T)

    _map_chunks(values, fill)
    return along, squared_distances


def _projected_recall(projected: Floats32, squared_distances: Floats32, k: int, n_listed: int) -> float:
    """Return the share of the k nearest rows of the sample that are among the `n_listed` nearest along the directions.

    Both lists contain the row itself, which is subtracted from the count.
    """
    sample = projected[evenly_spaced_rows(len(projected), len(squared_distances))]
    squares = np.einsum("ij,ij->i", projected, projected)

    def count(span: tuple[int, int]) -> int:
        nearest = np.argpartition(squared_distances[slice(*span)], k, axis=1)[:, : k + 1]
        near = squares - 2 * (sample[slice(*span)] @ projected.T)
        last = np.partition(near, n_listed, axis=1)[:, n_listed, None]
        return int((np.take_along_axis(near, nearest, axis=1) <= last).sum()) - len(nearest)

    return sum(parallel.map_blocks(count, parallel.block_ranges(len(sample), 8))) / (len(sample) * k)


# Rows of a leaf, which is a group of the descent.
LEAF_SIZE = GROUP_SIZE


# Candidate pairs of rows for the direction of a split.
_N_SPLIT_PAIRS = 3


@dataclass(frozen=True)
class ProjectionTree:
    """A random-projection tree: the rows sorted by leaf, of which the first is smaller than LEAF_SIZE by `offset`, and the
    splits.

    Direction and threshold of each split are entries of two arrays; the first entry of both is unused.
    """

    order: Indices
    offset: int
    directions: Floats32
    thresholds: Floats32

    @classmethod
    def build(cls, rows: Floats32, seed: int, *, offset: bool = True) -> Self:
        """Grow a tree; with `offset` the first leaf is smaller by a random number of rows, so that leaves end at different rows
        in every tree, even if the rows are on a line.
        """
        rng = np.random.default_rng(seed)
        n_missing = int(rng.integers(LEAF_SIZE)) if offset else 0
        n_leaves = -(-(len(rows) + n_missing) // LEAF_SIZE)
        order = np.arange(len(rows), dtype=np.int32)
        directions = np.zeros((n_leaves, rows.shape[1]), dtype=np.float32)
        thresholds = np.zeros(n_leaves, dtype=np.float32)
        draws = rng.random((n_leaves, 2 * _N_SPLIT_PAIRS))
        grow_tree(rows, draws, LEAF_SIZE, n_missing, order, directions, thresholds)
        return cls(order, n_missing, directions, thresholds)

    def leaf_starts(self, rows: Floats32) -> Indices:
        """Return the position in `order` at which each row's leaf starts; negative for a smaller first leaf."""
        leaves = np.empty(len(rows), dtype=np.int32)
        find_leaves(rows, self.directions, self.thresholds, leaves)
        return leaves * np.int32(LEAF_SIZE) - np.int32(self.offset)


def build_trees(rows: Floats32, seeds: NDArray[np.int64]) -> list[ProjectionTree]:
    return list(parallel.map_blocks(lambda seed: ProjectionTree.build(rows, int(seed)), seeds))


class NeighborLists:
    """The nearest rows found so far of every row, with the rows sorted by the leaves of a tree.

    The first lists contain the nearest rows of the same leaf, in one tree per seed. Passes improve them in place, in the format
    of `tamiz.kernels.nn_descent`. New rows are searched after the last pass; the links that `find_nearest` follows are cached
    until the next pass. `original_rows` are the numbers of the sorted rows, and `positions` the inverse.
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
    """The k neighbours of each point, found by nearest-neighbour descent that stops at a target recall.

    `needs_brute_force` is whether all pairs must be compared instead: because that is less work than reaching the target, or
    because float32 cannot distinguish the rows.
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
        hashes = hash_values(self._distinct.values)
        order = np.argsort(hashes, kind="stable")
        return hashes[order], order.astype(np.int32)

    def _equal_points(self, values: Floats, k: int) -> Indices:
        """Return up to k points with the hash of each row, padded with -1: the first equal points, and possibly collisions."""
        hashes, points = self._sorted_hashes
        own = hash_values(values)
        at = np.searchsorted(hashes, own)[:, None] + np.arange(k)
        inside = np.minimum(at, len(hashes) - 1)
        same = (at < len(hashes)) & (hashes[inside] == own[:, None])
        return np.where(same, points[inside], np.int32(-1))


def _nearest_rows(
    distinct: DistinctRows, values: Floats, row_indices: Indices, candidates: Indices, size: int
) -> tuple[Floats, Indices]:
    """Return the `size` nearest rows of some rows of `values` among their candidate points, with exact distances.

    `candidates` has a row for each of `row_indices`; negative entries are ignored, and duplicates are allowed. The nearest row
    comes first, of ties the lower one; inf and -1 stand for rows that there are not.
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

    Distances between the rows of the lists are at most those of the points times `scale`; the point itself is one of its `size`
    nearest rows.
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


# With fewer rows, comparing all pairs is faster.
_MIN_ROWS = 2000
# Least number of neighbours for which lists are computed.
_MIN_NEIGHBORS = 15
# A warning is issued if the recall is below the target by more than this.
_RECALL_SLACK = 0.01


class NNDescent(NeighborSearch):
    """Approximate nearest neighbours: rows are compared with neighbours of their neighbours until few lists improve.

    Parameters
    ----------
    recall : float, default=0.99
        Target share of the true neighbours, estimated on a sample of exact searches. The search stops when the target is reached
        or the recall hardly improves. The index and the graph have the reached value in `recall`.
    random_state : int, Generator or None, default=None
        Seed of the trees and of the sample.

    Raises
    ------
    ValueError
        When `recall` is not within [0, 1].

    Notes
    -----
    Cost about O(n log n) for data of low intrinsic dimension. For data of high intrinsic dimension, such as noise, the recall stays
    low. The lists start from the leaves of random-projection trees. A pass compares the rows of a leaf with all rows that two links
    from any of them lead to, in float32. Many columns are reduced to their leading directions if these suffice. Final distances are
    those of an exact search, to the bit. If there are many equal rows, they are searched once. The result for a seed does not
    depend on the number of threads.

    References
    ----------
    Dong, Moses and Li (2011), Efficient k-nearest neighbor graph construction for generic similarity measures, WWW;
    Dasgupta and Freund (2008), Random projection trees and low dimensional manifolds, STOC.

    Examples
    --------
    >>> import numpy as np
    >>> from tamiz.neighbors import NNDescent
    >>> from tamiz.neighbors.points import EuclideanPoints
    >>> index = NNDescent(random_state=0).fit(EuclideanPoints(np.arange(3000.0)[:, None]))
    >>> index.query(2).indices[:4]
    array([1, 2, 0, 2], dtype=int32)
    """

    def __init__(self, *, recall: float = 0.99, random_state: Seed = None) -> None:
        self.recall = recall
        self.random_state = random_state

    def unsupported_reason(self, points: Points) -> str | None:
        """Return why the points are not supported, or None: the search requires at least 2,000 rows of numbers."""
        if points.euclidean_values() is None:
            return unsupported_points_message(self, points)
        if points.n_samples >= _MIN_ROWS:
            return None
        return f"NNDescent requires at least {_MIN_ROWS:,} rows, got {points.n_samples:,}. Use BruteForce()."

    def fit(self, points: Points) -> NNDescentIndex:
        """Return an index of the points; the lists are computed by the first query."""
        target = check_real("recall", self.recall, low=0.0)
        if target > 1.0:
            raise ValueError(f"recall must be at most 1, got {target}.")
        return NNDescentIndex(points, target, int(make_rng(self.random_state).integers(2**62)))


class NNDescentIndex(EuclideanIndex):
    """Points with approximate lists of their neighbours; `recall` is that of the last query, before the first that of 15
    neighbours.
    """

    description = "approximate, by nearest-neighbour descent"
    invariants: ClassVar[Invariants] = {
        "target": Number(0.0, 1.0),
        "seed": Integer(),
        "recall": Nullable(Number(0.0, 1.0)),
    }

    def __init__(self, points: Points, target: float, seed: int) -> None:
        values = points.euclidean_values()
        assert values is not None
        super().__init__(points, DistinctRows(values))
        self._target = target
        self._seed = seed
        self._result: NNDescentResult | None = None
        self._recall: float | None = None

    @property
    def recall(self) -> float:  # type: ignore[override]
        """Share of the true neighbours that were found, estimated."""
        if self._recall is None:
            self.query(min(_MIN_NEIGHBORS, self.points.n_samples - 1))
        assert self._recall is not None
        return self._recall

    def get_state(self) -> dict[str, Any]:
        """Return the points and the parameters of the lists, which are computed again for the next query."""
        return {"points": self.points, "target": self._target, "seed": self._seed, "recall": self._recall}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Return the index without lists, and with the saved recall."""
        index = cls(state["points"], state["target"], state["seed"])
        index._recall = state["recall"]
        return index

    def query(self, k: int, queries: Points | None = None) -> Neighbors:
        """Return k near points of every query, independently of other queries, or of every point among the others."""
        with parallel.thread_session():
            return self._complete_lists(super().query(k, queries), k, queries)

    def nearest_to_points(self, size: int) -> tuple[Floats, NDArray[np.int32]]:
        """Return `size` near rows of every point, including the rows equal to it; -1 where fewer were found."""
        result = self._run_descent(size - 1)
        if result.needs_brute_force:
            self._recall = 1.0
            return self._brute_force.nearest_to_points(size)
        self._recall = result.recall(size - 1)
        return result.nearest_lists(size)

    def nearest_to_rows(self, values: Floats, size: int) -> tuple[Floats, NDArray[np.int32]]:
        """Return `size` near rows of other rows; -1 where fewer were found."""
        result = self._run_descent(size)
        if result.needs_brute_force:
            self._recall = 1.0
            return self._brute_force.nearest_to_rows(values, size)
        return result.find_nearest(values, size)

    def _complete_lists(self, neighbors: Neighbors, k: int, queries: Points | None) -> Neighbors:
        """Return the neighbours, with exact lists for the rows for which fewer than k were found."""
        incomplete = np.flatnonzero(neighbors.indices[k - 1 :: k] < 0)
        if not incomplete.size:
            return neighbors
        rows = (self.points if queries is None else queries).take(incomplete)
        exact = self._brute_force.query(k + (queries is None), rows)
        indices, distances = exact.indices.reshape(incomplete.size, -1), exact.distances.reshape(incomplete.size, -1)
        if queries is None:
            indices, distances = drop_own_rows(incomplete, indices, distances)
        neighbors.indices.reshape(-1, k)[incomplete] = indices
        neighbors.distances.reshape(-1, k)[incomplete] = distances
        return neighbors

    def pairs_within(self, values: Floats, max_distance: float) -> Iterator[PairArrays]:
        return self._brute_force.pairs_within(values, max_distance)

    @cached_property
    def _brute_force(self) -> ProductIndex:
        return ProductIndex(self.points, self.distinct)

    def _run_descent(self, k: int) -> NNDescentResult:
        # Lists of at least 15 neighbours are shared by all queries of up to 15.
        size = max(k, min(_MIN_NEIGHBORS, self.points.n_samples - 1))
        if self._result is None or self._result.k != size:
            self._result = result = NNDescentResult(self.distinct, size, self._target, self._seed)
            if not result.needs_brute_force and result.recall(size) < self._target - _RECALL_SLACK:
                warn(
                    "TZ404",
                    f"NNDescent finds about {result.recall(size):.3g} of the nearest neighbours, fewer than the "
                    f"{self._target:g} requested; BruteForce() finds all.",
                )
        return self._result
