"""Matrix products that BLAS does not offer: with squares of distances or sparse rows, and with reproducible bits.

Distances are squared while they are read: the matrix of squares is not stored.
"""

from __future__ import annotations

from numba.types import float32, float64, int32, int64, void

from tamiz.kernels import jit, ro, rw


@jit(void(ro(float64, 2), float64, float64, ro(float64, 2), rw(float64, 2)), reassociate=True)
def multiply_squares(distances, quadratic, linear, x, out):
    """Fill out[c, i] with the sum over j of (quadratic d^2 + linear d) x[c, j], d = distances[i, j], for eight rows of x.

    Two rows of distances are processed together, so that x is read half as often; all sums stay in registers.
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
    """Fill out[c, i] as `multiply_squares` does, for four directions; row i has the same bits in every batch."""
    for i in range(distances.shape[0]):
        a_0 = a_1 = a_2 = a_3 = 0.0
        for j in range(distances.shape[1]):
            a = distances[i, j] * (quadratic * distances[i, j] + linear)
            a_0 += a * directions[0, j]
            a_1 += a * directions[1, j]
            a_2 += a * directions[2, j]
            a_3 += a * directions[3, j]
        out[0, i], out[1, i], out[2, i], out[3, i] = a_0, a_1, a_2, a_3


@jit(void(ro(int64), ro(int32), ro(float64), ro(float64), rw(float64, 2)))
def sparse_cross_products(indptr, indices, data, weight, out):
    """Add to out[a, b], a <= b, the weighted sum over sparse rows of the products of their entries in columns a and b.

    Rows are in CSR form with ascending columns.
    """
    for i in range(weight.shape[0]):
        for k in range(indptr[i], indptr[i + 1]):
            value = weight[i] * data[k]
            row = out[indices[k]]
            for l in range(k, indptr[i + 1]):  # noqa: E741
                row[indices[l]] += value * data[l]


@jit(
    [
        void(ro(float64, 2), ro(float64, 2), rw(float64, 2)),
        void(ro(float32, 2), ro(float32, 2), rw(float32, 2)),
    ],
    reassociate=True,
)
def project_rows(rows, directions, out):
    """Fill out[i, k] with the product of row i and direction k; a row has the same bits in every batch.

    A matrix product of BLAS sums in an order that depends on the position of a row. Four rows and three directions are processed
    together, so that each is read less often; the last rows and directions are repeated to fill a group.
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
