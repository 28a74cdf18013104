"""The sums of Weka's CFS for a numeric target: |Pearson| weighted by standard deviations."""

import numpy as np


def indicators(column, nominal):
    """One 0/1 column a value with the values' shares, or the numbers; a gap is the most frequent value or the mean."""
    if not nominal:
        return np.where(np.isnan(column), np.nanmean(column), column)[:, None], np.ones(1)
    values, counts = np.unique(column[column >= 0], return_counts=True)
    filled = np.where(column < 0, values[counts.argmax()], column)
    one_hot = (filled[:, None] == values).astype(float)
    return one_hot, one_hot.mean(axis=0)


def correlation(a, b):
    """The mean of |Pearson| over all pairs of values, weighted by their shares; without variation it is 1."""
    (A, of_a), (B, of_b) = a, b
    total = 0.0
    for i in range(A.shape[1]):
        for j in range(B.shape[1]):
            varies = A[:, i].std() > 0 and B[:, j].std() > 0
            total += of_a[i] * of_b[j] * (abs(np.corrcoef(A[:, i], B[:, j])[0, 1]) if varies else 1.0)
    return total


def spread(a):
    A, of_a = a
    return np.sqrt((of_a * A.var(axis=0)).sum())


def merit(subset, columns):
    """sum_j s_j r_jc / sqrt(sum_i sum_j s_i s_j r_ij) with r_ii = 1; the last of `columns` is the target."""
    s = [spread(column) for column in columns]
    relevance = sum(s[j] * correlation(columns[j], columns[-1]) for j in subset)
    together = sum(
        s[i] * s[j] * (1.0 if i == j else correlation(columns[i], columns[j])) for i in subset for j in subset
    )
    return relevance / np.sqrt(together)
