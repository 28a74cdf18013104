"""Nearest neighbours by a set of columns, written plainly: every distance of one row after the other."""

import numpy as np

from .ties import tie_keys


def neighbors(train, queries, k):
    """Rows of the k nearest of every query, nearest first, with squared distances and whether the next is as near as the last."""
    rows, squares, tied = [], [], []
    for query in queries:
        total = np.zeros(len(train))
        for j in range(train.shape[1]):
            total += (query[j] - train[:, j]) ** 2
        keys = tie_keys(np.sqrt(total))
        order = np.lexsort((np.arange(len(train)), keys))
        rows.append(order[:k])
        squares.append(total[order[:k]])
        tied.append(k < len(train) and keys[order[k]] == keys[order[k - 1]])
    return np.array(rows), np.array(squares), np.array(tied)


def weights(squares, how):
    """The weight of every neighbour."""
    if how == "uniform":
        return np.ones_like(squares)
    with np.errstate(divide="ignore"):
        weight = 1 / np.sqrt(squares)
    at_it = np.isinf(weight).any(axis=1)
    weight[at_it] = np.isinf(weight[at_it])
    return weight


def votes(rows, weight, codes, n_classes):
    """The weight of every class among the neighbours of every query."""
    return np.array(
        [np.bincount(codes[row], own, n_classes) for row, own in zip(rows, weight, strict=True)],
    )


def means(rows, weight, labels):
    """The weighted mean of the neighbours' labels."""
    return (labels[rows] * weight).sum(axis=1) / weight.sum(axis=1)
