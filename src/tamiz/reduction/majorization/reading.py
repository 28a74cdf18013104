"""Dissimilarities and weights of a table's pairs, looked through for what leaves rows without a place."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamiz import parallel
from tamiz.exceptions import DataError
from tamiz.graphs.components import Components
from tamiz.graphs.metrics.pair_matrix import SYMMETRY_TOLERANCE, as_float_matrix
from tamiz.kernels.majorization import condense, label_components
from tamiz.reduction.dissimilarities import Dissimilarities
from tamiz.reduction.krylov import power_of_two
from tamiz.reduction.majorization.pairs import CondensedPairs
from tamiz.sources.kinds import LARGEST_NUMBER
from tamiz.validation import check_memory

# Up to so many rows pairs are held, and worked on, as float64; beyond, where time is spent, as float32.
MAX_FLOAT64_ROWS = 512
# Distances that are measured at a time.
_DISTANCES_IN_MEMORY = 2**20
# Weights below this share of the largest would be lost in sums.
_MIN_RELATIVE_WEIGHT = 1e-12


def read_pairs(
    dissimilarities: Dissimilarities,
    weights: Any,
    *,
    float64: bool,
    bytes_per_pair: int,
    row_numbers: NDArray[np.intp] | None,
) -> CondensedPairs:
    """Return the dissimilarities of all pairs of rows, and their weights.

    Parameters
    ----------
    dissimilarities : Dissimilarities
        NaN where one is missing.
    weights : array-like of shape (n, n) or None
    float64 : bool
        Whether values are held as float64 in any case, for what hangs on their differences.
    bytes_per_pair : int
        What the work to come keeps for each pair.
    row_numbers : ndarray of shape (n,) or None
        The rows' numbers in the user's table, for messages; None counts from 0.
    """
    n = dissimilarities.points.n_samples
    n_pairs = n * (n - 1) // 2
    dtype = np.dtype(np.float64 if n <= MAX_FLOAT64_ROWS else np.float32)
    held = np.dtype(np.float64) if float64 else dtype
    # A look for gaps takes a byte a pair, and weights their own.
    check_memory(
        (held.itemsize + 1.0 + dtype.itemsize * (weights is not None or dissimilarities.has_missing) + bytes_per_pair)
        * n_pairs,
        f"The scaling of {n_pairs:,} pairs of {n:,} rows",
        "Fit on a sample of rows and transform the others, or use LandmarkMDS or StochasticMDS, which hold no pairs.",
    )
    given = None if weights is None else _check_weights(weights, n)
    values, unit = _condense_dissimilarities(dissimilarities, n, held)
    counts = np.empty(0, dtype=dtype) if given is None else _condense_weights(given, dtype)
    if dissimilarities.has_missing:
        counts = np.ones(n_pairs, dtype=dtype) if given is None else counts
        missing = np.isnan(values)
        counts[missing] = values[missing] = 0.0
    if len(counts) and counts.min() == counts.max() > 0:
        # Weights that are all equal weigh nothing.
        counts = np.empty(0, dtype=dtype)
    pairs = CondensedPairs(n, values, counts, unit, dtype)
    _check_connected(pairs, given, np.arange(n) if row_numbers is None else row_numbers)
    if not values.any():
        raise DataError(
            "All dissimilarities are 0: the rows are all at one place. Check that X holds what rows differ by."
        )
    return pairs


def _condense_dissimilarities(
    dissimilarities: Dissimilarities, n: int, dtype: np.dtype[Any]
) -> tuple[NDArray[Any], float]:
    """Return the numbers over a power of two, and that."""
    values = np.empty(n * (n - 1) // 2, dtype=dtype)
    spans = parallel.block_ranges(n, max(1, _DISTANCES_IN_MEMORY // n))
    bounds = [start * n - start * (start + 1) // 2 for start, _ in spans] + [len(values)]

    def measured(at: int) -> float:
        block = np.ascontiguousarray(dissimilarities.upper_block(*spans[at]))
        # Each piece has a unit of its own at first, so that nothing is too large or small to be held.
        unit = power_of_two(float(np.fmax.reduce(block, axis=None, initial=0.0)))
        condense(block, unit, values[bounds[at] : bounds[at + 1]])
        return unit

    units = list(parallel.map_blocks(measured, range(len(spans))))
    unit = max(units)
    for at, part in enumerate(units):
        if part != unit:
            values[bounds[at] : bounds[at + 1]] *= dtype.type(part / unit)
    return values, unit


def _check_weights(weights: Any, n: int) -> NDArray[Any]:
    """Return weights that can be: square, finite, at least 0, symmetric, none next to nothing beside the largest."""
    expected = f"weights must be an array of {n:,} x {n:,} numbers, one for every pair of rows"
    if sparse.issparse(weights):
        raise TypeError(f"{expected}, got a sparse matrix. weights.toarray() is one, where 0 is no weight.")
    if np.ndim(weights) != 2:
        raise DataError(
            f"{expected}, got {np.ndim(weights)} dimensions. scipy.spatial.distance.squareform makes it of pairs."
        )
    given = as_float_matrix(weights, "weights", "weights=")
    if given.shape != (n, n):
        raise DataError(f"{expected}, got {given.shape[0]:,} x {given.shape[1]:,}.")
    largest = 0.0
    for start, stop in parallel.block_ranges(n, max(1, _DISTANCES_IN_MEMORY // n)):
        part, mirrored = given[start:stop], given[:, start:stop].T
        _raise_for_weights(
            ~(part <= LARGEST_NUMBER), part, start, f"; a weight must be a number up to {LARGEST_NUMBER:g}."
        )
        _raise_for_weights(part < 0, part, start, "; a weight must be at least 0.")
        differ = np.abs(part - mirrored) > SYMMETRY_TOLERANCE[given.dtype] * np.maximum(part, mirrored)
        _raise_for_weights(differ, part, start, ", and not the same in the other order; (W + W.T) / 2 is symmetric.")
        largest = max(largest, float(part.max(initial=0.0)))
    for start, stop in parallel.block_ranges(n, max(1, _DISTANCES_IN_MEMORY // n)):
        part = given[start:stop]
        sentence = (
            f" beside the largest, {largest:.6g}; a weight must be 0 or at least {_MIN_RELATIVE_WEIGHT:g} of that."
        )
        _raise_for_weights((part > 0) & (part < _MIN_RELATIVE_WEIGHT * largest), part, start, sentence)
    return given


def _raise_for_weights(invalid: NDArray[np.bool_], part: NDArray[Any], start: int, reason: str) -> None:
    # A row and itself are no pair.
    invalid[np.arange(len(invalid)), start + np.arange(len(invalid))] = False
    if invalid.any():
        i, j = np.unravel_index(int(np.argmax(invalid)), invalid.shape)
        raise DataError(f"The weight of rows {start + i} and {j} is {part[i, j]:.12g}{reason}")


def _condense_weights(weights: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return the weights of pairs, the largest near 1."""
    n = len(weights)
    out = np.empty(n * (n - 1) // 2, dtype=dtype)
    largest = max((float(weights[i, i + 1 :].max(initial=0.0)) for i in range(n)), default=0.0)
    condense(np.ascontiguousarray(weights, dtype=np.float64), power_of_two(largest), out)
    return out


def _check_connected(pairs: CondensedPairs, weights: NDArray[Any] | None, row_numbers: NDArray[np.intp]) -> None:
    """Refuse rows that no pair holds to the others."""
    if not pairs.is_weighted:
        return
    alone = np.flatnonzero(pairs.row_weights() == 0)
    if len(alone):
        row = int(alone[0])
        weightless = weights is not None and not np.delete(weights[row], row).any()
        why = "has the weight 0 with every other" if weightless else "has no dissimilarity to any other that counts"
        raise DataError(f"Row {row_numbers[row]} {why}, and so no place. Leave it out, or give it one.")
    labels = np.arange(pairs.n, dtype=np.int32)
    label_components(pairs.weights, pairs.n, labels)
    components = Components.from_labels(labels)
    if len(components) > 1:
        least = int(np.argmin(components.sizes))
        some = row_numbers[np.flatnonzero(components.labels == least)]
        listed = ", ".join(map(str, some[:5].tolist())) + (f" and {len(some) - 5:,} more" if len(some) > 5 else "")
        raise DataError(
            f"The pairs that are known fall into {components.describe(row_numbers)}, with nothing between them: rows {listed} have no "
            "place next to the others. Give a dissimilarity between them, or scale each by itself."
        )
