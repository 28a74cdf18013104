"""Possible target leakage: columns that predict the target almost perfectly, alone or by a formula, or are almost a recoding."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from tamiz.arrays import Codes, Floats, Indices, Masks, is_missing
from tamiz.assessment.findings import Coverage, PossibleLeak
from tamiz.assessment.formulas import TargetFormula, find_target_formulas
from tamiz.kernels.contingency import bin_values
from tamiz.kernels.expected_information import expected_information
from tamiz.runtime import parallel
from tamiz.runtime.random import make_rng
from tamiz.statistics.cuts import MDL, SortedColumn
from tamiz.table.base import Table, target_array, weight_array
from tamiz.table.factory import as_table
from tamiz.table.in_memory import load_column
from tamiz.table.kinds import ID_NAME_REASON, ROW_NUMBER_REASON, WHOLE_NUMBER_REASON, to_numbers
from tamiz.table.schema import Column, Schema
from tamiz.table.views import positive_weight_row_numbers, sample_table

ADJUSTED_INFORMATION = "adjusted mutual information"
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


def find_leaks(X: Any, y: Any = None, *, sample_weight: Any = None, groups: Any = None) -> list[PossibleLeak]:
    r"""Find columns of possible target leakage: they predict the target almost perfectly, are a recoding of it, or determine it.

    Such a column is often filled in when the target is known, or is the target under another name. The table does not show which
    values are known before the target: check them.

    Parameters
    ----------
    X : array, data frame or Table
    y : array of shape (n_samples,), default=None
        The target, if X is no table.
    sample_weight : array of shape (n_samples,), default=None
        Weights of the rows in the scores of predictions. Elsewhere rows of weight 0 are excluded, and all others are equal.
    groups : array of shape (n_samples,), default=None
        Rows of a group are tested together, and a recoding is compared on one row of each group.

    Returns
    -------
    list of PossibleLeak
        Predictors, best first, then recodings, then formulas. Empty without a target.

    Raises
    ------
    DataError
        When the table cannot be read.

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

    *Recoding.* The adjusted mutual information of target and column, with a code for every distinct value,

    .. math:: AMI(A, B) = \frac{I(A; B) - E}{(H(A) + H(B)) / 2 - E}

    with the mean E of I over all orders of the rows, is the symmetric uncertainty corrected for chance. It is 1 for a one-to-one
    recoding, whatever the number of classes, and 0 on average for an unrelated column of any number of values. A column is reported
    from 0.9 on. Few rows per value agree by chance: there must be at least two rows per value, and so many ways to partition the
    rows into groups of these sizes that the probability of a recoding by chance is at most 0.001 over all columns. A numeric target
    is compared with categories only: rows with equal numbers are mostly repeated rows or rows of one group.

    *Formulas* of several other columns that determine the target are those of `find_target_formulas`.

    Cost: O(n log n) for each column, on at most 20,000 rows. The sample and the folds use a fixed seed, so that the same table
    always has the same result.

    References
    ----------
    Kaufman, Rosset, Perlich and Stitelman (2012), Leakage in data mining, ACM TKDD 6; Vinh, Epps and Bailey (2010), Information
    theoretic measures for clusterings comparison, JMLR 11.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from tamiz.assessment import find_leaks
    >>> rng = np.random.default_rng(0)
    >>> churn = rng.integers(0, 2, 300)
    >>> X = pd.DataFrame({"age": rng.normal(40, 9, 300), "closed": np.where(churn, 2.0, np.nan)})
    >>> (found,) = find_leaks(X, churn)
    >>> found.name, found.predictor, found.score_name, found.score
    ('closed', 'missing', 'balanced accuracy', 1.0)
    """
    table = as_table(X, y, sample_weight, groups=groups)
    if table.schema.target is None:
        return []
    rng = make_rng(0)
    schema = table.schema
    per_row = max(1, len(schema.used)) * max(1, schema.n_classes // _CLASSES_PER_PASS)
    size = min(_MAX_SAMPLE_ROWS, max(_MIN_SAMPLE_ROWS, _MAX_VALUES // per_row))
    table = sample_table(table, size, rng)
    leaks = _find_predictors(table, rng)
    leaks += _find_recodings(table, {leak.name for leak in leaks})
    formulas = find_target_formulas(table, exclude=[leak.name for leak in leaks])
    return [*leaks, *(_formula_leak(found, by_groups=table.groups is not None) for found in formulas)]


def _formula_leak(found: TargetFormula, *, by_groups: bool) -> PossibleLeak:
    return PossibleLeak(
        name=f"{', '.join(found.columns[:-1])} and {found.columns[-1]}",
        predictor="formula",
        score=found.score,
        score_name=found.score_name,
        baseline=found.other_score,
        n_rows=found.n_rows,
        by_groups=by_groups,
        columns=found.columns,
        formula=found.formula,
        limits=found.limits,
    )


def _varied_columns(schema: Schema) -> list[int]:
    return [j for j in schema.used.tolist() if not schema.columns[j].constant]


def _find_predictors(table: Table, rng: np.random.Generator) -> list[PossibleLeak]:
    """Return the columns that predict the target almost perfectly, and much better than all other columns, best first."""
    rows, coverage = _scored_rows(table)
    groups = None if table.groups is None else table.groups[rows]
    y, weight = target_array(table)[rows], weight_array(table)
    if len(rows if groups is None else np.unique(groups)) < _MIN_SCORED_ROWS or np.ptp(y) == 0:
        return []
    schema = table.schema
    make: type[SingleColumnScorer] = NumericScorer
    labels = np.zeros(len(rows), dtype=np.int32)
    if schema.has_classes:
        y = labels = np.unique(y, return_inverse=True)[1].astype(np.int32)
        make = ClassScorer
    scorer = make(y, None if weight is None else weight[rows], _assign_folds(labels, groups, rng))

    def score(j: int) -> Score:
        return scorer.score_column(schema.columns[j], table.column(j)[rows])

    used = _varied_columns(schema)
    scores = dict(zip(used, parallel.map_blocks(score, used), strict=True))
    scores |= {j: scorer.score_numbers(values[rows]) for j, values in _id_columns(table).items()}
    # Two columns of (almost) perfect predictions do not hide each other; good predictors do, and so does a better one that is none.
    leaks: dict[int, Score] = {}
    for j in sorted(scores, key=lambda j: -scores[j].value):
        if (one := scores[j]).value < scorer.min_score:
            break
        below = scorer.sure_score if one.value >= scorer.sure_score else np.inf
        others = (other.value for i, other in scores.items() if i != j and i not in leaks and other.value < below)
        if _MIN_UNEXPLAINED_RATIO * (1 - one.value) <= 1 - max((one.baseline, *others)):
            leaks[j] = one
    return [
        PossibleLeak(
            name=schema.columns[j].name,
            predictor="missing" if leaks[j].by_missing else "values",
            score=leaks[j].value,
            score_name=scorer.score_name,
            baseline=leaks[j].baseline,
            n_rows=len(rows),
            by_groups=groups is not None,
            coverage=coverage,
            decided=leaks[j].decided,
        )
        for j in sorted(leaks, key=lambda j: (-leaks[j].value, j))
    ]


def _scored_rows(table: Table) -> tuple[Indices, Coverage | None]:
    """Return the rows of positive weight, of classes with enough rows or groups; none if these classes have too few of the rows."""
    rows = positive_weight_row_numbers(table)
    if not table.schema.has_classes:
        return rows, None
    y = target_array(table)[rows]
    units = y if table.groups is None else np.unique([y, table.groups[rows]], axis=1)[0]
    enough = np.bincount(units, minlength=table.schema.n_classes) >= _N_FOLDS
    here = enough[y]
    if here.all():
        return rows, None
    coverage = Coverage(min_rows=_N_FOLDS, n_classes=int(enough.sum()), of_classes=len(np.unique(y)), of_rows=len(rows))
    return rows[here] if here.mean() >= _MIN_COVERAGE else rows[:0], coverage


def _assign_folds(labels: NDArray[Any], groups: NDArray[Any] | None, rng: np.random.Generator) -> Indices:
    """Return a fold for every row, the same for all rows of a group."""
    if groups is None:
        return stratified_folds(labels, _N_FOLDS, rng)
    _, first, group = np.unique(groups, return_index=True, return_inverse=True)
    return stratified_folds(labels[first], _N_FOLDS, rng)[group]


def stratified_folds(labels: NDArray[Any], n_folds: int, rng: np.random.Generator) -> Indices:
    """Return a fold for every row, stratified by class."""
    order = rng.permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    folds = np.empty(len(labels), dtype=np.intp)
    # Folds are assigned in turn across class boundaries, so that small classes fill the folds evenly.
    folds[order] = np.arange(len(labels)) % n_folds
    return folds


def _id_columns(table: Table) -> dict[int, Floats]:
    """Return the numbers of excluded id columns: in a table sorted by its target, a row number predicts the target."""
    found: dict[int, Floats] = {}
    for j, column in enumerate(table.schema.columns):
        reason = (column.exclusion_reason or "") if column.kind == "id" else ""
        if reason == ROW_NUMBER_REASON:
            found[j] = table.row_numbers.astype(np.float64)
        elif len(found) < _MAX_IDS and (ID_NAME_REASON in reason or WHOLE_NUMBER_REASON in reason):
            found[j] = to_numbers(load_column(table, j), lambda at: f"row {at}").astype(np.float64)
    return found


def _find_recodings(table: Table, known: Collection[str]) -> list[PossibleLeak]:
    """Return the columns that are almost a recoding of the target, best first, without those that are known."""
    schema, rows = table.schema, positive_weight_row_numbers(table)
    if table.groups is not None:
        rows = rows[np.unique(table.groups[rows], return_index=True)[1]]
    y = np.unique(target_array(table)[rows], return_inverse=True)[1]
    columns = [j for j in _varied_columns(schema) if schema.has_classes or not schema.columns[j].is_number]

    def is_plausible(codes: NDArray[Any]) -> bool:
        """Whether values can be a coding: enough rows per value, and unlikely to agree by chance."""
        sizes = np.bincount(codes)
        few = len(codes) >= _MIN_ROWS_PER_VALUE * int(np.count_nonzero(sizes))
        return few and len(schema.used) * 2 ** -log2_partitions(sizes) <= _MAX_CHANCE_PROBABILITY

    def information(j: int) -> float:
        codes = np.unique(table.column(j)[rows], return_inverse=True)[1]
        least, most = sorted((entropy(np.bincount(codes)), entropy(np.bincount(y))))
        # The information is at most the smaller entropy.
        if 2 * least < _MIN_ADJUSTED_INFORMATION * (least + most) or not is_plausible(codes):
            return 0.0
        return adjusted_mutual_information(codes, y)

    if len(rows) < _MIN_SCORED_ROWS or not is_plausible(y):
        return []
    columns = [j for j in columns if schema.columns[j].name not in known]
    scores = dict(zip(columns, parallel.map_blocks(information, columns), strict=True))
    return [
        PossibleLeak(
            name=schema.columns[j].name,
            predictor="values",
            score=scores[j],
            score_name=ADJUSTED_INFORMATION,
            baseline=0.0,
            n_rows=len(rows),
            by_groups=table.groups is not None,
        )
        for j in sorted(columns, key=lambda j: (-scores[j], j))
        if scores[j] >= _MIN_ADJUSTED_INFORMATION
    ]


def entropy(sizes: NDArray[Any]) -> float:
    """Return the entropy, in bits, of groups with so many rows, of which some may have none."""
    shares = sizes[sizes > 0] / max(int(sizes.sum()), 1)
    return float(-(shares * np.log2(shares)).sum())


def adjusted_mutual_information(a: NDArray[Any], b: NDArray[Any]) -> float:
    """Return the mutual information of two codings, corrected for chance: 1 where they are the same up to the names of the codes.

    It is 0 where chance leaves nothing to explain, as for two codings that give every row a code of its own. Cost O(n log n), and
    O(n) for each pair of distinct group sizes.
    """
    sizes_a, sizes_b = (np.sort(np.bincount(codes)) for codes in (a, b))
    joint = entropy(np.unique(a.astype(np.int64) * len(sizes_b) + b, return_counts=True)[1])
    mean = (entropy(sizes_a) + entropy(sizes_b)) / 2
    logs = np.log2(np.maximum(np.arange(len(a) + 1), 1))
    units_a, units_b = np.ones(len(sizes_a)), np.ones(len(sizes_b))
    expected = float(expected_information(sizes_a, units_a, sizes_b, units_b, len(a), logs))
    # Rounding leaves about 1e-15 bits where every order of the rows shares all there is.
    if mean - expected <= 1e-9 * mean:
        return 0.0
    return float((2 * mean - joint - expected) / (mean - expected))


def log2_partitions(sizes: NDArray[Any]) -> float:
    """Return the logarithm to base 2 of the number of ways to split rows into groups of these sizes, of which some may be 0."""
    sizes = sizes[sizes > 0]
    alike = np.unique(sizes, return_counts=True)[1]
    ways = gammaln(sizes.sum() + 1) - gammaln(sizes + 1).sum() - gammaln(alike + 1).sum()
    return float(ways / np.log(2))


@dataclass(frozen=True)
class Score:
    """A cross-validated score, that of a prediction by no column, the share of the rows that are scored, and what predicts."""

    value: float
    baseline: float
    decided: float = 1.0
    by_missing: bool = False


class SingleColumnScorer(ABC):
    """Cross-validated score of a model of the target with one column; a perfect prediction scores 1.

    `min_score` is the least score of possible target leakage. Below `sure_score` other columns may be as good.
    """

    score_name: str
    min_score: float
    sure_score: float

    def __init__(self, target: NDArray[Any], weight: Floats | None, folds: Indices) -> None:
        self._target = target
        self._weight = np.ones(len(target)) if weight is None else weight
        self._folds = folds
        self._n_folds = int(folds.max()) + 1

    def score_column(self, column: Column, values: NDArray[Any]) -> Score:
        """Return the score of a column, by its missing values alone where these suffice for possible leakage."""
        missing = is_missing(values)
        if missing.any() and not missing.all():
            found = self.score_levels(missing.astype(np.int32), 2)
            if found.value >= self.min_score:
                return replace(found, by_missing=True)
        if column.is_number:
            return self.score_numbers(values)
        size = len(column.levels)
        return self.score_levels(np.where(missing, size, values).astype(np.int32), size + 1)

    @abstractmethod
    def score_levels(self, codes: Codes, n_levels: int) -> Score:
        """Return the score of a column of codes 0 .. n_levels - 1, in the rows with a level that occurs in other folds."""

    @abstractmethod
    def score_numbers(self, values: Floats) -> Score:
        """Return the score of a column of numbers (NaN if missing), or a bound of it below `min_score`."""


class ClassScorer(SingleColumnScorer):
    """Scorer for classes: predicts for each level or interval the class with the largest share of its own rows there.

    The score is the balanced accuracy. If it is below `min_score`, and at least `min_score` without the worst predicted classes,
    which have at most 5 % of the rows, then it is that of the other classes. The target is int32 codes 0 .. n_classes - 1.
    """

    score_name = "balanced accuracy"
    min_score, sure_score = 0.97, 0.98

    def __init__(self, target: Codes, weight: Floats | None, folds: Indices) -> None:
        super().__init__(target, weight, folds)
        self._n_classes = int(target.max()) + 1
        self._class_weights: Floats = np.bincount(target, self._weight).astype(np.float64)
        self._n_log_n = np.empty(0)
        if weight is None:
            n = np.arange(len(target) + 1, dtype=np.float64)
            self._n_log_n = n * np.log2(np.maximum(n, 1.0))

    def score_levels(self, codes: Codes, n_levels: int) -> Score:
        shape = (self._n_folds, n_levels, self._n_classes)
        if np.prod(shape, dtype=float) > _MAX_COUNTS:
            return Score(1 / self._n_classes, 1 / self._n_classes)
        cell = (self._folds * n_levels + codes) * self._n_classes + self._target
        counts: Floats = np.bincount(cell, self._weight, int(np.prod(shape))).reshape(shape).astype(np.float64)
        whole = counts.sum(axis=0)
        # A level without training rows decides nothing.
        counts *= (whole - counts).any(axis=2, keepdims=True)
        hits = sum((_hits(whole - fold, fold) for fold in counts), np.zeros(self._n_classes))
        return self._score(hits, counts.sum(axis=(0, 1)))

    def score_numbers(self, values: Floats) -> Score:
        """Return the balanced accuracy of MDL intervals, and of whole numbers as codes of categories if that is larger."""
        by_interval = self._score_intervals(values)
        if np.any(values[~np.isnan(values)] % 1):
            return by_interval
        numbers, codes = np.unique(values, return_inverse=True)
        if len(numbers) * _MIN_ROWS_PER_VALUE > len(values):
            return by_interval
        by_level = self.score_levels(codes.astype(np.int32), len(numbers))
        return max(by_interval, by_level, key=lambda one: one.value)

    def _score_intervals(self, values: Floats) -> Score:
        """Return the balanced accuracy of MDL intervals, cut in each fold on the training rows alone."""
        order = np.argsort(values, kind="stable")
        order = order[: len(values) - int(np.isnan(values).sum())]
        every = self._interval_hits(values, order, np.zeros(len(values), dtype=bool))
        seen = self._score(every, self._class_weights)
        if seen.value < self.min_score:
            return seen
        by_fold = (self._interval_hits(values, order, self._folds == fold) for fold in range(self._n_folds))
        return self._score(sum(by_fold, np.zeros(self._n_classes)), self._class_weights)

    def _interval_hits(self, values: Floats, order: Indices, test_mask: Masks) -> Floats:
        """Return the correctly predicted weight of each class in the test rows; in the training rows if there are no test rows."""
        learned = order[~test_mask[order]]
        labels = self._target
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
    """

    score_name = "R2"
    min_score, sure_score = 0.97, 0.99

    def score_levels(self, codes: Codes, n_levels: int) -> Score:
        """Return R2 of the means of the levels."""
        cell, cells = self._folds * n_levels + codes, self._n_folds * n_levels
        weight = np.bincount(cell, self._weight, cells).reshape(self._n_folds, n_levels)
        total = np.bincount(cell, self._weight * self._target, cells).reshape(self._n_folds, n_levels)
        weight, total = weight.sum(axis=0) - weight, total.sum(axis=0) - total
        whole = total.sum(axis=1, keepdims=True) / weight.sum(axis=1, keepdims=True)
        means = np.where(weight > 0, total / np.where(weight > 0, weight, 1.0), whole)
        return self._score(means[self._folds, codes])

    def score_numbers(self, values: Floats) -> Score:
        """Return the largest R2 of a line and of linear interpolation between values of the training rows."""
        missing = np.isnan(values)
        # Equal values are ordered by the target, so that equal targets are neighbours.
        order = np.lexsort((self._target, values))[: len(values) - int(missing.sum())]
        if len(order) < 3 or (seen := self._neighbour_r2(order)) < _MIN_NEIGHBOUR_SCORE:
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

    def _neighbour_r2(self, order: Indices) -> float:
        """Return R2, among the rows with a value, of the mean target of the previous and the next row."""
        y, weight = self._target[order], self._weight[order]
        left = y[1:-1] - (y[:-2] + y[2:]) / 2
        spread = float(np.sum(weight * (y - np.average(y, weights=weight)) ** 2))
        return 1 - float(np.sum(weight[1:-1] * left**2)) / spread if spread > 0 else 0.0

    def _predict(self, values: Floats, train_order: Indices, test_mask: Masks) -> Floats:
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
