"""How much columns vary along the edges of a graph, or within the classes of rows, and in all."""

from __future__ import annotations

from numba.types import float64, int32, int64, void

from tamiz.kernels import jit, ro, rw


@jit(void(ro(float64, 2), ro(int64), ro(int32), ro(float64), int64, int64, rw(float64)), reassociate=True)
def edge_variation(rows, indptr, indices, edge_weights, start, stop, out):
    """Add to out[c] the sum over the edges (i, j), i < j, start <= i < stop, of strength (x_ic - x_jc)^2."""
    for i in range(start, stop):
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            if j > i:
                for c in range(rows.shape[1]):
                    gap = rows[i, c] - rows[j, c]
                    out[c] += edge_weights[e] * gap * gap


@jit(void(ro(float64, 2), ro(int32), ro(float64), ro(float64), rw(float64, 3)))
def class_sums_and_extremes(rows, labels, weight, shift, out):
    """Add to out[0, class] the weighted sums of the rows less `shift`; out[1, class] and out[2, class] are the extremes."""
    for i in range(rows.shape[0]):
        k = labels[i]
        if weight[i] > 0.0:
            for c in range(rows.shape[1]):
                value = rows[i, c]
                out[0, k, c] += weight[i] * (value - shift[c])
                out[1, k, c] = min(out[1, k, c], value)
                out[2, k, c] = max(out[2, k, c], value)


@jit(void(ro(float64, 2), ro(int32), ro(float64), ro(float64, 2), rw(float64, 2)), reassociate=True)
def class_squared_deviations(rows, labels, weight, means, out):
    """Add to out[class] the weighted squares of the rows' gaps to the mean of their class."""
    for i in range(rows.shape[0]):
        k = labels[i]
        for c in range(rows.shape[1]):
            gap = rows[i, c] - means[k, c]
            out[k, c] += weight[i] * gap * gap


@jit(
    void(ro(int64), ro(int32), ro(float64), ro(int64), ro(int32), ro(float64), int64, int64, rw(float64)),
    reassociate=True,
)  # fmt: skip
def sparse_edge_variation(indptr, indices, edge_weights, x_indptr, x_indices, x_values, start, stop, out):
    """Add to out the sums of `edge_variation` for sparse rows, their indices in order."""
    for i in range(start, stop):
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            if j > i:
                a, a_stop = x_indptr[i], x_indptr[i + 1]
                b, b_stop = x_indptr[j], x_indptr[j + 1]
                while a < a_stop or b < b_stop:
                    in_a = a < a_stop and (b == b_stop or x_indices[a] <= x_indices[b])
                    in_b = b < b_stop and (a == a_stop or x_indices[b] <= x_indices[a])
                    c = x_indices[a] if in_a else x_indices[b]
                    gap = 0.0
                    if in_a:
                        gap += x_values[a]
                        a += 1
                    if in_b:
                        gap -= x_values[b]
                        b += 1
                    out[c] += edge_weights[e] * gap * gap
