"""Possible target leakage: columns that predict the target almost perfectly, alone or by a formula, or are almost a recoding."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from tamiz.assessment.target_formulas import TargetFormula, find_target_formulas
from tamiz.kernels.contingency import bin_values
from tamiz.report.leakage import ADJUSTED_INFORMATION, exclusion_scores, leakage_evidence
from tamiz.report.records.columns import Coverage, LeakageExclusion, LeakageFinding
from tamiz.report.text import join_names, kinds_argument, kinds_option
from tamiz.runtime import parallel
from tamiz.runtime.random import make_rng
from tamiz.runtime.verdicts import Verdict
from tamiz.search.base import Problem
from tamiz.statistics.base import Codes, Floats, is_missing
from tamiz.statistics.cuts import MDL, SortedColumn
from tamiz.table.base import Table
from tamiz.table.in_memory import load_column
from tamiz.table.kinds import ID_NAME_REASON, ROW_NUMBER_REASON, WHOLE_NUMBER_REASON, to_numbers
from tamiz.table.schema import LEAKAGE_REASON, Column, Schema
from tamiz.table.views import (
    RowNumbers,
    positive_weight_row_numbers,
    select_columns,
    select_rows,
    target_array,
    weight_array,
)

# Limits of the sample: rows, and rows times columns (times passes over eight classes each).
_MAX_SAMPLE_ROWS, _MIN_SAMPLE_ROWS, _MAX_VALUES, _CLASSES_PER_PASS = 20_000, 1_000, 20_000_000, 8
# In fewer rows a perfect column is likely by chance.
_MIN_SCORED_ROWS = 20
_N_FOLDS = 5
# Only classes with at least as many rows as folds are scored. If they have a smaller share of the rows, nothing is claimed.
_MIN_COVERAGE = 0.8
# The best of the other columns leaves at least so many times more unexplained.
_MIN_UNEXPLAINED_RATIO = 3.0
# The adjusted mutual information of a recoding at least: two equal classes reach it with errors in 1 of 77 rows, and the 37 species
# of 83 Star Wars characters with errors in two rows (0.93 to 0.98).
_MIN_ADJUSTED_INFORMATION = 0.9
# The largest probability that any column is a recoding by chance, and the fewest rows per value: a column with fewer is an id, and
# in a table with repeated rows any two ids look like recodings of each other.
_MAX_CHANCE_PROBABILITY, _MIN_ROWS_PER_VALUE = 1e-3, 2
# Id columns that are read again and scored.
_MAX_IDS = 8


Sizes = NDArray[np.int64]
# Largest table of folds x levels x classes that is counted; a larger column scores the baseline.
_MAX_COUNTS = 5_000_000
# A column with a lower R2 between neighbouring rows is not cross-validated.
_MIN_NEIGHBOUR_SCORE = 0.9
# Levels decide the rows of other folds that have one of them: at least this share of all rows.
_MIN_DECIDED = 0.8
# Classes that a leaking column need not predict have at most this share of the rows, all together.
_MAX_UNDECIDED_CLASSES = 0.05
# Neighbouring values whose means are interpolated in a second prediction: their noise is that of a mean.
_BLOCK_VALUES = 8


@dataclass(frozen=True)
class _ColumnScore:
    column: int
    predictor: Literal["values", "missing"]
    score: Score


@dataclass(frozen=True)
class _TargetPrediction:
    """The prediction of the target by one column.

    Attributes
    ----------
    scorer : SingleColumnScorer
    rows : ndarray
        The rows that are scored: those with a positive weight, of classes with at least as many rows as folds.
    coverage : Coverage or None
        The classes and rows that are scored, None if these are all.
    """

    scorer: SingleColumnScorer
    rows: RowNumbers
    coverage: Coverage | None

    def score_column(self, j: int, column: Column, values: Any) -> _ColumnScore:
        """Return the score of a column, by its missing values alone where these suffice for possible leakage."""
        values = values[self.rows]
        missing = is_missing(values)
        if missing.any() and not missing.all():
            by_missing = self.scorer.score_levels(missing.astype(np.int32), 2)
            if by_missing.value >= self.scorer.min_score:
                return _ColumnScore(j, "missing", by_missing)
        if column.is_number:
            return _ColumnScore(j, "values", self._score_numbers(values))
        size = len(column.levels)
        return _ColumnScore(
            j, "values", self.scorer.score_levels(np.where(missing, size, values).astype(np.int32), size + 1)
        )

    def _score_numbers(self, values: Floats) -> Score:
        """Return the score of numbers, and of whole numbers as codes of categories if that is larger."""
        score = self.scorer.score_numbers(values, self.scorer.min_score)
        if isinstance(self.scorer, NumericScorer) or np.any(values[~np.isnan(values)] % 1):
            return score
        numbers, codes = np.unique(values, return_inverse=True)
        if len(numbers) * _MIN_ROWS_PER_VALUE > len(values):
            return score
        by_level = self.scorer.score_levels(codes.astype(np.int32), len(numbers))
        return max(score, by_level, key=lambda one: one.value)


@dataclass(frozen=True)
class _RecodedTarget:
    """The target as codes, one for every distinct value.

    Attributes
    ----------
    codes : ndarray of int
    rows : ndarray
        The rows that are compared: those with a positive weight, one of each group.
    n_columns : int
        The columns compared with the target.
    numeric_target : bool
        Whether the target is a number. Then only categories are compared with it: rows with equal numbers are mostly repeated rows
        or rows of one group.
    """

    codes: NDArray[np.intp]
    rows: RowNumbers
    n_columns: int
    numeric_target: bool

    def is_plausible(self, sizes: NDArray[np.int64]) -> bool:
        """Whether values with these numbers of rows can be a coding: enough rows per value, and unlikely to agree by chance."""
        few = len(self.rows) >= _MIN_ROWS_PER_VALUE * int(np.count_nonzero(sizes))
        return few and self.n_columns * 2 ** -log2_partitions(sizes) <= _MAX_CHANCE_PROBABILITY

    def information_with(self, column: Column, values: Any) -> float:
        """Return the adjusted mutual information of the target and a column, 0 if it is below that of a recoding."""
        if column.is_number and self.numeric_target:
            return 0.0
        values = values[self.rows]
        if column.is_number:
            _, codes, sizes = np.unique(values, return_inverse=True, return_counts=True)
        else:
            codes = values.astype(np.intp) + 1
            sizes = np.bincount(codes)
        least, most = sorted((entropy(sizes), entropy(np.bincount(self.codes))))
        if 2 * least < _MIN_ADJUSTED_INFORMATION * (least + most) or not self.is_plausible(sizes):
            return 0.0
        if 2 * (least + most - joint_entropy(codes, self.codes)) < _MIN_ADJUSTED_INFORMATION * (least + most):
            return 0.0
        score = adjusted_mutual_information(codes, self.codes)
        return score if score >= _MIN_ADJUSTED_INFORMATION else 0.0


def find_leakage(table: Table) -> list[LeakageFinding]:
    """Return the columns of possible target leakage: those that predict the target, best first, recodings of it, and formulas.

    Parameters
    ----------
    table : Table

    Returns
    -------
    list of LeakageFinding

    Notes
    -----
    *Prediction.* Each column is scored by a model of this column alone in 5-fold cross-validation, of whole groups if there are
    groups: for classes, the majority class of a level or of an interval (cut by MDL); for a numeric target, the mean of a level,
    or a function of the values: a line, or linear interpolation between neighbouring values or their means. Whole numbers of
    several rows each are levels, too, as of a code that is finer than the classes. Missing values are a level of their own, and are
    scored alone first. A column is reported if its balanced accuracy or :math:`R^2` is at least 0.97 and leaves unexplained at most
    a third of what the best other column below 0.98 (0.99) leaves. Numeric ids are scored as well.

    A column need not decide all rows: a level that occurs in one fold only decides none (at most 20 % of the rows), and the classes
    that it predicts worst are excluded if they have at most 5 % of the rows and two others are left. Classes of fewer than five
    rows (or groups) cannot be in every fold: they are excluded, and if they have more than 20 % of the rows, nothing is claimed.

    *Recoding.* The adjusted mutual information (Vinh, Epps and Bailey 2010) of target and column, with a code for every distinct
    value, is the symmetric uncertainty corrected for chance. It is 1 for a one-to-one recoding, whatever the number of classes,
    and 0 on average for an unrelated column of any number of values. A column is reported from 0.9 on. Few rows per value agree by
    chance: there must be at least two rows per value, and so many ways to partition the rows into groups of these sizes that the
    probability of a recoding by chance is at most 0.001 over all columns. One row of each group is used; weights only exclude rows
    of weight 0. A numeric target is compared with categories only.

    *Formulas* of several other columns that determine the target: `tamiz.assessment.find_target_formulas`.

    A long table is sampled. The sample and the folds use a fixed seed, so that the same table always has the same result.
    """
    schema = table.schema
    if schema.target is None:
        return []
    rng = make_rng(0)
    rows = _sample_rows(schema, rng)
    if len(rows) < schema.n_rows:
        table = select_rows(table, rows)
    y, weight = target_array(table), weight_array(table)
    present = positive_weight_row_numbers(table)
    prediction = _prepare_prediction(table, y, weight, present, rng)
    recoding = _prepare_recoding(table, y, present)
    predictions, scores = _score_columns(table, prediction, recoding)
    by_groups = table.groups is not None
    leaks = [] if prediction is None else _near_perfect_predictors(table, prediction, predictions, by_groups=by_groups)
    named = {leak.name for leak in leaks}
    leaks += [
        LeakageFinding(
            name=schema.columns[j].name,
            predictor="values",
            score=score,
            score_name=ADJUSTED_INFORMATION,
            baseline=0.0,
            n_rows=len(recoding.rows),
            by_groups=by_groups,
            coverage=None,
        )
        for j, score in sorted(scores.items(), key=lambda found: (-found[1], found[0]))
        if recoding is not None and score > 0 and schema.columns[j].name not in named
    ]
    found = find_target_formulas(table, exclude=[leak.name for leak in leaks])
    return leaks + [_formula_finding(one, by_groups=by_groups) for one in found]


def _formula_finding(found: TargetFormula, *, by_groups: bool) -> LeakageFinding:
    return LeakageFinding(
        name=join_names(found.columns),
        predictor="formula",
        score=found.score,
        score_name=found.score_name,
        baseline=found.other_score,
        n_rows=found.n_rows,
        by_groups=by_groups,
        coverage=None,
        columns=found.columns,
        formula=found.formula,
        limits=found.limits,
    )


def exclude_leaks(
    table: Table, leaks: Sequence[LeakageFinding], problem: Problem | None
) -> tuple[Table, LeakageExclusion | None]:
    """Return the table without the columns of possible leakage, and their names; None if there are none.

    All columns of a formula are excluded: which of them is recorded after the target is not known, and one that is honest alone
    makes the others look honest, too. A column group of the search is excluded as a whole. Columns that the user fixed, or that the
    search starts with, remain, and so do all columns if no other is left.

    Parameters
    ----------
    table : Table
    leaks : sequence of LeakageFinding
    problem : Problem or None
        The problem of the search.
    """
    schema, position = table.schema, {name: j for j, name in enumerate(table.schema.names)}
    leaking = np.zeros(schema.n_columns, dtype=bool)
    leaking[[position[name] for leak in leaks for name in leak.names]] = True
    if problem is not None:
        required = problem.fixed if problem.start is None else problem.fixed | problem.start
        for unit in problem.units:
            leaking[unit] = leaking[unit].any() and not required[unit].any()
        leaking &= ~required
    excluded = schema.used[leaking[schema.used]]
    if not 0 < len(excluded) < len(schema.used):
        return table, None
    kept = select_columns(table, np.setdiff1d(schema.used, excluded), LEAKAGE_REASON)
    return kept, LeakageExclusion(columns=tuple(schema.names[j] for j in excluded.tolist()))


def leakage_warnings(
    leaking_columns: Sequence[LeakageFinding], schema: Schema, exclusion: LeakageExclusion | None = None
) -> list[Verdict]:
    """Return the warnings of possible target leakage: of the columns that are set aside, and of those that are used.

    Parameters
    ----------
    leaking_columns : sequence of LeakageFinding
    schema : Schema
    exclusion : LeakageExclusion, default=None
        The columns that are set aside; None warns only of those that are used.
    """
    if schema.target is None:
        return []
    warnings = []
    if exclusion is not None:
        names = exclusion.columns
        leaks = [leak for leak in leaking_columns if not set(names).isdisjoint(leak.names)]
        those = (
            f"The columns {join_names([repr(name) for name in names])} are" if len(names) > 1 else f"{names[0]!r} is"
        )
        sentence = (
            f"{_describe_leaks(leaks, schema.target.name)} {those} set aside{exclusion_scores(exclusion)}; "
            f"keep_leaks=True (--keep-leaks) uses {'them' if len(names) > 1 else 'it'}."
        )
        warnings.append(Verdict("TZ101", sentence, names))
    used = {column.name for column in schema.columns if column.exclusion_reason is None}
    # Without some of its columns, a formula determines nothing.
    taking = [leak for leak in leaking_columns if used.issuperset(leak.names)]
    if taking:
        # To exclude a date part, exclude the date.
        dates = {column.name: column.date_part[0] for column in schema.columns if column.date_part is not None}
        excluded = {dates.get(name, name): "id" for name in taking[0].names}
        its, them = ("their", "them") if len(taking[0].names) > 1 else ("its", "it")
        sentence = (
            f"{_describe_leaks(taking, schema.target.name)} If {its} values are not known before the target, exclude {them}: "
            f"{kinds_argument(excluded)} ({kinds_option(excluded)})."
        )
        warnings.append(Verdict("TZ101", sentence, dict.fromkeys(name for leak in taking for name in leak.names)))
    return warnings


def _describe_leaks(leaks: list[LeakageFinding], target: str) -> str:
    """Return the evidence of the first finding, and the names of the others."""
    first, *rest = leaks
    columns = "columns" if len(first.names) > 1 else "column"
    others = list(dict.fromkeys(repr(name) for leak in rest for name in leak.names if name not in first.names))
    more = f" The same check names {join_names(others, limit=4)}." if others else ""
    return (
        f"Possible target leakage: {columns} {join_names([repr(name) for name in first.names])} "
        f"{leakage_evidence(first, repr(target))}.{more}"
    )


def _near_perfect_predictors(
    table: Table, prediction: _TargetPrediction, scores: list[_ColumnScore], *, by_groups: bool
) -> list[LeakageFinding]:
    """Return the columns that predict the target almost perfectly, and much better than all other columns."""
    least = prediction.scorer.min_score
    scores = scores + _score_id_columns(table, prediction)
    # Two columns of (almost) perfect predictions do not hide each other; good predictors do, and so does a better one that is none.
    leaks: list[_ColumnScore] = []
    for one in sorted((one for one in scores if one.score.value >= least), key=lambda one: -one.score.value):
        below = prediction.scorer.sure_score if one.score.value >= prediction.scorer.sure_score else np.inf
        others = (other.score.value for other in scores if other not in (one, *leaks) and other.score.value < below)
        if _MIN_UNEXPLAINED_RATIO * (1 - one.score.value) <= 1 - max((one.score.baseline, *others)):
            leaks.append(one)
    return [
        LeakageFinding(
            name=table.schema.columns[one.column].name,
            predictor=one.predictor,
            score=one.score.value,
            score_name=prediction.scorer.score_name,
            baseline=one.score.baseline,
            n_rows=len(prediction.rows),
            by_groups=by_groups,
            coverage=prediction.coverage,
            decided=one.score.decided,
        )
        for one in sorted(leaks, key=lambda one: (-one.score.value, one.column))
    ]


def _sample_rows(schema: Schema, rng: np.random.Generator) -> RowNumbers:
    n, per_row = schema.n_rows, max(1, len(schema.used)) * max(1, schema.n_classes // _CLASSES_PER_PASS)
    size = min(_MAX_SAMPLE_ROWS, max(_MIN_SAMPLE_ROWS, _MAX_VALUES // per_row))
    return np.arange(n) if n <= size else np.sort(rng.choice(n, size, replace=False))


def _prepare_prediction(
    table: Table, y: NDArray[Any], weight: Floats | None, rows: RowNumbers, rng: np.random.Generator
) -> _TargetPrediction | None:
    """Return the scorer of single columns and its rows, None if these rows are too few."""
    coverage = None
    if table.schema.has_classes:
        units = y[rows] if table.groups is None else np.unique([y[rows], table.groups[rows]], axis=1)[0]
        enough = np.bincount(units, minlength=table.schema.n_classes) >= _N_FOLDS
        here = enough[y[rows]]
        if not here.all():
            classes = np.unique(y[rows])
            coverage = Coverage(
                min_rows=_N_FOLDS, n_classes=int(enough.sum()), of_classes=len(classes), of_rows=len(rows)
            )
        if here.sum() < _MIN_COVERAGE * len(rows):
            return None
        rows = rows[here]
    n = len(rows) if table.groups is None else len(np.unique(table.groups[rows]))
    if n < _MIN_SCORED_ROWS or np.ptp(y[rows]) == 0:
        return None
    weight = None if weight is None else weight[rows]
    groups = None if table.groups is None else table.groups[rows]
    if not table.schema.has_classes:
        return _TargetPrediction(
            NumericScorer(y[rows], weight, _assign_folds(np.zeros(len(rows), dtype=int), groups, rng)), rows, coverage
        )
    _, labels = np.unique(y[rows], return_inverse=True)
    return _TargetPrediction(
        ClassScorer(labels.astype(np.int32), weight, _assign_folds(labels, groups, rng)), rows, coverage
    )


def _assign_folds(labels: NDArray[Any], groups: NDArray[Any] | None, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return a fold for every row, the same for all rows of a group."""
    if groups is None:
        return stratified_folds(labels, _N_FOLDS, rng)
    _, first, group = np.unique(groups, return_index=True, return_inverse=True)
    return stratified_folds(labels[first], _N_FOLDS, rng)[group]


