"""The base class of t-SNE and UMAP: a graph of the rows, a layout of it, and an extension to new rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tamiz.arrays import Floats
from tamiz.graphs.builders import GraphBuilder, KNearest
from tamiz.graphs.edges import Binary
from tamiz.graphs.graph import Graph
from tamiz.neighbors.base import Neighbors
from tamiz.neighbors.row_encoders import row_numbers
from tamiz.reduction.description import MapDescription
from tamiz.reduction.graph_reducer import GraphReducer
from tamiz.reduction.layouts.descent import Callback, Descent
from tamiz.runtime import parallel
from tamiz.runtime.user_warnings import warn
from tamiz.runtime.validation import check_memory
from tamiz.storage.invariants import IntegerArray, Invariants
from tamiz.table.feature_checks import check_features, record_features

# Bytes for each edge of the graph and of the affinities while both are in memory.
_BYTES_PER_EDGE = 48


class NeighborEmbedding(GraphReducer):
    """A map on which each row is attracted by its neighbours in a graph and repelled by other rows."""

    converged_: bool
    invariants: ClassVar[Invariants] = {"_first_rows": IntegerArray("n", below="n")}

    def transform(self, X: Any) -> NDArray[Any]:
        """Map new rows, each independently of the others.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Table
            New rows; for a graph of precomputed distances, the distances to the rows of the fit.

        Returns
        -------
        ndarray of shape (n_rows, n_components)
            The coordinates. A row that is equal to a row of the fit has the coordinates of this row.

        Raises
        ------
        DataError
            When X does not have the columns of the fit, or the graph was made from edges.
        """
        check_is_fitted(self)
        check_features(self, X)
        with parallel.thread_session():
            attached = self.graph_.attach(X)
            embedding = self._place_rows(attached.neighbors, np.asarray(self.embedding_, dtype=np.float64))
        known = attached.duplicate_of >= 0
        embedding[known] = self.embedding_[attached.duplicate_of[known]]
        return self._match_dtype(embedding, X)

    @abstractmethod
    def _place_rows(self, near: Neighbors, points: Floats) -> Floats:
        """Return the coordinates of new rows, given their neighbours among the fitted rows at `points`."""

    def _default_builder(self, n_samples: int) -> GraphBuilder:
        return KNearest(self._n_graph_neighbors(n_samples), weight=Binary(), symmetry="directed")

    @abstractmethod
    def _n_graph_neighbors(self, n_samples: int) -> int:
        """Return the number of neighbours of each row that the affinities need, at least 1."""

    def _build_graph(self, X: Any, y: Any, n: int, advice: str) -> Graph:
        """Return the graph of the parameter `graph`, by default of the nearest neighbours of each row."""
        n_neighbors = self._n_graph_neighbors(n)
        check_memory(float(_BYTES_PER_EDGE) * n * n_neighbors, f"The {n_neighbors:,} neighbours of {n:,} rows", advice)
        graph = self._read_graph(X, y, quietly=True)
        if len(graph.components) > 1:
            warn(
                "TZ401",
                f"{type(self).__name__}: the graph falls into {graph.components.describe(row_numbers(X))}. The map "
                "separates them, and distances between them have no meaning.",
            )
        return graph

    def _run_descent(
        self, descent: Descent, settings: Floats, callback: Callback | None, set_result: Callable[[], None]
    ) -> None:
        """Run a descent and set its result, also at an interruption after the first evaluation of the cost."""
        try:
            descent.run(settings, callback)
        except KeyboardInterrupt:
            if descent.history:
                set_result()
            raise
        set_result()

    def _set_fitted(self, X: Any, graph: Graph, points: Floats) -> None:
        """Set what both methods have in common; equal rows get the coordinates of the first of them."""
        first = graph.first_occurrences()
        embedding = self._match_dtype(points[first], X)
        record_features(self, X)
        self.graph_, self._first_rows, self.embedding_ = graph, first, embedding

    def _describe_descent(self, attraction: str, objective: str, steps: str) -> MapDescription:
        """Describe what attracts and repels a row, the objective, and the convergence within some steps."""
        ended = "converged within" if self.converged_ else "was still decreasing after"
        return self._describe(
            [f"Each row attracts {attraction}. {objective}, {ended} {steps}."],
            "Rows that are neighbours in the table are near each other. Distances between groups, and sizes of groups, have "
            "little meaning.",
        )

    def _set_points(self, points: Floats) -> None:
        self.embedding_ = points[self._first_rows].astype(self.embedding_.dtype)
