"""Locally linear embedding."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from tamiz.arrays import Codes, Floats, Indices
from tamiz.exceptions import DataError
from tamiz.graphs.builders import GraphBuilder, choose_search
from tamiz.graphs.edges import Binary, Components, Edges, directed_edges
from tamiz.graphs.graph import EdgeGraph, Graph, NeighborRule
from tamiz.graphs.shift_invert import smallest_semidefinite_eigenpairs
from tamiz.neighbors.points import Points
from tamiz.neighbors.precomputed import PrecomputedDistances
from tamiz.neighbors.sparse_points import SparsePoints
from tamiz.reduction.description import MapDescription
from tamiz.reduction.graph_reducer import SpectralReducer, check_connected, shortest_edges, solve_by_part
from tamiz.runtime import parallel
from tamiz.runtime.user_warnings import warn
from tamiz.runtime.validation import check_choice, check_integer, check_memory, check_positive
from tamiz.storage.invariants import Condition, InstanceOf, IntegerArray, Invariants, Nullable, Number
from tamiz.table.factory import record_features, row_numbers
from tamiz.table.schema import Schema

# Numbers in the matrices of a block of rows, and in the differences from their neighbours that are computed at a time.
_BLOCK_NUMBERS, _BLOCK_DIFFERENCES = 2**17, 2**20
# Largest number of rows on which a study fits it.
_MAX_STUDY_ROWS = 20_000
_MIN_REGULARIZATION = 2.0**-52

# The numbers of some rows, and those of their neighbours, one row for each.
Block = tuple[Indices, NDArray[np.int32]]
# Returns the Gram matrices of the neighbourhoods of a block.
GramFunction = Callable[[Indices, NDArray[np.int32]], Floats]


def gram_function(points: Points, queries: Points) -> GramFunction:
    """Return the function of the Gram matrices of the differences between queries and their neighbours among points.

    Each matrix has an arbitrary positive factor, on which neither weights nor local coordinates depend.
    """
    values = points.euclidean_values()
    if values is not None:
        query_values = queries.euclidean_values()
        assert query_values is not None
        return lambda rows, neighbors: _dense_grams(query_values, values, rows, neighbors)
    if isinstance(points, SparsePoints) and isinstance(queries, SparsePoints):
        some, others = _sparse_rows(queries), _sparse_rows(points)
        return lambda rows, neighbors: _sparse_grams(some, others, rows, neighbors)
    if isinstance(points, PrecomputedDistances) and isinstance(queries, PrecomputedDistances):
        to_points = points.block_view(queries, 0, queries.n_samples)
        between = points.block_view(points, 0, points.n_samples)
        return lambda rows, neighbors: _distance_grams(to_points, between, rows, neighbors)
    raise DataError(
        f"metric={points.metric!r} has no inner products, which locally linear embedding needs. Use metric='euclidean', "
        "'seuclidean', 'cosine', or 'precomputed' with a dense matrix of Euclidean distances."
    )


def _dense_grams(queries: Floats, values: Floats, rows: Indices, neighbors: NDArray[np.int32]) -> Floats:
    """Return the inner products, divided by the square of the largest difference, so that none over- or underflows."""
    (m, k), p = neighbors.shape, values.shape[1]
    grams = np.empty((m, k, k))
    for start, stop in parallel.block_ranges(m, max(1, _BLOCK_DIFFERENCES // (k * p))):
        differences = values[neighbors[start:stop]] - queries[rows[start:stop], None]
        largest = np.abs(differences).max(axis=(1, 2), keepdims=True)
        # Differences of which 1 / largest overflows are 0, as their distances are.
        differences *= np.divide(1.0, largest, out=np.zeros(largest.shape), where=largest > 1e-300)
        np.matmul(differences, differences.transpose(0, 2, 1), out=grams[start:stop])
    return grams


def _sparse_rows(points: SparsePoints) -> sparse.csr_array:
    """Return the rows whose Euclidean distances are searched: unit rows for the cosine distance."""
    if points.metric == "euclidean":
        return points.matrix
    lengths = np.sqrt(points.matrix.multiply(points.matrix).sum(axis=1))
    return sparse.csr_array(sparse.diags_array(1.0 / lengths) @ points.matrix)


def _sparse_grams(
    queries: sparse.csr_array, values: sparse.csr_array, rows: Indices, neighbors: NDArray[np.int32]
) -> Floats:
    m, k = neighbors.shape
    differences = values[neighbors.ravel()] - queries[rows.repeat(k)]
    # Pairs of neighbours of one row.
    a, b = (index.ravel() for index in np.broadcast_arrays(np.arange(k)[:, None], np.arange(k)))
    starts = k * np.arange(m)[:, None]
    products = differences[(starts + a).ravel()].multiply(differences[(starts + b).ravel()])
    return np.asarray(products.sum(axis=1)).reshape(m, k, k)


def _distance_grams(to_points: Floats, between: Floats, rows: Indices, neighbors: NDArray[np.int32]) -> Floats:
    """Return inner products by the law of cosines; negative eigenvalues, of distances that are not Euclidean, are set to 0."""
    near, among = to_points[rows[:, None], neighbors], between[neighbors[:, :, None], neighbors[:, None, :]]
    # No square overflows or underflows.
    scale = np.maximum(np.maximum(near.max(axis=1), among.max(axis=(1, 2))), np.finfo(np.float64).tiny)[:, None]
    squares = (near / scale) ** 2
    values, vectors = np.linalg.eigh(
        (squares[:, :, None] + squares[:, None, :] - (among / scale[:, :, None]) ** 2) / 2.0
    )
    return (vectors * np.maximum(values, 0.0)[:, None, :]) @ vectors.transpose(0, 2, 1)


def _neighborhood_blocks(indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> list[Block]:
    """Return blocks of rows that have equally many neighbours, at least one, and these; rows without neighbours are left out."""
    counts = np.diff(indptr)
    blocks = []
    for count in np.unique(counts[counts > 0]).tolist():
        rows = np.flatnonzero(counts == count)
        for start, stop in parallel.block_ranges(len(rows), max(1, _BLOCK_NUMBERS // count**2)):
            some = rows[start:stop]
            blocks.append((some, indices[indptr[some][:, None] + np.arange(count)]))
    return blocks


def _reconstruction_weights(
    grams: GramFunction, indptr: NDArray[np.int64], indices: NDArray[np.int32], regularization: float
) -> Floats:
    """Return the weights with which the neighbours of each row, a list in CSR form, reconstruct it; they sum to 1."""
    weights = np.empty(len(indices))

    def fill(block: Block) -> None:
        matrices = grams(*block)
        m, k = block[1].shape
        trace = np.trace(matrices, axis1=1, axis2=2)
        # Neighbours that are all equal to the row have equal weights. The smallest regularisation keeps a matrix invertible.
        diagonal = np.where(trace > 0, max(regularization, _MIN_REGULARIZATION) * trace, 1.0)
        w = np.linalg.solve(matrices + diagonal[:, None, None] * np.eye(k), np.ones((m, k, 1)))[:, :, 0]
        weights[indptr[block[0]][:, None] + np.arange(k)] = w / w.sum(axis=1, keepdims=True)

    parallel.run_blocks(fill, _neighborhood_blocks(indptr, indices))
    return weights


METHODS = ("standard", "modified", "hessian", "ltsa")

# Eigenvalues below this share of the largest are 0 up to rounding: the patch has no extent in their directions.
_MIN_EIGENVALUE = 1e-13
# A local function is left out if orthogonalisation leaves at most this share of its length.
_MIN_REMAINING = 1e-10
# The largest alpha, in "modified", whose quotient u / alpha would be rounding error.
_MIN_ALPHA = 1e-8


def least_neighbors(method: str, n_components: int) -> int:
    return {
        "standard": 1,
        "modified": n_components,
        "hessian": n_components * (n_components + 3) // 2 + 1,
        "ltsa": n_components + 1,
    }[method]


def alignment_matrix(
    method: str,
    grams: GramFunction,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    n_components: int,
    regularization: float,
) -> sparse.csr_array:
    """Return M = (I - W)'(I - W), or the sum of local matrices, positive semidefinite with the row sums 0.

    A patch is a row with its neighbours. The local matrix of a patch measures how far coordinates of its rows are from being an
    affine function of local coordinates ("ltsa"), from having no curvature ("hessian"), or from being reconstructed by several
    sets of weights ("modified"). All of it is sparse: two rows share an entry of M if they share a patch.
    """
    counts = np.diff(indptr)
    if method == "standard":
        n = len(counts)
        weights = _reconstruction_weights(grams, indptr, indices, regularization)
        # A row without neighbours is a component of its own, and its row of I - W is 0.
        W = sparse.csr_array((weights, indices, indptr), shape=(n, n))
        rest = sparse.csr_array(sparse.diags_array((counts > 0).astype(np.float64)) - W)
        return sparse.csr_array(rest.T @ rest)
    check_memory(
        48.0 * float(((counts + 1.0) ** 2).sum()),
        f"The local matrices of {len(counts):,} rows with up to {counts.max():,} neighbours",
        "Use fewer neighbours.",
    )
    blocks = _neighborhood_blocks(indptr, indices)
    if method == "modified":
        matrices = _modified_matrices(grams, blocks, n_components, regularization)
    else:
        local = _hessian_matrices if method == "hessian" else _alignment_matrices
        matrices = parallel.map_blocks(lambda block: local(_tangent_coordinates(grams(*block), n_components)), blocks)
    return _sum_local_matrices(blocks, list(matrices), len(counts))


def _tangent_coordinates(grams: Floats, d: int) -> Floats:
    """Return the first d principal coordinates of every patch as orthonormal columns; 0 where the patch has no extent."""
    m, k, _ = grams.shape
    centred = np.zeros((m, k + 1, k + 1))
    centred[:, 1:, 1:] = grams
    centred -= centred.mean(axis=1, keepdims=True)
    centred -= centred.mean(axis=2, keepdims=True)
    values, vectors = np.linalg.eigh(centred)
    values, vectors = values[:, : -d - 1 : -1], vectors[:, :, : -d - 1 : -1]
    return vectors * (values > _MIN_EIGENVALUE * np.maximum(values[:, :1], 0.0))[:, None, :]


def _alignment_matrices(tangents: Floats) -> Floats:
    """Return the projections onto the complement of affine functions of the tangent coordinates."""
    affine = _orthonormal_functions(tangents)
    return np.eye(tangents.shape[1]) - affine @ affine.transpose(0, 2, 1)


def _hessian_matrices(tangents: Floats) -> Floats:
    """Return H H' of every patch: H is the part of the quadratic functions that is orthogonal to affine ones."""
    d = tangents.shape[2]
    a, b = np.triu_indices(d)
    products = tangents[:, :, a] * tangents[:, :, b]
    quadratic = _orthonormal_functions(np.concatenate([tangents, products], axis=2))[:, :, d + 1 :]
    return quadratic @ quadratic.transpose(0, 2, 1)


