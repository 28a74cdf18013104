"""Base class of relevances that are read from a fitted model, and the training data of these models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats, Indices, Masks, is_missing
from tamiz.criteria.base import Relevance, RowRelevance
from tamiz.criteria.entropies import MISSING_RULES, MissingRule
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.user_warnings import ImputationNote, list_names, warn, warn_user
from tamiz.runtime.validation import check_choice, check_integer, check_memory
from tamiz.runtime.verdicts import Verdict
from tamiz.table.base import Table, target_array, weight_array
from tamiz.table.schema import Schema
from tamiz.table.views import merge_rare_levels, positive_weight_row_numbers, select_rows

# A study uses at least this many rows, however many columns there are: models of fewer rows are too unreliable.
_MIN_ROWS = 500
# A study whose rows are limited merges the rare levels of a column with more levels than this.
_MAX_STUDY_LEVELS = 50


@dataclass(frozen=True)
class TrainingData:
    """The encoded rows and target that a model is fitted to."""

    # Standardised numeric columns, and an indicator for every level divided by the square root of its share; without constant ones.
    features: Floats
    # The column of the table that each coordinate belongs to.
    source_columns: Indices
    # The share of rows in which that column has a value. Missing values are at the mean, so the variance of the column's
    # contribution to a linear model is this share of its variance among the rows with a value.
    present_share: Floats
    # Codes from 0 of the classes that occur, or numbers with mean 0 and standard deviation 1.
    target: NDArray[Any]
    # 0 for a numeric target.
    n_classes: int
    weight: Floats | None
    # Whether the coordinate is the indicator of a level or of missing values.
    is_indicator: Masks
    # The numbers of the rows in the table.
    row_numbers: Indices


def _make_training_data(
    table: Table,
    max_rows: int | None,
    max_levels: int | None,
    random_state: Seed,
    missing: MissingRule,
    caller: str,
) -> TrainingData | None:
    """Return the training data of a model, None where all columns or the target are constant.

    Rows of weight 0 are left out. More than `max_rows` rows are sampled at random, and then the rare levels of a column with more
    than `max_levels` are merged. With `missing="category"` a column with missing values has an additional indicator of them.
    """
    from tamiz.models.design_matrix import EncodedMatrix
    from tamiz.models.folds import Fold

    check_choice("missing", missing, MISSING_RULES)
    table, row_numbers = draw_rows(table, max_rows, random_state, caller)
    if max_levels is not None:
        warn_user(_merged_level_warnings(table.schema, check_integer("max_levels", max_levels, low=2), caller))
        table = merge_rare_levels(table, max_levels)
    schema, weight = table.schema, weight_array(table)
    rows = np.arange(schema.n_rows)
    y, n_classes = _encode_target(table, weight)
    if y is None or len(schema.used) == 0:
        return None
    encoded = EncodedMatrix(table, [fold := Fold(rows, rows)])
    points = encoded.train_rows(fold)
    source_columns = encoded.column_of
    is_indicator = ~np.isin(source_columns, schema.numeric)
    incomplete = [j for j in schema.used.tolist() if schema.columns[j].n_missing]
    present_share = np.ones(schema.n_columns)
    if incomplete:
        indicators = _missing_indicators(table, incomplete)
        missing_share = np.average(indicators, axis=0, weights=weight)
        present_share[incomplete] -= missing_share
        if missing == "category":
            points = np.hstack([points, (indicators - missing_share) / np.sqrt(missing_share)])
            source_columns = np.concatenate([source_columns, np.array(incomplete, dtype=np.intp)])
            is_indicator = np.concatenate([is_indicator, np.ones(len(incomplete), dtype=np.bool_)])
        else:
            _warn_missing(schema.n_missing)
    varies = (points != points[:1]).any(axis=0)
    if not varies.any():
        return None
    source_columns = source_columns[varies]
    return TrainingData(
        points[:, varies],
        source_columns,
        present_share[source_columns],
        y,
        n_classes,
        weight,
        is_indicator[varies],
        row_numbers,
    )


class ModelRelevance(RowRelevance):
    """A relevance that is read from a fitted model; a study fits the model to a limited number of rows and levels."""

    max_rows: int | None
    max_levels: int | None
    # How many values a study fits the model to, in one or two seconds; fewer where every class has coefficients of its own.
    max_study_values: ClassVar[int] = 2**22
    has_class_coefficients: ClassVar[bool] = True

    def adapt_to(self, schema: Schema) -> Relevance | None:
        """Return the relevance with `max_rows` and `max_levels` set for a study."""
        adapted = super().adapt_to(schema)
        if adapted is None or self.max_rows is not None:
            return adapted
        n_models = schema.n_classes if schema.has_classes and self.has_class_coefficients else 1
        max_values, max_levels = self.max_study_values // max(n_models, 1), self.max_levels
        max_rows = _affordable_rows(schema, max_values, max_levels)
        if max_rows is not None and max_levels is None and max(schema.n_levels.values(), default=0) > _MAX_STUDY_LEVELS:
            max_levels = _MAX_STUDY_LEVELS
            max_rows = _affordable_rows(schema, max_values, max_levels)
        return type(self)(**{**self.get_params(), "max_rows": max_rows, "max_levels": max_levels})

    def make_training_data(
        self, table: Table, random_state: Seed, missing: MissingRule = "distribute"
    ) -> TrainingData | None:
        """Return the training data of the model, with warnings about sampled rows and merged levels."""
        return _make_training_data(table, self.max_rows, self.max_levels, random_state, missing, type(self).__name__)


def _affordable_rows(schema: Schema, max_values: int, max_levels: int | None) -> int | None:
    """Return the number of rows with at most `max_values` values, None where the table has no more rows."""
    n_columns = len(schema.numeric) + sum(
        n if max_levels is None else min(n, max_levels) for n in schema.n_levels.values()
    )
    max_rows = max(_MIN_ROWS, max_values // max(n_columns, 1))
    return max_rows if schema.n_rows > max_rows else None


def _merged_level_warnings(schema: Schema, max_levels: int, caller: str) -> list[Verdict]:
    wide = {schema.columns[j].name: n for j, n in schema.n_levels.items() if n > max_levels}
    if not wide:
        return []
    names = list_names(list(wide), as_text=repr)
    columns = f"column {names} has" if len(wide) == 1 else f"columns {names} have up to"
    sentence = (
        f"{caller}: {columns} {max(wide.values()):,} levels; the {max_levels - 1:,} most frequent are kept, and all others are one "
        "level. Set max_levels, or leave a column out by declaring it text with --kinds or kinds=."
    )
    return [Verdict("TZ505", sentence, wide)]


def repeat_frequencies(table: Table) -> Table:
    """Return the table with every row repeated by its frequency weight; a table with sampling weights as it is."""
    weight = weight_array(table)
    if weight is None or table.schema.weight_kind == "sampling":
        return table
    check_memory(8.0 * weight.sum(), f"Repeating the rows {weight.sum():,.0f} times", "Divide the weights by a number.")
    return select_rows(table, np.repeat(np.arange(len(weight)), weight.astype(np.intp)))


def draw_rows(table: Table, max_rows: int | None, random_state: Seed, caller: str) -> tuple[Table, Indices]:
    """Return the rows of weight above 0, at most `max_rows` of them drawn at random with a warning, and their numbers."""
    present = positive_weight_row_numbers(table)
    if max_rows is not None and check_integer("max_rows", max_rows, low=2) < len(present):
        warn("TZ502", f"{caller} reads {max_rows:,} of the {len(present):,} rows, drawn at random.")
        present = np.sort(make_rng(random_state).choice(present, max_rows, replace=False))
    return (table if len(present) == table.schema.n_rows else select_rows(table, present)), present


def _encode_target(table: Table, weight: Floats | None) -> tuple[NDArray[Any] | None, int]:
    """Return the target as codes or standardised numbers, and its number of classes; None for a constant target."""
    y = target_array(table)
    if (y == y[0]).all():
        return None, 0
    if table.schema.has_classes:
        found, codes = np.unique(y, return_inverse=True)
        return codes, len(found)
    # Scaled first: squares of very large or very small numbers overflow or underflow float64.
    y = y / np.abs(y).max()
    row_weight = np.ones(len(y)) if weight is None else weight
    y = y - np.average(y, weights=row_weight)
    degrees_of_freedom = row_weight.sum() - 1
    std = np.sqrt(row_weight @ y**2 / degrees_of_freedom) if degrees_of_freedom > 0 else 0.0
    return (y / std, 0) if std > 0 else (None, 0)


def _missing_indicators(table: Table, columns: list[int]) -> Floats:
    """Return a matrix with 1 where a value of the columns is missing, else 0."""
    indicators = np.zeros((table.schema.n_rows, len(columns)))
    for k, j in enumerate(columns):
        indicators[:, k] = is_missing(table.column(j))
    return indicators


def _warn_missing(n_missing: int) -> None:
    values = "1 missing value counts" if n_missing == 1 else f"{n_missing:,} missing values count"
    text = (
        f"Criteria that fit a model: {values} as the mean of the column, or as a mixture of its levels by their shares."
    )
    warn_user([ImputationNote(text, "criteria that fit a model")])
