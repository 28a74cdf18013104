"""The inner products of centred points, from their squared distances, by products alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tamiz import parallel
from tamiz.kernels.squares import squares_along, squares_times
from tamiz.reduction.dissimilarities import Dissimilarities
from tamiz.statistics.base import Floats
from tamiz.storage.invariants import Invariants, Is, Number

# Numbers of one piece of work.
_PIECE = 2**20
# Vectors that a kernel takes at a time.
_TIMES, _ALONG = 8, 4


@dataclass(frozen=True)
class Squares:
    """How squared distances are made of the numbers b of pairs: square b^2 + linear b, and `step` more off the diagonal.

    Attributes
    ----------
    square, linear, step : float
    of_distances : bool
        Whether b is the distance, or the number that a `Dissimilarities` is read by.
    """

    square: float
    linear: float
    step: float = 0.0
    of_distances: bool = False

    invariants: ClassVar[Invariants] = {
        "square": Number(),
        "linear": Number(),
        "step": Number(),
        "of_distances": Is(bool),
    }

    @classmethod
    def of(cls, rows: Dissimilarities) -> Squares:
        """Return them as they are."""
        return cls(rows.square, rows.linear)

    @classmethod
    def lifted(cls, rows: Dissimilarities, constant: float) -> Squares:
        """Return d^2 + 2 c off the diagonal."""
        return cls(rows.square, rows.linear, 2.0 * constant)

    @classmethod
    def farther(cls, constant: float) -> Squares:
        """Return (d + c)^2 off the diagonal: d^2 + 2 c d, which is 0 on it, and c^2 more."""
        return cls(1.0, 2.0 * constant, constant**2, of_distances=True)

    @classmethod
    def plain_distances(cls) -> Squares:
        """Return d in the place of d^2."""
        return cls(0.0, 1.0, of_distances=True)

    def blocks(self, rows: Dissimilarities) -> Callable[[Any, int, int], Floats]:
        """Return what reads b."""
        return rows.distances if self.of_distances else rows.block


class InnerProducts:
    """B = -1/2 C W C, with the squared distances W of rows and the centring C.

    Attributes
    ----------
    n : int
    """

    def __init__(self, rows: Dissimilarities, squares: Squares) -> None:
        self._rows, self._squares = rows, squares
        self.n = rows.points.n_samples

    def total(self, means: Floats) -> float:
        """Return the sum of the eigenvalues of B.

        Parameters
        ----------
        means : ndarray of shape (n,)
            Of each row of W, without the step off its diagonal.
        """
        given = self._squares
        trace = 0.0 if given.of_distances else self._rows.trace
        return (self.n * float(means.mean()) - trace + given.step * (self.n - 1)) / 2

    def __call__(self, X: Floats) -> Floats:
        """Return X B for vectors that are rows of X."""
        X = X - X.mean(axis=1, keepdims=True)
        Y = self._times(X)
        Y *= -0.5
        # 1/2 C (step (1 - I)) C is step / 2 times C.
        Y -= Y.mean(axis=1, keepdims=True)
        if self._squares.step:
            Y += self._squares.step / 2 * X
        return Y

    def dense(self) -> Floats:
        """Return B, for few rows."""
        B = self(np.eye(self.n))
        return (B + B.T) / 2

    def _times(self, X: Floats) -> Floats:
        """Return X W; the squares are never written down."""
        width, n = X.shape
        given, block = self._squares, self._squares.blocks(self._rows)
        columns = X
        if width % _TIMES:
            columns = np.zeros((-(-width // _TIMES) * _TIMES, n))
            columns[:width] = X
        out = np.empty(columns.shape)

        def piece(span: tuple[int, int]) -> None:
            b = block(self._rows.points, *span)
            some = np.empty((_TIMES, len(b)))
            for start in range(0, len(columns), _TIMES):
                squares_times(b, given.square, given.linear, columns[start : start + _TIMES], some)
                out[start : start + _TIMES, slice(*span)] = some

        for _ in parallel.map_blocks(piece, parallel.spans(n, max(2, _PIECE // n))):
            pass
        return out[:width]


def along(rows: Dissimilarities, squares: Squares, queries: Any, directions: Floats) -> Floats:
    """Return for each query the sum over rows of their squared distance, without any step, times directions.

    Parameters
    ----------
    rows : Dissimilarities
    squares : Squares
    queries : Points
    directions : ndarray of shape (k, n)

    Returns
    -------
    ndarray of shape (n_queries, k)
        The same bits for a query whatever others come with it.
    """
    k, n = directions.shape
    padded = np.zeros((-(-k // _ALONG) * _ALONG, n))
    padded[:k] = directions
    block = squares.blocks(rows)
    out = np.empty((queries.n_samples, k))

    def piece(span: tuple[int, int]) -> None:
        b = block(queries, *span)
        some = np.empty((_ALONG, len(b)))
        for start in range(0, k, _ALONG):
            squares_along(b, squares.square, squares.linear, padded[start : start + _ALONG], some)
            stop = min(start + _ALONG, k)
            out[slice(*span), start:stop] = some[: stop - start].T

    for _ in parallel.map_blocks(piece, parallel.spans(len(out), max(1, _PIECE // n))):
        pass
    return out
