"""Multidimensional scaling by majorisation."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from tamiz.exceptions import ConvergenceWarning, DataError
from tamiz.neighbors.metric_registry import metric_tags
from tamiz.neighbors.row_encoders import RowEncoder, row_numbers
from tamiz.reduction.base import MAX_STUDY_ROWS, MapDescription, MapVariant, Reducer
from tamiz.reduction.dissimilarities import (
    DISSIMILARITIES,
    Dissimilarities,
    read_new_rows,
    read_partial_dissimilarities,
)
from tamiz.reduction.majorization.guttman import EqualRows, StressFunction
from tamiz.reduction.majorization.minimizer import NEAR_ZERO_STRESS
from tamiz.reduction.majorization.pairs import CondensedPairs, ShepardPairs, read_pairs
from tamiz.reduction.majorization.smacof import (
    BYTES_PER_PAIR_BY_KIND,
    INIT_CHOICES,
    MDS_KINDS,
    TIE_RULES,
    MultistartSmacof,
    SmacofSolution,
    create_transformation,
    initial_configurations,
)
from tamiz.reduction.majorization.transformations import DisparityCurve
from tamiz.reduction.out_of_sample_stress import FittedMap, MappedRows
from tamiz.runtime import parallel
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.user_warnings import warn_user
from tamiz.runtime.validation import check_choice, check_integer, check_real
from tamiz.sources.feature_checks import check_features, record_features
from tamiz.sources.schema import Schema
from tamiz.statistics.base import Floats
from tamiz.storage.invariants import Condition, FloatArray, InstanceOf, Integer, Invariants, Number, OneOf

# Rows whose numbers fit in two bytes, as the ends of ordered pairs are kept.
_MAX_ORDINAL_ROWS = 2**16
# A stress that is none, beside a map whose points lie at next to no places: what order alone may come to.
_DEGENERATE_STRESS = 1e-3
_DEGENERATE_TOLERANCE = 1e-3
# Rows of an ordinal map in a study: half a million pairs are in order in a second, and four times as many in five.
_MAX_ORDINAL_STUDY_ROWS = 1_000
# What the distances of a map are held to, and what that says of far ones.
_DISTANCE_MEANINGS = {
    "metric": ("those of the rows", ", and far ones rows at large distances"),
    "interval": ("those of the rows on the best line", ""),
    "ordinal": ("numbers in the order of those of the rows", "; of larger ones the map keeps the order alone"),
}


class MDS(Reducer):
    """Points whose distances are nearest to the dissimilarities of the rows (multidimensional scaling by SMACOF).

    .. math:: \\min_{X, f} \\sum_{i < j} w_{ij} (f(\\delta_{ij}) - \\|x_i - x_j\\|)^2

    Parameters
    ----------
    n_components : int, default=2
        Number of coordinates.
    kind : {"metric", "interval", "ordinal"}, default="metric"
        What f may do to dissimilarities: nothing (metric, or ratio, scaling), lay them on a line that does not fall and is nowhere
        below 0, or give them any values in their order.
    dissimilarity : {"euclidean", "seuclidean", "cityblock", "cosine", "gower", "precomputed", "similarity"}, default="euclidean"
        As in `ClassicalMDS`. Distances that are given may be NaN, which is missing; 0 is a distance like any other.
    ties : {"primary", "secondary"}, default="primary"
        What "ordinal" does with equal dissimilarities: f may part them, or keeps them equal.
    init : {"classical", "random"} or array of shape (n_samples, n_components), default="classical"
        What the search starts from: the map of `ClassicalMDS`, points drawn at random, or those that are given.
    n_init : int, default=1
        Number of starts, all but the first at random; the map with the least stress is kept.
    max_iter : int, default=1000
        Steps after which a search ends unconverged, which is told.
    tol : float, default=1e-6
        A search ends when two steps in a row lower the squared stress by at most this share of it; below 1e-10 by 2 %, or by this
        share of 1e-10.
    random_state : int, Generator or None, default=None
        Draws random starts.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Columns of mean 0 at the scale of least stress, in the unit of the dissimilarities, along the principal axes (not where init
        is an array). Rows that are equal share a place.
    stress_ : float
        Kruskal's stress-1 of the disparities f(delta), at the best scale: sqrt(sum w (f - d)^2 / sum w d^2), least over
        multiples of d. 0 is a perfect map.
    normalized_stress_ : float
        sqrt(sum w (f - d)^2 / sum w f^2) of the map as it stands. At the best scale this is the same number.
    stress_per_point_ : ndarray of shape (n_samples,)
        For each row, sqrt(sum w (f - d)^2 / sum w d^2) over its pairs alone.
    n_iter_ : int
        Steps from the start that was kept, with a last one that may have found nothing lower.
    stress_history_ : ndarray, one more than there were steps or as many
        Kruskal's stress-1 of that start and after each step that lowered it.
    converged_ : bool

    Raises
    ------
    DataError
        When all dissimilarities are 0, or equal where a line or an order is looked for; when a row has none, or only with weight 0;
        when the pairs that are known fall into pieces; when distances, similarities or weights are none, or a Source has weights.
    ValueError
        When there are not more rows than coordinates.
    MemoryError
        When the pairs do not fit.

    Notes
    -----
    Cost O(n^2) a step, and O(n^2) memory: the dissimilarity of each pair is held once, as float32 above 512 rows (which changes
    the stress by less than 1e-6 of it, or 1e-7), and distances never are. "interval" takes 12 bytes a pair more; "ordinal" 48,
    and it sorts them once. Weights and missing dissimilarities take as much as the dissimilarities.

    Majorisation (the Guttman transform) never raises the stress. Steps that are longer come of the slopes of the five steps before
    (limited-memory BFGS in the metric of the weights), and are taken only where they lower it. Disparities are always the best ones
    for the distances; those of "interval" and "ordinal" have the sum of squares of the dissimilarities. A search finds a local
    minimum; several starts tell how good it is. In one dimension most starts end in a poor one.

    With weights, or dissimilarities that are missing, the matrix of the weights is factored once up to 1,500 rows, and
    the transform is approached by conjugate gradients above.

    A new row is placed where its own stress against the rows of fit is least, by itself; a row that is equal to one of fit gets the
    place of that. `map_rows` tells how well it fits. By similarities only rows that are equal to rows of fit can be placed. An
    ordinal map holds dissimilarities below or above all that were there to the least or largest disparity.

    References
    ----------
    de Leeuw (1977), Applications of convex analysis to multidimensional scaling, in Recent Developments in Statistics; Kruskal
    (1964), Nonmetric multidimensional scaling: a numerical method, Psychometrika 29; Borg and Groenen (2005), Modern
    Multidimensional Scaling, chapters 8 and 9; de Leeuw and Mair (2009), Multidimensional scaling using majorization: SMACOF in R,
    Journal of Statistical Software 31.

    Examples
    --------
    Four places on a line, one of the distances not known:

    >>> import numpy as np
    >>> from tamiz.reduction import MDS
    >>> nan = np.nan
    >>> distances = [[0, 1, nan, 6], [1, 0, 2, 5], [nan, 2, 0, 3], [6, 5, 3, 0]]
    >>> mds = MDS(1, dissimilarity="precomputed").fit(distances)
    >>> mds.embedding_.ravel().round(3)
    array([-2.5, -1.5,  0.5,  3.5])
    >>> round(mds.stress_, 6)
    0.0
    """

    dissimilarities: ClassVar = DISSIMILARITIES
    invariants: ClassVar[Invariants] = {
        "_dissimilarities": InstanceOf(Dissimilarities),
        "_dissimilarities.points.n_samples": Integer(low=1, size="n"),
        "_row_encoder": (
            InstanceOf(RowEncoder),
            Condition(lambda it: it._dissimilarities.matches_encoder(it._row_encoder), "does not read the rows of fit"),
        ),
        "_kind": OneOf(*MDS_KINDS),
        "_unit": (Number(0.0), Condition(lambda it: it._unit > 0, "is not above 0")),
        "_curve": InstanceOf(DisparityCurve),
        "_disparities": (
            FloatArray("pairs", allow_missing=True),
            Condition(
                lambda it: len(it._disparities) == math.comb(len(it.embedding_), 2),
                "does not have one number for every pair",
            ),
        ),
        "stress_": Number(0.0),
        "normalized_stress_": Number(0.0),
        "stress_per_point_": FloatArray("n", allow_missing=True),
        "stress_history_": FloatArray("c"),
        "n_iter_": Integer(),
        "converged_": InstanceOf(bool),
    }
    variants: ClassVar = (
        MapVariant("metric", "Metric MDS"),
        MapVariant("ordinal", "Ordinal MDS"),
        MapVariant("interval", "Interval MDS", is_default=False),
    )

    def __init__(
        self,
        n_components: int = 2,
        *,
        kind: str = "metric",
        dissimilarity: str = "euclidean",
        ties: str = "primary",
        init: str | ArrayLike = "classical",
        n_init: int = 1,
        max_iter: int = 1000,
        tol: float = 1e-6,
        random_state: Seed = None,
    ) -> None:
        self.n_components = n_components
        self.kind = kind
        self.dissimilarity = dissimilarity
        self.ties = ties
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags = metric_tags(super().__sklearn_tags__(), self.dissimilarity)
        tags.input_tags.allow_nan = self.dissimilarity != "similarity"
        return tags

    @classmethod
    def for_study(cls, schema: Schema, variant: str, dissimilarity: str) -> Self:
        """Return the map of the study's distances, of the kind that the variant names."""
        return cls(max(1, min(2, schema.n_rows - 1)), kind=variant, dissimilarity=dissimilarity, random_state=0)

    @property
    def max_study_rows(self) -> int | None:
        """Rows that a study fits the map on at most: fewer where their pairs are put in order, which takes most of the time."""
        return _MAX_ORDINAL_STUDY_ROWS if self.kind == "ordinal" else MAX_STUDY_ROWS

    def _describe(self) -> MapDescription:
        """Return the stress, what it is of, and how the search ended."""
        to, meaning = _DISTANCE_MEANINGS[self._kind]
        steps = f"{self.n_iter_:,} {'step' if self.n_iter_ == 1 else 'steps'}"
        ended = f"The search converged in {steps}" if self.converged_ else f"The search was cut off after {steps}"
        return MapDescription(
            [f"Coordinate {k + 1}" for k in range(self.embedding_.shape[1])],
            [
                f"Distances on the map are as near as can be to {to}: Kruskal's stress-1 is {self.stress_:.3g}, the root mean "
                "square of what they differ by, over that of the distances on the map; 0 is a perfect map.",
                f"{ended}{'.' if self.converged_ else ', with the stress still falling.'}",
            ],
            proximity_note=f"Points near each other are rows at small distances{meaning}.",
            stress=float(self.stress_),
        )

    def fit(self, X: Any, y: Any = None, *, weights: Any = None) -> Self:  # noqa: ARG002
        """Find the coordinates.

        Parameters
        ----------
        X : array, data frame or Source
            Rows, their distances or their similarities. A fit that fails leaves the model as it was; one that is interrupted keeps
            the map that it has come to.
        y : ignored
        weights : array-like of shape (n_samples, n_samples), default=None
            How much each pair counts, symmetric and at least 0; a pair of weight 0 is as if it were missing. None counts all once.
        """
        kind = check_choice("kind", self.kind, MDS_KINDS)
        metric = check_choice("dissimilarity", self.dissimilarity, self.dissimilarities)
        ties = check_choice("ties", self.ties, TIE_RULES)
        if isinstance(self.init, str):
            check_choice("init, where it is no array,", self.init, INIT_CHOICES)
        m, n_init, max_iter = (
            check_integer(name, getattr(self, name), low=1) for name in ("n_components", "n_init", "max_iter")
        )
        tol = check_real("tol", self.tol, low=0.0)
        rng = make_rng(self.random_state)
        with parallel.thread_session():
            rows, reading = read_partial_dissimilarities(X, metric, "MDS")
            n = rows.points.n_samples
            if m >= n:
                raise ValueError(f"n_components must be below the number of rows = {n:,}, got {m:,}.")
            if kind == "ordinal" and n > _MAX_ORDINAL_ROWS:
                raise ValueError(
                    f"kind='ordinal' keeps the order of the pairs of at most {_MAX_ORDINAL_ROWS:,} rows, got {n:,}. Fit on a sample of "
                    "rows and transform the others."
                )
            if n == 2 and kind != "metric":
                raise DataError(
                    f"Two rows have one dissimilarity, and kind={kind!r} needs several to compare. Pass more rows."
                )
            numbers = row_numbers(X)
            pairs = read_pairs(
                rows,
                weights,
                float64=kind != "metric",
                bytes_per_pair=BYTES_PER_PAIR_BY_KIND[kind],
                row_numbers=numbers,
            )
            _check_dissimilarities_differ(pairs, kind)
            # Equal rows are at 0 from each other.
            first = np.arange(n) if pairs.values.all() else rows.points.first_occurrences()
            scaling = MultistartSmacof(StressFunction(create_transformation(kind, ties, pairs), EqualRows(first)))

            def hold() -> None:
                scaled = scaling.solution(rotate=isinstance(self.init, str))
                self._set_fitted(X, rows, reading, pairs.unit, scaled)

            try:
                scaling.run(initial_configurations(self.init, n_init, rows, pairs, m, rng, first), max_iter, tol)
            except KeyboardInterrupt:
                if scaling.best is not None:
                    hold()
                raise
            hold()
        self._warn_about_solution(max_iter)
        return self

    def _set_fitted(
        self, X: Any, dissimilarities: Dissimilarities, encoder: RowEncoder, unit: float, solution: SmacofSolution
    ) -> None:
        record_features(self, X)
        self._dissimilarities, self._row_encoder, self._kind = dissimilarities, encoder, self.kind
        self._unit, self._curve, self._disparities = unit, solution.curve, solution.disparities
        self.embedding_ = self._match_dtype(solution.points * unit, X)
        self.stress_ = self.normalized_stress_ = solution.stress
        self.stress_per_point_ = solution.stress_per_point
        self.stress_history_, self.n_iter_, self.converged_ = (
            solution.stress_history,
            solution.n_iter,
            solution.converged,
        )

    def _warn_about_solution(self, max_iter: int) -> None:
        """Warn of a search that was cut off, and of a map that shows nothing."""
        if not self.converged_ and self.stress_**2 > NEAR_ZERO_STRESS:
            share = 1 - (self.stress_history_[-1] / self.stress_history_[-2]) ** 2
            warn_user(
                [
                    f"MDS: the stress was still falling, by {share:.1g} of its square a step, when max_iter={max_iter:,} steps "
                    "were made. Raise max_iter, or tol."
                ],
                ConvergenceWarning,
            )
        if self._kind == "ordinal" and self.stress_ < _DEGENERATE_STRESS:
            points = self.embedding_ / self._unit
            n_places = len(np.unique(np.round(points / (_DEGENERATE_TOLERANCE * float(np.abs(points).max()))), axis=0))
            if n_places <= max(3, self.embedding_.shape[1] + 1) < len(points):
                warn_user(
                    [
                        f"MDS: the map is degenerate: its {len(points):,} points lie at {n_places} places, whose distances are in "
                        "the order of the dissimilarities without showing any. kind='interval' or 'metric' keeps their sizes."
                    ]
                )

    @property
    def disparities_(self) -> Floats:
        """What the distances of pairs are held to, in the order of `scipy.spatial.distance.pdist`, NaN where nothing is known."""
        check_is_fitted(self)
        return self._disparities * np.float64(self._unit)

    def shepard(self, n_rows: int = 100, random_state: Seed = 0) -> ShepardPairs:
        """Return the dissimilarities, distances and disparities of the pairs among some rows, drawn where there are more.

        Parameters
        ----------
        n_rows : int, default=100
        random_state : int, Generator or None, default=0

        Returns
        -------
        ShepardPairs
        """
        check_is_fitted(self)
        n, n_rows = len(self.embedding_), check_integer("n_rows", n_rows, low=2)
        drawn = np.arange(n) if n <= n_rows else np.sort(make_rng(random_state).choice(n, n_rows, replace=False))
        return ShepardPairs.from_rows(drawn, self._dissimilarities, self.embedding_, self._disparities, self._unit)

    def fit_transform(self, X: Any, y: Any = None, *, weights: Any = None) -> NDArray[Any]:
        """Fit and return the coordinates of the rows."""
        return self.fit(X, y, weights=weights).embedding_

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the places of new rows, each by itself: of rows like those of fit, or of their distances to all of these.

        Parameters
        ----------
        X : array, data frame or Source
            New rows; with "precomputed" and "similarity" of shape (n_new, n_samples), with NaN where a distance is missing.
        """
        return self._match_dtype(self.map_rows(X).embedding, X)

    def map_rows(self, X: Any) -> MappedRows:
        """Return the places of new rows and how well they fit there.

        Parameters
        ----------
        X : array, data frame or Source
            As in `transform`.

        Returns
        -------
        PlacedRows
        """
        check_is_fitted(self)
        check_features(self, X)
        with parallel.thread_session():
            rows = self._dissimilarities
            queries = read_new_rows(rows, self._row_encoder, X)
            fitted = FittedMap(rows, self._curve, self._unit, self.embedding_, self.stress_per_point_)
            return fitted.map_rows(queries)


def _check_dissimilarities_differ(pairs: CondensedPairs, kind: str) -> None:
    """Refuse, or tell of, dissimilarities of which none is more than another."""
    known = pairs.known_values()
    if pairs.n == 2 or known.min() < known.max():
        return
    fact = f"All dissimilarities are equal, {float(known[0]) * pairs.unit:.6g}"
    if kind != "metric":
        raise DataError(
            f"{fact}: there is no line and no order to find in them. Use kind='metric', or other dissimilarities."
        )
    warn_user([f"MDS: {fact}: nothing tells rows apart, and where they lie on the map means nothing."])
