"""Whitened rows in blocks, and the moments of their rotations that the solvers of independent component analysis need."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tamiz.kernels.log_cosh import log_cosh_sums
from tamiz.runtime import parallel
from tamiz.statistics.base import Floats

# Values of a block, which stays with its sources and scores in the cache of a core; rows of a block are a multiple of 64.
_VALUES_PER_BLOCK, _ROW_MULTIPLE = 2**15, 64
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
    blocks : sequence of ndarray of shape (k, m), C-contiguous
        A row of the table is a column of a block.
    """

    def __init__(self, blocks: Sequence[Floats]) -> None:
        self._blocks = blocks
        self.n_components = len(blocks[0])
        self.n_rows = sum(block.shape[1] for block in blocks)
        per_task = max(1, _VALUES_PER_TASK // blocks[0].size)
        self._tasks = parallel.block_ranges(len(blocks), per_task)
        width = max(block.shape[1] for block in blocks)
        self._buffers = parallel.BufferPool(lambda: np.empty((2, self.n_components * width)))

    @classmethod
    def from_points(cls, points: Floats) -> tuple[WhiteRows, Floats]:
        """Return centred points of shape (n, k) after a symmetric transformation to unit covariance, and its matrix."""
        k = points.shape[1]
        blocks = [
            np.ascontiguousarray(points[start:stop].T, dtype=np.float64)
            for start, stop in parallel.block_ranges(len(points), _rows_per_block(k))
        ]
        covariance = np.zeros((k, k))
        for products in parallel.map_blocks(lambda block: block @ block.T, blocks):
            covariance += products
        values, vectors = np.linalg.eigh(covariance / len(points))
        transformation = (vectors / np.sqrt(values)) @ vectors.T
        return cls(list(parallel.map_blocks(lambda block: transformation @ block, blocks))), transformation

    def sample(self, step: int) -> WhiteRows:
        """Return about every step-th row."""
        some = np.concatenate([block[:, ::step] for block in self._blocks], axis=1)
        ranges = parallel.block_ranges(some.shape[1], _rows_per_block(self.n_components))
        return WhiteRows([np.ascontiguousarray(some[:, start:stop]) for start, stop in ranges])

    def moments(self, rotation: Floats) -> Moments:
        """Return the moments of the sources, in one pass over the rows; blocks are summed in their order."""
        k = self.n_components
        sums, products = np.zeros((k, 2)), np.zeros((k, k))
        for own_sums, own_products in parallel.map_blocks(lambda task: self._sum_task(rotation, task), self._tasks):
            sums += own_sums
            products += own_products
        sums /= self.n_rows
        return Moments(sums[:, 0].copy(), 1.0 - sums[:, 1], products / self.n_rows)

    def _sum_task(self, rotation: Floats, task: tuple[int, int]) -> tuple[Floats, Floats]:
        k = self.n_components
        sums, products, product = np.zeros((k, 2)), np.zeros((k, k)), np.empty((k, k))
        with self._buffers.acquire() as buffer:
            for block in self._blocks[slice(*task)]:
                sources, tanh = (values[: block.size].reshape(block.shape) for values in buffer)
                np.matmul(rotation, block, out=sources)
                log_cosh_sums(sources, tanh, sums)
                products += np.matmul(tanh, sources.T, out=product)
        return sums, products


def _rows_per_block(n_components: int) -> int:
    return max(_ROW_MULTIPLE, _VALUES_PER_BLOCK // n_components // _ROW_MULTIPLE * _ROW_MULTIPLE)
