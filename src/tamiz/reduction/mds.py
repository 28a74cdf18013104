"""Multidimensional scaling by majorisation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from tamiz.arrays import Floats, Indices, divide_or_zero
from tamiz.exceptions import DataError
from tamiz.reduction.base import check_finite_embedding
from tamiz.reduction.classical_scaling import principal_axes_rotation
from tamiz.reduction.description import MapDescription
from tamiz.reduction.dissimilarities import Dissimilarities, DissimilarityReducer
from tamiz.reduction.pairs import CondensedPairs, LinearCurve, PiecewiseLinearCurve, condensed_indices, read_pairs
from tamiz.reduction.smacof import (
    BYTES_PER_PAIR_BY_KIND,
    INIT_CHOICES,
    MDS_KINDS,
    NEAR_ZERO_STRESS,
    TIE_RULES,
    EqualRows,
    StressFunction,
    StressMinimizer,
    create_transformation,
    initial_configurations,
    minimize_from_starts,
)
from tamiz.reduction.stress import minimize_row_stress
from tamiz.runtime import parallel
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.user_warnings import warn
from tamiz.runtime.validation import check_choice, check_integer, check_real
from tamiz.storage.invariants import Condition, FloatArray, InstanceOf, Integer, Invariants, Number, OneOf
from tamiz.table.encode import RowEncoder
from tamiz.table.factory import record_features, row_numbers
from tamiz.table.schema import Schema

# Largest number of rows of ordinal MDS: row numbers of sorted pairs are stored in two bytes.
_MAX_ORDINAL_ROWS = 2**16
# Of ordinal MDS in a study.
_MAX_ORDINAL_STUDY_ROWS = 1_000
# An ordinal map counts as degenerate if its stress is below this and its points coincide, within the tolerance, with a few places.
_DEGENERATE_STRESS = 1e-3
_DEGENERATE_TOLERANCE = 1e-3
# For each kind: what distances on the map approximate, and the meaning of large distances.
_DISTANCE_MEANINGS = {
    "metric": ("the distances of the rows", ", and dissimilar rows are far apart."),
    "interval": ("a linear function of the distances of the rows, fitted to the map", "."),
    "ordinal": (
        "a monotone function of the distances of the rows, fitted to the map",
        ". The map preserves only the order of the distances.",
    ),
}
# Dissimilarities in memory at a time.
_DISSIMILARITIES_IN_MEMORY = 2**20


@dataclass(frozen=True)
class MappedRows:
    """New rows mapped into a fitted map.

    Attributes
    ----------
    embedding : ndarray of shape (n_new, n_components)
    stress : ndarray of shape (n_new,)
        Kruskal's stress-1 of each row against all rows of the fit.
    reliability : ndarray of shape (n_new,)
        Share of the rows of the fit with at least the same stress, in [0, 1]; near 0 the row does not fit into the map.
    """

    embedding: Floats
    stress: Floats
    reliability: Floats


@dataclass(frozen=True)
class ShepardPairs:
    """Dissimilarities, distances and disparities of pairs of rows.

    Attributes
    ----------
    dissimilarities : ndarray of shape (n_pairs,)
        NaN where missing.
    distances : ndarray of shape (n_pairs,)
        On the map.
    disparities : ndarray of shape (n_pairs,)
        Transformed dissimilarities that the distances approximate.
    """

    dissimilarities: Floats
    distances: Floats
    disparities: Floats


class MDS(DissimilarityReducer):
    """Metric, interval and ordinal multidimensional scaling by majorisation (SMACOF).

    .. math:: \\min_{X, f} \\sum_{i < j} w_{ij} (f(\\delta_{ij}) - \\|x_i - x_j\\|)^2

    Parameters
    ----------
    n_components : int, default=2
        Number of coordinates.
    kind : {"metric", "interval", "ordinal"}, default="metric"
        The class of the transformation f: the identity (metric, or ratio, scaling), a nondecreasing nonnegative line, or any
        nondecreasing function.
    dissimilarity : {"euclidean", "seuclidean", "cityblock", "cosine", "gower", "precomputed", "similarity"}, default="euclidean"
        As in `ClassicalMDS`. Precomputed distances may be missing (NaN); 0 is an ordinary distance.
    ties : {"primary", "secondary"}, default="primary"
        Ties of "ordinal": equal dissimilarities may have different disparities (primary) or must have equal ones (secondary).
        Dissimilarities are equal if they differ by rounding to 27 significant bits, a relative 7.5e-9, or less.
    init : {"classical", "random"} or array of shape (n_samples, n_components), default="classical"
        Initial configuration: the map of `ClassicalMDS`, random points, or the given points.
    n_init : int, default=1
        Number of starts, all but the first random; the map with the smallest stress is kept.
    max_iter : int, default=1000
        Largest number of iterations of a start; a warning reports if it is reached.
    tol : float, default=1e-6
        Converged when two iterations in a row lower the squared stress by at most this share; below a squared stress of 1e-10 by
        at most 2 %, or by this share of 1e-10.
    random_state : int, Generator or None, default=None
        Draws random starts.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Columns of mean 0 at the scale of least stress, in units of the dissimilarities, rotated to the principal axes unless init
        is an array. Equal rows have equal coordinates.
    kind_ : str
        The `kind` of the fit.
    stress_ : float
        Kruskal's stress-1 of the disparities f(delta) at the best scale of the map: sqrt(sum w (f - d)^2 / sum w d^2). 0 is a
        perfect map.
    normalized_stress_ : float
        sqrt(sum w (f - d)^2 / sum w f^2); at the best scale it is equal to `stress_`.
    stress_per_point_ : ndarray of shape (n_samples,)
        sqrt(sum w (f - d)^2 / sum w d^2) over the pairs of each row.
    n_iter_ : int
        Iterations from the best start; the last one may not have lowered the stress.
    stress_history_ : ndarray of shape (`n_iter_` + 1,) or (`n_iter_`,)
        Kruskal's stress-1 of the best start and after each iteration that lowered it.
    converged_ : bool

    Raises
    ------
    DataError
        When all dissimilarities are 0, or all equal for "interval" and "ordinal"; when a row has no dissimilarity with a weight
        above 0; when the known pairs do not connect all rows; when distances, similarities or weights are invalid, or a Table has
        weights.
    ValueError
        When n_components is not below the number of rows.
    MemoryError
        When the pairs do not fit in memory.

    Notes
    -----
    Cost O(n^2) for each iteration, and O(n^2) memory: the dissimilarity of each pair is stored once, as float32 above 512 rows
    (relative error of the stress below 1e-6, absolute below 1e-7); distances are not stored. "interval" uses another 12 bytes for
    each pair, "ordinal" another 48, and it sorts the pairs once. Weights or missing dissimilarities use as much memory as the
    dissimilarities.

    A Guttman step never raises the stress. Longer steps come from limited-memory BFGS over the last five steps, preconditioned by
    the weight matrix, and are used only if they lower the stress. Disparities are optimal for the current distances; those of
    "interval" and "ordinal" are normalised to the sum of squares of the dissimilarities. The result is a local minimum; several
    starts show how much local minima vary. In one dimension most starts end in a poor local minimum.

    With weights or missing dissimilarities the weight matrix is factored once (Cholesky) up to 1,500 rows; above, the Guttman
    transform is approximated by conjugate gradients.

    `transform` maps each new row to the point of least stress against the rows of the fit, independently of other rows; a row that
    is equal to a row of the fit gets its coordinates. `map_rows` also returns the stress. With similarities only rows that are
    equal to rows of the fit can be mapped. "ordinal" assigns dissimilarities outside the range of the fit to the smallest or
    largest disparity.

    References
    ----------
    de Leeuw (1977), Applications of convex analysis to multidimensional scaling, in Recent Developments in Statistics; Kruskal
    (1964), Nonmetric multidimensional scaling: a numerical method, Psychometrika 29; Borg and Groenen (2005), Modern
    Multidimensional Scaling, chapters 8 and 9; de Leeuw and Mair (2009), Multidimensional scaling using majorization: SMACOF in R,
    Journal of Statistical Software 31.

    Examples
    --------
    Four points on a line with one missing distance:

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

    invariants: ClassVar[Invariants] = {
        "_dissimilarities.points.n_samples": Integer(low=1, size="n"),
        "kind_": OneOf(*MDS_KINDS),
        "_unit": (Number(0.0), Condition(lambda it: it._unit > 0, "is not above 0")),
        "_curve": InstanceOf(LinearCurve, PiecewiseLinearCurve),
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

    variants: ClassVar[Mapping[str, str]] = {
        "metric": "Metric MDS",
        "ordinal": "Ordinal MDS",
        "interval": "Interval MDS",
    }

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
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.dissimilarity != "similarity"
        return tags

    @property
    def quadratic_cost(self) -> bool:
        """True: a fit reads all pairs of rows."""
        return True

    @property
    def max_study_rows(self) -> int | None:
        """2,000 rows, and 1,000 for ordinal MDS: it fits half a million pairs in a second, and four times as many in five."""
        return _MAX_ORDINAL_STUDY_ROWS if self.kind == "ordinal" else super().max_study_rows

    def study_settings(self, schema: Schema, variant: str) -> dict[str, Any]:  # noqa: ARG002
        """Return the parameters in a study: the kind of the variant."""
        return {"kind": variant}

    def fit(self, X: Any, y: Any = None, *, weights: Any = None) -> Self:  # noqa: ARG002
        """Compute the coordinates.

        Parameters
        ----------
        X : array, data frame or Table
            Rows, their distances or their similarities. A failed fit leaves the estimator unchanged; an interrupted fit keeps the
            best map so far.
        y : ignored
        weights : array-like of shape (n_samples, n_samples), default=None
            Weight of each pair, symmetric and nonnegative; weight 0 equals a missing dissimilarity. None weighs all equally.
        """
        kind = check_choice("kind", self.kind, MDS_KINDS)
        check_choice("dissimilarity", self.dissimilarity, self.dissimilarities)
        ties = check_choice("ties", self.ties, TIE_RULES)
        if isinstance(self.init, str):
            check_choice("init, where it is no array,", self.init, INIT_CHOICES)
        m, n_init, max_iter = (
            check_integer(name, getattr(self, name), low=1) for name in ("n_components", "n_init", "max_iter")
        )
        tol = check_real("tol", self.tol, low=0.0)
        rng = make_rng(self.random_state)
        with parallel.thread_session():
            rows, encoder = self._read_rows(X, m, allow_missing=True)
            n = rows.points.n_samples
            if kind == "ordinal" and n > _MAX_ORDINAL_ROWS:
                raise ValueError(
                    f"kind='ordinal' supports at most {_MAX_ORDINAL_ROWS:,} rows, got {n:,}. Fit on a sample of rows and transform "
                    "the others."
                )
            if n == 2 and kind != "metric":
                raise DataError(
                    f"kind={kind!r} needs several dissimilarities, and two rows have only one. Pass more rows."
                )
            pairs = read_pairs(
                rows,
                weights,
                float64=kind != "metric",
                bytes_per_pair=BYTES_PER_PAIR_BY_KIND[kind],
                row_numbers=row_numbers(X),
            )
            _check_dissimilarities_differ(pairs, kind)
            # Without a dissimilarity of 0 no rows are equal.
            first = np.arange(n) if pairs.values.all() else rows.points.first_occurrences()
            function = StressFunction(create_transformation(kind, ties, pairs), EqualRows(first))
            best, interruption = minimize_from_starts(
                function, initial_configurations(self.init, n_init, rows, pairs, m, rng, first), max_iter, tol
            )
            self._set_fitted(X, rows, encoder, function, best)
        if interruption is not None:
            raise interruption
        self._warn_about_solution(max_iter)
        return self

    def _set_fitted(
        self,
        X: Any,
        dissimilarities: Dissimilarities,
        encoder: RowEncoder,
        function: StressFunction,
        best: StressMinimizer,
    ) -> None:
        points, pairs = best.state.points, function.pairs
        if isinstance(self.init, str):
            points = principal_axes_rotation(points.T).project_rows(points.T).T
        final = function.evaluate(points)
        disparities = function.transformation.disparities()
        embedding = self._match_dtype(np.ascontiguousarray(final.points.T) * pairs.unit, X)
        # Attributes are set last: a failed fit leaves the estimator unchanged.
        record_features(self, X)
        self._dissimilarities, self._row_encoder, self.kind_ = dissimilarities, encoder, self.kind
        self._unit, self._curve = pairs.unit, function.transformation.curve()
        self._disparities = np.where(pairs.weights > 0, disparities, np.nan) if pairs.is_weighted else disparities
        self.embedding_ = embedding
        self.stress_ = self.normalized_stress_ = float(np.sqrt(final.stress))
        self.stress_per_point_ = function.per_point(final.points)
        self.stress_history_ = np.array(best.stress_history)
        self.n_iter_, self.converged_ = best.n_iter, best.converged

    def _warn_about_solution(self, max_iter: int) -> None:
        """Warn about missing convergence and a degenerate map."""
        if not self.converged_ and self.stress_**2 > NEAR_ZERO_STRESS:
            share = 1 - (self.stress_history_[-1] / self.stress_history_[-2]) ** 2
            warn(
                "TZ501",
                f"MDS: not converged after {max_iter:,} iterations; the last one lowered the squared stress by "
                f"a share of {share:.1g}. Raise the number of iterations (max_iter) or the tolerance (tol).",
            )
        if self.kind_ == "ordinal" and self.stress_ < _DEGENERATE_STRESS:
            points = self.embedding_ / self._unit
            n_places = len(np.unique(np.round(points / (_DEGENERATE_TOLERANCE * float(np.abs(points).max()))), axis=0))
            if n_places <= max(3, self.embedding_.shape[1] + 1) < len(points):
                warn(
                    "TZ402",
                    f"MDS: the ordinal map is degenerate: its {len(points):,} points coincide with {n_places} places. Use "
                    "interval or metric MDS (kind='interval' or kind='metric').",
                )

    @property
    def disparities_(self) -> Floats:
        """The disparities of all pairs in the order of `scipy.spatial.distance.pdist`, NaN where missing."""
        check_is_fitted(self)
        return self._disparities * np.float64(self._unit)

    def shepard(self, n_rows: int = 100, random_state: Seed = 0) -> ShepardPairs:
        """Return the dissimilarities, distances and disparities of all pairs among up to `n_rows` random rows.

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
        rows = np.arange(n) if n <= n_rows else np.sort(make_rng(random_state).choice(n, n_rows, replace=False))
        i, j = (rows[ends] for ends in np.triu_indices(len(rows), 1))
        known = [
            self._dissimilarities.distances(self._dissimilarities.points, row, row + 1)[0, rows[at + 1 :]]
            for at, row in enumerate(rows.tolist())
        ]
        distances = np.sqrt(((self.embedding_[i] - self.embedding_[j]) ** 2).sum(axis=1))
        selected = self._disparities[condensed_indices(i, j, n)]
        return ShepardPairs(np.concatenate(known), distances, selected * np.float64(self._unit))

    def describe(self) -> MapDescription:
        """Describe the meaning of the distances, the stress and the convergence."""
        check_is_fitted(self)
        target, meaning = _DISTANCE_MEANINGS[self.kind_]
        fitted = "those of the rows" if self.kind_ == "metric" else "the fitted function"
        steps = f"{self.n_iter_:,} {'iteration' if self.n_iter_ == 1 else 'iterations'}"
        notes = (
            f"Distances on the map approximate {target}. Kruskal's stress-1 is {self.stress_:.3g}: the root mean square of the "
            f"differences between the distances on the map and {fitted}, divided by the root mean square of the distances on the "
            "map; 0 is a perfect map.",
            f"SMACOF converged in {steps}."
            if self.converged_
            else f"SMACOF did not converge within {steps}; the stress was still decreasing.",
        )
        return self._describe(notes, f"Rows that are similar in the table are near each other on the map{meaning}")

    def _map_new_rows(self, queries: Any) -> Floats:
        return self._place_rows(queries).embedding

    def map_rows(self, X: Any) -> MappedRows:
        """Map new rows and return their stress and reliability.

        Parameters
        ----------
        X : array, data frame or Table
            As in `transform`.

        Returns
        -------
        MappedRows
        """
        with parallel.thread_session():
            return self._place_rows(self._read_new_rows(X))

    def _place_rows(self, queries: Any) -> MappedRows:
        rows, n = self._dissimilarities, len(self.embedding_)
        equal, points = rows.points.match_rows(queries)
        queries = rows.copy_self_values(queries, equal, points)
        embedding, stress = np.empty((queries.n_samples, self.embedding_.shape[1])), np.empty(queries.n_samples)
        embedding[equal], stress[equal] = self.embedding_[points], self.stress_per_point_[points]
        others = np.setdiff1d(np.arange(queries.n_samples), equal)
        rows.require_distances(others)
        for start, stop in parallel.block_ranges(len(others), max(1, _DISSIMILARITIES_IN_MEMORY // n)):
            part = others[start:stop]
            with np.errstate(over="ignore", invalid="ignore"):
                embedding[part], stress[part] = self._map_unequal_rows(queries.take(part), part)
        check_finite_embedding(embedding)
        better = np.searchsorted(np.sort(self.stress_per_point_), stress, side="left")
        return MappedRows(embedding, stress, 1.0 - better / n)

    def _map_unequal_rows(self, queries: Any, row_numbers: Indices) -> tuple[Floats, Floats]:
        """Return the coordinates and the stress of new rows that are equal to no row of the fit."""
        targets = self._curve(self._dissimilarities.distances(queries, 0, queries.n_samples) / self._unit)
        known = ~np.isnan(targets)
        if not known.any(axis=1).all():
            row = row_numbers[int(np.argmin(known.any(axis=1)))]
            raise DataError(
                f"Row {row} has no distance to any row of the fit, so that its position is undefined. Add one, or remove the row."
            )
        fitted = self.embedding_ / self._unit
        positions = minimize_row_stress(fitted, targets).positions
        distances = np.where(known, cdist(positions, fitted), 0.0)
        squares = (distances**2).sum(axis=1)
        residual = (np.where(known, targets - distances, 0.0) ** 2).sum(axis=1)
        return positions * self._unit, np.sqrt(divide_or_zero(residual, squares))


def _check_dissimilarities_differ(pairs: CondensedPairs, kind: str) -> None:
    """Raise DataError if all dissimilarities are equal; only warn for kind="metric"."""
    known = pairs.known_values()
    if pairs.n == 2 or known.min() < known.max():
        return
    fact = f"All dissimilarities are equal, {float(known[0]) * pairs.unit:.6g}"
    if kind != "metric":
        raise DataError(f"{fact}, so that kind={kind!r} is undefined. Use kind='metric' or other dissimilarities.")
    warn("TZ210", f"MDS: {fact}, so that the positions on the map have no meaning.")
