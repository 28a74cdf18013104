"""Entropy measures of two code vectors, in bits, straight from their definitions; a missing value is -1."""

import numpy as np
from scipy.stats import hypergeom


def contingency_table(a, b, weight=None, missing="distribute"):
    """Counts of every pair of values, with the missing ones shared out or as a last row and column."""
    weight = np.ones(len(a)) if weight is None else weight
    table = np.zeros((max(a) + 2, max(b) + 2))
    for i in range(len(a)):
        table[a[i], b[i]] += weight[i]  # index -1 is the last row or column: the missing ones
    return table if missing == "category" else distribute(table)


def distribute(table):
    """Share out half-missing pairs by the other column's present values, both-missing pairs by the present cells.

    The present values of a column are those of every row that has one, whether or not the other column has one there.
    """
    present = table[:-1, :-1]
    shared = present.copy()
    of_rows, of_columns = table[:-1].sum(axis=1), table[:, :-1].sum(axis=0)
    for i in range(present.shape[0]):
        for j in range(present.shape[1]):
            shared[i, j] += table[i, -1] * share(of_columns, j)
            shared[i, j] += table[-1, j] * share(of_rows, i)
            shared[i, j] += table[-1, -1] * share(present, (i, j))
    return shared


def share(counts, index):
    total = counts.sum()
    return counts[index] / total if total > 0 else 0.0


def entropy(counts):
    counts = np.asarray(counts, dtype=float).ravel()
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum())


def information_gain(table):
    return entropy(table.sum(axis=1)) + entropy(table.sum(axis=0)) - entropy(table)


def expected_information_gain(table, squares=None):
    """The mean information gain over all orders of the rows of one column: each cell has a hypergeometric count.

    With a table of squares of sampling weights, counts are effective sample sizes, and a cell counts by the shares of its margins.
    """
    squares = table if squares is None else squares
    total, n, expected = table.sum(), n_effective(table.sum(), squares.sum()), 0.0
    for in_row, row_squares in zip(table.sum(axis=1), squares.sum(axis=1), strict=True):
        for in_column, column_squares in zip(table.sum(axis=0), squares.sum(axis=0), strict=True):
            a, b = min(n_effective(in_row, row_squares), n), min(n_effective(in_column, column_squares), n)
            if a and b:
                x = np.arange(max(1, a + b - n), min(a, b) + 1)
                ratio = x * n / (a * b)
                mean = (ratio * np.log2(ratio) * hypergeom.pmf(x, n, a, b)).sum()
                expected += in_row / total * in_column / total * mean
    return expected


def n_effective(total, squares):
    return round(total * total / squares) if squares > 0 else 0


def gain_ratio(table):
    """Rows are the column X, columns of the table are the target."""
    h = entropy(table.sum(axis=1))
    return information_gain(table) / h if h > 0 else 0.0


def symmetric_uncertainty(table):
    h = entropy(table.sum(axis=1)) + entropy(table.sum(axis=0))
    return 2 * information_gain(table) / h if h > 0 else 0.0
