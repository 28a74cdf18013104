"""Remarks on a table: heavy tails, drift along the rows or in time, and targets of ordered levels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from tamiz.arrays import is_missing
from tamiz.assessment.associations import is_ordinal
from tamiz.assessment.effect_sizes import tail_share
from tamiz.runtime import parallel
from tamiz.runtime.codec import JsonResult
from tamiz.runtime.user_warnings import list_names
from tamiz.statistics.independence import adjust_p_values
from tamiz.statistics.two_samples import WeightedRows, compare_counts, compare_numbers, count_levels
from tamiz.table.base import Table, target_array, weights_or_ones
from tamiz.table.factory import as_table
from tamiz.table.row_groups import monotone_columns, row_order
from tamiz.table.views import positive_weight_rows

RemarkKind: TypeAlias = Literal["heavy tails", "coded missing", "drift", "ordinal target"]

FDR_LEVEL = 0.05
# Heavy tails: 1 % of at least so many rows, of a column of at least so many values, has this share of the variance. A transform is
# proposed if the share falls below the last number.
_MIN_TAIL_ROWS, _MIN_VALUES, _TAIL_SHARE, _TRANSFORMED_SHARE = 100, 20, 0.4, 0.3
# Drift: the distance of the distributions in the first and the last third of at least so many rows.
_MIN_DRIFT_ROWS, _MIN_DISTANCE = 60, 0.1
# With a larger serial correlation of the target, the table is nearly sorted by it.
_MAX_SERIAL_CORRELATION = 0.95
_NAMED = 3
# Coded missing values: the smallest or largest value has at least so many rows, this many times the median count of so many next
# values, and so many quartile distances to the next one, in a column of at least so many values. A value that is a code in one
# column is one in others where its gap has so many of the next steps.
_MIN_CODE_ROWS, _MIN_COUNT_RATIO, _N_NEXT, _MIN_DISTANCE_OF_CODE, _MIN_CODED_VALUES, _MIN_STEPS = 5, 4, 10, 0.5, 20, 4


@dataclass(frozen=True)
class TableRemark(JsonResult):
    """A remark on a table, at most one of a kind.

    Attributes
    ----------
    kind : {"heavy tails", "coded missing", "drift", "ordinal target"}
    columns : tuple of str
        The columns, the strongest first; the target is one of them.
    sizes : tuple of float
        For heavy tails the share of the variance in 1 % of the rows; for coded missing values the number of rows; for drift the
        Kolmogorov-Smirnov distance of numbers, and half the sum of the absolute differences of the rates of levels; for an ordinal
        target the number of levels.
    p_values : tuple of float
        For drift, adjusted over all columns.
    advice : tuple of str
        For heavy tails the transform of each column: "log", "log1p" or "ranks".
    sentence : str
    """

    kind: RemarkKind
    columns: tuple[str, ...]
    sizes: tuple[float, ...]
    p_values: tuple[float, ...]
    advice: tuple[str, ...]
    sentence: str


def table_remarks(
    X: Any, y: Any = None, *, sample_weight: Any = None, groups: Any = None, time: Any = None
) -> list[TableRemark]:
    """Find heavy tails, numbers that may be codes for missing, drift along the rows or in time, and a target of ordered levels.

    Parameters
    ----------
    X : array, data frame or Table
    y : array of shape (n_samples,), default=None
        The target, if X is no table.
    sample_weight : array of shape (n_samples,), default=None
    groups : array of shape (n_samples,), default=None
        The first row of each group is compared, as rows of a group are not independent.
    time : array of shape (n_samples,), default=None
        Orders the rows for drift; None is the order of the table.

    Returns
    -------
    list of TableRemark
        At most one of each kind.

    Notes
    -----
    Heavy tails: the 1 % of the rows that are farthest from the mean have at least 40 % of the variance (8 % for normal
    values). "log" is proposed for positive numbers and "log1p" for numbers from 0 on, if the share is then below 30 %, otherwise
    "ranks".

    Coded missing values, such as 0 or -999: the smallest or the largest value of a column is apart from the next one by half the
    distance of its quartiles or more, and has at least 5 rows and 4 times as many as the values next to it. A value that is
    apart in one column is also named in the others in which it is the end and its distance is at least 4 of the steps that follow.

    Drift: the first third of the rows against the last one, by the Kolmogorov-Smirnov test for numbers and the chi-squared test for
    levels and the classes of the target, where missing is a level. It is stated where the p-value, adjusted over the columns and
    the target, is at most 5 % and the distance at least 0.1. A table that is sorted by a column or nearly by the target has no
    drift: unless time is known, its order is not that of the rows.

    Cost O(n log n) for each column.

    Examples
    --------
    >>> import numpy as np
    >>> from tamiz.assessment import table_remarks
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([rng.normal(size=300), np.exp(3 * rng.normal(size=300))])
    >>> [(one.kind, one.columns, one.advice) for one in table_remarks(X)]
    [('heavy tails', ('x1',), ('log',))]
    """
    table = positive_weight_rows(as_table(X, y, sample_weight, groups=groups, time=time))
    with parallel.thread_session():
        found = [_heavy_tails(table), _coded_missing(table), _drift(table), _ordinal(table)]
    return [one for one in found if one is not None]


def _heavy_tails(table: Table) -> TableRemark | None:
    schema, weight = table.schema, weights_or_ones(table)
    wanted = [(schema.columns[j].name, j) for j in schema.used.tolist() if schema.columns[j].kind == "numeric"]
    if schema.target is not None and not schema.has_classes:
        wanted.append((schema.target.name, -1))

    def inspect(named: tuple[str, int]) -> tuple[float, str, str] | None:
        values = target_array(table) if named[1] < 0 else table.column(named[1])
        present = ~is_missing(values)
        values, w = values[present], weight[present]
        if w.sum() < _MIN_TAIL_ROWS or len(np.unique(values)) < _MIN_VALUES or tail_share(values, w) < _TAIL_SHARE:
            return None
        advice = "ranks"
        if values.min() >= 0:
            name, transform = ("log", np.log) if values.min() > 0 else ("log1p", np.log1p)
            advice = name if tail_share(transform(values), w) < _TRANSFORMED_SHARE else "ranks"
        return tail_share(values, w), named[0], advice

    found = sorted(filter(None, parallel.map_blocks(inspect, wanted)), key=lambda one: -one[0])
    if not found:
        return None

    def describe(one: tuple[float, str, str]) -> str:
        return f"{one[1]!r} ({one[0]:.0%} of the variance; {'use ranks' if one[2] == 'ranks' else f'use {one[2]}'})"

    sentence = (
        f"Heavy tails: 1% of the rows have a large part of the variance of {list_names(found, limit=_NAMED, as_text=describe)}. "
        "Means, correlations and linear models depend on these rows; trees and ranks do not."
    )
    sizes, names, advice = zip(*found, strict=True)
    return TableRemark("heavy tails", names, sizes, (), advice, sentence)


def _coded_missing(table: Table) -> TableRemark | None:
    schema = table.schema
    wanted = [j for j in schema.used.tolist() if schema.columns[j].kind == "numeric"]

    def inspect(j: int) -> list[tuple[float, int, bool]]:
        """Return the ends that may be codes, with their rows and whether they stand apart by the distance of the quartiles."""
        values = table.column(j)
        values, counts = np.unique(values[~is_missing(values)], return_counts=True)
        if len(values) <= _MIN_CODED_VALUES:
            return []
        found = []
        for end in (slice(None), slice(None, None, -1)):
            at, n = np.abs(values[end] - values[end][0]), counts[end]
            steps = np.diff(at[1 : _N_NEXT + 2])
            if n[0] < max(_MIN_CODE_ROWS, _MIN_COUNT_RATIO * np.median(n[1 : _N_NEXT + 1])) or at[
                1
            ] < _MIN_STEPS * np.median(steps):
                continue
            low, high = np.quantile(np.repeat(at[1:], n[1:]), [0.25, 0.75])
            found.append((float(values[end][0]), int(n[0]), bool(at[1] >= _MIN_DISTANCE_OF_CODE * (high - low))))
        return found

    inspected = list(parallel.map_blocks(inspect, wanted))
    codes = {value for found in inspected for value, _, is_apart in found if is_apart}
    coded = [
        (n, schema.columns[j].name, value)
        for j, found in zip(wanted, inspected, strict=True)
        for value, n, _ in found
        if value in codes
    ]
    if not coded:
        return None
    coded.sort(key=lambda one: -one[0])
    named = list_names(coded, limit=_NAMED, as_text=lambda one: f"{one[1]!r} ({one[2]:g} in {one[0]:,} rows)")
    sentence = (
        f"A number is far from all other values of {named}. If it is a code for missing, replace it by an empty cell: every "
        "mean, distance and model uses it as a number."
    )
    return TableRemark(
        "coded missing", tuple(name for _, name, _ in coded), tuple(float(n) for n, *_ in coded), (), (), sentence
    )


def _drift(table: Table) -> TableRemark | None:
    schema = table.schema
    rows = np.arange(schema.n_rows) if table.time is None else np.argsort(table.time, kind="stable")
    if table.groups is not None:
        rows = rows[np.sort(np.unique(table.groups[rows], return_index=True)[1])]
    third = len(rows) // 3
    weight = weights_or_ones(table)
    if 3 * third < _MIN_DRIFT_ROWS or (table.time is None and _is_sorted(table)):
        return None
    ends = rows[:third], rows[-third:]
    is_sampling = schema.weight_kind == "sampling"
    n = [WeightedRows(weight[end], None, is_sampling).n_units for end in ends]

    def compare(j: int) -> tuple[float, float]:
        values = target_array(table) if j < 0 else table.column(j)
        parts = [values[end] for end in ends]
        w = [weight[end] for end in ends]
        numeric = not schema.has_classes if j < 0 else schema.columns[j].is_number
        if numeric:
            return compare_numbers(parts, w, n)
        counts = count_levels(parts, w, int(max(part.max() for part in parts)) + 1)
        return compare_counts(counts / counts.sum(axis=1, keepdims=True) * np.array(n)[:, None])

    wanted = [j for j in schema.used.tolist() if not schema.columns[j].constant and not schema.columns[j].date_part]
    names = [schema.columns[j].name for j in wanted]
    if schema.target is not None:
        wanted.append(-1)
        names.append(schema.target.name)
    compared = list(parallel.map_blocks(compare, wanted))
    adjusted = adjust_p_values([p for _, p in compared])
    found = [
        (distance, name, float(p))
        for (distance, _), name, p in zip(compared, names, adjusted, strict=True)
        if distance >= _MIN_DISTANCE and p <= FDR_LEVEL
    ]
    if not found:
        return None
    found.sort(key=lambda one: -one[0])
    order = "of the rows" if table.time is None else f"in {schema.time!r}"
    named = list_names(found, limit=_NAMED, as_text=lambda one: f"{one[1]!r} (distance {one[0]:.2f})")
    advice = "pass time= (--time) to test on later rows" if table.time is None else "the folds test on later rows"
    random_folds = "Random folds do not show how models predict later rows"
    sentence = f"Drift from the first to the last third {order}: {named}. {random_folds}; {advice}."
    sizes, columns, p_values = zip(*found, strict=True)
    return TableRemark("drift", columns, sizes, p_values, (), sentence)


def _is_sorted(table: Table) -> bool:
    """Whether the table is sorted by a column or nearly by the target, so that its order is none of time."""
    schema = table.schema
    if monotone_columns(table):
        return True
    if schema.target is not None:
        of_target = row_order(target_array(table), has_classes=schema.has_classes)
        if of_target.is_sorted or (of_target.measure == "correlation" and of_target.effect > _MAX_SERIAL_CORRELATION):
            return True
    levels = (table.column(j) for j in schema.categorical if not schema.columns[j].n_missing)
    return any(row_order(values, has_classes=True).is_sorted for values in levels)


def _ordinal(table: Table) -> TableRemark | None:
    schema = table.schema
    target = schema.target
    if target is None or not is_ordinal(schema):
        return None
    low, high = target.levels[0], target.levels[-1]
    n = len(target.levels)
    sentence = (
        f"{target.name!r} has {n} ordered levels, {low} to {high}: models of classes ignore their order, and an error of one "
        f"level counts as much as one of {n - 1}. If distances between levels matter, declare it as numeric "
        f"(kinds={{{target.name!r}: 'numeric'}})."
    )
    return TableRemark("ordinal target", (target.name,), (float(len(target.levels)),), (), (), sentence)
