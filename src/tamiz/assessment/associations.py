"""Associations of each column with the target: size, direction and shape, missing values, tests, and distributions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.optimize import brentq

from tamiz.arrays import Floats, Indices, Masks, is_missing
from tamiz.assessment.effect_sizes import (
    ALPHA,
    HEAVY_SHARE,
    MIN_LEVEL_ROWS,
    Comparison,
    Effect,
    compare_counts,
    compare_groups,
    correlate,
    level_centres,
    level_rate,
    tail_share,
)
from tamiz.assessment.findings import (
    ColumnDistribution,
    ColumnTestsRecord,
    DistributionsRecord,
    FTestSummary,
    TargetGroup,
    UncutColumns,
)
from tamiz.assessment.resampling import block_length
from tamiz.criteria.base import StatisticsCache, gather_statistics
from tamiz.criteria.discretization import ColumnCoder
from tamiz.criteria.independence_test import IndependenceTest
from tamiz.exceptions import DataError
from tamiz.runtime import parallel
from tamiz.runtime.random import make_rng
from tamiz.statistics.cuts import MDL, EqualFrequency
from tamiz.statistics.independence import ColumnTests, adjust_p_values
from tamiz.statistics.two_samples import WeightedRows, mid_ranks, t_p_value
from tamiz.table.base import Table, target_array, weight_array
from tamiz.table.factory import as_table
from tamiz.table.row_groups import untestable_reason
from tamiz.table.schema import Column, Schema
from tamiz.table.views import positive_weight_rows, sample_table

# The false discovery rate, and the power for which the smallest detectable effect is reported.
POWER = 0.8


@dataclass(frozen=True)
class TableTests:
    """The tests of all columns of a table, or the reason why they are not valid."""

    relevance: IndependenceTest
    tests: ColumnTests | None
    untestable_reason: str


def run_tests(table: Table, known: StatisticsCache) -> TableTests | None:
    """Return a test of independence of every column and the target, None without a target.

    Notes
    -----
    Tests assume independent rows, so there is none with groups or times.
    """
    relevance = IndependenceTest()
    if table.schema.target is None:
        return None
    reason = untestable_reason(table)
    if reason:
        return TableTests(relevance, None, reason)
    cache = gather_statistics([relevance], table.reduce, table.schema, known)
    return TableTests(relevance, relevance.column_tests(cache, table.schema), "")


def describe_column_tests(found: TableTests | None, schema: Schema) -> ColumnTestsRecord | None:
    """Return the record of the tests: p-values, and p-values adjusted over all columns (Benjamini and Hochberg 1995)."""
    if found is None:
        return None
    tests = ColumnTests.untested(schema.n_columns) if found.tests is None else found.tests
    adjusted, tested = tests.adjusted_p_values(), np.flatnonzero(tests.is_tested)
    p, is_tested = tests.p_values(), set(tested.tolist())
    return ColumnTestsRecord(
        p_values=tuple(float(p[j]) if j in is_tested else None for j in range(schema.n_columns)),
        adjusted=tuple(float(adjusted[j]) if j in is_tested else None for j in range(schema.n_columns)),
        methods=dict(Counter(found.relevance.test_name(int(j), schema) for j in tested)),
        n_significant=int((adjusted[tested] <= FDR_LEVEL).sum()),
        level=FDR_LEVEL,
        few_expected=tuple(schema.columns[j].name for j in np.flatnonzero(tests.few_expected)),
        untestable_reason=found.untestable_reason or ("" if len(tested) else "no column can be tested"),
    )


def describe_uncut_columns(table: Table, known: StatisticsCache, found: TableTests | None) -> UncutColumns | None:
    """Return the numeric columns that the ranking's discretisation leaves in one interval, and how many of them pass an F test.

    Notes
    -----
    The test is one-way analysis of variance for classes, and the t test of Pearson's correlation, as an F test, for a numeric
    target; p-values are adjusted over all columns. The smallest effect that is detected
    follows from the noncentral F distribution with noncentrality :math:`n \\eta^2 / (1 - \\eta^2)` (Cohen 1988, chapter 8).
    """
    schema = table.schema
    if found is None or not schema.numeric:
        return None
    rule = MDL() if schema.has_classes else EqualFrequency(10)
    coder = ColumnCoder(rule, schema, with_target=True, caller="study")
    if coder.requires(known):
        return None
    edges = coder.coding(known).edges
    varied = [j for j in schema.numeric if not schema.columns[j].constant]
    uncut = [j for j in varied if not len(edges[j])]
    if not uncut:
        return None
    untestable, summary = found.untestable_reason, None
    if found.tests is not None:
        summary = _test_summary("anova" if schema.has_classes else "correlation", found.tests, uncut)
        untestable = "" if summary is not None else "too few rows"
    return UncutColumns(
        rule="mdl" if schema.has_classes else "equal_frequency",
        columns=tuple(schema.columns[j].name for j in uncut),
        level=FDR_LEVEL,
        power=POWER,
        test=summary,
        untestable_reason=untestable,
    )


def detectable_effect(df_between: float, df_within: float, level: float, power: float = POWER) -> float:
    """Return the smallest share of the variance that an F test detects with a given power."""
    critical = stats.f.isf(level, df_between, df_within)

    def lacking(noncentrality: float) -> float:
        return float(power - stats.ncf.sf(critical, df_between, df_within, noncentrality))

    upper = 1.0
    while lacking(upper) > 0:
        upper *= 2
    noncentrality = brentq(lacking, 0.0, upper)
    return float(noncentrality / (noncentrality + df_between + df_within + 1))


def _test_summary(
    name: Literal["anova", "correlation"], tests: ColumnTests, uncut: Sequence[int]
) -> FTestSummary | None:
    """Return the results of the tests for the columns in one interval, None if none of them can be tested."""
    tested = np.flatnonzero(tests.is_tested)
    here = np.intersect1d(tested, uncut)
    if not len(here):
        return None
    adjusted = tests.adjusted_p_values()
    least = int(here[np.argmin(tests.n_rows[here])])
    freedom = float(tests.df_between[least]), float(tests.df_within[least])
    return FTestSummary(
        name=name,
        n_tested=len(tested),
        n_significant=int((adjusted[here] <= FDR_LEVEL).sum()),
        n_rows=int(tests.n_rows[least]),
        detectable=detectable_effect(*freedom, FDR_LEVEL),
        detectable_adjusted=detectable_effect(*freedom, FDR_LEVEL / len(tested)),
    )


Shape: TypeAlias = Literal["", "increasing", "decreasing", "U-shaped", "inverted U", "threshold"]


# Rows from which a shape is estimated; it needs so many, a turning point so large a share of them on each side, and so many values
# and rows outside the most frequent value of the target on each side.
_MAX_SHAPE_ROWS, _MIN_SHAPE_ROWS, _MIN_SIDE, _MIN_SIDE_VALUES, _MIN_SIDE_ROWS = 20_000, 40, 0.15, 4, 8
# Cuts that may be a threshold, and the p-value above which the slopes beside it are no slopes.
_N_CUTS, _MAX_STEP_SLOPE = 36, 0.01


@dataclass(frozen=True)
class ShapeTests:
    """The p-values of a monotone, a bent and a stepped relation, and what is claimed if they are small."""

    monotone: float
    monotone_shape: Shape
    bent: float
    bent_shape: Shape
    turning_point: float
    threshold: float
    step_at: float


def shape_tests(x: Floats, y: Floats, rows: WeightedRows) -> ShapeTests | None:
    """Return the tests of the shape of y over the ranks of x; None with too few rows or values."""
    if len(x) > _MAX_SHAPE_ROWS:
        some = np.linspace(0, len(x) - 1, _MAX_SHAPE_ROWS).astype(np.intp)
        x, y, rows = x[some], y[some], rows.take(some)
    if rows.n_units < _MIN_SHAPE_ROWS or len(np.unique(x)) < 2 * _MIN_SIDE_VALUES:
        return None
    if len(np.unique(y)) > 2 and tail_share(y, rows.weight) >= HEAVY_SHARE:
        y = mid_ranks(y, rows.weight)
    y = y / float(np.abs(y).max())
    y = y - float(rows.mean(y))
    u = mid_ranks(x, rows.weight) - 0.5
    halves = _BrokenLine.fit(u, y, 0.0, rows)
    design = np.column_stack([np.ones(len(u)), u, u**2]) * np.sqrt(rows.weight)[:, None]
    _, slope, bend = np.linalg.lstsq(design, y * np.sqrt(rows.weight), rcond=None)[0]
    vertex = float(np.clip(-slope / (2 * bend) if bend else 0.0, _MIN_SIDE - 0.5, 0.5 - _MIN_SIDE))
    sides = _BrokenLine.fit(u, y, vertex, rows)
    if halves is None or sides is None:
        return None
    monotone = max(halves.p_left, halves.p_right) if halves.left * halves.right > 0 else 1.0
    bent = max(sides.p_left, sides.p_right) if sides.left * sides.right < 0 else 1.0
    cuts = np.linspace(_MIN_SIDE - 0.5, 0.5 - _MIN_SIDE, _N_CUTS)
    at = float(cuts[np.argmin(_left_over(u, y, rows.weight, cuts))])
    threshold, step = 1.0, _BrokenLine.fit(u, y, at, rows)
    if step is not None and min(step.p_left, step.p_right) > _MAX_STEP_SLOPE:
        threshold = min(step.p_jump * _N_CUTS, 1.0)
    upper = np.sort(x[u >= at])
    lower = x[u < at]
    step_at = (float(upper[0]) + float(lower.max())) / 2 if len(lower) and len(upper) else float(np.median(x))
    turning = float(np.interp(vertex, np.sort(u), np.sort(x)))
    return ShapeTests(
        monotone,
        "increasing" if halves.left > 0 else "decreasing",
        bent,
        "U-shaped" if sides.right > 0 else "inverted U",
        turning,
        threshold,
        step_at,
    )


def _left_over(u: Floats, y: Floats, weight: Floats, cuts: Floats) -> Floats:
    """Return the sum of squares that lines on both sides of each cut leave; infinity if all rows are on one side."""
    order = np.argsort(u, kind="stable")
    w, v, z = weight[order], u[order], y[order]
    sums = np.cumsum(w * np.stack([np.ones(len(v)), v, v * v, z, v * z, z * z]), axis=1)
    n_left = np.searchsorted(v, cuts)
    between = (n_left > 0) & (n_left < len(v))
    left = sums[:, n_left[between] - 1]
    total = np.zeros(left.shape[1])
    for n, su, suu, sy, suy, syy in (left, sums[:, -1:] - left):
        variance = suu - su**2 / n
        explained = (suy - su * sy / n) ** 2 / np.where(variance > 0, variance, 1.0)
        total += syy - sy**2 / n - np.where(variance > 0, explained, 0.0)
    everywhere = np.full(len(cuts), np.inf)
    everywhere[between] = total
    return everywhere


@dataclass(frozen=True)
class _BrokenLine:
    """Lines on both sides of a cut with a jump between them: slopes, and p-values of these and the jump."""

    left: float
    right: float
    p_left: float
    p_right: float
    p_jump: float

    @classmethod
    def fit(cls, u: Floats, y: Floats, cut: float, rows: WeightedRows) -> _BrokenLine | None:
        """Fit by least squares, with variances from the residuals of rows or groups; None if a side has too few values."""
        above = u >= cut
        for side in (above, ~above):
            if len(np.unique(u[side])) < _MIN_SIDE_VALUES:
                return None
            # Where nearly all rows have one value of the target, a few rows decide, whose variance is not known.
            _, codes = np.unique(y[side], return_inverse=True)
            counts = np.bincount(codes, rows.weight[side])
            if counts.sum() - counts.max() < _MIN_SIDE_ROWS:
                return None
        design = np.column_stack([~above, above, np.where(above, 0.0, u - cut), np.where(above, u - cut, 0.0)]).astype(
            float
        )
        weighted = design * rows.weight[:, None]
        inverse = np.linalg.inv(design.T @ weighted)
        beta = inverse @ (weighted.T @ y)
        residual = y - design @ beta
        n = rows.count(rows.weight)
        covariance = rows.covariance(rows.total * (design @ inverse) * residual[:, None]) * n / max(n - 4, 1.0)
        dof = max(rows.n_units - 4, 1.0)

        def p_value(contrast: list[float]) -> float:
            variance = float(np.array(contrast) @ covariance @ np.array(contrast))
            size = abs(float(np.array(contrast) @ beta))
            return t_p_value(size / math.sqrt(variance), dof) if variance > 0 else float(size == 0)

        return cls(
            float(beta[2]),
            float(beta[3]),
            p_value([0, 0, 1, 0]),
            p_value([0, 0, 0, 1]),
            p_value([-1, 1, 0, 0]),
        )


# Intervals of numbers; levels and classes, of more the most frequent ones; and numbers that are levels where they are so few.
_N_BINS, _MAX_LEVELS, _MAX_GROUPS, _MAX_NUMBERS = 12, 8, 6, 12
# The first and the last interval contain all values beyond these quantiles: one outlier would make the others one bar.
_ENDS = (0.005, 0.995)
# Positive numbers whose end is this many times their median are counted in intervals of equal ratio.
_TAIL = 12.0
_THIRDS = ("lowest third", "middle third", "highest third")


def describe_distributions(table: Table, columns: Sequence[int]) -> DistributionsRecord:
    """Return the weighted counts of columns in intervals or by level, for each group of the target.

    Intervals have equal width, and equal ratio where positive numbers have a heavy tail.
    """
    groups, of_row = _group_rows(table)
    weight = weight_array(table)
    weight = np.ones(table.schema.n_rows) if weight is None else weight
    return DistributionsRecord(
        n_rows=table.schema.n_rows,
        groups=groups,
        columns=tuple(_count(table.schema.columns[j], table.column(j), of_row, len(groups), weight) for j in columns),
    )


def _group_rows(table: Table) -> tuple[tuple[TargetGroup, ...], Indices]:
    """Return the groups of the target, and the group of each row; -1 is none."""
    schema = table.schema
    if schema.target is None:
        return (TargetGroup(name="all rows", levels=()),), np.zeros(schema.n_rows, dtype=np.intp)
    y = target_array(table)
    if not schema.has_classes:
        cuts = np.quantile(y, [1 / 3, 2 / 3])
        of_row = np.searchsorted(cuts, y, side="left")
        return tuple(TargetGroup(name=name, levels=()) for name in _THIRDS), of_row
    levels, counts = schema.target.levels, np.bincount(y, minlength=len(schema.target.levels))
    most, group_of = _most_frequent(counts, _MAX_GROUPS if len(levels) <= _MAX_GROUPS else _MAX_GROUPS - 1)
    groups = [TargetGroup(name=levels[code], levels=(int(code),)) for code in most]
    if len(most) < len(levels):
        others = tuple(np.setdiff1d(np.arange(len(levels)), most).tolist())
        groups.append(TargetGroup(name=f"{len(others):,} other classes", levels=others))
    return tuple(groups), group_of[y]


def _most_frequent(counts: NDArray[Any], n: int) -> tuple[Indices, Indices]:
    """Return the codes of the `n` most frequent levels in their order, and the place of every level: the others share the last."""
    most = np.sort(np.argsort(-counts, kind="stable")[:n])
    place = np.full(len(counts), len(most))
    place[most] = np.arange(len(most))
    return most, place


def _count(column: Column, values: Floats, of_row: Indices, n_groups: int, weight: Floats) -> ColumnDistribution:
    present = ~is_missing(values)
    values, of_row, weight = values[present], of_row[present], weight[present]
    edges: tuple[float, ...] = ()
    levels: tuple[str, ...] = ()
    if not column.is_number:
        totals = np.bincount(values, weights=weight, minlength=len(column.levels))
        shown, place = _most_frequent(totals, _MAX_LEVELS)
        levels, at = tuple(column.levels[code] for code in shown), place[values]
        if len(shown) < len(column.levels):
            levels = (*levels, f"{len(column.levels) - len(shown):,} other levels")
    elif 0 < len(found := np.unique(values)) <= _MAX_NUMBERS:
        levels, at = tuple(f"{value:.6g}" for value in found), np.searchsorted(found, values)
    elif len(found):
        low, high = np.quantile(values, _ENDS)
        if not low < high:
            low, high = float(found[0]), float(found[-1])
        # On a linear scale nearly all values of a heavy tail would be in the first interval.
        is_tailed = low > 0 and high > _TAIL * float(np.median(values))
        bounds = (np.geomspace if is_tailed else np.linspace)(low, high, _N_BINS + 1)
        edges = tuple(bounds.tolist())
        at = np.clip(np.searchsorted(bounds, values, side="right") - 1, 0, _N_BINS - 1)
    else:
        at = np.empty(0, dtype=np.intp)
    n = max(len(edges) - 1, 0) or len(levels)
    counts = np.bincount(of_row * n + at, weights=weight, minlength=n_groups * n).reshape(n_groups, n) if n else None
    return ColumnDistribution(
        name=column.name,
        edges=edges,
        levels=levels,
        counts=() if counts is None else tuple(tuple(float(f"{one:.6g}") for one in row) for row in counts.tolist()),
    )


FDR_LEVEL = 0.05
# Rows that are used.
_MAX_ROWS = 50_000
# An ordinal target has so many levels, which are whole numbers.
_MIN_ORDINAL, _MAX_ORDINAL = 3, 20
# The order of levels explains this share of what the levels explain: others are codes of classes.
_MIN_ORDERED_SHARE = 0.8


@dataclass(frozen=True)
class MissingEffect:
    """The target of rows in which a column is missing against that of the others, with a p-value adjusted over the columns.

    `missing` and `present` are rates of a class (`Effect.of`), or means of the target.
    """

    n_missing: float
    missing: Effect
    present: Effect
    p_value: float
    adjusted: float = math.nan

    @property
    def is_significant(self) -> bool:
        """Whether the adjusted p-value is at most 5 %."""
        return self.adjusted <= FDR_LEVEL


@dataclass(frozen=True)
class Association:
    """The association of a column with the target.

    Attributes
    ----------
    column, kind, target : str
    of_class : str
        The class whose rates are stated: the second of two; "" for other targets.
    n_rows : float
        The rows in which the column is present: counted with their frequency, or their effective number.
    n_units : float
        The number of independent groups; that of rows without groups.
    test : str
    p_value, adjusted : float
        As it is, and adjusted over all tests of columns and of missing values (Benjamini and Hochberg
        1995).
    effect : Effect or None
        The size that decides; None where nothing can be estimated.
    others : tuple of Effect
        Other sizes; for a categorical column the levels of the highest and the lowest rate, mean or median. Their intervals are
        valid after the choice of the level: of k levels they have the level 1 - .1 / k.
    shape : str
        "increasing", "decreasing", "U-shaped", "inverted U" or "threshold"; "" where none is claimed.
    at : float or None
        The turning point or the threshold.
    missing : MissingEffect or None
        None with fewer than 5 rows that are missing or present.
    """

    column: str
    kind: str
    target: str
    n_rows: float
    n_units: float
    test: str = ""
    p_value: float = math.nan
    adjusted: float = math.nan
    effect: Effect | None = None
    others: tuple[Effect, ...] = ()
    shape: Shape = ""
    at: float | None = None
    missing: MissingEffect | None = None
    of_class: str = ""

    @property
    def is_significant(self) -> bool:
        """Whether the adjusted p-value is at most 5 %, or a shape is claimed."""
        return self.adjusted <= FDR_LEVEL or bool(self.shape)

    @property
    def missing_sentence(self) -> str:
        """The target of rows in which the column is missing and of the others, "" where they do not differ significantly."""
        return _missing_sentence(self)

    @property
    def sentence(self) -> str:
        """Column, direction, size and interval in a sentence without a full stop."""
        return _sentence(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values, with the sentence; NaN is None."""
        plain: dict[str, Any] = _plain(asdict(self) | {"sentence": self.sentence})
        return plain


