"""Initial layouts of t-SNE and UMAP: principal components, eigenvectors of the affinities, random points, or given ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial import KDTree

from tamiz.arrays import Floats
from tamiz.exceptions import DataError
from tamiz.graphs.graph import EdgeGraph, Graph
from tamiz.graphs.laplacian import Components
from tamiz.reduction.base import read_initial_embedding
from tamiz.reduction.pca import PCA
from tamiz.runtime.user_warnings import capture_warnings
from tamiz.runtime.validation import check_choice
from tamiz.spectral import smallest_eigenpairs

# Components of fewer rows start at random points, because there can be thousands of them.
_MIN_SPECTRAL_ROWS = 50
# Extent of a component around its centre, as a share of the distance to the nearest other centre.
_RADIUS_SHARE = 0.4


def initial_layout(
    init: Any,
    choices: Sequence[str],
    graph: Graph,
    affinities: sparse.csr_array,
    n_components: int,
    rng: np.random.Generator,
    extents: tuple[float, float],
) -> Floats:
    """Return the initial layout, of shape (n, n_components); the coordinates of a named one are at most 1.

    `extents` are the least and the largest extent of a given one.

    "pca" needs rows with at least as many coordinates; else the eigenvectors of the affinities are used.
    """
    n = graph.n_samples
    if not isinstance(init, str):
        given = read_initial_embedding(init, choices, n, n_components)
        extent = float(np.ptp(given, axis=0).max())
        if not extents[0] <= extent <= extents[1]:
            raise DataError(
                f"init spans {extent:.3g}, and must span from {extents[0]:g} to {extents[1]:,g}, where rows attract each other. "
                "Multiply it by a factor."
            )
        return given
    check_choice("init", init, choices)
    points: Floats | None = None
    if init == "random":
        points = rng.standard_normal((n, n_components))
    elif init == "pca":
        points = _principal_components(graph, n_components)
    if points is None:
        points = _eigenvectors(graph, affinities, n_components, rng)
    return points / np.abs(points).max()


def _principal_components(graph: Graph, n_components: int) -> Floats | None:
    values = _coordinates(graph)
    if values is None or sparse.issparse(values) or min(values.shape) <= n_components:
        return None
    points = _project(values, n_components)
    return points if np.ptp(points[:, 0]) > 0.0 else None


def _project(values: Any, n_components: int) -> Floats:
    # The warnings of a PCA would name a method that the user has not called.
    with capture_warnings():
        return np.asarray(PCA(n_components).fit(values).embedding_, dtype=np.float64)


def _coordinates(graph: Graph) -> Any:
    """Return the rows as coordinates, dense or sparse; None if they have none."""
    rule = graph.neighbor_rule if isinstance(graph, EdgeGraph) else None
    return None if rule is None else rule.index.points.euclidean_values()


def _eigenvectors(graph: Graph, affinities: sparse.csr_array, n_components: int, rng: np.random.Generator) -> Floats:
    """Return the first eigenvectors of the Laplacian; those of separate components around the centres of these."""
    n = affinities.shape[0]
    if n <= n_components + 1:
        # Few rows have too few eigenvectors.
        return np.asarray(np.eye(n, n_components) + np.linspace(0.0, 0.5, n)[:, None])
    components = Components.from_adjacency(affinities)
    if len(components) == 1:
        return _component_eigenvectors(affinities, n_components)
    points = rng.standard_normal((n, n_components))
    centres = _component_centres(graph, components, n_components)
    radii = _RADIUS_SHARE * _nearest_distances(centres)
    parts = np.split(np.argsort(components.labels, kind="stable"), np.cumsum(components.sizes)[:-1])
    for rows, centre, radius in zip(parts, centres, radii, strict=True):
        if len(rows) >= max(_MIN_SPECTRAL_ROWS, n_components + 2):
            points[rows] = _component_eigenvectors(sparse.csr_array(affinities[rows][:, rows]), n_components)
        points[rows] = centre + radius * points[rows] / np.abs(points[rows]).max()
    return points - 0.5 * (points.max(axis=0) + points.min(axis=0))


def _component_eigenvectors(affinities: sparse.csr_array, n_components: int) -> Floats:
    laplacian = Graph.from_sparse(affinities.astype(np.float64)).laplacian("symmetric")
    vectors = smallest_eigenpairs(laplacian, n_components + 1, tol=1e-3).vectors[:, 1:]
    return np.asarray(vectors / np.abs(vectors).max(axis=0))


def _component_centres(graph: Graph, components: Components, n_components: int) -> Floats:
    """Return a place for each component: the principal components of the mean rows, or places on a square without coordinates."""
    n_parts, values = len(components), _coordinates(graph)
    if values is None:
        side = int(np.ceil(np.sqrt(n_parts))) if n_components > 1 else n_parts
        centres = np.zeros((n_parts, n_components))
        centres[:, :2] = np.stack(np.divmod(np.arange(n_parts), side), axis=1)[:, ::-1][:, :n_components]
        return centres
    belongs = sparse.csr_array(
        (np.ones(graph.n_samples), (components.labels, np.arange(graph.n_samples))), shape=(n_parts, graph.n_samples)
    )
    total = belongs @ values
    means = (total.toarray() if sparse.issparse(total) else total) / components.sizes[:, None]
    k = min(n_components, n_parts - 1, means.shape[1])
    return np.pad(_project(means, k), ((0, 0), (0, n_components - k)))


def _nearest_distances(centres: Floats) -> Floats:
    """Return the distance of every centre to the nearest other one, at least a thousandth of the extent."""
    distances, _ = KDTree(centres).query(centres, k=2)
    return np.maximum(distances[:, 1], 1e-3 * np.ptp(centres, axis=0).max())
