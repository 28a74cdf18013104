"""A graph that stores its edges, and the rule that attaches new rows to it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from tamiz.exceptions import DataError
from tamiz.graphs.components import Components
from tamiz.graphs.graph import Attachment, Graph
from tamiz.graphs.laplacian import Laplacian
from tamiz.graphs.variation import Variation, as_row_major, check_n_rows, total_variation
from tamiz.graphs.weights import Weight
from tamiz.kernels.sparse_graphs import edge_variation, sparse_edge_variation
from tamiz.neighbors.base import NeighborIndex, Neighbors
from tamiz.neighbors.points import Points
from tamiz.neighbors.row_encoders import RowEncoder
from tamiz.neighbors.spanning_tree import connecting_edges
from tamiz.runtime import parallel
from tamiz.runtime.user_warnings import warn_user
from tamiz.sources.schema import Schema
from tamiz.statistics.base import Floats
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

# Values per block of work.
_CHUNK_VALUES = 2**19


@dataclass(frozen=True)
class NeighborRule:
    """How the edges of a graph were found, so that new rows can be attached by the same rule.

    Attributes
    ----------
    index : NeighborIndex
        Index of the graph's rows.
    row_encoder : RowEncoder
        Reads new rows as the graph's rows were read.
    search_description : str
        How the neighbours were found.
    recall : float
        Share of the true neighbours that were found.
    n_neighbors : int or None
        Neighbours of each row; None for a radius graph or a same-class graph.
    radius : float or None
        Radius within which rows are joined; None for a k-nearest-neighbour graph or a same-class graph.
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
        """Return the rule of edges that an index found."""
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
        warn_user(
            [
                f"{alone.size:,} new {rows} no row of the graph within the radius {self.radius:.6g} and "
                f"{'is' if alone.size == 1 else 'are'} joined to the nearest."
            ]
        )
        return near.fill_rows(alone, self.index.query(1, queries.take(alone)))


