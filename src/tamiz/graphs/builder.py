"""What makes a graph of rows: reading, searching, joining, weighing, and telling what came of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from shlex import quote
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from tamiz.exceptions import DataError
from tamiz.graphs.edge_graph import EdgeGraph, Edges, NeighborRule
from tamiz.graphs.graph import Graph
from tamiz.graphs.weights import HeatKernel, Weight
from tamiz.kernels.sparse_graphs import merge_edges, transpose_edges
from tamiz.neighbors.base import Neighbors
from tamiz.neighbors.metric_registry import registry
from tamiz.neighbors.points import Points
from tamiz.neighbors.row_encoders import RowEncoder, count_rows, row_numbers
from tamiz.runtime import parallel
from tamiz.runtime.user_warnings import warn_user
from tamiz.runtime.validation import check_choice
from tamiz.sources.base import Source
from tamiz.sources.factory import as_source
from tamiz.sources.in_memory import code_vector
from tamiz.statistics.base import Codes, Floats


@dataclass(frozen=True)
class ClassLabels:
    """The classes of the rows that a graph is built of.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,), int32
    names : tuple of str
    """

    labels: Codes
    names: tuple[str, ...]

    @property
    def sizes(self) -> Floats:
        """How many rows each has."""
        return np.bincount(self.labels, minlength=len(self.names)).astype(np.float64)


class GraphBuilder(BaseEstimator, ABC):
    """A rule that joins rows.

    Attributes
    ----------
    metric : str
        Distance of two rows.
    needs_classes : bool
        Whether rows are joined or weighed by their class.
    """

    metric: str = "euclidean"
    weight: Weight | None

    @property
    def needs_classes(self) -> bool:
        """Whether rows are joined or weighed by their class."""
        weight = _check_weight(self.weight)
        return weight is not None and weight.needs_classes

    def build(self, X: Any, y: Any = None, *, fill_missing: bool = False) -> Graph:
        """Build the graph of a table's rows.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Source
            Numbers are taken as they are, and categories as indicators divided by the square root of their share. A square
            matrix of distances where the metric is "precomputed". An array of float64 in C order, or of distances, is kept as it
            lies and not copied: what is changed in it afterwards changes to whom new rows are joined.
        y : array-like of shape (n_samples,), default=None
            Classes, where the builder joins or weighs by class; else not read.
        fill_missing : bool, default=False
            Put a missing number at the mean of its column, and tell; else rows with missing values are refused.

        Returns
        -------
        Graph
        """
        graph, n_expected = self._build_graph(X, y, fill_missing=fill_missing)
        if len(graph.components) > n_expected:
            described = graph.components.describe(row_numbers(X))
            warn_user([f"The graph of {graph.n_samples:,} rows falls into {described}."])
        return graph

    def build_quietly(self, X: Any, y: Any = None, *, fill_missing: bool = False) -> Graph:
        """Build the graph as `build` does, for whoever says something of its components by himself."""
        return self._build_graph(X, y, fill_missing=fill_missing)[0]

    def _build_graph(self, X: Any, y: Any, *, fill_missing: bool) -> tuple[Graph, int]:
        """Return the graph and how many components it is meant to have: joined by class, rows lie apart on purpose."""
        _check_weight(self.weight)
        with parallel.thread_session():
            classes = _class_labels(X, y, type(self).__name__) if self.needs_classes else None
            if classes is not None and (n := count_rows(X)) != len(classes.labels):
                raise DataError(f"X has {n:,} rows and y {len(classes.labels):,} values; give one for each row.")
            return self._build(X, classes, fill_missing=fill_missing), 1 if classes is None else len(classes.names)

    @abstractmethod
    def _build(self, X: Any, classes: ClassLabels | None, *, fill_missing: bool) -> Graph:
        """Build the graph in an open session."""

    def build_weighted_graph(
        self,
        edges: Edges,
        neighbor_rule: NeighborRule,
        classes: ClassLabels | None,
        *,
        radius: float | None = None,
        directed: bool = False,
    ) -> EdgeGraph:
        """Return the graph of edges under the builder's weight."""
        weight = HeatKernel() if self.weight is None else self.weight
        sizes = None
        if weight.needs_classes:
            assert classes is not None
            ends = classes.labels[edges.rows], classes.labels[edges.indices]
            if (ends[0] != ends[1]).any():
                raise DataError(
                    f"{type(weight).__name__} weighs rows of one class, and the graph joins rows of different ones; "
                    "use SameClass() or KNearest(within_class=True)."
                )
            sizes = classes.sizes[ends[0]]
        return EdgeGraph.from_edge_lengths(
            edges, weight, sizes, neighbor_rule=neighbor_rule, radius=radius, directed=directed
        )


