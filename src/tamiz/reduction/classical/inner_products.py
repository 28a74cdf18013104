"""The inner products of centred points, from their squared distances, by products alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tamiz.kernels.matrix_products import multiply_squares, project_squares
from tamiz.reduction.dissimilarities import Dissimilarities
from tamiz.runtime import parallel
from tamiz.statistics.base import Floats
from tamiz.storage.invariants import InstanceOf, Invariants, Number

# Numbers of one piece of work.
_VALUES_PER_TASK = 2**20
# Vectors that a kernel takes at a time.
_PRODUCT_WIDTH, _PROJECTION_WIDTH = 8, 4


@dataclass(frozen=True)
class SquaredDistances:
    """How squared distances are made of the numbers b of pairs: square b^2 + linear b, and `off_diagonal` more off the diagonal.

    Attributes
    ----------
    quadratic, linear, off_diagonal : float
    uses_distances : bool
        Whether b is the distance, or the number that a `Dissimilarities` is read by.
    """

    quadratic: float
    linear: float
    off_diagonal: float = 0.0
    uses_distances: bool = False

    invariants: ClassVar[Invariants] = {
        "quadratic": Number(),
        "linear": Number(),
        "off_diagonal": Number(),
        "uses_distances": InstanceOf(bool),
    }

    @classmethod
    def uncorrected(cls, dissimilarities: Dissimilarities) -> SquaredDistances:
        """Return them as they are."""
        return cls(dissimilarities.quadratic, dissimilarities.linear)

    @classmethod
    def lingoes_corrected(cls, dissimilarities: Dissimilarities, constant: float) -> SquaredDistances:
        """Return d^2 + 2 c off the diagonal."""
        return cls(dissimilarities.quadratic, dissimilarities.linear, 2.0 * constant)

    @classmethod
    def cailliez_corrected(cls, constant: float) -> SquaredDistances:
        """Return (d + c)^2 off the diagonal: d^2 + 2 c d, which is 0 on it, and c^2 more."""
        return cls(1.0, 2.0 * constant, constant**2, uses_distances=True)

    @classmethod
    def unsquared(cls) -> SquaredDistances:
        """Return d in the place of d^2."""
        return cls(0.0, 1.0, uses_distances=True)

    def block_reader(self, dissimilarities: Dissimilarities) -> Callable[[Any, int, int], Floats]:
        """Return what reads b."""
        return dissimilarities.distances if self.uses_distances else dissimilarities.block


class InnerProducts:
    """B = -1/2 C W C, with the squared distances W of rows and the centring C.

    Attributes
    ----------
    n : int
    """

    def __init__(self, dissimilarities: Dissimilarities, squared_distances: SquaredDistances) -> None:
        self._dissimilarities, self._squared_distances = dissimilarities, squared_distances
        self.n = dissimilarities.points.n_samples

    def eigenvalue_sum(self, row_means: Floats) -> float:
        """Return the sum of the eigenvalues of B.

        Parameters
        ----------
        row_means : ndarray of shape (n,)
            Of each row of W, without the step off its diagonal.
        """
        given = self._squared_distances
        trace = 0.0 if given.uses_distances else self._dissimilarities.trace
        return (self.n * float(row_means.mean()) - trace + given.off_diagonal * (self.n - 1)) / 2

    def __call__(self, X: Floats) -> Floats:
        """Return X B for vectors that are rows of X."""
        X = X - X.mean(axis=1, keepdims=True)
        Y = self._multiply(X)
        Y *= -0.5
        # 1/2 C (step (1 - I)) C is step / 2 times C.
        Y -= Y.mean(axis=1, keepdims=True)
        if self._squared_distances.off_diagonal:
            Y += self._squared_distances.off_diagonal / 2 * X
        return Y

    def to_dense(self) -> Floats:
        """Return B, for few rows."""
        B = self(np.eye(self.n))
        return (B + B.T) / 2

    def _multiply(self, X: Floats) -> Floats:
        """Return X W; the squares are never written down."""
        width, n = X.shape
        given, block = self._squared_distances, self._squared_distances.block_reader(self._dissimilarities)
        columns = X
        if width % _PRODUCT_WIDTH:
            columns = np.zeros((-(-width // _PRODUCT_WIDTH) * _PRODUCT_WIDTH, n))
            columns[:width] = X
        out = np.empty(columns.shape)

        def piece(span: tuple[int, int]) -> None:
            b = block(self._dissimilarities.points, *span)
            some = np.empty((_PRODUCT_WIDTH, len(b)))
            for start in range(0, len(columns), _PRODUCT_WIDTH):
                multiply_squares(b, given.quadratic, given.linear, columns[start : start + _PRODUCT_WIDTH], some)
                out[start : start + _PRODUCT_WIDTH, slice(*span)] = some

        for _ in parallel.map_blocks(piece, parallel.block_ranges(n, max(2, _VALUES_PER_TASK // n))):
            pass
        return out[:width]


def project_squared_distances(
    dissimilarities: Dissimilarities, squared_distances: SquaredDistances, queries: Any, directions: Floats
) -> Floats:
    """Return for each query the sum over rows of their squared distance, without any step, times directions.

    Parameters
    ----------
    dissimilarities : Dissimilarities
    squared_distances : SquaredDistances
    queries : Points
    directions : ndarray of shape (k, n)

    Returns
    -------
    ndarray of shape (n_queries, k)
        The same bits for a query whatever others come with it.
    """
    k, n = directions.shape
    padded = np.zeros((-(-k // _PROJECTION_WIDTH) * _PROJECTION_WIDTH, n))
    padded[:k] = directions
    block = squared_distances.block_reader(dissimilarities)
    out = np.empty((queries.n_samples, k))

    def piece(span: tuple[int, int]) -> None:
        b = block(queries, *span)
        some = np.empty((_PROJECTION_WIDTH, len(b)))
        for start in range(0, k, _PROJECTION_WIDTH):
            project_squares(
                b,
                squared_distances.quadratic,
                squared_distances.linear,
                padded[start : start + _PROJECTION_WIDTH],
                some,
            )
            stop = min(start + _PROJECTION_WIDTH, k)
            out[slice(*span), start:stop] = some[: stop - start].T

    for _ in parallel.map_blocks(piece, parallel.block_ranges(len(out), max(1, _VALUES_PER_TASK // n))):
        pass
    return out
