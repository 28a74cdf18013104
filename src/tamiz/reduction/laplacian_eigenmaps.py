"""Laplacian eigenmaps."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from tamiz.exceptions import DataError
from tamiz.graphs.builder import GraphBuilder
from tamiz.graphs.graph import Graph
from tamiz.graphs.k_nearest import builder_metric, resolve_builder
from tamiz.graphs.laplacian import LAPLACIAN_KINDS
from tamiz.neighbors.metric_registry import metric_tags
from tamiz.neighbors.row_encoders import row_numbers
from tamiz.reduction.base import MapDescription, Reducer
from tamiz.runtime import parallel
from tamiz.runtime.validation import check_choice, check_integer, check_memory
from tamiz.sources.feature_checks import check_features, record_features
from tamiz.sources.schema import Schema
from tamiz.spectral import smallest_eigenpairs
from tamiz.statistics.base import Floats
from tamiz.storage.invariants import Condition, InstanceOf, Integer, IntegerArray, Invariants, OneOf

DISCONNECTED_CHOICES = ("error", "connect", "per_component")


def _n_solved_components(eigenvalues: Floats) -> int:
    """Return how many components have eigenvalues of their own; where all have the same, one row is as good as any."""
    return len(eigenvalues) if eigenvalues.ndim == 2 else np.iinfo(np.int32).max


def _has_value_per_coordinate(eigenvalues: Floats, embedding: Floats) -> bool:
    """Return whether there is a number for every coordinate; of a small component the last ones are NaN."""
    return (
        eigenvalues.ndim in (1, 2) and eigenvalues.dtype == np.float64 and eigenvalues.shape[-1] == embedding.shape[1]
    )


class LaplacianEigenmaps(Reducer):
    """Coordinates that change least along the edges of a graph of rows.

    .. math:: L y = \\lambda D y

    for the smallest eigenvalues above 0.

    Parameters
    ----------
    n_components : int, default=2
        Number of coordinates.
    graph : GraphBuilder or Graph, default=None
        How rows are joined; None is KNearest(15), fewer where there are no more rows.
    laplacian : {"random_walk", "symmetric", "unnormalized"}, default="random_walk"
        "random_walk" solves L y = lambda D y, the paper's equation; "symmetric" takes the vectors of D^-1/2 L D^-1/2,
        "unnormalized" those of L.
    disconnected : {"error", "connect", "per_component"}, default="error"
        What to do with a graph in several components: refuse, add the shortest edges that join them, or give every component its
        own coordinates, beginning at 0 in each.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        D-orthonormal columns for "random_walk", orthonormal ones otherwise, the largest entry of each positive. Equal rows have
        places of their own where the graph gave them different neighbours.
    eigenvalues_ : ndarray of shape (n_components,), or (n_parts, n_components) with "per_component"
        Ascending, in [0, 2] unless "unnormalized"; NaN where a component has too few rows for as many.
    residuals_ : ndarray of the same shape
        The length :math:`|L y - \\lambda D y|` of every vector, as computed; with "symmetric" and "unnormalized" that of their own
        equation.
    component_labels_ : ndarray of shape (n_samples,)
        With "per_component" the component of every row, numbered by their first rows; else 0.
    graph_ : Graph

    Raises
    ------
    ValueError
        When the graph is disconnected and nothing was said of that, or has too few rows.

    Notes
    -----
    Cost of the graph, and O(edges) for every product with it, some dozens to hundreds of them. A new row is placed by Nystrom's
    formula, at the weighted mean of its neighbours divided by 1 - lambda, each row by itself; a row that is equal to one of the
    graph's is placed where that is, the first of them where there are several.

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

    invariants: ClassVar[Invariants] = {
        "graph_": InstanceOf(Graph),
        "graph_.n_samples": Integer(low=1, size="n"),
        "laplacian": OneOf(*LAPLACIAN_KINDS),
        "component_labels_": (
            IntegerArray("n"),
            Condition(
                lambda it: it.component_labels_.max() < _n_solved_components(it.eigenvalues_), "names no component"
            ),
        ),
        "eigenvalues_": Condition(
            lambda it: _has_value_per_coordinate(it.eigenvalues_, it.embedding_),
            "does not have one number for every coordinate",
        ),
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

    def __sklearn_tags__(self) -> Tags:
        return metric_tags(super().__sklearn_tags__(), builder_metric(self.graph))

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Build the graph and find the coordinates.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Source, default=None
            What the graph's builder takes. Where `graph` is a built Graph, the rows that it was built from, or None.
        y : array of shape (n_samples,), default=None
            Classes, where the graph joins rows by class; else not read.
        """
        check_choice("laplacian", self.laplacian, LAPLACIAN_KINDS)
        check_choice("disconnected", self.disconnected, DISCONNECTED_CHOICES)
        n_components = check_integer("n_components", self.n_components, low=1)
        with parallel.thread_session():
            builder = resolve_builder(self.graph, X)
            # An error says what a warning would.
            build = builder.build_quietly if self.disconnected == "error" else builder.build
            graph = build(X, y if builder.needs_classes else None, fill_missing=True)
            if self.disconnected == "error" and len(graph.components) > 1:
                raise DataError(
                    f"The graph falls into {graph.components.describe(row_numbers(X))}. Take more neighbours or a larger "
                    "radius, or say disconnected='connect' or 'per_component'."
                )
            self._set_eigenvectors(
                graph.connect_components() if self.disconnected == "connect" else graph, n_components
            )
        self.embedding_ = self._match_dtype(self.embedding_, X)
        record_features(self, X)
        return self

    def _set_eigenvectors(self, graph: Graph, n_components: int) -> None:
        n, components = graph.n_samples, graph.components
        apart = self.disconnected == "per_component"
        labels = components.labels if apart else np.zeros(n, dtype=np.int32)
        if not apart and n_components >= n:
            raise ValueError(f"n_components must be below the number of rows = {n:,}, got {n_components:,}.")
        n_parts = int(labels.max()) + 1
        check_memory(
            8.0 * (n + 2 * n_parts) * n_components, f"{n_components:,} coordinates of {n:,} rows", "Ask for fewer."
        )
        embedding = np.zeros((n, n_components))
        values, residuals = np.full((2, n_parts, n_components), np.nan)
        parts = np.split(np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels))[:-1])
        for part, rows in enumerate(parts):
            m = min(n_components, len(rows) - 1)
            if m:
                laplacian = graph.laplacian(self.laplacian, rows if n_parts > 1 else None)
                found = smallest_eigenpairs(laplacian, m + 1)
                values[part, :m], residuals[part, :m] = found.values[1:], found.residuals[1:]
                embedding[rows, :m] = found.vectors[:, 1:]
        # Nothing is set before all is found: a fit that fails leaves what was fitted before.
        self.graph_, self.component_labels_, self.embedding_ = graph, labels, embedding
        self.eigenvalues_: Floats = values if apart else values[0]
        self.residuals_: Floats = residuals if apart else residuals[0]

    def fit_transform(self, X: Any, y: Any = None) -> NDArray[Any]:
        """Fit and return the coordinates of the rows."""
        return self.fit(X, y).embedding_

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the places of new rows, each by itself.

        A row that is equal to one of the graph's is placed where that is, any other one by Nystrom's formula; with "unnormalized"
        at the mean of its neighbours, weighted by its edges. With "per_component" it is of the component of its nearest row.
        """
        check_is_fitted(self)
        check_features(self, X)
        with parallel.thread_session():
            attached = self.graph_.attach(X)
        near, weights = attached.neighbors, attached.relative_weights
        nearest = near.indices[near.indptr[:-1]]
        # Rows of other components have no say.
        own = self.component_labels_[near.indices] == self.component_labels_[nearest][near.rows]
        S = sparse.csr_array((weights * own, near.indices, near.indptr), shape=(near.n_rows, near.n_points))
        degrees = S @ np.ones(near.n_points)
        values = (
            self.eigenvalues_ if self.eigenvalues_.ndim == 1 else self.eigenvalues_[self.component_labels_[nearest]]
        )
        places = self._extend_nystrom(S, degrees, np.nan_to_num(values), attached.nearest_weights)
        known = attached.duplicate_of >= 0
        places[known] = self.embedding_[attached.duplicate_of[known]]
        return self._match_dtype(places, X)

    def _extend_nystrom(
        self, weights: sparse.csr_array, degrees: Floats, values: Floats, nearest_weights: Floats
    ) -> Floats:
        """Return the weighted means of the neighbours, divided as the equation of the vectors asks."""
        if self.laplacian == "unnormalized":
            return np.asarray(weights @ self.embedding_) / degrees[:, None]
        # At the eigenvalue 1 the formula has no value, and the mean stays as it is.
        divisor = np.where(np.abs(1.0 - values) > 1e-6, 1.0 - values, 1.0)
        if self.laplacian == "random_walk":
            return np.asarray(weights @ self.embedding_) / degrees[:, None] / divisor
        # A row without edges lies at 0, and has no say.
        root = np.sqrt(self.graph_.degrees)[:, None]
        scaled = np.divide(self.embedding_, root, out=np.zeros(self.embedding_.shape), where=root > 0)
        return np.asarray(weights @ scaled) / degrees[:, None] / divisor * np.sqrt(degrees * nearest_weights)[:, None]

    @property
    def schema_(self) -> Schema | None:
        """The columns of the rows that the graph was built from, as they were taken; None where it was given by its edges."""
        check_is_fitted(self)
        return self.graph_.schema

    @classmethod
    def for_study(cls, schema: Schema, variant: str, dissimilarity: str) -> Self:  # noqa: ARG003 - the graph has distances
        """Return the ten smoothest coordinates on the study's graph."""
        return cls(max(1, min(10, schema.n_rows - 1)), disconnected="connect")

    def _describe(self) -> MapDescription:
        """Return the eigenvalues and their residuals; of maps in parts, those of the largest one."""
        # One row of values a part; those that a small part has not are NaN.
        values, residuals = np.atleast_2d(self.eigenvalues_), np.atleast_2d(self.residuals_)
        part = int(np.argmax(np.bincount(self.component_labels_)))
        held = np.isfinite(values[part])
        n_zero = int((values[part][held] < 1e-12).sum())
        notes = [
            f"{n_zero} of the eigenvalues {'is' if n_zero == 1 else 'are'} 0 to rounding: edges of hardly any weight hold "
            "groups of rows together, and where those lie is chance. A larger t, or weights of 0 and 1, ties them closer."
        ]
        return MapDescription(
            [f"Eigenvector {k + 1}" for k in range(self.embedding_.shape[1])],
            notes if n_zero else [],
            proximity_note="Points near each other are rows that few steps along the graph join; how far apart groups lie says little.",
            comparable_axes=False,
            spectrum_label="Eigenvalue",
            spectrum=values[part][held].tolist(),
            spectrum_note=(
                "The smaller an eigenvalue, the less its coordinate changes along the edges: 0 for rows in separate pieces."
            ),
            residuals=residuals[part][held].tolist(),
        )