def describe_associations(
    X: Any, y: Any = None, *, sample_weight: Any = None, groups: Any = None, random_state: int = 0
) -> list[Association]:
    r"""Describe how each column is associated with the target: direction, size, shape, and missing values, with 95 % intervals.

    Parameters
    ----------
    X : array, data frame or Table
    y : array of shape (n_samples,), default=None
        The target, if X is no table.
    sample_weight : array of shape (n_samples,), default=None
        A frequency weight of w equals w rows; sampling weights enter by their own variance.
    groups : array of shape (n_samples,), default=None
        Rows of a group are dependent: variances are those of sums over groups.
    random_state : int, default=0
        Seed of the sample of a table of more than 50,000 rows.

    Returns
    -------
    list of Association
        One for each column that is used, in the order of the table. `sentence` is its text.

    Raises
    ------
    DataError
        When there is no target.

    Notes
    -----
    ============= ============================== ======================= =================================
    column        two classes                    several classes         numeric target
    ============= ============================== ======================= =================================
    numeric       difference in standard         eta of ranks, class of  rank correlation;
                  deviations, share of pairs;    the highest mean rank   correlation, slope
                  Hedges' g, odds ratio
    categorical   rates by level, odds ratio     Cramer's V              eta of ranks, means or medians by
                                                                         level
    ============= ============================== ======================= =================================

    Sizes that decide depend on the order of the values alone, so no outlier and no unit changes them, and their intervals are valid
    for any distribution. The difference in standard deviations is :math:`\sqrt 2 \Phi^{-1}(A)` of the share of pairs A, that of the
    means of normal classes. Hedges' g, the odds ratio, the correlation and the slope are added where 200 or more rows show light
    tails: the 1 % of the rows farthest from the mean have less than 30 % of the variance. Of a target with heavy tails medians are
    compared. Variances are those of influence functions (DeLong 1988 for pairs, Newcombe 2006 for a class of fewer than 10 rows);
    the intervals of eta and V invert the noncentral F and chi-squared distributions. The size of an ordinal target (three to twenty
    classes that are whole numbers) is the rank correlation where it explains 80 % of what the levels explain, otherwise eta: whole
    numbers may be codes.

    With groups, variances sum the influence of the rows of a group, and n in F and chi-squared tests is divided by the design
    effect (Rao and Scott 1984). Rows in time are grouped into blocks, as in the block bootstrap.

    A shape is claimed by tests on the ranks of the column, adjusted over the columns: "increasing" and "decreasing" if the slopes
    of both halves have this sign; "U-shaped" and "inverted U" if the slopes on both sides of the vertex of a parabola are
    significant and have opposite signs (the two-lines test); "threshold" if a jump at one of 36 quantiles is significant after
    Bonferroni's correction beside slopes on both sides that are not at 1 %. All of the conditions of a shape must be significant
    (intersection-union test).

    Cost O(n log n) for each column; a table of more than 50,000 rows is sampled.

    References
    ----------
    Ruscio (2008), A probability-based measure of effect size, Psychological Methods 13; DeLong, DeLong and
    Clarke-Pearson (1988), Comparing the areas under two or more correlated ROC curves, Biometrics 44; Newcombe (2006), Confidence
    intervals for an effect size measure based on the Mann-Whitney statistic, Statistics in Medicine 25; Steiger (2004), Beyond the
    F test, Psychological Methods 9; Simonsohn (2018), Two lines, Advances in Methods and Practices in Psychological Science 1.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tamiz import open_table
    >>> from tamiz.assessment import describe_associations
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> table = open_table(X, y.map({0: "malignant", 1: "benign"}))
    >>> describe_associations(table)[1].sentence
    'mean texture: higher where target is malignant (+1.07 standard deviations, 0.89 to 1.25)'
    """
    opened = positive_weight_rows(as_table(X, y, sample_weight, groups=groups))
    schema = opened.schema
    if schema.target is None:
        raise DataError("describe_associations needs a target; pass y, or open_table(..., target=...).")
    table = _Table(sample_table(opened, _MAX_ROWS, make_rng(random_state)))
    with parallel.thread_session():
        found = list(parallel.map_blocks(table.describe, schema.used.tolist()))
    return _adjust(found)


