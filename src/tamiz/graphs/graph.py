"""Graphs of rows: edges with lengths and weights, degrees, Laplacian, variation of columns, attachment of new rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from tamiz.arrays import Codes, Floats, Indices
from tamiz.exceptions import DataError
from tamiz.graphs.description import ComponentSizes, GraphDescription, Histogram, NeighborCounts, Range
from tamiz.graphs.edges import SYMMETRIES, Components, Edges, HeatKernel, Weight, join_neighbors
from tamiz.graphs.graph_import import read_edges, read_matrix, read_neighbors
from tamiz.graphs.laplacian import Laplacian
from tamiz.graphs.variation import (
    ClassSums,
    Variation,
    as_row_major,
    check_n_rows,
    total_variation,
    variation_along_edges,
)
from tamiz.neighbors.base import NeighborIndex, Neighbors
from tamiz.neighbors.points import Points
from tamiz.neighbors.spanning_tree import connecting_edges
from tamiz.runtime.user_warnings import warn
from tamiz.runtime.validation import check_choice, check_memory
from tamiz.storage.invariants import (
    Condition,
    FloatArray,
    InstanceOf,
    Integer,
    IntegerArray,
    Invariants,
    Nullable,
    Number,
)
from tamiz.storage.records import Serializable
from tamiz.table.encode import RowEncoder
from tamiz.table.factory import check_graph_columns, count_rows
from tamiz.table.schema import Schema

# Components listed in a description, and bars of its histogram.
_MAX_COMPONENTS, _MAX_BARS = 10, 40


@dataclass(frozen=True)
class Attachment:
    """The neighbours of new rows among the rows of a graph, at least one for each.

    `relative_weights` are the weights of the edges to these neighbours, divided by the one to the nearest, `nearest_weights`.
    `duplicate_of` is the lowest row of the graph that is equal to the new row, -1 if there is none.
    """

    neighbors: Neighbors
    relative_weights: Floats
    nearest_weights: Floats
    duplicate_of: Indices


@dataclass(frozen=True)
class NeighborRule:
    """How the edges of a graph were found, so that new rows can be attached by the same rule.

    `n_neighbors` of a k-nearest-neighbour graph and `radius` of a radius graph are None for other graphs.
    """

    index: NeighborIndex
    row_encoder: RowEncoder
    search_description: str
    recall: float
    n_neighbors: int | None = None
    radius: float | None = None

    invariants: ClassVar[Invariants] = {
        "index": InstanceOf(NeighborIndex),
        "index.points.n_samples": Integer(low=1, size="n"),
        "row_encoder": (
            InstanceOf(RowEncoder),
            Condition(
                lambda it: it.row_encoder.n_coordinates in (None, it.index.points.n_coordinates),
                "does not read what its index was made of",
            ),
        ),
        "search_description": InstanceOf(str),
        "recall": Number(0.0, 1.0),
        "n_neighbors": Nullable(Integer(low=1, below="n+1")),
        "radius": Nullable(Number(0.0)),
    }

    @classmethod
    def from_index(
        cls,
        index: NeighborIndex,
        row_encoder: RowEncoder,
        *,
        n_neighbors: int | None = None,
        radius: float | None = None,
    ) -> NeighborRule:
        return cls(index, row_encoder, index.description, index.recall, n_neighbors, radius)

    def query_points(self, X: Any) -> Points:
        """Return new rows as points under the graph's metric."""
        return self.index.points.new_points(self.row_encoder.encode(X))

    def find_neighbors(self, queries: Points) -> Neighbors:
        """Return the neighbours of new rows; a row with none within the radius gets its nearest row, with a warning."""
        if self.n_neighbors is not None:
            return self.index.query(self.n_neighbors, queries)
        if self.radius is None:
            raise DataError("A same-class graph cannot attach a row without a class; build a nearest-neighbour graph.")
        near = self.index.query_radius(self.radius, queries)
        alone = np.flatnonzero(np.diff(near.indptr) == 0)
        if not alone.size:
            return near
        rows = "row has" if alone.size == 1 else "rows have"
        warn(
            "TZ401",
            f"{alone.size:,} new {rows} no row of the graph within the radius {self.radius:.6g} and "
            f"{'is' if alone.size == 1 else 'are'} joined to the nearest.",
        )
        return near.fill_rows(alone, self.index.query(1, queries.take(alone)))


