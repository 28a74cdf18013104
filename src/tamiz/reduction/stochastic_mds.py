"""Metric multidimensional scaling of many rows, by pairs that are drawn."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from tamiz.exceptions import ConvergenceWarning, DataError
from tamiz.neighbors.row_encoders import RowEncoder
from tamiz.reduction.base import MapDescription, MapVariant, Reducer
from tamiz.reduction.classical.extension import principal_axes_rotation
from tamiz.reduction.dissimilarities import Dissimilarities, read_dissimilarities, read_new_rows
from tamiz.reduction.landmarks import create_subsets
from tamiz.reduction.out_of_sample_stress import minimize_row_stress_multistart
from tamiz.reduction.sampled_stress import SampledPairs
from tamiz.reduction.stochastic.descent import INIT_CHOICES, StochasticDescent, initial_embedding
from tamiz.reduction.stochastic.panels import KERNEL_METRICS, RowPanels, metric_values
from tamiz.runtime import parallel
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.user_warnings import warn_user
from tamiz.runtime.validation import check_choice, check_integer, check_memory, check_real
from tamiz.sources.feature_checks import check_features, record_features
from tamiz.sources.schema import Schema
from tamiz.statistics.base import Floats
from tamiz.storage.invariants import Condition, FloatArray, InstanceOf, Integer, IntegerArray, Invariants, Number

# Rows of fit that new ones are placed among.
_REFERENCE_ROWS = 1000
# New rows that are placed at a time.
_NEW_ROWS_PER_BATCH = 4096


class StochasticMDS(Reducer):
    """Points whose distances are nearest to the dissimilarities of the rows, found by random pairs and without a matrix of them.

    .. math:: \\min_X \\sum_{i < j} (\\delta_{ij} - \\|x_i - x_j\\|)^2

    In each round 16 rows are drawn, and every row moves by a rate of the way to the mean of the places at which these want it. The
    rate falls from 1.8 to 0, so that large steps leave poor minima and small ones average the draws.

    Parameters
    ----------
    n_components : int, default=2
        Number of coordinates.
    dissimilarity : {"euclidean", "seuclidean", "cityblock", "cosine"}, default="euclidean"
        What rows are apart by, as for `MDS`.
    n_rounds : int, default=600
        Number of rounds. Each row meets 16 others in each.
    init : {"landmark", "random"} or array of shape (n_samples, n_components), default="landmark"
        What the rounds start from: the map of `LandmarkMDS`, points drawn at random, or those that are given.
    tol : float, default=2e-3
        The map has converged when a step of majorisation by all pairs would lower its stress by at most this share of it: known up
        to 4,096 rows, estimated to about 3e-4 above.
    random_state : int, Generator or None, default=None
        Seed of all draws.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Columns of mean 0, in the unit of the dissimilarities, along the principal axes (not where init is an array). Rows that are
        equal share the place of the first of them.
    sampled_stress_ : float
        sqrt(sum (delta - b d)^2 / sum delta^2) over random pairs of rows, with the dissimilarities delta, the distances d of the
        map, and the scale b at which it is least, in [0, 1]: for all pairs this is the `stress_` of `MDS`.
    sampled_stress_error_ : float
        Its standard error as the stress of all pairs; 0 where it is that, with up to 1,024 rows.
    stress_history_ : ndarray of shape (n_looks,)
        The stress over the same pairs at the start and after each tenth of the rounds.
    n_rounds_ : int
        Rounds that were made: fewer than asked for where the fit was interrupted.
    converged_ : bool

    Raises
    ------
    DataError
        When all rows are equal, init does not fit, or a Source has weights.
    ValueError
        When there are not more rows than coordinates.
    TypeError
        When rows are sparse.
    MemoryError
        When the rows in float32 do not fit.

    Notes
    -----
    Cost O(n p) a round for rows of p columns, and memory O(n p) in float32: dissimilarities are measured as they are drawn. Places
    are exact to 1e-6 of the largest ones, and a stress below 1e-5 is rounding. After 600 rounds the stress is mostly within 0.5 %
    of where a search by all pairs ends, as `MDS` makes it of up to some thousand rows. One seed gives one map to the bit, whatever
    the number of threads.

    The paper moves the two rows of one pair at a time; here all rows move at once, each by the mean of 16 such moves, which keeps
    the numbers of a round independent of one another.

    A new row is placed where its stress against 1,000 of the rows of fit, drawn at random, is least, by itself; a row that is equal
    to one of fit gets the place of that.

    References
    ----------
    Zheng, Pawar and Goodman (2018), Graph drawing by stochastic gradient descent, IEEE Transactions on Visualization and Computer
    Graphics 25; de Leeuw (1977), Applications of convex analysis to multidimensional scaling, in Recent Developments in Statistics.

    Examples
    --------
    >>> import numpy as np
    >>> from tamiz.reduction import StochasticMDS
    >>> X = np.random.default_rng(0).normal(size=(3000, 3)) * [3.0, 2.0, 0.5]
    >>> mapped = StochasticMDS(2, random_state=0).fit(X)
    >>> mapped.embedding_.shape, mapped.converged_
    ((3000, 2), True)
    >>> round(mapped.sampled_stress_, 2)
    0.03
    """

    # Of few rows a study shows the map by all pairs.
    variants: ClassVar = (MapVariant(is_default=False),)
    dissimilarities: ClassVar = tuple(KERNEL_METRICS)
    invariants: ClassVar[Invariants] = {
        "_dissimilarities": InstanceOf(Dissimilarities),
        "_dissimilarities.points.n_samples": Integer(low=1, size="n"),
        "_row_encoder": (
            InstanceOf(RowEncoder),
            Condition(lambda it: it._dissimilarities.matches_encoder(it._row_encoder), "does not read the rows of fit"),
        ),
        "_reference_rows": IntegerArray("s", below="n", distinct=True),
        "sampled_stress_": Number(0.0),
        "sampled_stress_error_": Number(0.0),
        "stress_history_": FloatArray("c"),
        "n_rounds_": Integer(),
        "converged_": InstanceOf(bool),
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        dissimilarity: str = "euclidean",
        n_rounds: int = 600,
        init: str | ArrayLike = "landmark",
        tol: float = 2e-3,
        random_state: Seed = None,
    ) -> None:
        self.n_components = n_components
        self.dissimilarity = dissimilarity
        self.n_rounds = n_rounds
        self.init = init
        self.tol = tol
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    @classmethod
    def for_study(cls, schema: Schema, variant: str, dissimilarity: str) -> Self:  # noqa: ARG003
        """Return the map of the study's distances."""
        return cls(max(1, min(2, schema.n_rows - 1)), dissimilarity=dissimilarity, random_state=0)

    def _describe(self) -> MapDescription:
        """Return the stress and the pairs that it is of."""
        error = self.sampled_stress_error_
        of = f" +- {error:.1g}, over random pairs of rows" if error else ""
        return MapDescription(
            [f"Coordinate {k + 1}" for k in range(self.embedding_.shape[1])],
            [
                f"Distances on the map are near the dissimilarities, by {self.n_rounds_:,} rounds of random pairs: Kruskal's "
                f"stress-1 is {self.sampled_stress_:.3g}{of}."
            ],
            proximity_note="Points near each other are rows at small distances.",
            stress=float(self.sampled_stress_),
        )

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Find the coordinates.

        Parameters
        ----------
        X : array, data frame or Source
            Rows. A fit that fails leaves the model as it was; one that is interrupted keeps the map that it has come to.
        y : ignored
        """
        metric = check_choice("dissimilarity", self.dissimilarity, self.dissimilarities)
        if isinstance(self.init, str):
            check_choice("init, where it is no array,", self.init, INIT_CHOICES)
        m = check_integer("n_components", self.n_components, low=1)
        n_rounds = check_integer("n_rounds", self.n_rounds, low=1)
        tol = check_real("tol", self.tol, low=0.0)
        rng = make_rng(self.random_state)
        if sparse.issparse(X):
            raise TypeError(
                "StochasticMDS takes dense rows, got a sparse matrix. X.toarray() is dense; LandmarkMDS takes both."
            )
        with parallel.thread_session():
            rows, reading = read_dissimilarities(X, metric, "StochasticMDS")
            table = create_subsets(rows, metric)
            if m >= table.n:
                raise ValueError(f"n_components must be below the number of rows = {table.n:,}, got {m:,}.")
            check_memory(48.0 * table.n * m, f"The places of {table.n:,} rows in {m:,} dimensions", "Ask for fewer.")
            panels = RowPanels(metric_values(rows.points), metric)
            if not panels.spread:
                raise DataError(
                    f"All {table.n:,} rows are equal: nothing tells them apart. Add columns in which they differ."
                )
            pairs = SampledPairs(table, rng)
            if not pairs.dissimilarities.any():
                raise DataError(
                    "All dissimilarities that were looked at are 0: rows repeat, or differ by so little that its square is below "
                    "the smallest number. Leave rows that repeat out, or change the unit of X."
                )
            rounds = StochasticDescent(panels, pairs, initial_embedding(self.init, table, pairs, m, rng), rng)
            sample = np.sort(rng.permutation(table.n)[:_REFERENCE_ROWS])
            first = rows.points.first_occurrences()
            try:
                rounds.run(n_rounds)
            except KeyboardInterrupt:
                if rounds.n_done:
                    self._set_fitted(X, (rows, reading, sample, first), rounds, pairs, decrease=np.inf, tol=tol)
                raise
            fall = rounds.relative_decrease()
            self._set_fitted(X, (rows, reading, sample, first), rounds, pairs, fall, tol)
        if not self.converged_:
            warn_user(
                [
                    f"StochasticMDS: after n_rounds={n_rounds:,} rounds a further step would lower the stress by "
                    f"{100 * fall:.2g} %, and tol={tol:g} is {100 * tol:.2g} %. Raise n_rounds, or tol."
                ],
                ConvergenceWarning,
            )
        return self

    def _set_fitted(
        self, X: Any, training: Any, descent: StochasticDescent, pairs: SampledPairs, decrease: float, tol: float
    ) -> None:
        """Set what was found."""
        rows, reading, sample, first = training
        places = descent.embedding[first]
        if isinstance(self.init, str):
            places = principal_axes_rotation(places).project_rows(places)
        stress = pairs.stress(places)
        record_features(self, X)
        self._dissimilarities, self._row_encoder, self._reference_rows = rows, reading, sample
        self.embedding_ = self._match_dtype(places, X)
        self.sampled_stress_, self.sampled_stress_error_ = stress.value, stress.error
        self.stress_history_: Floats = np.array([look.value for look in descent.stress_history])
        self.n_rounds_, self.converged_ = descent.n_done, bool(decrease <= tol)

    def fit_transform(self, X: Any, y: Any = None) -> NDArray[Any]:
        """Fit and return the coordinates of the rows."""
        return self.fit(X, y).embedding_

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the places of new rows, each by itself.

        Parameters
        ----------
        X : array, data frame or Source
            New rows.
        """
        check_is_fitted(self)
        check_features(self, X)
        with parallel.thread_session():
            rows = self._dissimilarities
            queries = read_new_rows(rows, self._row_encoder, X)
            equal, points = rows.points.match_rows(queries)
            places = np.empty((queries.n_samples, self.embedding_.shape[1]))
            places[equal] = self.embedding_[points]
            others = np.setdiff1d(np.arange(len(places)), equal)
            beside = create_subsets(rows, self.dissimilarity).subset(self._reference_rows)
            for a, b in parallel.block_ranges(len(others), _NEW_ROWS_PER_BATCH):
                some = queries.take(others[a:b])
                wanted = beside.distances(some, 0, some.n_samples)
                places[others[a:b]] = minimize_row_stress_multistart(
                    self.embedding_[self._reference_rows], wanted
                ).positions
        return self._match_dtype(places, X)
