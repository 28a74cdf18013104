"""Distributions of columns by the groups of the target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats, Indices, is_missing
from tamiz.assessment.findings import ColumnDistribution, DistributionsRecord, TargetGroup
from tamiz.table.base import Table
from tamiz.table.schema import Column
from tamiz.table.views import target_array, weight_array

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

    Parameters
    ----------
    table : Table
    columns : sequence of int
        The numbers of the columns.
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
