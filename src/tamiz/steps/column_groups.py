"""Columns in groups whose every pair is alike, and in an order in which like columns stand side by side."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, leaves_list, linkage, optimal_leaf_ordering
from scipy.spatial.distance import squareform

from tamiz.statistics.base import Floats


def complete_linkage_groups(
    similarities: Floats, uncertainties: Floats, n_columns: int, threshold: float
) -> list[tuple[NDArray[np.intp], float]]:
    """Return the groups of two and more columns, each with the least value of a pair of it.

    Parameters
    ----------
    similarities : ndarray of shape (n_pairs,)
        How alike the columns of each pair are, (0, 1), (0, 2), ..: what groups are made by.
    uncertainties : ndarray of shape (n_pairs,)
        What is told of each pair.
    n_columns : int
        Columns.
    threshold : float
        How alike every pair of a group is at least.
    """
    # Only columns that are alike to another can be in a group: of many, few are.
    whole = squareform(similarities, checks=False)
    some = np.flatnonzero((whole >= threshold).any(axis=1))
    if not len(some):
        return []
    distances = 1 - whole[np.ix_(some, some)]
    np.fill_diagonal(distances, 0.0)
    # A hair of slack: 1 - (1 - threshold) is not the threshold to the last bit.
    labels = fcluster(linkage(squareform(distances, checks=False), "complete"), 1 - threshold + 1e-12, "distance")
    groups = [some[labels == label] for label in np.unique(labels)]
    return [(group, _min_pair_value(uncertainties, group, n_columns)) for group in groups if len(group) > 1]


def _min_pair_value(values: Floats, group: NDArray[np.intp], n_columns: int) -> float:
    first, second = np.triu_indices(len(group), 1)
    low, high = group[first], group[second]
    return float(values[low * n_columns - low * (low + 1) // 2 + high - low - 1].min())


def leaf_order(similarities: Floats, max_columns: int) -> NDArray[np.intp]:
    """Return columns in an order that puts like ones side by side: all, or those that share most with another.

    Parameters
    ----------
    similarities : ndarray of shape (n_pairs,)
        What the columns of each pair share, in [0, 1].
    max_columns : int
        Columns to be put in order.
    """
    whole = squareform(similarities, checks=False)
    strongest = whole.max(axis=1)
    kept = np.sort(np.argsort(-strongest, kind="stable")[:max_columns])
    if len(kept) < 3:
        return kept
    apart = 1 - whole[np.ix_(kept, kept)]
    np.fill_diagonal(apart, 0.0)
    distances = squareform(apart, checks=False)
    tree = optimal_leaf_ordering(linkage(distances, "average"), distances)
    return kept[leaves_list(tree)]