def _prepare_recoding(table: Table, y: NDArray[Any], rows: RowNumbers) -> _RecodedTarget | None:
    """Return the target's codes, None if an unrelated column could be a recoding of them by chance."""
    if table.groups is not None:
        rows = rows[np.unique(table.groups[rows], return_index=True)[1]]
    if len(rows) < _MIN_SCORED_ROWS:
        return None
    codes = np.unique(y[rows], return_inverse=True)[1]
    recoding = _RecodedTarget(codes, rows, len(table.schema.used), numeric_target=not table.schema.has_classes)
    return recoding if recoding.is_plausible(np.bincount(codes)) else None


def _score_columns(
    table: Table, prediction: _TargetPrediction | None, recoding: _RecodedTarget | None
) -> tuple[list[_ColumnScore], dict[int, float]]:
    """Return the predictive score of each column, and its adjusted mutual information with the target."""
    schema = table.schema
    wanted = [j for j in schema.used.tolist() if not schema.columns[j].constant]
    if prediction is None and recoding is None:
        return [], {}

    def score(j: int) -> tuple[_ColumnScore | None, float]:
        values = table.column(j)
        predictive = None if prediction is None else prediction.score_column(j, schema.columns[j], values)
        recoded = 0.0 if recoding is None else recoding.information_with(schema.columns[j], values)
        return predictive, recoded

    found = list(parallel.map_blocks(score, wanted))
    return [one for one, _ in found if one is not None], {
        j: recoded for j, (_, recoded) in zip(wanted, found, strict=True)
    }


