"""Interactions: pairs of columns that change the target beyond the sum of their effects."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from scipy import special
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import brentq

from tamiz.arrays import Floats, is_missing
from tamiz.assessment.associations import dependent_rows, is_ordinal
from tamiz.assessment.effect_sizes import ALPHA, HEAVY_SHARE, chi2_noncentrality, tail_share
from tamiz.exceptions import DataError
from tamiz.runtime import parallel
from tamiz.runtime.codec import JsonResult
from tamiz.runtime.random import make_rng
from tamiz.statistics.independence import adjust_p_values
from tamiz.statistics.two_samples import WeightedRows, mid_ranks
from tamiz.table.base import Table, target_array
from tamiz.table.factory import as_table
from tamiz.table.views import positive_weight_rows, sample_table

Scale: TypeAlias = Literal["linear", "logarithm", "log-odds"]

FDR_LEVEL, POWER = 0.05, 0.8
_LARGE_CRITICAL = 1e4
# Limits of the work: rows, columns of the screen, pairs that are tested, and multiplications of the screen and of the tests.
_MAX_ROWS, _MAX_COLUMNS, MAX_PAIRS, _MAX_WORK = 20_000, 1_000, 200, 4e9
_MIN_ROWS, _FEWEST_ROWS = 50, 2_000
# Iterations of a fit.
_FITS = 10
# Rows for each parameter of the additive model.
_ROWS_PER_PARAMETER = 10
# Levels of a categorical column by themselves, and those of them that form products; values of a number that counts as levels.
_MAX_LEVELS, _MAX_PRODUCT_LEVELS, _FEW_VALUES = 12, 4, 6
# Rows of a level, and rows in which a product is not 0.
_MIN_LEVEL_ROWS = 10
# Whole numbers of so many levels are a numeric target; fewer are classes.
_MIN_ORDERED = 5
# Classes that are compared with all others.
_MAX_CLASSES = 5
# Scores of products have heavier tails than normal ones: F has this share of the degrees of freedom. Without it, 7 % of the tables
# of 20 columns with an additive logistic model had a false alarm.
_TAIL = 8
_RIDGE = 1e-8
# A target with heavy tails is clipped at so many interquartile ranges from its quartiles.
_CLIP = 3.0


@dataclass(frozen=True)
class Interaction:
    """Two columns whose joint effect is not the sum of both.

    Attributes
    ----------
    columns : tuple of str
    of_class : str
        The class whose log-odds are meant; "" for a numeric target.
    share : float
        The share of the variance left by the sums of all columns that products of the two explain (of the log-odds, the share of
        the score statistic).
    interval : (float, float)
        Its interval, adjusted for the choice of the significant pairs: 1 - .05 R / m for R of m pairs.
    p_value, adjusted : float
        As it is, and adjusted over all pairs (Benjamini and Hochberg 1995).
    direction : int
        1 if the slope of one column rises with the other, -1 if it falls; 0 for a categorical column.
    only_together : bool
        Whether neither column is associated with the target by itself (p > .05).
    """

    columns: tuple[str, str]
    of_class: str
    share: float
    interval: tuple[float, float]
    p_value: float
    adjusted: float
    direction: int
    only_together: bool


@dataclass(frozen=True)
class Interactions(JsonResult):
    """The significant interactions of a table, and what could have been found.

    Attributes
    ----------
    pairs : tuple of Interaction
        Those with an adjusted p-value of at most 5 %, the largest share first.
    scale : {"linear", "logarithm", "log-odds"}
        What the effects of two columns add up on without an interaction: the target, its logarithm, or the log-odds of a class.
    n_rows : float
        The rows that were used, as they count.
    n_columns, n_pairs, n_tested : int
        The columns and all their pairs that were screened, and the pairs that were tested.
    detectable : float
        The share of a product of ranks that the test of a pair finds with a power of 80 % after Bonferroni's correction.
    """

    json_properties: ClassVar[tuple[str, ...]] = ("sentences",)

    pairs: tuple[Interaction, ...]
    scale: Scale
    n_rows: float
    n_columns: int
    n_pairs: int
    n_tested: int
    detectable: float

    @property
    def sentences(self) -> tuple[str, ...]:
        """One sentence for each pair, without a full stop."""
        on = {"linear": "", "logarithm": " of logarithms", "log-odds": " on the log-odds scale"}[self.scale]
        found = []
        for one in self.pairs:
            a, b = one.columns
            ends = " to ".join(f"{100 * end:.1f}" for end in one.interval)
            turn = (
                "" if not one.direction else f"; the slope of {a} {'rises' if one.direction > 0 else 'falls'} with {b}"
            )
            only = "; neither is associated by itself" if one.only_together else ""
            share = f"{100 * one.share:.1f}% of what the sum leaves, {ends}"
            found.append(f"{a} and {b}: together beyond the sum of the two{on} ({share}){turn}{only}")
        return tuple(found)


def find_interactions(
    X: Any, y: Any = None, *, sample_weight: Any = None, groups: Any = None, random_state: int = 0
) -> Interactions:
    r"""Find pairs of columns that change the target beyond the sum of their effects, at a false discovery rate of 5 %.

    Parameters
    ----------
    X : array, data frame or Table
    y : array of shape (n_samples,), default=None
        The target, if X is no table.
    sample_weight : array of shape (n_samples,), default=None
        Frequency or sampling weights.
    groups : array of shape (n_samples,), default=None
        Rows of a group are dependent: scores are summed over groups.
    random_state : int, default=0
        Seed of the sample of a large table.

    Returns
    -------
    Interactions

    Raises
    ------
    DataError
        When there is no target, or fewer than 50 rows.

    Notes
    -----
    An additive model is fitted: logistic regression for classes (each of up to five against the others), least squares
    for numbers and five or more ordinal levels, with a broken line of five pieces for each numeric column and an indicator for each
    level. The score test of a pair adds the products of the ranks and their squares, or of level indicators:

    .. math:: T = s^T V^{-1} s, \qquad s = \tilde Z^T (y - \hat\mu), \qquad \tilde Z = Z - X (X^T W X)^{-1} X^T W Z

    with :math:`V = \tilde Z^T W \tilde Z` for classes, and the sum of the squared scores of rows or groups for numbers, groups and
    sampling weights; T is compared with F, whose second degrees of freedom are n / 8, as products have heavy tails. The model is on
    the scale that makes effects additive: the target, its logarithm if it is positive with heavy tails, or log-odds. An interaction
    on one scale may be none on another.

    No main effect is needed: all pairs are screened by the products with the residuals, in one matrix product, and the 200 largest
    are tested. P-values are adjusted over all pairs. The work is about 4e9 multiplications: rows are sampled, at most 20,000, and
    of more than 1,000 columns the first 1,000 are used.

    References
    ----------
    Rao (1948), Large sample tests of statistical hypotheses concerning several parameters, Proceedings of the
    Cambridge Philosophical Society 44; Benjamini and Yekutieli (2005), False discovery rate-adjusted multiple confidence intervals
    for selected parameters, Journal of the American Statistical Association 100.

    Examples
    --------
    >>> import numpy as np
    >>> from tamiz.assessment import find_interactions
    >>> X = np.random.default_rng(0).normal(size=(500, 10))
    >>> found = find_interactions(X, np.where(X[:, 2] * X[:, 5] > 0, "yes", "no"))
    >>> [one.columns for one in found.pairs], found.n_pairs
    ([('x2', 'x5')], 45)
    """
    table = positive_weight_rows(as_table(X, y, sample_weight, groups=groups))
    schema = table.schema
    if schema.target is None or schema.n_rows < _MIN_ROWS:
        raise DataError(f"find_interactions needs a target and at least {_MIN_ROWS} rows, got {schema.n_rows}.")
    n_parameters = 3 * min(len(schema.used), _MAX_COLUMNS)
    n_rows = int(min(schema.n_rows, _MAX_ROWS, max(_MAX_WORK / (_FITS * n_parameters**2), _FEWEST_ROWS)))
    with parallel.thread_session():
        return _Pairs(sample_table(table, n_rows, make_rng(random_state))).find()


@dataclass(frozen=True)
class _Terms:
    """The columns of the design matrix of one column: its main effect, and the factors of its products."""

    column: int
    main: Floats
    factors: Floats
    is_number: bool


class _Pairs:
    """The pairs of the columns of a table, tested against an additive model."""

    def __init__(self, table: Table) -> None:
        schema, y = table.schema, target_array(table)
        self.table, self.schema = table, schema
        self.rows = dependent_rows(table)
        weight = self.rows.weight
        self.scale: Scale = "log-odds"
        self.targets: list[tuple[str, Floats]] = []
        if schema.has_classes and not (is_ordinal(schema) and schema.n_classes >= _MIN_ORDERED):
            assert schema.target is not None
            counts = np.bincount(y, weight, len(schema.target.levels))
            chosen = [
                c for c in np.argsort(-counts, kind="stable")[:_MAX_CLASSES].tolist() if counts[c] >= _MIN_LEVEL_ROWS
            ]
            if np.count_nonzero(counts) == 2:
                chosen = [int(np.flatnonzero(counts)[1])]
            self.targets = [(schema.target.levels[c], (y == c).astype(np.float64)) for c in chosen]
        else:
            self.scale, values = _additive_scale(y.astype(np.float64), weight)
            self.targets = [("", values)]
        # Columns have fewer terms in wide tables, and for rare classes.
        n_informative = min((_n_informative(one, self.rows, self.scale) for _, one in self.targets), default=0.0)
        n_terms = 7 * len(schema.used)
        wide = n_terms * _ROWS_PER_PARAMETER > n_informative or _FITS * n_terms**2 * len(y) > _MAX_WORK
        built = parallel.map_blocks(lambda j: self._terms(j, wide=wide), schema.used.tolist()[:_MAX_COLUMNS])
        self.terms = [one for one in built if one is not None]

    def _terms(self, j: int, *, wide: bool) -> _Terms | None:
        values = self.table.column(j)
        weight = self.rows.weight
        missing = is_missing(values)
        absent = (
            missing[:, None].astype(np.float64)
            if weight[missing].sum() >= _MIN_LEVEL_ROWS
            else np.empty((len(values), 0))
        )
        if missing.all() or np.ptp(values[~missing]) == 0:
            return None
        n_values = len(np.unique(values[~missing])) if self.schema.columns[j].is_number else 0
        if n_values > _FEW_VALUES:
            u = np.zeros(len(values))
            u[~missing] = mid_ranks(values[~missing], weight[~missing]) - 0.5
            raw = np.where(missing, np.mean(values[~missing]), values)
            raw = np.clip(_scaled(raw, weight), -5.0, 5.0)
            bends = [u**2] if wide else [np.maximum(u - knot, 0.0) for knot in (-0.3, -0.1, 0.1, 0.3)]
            parts = [u, raw, *bends]
            factors = np.stack([_scaled(u, weight), _scaled(u**2, weight)], axis=1)
            factors[missing] = 0.0
            return _Terms(j, np.column_stack([*(_scaled(one, weight) for one in parts), absent]), factors, True)
        codes = np.unique(np.where(missing, -1, values), return_inverse=True)[1] - int(missing.any())
        counts = np.bincount(codes[~missing], weight[~missing])
        order = [k for k in np.argsort(-counts, kind="stable").tolist() if counts[k] >= _MIN_LEVEL_ROWS]
        # The most frequent level is the reference, and rare levels are one level more.
        indicators = [(codes == k).astype(np.float64) for k in order[1:_MAX_LEVELS]]
        rare = ~missing & ~np.isin(codes, order[:_MAX_LEVELS])
        if weight[rare].sum() >= _MIN_LEVEL_ROWS:
            indicators.append(rare.astype(np.float64))
        if not indicators:
            return None
        main = np.stack(indicators, axis=1)
        factors = np.stack([_scaled(one, weight) for one in indicators[:_MAX_PRODUCT_LEVELS]], axis=1)
        factors[missing] = 0.0
        ordered = bool(n_values) and n_values == 2 and order[0] == 0
        return _Terms(j, np.column_stack([main, absent]), factors, ordered)

    def find(self) -> Interactions:
        pairs = list(combinations(range(len(self.terms)), 2))
        n, k = self.rows.n_units, len(self.targets)
        if not pairs or not k:
            return Interactions((), self.scale, n, len(self.terms), 0, 0, math.nan)
        best: dict[tuple[int, int], tuple[float, _Tested, str]] = {}
        sizes = []
        for name, y in self.targets:
            model = _AdditiveModel(self.terms, y, self.rows, self.scale)
            chosen = model.screen(pairs)
            tested = parallel.map_blocks(model.test, chosen)
            for pair, one in zip(chosen, tested, strict=True):
                if one is None:
                    continue
                sizes.append(one.df)
                p = min(one.p_value * k, 1.0)
                if pair not in best or p < best[pair][0]:
                    best[pair] = p, one, name
        keys = list(best)
        p_values = np.ones(len(pairs))
        p_values[: len(keys)] = [best[pair][0] for pair in keys]
        adjusted = adjust_p_values(p_values)
        significant = [at for at in range(len(keys)) if adjusted[at] <= FDR_LEVEL]
        level = ALPHA * len(significant) / len(pairs)
        found = [self._describe(keys[at], *best[keys[at]], float(adjusted[at]), level) for at in significant]
        found.sort(key=lambda one: -one.share)
        df = float(np.median(sizes)) if sizes else 1.0
        detectable = model.detectable(df, FDR_LEVEL / len(pairs) / k)
        return Interactions(tuple(found), self.scale, n, len(self.terms), len(pairs), len(keys), detectable)

    def _describe(
        self, pair: tuple[int, int], p: float, one: _Tested, of_class: str, adjusted: float, level: float
    ) -> Interaction:
        a, b = (self.terms[at] for at in pair)
        ends = (chi2_noncentrality(one.statistic, one.df, q) for q in (level / 2, 1 - level / 2))
        n = self.rows.n_units
        low, high = (end / (end + n) for end in ends)
        size = max(one.statistic - one.df, 0.0)
        y = dict(self.targets)[of_class]
        alone = [_main_p_value(term, y, self.rows) for term in (a, b)]
        names = self.schema.names
        return Interaction(
            (names[a.column], names[b.column]),
            of_class,
            min(max(size / (size + n), low), high),
            (low, high),
            p,
            adjusted,
            one.sign if a.is_number and b.is_number else 0,
            min(alone) > ALPHA,
        )


@dataclass(frozen=True)
class _Tested:
    statistic: float
    df: int
    p_value: float
    sign: int


class _AdditiveModel:
    """The sum of the effects of all columns, fitted, and score tests of products."""

    def __init__(self, terms: Sequence[_Terms], y: Floats, rows: WeightedRows, scale: Scale) -> None:
        self.terms, self.y, self.rows, self.is_class = terms, y, rows, scale == "log-odds"
        self.n_informative = _n_informative(y, rows, scale)
        limit = self.n_informative / _ROWS_PER_PARAMETER
        order = list(range(len(terms)))
        if sum(one.main.shape[1] for one in terms) > limit:
            # Each pair then has a model of its own.
            limit = min(limit, math.sqrt(_MAX_WORK / (_FITS * MAX_PAIRS * len(y))))
            p_values = [_main_p_value(one, y, rows) for one in terms]
            order.sort(key=lambda at: (p_values[at], at))
        self.included: set[int] = set()
        n_parameters = 1
        for at in order:
            size = terms[at].main.shape[1]
            if n_parameters + size <= limit:
                self.included.add(at)
                n_parameters += size
        parts = [np.ones((len(y), 1)), *(terms[at].main for at in sorted(self.included))]
        self.by_rows = not self.is_class or rows.groups is not None or rows.is_sampling
        self.fitted = _Fitted.fit(np.concatenate(parts, axis=1), y, rows.weight, is_class=self.is_class)

    def screen(self, pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return the pairs with the largest squared products of factors and residuals, relative to their variance."""
        if len(pairs) <= MAX_PAIRS:
            return pairs
        factors = np.concatenate([one.factors for one in self.terms], axis=1)
        w, e = self.rows.weight, self.fitted.residual
        score = factors.T @ (factors * (w * e)[:, None])
        spread = w * e**2 if self.by_rows else self.fitted.metric
        squares = factors**2
        variance = squares.T @ (squares * spread[:, None])
        sizes = np.divide(score**2, variance, out=np.zeros_like(score), where=variance > 0)
        starts = np.cumsum([0, *(one.factors.shape[1] for one in self.terms)])[:-1]
        largest = np.maximum.reduceat(np.maximum.reduceat(sizes, starts, axis=0), starts, axis=1)
        i, j = np.array(pairs).T
        chosen = np.sort(np.argsort(-largest[i, j], kind="stable")[:MAX_PAIRS])
        return [pairs[at] for at in chosen.tolist()]

    def detectable(self, df: float, level: float) -> float:
        """Return the share that the test of a pair finds with 80 % power."""
        n_left = max(self.rows.n_units - self.fitted.design.shape[1], 1.0)
        d2 = max(min(n_left, self.n_informative) / _TAIL - df, 1.0)
        critical = df * float(special.fdtri(df, d2, 1 - level))
        # SciPy's distribution is NaN for a very large size, where a normal one is as exact.
        size = critical - df + 2 * special.ndtri(POWER) * math.sqrt(critical)
        if critical < _LARGE_CRITICAL:
            size = brentq(lambda size: 1 - special.chndtr(critical, df, size) - POWER, 0.0, 10 * critical + 100)
        return float(size / (size + n_left))

    def test(self, pair: tuple[int, int]) -> _Tested | None:
        """Return the score test of the products of two columns beside all sums; None if no product can be tested."""
        a, b = (self.terms[at] for at in pair)
        products = (a.factors[:, :, None] * b.factors[:, None, :]).reshape(len(a.factors), -1)
        own = [self.terms[at].main for at in pair if at not in self.included]
        model = self.fitted
        if own:
            # The effects of the pair itself are always part of the sum.
            design = np.concatenate([model.design, *own], axis=1)
            model = _Fitted.fit(design, self.y, self.rows.weight, is_class=self.is_class, start=model.coefficients)
        z, metric = model.project(products), model.metric
        # A product that the sums determine, such as that of levels that never occur together, is left out.
        before = (metric[:, None] * products**2).sum(axis=0)
        after = (metric[:, None] * z**2).sum(axis=0)
        z = z[:, after > 1e-3 * before]
        if not z.shape[1]:
            return None
        score = z.T @ (self.rows.weight * model.residual)
        if self.by_rows:
            variance = self.rows.covariance(z * model.residual[:, None]) * self.rows.total**2
        else:
            variance = z.T @ (z * metric[:, None])
        values, vectors = np.linalg.eigh(variance)
        kept = values > 1e-6 * values[-1]
        if values[-1] <= 0:
            return None
        df = int(kept.sum())
        n = self.rows.count(self.rows.weight)
        n_left = max(n - model.design.shape[1], 1.0)
        statistic = float(((vectors[:, kept].T @ score) ** 2 / values[kept]).sum()) * n_left / n
        d2 = min(n_left, self.n_informative) / _TAIL - df
        if self.rows.groups is not None:
            d2 = min(d2, self.rows.n_units - df - 1)
        if d2 < 1:
            return None
        p = float(special.fdtrc(df, d2, statistic / df))
        return _Tested(statistic, df, p, int(np.sign(score[0])))


