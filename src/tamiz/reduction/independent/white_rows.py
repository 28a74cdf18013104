"""Whitened rows in blocks, and the moments of their rotations that the solvers of independent component analysis need."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats
from tamiz.kernels.log_cosh import log_cosh_sums, log_cosh_sums_single
from tamiz.runtime import parallel

# Values of a block, which stays with its sources and scores in the cache of a core; rows of a block are a multiple of 64.
_VALUES_PER_BLOCK, _ROW_MULTIPLE = 2**14, 64
# Values of a task. With fewer values starting threads costs more than it saves.
_VALUES_PER_TASK = 2**17


@dataclass(frozen=True)
class Moments:
    """Moments of the sources y = W z of whitened rows z.

    Attributes
    ----------
    log_cosh : ndarray of shape (k,)
        The mean of log cosh y_i.
    slope : ndarray of shape (k,)
        The mean of the derivative of tanh y_i.
    products : ndarray of shape (k, k)
        The means of tanh(y_i) y_j.
    """

    log_cosh: Floats
    slope: Floats
    products: Floats

    @cached_property
    def excess(self) -> Floats:
        """The mean of tanh'(y_i) minus that of tanh(y_i) y_i: above 0 for super-Gaussian sources, 0 for normal ones."""
        return self.slope - self.products.diagonal()

    @property
    def signs(self) -> Floats:
        """1 for super-Gaussian sources and -1 for sub-Gaussian ones."""
        return np.where(self.excess >= 0.0, 1.0, -1.0)

    @property
    def log_likelihood(self) -> float:
        """The mean of the sum of log p(y_i), in nats, for sources of mean square 1.

        p(y) is 1 / (pi cosh y) for super-Gaussian sources, and cosh(y) exp(-(y^2 + 1) / 2) / sqrt(2 pi) for
        sub-Gaussian ones.
        """
        super_gaussian = -math.log(math.pi) - self.log_cosh
        sub_gaussian = self.log_cosh - 1.0 - 0.5 * math.log(2.0 * math.pi)
        return float(np.where(self.signs > 0.0, super_gaussian, sub_gaussian).sum())

    def loss(self, signs: Floats) -> float:
        """Return the sum of the means of log cosh, each with its sign: what the solvers minimise."""
        return float(signs @ self.log_cosh)

    def gradient(self, signs: Floats) -> Floats:
        """Return the skew-symmetric gradient of the loss for rotations of the sources, of shape (k, k)."""
        signed = signs[:, None] * self.products
        return (signed - signed.T) / 2.0


class WhiteRows:
    """Rows of mean 0 whose covariance, with n, is the identity.

    Parameters
    ----------
    points : ndarray of shape (n, k), float64 or float32, C-contiguous
    transformation : ndarray of shape (k, k)
        The rows are points times its transpose. It is part of every rotation, so that the rows are never formed.
    """

    def __init__(self, points: NDArray[Any], transformation: Floats) -> None:
        self._points, self._transformation = points, transformation
        self.n_rows, self.n_components = points.shape
        self.is_single = points.dtype == np.float32
        size = _rows_per_block(self.n_components)
        self._blocks = parallel.block_ranges(self.n_rows, size)
        self._tasks = parallel.block_ranges(len(self._blocks), max(1, _VALUES_PER_TASK // (size * self.n_components)))
        self._buffers = parallel.BufferPool(lambda: np.empty((2, size * self.n_components), points.dtype))

    @classmethod
    def from_points(cls, points: NDArray[Any]) -> tuple[WhiteRows, Floats]:
        """Return centred points of shape (n, k) after a symmetric transformation to unit covariance, and its matrix."""
        points = np.ascontiguousarray(points, dtype=np.float64)
        n, k = points.shape
        ranges = parallel.block_ranges(n, max(_rows_per_block(k), _VALUES_PER_TASK // k))
        covariance = np.zeros((k, k))
        for products in parallel.map_blocks(lambda own: points[slice(*own)].T @ points[slice(*own)], ranges):
            covariance += products
        values, vectors = np.linalg.eigh(covariance / n)
        transformation = (vectors / np.sqrt(values)) @ vectors.T
        return cls(points, transformation), transformation

    def sample(self, step: int) -> WhiteRows:
        return WhiteRows(np.ascontiguousarray(self._points[::step]), self._transformation)

    def to_single(self) -> WhiteRows:
        """Return the rows in float32, whose moments are exact to about 1e-7."""
        return WhiteRows(self._points.astype(np.float32), self._transformation)

    def moments(self, rotation: Floats) -> Moments:
        """Return the moments of the sources, in one pass over the rows; blocks are summed in their order."""
        k = self.n_components
        unmixing = rotation @ self._transformation
        own = unmixing.astype(self._points.dtype)
        sums, products = np.zeros((k, 2)), np.zeros((k, k))
        for own_sums, own_products in parallel.map_blocks(lambda task: self._sum_task(own, task), self._tasks):
            sums += own_sums
            products += own_products
        sums /= self.n_rows
        return Moments(sums[:, 0].copy(), 1.0 - sums[:, 1], products @ unmixing.T / self.n_rows)

    def _sum_task(self, unmixing: NDArray[Any], task: tuple[int, int]) -> tuple[Floats, Floats]:
        """Return the sums of log cosh and of squared tanh of some blocks, and the products of tanh with the points."""
        k = self.n_components
        sums, products, product = np.zeros((k, 2)), np.zeros((k, k)), np.empty((k, k), self._points.dtype)
        kernel = log_cosh_sums_single if self.is_single else log_cosh_sums
        with self._buffers.acquire() as buffer:
            for start, stop in self._blocks[slice(*task)]:
                points = self._points[start:stop]
                sources, tanh = (values[: points.size].reshape(k, stop - start) for values in buffer)
                np.matmul(unmixing, points.T, out=sources)
                kernel(sources, tanh, sums)
                products += np.matmul(tanh, points, out=product)
        return sums, products


def _rows_per_block(n_components: int) -> int:
    return max(_ROW_MULTIPLE, _VALUES_PER_BLOCK // n_components // _ROW_MULTIPLE * _ROW_MULTIPLE)
