"""Tests of independence of columns and the target, from moments, ranks and contingency tables.

Every function tests many columns at once. A column that cannot be tested, because it is constant or has too few rows or groups,
has the statistic NaN and the p-value 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import special
from scipy.special import gammaln

from tamiz.arrays import Floats, Masks, divide_or_zero
from tamiz.runtime.validation import check_choice
from tamiz.statistics.target_ranks import RankCovariance

if TYPE_CHECKING:
    from tamiz.statistics.moments import ClassMoments, TargetCovariances
    from tamiz.statistics.target_ranks import GroupRanks


Correction: TypeAlias = Literal["benjamini_hochberg", "benjamini_yekutieli", "holm", "bonferroni"]
CORRECTIONS: tuple[Correction, ...] = ("benjamini_hochberg", "benjamini_yekutieli", "holm", "bonferroni")


def adjust_p_values(p_values: ArrayLike, method: Correction = "benjamini_hochberg") -> Floats:
    r"""Return p-values adjusted for the number of tests.

    With the sorted p-values :math:`p_{(1)} \le \dots \le p_{(m)}`, the adjusted ones are at most 1 and

    .. math::
        \text{Benjamini-Hochberg: } \min_{k \ge i} \frac{m}{k} p_{(k)}, \qquad
        \text{Benjamini-Yekutieli: } \min_{k \ge i} \frac{m}{k} p_{(k)} \sum_{l=1}^m \frac{1}{l},

    .. math::
        \text{Holm: } \max_{k \le i} (m - k + 1) p_{(k)}, \qquad \text{Bonferroni: } m p_{(i)}.

    Parameters
    ----------
    p_values : array-like of shape (n_tests,)
        From 0 to 1; NaN where there was no test, which does not count.
    method : {"benjamini_hochberg", "benjamini_yekutieli", "holm", "bonferroni"}, default="benjamini_hochberg"
        The tests with an adjusted p-value of at most q have a false discovery rate of at most q with Benjamini-Hochberg, where the
        p-values are independent or positively dependent, and with Benjamini-Yekutieli under any dependence. The probability of
        any false discovery is at most q with Holm and Bonferroni; Holm is never less powerful.

    Returns
    -------
    ndarray of shape (n_tests,)
        NaN where the p-value is NaN.

    Raises
    ------
    ValueError
        When a p-value is below 0 or above 1, or the method is unknown.

    Notes
    -----
    Cost O(m log m).

    References
    ----------
    Benjamini and Hochberg (1995), Controlling the false discovery rate, Journal of the Royal Statistical Society B 57.
    Benjamini and Yekutieli (2001), The control of the false discovery rate in multiple testing under dependency, Annals of
    Statistics 29. Holm (1979), A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6.

    Examples
    --------
    >>> from tamiz.criteria import adjust_p_values
    >>> adjust_p_values([0.01, 0.04, 0.03, 0.5])
    array([0.04      , 0.05333333, 0.05333333, 0.5       ])
    >>> adjust_p_values([0.01, 0.04, 0.03, 0.5], "bonferroni")
    array([0.04, 0.16, 0.12, 1.  ])
    """
    check_choice("method", method, CORRECTIONS)
    p = np.array(p_values, dtype=np.float64, ndmin=1)
    if p.ndim != 1:
        raise ValueError(f"p_values must have one dimension, got {p.ndim}: adjust each family of tests by itself.")
    outside = np.flatnonzero((p < 0) | (p > 1))
    if outside.size:
        raise ValueError(f"p_values must be from 0 to 1, got {p[outside[0]]:g} at position {outside[0]}.")
    tested = np.flatnonzero(~np.isnan(p))
    m = len(tested)
    if not m:
        return p
    order = tested[np.argsort(p[tested], kind="stable")]
    ranks = np.arange(1, m + 1)
    if method == "bonferroni":
        adjusted = m * p[order]
    elif method == "holm":
        adjusted = np.maximum.accumulate((m - ranks + 1) * p[order])
    else:
        factor = float((1 / ranks).sum()) if method == "benjamini_yekutieli" else 1.0
        adjusted = np.minimum.accumulate((factor * m / ranks * p[order])[::-1])[::-1]
    p[order] = np.minimum(adjusted, 1.0)
    return p


# Probabilities above this have all their digits; smaller ones are computed as logarithms, by continued fractions.
_MIN_PROBABILITY = 1e-290
# The smallest share of the variance within groups: with it, an infinite F has a finite logarithm.
_LOG_TINY = float(np.log(np.finfo(np.float64).tiny))
_MAX_TERMS = 100_000


def log_f_sf(statistic: Floats, df_between: Floats, df_within: Floats) -> Floats:
    r"""Return the logarithm of P(F > statistic), natural.

    .. math:: P(F > f) = I_x(d_2 / 2, d_1 / 2), \qquad x = \frac{d_2}{d_2 + d_1 f}

    with the regularised incomplete beta function I.

    Parameters
    ----------
    statistic, df_between, df_within : ndarray of shape (n_tests,)
        F, from 0 to infinity, and its degrees of freedom d1 and d2; an infinite F counts as the one with x = 2.2e-308.

    Returns
    -------
    ndarray of shape (n_tests,)
        At most 0 and finite, with a relative error of about 1e-10; NaN where F is NaN.

    Notes
    -----
    Where the probability underflows, the continued fraction of the incomplete beta function is evaluated, which needs
    O(sqrt(d1 + d2)) terms (Press, Teukolsky, Vetterling and Flannery 2007, Numerical Recipes, section 6.4).
    """
    f, d1, d2 = (np.atleast_1d(np.asarray(values, dtype=np.float64)) for values in (statistic, df_between, df_within))
    f, d1, d2 = np.broadcast_arrays(f, d1, d2)
    a, b = d2 / 2, d1 / 2
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        odds = d1 / d2 * f
        # x or 1 - x, whichever is smaller and has all its digits.
        probability = np.where(
            odds < 1, special.betaincc(b, a, odds / (1 + odds)), special.betainc(a, b, 1 / (1 + odds))
        )
        logs = np.log(probability)
    small = np.flatnonzero(probability < _MIN_PROBABILITY)
    if small.size:
        a, b = a[small], b[small]
        with np.errstate(over="ignore"):
            log_x = np.maximum(-np.log1p(odds[small]), _LOG_TINY)
        x = np.exp(log_x)
        fraction = _beta_fraction(a, b, x)
        logs[small] = a * log_x + b * np.log1p(-x) - special.betaln(a, b) - np.log(a) + np.log(fraction)
    return np.minimum(logs, 0.0)


def log_chi2_sf(statistic: Floats, df: Floats) -> Floats:
    r"""Return the logarithm of P(X > statistic) of the chi-squared distribution, natural.

    .. math:: P(X > s) = Q(d / 2, s / 2)

    with the regularised upper incomplete gamma function Q.

    Parameters
    ----------
    statistic, df : ndarray of shape (n_tests,)
        Finite statistics of at least 0, and their degrees of freedom d.

    Returns
    -------
    ndarray of shape (n_tests,)
        At most 0 and finite, with a relative error of about 1e-10; NaN where the statistic is NaN.

    Notes
    -----
    Where the probability underflows, the continued fraction of the incomplete gamma function is evaluated, which needs O(sqrt(d))
    terms (Press, Teukolsky, Vetterling and Flannery 2007, Numerical Recipes, section 6.2).
    """
    s, d = np.broadcast_arrays(*(np.atleast_1d(np.asarray(values, dtype=np.float64)) for values in (statistic, df)))
    a, x = d / 2, s / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        probability = special.gammaincc(a, x)
        logs = np.log(probability)
    small = np.flatnonzero(probability < _MIN_PROBABILITY)
    if small.size:
        a, x = a[small], x[small]
        logs[small] = a * np.log(x) - x - special.gammaln(a) + np.log(_gamma_fraction(a, x))
    return np.minimum(logs, 0.0)


def _beta_fraction(a: Floats, b: Floats, x: Floats) -> Floats:
    """Return the continued fraction of I_x(a, b) for x < (a + 1) / (a + b + 2), by the modified method of Lentz."""
    d = 1 / (1 - (a + b) * x / (a + 1))
    c, value, converged = np.ones_like(x), d.copy(), np.zeros(x.shape, dtype=bool)
    for m in range(1, _MAX_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d, c = 1 / (1 + even * d), 1 + even / c
        value *= np.where(converged, 1.0, d * c)
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d, c = 1 / (1 + odd * d), 1 + odd / c
        value *= np.where(converged, 1.0, d * c)
        converged |= _is_near_one(d * c)
        if converged.all():
            break
    return value


def _gamma_fraction(a: Floats, x: Floats) -> Floats:
    """Return the continued fraction of Q(a, x) for x > a + 1, by the modified method of Lentz."""
    partial = x + 1 - a
    c, d = np.full_like(x, np.inf), 1 / partial
    value, converged = d.copy(), np.zeros(x.shape, dtype=bool)
    for m in range(1, _MAX_TERMS):
        numerator = -m * (m - a)
        partial = partial + 2
        d, c = 1 / (numerator * d + partial), partial + numerator / c
        value *= np.where(converged, 1.0, d * c)
        converged |= _is_near_one(d * c)
        if converged.all():
            break
    return value


def _is_near_one(factor: Floats) -> Masks:
    """Return whether a factor no longer changes the value. Later factors differ from 1 by rounding errors, at times by more."""
    return np.asarray(np.abs(factor - 1) < 4 * np.finfo(np.float64).eps)


_MAX_FLOAT = float(np.finfo(np.float64).max)
_EPS = float(np.finfo(np.float64).eps)
# Relative to the variance of the column, smaller variances within a group are rounding errors. In Welch's test a group without any
# variance has this one, so that its weight is large but finite.
_MIN_VARIANCE_SHARE = 1e-30
# Cochran's rule: the chi-squared approximation needs an expected count of at least 5 in 80 % of the cells.
_MIN_EXPECTED, _MAX_SMALL_SHARE = 5.0, 0.2
# Of independent normal columns, 5 % have p < 0.05 in Welch's test of 10 groups of this many rows, 10 % with 4 rows and 26 % with 2.
_MIN_WELCH_ROWS = 10.0


@dataclass(frozen=True)
class ColumnTests:
    """A test of independence for every column.

    Attributes
    ----------
    statistic : ndarray of shape (n_columns,)
        F, or a statistic with a chi-squared distribution; NaN if the column cannot be tested. At most the largest float.
    df_between, df_within : ndarray of shape (n_columns,)
        The degrees of freedom of F; of a chi-squared statistic, its degrees of freedom and infinity.
    log_p : ndarray of shape (n_columns,)
        The natural logarithm of the p-value: finite, and 0 if the column cannot be tested.
    n_rows : ndarray of shape (n_columns,)
        The total weight of the rows that are used.
    few_expected : ndarray of shape (n_columns,), bool
        Whether more than 20 % of the expected counts of a contingency table are below 5.
    uncertain_variance : ndarray of shape (n_columns,), bool
        Whether a group in Welch's test has fewer than 10 rows, or equal values where others have not, so that its variance may
        be far too small.
    no_variance_within : ndarray of shape (n_columns,), bool
        Whether the values within every group of the analysis of variance that assumes equal variances are equal, so that F is
        infinite and the p-value 0 for any number of rows.
    """

    statistic: Floats
    df_between: Floats
    df_within: Floats
    log_p: Floats
    n_rows: Floats
    few_expected: Any
    uncertain_variance: Any
    no_variance_within: Any

    @classmethod
    def untested(cls, n: int) -> Self:
        zeros = np.zeros((4, n))
        return cls(np.full(n, np.nan), *zeros, *np.zeros((3, n), dtype=bool))

    @classmethod
    def concatenate(cls, parts: Sequence[ColumnTests]) -> Self:
        return cls(*(np.concatenate([getattr(part, one.name) for part in parts]) for one in fields(cls)))

    @classmethod
    def scatter(cls, n: int, parts: Iterable[tuple[Sequence[int], ColumnTests]]) -> Self:
        """Return the tests of n columns from those of parts of them; the others have no test."""
        whole = cls.untested(n)
        for columns, tests in parts:
            for one in fields(cls):
                getattr(whole, one.name)[list(columns)] = getattr(tests, one.name)
        return whole

    @classmethod
    def over_outputs(cls, tests: Sequence[ColumnTests]) -> Self:
        """Return the test with the smallest p-value of each column, its p-value times the number of outputs (Bonferroni).

        An output with which a column cannot be tested counts; the expected counts of a column are small if they are with any.
        """
        log_p = np.stack([np.where(one.is_tested, one.log_p, np.inf) for one in tests])
        best = log_p.argmin(axis=0), np.arange(log_p.shape[1])
        found = {one.name: np.stack([getattr(test, one.name) for test in tests])[best] for one in fields(cls)}
        found["log_p"] = np.minimum(found["log_p"] + np.log(len(tests)), 0.0)
        found["few_expected"] = np.any([test.few_expected for test in tests], axis=0)
        return cls(**found)

    def select(self, columns: Sequence[int]) -> ColumnTests:
        return ColumnTests(*(getattr(self, one.name)[list(columns)] for one in fields(self)))

    @property
    def is_tested(self) -> Any:
        return ~np.isnan(self.statistic)

    def p_values(self) -> Floats:
        """Return the p-value of every column: 1 if it cannot be tested, 0 if it is below the smallest float."""
        return np.exp(self.log_p)

    def adjusted_p_values(self, method: Correction = "benjamini_hochberg") -> Floats:
        """Return p-values adjusted for the number of columns that could be tested; 1 for the others."""
        adjusted = adjust_p_values(np.where(self.is_tested, self.p_values(), np.nan), method)
        return np.where(self.is_tested, adjusted, 1.0)


def anova(moments: ClassMoments) -> ColumnTests:
    """Return the one-way analysis of variance of each column over the groups in which it has values."""
    weight, deviation = moments.weight, _deviations_from_heaviest(moments.weight, moments.mean)
    n = weight.sum(axis=0)
    mean = divide_or_zero((weight * deviation).sum(axis=0), n)
    between = (weight * (deviation - mean) ** 2).sum(axis=0)
    within = moments.squared_deviations.sum(axis=0)
    n_groups = (weight > 0).sum(axis=0)
    tests = _f_tests(between, within, n_groups - 1.0, n - n_groups, n, ~_is_constant(moments))
    is_flat = ((weight == 0) | (moments.minimum == moments.maximum)).all(axis=0)
    return replace(tests, no_variance_within=is_flat & tests.is_tested)


def welch(moments: ClassMoments) -> ColumnTests:
    r"""Return Welch's analysis of variance of each column, which does not assume equal variances.

    .. math::
        F = \frac{\sum_c w_c (\mu_c - \tilde\mu)^2 / (k - 1)}{1 + 2 \Lambda (k - 2) / (k^2 - 1)}, \qquad
        \Lambda = \sum_c \frac{(1 - w_c / W)^2}{n_c - 1}, \qquad d_1 = k - 1, \quad d_2 = \frac{k^2 - 1}{3 \Lambda}

    with :math:`w_c = n_c / s_c^2`, their sum W and the mean :math:`\tilde\mu` weighted by them. Groups of fewer than two rows have
    no variance, and are left out. A group of equal values has nearly infinite weight.

    References
    ----------
    Welch (1951), On the comparison of several mean values: an alternative approach, Biometrika 38.
    """
    kept = moments.weight >= 2
    n = np.where(kept, moments.weight, 0.0)
    k = kept.sum(axis=0).astype(np.float64)
    freedom = np.where(kept, n - 1, 1.0)
    deviation = _deviations_from_heaviest(n, moments.mean)
    total = n.sum(axis=0)
    spread = (n * (deviation - divide_or_zero((n * deviation).sum(axis=0), total)) ** 2).sum(axis=0)
    variance = moments.squared_deviations / freedom
    floor = _MIN_VARIANCE_SHARE * divide_or_zero(spread + (kept * moments.squared_deviations).sum(axis=0), total)
    testable = (k >= 2) & (floor > 0) & ~_is_constant(moments)
    weight = divide_or_zero(n, np.where(kept & testable, np.maximum(variance, floor), 0.0))
    share = divide_or_zero(weight, weight.sum(axis=0))
    deviation = _deviations_from_heaviest(weight, moments.mean)
    squares = (weight * (deviation - (share * deviation).sum(axis=0)) ** 2).sum(axis=0)
    lam = np.where(kept, (1 - share) ** 2 / freedom, 0.0).sum(axis=0)
    k = np.maximum(k, 2.0)
    statistic = squares / (k - 1) / (1 + 2 * lam * (k - 2) / (k**2 - 1))
    tests = _tests(statistic, k - 1, divide_or_zero(k**2 - 1, 3 * lam), total, testable & (lam > 0))
    is_flat = variance <= floor
    # Where every group is flat, the classes determine the column.
    uncertain = (kept & (n < _MIN_WELCH_ROWS)).any(axis=0) | (
        (kept & is_flat).any(axis=0) & (kept & ~is_flat).any(axis=0)
    )
    return replace(tests, uncertain_variance=uncertain & tests.is_tested)


def kruskal_wallis(ranks: GroupRanks) -> ColumnTests:
    r"""Return the Kruskal-Wallis test of one column, corrected for ties, with the chi-squared approximation.

    .. math:: H = (n - 1) \frac{\sum_c n_c (\bar r_c - \bar r)^2}{\sum_i (r_i - \bar r)^2}

    with the mean ranks :math:`\bar r_c` of the groups; equal values share the mean of their ranks.

    References
    ----------
    Kruskal and Wallis (1952), Use of ranks in one-criterion variance analysis, Journal of the American Statistical Association 47.
    """
    n, n_groups = float(ranks.weight.sum()), int((ranks.weight > 0).sum())
    between = float(divide_or_zero(ranks.rank_sum**2, ranks.weight).sum())
    testable = n_groups >= 2 and n > n_groups and ranks.squares > 0
    statistic = np.array([(n - 1) * min(between / ranks.squares, 1.0) if testable else np.nan])
    return _chi2_tests(statistic, np.array([n_groups - 1.0]), np.array([n]))


def correlation(sums: TargetCovariances | RankCovariance) -> ColumnTests:
    r"""Return the t test of the correlation r of each column with the target, as an F test.

    .. math:: F = t^2 = (n - 2) \frac{r^2}{1 - r^2}

    with 1 and n - 2 degrees of freedom: Pearson's correlation of values, Spearman's of ranks. :math:`1 - r^2` is at least 2.2e-16,
    its rounding error. The p-value of Spearman's is at least :math:`2 / n!`, that of two equal or opposite orders of n rows.
    """
    xx, yy = np.atleast_1d(sums.column_squares), np.atleast_1d(sums.target_squares)
    testable = (xx > 0) & (yy > 0)
    r = divide_or_zero(divide_or_zero(np.atleast_1d(sums.products), np.sqrt(xx)), np.sqrt(yy))
    share = np.minimum(r * r, 1 - _EPS)
    n = np.atleast_1d(sums.weight)
    tests = _f_tests(share, 1 - share, np.ones_like(n), n - 2, n, testable)
    if not isinstance(sums, RankCovariance):
        return tests
    # The t approximation has p = 1e-16 for 4 rows in the same order, which is the order of 1 in 24 independent columns.
    least = np.log(2) - gammaln(np.maximum(n, 2.0) + 1)
    return replace(tests, log_p=np.maximum(tests.log_p, least))


def contingency_tests(tables: Sequence[Floats], *, likelihood_ratio: bool) -> ColumnTests:
    r"""Return the chi-squared test of independence of each contingency table.

    .. math:: X^2 = \sum_{ij} \frac{(o_{ij} - e_{ij})^2}{e_{ij}}, \qquad G = 2 \sum_{ij} o_{ij} \ln \frac{o_{ij}}{e_{ij}}

    without a continuity correction. Rows and columns without counts are left out.

    Parameters
    ----------
    tables : sequence of ndarray of shape (n_levels, n_classes)
        Counts of the levels of each column, at least one, and of the same classes; none of missing values.
    likelihood_ratio : bool
        G of the likelihood-ratio test in place of Pearson's X2.

    References
    ----------
    Agresti (2013), Categorical Data Analysis, section 3.2; Cochran (1954), Some methods for strengthening the common chi-squared
    tests, Biometrics 10.
    """
    # The levels of all columns, one below the other; sums over the rows from each start are those of a column.
    counts = np.concatenate(tables)
    n_levels = np.array([len(table) for table in tables])
    starts = np.cumsum(n_levels) - n_levels
    by_level, by_class = counts.sum(axis=1), np.add.reduceat(counts, starts)
    n = by_class.sum(axis=1)
    n_rows, n_columns = np.add.reduceat(by_level > 0, starts, dtype=np.int64), (by_class > 0).sum(axis=1)
    expected = divide_or_zero(by_level, np.repeat(n, n_levels))[:, None] * np.repeat(by_class, n_levels, axis=0)
    if likelihood_ratio:
        ratio = np.divide(counts, expected, out=np.ones_like(counts), where=counts > 0)
        terms = 2 * counts * np.log(ratio)
    else:
        terms = divide_or_zero((counts - expected) ** 2, expected)
    statistic = np.maximum(np.add.reduceat(terms.sum(axis=1), starts), 0.0)
    n_small = np.add.reduceat(((expected > 0) & (expected < _MIN_EXPECTED)).sum(axis=1), starts)
    freedom = (n_rows - 1.0) * (n_columns - 1.0)
    testable = (n_rows > 1) & (n_columns > 1)
    freedom, n = np.where(testable, freedom, 0.0), np.where(testable, n, 0.0)
    few = testable & (n_small > _MAX_SMALL_SHARE * n_rows * n_columns)
    return _chi2_tests(np.where(testable, statistic, np.nan), freedom, n, few_expected=few)


def _deviations_from_heaviest(weight: Floats, mean: Floats) -> Floats:
    """Return the means of the groups minus that of the heaviest one, so that a large common part loses no digits."""
    if not weight.size:
        return mean
    heaviest = np.take_along_axis(mean, weight.argmax(axis=0)[None], axis=0)
    return np.where(weight > 0, mean - heaviest, 0.0)


def _is_constant(moments: ClassMoments) -> Any:
    return moments.maximum.max(axis=0, initial=-np.inf) <= moments.minimum.min(axis=0, initial=np.inf)


def _f_tests(
    between: Floats, within: Floats, df_between: Floats, df_within: Floats, n_rows: Floats, testable: Any
) -> ColumnTests:
    testable = testable & (df_between > 0) & (df_within > 0) & (between + within > 0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        statistic = (between / df_between) / (within / df_within)
    return _tests(statistic, df_between, df_within, n_rows, testable)


def _tests(statistic: Floats, df_between: Floats, df_within: Floats, n_rows: Floats, testable: Any) -> ColumnTests:
    testable = testable & ~np.isnan(statistic)
    statistic = np.where(testable, np.minimum(statistic, _MAX_FLOAT), np.nan)
    safe = (np.where(testable, freedom, 1.0) for freedom in (df_between, df_within))
    log_p = np.where(testable, log_f_sf(np.where(testable, statistic, 0.0), *safe), 0.0)
    return ColumnTests(statistic, df_between, df_within, log_p, n_rows, *np.zeros((3, len(statistic)), dtype=bool))


def _chi2_tests(statistic: Floats, df: Floats, n_rows: Floats, *, few_expected: Any = False) -> ColumnTests:
    tested = ~np.isnan(statistic)
    log_p = np.where(tested, log_chi2_sf(np.where(tested, statistic, 0.0), np.maximum(df, 1.0)), 0.0)
    few, others = np.broadcast_to(few_expected, tested.shape), np.zeros((2, len(statistic)), dtype=bool)
    return ColumnTests(statistic, df, np.full(len(statistic), np.inf), log_p, n_rows, few, *others)
