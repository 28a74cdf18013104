"""Graph builders: rules that decide which rows are joined by an edge."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags

from tamiz.arrays import Codes, Floats
from tamiz.exceptions import DataError
from tamiz.graphs.edges import SYMMETRIES, Edges, HeatKernel, InverseClassSize, Weight, directed_edges, join_neighbors
from tamiz.graphs.graph import ClassGraph, EdgeGraph, Graph, NeighborRule, format_n_classes
from tamiz.neighbors.base import Neighbors, NeighborSearch
from tamiz.neighbors.exact_search import BruteForce, choose_exact_search
from tamiz.neighbors.metrics import METRICS, metric_tags, read_points
from tamiz.neighbors.nn_descent import NNDescent
from tamiz.neighbors.points import Points
from tamiz.neighbors.spanning_tree import longest_edge
from tamiz.runtime import parallel
from tamiz.runtime.user_warnings import warn
from tamiz.runtime.validation import check_choice, check_integer, check_memory, check_real
from tamiz.table.base import Table, target_array
from tamiz.table.factory import as_table, count_rows, row_numbers
from tamiz.table.in_memory import code_vector


@dataclass(frozen=True)
class ClassLabels:
    """The classes of the rows that a graph is built from: the number of each row's class, and the names."""

    labels: Codes
    names: tuple[str, ...]

    @property
    def sizes(self) -> Floats:
        return np.bincount(self.labels, minlength=len(self.names)).astype(np.float64)


class GraphBuilder(BaseEstimator, ABC):
    """Abstract base class of graph builders: rules that decide which rows are joined by an edge.

    Attributes
    ----------
    metric : str
        Distance between two rows.
    needs_classes : bool
        Whether the edges or their weights depend on the classes of the rows.
    joins_by_distance : bool
        Whether the distance decides which rows are joined.
    """

    metric: str = "euclidean"
    joins_by_distance: ClassVar[bool] = True
    weight: Weight | None

    @property
    def needs_classes(self) -> bool:
        """Whether the edges or their weights depend on the classes of the rows."""
        weight = _check_weight(self.weight)
        return weight is not None and weight.needs_classes

    @property
    def _edge_weight(self) -> Weight:
        """The weight of the edges; HeatKernel() for weight=None."""
        return self.weight or HeatKernel()

    def describe(self, *, unweighted: bool = False) -> str:
        """Return in words what joins two rows, the distance and the weights; "" for a class that does not state the first.

        Parameters
        ----------
        unweighted : bool, default=False
            Whether every edge of the built graph has weight 1.
        """
        joined, weight = self._joined_rows(), self._edge_weight
        if not joined:
            return ""
        distance = [METRICS[self.metric]] if self.joins_by_distance or weight.needs_lengths else []
        return ", ".join([joined, *distance, "unweighted edges" if unweighted else weight.describe()])

    def _joined_rows(self) -> str:
        return ""

    def build(self, X: Any, y: Any = None, *, fill_missing: bool = False, warn_components: bool = True) -> Graph:
        """Build the graph of a table's rows.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Table
            Numeric columns are used unchanged. Categorical columns become indicators divided by the square root of their share.
            With metric="precomputed", X is a square matrix of distances, dense or sparse. A C-contiguous float64 array, or a dense
            matrix of distances, is not copied: if you change it later, new rows are attached to the changed rows.
        y : array-like of shape (n_samples,), default=None
            Classes. Ignored unless the builder or its weight uses classes.
        fill_missing : bool, default=False
            Replace missing numbers by the mean of their column, with a warning. False raises an error for rows with missing
            values.
        warn_components : bool, default=True
            Warn if the graph has several components; one for each class where edges join rows of one class.

        Returns
        -------
        Graph
        """
        _check_weight(self.weight)
        with parallel.thread_session():
            classes = _class_labels(X, y, type(self).__name__) if self.needs_classes else None
            if classes is not None and (n := count_rows(X)) != len(classes.labels):
                raise DataError(f"X has {n:,} rows and y has {len(classes.labels):,} values; pass one value per row.")
            graph = self._build(X, classes, fill_missing=fill_missing)
        if warn_components and len(graph.components) > (1 if classes is None else len(classes.names)):
            described = graph.components.describe(row_numbers(X))
            warn("TZ401", f"The graph of {graph.n_samples:,} rows falls into {described}.")
        return graph

    @abstractmethod
    def _build(self, X: Any, classes: ClassLabels | None, *, fill_missing: bool) -> Graph:
        """Build the graph within an open thread session."""

    def build_weighted_graph(
        self,
        edges: Edges,
        neighbor_rule: NeighborRule,
        classes: ClassLabels | None,
        *,
        radius: float | None = None,
        directed: bool = False,
    ) -> EdgeGraph:
        """Return the graph of these edges, weighted by the builder's weight."""
        weight = self._edge_weight
        sizes = None
        if weight.needs_classes:
            assert classes is not None
            ends = classes.labels[edges.rows], classes.labels[edges.indices]
            if (ends[0] != ends[1]).any():
                raise DataError(
                    f"{type(weight).__name__} requires edges within classes, and the graph joins rows of different classes; "
                    "use SameClass() or KNearest(within_class=True)."
                )
            sizes = classes.sizes[ends[0]]
        return EdgeGraph.from_edge_lengths(
            edges, weight, sizes, neighbor_rule=neighbor_rule, radius=radius, directed=directed
        )


