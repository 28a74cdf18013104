"""UMAP: uniform manifold approximation and projection."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.spatial import ConvexHull, QhullError
from sklearn.utils.validation import check_is_fitted

from tamiz.arrays import Floats, Indices, Masks
from tamiz.exceptions import DataError
from tamiz.graphs.builders import GraphBuilder, KNearest
from tamiz.graphs.edges import Binary, Edges
from tamiz.graphs.graph import Graph
from tamiz.kernels.edge_sampling import LANES, Epoch, cross_entropy, move_rows, smooth_memberships
from tamiz.neighbors.base import Neighbors
from tamiz.neighbors.exact_search import choose_exact_search
from tamiz.neighbors.points import EuclideanPoints
from tamiz.reduction.description import MapDescription
from tamiz.reduction.graph_reducer import shortest_edges
from tamiz.reduction.neighbor_embedding import Callback, Descent, NeighborEmbedding, initial_layout, mean_of_neighbors
from tamiz.runtime import parallel
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.user_warnings import list_names, warn
from tamiz.runtime.validation import check_integer, check_positive, check_real
from tamiz.storage.invariants import FloatArray, Integer, IntegerArray, Invariants, Number
from tamiz.table.encode import TableEncoder
from tamiz.table.factory import row_numbers
from tamiz.table.in_memory import read_target_vector

INIT_CHOICES = ("spectral", "pca", "random")
_DEFAULT_NEIGHBORS = 15
# Most draws for each sampled edge.
_MAX_DRAWS = 1_000
# Extent of a named initial layout along each axis, and the standard deviation of the noise that separates equal points. An axis
# whose coordinates differ by less than rounding errors stays short: the principal components of rows on a line, for example.
_INITIAL_EXTENT, _INITIAL_NOISE, _ROUNDING_ERROR = 10.0, 1e-4, 1e-9
# Extents of a given initial layout within which the descent works.
_INITIAL_EXTENTS = 1e-6, 100.0
# Converged if further epochs lower the cross entropy by at most this share, or by 1 / n for n rows, if that is more: the draws of
# few rows differ by as much.
_CONVERGED_DECREASE = 0.01
# Penalty of the slopes of `inverse_transform`, in units of the scatter of the neighbours on the map.
_RIDGE = 0.01
# Numbers of one block of rows; coordinates up to which a convex hull is computed; its rounding, relative to the extent of the map.
_BLOCK_SIZE, _MAX_HULL_COORDINATES, _HULL_TOLERANCE = 2**20, 4, 1e-6
# Rows of one task (a multiple of LANES), and pairs for the cross entropy of all rows, but at least some for each row.
_ROWS_PER_TASK, _N_PAIRS, _MIN_PAIRS_PER_ROW = 2048, 500_000, 8
# Epochs and learning rate that show whether a layout has converged.
CHECK_EPOCHS, _CHECK_RATE = 10, 0.01
# New rows: rows of the fit that they are repelled from, the least number of epochs, and the learning rate at the start.
_POOL_SIZE, _MIN_EPOCHS, _INITIAL_RATE = 4096, 100, 0.25
# Logarithms of the factors: of an edge to a row without a target, and of one between classes at weight 0.
_UNKNOWN, _DIFFERENT = -1.0, -2.5
# Bounds of the membership of pairs without an edge in one of two graphs, as in the reference implementation.
_LEAST_MEMBERSHIP, _MOST_LEAST_MEMBERSHIP = 1e-8, 1e-4

Coordinates = NDArray[np.float32]
EdgesOfRows = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]


class UMAP(NeighborEmbedding):
    """UMAP: rows that are neighbours in the table are neighbours on the map, in compact groups.

    Every row i descends its own cost, whose mean over the rows is the cross entropy:

    .. math:: C_i = -\\sum_{j \\ne i} \\left[ 2 w_{ij} \\log v_{ij} + m_i \\log(1 - v_{ij}) \\right], \\quad
        v_{ij} = \\frac{1}{1 + a |y_i - y_j|^{2b}}, \\quad m_i = \\frac{\\gamma s}{n} \\sum_j w_{ij}

    where the membership :math:`w_{ij} = u_{ij} + u_{ji} - u_{ij} u_{ji}` joins
    :math:`u_{ij} = \\exp(-\\max(d_{ij} - \\rho_i, 0) / \\sigma_i)` of the nearest neighbours of both rows. :math:`\\rho_i` is the
    distance of the nearest neighbour that is not equal to row i, and :math:`\\sigma_i` gives the :math:`u_{ij}` of row i the sum
    :math:`\\log_2` of `n_neighbors`. The attraction counts twice, because an edge is sampled from both of its ends. The repulsion
    is that of random draws: s is `negative_sample_rate`, and :math:`\\gamma` is `repulsion_strength`.

    Parameters
    ----------
    n_components : int, default=2
        Number of coordinates.
    n_neighbors : int, default=None
        Nearest neighbours of each row, the row itself included, from 2 to n. None is 15, or n if there are fewer rows.
    min_dist : float, default=0.1
        Distance on the map within which neighbours attract each other little, from 0 to `spread`.
    spread : float, default=1
        Scale of the map: v falls to about exp(-1) at the distance `min_dist` + `spread`.
    n_epochs : int, default=500
        Passes over the edges, in each of which an edge is sampled w times on average. The learning rate falls from 1 to 0, as
        (1 - t)^2 of the share t that is done.
    negative_sample_rate : int, default=5
        Draws of rows that repel, for each sampled edge, at least 1.
    repulsion_strength : float, default=1
        Factor of the repulsion, at least 0.
    local_connectivity : float, default=1
        Number of nearest neighbours with the membership 1, at least 0; fractions are interpolated.
    set_op_mix_ratio : float, default=1
        From 1, where two rows are joined if one is a neighbour of the other, to 0, where both must be neighbours of the other.
    target_weight : float, default=0.5
        Weight of the target y, if it is passed to `fit`, from 0 to 1. Memberships of rows of different classes are multiplied by
        exp(-2.5 / (1 - target_weight)), which is 0.08 for 0, 0.007 for 0.5, and 0 for 1. For numbers, 0 joins rows by their columns
        and 1 by their targets, up to tiny memberships.
    init : {"spectral", "pca", "random"} or array of shape (n_samples, n_components), default="spectral"
        The initial layout: eigenvectors of the memberships, principal components, or random points, scaled to an extent of 10 along
        each axis; an array is used without scaling. Rows without coordinates, such as distances, use "spectral" in place of "pca".
    graph : GraphBuilder or Graph, default=None
        The neighbours; None is the graph of the n_neighbors - 1 nearest other rows of each row. In a graph of more edges, the
        shortest edges of each row are used; a row of fewer edges has fewer neighbours.
    random_state : int, Generator or None, default=None
        Seed of the draws, and of the random part of the initial layout. None is another seed in every fit.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Equal rows have the coordinates of the first of them.
    cross_entropy_ : float
        The mean of C_i, in nats, with w divided by its largest value. The attraction is exact. The repulsion is estimated from
        500,000 pairs of rows, or from 8 pairs of each row if these are more; it is exact for up to 707 rows.
    cross_entropy_history_ : ndarray of shape (n_checks, 2)
        Epochs done and the cross entropy, after every 50 epochs and after the last. While the learning rate is high, random draws
        keep it high.
    n_epochs_ : int
        Epochs done.
    converged_ : bool
        Whether 10 further epochs at a learning rate of 0.01 lower the cross entropy by at most 1 %, or 1 / n below 100 rows, or the
        10 epochs after these by at most half as much.
    n_neighbors_ : int
        The number of neighbours that was used.
    memberships_ : csr_array of shape (n_samples, n_samples)
        The symmetric memberships w, after the target.
    a_, b_ : float
        The parameters of v, for which it is closest to 1 within `min_dist`, and to exp(-(d - min_dist) / spread) beyond.
    graph_ : Graph

    Raises
    ------
    DataError
        When there are fewer than 2 rows, init is invalid, or y has another number of values than there are rows.
    ValueError
        When a parameter is out of range.
    MemoryError
        When the neighbours of all rows do not fit in memory.

    Warns
    -----
    ConvergenceWarning
        When `converged_` is false.
    TamizWarning
        When the graph falls into several components.

    Notes
    -----
    Distances between groups and sizes of groups on the map have little meaning: only neighbourhoods are fitted. A supervised map
    shows the target that it was given. Separate classes on it are no evidence of a relation to the columns: evaluate them on
    held-out rows, mapped by `transform`.

    Cost of the graph, and O(n (k + s log k)) for each epoch with k neighbours and s draws. In an epoch every row moves on its own:
    along its sampled edges, each by an implicit step that never passes the middle of the edge, and away from drawn rows. All other
    rows are where they were before the epoch, and draws are hashes of the seed, the epoch and the row, so the same seed gives the
    same bits for any number of threads.

    The moves minimise half the sum of all C_i where :math:`m_i` is the same for all rows. Otherwise no common objective has these
    moves, because a drawn row is not moved by the draw (Damrich and Hamprecht 2021).

    `transform` moves each new row alone in the same way, from the weighted mean of its nearest rows of the fit, which stay fixed.
    It runs a third of the epochs of the fit, at least 100, at half the learning rate. A row that is equal to a row of the fit gets
    its coordinates.

    References
    ----------
    McInnes, Healy and Melville (2018), UMAP: Uniform manifold approximation and projection for dimension reduction,
    arXiv:1802.03426; Damrich and Hamprecht (2021), On UMAP's true loss function, NeurIPS 34.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tamiz.reduction import UMAP
    >>> X = load_digits().data[:400]
    >>> mapped = UMAP(random_state=0).fit(X)
    >>> mapped.embedding_.shape, mapped.n_neighbors_
    ((400, 2), 15)
    >>> mapped.transform(X[:3] + 0.5).shape
    (3, 2)
    """

    cross_entropy_history_: Floats
    cross_entropy_: float
    n_epochs_: int
    memberships_: sparse.csr_array
    n_neighbors_: int
    a_: float
    b_: float
    _seed: int
    _mean_length: float
    invariants: ClassVar[Invariants] = {
        "memberships_.indptr": IntegerArray("n+1"),
        "memberships_.data": FloatArray("m", low=0.0, high=1.0, allow_float32=True),
        "cross_entropy_": Number(),
        "cross_entropy_history_": FloatArray("c", 2),
        "n_epochs_": Integer(),
        "n_neighbors_": Integer(low=2),
        "a_": Number(0.0),
        "b_": Number(0.0),
        "_seed": Integer(low=0),
        "_mean_length": Number(0.0),
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int | None = None,
        min_dist: float = 0.1,
        spread: float = 1.0,
        n_epochs: int = 500,
        negative_sample_rate: int = 5,
        repulsion_strength: float = 1.0,
        local_connectivity: float = 1.0,
        set_op_mix_ratio: float = 1.0,
        target_weight: float = 0.5,
        init: str | ArrayLike = "spectral",
        graph: GraphBuilder | Graph | None = None,
        random_state: Seed = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.min_dist = min_dist
        self.spread = spread
        self.n_epochs = n_epochs
        self.negative_sample_rate = negative_sample_rate
        self.repulsion_strength = repulsion_strength
        self.local_connectivity = local_connectivity
        self.set_op_mix_ratio = set_op_mix_ratio
        self.target_weight = target_weight
        self.init = init
        self.graph = graph
        self.random_state = random_state

    def fit(self, X: Any = None, y: Any = None, *, callback: Callback | None = None) -> Self:
        """Build the graph and optimise the layout.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Table, default=None
            Input of the graph builder. For a built Graph the rows that it was built from, or None. The target of a Table is not
            used.
        y : array of shape (n_samples,), default=None
            Classes or numbers; whole numbers of up to 20 values are classes. Edges between different classes are weakened, and rows
            of near numbers are joined. Rows with a missing value have no target; -1 is a class or number like others. Graphs that
            connect rows by class use y too. None maps the rows by their columns alone.
        callback : callable, default=None
            Called as `callback(n_epochs, cross_entropy, embedding)` after every 50 epochs; a true result ends the fit.
        """
        m = check_integer("n_components", self.n_components, low=1)
        n_epochs = check_integer("n_epochs", self.n_epochs, low=1)
        weight = check_real("target_weight", self.target_weight, low=0.0, high=1.0)
        mix_ratio = check_real("set_op_mix_ratio", self.set_op_mix_ratio, low=0.0, high=1.0)
        connectivity = check_real("local_connectivity", self.local_connectivity, low=0.0)
        rng = make_rng(self.random_state)
        with parallel.thread_session():
            n = self._count_rows(X)
            n_neighbors = self._check_n_neighbors(n)
            settings = self._settings(*fit_curve(self.min_dist, self.spread), seed=int(rng.integers(2**31)))
            graph = self._build_neighbor_graph(X, y, n, "Lower n_neighbors.")
            edges = shortest_edges(graph, n_neighbors - 1)
            mean_length = mean_neighbor_length(edges.indptr, edges.lengths)
            memberships = joint_memberships(edges, connectivity, mix_ratio)
            del edges
            if y is not None:
                memberships = intersect_target(memberships, y, weight, n_neighbors)
                _warn_of_isolated_rows(memberships, row_numbers(X))
            points = initial_layout(self.init, INIT_CHOICES, graph, memberships, m, rng, _INITIAL_EXTENTS)
            if isinstance(self.init, str):
                points -= points.min(axis=0)
                points *= _INITIAL_EXTENT / np.maximum(points.max(axis=0), _ROUNDING_ERROR)
                points += _INITIAL_NOISE * rng.standard_normal(points.shape)
            self._fit_layout(
                X, graph, EdgeSampling(memberships, points, settings), _learning_rates(0, n_epochs), callback,
                memberships_=memberships, n_neighbors_=n_neighbors, a_=settings.a, b_=settings.b, _seed=settings.seed,
                _mean_length=mean_length,
            )  # fmt: skip
        return self

    def continue_fit(self, n_epochs: int = 250, *, callback: Callback | None = None) -> Self:
        """Run further epochs from the fitted layout, from the learning rate that a fit of all epochs together would have there.

        Parameters
        ----------
        n_epochs : int, default=250
            Epochs, after those of the fit.
        callback : callable, default=None
            As for `fit`.
        """
        check_is_fitted(self)
        earlier = self.n_epochs_
        n_all = earlier + check_integer("n_epochs", n_epochs, low=1)
        settings = self._settings(self.a_, self.b_, self._seed)._replace(number=earlier)
        with parallel.thread_session():
            descent = EdgeSampling(self.memberships_, self.embedding_, settings)
            rates = _learning_rates(earlier, n_all)
            self._continue_layout(descent, rates, callback, self.cross_entropy_history_, earlier)
        return self

    def _n_graph_neighbors(self, n_samples: int) -> int:
        return self._check_n_neighbors(n_samples) - 1

    def _check_n_neighbors(self, n: int) -> int:
        if self.n_neighbors is None:
            return min(_DEFAULT_NEIGHBORS, n)
        n_neighbors = check_integer("n_neighbors", self.n_neighbors, low=2)
        if n_neighbors > n:
            raise ValueError(
                f"n_neighbors must be at most the number of rows = {n:,}, because it includes the row itself, got "
                f"{n_neighbors:,}."
            )
        return n_neighbors

    def _settings(self, a: float, b: float, seed: int) -> Epoch:
        strength = check_positive("repulsion_strength", self.repulsion_strength)
        n_draws = check_integer("negative_sample_rate", self.negative_sample_rate, low=1, high=_MAX_DRAWS)
        return Epoch(a, b, strength, 1.0, 0, n_draws, seed, 1)

    def _set_history(self, descent: Descent, history: Floats, n_steps: int) -> None:
        assert isinstance(descent, EdgeSampling)
        self.cross_entropy_history_, self.cross_entropy_, self.n_epochs_ = history, descent.history[-1][1], n_steps
        tolerance = max(_CONVERGED_DECREASE, 1.0 / len(self.embedding_))
        decrease = descent.further_decrease(tolerance)
        self.converged_ = decrease <= tolerance
        if not self.converged_:
            warn(
                "TZ501",
                f"UMAP: not converged after {self.n_epochs_:,} epochs: {CHECK_EPOCHS} further ones lower the cross entropy by "
                f"{decrease:.1%}. Raise the number of epochs (n_epochs), or continue (continue_fit).",
            )

    def describe(self) -> MapDescription:
        """Describe the neighbours, the cross entropy and the convergence."""
        check_is_fitted(self)
        return self._describe_descent(
            f"its {self.n_neighbors_ - 1:,} nearest rows in the table, and repels other rows, drawn at random",
            f"The cross entropy of the map, {self.cross_entropy_:.3g} for each row",
            f"{self.n_epochs_:,} epochs",
        )

    def _map_new_rows(self, X: Any) -> tuple[Floats, Indices]:
        attached = self.graph_.attach(X)
        settings = self._settings(self.a_, self.b_, self._seed)
        points = np.asarray(self.embedding_, dtype=np.float64)
        near = attached.neighbors.nearest(self.n_neighbors_ - 1)
        embedding = place_rows(near, self.local_connectivity, self._mean_length, points, settings, self.n_epochs_)
        return embedding, attached.duplicate_of

    def inverse_transform(self, X: Any) -> NDArray[Any]:
        """Return rows of the table that belong to points of the map, each independently of the others.

        The row of a point z is the value at z of the linear regression of the fitted rows x_j on their places y_j, for the
        `n_neighbors_` nearest places, with the weights v(z, y_j) of the map and the slopes shrunk.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_components)
            Points of the map. The columns of a frame are matched by name.

        Returns
        -------
        ndarray of shape (n_samples, n_columns)
            In the units of the table, without missing values: those of the fitted rows count as the mean of their column.

        Raises
        ------
        DataError
            When the graph was made from edges or distances, or from rows with categories, of cosine distances, or sparse.

        Warns
        -----
        TamizWarning
            When points are outside the convex hull of the map, up to 4 coordinates. Slopes are not continued beyond the neighbours.

        Notes
        -----
        A map does not contain what distinguishes rows at one place, so rows are smoothed. The distance of a held-out row x from
        `inverse_transform(transform(x))` is .55 of that from the mean row for digits, and .09 for a swiss roll. It is .68 and .12
        from the nearest fitted row, and .56 and .19 from the weighted mean of the neighbours. A descent from this mean along the
        cross entropy of v and memberships in the table, the method of umap-learn, ended no nearer.
        """
        check_is_fitted(self)
        given = self._read_coordinates(X)
        z = given.astype(np.float64)
        rows, scale, centre = self._numeric_rows()
        places = np.asarray(self.embedding_, dtype=np.float64)
        if (outside := np.flatnonzero(_is_outside(z, places))).size:
            are = "point is" if outside.size == 1 else "points are"
            warn(
                "TZ504",
                f"UMAP.inverse_transform: {outside.size:,} {are} outside the convex hull of the map, where no row was "
                f"fitted: {list_names(outside)}.",
            )
        k, out = min(self.n_neighbors_, len(places)), np.empty((len(z), rows.shape[1]))
        with parallel.thread_session():
            points = EuclideanPoints(places)
            near = choose_exact_search(points).fit(points).query(k, EuclideanPoints(z)).indices.reshape(-1, k)
            for first, last in parallel.block_ranges(len(z), 1 + _BLOCK_SIZE // (k * rows.shape[1])):
                at = near[first:last]
                weights = _regression_weights(z[first:last], places[at], self.a_, self.b_)
                out[first:last] = (weights[:, None] @ rows[at])[:, 0]
        return np.asarray(out * scale + centre, dtype=given.dtype)

    def _numeric_rows(self) -> tuple[Floats, Floats, Floats]:
        """Return the fitted rows as they were read, and the scale and centre that lead back to the units of the table."""
        rule = getattr(self.graph_, "neighbor_rule", None)
        encoder, points = (None, None) if rule is None else (rule.row_encoder, rule.index.points)
        if (
            not isinstance(points, EuclideanPoints)
            or not isinstance(encoder, TableEncoder)
            or encoder.schema.categorical
        ):
            raise DataError(
                "UMAP.inverse_transform needs a graph of dense numeric rows under the metric 'euclidean', 'seuclidean' or "
                "'cityblock'. Encode categories as numbers before the fit."
            )
        encoding = encoder.encoding
        return points.values, encoding.scale, encoding.centre


def _regression_weights(z: Floats, places: Floats, a: float, b: float) -> Floats:
    """Return the weights of neighbours, at places of shape (n, k, m), in the locally linear regression at each of n points."""
    weights = 1.0 / (1.0 + a * np.linalg.norm(places - z[:, None], axis=2) ** (2.0 * b))
    weights /= weights.sum(axis=1, keepdims=True)
    mean = (weights[:, None] @ places)[:, 0]
    centred = places - mean[:, None]
    scatter = (centred * weights[:, :, None]).transpose(0, 2, 1) @ centred
    spread = np.trace(scatter, axis1=1, axis2=2)
    ridge = np.where(spread > 0.0, _RIDGE * spread, 1.0)
    scatter += ridge[:, None, None] * np.eye(z.shape[1])
    # Beyond its neighbours a point is moved back to their radius.
    step, radius = z - mean, np.linalg.norm(centred, axis=2).max(axis=1)
    length = np.linalg.norm(step, axis=1)
    step *= np.minimum(1.0, radius / np.where(length > 0.0, length, 1.0))[:, None]
    slopes = np.linalg.solve(scatter, step[:, :, None])
    return np.asarray(weights * (1.0 + (centred @ slopes)[:, :, 0]))


def _is_outside(z: Floats, places: Floats) -> Masks:
    """Return whether points are outside the convex hull of the places, or outside their ranges where a hull is not computed."""
    low, high = places.min(axis=0), places.max(axis=0)
    tolerance = _HULL_TOLERANCE * float((high - low).max())
    outside = ((z < low - tolerance) | (z > high + tolerance)).any(axis=1)
    if 2 <= z.shape[1] <= _MAX_HULL_COORDINATES:
        try:
            faces = ConvexHull(places).equations
        except QhullError:
            # The places are on a line or a plane.
            return np.asarray(outside)
        outside |= (z @ faces[:, :-1].T + faces[:, -1]).max(axis=1) > tolerance
    return np.asarray(outside)


def _learning_rates(first: int, n_epochs: int) -> Floats:
    """Return the learning rates from an epoch to the last of n_epochs.

    The linear decrease of the reference implementation leaves too few epochs of low rates, in which single neighbours are fitted.
    """
    return np.asarray((1.0 - np.arange(first, n_epochs) / n_epochs) ** 2)


def fit_curve(min_dist: float, spread: float) -> tuple[float, float]:
    """Return the a and b for which 1 / (1 + a d^(2b)) is closest to 1 up to min_dist, and to exp(-(d - min_dist) / spread) beyond.

    Closest in the sum of squares over 300 distances from 0 to 3 spread.
    """
    spread = check_positive("spread", spread)
    min_dist = check_real("min_dist", min_dist, low=0.0)
    if min_dist > spread:
        raise ValueError(f"min_dist must be at most spread = {spread:g}, got {min_dist:g}.")
    from scipy.optimize import curve_fit

    # In units of spread, and without the distance 0, where v is 1 for every a and b.
    distances = np.linspace(0.0, 3.0, 300)[1:]
    wanted = np.exp(-np.maximum(distances - min_dist / spread, 0.0))
    (a, b), _ = curve_fit(lambda d, a, b: 1.0 / (1.0 + a * d ** (2.0 * b)), distances, wanted)
    return float(a) / spread ** (2.0 * float(b)), float(b)


def _warn_of_isolated_rows(memberships: sparse.csr_array, numbers: Indices | None) -> None:
    """Warn of rows without any membership, which stay where the initial layout has them."""
    alone = np.flatnonzero(np.diff(memberships.indptr) == 0)
    if alone.size:
        first = alone[0] if numbers is None else numbers[alone[0]]
        warn(
            "TZ401",
            f"UMAP: the target leaves {alone.size:,} of {memberships.shape[0]:,} rows without a neighbour, the first is row "
            f"{first}; they stay where the initial layout has them. Lower target_weight.",
        )


def row_memberships(
    indptr: NDArray[np.int64], lengths: Floats, local_connectivity: float, mean_length: float | None = None
) -> Floats:
    """Return the membership of every edge, of the rows in CSR form: 1 for the nearest neighbour, less for further ones.

    Those of k edges have the sum log2(k + 1) as far as the lengths allow. `mean_length` limits the widths of rows whose neighbours
    are all equal to them; None is the mean over all rows, each of which counts as its own neighbour.
    """
    if mean_length is None:
        mean_length = mean_neighbor_length(indptr, lengths)
    out = np.empty(len(lengths))
    parallel.run_blocks(
        lambda span: smooth_memberships(indptr, lengths, local_connectivity, mean_length, *span, out),
        parallel.block_ranges(len(indptr) - 1, _ROWS_PER_TASK),
    )
    return out


def mean_neighbor_length(indptr: NDArray[np.int64], lengths: Floats) -> float:
    """Return the mean length of the edges, with one of length 0 from each row to itself."""
    return float(lengths.sum()) / (len(lengths) + len(indptr) - 1)


def fuzzy_union(directed: sparse.csr_array, mix_ratio: float = 1.0) -> sparse.csr_array:
    """Return the symmetric memberships: the union a + b - a b, mixed with the intersection a b."""
    transposed = sparse.csr_array(directed.T)
    product = directed * transposed
    union = sparse.csr_array(mix_ratio * (directed + transposed) + (1.0 - 2.0 * mix_ratio) * product)
    union.eliminate_zeros()
    return union


def joint_memberships(edges: Edges, local_connectivity: float, mix_ratio: float) -> sparse.csr_array:
    """Return the symmetric memberships of UMAP, in float32."""
    found = row_memberships(edges.indptr, edges.lengths, local_connectivity).astype(np.float32)
    return fuzzy_union(edges.matrix(found), mix_ratio)


def intersect_target(memberships: sparse.csr_array, y: ArrayLike, weight: float, n_neighbors: int) -> sparse.csr_array:
    """Return memberships for which near rows have a similar target too; rows with a missing value have no target.

    A weight of 0 joins different classes by a twelfth, and numbers hardly count; with 1 only rows of the same class, or of near
    values, are joined. Each row has `n_neighbors` rows of the most similar values, itself included.
    """
    values, is_number = read_target_vector(y, "y")
    n = memberships.shape[0]
    if len(values) != n:
        raise DataError(f"y has {len(values):,} values for {n:,} rows: inconsistent numbers of samples.")
    known = ~np.isnan(values) if is_number else values >= 0
    if not known.any():
        return memberships
    if is_number:
        found = _intersect_values(memberships, values, known, weight, n_neighbors)
    else:
        found = _intersect_classes(memberships, values, known, weight)
    # The strongest edge of every row has the membership 1 again.
    largest = found.max(axis=1).toarray().ravel()
    found.data /= np.repeat(np.where(largest > 0.0, largest, 1.0), np.diff(found.indptr)).astype(found.dtype)
    return fuzzy_union(found)


def _intersect_classes(memberships: sparse.csr_array, values: Any, known: Any, weight: float) -> sparse.csr_array:
    found = memberships.copy()
    rows = np.repeat(np.arange(len(values)), np.diff(found.indptr))
    both = known[rows] & known[found.indices]
    different = both & (values[rows] != values[found.indices])
    with np.errstate(divide="ignore"):
        strength = float(np.exp(np.divide(_DIFFERENT, 1.0 - weight)))
    found.data[different] *= np.float32(strength)
    found.data[~both] *= np.float32(np.exp(_UNKNOWN))
    found.eliminate_zeros()
    return found


def _intersect_values(
    memberships: sparse.csr_array, values: Any, known: Any, weight: float, n_neighbors: int
) -> sparse.csr_array:
    of_target = _target_memberships(values, known, n_neighbors)
    pairs = sparse.csr_array(memberships + of_target)
    for matrix in (pairs, memberships, of_target):
        matrix.sort_indices()
    rows = np.repeat(np.arange(len(values)), np.diff(pairs.indptr))
    left, right = _values_of_pairs(memberships, pairs), _values_of_pairs(of_target, pairs, _MOST_LEAST_MEMBERSHIP)
    unknown = ~(known[rows] & known[pairs.indices])
    right[unknown] = np.exp(_UNKNOWN)
    # The larger exponent is 1.
    powers = (1.0, weight / (1.0 - weight)) if weight < 0.5 else ((1.0 - weight) / weight, 1.0)
    pairs.data = (left ** powers[0] * right ** powers[1]).astype(np.float32)
    pairs.eliminate_zeros()
    return pairs


def _target_memberships(values: Any, known: Any, n_neighbors: int) -> sparse.csr_array:
    """Return the memberships of the rows of the nearest values, among the rows that have one.

    They are directed, as in the reference implementation: the union after the intersection makes them symmetric.
    """
    n, rows = len(values), np.flatnonzero(known)
    k = min(n_neighbors, len(rows)) - 1
    if k < 1 or np.ptp(values[rows]) == 0.0:
        return sparse.csr_array((n, n), dtype=np.float32)
    graph = KNearest(k, weight=Binary(), symmetry="directed").build(values[rows, None], warn_components=False)
    edges = graph.edges
    found = row_memberships(edges.indptr, edges.lengths, 1.0).astype(np.float32)
    return sparse.csr_array((found, (rows[edges.rows], rows[edges.indices])), shape=(n, n))


def _values_of_pairs(graph: sparse.csr_array, pairs: sparse.csr_array, most: float = np.inf) -> Floats:
    """Return the memberships of pairs that contain the edges of the graph; of others, half its least membership."""
    least = max(float(graph.data.min()) / 2.0, _LEAST_MEMBERSHIP) if graph.nnz else _LEAST_MEMBERSHIP
    found = np.full(pairs.nnz, min(least, most))
    keys = [np.repeat(np.arange(m.shape[0]), np.diff(m.indptr)) * m.shape[1] + m.indices for m in (pairs, graph)]
    found[np.searchsorted(*keys)] = graph.data
    return found


class EdgeSampling(Descent):
    """Descent of the cross entropy from initial points; a step is an epoch, and its setting the learning rate.

    The memberships are symmetric. Of the settings, `number` is the number of the first epoch.
    """

    steps_name = "Epochs"

    def __init__(self, memberships: sparse.csr_array, points: Floats, settings: Epoch) -> None:
        super().__init__()
        n = len(points)
        # Rows that move at once should have similar numbers of draws.
        self._order = np.argsort(np.asarray(memberships.sum(axis=1)).ravel(), kind="stable").astype(np.int32)
        place = np.empty(n, dtype=np.int32)
        place[self._order] = np.arange(n, dtype=np.int32)
        graph = memberships[self._order]
        largest = np.float32(graph.data.max()) if graph.nnz else np.float32(1.0)
        rates = graph.data.astype(np.float32) / largest
        self._edges: EdgesOfRows = graph.indptr.astype(np.int64), place[graph.indices], rates
        self._settings = settings
        self._points = _as_lines(points[self._order])
        self._moved = np.empty_like(self._points)
        self._spans = parallel.block_ranges(n, _ROWS_PER_TASK)
        n_shifts = min(n - 1, max(_MIN_PAIRS_PER_ROW, _N_PAIRS // n))
        self._shifts = 1 + np.sort(np.random.default_rng(settings.seed).choice(n - 1, n_shifts, replace=False))

    @property
    def points(self) -> Floats:
        out = np.empty((len(self._order), len(self._points)))
        out[self._order] = self._points[:, : len(self._order)].T
        return out

    def further_decrease(self, tolerance: float) -> float:
        """Return the share by which a few epochs at a low learning rate lower the last cross entropy; the layout stays as it is.

        A decrease above `tolerance` is compared with that of as many epochs again, which must be at least half of it to count:
        among many equal rows the cross entropy depends on the learning rate, and the first decrease is that of the new rate.
        """
        layout, n_steps, costs = self._points.copy(), self.n_steps, [self.history[-1][1]]
        decreases: list[float] = []
        while len(decreases) < 2 and (not decreases or decreases[0] > tolerance):
            for _ in range(CHECK_EPOCHS):
                self._step(_CHECK_RATE)
                self.n_steps += 1
            costs.append(self.cost())
            decreases.append(1.0 - costs[-1] / costs[-2] if costs[-2] > 0.0 else 0.0)
        self._points, self.n_steps = layout, n_steps
        return min(decreases[0], 2.0 * decreases[-1])

    def _step(self, rate: float) -> None:
        settings = self._settings._replace(rate=rate, number=self._settings.number + self.n_steps)
        _move_all(self._points, self._points, self._points, self._edges, settings, self._moved, self._spans)
        self._points, self._moved = self._moved, self._points
        _wrap(self._points, len(self._order))

    def cost(self) -> float:
        """Return the cross entropy for each row, estimated from fixed pairs of rows."""
        costs = parallel.map_blocks(
            lambda span: cross_entropy(self._points, *self._edges, self._shifts, self._settings, *span), self._spans
        )
        return sum(costs) / len(self._order)


def place_rows(
    near: Neighbors, local_connectivity: float, mean_length: float, points: Floats, settings: Epoch, n_epochs: int
) -> Floats:
    """Return the coordinates of new rows, given their neighbours among fitted rows at `points`.

    A row starts at the weighted mean of its neighbours, and moves as in a fit while these stay fixed. All rows have the same draws,
    so that a place depends on nothing but its row.
    """
    memberships = row_memberships(near.indptr, near.distances, local_connectivity, mean_length)
    with np.errstate(invalid="ignore"):
        weights, sums = mean_of_neighbors(near, memberships, points)
        start = sums / np.asarray(weights.sum(axis=1))[:, None]
    # Rows at an infinite distance have no memberships, and stay NaN.
    finite = np.isfinite(start).all(axis=1)
    places = _as_lines(np.where(finite[:, None], start, 0.0))
    moved = np.empty_like(places)
    drawn = np.random.default_rng(settings.seed).choice(len(points), min(len(points), _POOL_SIZE), replace=False)
    fixed, pool = _as_lines(points), _as_lines(np.repeat(points[drawn], LANES, axis=0))
    edges = near.indptr, near.indices, np.nan_to_num(memberships).astype(np.float32)
    spans = parallel.block_ranges(near.n_rows, _ROWS_PER_TASK)
    n_epochs = max(_MIN_EPOCHS, n_epochs // 3)
    for number in range(n_epochs):
        settings = settings._replace(rate=_INITIAL_RATE * (1.0 - number / n_epochs), number=number, own_draws=0)
        _move_all(places, fixed, pool, edges, settings, moved, spans)
        places, moved = moved, places
    out = places[:, : near.n_rows].T.astype(np.float64)
    out[~finite] = np.nan
    return out


def _move_all(
    rows: Coordinates,
    points: Coordinates,
    pool: Coordinates,
    edges: EdgesOfRows,
    settings: Epoch,
    out: Coordinates,
    spans: list[tuple[int, int]],
) -> None:
    parallel.run_blocks(lambda span: move_rows(rows, points, pool, *edges, settings, *span, out), spans)


def _as_lines(points: Floats) -> Coordinates:
    """Return points as lines of coordinates, of shape (m, n + LANES)."""
    n, m = points.shape
    lines = np.empty((m, n + LANES), dtype=np.float32)
    lines[:, :n] = points.T
    _wrap(lines, n)
    return lines


def _wrap(lines: Coordinates, n: int) -> None:
    lines[:, n:] = lines[:, np.arange(LANES) % n]
