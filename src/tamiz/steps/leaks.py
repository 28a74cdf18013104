"""Leaks: columns that alone nearly decide the target, judged on rows that were not learned from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tamiz import parallel
from tamiz.random import generator
from tamiz.report.schema_lines import in_python, on_the_command_line
from tamiz.sources.base import Source
from tamiz.sources.kinds import to_numbers
from tamiz.sources.memory import raw_columns
from tamiz.sources.schema import Column, Schema
from tamiz.sources.views import Rows, rows_of, target_of, weight_of
from tamiz.steps.single_columns import ClassTask, NumberTask, Task, drawn_folds

# Rows looked at, and values in all, each as often as there are classes by eights: more rows would tell the same.
_MOST_ROWS, _FEWEST_ROWS, _MOST_VALUES, _CLASSES = 20_000, 1_000, 20_000_000, 8
# In fewer rows a perfect column is no surprise.
_LEAST_ROWS = 20
_N_FOLDS = 5
# What a leak leaves undecided at most: a share of the classes' rows, or of the variance of a number.
_MOST_LEFT = {"balanced accuracy": 0.02, "R2": 0.01}
# How many times more the best of the other columns leaves.
_TIMES_MORE = 3.0
# Columns taken for ids that are read again.
_MOST_IDS = 8
_NUMBERED, _NAMED = "it numbers the rows", "its name says that it identifies rows"


@dataclass(frozen=True)
class _Judged:
    column: int
    predictor: str
    score: float


def find_leaks(source: Source) -> list[dict[str, Any]]:
    """Return the columns that alone nearly decide the target, best first.

    Parameters
    ----------
    source : Source

    Notes
    -----
    A column is judged by a model of it alone, in five folds: the class that a level or an interval (cut by MDL) is mostly of; for
    a number the mean of a level, or the line between neighbouring values; gaps are a level of their own, and are asked alone
    first. A leak has a balanced accuracy of at least 0.98 (an :math:`R^2` of at least 0.99) and leaves at most a third of what
    the best column below that leaves. Ids that are numbers are judged as well. Of many rows a sample is looked at; which, and
    which rows are a fold, is drawn with a seed of its own, so that the same table always has the same leaks.
    """
    schema = source.schema
    if schema.target is None:
        return []
    rng = generator(0)
    rows = _drawn(schema, rng)
    table = source if len(rows) == schema.n_rows else rows_of(source, rows)
    found = _task(table, rng)
    if found is None:
        return []
    task, kept = found
    least = 1 - _MOST_LEFT[task.score_name]
    judged = _judged_columns(table, kept, task, least) + _judged_ids(table, kept, task, least)
    other = max((one.score for one in judged if one.score < least), default=0.0)
    left = (1 - max(other, task.baseline)) / _TIMES_MORE
    leaks = [one for one in judged if one.score >= least and 1 - one.score <= left]
    return [
        {
            "name": schema.columns[one.column].name,
            "predictor": one.predictor,
            "score": one.score,
            "score_name": task.score_name,
            "baseline": task.baseline,
        }
        for one in sorted(leaks, key=lambda one: (-one.score, one.column))
    ]


def told_leaks(leaks: list[dict[str, Any]], schema: Schema) -> list[str]:
    """Return a sentence that warns of the leaks, none where there are none.

    Parameters
    ----------
    leaks : list of dict
        Of `find_leaks`.
    schema : Schema
    """
    used = {column.name for column in schema.columns if column.left_out is None}
    taking = [leak for leak in leaks if leak["name"] in used]
    if not taking or schema.target is None:
        return []
    first, score = taking[0], taking[0]["score"]
    name, rest = first["name"], len(taking) - 1
    what = f"The gaps in {name!r}" if first["predictor"] == "gaps" else f"Column {name!r}"
    verb = "tell" if first["predictor"] == "gaps" else "tells"
    more = f", and so {'does' if rest == 1 else 'do'} {rest:,} more" if rest else ""
    return [
        f"{what} alone {verb} {schema.target.name!r} almost without fault ({first['score_name']} {score:.3g}){more}: a leak, "
        f"unless it is known before the target is. {in_python({name: 'id'})} ({on_the_command_line({name: 'id'})}) leaves it out."
    ]


def _drawn(schema: Schema, rng: np.random.Generator) -> Rows:
    n, per_row = schema.n_rows, max(1, len(schema.used)) * max(1, schema.n_classes // _CLASSES)
    size = min(_MOST_ROWS, max(_FEWEST_ROWS, _MOST_VALUES // per_row))
    return np.arange(n) if n <= size else np.sort(rng.choice(n, size, replace=False))


def _task(table: Source, rng: np.random.Generator) -> tuple[Task, Rows] | None:
    """Return what is to be told and the rows that count: those with a weight, of classes that every fold can hold."""
    y, weight = target_of(table), weight_of(table)
    kept = np.arange(len(y)) if weight is None else np.flatnonzero(weight > 0)
    weight = None if weight is None else weight[kept]
    if table.schema.has_classes:
        enough = np.bincount(y[kept], minlength=table.schema.n_classes) >= _N_FOLDS
        here = enough[y[kept]]
        kept, weight = kept[here], None if weight is None else weight[here]
    if len(kept) < _LEAST_ROWS or np.ptp(y[kept]) == 0:
        return None
    if not table.schema.has_classes:
        return NumberTask(y[kept], weight, drawn_folds(np.zeros(len(kept), dtype=int), _N_FOLDS, rng)), kept
    _, labels = np.unique(y[kept], return_inverse=True)
    return ClassTask(labels.astype(np.int32), weight, drawn_folds(labels, _N_FOLDS, rng)), kept


def _judged_columns(table: Source, kept: Rows, task: Task, least: float) -> list[_Judged]:
    schema = table.schema
    wanted = [j for j in schema.used.tolist() if not schema.columns[j].constant]

    def judge(j: int) -> _Judged:
        values = np.concatenate([block.column(j) for block in table.blocks([j])])[kept]
        return _judge(j, schema.columns[j], values, task, least)

    return list(parallel.map_blocks(judge, wanted))


def _judge(j: int, column: Column, values: Any, task: Task, least: float) -> _Judged:
    gaps = np.isnan(values) if column.is_number else values < 0
    by_gaps = task.by_levels(gaps.astype(np.int32), 2) if gaps.any() and not gaps.all() else 0.0
    if by_gaps >= least:
        return _Judged(j, "gaps", by_gaps)
    if column.is_number:
        return _Judged(j, "values", task.by_numbers(values, least))
    size = len(column.levels)
    return _Judged(j, "values", task.by_levels(np.where(gaps, size, values).astype(np.int32), size + 1))


def _judged_ids(table: Source, kept: Rows, task: Task, least: float) -> list[_Judged]:
    """Judge columns that take no part because they name the rows: in a table sorted by its target they tell it."""
    schema = table.schema
    judged: list[_Judged] = []
    for j in (j for j, column in enumerate(schema.columns) if column.kind == "id"):
        if schema.columns[j].left_out == _NUMBERED:
            values = table.row_numbers[kept].astype(np.float64)
        elif _NAMED in (schema.columns[j].left_out or "") and len(judged) < _MOST_IDS:
            _, load = raw_columns(table.frame([j]))
            values = to_numbers(load(schema.columns[j].name), lambda at: f"row {at}")[0][kept].astype(np.float64)
        else:
            continue
        judged.append(_Judged(j, "values", task.by_numbers(values, least)))
    return judged