def dependent_rows(table: Table) -> WeightedRows:
    """Return the weights of the rows, and the groups of dependent ones: those of the table, or blocks of rows in time."""
    weight, groups = weight_array(table), table.groups
    n = table.schema.n_rows
    if groups is not None:
        groups = np.unique(groups, return_inverse=True)[1].astype(np.int32)
    elif table.time is not None:
        groups = np.empty(n, dtype=np.int32)
        groups[np.argsort(table.time, kind="stable")] = np.arange(n) // block_length(n)
    return WeightedRows(np.ones(n) if weight is None else weight, groups, table.schema.weight_kind == "sampling")


def is_ordinal(schema: Schema) -> bool:
    """Return whether the classes of the target are ordered whole numbers: three to twenty levels such as 1, 2, 3."""
    target = schema.target
    if target is None or not schema.has_classes or not _MIN_ORDINAL <= len(target.levels) <= _MAX_ORDINAL:
        return False
    return all(level.lstrip("+-").isdecimal() for level in target.levels)


class _Table:
    def __init__(self, table: Table) -> None:
        schema = table.schema
        assert schema.target is not None
        self.table, self.schema, self.target = table, schema, schema.target
        y = target_array(table)
        self.rows = dependent_rows(table)
        self.ordinal = is_ordinal(schema)
        self.y = y
        self.classes = self.target.levels if schema.has_classes else ()
        self.order = np.array([float(level) for level in self.target.levels]) if self.ordinal else np.empty(0)

    def describe(self, j: int) -> tuple[Association, ShapeTests | None]:
        """Return the association of a column, without adjusted p-values and shape, and the tests of its shape."""
        column = self.schema.columns[j]
        values = self.table.column(j)
        present = ~is_missing(values)
        rows, x, y = self.rows.take(present), values[present], self.y[present]
        empty = Association(column.name, column.kind, self.target.name, rows.count(rows.weight), rows.n_units)
        missing = self._compare_missing(present)
        of_class = self.classes[1] if len(self.classes) == 2 else ""
        empty = replace(empty, missing=missing, of_class=of_class)
        if rows.n_units < 4 or np.ptp(x) == 0 or np.ptp(y) == 0:
            return empty, None
        numeric = column.is_number
        if numeric and self.classes:
            found = compare_groups(x, y, self.classes, rows)
        elif numeric:
            found = correlate(x, y.astype(np.float64), rows)
        elif self.classes:
            found = compare_counts(x, y, column.levels, self.classes, rows)
        else:
            found = compare_groups(y.astype(np.float64), x, column.levels, rows, by_level=True)
        if found is None:
            return empty, None
        if numeric and self.ordinal:
            found = _by_order(found, correlate(x, self.order[y], rows, ordinal=True))
        shape = None
        if numeric and len(self.classes) in (0, 2):
            shape = shape_tests(x, y.astype(np.float64), rows)
        filled = replace(empty, test=found.test, p_value=found.p_value, effect=found.effect, others=found.others)
        return filled, shape

    def _compare_missing(self, present: Masks) -> MissingEffect | None:
        rows, codes = self.rows, present.astype(np.int32)
        counts = [rows.count(rows.weight[codes == k]) for k in (0, 1)]
        if min(counts) < MIN_LEVEL_ROWS or np.ptp(self.y) == 0:
            return None
        names = ("missing", "present")
        if not self.classes:
            y = self.y.astype(np.float64)
            found = compare_groups(y, codes, names, rows)
            ends = level_centres(y, codes, names, rows, 1, heavy=False)
            return None if found is None else MissingEffect(counts[0], ends[0], ends[1], found.p_value)
        compared = compare_counts(codes, self.y, names, self.classes, rows)
        if compared is None:
            return None
        # The second of two classes; of several the one whose rates differ most.
        rates = [rows.take(codes == k).mean(np.eye(len(self.classes))[self.y[codes == k]]) for k in (0, 1)]
        c = 1 if len(self.classes) == 2 else int(np.argmax(np.abs(rates[0] - rates[1])))
        ends = [level_rate(codes, self.y == c, k, self.classes[c], rows, ALPHA) for k in (0, 1)]
        return MissingEffect(counts[0], ends[0], ends[1], compared.p_value)


