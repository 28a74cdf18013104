"""Locally linear embedding."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from tamiz.arrays import Floats, Indices
from tamiz.exceptions import DataError
from tamiz.graphs.builder import GraphBuilder
from tamiz.graphs.components import Components
from tamiz.graphs.edges import Edges, NeighborRule, directed_edges
from tamiz.graphs.graph import EdgeGraph, Graph
from tamiz.graphs.k_nearest import KNearest
from tamiz.graphs.weights import Binary
from tamiz.neighbors.base import Neighbors
from tamiz.neighbors.points import Points
from tamiz.neighbors.row_encoders import row_numbers
from tamiz.neighbors.search_choice import choose_search
from tamiz.reduction.description import MapDescription
from tamiz.reduction.graph_reducer import GraphReducer, check_connected, shortest_edges
from tamiz.reduction.local_linear.alignment import METHODS, alignment_matrix, least_neighbors
from tamiz.reduction.local_linear.neighborhoods import gram_function, reconstruction_weights
from tamiz.runtime import parallel
from tamiz.runtime.user_warnings import warn
from tamiz.runtime.validation import check_choice, check_integer, check_memory, check_positive
from tamiz.spectral.semidefinite import smallest_semidefinite_eigenpairs
from tamiz.storage.invariants import Condition, InstanceOf, IntegerArray, Invariants, Nullable, Number
from tamiz.table.feature_checks import check_features, record_features

DISCONNECTED_CHOICES = ("error", "per_component")
_DEFAULT_NEIGHBORS = 15
# What the coordinates have to satisfy in every neighbourhood, by the method.
_LOCAL_CONDITIONS = {
    "standard": "Each row is the weighted mean of its neighbours, with the weights that reconstruct it in the table.",
    "modified": "Each row is the weighted mean of its neighbours, with several sets of weights that reconstruct it in the table.",
    "hessian": "Around each row, the coordinates have as little curvature as possible as functions on the neighbourhood.",
    "ltsa": "Around each row, the coordinates are nearly linear functions of the neighbourhood's principal components.",
}


class LocallyLinearEmbedding(GraphReducer):
    """Locally linear embedding: coordinates in which every row has the same position among its neighbours as in the table.

    .. math:: \\min_{Y' Y = I, Y' 1 = 0} \\sum_i \\Big| y_i - \\sum_j w_{ij} y_j \\Big|^2

    with the weights that reconstruct each row from its neighbours best, :math:`\\sum_j w_{ij} = 1`.

    Parameters
    ----------
    n_components : int, default=2
        Number of coordinates: the dimension of the surface that the rows lie on.
    method : {"standard", "modified", "hessian", "ltsa"}, default="standard"
        "standard" is the formula above. "modified" uses several sets of weights for each row, "hessian" minimises the curvature of
        the coordinates, and "ltsa" (local tangent space alignment) makes them affine functions of the first n_components
        principal coordinates of each neighbourhood. These three unroll a surface with smaller distortion.
    graph : GraphBuilder or Graph, default=None
        A graph builder or a built graph; None is KNearest(15), with fewer neighbours for 15 rows or less. The neighbours of a row
        are its nearest ones, as many as the builder searches; in a radius graph all within the radius.
    regularization : float, default=1e-3
        Share of the trace of a neighbourhood's Gram matrix that is added to its diagonal before weights are computed. "hessian"
        and "ltsa" use it in `transform` only.
    disconnected : {"error", "per_component"}, default="error"
        Handling of a graph with several components: raise an error, or compute separate coordinates for each component. Unlike
        other spectral maps this one cannot be connected by additional edges: coordinates that are constant on each component
        would satisfy all other neighbourhoods exactly.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Columns that are orthonormal and have the mean 0 over the distinct rows; the largest absolute entry of each is positive.
    eigenvalues_ : ndarray of shape (n_components,), or (n_parts, n_components) with "per_component"
        The smallest eigenvalues besides the 0 of constant coordinates, ascending: the error of each coordinate. NaN for components
        with too few rows.
    residuals_ : ndarray of the same shape
        The norm :math:`|M y - \\lambda y|` for every eigenvector.
    reconstruction_error_ : float
        The minimum above, or of the other methods: the sum of the eigenvalues.
    component_labels_ : ndarray of shape (n_samples,)
        With "per_component" the component of every row, numbered in the order of their first rows; else 0.
    graph_ : Graph

    Raises
    ------
    DataError
        When the graph has several components and disconnected="error", when a row has too few neighbours for the method, or when
        the metric has no inner products.
    ValueError
        When n_components is not below the number of rows.

    Warns
    -----
    UserWarning
        When the neighbourhoods do not determine the coordinates: the following eigenvalue is equal up to rounding.

    Notes
    -----
    "modified" needs at least d = n_components neighbours, "ltsa" more than d, and "hessian" more than d (d + 3) / 2. The
    neighbourhoods of "hessian" and "ltsa" contain the row itself, as in the definition of local tangent space alignment, so that no
    row is outside of all neighbourhoods. Equal rows count once, and have equal coordinates: a neighbourhood of equal rows would
    have no shape.

    Cost of the graph, O(n k^3) for the neighbourhoods, and that of a sparse Cholesky factorisation of a matrix with O(n k^2)
    entries. It has O(k n log n) entries for rows on a surface of two dimensions, and up to n^2 / 2 for rows of many dimensions. No
    array has n x n numbers.

    `transform` maps a new row to the weighted mean of its neighbours, with the weights of "standard", for all methods. A row that
    is equal to a row of the fit has its coordinates.

    References
    ----------
    Roweis and Saul (2000), Nonlinear dimensionality reduction by locally linear embedding, Science 290; Donoho and Grimes (2003),
    Hessian eigenmaps, PNAS 100; Zhang and Zha (2004), Principal manifolds and nonlinear dimensionality reduction via tangent space
    alignment, SIAM J. Sci. Comput. 26; Zhang and Wang (2006), MLLE: modified locally linear embedding using multiple weights,
    NIPS 19; Saul and Roweis (2003), Think globally, fit locally, Journal of Machine Learning Research 4 (`transform`).

    Examples
    --------
    >>> from scipy.stats import spearmanr
    >>> from sklearn.datasets import make_swiss_roll
    >>> from tamiz.reduction import LocallyLinearEmbedding
    >>> X, along = make_swiss_roll(1000, random_state=0)
    >>> unrolled = LocallyLinearEmbedding(2, method="ltsa").fit(X).embedding_
    >>> print(f"{abs(spearmanr(unrolled[:, 0], along)[0]):.2f}")
    1.00
    """

    graph_: EdgeGraph
    invariants: ClassVar[Invariants] = {
        "graph_": InstanceOf(EdgeGraph),
        "graph_.neighbor_rule": InstanceOf(NeighborRule),
        "regularization": Number(0.0),
        "_distinct_rule": Nullable(InstanceOf(NeighborRule)),
        "_distinct_rows": IntegerArray("m", below="n"),
        "component_labels_": (
            IntegerArray("n"),
            Condition(
                lambda it: it.eigenvalues_.ndim == 1 or it.component_labels_.max() < len(it.eigenvalues_),
                "names no component",
            ),
        ),
        "eigenvalues_": Condition(
            lambda it: it.eigenvalues_.ndim in (1, 2) and it.eigenvalues_.shape[-1] == it.embedding_.shape[1],
            "does not have one number for every coordinate",
        ),
        "residuals_": Condition(
            lambda it: it.residuals_.shape == it.eigenvalues_.shape, "is not of the shape of the eigenvalues"
        ),
        "reconstruction_error_": Number(0.0),
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        method: str = "standard",
        graph: GraphBuilder | Graph | None = None,
        regularization: float = 1e-3,
        disconnected: str = "error",
    ) -> None:
        self.n_components = n_components
        self.method = method
        self.graph = graph
        self.regularization = regularization
        self.disconnected = disconnected

    def _default_builder(self, n_samples: int) -> GraphBuilder:
        return KNearest(min(_DEFAULT_NEIGHBORS, n_samples - 1), weight=Binary(), symmetry="directed")

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Build the graph and compute the coordinates.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Table, default=None
            Input of the graph builder. For a built Graph the rows that it was built from, or None.
        y : array of shape (n_samples,), default=None
            Classes, for graphs that connect rows by class; else ignored.
        """
        check_choice("method", self.method, METHODS)
        check_choice("disconnected", self.disconnected, DISCONNECTED_CHOICES)
        n_components = check_integer("n_components", self.n_components, low=1)
        regularization = check_positive("regularization", self.regularization)
        with parallel.thread_session():
            graph = self._build_graph(X, y)
            rows = _find_distinct_rows(graph)
            numbers = row_numbers(X)
            components = Components.from_adjacency(rows.edges.length_matrix(), directed=True)
            separate = self.disconnected == "per_component"
            if not separate:
                check_connected(components, rows.table_numbers(numbers), DISCONNECTED_CHOICES)
                if n_components >= len(rows.numbers):
                    raise ValueError(
                        f"n_components must be below the number of distinct rows = {len(rows.numbers):,}, got {n_components:,}."
                    )
            points = rows.rule.index.points
            self._check_neighborhoods(points, rows.edges, n_components, rows.table_numbers(numbers))
            matrix = alignment_matrix(
                self.method,
                gram_function(points, points),
                rows.edges.indptr,
                rows.edges.indices,
                n_components,
                regularization,
            )
            labels = components.labels if separate else np.zeros(len(rows.numbers), dtype=np.int32)
            coordinates, values, residuals = _eigenvectors_by_component(matrix, labels, n_components)
        embedding = self._match_dtype(coordinates[rows.place], X)
        # Attributes are set last: a failed fit leaves the estimator unchanged.
        self.graph_, self.component_labels_, self.embedding_ = graph, labels[rows.place], embedding
        self._distinct_rows, self._distinct_rule = rows.numbers, None if rows.rule is graph.neighbor_rule else rows.rule
        self.eigenvalues_: Floats = values if separate else values[0]
        self.residuals_: Floats = residuals if separate else residuals[0]
        self.reconstruction_error_: float = float(np.nansum(values))
        record_features(self, X)
        return self

    def _build_graph(self, X: Any, y: Any) -> EdgeGraph:
        """Return the graph of the parameter `graph`, by default of the nearest neighbours of each row."""
        graph = self._read_graph(X, y, quietly=True)
        if not isinstance(graph, EdgeGraph) or graph.neighbor_rule is None:
            raise DataError(
                "LocallyLinearEmbedding needs the coordinates of the rows, and the graph does not have them. Build a graph of "
                "rows, such as KNearest(15)."
            )
        return graph

    def _check_neighborhoods(self, points: Points, edges: Edges, n_components: int, numbers: Indices) -> None:
        """Raise DataError if a row has too few neighbours or coordinates."""
        least = least_neighbors(self.method, n_components)
        counts = np.diff(edges.indptr)
        few = np.flatnonzero((counts < least) & (counts > 0))
        if few.size:
            row = int(few[0])
            raise DataError(
                f"method={self.method!r} with n_components={n_components} needs at least n_neighbors = {least} for each row, and "
                f"row {numbers[row]} has {counts[row]}. Use more neighbours or fewer components."
            )
        width = points.n_coordinates
        if width is not None and width < n_components and self.method != "standard":
            raise DataError(
                f"method={self.method!r} looks for n_components={n_components} directions in each neighbourhood, and the rows have "
                f"{width} {'coordinate' if width == 1 else 'coordinates'}. Lower n_components."
            )

    def describe(self) -> MapDescription:
        """Describe the local condition and the eigenvalues; with "per_component" those of the largest component."""
        check_is_fitted(self)
        sizes, notes = np.bincount(self.component_labels_), [_LOCAL_CONDITIONS[self.method]]
        if len(sizes) > 1:
            notes.append(
                f"The graph has {len(sizes):,} components, and each has coordinates of its own: the components overlap on the "
                "map, and their positions relative to each other have no meaning. The eigenvalues are those of the largest, of "
                f"{sizes.max():,} rows."
            )
        return self._describe(
            notes,
            "Rows that are neighbours in the table are near each other; distances are stretched differently in different places.",
            comparable_axes=False,
            spectrum_note="The smaller an eigenvalue, the smaller the sum of squared errors of its coordinate in the "
            "neighbourhoods of all rows.",
        )

    def transform(self, X: Any) -> NDArray[Any]:
        """Map new rows, each independently of the others, to the weighted mean of their neighbours among the rows of the fit.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Table
            New rows; for a graph of precomputed distances, the distances to the rows of the fit.

        Returns
        -------
        ndarray of shape (n_rows, n_components)
            The coordinates. A row that is equal to a row of the fit has the coordinates of this row. With "per_component" only
            neighbours in the component of the nearest row count.
        """
        check_is_fitted(self)
        check_features(self, X)
        rule = self._distinct_rule or self.graph_.neighbor_rule
        assert rule is not None
        points = rule.index.points
        coordinates = np.asarray(self.embedding_, dtype=np.float64)[self._distinct_rows]
        with parallel.thread_session():
            queries = rule.query_points(X)
            near = _within_component(rule.find_neighbors(queries), self.component_labels_[self._distinct_rows])
            weights = reconstruction_weights(
                gram_function(points, queries), near.indptr, near.indices, self.regularization
            )
            W = sparse.csr_array((weights, near.indices, near.indptr), shape=(near.n_rows, near.n_points))
            embedding = np.asarray(W @ coordinates)
            found, known = points.match_rows(queries)
        embedding[found] = coordinates[known]
        return self._match_dtype(embedding, X)