@dataclass(frozen=True)
class _Fitted:
    """A fitted sum of effects: residuals, the weight of each row in a projection, and the factor of the normal equations."""

    design: Floats
    residual: Floats
    metric: Floats
    factor: Any
    coefficients: Floats

    @classmethod
    def fit(cls, design: Floats, y: Floats, weight: Floats, *, is_class: bool, start: Floats | None = None) -> _Fitted:
        if is_class:
            beta, residual, working = _fit_logistic(design, y, weight, start)
            metric = weight * working
            return cls(design, residual, metric, cho_factor(_ridge(design.T @ (design * metric[:, None]))), beta)
        factor = cho_factor(_ridge(design.T @ (design * weight[:, None])))
        beta = cho_solve(factor, design.T @ (weight * y))
        return cls(design, y - design @ beta, weight, factor, beta)

    def project(self, columns: Floats) -> Floats:
        normal = self.design.T @ (columns * self.metric[:, None])
        return np.asarray(columns - self.design @ cho_solve(self.factor, normal))


def _n_informative(y: Floats, rows: WeightedRows, scale: Scale) -> float:
    """Return the number of rows, at most twice that of the rarer class."""
    if scale != "log-odds":
        return rows.n_units
    return min(rows.n_units, 2 * min(rows.count(rows.weight[y == k]) for k in (0, 1)))


