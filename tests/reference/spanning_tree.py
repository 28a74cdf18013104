"""Minimum spanning trees by Kruskal's algorithm over every pair of rows."""

import numpy as np

from .ties import tie_keys


def spanning_edges(distances, labels=None):
    """Heads, tails and lengths of the shortest edges that join all rows, or given components, in their order.

    Pairs are taken in the order of (distance, lower row, higher row), each that joins two components.
    """
    n = len(distances)
    component = np.arange(n) if labels is None else np.unique(labels, return_inverse=True)[1]
    low, high = np.triu_indices(n, 1)
    edges, missing = [], len(np.unique(component)) - 1
    for e in np.lexsort((high, low, tie_keys(distances[low, high]))):
        if len(edges) == missing:
            break
        a, b = component[low[e]], component[high[e]]
        if a != b:
            component[component == b] = a
            edges.append((low[e], high[e], distances[low[e], high[e]]))
    return tuple(np.array(ends) for ends in zip(*edges, strict=True)) if edges else (np.empty(0, dtype=int),) * 3
