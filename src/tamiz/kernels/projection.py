"""Rows along directions."""

from __future__ import annotations

from numba.types import float32, float64, void

from tamiz.kernels import jit, ro, rw


@jit(
    [
        void(ro(float64, 2), ro(float64, 2), rw(float64, 2)),
        void(ro(float32, 2), ro(float32, 2), rw(float32, 2)),
    ],
    reassociate=True,
)
def project_rows(rows, directions, out):
    """Fill out[i, k] with the product of row i and direction k: the same bits whatever rows come with it.

    A matrix product of BLAS adds up in an order that depends on where a row stands. Four rows and three directions at a time, so
    that each is read less often; what is left over at an end is done again.
    """
    n, m = rows.shape[0], directions.shape[0]
    zero = rows.dtype.type(0.0)
    for i in range(0, n, 4):
        i_1, i_2, i_3 = min(i + 1, n - 1), min(i + 2, n - 1), min(i + 3, n - 1)
        for k in range(0, m, 3):
            k_1, k_2 = min(k + 1, m - 1), min(k + 2, m - 1)
            a_0 = a_1 = a_2 = a_3 = b_0 = b_1 = b_2 = b_3 = c_0 = c_1 = c_2 = c_3 = zero
            for j in range(rows.shape[1]):
                u, v, w = directions[k, j], directions[k_1, j], directions[k_2, j]
                x = rows[i, j]
                a_0 += x * u
                b_0 += x * v
                c_0 += x * w
                x = rows[i_1, j]
                a_1 += x * u
                b_1 += x * v
                c_1 += x * w
                x = rows[i_2, j]
                a_2 += x * u
                b_2 += x * v
                c_2 += x * w
                x = rows[i_3, j]
                a_3 += x * u
                b_3 += x * v
                c_3 += x * w
            out[i, k], out[i, k_1], out[i, k_2] = a_0, b_0, c_0
            out[i_1, k], out[i_1, k_1], out[i_1, k_2] = a_1, b_1, c_1
            out[i_2, k], out[i_2, k_1], out[i_2, k_2] = a_2, b_2, c_2
            out[i_3, k], out[i_3, k_1], out[i_3, k_2] = a_3, b_3, c_3
