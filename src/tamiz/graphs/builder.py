"""The base class of graph builders, and the steps they share: read the table, make edges, weight them, warn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from shlex import quote
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from tamiz.arrays import Codes, Floats
from tamiz.exceptions import DataError
from tamiz.graphs.edges import Edges, NeighborRule
from tamiz.graphs.graph import EdgeGraph, Graph
from tamiz.graphs.weights import HeatKernel, Weight
from tamiz.neighbors.metric_registry import registry
from tamiz.neighbors.points import Points
from tamiz.neighbors.row_encoders import count_rows, row_numbers
from tamiz.runtime import parallel
from tamiz.runtime.user_warnings import warn
from tamiz.runtime.validation import check_choice
from tamiz.table.base import Table
from tamiz.table.encode import RowEncoder
from tamiz.table.factory import as_table
from tamiz.table.in_memory import code_vector
from tamiz.table.views import target_array


@dataclass(frozen=True)
class ClassLabels:
    """The classes of the rows that a graph is built from.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,), int32
        Class of each row, an index into `names`.
    names : tuple of str
        Name of each class.
    """

    labels: Codes
    names: tuple[str, ...]

    @property
    def sizes(self) -> Floats:
        return np.bincount(self.labels, minlength=len(self.names)).astype(np.float64)


_METRICS = {
    "euclidean": "Euclidean distance",
    "seuclidean": "Euclidean distance of standardised columns",
    "cityblock": "city-block distance",
    "cosine": "cosine distance",
    "gower": "Gower's dissimilarity",
    "precomputed": "precomputed distances",
}


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
        distance = [_METRICS[self.metric]] if self.joins_by_distance or weight.needs_lengths else []
        return ", ".join([joined, *distance, "unweighted edges" if unweighted else weight.describe()])

    def _joined_rows(self) -> str:
        return ""

    def build(self, X: Any, y: Any = None, *, fill_missing: bool = False) -> Graph:
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

        Returns
        -------
        Graph
        """
        graph, n_expected = self._build_graph(X, y, fill_missing=fill_missing)
        if len(graph.components) > n_expected:
            described = graph.components.describe(row_numbers(X))
            warn("TZ401", f"The graph of {graph.n_samples:,} rows falls into {described}.")
        return graph

    def build_quietly(self, X: Any, y: Any = None, *, fill_missing: bool = False) -> Graph:
        """Build the graph as `build` does, without the warning about several components."""
        return self._build_graph(X, y, fill_missing=fill_missing)[0]

    def _build_graph(self, X: Any, y: Any, *, fill_missing: bool) -> tuple[Graph, int]:
        """Return the graph and the expected number of components: one per class where edges join rows of one class."""
        _check_weight(self.weight)
        with parallel.thread_session():
            classes = _class_labels(X, y, type(self).__name__) if self.needs_classes else None
            if classes is not None and (n := count_rows(X)) != len(classes.labels):
                raise DataError(f"X has {n:,} rows and y has {len(classes.labels):,} values; pass one value per row.")
            return self._build(X, classes, fill_missing=fill_missing), 1 if classes is None else len(classes.names)

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


def read_points(X: Any, metric: str, *, fill_missing: bool) -> tuple[Points, RowEncoder]:
    """Return the rows as points under a metric, and the encoder that reads new rows the same way."""
    check_choice("metric", metric, [entry.name for entry in registry])
    points, encoder = registry[metric].load()(X, fill_missing=fill_missing)
    if points.n_samples < 2:
        samples = "1 sample (row)" if points.n_samples == 1 else f"{points.n_samples} samples (rows)"
        raise DataError(f"X has {samples}; a graph needs at least 2.")
    return points, encoder


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
