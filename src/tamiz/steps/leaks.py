"""Possible target leakage: columns that alone predict the target almost perfectly, or are almost a recoding of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz import parallel
from tamiz.random import generator
from tamiz.report.leakage import ADJUSTED, leakage_evidence
from tamiz.report.schema_lines import in_python, on_the_command_line
from tamiz.report.text import listed
from tamiz.sources.base import Source
from tamiz.sources.kinds import to_numbers
from tamiz.sources.memory import raw_columns
from tamiz.sources.schema import Column, Schema
from tamiz.sources.views import Rows, rows_of, target_of, weight_of
from tamiz.statistics.base import Floats
from tamiz.steps.adjusted_information import adjusted_mutual_information, entropy, joint_entropy, log2_codings
from tamiz.steps.single_columns import ClassTask, NumberTask, Task, drawn_folds

# Rows looked at, and values in all, each as often as there are classes by eights: more rows would tell the same.
_MOST_ROWS, _FEWEST_ROWS, _MOST_VALUES, _CLASSES = 20_000, 1_000, 20_000_000, 8
# In fewer rows a perfect column is no surprise.
_LEAST_ROWS = 20
_N_FOLDS = 5
# A prediction is judged in classes of as many rows as there are folds. Where these are a smaller part of the rows, it is no
# statement about the target.
_LEAST_COVERED = 0.8
# What a leak leaves undecided at most: a share of the classes' rows, or of the variance of a number.
_MOST_LEFT = {"balanced accuracy": 0.02, "R2": 0.01}
# How many times more the best of the other columns leaves.
_TIMES_MORE = 3.0
# The adjusted mutual information of a recoding at least: two equal classes reach it with errors in 1 of 77 rows, and the 37 species
# of 83 Star Wars characters with errors in two rows (0.93 to 0.98).
_RECODED = 0.9
# How likely it may be that any column is a recoding by chance, and how many rows there are at least to a value: a column with fewer
# is an id, and in a table with repeated rows any two ids look like recodings of each other.
_MOST_CHANCE, _ROWS_A_VALUE = 1e-3, 2
# Columns taken for ids that are read again.
_MOST_IDS = 8
_NUMBERED, _NAMED = "it numbers the rows", "its name says that it identifies rows"


@dataclass(frozen=True)
class _Judged:
    column: int
    predictor: str
    score: float


@dataclass(frozen=True)
class _Prediction:
    """The prediction of the target by one column.

    Attributes
    ----------
    task : Task
    rows : ndarray
        The rows of the table that count: those with a weight, of classes with at least as many rows as folds.
    coverage : dict or None
        Which part of the classes and rows these are, None for all.
    """

    task: Task
    rows: Rows
    coverage: dict[str, int] | None

    def judge(self, j: int, column: Column, values: Any, least: float) -> _Judged:
        """Return the score of a column, by its missing values alone where these reach `least`."""
        values = values[self.rows]
        gaps = np.isnan(values) if column.is_number else values < 0
        by_gaps = self.task.by_levels(gaps.astype(np.int32), 2) if gaps.any() and not gaps.all() else 0.0
        if by_gaps >= least:
            return _Judged(j, "gaps", by_gaps)
        if column.is_number:
            return _Judged(j, "values", self.task.by_numbers(values, least))
        size = len(column.levels)
        return _Judged(j, "values", self.task.by_levels(np.where(gaps, size, values).astype(np.int32), size + 1))


@dataclass(frozen=True)
class _Recoding:
    """The target as codes, one for every distinct value.

    Attributes
    ----------
    codes : ndarray of int
    rows : ndarray
        The rows of the table that count: those with a weight, one of each group.
    n_columns : int
        The columns compared with the target.
    of_number : bool
        Whether the target is a number: only categories are compared with it, as rows with equal numbers are mostly repeated rows or
        rows of one group.
    """

    codes: NDArray[np.intp]
    rows: Rows
    n_columns: int
    of_number: bool

    def is_possible(self, sizes: NDArray[np.int64]) -> bool:
        """Whether values with so many rows are few enough to be a coding, and more than chance would make equal to another."""
        few = len(self.rows) >= _ROWS_A_VALUE * int(np.count_nonzero(sizes))
        return few and self.n_columns * 2 ** -log2_codings(sizes) <= _MOST_CHANCE

    def judge(self, column: Column, values: Any) -> float:
        """Return the adjusted mutual information of the target and a column, 0 where it is below that of a recoding."""
        if column.is_number and self.of_number:
            return 0.0
        values = values[self.rows]
        if column.is_number:
            _, codes, sizes = np.unique(values, return_inverse=True, return_counts=True)
        else:
            codes = values.astype(np.intp) + 1
            sizes = np.bincount(codes)
        least, most = sorted((entropy(sizes), entropy(np.bincount(self.codes))))
        if 2 * least < _RECODED * (least + most) or not self.is_possible(sizes):
            return 0.0
        if 2 * (least + most - joint_entropy(codes, self.codes)) < _RECODED * (least + most):
            return 0.0
        score = adjusted_mutual_information(codes, self.codes)
        return score if score >= _RECODED else 0.0


def find_leaks(source: Source) -> list[dict[str, Any]]:
    """Return the columns of possible target leakage: first those that predict the target, best first, then recodings of it.

    Parameters
    ----------
    source : Source

    Returns
    -------
    list of dict
        "name"; "predictor", "values" or "gaps"; "score", "score_name" and "baseline"; "n_rows", the rows judged; "by_groups",
        whether groups of rows were kept together; "coverage", None where all classes were judged.

    Notes
    -----
    *Prediction.* A column is judged by a model of it alone, in five folds, of whole groups where there are groups: the class that a
    level or an interval (cut by MDL) is mostly of; for a number the mean of a level, or the line between neighbouring values.
    Missing values are a level of their own, and are judged alone first. A column is named if its balanced accuracy is at least
    0.98 (:math:`R^2` at least 0.99) and leaves at most a third of what the best column below that leaves. Ids that are numbers are
    judged as well. Classes of fewer than five rows (or groups) cannot be in every fold. They are left out, and if they have more
    than 20 % of the rows, nothing is claimed.

    *Recoding.* The adjusted mutual information (Vinh, Epps and Bailey 2010) of target and column, with a code for every distinct
    value, is the symmetric uncertainty corrected for chance. It is 1 for a one-to-one recoding, whatever the number of classes,
    and 0 on average for an unrelated column of any number of values. A column is named from 0.9 on. Small groups agree by chance:
    there must be at least two rows to a value, and so many ways to split the rows into groups of these sizes that any of the
    columns is a recoding with a probability of at most 0.001. Of each group one row counts; weights only decide which rows do.
    With a number only categories are compared.

    Of many rows a sample is looked at; which, and which rows are a fold, is drawn with a seed of its own, so that the same table
    always has the same leaks.
    """
    schema = source.schema
    if schema.target is None:
        return []
    rng = generator(0)
    rows = _drawn(schema, rng)
    table = source if len(rows) == schema.n_rows else rows_of(source, rows)
    y, weight = target_of(table), weight_of(table)
    present = np.arange(len(y)) if weight is None else np.flatnonzero(weight > 0)
    prediction = _prediction(table, y, weight, present, rng)
    recoding = _recoding(table, y, present)
    judged, scores = _judged_columns(table, prediction, recoding)
    by_groups = table.groups is not None
    leaks = [] if prediction is None else _predicting(table, prediction, judged, by_groups=by_groups)
    named = {leak["name"] for leak in leaks}
    recoded = {"predictor": "values", "score_name": ADJUSTED, "baseline": 0.0, "by_groups": by_groups, "coverage": None}
    return leaks + [
        {"name": schema.columns[j].name, "score": score, "n_rows": len(recoding.rows), **recoded}
        for j, score in sorted(scores.items(), key=lambda found: (-found[1], found[0]))
        if recoding is not None and score > 0 and schema.columns[j].name not in named
    ]


def leakage_warnings(leaks: list[dict[str, Any]], schema: Schema) -> list[str]:
    """Return a sentence that warns of possible target leakage, none where there is none.

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
    first, *rest = taking
    name = first["name"]
    # A part of a date is left out with the date.
    dates = {column.name: column.part_of[0] for column in schema.columns if column.part_of is not None}
    excluded = {dates.get(name, name): "id"}
    more = f" The same check names {listed([repr(leak['name']) for leak in rest], limit=4)}." if rest else ""
    return [
        f"Possible target leakage: column {name!r} {leakage_evidence(first, repr(schema.target.name))}.{more} Unless its values "
        f"are known before the target is, exclude it: {in_python(excluded)} ({on_the_command_line(excluded)})."
    ]


