"""Dissimilarities and weights of all pairs of rows in condensed form: reading, checks, sums, and pairs of a Shepard diagram."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamiz.arrays import Floats, Indices, Masks
from tamiz.exceptions import DataError
from tamiz.graphs.laplacian import Components
from tamiz.kernels.majorization import apply_weights, condense, label_components
from tamiz.neighbors.precomputed import as_float_matrix
from tamiz.reduction.dissimilarities import Dissimilarities
from tamiz.reduction.krylov import power_of_two
from tamiz.runtime import parallel
from tamiz.runtime.user_warnings import list_names
from tamiz.runtime.validation import check_memory
from tamiz.table.distance_table import SYMMETRY_TOLERANCE
from tamiz.table.kinds import LARGEST_NUMBER

# Up to this many rows pairs are stored as float64, above as float32 to save time and memory.
MAX_FLOAT64_ROWS = 512
# Distances computed at a time.
_DISTANCES_IN_MEMORY = 2**20
# Weights below this share of the largest are rejected: sums would lose them.
_MIN_RELATIVE_WEIGHT = 1e-12
# Pairs of one parallel task (0.1 ms), and largest number of tasks, each with its own sums.
_PAIRS_PER_TASK, _MAX_TASKS = 2**18, 16


def read_pairs(
    dissimilarities: Dissimilarities,
    weights: Any,
    *,
    float64: bool,
    bytes_per_pair: int,
    row_numbers: Indices | None,
) -> CondensedPairs:
    """Read the dissimilarities and weights of all pairs and check that they connect all rows.

    Parameters
    ----------
    dissimilarities : Dissimilarities
        Missing dissimilarities are NaN.
    weights : array-like of shape (n, n) or None
    float64 : bool
        Store values as float64 for any number of rows, for transformations that depend on small differences.
    bytes_per_pair : int
        Further memory of the fit for each pair, for the memory check.
    row_numbers : ndarray of shape (n,) or None
        Row numbers for messages; None counts from 0.
    """
    n = dissimilarities.points.n_samples
    n_pairs = n * (n - 1) // 2
    dtype = np.dtype(np.float64 if n <= MAX_FLOAT64_ROWS else np.float32)
    value_dtype = np.dtype(np.float64) if float64 else dtype
    # The mask of missing values takes one byte for each pair.
    check_memory(
        (
            value_dtype.itemsize
            + 1.0
            + dtype.itemsize * (weights is not None or dissimilarities.has_missing)
            + bytes_per_pair
        )
        * n_pairs,
        f"The scaling of {n_pairs:,} pairs of {n:,} rows",
        "Fit on a sample of rows and transform the others, or use LandmarkMDS or StochasticMDS, which store no pairs.",
    )
    matrix = None if weights is None else _check_weights(weights, n)
    values, unit = _condense_dissimilarities(dissimilarities, n, value_dtype)
    counts = np.empty(0, dtype=dtype) if matrix is None else _condense_weights(matrix, dtype)
    if dissimilarities.has_missing:
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
        block = np.ascontiguousarray(dissimilarities.upper_block(*spans[at]))
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
    labels = np.arange(pairs.n, dtype=np.int32)
    label_components(pairs.weights, pairs.n, labels)
    components = Components.from_labels(labels)
    if len(components) > 1:
        smallest = int(np.argmin(components.sizes))
        some = row_numbers[np.flatnonzero(components.labels == smallest)]
        raise DataError(
            f"The known pairs form {components.describe(row_numbers)} without a pair between them, so that the position of rows "
            f"{list_names(some)} relative to the others is undefined. Add a dissimilarity between them, or fit each component "
            "separately."
        )


@dataclass(frozen=True)
class CondensedPairs:
    """Values and weights of all pairs of n rows, in the order of `scipy.spatial.distance.pdist`.

    Attributes
    ----------
    n : int
    values : ndarray of shape (n (n - 1) / 2,)
        Dissimilarities divided by `unit`, the largest near 1; 0 where missing.
    weights : ndarray of the same shape, or of shape (0,)
        The largest near 1; 0 where the dissimilarity is missing. Empty for equal weights.
    unit : float
        A power of two.
    dtype : dtype
        Type of points and weights, float64 or float32. `values` have this type or float64.
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

    def accumulate(
        self, add: Callable[[int, int, NDArray[Any]], float | None], shape: tuple[int, ...], dtype: Any
    ) -> tuple[Floats, float]:
        """Return the sums to which `add(start, stop, sums)` adds over spans of rows, and the total of its return values."""
        return accumulate_spans(add, self.row_spans, shape, dtype)

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
        return self.accumulate(lambda *span: apply_weights(self.weights, typed, *span), points.shape, self.dtype)[0]

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


def condensed_indices(i: NDArray[np.int64], j: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    return i * n - i * (i + 1) // 2 - i - 1 + j


def accumulate_spans(
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


@dataclass(frozen=True)
class ShepardPairs:
    """Dissimilarities, distances and disparities of pairs of rows.

    Attributes
    ----------
    dissimilarities : ndarray of shape (n_pairs,)
        NaN where missing.
    distances : ndarray of shape (n_pairs,)
        On the map.
    disparities : ndarray of shape (n_pairs,)
        Transformed dissimilarities that the distances approximate.
    """

    dissimilarities: Floats
    distances: Floats
    disparities: Floats

    @classmethod
    def from_rows(
        cls,
        row_indices: Indices,
        dissimilarities: Dissimilarities,
        embedding: Floats,
        disparities: NDArray[Any],
        unit: float,
    ) -> Self:
        """Return all pairs among some rows.

        Parameters
        ----------
        row_indices : ndarray of int
            Ascending.
        dissimilarities : Dissimilarities
            All rows.
        embedding : ndarray of shape (n, n_components)
        disparities : ndarray of shape (n (n - 1) / 2,)
            Of all pairs, divided by the unit.
        unit : float
        """
        i, j = (row_indices[ends] for ends in np.triu_indices(len(row_indices), 1))
        known = [
            dissimilarities.distances(dissimilarities.points, row, row + 1)[0, row_indices[at + 1 :]]
            for at, row in enumerate(row_indices.tolist())
        ]
        distances = np.sqrt(((embedding[i] - embedding[j]) ** 2).sum(axis=1))
        selected = disparities[condensed_indices(i, j, len(embedding))]
        return cls(np.concatenate(known), distances, selected * np.float64(unit))
