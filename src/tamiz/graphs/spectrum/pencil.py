"""The eigenproblem of a Laplacian in the form that every solver works on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from tamiz import parallel
from tamiz.graphs.components import walk
from tamiz.graphs.laplacian import WIDEST, Laplacian, panel_width
from tamiz.kernels.sparse import remove_null
from tamiz.statistics.base import Floats

# With more rows than this a panel leaves the cache of a core: products are up to twice as fast when rows that are near in the graph
# are near in memory.
_CACHED_ROWS = 32768


class Pencil:
    """L y = lambda B y as M u = lambda u, with u = B^1/2 y and M = B^-1/2 L B^-1/2, next to its known null vectors.

    B is 1 for "unnormalized" and D for the other two kinds, which are one problem. There is a null vector for each component,
    B^1/2 on its rows; a row without an edge is its own.

    Parameters
    ----------
    laplacian : Laplacian

    Attributes
    ----------
    n : int
        Rows.
    rows : ndarray of shape (n,), int32
        The rows of the graph in the order that all arrays here have.
    n_entries : int
        Numbers of the graph that a product reads.
    n_nonnull : int
        Eigenvalues that are not known to be 0.
    root, inverse_root : ndarray of shape (n,)
        B^1/2 and B^-1/2, 0 where B is 0.
    bound, rounding : float
        A number that no eigenvalue exceeds, and what residual rounding may leave at any.
    null : ndarray of shape (n,)
        The entries of all null vectors, unit vectors whose supports are the components.
    lengths : ndarray of shape (n_null,)
        Those of B^1/2 on the components, 1 for a row without an edge.
    """

    def __init__(self, laplacian: Laplacian) -> None:
        self.n = laplacian.shape[0]
        self.n_null = len(laplacian.components)
        self.n_nonnull = self.n - self.n_null
        self.differences, self.rows = laplacian.differences, np.arange(self.n, dtype=np.int32)
        if self.n > _CACHED_ROWS:
            _, self.rows = walk(self.differences.indptr, self.differences.indices)
            self.differences = laplacian.differences.reordered(self.rows)
        self.n_entries = len(self.differences.indices)
        self.labels = laplacian.components.labels[self.rows]
        self._degrees = laplacian.degrees[self.rows]
        self.root = np.ones(self.n) if laplacian.kind == "unnormalized" else np.sqrt(self._degrees)
        with np.errstate(divide="ignore"):
            self.inverse_root = np.where(self.root > 0, 1.0 / self.root, 0.0)
        self._inverse = self.inverse_root**2
        entries = np.where(self.root > 0, self.root, 1.0)
        self.lengths = np.sqrt(np.bincount(self.labels, entries**2, minlength=self.n_null))
        self.null = entries / self.lengths[self.labels]
        # By Gershgorin no eigenvalue exceeds twice the largest entry of the diagonal.
        self.bound = 2.0 * float((self._degrees * self._inverse).max(initial=0.0))
        self.rounding = 64 * float(np.finfo(np.float64).eps) * self.bound
        self._panels: dict[tuple[int, int], Floats] = {}

    def matrix(self) -> sparse.csr_array:
        """Return L = D - S, written out."""
        graph = self.differences
        weights = sparse.csr_array(
            (graph.weights, graph.indices, graph.indptr.astype(np.int32)), shape=(self.n, self.n)
        )
        return sparse.csr_array(sparse.diags_array(self._degrees) - weights)

    def scratch(self, width: int, number: int) -> Floats:
        """Return memory for a panel that is used again and again; numbers from 1 on are the caller's."""
        key = (width, number)
        if key not in self._panels:
            self._panels[key] = np.zeros((self.n, width))
        return self._panels[key]

    def panels(self, X: Floats) -> Iterator[tuple[slice, Floats]]:
        """Return the columns of X in groups as wide as a kernel, each as y = B^-1/2 u in scratch memory 1."""
        for start, stop in parallel.spans(X.shape[1], WIDEST):
            width = stop - start
            y = self.scratch(panel_width(width), 1)
            y[:, width:] = 0.0
            np.multiply(X[:, start:stop], self.inverse_root[:, None], out=y[:, :width])
            yield slice(start, stop), y

    def step(self, y: Floats, out: Floats, a: float, c: float, b: float) -> None:
        """Fill out with a (B^-1 L y - c y) - b out, for panels."""
        self.differences.step(self._inverse, y, out, a, c, b)

    def product(self, X: Floats) -> Floats:
        """Return M X."""
        out = np.empty(X.shape)
        for columns, y in self.panels(X):
            z = self.scratch(y.shape[1], 0)
            self.differences.step(self.inverse_root, y, z, 1.0, 0.0, 0.0)
            out[:, columns] = z[:, : columns.stop - columns.start]
        return out

    def project(self, X: Floats) -> None:
        """Take from the columns of X, in place, what they have along the null vectors."""
        remove_null(self.labels, self.null, X, np.empty((self.n_null, X.shape[1])))