def _by_order(found: Comparison, ordered: Comparison | None) -> Comparison:
    """Return the rank correlation with ordered levels as the size, if it explains most of what the levels explain without order."""
    if ordered is None or found.p_value > ALPHA or ordered.effect.value**2 < _MIN_ORDERED_SHARE * found.effect.value**2:
        return found
    return replace(found, effect=ordered.effect, others=(found.effect,))


def _adjust(found: list[tuple[Association, ShapeTests | None]]) -> list[Association]:
    """Return the associations with p-values adjusted over the columns, and the shapes that are claimed."""
    associations = [one for one, _ in found]
    missing = [math.nan if one.missing is None else one.missing.p_value for one in associations]
    adjusted, of_missing = np.split(adjust_p_values([*(one.p_value for one in associations), *missing]), 2)
    shapes = [shape for _, shape in found]
    names = ("threshold", "bent", "monotone")
    tested = [math.nan if one is None else getattr(one, name) for name in names for one in shapes]
    claims = np.split(adjust_p_values(tested), len(names))
    described = []
    for j, (one, shape) in enumerate(zip(associations, shapes, strict=True)):
        name: Shape = ""
        at = None
        if shape is not None:
            if claims[1][j] <= FDR_LEVEL:
                name, at = shape.bent_shape, shape.turning_point
            elif claims[2][j] <= FDR_LEVEL:
                name = shape.monotone_shape
            elif claims[0][j] <= FDR_LEVEL:
                name, at = "threshold", shape.step_at
        of_one = None if one.missing is None else replace(one.missing, adjusted=float(of_missing[j]))
        described.append(replace(one, adjusted=float(adjusted[j]), missing=of_one, shape=name, at=at))
    return described


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _number(value: float) -> str:
    """Return two decimals below 10, three significant digits above, with a minus sign."""
    size = abs(value)
    text = f"{value:.2f}" if size < 10 else f"{value:,.0f}" if size >= 1000 else f"{value:.3g}"
    return text.replace("-0.00", "0.00").replace("-", "−")


