"""An orthonormal basis that grows and shrinks, with its Rayleigh-Ritz pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from tamiz.runtime import parallel
from tamiz.spectral.pencil import Pencil
from tamiz.statistics.base import Floats

# MERGED: Approximate eigenpairs, as far as they have come.
# Pairs that are worked on at a time: with more, the lowest have converged before the others needed it.
_MAX_ACTIVE = 16
# Pairs are worked on until they are this far below target, for the sake of those above them.
_TARGET_SHARE = 0.3
# Values closer than this share of the tolerance are one eigenvalue: vectors turned into each other keep their residuals.
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
        What the residuals are to come down to, and the distance within which a value is equal to its neighbour.
    higher_values : ndarray of shape (size of the basis - block,)
        The values of the pairs above these.
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
        """Return orthonormal vectors with their residuals, for the values of all pairs."""
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
    def unconverged(self) -> NDArray[np.bool_]:
        """Which pairs are still to be worked on."""
        return self.residuals > _TARGET_SHARE * self.residual_targets

    @property
    def active_indices(self) -> NDArray[np.intp]:
        """The lowest open pairs, as many as are worked on at a time, and as many of the highest others as fill the registers."""
        lowest = np.flatnonzero(self.unconverged)[:_MAX_ACTIVE]
        closed = np.setdiff1d(np.arange(len(self.values)), lowest)
        return np.sort(np.concatenate([lowest, closed[len(closed) - min(-len(lowest) % 4, len(closed)) :]]))

    def digits_over_target(self, n_wanted: int) -> float:
        """Return the digits by which the residuals of the wanted pairs are over target."""
        over = self.residuals[:n_wanted] / np.maximum(self.residual_targets[:n_wanted], np.finfo(np.float64).tiny)
        return float(np.log10(max(1.0, over.max(initial=1.0))))

    def multiplet_end(self, n_wanted: int) -> tuple[int, bool]:
        """Return how many pairs there are up to the last that equals the last one wanted, and whether that is known for sure."""
        end = n_wanted
        while end < len(self.values) and self.values[end] - self.values[end - 1] <= self.tie_tolerances[end]:
            if self.residuals[end] > self.residual_targets[end]:
                return end, False
            end += 1
        if end == len(self.values):
            return end, True
        return end, bool(self.values[end] - self.residuals[end] > self.values[end - 1] + self.tie_tolerances[end])


Output = TypeVar("Output")

# Rows of a piece of the tall products.
_CHUNK_ROWS = 16384
_ROUNDING = float(np.finfo(np.float64).eps) ** 2
# A direction of whose square no more than this is left was in the basis already: the rest is rounding.
_MIN_REMAINING = 1e-26
# One that shrank to less is freed of the basis again: what a pass leaves would grow from block to block.
_REORTHOGONALIZE_BELOW = 1e-2
_MAX_PASSES = 5
# Below this, the least eigenvalue of the products of unit columns says that they are dependent.
_MIN_GRAM_EIGENVALUE = 1e-13


class Basis:
    """Orthonormal columns, none along a null vector, and what M is between them.

    Parameters
    ----------
    pencil : Pencil
    capacity : int
        Columns at most.

    Attributes
    ----------
    size : int
        Columns at present.
    """

    def __init__(self, pencil: Pencil, capacity: int) -> None:
        self._pencil = pencil
        self._Q = np.empty((capacity, pencil.n))
        self._H = np.zeros((capacity, capacity))
        self._spans = parallel.block_ranges(pencil.n, _CHUNK_ROWS)
        self.size = 0
        self.capacity = capacity

    def add(self, new: Floats, near: Floats) -> None:
        """Extend by new columns, which are used up; those that lie in it already are left out.

        `near` are orthonormal vectors of the basis that the new ones are close to. Taken from it first, they save a reading of
        the basis.
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
        """Return the vectors of some coefficients."""
        out = np.empty((self._pencil.n, Y.shape[1]))
        Y = np.ascontiguousarray(Y)
        self._for_each_chunk(lambda rows: np.matmul(self._Q[: self.size, rows].T, Y, out=out[rows]))
        return out

    def restart(self, values: Floats, Y: Floats) -> None:
        """Keep some Ritz vectors only."""
        kept = Y.shape[1]
        Y = np.ascontiguousarray(Y.T)

        def piece(rows: slice) -> None:
            self._Q[:kept, rows] = Y @ self._Q[: self.size, rows]

        self._for_each_chunk(piece)
        self.size = kept
        self._H[:kept, :kept] = np.diag(values)

    def _orthonormalize(self, new: Floats, near: Floats) -> Floats:
        self._pencil.remove_null_space(new)
        whole = self._sum_chunks(lambda rows: np.einsum("ij,ij->j", new[rows], new[rows]))
        overlaps = self._sum_chunks(lambda rows: near[rows].T @ new[rows])

        def piece(rows: slice) -> Floats:
            new[rows] -= near[rows] @ overlaps
            return np.einsum("ij,ij->j", new[rows], new[rows])

        before = self._sum_chunks(piece)
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
        """Return what the new columns have along the basis."""
        return self._sum_chunks(lambda rows: self._Q[: self.size, rows] @ new[rows])

    def _remove_projection(self, new: Floats, along: Floats) -> tuple[Floats, Floats]:
        """Take from the new columns, in place, what they have along the basis; return what is left of that, and their products."""
        size = self.size

        def piece(rows: slice) -> Floats:
            basis = self._Q[:size, rows]
            new[rows] -= basis.T @ along
            return np.vstack([basis @ new[rows], new[rows].T @ new[rows]])

        total = self._sum_chunks(piece)
        return total[:size], total[size:]

    def _combine_columns(self, new: Floats, Y: Floats) -> Floats:
        out = new if Y.shape[1] == new.shape[1] else np.empty((len(new), Y.shape[1]))

        def piece(rows: slice) -> None:
            out[rows] = new[rows] @ Y

        self._for_each_chunk(piece)
        return out

    def _for_each_chunk(self, piece: Callable[[slice], object]) -> None:
        for _ in self._map_chunks(piece):
            pass

    def _sum_chunks(self, piece: Callable[[slice], Floats]) -> Floats:
        parts = self._map_chunks(piece)
        total = next(parts)
        for part in parts:
            total += part
        return total

    def _map_chunks(self, piece: Callable[[slice], Output]) -> Iterator[Output]:
        run = parallel.map_blocks if len(self._spans) > 1 else map
        return run(lambda span: piece(slice(*span)), self._spans)


def _independent_columns(
    gram: Floats, initial_squares: Floats, previous_squares: Floats, max_columns: int
) -> tuple[Floats, float]:
    """Return combinations of columns that are orthonormal, and the least share that is left of a square.

    Parameters
    ----------
    gram : ndarray of shape (k, k)
        The products of the columns.
    initial_squares, previous_squares : ndarray of shape (k,)
        Squares of what the columns were at first, and before the basis was taken from them.
    max_columns : int
        Combinations at most.
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