class _DistinctRows(NamedTuple):
    """The distinct rows of a graph, their neighbours among each other, and the rule that finds neighbours of new rows.

    Attributes
    ----------
    numbers : ndarray of shape (n_distinct,)
        The first of each group of equal rows.
    place : ndarray of shape (n_samples,)
        The position in `numbers` of the row that each row is equal to.
    edges : Edges
        From every distinct row to its neighbours, both as positions in `numbers`.
    rule : NeighborRule
        Its index has the distinct rows only.
    """

    numbers: Indices
    place: Indices
    edges: Edges
    rule: NeighborRule

    def table_numbers(self, numbers: Indices | None) -> Indices:
        return self.numbers if numbers is None else numbers[self.numbers]


def _find_distinct_rows(graph: EdgeGraph) -> _DistinctRows:
    """Return the distinct rows of a graph and their neighbours: as many as its builder searches, else all joined rows.

    Equal rows count once, because a neighbourhood of equal rows has no shape. Where that leaves fewer neighbours than the
    builder searches they are searched again; other graphs, such as mutual ones, lose the edges of the further rows.
    """
    rule = graph.neighbor_rule
    assert rule is not None
    n, k = graph.n_samples, rule.n_neighbors
    edges = shortest_edges(graph, n if k is None else k)
    numbers, place = np.unique(graph.first_occurrences(), return_inverse=True)
    if len(numbers) == n:
        return _DistinctRows(numbers, place, edges, rule)
    points = rule.index.points.take(numbers)
    index = choose_search(None, points).fit(points)
    if k is not None and len(edges.indices) == n * k:
        k = min(k, len(numbers) - 1)
        edges = directed_edges(index.query(k))
    else:
        is_first = np.zeros(n, dtype=bool)
        is_first[numbers] = True
        edges = edges.select(is_first[edges.rows] & is_first[edges.indices])
        edges = Edges(
            np.append(edges.indptr[numbers], edges.indptr[-1]), place[edges.indices].astype(np.int32), edges.lengths
        )
    return _DistinctRows(
        numbers, place, edges, NeighborRule.from_index(index, rule.row_encoder, n_neighbors=k, radius=rule.radius)
    )