def check_builder_or_graph(graph: Any) -> GraphBuilder | Graph:
    """Return what a parameter `graph` was given when it is a builder or a graph."""
    if not isinstance(graph, GraphBuilder | Graph):
        raise TypeError(f"graph must be a GraphBuilder or a Graph, such as KNearest(15), got {_describe_value(graph)}.")
    return graph


def _check_weight(weight: Any) -> Weight | None:
    if not (weight is None or isinstance(weight, Weight)):
        raise TypeError(f"weight must be a Weight, such as Binary() or HeatKernel(), got {_describe_value(weight)}.")
    return weight


def _describe_value(value: Any) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else repr(value)


def read_points(X: Any, metric: str, *, fill_missing: bool) -> tuple[Points, RowEncoder]:
    """Return the rows as points of a metric."""
    check_choice("metric", metric, [entry.name for entry in registry])
    points, reading = registry[metric].load()(X, fill_missing=fill_missing)
    if points.n_samples < 2:
        samples = "1 sample (row)" if points.n_samples == 1 else f"{points.n_samples} samples (rows)"
        raise DataError(f"X has {samples}; a graph needs at least 2.")
    return points, reading


def undirected_edges(neighbors: Neighbors, *, mutual: bool = False) -> Edges:
    """Return the edges of pairs that are neighbours in either direction, or only those in both."""
    n, m = neighbors.n_rows, len(neighbors.indices)
    turned = _transpose_csr(neighbors.indptr, neighbors.indices, neighbors.distances, n)
    # Turned twice, every row's neighbours are in the order of their number.
    ordered = _transpose_csr(*turned, n)
    out = np.empty(n + 1, dtype=np.int64), np.empty(2 * m, dtype=np.int32), np.empty(2 * m)
    filled = merge_edges(*ordered, *turned, mutual, *out)
    return Edges(out[0], out[1][:filled].copy(), out[2][:filled].copy())


def directed_edges(neighbors: Neighbors) -> Edges:
    """Return the pairs as they are, directed."""
    n = neighbors.n_rows
    return Edges(*_transpose_csr(*_transpose_csr(neighbors.indptr, neighbors.indices, neighbors.distances, n), n))


def _transpose_csr(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], lengths: Floats, n: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], Floats]:
    out = np.empty(n + 1, dtype=np.int64), np.empty(len(indices), dtype=np.int32), np.empty(len(indices))
    transpose_edges(indptr, indices, np.ascontiguousarray(lengths), *out)
    return out


def _class_labels(X: Any, y: Any, owner: str) -> ClassLabels:
    """Return the classes of the rows: y, or the target of a source."""
    if isinstance(X, Source):
        target = as_source(X, y).schema.target
        if target is None:
            raise DataError(f"{owner} joins rows of one class; open the source with a target of classes.")
        if target.is_number:
            raise DataError(
                f"{owner} joins rows of one class; open the source with a target of classes: {target.name!r} is taken as "
                f"{target.kind}, and kinds={{{target.name!r}: 'categorical'}} makes classes of it, on the command line "
                f"--kinds {quote(target.name + '=categorical')}."
            )
        labels = np.concatenate([np.asarray(block.y) for block in X.blocks([])])
        return ClassLabels(np.ascontiguousarray(labels, dtype=np.int32), target.levels)
    if y is None:
        raise DataError(f"{owner} joins rows of one class and requires y to be passed, but the target y is None.")
    labels, n_classes = code_vector(y, "y")
    if (labels < 0).any():
        raise DataError(f"Row {int(np.flatnonzero(labels < 0)[0])} has no class; leave it out of X and y.")
    _, first = np.unique(labels, return_index=True)
    values = np.asarray(y)
    return ClassLabels(labels, tuple(str(values[row]) for row in first[:n_classes]))