@dataclass(frozen=True)
class Edges:
    """Edges in CSR form. An undirected edge is stored in both directions; the edges of a row are sorted by their other end.

    Attributes
    ----------
    indptr : ndarray of shape (n_samples + 1,), int64
    indices : ndarray of shape (n_pairs,), int32
        The edges of row i end at the rows `indices[indptr[i] : indptr[i + 1]]`.
    lengths : ndarray of shape (n_pairs,)
        Length of each entry of `indices`.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    lengths: Floats

    invariants: ClassVar[Invariants] = {
        "indptr": IntegerArray("n+1", dtypes=(np.int64,)),
        "indices": IntegerArray("m", dtypes=(np.int32,)),
        "lengths": FloatArray("m", low=0.0),
    }

    @property
    def rows(self) -> NDArray[np.int32]:
        """The row of every entry of `indices`."""
        return np.repeat(np.arange(len(self.indptr) - 1, dtype=np.int32), np.diff(self.indptr))

    @property
    def upper_triangle(self) -> NDArray[np.bool_]:
        """Mask of the entries above the diagonal, which contain every undirected edge once."""
        return self.rows < self.indices


class EdgeGraph(Graph):
    """A graph that stores its edges. It has the attributes of `Graph` and the following ones.

    Attributes
    ----------
    edges : Edges or None
        The edges with their lengths; None for a graph made from weights alone.
    weight : Weight or None
        The weight of the edges, with every parameter set.
    directed : bool
        Whether the edges are directed.
    """

    invariants: ClassVar[Invariants] = {
        "adjacency.shape": Condition(lambda it: len({*it.adjacency.shape}) == 1, "is not that of a square matrix"),
        "adjacency.data": FloatArray("m", low=0.0),
        "adjacency.indptr": IntegerArray("n+1"),
        "edges": Nullable(InstanceOf(Edges)),
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
        *,
        edges: Edges | None = None,
        weight: Weight | None = None,
        neighbor_rule: NeighborRule | None = None,
        radius: float | None = None,
        directed: bool = False,
    ) -> None:
        self._adjacency = adjacency
        self.edges = edges
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

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Return the graph after validating the CSR arrays of its edges, which kernels read unchecked."""
        edges, shape = state["edges"], state["adjacency"].shape
        if edges is not None:
            sparse.csr_array((edges.lengths, edges.indices, edges.indptr), shape=shape).check_format(full_check=True)
        return cls(**state)

    @property
    def schema(self) -> Schema | None:
        """The columns of the table that the graph was built from, or None."""
        return None if self.neighbor_rule is None else self.neighbor_rule.row_encoder.table_schema()

    @property
    def adjacency(self) -> sparse.csr_array:
        """The weight matrix."""
        return self._adjacency

    @cached_property
    def degrees(self) -> Floats:
        """The sum of the weights of each row's edges."""
        return np.asarray(self._adjacency.sum(axis=1)).ravel()

    @cached_property
    def components(self) -> Components:
        """The connected components."""
        return Components.from_adjacency(self._adjacency, directed=self.directed)

    def dot(self, F: ArrayLike) -> Floats:
        """Return S F."""
        F = np.asarray(F, dtype=np.float64)
        check_n_rows("F", F, self.n_samples)
        return np.asarray(self._adjacency @ F)

    def laplacian(self, kind: str = "unnormalized", rows: NDArray[np.intp] | None = None) -> Laplacian:
        """Return the Laplacian as an operator."""
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
        """Return the graph of these edges, weighted by `weight`."""
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
        n = len(edges.indptr) - 1
        # With an int64 indptr, scipy would copy the indices to int64 too.
        indptr = edges.indptr if len(edges.indices) > np.iinfo(np.int32).max else edges.indptr.astype(np.int32)
        adjacency = sparse.csr_array((weights, edges.indices, indptr), shape=(n, n))
        if not weights.all():
            adjacency = adjacency.copy()
            adjacency.eliminate_zeros()
        return cls(adjacency, edges=edges, weight=fitted, neighbor_rule=neighbor_rule, radius=radius, directed=directed)

    def variation(self, rows: Any, sample_weight: Floats | None = None) -> Variation:
        """Return the variation of columns along the edges and in total."""
        self._refuse_directed("has no Laplacian score")
        weight = np.ones(self.n_samples) if sample_weight is None else sample_weight
        check_n_rows("X", rows, self.n_samples)
        check_n_rows("sample_weight", weight, self.n_samples)
        S = self._adjacency
        indptr, indices = S.indptr.astype(np.int64, copy=False), S.indices.astype(np.int32, copy=False)
        scaled = S.data if sample_weight is None else S.data * np.repeat(weight, np.diff(indptr)) * weight[indices]
        edges = (indptr, indices, scaled)
        degrees = self.degrees if sample_weight is None else weight * (S @ weight)
        rows = as_row_major(rows)
        within = _sparse_edge_variation if sparse.issparse(rows) else _dense_edge_variation
        return Variation(within(rows, edges), *total_variation(rows, degrees))

    def attach(self, X: Any) -> Attachment:
        """Return the neighbours of new rows among the graph's rows, with the weights of their edges."""
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

    def first_occurrences(self) -> NDArray[np.intp]:
        """Return for every row the lowest row equal to it; the row itself if there is none or the rows are not known."""
        return (
            np.arange(self.n_samples)
            if self.neighbor_rule is None
            else self.neighbor_rule.index.points.first_occurrences()
        )

    def connect_components(self) -> Graph:
        """Return the graph with the shortest edges that join its components; the graph itself if it is connected."""
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
        several = f"{len(heads):,} edges of lengths {lengths.min():.4g} to {lengths.max():.4g} join"
        edges = several if len(heads) > 1 else f"1 edge of length {lengths[0]:.4g} joins"
        warn_user([f"{edges} the {len(self.components):,} components of the graph."])
        weights = np.maximum(self.weight.edge_weights(lengths, None), self._adjacency.data.min(initial=1.0))
        joined = sparse.csr_array(self._adjacency + _symmetric_matrix(heads, tails, weights, self.n_samples))
        radius = None if self.radius is None else max(self.radius, float(lengths.max()))
        return EdgeGraph(joined, weight=self.weight, neighbor_rule=self.neighbor_rule, radius=radius)

    def _refuse_directed(self, reason: str) -> None:
        if self.directed:
            raise DataError(
                f"A directed graph {reason}; build it with symmetry='or' or 'mutual', or pass "
                "Graph.from_sparse(graph.adjacency, symmetrize='mean')."
            )

    def _refuse_class_weight(self, reason: str) -> None:
        if self.weight is not None and self.weight.needs_classes:
            raise DataError(
                f"{type(self.weight).__name__} requires edges within classes, and {reason}; use Binary() or HeatKernel()."
            )


def _symmetric_matrix(heads: NDArray[Any], tails: NDArray[Any], values: Floats, n: int) -> sparse.coo_array:
    ends = np.concatenate([heads, tails]), np.concatenate([tails, heads])
    return sparse.coo_array((np.concatenate([values, values]), ends), shape=(n, n))


def _dense_edge_variation(rows: Floats, edges: tuple[Any, ...]) -> Floats:
    n, q = rows.shape

    def vary(span: tuple[int, int]) -> Floats:
        out = np.zeros(q)
        edge_variation(rows, *edges, *span, out)
        return out

    return sum(parallel.map_blocks(vary, parallel.block_ranges(n, max(1, _CHUNK_VALUES // q))), start=np.zeros(q))


def _sparse_edge_variation(rows: Any, edges: tuple[Any, ...]) -> Floats:
    n, q = rows.shape
    csr = (rows.indptr.astype(np.int64, copy=False), rows.indices.astype(np.int32, copy=False), rows.data)

    def vary(span: tuple[int, int]) -> Floats:
        out = np.zeros(q)
        sparse_edge_variation(*edges, *csr, *span, out)
        return out

    spans = parallel.block_ranges(n, max(1, _CHUNK_VALUES * n // max(n, rows.nnz)))
    return sum(parallel.map_blocks(vary, spans), start=np.zeros(q))
