"""The ranking of a study: the scores of every column by every criterion, and tests of the columns without a cut point.

Discretisation may leave a numeric column in one interval. Its entropy-based scores are then 0, whatever its effect;
such columns are tested by analysis of variance or by Pearson's correlation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import stats
from scipy.optimize import brentq

from tamiz._study.graph import RowGraph, needs_graph
from tamiz.criteria import registry as criteria
from tamiz.criteria.base import Relevance, RowRelevance, StatisticRelevance, StatisticsCache, gather_statistics
from tamiz.criteria.discretization import MDL, ColumnCoder, EqualFrequency
from tamiz.criteria.entropy_relevance import MissingRule
from tamiz.report.records.columns import CriterionInfo, FTestSummary, RankingRecord, UncutColumns
from tamiz.runtime.registry import entry_label, method_label
from tamiz.sources.base import Source
from tamiz.sources.schema import Schema
from tamiz.statistics.base import Floats
from tamiz.statistics.moments import ClassMoments, Moments

# The false discovery rate, and the power for which the smallest detectable effect is reported.
FDR_LEVEL, POWER = 0.05, 0.8


@dataclass(frozen=True)
class FTests:
    """An F test of each column.

    Attributes
    ----------
    statistic, df_between, df_within, n_rows : ndarray of shape (n_columns,)
        F, its degrees of freedom, and the rows with a value; F is NaN if a column cannot be tested.
    """

    statistic: Floats
    df_between: Floats
    df_within: Floats
    n_rows: Floats

    def p_values(self) -> Floats:
        """Return the p-value of every column, NaN if it cannot be tested."""
        return np.asarray(stats.f.sf(self.statistic, self.df_between, self.df_within))


def describe_uncut_columns(source: Source, known: StatisticsCache) -> UncutColumns | None:
    """Return the numeric columns that the ranking's discretisation leaves in one interval, and how many of them pass an F test.

    Parameters
    ----------
    source : Source
    known : StatisticsCache
        The statistics of the ranking.

    Returns
    -------
    UncutColumns or None
        None if every column has a cut point, or nothing was discretised.

    Notes
    -----
    The test is one-way analysis of variance for classes, and the t test of Pearson's correlation, as an F test, for a numeric
    target; p-values are adjusted over all numeric columns (Benjamini and Hochberg 1995). The smallest effect that is detected
    follows from the noncentral F distribution with noncentrality :math:`n \\eta^2 / (1 - \\eta^2)` (Cohen 1988, chapter 8).
    Both assume independent rows that count once, so there is no test with weights, groups or times.
    """
    schema = source.schema
    if schema.target is None or not schema.numeric:
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
    untestable, summary = _untestable_reason(source), None
    if not untestable:
        moments = ClassMoments(schema.numeric, schema.n_classes)
        tests = anova(_anova_moments(source, known, moments)) if schema.has_classes else correlation_tests(source)
        place = {j: k for k, j in enumerate(schema.numeric)}
        summary = _test_summary("anova" if schema.has_classes else "correlation", tests, [place[j] for j in uncut])
        untestable = "" if summary is not None else "too few rows"
    return UncutColumns(
        rule="mdl" if schema.has_classes else "equal_frequency",
        columns=tuple(schema.columns[j].name for j in uncut),
        level=FDR_LEVEL,
        power=POWER,
        test=summary,
        untestable_reason=untestable,
    )


def anova(moments: ClassMoments) -> FTests:
    """Return the one-way analysis of variance of each column over the classes in which it has values.

    Parameters
    ----------
    moments : ClassMoments
    """
    n = moments.weight.sum(axis=0)
    mean = np.divide((moments.weight * moments.mean).sum(axis=0), n, out=np.zeros_like(n), where=n > 0)
    between = (moments.weight * (moments.mean - mean) ** 2).sum(axis=0)
    within = moments.squared_deviations.sum(axis=0)
    n_classes = (moments.weight > 0).sum(axis=0)
    constant = moments.maximum.max(axis=0, initial=-np.inf) <= moments.minimum.min(axis=0, initial=np.inf)
    return _f_tests(between, within, n_classes - 1.0, n - n_classes, n, constant)


def correlation_tests(source: Source) -> FTests:
    """Return the test of Pearson's correlation of each numeric column with a numeric target, over the rows with a value.

    Parameters
    ----------
    source : Source
    """
    schema = source.schema
    (moments,) = source.reduce(Moments((*schema.numeric, schema.n_columns)))
    spread = np.sqrt(moments.squared_deviations[0] / np.maximum(moments.weight[0], 1.0))
    spread = np.where(spread > 0, spread, 1.0)
    # Centred at the means of all rows and scaled by the standard deviations, which avoids cancellation and overflow.
    sums = np.zeros((6, len(schema.numeric)))
    for block in source.blocks(schema.numeric):
        y_all = (np.asarray(block.y) - moments.mean[0, -1]) / spread[-1]
        for k, j in enumerate(schema.numeric):
            x = (np.asarray(block.column(j)) - moments.mean[0, k]) / spread[k]
            present = ~np.isnan(x)
            x, y = x[present], y_all[present]
            sums[:, k] += len(x), x.sum(), y.sum(), x @ x, y @ y, x @ y
    n, x, y, xx, yy, xy = sums
    count = np.maximum(n, 1.0)
    xx, yy, xy = xx - x * x / count, yy - y * y / count, xy - x * y / count
    constant = (moments.maximum[0, :-1] <= moments.minimum[0, :-1]) | (yy <= 0) | (xx <= 0)
    share = np.minimum(np.divide(xy * xy, xx * yy, out=np.zeros_like(xy), where=~constant), 1.0)
    return _f_tests(share, 1 - share, np.ones_like(n), n - 2, n, constant)


def detectable_effect(df_between: float, df_within: float, level: float, power: float = POWER) -> float:
    """Return the smallest share of the variance that an F test detects with a given power.

    Parameters
    ----------
    df_between, df_within : float
        Degrees of freedom.
    level, power : float
    """
    critical = stats.f.isf(level, df_between, df_within)

    def lacking(noncentrality: float) -> float:
        return float(power - stats.ncf.sf(critical, df_between, df_within, noncentrality))

    upper = 1.0
    while lacking(upper) > 0:
        upper *= 2
    noncentrality = brentq(lacking, 0.0, upper)
    return float(noncentrality / (noncentrality + df_between + df_within + 1))


def _f_tests(
    between_squares: Floats,
    within_squares: Floats,
    df_between: Floats,
    df_within: Floats,
    n_rows: Floats,
    constant: Any,
) -> FTests:
    testable = (df_between > 0) & (df_within > 0) & ~constant
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.where(testable, (between_squares / df_between) / (within_squares / df_within), np.nan)
    return FTests(statistic, df_between, df_within, n_rows)


def _anova_moments(source: Source, known: StatisticsCache, moments: ClassMoments) -> ClassMoments:
    """Return the moments by class, computed in another pass if the ranking did not need them."""
    if known.pending([moments]):
        known.add(source.reduce(moments))
    filled: ClassMoments = known[moments]
    return filled


def _test_summary(name: Literal["anova", "correlation"], tests: FTests, uncut: list[int]) -> FTestSummary | None:
    """Return the results of the tests for the columns in one interval, None if none of them can be tested."""
    p = tests.p_values()
    tested = np.flatnonzero(~np.isnan(p))
    here = np.intersect1d(tested, uncut)
    if not len(here):
        return None
    adjusted = np.full(len(p), np.nan)
    adjusted[tested] = stats.false_discovery_control(p[tested])
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


def _untestable_reason(source: Source) -> str:
    """Return why no test is valid, "" where one is."""
    schema: Schema = source.schema
    if schema.weight is not None:
        return "the rows have weights"
    if source.groups is not None:
        return "the rows of a group are not independent"
    return "rows in time are not independent" if source.time is not None else ""


@dataclass(frozen=True)
class RankingCriterion:
    """One criterion of a ranking.

    Attributes
    ----------
    name, label : str
    relevance : Relevance
    source : Source
        The rows that it reads if it compares rows with rows.
    """

    name: str
    label: str
    relevance: Relevance
    source: Source


def score_columns(
    ranking_criteria: Sequence[RankingCriterion], source: Source
) -> tuple[dict[str, Floats], StatisticsCache]:
    """Return the scores of every column by criterion, and the statistics that were collected in passes shared by all criteria."""
    schema = source.schema
    for one in ranking_criteria:
        one.relevance.check(schema)
    by_rows = {
        one.name: one.relevance.score(one.source) for one in ranking_criteria if isinstance(one.relevance, RowRelevance)
    }
    counted = {one.name: one.relevance for one in ranking_criteria if isinstance(one.relevance, StatisticRelevance)}
    known = gather_statistics(list(counted.values()), source.reduce, schema)
    scores = by_rows | {name: relevance.scores(known, schema) for name, relevance in counted.items()}
    return {one.name: scores[one.name] for one in ranking_criteria}, known


def choose_ranking_criteria(
    requested: Sequence[Relevance] | None, schema: Schema, missing: MissingRule, row_graph: RowGraph
) -> list[RankingCriterion]:
    """Return the requested criteria, adapted to the table; by default the registered ones that are defined for it and cheap."""
    chosen = (
        []
        if requested is None
        else [(label, part.adapt_to(schema) or part) for label, part in _number_duplicates(requested)]
    )
    for entry in criteria.of_kind("relevance") if requested is None else ():
        part = entry.load()().with_missing(missing).adapt_to(schema)
        if part is not None and part.used_by_default and (row_graph.graph is not None or not needs_graph(part)):
            chosen.append((entry_label(entry), part))
    with_graph = [(label, row_graph.with_graph(part)) for label, part in chosen]
    return [
        RankingCriterion(label["id"], label["label"], part, row_graph.source_for(part)) for label, part in with_graph
    ]


def _number_duplicates(requested: Sequence[Relevance]) -> list[tuple[dict[str, str], Relevance]]:
    """Return relevances with their labels, numbered if a class occurs more than once."""
    labels = [method_label(criteria, relevance) for relevance in requested]
    ids = [label["id"] for label in labels]
    for k, relevance in enumerate(requested):
        if ids.count(ids[k]) > 1:
            labels[k] = {"id": f"{ids[k]}_{ids[: k + 1].count(ids[k])}", "label": repr(relevance)}
    return list(zip(labels, requested, strict=True))


def describe_ranking(source: Source, ranking_criteria: list[RankingCriterion]) -> RankingRecord:
    """Return the record of the ranking: scores by criterion, cut points, and tests of the columns without a cut point."""
    schema = source.schema
    found, known = score_columns(ranking_criteria, source)
    used = set(schema.used.tolist())
    scores = {name: values.tolist() for name, values in found.items()}
    cut_points: dict[str, tuple[float, ...] | None] = {}
    if schema.has_classes and schema.numeric:
        coder = ColumnCoder(MDL(), schema, with_target=True, caller="study")
        if not coder.requires(known):
            edges = coder.coding(known).edges
            cut_points = {schema.columns[j].name: tuple(edges[j].tolist()) for j in schema.numeric}
    return RankingRecord(
        criteria=tuple(
            CriterionInfo(
                id=one.name,
                label=one.label,
                unit=one.relevance.unit,
                summary=_docstring_summary(one.relevance),
                needs_target=bool(one.relevance.needs_target),
            )
            for one in ranking_criteria
        ),
        columns=tuple(schema.names),
        scores={name: tuple(v if j in used else None for j, v in enumerate(values)) for name, values in scores.items()},
        cut_points=cut_points,
        uncut=describe_uncut_columns(source, known),
        constant=tuple(schema.columns[j].name for j in schema.used.tolist() if schema.columns[j].constant),
        mean_rank=None,
    )


def _docstring_summary(method: Any) -> str:
    return (type(method).__doc__ or "").strip().partition("\n")[0]