def check_builder_or_graph(graph: Any) -> GraphBuilder | Graph:
    """Return the value of a parameter `graph`; raise TypeError unless it is a builder or a graph."""
    if not isinstance(graph, GraphBuilder | Graph):
        raise TypeError(f"graph must be a GraphBuilder or a Graph, such as KNearest(15), got {_describe_value(graph)}.")
    return graph


def _check_weight(weight: Any) -> Weight | None:
    if not (weight is None or isinstance(weight, Weight)):
        raise TypeError(f"weight must be a Weight, such as Binary() or HeatKernel(), got {_describe_value(weight)}.")
    return weight


def _describe_value(value: Any) -> str:
    if isinstance(value, type):
        return f"the class {value.__name__}"
    # A matrix has a long representation.
    return f"a {type(value).__name__}" if hasattr(value, "shape") else repr(value)


def _class_labels(X: Any, y: Any, owner: str) -> ClassLabels:
    """Return the classes of the rows, from y or from the target of a table."""
    if isinstance(X, Table):
        target = as_table(X, y).schema.target
        if target is None:
            raise DataError(f"{owner} joins rows of one class; open the table with a target of classes.")
        if target.is_number:
            raise DataError(
                f"{owner} joins rows of one class; open the table with a target of classes: {target.name!r} is read as "
                f"{target.kind}. Pass kinds={{{target.name!r}: 'categorical'}} or, on the command line, "
                f"--kinds {quote(target.name + '=categorical')}."
            )
        labels = target_array(X)
        return ClassLabels(np.ascontiguousarray(labels, dtype=np.int32), target.levels)
    if y is None:
        raise DataError(f"{owner} joins rows of one class and requires y to be passed, but the target y is None.")
    labels, n_classes = code_vector(y, "y")
    if (labels < 0).any():
        raise DataError(f"Row {int(np.flatnonzero(labels < 0)[0])} has no class; remove it from X and y.")
    _, first = np.unique(labels, return_index=True)
    values = np.asarray(y)
    return ClassLabels(labels, tuple(str(values[row]) for row in first[:n_classes]))


# If an exact search is estimated to need more seconds on one core, an approximate one is chosen.
_MAX_EXACT_SECONDS = 4.0