def _orthonormal_functions(columns: Floats) -> Floats:
    """Return orthonormal columns that span 1 and the columns of every patch, in their order; 0 for a dependent column.

    Orthogonal to 1 also where rounding has left a mean in the tangent coordinates, as in a patch with an outlier.
    """
    m, size, n_columns = columns.shape
    functions = np.empty((m, size, 1 + n_columns))
    functions[:, :, 0] = size**-0.5
    for j in range(n_columns):
        column, before = columns[:, :, j], functions[:, :, : 1 + j]
        length = np.linalg.norm(column, axis=1)
        # Twice, because the first pass leaves rounding errors of the length of the column.
        for _ in range(2):
            column = column - (before @ (before.transpose(0, 2, 1) @ column[:, :, None]))[:, :, 0]
        remaining = np.linalg.norm(column, axis=1)
        independent = remaining > _MIN_REMAINING * length
        functions[:, :, 1 + j] = column * (independent / np.where(independent, remaining, 1.0))[:, None]
    return functions


def _modified_matrices(grams: GramFunction, blocks: list[Block], d: int, regularization: float) -> Iterator[Floats]:
    """Yield the local matrices of "modified", block by block."""

    def decompose(block: Block) -> tuple[Floats, Floats]:
        """Return the eigenvalues and eigenvectors of the Gram matrices, descending."""
        values, vectors = np.linalg.eigh(grams(*block))
        values = values[:, ::-1]
        return np.where(values > _MIN_EIGENVALUE * values[:, :1], values, 0.0), vectors[:, :, ::-1]

    pairs = list(parallel.map_blocks(decompose, blocks))
    # The share of a neighbourhood's extent outside its d main directions; the median over the rows separates noise from extent.
    noise = float(
        np.median(np.concatenate([_tail_ratios(values)[:, max(values.shape[1] - d, 0)] for values, _ in pairs]))
    )
    return parallel.map_blocks(lambda pair: _weight_set_matrices(*pair, d, noise, regularization), pairs)


