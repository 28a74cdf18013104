"""Associations of each column with the target: direction, size and shape with 95 % intervals, and missing values."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from tamiz.arrays import Masks, is_missing
from tamiz.assessment.effect_sizes import (
    ALPHA,
    MIN_LEVEL_ROWS,
    Comparison,
    Effect,
    compare_counts,
    compare_groups,
    correlate,
    level_centres,
    level_rate,
)
from tamiz.assessment.resampling import block_length
from tamiz.assessment.shapes import Shape, ShapeTests, shape_tests
from tamiz.exceptions import DataError
from tamiz.runtime import parallel
from tamiz.runtime.random import make_rng
from tamiz.statistics.independence import adjust_p_values
from tamiz.statistics.two_samples import WeightedRows
from tamiz.table.base import Table
from tamiz.table.factory import as_table
from tamiz.table.schema import Schema
from tamiz.table.views import positive_weight_rows, select_rows, target_array, weight_array

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
    if schema.n_rows > _MAX_ROWS:
        rows = make_rng(random_state).choice(schema.n_rows, _MAX_ROWS, replace=False)
        opened = select_rows(opened, np.sort(rows))
    table = _Table(opened)
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
