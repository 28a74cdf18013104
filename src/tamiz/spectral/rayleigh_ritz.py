"""An orthonormal basis that grows and restarts, and its Rayleigh-Ritz pairs with residuals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from scipy import linalg

from tamiz.arrays import Floats, Indices, Masks
from tamiz.runtime import parallel
from tamiz.spectral.pencil import Pencil

Output = TypeVar("Output")
# Rows per block of tall products.
_CHUNK_ROWS = 16384
_ROUNDING = float(np.finfo(np.float64).eps) ** 2
# If projecting out the basis leaves at most this share of a column's square, the column was in the basis up to rounding.
_MIN_REMAINING = 1e-26
# If it leaves less than this share, the column is orthogonalised again; otherwise errors would grow from block to block.
_REORTHOGONALIZE_BELOW = 1e-2
_MAX_PASSES = 5
# Unit columns are linearly dependent if the smallest eigenvalue of their Gram matrix is below this.
_MIN_GRAM_EIGENVALUE = 1e-13
# Pairs that are improved at a time: with more, the lowest would converge long before the others.
_MAX_ACTIVE = 16
# Pairs are improved until their residual is this share of the target, because the pairs above them depend on them.
_TARGET_SHARE = 0.3
# Values closer than this share of the tolerance count as one eigenvalue: rotating their vectors hardly changes residuals.
_TIE_SHARE = 0.01


@dataclass(frozen=True)
class RitzPairs:
    """The lowest Ritz pairs of a basis.

    Attributes
    ----------
    values, residuals : ndarray of shape (block,)
        Ascending values, and |M x - value x| of each.
    vectors, products : ndarray of shape (n, block)
        X and M X.
    residual_targets, tie_tolerances : ndarray of shape (block,)
        Residuals at which pairs have converged, and the difference up to which a value counts as equal to its neighbour.
    higher_values : ndarray of shape (size of the basis - block,)
        The Ritz values above these.
    """

    values: Floats
    residuals: Floats
    vectors: Floats
    products: Floats
    residual_targets: Floats
    tie_tolerances: Floats
    higher_values: Floats

    @classmethod
    def from_vectors(cls, pencil: Pencil, X: Floats, values: Floats, tol: float) -> RitzPairs:
        """Return the pairs of orthonormal vectors X with their residuals; `values` are all Ritz values of the basis."""
        products = pencil.multiply(X)
        own = values[: X.shape[1]]
        rest = X * own
        np.subtract(products, rest, out=rest)
        return cls(
            own,
            np.sqrt(np.einsum("ij,ij->j", rest, rest)),
            X,
            products,
            tol * own + pencil.rounding_residual,
            _TIE_SHARE * tol * own + pencil.rounding_residual,
            values[X.shape[1] :],
        )

    @property
    def unconverged(self) -> Masks:
        """Which pairs have not converged."""
        return self.residuals > _TARGET_SHARE * self.residual_targets

    @property
    def active_indices(self) -> Indices:
        """The lowest unconverged pairs, up to 16, padded with the highest other pairs to a multiple of 4."""
        lowest = np.flatnonzero(self.unconverged)[:_MAX_ACTIVE]
        others = np.setdiff1d(np.arange(len(self.values)), lowest)
        return np.sort(np.concatenate([lowest, others[len(others) - min(-len(lowest) % 4, len(others)) :]]))

    def digits_over_target(self, n_wanted: int) -> float:
        """Return log10 of the largest ratio of residual to target of the wanted pairs, at least 0."""
        over = self.residuals[:n_wanted] / np.maximum(self.residual_targets[:n_wanted], np.finfo(np.float64).tiny)
        return float(np.log10(max(1.0, over.max(initial=1.0))))

    def multiplet_end(self, n_wanted: int) -> tuple[int, bool]:
        """Return the number of pairs up to the last with the eigenvalue of the last wanted one, and whether it is certain."""
        end = n_wanted
        while end < len(self.values) and self.values[end] - self.values[end - 1] <= self.tie_tolerances[end]:
            if self.residuals[end] > self.residual_targets[end]:
                return end, False
            end += 1
        if end == len(self.values):
            return end, True
        return end, bool(self.values[end] - self.residuals[end] > self.values[end - 1] + self.tie_tolerances[end])


class Basis:
    """Orthonormal columns Q, orthogonal to the null vectors, with the projected matrix Q' M Q.

    Parameters
    ----------
    pencil : Pencil
    capacity : int
        Largest number of columns.

    Attributes
    ----------
    size : int
        Current number of columns.
    """

    def __init__(self, pencil: Pencil, capacity: int) -> None:
        self._pencil = pencil
        self._Q = np.empty((capacity, pencil.n))
        self._H = np.zeros((capacity, capacity))
        self._spans = parallel.block_ranges(pencil.n, _CHUNK_ROWS)
        self.size = 0
        self.capacity = capacity

    def add(self, new: Floats, near: Floats) -> None:
        """Add columns, which are overwritten; columns that are already in the span of the basis are left out.

        `near` are orthonormal vectors in the span of the basis that the new columns are close to. Projecting them out first
        saves a pass over the basis.
        """
        new = self._orthonormalize(new, near)
        start, stop = self.size, self.size + new.shape[1]
        self._Q[start:stop] = new.T
        self.size = stop
        if stop > start:
            self._H[:stop, start:stop] = self._project(self._pencil.multiply(new))
            self._H[start:stop, :start] = self._H[:start, start:stop].T

    def ritz_coefficients(self) -> tuple[Floats, Floats]:
        """Return the Ritz values, ascending, and the coefficients of their vectors."""
        matrix = self._H[: self.size, : self.size]
        values, Y = linalg.eigh((matrix + matrix.T) / 2, check_finite=False)
        return values, Y

    def combine(self, Y: Floats) -> Floats:
        out = np.empty((self._pencil.n, Y.shape[1]))
        Y = np.ascontiguousarray(Y)
        self._for_each_chunk(lambda rows: np.matmul(self._Q[: self.size, rows].T, Y, out=out[rows]))
        return out

    def restart(self, values: Floats, Y: Floats) -> None:
        """Replace the basis by some of its Ritz vectors, with coefficients Y and these values."""
        kept = Y.shape[1]
        Y = np.ascontiguousarray(Y.T)

        def combine_rows(rows: slice) -> None:
            self._Q[:kept, rows] = Y @ self._Q[: self.size, rows]

        self._for_each_chunk(combine_rows)
        self.size = kept
        self._H[:kept, :kept] = np.diag(values)

    def _orthonormalize(self, new: Floats, near: Floats) -> Floats:
        self._pencil.remove_null_space(new)
        whole = self._sum_chunks(lambda rows: np.einsum("ij,ij->j", new[rows], new[rows]))
        overlaps = self._sum_chunks(lambda rows: near[rows].T @ new[rows])

        def remove_near(rows: slice) -> Floats:
            new[rows] -= near[rows] @ overlaps
            return np.einsum("ij,ij->j", new[rows], new[rows])

        before = self._sum_chunks(remove_near)
        along = self._project(new)
        for _ in range(_MAX_PASSES):
            self._pencil.remove_null_space(new)
            along, gram = self._remove_projection(new, along)
            Y, shrunk = _independent_columns(gram, whole, before, self._pencil.n_nonnull - self.size)
            new = self._combine_columns(new, Y)
            if shrunk > _REORTHOGONALIZE_BELOW:
                break
            along = along @ Y
            whole = before = np.ones(new.shape[1])
        return new

    def _project(self, new: Floats) -> Floats:
        return self._sum_chunks(lambda rows: self._Q[: self.size, rows] @ new[rows])

    def _remove_projection(self, new: Floats, along: Floats) -> tuple[Floats, Floats]:
        """Subtract Q along from the new columns in place; return their remaining coefficients Q' new and Gram matrix new' new."""
        size = self.size

        def subtract(rows: slice) -> Floats:
            basis = self._Q[:size, rows]
            new[rows] -= basis.T @ along
            return np.vstack([basis @ new[rows], new[rows].T @ new[rows]])

        total = self._sum_chunks(subtract)
        return total[:size], total[size:]

    def _combine_columns(self, new: Floats, Y: Floats) -> Floats:
        out = new if Y.shape[1] == new.shape[1] else np.empty((len(new), Y.shape[1]))

        def combine_rows(rows: slice) -> None:
            out[rows] = new[rows] @ Y

        self._for_each_chunk(combine_rows)
        return out

    def _for_each_chunk(self, function: Callable[[slice], object]) -> None:
        for _ in self._map_chunks(function):
            pass

    def _sum_chunks(self, function: Callable[[slice], Floats]) -> Floats:
        parts = self._map_chunks(function)
        total = next(parts)
        for part in parts:
            total += part
        return total

    def _map_chunks(self, function: Callable[[slice], Output]) -> Iterator[Output]:
        run = parallel.map_blocks if len(self._spans) > 1 else map
        return run(lambda span: function(slice(*span)), self._spans)


def _independent_columns(
    gram: Floats, initial_squares: Floats, previous_squares: Floats, max_columns: int
) -> tuple[Floats, float]:
    """Return the coefficients of orthonormal combinations of columns, and the smallest remaining share of a squared norm.

    Parameters
    ----------
    gram : ndarray of shape (k, k)
        Gram matrix of the columns.
    initial_squares, previous_squares : ndarray of shape (k,)
        Squared norms of the columns at first, and before the basis was projected out.
    max_columns : int
        Largest number of combinations.
    """
    own = np.diag(gram)
    some = np.flatnonzero(own > _MIN_REMAINING * initial_squares)
    if not len(some) or not max_columns:
        return np.zeros((len(own), 0)), 1.0
    scale = np.sqrt(own[some])
    values, W = linalg.eigh(gram[np.ix_(some, some)] / np.outer(scale, scale), check_finite=False)
    kept = values > max(_MIN_GRAM_EIGENVALUE, 100 * _ROUNDING * float((initial_squares / own)[some].max()))
    kept[: max(len(values) - max_columns, 0)] = False
    Y = np.zeros((len(own), int(kept.sum())))
    Y[some] = W[:, kept] / scale[:, None] / np.sqrt(values[kept])
    return Y, float(values[kept].min() * (own / previous_squares)[some].min())
