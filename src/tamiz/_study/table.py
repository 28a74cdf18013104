"""The record of the table: columns, target, classes, duplicate rows, possible leakage, and columns of doubtful kind."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tamiz._study.leakage import leakage_warnings
from tamiz.arrays import Floats, Indices, Masks
from tamiz.assessment.findings import PossibleLeak
from tamiz.assessment.leaks import find_leaks
from tamiz.report.records.columns import (
    ClassWeight,
    ColumnSummary,
    DuplicateRowsRecord,
    EqualRowsRecord,
    KindSuggestion,
    NumberSummary,
    TableRecord,
)
from tamiz.runtime.user_warnings import warn_user
from tamiz.statistics.moments import ClassMoments, Moments
from tamiz.table.base import Table
from tamiz.table.distance_table import distance_matrix_warnings
from tamiz.table.duplicate_detection import (
    Hashes,
    compute_fingerprints,
    find_duplicate_columns,
    find_duplicate_rows,
)
from tamiz.table.kinds import ID_NAME_REASON, ROW_NUMBER_REASON, WHOLE_NUMBER_REASON
from tamiz.table.row_groups import describe_row_order, monotone_column_warnings
from tamiz.table.schema import Column
from tamiz.table.views import target_array, weight_array

# Whole numbers with 3 to 12 distinct values, each in several rows, may be codes. With two values the kind makes no difference.
_MIN_CODES, _MAX_CODES = 3, 12
_MIN_ROWS_PER_CODE = 5
_CODES_REASON = "few different whole numbers: they may be codes of categories"


def suggest_kind(column: Column, distinct: Floats | None, n_rows: int) -> KindSuggestion | None:
    """Return another plausible kind of a column, and why; None if there is none.

    Parameters
    ----------
    column : Column
    distinct : ndarray or None
        The distinct values of a numeric column, None if they are many.
    n_rows : int
    """
    if column.exclusion_reason is not None:
        return _suggest_excluded_kind(column)
    # The kind of a part of a date is known, and it is no column of the user's table.
    if column.kind != "numeric" or column.date_part is not None or distinct is None:
        return None
    few = _MIN_CODES <= len(distinct) <= min(_MAX_CODES, n_rows / _MIN_ROWS_PER_CODE)
    whole = few and np.all(distinct == np.floor(distinct))
    return KindSuggestion(kind="categorical", reason=_CODES_REASON) if whole else None


def _suggest_excluded_kind(column: Column) -> KindSuggestion | None:
    """Return another plausible kind of a column excluded as id or text; never a category with a level for every row."""
    reason = column.exclusion_reason or ""
    numbers = (ROW_NUMBER_REASON, ID_NAME_REASON, WHOLE_NUMBER_REASON)
    if column.kind == "id" and any(known in reason for known in numbers):
        return KindSuggestion(kind="numeric", reason="every row has a different number: it may be a measurement")
    if column.kind == "text" and "distinct values" in reason:
        return KindSuggestion(kind="categorical", reason="text with many values may be a category")
    return None


# Row numbers of the example.
_MAX_EXAMPLE_ROWS = 5


def describe_duplicates(table: Table, hashes: tuple[Hashes, Hashes]) -> DuplicateRowsRecord:
    """Return the number of rows equal to an earlier one, target included, and of rows equal to a row of another class.

    Parameters
    ----------
    table : Table
    hashes : tuple of two ndarrays
        Two hashes of each row, from `compute_fingerprints`.
    """
    n = table.schema.n_rows
    found = find_duplicate_rows(table, np.zeros(n) if table.schema.target is None else target_array(table), hashes)
    if found is None:
        # Without used columns no two rows are called equal.
        return DuplicateRowsRecord(n=0, example=(), contradictions=EqualRowsRecord(n=0, example=()))
    repeated = np.bincount(found.first_row, minlength=n)[found.first_row] > 1
    n_targets = np.bincount(found.alike, found.first_row == np.arange(n), minlength=n)[found.alike]
    contradicting = (n_targets > 1) & table.schema.has_classes
    opposed = EqualRowsRecord(n=int(contradicting.sum()), example=_first_group(table, contradicting, found.alike))
    example = _first_group(table, repeated, found.first_row)
    return DuplicateRowsRecord(n=found.n_duplicates, example=example, contradictions=opposed)


def _first_group(table: Table, mask: Masks, group: Indices) -> tuple[int, ...]:
    """Return the first group of some rows as row numbers of the user's table."""
    if not mask.any():
        return ()
    rows = np.flatnonzero(mask & (group == group[np.argmax(mask)]))[:_MAX_EXAMPLE_ROWS]
    return tuple(table.row_numbers[rows].tolist())


