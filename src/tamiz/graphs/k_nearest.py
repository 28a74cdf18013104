"""The k-nearest-neighbour graph, which is also the default graph of methods that need one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from sklearn.utils import Tags

from tamiz.exceptions import DataError
from tamiz.graphs.builder import (
    ClassLabels,
    GraphBuilder,
    check_builder_or_graph,
    read_points,
)
from tamiz.graphs.edges import SYMMETRIES, NeighborRule, join_neighbors
from tamiz.graphs.graph import EdgeGraph, Graph
from tamiz.graphs.weights import Weight
from tamiz.neighbors.base import Neighbors, NeighborSearch
from tamiz.neighbors.metric_registry import metric_tags
from tamiz.neighbors.nn_descent import choose_search
from tamiz.neighbors.points import Points
from tamiz.neighbors.row_encoders import count_rows
from tamiz.runtime import parallel
from tamiz.runtime.validation import check_choice, check_integer

# What joins two rows, and why the number of neighbours of a row may differ from that of the search.
_SYMMETRIES = {
    "or": " (a row is joined also to the rows that have it among their nearest)",
    "mutual": ", mutual ones only",
    "directed": ", with directed edges",
}


class KNearest(GraphBuilder):
    """Join every row to its k nearest neighbours.

    Parameters
    ----------
    n_neighbors : int, default=15
        Number of neighbours of each row. Of rows at equal distances (see Notes), those with the lower row number are used. A row
        is never its own neighbour.
    weight : Weight, default=None
        Weight of the edges; None is HeatKernel().
    symmetry : {"or", "mutual", "directed"}, default="or"
        "or" joins two rows if at least one is among the other's nearest, "mutual" if both are. "directed" keeps an edge from
        each row to its neighbours only.
    within_class : bool, default=False
        Search the neighbours of a row among the rows of its class.
    metric : {"euclidean", "seuclidean", "cityblock", "cosine", "gower", "precomputed"}, default="euclidean"
        Distance between two rows. "seuclidean" divides numeric columns by their standard deviation. "gower" accepts mixed
        columns with missing values. With "precomputed", X is the matrix of distances: dense, or sparse with those of some pairs,
        such as the output of scikit-learn's `KNeighborsTransformer(mode="distance")`, in which a stored 0 is a distance of 0.
    search : NeighborSearch, default=None
        `BruteForce()`, `KDTree()` or `NNDescent()`. None chooses by the number of rows and columns; the graph reports the choice
        in `search_description`.

    Raises
    ------
    ValueError
        When there are not more rows than neighbours, or a row has a missing value.

    Notes
    -----
    Cost O(n^2 p) for an exact search in many columns, about O(n log n) for a k-d tree or an approximate search.

    Distances are compared after rounding to 27 significant bits, about 8 digits, in every search, criterion and measure on
    neighbours. So rounding errors decide nothing: in any unit and order of the columns, distances that are equal in exact
    arithmetic are ties, except about one in a million, which a step of the rounding separates, and differences of values below a
    millionth of the values. `NNDescent()` orders the rows that it finds alike, but may miss some of several ties.

    References
    ----------
    Belkin and Niyogi (2003), Laplacian eigenmaps for dimensionality reduction and data representation, Neural Computation 15.

    Examples
    --------
    >>> from tamiz.graphs import KNearest, Binary
    >>> graph = KNearest(1, weight=Binary()).build([[0.0], [1.0], [3.0]])
    >>> graph.adjacency.toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """

    def __init__(
        self,
        n_neighbors: int = 15,
        *,
        weight: Weight | None = None,
        symmetry: str = "or",
        within_class: bool = False,
        metric: str = "euclidean",
        search: NeighborSearch | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weight = weight
        self.symmetry = symmetry
        self.within_class = within_class
        self.metric = metric
        self.search = search

    @property
    def needs_classes(self) -> bool:
        """Whether the edges or their weights depend on the classes of the rows."""
        return self.within_class or super().needs_classes

    def _joined_rows(self) -> str:
        neighbors = "nearest neighbour" if self.n_neighbors == 1 else "nearest neighbours"
        within = " of the same class" if self.within_class else ""
        return f"{self.n_neighbors:,} {neighbors}{within}{_SYMMETRIES[self.symmetry]}"

    def _build(self, X: Any, classes: ClassLabels | None, *, fill_missing: bool) -> EdgeGraph:
        points, encoder = read_points(X, self.metric, fill_missing=fill_missing)
        k = self._check_parameters(points.n_samples)
        index = choose_search(self.search, points).fit(points)
        if self.within_class:
            assert classes is not None
            neighbors, search, recall = self._query_within_classes(points, classes, k)
        else:
            neighbors = index.query(k)
            search, recall = index.description, index.recall
        return self._join(neighbors, NeighborRule(index, encoder, search, recall, n_neighbors=k), classes)

    def _check_parameters(self, n_samples: int) -> int:
        """Return the number of neighbours; raise an error if a parameter does not suit the number of rows."""
        check_choice("symmetry", self.symmetry, SYMMETRIES)
        k = check_integer("n_neighbors", self.n_neighbors, low=1)
        if k >= n_samples:
            raise ValueError(
                f"n_neighbors must be below the number of rows = {n_samples:,}, got {k:,}. Lower it, or pass more rows."
            )
        return k

    def _join(self, neighbors: Neighbors, rule: NeighborRule, classes: ClassLabels | None) -> EdgeGraph:
        edges = join_neighbors(neighbors, self.symmetry)
        return self.build_weighted_graph(edges, rule, classes, directed=self.symmetry == "directed")

    @classmethod
    def build_all(cls, builders: Sequence[KNearest], X: Any) -> list[EdgeGraph]:
        """Build graphs of the same rows from one search of their neighbours; missing numbers are replaced by column means.

        The builders may differ in the number of neighbours, the symmetry and the weight, and use no classes. With an exact search
        each graph is the one that its builder builds alone; with an approximate one, neighbours may be found that it misses.
        """
        first = builders[0]
        with parallel.thread_session():
            points, encoder = read_points(X, first.metric, fill_missing=True)
            numbers = [one._check_parameters(points.n_samples) for one in builders]
            index = choose_search(first.search, points).fit(points)
            nearest = index.query(max(numbers))
            return [
                one._join(nearest.nearest(k), NeighborRule.from_index(index, encoder, n_neighbors=k), None)
                for one, k in zip(builders, numbers, strict=True)
            ]

    def _query_within_classes(self, points: Points, classes: ClassLabels, k: int) -> tuple[Neighbors, str, float]:
        """Return the neighbours of every row within its class, the description of the largest class's search, and the recall."""
        sizes = np.bincount(classes.labels, minlength=len(classes.names))
        small = np.flatnonzero((sizes > 0) & (sizes <= k))
        if small.size:
            least = int(small[np.argmin(sizes[small])])
            rows = "row" if sizes[least] == 1 else "rows"
            remedy = "Leave the class out." if sizes[least] == 1 else f"Use at most {sizes[least] - 1} neighbours."
            raise DataError(
                f"Class {classes.names[least]!r} has {sizes[least]} {rows}, too few for {k} neighbours within the class. {remedy}"
            )
        n = points.n_samples
        indices, distances = np.empty((n, k), dtype=np.int32), np.empty((n, k))
        search, found = "", 0.0
        for number in np.argsort(sizes, kind="stable")[np.count_nonzero(sizes == 0) :]:
            members = np.flatnonzero(classes.labels == number)
            part = points.take(members)
            # A search that supports the whole table may not support a small class.
            supported = self.search is not None and self.search.unsupported_reason(part) is None
            index = choose_search(self.search if supported else None, part).fit(part)
            near = index.query(k)
            indices[members] = members[near.indices].reshape(-1, k)
            distances[members] = near.distances.reshape(-1, k)
            search, found = index.description, found + index.recall * len(members)
        return Neighbors.from_arrays(indices, distances, n), search, found / n