class Graph(Serializable, ABC):
    """Rows joined by weighted edges.

    Build a graph with a builder, such as `KNearest(15).build(X)`, or with `Graph.from_edges`, `Graph.from_sparse` or
    `Graph.from_neighbors`.

    Attributes
    ----------
    n_samples, n_edges : int
        Number of rows, and number of pairs of rows joined by an edge.
    adjacency : csr_array of shape (n_samples, n_samples)
        Matrix S of the edge weights.
    edges : Edges
        The entries of `adjacency` and their lengths, in CSR form: `indptr`, `indices` and `lengths`. A graph that was made from
        weights alone has no lengths, nor has a same-class graph whose weights depend on the class alone; they raise DataError.
    degrees : ndarray of shape (n_samples,)
        Diagonal of D: the sum of the weights of each row's edges.
    components : Components
        Connected components: `labels` and `sizes`.
    radius : float or None
        Radius of a radius graph, else None.
    t : float or None
        Width of the heat kernel, if it weights the edges.
    search_description : str or None
        How the neighbours were found.
    recall : float or None
        Share of the true neighbours that were found, 1 for an exact search.
    schema : Schema or None
        Columns of the table that the graph was built from, if it was built from a table.

    Examples
    --------
    >>> import numpy as np
    >>> from tamiz.graphs import Graph
    >>> path = Graph.from_edges([0, 1], [1, 2])
    >>> path.degrees
    array([1., 2., 1.])
    >>> path.laplacian("unnormalized") @ np.array([1.0, 0.0, 3.0])
    array([ 1., -4.,  3.])
    """

    needs_classes: ClassVar[bool] = False
    n_samples: int
    n_edges: int
    radius: float | None = None
    t: float | None = None
    search_description: str | None = None
    recall: float | None = None

    def __sklearn_clone__(self) -> Self:
        """Return the graph itself: it is immutable, so cloned estimators share it."""
        return self

    @staticmethod
    def from_edges(
        heads: ArrayLike,
        tails: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        lengths: ArrayLike | None = None,
        n_samples: int | None = None,
        symmetrize: str | None = None,
    ) -> Graph:
        """Return the undirected graph of a list of edges.

        Parameters
        ----------
        heads, tails : array-like of shape (n_edges,)
            The two rows of each edge, counted from 0. Without `symmetrize`, list each pair once, in either direction.
        weights : array-like of shape (n_edges,), default=None
            Weights of at least 1e-290; None is 1 for each edge.
        lengths : array-like of shape (n_edges,), default=None
            Lengths of at least 0: the distance between the two rows of each edge. None leaves them unknown: reading `edges` then
            raises DataError.
        n_samples : int, default=None
            Number of rows; None is one more than the largest row in an edge.
        symmetrize : {None, "max", "mean", "min"}, default=None
            Read the edges as directed from head to tail, and weight each pair by the maximum, mean or minimum of its two
            directions, as `from_sparse` does. None reads the edges as undirected.
        """
        return EdgeGraph(*read_edges(heads, tails, weights, lengths, n_samples=n_samples, symmetrize=symmetrize))

    @staticmethod
    def from_sparse(adjacency: Any, *, lengths: Any = None, symmetrize: str | None = None) -> Graph:
        """Return the graph of a sparse or dense matrix of weights; a zero is no edge.

        Parameters
        ----------
        adjacency : sparse or dense matrix of shape (n_samples, n_samples)
            Finite weights of at least 0; symmetric, unless `symmetrize` is given.
        lengths : sparse or dense matrix of shape (n_samples, n_samples), default=None
            Lengths of at least 0 of the edges; other entries are ignored. A zero that a sparse matrix stores is a length of 0.
            The length of an edge may be in one direction or both, and the length of a loop is 0 if it is not stored. None leaves
            the lengths unknown: reading `edges` then raises DataError.
        symmetrize : {None, "max", "mean", "min"}, default=None
            Weight of a pair of rows: the maximum, mean or minimum of its two directions, where a missing edge has weight 0.
            So "max" joins rows with an edge in at least one direction, and "min" joins rows with edges in both. None raises
            DataError if the matrix is not symmetric.

        Examples
        --------
        >>> from sklearn.neighbors import kneighbors_graph
        >>> from tamiz.graphs import Graph
        >>> X = [[0.0], [1.0], [3.0]]
        >>> joined, distances = (kneighbors_graph(X, 1, mode=mode) for mode in ("connectivity", "distance"))
        >>> Graph.from_sparse(joined, lengths=distances, symmetrize="max").edges.lengths
        array([1., 1., 2., 2.])
        """
        return EdgeGraph(*read_matrix(adjacency, lengths, symmetrize=symmetrize))

    @staticmethod
    def from_neighbors(
        indices: ArrayLike, distances: ArrayLike, *, weight: Weight | None = None, symmetry: str = "or"
    ) -> Graph:
        """Return the graph of nearest neighbours that another library found, such as faiss, hnswlib, cuVS or torch.

        Parameters
        ----------
        indices : array-like of shape (n_samples, k)
            The row numbers of the neighbours of each row, among the same rows, in any order. A row may list itself; it is left
            out, and the farthest neighbour of every row that does not list itself.
        distances : array-like of shape (n_samples, k)
            Their distances, of any metric, not squared. The two directions of a pair may differ by 0.1 % of the largest distance,
            as in half precision; their mean is used.
        weight : Weight, default=None
            Weight of the edges; None is HeatKernel().
        symmetry : {"or", "mutual", "directed"}, default="or"
            As in `KNearest`.

        Raises
        ------
        DataError
            When the shapes differ, a neighbour is -1 or no row of the table, is listed twice, or a distance is not finite,
            negative, or another one in the other direction.

        Notes
        -----
        New rows cannot be attached, because the graph does not know the rows. Cost O(n k log(n k)).

        Examples
        --------
        >>> from sklearn.datasets import make_swiss_roll
        >>> from sklearn.neighbors import NearestNeighbors
        >>> from tamiz.graphs import Graph
        >>> from tamiz.reduction import UMAP
        >>> X, _ = make_swiss_roll(150, random_state=0)
        >>> distances, indices = NearestNeighbors(n_neighbors=16).fit(X).kneighbors(X)
        >>> graph = Graph.from_neighbors(indices, distances)
        >>> UMAP(2, graph=graph, random_state=0).fit_transform(X).shape
        (150, 2)
        """
        check_choice("symmetry", symmetry, SYMMETRIES)
        kernel = HeatKernel() if weight is None else weight
        if kernel.needs_classes:
            raise DataError(
                f"{type(kernel).__name__} requires classes, and neighbours have none; use Binary() or HeatKernel()."
            )
        neighbors = read_neighbors(indices, distances)
        return EdgeGraph.from_edge_lengths(join_neighbors(neighbors, symmetry), kernel, directed=symmetry == "directed")

    @property
    def schema(self) -> Schema | None:
        """The columns of the table that the graph was built from, or None."""
        return None

    @property
    @abstractmethod
    def adjacency(self) -> sparse.csr_array:
        """The weight matrix S."""

    @cached_property
    @abstractmethod
    def edges(self) -> Edges:
        """The edges with their lengths; raises DataError if the lengths are not known."""

    @property
    @abstractmethod
    def degrees(self) -> Floats:
        """The sum of the weights of each row's edges."""

    @cached_property
    @abstractmethod
    def components(self) -> Components:
        """The connected components."""

    @abstractmethod
    def dot(self, F: ArrayLike) -> Floats:
        """Return S F for F of shape (n_samples,) or (n_samples, m)."""

    @abstractmethod
    def variation(self, rows: Any, sample_weight: Floats | None = None) -> Variation:
        """Return the variation of the columns of `rows`, dense or sparse, along the edges and in total.

        With sample weights w, the edge of rows i and j counts w_i w_j times, as if row i were repeated w_i times.
        """

    @abstractmethod
    def attach(self, X: Any) -> Attachment:
        """Return the neighbours of new rows among the graph's rows, with edge weights, each independently.

        The graph may share the array that the caller passed to `build`. Changes to that array change the result.
        """

    @abstractmethod
    def connect_components(self) -> Graph:
        """Return the graph with the shortest edges that join its components; the graph itself if it is connected."""

    @abstractmethod
    def first_occurrences(self) -> Indices:
        """Return for every row the lowest row that is equal to it."""

    def laplacian(self, kind: str = "unnormalized", rows: Indices | None = None) -> Laplacian:
        """Return the Laplacian as an operator: "unnormalized" D - S, "symmetric" 1 - D^-1/2 S D^-1/2, "random_walk" 1 - D^-1 S.

        With `rows`, return the Laplacian of the subgraph of these rows.
        """
        if rows is None:
            return Laplacian(self.adjacency, kind, self.components)
        return Laplacian(sparse.csr_array(self.adjacency[rows][:, rows]), kind)

    def build(self, X: Any, y: Any = None, *, fill_missing: bool = False, warn_components: bool = True) -> Self:  # noqa: ARG002
        """Return the graph itself, so that a graph can be used in place of a builder.

        Raises DataError if X has another number of rows. X may be None.
        """
        n = self.n_samples if X is None else count_rows(X)
        if n != self.n_samples:
            raise DataError(f"The graph has {self.n_samples:,} rows and X has {n:,}; build a graph of X.")
        return self

    def describe(self) -> GraphDescription:
        """Describe the edges, the components and the numbers of neighbours of the rows.

        Returns
        -------
        GraphDescription
        """
        counts, degrees = self._neighbor_counts(), self.degrees
        least, most = int(counts.min()), int(counts.max())
        width = -(-(most - least + 1) // _MAX_BARS)
        bars = np.bincount((counts - least) // width).tolist()
        return GraphDescription(
            n_rows=self.n_samples,
            n_edges=self.n_edges,
            components=ComponentSizes(
                n=len(self.components), sizes=tuple(np.sort(self.components.sizes)[::-1][:_MAX_COMPONENTS].tolist())
            ),
            neighbors=NeighborCounts(
                min=float(least),
                median=float(np.median(counts)),
                max=float(most),
                histogram=Histogram(start=least, width=width, rows=tuple(bars)),
            ),
            degrees=Range(min=float(degrees.min()), median=float(np.median(degrees)), max=float(degrees.max())),
            radius=self.radius,
            t=self.t if self.t is not None and np.isfinite(self.t) else None,
            unweighted=bool((degrees == counts).all()),
            search=self.search_description,
            recall=self.recall,
        )

    def _neighbor_counts(self) -> NDArray[np.int64]:
        sizes = self.components.sizes.astype(np.int64)
        if self.search_description is None and self.n_edges == int((sizes * (sizes - 1) // 2).sum()):
            # Every component is complete: no need to build the adjacency matrix, which may be dense.
            return (sizes - 1)[self.components.labels]
        adjacency = self.adjacency
        return np.diff(adjacency.indptr).astype(np.int64) - (adjacency.diagonal() != 0)

    def check_columns(self, X: Any) -> None:
        """Raise DataError if X does not have the columns of the table that the graph was built from; X may be None."""
        if X is not None and self.schema is not None:
            check_graph_columns(X, self.schema)

    def __repr__(self) -> str:
        parts = [f"{self.n_samples:,} rows", f"{self.n_edges:,} edges"]
        parts += [
            f"{name}={value:.6g}" for name in ("radius", "t", "recall") if (value := getattr(self, name)) is not None
        ]
        return f"<Graph of {', '.join(parts)}>"


class EdgeGraph(Graph):
    """A graph that stores its edges.

    `edge_lengths` has the length of each entry of `adjacency`, None for a graph made from weights alone; `weight` is the weight of
    the edges with every parameter set.
    """

    invariants: ClassVar[Invariants] = {
        "adjacency.shape": Condition(lambda it: len({*it.adjacency.shape}) == 1, "is not that of a square matrix"),
        "adjacency.data": FloatArray("m", low=0.0),
        "adjacency.indptr": IntegerArray("n+1"),
        "edge_lengths": Nullable(FloatArray("m", low=0.0)),
        "weight": (
            Nullable(InstanceOf(Weight)),
            Condition(
                lambda it: not it.weight or it.weight.t is not None or not it.weight.needs_lengths, "has no width"
            ),
        ),
        "weight.t": Nullable(Number(0.0, allow_infinite=True)),
        "neighbor_rule": Nullable(InstanceOf(NeighborRule)),
        "neighbor_rule.index.points.n_samples": Nullable(Integer(size="n")),
        "radius": Nullable(Number(0.0)),
        "directed": InstanceOf(bool),
    }

    def __init__(
        self,
        adjacency: sparse.csr_array,
        edge_lengths: Floats | None = None,
        *,
        weight: Weight | None = None,
        neighbor_rule: NeighborRule | None = None,
        radius: float | None = None,
        directed: bool = False,
    ) -> None:
        self._adjacency = adjacency
        self.edge_lengths = edge_lengths
        self.weight = weight
        self.neighbor_rule = neighbor_rule
        self.radius = radius
        self.directed = directed
        self.n_samples = adjacency.shape[0]
        loops = int(np.count_nonzero(adjacency.diagonal()))
        self.n_edges = adjacency.nnz - loops if directed else (adjacency.nnz - loops) // 2
        self.t = None if weight is None else weight.t
        if neighbor_rule is not None:
            self.search_description, self.recall = neighbor_rule.search_description, neighbor_rule.recall

    @property
    def schema(self) -> Schema | None:
        return None if self.neighbor_rule is None else self.neighbor_rule.row_encoder.table_schema()

    @property
    def adjacency(self) -> sparse.csr_array:
        """The weight matrix; a new one on each call if all weights are 1, because these are not stored."""
        S = self._adjacency
        if S.data.flags.writeable:
            return S
        return sparse.csr_array((S.data.copy(), S.indices, S.indptr), shape=S.shape)

    @cached_property
    def edges(self) -> Edges:
        if self.edge_lengths is None:
            raise DataError(
                "The graph was made from weights alone, so its edges have no lengths; pass lengths= to Graph.from_edges or "
                "Graph.from_sparse, or build the graph from rows."
            )
        S = self._adjacency
        return Edges(S.indptr.astype(np.int64), S.indices.astype(np.int32, copy=False), self.edge_lengths)

    @cached_property
    def degrees(self) -> Floats:
        return np.asarray(self._adjacency.sum(axis=1)).ravel()

    @cached_property
    def components(self) -> Components:
        return Components.from_adjacency(self._adjacency, directed=self.directed)

    def dot(self, F: ArrayLike) -> Floats:
        F = np.asarray(F, dtype=np.float64)
        check_n_rows("F", F, self.n_samples)
        return np.asarray(self._adjacency @ F)

    def laplacian(self, kind: str = "unnormalized", rows: Indices | None = None) -> Laplacian:
        self._refuse_directed("has no symmetric Laplacian")
        return super().laplacian(kind, rows)

    @classmethod
    def from_edge_lengths(
        cls,
        edges: Edges,
        weight: Weight,
        class_sizes: Floats | None = None,
        *,
        neighbor_rule: NeighborRule | None = None,
        radius: float | None = None,
        directed: bool = False,
    ) -> EdgeGraph:
        if (
            neighbor_rule is not None
            and not edges.lengths.any()
            and not neighbor_rule.index.points.first_occurrences().any()
        ):
            raise DataError(f"All {len(edges.indptr) - 1:,} rows are equal, so no row is nearer than another.")
        each_once = slice(None) if directed else edges.upper_triangle
        fitted = weight.resolve_parameters(edges.lengths[each_once])
        weights = fitted.edge_weights(edges.lengths, class_sizes)
        fitted.check_weights(edges.lengths[each_once], weights[each_once])
        if not weights.all():
            edges, weights = edges.select(weights != 0), weights[weights != 0]
        return cls(
            edges.matrix(weights),
            edges.lengths,
            weight=fitted,
            neighbor_rule=neighbor_rule,
            radius=radius,
            directed=directed,
        )

    def variation(self, rows: Any, sample_weight: Floats | None = None) -> Variation:
        self._refuse_directed("has no Laplacian score")
        weight = np.ones(self.n_samples) if sample_weight is None else sample_weight
        check_n_rows("X", rows, self.n_samples)
        check_n_rows("sample_weight", weight, self.n_samples)
        S = self.adjacency
        scaled = S.data if sample_weight is None else S.data * np.repeat(weight, np.diff(S.indptr)) * weight[S.indices]
        degrees = self.degrees if sample_weight is None else weight * (S @ weight)
        rows = as_row_major(rows)
        return Variation(variation_along_edges(rows, S, scaled), *total_variation(rows, degrees))

    def attach(self, X: Any) -> Attachment:
        if self.neighbor_rule is None or self.weight is None:
            raise DataError("A graph made from edges has no distances to new rows; build the graph from rows.")
        self._refuse_class_weight("a new row has no class")
        queries = self.neighbor_rule.query_points(X)
        near = self.neighbor_rule.find_neighbors(queries)
        nearest = near.distances[near.indptr[:-1]]
        relative = self.weight.relative_weights(near.distances, nearest[near.rows])
        equal = np.full(near.n_rows, -1, dtype=np.intp)
        alike = np.flatnonzero(nearest == 0)
        if alike.size:
            found, known = self.neighbor_rule.index.points.match_rows(queries.take(alike))
            equal[alike[found]] = known
        return Attachment(near, relative, self.weight.edge_weights(nearest, None), equal)

    def first_occurrences(self) -> Indices:
        # Rows that are not known count as different.
        rule = self.neighbor_rule
        return np.arange(self.n_samples) if rule is None else rule.index.points.first_occurrences()

    def connect_components(self) -> Graph:
        self._refuse_directed("cannot be connected")
        if len(self.components) == 1:
            return self
        if self.neighbor_rule is None or self.weight is None:
            raise DataError(
                f"The graph falls into {self.components.describe()}. It has no distances to find joining edges by; "
                "add edges between the components."
            )
        self._refuse_class_weight("an edge between components may join rows of two classes")
        index = self.neighbor_rule.index
        heads, tails, lengths = connecting_edges(index, self.components.labels)
        several = f"{len(heads):,} edges of lengths {lengths.min():.4g} to {lengths.max():.4g} were"
        edges = several if len(heads) > 1 else f"1 edge of length {lengths[0]:.4g} was"
        warn("TZ401", f"{edges} added to join the {len(self.components):,} components of the graph.")
        weights = np.maximum(self.weight.edge_weights(lengths, None), self._adjacency.data.min(initial=1.0))
        radius = None if self.radius is None else max(self.radius, float(lengths.max()))
        rows, columns = np.concatenate([heads, tails]), np.concatenate([tails, heads])
        order = np.lexsort((columns, rows))
        rows, columns, each = rows[order].astype(np.int64), columns[order], order % len(heads)
        # The new entries are inserted, because the sum of two sparse matrices drops entries of length 0.
        S, n = self._adjacency, self.n_samples
        entries = np.repeat(np.arange(n), np.diff(S.indptr)) * n + S.indices
        at = np.searchsorted(entries, rows * n + columns)
        indptr = S.indptr.copy()
        indptr[1:] += np.cumsum(np.bincount(rows, minlength=n))
        joined = sparse.csr_array(
            (np.insert(S.data, at, weights[each]), np.insert(S.indices, at, columns), indptr), shape=(n, n)
        )
        edge_lengths = np.insert(self.edges.lengths, at, lengths[each])
        return EdgeGraph(joined, edge_lengths, weight=self.weight, neighbor_rule=self.neighbor_rule, radius=radius)

    def _refuse_directed(self, reason: str) -> None:
        if self.directed:
            raise DataError(
                f"A directed graph {reason}; build it with symmetry='or' or 'mutual', or pass "
                "Graph.from_sparse(graph.adjacency, lengths=graph.edges.length_matrix(), symmetrize='mean')."
            )

    def _refuse_class_weight(self, reason: str) -> None:
        if self.weight is not None and self.weight.needs_classes:
            raise DataError(
                f"{type(self.weight).__name__} requires edges within classes, and {reason}; use Binary() or HeatKernel()."
            )


class ClassGraph(Graph):
    """A same-class graph that stores classes in place of edges.

    The weight of a pair depends on its class alone, so sums over the classes replace sums over the edges, in O(n).
    """

    invariants: ClassVar[Invariants] = {
        "n_classes": Integer(low=1),
        "labels": (
            IntegerArray("n"),
            Condition(lambda it: it.labels.max(initial=0) < it.n_classes, "names a class beyond n_classes"),
        ),
        "weight": InstanceOf(Weight),
    }

    def __init__(self, labels: Codes, n_classes: int, weight: Weight) -> None:
        self.labels = labels
        self.n_classes = n_classes
        self.weight = weight
        self.n_samples = len(labels)
        self._counts = np.bincount(labels, minlength=n_classes).astype(np.float64)
        self.n_edges = int((self._counts * (self._counts - 1) / 2).sum())

    def _pair_weights(self, sizes: Floats) -> Floats:
        return self.weight.edge_weights(np.zeros(self.n_classes), np.where(sizes > 0, sizes, 1.0))

    @cached_property
    def degrees(self) -> Floats:
        return np.asarray((self._pair_weights(self._counts) * self._counts)[self.labels])

    @cached_property
    def components(self) -> Components:
        return Components.from_labels(self.labels)

    @property
    def adjacency(self) -> sparse.csr_array:
        check_memory(
            12.0 * float((self._counts**2).sum()),
            f"The {self.n_edges:,} edges of {format_n_classes(self.n_classes)}",
            "The graph's dot and variation need no edges.",
        )
        members = sparse.csr_array(
            (np.ones(self.n_samples), (np.arange(self.n_samples), self.labels)), shape=(self.n_samples, self.n_classes)
        )
        return sparse.csr_array(members @ sparse.diags_array(self._pair_weights(self._counts)) @ members.T)

    @cached_property
    def edges(self) -> Edges:
        raise DataError(
            f"A same-class graph with {type(self.weight).__name__}() stores classes and does not read the rows, so its edges have "
            "no lengths; SameClass(weight=HeatKernel(t=np.inf)) has the edges with their lengths, each of weight 1."
        )

    def dot(self, F: ArrayLike) -> Floats:
        F = np.asarray(F, dtype=np.float64)
        check_n_rows("F", F, self.n_samples)
        sums = np.zeros((self.n_classes, *F.shape[1:]))
        np.add.at(sums, self.labels, F)
        return np.asarray((self._pair_weights(self._counts) * sums.T).T[self.labels])

    def variation(self, rows: Any, sample_weight: Floats | None = None) -> Variation:
        weight = np.ones(self.n_samples) if sample_weight is None else sample_weight
        check_n_rows("X", rows, self.n_samples)
        check_n_rows("sample_weight", weight, self.n_samples)
        sums = ClassSums.from_rows(as_row_major(rows), self.labels, weight, self.n_classes)
        sizes, means = sums.sizes, sums.means
        # S_ij is s within a class of size n, so the degree of its rows is s n.
        degree = self._pair_weights(sizes[:, 0])[:, None] * sizes
        total = (degree * sizes).sum()
        mean = (degree * sizes * means).sum(axis=0) / total
        within = (degree * sums.squares).sum(axis=0)
        between = (degree * sizes * (means - mean) ** 2).sum(axis=0)
        return Variation(within, within + np.where(sums.constant, 0.0, between), sums.constant)

    def attach(self, X: Any) -> Attachment:  # noqa: ARG002
        raise DataError("A same-class graph cannot attach a row without a class; build a nearest-neighbour graph.")

    def connect_components(self) -> Graph:
        if len(self.components) == 1:
            return self
        raise DataError(
            f"The same-class graph falls into {self.components.describe()}; build a nearest-neighbour graph."
        )

    def first_occurrences(self) -> Indices:
        # The values of the rows are not stored.
        return np.arange(self.n_samples)


def format_n_classes(n_classes: int) -> str:
    """Return "1 class" or "3 classes"."""
    return "1 class" if n_classes == 1 else f"{n_classes:,} classes"
