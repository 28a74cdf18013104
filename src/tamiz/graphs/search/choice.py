"""Which search suits which points."""

from __future__ import annotations

from tamiz.exceptions import DataError
from tamiz.graphs.points import Points
from tamiz.graphs.search.base import NeighborSearch
from tamiz.graphs.search.descent import Descent
from tamiz.graphs.search.exact import Exact
from tamiz.graphs.search.tree import Tree

# Seconds of one core that an exact search may take before an approximate one is chosen.
_MOST_SECONDS = 4.0


def chosen(search: NeighborSearch | None, points: Points) -> NeighborSearch:
    """Return the search that was asked for, or an exact one where it takes seconds, and an approximate one beyond."""
    if search is not None:
        refusal = search.refusal(points)
        if refusal is not None:
            raise DataError(refusal)
        return search
    exact, descent, values = chosen_exact(points), Descent(random_state=0), points.euclidean()
    if values is None or descent.refusal(points) is not None:
        return exact
    return descent if exact.seconds(*values.shape) > _MOST_SECONDS else exact


def chosen_exact(points: Points) -> Tree | Exact:
    """Return the exact search that takes the least time."""
    tree, exact, values = Tree(), Exact(), points.euclidean()
    if values is None or tree.refusal(points) is not None:
        return exact
    return tree if tree.seconds(*values.shape) < exact.seconds(*values.shape) else exact
