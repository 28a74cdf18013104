"""What a study finds in the table itself: its columns, its target and its rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamiz.sources.base import Source
from tamiz.sources.duplicates import same_columns
from tamiz.sources.fingerprints import take_fingerprints
from tamiz.sources.monotone_columns import on_monotone_columns
from tamiz.sources.row_order import describe_row_order
from tamiz.sources.schema import Column
from tamiz.statistics.base import Floats
from tamiz.statistics.moments import ClassMoments, Moments
from tamiz.steps.distances import on_distances
from tamiz.steps.doubts import doubt_of, doubt_of_target
from tamiz.steps.duplicates import describe_duplicates
from tamiz.steps.leaks import find_leaks, leakage_warnings
from tamiz.warn import tell

# Levels listed: what a reader can still take in.
_MOST_LEVELS = 20


def describe_table(source: Source) -> dict[str, Any]:
    """Return the columns, the target and the rows."""
    schema = source.schema
    target = schema.target
    wanted = (*schema.numeric, schema.n_columns) if target is not None and target.is_number else schema.numeric
    (moments,) = source.reduce(Moments(wanted))
    summaries = {j: _summary(moments, k) for k, j in enumerate(wanted)}
    nothing = dict.fromkeys(("mean", "sd", "min", "max"))
    classes = []
    if target is not None and schema.has_classes:
        weights = np.zeros(schema.n_classes)
        for block in source.blocks([]):
            assert block.y is not None
            weights += np.bincount(block.y, block.weight, schema.n_classes)
        classes = [{"name": name, "weight": float(w)} for name, w in zip(target.levels, weights, strict=True)]
    prints = take_fingerprints(source)
    same = same_columns(source, prints.columns)
    leaks = find_leaks(source)
    order = describe_row_order(source)
    tell(
        [
            *leakage_warnings(leaks, schema),
            *on_distances(source),
            *on_monotone_columns(source, [leak["name"] for leak in leaks]),
            *([order.sentence] if order is not None and order.is_doubtful else []),
        ]
    )
    told = {
        j: {
            "n_distinct": _n_distinct(column, prints.distinct.get(j)),
            "same_as": schema.columns[same[j]].name if j in same else None,
            "doubt": doubt_of(column, prints.distinct.get(j), schema.n_rows),
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
        "target_doubt": doubt_of_target(schema),
        "duplicate_rows": None if prints.rows is None else describe_duplicates(source, prints.rows),
        "row_order": None if order is None else order.sentence,
        "leaks": leaks,
        "columns": [{**_column(c), **summaries.get(j, nothing), **told[j]} for j, c in enumerate(schema.columns)],
    }


def _column(column: Column) -> dict[str, Any]:
    return {
        "name": column.name,
        "kind": column.kind,
        "n_missing": column.n_missing,
        "n_levels": len(column.levels) or None,
        "levels": list(column.levels[:_MOST_LEVELS]),
        "constant": column.constant,
        "left_out": column.left_out,
    }


def _n_distinct(column: Column, distinct: Floats | None) -> int | None:
    """Return how many values a column has, None where they are too many to have been counted or it takes no part."""
    if column.levels:
        return len(column.levels)
    return None if distinct is None or column.left_out is not None else len(distinct)


def _summary(moments: ClassMoments, k: int) -> dict[str, float | None]:
    weight, squares = float(moments.weight[0, k]), float(moments.squares[0, k])
    return {
        "mean": float(moments.mean[0, k]),
        "sd": float(np.sqrt(squares / (weight - 1))) if weight > 1 else None,
        "min": float(moments.least[0, k]),
        "max": float(moments.largest[0, k]),
    }
