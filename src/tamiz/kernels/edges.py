"""Edges in CSR form: directed pairs of neighbours made into the edges of an undirected graph."""

from __future__ import annotations

from numba.types import boolean, float64, int32, int64, void

from tamiz.kernels import jit, ro, rw


@jit(void(ro(int64), ro(int32), ro(float64), rw(int64), rw(int32), rw(float64)))
def transpose_edges(indptr, indices, lengths, out_indptr, out_indices, out_lengths):
    """Fill out with the pairs turned round, those of a row in the order of their other end.

    `out_indptr` has one entry more than there are rows to turn to.
    """
    out_indptr[:] = 0
    for e in range(indices.shape[0]):
        out_indptr[indices[e] + 1] += 1
    for i in range(out_indptr.shape[0] - 1):
        out_indptr[i + 1] += out_indptr[i]
    # Filled from the front, every start moves to the next row's: afterwards they are moved back.
    for i in range(indptr.shape[0] - 1):
        for e in range(indptr[i], indptr[i + 1]):
            at = out_indptr[indices[e]]
            out_indptr[indices[e]] = at + 1
            out_indices[at] = i
            out_lengths[at] = lengths[e]
    for i in range(out_indptr.shape[0] - 1, 0, -1):
        out_indptr[i] = out_indptr[i - 1]
    out_indptr[0] = 0


@jit(
    int64(
        ro(int64), ro(int32), ro(float64), ro(int64), ro(int32), ro(float64), boolean,
        rw(int64), rw(int32), rw(float64),
    )
)  # fmt: skip
def merge_edges(
    a_indptr, a_indices, a_lengths, b_indptr, b_indices, b_lengths, mutual_only, out_indptr, out_indices, out_lengths
):
    """Fill out with the pairs that are in a or in b, or only those in both, and return how many there are.

    The pairs of a row are in the order of their other end. `out_indices` has room for all of a and of b.
    """
    filled = 0
    out_indptr[0] = 0
    for i in range(a_indptr.shape[0] - 1):
        e, f = a_indptr[i], b_indptr[i]
        e_stop, f_stop = a_indptr[i + 1], b_indptr[i + 1]
        while e < e_stop or f < f_stop:
            in_a = e < e_stop and (f == f_stop or a_indices[e] <= b_indices[f])
            in_b = f < f_stop and (e == e_stop or b_indices[f] <= a_indices[e])
            if (in_a and in_b) or not mutual_only:
                out_indices[filled] = a_indices[e] if in_a else b_indices[f]
                out_lengths[filled] = a_lengths[e] if in_a else b_lengths[f]
                filled += 1
            e += in_a
            f += in_b
        out_indptr[i + 1] = filled
    return filled
