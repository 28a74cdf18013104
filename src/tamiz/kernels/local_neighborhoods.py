"""Locally linear embedding: inner products among the neighbours of a row, weights from them, and the sum of local matrices."""

from __future__ import annotations

import numpy as np
from numba.types import float64, int32, int64, void

from tamiz.kernels import jit, ro, rw


@jit(void(ro(float64, 2), ro(float64, 2), ro(int64), ro(int32, 2), rw(float64, 3)), reassociate=True)
def local_grams(queries, values, rows, neighbors, grams):
    """Fill grams with the inner products of y_j - x and y_l - x, for every row x and its neighbours y, divided by a square.

    The square is that of the largest absolute difference of a coordinate, so that no product overflows or underflows. `rows`
    are the numbers of the rows among the queries.
    """
    k = neighbors.shape[1]
    p = values.shape[1]
    differences = np.empty((k, p))
    for r in range(rows.shape[0]):
        largest = 0.0
        for a in range(k):
            for d in range(p):
                differences[a, d] = values[neighbors[r, a], d] - queries[rows[r], d]
                largest = max(largest, abs(differences[a, d]))
        # Differences of which 1 / largest overflows are 0, as their distances are.
        scale = 1.0 / largest if largest > 1e-300 else 0.0
        for a in range(k):
            for d in range(p):
                differences[a, d] *= scale
            for b in range(a + 1):
                total = 0.0
                for d in range(p):
                    total += differences[a, d] * differences[b, d]
                grams[r, a, b] = total
                grams[r, b, a] = total


@jit(void(rw(float64, 3), float64, rw(float64, 2)))
def barycentric_weights(grams, regularization, weights):
    """Fill weights with those that sum to 1 and minimise w'(G + r trace(G))w, for every matrix G, which is overwritten.

    If all neighbours are equal to the row, the trace is 0 and the weights are equal.
    """
    k = weights.shape[1]
    for r in range(weights.shape[0]):
        trace = 0.0
        for a in range(k):
            trace += grams[r, a, a]
        if trace == 0.0:
            for a in range(k):
                weights[r, a] = 1.0 / k
            continue
        # G = L L', with L in the lower triangle.
        for a in range(k):
            grams[r, a, a] += regularization * trace
            for b in range(a):
                total = grams[r, a, b]
                for c in range(b):
                    total -= grams[r, a, c] * grams[r, b, c]
                grams[r, a, b] = total / grams[r, b, b]
            total = grams[r, a, a]
            for c in range(a):
                total -= grams[r, a, c] * grams[r, a, c]
            # Without regularisation a singular matrix could have a pivot of 0.
            grams[r, a, a] = np.sqrt(max(total, 1e-30 * trace))
        for a in range(k):
            total = 1.0
            for b in range(a):
                total -= grams[r, a, b] * weights[r, b]
            weights[r, a] = total / grams[r, a, a]
        whole = 0.0
        for back in range(k):
            a = k - 1 - back
            total = weights[r, a]
            for b in range(a + 1, k):
                total -= grams[r, b, a] * weights[r, b]
            weights[r, a] = total / grams[r, a, a]
            whole += weights[r, a]
        for a in range(k):
            weights[r, a] /= whole


@jit(void(ro(int64), ro(int32), ro(int64), ro(int32), int64, int64, rw(int64)))
def count_patch_entries(patch_starts, members, row_starts, patches, start, stop, counts):
    """Fill counts with the number of rows that share a patch with each of the rows start : stop.

    The members of patch i are `members[patch_starts[i] : patch_starts[i + 1]]`, and the patches of row r are
    `patches[row_starts[r] : row_starts[r + 1]]`.
    """
    seen = np.full(row_starts.shape[0], -1, dtype=np.int64)
    for r in range(start, stop):
        count = 0
        for e in range(row_starts[r], row_starts[r + 1]):
            i = patches[e]
            for f in range(patch_starts[i], patch_starts[i + 1]):
                if seen[members[f]] != r:
                    seen[members[f]] = r
                    count += 1
        counts[r] = count


@jit(
    void(
        ro(int64), ro(int32), ro(int64), ro(float64), ro(int64), ro(int32),
        int64, int64, ro(int64), rw(int32), rw(float64),
    )
)  # fmt: skip
def sum_patches(
    patch_starts, members, matrix_starts, matrices, row_starts, patches, start, stop, indptr, indices, data
):
    """Fill the rows start : stop of a sparse matrix with the sums of the local matrices of all patches, in their order.

    The matrix of patch i, of as many rows and columns as it has members, is at `matrices[matrix_starts[i]]` in row-major order.
    """
    n = row_starts.shape[0] - 1
    at = np.full(n, -1, dtype=np.int64)
    for r in range(start, stop):
        filled = indptr[r]
        for e in range(row_starts[r], row_starts[r + 1]):
            i = patches[e]
            first, last = patch_starts[i], patch_starts[i + 1]
            own = first
            while members[own] != r:
                own += 1
            entry = matrix_starts[i] + (own - first) * (last - first)
            for f in range(first, last):
                j = members[f]
                # Places in earlier rows are before the first place of this row.
                if at[j] < indptr[r]:
                    at[j] = filled
                    indices[filled] = j
                    data[filled] = 0.0
                    filled += 1
                data[at[j]] += matrices[entry + f - first]