def _score_id_columns(table: Table, prediction: _TargetPrediction) -> list[_ColumnScore]:
    """Return the scores of excluded id columns: in a table sorted by its target, a row number predicts the target."""
    schema = table.schema
    scores: list[_ColumnScore] = []
    for j in (j for j, column in enumerate(schema.columns) if column.kind == "id"):
        reason = schema.columns[j].exclusion_reason or ""
        if reason == ROW_NUMBER_REASON:
            values = table.row_numbers[prediction.rows].astype(np.float64)
        elif len(scores) < _MAX_IDS and any(known in reason for known in (ID_NAME_REASON, WHOLE_NUMBER_REASON)):
            raw = load_column(table, j)
            values = to_numbers(raw, lambda at: f"row {at}").astype(np.float64)[prediction.rows]
        else:
            continue
        score = prediction.scorer.score_numbers(values, prediction.scorer.min_score)
        scores.append(_ColumnScore(j, "values", score))
    return scores


def entropy(sizes: NDArray[Any]) -> float:
    """Return the entropy, in bits, of groups with so many rows.

    Parameters
    ----------
    sizes : ndarray of int, 0 or more
    """
    shares = sizes[sizes > 0] / max(int(sizes.sum()), 1)
    return float(-(shares * np.log2(shares)).sum())