def _range(effect: Effect, factor: float = 1.0) -> str:
    return " to ".join(_number(end * factor) if factor == 1 else f"{end * factor:.0f}" for end in effect.interval)


_DIRECTED = ("standard deviations", "rank correlation")


def _sentence(one: Association) -> str:
    effect, name, target = one.effect, one.column, one.target
    if effect is None:
        return f"{name}: no association can be estimated"
    unclear = (
        ""
        if one.is_significant
        else "direction uncertain; "
        if effect.measure in _DIRECTED
        else "no clear difference; "
    )
    size, span = effect.value, _range(effect)
    if one.shape in ("U-shaped", "inverted U"):
        turn = f"turns at {_number(one.at or 0.0)}"
        return f"{name}: {target} is {one.shape} in it, {turn} ({effect.measure} {_number(size)}, {span})"
    if effect.measure == "standard deviations" and one.kind in ("numeric", "date"):
        sign = "higher" if size > 0 else "lower"
        of = effect.of
        return f"{name}: {unclear}{sign} where {target} is {of} ({_signed(size)} standard deviations, {span}){_shape_text(one)}"
    if effect.measure == "rank correlation":
        verb = "rises" if size > 0 else "falls"
        slope = "".join(
            f"; {_signed(each.value)} for a standard deviation, {_range(each)}"
            for each in one.others
            if each.measure == "slope"
        )
        return f"{name}: {unclear}{target} {verb} with it ({effect.measure} {_number(size)}, {span}{slope}){_shape_text(one)}"
    if one.kind in ("numeric", "date"):
        return f"{name}: {unclear}highest where {target} is {effect.of} (eta {_number(size)}, {span})"
    ends_of = [each for each in one.others if each.measure in ("rate", "mean", "median")]
    if effect.measure == "Cramer's V" and len(ends_of) == 1:
        rate = f"{target} is {ends_of[0].of} in {ends_of[0].value:.0%} of {effect.of} ({_range(ends_of[0], 100)})"
        return f"{name}: {unclear}{rate}, Cramer's V {_number(size)}, {span}"
    if len(ends_of) == 2:
        rates = ends_of[0].measure == "rate"
        texts = [
            f"{each.value:.0%} of {each.of} ({_range(each, 100)})"
            if rates
            else f"{_number(each.value)} in {each.of} ({_range(each)})"
            for each in ends_of
        ]
        verb = f"is {one.of_class} in" if rates else f"has {ends_of[0].measure}"
        ratio = f", odds ratio {_number(size)} ({span})" if effect.measure == "odds ratio" else ""
        return f"{name}: {unclear}{target} {verb} {texts[0]} and {texts[1]}{ratio}"
    return f"{name}: {unclear}{effect.measure} {_number(size)}, {span}"


def _missing_sentence(one: Association) -> str:
    found = one.missing
    if found is None or not found.is_significant:
        return ""
    ends = (found.missing, found.present)
    if ends[0].measure == "rate":
        texts = [f"{each.value:.0%} ({_range(each, 100)})" for each in ends]
        return f"{one.column}: where it is missing, {one.target} is {ends[0].of} in {texts[0]} of the rows, elsewhere in {texts[1]}"
    texts = [f"{_number(each.value)} ({_range(each)})" for each in ends]
    return f"{one.column}: where it is missing, {one.target} has {ends[0].measure} {texts[0]}, elsewhere {texts[1]}"


def _signed(value: float) -> str:
    return ("+" if value > 0 else "") + _number(value)


def _shape_text(one: Association) -> str:
    # Otherwise the direction is stated already.
    return f"; changes at {_number(one.at or 0.0)}" if one.shape == "threshold" else ""
