"""Sums over sets of columns, of numbers split into heads and tails: exact, and so the same in any order.

`large` is 1.5 times 2^26 of the numbers' scale: what is left of a number after `large` is added and taken away again is
its head, a multiple of 2^-26 of the scale; the rest is its tail. (`tamiz.statistics.exact` says why sums of them are exact.)
"""

from __future__ import annotations

from numba.types import float64, int64, void

from tamiz.kernels import jit, ro, rw


@jit(void(ro(float64, 2), ro(int64), float64, rw(float64), rw(float64)))
def add_split_rows(matrix, rows, splitter, heads, tails):
    """Add rows of a matrix to the sums of heads and tails of its columns."""
    for k in range(rows.shape[0]):
        row = matrix[rows[k]]
        for j in range(row.shape[0]):
            head = (row[j] + splitter) - splitter
            heads[j] += head
            tails[j] += row[j] - head


@jit(void(ro(float64, 2), ro(int64), ro(float64), ro(int64), ro(int64), float64, rw(float64, 2)))
def subset_pair_sums(matrix, row_of, diagonal, starts, members, splitter, out):
    """Fill out with the sums of heads and of tails over all pairs of each set's members, each with itself among them.

    Set c has the members[starts[c] : starts[c + 1]]; the row of column j is matrix[place[j]].
    """
    for c in range(starts.shape[0] - 1):
        heads, tails = 0.0, 0.0
        for a in range(starts[c], starts[c + 1]):
            row = matrix[row_of[members[a]]]
            part_heads, part_tails = 0.0, 0.0
            for b in range(starts[c], a):
                value = row[members[b]]
                head = (value + splitter) - splitter
                part_heads += head
                part_tails += value - head
            own = diagonal[members[a]]
            head = (own + splitter) - splitter
            heads += 2.0 * part_heads + head
            tails += 2.0 * part_tails + (own - head)
        out[c, 0] = heads
        out[c, 1] = tails
