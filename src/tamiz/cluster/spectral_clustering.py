"""Spectral clustering: clusters of rows with few edges between them."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

import numpy as np
from scipy import linalg
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from tamiz.arrays import Floats, Indices
from tamiz.exceptions import DataError
from tamiz.graphs.builders import GraphBuilder, graph_tags, resolve_builder
from tamiz.graphs.edges import Components
from tamiz.graphs.graph import Graph
from tamiz.graphs.laplacian import smallest_eigenpairs
from tamiz.reduction.laplacian_eigenmaps import LaplacianEigenmaps
from tamiz.runtime import parallel
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.user_warnings import warn
from tamiz.runtime.validation import check_choice, check_integer
from tamiz.storage.invariants import FloatArray, InstanceOf, Integer, IntegerArray, Invariants
from tamiz.table.factory import count_rows, mixed_table_tags, record_features, row_numbers

LABEL_ASSIGNMENTS = ("kmeans", "cluster_qr")


class SpectralClustering(ClusterMixin, BaseEstimator):
    """Cluster rows by the smallest eigenvectors of a graph's Laplacian.

    .. math:: L y = \\lambda D y

    The entries of the eigenvectors y are the coordinates of the rows, which are then clustered.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    graph : GraphBuilder or Graph, default=None
        A graph builder or a built graph. None is KNearest(15), with fewer neighbours if there are fewer rows.
    embedding : LaplacianEigenmaps, default=None
        A fitted map of the same rows with at least n_clusters - 1 coordinates. Its graph and eigenvectors are reused.
    assign_labels : {"kmeans", "cluster_qr"}, default="kmeans"
        How clusters are computed from the eigenvectors: scikit-learn's k-means with ten starts, or a pivoted QR decomposition,
        which uses no random numbers.
    random_state : int, Generator or RandomState, default=None
        Seed of the starts of k-means.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row, numbered from 0 in the order of their first rows. Equal rows are in one cluster.
    eigenvalues_ : ndarray of shape (n_vectors,)
        Eigenvalues of the normalised Laplacian, ascending, with a zero for each component of the graph. A large difference
        between the k-th and the next eigenvalue suggests k clusters.
    graph_ : Graph

    Raises
    ------
    ValueError
        When there are fewer rows than clusters, the embedding has too few coordinates or was computed per component, or both a
        graph and an embedding are passed.

    Notes
    -----
    Cost of `LaplacianEigenmaps` and of k-means in n_clusters columns. If the graph has more components than n_clusters, some
    components are merged, with a warning.

    References
    ----------
    Shi and Malik (2000), Normalized cuts and image segmentation, IEEE TPAMI 22; von Luxburg (2007), A tutorial on spectral
    clustering, Statistics and Computing 17; Damle, Minden and Ying (2019), Simple, direct and efficient multi-way spectral
    clustering, Information and Inference 8.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from tamiz.cluster import SpectralClustering
    >>> from tamiz.graphs import KNearest
    >>> X, moon = make_moons(200, noise=0.05, random_state=0)
    >>> labels = SpectralClustering(2, graph=KNearest(10), random_state=0).fit_predict(X)
    >>> int((labels == moon).sum()) in (0, 200)
    True
    """

    invariants: ClassVar[Invariants] = {
        "graph_": InstanceOf(Graph),
        "graph_.n_samples": Integer(low=1, size="n"),
        "labels_": IntegerArray("n"),
        "eigenvalues_": FloatArray("k"),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        graph: GraphBuilder | Graph | None = None,
        embedding: LaplacianEigenmaps | None = None,
        assign_labels: str = "kmeans",
        random_state: Seed = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.graph = graph
        self.embedding = embedding
        self.assign_labels = assign_labels
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        return graph_tags(mixed_table_tags(super().__sklearn_tags__()), self.graph)

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Compute the clusters.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Table, default=None
            Any input that the graph's builder accepts. With a built Graph or an embedding, the rows that it was built from, or
            None.
        y : array of shape (n_samples,), default=None
            Classes. Ignored unless the graph's builder uses classes.
        """
        check_choice("assign_labels", self.assign_labels, LABEL_ASSIGNMENTS)
        k = check_integer("n_clusters", self.n_clusters, low=1)
        rng = make_rng(self.random_state)
        if self.graph is not None and self.embedding is not None:
            raise ValueError(
                "graph and embedding were both passed, and the embedding has its own graph; leave one out."
            )
        reused = self._check_embedding()
        builder = resolve_builder(self.graph if reused is None else reused.graph_, X)
        n = builder.n_samples if X is None and isinstance(builder, Graph) else count_rows(X)
        if k > n:
            raise ValueError(f"n_clusters must be at most the number of rows = {n:,}, got {k:,}.")
        with parallel.thread_session():
            if reused is None:
                graph = builder.build(X, y if builder.needs_classes else None, fill_missing=True)
                n_vectors = min(max(k, len(graph.components)), n)
                spectrum = smallest_eigenpairs(graph.laplacian("random_walk"), n_vectors)
                values, vectors = spectrum.values, spectrum.vectors
            else:
                graph = reused.graph_.build(X)
                values, vectors = _embedded_eigenpairs(reused, graph, k)
            components = graph.components
            if len(components) > k:
                described = components.describe(row_numbers(X))
                warn(
                    "TZ401",
                    f"The graph falls into {described}, more than the {k:,} clusters: some components are merged.",
                )
            # Equal rows share their coordinates, except rows in different components, such as rows of different classes.
            first = graph.first_occurrences()
            first = np.where(components.labels == components.labels[first], first, np.arange(n))
            vectors = vectors[first]
            labels = (
                _assign_by_qr(vectors[:, :k])
                if self.assign_labels == "cluster_qr"
                else _assign_by_kmeans(vectors, k, rng)
            )
        found = Components.from_labels(labels)
        if len(found) < k:
            clusters = "cluster was" if len(found) == 1 else "clusters were"
            warn(
                "TZ307",
                f"{len(found):,} {clusters} found, fewer than the {k:,} requested: too few rows have distinct coordinates.",
            )
        # Attributes are set last: a failed fit leaves the estimator unchanged.
        record_features(self, X)
        self.labels_, self.eigenvalues_, self.graph_ = found.labels.astype(np.intp), values, graph
        return self

    def fit_predict(self, X: Any = None, y: Any = None) -> Indices:
        """Compute the clusters and return the cluster of every row."""
        return self.fit(X, y).labels_

    def _check_embedding(self) -> LaplacianEigenmaps | None:
        """Return the parameter `embedding`; raise an error unless it is None or a fitted LaplacianEigenmaps."""
        embedding = self.embedding
        if embedding is None:
            return None
        if not isinstance(embedding, LaplacianEigenmaps):
            raise TypeError(f"embedding must be a fitted LaplacianEigenmaps, got {embedding!r}.")
        check_is_fitted(embedding)
        return embedding