def build_graphs(builders: Sequence[GraphBuilder | Graph | None], X: Any) -> list[Graph | None]:
    """Build graphs of the same rows; builders of nearest neighbours under one metric share one search.

    A built graph, None, and a builder that needs classes are returned unchanged or left out: None.
    """
    graphs: list[Graph | None] = [one if isinstance(one, Graph) else None for one in builders]
    alike: dict[tuple[str, str], list[int]] = {}
    for at, builder in enumerate(builders):
        if isinstance(builder, KNearest) and not builder.needs_classes:
            alike.setdefault((builder.metric, repr(builder.search)), []).append(at)
        elif isinstance(builder, GraphBuilder) and not builder.needs_classes:
            graphs[at] = builder.build_quietly(X, fill_missing=True)
    for members in alike.values():
        found = KNearest.build_all([cast(KNearest, builders[at]) for at in members], X)
        for at, graph in zip(members, found, strict=True):
            graphs[at] = graph
    return graphs


def default_builder(n_samples: int) -> KNearest:
    """Return the default builder: 15 nearest neighbours, or n_samples - 1 if there are fewer rows."""
    return KNearest(max(1, min(15, n_samples - 1)))


def resolve_builder(graph: Any, X: Any) -> GraphBuilder | Graph:
    """Return the builder or graph that a parameter `graph` means: itself, or the default builder for X if it is None."""
    if X is None and not isinstance(graph, Graph):
        raise ValueError(
            "X is None, and fit requires rows to build a graph of; without them pass graph= a built Graph."
        )
    return default_builder(count_rows(X)) if graph is None else check_builder_or_graph(graph)


def graph_tags(tags: Tags, graph: Any) -> Tags:
    """Return an estimator's tags with its input tags set for its parameter `graph`; a built graph does not read X."""
    tags = metric_tags(tags, graph.metric if isinstance(graph, GraphBuilder) else "euclidean")
    # Precomputed distances of a graph may be sparse.
    tags.input_tags.sparse |= tags.input_tags.pairwise
    return tags
