"""The graph of rows: what every method asks of it, whether it holds edges or classes."""

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
    """New rows and the graph's rows that they would be joined to.

    Attributes
    ----------
    neighbors : Neighbors
        Of the new rows, at least one each.
    relative_weights : ndarray of shape (n_pairs,)
        Of their edges, in units of the weight of a row's nearest.
    nearest_weights : ndarray of shape (n_new,)
        That of the nearest.
    duplicate_of : ndarray of shape (n_new,)
        The lowest of the graph's rows that is equal to the new row, -1 where none is.
    """

    neighbors: Neighbors
    relative_weights: Floats
    nearest_weights: Floats
    duplicate_of: NDArray[np.intp]


class Graph(Serializable, ABC):
    """Rows joined by weighted edges.

    Made by a builder, such as `KNearest(15).build(X)`, or by `Graph.from_edges` and `Graph.from_sparse`.

    Attributes
    ----------
    n_samples, n_edges : int
        Rows, and pairs of rows that are joined.
    adjacency : csr_array of shape (n_samples, n_samples)
        The weights S.
    degrees : ndarray of shape (n_samples,)
        Sum of the weights of a row's edges, D.
    components : Components
        `labels`, `sizes`.
    radius : float or None
        The largest length that was joined, where the graph has one.
    t : float or None
        The width of the heat kernel, where it weighs the edges.
    search_description : str or None
        How neighbours were found.
    recall : float or None
        Share of the true neighbours that were found, 1 where they were found exactly.
    schema : Schema or None
        The columns of the rows as they were taken, where they are known and of a table.

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
        """Return the graph itself: nothing changes it, and a clone of what lives on it shares it."""
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
        """Return the graph of given edges, each joining its two rows in both directions.

        Parameters
        ----------
        heads, tails : array-like of shape (n_edges,)
            Rows, counted from 0; a pair is given once, in either direction, unless `symmetrize` is given.
        weights : array-like of shape (n_edges,), default=None
            At least 1e-290; None is 1 for each.
        n_samples : int, default=None
            Rows in all; None is one more than the largest row named.
        symmetrize : {None, "max", "mean", "min"}, default=None
            Read the edges as directed from head to tail, and weigh each pair by the maximum, mean or minimum of its two
            directions, as `from_sparse` does. None reads them as undirected.
        """
        from tamiz.graphs.graph_import import build_from_edges

        return build_from_edges(heads, tails, weights, n_samples, symmetrize)

    @staticmethod
    def from_sparse(adjacency: Any, *, symmetrize: str | None = None) -> Graph:
        """Return the graph of a matrix of weights, sparse or dense; what is zero is no edge.

        Parameters
        ----------
        adjacency : sparse or dense matrix of shape (n_samples, n_samples)
            Finite weights of at least 0; symmetric, unless `symmetrize` is given.
        symmetrize : {None, "max", "mean", "min"}, default=None
            The weight of a pair whose two directions differ: their maximum, mean or minimum, where a direction without an edge
            has the weight 0. So "max" joins rows where either direction has an edge, "min" where both have. None refuses a
            matrix that is not symmetric.
        """
        from tamiz.graphs.graph_import import build_from_matrix

        return build_from_matrix(adjacency, symmetrize)

    @property
    def schema(self) -> Schema | None:
        """The columns of the rows, where they are known."""
        return None

    @property
    @abstractmethod
    def adjacency(self) -> sparse.csr_array:
        """The weights."""

    @property
    @abstractmethod
    def degrees(self) -> Floats:
        """The sums of the weights."""

    @cached_property
    @abstractmethod
    def components(self) -> Components:
        """The connected components."""

    @abstractmethod
    def dot(self, F: ArrayLike) -> Floats:
        """Return S F for F of shape (n_samples,) or (n_samples, m)."""

    @abstractmethod
    def variation(self, rows: Any, sample_weight: Floats | None = None) -> Variation:
        """Return how much the columns of `rows`, dense or sparse, vary along the edges and in all.

        With weights an edge counts w_i w_j times, as between copies of its rows.
        """

    @abstractmethod
    def attach(self, X: Any) -> Attachment:
        """Return the graph's rows that new rows would be joined to; what is given with a row changes nothing for it.

        The graph's rows may lie in the caller's own array: what was changed there since changes to whom new rows are joined.
        """

    @abstractmethod
    def connect_components(self) -> Graph:
        """Return the graph with the shortest edges that join its components, itself where it is in one piece."""

    @abstractmethod
    def first_occurrences(self) -> NDArray[np.intp]:
        """Return for every row the lowest row that is equal to it."""

    def laplacian(self, kind: str = "unnormalized", rows: NDArray[np.intp] | None = None) -> Laplacian:
        """Return the Laplacian as an operator: "unnormalized" D - S, "symmetric" 1 - D^-1/2 S D^-1/2, "random_walk" 1 - D^-1 S.

        With `rows`, that of the edges among these alone.
        """
        if rows is None:
            return Laplacian(self.adjacency, kind, self.components)
        return Laplacian(sparse.csr_array(self.adjacency[rows][:, rows]), kind)

    def build(self, X: Any, y: Any = None, *, fill_missing: bool = False) -> Self:  # noqa: ARG002 - as builders take them
        """Return the graph itself, for whoever takes a builder or a graph; refuse it for another number of rows.

        X may be None: the rows are those that the graph was built from.
        """
        n = self.n_samples if X is None else count_rows(X)
        if n != self.n_samples:
            raise DataError(f"The graph has {self.n_samples:,} rows and X has {n:,}; build a graph of X.")
        return self

    def build_quietly(self, X: Any, y: Any = None, *, fill_missing: bool = False) -> Self:
        """Return the graph itself, as `build` does."""
        return self.build(X, y, fill_missing=fill_missing)

    def __repr__(self) -> str:
        told = [f"{self.n_samples:,} rows", f"{self.n_edges:,} edges"]
        told += [
            f"{name}={value:.6g}" for name in ("radius", "t", "recall") if (value := getattr(self, name)) is not None
        ]
        return f"<Graph of {', '.join(told)}>"