def _embedded_eigenpairs(embedding: LaplacianEigenmaps, graph: Graph, k: int) -> tuple[Floats, Floats]:
    """Return the k smallest eigenvalues of a fitted map's graph, and their vectors."""
    if embedding.eigenvalues_.ndim > 1 or embedding.laplacian != "random_walk":
        raise DataError(
            "The embedding must use the random-walk Laplacian of the whole graph: "
            "fit LaplacianEigenmaps() without per_component."
        )
    if embedding.embedding_.shape[1] < k - 1:
        raise DataError(
            f"{k} clusters need {k - 1} coordinates and the embedding has {embedding.embedding_.shape[1]}; fit it with more "
            "components."
        )
    constant = np.full((graph.n_samples, 1), 1.0 / np.sqrt(graph.degrees.sum()))
    return (
        np.concatenate([[0.0], embedding.eigenvalues_[: k - 1]]),
        np.hstack([constant, embedding.embedding_[:, : k - 1]]),
    )


def _assign_by_kmeans(vectors: Floats, k: int, rng: np.random.Generator) -> Indices:
    # Scaled to mean square 1, so that the tolerance of k-means does not depend on the number of rows.
    scaled = vectors / np.sqrt(np.mean(vectors**2))
    with warnings.catch_warnings():
        # fit warns itself if there are fewer clusters than requested.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return np.asarray(KMeans(k, n_init=10, random_state=int(rng.integers(2**31))).fit(scaled).labels_)


def _assign_by_qr(vectors: Floats) -> Indices:
    """Return the clusters of Damle, Minden and Ying: k pivot rows, and every other row assigned to the most aligned pivot."""
    k = vectors.shape[1]
    _, _, pivots = linalg.qr(vectors.T, mode="economic", pivoting=True)
    left, _, right = linalg.svd(vectors[pivots[:k]].T, full_matrices=False)
    return np.asarray(np.argmax(np.abs(vectors @ (left @ right)), axis=1))
