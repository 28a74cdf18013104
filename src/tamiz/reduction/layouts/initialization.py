"""Initial layouts of t-SNE: principal components, eigenvectors of the affinities, random points, or given ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from tamiz.graphs.graph import EdgeGraph, Graph
from tamiz.reduction.base import read_initial_embedding
from tamiz.reduction.pca import PCA
from tamiz.runtime.validation import check_choice
from tamiz.spectral import smallest_eigenpairs
from tamiz.statistics.base import Floats

# Standard deviation of the first coordinate.
_START_SIZE = 1e-4


def initial_layout(
    init: Any,
    choices: Sequence[str],
    graph: Graph,
    affinities: sparse.csr_array,
    n_components: int,
    rng: np.random.Generator,
) -> Floats:
    """Return the initial layout, of shape (n, n_components); a named one has a standard deviation of 1e-4 along its first axis.

    "pca" needs rows with at least as many coordinates; else the eigenvectors of the affinities are used.
    """
    n = graph.n_samples
    if not isinstance(init, str):
        return read_initial_embedding(init, choices, n, n_components)
    check_choice("init", init, choices)
    if init == "random":
        return _START_SIZE * rng.standard_normal((n, n_components))
    points = _principal_components(graph, n_components) if init == "pca" else None
    if points is None and n > n_components + 1:
        points = _eigenvectors(affinities, n_components)
    if points is None:
        # Few rows have too few eigenvectors.
        points = np.eye(n, n_components) + np.linspace(0.0, 0.5, n)[:, None]
    # In two steps, because squares of very large coordinates overflow.
    points = points / np.abs(points).max()
    return points * (_START_SIZE / float(points[:, 0].std()))


def _principal_components(graph: Graph, n_components: int) -> Floats | None:
    rule = graph.neighbor_rule if isinstance(graph, EdgeGraph) else None
    values = None if rule is None else rule.index.points.euclidean_values()
    if values is None or sparse.issparse(values) or min(values.shape) <= n_components:
        return None
    points = PCA(n_components).fit_transform(values)
    return points if np.ptp(points[:, 0]) > 0.0 else None


def _eigenvectors(affinities: sparse.csr_array, n_components: int) -> Floats:
    laplacian = Graph.from_sparse(affinities.astype(np.float64)).laplacian("symmetric")
    return smallest_eigenpairs(laplacian, n_components + 1, tol=1e-3).vectors[:, 1:]
