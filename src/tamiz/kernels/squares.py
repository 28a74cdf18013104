"""Products with squared distances, which are squared as they are read."""

from __future__ import annotations

from numba.types import float64, void

from tamiz.kernels import jit, ro, rw


@jit(void(ro(float64, 2), float64, float64, ro(float64, 2), rw(float64, 2)), reassociate=True)
def multiply_squares(distances, quadratic, linear, x, out):
    """Fill out[c, i] with the sum over j of (square d^2 + linear d) x[c, j], d = distances[i, j], for eight rows of x.

    Two rows of distances at a time, so that x is read half as often; all sums stay in registers.
    """
    n_rows = distances.shape[0]
    for i in range(0, n_rows, 2):
        k = min(i + 1, n_rows - 1)
        a_0 = a_1 = a_2 = a_3 = a_4 = a_5 = a_6 = a_7 = 0.0
        b_0 = b_1 = b_2 = b_3 = b_4 = b_5 = b_6 = b_7 = 0.0
        for j in range(distances.shape[1]):
            a = distances[i, j] * (quadratic * distances[i, j] + linear)
            b = distances[k, j] * (quadratic * distances[k, j] + linear)
            a_0 += a * x[0, j]
            b_0 += b * x[0, j]
            a_1 += a * x[1, j]
            b_1 += b * x[1, j]
            a_2 += a * x[2, j]
            b_2 += b * x[2, j]
            a_3 += a * x[3, j]
            b_3 += b * x[3, j]
            a_4 += a * x[4, j]
            b_4 += b * x[4, j]
            a_5 += a * x[5, j]
            b_5 += b * x[5, j]
            a_6 += a * x[6, j]
            b_6 += b * x[6, j]
            a_7 += a * x[7, j]
            b_7 += b * x[7, j]
        out[0, i], out[1, i], out[2, i], out[3, i] = a_0, a_1, a_2, a_3
        out[4, i], out[5, i], out[6, i], out[7, i] = a_4, a_5, a_6, a_7
        out[0, k], out[1, k], out[2, k], out[3, k] = b_0, b_1, b_2, b_3
        out[4, k], out[5, k], out[6, k], out[7, k] = b_4, b_5, b_6, b_7


@jit(void(ro(float64, 2), float64, float64, ro(float64, 2), rw(float64, 2)), reassociate=True)
def project_squares(distances, quadratic, linear, directions, out):
    """Fill out[c, i] as `multiply_squares` does, for four directions: the same bits whatever rows come with row i."""
    for i in range(distances.shape[0]):
        a_0 = a_1 = a_2 = a_3 = 0.0
        for j in range(distances.shape[1]):
            a = distances[i, j] * (quadratic * distances[i, j] + linear)
            a_0 += a * directions[0, j]
            a_1 += a * directions[1, j]
            a_2 += a * directions[2, j]
            a_3 += a * directions[3, j]
        out[0, i], out[1, i], out[2, i], out[3, i] = a_0, a_1, a_2, a_3
