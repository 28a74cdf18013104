"""Expected mutual information of two independent columns of counts, in bits, from their margins.

Among all orders of the rows of one column, the count x of two values that occur in a and in b of n rows has a hypergeometric
distribution, and the expected mutual information is the sum over the pairs of values of E[x log2 (x n / (a b))] / n (Vinh, Epps
and Bailey 2010). The sum over x starts at the mode, with the ratios of successive probabilities, and ends where they are
negligible: about 17 standard deviations. Margins are sorted, and each pair of sizes is summed once.

A value counts as a whole number of rows. Its unit is the number of rows that each of them represents: 1, unless rows
have sampling weights.
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


@jit(float64(ro(int64), ro(float64), ro(int64), ro(float64), int64, ro(float64)))
def expected_information(sizes_a, units_a, sizes_b, units_b, n, logs):
    """Return the expected mutual information of two columns, from the ascending numbers of rows of their values and their units.

    There are n rows. `logs` contains the binary logarithms of 0, 1, ..., n, that of 0 as 0. Values without rows contribute nothing.
    """
    total = 0.0
    i = 0
    while i < sizes_a.shape[0]:
        size_a, sum_a = sizes_a[i], 0.0
        while i < sizes_a.shape[0] and sizes_a[i] == size_a:
            sum_a += units_a[i]
            i += 1
        j = 0
        while j < sizes_b.shape[0]:
            size_b, sum_b = sizes_b[j], 0.0
            while j < sizes_b.shape[0] and sizes_b[j] == size_b:
                sum_b += units_b[j]
                j += 1
            if size_a > 0 and size_b > 0:
                total += sum_a * sum_b * _expected_cell(size_a, size_b, n, logs)
    return total / n if n > 0 else 0.0


@jit(
    void(
        ro(int64, 2),
        ro(float64, 2),
        ro(int64),
        ro(float64),
        ro(int64),
        ro(int64),
        ro(int64),
        ro(float64),
        rw(float64, 2),
    )
)
def expected_pair_information(sizes, units, n_rows, weights, starts, first, second, logs, out):
    """Fill a row of out with the expected I(A; B) and, after permutation within the classes, I(A; B | Y) of every pair of columns.

    The columns [starts[c], starts[c + 1]) of `sizes` and `units` are the ascending numbers of rows of the values of column c and
    their units: in all rows in the first row, in each class of Y in the others. These have n_rows[y] rows and the weights[y].
    """
    total = 0.0
    for y in range(1, sizes.shape[0]):
        total += weights[y]
    for p in range(first.shape[0]):
        a, b = first[p], second[p]
        out[p, 1] = 0.0
        for y in range(sizes.shape[0]):
            of_a, units_a = sizes[y, starts[a] : starts[a + 1]], units[y, starts[a] : starts[a + 1]]
            of_b, units_b = sizes[y, starts[b] : starts[b + 1]], units[y, starts[b] : starts[b + 1]]
            expected = expected_information(of_a, units_a, of_b, units_b, n_rows[y], logs)
            if y == 0:
                out[p, 0] = expected
            else:
                out[p, 1] += weights[y] * expected
        if total > 0.0:
            out[p, 1] /= total
