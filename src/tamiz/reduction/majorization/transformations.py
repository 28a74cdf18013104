"""Transformations of dissimilarities to disparities: ratio, interval and ordinal, and their curves for new dissimilarities."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats, Indices, Masks
from tamiz.kernels.isotonic import (
    guttman_step_ordinal,
    merge_blocks,
    pool_adjacent_violators,
    scatter_disparities,
    sort_ties,
)
from tamiz.kernels.majorization import guttman_step, guttman_step_plane, regression_sums
from tamiz.kernels.primitives import distance_keys
from tamiz.reduction.majorization.pairs import CondensedPairs, accumulate_spans, condensed_indices
from tamiz.runtime import parallel
from tamiz.storage.invariants import FloatArray, Invariants, Number
from tamiz.storage.records import Serializable

# Added to squared distances before divisions; dissimilarities are near 1.
DISTANCE_GUARD = {np.dtype(np.float64): 1e-200, np.dtype(np.float32): 1e-30}
# Sorted pairs of one parallel task, and largest number of tasks with separate sums.
_ENTRIES_PER_TASK, _MAX_TASKS = 2**17, 16


class Transformation(ABC):
    """A class of transformations; disparities have the weighted sum of squares of the dissimilarities.

    Attributes
    ----------
    pairs : CondensedPairs
    total : float
        The weighted sum of squares.
    """

    def __init__(self, pairs: CondensedPairs) -> None:
        self.pairs = pairs
        self.total = pairs.weighted_sum(pairs.values, pairs.values)

    @abstractmethod
    def update(self, points: NDArray[Any]) -> tuple[Floats, float]:
        """Compute the optimal disparities for a configuration and the terms of its Guttman transform.

        Parameters
        ----------
        points : ndarray of shape (n_components, n)
            Of the type of the pairs.

        Returns
        -------
        pulled : ndarray of shape (n_components, n)
            B(X) X, where B has -weight disparity / distance off the diagonal and rows that sum to 0.
        residual : float
            The weighted sum of squared differences of disparities and distances.
        """

    @abstractmethod
    def disparities(self) -> NDArray[Any]:
        """Return the current disparities in the order of the pairs."""

    @abstractmethod
    def curve(self) -> DisparityCurve:
        """Return the current transformation as a curve for new dissimilarities."""


class RatioTransformation(Transformation):
    """The identity: disparities are the dissimilarities."""

    def update(self, points: NDArray[Any]) -> tuple[Floats, float]:
        """Return B(X) X and the residual sum of squares."""
        return _guttman_step_on_line(self.pairs, self.pairs.values, LinearCurve(), points)

    def disparities(self) -> NDArray[Any]:
        return self.pairs.values

    def curve(self) -> DisparityCurve:
        return LinearCurve()


class IntervalTransformation(Transformation):
    """A nondecreasing nonnegative line.

    Dissimilarities are shifted by their minimum: otherwise sums would cancel if the values differ by little.
    """

    def __init__(self, pairs: CondensedPairs) -> None:
        super().__init__(pairs)
        self._smallest = float(pairs.known_values().min())
        self._shifted = (pairs.values - self._smallest).astype(pairs.dtype)
        self._total_weight = float(pairs.row_weights().sum()) / 2
        self._sum = pairs.weighted_sum(self._shifted)
        self._squares = pairs.weighted_sum(self._shifted, self._shifted)
        self._line = LinearCurve()

    def update(self, points: NDArray[Any]) -> tuple[Floats, float]:
        """Fit the line; return B(X) X and the residual sum of squares."""
        pairs, shifted = self.pairs, self._shifted
        sums, _ = pairs.accumulate(
            lambda *span: regression_sums(shifted, pairs.weights, points, *span), (2,), np.float64
        )
        offset, slope = self._fit_line(*sums.tolist())
        squares = offset**2 * self._total_weight + 2 * offset * slope * self._sum + slope**2 * self._squares
        scale = float(np.sqrt(self.total / squares))
        self._line = LinearCurve(offset * scale, slope * scale, self._smallest)
        return _guttman_step_on_line(pairs, shifted, self._line, points)

    def _fit_line(self, distances: float, products: float) -> tuple[float, float]:
        """Return nonnegative offset and slope from the weighted sums of distances and of distances times values."""
        mass, first, second = self._total_weight, self._sum, self._squares
        determinant = mass * second - first**2
        offset = (second * distances - first * products) / determinant
        slope = (mass * products - first * distances) / determinant
        if offset < 0:
            return 0.0, products / second
        return (offset, slope) if slope >= 0 else (distances / mass, 0.0)

    def disparities(self) -> NDArray[Any]:
        number = self.pairs.dtype.type
        return np.asarray(number(self._line.offset) + number(self._line.slope) * self._shifted)

    def curve(self) -> DisparityCurve:
        return self._line


def _guttman_step_on_line(
    pairs: CondensedPairs, values: NDArray[Any], line: LinearCurve, points: NDArray[Any]
) -> tuple[Floats, float]:
    """Return B(X) X and the residual sum of squares for disparities on a line."""
    numbers = (line.offset, line.slope, DISTANCE_GUARD[pairs.dtype])

    def add(start: int, stop: int, sums: NDArray[Any]) -> float:
        if len(points) == 2 and not pairs.is_weighted:
            return float(guttman_step_plane(values, points, start, stop, *numbers, sums))
        return float(guttman_step(values, pairs.weights, points, start, stop, *numbers, sums))

    return pairs.accumulate(add, points.shape, pairs.dtype)


class OrdinalTransformation(Transformation):
    """Monotone regression: any disparities in the order of the dissimilarities.

    Parameters
    ----------
    pairs : CondensedPairs
    ties : {"primary", "secondary"}
        Dissimilarities with equal `distance_keys` may have different disparities in any order (primary), or have equal ones
        (secondary).
    """

    def __init__(self, pairs: CondensedPairs, ties: str) -> None:
        super().__init__(pairs)
        keys = distance_keys(pairs.values)
        order = np.argsort(keys, kind="stable")
        if pairs.is_weighted:
            order = order[pairs.weights[order] > 0]
        keys = keys[order]
        self._weights = pairs.weights[order] if pairs.is_weighted else pairs.weights
        self._first_rows, self._second_rows = _pair_rows(order, pairs.n)
        equal = np.zeros(len(keys), dtype=bool)
        np.equal(keys[1:], keys[:-1], out=equal[1:])
        self._equal_to_previous = equal if ties == "secondary" and equal.any() else np.empty(0, dtype=bool)
        self._tie_runs = _find_runs(equal) if ties == "primary" else np.empty(0, dtype=np.int64)
        size = len(keys)
        self._block_sums, self._block_weights = np.empty(size), np.empty(size)
        self._block_starts = np.empty(size, dtype=np.int64)
        self._block_means = np.empty(0)
        self._pooling_spans, self._tie_spans = self._create_pooling_spans(), self._create_tie_spans()
        self._product_spans = parallel.block_ranges(size, max(_ENTRIES_PER_TASK, -(-size // _MAX_TASKS)))

    def update(self, points: NDArray[Any]) -> tuple[Floats, float]:
        """Fit the disparities by pooling adjacent violators; return B(X) X and the residual sum of squares."""
        entries = self._first_rows, self._second_rows, self._weights
        parallel.run_blocks(lambda span: sort_ties(points, self._tie_runs, *span, *entries), self._tie_spans)

        def pool(span: tuple[int, int]) -> int:
            blocks = (part[slice(*span)] for part in (self._block_sums, self._block_weights, self._block_starts))
            return int(pool_adjacent_violators(points, *entries, self._equal_to_previous, *span, *blocks))

        sizes = np.array(list(parallel.map_blocks(pool, self._pooling_spans)), dtype=np.int64)
        starts = np.array([start for start, _ in self._pooling_spans], dtype=np.int64)
        n = merge_blocks(starts, sizes, self._block_sums, self._block_weights, self._block_starts)
        means, begins = self._block_sums[:n] / self._block_weights[:n], self._block_starts[:n]
        self._block_means = means * np.sqrt(self.total / np.dot(self._block_sums[:n], means))
        tiny = DISTANCE_GUARD[self.pairs.dtype]

        def add(start: int, stop: int, sums: NDArray[Any]) -> float:
            return float(guttman_step_ordinal(points, *entries, self._block_means, begins, start, stop, tiny, sums))

        return accumulate_spans(add, self._product_spans, points.shape, self.pairs.dtype)

    def disparities(self) -> NDArray[Any]:
        """Return the block means at the pairs, 0 for missing dissimilarities."""
        out = np.zeros(len(self.pairs.values), dtype=self.pairs.dtype)
        begins = self._block_starts[: len(self._block_means)]
        ends = self._first_rows, self._second_rows
        parallel.run_blocks(
            lambda span: scatter_disparities(*ends, self._block_means, begins, self.pairs.n, *span, out),
            self._product_spans,
        )
        return out

    def curve(self) -> DisparityCurve:
        """Return the current blocks, connected by lines."""
        begins = self._block_starts[: len(self._block_means)]
        lasts = np.append(begins[1:], len(self._first_rows)) - 1
        lows, highs = (self._values_at(at) for at in (begins, lasts))
        return PiecewiseLinearCurve.through_blocks(lows, highs, self._block_means)

    def _values_at(self, entries: NDArray[np.int64]) -> Floats:
        i, j = self._first_rows[entries].astype(np.int64), self._second_rows[entries].astype(np.int64)
        return self.pairs.values[condensed_indices(i, j, self.pairs.n)].astype(np.float64)

    def _create_pooling_spans(self) -> list[tuple[int, int]]:
        """Return spans of sorted pairs; pairs that must have equal disparities stay in one span."""
        size = len(self._first_rows)
        cuts = [start for start, _ in parallel.block_ranges(size, _ENTRIES_PER_TASK)]
        if len(self._equal_to_previous):
            free = np.append(np.flatnonzero(~self._equal_to_previous), size)
            cuts = np.unique(free[np.searchsorted(free, cuts)]).tolist()
        return [span for span in zip(cuts, [*cuts[1:], size], strict=True) if span[0] < span[1]]

    def _create_tie_spans(self) -> list[tuple[int, int]]:
        """Return spans of tie runs with about equally many pairs."""
        ends = self._tie_runs[1::2]
        if not len(ends):
            return []
        cuts = np.unique(np.searchsorted(ends, np.arange(0, len(self._first_rows), _ENTRIES_PER_TASK))).tolist()
        return [span for span in zip(cuts, [*cuts[1:], len(ends)], strict=True) if span[0] < span[1]]


def _pair_rows(order: Indices, n: int) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    """Return the lower and the higher row of pairs by their condensed index."""
    starts = np.arange(n - 1, dtype=np.int64)
    starts = starts * n - starts * (starts + 1) // 2
    rows = np.repeat(np.arange(n - 1, dtype=np.uint16), np.arange(n - 1, 0, -1))[order]
    columns = (order - starts[rows] + rows + 1).astype(np.uint16)
    return rows, columns


def _find_runs(equal: Masks) -> NDArray[np.int64]:
    """Return start and stop of each run of equal entries, alternating; equal[r] is true if entry r equals entry r - 1."""
    changes = np.flatnonzero(np.diff(equal.astype(np.int8), append=0))
    # A run starts one before its first true entry and stops after its last.
    starts, stops = changes[0::2], changes[1::2] + 1
    return np.ascontiguousarray(np.column_stack([starts, stops]).ravel(), dtype=np.int64)


class DisparityCurve(Serializable, ABC):
    @abstractmethod
    def __call__(self, values: Floats) -> Floats:
        """Return the disparities of the values, NaN for NaN."""


@dataclass(frozen=True)
class LinearCurve(DisparityCurve):
    """A line, clipped at 0.

    Attributes
    ----------
    offset, slope : float
    origin : float
        The dissimilarity at which the line equals `offset`.
    """

    offset: float = 0.0
    slope: float = 1.0
    origin: float = 0.0

    invariants: ClassVar[Invariants] = {"offset": Number(), "slope": Number(0.0), "origin": Number()}

    def __call__(self, values: Floats) -> Floats:
        return np.maximum(self.offset + self.slope * (values - self.origin), 0.0)


@dataclass(frozen=True)
class PiecewiseLinearCurve(DisparityCurve):
    """Linear interpolation between knots, constant outside.

    Attributes
    ----------
    knots, heights : ndarray of shape (n_knots,)
        The knots are strictly increasing.
    """

    knots: Floats
    heights: Floats

    invariants: ClassVar[Invariants] = {"knots": FloatArray("k", increasing=True), "heights": FloatArray("k")}

    @classmethod
    def through_blocks(cls, lows: Floats, highs: Floats, heights: Floats) -> PiecewiseLinearCurve:
        """Return the curve through blocks that are constant from low to high; block ends at the same value are averaged."""
        values, inverse = np.unique(np.column_stack([lows, highs]), return_inverse=True)
        inverse = inverse.ravel()
        counts = np.bincount(inverse)
        return cls(values, np.bincount(inverse, np.repeat(heights, 2)) / counts)

    def __call__(self, values: Floats) -> Floats:
        return np.interp(values, self.knots, self.heights)
