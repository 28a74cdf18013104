"""An orthonormal basis that grows and shrinks, with its Rayleigh-Ritz pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np
from scipy import linalg

from tamiz import parallel
from tamiz.graphs.spectrum.pencil import Pencil
from tamiz.statistics.base import Floats

Answer = TypeVar("Answer")

# Rows of a piece of the tall products.
_ROWS = 16384
_ROUNDING = float(np.finfo(np.float64).eps) ** 2
# A direction of whose square no more than this is left was in the basis already: the rest is rounding.
_NOTHING = 1e-26
# One that shrank to less is freed of the basis again: what a pass leaves would grow from block to block.
_SHRUNK = 1e-2
_PASSES = 5
# Below this, the least eigenvalue of the products of unit columns says that they are dependent.
_DEPENDENT = 1e-13


class Basis:
    """Orthonormal columns, none along a null vector, and what M is between them.

    Parameters
    ----------
    pencil : Pencil
    room : int
        Columns at most.

    Attributes
    ----------
    size : int
        Columns at present.
    """

    def __init__(self, pencil: Pencil, room: int) -> None:
        self._pencil = pencil
        self._Q = np.empty((room, pencil.n))
        self._H = np.zeros((room, room))
        self._spans = parallel.spans(pencil.n, _ROWS)
        self.size = 0
        self.room = room

    def add(self, new: Floats, near: Floats) -> None:
        """Extend by new columns, which are used up; those that lie in it already are left out.

        `near` are orthonormal vectors of the basis that the new ones are close to. Taken from it first, they save a reading of
        the basis.
        """
        new = self._orthonormal(new, near)
        start, stop = self.size, self.size + new.shape[1]
        self._Q[start:stop] = new.T
        self.size = stop
        if stop > start:
            self._H[:stop, start:stop] = self._against(self._pencil.product(new))
            self._H[start:stop, :start] = self._H[:start, start:stop].T

    def ritz(self) -> tuple[Floats, Floats]:
        """Return the Ritz values, ascending, and the coefficients of their vectors."""
        matrix = self._H[: self.size, : self.size]
        values, Y = linalg.eigh((matrix + matrix.T) / 2, check_finite=False)
        return values, Y

    def vectors(self, Y: Floats) -> Floats:
        """Return the vectors of some coefficients."""
        out = np.empty((self._pencil.n, Y.shape[1]))
        Y = np.ascontiguousarray(Y)
        self._each(lambda rows: np.matmul(self._Q[: self.size, rows].T, Y, out=out[rows]))
        return out

    def restart(self, values: Floats, Y: Floats) -> None:
        """Keep some Ritz vectors only."""
        kept = Y.shape[1]
        Y = np.ascontiguousarray(Y.T)

        def piece(rows: slice) -> None:
            self._Q[:kept, rows] = Y @ self._Q[: self.size, rows]

        self._each(piece)
        self.size = kept
        self._H[:kept, :kept] = np.diag(values)

    def _orthonormal(self, new: Floats, near: Floats) -> Floats:
        self._pencil.project(new)
        whole = self._sum(lambda rows: np.einsum("ij,ij->j", new[rows], new[rows]))
        overlaps = self._sum(lambda rows: near[rows].T @ new[rows])

        def piece(rows: slice) -> Floats:
            new[rows] -= near[rows] @ overlaps
            return np.einsum("ij,ij->j", new[rows], new[rows])

        before = self._sum(piece)
        along = self._against(new)
        for _ in range(_PASSES):
            self._pencil.project(new)
            along, gram = self._freed(new, along)
            Y, shrunk = _independent(gram, whole, before, self._pencil.n_nonnull - self.size)
            new = self._combined(new, Y)
            if shrunk > _SHRUNK:
                break
            along = along @ Y
            whole = before = np.ones(new.shape[1])
        return new

    def _against(self, new: Floats) -> Floats:
        """Return what the new columns have along the basis."""
        return self._sum(lambda rows: self._Q[: self.size, rows] @ new[rows])

    def _freed(self, new: Floats, along: Floats) -> tuple[Floats, Floats]:
        """Take from the new columns, in place, what they have along the basis; return what is left of that, and their products."""
        size = self.size

        def piece(rows: slice) -> Floats:
            basis = self._Q[:size, rows]
            new[rows] -= basis.T @ along
            return np.vstack([basis @ new[rows], new[rows].T @ new[rows]])

        total = self._sum(piece)
        return total[:size], total[size:]

    def _combined(self, new: Floats, Y: Floats) -> Floats:
        out = new if Y.shape[1] == new.shape[1] else np.empty((len(new), Y.shape[1]))

        def piece(rows: slice) -> None:
            out[rows] = new[rows] @ Y

        self._each(piece)
        return out

    def _each(self, piece: Callable[[slice], object]) -> None:
        for _ in self._map(piece):
            pass

    def _sum(self, piece: Callable[[slice], Floats]) -> Floats:
        parts = self._map(piece)
        total = next(parts)
        for part in parts:
            total += part
        return total

    def _map(self, piece: Callable[[slice], Answer]) -> Iterator[Answer]:
        run = parallel.map_blocks if len(self._spans) > 1 else map
        return run(lambda span: piece(slice(*span)), self._spans)


def _independent(gram: Floats, whole: Floats, before: Floats, most: int) -> tuple[Floats, float]:
    """Return combinations of columns that are orthonormal, and the least share that is left of a square.

    Parameters
    ----------
    gram : ndarray of shape (k, k)
        The products of the columns.
    whole, before : ndarray of shape (k,)
        Squares of what the columns were at first, and before the basis was taken from them.
    most : int
        Combinations at most.
    """
    own = np.diag(gram)
    some = np.flatnonzero(own > _NOTHING * whole)
    if not len(some) or not most:
        return np.zeros((len(own), 0)), 1.0
    scale = np.sqrt(own[some])
    values, W = linalg.eigh(gram[np.ix_(some, some)] / np.outer(scale, scale), check_finite=False)
    kept = values > max(_DEPENDENT, 100 * _ROUNDING * float((whole / own)[some].max()))
    kept[: max(len(values) - most, 0)] = False
    Y = np.zeros((len(own), int(kept.sum())))
    Y[some] = W[:, kept] / scale[:, None] / np.sqrt(values[kept])
    return Y, float(values[kept].min() * (own / before)[some].min())
