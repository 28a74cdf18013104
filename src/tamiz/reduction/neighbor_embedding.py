"""The base class of t-SNE and UMAP: a graph of the rows, an initial layout, its descent, and an extension to new rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.spatial import KDTree

from tamiz.arrays import Floats
from tamiz.exceptions import DataError
from tamiz.graphs.builders import GraphBuilder, KNearest
from tamiz.graphs.edges import Binary, Components
from tamiz.graphs.graph import EdgeGraph, Graph
from tamiz.graphs.laplacian import Laplacian, smallest_eigenpairs
from tamiz.neighbors.base import Neighbors
from tamiz.reduction.base import read_initial_embedding
from tamiz.reduction.description import MapDescription
from tamiz.reduction.graph_reducer import GraphReducer
from tamiz.reduction.pca import PCA
from tamiz.runtime import progress
from tamiz.runtime.user_warnings import capture_warnings, warn
from tamiz.runtime.validation import check_choice, check_memory
from tamiz.storage.invariants import InstanceOf, IntegerArray, Invariants
from tamiz.table.factory import record_features, row_numbers

# Bytes for each edge of the graph and of the affinities while both are in memory.
_BYTES_PER_EDGE = 48
# Steps between two evaluations of the cost.
CHECK_INTERVAL = 50
# Components of fewer rows start at random points, because there can be thousands of them.
_MIN_SPECTRAL_ROWS = 50
# Extent of a component around its centre, as a share of the distance to the nearest other centre.
_RADIUS_SHARE = 0.4

Callback = Callable[[int, float, Floats], object]


class Descent(ABC):
    """Descent of a cost by the coordinates of rows; `history` has the steps done and the cost at each evaluation."""

    steps_name: ClassVar[str]

    def __init__(self) -> None:
        self.n_steps = 0
        self.history: list[tuple[int, float]] = []

    @property
    @abstractmethod
    def points(self) -> Floats:
        """A copy of the points, of shape (n, m)."""

    @abstractmethod
    def cost(self) -> float:
        """Return the cost of the layout."""

    @abstractmethod
    def _step(self, setting: float) -> None:
        """Move the points once."""

    def run(self, settings: Floats, callback: Callback | None = None) -> None:
        """Make a step with each setting, or fewer if the callback returns a true value."""
        n_steps = len(settings)
        for done, setting in enumerate(progress.track_progress(self.steps_name, settings.tolist(), n_steps), start=1):
            self._step(setting)
            self.n_steps += 1
            if done % CHECK_INTERVAL == 0 or done == n_steps:
                cost = self.cost()
                self.history.append((self.n_steps, cost))
                if callback is not None and callback(self.n_steps, cost, self.points):
                    return


class NeighborEmbedding(GraphReducer):
    """A map on which each row is attracted by its neighbours in a graph and repelled by other rows."""

    converged_: bool
    invariants: ClassVar[Invariants] = {
        "_first_rows": IntegerArray("n", below="n"),
        "converged_": InstanceOf(bool),
    }

    def _default_builder(self, n_samples: int) -> GraphBuilder:
        return KNearest(self._n_graph_neighbors(n_samples), weight=Binary(), symmetry="directed")

    @abstractmethod
    def _n_graph_neighbors(self, n_samples: int) -> int:
        """Return the number of neighbours of each row that the affinities need, at least 1."""

    def _build_neighbor_graph(self, X: Any, y: Any, n: int, advice: str) -> Graph:
        """Return the graph of the parameter `graph`, by default of the nearest neighbours of each row."""
        n_neighbors = self._n_graph_neighbors(n)
        check_memory(float(_BYTES_PER_EDGE) * n * n_neighbors, f"The {n_neighbors:,} neighbours of {n:,} rows", advice)
        graph = self._build_graph(X, y)
        if len(graph.components) > 1:
            warn(
                "TZ401",
                f"{type(self).__name__}: the graph falls into {graph.components.describe(row_numbers(X))}. The map "
                "separates them, and distances between them have no meaning.",
            )
        return graph

    def _fit_layout(
        self, X: Any, graph: Graph, descent: Descent, settings: Floats, callback: Callback | None, **fitted: Any
    ) -> None:
        """Run a descent and set its result, also at an interruption after the first evaluation of the cost."""
        interrupted = None
        try:
            descent.run(settings, callback)
        except KeyboardInterrupt as error:
            if not descent.history:
                raise
            interrupted = error
        # Equal rows get the coordinates of the first of them.
        first = graph.first_occurrences()
        embedding = self._match_dtype(descent.points[first], X)
        # Attributes are set last: a failed fit leaves the estimator unchanged.
        record_features(self, X)
        self.graph_, self._first_rows, self.embedding_ = graph, first, embedding
        for name, value in fitted.items():
            setattr(self, name, value)
        self._set_history(descent, np.array(descent.history, dtype=np.float64), descent.n_steps)
        if interrupted is not None:
            raise interrupted

    def _continue_layout(
        self, descent: Descent, settings: Floats, callback: Callback | None, history: Floats, n_steps: int
    ) -> None:
        """Run a descent from the fitted layout, and add it to the history and the number of steps of the fit."""
        descent.run(settings, callback)
        self.embedding_ = descent.points[self._first_rows].astype(self.embedding_.dtype)
        new = np.array(descent.history)
        new[:, 0] += n_steps
        self._set_history(descent, np.concatenate([history, new]), n_steps + descent.n_steps)

    @abstractmethod
    def _set_history(self, descent: Descent, history: Floats, n_steps: int) -> None:
        """Set the costs, the number of steps and the convergence, and warn where it is not reached."""

    def _describe_descent(self, attraction: str, objective: str, steps: str) -> MapDescription:
        """Describe what attracts and repels a row, the objective, and the convergence within some steps."""
        ended = "converged within" if self.converged_ else "was still decreasing after"
        return self._describe(
            [f"Each row attracts {attraction}. {objective}, {ended} {steps}."],
            "Rows that are neighbours in the table are near each other. Distances between groups, and sizes of groups, have "
            "little meaning.",
        )


def mean_of_neighbors(near: Neighbors, weights: Floats, points: Floats) -> tuple[sparse.csr_array, Floats]:
    """Return the weights of fitted rows at `points` for new rows, and the weighted sums of these points."""
    matrix = sparse.csr_array((weights, near.indices, near.indptr), shape=(near.n_rows, near.n_points))
    return matrix, np.asarray(matrix @ points)


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
        values = _coordinates(graph)
        if values is not None and not sparse.issparse(values) and min(values.shape) > n_components:
            points = _project(values, n_components)
    if points is None or not np.ptp(points[:, 0]) > 0.0:
        points = _eigenvectors(graph, affinities, n_components, rng)
    return points / np.abs(points).max()


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
    nearest = KDTree(centres).query(centres, k=2)[0][:, 1]
    radii = _RADIUS_SHARE * np.maximum(nearest, 1e-3 * np.ptp(centres, axis=0).max())
    parts = np.split(np.argsort(components.labels, kind="stable"), np.cumsum(components.sizes)[:-1])
    for rows, centre, radius in zip(parts, centres, radii, strict=True):
        if len(rows) >= max(_MIN_SPECTRAL_ROWS, n_components + 2):
            points[rows] = _component_eigenvectors(sparse.csr_array(affinities[rows][:, rows]), n_components)
        points[rows] = centre + radius * points[rows] / np.abs(points[rows]).max()
    return points - 0.5 * (points.max(axis=0) + points.min(axis=0))


def _component_eigenvectors(affinities: sparse.csr_array, n_components: int) -> Floats:
    laplacian = Laplacian(affinities.astype(np.float64), "symmetric")
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
