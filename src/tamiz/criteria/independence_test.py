"""Tests of independence of each column and the target, by the kinds of both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, Self, TypeAlias, get_args

import numpy as np

from tamiz.arrays import Floats
from tamiz.criteria.base import HasPValues, StatisticRelevance, StatisticsCache
from tamiz.runtime.user_warnings import list_names
from tamiz.runtime.validation import check_choice
from tamiz.runtime.verdicts import Verdict
from tamiz.statistics.base import Statistic
from tamiz.statistics.contingency import Coding, ContingencyTables
from tamiz.statistics.independence import (
    ColumnTests,
    anova,
    contingency_tests,
    correlation,
    kruskal_wallis,
    welch,
)
from tamiz.statistics.independence import adjust_p_values as adjust_p_values
from tamiz.statistics.moments import ClassMoments, LevelMoments, TargetCovariances
from tamiz.statistics.target_ranks import GroupRanks, TargetRanks
from tamiz.table.schema import Schema

TestFamily: TypeAlias = Literal["parametric", "welch", "rank"]
ContingencyTest: TypeAlias = Literal["pearson", "likelihood_ratio"]
MissingValues: TypeAlias = Literal["omit", "category"]

_GROUP_TESTS = {"parametric": "one-way ANOVA", "welch": "Welch's ANOVA", "rank": "the Kruskal-Wallis test"}
_CORRELATION_TESTS = {
    "parametric": "the t test of Pearson's correlation",
    "welch": "the t test of Pearson's correlation",
    "rank": "the t test of Spearman's correlation",
}
_CONTINGENCY_TESTS = {"pearson": "Pearson's chi-squared test", "likelihood_ratio": "the likelihood-ratio (G) test"}


class IndependenceTest(StatisticRelevance, HasPValues):
    r"""Minus the decimal logarithm of the p-value of a test that the column and the target are independent.

    .. math:: -\log_{10} p

    The test suits the kinds of the column and of the target:

    ============= ========================== =======================================
    column        target with classes        numeric target
    ============= ========================== =======================================
    numeric       ANOVA F, Welch, or         t test of Pearson's or
                  Kruskal-Wallis             Spearman's correlation
    categorical   chi-squared or G           ANOVA F, Welch, or Kruskal-Wallis
                                             of the target by level
    ============= ========================== =======================================

    For a column with two values, ANOVA is Student's t test and the test of the point-biserial correlation, and Welch's is Welch's
    t test.

    Parameters
    ----------
    test : {"parametric", "welch", "rank"}, default="parametric"
        The test where the column or the target is numeric. "parametric" compares means, assuming normal values of equal variance:
        one-way ANOVA, and Pearson's correlation. "welch" allows the variances of the groups to differ. "rank" assumes neither, and
        is robust against outliers: Kruskal-Wallis and Spearman's correlation, with midranks for ties.
    contingency_test : {"pearson", "likelihood_ratio"}, default="pearson"
        The test of a categorical column and classes: Pearson's chi-squared, or G, without continuity correction.
    missing : {"omit", "category"}, default="omit"
        Rows in which the column is missing are left out of its test, or a missing value of a categorical column is a level.

    Raises
    ------
    DataError
        When there is no target.

    Notes
    -----
    Cost O(n p), with ranks O(n log n p). `RankSelector` adds the p-values (`p_values_`), the p-values adjusted for the number of
    tests (`adjusted_p_values_`) and the test statistics (`statistics_`: F, which is :math:`t^2` for a correlation; H; X2 or G), and
    with `fdr=0.05` selects columns at a false discovery rate of 5 %.

    The score is finite where the p-value is below the smallest float: its logarithm is computed directly. A constant column, or
    one with too few rows or classes, cannot be tested: its score is 0 and its p-value 1. Welch's test leaves out classes of one
    row, and its p-values are far too small with many groups of few rows, or with a group of equal values: where a group has fewer
    than 10 rows or equal values, a warning names the columns. The chi-squared approximation is inaccurate if more than 20 % of
    the expected counts are below 5 (Cochran 1954): a warning names the columns. The p-value of Spearman's correlation of n rows is
    at least :math:`2 / n!`, the smallest one of the permutation test.

    With a target of L columns the p-value is the smallest of the L tests times L, at most 1 (Bonferroni over the outputs): a test
    of the hypothesis that the column is independent of each output. The statistic is that of the smallest p-value.

    A row with frequency weight 2 counts as two equal rows, and rows with sampling weights count as their effective sample size,
    :math:`(\sum w)^2 / \sum w^2`. p-values assume independent rows; with groups of several rows, and with rows in time,
    `RankSelector` computes the scores for a ranking, but no p-values.
    A small p-value is evidence of dependence, not of a strong one: with many rows, weak effects have small p-values.

    References
    ----------
    Fisher (1925), Statistical Methods for Research Workers; Welch (1951), On the comparison of several mean values, Biometrika 38;
    Kruskal and Wallis (1952), Use of ranks in one-criterion variance analysis, Journal of the American Statistical Association 47;
    Agresti (2013), Categorical Data Analysis, section 3.2.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import RankSelector
    >>> from tamiz.criteria import IndependenceTest
    >>> X, y = load_iris(return_X_y=True)
    >>> RankSelector(IndependenceTest()).fit(X, y).scores_.round(1)
    array([30.8, 16.3, 90.5, 84.4])

    Two informative columns and eight of noise, at a false discovery rate of 5 %:

    >>> rng = np.random.default_rng(0)
    >>> noise = rng.normal(size=(150, 8))
    >>> selector = RankSelector(IndependenceTest(test="rank"), fdr=0.05).fit(np.hstack([X[:, 2:], noise]), y)
    >>> selector.get_support(indices=True)
    array([0, 1])
    """

    unit: ClassVar[str] = "-log10 p"
    # ANOVA ranks complete numeric columns as the Fisher score does.
    used_by_default: ClassVar[bool] = False

    def __init__(
        self,
        *,
        test: TestFamily = "parametric",
        contingency_test: ContingencyTest = "pearson",
        missing: MissingValues = "omit",
    ) -> None:
        self.test = test
        self.contingency_test = contingency_test
        self.missing = missing

    def check(self, schema: Schema) -> None:
        """Raise DataError for a table without a target."""
        super().check(schema)
        check_choice("test", self.test, get_args(TestFamily))
        check_choice("contingency_test", self.contingency_test, get_args(ContingencyTest))
        check_choice("missing", self.missing, get_args(MissingValues))

    def with_missing(self, missing: str) -> Self:
        """Return a copy in which missing is a level for "category"; counts that are distributed are no independent rows."""
        return super().with_missing(missing) if missing == "category" else self

    def requires(self, cache: StatisticsCache, schema: Schema) -> Sequence[Statistic]:
        """Return moments by class or level, covariances with the target, contingency tables, or ranks."""
        return cache.pending(self._statistics(schema))

    def scores(self, cache: StatisticsCache, schema: Schema) -> Floats:
        """Return -log10 p of every column."""
        return np.abs(self.column_tests(cache, schema).log_p) / np.log(10)

    def combine_outputs(self, scores: Floats) -> Floats:
        """Return -log10 of the smallest p-value of each column times the number of outputs (Bonferroni), at least 0."""
        return np.maximum(scores.max(axis=0) - np.log10(len(scores)), 0.0)

    def column_tests(self, cache: StatisticsCache, schema: Schema) -> ColumnTests:
        """Return the test of every column."""
        numeric, categorical = schema.numeric, schema.categorical
        parts: list[tuple[Sequence[int], ColumnTests]] = []
        if self.test == "rank":
            ranked = self._target_ranks(schema)
            for j, ranks in cache[ranked].ranks.items():
                parts.append(([j], kruskal_wallis(ranks) if isinstance(ranks, GroupRanks) else correlation(ranks)))
        elif schema.has_classes:
            parts.append((numeric, self._compare_groups(cache[self._class_moments(schema)])))
        else:
            parts.append((numeric, correlation(cache[TargetCovariances(numeric)])))
            parts += [([j], self._compare_groups(cache[self._level_moments(j, schema)])) for j in categorical]
        if schema.has_classes and categorical:
            tables = cache[self._contingency_tables(schema)].tables
            # The last row counts missing values of the column, and the last column those of the target.
            counts = [(table if self.missing == "category" else table[:-1])[:, :-1] for table in tables]
            likelihood_ratio = self.contingency_test == "likelihood_ratio"
            parts.append((categorical, contingency_tests(counts, likelihood_ratio=likelihood_ratio)))
        return ColumnTests.scatter(schema.n_columns, parts)

    def test_name(self, j: int, schema: Schema) -> str:
        """Return the name of the test of a column, in words.

        Parameters
        ----------
        j : int
            The number of the column.
        schema : Schema
        """
        is_number = schema.columns[j].is_number
        if schema.has_classes and not is_number:
            return _CONTINGENCY_TESTS[self.contingency_test]
        return (_GROUP_TESTS if schema.has_classes or not is_number else _CORRELATION_TESTS)[self.test]

    def test_warnings(self, tests: ColumnTests, schema: Schema) -> list[Verdict]:
        """Return warnings on columns that cannot be tested, and on tests whose approximation is inaccurate."""
        used = schema.used.tolist()
        untested = [j for j in used if not tests.is_tested[j] and not schema.columns[j].constant]
        few = [j for j in used if tests.few_expected[j]]
        uncertain = [j for j in used if tests.uncertain_variance[j]]
        separated = [j for j in used if tests.no_variance_within[j]]
        warnings: list[Verdict] = []

        def add(code: str, sentence: str, columns: list[int]) -> None:
            warnings.append(Verdict(code, sentence, [schema.names[j] for j in columns]))

        if untested:
            add(
                "TZ210",
                f"IndependenceTest cannot test {_name_columns(untested, schema)}: the rows with a value have only one value of the "
                "column or the target, are too few, or differ by less than 1e-150 (use another unit). The p-value is 1.",
                untested,
            )
        if few:
            add(
                "TZ307",
                f"IndependenceTest: more than 20 % of the expected counts of {_name_columns(few, schema)} are below 5, so "
                "the chi-squared approximation of the p-value is inaccurate. Merge rare levels.",
                few,
            )
        if uncertain:
            add(
                "TZ307",
                f"IndependenceTest: the p-values of {_name_columns(uncertain, schema)} may be far too small, because Welch's test "
                "has groups of fewer than 10 rows or of equal values. Merge rare levels, or use test='rank' or 'parametric'.",
                uncertain,
            )
        if separated:
            add(
                "TZ101",
                f"IndependenceTest: the values of {_name_columns(separated, schema)} are equal within each class (of a categorical "
                "column, those of the target within each level), as in a copy of the target. F is then infinite and the p-value 0, "
                "however few rows there are; the p-value of test='rank' depends on their number.",
                separated,
            )
        return warnings

    def _statistics(self, schema: Schema) -> list[Statistic]:
        found: list[Statistic] = []
        if self.test == "rank":
            found.append(self._target_ranks(schema))
        elif schema.has_classes:
            found.append(self._class_moments(schema))
        else:
            found.append(TargetCovariances(schema.numeric))
            found += [self._level_moments(j, schema) for j in schema.categorical]
        if schema.has_classes and schema.categorical:
            found.append(self._contingency_tables(schema))
        return found

    def _class_moments(self, schema: Schema) -> ClassMoments:
        return ClassMoments(schema.numeric, schema.n_classes)

    def _level_moments(self, j: int, schema: Schema) -> LevelMoments:
        missing_is_level = self.missing == "category"
        return LevelMoments((j,), schema.n_levels[j] + missing_is_level, missing_is_level)

    def _target_ranks(self, schema: Schema) -> TargetRanks:
        if schema.has_classes:
            return TargetRanks(schema.numeric, {}, schema.n_classes, missing_is_level=False)
        columns = tuple(schema.used.tolist())
        return TargetRanks(columns, schema.n_levels, 0, missing_is_level=self.missing == "category")

    def _contingency_tables(self, schema: Schema) -> ContingencyTables:
        coding = Coding({**schema.n_levels, schema.n_columns: schema.n_classes}, {})
        return ContingencyTables([(j, schema.n_columns) for j in schema.categorical], coding)

    def _compare_groups(self, moments: ClassMoments) -> ColumnTests:
        return welch(moments) if self.test == "welch" else anova(moments)


def _name_columns(columns: Sequence[int], schema: Schema) -> str:
    return list_names(columns, as_text=lambda j: repr(schema.columns[j].name))
