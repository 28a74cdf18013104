"""The eigenproblem of a Laplacian in the symmetric standard form that all solvers use."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from tamiz.arrays import Floats
from tamiz.graphs.components import traverse_components
from tamiz.graphs.laplacian import MAX_PANEL_WIDTH, Laplacian, panel_width
from tamiz.kernels.sparse_graphs import project_out_null
from tamiz.runtime import parallel

# With more rows than this a panel does not fit into the cache of a core. Products are then up to twice as fast if neighbouring rows
# of the graph are close in memory.
_MAX_CACHED_ROWS = 32768


class Pencil:
    """The problem L y = lambda B y as M u = lambda u, with u = B^1/2 y and M = B^-1/2 L B^-1/2, and its known null vectors.

    B is 1 for "unnormalized" and D for the other two kinds, which are the same problem. Each component of the graph has one null
    vector, which is B^1/2 on its rows and 0 elsewhere; for a row without edges it is the unit vector.

    Parameters
    ----------
    laplacian : Laplacian

    Attributes
    ----------
    n : int
        Rows.
    row_order : ndarray of shape (n,), int32
        The graph's rows in the order of all arrays of this class.
    n_entries : int
        Stored entries of the weight matrix.
    n_nonnull : int
        Number of eigenvalues that are not known to be 0.
    sqrt_b, inverse_sqrt_b : ndarray of shape (n,)
        B^1/2 and B^-1/2, 0 where B is 0.
    eigenvalue_bound, rounding_residual : float
        Upper bound of all eigenvalues, and the residual that rounding may leave.
    null_entries : ndarray of shape (n,)
        Entries of all null vectors together: they have length 1, and their supports are the components.
    null_norms : ndarray of shape (n_null,)
        Norm of B^1/2 on each component, 1 for a row without edges.
    """

    def __init__(self, laplacian: Laplacian) -> None:
        self.n = laplacian.shape[0]
        self.n_null = len(laplacian.components)
        self.n_nonnull = self.n - self.n_null
        self.laplacian_product, self.row_order = laplacian.laplacian_product, np.arange(self.n, dtype=np.int32)
        if self.n > _MAX_CACHED_ROWS:
            _, self.row_order = traverse_components(self.laplacian_product.indptr, self.laplacian_product.indices)
            self.laplacian_product = laplacian.laplacian_product.permute(self.row_order)
        self.n_entries = len(self.laplacian_product.indices)
        self.component_labels = laplacian.components.labels[self.row_order]
        self._degrees = laplacian.degrees[self.row_order]
        self.sqrt_b = np.ones(self.n) if laplacian.kind == "unnormalized" else np.sqrt(self._degrees)
        with np.errstate(divide="ignore"):
            self.inverse_sqrt_b = np.where(self.sqrt_b > 0, 1.0 / self.sqrt_b, 0.0)
        self._inverse_b = self.inverse_sqrt_b**2
        entries = np.where(self.sqrt_b > 0, self.sqrt_b, 1.0)
        self.null_norms = np.sqrt(np.bincount(self.component_labels, entries**2, minlength=self.n_null))
        self.null_entries = entries / self.null_norms[self.component_labels]
        # Gershgorin: no eigenvalue exceeds twice the largest diagonal entry.
        self.eigenvalue_bound = 2.0 * float((self._degrees * self._inverse_b).max(initial=0.0))
        self.rounding_residual = 64 * float(np.finfo(np.float64).eps) * self.eigenvalue_bound
        self._panels: dict[tuple[int, int], Floats] = {}

    def matrix(self) -> sparse.csr_array:
        """Return L = D - S as a sparse matrix."""
        graph = self.laplacian_product
        weights = sparse.csr_array(
            (graph.weights, graph.indices, graph.indptr.astype(np.int32)), shape=(self.n, self.n)
        )
        return sparse.csr_array(sparse.diags_array(self._degrees) - weights)

    def scratch_panel(self, width: int, number: int) -> Floats:
        """Return a reused buffer for a panel; number 0 is used by `multiply`, number 1 by `panels`, others by callers."""
        key = (width, number)
        if key not in self._panels:
            self._panels[key] = np.zeros((self.n, width))
        return self._panels[key]

    def panels(self, X: Floats) -> Iterator[tuple[slice, Floats]]:
        """Yield the columns u of X in panels, as y = B^-1/2 u in scratch panel 1."""
        for start, stop in parallel.block_ranges(X.shape[1], MAX_PANEL_WIDTH):
            width = stop - start
            y = self.scratch_panel(panel_width(width), 1)
            y[:, width:] = 0.0
            np.multiply(X[:, start:stop], self.inverse_sqrt_b[:, None], out=y[:, :width])
            yield slice(start, stop), y

    def recurrence_step(self, y: Floats, out: Floats, a: float, c: float, b: float) -> None:
        """Fill out with a (B^-1 L y - c y) - b out; y and out are panels."""
        self.laplacian_product.recurrence_step(self._inverse_b, y, out, a, c, b)

    def multiply(self, X: Floats) -> Floats:
        out = np.empty(X.shape)
        for columns, y in self.panels(X):
            z = self.scratch_panel(y.shape[1], 0)
            self.laplacian_product.recurrence_step(self.inverse_sqrt_b, y, z, 1.0, 0.0, 0.0)
            out[:, columns] = z[:, : columns.stop - columns.start]
        return out

    def remove_null_space(self, X: Floats) -> None:
        """Project the columns of X, in place, onto the complement of the null vectors."""
        project_out_null(self.component_labels, self.null_entries, X, np.empty((self.n_null, X.shape[1])))
