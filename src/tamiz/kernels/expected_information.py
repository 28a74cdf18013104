"""Expected mutual information of two independent columns of counts, in bits, from their margins.

Among all orders of the rows of one column, the count x of two values that occur in a and in b of n rows has a hypergeometric
distribution, and the expected mutual information is the sum over the pairs of values of E[x log2 (x n / (a b))] / n (Vinh, Epps
and Bailey 2010). The sum over x starts at the mode, with the ratios of successive probabilities, and ends where they are
negligible: about 17 standard deviations. Margins are sorted, and each pair of sizes is summed once.
"""

from __future__ import annotations

from numba.types import float64, int64, void

from tamiz.kernels import jit, ro, rw

# Probabilities below this share of the largest one are left out.
_NEGLIGIBLE = 1e-20


@jit(float64(int64, int64, int64, ro(float64)))
def _expected_cell(a, b, n, logs):
    """Return E[x log2 (x n / (a b))] of the hypergeometric count x of two values that occur in a and b of n rows."""
    if a == n or b == n:
        return 0.0
    offset = logs[n] - logs[a] - logs[b]
    rest = n - a - b
    mode = (a + 1) * (b + 1) // (n + 2)
    mass, total = 1.0, mode * (logs[mode] + offset)
    share = 1.0
    for x in range(mode, min(a, b)):
        share *= float(a - x) * float(b - x) / (float(x + 1) * float(rest + x + 1))
        if share < _NEGLIGIBLE:
            break
        mass += share
        total += share * (x + 1) * (logs[x + 1] + offset)
    share = 1.0
    for x in range(mode, max(0, -rest), -1):
        share *= float(x) * float(rest + x) / (float(a - x + 1) * float(b - x + 1))
        if share < _NEGLIGIBLE:
            break
        mass += share
        total += share * (x - 1) * (logs[x - 1] + offset)
    return total / mass


@jit(float64(ro(int64), ro(int64), ro(float64)))
def expected_information(sizes_a, sizes_b, logs):
    """Return the expected mutual information of two columns, from the ascending numbers of rows of their values.

    `logs` contains the binary logarithms of 0, 1, ..., n, that of 0 as 0. Values without rows contribute nothing.
    """
    n = 0
    for i in range(sizes_a.shape[0]):
        n += sizes_a[i]
    total = 0.0
    i = 0
    while i < sizes_a.shape[0]:
        first_a, size_a = i, sizes_a[i]
        while i < sizes_a.shape[0] and sizes_a[i] == size_a:
            i += 1
        j = 0
        while j < sizes_b.shape[0]:
            first_b, size_b = j, sizes_b[j]
            while j < sizes_b.shape[0] and sizes_b[j] == size_b:
                j += 1
            if size_a > 0 and size_b > 0:
                total += (i - first_a) * (j - first_b) * _expected_cell(size_a, size_b, n, logs)
    return total / n if n > 0 else 0.0


@jit(void(ro(int64, 2), ro(int64), ro(int64), ro(int64), ro(float64), rw(float64, 2)))
def expected_pair_information(sizes, starts, first, second, logs, out):
    """Fill a row of out with the expected I(A; B) and, after permutation within the classes, I(A; B | Y) of every pair of columns.

    The columns [starts[c], starts[c + 1]) of `sizes` are the ascending numbers of rows of the values of column c: in all rows in
    its first row, in each class of Y in the others.
    """
    for p in range(first.shape[0]):
        a, b = first[p], second[p]
        total = 0.0
        out[p, 1] = 0.0
        for y in range(sizes.shape[0]):
            of_a, of_b = sizes[y, starts[a] : starts[a + 1]], sizes[y, starts[b] : starts[b + 1]]
            expected = expected_information(of_a, of_b, logs)
            if y == 0:
                out[p, 0] = expected
                continue
            weight = 0.0
            for i in range(of_a.shape[0]):
                weight += of_a[i]
            total += weight
            out[p, 1] += weight * expected
        if total > 0.0:
            out[p, 1] /= total
