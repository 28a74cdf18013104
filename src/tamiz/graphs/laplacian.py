"""The Laplacian of a graph, as a linear operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator

from tamiz.arrays import Floats, Indices
from tamiz.kernels.sparse_graphs import (
    label_components_depth_first,
    laplacian_step_1,
    laplacian_step_4,
    laplacian_step_8,
    permute_matrix,
)
from tamiz.runtime import parallel
from tamiz.runtime.user_warnings import list_names
from tamiz.runtime.validation import check_choice

_MAX_LISTED = 5


@dataclass(frozen=True)
class Components:
    """The component of every row, numbered in the order of their first rows, and the number of rows of each."""

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


LAPLACIAN_KINDS = ("unnormalized", "symmetric", "random_walk")

# Entries and rows per block of work: about 1 ms for four columns.
_CHUNK_WORK = 400_000
_STEP_KERNELS = {1: laplacian_step_1, 4: laplacian_step_4, 8: laplacian_step_8}
MAX_PANEL_WIDTH = max(_STEP_KERNELS)


class LaplacianProduct:
    """Products with L = D - S, computed from differences along the edges in blocks of rows, for panels of up to eight columns."""

    def __init__(self, indptr: NDArray[np.integer], indices: NDArray[np.integer], weights: Floats) -> None:
        self.indptr = np.ascontiguousarray(indptr, dtype=np.int64)
        self.indices = np.ascontiguousarray(indices, dtype=np.int32)
        self.weights = np.ascontiguousarray(weights, dtype=np.float64)
        n = len(self.indptr) - 1
        work = self.indptr + np.arange(n + 1)
        cuts = np.searchsorted(work, np.arange(_CHUNK_WORK, work[-1], _CHUNK_WORK))
        bounds = np.unique(np.concatenate([[0], cuts, [n]]))
        self._row_spans = list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))

    def permute(self, order: NDArray[np.int32]) -> LaplacianProduct:
        """Return the operator with rows and columns in another order."""
        position = np.empty_like(order)
        position[order] = np.arange(len(order), dtype=np.int32)
        indptr, indices, weights = np.empty_like(self.indptr), np.empty_like(self.indices), np.empty_like(self.weights)
        permute_matrix(self.indptr, self.indices, self.weights, order, position, indptr, indices, weights)
        return LaplacianProduct(indptr, indices, weights)

    def recurrence_step(self, left_scale: Floats, x: Floats, out: Floats, a: float, c: float, b: float) -> None:
        """Fill out with a (left_scale L x - c x) - b out; x and out are panels (`pad_panel`)."""
        kernel = _STEP_KERNELS[x.shape[1]]

        def step(span: tuple[int, int]) -> None:
            kernel(self.indptr, self.indices, self.weights, left_scale, x, out, a, c, b, *span)

        parallel.run_blocks(step, self._row_spans)

    def multiply(self, left_scale: Floats, X: Floats) -> Floats:
        out = np.empty(X.shape)
        for start, stop in parallel.block_ranges(X.shape[1], MAX_PANEL_WIDTH):
            x = pad_panel(X[:, start:stop])
            product = np.zeros(x.shape)
            self.recurrence_step(left_scale, x, product, 1.0, 0.0, 0.0)
            out[:, start:stop] = product[:, : stop - start]
        return out


def pad_panel(X: Floats) -> Floats:
    """Return up to eight columns as a C-contiguous panel of 1, 4 or 8, padded with columns of zeros."""
    n, width = X.shape
    padded = np.zeros((n, next(wide for wide in _STEP_KERNELS if wide >= width)))
    padded[:, :width] = X
    return padded


class Laplacian(LinearOperator):
    """The Laplacian of a graph, a `LinearOperator` for `@` whose matrix is never stored.

    Parameters
    ----------
    adjacency : csr_array of shape (n_samples, n_samples)
        The weights S: symmetric and non-negative. A diagonal entry counts in both D and S.
    kind : {"unnormalized", "symmetric", "random_walk"}, default="unnormalized"
        D - S, 1 - D^-1/2 S D^-1/2 or 1 - D^-1 S.
    components : Components, default=None
        Components of the graph; None computes them.

    Attributes
    ----------
    kind : str
    adjacency : csr_array of shape (n_samples, n_samples)
    degrees : ndarray of shape (n_samples,)
        The sum of the weights of each row's edges, D.
    components : Components
        `labels` of shape (n_samples,) and `sizes`, numbered in the order of their first rows.

    Notes
    -----
    A product costs O(n_edges) per column. It runs on the threads of the session, and its bits do not depend on their number.
    Products are sums of differences along the edges, so a constant vector (times D^1/2 for "symmetric") is mapped to exactly 0.
    A row without edges is a component of its own. D^-1 and D^-1/2 are 0 there, so its row and column of L are 0 for every kind.

    References
    ----------
    von Luxburg (2007), A tutorial on spectral clustering, Statistics and Computing 17.

    Examples
    --------
    >>> import numpy as np
    >>> from tamiz.graphs import Graph
    >>> path = Graph.from_edges([0, 1], [1, 2])
    >>> path.laplacian("random_walk") @ np.array([1.0, 0.0, 3.0])
    array([ 1., -2.,  3.])
    """

    def __init__(
        self, adjacency: sparse.csr_array, kind: str = "unnormalized", components: Components | None = None
    ) -> None:
        self.kind = check_choice("kind", kind, LAPLACIAN_KINDS)
        self.adjacency = adjacency
        self.degrees: Floats = np.asarray(adjacency.sum(axis=1), dtype=np.float64).ravel()
        self.laplacian_product = LaplacianProduct(adjacency.indptr, adjacency.indices, adjacency.data)
        super().__init__(np.dtype(np.float64), adjacency.shape)
        self.components = Components.from_adjacency(adjacency) if components is None else components
        ones = np.ones(adjacency.shape[0])
        with np.errstate(divide="ignore"):
            inverse = np.where(self.degrees > 0, 1.0 / self.degrees, 0.0)
        # Every kind is left_scale (D - S) right_scale.
        self._left_scale, self._right_scale = {
            "unnormalized": (ones, ones),
            "symmetric": (np.sqrt(inverse), np.sqrt(inverse)),
            "random_walk": (inverse, ones),
        }[self.kind]

    def _matmat(self, X: NDArray[Any]) -> Floats:
        return self.laplacian_product.multiply(self._left_scale, X * self._right_scale[:, None])

    def _rmatmat(self, X: NDArray[Any]) -> Floats:
        return self.laplacian_product.multiply(self._right_scale, X * self._left_scale[:, None])

    def _rmatvec(self, x: NDArray[Any]) -> Floats:
        return self._rmatmat(x.reshape(-1, 1))
