"""Rows along directions."""

from __future__ import annotations

from numba.types import float64, void

from tamiz.kernels import jit, ro, rw


@jit(void(ro(float64, 2), ro(float64, 2), rw(float64, 2)), sums=True)
def project(rows, directions, out):
    """Fill out[i, k] with the product of row i and direction k: the same bits whatever rows come with it.

    A matrix product chooses its way by the number of rows.
    """
    for i in range(rows.shape[0]):
        for k in range(directions.shape[0]):
            total = 0.0
            for j in range(rows.shape[1]):
                total += rows[i, j] * directions[k, j]
            out[i, k] = total
