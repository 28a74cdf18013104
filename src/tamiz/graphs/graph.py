"""The base class of graphs of rows: weights, degrees, Laplacian, variation of columns, attachment of new rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from tamiz.exceptions import DataError
from tamiz.graphs.components import Components
from tamiz.graphs.laplacian import Laplacian
from tamiz.graphs.variation import Variation
from tamiz.neighbors.base import Neighbors
from tamiz.neighbors.row_encoders import count_rows
from tamiz.sources.schema import Schema
from tamiz.statistics.base import Floats
from tamiz.storage.records import Serializable


@dataclass(frozen=True)
class Attachment:
    """The neighbours of new rows among the rows of a graph.

    Attributes
    ----------
    neighbors : Neighbors
        Neighbours of the new rows, at least one for each.
    relative_weights : ndarray of shape (n_pairs,)
        Weights of the edges to these neighbours, divided by the weight of the edge to the nearest one.
    nearest_weights : ndarray of shape (n_new,)
        Weight of the edge from each new row to its nearest neighbour.
    duplicate_of : ndarray of shape (n_new,)
        The lowest row of the graph that is equal to the new row, -1 if there is none.
    """

    neighbors: Neighbors
    relative_weights: Floats
    nearest_weights: Floats
    duplicate_of: NDArray[np.intp]


class Graph(Serializable, ABC):
    """Rows joined by weighted edges.

    Build a graph with a builder, such as `KNearest(15).build(X)`, or with `Graph.from_edges` or `Graph.from_sparse`.

    Attributes
    ----------
    n_samples, n_edges : int
        Number of rows, and number of pairs of rows joined by an edge.
    adjacency : csr_array of shape (n_samples, n_samples)
        Matrix S of the edge weights.
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
        n_samples : int, default=None
            Number of rows; None is one more than the largest row in an edge.
        symmetrize : {None, "max", "mean", "min"}, default=None
            Read the edges as directed from head to tail, and weight each pair by the maximum, mean or minimum of its two
            directions, as `from_sparse` does. None reads the edges as undirected.
        """
        from tamiz.graphs.graph_import import build_from_edges

        return build_from_edges(heads, tails, weights, n_samples, symmetrize)

    @staticmethod
    def from_sparse(adjacency: Any, *, symmetrize: str | None = None) -> Graph:
        """Return the graph of a sparse or dense matrix of weights; a zero is no edge.

        Parameters
        ----------
        adjacency : sparse or dense matrix of shape (n_samples, n_samples)
            Finite weights of at least 0; symmetric, unless `symmetrize` is given.
        symmetrize : {None, "max", "mean", "min"}, default=None
            Weight of a pair of rows: the maximum, mean or minimum of its two directions, where a missing edge has weight 0.
            So "max" joins rows with an edge in at least one direction, and "min" joins rows with edges in both. None raises
            DataError if the matrix is not symmetric.
        """
        from tamiz.graphs.graph_import import build_from_matrix

        return build_from_matrix(adjacency, symmetrize)

    @property
    def schema(self) -> Schema | None:
        """The columns of the table that the graph was built from, or None."""
        return None

    @property
    @abstractmethod
    def adjacency(self) -> sparse.csr_array:
        """The weight matrix S."""

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
        """Return the neighbours of new rows among the graph's rows, with edge weights; each new row is treated by itself.

        The graph may share the array that the caller passed to `build`. Changes to that array change the result.
        """

    @abstractmethod
    def connect_components(self) -> Graph:
        """Return the graph with the shortest edges that join its components; the graph itself if it is connected."""

    @abstractmethod
    def first_occurrences(self) -> NDArray[np.intp]:
        """Return for every row the lowest row that is equal to it."""

    def laplacian(self, kind: str = "unnormalized", rows: NDArray[np.intp] | None = None) -> Laplacian:
        """Return the Laplacian as an operator: "unnormalized" D - S, "symmetric" 1 - D^-1/2 S D^-1/2, "random_walk" 1 - D^-1 S.

        With `rows`, return the Laplacian of the subgraph of these rows.
        """
        if rows is None:
            return Laplacian(self.adjacency, kind, self.components)
        return Laplacian(sparse.csr_array(self.adjacency[rows][:, rows]), kind)

    def build(self, X: Any, y: Any = None, *, fill_missing: bool = False) -> Self:  # noqa: ARG002 - as builders take them
        """Return the graph itself, so that a graph can be used in place of a builder.

        Raises DataError if X has another number of rows. X may be None.
        """
        n = self.n_samples if X is None else count_rows(X)
        if n != self.n_samples:
            raise DataError(f"The graph has {self.n_samples:,} rows and X has {n:,}; build a graph of X.")
        return self

    def build_quietly(self, X: Any, y: Any = None, *, fill_missing: bool = False) -> Self:
        """Return the graph itself, as `build` does."""
        return self.build(X, y, fill_missing=fill_missing)

    def __repr__(self) -> str:
        parts = [f"{self.n_samples:,} rows", f"{self.n_edges:,} edges"]
        parts += [
            f"{name}={value:.6g}" for name in ("radius", "t", "recall") if (value := getattr(self, name)) is not None
        ]
        return f"<Graph of {', '.join(parts)}>"