def _tail_ratios(values: Floats) -> Floats:
    """Return for l = 0 .. k - 1 the sum of the l smallest of the k values of a row divided by the sum of the others."""
    heads = np.cumsum(values, axis=1)[:, ::-1]
    tails = np.cumsum(values[:, ::-1], axis=1) - values[:, ::-1]
    return np.divide(tails, heads, out=np.zeros(values.shape), where=heads > 0)


def _weight_set_matrices(values: Floats, vectors: Floats, d: int, noise: float, regularization: float) -> Floats:
    """Return the sums over s sets of weights of (e - w)(e - w)', with e for the row itself.

    The sets are the columns of (1 - alpha) w 1' + V H, with the regularised weights w, the s smallest eigenvectors V and the
    Householder matrix H for which the columns sum to 1 (equations 2.5 and 3.1 of the paper). Their sums depend on the projection
    P = V V' and on u = P 1 alone: V H 1 = u / alpha with alpha = |u| / sqrt(s).
    """
    m, k = values.shape
    ratios = _tail_ratios(values)[:, 1 : max(k - d, 0) + 1]
    n_zero = (values == 0.0).sum(axis=1)
    s = np.maximum(np.maximum((ratios < noise).sum(axis=1), n_zero), 1)[:, None]
    main = vectors * (np.arange(k) < k - s)[:, None, :]
    projection = np.eye(k) - main @ main.transpose(0, 2, 1)
    u = projection.sum(axis=2)
    trace = values.sum(axis=1, keepdims=True)
    # Without regularisation a value of 0 would be divided by.
    divisor = np.where(trace > 0, np.maximum(values + regularization * trace, 1e-30 * trace), 1.0)
    w = (vectors @ (vectors.sum(axis=1) / divisor)[:, :, None])[:, :, 0]
    w /= w.sum(axis=1, keepdims=True)
    alpha = np.linalg.norm(u, axis=1, keepdims=True) / np.sqrt(s)
    # With alpha = 0 the eigenvectors sum to 0, and every set is w plus an eigenvector.
    direction = np.divide(u, alpha, out=np.zeros(u.shape), where=alpha > _MIN_ALPHA)
    cross = (1.0 - alpha)[:, :, None] * direction[:, :, None] * w[:, None, :]
    total = direction + (1.0 - alpha) * s * w
    matrices = np.empty((m, k + 1, k + 1))
    matrices[:, 0, 0] = s[:, 0]
    matrices[:, 0, 1:] = matrices[:, 1:, 0] = -total
    matrices[:, 1:, 1:] = projection + cross + cross.transpose(0, 2, 1)
    matrices[:, 1:, 1:] += ((1.0 - alpha) ** 2 * s)[:, :, None] * w[:, :, None] * w[:, None, :]
    # Rows sum to 0, but for the rounding error of u / alpha.
    matrices -= matrices.mean(axis=1, keepdims=True)
    matrices -= matrices.mean(axis=2, keepdims=True)
    return matrices