# Levels that are listed.
_MAX_LEVELS = 20


def describe_table(table: Table, leaks: Sequence[PossibleLeak] | None = None) -> TableRecord:
    """Return the record of the table, and warn of possible leakage, distance matrices and suspicious row orders.

    Parameters
    ----------
    table : Table
    leaks : sequence of PossibleLeak, default=None
        The columns of possible leakage, if they are known; those that the table excludes are not warned of.
    """
    schema = table.schema
    target = schema.target
    wanted = (*schema.numeric, schema.n_columns) if target is not None and target.is_number else schema.numeric
    (moments,) = table.reduce(Moments(wanted))
    summaries = {j: _moment_summary(moments, k) for k, j in enumerate(wanted)}
    classes: tuple[ClassWeight, ...] = ()
    if target is not None and schema.has_classes:
        weights = np.bincount(target_array(table), weight_array(table), schema.n_classes)
        pairs = zip(target.levels, weights.tolist(), strict=True)
        classes = tuple(ClassWeight(name=name, weight=total) for name, total in pairs)
    prints = compute_fingerprints(table)
    same = find_duplicate_columns(table, prints.columns)
    leaks = find_leaks(table) if leaks is None else leaks
    order = describe_row_order(table)
    warn_user(
        [
            *leakage_warnings(leaks, schema),
            *distance_matrix_warnings(table),
            *monotone_column_warnings(table, [name for leak in leaks for name in leak.names]),
            *([order.message] if order is not None and order.is_doubtful else []),
        ]
    )
    return TableRecord(
        n_rows=schema.n_rows + schema.n_dropped,
        n_rows_used=schema.n_rows,
        target=target.name if target else None,
        classes=classes,
        target_summary=summaries.get(schema.n_columns),
        weight_column=schema.weight,
        weight_kind=schema.weight_kind,
        total_weight=schema.total_weight,
        group_column=schema.groups,
        time_column=schema.time,
        duplicate_rows=None if prints.rows is None else describe_duplicates(table, prints.rows),
        row_order=None if order is None else str(order.message),
        leakage=tuple(leaks),
        columns=tuple(
            ColumnSummary(
                name=column.name,
                kind=column.kind,
                n_missing=column.n_missing,
                n_levels=len(column.levels) or None,
                levels=tuple(column.levels[:_MAX_LEVELS]),
                constant=column.constant,
                exclusion=column.exclusion_reason,
                n_distinct=_n_distinct(column, prints.distinct.get(j)),
                same_as=schema.columns[same[j]].name if j in same else None,
                kind_suggestion=suggest_kind(column, prints.distinct.get(j), schema.n_rows),
                numbers=summaries.get(j),
                date=None if column.date_part is None else column.date_part[0],
            )
            for j, column in enumerate(schema.columns)
        ),
    )


def _n_distinct(column: Column, distinct: Floats | None) -> int | None:
    """Return the number of distinct values of a column, None if it was not counted: there are too many, or it is excluded."""
    if column.levels:
        return len(column.levels)
    return None if distinct is None or column.exclusion_reason is not None else len(distinct)


def _moment_summary(moments: ClassMoments, k: int) -> NumberSummary:
    weight, squares = float(moments.weight[0, k]), float(moments.squared_deviations[0, k])
    return NumberSummary(
        mean=float(moments.mean[0, k]),
        sd=float(np.sqrt(squares / (weight - 1))) if weight > 1 else None,
        min=float(moments.minimum[0, k]),
        max=float(moments.maximum[0, k]),
    )