def joint_entropy(a: NDArray[Any], b: NDArray[Any]) -> float:
    """Return the entropy, in bits, of the pairs of two codings.

    Parameters
    ----------
    a, b : ndarray of int, 0 or more, of shape (n_rows,)
    """
    return entropy(np.unique(a.astype(np.int64) * (int(b.max()) + 1) + b, return_counts=True)[1])


def adjusted_mutual_information(a: NDArray[Any], b: NDArray[Any]) -> float:
    """Return the mutual information of two codings, corrected for chance: 1 where they are the same up to the names of the codes.

    .. math:: AMI(A, B) = \\frac{I(A; B) - E}{(H(A) + H(B)) / 2 - E}

    E is the mean of I over all orders of the rows of one coding. In terms of the symmetric uncertainty U and its mean E' over the
    same orders it is (U - E') / (1 - E').

    Parameters
    ----------
    a, b : ndarray of int, 0 or more, of shape (n_rows,)

    Notes
    -----
    It is 0 where chance leaves nothing to explain, as for two codings that give every row a code of its own. Cost O(n log n), and
    O(n) for each pair of distinct group sizes.

    References
    ----------
    Vinh, Epps and Bailey (2010), Information theoretic measures for clusterings comparison, JMLR 11.
    """
    sizes_a, sizes_b = np.bincount(a), np.bincount(b)
    mean = (entropy(sizes_a) + entropy(sizes_b)) / 2
    expected = _expected_information(sizes_a[sizes_a > 0], sizes_b[sizes_b > 0])
    # Rounding leaves about 1e-15 bits where every order of the rows shares all there is.
    if mean - expected <= 1e-9 * mean:
        return 0.0
    return float((2 * mean - joint_entropy(a, b) - expected) / (mean - expected))