def _sum_local_matrices(blocks: list[Block], matrices: list[Floats], n: int) -> sparse.csr_array:
    """Return the sum of the local matrices, each in the rows and columns of its patch."""
    members = [np.column_stack([rows.astype(np.int32), neighbors]) for rows, neighbors in blocks]
    rows = [np.repeat(one, one.shape[1], axis=1).ravel() for one in members]
    columns = [np.tile(one, (1, one.shape[1])).ravel() for one in members]
    if not blocks:
        return sparse.csr_array((n, n))
    data = np.concatenate([one.ravel() for one in matrices])
    return sparse.csr_array((data, (np.concatenate(rows), np.concatenate(columns))), shape=(n, n))


DISCONNECTED_CHOICES = ("error", "per_component")
# What the coordinates have to satisfy in every neighbourhood, by the method.
_LOCAL_CONDITIONS = {
    "standard": "Each row is the weighted mean of its neighbours, with the weights that reconstruct it in the table.",
    "modified": "Each row is the weighted mean of its neighbours, with several sets of weights that reconstruct it in the table.",
    "hessian": "Around each row, the coordinates have as little curvature as possible as functions on the neighbourhood.",
    "ltsa": "Around each row, the coordinates are nearly linear functions of the neighbourhood's principal components.",
}


