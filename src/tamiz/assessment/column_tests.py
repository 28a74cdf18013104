"""Tests of independence of every column and the target, and of the columns that a discretisation leaves in one interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats
from scipy.optimize import brentq

from tamiz.assessment.findings import ColumnTestsRecord, FTestSummary, UncutColumns
from tamiz.criteria.base import StatisticsCache, gather_statistics
from tamiz.criteria.discretization import ColumnCoder
from tamiz.criteria.independence_test import IndependenceTest
from tamiz.statistics.cuts import MDL, EqualFrequency
from tamiz.statistics.independence import ColumnTests
from tamiz.table.base import Table
from tamiz.table.row_groups import untestable_reason
from tamiz.table.schema import Schema

# The false discovery rate, and the power for which the smallest detectable effect is reported.
FDR_LEVEL, POWER = 0.05, 0.8


@dataclass(frozen=True)
class TableTests:
    """The tests of all columns of a table, or the reason why they are not valid."""

    relevance: IndependenceTest
    tests: ColumnTests | None
    untestable_reason: str


def run_tests(table: Table, known: StatisticsCache) -> TableTests | None:
    """Return a test of independence of every column and the target, None without a target.

    Parameters
    ----------
    table : Table
    known : StatisticsCache
        The statistics of the ranking; what they lack is computed in another pass.

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

    Parameters
    ----------
    table : Table
    known : StatisticsCache
        The statistics of the ranking.
    found : TableTests or None
        The tests of the table.

    Returns
    -------
    UncutColumns or None
        None if every column has a cut point, or nothing was discretised.

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
