"""Multidimensional scaling by majorisation."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from tamiz import parallel
from tamiz.exceptions import ConvergenceWarning, DataError
from tamiz.graphs.metrics.names import metric_tags
from tamiz.graphs.reading import Reading, row_numbers
from tamiz.random import Seed, generator
from tamiz.reduction.base import STUDY_ROWS, MapFacts, Reducer, Variant
from tamiz.reduction.dissimilarities import NAMES, Dissimilarities, read_new, read_with_gaps
from tamiz.reduction.majorization.curves import Curve
from tamiz.reduction.majorization.descent import LITTLE
from tamiz.reduction.majorization.guttman import Groups
from tamiz.reduction.majorization.pairs import Pairs
from tamiz.reduction.majorization.placing import Fitted, PlacedRows
from tamiz.reduction.majorization.problem import Problem
from tamiz.reduction.majorization.reading import read_pairs
from tamiz.reduction.majorization.scaling import BYTES, KINDS, TIES, Scaled, Scaling, configurations, transformation_of
from tamiz.reduction.majorization.shepard import ShepardPairs
from tamiz.reduction.majorization.starts import CHOICES
from tamiz.sources.features import compare, remember
from tamiz.sources.schema import Schema
from tamiz.statistics.base import Floats
from tamiz.storage.invariants import Count, Invariants, Is, Law, Number, Numbers, OneOf
from tamiz.validation import check_choice, check_integer, check_real
from tamiz.warn import tell

# Rows whose numbers fit in two bytes, as the ends of ordered pairs are kept.
_MOST_ORDERED = 2**16
# A stress that is none, beside a map whose points lie at next to no places: what order alone may come to.
_NO_STRESS = 1e-3
_FEW_PLACES = 1e-3
# Rows of an ordinal map in a study: half a million pairs are in order in a second, and four times as many in five.
_STUDY_ORDERED = 1_000
# What the distances of a map are held to, and what that says of far ones.
_TOLD = {
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
    course_ : ndarray, one more than there were steps or as many
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
    place of that. `place` tells how well it fits. By similarities only rows that are equal to rows of fit can be placed. An
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

    dissimilarities: ClassVar = NAMES
    invariants: ClassVar[Invariants] = {
        "_rows": Is(Dissimilarities),
        "_rows.points.n_samples": Count(low=1, size="n"),
        "_reading": (Is(Reading), Law(lambda it: it._rows.are_read_by(it._reading), "does not read the rows of fit")),
        "_kind": OneOf(*KINDS),
        "_unit": (Number(0.0), Law(lambda it: it._unit > 0, "is not above 0")),
        "_curve": Is(Curve),
        "_disparities": (
            Numbers("pairs", missing=True),
            Law(
                lambda it: len(it._disparities) == math.comb(len(it.embedding_), 2),
                "does not have one number for every pair",
            ),
        ),
        "stress_": Number(0.0),
        "normalized_stress_": Number(0.0),
        "stress_per_point_": Numbers("n", missing=True),
        "course_": Numbers("c"),
        "n_iter_": Count(),
        "converged_": Is(bool),
    }
    variants: ClassVar = (
        Variant("metric", "Metric MDS"),
        Variant("ordinal", "Ordinal MDS"),
        Variant("interval", "Interval MDS", usual=False),
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
    def study_rows(self) -> int | None:
        """Rows that a study fits the map on at most: fewer where their pairs are put in order, which takes most of the time."""
        return _STUDY_ORDERED if self.kind == "ordinal" else STUDY_ROWS

    def _facts(self) -> MapFacts:
        """Return the stress, what it is of, and how the search ended."""
        to, meaning = _TOLD[self._kind]
        steps = f"{self.n_iter_:,} {'step' if self.n_iter_ == 1 else 'steps'}"
        ended = f"The search converged in {steps}" if self.converged_ else f"The search was cut off after {steps}"
        return MapFacts(
            [f"Coordinate {k + 1}" for k in range(self.embedding_.shape[1])],
            [
                f"Distances on the map are as near as can be to {to}: Kruskal's stress-1 is {self.stress_:.3g}, the root mean "
                "square of what they differ by, over that of the distances on the map; 0 is a perfect map.",
                f"{ended}{'.' if self.converged_ else ', with the stress still falling.'}",
            ],
            nearness=f"Points near each other are rows at small distances{meaning}.",
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
        kind = check_choice("kind", self.kind, KINDS)
        metric = check_choice("dissimilarity", self.dissimilarity, self.dissimilarities)
        ties = check_choice("ties", self.ties, TIES)
        if isinstance(self.init, str):
            check_choice("init, where it is no array,", self.init, CHOICES)
        m, n_init, max_iter = (
            check_integer(name, getattr(self, name), low=1) for name in ("n_components", "n_init", "max_iter")
        )
        tol = check_real("tol", self.tol, low=0.0)
        rng = generator(self.random_state)
        with parallel.session():
            rows, reading = read_with_gaps(X, metric, "MDS")
            n = rows.points.n_samples
            if m >= n:
                raise ValueError(f"n_components must be below the number of rows = {n:,}, got {m:,}.")
            if kind == "ordinal" and n > _MOST_ORDERED:
                raise ValueError(
                    f"kind='ordinal' keeps the order of the pairs of at most {_MOST_ORDERED:,} rows, got {n:,}. Fit on a sample of "
                    "rows and transform the others."
                )
            if n == 2 and kind != "metric":
                raise DataError(
                    f"Two rows have one dissimilarity, and kind={kind!r} needs several to compare. Pass more rows."
                )
            numbers = row_numbers(X)
            pairs = read_pairs(rows, weights, fine=kind != "metric", n_bytes=BYTES[kind], row_numbers=numbers)
            _look_for_equal(pairs, kind)
            # Equal rows are at 0 from each other.
            first = np.arange(n) if pairs.values.all() else rows.points.first_equal()
            scaling = Scaling(Problem(transformation_of(kind, ties, pairs), Groups(first)))

            def hold() -> None:
                scaled = scaling.scaled(turn=isinstance(self.init, str))
                self._hold(X, rows, reading, pairs.unit, scaled)

            try:
                scaling.run(configurations(self.init, n_init, rows, pairs, m, rng, first), max_iter, tol)
            except KeyboardInterrupt:
                if scaling.best is not None:
                    hold()
                raise
            hold()
        self._tell(max_iter)
        return self

    def _hold(self, X: Any, rows: Dissimilarities, reading: Reading, unit: float, scaled: Scaled) -> None:
        remember(self, X)
        self._rows, self._reading, self._kind = rows, reading, self.kind
        self._unit, self._curve, self._disparities = unit, scaled.curve, scaled.disparities
        self.embedding_ = self._as_given(scaled.points * unit, X)
        self.stress_ = self.normalized_stress_ = scaled.stress
        self.stress_per_point_ = scaled.stress_per_point
        self.course_, self.n_iter_, self.converged_ = scaled.course, scaled.n_iter, scaled.converged

    def _tell(self, max_iter: int) -> None:
        """Warn of a search that was cut off, and of a map that shows nothing."""
        if not self.converged_ and self.stress_**2 > LITTLE:
            share = 1 - (self.course_[-1] / self.course_[-2]) ** 2
            tell(
                [
                    f"MDS: the stress was still falling, by {share:.1g} of its square a step, when max_iter={max_iter:,} steps "
                    "were made. Raise max_iter, or tol."
                ],
                ConvergenceWarning,
            )
        if self._kind == "ordinal" and self.stress_ < _NO_STRESS:
            points = self.embedding_ / self._unit
            n_places = len(np.unique(np.round(points / (_FEW_PLACES * float(np.abs(points).max()))), axis=0))
            if n_places <= max(3, self.embedding_.shape[1] + 1) < len(points):
                tell(
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
        drawn = np.arange(n) if n <= n_rows else np.sort(generator(random_state).choice(n, n_rows, replace=False))
        return ShepardPairs.among(drawn, self._rows, self.embedding_, self._disparities, self._unit)

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
        return self._as_given(self.place(X).embedding, X)

    def place(self, X: Any) -> PlacedRows:
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
        compare(self, X)
        with parallel.session():
            rows = self._rows
            queries = read_new(rows, self._reading, X)
            fitted = Fitted(rows, self._curve, self._unit, self.embedding_, self.stress_per_point_)
            return fitted.place(queries)


def _look_for_equal(pairs: Pairs, kind: str) -> None:
    """Refuse, or tell of, dissimilarities of which none is more than another."""
    known = pairs.known()
    if pairs.n == 2 or known.min() < known.max():
        return
    fact = f"All dissimilarities are equal, {float(known[0]) * pairs.unit:.6g}"
    if kind != "metric":
        raise DataError(
            f"{fact}: there is no line and no order to find in them. Use kind='metric', or other dissimilarities."
        )
    tell([f"MDS: {fact}: nothing tells rows apart, and where they lie on the map means nothing."])