def log2_partitions(sizes: NDArray[Any]) -> float:
    """Return the logarithm to base 2 of the number of ways to split rows into groups of these sizes.

    Parameters
    ----------
    sizes : ndarray of int, 0 or more
    """
    sizes = sizes[sizes > 0]
    alike = np.unique(sizes, return_counts=True)[1]
    ways = gammaln(sizes.sum() + 1) - gammaln(sizes + 1).sum() - gammaln(alike + 1).sum()
    return float(ways / np.log(2))


def _expected_information(sizes_a: Sizes, sizes_b: Sizes) -> float:
    """Return the mean mutual information, in bits, of groups of these sizes over all orders of the rows.

    The rows that a group of a and one of b share are hypergeometric; groups of equal sizes are summed once (equation 24a of Vinh,
    Epps and Bailey 2010).
    """
    n = int(sizes_a.sum())
    factorial: Floats = gammaln(np.arange(n + 1) + 1.0)
    found = 0.0
    for a, n_a in zip(*np.unique(sizes_a, return_counts=True), strict=True):
        for b, n_b in zip(*np.unique(sizes_b, return_counts=True), strict=True):
            shared = np.arange(max(1, a + b - n), min(a, b) + 1)
            chance = np.exp(
                factorial[a] + factorial[b] + factorial[n - a] + factorial[n - b] - factorial[n]
                - factorial[shared] - factorial[a - shared] - factorial[b - shared] - factorial[n - a - b + shared]
            )  # fmt: skip
            found += n_a * n_b * float((shared / n * np.log2(n * shared / (float(a) * float(b))) * chance).sum())
    return found