def _eigenvectors_by_component(
    matrix: sparse.csr_array, labels: NDArray[np.int32], n_components: int
) -> tuple[Floats, Floats, Floats]:
    """Return the coordinates, and the eigenvalues and residuals by component; NaN where a component has too few rows."""
    n, n_parts = len(labels), int(labels.max()) + 1
    check_memory(
        8.0 * (n + 2 * n_parts) * n_components, f"{n_components:,} coordinates of {n:,} rows", "Lower n_components."
    )
    embedding = np.zeros((n, n_components))
    values, residuals = np.full((2, n_parts, n_components), np.nan)
    parts = np.split(np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels))[:-1])
    undetermined = []
    for part, rows in enumerate(parts):
        m = min(n_components, len(rows) - 1)
        if m:
            own = matrix if n_parts == 1 else sparse.csr_array(matrix[rows][:, rows])
            found = smallest_semidefinite_eigenpairs(own, m)
            values[part, :m], residuals[part, :m] = found.values, found.residuals
            embedding[rows, :m] = found.vectors
            if not found.determined:
                undetermined.append(found)
    if undetermined:
        first = undetermined[0]
        warn(
            "TZ403",
            f"LocallyLinearEmbedding: the coordinates are not determined. The eigenvalue {first.values[-1]:.2g} of the last "
            f"and {first.next_value:.2g} of the following one differ by less than the rounding error {first.rounding:.2g}. "
            "Change the number of neighbours, or use another method.",
        )
    return embedding, values, residuals


def _within_component(near: Neighbors, labels: NDArray[np.int32]) -> Neighbors:
    own = labels[near.indices] == labels[near.indices[near.indptr[:-1]]][near.rows]
    if own.all():
        return near
    indptr = np.concatenate([[0], np.cumsum(own)])[near.indptr]
    return Neighbors(indptr, near.indices[own], near.distances[own], near.n_points)