def _additive_scale(y: Floats, weight: Floats) -> tuple[Scale, Floats]:
    """Return a numeric target on a scale without heavy tails: its logarithm if it is positive, otherwise clipped."""
    y = y / max(float(np.abs(y).max()), 1e-300)
    if tail_share(y, weight) < HEAVY_SHARE:
        return "linear", y
    if y.min() > 0 and tail_share(np.log(y), weight) < HEAVY_SHARE:
        return "logarithm", np.log(y)
    low, high = np.quantile(y, [0.25, 0.75])
    return "linear", np.clip(y, low - _CLIP * (high - low), high + _CLIP * (high - low))


def _scaled(values: Floats, weight: Floats) -> Floats:
    values = values / max(float(np.abs(values).max()), 1e-300)
    centred = values - float(np.average(values, weights=weight))
    scale = math.sqrt(float(np.average(centred**2, weights=weight)))
    return np.asarray(centred / scale if scale > 0 else centred)


def _ridge(normal: Floats) -> Floats:
    return np.asarray(normal + _RIDGE * max(float(np.trace(normal)) / len(normal), 1e-300) * np.eye(len(normal)))


def _fit_logistic(design: Floats, y: Floats, weight: Floats, start: Floats | None) -> tuple[Floats, Floats, Floats]:
    """Return the coefficients, residuals and variances of logistic regression with a normal prior on slopes.

    The prior has a standard deviation of 10; without it separated classes have no finite estimate.
    """
    penalty = np.full(design.shape[1], 0.01)
    penalty[0] = 1e-6
    beta = np.zeros(design.shape[1])
    beta[0] = special.logit(float(np.average(y, weights=weight)))
    if start is not None:
        beta[: len(start)] = start
    for _ in range(30):
        p = special.expit(design @ beta)
        gradient = design.T @ (weight * (y - p)) - penalty * beta
        information = design.T @ (design * (weight * p * (1 - p))[:, None]) + np.diag(penalty)
        step = cho_solve(cho_factor(information), gradient)
        # A step of a nearly separated table may overshoot.
        beta = beta + step * min(1.0, 5.0 / max(float(np.abs(design @ step).max()), 1e-12))
        if float(gradient @ step) < 1e-6:
            break
    p = special.expit(design @ beta)
    return beta, y - p, np.maximum(p * (1 - p), 1e-10)


def _main_p_value(term: _Terms, y: Floats, rows: WeightedRows) -> float:
    """Return the p-value of the score test of one column by itself."""
    centred = term.main - rows.mean(term.main)
    e = y - float(rows.mean(y))
    score = centred.T @ (rows.weight * e)
    variance = rows.covariance(centred * e[:, None]) * rows.total**2
    values, vectors = np.linalg.eigh(variance)
    kept = values > 1e-6 * max(values[-1], 1e-300)
    if not kept.any():
        return 1.0
    statistic = float(((vectors[:, kept].T @ score) ** 2 / values[kept]).sum())
    return float(special.chdtrc(int(kept.sum()), statistic))
