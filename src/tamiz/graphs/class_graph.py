"""The graph in which every two rows of a class are joined, and every row with itself: kept as classes, not as edges."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from tamiz.exceptions import DataError
from tamiz.graphs.components import Components
from tamiz.graphs.graph import Attachment, Graph
from tamiz.graphs.variation import ClassSums, Variation, as_row_major, check_n_rows
from tamiz.graphs.weights import Weight
from tamiz.statistics.base import Codes, Floats
from tamiz.storage.invariants import Condition, InstanceOf, Integer, IntegerArray, Invariants
from tamiz.validation import check_memory


def format_n_classes(n_classes: int) -> str:
    """Return "1 class" or "3 classes"."""
    return "1 class" if n_classes == 1 else f"{n_classes:,} classes"


class ClassGraph(Graph):
    """A graph of classes; the attributes are those of `Graph`.

    The weight of a pair depends on its class alone, so that sums over the classes do the work of edges, in O(n).
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
        """Return the weight of a pair of each class."""
        return self.weight.edge_weights(np.zeros(self.n_classes), np.where(sizes > 0, sizes, 1.0))

    @cached_property
    def degrees(self) -> Floats:
        """The sums of the weights."""
        return np.asarray((self._pair_weights(self._counts) * self._counts)[self.labels])

    @cached_property
    def components(self) -> Components:
        """The classes."""
        return Components.from_labels(self.labels)

    @property
    def adjacency(self) -> sparse.csr_array:
        """The weights, every pair of a class written out."""
        check_memory(
            12.0 * float((self._counts**2).sum()),
            f"The {self.n_edges:,} edges of {format_n_classes(self.n_classes)}",
            "The graph's dot and variation need no edges.",
        )
        members = sparse.csr_array(
            (np.ones(self.n_samples), (np.arange(self.n_samples), self.labels)), shape=(self.n_samples, self.n_classes)
        )
        return sparse.csr_array(members @ sparse.diags_array(self._pair_weights(self._counts)) @ members.T)

    def dot(self, F: ArrayLike) -> Floats:
        """Return S F."""
        F = np.asarray(F, dtype=np.float64)
        check_n_rows("F", F, self.n_samples)
        sums = np.zeros((self.n_classes, *F.shape[1:]))
        np.add.at(sums, self.labels, F)
        return np.asarray((self._pair_weights(self._counts) * sums.T).T[self.labels])

    def variation(self, rows: Any, sample_weight: Floats | None = None) -> Variation:
        """Return how much columns vary within the classes and in all."""
        weight = np.ones(self.n_samples) if sample_weight is None else sample_weight
        check_n_rows("X", rows, self.n_samples)
        check_n_rows("row_weight", weight, self.n_samples)
        sums = ClassSums.from_rows(as_row_major(rows), self.labels, weight, self.n_classes)
        sizes, means = sums.sizes, sums.means
        # S_ij is s for a pair of a class of size n, so that a row's degree is s n.
        degree = self._pair_weights(sizes[:, 0])[:, None] * sizes
        total = (degree * sizes).sum()
        mean = (degree * sizes * means).sum(axis=0) / total
        within = (degree * sums.squares).sum(axis=0)
        between = (degree * sizes * (means - mean) ** 2).sum(axis=0)
        return Variation(within, within + np.where(sums.constant, 0.0, between), sums.constant)

    def attach(self, X: Any) -> Attachment:  # noqa: ARG002
        """Refuse: a new row has no class."""
        raise DataError("A graph of classes has no place for a row without a class; build one of neighbours.")

    def connect_components(self) -> Graph:
        """Refuse: classes are meant to be apart."""
        if len(self.components) == 1:
            return self
        raise DataError(f"The graph of classes falls into {self.components.describe()}; build one of neighbours.")

    def first_occurrences(self) -> NDArray[np.intp]:
        """Return the rows themselves: their values are not known."""
        return np.arange(self.n_samples)
