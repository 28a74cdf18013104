"""t-SNE: t-distributed stochastic neighbour embedding."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import fft, sparse
from sklearn.utils.validation import check_is_fitted

from tamiz.arrays import Floats, Indices
from tamiz.exceptions import DataError
from tamiz.graphs.builders import GraphBuilder, KNearest
from tamiz.graphs.edges import Binary, Edges
from tamiz.graphs.graph import Graph
from tamiz.kernels import read_only
from tamiz.kernels.neighbor_embedding import (
    Cells,
    attract,
    attract_in_plane,
    attract_queries,
    build_cells,
    descend,
    edge_cost,
    interpolate_from_grid,
    morton_codes,
    perplexity_affinities,
    repel_by_cells,
    repel_exactly,
    spread_on_grid,
)
from tamiz.neighbors.base import Neighbors
from tamiz.reduction.description import MapDescription
from tamiz.reduction.graph_reducer import shortest_edges
from tamiz.reduction.neighbor_embedding import (
    CHECK_INTERVAL,
    Callback,
    Descent,
    NeighborEmbedding,
    initial_layout,
    mean_of_neighbors,
)
from tamiz.runtime import parallel
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.user_warnings import warn
from tamiz.runtime.validation import check_choice, check_integer, check_positive, check_real
from tamiz.storage.invariants import FloatArray, Integer, Invariants, Number
from tamiz.table.schema import Schema

INIT_CHOICES = ("pca", "spectral", "random")
_DEFAULT_PERPLEXITY = 30.0
# Neighbours of a row for each unit of the perplexity: further ones have affinities near 0.
_NEIGHBORS_PER_PERPLEXITY = 3
# Largest number of rows on which a study fits it.
_MAX_STUDY_ROWS = 20_000
# Standard deviation of the first coordinate of a named initial layout.
_INITIAL_DEVIATION = 1e-4
# Extents of a given initial layout within which the descent works.
_INITIAL_EXTENTS = 1e-12, 1_000.0
# Converged if the last 50 iterations, all with the final exaggeration, lowered the divergence by at most this share or by a
# thousandth, and the layout has grown from the initial one.
_CONVERGED_DECREASE, _NEGLIGIBLE_DECREASE, _MIN_EXTENT = 0.02, 1e-3, 0.01
# Largest share of rows whose last step has the greatest length.
_MAX_CLIPPED_SHARE = 0.01
# The longest step, and the momentum.
_MAX_STEP, _MOMENTUM = 5.0, 0.8
# New rows: steps of each, share of a majorisation step, length of a step at convergence, and width around the map in which they
# may be mapped.
_MAX_STEPS, _STEP_SHARE, _TOLERANCE, _NEW_ROW_MARGIN = 100, 0.5, 1e-3, 10.0
# Rows of one task; affinities are computed in parts, because in float64 they take as much memory as the lengths.
_ROWS_PER_TASK, _QUERIES_PER_STEP, _ROWS_PER_PART = 2048, 1024, 16_384

METHODS = ("exact", "cells", "grid")
# Distance between nodes of the grid: with cubic splines the forces have an error of about 1 % where points are sparse, less
# elsewhere. Layouts of a small extent have at least this number of nodes along the longer side.
_NODE_DISTANCE, _MIN_NODES = 1.0 / 3.0, 60
# Nodes outside the points: the splines need 2, and the deconvolution decays by a factor of 3.7 for each.
_MARGIN = 6
# A longer side would need a grid of gigabytes.
_MAX_GRID_EXTENT = 5_000.0
# Angle at which a cell acts as its centre: of a step, and of a value that is reported.
_THETA, _ACCURATE_THETA = 0.5, 0.2
# Points up to which reported values are exact sums.
_MAX_EXACT_POINTS = 3_000
# Numbers of blocks of points that spread on grids of their own, and of blocks of lines of a transform.
_SPREADING_BLOCKS, _TRANSFORM_BLOCKS = 8, 8
# Seconds of one core: per pair and coordinate (and one for the division) of exact sums, per node and binary digit of a transform,
# per point of a grid, and per point and level of a tree with one coordinate, three times as many for each further one.
_PAIR_COST, _NODE_COST, _GRID_POINT_COST, _CELL_COST = 9e-10, 6.5e-10, 7e-8, 5e-8


class TSNE(NeighborEmbedding):
    """t-SNE: rows that are neighbours in the table are neighbours on the map.

    .. math:: \\min_Y \\; KL(P \\| Q) = \\sum_{i \\ne j} p_{ij} \\log \\frac{p_{ij}}{q_{ij}}, \\quad
        q_{ij} = \\frac{(1 + |y_i - y_j|^2)^{-1}}{\\sum_{k \\ne l} (1 + |y_k - y_l|^2)^{-1}}

    where :math:`p_{ij} = (p_{j|i} + p_{i|j}) / 2n`, and :math:`p_{j|i}` is a Gaussian of the distance from row i to row j, whose
    width gives it the entropy :math:`\\log_2` of the perplexity.

    Parameters
    ----------
    n_components : int, default=2
        Number of coordinates.
    perplexity : float, default=None
        Effective number of neighbours of each row, at least 1. Each row needs 3 perplexity neighbours, so a number above
        (n - 1) / 3 is lowered to it, with a warning. None is 30, or less if there are fewer rows, or if rows of the graph have
        fewer than 90 edges.
    exaggeration : float, default=1
        Factor of the attraction. 1 is t-SNE. About 4 gives a map similar to that of UMAP, and larger factors approach Laplacian
        eigenmaps: continuous structure is preserved better, and single neighbours less well.
    early_exaggeration : float, default=12
        Factor of the attraction in the first `n_early_iter` iterations, in which groups form.
    n_early_iter, n_iter : int, default=250 and 500
        Iterations with `early_exaggeration`, and after these. In the first half of `n_iter` the factor falls geometrically to
        `exaggeration`, which leads to lower divergences than a sudden change. With n_early_iter=0 it is `exaggeration` throughout.
    learning_rate : "auto" or float, default="auto"
        Length of a step for each unit of the gradient; "auto" is n divided by the exaggeration of the iteration.
    init : {"pca", "spectral", "random"} or array of shape (n_samples, n_components), default="pca"
        The initial layout: principal components, eigenvectors of the affinities, or random points, scaled to a standard deviation
        of 1e-4; an array is used without scaling. Rows without coordinates, such as distances, use "spectral" in place of "pca".
    graph : GraphBuilder or Graph, default=None
        The neighbours; None is the graph of the 3 perplexity nearest neighbours of each row. In a graph of more edges, the shortest
        edges of each row are used.
    random_state : int, Generator or None, default=None
        Seed of a random initial layout, and of the places of small components in a spectral one. Nothing else is random.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Centred. Equal rows have the coordinates of the first of them.
    kl_divergence_ : float
        The Kullback-Leibler divergence of the layout in nats, at least 0, without exaggeration.
    kl_history_ : ndarray of shape (n_checks, 2)
        Iterations done and the divergence, after every 50 iterations.
    n_iter_ : int
        Iterations done, with early exaggeration included.
    converged_ : bool
        Whether the last 50 iterations, all with `exaggeration`, lowered the divergence by at most 2 % or 0.001, at most 1 % of the
        rows made steps of the greatest length, 5, and the layout has grown from the initial one.
    perplexity_ : float
        The perplexity that was used.
    graph_ : Graph

    Raises
    ------
    DataError
        When there are fewer than 2 rows, rows of the graph have too few edges for the perplexity, or init is invalid.
    ValueError
        When a parameter is out of range.
    MemoryError
        When the neighbours of all rows do not fit in memory.

    Warns
    -----
    ConvergenceWarning
        When `converged_` is false.
    TamizWarning
        When the graph falls into several components, or the perplexity is lowered.

    Notes
    -----
    Distances between groups and sizes of groups on the map have little meaning: only neighbourhoods are fitted.

    An iteration costs O(n perplexity) for the attraction, and for the repulsion the least of: O(n^2) for exact sums, O(n log n) for
    a tree of cells (up to three coordinates), or O(n + g log g) for a grid of g nodes, 3 along each unit of the map and at least 60
    along its longer side (up to two coordinates). The choice depends on n and on the extent of the map. Forces from a grid have a
    relative error of about 1 %, from a tree of 1 to 2 %. The same seed gives the same bits for any number of threads.

    `transform` maps each new row alone: its affinities to its nearest rows of the fit are computed in the same way, and it descends
    the divergence of its own row from the weighted mean of these rows, while the rows of the fit stay fixed. A row that is equal to
    a row of the fit gets its coordinates.

    References
    ----------
    van der Maaten and Hinton (2008), Visualizing data using t-SNE, Journal of Machine Learning Research 9; van der Maaten (2014),
    Accelerating t-SNE using tree-based algorithms, Journal of Machine Learning Research 15; Linderman et al. (2019), Fast
    interpolation-based t-SNE for improved visualization of single-cell RNA-seq data, Nature Methods 16; Böhm, Berens and Kobak
    (2022), Attraction-repulsion spectrum in neighbor embeddings, Journal of Machine Learning Research 23.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tamiz.reduction import TSNE
    >>> X = load_digits().data[:400]
    >>> mapped = TSNE(perplexity=15).fit(X)
    >>> mapped.embedding_.shape, mapped.n_iter_
    ((400, 2), 750)
    >>> mapped.transform(X[:3] + 0.5).shape
    (3, 2)
    """

    kl_history_: Floats
    kl_divergence_: float
    n_iter_: int
    perplexity_: float
    invariants: ClassVar[Invariants] = {
        "kl_divergence_": Number(),
        "kl_history_": FloatArray("c", 2),
        "n_iter_": Integer(),
        "perplexity_": Number(1.0),
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        perplexity: float | None = None,
        exaggeration: float = 1.0,
        early_exaggeration: float = 12.0,
        n_early_iter: int = 250,
        n_iter: int = 500,
        learning_rate: str | float = "auto",
        init: str | ArrayLike = "pca",
        graph: GraphBuilder | Graph | None = None,
        random_state: Seed = None,
    ) -> None:
        self.n_components = n_components
        self.perplexity = perplexity
        self.exaggeration = exaggeration
        self.early_exaggeration = early_exaggeration
        self.n_early_iter = n_early_iter
        self.n_iter = n_iter
        self.learning_rate = learning_rate
        self.init = init
        self.graph = graph
        self.random_state = random_state

    @property
    def max_study_rows(self) -> int | None:
        """20,000 rows, which are fitted in about 20 seconds."""
        return _MAX_STUDY_ROWS

    def study_settings(self, schema: Schema, variant: str) -> dict[str, Any]:  # noqa: ARG002
        """Return the parameters in a study: a graph of its own, because that of the study has too few neighbours."""
        n_neighbors = max(1, min(_n_neighbors(_DEFAULT_PERPLEXITY), schema.n_rows - 1))
        builder = KNearest(n_neighbors, weight=Binary(), symmetry="directed", metric="seuclidean")
        return {"graph": builder}

    def fit(self, X: Any = None, y: Any = None, *, callback: Callback | None = None) -> Self:
        """Build the graph and optimise the layout.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Table, default=None
            Input of the graph builder. For a built Graph the rows that it was built from, or None.
        y : array of shape (n_samples,), default=None
            Classes, for graphs that connect rows by class; else ignored.
        callback : callable, default=None
            Called as `callback(n_iter, kl_divergence, embedding)` after every 50 iterations; a true result ends the fit.
        """
        m = check_integer("n_components", self.n_components, low=1)
        exaggerations = self._exaggerations()
        rate = self._check_learning_rate()
        rng = make_rng(self.random_state)
        with parallel.thread_session():
            n = self._count_rows(X)
            perplexity = self._check_perplexity(n)
            if self.perplexity is not None and perplexity < self.perplexity:
                warn(
                    "TZ505",
                    f"TSNE: perplexity={self.perplexity:g} is lowered to (n - 1) / 3 = {perplexity:.4g}, the largest for "
                    f"{n:,} rows, because each row needs 3 perplexity neighbours.",
                )
            graph = self._build_neighbor_graph(X, y, n, "Lower perplexity.")
            if self.perplexity is None:
                least = float(np.diff(graph.edges.indptr).min())
                perplexity = min(perplexity, max(1.0, least / _NEIGHBORS_PER_PERPLEXITY))
            edges = shortest_edges(graph, _n_neighbors(perplexity))
            _check_edges(np.diff(edges.indptr), perplexity)
            affinities = joint_affinities(edges, perplexity)
            del edges
            points = initial_layout(self.init, INIT_CHOICES, graph, affinities, m, rng, _INITIAL_EXTENTS)
            if isinstance(self.init, str):
                points *= _INITIAL_DEVIATION / float(points[:, 0].std())
            descent = DivergenceDescent(affinities, points, rate)
            self._fit_layout(X, graph, descent, exaggerations, callback, perplexity_=perplexity)
        return self

    def continue_fit(self, n_iter: int = 250, *, callback: Callback | None = None) -> Self:
        """Run further iterations from the fitted layout.

        Parameters
        ----------
        n_iter : int, default=250
            Iterations with `exaggeration`.
        callback : callable, default=None
            As for `fit`.
        """
        check_is_fitted(self)
        exaggerations = np.full(
            check_integer("n_iter", n_iter, low=1), check_positive("exaggeration", self.exaggeration)
        )
        rate = self._check_learning_rate()
        with parallel.thread_session():
            edges = shortest_edges(self.graph_, _n_neighbors(self.perplexity_))
            descent = DivergenceDescent(joint_affinities(edges, self.perplexity_), self.embedding_, rate)
            self._continue_layout(descent, exaggerations, callback, self.kl_history_, self.n_iter_)
        return self

    def _n_graph_neighbors(self, n_samples: int) -> int:
        return max(1, min(_n_neighbors(self._check_perplexity(n_samples)), n_samples - 1))

    def _check_perplexity(self, n: int) -> float:
        """Return the perplexity for n rows, at most the largest."""
        largest = max(1.0, (n - 1) / _NEIGHBORS_PER_PERPLEXITY)
        if self.perplexity is None:
            return min(_DEFAULT_PERPLEXITY, largest)
        return min(check_real("perplexity", self.perplexity, low=1.0), largest)

    def _exaggerations(self) -> Floats:
        n_early = check_integer("n_early_iter", self.n_early_iter, low=0)
        n_iter = check_integer("n_iter", self.n_iter, low=1)
        early = check_positive("early_exaggeration", self.early_exaggeration)
        late = check_positive("exaggeration", self.exaggeration)
        falling = np.geomspace(early, late, n_iter // 2) if n_early else np.full(n_iter // 2, late)
        return np.concatenate([np.full(n_early, early), falling, np.full(n_iter - n_iter // 2, late)])

    def _check_learning_rate(self) -> float | None:
        if isinstance(self.learning_rate, str):
            check_choice("learning_rate", self.learning_rate, ("auto",))
            return None
        return check_positive("learning_rate", self.learning_rate)

    def _set_history(self, descent: Descent, history: Floats, n_steps: int) -> None:
        assert isinstance(descent, DivergenceDescent)
        (*earlier, (n_iter, value)) = descent.history
        self.kl_history_, self.kl_divergence_, self.n_iter_ = history, value, n_steps
        before = [one for done, one in earlier if done <= n_iter - CHECK_INTERVAL]
        settled = descent.n_iterations_at(self.exaggeration) >= CHECK_INTERVAL
        decrease = before[-1] - value if before and settled else np.inf
        jumping = descent.clipped_share()
        # The divergence of two rows is 0 wherever they are.
        still = value > _NEGLIGIBLE_DECREASE and np.ptp(descent.points, axis=0).max() < _MIN_EXTENT
        decreasing = decrease > max(_CONVERGED_DECREASE * value, _NEGLIGIBLE_DECREASE)
        self.converged_ = not (decreasing or still) and jumping <= _MAX_CLIPPED_SHARE
        if self.converged_:
            return
        more = "Raise the number of iterations (n_iter), or continue (continue_fit)."
        if jumping > _MAX_CLIPPED_SHARE:
            reason = (
                f"{jumping:.0%} of the rows still move by the longest step. Lower the learning rate (learning_rate)."
            )
        elif still and not decreasing:
            reason = (
                "the rows have hardly moved from the initial layout. Raise the learning rate (learning_rate) or the number of "
                "iterations (n_iter)."
            )
        elif decrease == np.inf:
            reason = f"fewer than {CHECK_INTERVAL} of them had the final exaggeration. {more}"
        else:
            reason = f"the last {CHECK_INTERVAL} lowered the divergence by more than {_CONVERGED_DECREASE:.0%}. {more}"
        warn("TZ501", f"TSNE: not converged after {self.n_iter_:,} iterations: {reason}")

    def describe(self) -> MapDescription:
        """Describe the perplexity, the divergence and the convergence."""
        check_is_fitted(self)
        return self._describe_descent(
            f"its neighbours in the table, about {self.perplexity_:.3g} of them (the perplexity), and repels all other rows",
            f"The Kullback-Leibler divergence of the map, {self.kl_divergence_:.3g}",
            f"{self.n_iter_:,} iterations",
        )

    def _map_new_rows(self, X: Any) -> tuple[Floats, Indices]:
        attached = self.graph_.attach(X)
        points = np.asarray(self.embedding_, dtype=np.float64)
        return place_rows(attached.neighbors, self.perplexity_, points), attached.duplicate_of


def _n_neighbors(perplexity: float) -> int:
    # Rounding must not add a neighbour to a whole number.
    return int(np.ceil(_NEIGHBORS_PER_PERPLEXITY * perplexity - 1e-9))


def _check_edges(counts: NDArray[np.integer[Any]], perplexity: float) -> None:
    """Raise DataError if a row has too few edges for an entropy of log2(perplexity)."""
    row = int(np.argmin(counts))
    if counts[row] == 0:
        raise DataError(
            f"Row {row} of the graph has no edges. Leave the row out, or use a graph of nearest neighbours."
        )
    if counts[row] < perplexity:
        edges = "1 edge" if counts[row] == 1 else f"{counts[row]:,} edges"
        raise DataError(
            f"Row {row} of the graph has {edges}, too few for perplexity={perplexity:g}. Use a graph of "
            f"{_n_neighbors(perplexity):,} nearest neighbours, or perplexity={max(counts[row] // 3, 1)}."
        )


def row_affinities(indptr: NDArray[np.int64], lengths: Floats, perplexity: float) -> Floats:
    """Return p_j|i of a perplexity for every edge, of the rows in CSR form; they sum to 1 in each row."""
    out = np.empty(len(lengths))
    parallel.run_blocks(
        lambda span: perplexity_affinities(indptr, lengths, perplexity, *span, out),
        parallel.block_ranges(len(indptr) - 1, _ROWS_PER_TASK),
    )
    return out


def joint_affinities(edges: Edges, perplexity: float) -> sparse.csr_array:
    """Return the symmetric affinities P of t-SNE, which sum to 1, in float32: (p_j|i + p_i|j) / 2n."""
    n = len(edges.indptr) - 1
    found = np.empty(len(edges.lengths), dtype=np.float32)
    for first, last in parallel.block_ranges(n, _ROWS_PER_PART):
        start, stop = edges.indptr[first], edges.indptr[last]
        part = row_affinities(edges.indptr[first : last + 1] - start, edges.lengths[start:stop], perplexity)
        found[start:stop] = part / (2.0 * n)
    directed = edges.matrix(found)
    return sparse.csr_array(directed + directed.T)


class DivergenceDescent(Descent):
    """Descent of the Kullback-Leibler divergence from initial points; the setting of a step is its exaggeration.

    The affinities are symmetric, with the sum 1, in float32. Without a learning rate, it is n divided by the exaggeration of the
    step. Without a method, that of the repulsion is chosen at every step.
    """

    steps_name = "Iterations"

    def __init__(
        self,
        affinities: sparse.csr_array,
        points: Floats,
        learning_rate: float | None = None,
        method: str | None = None,
    ) -> None:
        super().__init__()
        self._indptr = affinities.indptr.astype(np.int64)
        self._indices = affinities.indices.astype(np.int32, copy=False)
        self._affinities = affinities.data
        self._learning_rate = learning_rate
        self._method = method
        self._spans = parallel.block_ranges(len(points), _ROWS_PER_TASK)
        self._points = np.ascontiguousarray(points, dtype=np.float64).copy()
        self._velocity, self._gains = np.zeros_like(self._points), np.ones_like(self._points)
        self._exaggeration, self._n_constant = np.nan, 0

    @property
    def points(self) -> Floats:
        return self._points.copy()

    def n_iterations_at(self, exaggeration: float) -> int:
        return self._n_constant if self._exaggeration == exaggeration else 0

    def clipped_share(self) -> float:
        """Return the share of the rows whose last step had the largest length: above 0 if the learning rate is too large."""
        return float((np.linalg.norm(self._velocity, axis=1) > 0.999 * _MAX_STEP).mean())

    def _step(self, exaggeration: float) -> None:
        learning_rate = self._learning_rate or len(self._points) / exaggeration
        repulsion, normalizer = self.repulsion()
        attraction = self.attraction()
        # The gradient is 4 times the difference of the forces.
        settings = np.array([4.0 * exaggeration, 4.0 / normalizer, learning_rate, _MOMENTUM, _MAX_STEP])
        parallel.run_blocks(
            lambda span: descend(attraction, repulsion, settings, *span, self._velocity, self._gains, self._points),
            self._spans,
        )
        self._points -= self._points.mean(axis=0)
        self._n_constant = self._n_constant + 1 if exaggeration == self._exaggeration else 1
        self._exaggeration = exaggeration

    def attraction(self) -> Floats:
        """Return sum_j p_ij w_ij (y_i - y_j) for every row."""
        kernel = attract_in_plane if self._points.shape[1] == 2 else attract
        out = np.empty_like(self._points)
        parallel.run_blocks(
            lambda span: kernel(self._indptr, self._indices, self._affinities, self._points, *span, out), self._spans
        )
        return out

    def repulsion(self) -> tuple[Floats, float]:
        """Return sum_j w_ij^2 (y_i - y_j) for every row, and the normaliser Z."""
        forces, potential = build_field(self._points, self._method).evaluate(self._points)
        return forces, _normalizer(potential)

    def cost(self) -> float:
        """Return the Kullback-Leibler divergence of the layout, without exaggeration."""
        costs = parallel.map_blocks(
            lambda span: edge_cost(self._indptr, self._indices, self._affinities, self._points, *span), self._spans
        )
        _, potential = build_accurate_field(self._points).evaluate(self._points)
        # Rounding in float32 can lead to a value below 0.
        return max(0.0, float(sum(costs)) + float(np.log(_normalizer(potential))))


def _normalizer(potential: Floats) -> float:
    """Return the sum of w_ij over the pairs of different rows."""
    return max(float(potential.sum()) - len(potential), float(np.finfo(float).tiny))


def place_rows(near: Neighbors, perplexity: float, points: Floats) -> Floats:
    """Return the coordinates of new rows, given their neighbours among fitted rows at `points`.

    A row minimises sum_j p_j log(p_j / q_j), with q_j = w_j / sum_k w_k over all fitted rows, from the weighted mean of its
    neighbours.
    """
    affinities, out = mean_of_neighbors(near, row_affinities(near.indptr, near.distances, perplexity), points)
    method = choose_method(points)
    field = GridField(points, _NEW_ROW_MARGIN) if method == "grid" else build_field(points, method)
    # Rows at an infinite distance have no affinities, and stay NaN.
    active = np.flatnonzero(np.isfinite(out).all(axis=1))
    for _ in range(_MAX_STEPS):
        if not len(active):
            break
        step = _STEP_SHARE * _majorization_step(affinities[active], points, out[active], field)
        length = np.linalg.norm(step, axis=1)
        step *= np.minimum(1.0, _MAX_STEP / np.maximum(length, _MAX_STEP))[:, None]
        out[active] -= step
        active = active[length > _TOLERANCE]
    return out


def _majorization_step(affinities: sparse.csr_array, points: Floats, queries: Floats, field: RepulsionField) -> Floats:
    """Return half the gradient of each new row, divided by the curvature of the attraction."""
    indptr, indices = affinities.indptr.astype(np.int64), affinities.indices.astype(np.int32, copy=False)
    attraction, totals = np.empty_like(queries), np.empty(len(queries))
    parallel.run_blocks(
        lambda span: attract_queries(indptr, indices, affinities.data, points, queries, *span, attraction, totals),
        parallel.block_ranges(len(queries), _QUERIES_PER_STEP),
    )
    forces, potential = field.evaluate(queries)
    return np.asarray((attraction - forces / potential[:, None]) / totals[:, None])


class RepulsionField(ABC):
    """Repulsion from points, of shape (n_points, m): sum_j w_j^2 (y - y_j) with w_j = 1 / (1 + |y - y_j|^2), and its potential."""

    def evaluate(self, queries: Floats) -> tuple[Floats, Floats]:
        """Return the forces, of shape (n_queries, m), and the potentials of queries; of a point, including its own."""
        forces, potential = np.empty_like(queries), np.empty(len(queries))
        parallel.run_blocks(
            lambda span: self._fill(queries, span, forces, potential),
            parallel.block_ranges(len(queries), _ROWS_PER_TASK),
        )
        return forces, potential

    @abstractmethod
    def _fill(self, queries: Floats, span: tuple[int, int], forces: Floats, potential: Floats) -> None: ...


class ExactField(RepulsionField):
    def __init__(self, points: Floats) -> None:
        self._coordinates = np.ascontiguousarray(points.T)

    def _fill(self, queries: Floats, span: tuple[int, int], forces: Floats, potential: Floats) -> None:
        repel_exactly(self._coordinates, queries, *span, forces, potential)


class CellField(RepulsionField):
    """A tree of square cells, in which a distant cell acts as its centre (Barnes and Hut 1986)."""

    def __init__(self, points: Floats, theta: float = _THETA) -> None:
        n, m = points.shape
        lower = points.min(axis=0)
        width = float(np.ptp(points, axis=0).max()) * (1.0 + 1e-9) or 1.0
        codes = np.empty(n, dtype=np.uint64)
        parallel.run_blocks(
            lambda span: morton_codes(points, lower, width, *span, codes), parallel.block_ranges(n, 2**15)
        )
        self._order = np.argsort(codes, kind="stable")
        self._points = points[self._order]
        self._theta = theta
        arrays = [
            np.empty((2 * n, m)),
            np.empty(2 * n),
            np.empty(2 * n),
            *(np.empty(2 * n, np.int64) for _ in range(3)),
        ]
        self._n_cells = build_cells(codes[self._order], self._points, width, *arrays)
        self._cells = Cells(*(read_only(array) for array in arrays))

    def _fill(self, queries: Floats, span: tuple[int, int], forces: Floats, potential: Floats) -> None:
        repel_by_cells(self._cells, self._n_cells, self._points, self._theta, queries, *span, forces, potential)

    def evaluate(self, queries: Floats) -> tuple[Floats, Floats]:
        if len(queries) != len(self._order):
            return super().evaluate(queries)
        # Neighbouring queries walk through the same cells.
        forces, potential = super().evaluate(np.ascontiguousarray(queries[self._order]))
        unsorted_forces, unsorted_potential = np.empty_like(forces), np.empty_like(potential)
        unsorted_forces[self._order], unsorted_potential[self._order] = forces, potential
        return unsorted_forces, unsorted_potential


class GridField(RepulsionField):
    """Points counted on a grid, whose potential is computed by FFT and interpolated, for one or two coordinates.

    Linderman et al. (2019) convolve four weights of each point with the kernels of the forces. Here the number of points is
    convolved with the kernel of the potential, whose gradient the splines return: a quarter of the transforms. The field is defined
    within a margin around the points too; queries outside are moved to its border.
    """

    def __init__(self, points: Floats, margin: float = 0.0) -> None:
        self._n_coordinates = points.shape[1]
        planar = self._in_plane(points)
        lower = planar.min(axis=0) - margin
        extent = planar.max(axis=0) + margin - lower
        self._step = node_distance(float(extent.max()))
        nodes = [int(np.ceil(side / self._step)) + 2 * _MARGIN for side in extent]
        self._lower = lower - (_MARGIN - 1) * self._step
        self._upper = self._lower + self._step * (np.array(nodes) - 3.0)
        self._grid = self._potential_of(self._spread(planar, nodes))

    def _in_plane(self, points: Floats) -> Floats:
        return points if self._n_coordinates == 2 else np.column_stack([points, np.zeros(len(points))])

    def _spread(self, planar: Floats, nodes: list[int]) -> Floats:
        n = len(planar)

        def spread(span: tuple[int, int]) -> Floats:
            grid = np.zeros(nodes)
            spread_on_grid(planar, *self._lower, 1.0 / self._step, *span, grid)
            return grid

        grids = parallel.map_blocks(spread, parallel.block_ranges(n, max(1024, -(-n // _SPREADING_BLOCKS))))
        total = next(grids)
        for grid in grids:
            total += grid
        return total

    def _potential_of(self, density: Floats) -> Floats:
        """Return the convolution of the density with the kernel, by transforms of at least twice its size.

        Every pass transforms lines in fixed blocks, so that the bits do not depend on threads.
        """
        rows, columns = density.shape
        size = _transform_length(rows), _transform_length(columns)
        filtered = _kernel_spectrum(*size, self._step)
        half = size[1] // 2 + 1
        spectrum, out = np.zeros((rows, half), dtype=np.complex128), np.empty((rows, columns))

        def along_rows(span: tuple[int, int]) -> None:
            part = slice(*span)
            spectrum[part] = fft.rfft(density[part], size[1], axis=1)

        def along_columns(span: tuple[int, int]) -> None:
            part = slice(*span)
            # Lines of columns are contiguous after the copy.
            lines = fft.fft(np.ascontiguousarray(spectrum[:, part].T), size[0], axis=1)
            lines *= filtered[part]
            spectrum[:, part] = fft.ifft(lines, axis=1, overwrite_x=True)[:, :rows].T

        def back(span: tuple[int, int]) -> None:
            part = slice(*span)
            out[part] = fft.irfft(spectrum[part], size[1], axis=1)[:, :columns]

        for work, n_lines in ((along_rows, rows), (along_columns, half), (back, rows)):
            parallel.run_blocks(work, parallel.block_ranges(n_lines, -(-n_lines // _TRANSFORM_BLOCKS)))
        return out

    def evaluate(self, queries: Floats) -> tuple[Floats, Floats]:
        forces, potential = super().evaluate(np.clip(self._in_plane(queries), self._lower + self._step, self._upper))
        return (forces if self._n_coordinates == 2 else np.ascontiguousarray(forces[:, :1])), potential

    def _fill(self, queries: Floats, span: tuple[int, int], forces: Floats, potential: Floats) -> None:
        interpolate_from_grid(queries, *self._lower, 1.0 / self._step, self._grid, *span, forces, potential)


def node_distance(extent: float) -> float:
    """Return the distance of the nodes for points of some extent: a third times a power of two, at least 60 nodes."""
    if extent <= 0.0:
        return _NODE_DISTANCE
    halvings = max(0, int(np.ceil(np.log2(_NODE_DISTANCE * _MIN_NODES / extent))))
    return _NODE_DISTANCE * 2.0**-halvings


def _transform_length(n_nodes: int) -> int:
    """Return the length of the transforms of some nodes: at least twice as many, one of few lengths, whose kernels are cached."""
    steps = max(16, 2 ** (int(np.log2(n_nodes)) - 2))
    return int(fft.next_fast_len(2 * steps * -(-n_nodes // steps), real=True))


@lru_cache(maxsize=2)
def _kernel_spectrum(rows: int, columns: int, step: float) -> Floats:
    """Return the transform of 1 / (1 + d^2) on a periodic grid, divided by that of the splines, of shape (columns // 2 + 1, rows).

    It is divided twice, because points are spread and interpolated by the same splines.
    """
    along = [step * np.minimum(np.arange(n), n - np.arange(n)) for n in (rows, columns)]
    kernel = 1.0 / (1.0 + along[0][:, None] ** 2 + along[1] ** 2)
    spectrum = fft.rfft2(kernel).real
    splines = [(2.0 + np.cos(2.0 * np.pi * np.arange(n) / n)) / 3.0 for n in (rows, columns)]
    return np.ascontiguousarray((spectrum / (splines[0][:, None] * splines[1][: columns // 2 + 1]) ** 2).T)


def choose_method(points: Floats) -> str:
    """Return the method of the least estimated time for points: it depends on their number and on the extent of the layout."""
    n, m = points.shape
    costs = {"exact": _PAIR_COST * n * n * (m + 1)}
    if m <= 3:
        costs["cells"] = _CELL_COST * 3 ** (m - 1) * n * np.log2(max(n, 2))
    sides = np.ptp(points, axis=0)
    if m <= 2 and sides.max() < _MAX_GRID_EXTENT:
        step = node_distance(float(sides.max()))
        nodes = float(np.prod([_transform_length(int(side / step) + 2 * _MARGIN) for side in sides]))
        costs["grid"] = _NODE_COST * nodes * np.log2(nodes) + _GRID_POINT_COST * n
    return min(costs, key=costs.__getitem__)


def build_field(points: Floats, method: str | None = None) -> RepulsionField:
    """Return the repulsion field of points; without a method, the one of the least estimated time."""
    fields = {"exact": ExactField, "cells": CellField, "grid": GridField}
    return fields[method or choose_method(points)](points)


def build_accurate_field(points: Floats) -> RepulsionField:
    """Return a field with potentials that are exact, or of a relative error of about 0.1 % for many points."""
    if len(points) <= _MAX_EXACT_POINTS or points.shape[1] > 3:
        return ExactField(points)
    return CellField(points, _ACCURATE_THETA) if choose_method(points) != "grid" else GridField(points)
