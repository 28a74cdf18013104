"""Rows along directions."""

from __future__ import annotations

from numba.types import float32, float64, void

from tamiz.kernels import jit, ro, rw


@jit(
    [
        void(ro(float64, 2), ro(float64, 2), rw(float64, 2)),
        void(ro(float32, 2), ro(float32, 2), rw(float32, 2)),
    ],
    sums=True,
)
def project(rows, directions, out):
    """Fill out[i, k] with the product of row i and direction k: the same bits whatever rows come with it.

    A matrix product chooses its way by the number of rows. Four rows and two directions at a time, so that each is read less
    often; what is left over at an end is done twice.
    """
    n, m = rows.shape[0], directions.shape[0]
    zero = rows.dtype.type(0.0)
    for i in range(0, n, 4):
        i_1, i_2, i_3 = min(i + 1, n - 1), min(i + 2, n - 1), min(i + 3, n - 1)
        for k in range(0, m, 2):
            l = min(k + 1, m - 1)  # noqa: E741
            a_0 = a_1 = a_2 = a_3 = b_0 = b_1 = b_2 = b_3 = zero
            for j in range(rows.shape[1]):
                u, v = directions[k, j], directions[l, j]
                a_0 += rows[i, j] * u
                b_0 += rows[i, j] * v
                a_1 += rows[i_1, j] * u
                b_1 += rows[i_1, j] * v
                a_2 += rows[i_2, j] * u
                b_2 += rows[i_2, j] * v
                a_3 += rows[i_3, j] * u
                b_3 += rows[i_3, j] * v
            out[i, k], out[i, l] = a_0, b_0
            out[i_1, k], out[i_1, l] = a_1, b_1
            out[i_2, k], out[i_2, l] = a_2, b_2
            out[i_3, k], out[i_3, l] = a_3, b_3