def choose_search(search: NeighborSearch | None, points: Points) -> NeighborSearch:
    """Return the search if it supports the points; for None an exact search, or an approximate one if that is too slow."""
    if search is not None:
        reason = search.unsupported_reason(points)
        if reason is not None:
            raise DataError(reason)
        return search
    exact, values = choose_exact_search(points), points.euclidean_values()
    if values is None or exact.estimate_seconds(*values.shape) <= _MAX_EXACT_SECONDS:
        return exact
    descent = NNDescent(random_state=0)
    return exact if descent.unsupported_reason(points) is not None else descent


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

    Missing numbers are replaced by column means. A built graph, None, and a builder that needs classes are returned unchanged or
    left out: None. With an exact search each graph is the one that its builder builds alone; with an approximate one, neighbours
    may be found that it misses.
    """
    graphs: list[Graph | None] = [one if isinstance(one, Graph) else None for one in builders]
    alike: dict[tuple[str, str], list[tuple[int, KNearest]]] = {}
    for at, builder in enumerate(builders):
        if isinstance(builder, KNearest) and not builder.needs_classes:
            alike.setdefault((builder.metric, repr(builder.search)), []).append((at, builder))
        elif isinstance(builder, GraphBuilder) and not builder.needs_classes:
            graphs[at] = builder.build(X, fill_missing=True, warn_components=False)
    for (metric, _), members in alike.items():
        with parallel.thread_session():
            points, encoder = read_points(X, metric, fill_missing=True)
            numbers = [builder._check_parameters(points.n_samples) for _, builder in members]
            index = choose_search(members[0][1].search, points).fit(points)
            nearest = index.query(max(numbers))
            for (at, builder), k in zip(members, numbers, strict=True):
                rule = NeighborRule.from_index(index, encoder, n_neighbors=k)
                graphs[at] = builder._join(nearest.nearest(k), rule, None)
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


class Radius(GraphBuilder):
    """Join every row to all rows within a radius.

    Parameters
    ----------
    radius : float
        Largest distance of two rows that are joined, in the unit of the columns. Distances above it by at most 2^-26, or 1.5e-8, of
        it are joined too, so that rounding errors remove no edge.
    weight : Weight, default=None
        Weight of the edges; None is HeatKernel().
    metric : {"euclidean", "seuclidean", "cityblock", "cosine", "gower", "precomputed"}, default="euclidean"
        As in `KNearest`.

    Raises
    ------
    ValueError
        When no two rows are within the radius.
    MemoryError
        When the edges do not fit into memory. This is checked before the search.

    Notes
    -----
    Cost O(n^2 p), less in few columns, where a k-d tree is used. The number of edges can be up to n^2 / 2.

    References
    ----------
    Belkin and Niyogi (2003), Laplacian eigenmaps for dimensionality reduction and data representation, Neural Computation 15.

    Examples
    --------
    >>> from tamiz.graphs import Radius
    >>> Radius(1.0).build([[0.0], [1.0], [1.5]]).n_edges
    2
    """

    def __init__(self, radius: float, *, weight: Weight | None = None, metric: str = "euclidean") -> None:
        self.radius = radius
        self.weight = weight
        self.metric = metric

    def _joined_rows(self) -> str:
        return f"All rows within the distance {self.radius:,.4g}"

    def _build(self, X: Any, classes: ClassLabels | None, *, fill_missing: bool) -> EdgeGraph:
        radius = check_real("radius", self.radius, low=0.0)
        return _build_radius_graph(self, X, classes, radius, fill_missing=fill_missing)


class ConnectedRadius(GraphBuilder):
    """Join every row to all rows within the smallest radius for which the graph is connected.

    This radius is the length of the longest edge of the minimum spanning tree, computed exactly. In other units, `Radius` of the
    radius in these units joins the same rows.

    Parameters
    ----------
    weight : Weight, default=None
        Weight of the edges; None is HeatKernel().
    metric : {"euclidean", "seuclidean", "cityblock", "cosine", "gower", "precomputed"}, default="euclidean"
        As in `KNearest`.

    Raises
    ------
    MemoryError
        When the edges do not fit into memory. This is checked before the search. One outlier makes the radius large and the
        graph dense.

    Notes
    -----
    Cost of the radius: one exact nearest-neighbour search, and the rounds of Boruvka's algorithm on its result.

    References
    ----------
    Boruvka (1926), O jistem problemu minimalnim, Prace moravske prirodovedecke spolecnosti 3; Belkin and Niyogi (2003),
    Laplacian eigenmaps for dimensionality reduction and data representation, Neural Computation 15.

    Examples
    --------
    >>> from tamiz.graphs import ConnectedRadius
    >>> ConnectedRadius().radius([[0.0], [1.0], [3.5]])
    2.5
    """

    def __init__(self, *, weight: Weight | None = None, metric: str = "euclidean") -> None:
        self.weight = weight
        self.metric = metric

    def radius(self, X: Any, *, fill_missing: bool = False) -> float:
        """Return the smallest radius whose graph of the rows of X is connected."""
        with parallel.thread_session():
            points, _ = read_points(X, self.metric, fill_missing=fill_missing)
            return longest_edge(choose_exact_search(points).fit(points))

    def _joined_rows(self) -> str:
        return "All rows within the smallest distance that connects the graph"

    def _build(self, X: Any, classes: ClassLabels | None, *, fill_missing: bool) -> EdgeGraph:
        return _build_radius_graph(self, X, classes, None, fill_missing=fill_missing)


def _build_radius_graph(
    builder: GraphBuilder, X: Any, classes: ClassLabels | None, radius: float | None, *, fill_missing: bool
) -> EdgeGraph:
    """Return the graph of a radius, None for the smallest one that connects all rows."""
    points, encoder = read_points(X, builder.metric, fill_missing=fill_missing)
    index = choose_exact_search(points).fit(points)
    radius = longest_edge(index) if radius is None else radius
    neighbors = index.query_radius(radius)
    if not len(neighbors.indices):
        nearest = float(np.min(index.query(1).distances))
        raise DataError(
            f"radius={radius:g} joins no two rows: the nearest two are {nearest:.6g} apart. Use a larger radius; "
            "ConnectedRadius() (--graph connected-radius) computes the smallest one that connects all rows."
        )
    rule = NeighborRule.from_index(index, encoder, radius=radius)
    return builder.build_weighted_graph(directed_edges(neighbors), rule, classes, radius=radius)


# Peak bytes per pair: its two rows and length, in order of finding and sorted, and its weight.
_BYTES_PER_PAIR = 80


class SameClass(GraphBuilder):
    """Join every row to all rows of its class, itself among them.

    Parameters
    ----------
    weight : Weight, default=None
        Weight of the edges. None is InverseClassSize(): every row has degree 1, and the Laplacian score L of a column is
        1 / (1 + F) for its Fisher score F. Binary() is 1 for every edge; HeatKernel() depends on the distance.

    Raises
    ------
    ValueError
        When there are no classes, a row has no class, or no class has two rows.

    Notes
    -----
    With InverseClassSize and Binary no edges are stored: sums over the classes replace them, in O(n) per column. HeatKernel
    computes the edges of all pairs, O(n^2 p).

    References
    ----------
    He, Cai and Niyogi (2005), Laplacian score for feature selection, NIPS.

    Examples
    --------
    >>> from tamiz.graphs import SameClass
    >>> graph = SameClass().build([[1.0], [2.0], [4.0]], ["a", "a", "b"])
    >>> graph.degrees
    array([1., 1., 1.])
    """

    joins_by_distance: ClassVar[bool] = False

    def __init__(self, *, weight: Weight | None = None) -> None:
        self.weight = weight

    @property
    def needs_classes(self) -> bool:
        """Always True."""
        return True

    @property
    def _edge_weight(self) -> Weight:
        """The weight of the edges; InverseClassSize() for weight=None."""
        return self.weight or InverseClassSize()

    def _joined_rows(self) -> str:
        return "All rows of the same class"

    def _build(self, X: Any, classes: ClassLabels | None, *, fill_missing: bool) -> Graph:
        assert classes is not None
        if classes.sizes.max() < 2:
            raise DataError(
                f"No class has two rows: y has {format_n_classes(len(classes.names))} for {len(classes.labels):,} rows, so no "
                "two rows are joined. Pass classes of at least 2 rows."
            )
        weight = self._edge_weight
        if not weight.needs_lengths:
            return ClassGraph(np.ascontiguousarray(classes.labels), len(classes.names), weight)
        check_memory(
            _BYTES_PER_PAIR * float((classes.sizes**2).sum()),
            f"The edges of {format_n_classes(len(classes.names))} of up to {int(classes.sizes.max()):,} rows",
            "InverseClassSize() and Binary() need no edges.",
        )
        points, encoder = read_points(X, "euclidean", fill_missing=fill_missing)
        return self.build_weighted_graph(
            _within_class_edges(points, classes), NeighborRule.from_index(BruteForce().fit(points), encoder), classes
        )


def _within_class_edges(points: Points, classes: ClassLabels) -> Edges:
    """Return all pairs of rows of one class with their distances, and every row with itself."""
    n = points.n_samples
    rows, others, lengths = [np.arange(n)], [np.arange(n)], [np.zeros(n)]
    for number in range(len(classes.names)):
        members = np.flatnonzero(classes.labels == number)
        if len(members) > 1:
            near = BruteForce().fit(points.take(members)).query(len(members) - 1)
            rows.append(members[near.rows])
            others.append(members[near.indices])
            lengths.append(near.distances)
    row, other, length = (np.concatenate(parts) for parts in (rows, others, lengths))
    order = np.lexsort((other, row))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=n))]).astype(np.int64)
    return Edges(indptr, other[order].astype(np.int32), length[order].astype(np.float64))
