"""Laplacian eigenmaps."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from tamiz.arrays import Floats, Indices
from tamiz.graphs.builders import GraphBuilder
from tamiz.graphs.graph import Graph
from tamiz.graphs.laplacian import LAPLACIAN_KINDS, smallest_eigenpairs
from tamiz.reduction.description import MapDescription
from tamiz.reduction.graph_reducer import DISCONNECTED_CHOICES, SpectralReducer, solve_by_part
from tamiz.runtime import parallel
from tamiz.runtime.user_warnings import warn
from tamiz.runtime.validation import check_choice, check_integer
from tamiz.storage.invariants import Condition, Invariants, OneOf
from tamiz.table.factory import record_features, row_numbers

# Different rows are reported as coincident if at least this many, and this share of all, are within this share of the extent.
_MIN_COINCIDENT, _MIN_COINCIDENT_SHARE, _ROUNDING = 5, 0.05, 1e-9
# An eigenvalue below this is 0 up to rounding.
_ZERO_EIGENVALUE = 1e-12


class LaplacianEigenmaps(SpectralReducer):
    """Laplacian eigenmaps: the smoothest coordinates on a graph of the rows.

    .. math:: L y = \\lambda D y

    for the smallest eigenvalues above 0.

    Parameters
    ----------
    n_components : int, default=2
        Number of coordinates.
    graph : GraphBuilder or Graph, default=None
        A graph builder or a built graph; None is KNearest(15), with fewer neighbours for 15 rows or less.
    laplacian : {"random_walk", "symmetric", "unnormalized"}, default="random_walk"
        "random_walk" solves L y = lambda D y, the equation of the paper; "symmetric" uses the eigenvectors of D^-1/2 L D^-1/2,
        "unnormalized" those of L.
    disconnected : {"error", "connect", "per_component"}, default="error"
        Handling of a graph with several components: raise an error, add the shortest edges that connect them, or compute separate
        coordinates for each component.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        D-orthonormal columns for "random_walk", else orthonormal columns; the largest absolute entry of each is positive. Equal
        rows may have different coordinates if their neighbours in the graph differ.
    eigenvalues_ : ndarray of shape (n_components,), or (n_parts, n_components) with "per_component"
        Ascending, in [0, 2] unless "unnormalized"; NaN for components with too few rows.
    residuals_ : ndarray of the same shape
        The norm :math:`|L y - \\lambda D y|` for every eigenvector; with "symmetric" and "unnormalized" for their own equations.
    component_labels_ : ndarray of shape (n_samples,)
        With "per_component" the component of every row, numbered in the order of their first rows; else 0.
    graph_ : Graph

    Raises
    ------
    DataError
        When the graph has several components and disconnected="error".
    ValueError
        When n_components is not below the number of rows.

    Notes
    -----
    Cost of the graph, plus O(edges) for each of dozens to hundreds of matrix products. `transform` maps each new row by the Nystrom
    formula: the weighted mean of its neighbours divided by 1 - lambda, and with "unnormalized" the mean. A row that is equal to a
    row of the graph gets the coordinates of the first such row.

    References
    ----------
    Belkin and Niyogi (2003), Laplacian eigenmaps for dimensionality reduction and data representation, Neural Computation 15;
    Bengio et al. (2004), Out-of-sample extensions for LLE, Isomap, MDS, eigenmaps, and spectral clustering, NIPS 16.

    Examples
    --------
    >>> from sklearn.datasets import make_swiss_roll
    >>> from tamiz.reduction import LaplacianEigenmaps
    >>> from tamiz.graphs import KNearest
    >>> X, along = make_swiss_roll(400, random_state=1)
    >>> mapped = LaplacianEigenmaps(2, graph=KNearest(5)).fit(X)
    >>> mapped.embedding_.shape
    (400, 2)
    """

    axis_label: ClassVar = "Eigenvector"
    invariants: ClassVar[Invariants] = {
        "laplacian": OneOf(*LAPLACIAN_KINDS),
        "residuals_": Condition(
            lambda it: it.residuals_.shape == it.eigenvalues_.shape, "is not of the shape of the eigenvalues"
        ),
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        graph: GraphBuilder | Graph | None = None,
        laplacian: str = "random_walk",
        disconnected: str = "error",
    ) -> None:
        self.n_components = n_components
        self.graph = graph
        self.laplacian = laplacian
        self.disconnected = disconnected

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Build the graph and compute the coordinates.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Table, default=None
            Input of the graph builder. For a built Graph the rows that it was built from, or None.
        y : array of shape (n_samples,), default=None
            Classes, for graphs that connect rows by class; else ignored.
        """
        check_choice("laplacian", self.laplacian, LAPLACIAN_KINDS)
        check_choice("disconnected", self.disconnected, DISCONNECTED_CHOICES)
        n_components = check_integer("n_components", self.n_components, low=1)
        with parallel.thread_session():
            graph = self._build_graph_by_choice(X, y)
            n, labels, separate = (
                graph.n_samples,
                self._part_labels(graph.components),
                self.disconnected == "per_component",
            )
            if not separate and n_components >= n:
                raise ValueError(f"n_components must be below the number of rows = {n:,}, got {n_components:,}.")

            def solve(rows: Indices, m: int) -> tuple[Floats, Floats, Floats]:
                laplacian = graph.laplacian(self.laplacian, rows if len(rows) < n else None)
                found = smallest_eigenpairs(laplacian, m + 1)
                return found.values[1:], found.residuals[1:], found.vectors[:, 1:]

            embedding, values, residuals = solve_by_part(labels, n_components, solve)
        matched = self._match_dtype(embedding, X)
        # Attributes are set last: a failed fit leaves the estimator unchanged.
        record_features(self, X)
        self.graph_, self.component_labels_, self.embedding_ = graph, labels, matched
        self.eigenvalues_ = values if separate else values[0]
        self.residuals_: Floats = residuals if separate else residuals[0]
        _warn_of_coincident_rows(embedding, graph, row_numbers(X))
        return self

    def describe(self) -> MapDescription:
        """Describe the eigenvalues and residuals; with "per_component" those of the largest component."""
        check_is_fitted(self)
        n_zero = sum(value < _ZERO_EIGENVALUE for value in self._spectrum_values("eigenvalues_"))
        note = (
            f"{n_zero} of the eigenvalues {'is' if n_zero == 1 else 'are'} 0 up to rounding: edges of negligible weight connect "
            "groups of rows, and the positions of these groups are arbitrary. A larger t or binary weights connects them."
        )
        return self._describe(
            [note] if n_zero else [],
            "Rows that are close in the graph are near each other; distances between groups have little meaning.",
            comparable_axes=False,
            spectrum_note="The smaller an eigenvalue, the less its coordinate changes along edges; an eigenvector with eigenvalue "
            "0 is constant on each component.",
        )

    def _map_new_rows(self, X: Any) -> tuple[Floats, Indices]:
        attached = self.graph_.attach(X)
        near, weights = attached.neighbors, attached.relative_weights
        nearest = near.indices[near.indptr[:-1]]
        # Only neighbours in the component of the nearest row count.
        own = self.component_labels_[near.indices] == self.component_labels_[nearest][near.rows]
        S = sparse.csr_array((weights * own, near.indices, near.indptr), shape=(near.n_rows, near.n_points))
        degrees = S @ np.ones(near.n_points)
        values = (
            self.eigenvalues_ if self.eigenvalues_.ndim == 1 else self.eigenvalues_[self.component_labels_[nearest]]
        )
        embedding = self._extend_nystrom(S, degrees, np.nan_to_num(values), attached.nearest_weights)
        return embedding, attached.duplicate_of

    def _extend_nystrom(
        self, weights: sparse.csr_array, degrees: Floats, values: Floats, nearest_weights: Floats
    ) -> Floats:
        """Return the weighted means of the neighbours with the Nystrom factor of the eigenvector equation."""
        if self.laplacian == "unnormalized":
            return np.asarray(weights @ self.embedding_) / degrees[:, None]
        # The formula is singular at eigenvalue 1, where the mean is used unchanged.
        divisor = np.where(np.abs(1.0 - values) > 1e-6, 1.0 - values, 1.0)
        if self.laplacian == "random_walk":
            return np.asarray(weights @ self.embedding_) / degrees[:, None] / divisor
        # Rows without edges contribute 0.
        root = np.sqrt(self.graph_.degrees)[:, None]
        scaled = np.divide(self.embedding_, root, out=np.zeros(self.embedding_.shape), where=root > 0)
        return np.asarray(weights @ scaled) / degrees[:, None] / divisor * np.sqrt(degrees * nearest_weights)[:, None]


def _warn_of_coincident_rows(embedding: Floats, graph: Graph, numbers: Indices | None) -> None:
    """Warn if different rows have the same coordinates up to rounding."""
    rows = np.unique(graph.first_occurrences())
    extent = float(np.ptp(embedding, axis=0).max())
    if extent == 0.0 or len(rows) < _MIN_COINCIDENT:
        return
    _, first, counts = np.unique(
        np.round(embedding[rows] / (_ROUNDING * extent)), axis=0, return_index=True, return_counts=True
    )
    most = int(np.argmax(counts))
    if counts[most] < max(_MIN_COINCIDENT, _MIN_COINCIDENT_SHARE * len(rows)):
        return
    row = rows[first[most]] if numbers is None else numbers[rows[first[most]]]
    warn(
        "TZ402",
        f"LaplacianEigenmaps: {counts[most]:,} different rows have the same coordinates up to rounding, the first is row "
        f"{row}: these coordinates only separate them from other rows. Raise n_components, or use fewer neighbours or "
        "disconnected='per_component'.",
    )
