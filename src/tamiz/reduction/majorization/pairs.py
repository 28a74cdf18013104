"""Numbers of all pairs of rows, each held once, with their weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamiz.exceptions import DataError
from tamiz.graphs.components import Components
from tamiz.kernels.majorization import apply_weights, condense, label_components
from tamiz.neighbors.pairwise_matrix import SYMMETRY_TOLERANCE, as_float_matrix
from tamiz.reduction.dissimilarities import Dissimilarities
from tamiz.reduction.krylov import power_of_two
from tamiz.runtime import parallel
from tamiz.runtime.validation import check_memory
from tamiz.sources.kinds import LARGEST_NUMBER
from tamiz.statistics.base import Floats


# MERGED: Pairs of rows in a map by stress: what they are apart by, what that was turned into, and how far they lie.
@dataclass(frozen=True)
class ShepardPairs:
    """Pairs of rows in a map.

    Attributes
    ----------
    dissimilarities : ndarray of shape (n_pairs,)
        As they were given or measured, NaN where one is missing.
    distances : ndarray of shape (n_pairs,)
        On the map.
    disparities : ndarray of shape (n_pairs,)
        What the distances are held to.
    """

    dissimilarities: Floats
    distances: Floats
    disparities: Floats

    @classmethod
    def from_rows(
        cls,
        row_indices: NDArray[np.intp],
        dissimilarities: Dissimilarities,
        embedding: Floats,
        disparities: NDArray[Any],
        unit: float,
    ) -> Self:
        """Return the pairs among some rows.

        Parameters
        ----------
        row_indices : ndarray of int
            Ascending.
        dissimilarities : Dissimilarities
            All rows.
        embedding : ndarray of shape (n, n_components)
        disparities : ndarray of shape (n (n - 1) / 2,)
            Of all pairs, over the unit.
        unit : float
        """
        i, j = (row_indices[ends] for ends in np.triu_indices(len(row_indices), 1))
        measured = [
            dissimilarities.distances(dissimilarities.points, row, row + 1)[0, row_indices[at + 1 :]]
            for at, row in enumerate(row_indices.tolist())
        ]
        distances = np.sqrt(((embedding[i] - embedding[j]) ** 2).sum(axis=1))
        held = disparities[condensed_indices(i, j, len(embedding))]
        return cls(np.concatenate(measured), distances, held * np.float64(unit))


# MERGED: Dissimilarities and weights of a table's pairs, looked through for what leaves rows without a place.
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


# Pairs of one piece of work, a tenth of a millisecond, and the most pieces: each has sums of its own.
_PAIRS_PER_TASK, _MAX_TASKS = 2**18, 16


@dataclass(frozen=True)
class CondensedPairs:
    """Numbers of all pairs of n rows, in the order of `scipy.spatial.distance.pdist`.

    Attributes
    ----------
    n : int
    values : ndarray of shape (n (n - 1) / 2,)
        Dissimilarities over `unit`, the largest near 1; 0 where none is known.
    weights : ndarray of the same shape, or of shape (0,)
        The largest near 1; 0 where no dissimilarity is known. Empty where every pair counts as much.
    unit : float
        A power of two.
    dtype : dtype
        What points and weights are held as, float64 or float32. `values` are so too, or finer.
    """

    n: int
    values: NDArray[Any]
    weights: NDArray[Any]
    unit: float
    dtype: np.dtype[Any]

    @property
    def n_samples(self) -> int:
        """The number of rows, as points tell it."""
        return self.n

    @property
    def is_weighted(self) -> bool:
        """Whether some pairs count more than others."""
        return len(self.weights) > 0

    @cached_property
    def row_spans(self) -> list[tuple[int, int]]:
        """Ranges of rows with about as many pairs each."""
        n_pieces = max(1, min(_MAX_TASKS, len(self.values) // _PAIRS_PER_TASK))
        # The rows before i have the share 1 - (1 - i / n)^2 of the pairs.
        cuts = np.rint(self.n * (1 - np.sqrt(1 - np.arange(n_pieces + 1) / n_pieces))).astype(int).tolist()
        return list(pairwise(cuts))

    def accumulate(
        self, add: Callable[[int, int, NDArray[Any]], float | None], shape: tuple[int, ...], dtype: Any
    ) -> tuple[Floats, float]:
        """Return what `add(start, stop, sums)` adds to sums over the pairs of rows start .. stop, and gives back, for all rows."""
        return accumulate_spans(add, self.row_spans, shape, dtype)

    def known_values(self) -> NDArray[Any]:
        """Return the values of the pairs that count."""
        return self.values[self.weights > 0] if self.is_weighted else self.values

    def weighted_sum(self, *factors: NDArray[Any]) -> float:
        """Return the sum over pairs of the product of some numbers and of the weight."""
        factors = (*factors, self.weights) if self.is_weighted else factors
        return float(np.einsum(",".join("i" * len(factors)) + "->", *factors, dtype=np.float64))

    def multiply_by_weight_matrix(self, points: Floats) -> Floats:
        """Return V X for points that are columns: V has -weight off its diagonal, and rows that sum to 0."""
        if not self.is_weighted:
            return self.n * (points - points.mean(axis=1, keepdims=True))
        given = np.ascontiguousarray(points, dtype=self.dtype)
        return self.accumulate(lambda *span: apply_weights(self.weights, given, *span), points.shape, self.dtype)[0]

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
        """Return the numbers of a row with all later ones, where they lie."""
        at = i * self.n - i * (i + 1) // 2
        return values[at : at + self.n - i - 1]

    def to_square(self, values: NDArray[Any]) -> Floats:
        """Return the numbers as a symmetric matrix, 0 on the diagonal."""
        out = np.zeros((self.n, self.n))
        for i in range(self.n - 1):
            out[i, i + 1 :] = out[i + 1 :, i] = self.later_pairs(i, values)
        return out


def condensed_indices(i: NDArray[np.int64], j: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Return where the pairs of rows i and later rows j of n are held."""
    return i * n - i * (i + 1) // 2 - i - 1 + j


def accumulate_spans(
    add: Callable[[int, int, NDArray[Any]], float | None],
    spans: list[tuple[int, int]],
    shape: tuple[int, ...],
    dtype: Any,
) -> tuple[Floats, float]:
    """Return the sums that `add(start, stop, sums)` adds to, and of what it gives back, over all spans in their order."""

    def piece(span: tuple[int, int]) -> tuple[NDArray[Any], float]:
        sums = np.zeros(shape, dtype=dtype)
        return sums, add(*span, sums) or 0.0

    whole, total = np.zeros(shape), 0.0
    for part, number in parallel.map_blocks(piece, spans):
        whole += part
        total += number
    return whole, total
