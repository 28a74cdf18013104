"""Tests of independence by their definitions: the statistic and its degrees of freedom, for one column at a time."""

import numpy as np


def anova(values, groups):
    parts = [values[groups == g] for g in np.unique(groups)]
    between = sum(len(part) * (part.mean() - values.mean()) ** 2 for part in parts)
    within = sum(((part - part.mean()) ** 2).sum() for part in parts)
    d1, d2 = len(parts) - 1, len(values) - len(parts)
    return between / d1 / (within / d2), d1, d2


def welch(values, groups):
    parts = [values[groups == g] for g in np.unique(groups)]
    parts = [part for part in parts if len(part) > 1]
    k, n = len(parts), np.array([len(part) for part in parts])
    mean = np.array([part.mean() for part in parts])
    w = n / np.array([part.var(ddof=1) for part in parts])
    middle = (w * mean).sum() / w.sum()
    spread = ((1 - w / w.sum()) ** 2 / (n - 1)).sum()
    statistic = (w * (mean - middle) ** 2).sum() / (k - 1) / (1 + 2 * (k - 2) / (k**2 - 1) * spread)
    return statistic, k - 1, (k**2 - 1) / (3 * spread)


def midranks(values):
    return np.array([(values < value).sum() + ((values == value).sum() + 1) / 2 for value in values])


def kruskal_wallis(values, groups):
    ranks, n = midranks(values), len(values)
    sums = sum(ranks[groups == g].sum() ** 2 / (groups == g).sum() for g in np.unique(groups))
    _, ties = np.unique(values, return_counts=True)
    correction = 1 - (ties**3 - ties).sum() / (n**3 - n)
    return (12 / (n * (n + 1)) * sums - 3 * (n + 1)) / correction, len(np.unique(groups)) - 1, np.inf


def correlation(values, target):
    a, b = values - values.mean(), target - target.mean()
    r2 = (a @ b) ** 2 / (a @ a) / (b @ b)
    return (len(values) - 2) * r2 / (1 - r2), 1, len(values) - 2


def spearman(values, target):
    return correlation(midranks(values), midranks(target))


def contingency(a, b, *, likelihood_ratio):
    n, statistic = len(a), 0.0
    for i in np.unique(a):
        for j in np.unique(b):
            observed = ((a == i) & (b == j)).sum()
            expected = (a == i).sum() * (b == j).sum() / n
            if likelihood_ratio:
                statistic += 2 * observed * np.log(observed / expected) if observed else 0.0
            else:
                statistic += (observed - expected) ** 2 / expected
    return statistic, (len(np.unique(a)) - 1) * (len(np.unique(b)) - 1), np.inf
