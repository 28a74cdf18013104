"""Initial layouts of t-SNE and UMAP: principal components, eigenvectors of the affinities, random points, or given ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from tamiz.graphs.components import Components
from tamiz.graphs.graph import EdgeGraph, Graph
from tamiz.reduction.base import read_initial_embedding
from tamiz.reduction.pca import PCA
from tamiz.runtime.validation import check_choice
from tamiz.spectral import smallest_eigenpairs
from tamiz.statistics.base import Floats

# Components of fewer rows start at random points, because there can be thousands of them.
_MIN_SPECTRAL_ROWS = 50


def initial_layout(
    init: Any,
    choices: Sequence[str],
    graph: Graph,
    affinities: sparse.csr_array,
    n_components: int,
    rng: np.random.Generator,
) -> Floats:
    """Return the initial layout, of shape (n, n_components); the coordinates of a named one are at most 1.

    "pca" needs rows with at least as many coordinates; else the eigenvectors of the affinities are used.
    """
    n = graph.n_samples
    if not isinstance(init, str):
        return read_initial_embedding(init, choices, n, n_components)
    check_choice("init", init, choices)
    points = None
    if init == "random":
        points = rng.standard_normal((n, n_components))
    elif init == "pca":
        points = _principal_components(graph, n_components)
    if points is None:
        points = _eigenvectors(affinities, n_components, rng)
    return points / np.abs(points).max()


def _principal_components(graph: Graph, n_components: int) -> Floats | None:
    rule = graph.neighbor_rule if isinstance(graph, EdgeGraph) else None
    values = None if rule is None else rule.index.points.euclidean_values()
    if values is None or sparse.issparse(values) or min(values.shape) <= n_components:
        return None
    points = PCA(n_components).fit_transform(values)
    return points if np.ptp(points[:, 0]) > 0.0 else None


def _eigenvectors(affinities: sparse.csr_array, n_components: int, rng: np.random.Generator) -> Floats:
    """Return the first eigenvectors of the Laplacian; those of separate components side by side on a square."""
    n = affinities.shape[0]
    if n <= n_components + 1:
        # Few rows have too few eigenvectors.
        return np.asarray(np.eye(n, n_components) + np.linspace(0.0, 0.5, n)[:, None])
    components = Components.from_adjacency(affinities)
    if len(components) == 1:
        return _component_eigenvectors(affinities, n_components)
    points = rng.standard_normal((n, n_components))
    parts = np.split(np.argsort(components.labels, kind="stable"), np.cumsum(components.sizes)[:-1])
    side = int(np.ceil(np.sqrt(len(parts)))) if n_components > 1 else len(parts)
    for place, c in enumerate(np.argsort(-components.sizes, kind="stable")):
        rows = parts[c]
        if len(rows) >= max(_MIN_SPECTRAL_ROWS, n_components + 2):
            points[rows] = _component_eigenvectors(sparse.csr_array(affinities[rows][:, rows]), n_components)
        # Within its unit square, at an area in proportion to its rows.
        points[rows] *= 0.4 * np.sqrt(len(rows) / components.sizes.max()) / np.abs(points[rows]).max()
        points[rows, :2] += np.array(divmod(place, side))[::-1][: points.shape[1]]
    return points - 0.5 * (points.max(axis=0) + points.min(axis=0))


def _component_eigenvectors(affinities: sparse.csr_array, n_components: int) -> Floats:
    laplacian = Graph.from_sparse(affinities.astype(np.float64)).laplacian("symmetric")
    vectors = smallest_eigenpairs(laplacian, n_components + 1, tol=1e-3).vectors[:, 1:]
    return np.asarray(vectors / np.abs(vectors).max(axis=0))
