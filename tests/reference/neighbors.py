"""Neighbours from the distances of all pairs: dense and in float64."""

import numpy as np

from .ties import tie_keys


def distances(queries, points):
    """|q - p| of every pair."""
    return np.array([np.sqrt(((query - points) ** 2).sum(axis=1)) for query in queries])


def nearest(between, k, own=False):
    """The k nearest of every row of a matrix of distances, ties by the lower row; its own left out by its number."""
    indices, found = [], []
    for row, dist in enumerate(between):
        order = np.lexsort((np.arange(len(dist)), tie_keys(dist)))
        order = (order[order != row] if own else order)[:k]
        indices.append(order)
        found.append(dist[order])
    return np.array(indices), np.array(found)


def within(between, radius, own=False, keys=None):
    """All within the radius of every row: their indices and distances, by (key of the distance, row)."""
    keys = tie_keys(between) if keys is None else keys
    found = []
    for row, dist in enumerate(between):
        near = np.flatnonzero(dist <= radius * (1 + 2.0**-26))
        near = near[near != row] if own else near
        near = near[np.lexsort((near, keys[row, near]))]
        found.append((near, dist[near]))
    return found
