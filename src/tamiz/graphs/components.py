"""The connected components of a graph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from tamiz.arrays import Indices
from tamiz.kernels.sparse_graphs import label_components_depth_first
from tamiz.runtime.user_warnings import list_names

_MAX_LISTED = 5


@dataclass(frozen=True)
class Components:
    """The component of every row. Components are numbered in the order of their first rows.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,), int32
        Component of each row.
    sizes : ndarray of shape (n_components,), int64
        Number of rows of each component.
    """

    labels: NDArray[np.int32]
    sizes: NDArray[np.int64]

    @classmethod
    def from_adjacency(cls, adjacency: sparse.csr_array, *, directed: bool = False) -> Components:
        """Return the components of an adjacency matrix; the direction of edges is ignored."""
        if directed:
            return cls.from_labels(connected_components(adjacency, connection="weak")[1])
        return traverse_components(
            adjacency.indptr.astype(np.int64, copy=False), adjacency.indices.astype(np.int32, copy=False)
        )[0]

    @classmethod
    def from_labels(cls, labels: NDArray[np.integer]) -> Components:
        """Return one component for each distinct label."""
        _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
        number = np.empty(len(first), dtype=np.int32)
        number[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
        renumbered = number[inverse]
        return cls(renumbered, np.bincount(renumbered, minlength=len(first)).astype(np.int64))

    def __len__(self) -> int:
        return len(self.sizes)

    def describe(self, row_numbers: Indices | None = None) -> str:
        """Return a description such as "3 components of 380, 19 and 1 rows; row 17 has no edges".

        `row_numbers` are the numbers of the rows in the user's table; None counts from 0.
        """
        order = np.argsort(-self.sizes, kind="stable")
        if len(self) > _MAX_LISTED:
            listed = list_names(self.sizes[order], limit=_MAX_LISTED, as_text="{:,}".format)
        else:
            shown = [f"{size:,}" for size in self.sizes[order]]
            listed = " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))
        alone = np.flatnonzero(self.sizes[self.labels] == 1)
        alone = alone if row_numbers is None else row_numbers[alone]
        isolated = ""
        if alone.size == 1:
            isolated = f"; row {alone[0]} has no edges"
        elif alone.size:
            isolated = f"; rows {list_names(alone, limit=_MAX_LISTED)} have no edges"
        return f"{len(self):,} components of {listed} rows{isolated}"


def traverse_components(indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> tuple[Components, NDArray[np.int32]]:
    """Return the components of a symmetric matrix, and its rows in depth-first order, which places linked rows near each other."""
    n = len(indptr) - 1
    labels, order = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    n_components = label_components_depth_first(indptr, indices, labels, order)
    return Components(labels, np.bincount(labels, minlength=n_components).astype(np.int64)), order
