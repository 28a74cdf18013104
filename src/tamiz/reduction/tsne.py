"""t-SNE: t-distributed stochastic neighbour embedding."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from tamiz.arrays import Floats
from tamiz.exceptions import DataError
from tamiz.graphs.builders import GraphBuilder
from tamiz.graphs.graph import Graph
from tamiz.neighbors.base import Neighbors
from tamiz.reduction.description import MapDescription
from tamiz.reduction.layouts.affinities import joint_affinities, shortest_edges
from tamiz.reduction.layouts.descent import CHECK_INTERVAL, Callback
from tamiz.reduction.layouts.divergence import DivergenceDescent
from tamiz.reduction.layouts.extension import place_rows
from tamiz.reduction.layouts.initialization import initial_layout
from tamiz.reduction.neighbor_embedding import NeighborEmbedding
from tamiz.runtime import parallel
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.user_warnings import warn
from tamiz.runtime.validation import check_choice, check_integer, check_positive, check_real
from tamiz.storage.invariants import FloatArray, InstanceOf, Integer, Invariants, Number

INIT_CHOICES = ("pca", "spectral", "random")
_DEFAULT_PERPLEXITY = 30.0
# Neighbours of a row for each unit of the perplexity: further ones have affinities near 0.
_NEIGHBORS_PER_PERPLEXITY = 3
# Standard deviation of the first coordinate of a named initial layout.
_INITIAL_DEVIATION = 1e-4
# Extents of a given initial layout within which the descent works.
_INITIAL_EXTENTS = 1e-12, 1_000.0
# Converged if the last 50 iterations, all with the final exaggeration, lowered the divergence by at most this share or by a
# thousandth, and the layout has grown from the initial one.
_CONVERGED_DECREASE, _NEGLIGIBLE_DECREASE, _MIN_EXTENT = 0.02, 1e-3, 0.01
# Largest share of rows whose last step has the greatest length.
_MAX_CLIPPED_SHARE = 0.01


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
    invariants: ClassVar[Invariants] = {
        "kl_divergence_": Number(),
        "kl_history_": FloatArray("c", 2),
        "n_iter_": Integer(),
        "converged_": InstanceOf(bool),
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
            graph = self._build_graph(X, y, n, "Lower perplexity.")
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
            self._run_descent(
                descent, exaggerations, callback, lambda: self._set_descent(X, graph, perplexity, descent)
            )
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
            descent.run(exaggerations, callback)
        earlier = self.n_iter_
        self.n_iter_ += descent.n_steps
        self._set_points(descent.points)
        new = np.array(descent.history)
        new[:, 0] += earlier
        self.kl_history_ = np.concatenate([self.kl_history_, new])
        self._set_convergence(descent)
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

    def _set_descent(self, X: Any, graph: Graph, perplexity: float, descent: DivergenceDescent) -> None:
        self._set_fitted(X, graph, descent.points)
        self.perplexity_, self.n_iter_ = perplexity, descent.n_steps
        self.kl_history_ = np.array(descent.history, dtype=np.float64)
        self._set_convergence(descent)

    def _set_convergence(self, descent: DivergenceDescent) -> None:
        (*earlier, (n_iter, value)) = descent.history
        self.kl_divergence_: float = value
        before = [one for done, one in earlier if done <= n_iter - CHECK_INTERVAL]
        settled = descent.n_iterations_at(self.exaggeration) >= CHECK_INTERVAL
        decrease = before[-1] - value if before and settled else np.inf
        jumping = descent.clipped_share()
        # The divergence of two rows is 0 wherever they are.
        still = value > _NEGLIGIBLE_DECREASE and np.ptp(descent.points, axis=0).max() < _MIN_EXTENT
        decreasing = decrease > max(_CONVERGED_DECREASE * value, _NEGLIGIBLE_DECREASE)
        self.converged_: bool = not (decreasing or still) and jumping <= _MAX_CLIPPED_SHARE
        if self.converged_:
            return
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
            reason = (
                f"fewer than {CHECK_INTERVAL} of them had the final exaggeration. Raise the number of iterations (n_iter), or "
                "continue (continue_fit)."
            )
        else:
            reason = (
                f"the last {CHECK_INTERVAL} lowered the divergence by more than {_CONVERGED_DECREASE:.0%}. Raise the number "
                "of iterations (n_iter), or continue (continue_fit)."
            )
        warn("TZ501", f"TSNE: not converged after {self.n_iter_:,} iterations: {reason}")

    def describe(self) -> MapDescription:
        """Describe the perplexity, the divergence and the convergence."""
        check_is_fitted(self)
        return self._describe_descent(
            f"its neighbours in the table, about {self.perplexity_:.3g} of them (the perplexity), and repels all other rows",
            f"The Kullback-Leibler divergence of the map, {self.kl_divergence_:.3g}",
            f"{self.n_iter_:,} iterations",
        )

    def _place_rows(self, near: Neighbors, points: Floats) -> Floats:
        return place_rows(near, self.perplexity_, points)


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