def _predicting(
    table: Source, prediction: _Prediction, judged: list[_Judged], *, by_groups: bool
) -> list[dict[str, Any]]:
    """Return the columns that predict the target almost perfectly, and much better than all others."""
    task = prediction.task
    least = 1 - _MOST_LEFT[task.score_name]
    judged = judged + _judged_ids(table, prediction, least)
    other = max((one.score for one in judged if one.score < least), default=0.0)
    left = (1 - max(other, task.baseline)) / _TIMES_MORE
    leaks = [one for one in judged if one.score >= least and 1 - one.score <= left]
    return [
        {
            "name": table.schema.columns[one.column].name,
            "predictor": one.predictor,
            "score": one.score,
            "score_name": task.score_name,
            "baseline": task.baseline,
            "n_rows": len(prediction.rows),
            "by_groups": by_groups,
            "coverage": prediction.coverage,
        }
        for one in sorted(leaks, key=lambda one: (-one.score, one.column))
    ]


def _drawn(schema: Schema, rng: np.random.Generator) -> Rows:
    n, per_row = schema.n_rows, max(1, len(schema.used)) * max(1, schema.n_classes // _CLASSES)
    size = min(_MOST_ROWS, max(_FEWEST_ROWS, _MOST_VALUES // per_row))
    return np.arange(n) if n <= size else np.sort(rng.choice(n, size, replace=False))


def _prediction(
    table: Source, y: NDArray[Any], weight: Floats | None, kept: Rows, rng: np.random.Generator
) -> _Prediction | None:
    """Return what is to be predicted in which rows, None where nothing could be claimed."""
    coverage = None
    if table.schema.has_classes:
        units = y[kept] if table.groups is None else np.unique([y[kept], table.groups[kept]], axis=1)[0]
        enough = np.bincount(units, minlength=table.schema.n_classes) >= _N_FOLDS
        here = enough[y[kept]]
        if not here.all():
            classes = np.unique(y[kept])
            coverage = {
                "least": _N_FOLDS, "n_classes": int(enough.sum()), "of_classes": len(classes), "of_rows": len(kept),
            }  # fmt: skip
        if here.sum() < _LEAST_COVERED * len(kept):
            return None
        kept = kept[here]
    n = len(kept) if table.groups is None else len(np.unique(table.groups[kept]))
    if n < _LEAST_ROWS or np.ptp(y[kept]) == 0:
        return None
    weight = None if weight is None else weight[kept]
    groups = None if table.groups is None else table.groups[kept]
    if not table.schema.has_classes:
        return _Prediction(
            NumberTask(y[kept], weight, _folds(np.zeros(len(kept), dtype=int), groups, rng)), kept, coverage
        )
    _, labels = np.unique(y[kept], return_inverse=True)
    return _Prediction(ClassTask(labels.astype(np.int32), weight, _folds(labels, groups, rng)), kept, coverage)


def _folds(labels: NDArray[Any], groups: NDArray[Any] | None, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return a fold for every row, the same for all rows of a group."""
    if groups is None:
        return drawn_folds(labels, _N_FOLDS, rng)
    _, first, group = np.unique(groups, return_index=True, return_inverse=True)
    return drawn_folds(labels[first], _N_FOLDS, rng)[group]


def _recoding(table: Source, y: NDArray[Any], kept: Rows) -> _Recoding | None:
    """Return the codes that a recoding is compared with, None where an unrelated column could be one by chance."""
    if table.groups is not None:
        kept = kept[np.unique(table.groups[kept], return_index=True)[1]]
    if len(kept) < _LEAST_ROWS:
        return None
    codes = np.unique(y[kept], return_inverse=True)[1]
    recoding = _Recoding(codes, kept, len(table.schema.used), of_number=not table.schema.has_classes)
    return recoding if recoding.is_possible(np.bincount(codes)) else None


def _judged_columns(
    table: Source, prediction: _Prediction | None, recoding: _Recoding | None
) -> tuple[list[_Judged], dict[int, float]]:
    """Return how well each column predicts the target, and how much it is a recoding of it."""
    schema = table.schema
    wanted = [j for j in schema.used.tolist() if not schema.columns[j].constant]
    if prediction is None and recoding is None:
        return [], {}

    def judge(j: int) -> tuple[_Judged | None, float]:
        values = np.concatenate([block.column(j) for block in table.blocks([j])])
        judged = None
        if prediction is not None:
            judged = prediction.judge(j, schema.columns[j], values, 1 - _MOST_LEFT[prediction.task.score_name])
        recoded = 0.0 if recoding is None else recoding.judge(schema.columns[j], values)
        return judged, recoded

    found = list(parallel.map_blocks(judge, wanted))
    return [one for one, _ in found if one is not None], {j: score for j, (_, score) in zip(wanted, found, strict=True)}


def _judged_ids(table: Source, prediction: _Prediction, least: float) -> list[_Judged]:
    """Judge columns that take no part because they name the rows: in a table sorted by its target they tell it."""
    schema = table.schema
    judged: list[_Judged] = []
    for j in (j for j, column in enumerate(schema.columns) if column.kind == "id"):
        if schema.columns[j].left_out == _NUMBERED:
            values = table.row_numbers[prediction.rows].astype(np.float64)
        elif _NAMED in (schema.columns[j].left_out or "") and len(judged) < _MOST_IDS:
            _, load = raw_columns(table.frame([j]))
            values = to_numbers(load(schema.columns[j].name), lambda at: f"row {at}")[0].astype(np.float64)[
                prediction.rows
            ]
        else:
            continue
        judged.append(_Judged(j, "values", prediction.task.by_numbers(values, least)))
    return judged
