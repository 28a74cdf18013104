"""The nearest rows outside the component of a row, for rows whose neighbours all lie inside."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from tamiz import parallel
from tamiz.graphs.points import Points
from tamiz.graphs.spanning.balls import CHUNK_ROWS, ROUNDING_MARGIN, BallBlocks, OutsideChunk
from tamiz.kernels.spanning import nearest_by_component
from tamiz.statistics.base import Floats

# Numbers of one piece of work.
_CHUNK_VALUES = 2**21
# Pieces of work between two looks at what they found.
_CHUNKS_PER_BATCH = 8
# Beyond these powers of two the squares of numbers, or of their differences, may overflow or vanish.
_MAX_EXPONENT = 300


@dataclass(frozen=True)
class OutsideNeighbors:
    """Rows found outside the components of some rows.

    Attributes
    ----------
    rows : ndarray of shape (n_rows,), int32
        The rows that were looked at, in an order of the search's own.
    outside_rows : ndarray of shape (n_rows, n_listed), int32
        Outside rows, nearest first; the row itself where there are no more.
    lengths : ndarray of shape (n_rows, n_listed)
        Their distances, infinite for the row itself.
    min_unlisted : ndarray of shape (n_rows,)
        No row of a component that is not listed is nearer; infinite where all components are.
    min_unlisted_row : ndarray of shape (n_rows,), int32
        No such row at the distance `min_unlisted` makes an edge whose lower row is below this.
    """

    rows: NDArray[np.int32]
    outside_rows: NDArray[np.int32]
    lengths: Floats
    min_unlisted: Floats
    min_unlisted_row: NDArray[np.int32]

    @classmethod
    def concatenate(cls, parts: list[OutsideNeighbors]) -> OutsideNeighbors:
        """Return what several searches found."""
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))


class OutsideSearch(ABC):
    """Points made ready for searches outside components.

    Attributes
    ----------
    n_listed : int
        Outside rows that a search lists for a row.
    """

    n_listed: int

    @abstractmethod
    def nearest(
        self, rows: NDArray[np.int32], labels: NDArray[np.int32], limits: Floats, min_unlisted: Floats
    ) -> OutsideNeighbors:
        """Return the nearest outside rows, at least of every row that may have the shortest edge out of its component.

        Parameters
        ----------
        rows : ndarray of shape (n_rows,)
        labels : ndarray of shape (n_samples,)
            The component of every row of the points.
        limits : ndarray of shape (n_components,)
            The shortest known edge out of every component: longer ones need not be found.
        min_unlisted : ndarray of shape (n_samples,)
            What is known already: the outside rows of a row are no nearer.
        """


def choose_outside_search(points: Points, labels: NDArray[np.int32]) -> OutsideSearch:
    """Return the search that suits the points, for components that are joined from now on but never cut."""
    values = points.euclidean_values()
    return DistanceOutsideSearch(points) if values is None else BallOutsideSearch(points, values, labels)


class DistanceOutsideSearch(OutsideSearch):
    """All distances of a row, row by row, the likeliest rows first.

    The nearest row in each of several components is listed, so that a row need not be looked at again as soon as its
    component has been joined to the nearest other one.
    """

    n_listed = 8

    def __init__(self, points: Points) -> None:
        self._points = points

    def nearest(
        self, rows: NDArray[np.int32], labels: NDArray[np.int32], limits: Floats, min_unlisted: Floats
    ) -> OutsideNeighbors:
        """Return the nearest outside rows."""
        limits = limits.copy()
        waiting = rows[np.argsort(min_unlisted[rows], kind="stable")]
        size = max(1, _CHUNK_VALUES // self._points.n_samples)
        found: list[OutsideNeighbors] = []

        def look(part: NDArray[np.int32]) -> OutsideNeighbors:
            distances = self._points.block(self._points.take(part.astype(np.intp)), 0, len(part))
            near = np.empty((len(part), self.n_listed), dtype=np.int32)
            lengths = np.empty(near.shape)
            nearest_by_component(distances, part, labels, len(limits), near, lengths)
            last = lengths[:, -1] if len(limits) - 1 > self.n_listed else np.full(len(part), np.inf)
            return OutsideNeighbors(part, near, lengths, last, np.minimum(part, near[:, -1] + 1))

        while waiting.size:
            batch, waiting = np.split(waiting, [_CHUNKS_PER_BATCH * size])
            for part in parallel.map_blocks(look, np.split(batch, range(size, len(batch), size))):
                np.minimum.at(limits, labels[part.rows], part.lengths[:, 0])
                found.append(part)
            waiting = waiting[min_unlisted[waiting] <= limits[labels[waiting]]]
        return OutsideNeighbors.concatenate(found)


class BallOutsideSearch(OutsideSearch):
    """Products of blocks of rows, where the balls around two blocks come near enough."""

    n_listed = 1

    def __init__(self, points: Points, values: Floats, labels: NDArray[np.int32]) -> None:
        self._points = points
        exponent = int(np.frexp(max(values.max(), -values.min()))[1])
        # A power of two changes no digit.
        self._scale = 1.0 if abs(exponent) <= _MAX_EXPONENT else float(np.ldexp(1.0, min(-exponent, 1000)))
        self._balls = BallBlocks(values if self._scale == 1.0 else values * self._scale, labels)

    def nearest(
        self, rows: NDArray[np.int32], labels: NDArray[np.int32], limits: Floats, min_unlisted: Floats
    ) -> OutsideNeighbors:
        """Return the nearest outside rows."""
        owner = self._balls.block_components(labels)
        caps = np.full(len(limits), np.inf)
        for c in np.unique(labels[rows]):
            caps[c] = self._points.to_euclidean(float(limits[c])) * self._scale * (1 + ROUNDING_MARGIN)
        gap = self._nearest_ball_distances(rows, owner, caps)
        cap = caps[labels[rows]]
        far = gap > cap
        found = [self._certain_neighbors(rows[far], np.full(far.sum(), np.inf), rows[far], gap[far])]
        worth = np.flatnonzero(~far & (min_unlisted[rows] <= self._metric_distances(cap) * (1 + ROUNDING_MARGIN)))
        worth = worth[np.argsort(self._balls.positions[rows[worth]])]
        parts = np.split(worth, range(CHUNK_ROWS, len(worth), CHUNK_ROWS)) if len(worth) else []
        # The chunks that lie nearest to others come first: what they find spares the rest much work.
        parts.sort(key=lambda part: float(gap[part].min()))
        size = _CHUNKS_PER_BATCH
        while parts:
            batch, parts = parts[:size], parts[size:]
            chunks = [OutsideChunk(self._balls, rows[part], labels, owner, caps) for part in batch]
            # The next batch sees what this one found, and no chunk sees another of its own: threads change nothing.
            for chunk in list(parallel.map_blocks(OutsideChunk.search, chunks)):
                np.minimum.at(caps, labels[chunk.rows], chunk.best_distances)
                found.append(
                    self._certain_neighbors(chunk.rows, chunk.best_distances, chunk.nearest_rows, chunk.lower_bounds)
                )
            size *= 2
        return OutsideNeighbors.concatenate(found)

    def _metric_distances(self, distances: Floats) -> Floats:
        return self._points.from_euclidean(distances / self._scale)

    def _nearest_ball_distances(
        self, rows: NDArray[np.int32], block_components: NDArray[np.int32], limits: Floats
    ) -> Floats:
        """Return how far off the nearest outside ball of every row's is, and lower the caps to lengths that there must be."""
        groups, member = np.unique(self._balls.block_of_row[rows], return_inverse=True)
        size = max(1, _CHUNK_VALUES // 8 // len(block_components))

        def look(part: NDArray[np.int32]) -> tuple[Floats, Floats]:
            least, most = self._balls.distance_bounds(part, block_components)
            return least.min(axis=1), most.min(axis=1)

        looks = list(parallel.map_blocks(look, np.split(groups, range(size, len(groups), size))))
        least, most = (np.concatenate(ends) for ends in zip(*looks, strict=True))
        single = block_components[groups] >= 0
        np.minimum.at(limits, block_components[groups][single], most[single])
        return np.asarray(least[member])

    def _certain_neighbors(
        self, rows: NDArray[np.int32], best: Floats, other: NDArray[np.int32], bound: Floats
    ) -> OutsideNeighbors:
        """Return what is sure of the nearest outside rows when rows from a bound on were passed over."""
        sure = best < bound
        lengths = np.where(sure, self._metric_distances(best), np.inf)
        reach = np.where(sure, lengths, self._metric_distances(bound))
        near = np.where(sure, other, rows)
        low = np.where(sure, np.minimum(rows, other + 1), np.int32(0))
        return OutsideNeighbors(rows, near[:, None], lengths[:, None], reach, low)
