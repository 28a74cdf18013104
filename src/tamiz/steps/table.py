"""What a study finds in the table itself: its columns, its target and its rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamiz.sources.base import Source
from tamiz.sources.duplicates import find_duplicate_columns
from tamiz.sources.fingerprints import compute_fingerprints
from tamiz.sources.monotone_columns import monotone_column_warnings
from tamiz.sources.row_order import describe_row_order
from tamiz.sources.schema import Column
from tamiz.statistics.base import Floats
from tamiz.statistics.moments import ClassMoments, Moments
from tamiz.steps.distances import distance_matrix_warnings
from tamiz.steps.doubts import suggest_kind, suggest_target_kind
from tamiz.steps.duplicates import describe_duplicates
from tamiz.steps.leaks import find_leakage, leakage_warnings
from tamiz.warn import warn_user

# Levels listed: what a reader can still take in.
_MAX_LEVELS = 20


def describe_table(source: Source) -> dict[str, Any]:
    """Return the columns, the target and the rows."""
    schema = source.schema
    target = schema.target
    wanted = (*schema.numeric, schema.n_columns) if target is not None and target.is_number else schema.numeric
    (moments,) = source.reduce(Moments(wanted))
    summaries = {j: _moment_summary(moments, k) for k, j in enumerate(wanted)}
    nothing = dict.fromkeys(("mean", "sd", "min", "max"))
    classes = []
    if target is not None and schema.has_classes:
        weights = np.zeros(schema.n_classes)
        for block in source.blocks([]):
            assert block.y is not None
            weights += np.bincount(block.y, block.weight, schema.n_classes)
        classes = [{"name": name, "weight": float(w)} for name, w in zip(target.levels, weights, strict=True)]
    prints = compute_fingerprints(source)
    same = find_duplicate_columns(source, prints.columns)
    leaks = find_leakage(source)
    order = describe_row_order(source)
    warn_user(
        [
            *leakage_warnings(leaks, schema),
            *distance_matrix_warnings(source),
            *monotone_column_warnings(source, [leak["name"] for leak in leaks]),
            *([order.message] if order is not None and order.is_doubtful else []),
        ]
    )
    told = {
        j: {
            "n_distinct": _n_distinct(column, prints.distinct.get(j)),
            "same_as": schema.columns[same[j]].name if j in same else None,
            "doubt": suggest_kind(column, prints.distinct.get(j), schema.n_rows),
        }
        for j, column in enumerate(schema.columns)
    }
    return {
        "n_rows": schema.n_rows + schema.n_dropped,
        "n_rows_used": schema.n_rows,
        "target": target.name if target else None,
        "target_kind": None if target is None else "numeric" if target.is_number else "classes",
        "classes": classes,
        "target_summary": summaries.get(schema.n_columns),
        "weight_column": schema.weight,
        "group_column": schema.groups,
        "time_column": schema.time,
        "target_doubt": suggest_target_kind(schema),
        "duplicate_rows": None if prints.rows is None else describe_duplicates(source, prints.rows),
        "row_order": None if order is None else order.message,
        "leaks": leaks,
        "columns": [
            {**_column_schema(c), **summaries.get(j, nothing), **told[j]} for j, c in enumerate(schema.columns)
        ],
    }


def _column_schema(column: Column) -> dict[str, Any]:
    return {
        "name": column.name,
        "kind": column.kind,
        "n_missing": column.n_missing,
        "n_levels": len(column.levels) or None,
        "levels": list(column.levels[:_MAX_LEVELS]),
        "constant": column.constant,
        "left_out": column.exclusion_reason,
    }


def _n_distinct(column: Column, distinct: Floats | None) -> int | None:
    """Return how many values a column has, None where they are too many to have been counted or it takes no part."""
    if column.levels:
        return len(column.levels)
    return None if distinct is None or column.exclusion_reason is not None else len(distinct)


def _moment_summary(moments: ClassMoments, k: int) -> dict[str, float | None]:
    weight, squares = float(moments.weight[0, k]), float(moments.squared_deviations[0, k])
    return {
        "mean": float(moments.mean[0, k]),
        "sd": float(np.sqrt(squares / (weight - 1))) if weight > 1 else None,
        "min": float(moments.minimum[0, k]),
        "max": float(moments.maximum[0, k]),
    }
