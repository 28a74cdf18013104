"""The default choice of a neighbour search."""

from __future__ import annotations

from tamiz.exceptions import DataError
from tamiz.neighbors.base import NeighborSearch
from tamiz.neighbors.brute_force import BruteForce
from tamiz.neighbors.kd_tree import KDTree
from tamiz.neighbors.nn_descent import NNDescent
from tamiz.neighbors.points import Points

# If an exact search is estimated to need more seconds on one core, an approximate one is chosen.
_MAX_EXACT_SECONDS = 4.0


def choose_search(search: NeighborSearch | None, points: Points) -> NeighborSearch:
    """Return the search if it supports the points; for None an exact search, or an approximate one if that is too slow."""
    if search is not None:
        reason = search.unsupported_reason(points)
        if reason is not None:
            raise DataError(reason)
        return search
    exact, descent, values = choose_exact_search(points), NNDescent(random_state=0), points.euclidean_values()
    if values is None or descent.unsupported_reason(points) is not None:
        return exact
    return descent if exact.estimate_seconds(*values.shape) > _MAX_EXACT_SECONDS else exact


def choose_exact_search(points: Points) -> KDTree | BruteForce:
    """Return the exact search with the least estimated time."""
    tree, exact, values = KDTree(), BruteForce(), points.euclidean_values()
    if values is None or tree.unsupported_reason(points) is not None:
        return exact
    return tree if tree.estimate_seconds(*values.shape) < exact.estimate_seconds(*values.shape) else exact
