"""New directions for the smallest eigenvectors by inverse iteration with a sparse factorisation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats
from tamiz.kernels.sparse_factorization import count_factor_entries, factorize, fill_factor_rows, substitute
from tamiz.runtime import parallel
from tamiz.spectral.pencil import Pencil
from tamiz.spectral.rayleigh_ritz import RitzPairs

# Factor entries per row below which a solve costs less than the rest of a round.
_CHEAP_FACTOR_ENTRIES = 30
# The shift as a share of the largest wanted value. Without it, an eigenvalue that is 0 up to rounding, as for nearly separate
# clusters, would dominate every solution.
_SHIFT = 1e-9
# Two successive solves are used only if the smallest and largest values are no further apart than this ratio.
_MIN_VALUE_RATIO = 1e-3


class ShiftInvert:
    """(M + s)^-1 for a small shift s, by a sparse factorisation in a fill-reducing order.

    Parameters
    ----------
    pencil : Pencil
    order : ndarray of shape (n,), int32
        The rows in elimination order.
    largest : float
        Estimate of the largest wanted eigenvalue.
    """

    def __init__(self, pencil: Pencil, order: NDArray[np.int32], largest: float) -> None:
        self._pencil = pencil
        graph = pencil.laplacian_product
        n = pencil.n
        self._order = order
        position = np.empty(n, dtype=np.int32)
        position[order] = np.arange(n, dtype=np.int32)
        parent, counts = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int64)
        count_factor_entries(graph.indptr, graph.indices, order, position, parent, counts)
        self._starts = np.concatenate([[0], np.cumsum(counts)])
        self._rows = np.empty(self._starts[-1], dtype=np.int32)
        fill_factor_rows(graph.indptr, graph.indices, order, position, parent, self._starts, self._rows)
        self._factor, self._inverse_pivots = np.empty(self._starts[-1]), np.empty(n)
        ground = max(_SHIFT * largest, pencil.rounding_residual) * pencil.sqrt_b[order] ** 2
        factorize(
            graph.indptr, graph.indices, graph.weights, ground, order, position,
            self._starts, self._rows, self._factor, self._inverse_pivots,
        )  # fmt: skip

    @property
    def description(self) -> str:
        return f"inverse iteration by elimination, {len(self._rows):,} entries"

    def directions(self, ritz: RitzPairs) -> Floats:
        """Return (M + s)^-1 X for the active vectors X, or (M + s)^-2 X if a second solve is cheap."""
        X = self._solve(np.take(ritz.vectors, ritz.active_indices, axis=1))
        if (
            len(self._rows) <= _CHEAP_FACTOR_ENTRIES * self._pencil.n
            and ritz.values[0] > _MIN_VALUE_RATIO * ritz.values[-1]
        ):
            self._pencil.remove_null_space(X)
            X = self._solve(X)
        return X

    def _solve(self, X: Floats) -> Floats:
        root = self._pencil.sqrt_b[:, None]
        out = np.empty(X.shape)

        def solve_columns(span: tuple[int, int]) -> None:
            columns = slice(*span)
            x = np.zeros((len(X), 4))
            x[:, : span[1] - span[0]] = (X[:, columns] * root)[self._order]
            substitute(self._starts, self._rows, self._factor, self._inverse_pivots, x)
            out[self._order, columns] = x[:, : span[1] - span[0]]

        parallel.run_blocks(solve_columns, parallel.block_ranges(X.shape[1], 4))
        out *= root
        return out
