"""Sizes of the association of two variables with 95 % intervals, and tests of independence, from weighted rows in groups."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.optimize import brentq

from tamiz.arrays import Floats, Masks
from tamiz.statistics.two_samples import WeightedRows, mid_ranks, t_p_value, t_quantile

Measure: TypeAlias = Literal[
    "standard deviations",
    "Hedges' g",
    "share of pairs",
    "odds ratio",
    "eta",
    "Cramer's V",
    "correlation",
    "rank correlation",
    "slope",
    "rate",
    "mean",
    "median",
]

ALPHA = 0.05
# With fewer rows of a class, the variance of its pairs is that of a model; means of classes need as many.
_FEW_ROWS = 10
# Fewer rows do not show whether tails are heavy.
_MIN_MOMENT_ROWS = 200
# Levels of fewer rows are not compared.
MIN_LEVEL_ROWS = 5
# Heavy tails: the 1 % of the rows farthest from the mean have at least this share of the variance. It is 8 % for normal values, 22
# % for exponential ones, and 60 % for lognormal ones of log variance 1.
_TAIL_ROWS, HEAVY_SHARE = 0.01, 0.3


@dataclass(frozen=True)
class Effect:
    """A size with its 95 % interval; `of` is the level or class that it belongs to.

    "share of pairs" is the probability that a row of the second class has the higher value plus half of that of ties (the area
    under the ROC curve), and "standard deviations" the difference of two normal distributions with this probability. "odds ratio"
    is for a standard deviation of a numeric column, and "slope" the change of the target for one.
    """

    measure: Measure
    value: float
    interval: tuple[float, float]
    of: str = ""


@dataclass(frozen=True)
class Comparison:
    test: str
    p_value: float
    effect: Effect
    others: tuple[Effect, ...] = ()


def tail_share(values: Floats, weight: Floats) -> float:
    """Return the share of the variance of the 1 % of the rows (at least one) that are farthest from the mean."""
    total, largest = weight.sum(), float(np.abs(values).max())
    values = values / largest if largest > 0 else values
    squares = (values - weight @ values / total) ** 2
    order = np.argsort(-squares, kind="stable")
    variance = weight * squares
    sum_squares = float(variance.sum())
    if sum_squares <= 0:
        return 0.0
    before = np.cumsum(weight[order]) - weight[order]
    part = np.clip(max(_TAIL_ROWS * total, 1.0) - before, 0.0, weight[order])
    return float((part * squares[order]).sum()) / sum_squares


def compare_groups(
    x: Floats, codes: NDArray[Any], levels: tuple[str, ...], rows: WeightedRows, *, by_level: bool = False
) -> Comparison | None:
    """Compare numbers between groups: classes of the target, or levels of a column if the numbers are the target."""
    used, codes = np.unique(codes, return_inverse=True)
    names = tuple(levels[code] for code in used)
    if len(names) < 2:
        return None
    found = _compare_two(x, codes == 1, names, rows) if len(names) == 2 else _compare_several(x, codes, names, rows)
    if found is None or not by_level:
        return found
    n_levels = sum(rows.count(rows.weight[codes == k]) >= MIN_LEVEL_ROWS for k in range(len(names)))
    heavy = tail_share(x, rows.weight) >= HEAVY_SHARE
    centres = level_centres(x, codes, names, rows, max(n_levels, 1), heavy=heavy)
    if len(centres) < 2:
        return found
    by_value = sorted(centres, key=lambda one: one.value)
    return replace(found, others=(by_value[-1], by_value[0]))


def _compare_two(x: Floats, second: Masks, names: tuple[str, ...], rows: WeightedRows) -> Comparison | None:
    """Compare two groups by the share of pairs in which the second has the higher value, and by means where tails are light."""
    n = [rows.count(rows.weight[second == k]) for k in (False, True)]
    if min(n) < 2:
        return None
    pairs, p = _share_of_pairs(x, second, rows, n, names[1])
    # Beyond these ends no pair of so many rows is in the other order.
    end = 0.25 / (n[0] * n[1])
    low, value, high = (
        math.sqrt(2) * float(special.ndtri(min(max(area, end), 1 - end)))
        for area in (pairs.interval[0], pairs.value, pairs.interval[1])
    )
    effect = Effect("standard deviations", value, (low, high), names[1])
    others = [pairs]
    if _has_light_tails(x, rows) and min(n) >= _FEW_ROWS:
        others += filter(None, [_hedges_g(x, second, rows, n, names[1]), _odds_ratio(x, second, rows, names[1])])
    return Comparison("Brunner-Munzel test", p, effect, tuple(others))


def _has_light_tails(values: Floats, rows: WeightedRows) -> bool:
    """Whether the tails are known to be light: means and variances of so few rows would be decided by the largest ones."""
    return rows.n_units >= _MIN_MOMENT_ROWS and tail_share(values, rows.weight) < HEAVY_SHARE


def _hedges_g(x: Floats, second: Masks, rows: WeightedRows, n: list[float], name: str) -> Effect:
    w, n_all, x = rows.weight, sum(n), x / float(np.abs(x).max())
    share = [float(w[second == k].sum()) / rows.total for k in (False, True)]
    means = [float(np.average(x[second == k], weights=w[second == k])) for k in (False, True)]
    residual = x - np.where(second, means[1], means[0])
    pooled = float(rows.mean(residual**2)) * n_all / (n_all - 2)
    if pooled <= 0:
        return Effect("Hedges' g", 0.0, (0.0, 0.0), name)
    d = (means[1] - means[0]) / math.sqrt(pooled)
    inflate = [math.sqrt(m / (m - 1)) / s for m, s in zip(n, share, strict=True)]
    of_means = residual / math.sqrt(pooled) * np.where(second, inflate[1], -inflate[0])
    of_spread = -d / 2 * (residual**2 / pooled * n_all / (n_all - 2) - 1)
    spread = [float(np.average(residual[second == k] ** 2, weights=w[second == k])) for k in (False, True)]
    dof = _satterthwaite([v / m for v, m in zip(spread, n, strict=True)], n)
    if rows.groups is not None:
        dof = min(dof, max(rows.n_units - 2, 1.0))
    correction = 1 - 3 / (4 * n_all - 9)
    half = t_quantile(ALPHA, dof) * math.sqrt(rows.variance(of_means + of_spread))
    return Effect("Hedges' g", d * correction, (correction * (d - half), correction * (d + half)), name)


def _satterthwaite(variances: list[float], n: list[float]) -> float:
    total = sum(variances)
    parts = sum(v**2 / max(m - 1, 1e-9) for v, m in zip(variances, n, strict=True))
    return total**2 / parts if parts > 0 else sum(n) - 2


def _share_of_pairs(x: Floats, second: Masks, rows: WeightedRows, n: list[float], name: str) -> tuple[Effect, float]:
    """Return the probability that a row of the second class has the higher value, ties half, and the p-value of .5."""
    w = rows.weight
    _, codes = np.unique(x, return_inverse=True)
    below: list[Floats] = []
    for k in (False, True):
        counts = np.bincount(codes[second == k], w[second == k], codes.max() + 1)
        below.append((np.cumsum(counts) - counts / 2)[codes] / counts.sum())
    area = float(w[second] @ below[0][second]) / float(w[second].sum())
    share = [float(w[second == is_second].sum()) / rows.total for is_second in (False, True)]
    influence = np.where(second, (below[0] - area) / share[1], (1 - below[1] - area) / share[0])
    inflate = np.where(second, math.sqrt(n[1] / (n[1] - 1)), math.sqrt(n[0] / (n[0] - 1)))
    variance = rows.variance(influence * inflate)
    effect_of_design = rows.design_effect(influence)
    m, m_second = (size / effect_of_design for size in n)
    ties = np.bincount(codes, w) / rows.total
    null = (m + m_second + 1) / (12 * m * m_second) * max(1 - float((ties**3).sum()), 1e-12)
    if min(m, m_second) < _FEW_ROWS or variance <= 0:
        # Newcombe's fifth method: the variance as a function of the area, for exponential classes.
        half = (m + m_second) / 2 - 1

        def excess(a: float, z: float = t_quantile(ALPHA, math.inf)) -> float:
            model = a * (1 - a) / (m * m_second) * (1 + half * ((1 - a) / (2 - a) + a / (1 + a)))
            return (a - area) ** 2 - z**2 * model

        low = brentq(excess, 0.0, area) if area > 0 and excess(0.0) > 0 > excess(area) else 0.0
        high = brentq(excess, area, 1.0) if area < 1 and excess(1.0) > 0 > excess(area) else 1.0
        p = t_p_value(abs(area - 0.5) / math.sqrt(null), math.inf)
        return Effect("share of pairs", area, (low, high), name), p
    parts = [
        float(np.average((influence[second == j] * share[int(j)]) ** 2, weights=w[second == j])) for j in (False, True)
    ]
    dof = _satterthwaite([v / c for v, c in zip(parts, (m, m_second), strict=True)], [m, m_second])
    t = t_quantile(ALPHA, max(dof, 1.0))
    centre = min(max(area, 0.25 / (m * m_second)), 1 - 0.25 / (m * m_second))
    se = math.sqrt(variance) / (centre * (1 - centre))
    logit = special.logit(centre)
    interval = (float(special.expit(logit - t * se)), float(special.expit(logit + t * se)))
    p = t_p_value(abs(area - 0.5) / math.sqrt(variance), max(dof, 1.0))
    return Effect("share of pairs", area, interval, name), p


def _odds_ratio(x: Floats, second: Masks, rows: WeightedRows, name: str) -> Effect | None:
    """Return the odds ratio of the second class for a standard deviation, None where the classes are separated."""
    x = x / float(np.abs(x).max())
    mean = float(rows.mean(x))
    scale = math.sqrt(float(rows.mean((x - mean) ** 2)))
    z, y = (x - mean) / scale, second.astype(np.float64)
    design = np.column_stack([np.ones(len(z)), z])
    beta = np.array([special.logit(float(rows.mean(y))), 0.0])
    for _ in range(30):
        p = special.expit(design @ beta)
        information = design.T @ (design * (rows.weight * p * (1 - p))[:, None])
        if np.linalg.cond(information) > 1e10:
            return None
        step = np.linalg.solve(information, design.T @ (rows.weight * (y - p)))
        beta = beta + step
        if np.abs(beta[1]) > 15:
            return None
        if np.abs(step).max() < 1e-9:
            break
    else:
        return None
    # The scale is estimated, too: d beta / d log scale = beta.
    influence = rows.total * np.linalg.solve(information, (design * (y - p)[:, None]).T)[1] + beta[1] * (z**2 - 1) / 2
    half = t_quantile(ALPHA, max(rows.n_units - 2, 1.0)) * math.sqrt(rows.variance(influence))
    low, value, high = (float(np.exp(b)) for b in (beta[1] - half, beta[1], beta[1] + half))
    return Effect("odds ratio", value, (low, high), name)


def _compare_several(x: Floats, codes: NDArray[Any], names: tuple[str, ...], rows: WeightedRows) -> Comparison | None:
    """Return eta of the ranks of numbers, and the group of the highest mean rank."""
    numbers, x = x, mid_ranks(x, rows.weight)
    k, w = len(names), rows.weight
    totals = np.bincount(codes, w)
    means = np.bincount(codes, w * x) / totals
    residual, grand = x - means[codes], float(rows.mean(x))
    within, between = float(w @ residual**2), float(totals @ (means - grand) ** 2)
    # A design effect for each group: the variance of its mean against that of independent rows.
    effect_of_design = 1.0
    if rows.groups is not None:
        ratios = [rows.design_effect(np.where(codes == c, residual, 0.0)) for c in range(k)]
        effect_of_design = float(np.average(ratios, weights=1 - totals / totals.sum()))
    n = rows.count(w) / effect_of_design
    d1, d2 = k - 1.0, n - k
    if rows.groups is not None:
        d2 = min(d2, rows.n_units - k)
    if d2 < 1:
        return None
    eta2 = between / (between + within)
    f = math.inf if within <= 0 else (n - k) / d1 * between / within
    p = float(special.fdtrc(d1, d2, f))
    # The largest mean of groups that are not too small.
    enough = [c for c in range(k) if rows.count(w[codes == c]) >= MIN_LEVEL_ROWS] or list(range(k))
    best = max(enough, key=lambda c: means[c])
    interval = (1.0, 1.0)
    if math.isfinite(f):
        # Ranks, groups of unequal spread and random sizes of groups have another variance than F assumes.
        shift = _shift(numbers, means[codes], w) / rows.total
        influence = (2 * means[codes] * x - means[codes] ** 2 + 2 * shift) * rows.total / (between + within)
        influence = (influence - float(rows.mean(influence))) / (1 - eta2) ** 2
        size = between / within
        ratio = rows.variance(influence) * n / (4 * size + 2 * size**2) if size > 0 else 1.0
        ends = [
            _noncentrality(lambda size: special.ncfdtr(d1, d2, size, f), 2 * d1 * f, q)
            for q in (ALPHA / 2, 1 - ALPHA / 2)
        ]
        low, high = _widen(ends, n * size - d1, ratio)
        interval = (math.sqrt(low / (low + n)), math.sqrt(high / (high + n)))
    adjusted = max(1 - (1 - eta2) * (n - 1) / (n - k), 0.0)
    effect = Effect("eta", min(max(math.sqrt(adjusted), interval[0]), interval[1]), interval, names[best])
    return Comparison("F test of ranks", p, effect)


def _widen(ends: list[float], centre: float, ratio: float) -> tuple[float, float]:
    """Return an interval of a noncentrality whose estimate has `ratio` times the assumed variance.

    Near independence, where the lower end is 0, the assumed distribution is right and the ratio is not known.
    """
    known = min(2 * ends[0] / centre, 1.0) if centre > 0 else 0.0
    factor = 1 + known * (math.sqrt(min(max(ratio, 0.2), 20.0)) - 1)
    low, high = (centre + factor * (end - centre) for end in ends)
    return max(low, 0.0), max(high, 0.0)


def _noncentrality(cdf: Callable[[float], float], start: float, upper_tail: float) -> float:
    """Return the noncentrality at which a distribution exceeds a statistic with the probability `upper_tail`, at least 0."""

    def excess(noncentrality: float) -> float:
        return float(cdf(noncentrality)) - (1 - upper_tail)

    if excess(0.0) <= 0:
        return 0.0
    high = max(start, 1.0)
    while excess(high) > 0 and high < 1e12:
        high *= 2
    return float(brentq(excess, 0.0, high, xtol=1e-8, rtol=1e-8))


def chi2_noncentrality(statistic: float, df: float, upper_tail: float) -> float:
    if statistic <= 0:
        return 0.0
    return _noncentrality(lambda size: special.chndtr(statistic, df, size), 2 * statistic, upper_tail)


def level_centres(
    x: Floats, codes: NDArray[Any], names: tuple[str, ...], rows: WeightedRows, n_compared: int, *, heavy: bool
) -> list[Effect]:
    """Return the mean of each group, or the median if tails are heavy, with intervals for so many comparisons."""
    found = []
    for k, name in enumerate(names):
        here = codes == k
        part = rows.take(here)
        n = part.count(part.weight)
        if n < MIN_LEVEL_ROWS:
            continue
        values, alpha, unit = x[here], _chosen_level(n_compared), max(float(np.abs(x[here]).max()), 1e-300)
        values = values / unit
        mean = float(part.mean(values))
        deff = part.design_effect(values - mean)
        dof = max((part.n_units if part.groups is not None else n) - 1, 1.0)
        if heavy:
            order = np.argsort(values, kind="stable")
            shares = (np.cumsum(part.weight[order]) - part.weight[order] / 2) / part.total
            half = t_quantile(alpha, dof) * 0.5 / math.sqrt(n / deff)
            low, mid, high = np.interp([0.5 - half, 0.5, 0.5 + half], shares, values[order]).tolist()
            found.append(Effect("median", mid * unit, (low * unit, high * unit), name))
            continue
        half = t_quantile(alpha, dof) * math.sqrt(part.variance(values - mean))
        found.append(Effect("mean", mean * unit, ((mean - half) * unit, (mean + half) * unit), name))
    return found


def _chosen_level(n: int) -> float:
    """Return the level of the intervals of the highest and the lowest of n values, whose errors are on one side."""
    return min(2 / max(n, 1), 1.0) * ALPHA


def level_rate(codes: NDArray[Any], is_class: Masks, level: int, name: str, rows: WeightedRows, alpha: float) -> Effect:
    """Return the rate of a class in a level, with the interval of Agresti and Coull."""
    here = codes == level
    part = rows.take(here)
    rate = float(part.mean(is_class[here].astype(np.float64)))
    n = part.count(part.weight) / part.design_effect(is_class[here] - rate)
    dof = math.inf if part.groups is None else max(part.n_units - 1, 1.0)
    z = t_quantile(alpha, dof)
    centre = (rate + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * math.sqrt(centre * (1 - centre) / (n + z**2))
    return Effect("rate", rate, (max(centre - half, 0.0), min(centre + half, 1.0)), name)


def compare_counts(
    x: NDArray[Any], y: NDArray[Any], levels: tuple[str, ...], classes: tuple[str, ...], rows: WeightedRows
) -> Comparison | None:
    """Compare the classes of the levels: chi-squared test, V, and for two classes the levels of the highest and lowest rate."""
    used_x, a = np.unique(x, return_inverse=True)
    used_y, b = np.unique(y, return_inverse=True)
    if len(used_x) < 2 or len(used_y) < 2:
        return None
    names, class_names = (tuple(of[k] for k in used) for of, used in ((levels, used_x), (classes, used_y)))
    w, shape = rows.weight, (len(names), len(class_names))
    table = np.bincount(a * shape[1] + b, w, shape[0] * shape[1]).reshape(shape) / rows.total
    row_share, column_share = table.sum(axis=1), table.sum(axis=0)
    expected = np.outer(row_share, column_share)
    phi2 = float(((table - expected) ** 2 / expected).sum())
    n, df = rows.count(w), (shape[0] - 1) * (shape[1] - 1)
    if rows.groups is not None:
        n /= _table_design_effect(a, b, row_share, column_share, rows)
    p = float(special.chdtrc(df, n * phi2))
    most = min(shape) - 1
    # The variance of phi2 far from independence (Bishop, Fienberg and Holland 1975, section 11.3).
    ratios = table / expected
    influence = (
        2 * ratios[a, b]
        - (table * ratios).sum(axis=1)[a] / row_share[a]
        - (table * ratios).sum(axis=0)[b] / column_share[b]
    )
    ratio = rows.variance(influence) * n / (4 * phi2) if phi2 > 0 else 1.0
    bounds = _widen([chi2_noncentrality(n * phi2, df, q) for q in (ALPHA / 2, 1 - ALPHA / 2)], n * phi2 - df, ratio)
    low, high = (math.sqrt(min(end / (n * most), 1.0)) for end in bounds)
    value = math.sqrt(max(phi2 - df / n, 0.0) / most)
    residual = (table - expected) / np.sqrt(expected)
    at = np.unravel_index(int(np.argmax(residual)), shape)
    v = Effect("Cramer's V", min(max(value, low), high), (low, high), names[at[0]])
    if len(class_names) > 2:
        rate = level_rate(a, b == at[1], int(at[0]), class_names[at[1]], rows, ALPHA / table.size)
        return Comparison("chi-squared test", p, v, (rate,))
    enough = [k for k in range(shape[0]) if rows.count(w[a == k]) >= MIN_LEVEL_ROWS]
    alpha = _chosen_level(len(enough))
    rates = [replace(level_rate(a, b == 1, k, names[k], rows, alpha), of=names[k]) for k in enough]
    ends = sorted(rates, key=lambda one: one.value)
    others: tuple[Effect, ...] = (ends[-1], ends[0]) if len(ends) > 1 else ()
    if shape == (2, 2):
        counts = n * table + 0.5
        log_ratio = float(np.log(counts[1, 1] * counts[0, 0] / (counts[1, 0] * counts[0, 1])))
        half = t_quantile(ALPHA, math.inf) * math.sqrt(float((1 / counts).sum()))
        bounds = (math.exp(log_ratio - half), math.exp(log_ratio + half))
        return Comparison("chi-squared test", p, Effect("odds ratio", math.exp(log_ratio), bounds, names[1]), others)
    return Comparison("chi-squared test", p, v, others)


def _table_design_effect(
    a: NDArray[Any], b: NDArray[Any], row_share: Floats, column_share: Floats, rows: WeightedRows
) -> float:
    """Return the mean design effect of the cells (Rao and Scott 1984)."""
    effects, shares = [], []
    for k in range(len(row_share)):
        for c in range(len(column_share)):
            influence = ((a == k) - row_share[k]) * ((b == c) - column_share[c])
            effects.append(rows.design_effect(influence - float(rows.mean(influence))))
            shares.append((1 - row_share[k]) * (1 - column_share[c]))
    return float(np.average(effects, weights=shares))


def correlate(x: Floats, y: Floats, rows: WeightedRows, *, ordinal: bool = False) -> Comparison | None:
    """Return the rank correlation, and correlation and slope if tails are light."""
    units = rows.n_units
    small = math.sqrt(units / max(units - 3, 1.0))
    dof = max(units - 2, 1.0)
    t = t_quantile(ALPHA, dof)
    (zx, zy), scales = _standardize(mid_ranks(x, rows.weight), mid_ranks(y, rows.weight), rows)
    rho = _bounded(float(rows.mean(zx * zy)))
    # A row also shifts the ranks of all others.
    shift = (_shift(x, zy, rows.weight) / scales[0] + _shift(y, zx, rows.weight) / scales[1]) / rows.total
    influence = zx * zy + shift - rho - float(rows.mean(shift))
    se = small * math.sqrt(rows.variance(influence))
    # Of independent columns the variance is known.
    null = se if rows.groups is not None or rows.is_sampling else math.sqrt((1 - rho**2) / dof)
    p = t_p_value(abs(rho) / null, dof) if null > 0 else 0.0
    effect = Effect("rank correlation", rho, _fisher_interval(rho, t * se))
    if ordinal or not (_has_light_tails(x, rows) and _has_light_tails(y, rows)):
        return Comparison("rank correlation", p, effect)
    largest = float(np.abs(y).max())
    (zx, zy), scales = _standardize(x / float(np.abs(x).max()), y / largest, rows)
    r = _bounded(float(rows.mean(zx * zy)))
    half = t * small * math.sqrt(rows.variance(zx * zy - r * (zx**2 + zy**2) / 2))
    linear = Effect("correlation", r, _fisher_interval(r, half))
    # For a standard deviation of the column, whose own error is part of the influence.
    half = t * small * math.sqrt(rows.variance(zx * zy - r - r * (zx**2 - 1) / 2)) * scales[1] * largest
    size = r * scales[1] * largest
    slope = Effect("slope", size, (size - half, size + half))
    return Comparison("rank correlation", p, effect, (linear, slope))


def _standardize(x: Floats, y: Floats, rows: WeightedRows) -> tuple[tuple[Floats, Floats], tuple[float, float]]:
    centred = [one - float(rows.mean(one)) for one in (x, y)]
    scales = [math.sqrt(float(rows.mean(one**2))) for one in centred]
    return (centred[0] / scales[0], centred[1] / scales[1]), (scales[0], scales[1])


def _bounded(r: float) -> float:
    return min(max(r, -1 + 1e-12), 1 - 1e-12)


def _fisher_interval(r: float, half: float) -> tuple[float, float]:
    """Return the interval of a correlation whose half width is computed for its inverse hyperbolic tangent."""
    half /= 1 - r**2
    return math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half)


def _shift(values: Floats, other: Floats, weight: Floats) -> Floats:
    """Return the sum of `other` over the rows of larger values plus half of that over equal ones, weighted."""
    _, codes = np.unique(values, return_inverse=True)
    sums = np.bincount(codes, weight * other)
    return np.asarray((np.cumsum(sums[::-1])[::-1] - sums / 2)[codes])