@dataclass(frozen=True)
class Score:
    """A cross-validated score, the score of a prediction that uses no column, and the share of the rows that are scored."""

    value: float
    baseline: float
    decided: float = 1.0


class SingleColumnScorer(ABC):
    """Cross-validated score of a model of the target with one column; a perfect prediction scores 1.

    Attributes
    ----------
    score_name : str
    min_score : float
        The least score of possible target leakage.
    sure_score : float
        Below this score other columns may be as good.
    """

    score_name: str
    min_score: float
    sure_score: float

    @abstractmethod
    def score_levels(self, codes: Codes, n_levels: int) -> Score:
        """Return the score of a column of codes 0 .. n_levels - 1, in the rows with a level that occurs in other folds."""

    @abstractmethod
    def score_numbers(self, values: Floats, min_score: float) -> Score:
        """Return the score of a column of numbers (NaN if missing), or a bound of it below `min_score`."""


class ClassScorer(SingleColumnScorer):
    """Scorer for classes: predicts for each level or interval the class with the largest share of its own rows there.

    The score is the balanced accuracy. If it is below `min_score`, and at least `min_score` without the worst predicted classes,
    which have at most 5 % of the rows, then it is that of the other classes.

    Parameters
    ----------
    labels : ndarray of int32, codes 0 .. n_classes - 1
    weight : ndarray or None
    folds : ndarray of int
    """

    score_name = "balanced accuracy"
    min_score, sure_score = 0.97, 0.98

    def __init__(self, labels: Codes, weight: Floats | None, folds: NDArray[np.intp]) -> None:
        self._labels = labels
        self._weight = np.ones(len(labels)) if weight is None else weight
        self._folds = folds
        self._n_folds = int(folds.max()) + 1
        self._n_classes = int(labels.max()) + 1
        self._class_weights: Floats = np.bincount(labels, self._weight).astype(np.float64)
        self._n_log_n = np.empty(0)
        if weight is None:
            n = np.arange(len(labels) + 1, dtype=np.float64)
            self._n_log_n = n * np.log2(np.maximum(n, 1.0))

    def score_levels(self, codes: Codes, n_levels: int) -> Score:
        """Return the balanced accuracy of a column of levels."""
        shape = (self._n_folds, n_levels, self._n_classes)
        if np.prod(shape, dtype=float) > _MAX_COUNTS:
            return Score(1 / self._n_classes, 1 / self._n_classes)
        cell = (self._folds * n_levels + codes) * self._n_classes + self._labels
        counts: Floats = np.bincount(cell, self._weight, int(np.prod(shape))).reshape(shape).astype(np.float64)
        whole = counts.sum(axis=0)
        # A level without training rows decides nothing.
        counts *= (whole - counts).any(axis=2, keepdims=True)
        hits = sum((_hits(whole - fold, fold) for fold in counts), np.zeros(self._n_classes))
        return self._score(hits, counts.sum(axis=(0, 1)))

    def score_numbers(self, values: Floats, min_score: float) -> Score:
        """Return the balanced accuracy of MDL intervals, cut in each fold on the training rows alone."""
        order = np.argsort(values, kind="stable")
        order = order[: len(values) - int(np.isnan(values).sum())]
        every = self._interval_hits(values, order, np.zeros(len(values), dtype=bool))
        seen = self._score(every, self._class_weights)
        if seen.value < min_score:
            return seen
        by_fold = (self._interval_hits(values, order, self._folds == fold) for fold in range(self._n_folds))
        return self._score(sum(by_fold, np.zeros(self._n_classes)), self._class_weights)

    def _interval_hits(self, values: Floats, order: NDArray[np.intp], test_mask: NDArray[np.bool_]) -> Floats:
        """Return the correctly predicted weight of each class in the test rows; in the training rows if there are no test rows."""
        learned = order[~test_mask[order]]
        labels = self._labels
        column = SortedColumn(values[learned], labels[learned], self._weight[learned], self._n_classes, self._n_log_n)
        cuts = MDL().cuts(column)
        codes = np.empty(len(values), dtype=np.int32)
        bin_values(values, cuts, codes)
        # Missing values are an interval of their own.
        codes[codes < 0] = len(cuts) + 1
        tables: list[Floats] = [
            np.bincount(
                codes[rows] * self._n_classes + labels[rows], self._weight[rows], (len(cuts) + 2) * self._n_classes
            ).astype(np.float64)
            for rows in (~test_mask, test_mask if test_mask.any() else ~test_mask)
        ]
        return _hits(*(table.reshape(-1, self._n_classes) for table in tables))

    def _score(self, hits: Floats, decided: Floats) -> Score:
        """Return the score of classes of which so much weight is decided, and so much of it rightly."""
        total, baseline = float(self._class_weights.sum()), 1 / self._n_classes
        if decided.sum() < _MIN_DECIDED * total or not decided.all():
            return Score(baseline, baseline)
        recall = hits / decided
        share = float(decided.sum() / total)
        order = np.argsort(recall, kind="stable")
        n_left_out = int(
            np.searchsorted(np.cumsum(self._class_weights[order]), _MAX_UNDECIDED_CLASSES * total, "right")
        )
        for n in range(min(n_left_out, self._n_classes - 2) + 1):
            kept = order[n:]
            if (value := float(recall[kept].mean())) >= self.min_score:
                return Score(value, 1 / len(kept), share - float(decided[order[:n]].sum() / total))
        return Score(float(recall.mean()), baseline, share)


