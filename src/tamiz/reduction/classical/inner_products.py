"""The centred inner products B = -1/2 C D^(2) C of classical scaling as an operator that never stores the squared distances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tamiz.arrays import Floats
from tamiz.kernels.matrix_products import multiply_squares, project_squares
from tamiz.reduction.dissimilarities import Dissimilarities
from tamiz.runtime import parallel
from tamiz.storage.invariants import InstanceOf, Invariants, Number

# Values of one parallel task.
_VALUES_PER_TASK = 2**20
# Vectors that a kernel multiplies at a time.
_PRODUCT_WIDTH, _PROJECTION_WIDTH = 8, 4


@dataclass(frozen=True)
class SquaredDistances:
    """Coefficients of squared distances: quadratic b^2 + linear b, plus `off_diagonal` off the diagonal.

    Attributes
    ----------
    quadratic, linear, off_diagonal : float
    uses_distances : bool
        Whether b is the distance; else it is the number that `Dissimilarities.block` returns.
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
        """Return d^2."""
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
        """Return d instead of d^2, for Cailliez's matrix A."""
        return cls(0.0, 1.0, uses_distances=True)

    def block_reader(self, dissimilarities: Dissimilarities) -> Callable[[Any, int, int], Floats]:
        return dissimilarities.distances if self.uses_distances else dissimilarities.block


class InnerProducts:
    """The operator B = -1/2 C W C, with the squared distances W and the centring matrix C.

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
            Mean of each row of W without `off_diagonal`.
        """
        form = self._squared_distances
        trace = 0.0 if form.uses_distances else self._dissimilarities.trace
        return (self.n * float(row_means.mean()) - trace + form.off_diagonal * (self.n - 1)) / 2

    def __call__(self, X: Floats) -> Floats:
        X = X - X.mean(axis=1, keepdims=True)
        Y = self._multiply(X)
        Y *= -0.5
        # -1/2 C (c (1 1' - I)) C = c / 2 C for the off-diagonal constant c.
        Y -= Y.mean(axis=1, keepdims=True)
        if self._squared_distances.off_diagonal:
            Y += self._squared_distances.off_diagonal / 2 * X
        return Y

    def to_dense(self) -> Floats:
        """Return B as a matrix, for few rows."""
        B = self(np.eye(self.n))
        return (B + B.T) / 2

    def _multiply(self, X: Floats) -> Floats:
        """Return X W, block by block without storing W."""
        width, n = X.shape
        form, block = self._squared_distances, self._squared_distances.block_reader(self._dissimilarities)
        columns = X
        if width % _PRODUCT_WIDTH:
            columns = np.zeros((-(-width // _PRODUCT_WIDTH) * _PRODUCT_WIDTH, n))
            columns[:width] = X
        out = np.empty(columns.shape)

        def multiply(span: tuple[int, int]) -> None:
            b = block(self._dissimilarities.points, *span)
            products = np.empty((_PRODUCT_WIDTH, len(b)))
            for start in range(0, len(columns), _PRODUCT_WIDTH):
                multiply_squares(b, form.quadratic, form.linear, columns[start : start + _PRODUCT_WIDTH], products)
                out[start : start + _PRODUCT_WIDTH, slice(*span)] = products

        parallel.run_blocks(multiply, parallel.block_ranges(n, max(2, _VALUES_PER_TASK // n)))
        return out[:width]


def project_squared_distances(
    dissimilarities: Dissimilarities, squared_distances: SquaredDistances, queries: Any, directions: Floats
) -> Floats:
    """Return for each query the sums of its squared distances, without `off_diagonal`, times directions.

    Parameters
    ----------
    dissimilarities : Dissimilarities
    squared_distances : SquaredDistances
    queries : Points
    directions : ndarray of shape (k, n)

    Returns
    -------
    ndarray of shape (n_queries, k)
        The result for a query does not depend, to the bit, on the other queries.
    """
    k, n = directions.shape
    padded = np.zeros((-(-k // _PROJECTION_WIDTH) * _PROJECTION_WIDTH, n))
    padded[:k] = directions
    block = squared_distances.block_reader(dissimilarities)
    out = np.empty((queries.n_samples, k))

    def project(span: tuple[int, int]) -> None:
        b = block(queries, *span)
        sums = np.empty((_PROJECTION_WIDTH, len(b)))
        for start in range(0, k, _PROJECTION_WIDTH):
            project_squares(
                b,
                squared_distances.quadratic,
                squared_distances.linear,
                padded[start : start + _PROJECTION_WIDTH],
                sums,
            )
            stop = min(start + _PROJECTION_WIDTH, k)
            out[slice(*span), start:stop] = sums[: stop - start].T

    parallel.run_blocks(project, parallel.block_ranges(len(out), max(1, _VALUES_PER_TASK // n)))
    return out
