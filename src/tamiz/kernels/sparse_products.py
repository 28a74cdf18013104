"""Cross products of the columns of sparse rows."""

from __future__ import annotations

from numba.types import float64, int32, int64, void

from tamiz.kernels import jit, ro, rw


@jit(void(ro(int64), ro(int32), ro(float64), ro(float64), rw(float64, 2)))
def sparse_cross_products(indptr, indices, data, weight, out):
    """Add to out[a, b], a <= b, the weighted sum over the rows of their entries in columns a and b.

    The entries of row i are at indptr[i] : indptr[i + 1], their columns ascending.
    """
    for i in range(weight.shape[0]):
        for k in range(indptr[i], indptr[i + 1]):
            value = weight[i] * data[k]
            row = out[indices[k]]
            for l in range(k, indptr[i + 1]):  # noqa: E741
                row[indices[l]] += value * data[l]