def _hits(train: Floats, test: Floats) -> Floats:
    """Return the weight of each class in the test counts that the training counts predict correctly."""
    of_class = train.sum(axis=0)
    shares = train / np.where(of_class > 0, of_class, 1.0)
    # An interval without training rows is predicted as the largest class.
    predicted = np.where(train.any(axis=1), np.argmax(shares, axis=1), np.argmax(of_class))
    right: Floats = np.bincount(predicted, test[np.arange(len(predicted)), predicted], test.shape[1]).astype(np.float64)
    return right


class NumericScorer(SingleColumnScorer):
    """Scorer for a numeric target: predicts the mean of a level, or a function of the values.

    The function is a line, or interpolates linearly between neighbouring values, or between the means of 8 neighbouring values.
    The score is the largest of the three R2.

    Parameters
    ----------
    target : ndarray
    weight : ndarray or None
    folds : ndarray of int
    """

    score_name = "R2"
    min_score, sure_score = 0.97, 0.99

    def __init__(self, target: Floats, weight: Floats | None, folds: NDArray[np.intp]) -> None:
        self._target = target
        self._weight = np.ones(len(target)) if weight is None else weight
        self._folds = folds
        self._n_folds = int(folds.max()) + 1

    def score_levels(self, codes: Codes, n_levels: int) -> Score:
        """Return R2 of the means of the levels."""
        cell, cells = self._folds * n_levels + codes, self._n_folds * n_levels
        weight = np.bincount(cell, self._weight, cells).reshape(self._n_folds, n_levels)
        total = np.bincount(cell, self._weight * self._target, cells).reshape(self._n_folds, n_levels)
        weight, total = weight.sum(axis=0) - weight, total.sum(axis=0) - total
        whole = total.sum(axis=1, keepdims=True) / weight.sum(axis=1, keepdims=True)
        means = np.where(weight > 0, total / np.where(weight > 0, weight, 1.0), whole)
        return self._score(means[self._folds, codes])

    def score_numbers(self, values: Floats, min_score: float) -> Score:
        """Return the largest R2 of a line and of linear interpolation between values of the training rows."""
        missing = np.isnan(values)
        # Equal values are ordered by the target, so that equal targets are neighbours.
        order = np.lexsort((self._target, values))[: len(values) - int(missing.sum())]
        if len(order) < 3 or (seen := self._neighbour_r2(order)) < min(_MIN_NEIGHBOUR_SCORE, min_score):
            return Score(0.0 if len(order) < 3 else max(0.0, seen), 0.0)
        predicted = np.empty((3, len(values)))
        for fold in range(self._n_folds):
            test = self._folds == fold
            predicted[:, test] = self._predict(values, order[~test[order]], test)
            if missing.any():
                train_missing = missing & ~test
                of = train_missing if train_missing.any() else ~test
                predicted[:, missing & test] = np.average(self._target[of], weights=self._weight[of])
        return max((self._score(each) for each in predicted), key=lambda score: score.value)

    def _neighbour_r2(self, order: NDArray[np.intp]) -> float:
        """Return R2, among the rows with a value, of the mean target of the previous and the next row."""
        y, weight = self._target[order], self._weight[order]
        left = y[1:-1] - (y[:-2] + y[2:]) / 2
        spread = float(np.sum(weight * (y - np.average(y, weights=weight)) ** 2))
        return 1 - float(np.sum(weight[1:-1] * left**2)) / spread if spread > 0 else 0.0

    def _predict(self, values: Floats, train_order: NDArray[np.intp], test_mask: NDArray[np.bool_]) -> Floats:
        """Return three predictions for the test rows: by a line, by the training values, and by means of neighbouring ones."""
        if not len(train_order):
            mean = np.average(self._target[~test_mask], weights=self._weight[~test_mask])
            return np.full((3, int(test_mask.sum())), mean)
        x, starts = np.unique(values[train_order], return_index=True)
        weight = np.add.reduceat(self._weight[train_order], starts)
        y = np.add.reduceat((self._weight * self._target)[train_order], starts) / weight
        new = values[test_mask]
        blocks = np.arange(0, len(x), _BLOCK_VALUES)
        in_blocks = np.add.reduceat(weight, blocks)
        x_mean, y_mean = (np.add.reduceat(weight * each, blocks) / in_blocks for each in (x, y))
        smooth = np.interp(new, x_mean, y_mean)
        for end, inner in ((0, 1), (-1, -2)) if len(blocks) > 1 else ():
            beyond = new < x_mean[0] if end == 0 else new > x_mean[-1]
            slope = (y_mean[inner] - y_mean[end]) / (x_mean[inner] - x_mean[end])
            smooth[beyond] = y_mean[end] + slope * (new[beyond] - x_mean[end])
        centre, mean = np.average(x, weights=weight), np.average(y, weights=weight)
        spread = float(weight @ (x - centre) ** 2)
        slope = float(weight @ ((x - centre) * (y - mean))) / spread if spread > 0 else 0.0
        return np.array([mean + slope * (new - centre), np.interp(new, x, y), smooth])

    def _score(self, predicted: Floats) -> Score:
        spread = np.sum(self._weight * (self._target - np.average(self._target, weights=self._weight)) ** 2)
        left = float(np.sum(self._weight * (self._target - predicted) ** 2) / spread)
        return Score(max(0.0, 1 - left), 0.0)


def stratified_folds(labels: NDArray[Any], n_folds: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return a fold for every row, stratified by class.

    Parameters
    ----------
    labels : ndarray of int
    n_folds : int
    rng : Generator
    """
    order = rng.permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    folds = np.empty(len(labels), dtype=np.intp)
    # Folds are assigned in turn across class boundaries, so that small classes fill the folds evenly.
    folds[order] = np.arange(len(labels)) % n_folds
    return folds
