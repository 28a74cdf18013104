"""Pairs of rows for SMACOF: their dissimilarities and weights in condensed form, and transformations to disparities."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamiz.arrays import Floats, Indices, Masks
from tamiz.exceptions import DataError
from tamiz.graphs.edges import Components
from tamiz.kernels.isotonic import (
    guttman_step_ordinal,
    merge_blocks,
    pool_adjacent_violators,
    scatter_disparities,
    sort_ties,
)
from tamiz.kernels.majorization import (
    apply_weights,
    guttman_step,
    guttman_step_plane,
    regression_sums,
)
from tamiz.kernels.primitives import distance_keys
from tamiz.neighbors.precomputed import as_float_matrix
from tamiz.reduction.dissimilarities import Dissimilarities
from tamiz.reduction.krylov import power_of_two
from tamiz.runtime import parallel
from tamiz.runtime.user_warnings import list_names
from tamiz.runtime.validation import check_memory
from tamiz.storage.invariants import FloatArray, Invariants, Number
from tamiz.storage.records import Serializable
from tamiz.table.distance_table import SYMMETRY_TOLERANCE
from tamiz.table.kinds import LARGEST_NUMBER

# Up to this many rows pairs are stored as float64, above as float32 to save time and memory.
MAX_FLOAT64_ROWS = 512
# Distances computed at a time.
_DISTANCES_IN_MEMORY = 2**20
# Weights below this share of the largest are rejected: sums would lose them.
_MIN_RELATIVE_WEIGHT = 1e-12
# Pairs of one parallel task (0.1 ms), sorted pairs of one, and largest number of tasks, each with its own sums.
_PAIRS_PER_TASK, _ENTRIES_PER_TASK, _MAX_TASKS = 2**18, 2**17, 16
# Added to squared distances before divisions; dissimilarities are near 1.
DISTANCE_GUARD = {np.dtype(np.float64): 1e-200, np.dtype(np.float32): 1e-30}


@dataclass(frozen=True)
class CondensedPairs:
    """Values and weights of all pairs of n rows, in the order of `scipy.spatial.distance.pdist`.

    Values are dissimilarities divided by `unit`, a power of two, the largest near 1; weights are empty for equal weights. Both are
    0 where a dissimilarity is missing. `dtype` is that of points and weights; values have this type or float64.
    """

    n: int
    values: NDArray[Any]
    weights: NDArray[Any]
    unit: float
    dtype: np.dtype[Any]

    @property
    def n_samples(self) -> int:
        """Number of rows, under the name that points use."""
        return self.n

    @property
    def is_weighted(self) -> bool:
        return len(self.weights) > 0

    @cached_property
    def row_spans(self) -> list[tuple[int, int]]:
        n_pieces = max(1, min(_MAX_TASKS, len(self.values) // _PAIRS_PER_TASK))
        # The rows before i have the share 1 - (1 - i / n)^2 of the pairs.
        cuts = np.rint(self.n * (1 - np.sqrt(1 - np.arange(n_pieces + 1) / n_pieces))).astype(int).tolist()
        return list(pairwise(cuts))

    def known_values(self) -> NDArray[Any]:
        """Return the values of the pairs with a weight above 0."""
        return self.values[self.weights > 0] if self.is_weighted else self.values

    def weighted_sum(self, *factors: NDArray[Any]) -> float:
        factors = (*factors, self.weights) if self.is_weighted else factors
        return float(np.einsum(",".join("i" * len(factors)) + "->", *factors, dtype=np.float64))

    def multiply_by_weight_matrix(self, points: Floats) -> Floats:
        """Return X V for points as columns of X: V has -weight off the diagonal and rows that sum to 0."""
        if not self.is_weighted:
            return self.n * (points - points.mean(axis=1, keepdims=True))
        typed = np.ascontiguousarray(points, dtype=self.dtype)
        return accumulate(
            lambda *span: apply_weights(self.weights, typed, *span), self.row_spans, points.shape, self.dtype
        )[0]

    def row_weights(self) -> Floats:
        """Return the sum of the weights of each row's pairs: the diagonal of V."""
        if not self.is_weighted:
            return np.full(self.n, self.n - 1.0)
        sums = np.zeros(self.n)
        for i in range(self.n - 1):
            weights = self.later_pairs(i, self.weights)
            sums[i] += weights.sum(dtype=np.float64)
            sums[i + 1 :] += weights
        return sums

    def later_pairs(self, i: int, values: NDArray[Any]) -> NDArray[Any]:
        """Return a view of the values of a row with all later rows."""
        at = i * self.n - i * (i + 1) // 2
        return values[at : at + self.n - i - 1]

    def to_square(self, values: NDArray[Any]) -> Floats:
        """Return the values as a symmetric matrix with zero diagonal."""
        out = np.zeros((self.n, self.n))
        for i in range(self.n - 1):
            out[i, i + 1 :] = out[i + 1 :, i] = self.later_pairs(i, values)
        return out


