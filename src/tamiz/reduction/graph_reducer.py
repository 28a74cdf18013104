"""The base class of maps that are computed from a neighbour graph of the rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from tamiz.arrays import Codes, Floats, Indices
from tamiz.exceptions import DataError
from tamiz.graphs.builders import GraphBuilder, check_builder_or_graph, default_builder, graph_tags, resolve_builder
from tamiz.graphs.edges import Components, Edges
from tamiz.graphs.graph import Graph
from tamiz.kernels.primitives import distance_keys
from tamiz.reduction.base import N_STUDY_COMPONENTS, Reducer
from tamiz.runtime import parallel
from tamiz.runtime.validation import check_memory
from tamiz.storage.invariants import Condition, InstanceOf, Integer, IntegerArray, Invariants
from tamiz.table.factory import check_features, count_rows, row_numbers
from tamiz.table.schema import Schema

# Values of the parameter `disconnected`, the handling of a graph with several components.
DISCONNECTED_CHOICES = ("error", "connect", "per_component")


def check_connected(
    components: Components, row_numbers: Indices | None, choices: Sequence[str] = DISCONNECTED_CHOICES
) -> None:
    """Raise DataError if there are several components; the message lists the choices besides "error"."""
    if len(components) > 1:
        others = " or ".join(repr(choice) for choice in choices if choice != "error")
        raise DataError(
            f"The graph falls into {components.describe(row_numbers)}. Use more neighbours or a larger radius, or set "
            f"disconnected={others}."
        )


class GraphReducer(Reducer):
    """A map of the rows of a graph.

    Attributes
    ----------
    graph : GraphBuilder, Graph or None
        The parameter of the subclass.
    graph_ : Graph
        The graph that was built or passed, with the edges that connect its components where these were requested.
    """

    graph: GraphBuilder | Graph | None
    graph_: Graph
    invariants: ClassVar[Invariants] = {
        "graph_": InstanceOf(Graph),
        "graph_.n_samples": Integer(low=1, size="n"),
    }

    def __sklearn_tags__(self) -> Tags:
        return graph_tags(super().__sklearn_tags__(), self.graph)

    @property
    def schema_(self) -> Schema | None:
        """The schema of the rows from which the graph was built; None if it was built from edges."""
        check_is_fitted(self)
        return self.graph_.schema

    def graph_builder(self, n_samples: int) -> GraphBuilder | Graph:
        """Return the parameter `graph`, or the default builder for a number of rows."""
        return self._default_builder(n_samples) if self.graph is None else check_builder_or_graph(self.graph)

    def _default_builder(self, n_samples: int) -> GraphBuilder:
        """Return the builder that graph=None stands for."""
        return default_builder(n_samples)

    def _count_rows(self, X: Any) -> int:
        """Return the number of rows of X, or of a built graph for X=None; raise an error if it is below 2."""
        builder = resolve_builder(self.graph, X)
        n = builder.n_samples if isinstance(builder, Graph) else count_rows(X)
        if n < 2:
            raise DataError(
                f"X has {n} {'sample (row)' if n == 1 else 'samples (rows)'}; {type(self).__name__} needs at least 2."
            )
        return n

    def _build_graph(self, X: Any, y: Any, *, warn_components: bool = False) -> Graph:
        """Build the graph, or check that a built one is of the rows and columns of X."""
        builder = self.graph_builder(self._count_rows(X))
        y = y if builder.needs_classes else None
        graph = builder.build(X, y, fill_missing=True, warn_components=warn_components)
        graph.check_columns(X)
        return graph

    def transform(self, X: Any) -> NDArray[Any]:
        """Map new rows, each independently of the others.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Table
            New rows; for a graph of precomputed distances, the distances to the rows of the fit.

        Returns
        -------
        ndarray of shape (n_rows, n_components)
            The coordinates. A row that is equal to a row of the fit has the coordinates of this row. With
            disconnected="per_component" a row belongs to the component of its nearest row.

        Raises
        ------
        DataError
            When X does not have the columns of the fit, or the graph was made from edges.
        """
        check_is_fitted(self)
        check_features(self, X)
        with parallel.thread_session():
            embedding, equal_rows = self._map_new_rows(X)
        known = equal_rows >= 0
        embedding[known] = self.embedding_[equal_rows[known]]
        return self._match_dtype(embedding, X)

    @abstractmethod
    def _map_new_rows(self, X: Any) -> tuple[Floats, Indices]:
        """Return the coordinates of new rows, and for each the lowest row of the fit that is equal to it, -1 if there is none."""


class SpectralReducer(GraphReducer):
    """A map of eigenvectors, of all rows together or with `disconnected="per_component"` of each component of the graph.

    `eigenvalues_`, and what else belongs to a coordinate, have a row for each component, NaN where it is too small, or are one row.
    """

    disconnected: str
    component_labels_: Codes
    eigenvalues_: Floats
    invariants: ClassVar[Invariants] = {
        "component_labels_": (
            IntegerArray("n"),
            Condition(
                lambda it: it.eigenvalues_.ndim == 1 or it.component_labels_.max() < len(it.eigenvalues_),
                "names no component",
            ),
        ),
        "eigenvalues_": Condition(
            lambda it: (
                it.eigenvalues_.ndim in (1, 2)
                and it.eigenvalues_.dtype == np.float64
                and it.eigenvalues_.shape[-1] == it.embedding_.shape[1]
            ),
            "does not have one number for every coordinate",
        ),
    }

    def _build_graph_by_choice(self, X: Any, y: Any) -> Graph:
        """Build the graph: for "connect" with its components joined, for "error" with DataError if there are several."""
        # The error replaces the warning of the builder.
        graph = self._build_graph(X, y, warn_components=self.disconnected != "error")
        if self.disconnected == "error":
            check_connected(graph.components, row_numbers(X))
        return graph.connect_components() if self.disconnected == "connect" else graph

    def study_settings(self, schema: Schema, variant: str) -> dict[str, Any]:  # noqa: ARG002
        """Return the parameters in a study: coordinates for a spectrum, and rows far from all others are no error."""
        return {"n_components": max(1, min(N_STUDY_COMPONENTS, schema.n_rows - 1)), "disconnected": "connect"}

    def _spectrum_values(self, name: str) -> tuple[float, ...]:
        """Return the values of an attribute for the largest component, () without it."""
        values = np.atleast_1d(getattr(self, name, ()))
        if values.ndim == 2:
            values = values[np.argmax(np.bincount(self.component_labels_))]
        return tuple(values[np.isfinite(values)].tolist())

    def _part_labels(self, components: Components) -> Codes:
        """Return the component of every row, or 0 for all rows if they are mapped together."""
        labels = components.labels
        return labels if self.disconnected == "per_component" else np.zeros_like(labels)


# The values, residuals and vectors of the eigenpairs of some rows, given their numbers and the number of pairs.
EigenSolver = Callable[[Indices, int], tuple[Floats, Floats, Floats]]


def split_rows(labels: Codes) -> list[Indices]:
    """Return the rows of every label, ascending."""
    return np.split(np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels))[:-1])


def solve_by_part(labels: Codes, n_components: int, solve: EigenSolver) -> tuple[Floats, Floats, Floats]:
    """Return the coordinates, and the eigenvalues and residuals by part; NaN where a part has too few rows."""
    n, n_parts = len(labels), int(labels.max()) + 1
    check_memory(
        8.0 * (n + 2 * n_parts) * n_components, f"{n_components:,} coordinates of {n:,} rows", "Lower n_components."
    )
    embedding = np.zeros((n, n_components))
    values, residuals = np.full((2, n_parts, n_components), np.nan)
    for part, rows in enumerate(split_rows(labels)):
        m = min(n_components, len(rows) - 1)
        if m:
            values[part, :m], residuals[part, :m], embedding[rows, :m] = solve(rows, m)
    return embedding, values, residuals


def shortest_edges(graph: Graph, k: int) -> Edges:
    """Return the k shortest edges of every row, or all if a row has fewer; loops are left out.

    In a graph of the nearest neighbours of each row, in which rows may have further edges, they end at the nearest neighbours.
    """
    edges = graph.edges
    loops = edges.indices == edges.rows
    if loops.any():
        edges = edges.select(~loops)
    counts = np.diff(edges.indptr)
    if counts.max(initial=0) <= k:
        return edges
    order = np.lexsort((distance_keys(edges.lengths), edges.rows))
    # The rank of an edge among those of its row.
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order)) - np.repeat(edges.indptr[:-1], counts)
    return edges.select(rank < k)
