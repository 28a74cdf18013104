"""Numbers of all pairs of rows, each held once, with their weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz import parallel
from tamiz.kernels.majorization import apply_weights
from tamiz.statistics.base import Floats

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