def condense(block: Floats, unit: float, out: NDArray[Any]) -> None:
    """Fill out with the condensed upper triangle of a block, divided by a unit."""
    at = 0
    for i, row in enumerate(block):
        later = row[i + 1 :]
        np.divide(later, unit, out=out[at : at + len(later)], casting="same_kind")
        at += len(later)


def condensed_indices(i: NDArray[np.int64], j: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    return i * n - i * (i + 1) // 2 - i - 1 + j


def accumulate(
    add: Callable[[int, int, NDArray[Any]], float | None],
    spans: list[tuple[int, int]],
    shape: tuple[int, ...],
    dtype: Any,
) -> tuple[Floats, float]:
    """Run `add(start, stop, sums)` on all spans in parallel; add up the sums and return values in the order of the spans."""

    def piece(span: tuple[int, int]) -> tuple[NDArray[Any], float]:
        sums = np.zeros(shape, dtype=dtype)
        return sums, add(*span, sums) or 0.0

    whole, total = np.zeros(shape), 0.0
    for part, number in parallel.map_blocks(piece, spans):
        whole += part
        total += number
    return whole, total


def read_pairs(
    dissimilarities: Dissimilarities,
    weights: Any,
    *,
    float64: bool,
    bytes_per_pair: int,
    row_numbers: Indices | None,
) -> CondensedPairs:
    """Read the dissimilarities (NaN where missing) and weights of all pairs and check that they connect all rows.

    `float64` stores values as float64 for any number of rows, for transformations that depend on small differences. The fit needs
    further `bytes_per_pair`. `row_numbers` are for messages; None counts from 0.
    """
    n = dissimilarities.points.n_samples
    n_pairs = n * (n - 1) // 2
    dtype = np.dtype(np.float64 if n <= MAX_FLOAT64_ROWS else np.float32)
    value_dtype = np.dtype(np.float64) if float64 else dtype
    # The mask of missing values takes one byte for each pair.
    size = value_dtype.itemsize + 1.0 + dtype.itemsize * (weights is not None or dissimilarities.points.has_missing)
    check_memory(
        (size + bytes_per_pair) * n_pairs,
        f"The scaling of {n_pairs:,} pairs of {n:,} rows",
        "Fit on a sample of rows and transform the others, or use LandmarkMDS or StochasticMDS, which store no pairs.",
    )
    matrix = None if weights is None else _check_weights(weights, n)
    values, unit = _condense_dissimilarities(dissimilarities, n, value_dtype)
    counts = np.empty(0, dtype=dtype) if matrix is None else _condense_weights(matrix, dtype)
    if dissimilarities.points.has_missing:
        counts = np.ones(n_pairs, dtype=dtype) if matrix is None else counts
        missing = np.isnan(values)
        counts[missing] = values[missing] = 0.0
    if len(counts) and counts.min() == counts.max() > 0:
        # Equal weights are the same as no weights.
        counts = np.empty(0, dtype=dtype)
    pairs = CondensedPairs(n, values, counts, unit, dtype)
    _check_connected(pairs, matrix, np.arange(n) if row_numbers is None else row_numbers)
    if not values.any():
        raise DataError("All dissimilarities are 0, so that all rows coincide. Check the input.")
    return pairs


def _condense_dissimilarities(
    dissimilarities: Dissimilarities, n: int, dtype: np.dtype[Any]
) -> tuple[NDArray[Any], float]:
    """Return the condensed dissimilarities divided by a power of two, and that power."""
    values = np.empty(n * (n - 1) // 2, dtype=dtype)
    spans = parallel.block_ranges(n, max(1, _DISTANCES_IN_MEMORY // n))
    bounds = [start * n - start * (start + 1) // 2 for start, _ in spans] + [len(values)]

    def measure(at: int) -> float:
        block = np.ascontiguousarray(dissimilarities.points.upper_block(*spans[at]))
        # Each block is first divided by its own power of two, so that nothing overflows or underflows in float32.
        unit = power_of_two(float(np.fmax.reduce(block, axis=None, initial=0.0)))
        condense(block, unit, values[bounds[at] : bounds[at + 1]])
        return unit

    units = list(parallel.map_blocks(measure, range(len(spans))))
    unit = max(units)
    for at, part in enumerate(units):
        if part != unit:
            values[bounds[at] : bounds[at + 1]] *= dtype.type(part / unit)
    return values, unit


def _check_weights(weights: Any, n: int) -> NDArray[Any]:
    """Check that weights are square, finite, nonnegative, symmetric, and 0 or at least 1e-12 of the largest."""
    expected = f"weights must be an array of {n:,} x {n:,} numbers, one for every pair of rows"
    if sparse.issparse(weights):
        raise TypeError(f"{expected}, got a sparse matrix. Pass weights.toarray(); missing entries get weight 0.")
    if np.ndim(weights) != 2:
        raise DataError(
            f"{expected}, got {np.ndim(weights)} dimensions. scipy.spatial.distance.squareform converts condensed pairs."
        )
    matrix = as_float_matrix(weights, "weights", "weights=")
    if matrix.shape != (n, n):
        raise DataError(f"{expected}, got {matrix.shape[0]:,} x {matrix.shape[1]:,}.")
    largest = 0.0
    for start, stop in parallel.block_ranges(n, max(1, _DISTANCES_IN_MEMORY // n)):
        part, mirrored = matrix[start:stop], matrix[:, start:stop].T
        _raise_for_weights(
            ~(part <= LARGEST_NUMBER), part, start, f"; a weight must be a number up to {LARGEST_NUMBER:g}."
        )
        _raise_for_weights(part < 0, part, start, "; a weight must be at least 0.")
        differ = np.abs(part - mirrored) > SYMMETRY_TOLERANCE[matrix.dtype] * np.maximum(part, mirrored)
        _raise_for_weights(differ, part, start, ", and differs in the other order. Pass (W + W.T) / 2.")
        largest = max(largest, float(part.max(initial=0.0)))
    for start, stop in parallel.block_ranges(n, max(1, _DISTANCES_IN_MEMORY // n)):
        part = matrix[start:stop]
        sentence = (
            f" beside the largest, {largest:.6g}; a weight must be 0 or at least {_MIN_RELATIVE_WEIGHT:g} of that."
        )
        _raise_for_weights((part > 0) & (part < _MIN_RELATIVE_WEIGHT * largest), part, start, sentence)
    return matrix


def _raise_for_weights(invalid: Masks, part: NDArray[Any], start: int, reason: str) -> None:
    # The diagonal is ignored.
    invalid[np.arange(len(invalid)), start + np.arange(len(invalid))] = False
    if invalid.any():
        i, j = np.unravel_index(int(np.argmax(invalid)), invalid.shape)
        raise DataError(f"The weight of rows {start + i} and {j} is {part[i, j]:.12g}{reason}")


def _condense_weights(weights: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return the condensed weights, scaled so that the largest is near 1."""
    n = len(weights)
    out = np.empty(n * (n - 1) // 2, dtype=dtype)
    largest = max((float(weights[i, i + 1 :].max(initial=0.0)) for i in range(n)), default=0.0)
    condense(np.ascontiguousarray(weights, dtype=np.float64), power_of_two(largest), out)
    return out


def _check_connected(pairs: CondensedPairs, weights: NDArray[Any] | None, row_numbers: Indices) -> None:
    if not pairs.is_weighted:
        return
    alone = np.flatnonzero(pairs.row_weights() == 0)
    if len(alone):
        row = int(alone[0])
        weightless = weights is not None and not np.delete(weights[row], row).any()
        reason = "has weight 0 with every other row" if weightless else "has no dissimilarity with a weight above 0"
        raise DataError(
            f"Row {row_numbers[row]} {reason}, so that its position is undefined. Remove it or add a dissimilarity."
        )
    components = Components.from_labels(_label_components(pairs))
    if len(components) > 1:
        smallest = int(np.argmin(components.sizes))
        some = row_numbers[np.flatnonzero(components.labels == smallest)]
        raise DataError(
            f"The known pairs form {components.describe(row_numbers)} without a pair between them, so that the position of rows "
            f"{list_names(some)} relative to the others is undefined. Add a dissimilarity between them, or fit each component "
            "separately."
        )


def _label_components(pairs: CondensedPairs) -> NDArray[np.int32]:
    """Return for each row the lowest row that is connected to it by pairs with positive weights."""
    labels = np.full(pairs.n, -1, dtype=np.int32)
    for first in range(pairs.n):
        rows = [first] if labels[first] < 0 else []
        labels[rows] = first
        while rows:
            i = rows.pop()
            earlier = pairs.weights[condensed_indices(np.arange(i), np.array(i), pairs.n)]
            joined = np.concatenate([earlier, [0.0], pairs.later_pairs(i, pairs.weights)]) > 0
            new = np.flatnonzero(joined & (labels < 0))
            labels[new] = first
            rows += new.tolist()
    return labels


class Transformation(ABC):
    """A class of transformations; disparities have `total`, the weighted sum of squares of the dissimilarities."""

    def __init__(self, pairs: CondensedPairs) -> None:
        self.pairs = pairs
        self.total = pairs.weighted_sum(pairs.values, pairs.values)

    @abstractmethod
    def update(self, points: NDArray[Any]) -> tuple[Floats, float]:
        """Compute the optimal disparities for a configuration and the terms of its Guttman transform.

        `points`, of shape (n_components, n), have the type of the pairs. Returns B(X) X of this shape, where B has
        -weight disparity / distance off the diagonal and rows that sum to 0, and the weighted sum of squared differences of
        disparities and distances.
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
        pairs, shifted = self.pairs, self._shifted
        sums, _ = accumulate(
            lambda *span: regression_sums(shifted, pairs.weights, points, *span), pairs.row_spans, (2,), np.float64
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

    return accumulate(add, pairs.row_spans, points.shape, pairs.dtype)


class OrdinalTransformation(Transformation):
    """Monotone regression: any disparities in the order of the dissimilarities.

    Dissimilarities with equal `distance_keys` may have different disparities in any order for ties="primary", or have equal ones
    for "secondary".
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

        return accumulate(add, self._product_spans, points.shape, self.pairs.dtype)

    def disparities(self) -> NDArray[Any]:
        out = np.zeros(len(self.pairs.values), dtype=self.pairs.dtype)
        begins = self._block_starts[: len(self._block_means)]
        ends = self._first_rows, self._second_rows
        parallel.run_blocks(
            lambda span: scatter_disparities(*ends, self._block_means, begins, self.pairs.n, *span, out),
            self._product_spans,
        )
        return out

    def curve(self) -> DisparityCurve:
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


@dataclass(frozen=True)
class LinearCurve(Serializable):
    """A line, clipped at 0, that equals `offset` at the dissimilarity `origin`."""

    offset: float = 0.0
    slope: float = 1.0
    origin: float = 0.0

    invariants: ClassVar[Invariants] = {"offset": Number(), "slope": Number(0.0), "origin": Number()}

    def __call__(self, values: Floats) -> Floats:
        """Return the disparities of the values, NaN for NaN."""
        return np.maximum(self.offset + self.slope * (values - self.origin), 0.0)


@dataclass(frozen=True)
class PiecewiseLinearCurve(Serializable):
    """Linear interpolation between strictly increasing knots, constant outside."""

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
        """Return the disparities of the values, NaN for NaN."""
        return np.interp(values, self.knots, self.heights)


DisparityCurve = LinearCurve | PiecewiseLinearCurve
