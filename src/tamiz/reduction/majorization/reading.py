"""Dissimilarities and weights of a table's pairs, looked through for what leaves rows without a place."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz import parallel
from tamiz.exceptions import DataError
from tamiz.graphs.components import Components
from tamiz.graphs.metrics.pair_matrix import as_floats
from tamiz.kernels.majorization import label_pieces
from tamiz.reduction.dissimilarities import Dissimilarities
from tamiz.reduction.krylov import power_of_two
from tamiz.reduction.majorization.pairs import Pairs
from tamiz.sources.kinds import LARGEST_NUMBER
from tamiz.validation import check_memory

# Up to so many rows pairs are held, and worked on, as float64; beyond, where time is spent, as float32.
FINE_ROWS = 512
# Distances that are measured at a time.
_PIECE = 2**20
# A pair's two weights may differ by this share of the larger one.
_ROUNDING = 1e-10


def read_pairs(rows: Dissimilarities, weights: Any, n_bytes: int, row_numbers: NDArray[np.intp] | None) -> Pairs:
    """Return the dissimilarities of all pairs of rows, and their weights.

    Parameters
    ----------
    rows : Dissimilarities
        NaN where one is missing.
    weights : array-like of shape (n, n) or None
    n_bytes : int
        What the work to come keeps for each pair.
    row_numbers : ndarray of shape (n,) or None
        The rows' numbers in the user's table, for messages; None counts from 0.
    """
    n = rows.points.n_samples
    n_pairs = n * (n - 1) // 2
    dtype = np.dtype(np.float64 if n <= FINE_ROWS else np.float32)
    check_memory(
        (dtype.itemsize * (1.0 + (weights is not None)) + n_bytes) * n_pairs,
        f"The scaling of {n_pairs:,} pairs of {n:,} rows",
        "Fit on a sample of rows and transform the others, or use LandmarkMDS or StochasticMDS, which hold no pairs.",
    )
    given = None if weights is None else _checked(weights, n)
    values, unit, has_gaps = _measured(rows, n, dtype)
    counts = np.empty(0, dtype=dtype)
    if given is not None:
        counts = _condensed(given, dtype)
    if has_gaps:
        counts = np.ones(n_pairs, dtype=dtype) if given is None else counts
        missing = np.isnan(values)
        counts[missing] = values[missing] = 0.0
    if len(counts) and counts.min() == counts.max() > 0:
        # Weights that are all equal weigh nothing.
        counts = np.empty(0, dtype=dtype)
    pairs = Pairs(n, values, counts, unit)
    _refuse_loose_rows(pairs, given is not None, np.arange(n) if row_numbers is None else row_numbers)
    if not values.any():
        raise DataError(
            "All dissimilarities are 0: the rows are all at one place. Check that X holds what rows differ by."
        )
    return pairs


def _measured(rows: Dissimilarities, n: int, dtype: np.dtype[Any]) -> tuple[NDArray[Any], float, bool]:
    """Return the numbers over a power of two, that, and whether some are NaN."""
    values = np.empty(n * (n - 1) // 2, dtype=dtype)
    spans = parallel.spans(n, max(1, _PIECE // n))
    bounds = [start * n - start * (start + 1) // 2 for start, _ in spans] + [len(values)]

    def measured(at: int) -> tuple[float, bool]:
        start, stop = spans[at]
        block = rows.later(start, stop)
        has_gaps = bool(np.isnan(block).any())
        # Each piece has a unit of its own at first, so that nothing is too large or small to be held.
        unit = power_of_two(float(np.fmax.reduce(block, axis=None, initial=0.0)))
        out, filled = values[bounds[at] : bounds[at + 1]], 0
        for i in range(stop - start):
            later = block[i, i + 1 :]
            np.divide(later, unit, out=out[filled : filled + len(later)], casting="same_kind")
            filled += len(later)
        return unit, has_gaps

    found = list(parallel.map_blocks(measured, range(len(spans))))
    unit = max(part for part, _ in found)
    for at, (part, _) in enumerate(found):
        if part != unit:
            values[bounds[at] : bounds[at + 1]] *= dtype.type(part / unit)
    return values, unit, any(has_gaps for _, has_gaps in found)


def _checked(weights: Any, n: int) -> NDArray[Any]:
    """Return weights that can be: square, finite, at least 0 and symmetric."""
    given = as_floats(weights, "weights", "weights=")
    if given.shape != (n, n):
        raise DataError(
            f"weights must hold one number for every pair of the {n:,} rows, got {given.shape[0]:,} x {given.shape[1]:,}."
        )
    for start, stop in parallel.spans(n, max(1, _PIECE // n)):
        part, mirrored = given[start:stop], given[:, start:stop].T
        for bad, told in (
            (~(part <= LARGEST_NUMBER), f"; a weight must be a number up to {LARGEST_NUMBER:g}."),
            (part < 0, "; a weight must be at least 0."),
            (np.abs(part - mirrored) > _ROUNDING * np.maximum(part, mirrored), None),
        ):
            if bad.any():
                i, j = np.unravel_index(int(np.argmax(bad)), bad.shape)
                turned = f" and that of rows {j} and {start + i} is {mirrored[i, j]:.6g}; weights must be symmetric."
                raise DataError(f"The weight of rows {start + i} and {j} is {part[i, j]:.6g}{told or turned}")
    return given


def _condensed(weights: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return the weights of pairs, the largest near 1."""
    n = len(weights)
    out = np.empty(n * (n - 1) // 2, dtype=dtype)
    largest = max((float(weights[i, i + 1 :].max(initial=0.0)) for i in range(n)), default=0.0)
    unit, filled = power_of_two(largest), 0
    for i in range(n):
        later = weights[i, i + 1 :]
        np.divide(later, unit, out=out[filled : filled + len(later)], casting="same_kind")
        filled += len(later)
    return out


def _refuse_loose_rows(pairs: Pairs, has_weights: bool, numbers: NDArray[np.intp]) -> None:
    """Refuse rows that no pair holds to the others."""
    if not pairs.is_weighted:
        return
    alone = np.flatnonzero(pairs.masses() == 0)
    if len(alone):
        why = "has the weight 0 with every other" if has_weights else "has no dissimilarity to any other"
        raise DataError(f"Row {numbers[alone[0]]} {why}, and so no place. Leave it out, or give it one.")
    labels = np.arange(pairs.n, dtype=np.int32)
    label_pieces(pairs.weights, pairs.n, labels)
    components = Components.numbered(labels)
    if len(components) > 1:
        least = int(np.argmin(components.sizes))
        some = numbers[np.flatnonzero(components.labels == least)]
        listed = ", ".join(map(str, some[:5].tolist())) + (f" and {len(some) - 5:,} more" if len(some) > 5 else "")
        raise DataError(
            f"The pairs that are known fall into {components.described(numbers)}, with nothing between them: rows {listed} have no "
            "place next to the others. Give a dissimilarity between them, or scale each by itself."
        )