class LocallyLinearEmbedding(SpectralReducer):
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

    Cost of the graph, O(n k^3) for the neighbourhoods, and that of a sparse factorisation of a matrix with O(n k^2)
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
        "residuals_": Condition(
            lambda it: it.residuals_.shape == it.eigenvalues_.shape, "is not of the shape of the eigenvalues"
        ),
        "reconstruction_error_": Number(0.0),
    }

    variants: ClassVar[Mapping[str, str]] = {
        "standard": "Locally linear embedding",
        "modified": "Modified locally linear embedding",
        "hessian": "Hessian eigenmap",
        "ltsa": "Local tangent space alignment",
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

    @property
    def max_study_rows(self) -> int | None:
        """20,000 rows: for rows of many dimensions the factorisation is nearly dense."""
        return _MAX_STUDY_ROWS

    def study_settings(self, schema: Schema, variant: str) -> dict[str, Any]:  # noqa: ARG002
        """Return the parameters in a study: the method of the variant, with a map for each component of the graph."""
        return {"method": variant, "disconnected": "per_component"}

    def _default_builder(self, n_samples: int) -> GraphBuilder:
        return super()._default_builder(n_samples).set_params(weight=Binary(), symmetry="directed")

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
            graph = self._build_row_graph(X, y)
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
            labels = self._part_labels(components)
            coordinates, values, residuals = _eigenvectors_by_component(matrix, labels, n_components)
        embedding = self._match_dtype(coordinates[rows.place], X)
        # Attributes are set last: a failed fit leaves the estimator unchanged.
        record_features(self, X)
        self.graph_, self.component_labels_, self.embedding_ = graph, labels[rows.place], embedding
        self._distinct_rows, self._distinct_rule = rows.numbers, None if rows.rule is graph.neighbor_rule else rows.rule
        self.eigenvalues_ = values if separate else values[0]
        self.residuals_: Floats = residuals if separate else residuals[0]
        self.reconstruction_error_: float = float(np.nansum(values))
        return self

    def _build_row_graph(self, X: Any, y: Any) -> EdgeGraph:
        """Return the graph of the parameter `graph`, by default of the nearest neighbours of each row."""
        graph = self._build_graph(X, y)
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

    def _map_new_rows(self, X: Any) -> tuple[Floats, Indices]:
        rule = self._distinct_rule or self.graph_.neighbor_rule
        assert rule is not None
        points, queries = rule.index.points, rule.query_points(X)
        near, labels = rule.find_neighbors(queries), self.component_labels_[self._distinct_rows]
        # Only neighbours in the component of the nearest row count.
        near = near.select(labels[near.indices] == labels[near.indices[near.indptr[:-1]]][near.rows])
        weights = _reconstruction_weights(
            gram_function(points, queries), near.indptr, near.indices, self.regularization
        )
        W = sparse.csr_array((weights, near.indices, near.indptr), shape=(near.n_rows, near.n_points))
        equal_rows = np.full(near.n_rows, -1, dtype=np.intp)
        found, known = points.match_rows(queries)
        equal_rows[found] = self._distinct_rows[known]
        return np.asarray(W @ np.asarray(self.embedding_, dtype=np.float64)[self._distinct_rows]), equal_rows


class _DistinctRows(NamedTuple):
    """The distinct rows of a graph, their neighbours among each other, and the rule that finds neighbours of new rows.

    `numbers` are the first rows of the groups of equal rows, `place` the position in these of the row that each row is equal to.
    The edges join positions in `numbers`, and the index of the rule has the distinct rows only.
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
    matrix: sparse.csr_array, labels: Codes, n_components: int
) -> tuple[Floats, Floats, Floats]:
    """Return the coordinates, and the eigenvalues and residuals by component; warn if the coordinates are not determined."""
    undetermined = []

    def solve(rows: Indices, m: int) -> tuple[Floats, Floats, Floats]:
        own = matrix if len(rows) == len(labels) else sparse.csr_array(matrix[rows][:, rows])
        found = smallest_semidefinite_eigenpairs(own, m)
        if not found.determined:
            undetermined.append(found)
        return found.values, found.residuals, found.vectors

    solution = solve_by_part(labels, n_components, solve)
    if undetermined:
        first = undetermined[0]
        warn(
            "TZ403",
            f"LocallyLinearEmbedding: the coordinates are not determined. The eigenvalue {first.values[-1]:.2g} of the last "
            f"and {first.next_value:.2g} of the following one differ by less than the rounding error {first.rounding:.2g}. "
            "Change the number of neighbours, or use another method.",
        )
    return solution
