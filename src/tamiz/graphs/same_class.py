"""The same-class graph: every row is joined to all rows of its class, itself among them.

`SameClass` builds it. If the weight depends on the class alone, the result is a `ClassGraph`, which stores the class of every
row and no edges; with a weight that needs lengths it is an `EdgeGraph`.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from tamiz.arrays import Codes, Floats, Indices
from tamiz.exceptions import DataError
from tamiz.graphs.builder import ClassLabels, GraphBuilder, read_points
from tamiz.graphs.components import Components
from tamiz.graphs.edges import Attachment, Edges, NeighborRule
from tamiz.graphs.graph import Graph
from tamiz.graphs.variation import ClassSums, Variation, as_row_major, check_n_rows
from tamiz.graphs.weights import InverseClassSize, Weight
from tamiz.neighbors.brute_force import BruteForce
from tamiz.neighbors.points import Points
from tamiz.runtime.validation import check_memory
from tamiz.storage.invariants import Condition, InstanceOf, Integer, IntegerArray, Invariants

# Peak bytes per pair: its two rows and length, in order of finding and sorted, and its weight.
_BYTES_PER_PAIR = 80


class ClassGraph(Graph):
    """A same-class graph that stores classes in place of edges; its attributes are those of `Graph`.

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
        """The sum of the weights of each row's edges."""
        return np.asarray((self._pair_weights(self._counts) * self._counts)[self.labels])

    @cached_property
    def components(self) -> Components:
        return Components.from_labels(self.labels)

    @property
    def adjacency(self) -> sparse.csr_array:
        """The weight matrix, with an entry for every pair of rows of one class."""
        check_memory(
            12.0 * float((self._counts**2).sum()),
            f"The {self.n_edges:,} edges of {_format_n_classes(self.n_classes)}",
            "The graph's dot and variation need no edges.",
        )
        members = sparse.csr_array(
            (np.ones(self.n_samples), (np.arange(self.n_samples), self.labels)), shape=(self.n_samples, self.n_classes)
        )
        return sparse.csr_array(members @ sparse.diags_array(self._pair_weights(self._counts)) @ members.T)

    @cached_property
    def edges(self) -> Edges:
        """Raise DataError: the rows were not read, so the pairs of a class have no lengths."""
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
        """Return the variation of columns within the classes and in total."""
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
        """Raise DataError: a new row has no class."""
        raise DataError("A same-class graph cannot attach a row without a class; build a nearest-neighbour graph.")

    def connect_components(self) -> Graph:
        """Return the graph itself if there is one class, else raise DataError: classes are separate by definition."""
        if len(self.components) == 1:
            return self
        raise DataError(
            f"The same-class graph falls into {self.components.describe()}; build a nearest-neighbour graph."
        )

    def first_occurrences(self) -> Indices:
        """Return every row's own number: the values of the rows are not stored."""
        return np.arange(self.n_samples)


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
                f"No class has two rows: y has {_format_n_classes(len(classes.names))} for {len(classes.labels):,} rows, so no "
                "two rows are joined. Pass classes of at least 2 rows."
            )
        weight = self._edge_weight
        if not weight.needs_lengths:
            return ClassGraph(np.ascontiguousarray(classes.labels), len(classes.names), weight)
        check_memory(
            _BYTES_PER_PAIR * float((classes.sizes**2).sum()),
            f"The edges of {_format_n_classes(len(classes.names))} of up to {int(classes.sizes.max()):,} rows",
            "InverseClassSize() and Binary() need no edges.",
        )
        points, encoder = read_points(X, "euclidean", fill_missing=fill_missing)
        return self.build_weighted_graph(
            _within_class_edges(points, classes), NeighborRule.from_index(BruteForce().fit(points), encoder), classes
        )


def _format_n_classes(n_classes: int) -> str:
    """Return "1 class" or "3 classes"."""
    return "1 class" if n_classes == 1 else f"{n_classes:,} classes"


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
