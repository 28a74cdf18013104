"""All rows of a table as points, for criteria that fit a model to them and read what it has learned."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.criteria.base import Relevance, RowRelevance
from tamiz.criteria.entropy_relevance import MISSING_RULES, MissingRule
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.user_warnings import warn_user
from tamiz.runtime.validation import check_choice, check_integer
from tamiz.sources.base import Source
from tamiz.sources.schema import Schema
from tamiz.sources.views import select_rows, target_array, weight_array
from tamiz.statistics.base import Floats

# A model of fewer rows tells too little, however many columns there are.
_MIN_ROWS = 500


@dataclass(frozen=True)
class TrainingData:
    """What a model is fitted to.

    Attributes
    ----------
    features : ndarray of shape (n_rows, n_coordinates)
        Numbers standardised, an indicator for every level divided by the square root of its share; those that vary.
    source_columns : ndarray of shape (n_coordinates,)
        The column of the table that each coordinate belongs to.
    present_share : ndarray of shape (n_coordinates,)
        The share of the rows in which that column has a value, 1 where none is missing. Missing values lie at the mean, so what a
        column adds to a linear model has this share of the variance that it has among the rows with a value.
    target : ndarray of shape (n_rows,)
        Codes of the classes that occur, from 0 on, or numbers of mean 0 and standard deviation 1.
    n_classes : int
        0 for a number.
    weight : ndarray of shape (n_rows,) or None
    is_indicator : ndarray of shape (n_coordinates,)
        Whether the coordinate is the indicator of a level, or of gaps.
    row_numbers : ndarray of shape (n_rows,)
        The numbers of the rows in the table.
    """

    features: Floats
    source_columns: NDArray[np.intp]
    present_share: Floats
    target: NDArray[Any]
    n_classes: int
    weight: Floats | None
    is_indicator: NDArray[np.bool_]
    row_numbers: NDArray[np.intp]


def make_training_data(
    source: Source, max_rows: int | None, random_state: Seed, missing: MissingRule, caller: str
) -> TrainingData | None:
    """Return the rows that a model is fitted to, None where there is nothing to learn: no column varies, or the target does not.

    Rows of weight 0 are not there. Of more than `max_rows` so many are drawn. Where missing is a category, a column with gaps has
    an indicator of them besides, as of a level.
    """
    from tamiz.models.design_matrix import EncodedMatrix
    from tamiz.models.folds import Fold

    check_choice("missing", missing, MISSING_RULES)
    source, taken = _draw_rows(source, max_rows, random_state, caller)
    schema, weight = source.schema, weight_array(source)
    rows = np.arange(schema.n_rows)
    y, n_classes = _encode_target(source, weight)
    if y is None or len(schema.used) == 0:
        return None
    encoded = EncodedMatrix(source, [fold := Fold(rows, rows)])
    points = encoded.train_rows(fold)
    owner = np.empty(points.shape[1], dtype=np.intp)
    for j, own in enumerate(encoded.coordinates):
        owner[own] = j
    is_level = ~np.isin(owner, schema.numeric)
    gappy = [j for j in schema.used.tolist() if schema.columns[j].n_missing]
    present = np.ones(schema.n_columns)
    if gappy:
        absent = _missing_indicators(source, gappy)
        share = np.average(absent, axis=0, weights=weight)
        present[gappy] -= share
        if missing == "category":
            points = np.hstack([points, (absent - share) / np.sqrt(share)])
            owner = np.concatenate([owner, np.array(gappy, dtype=np.intp)])
            is_level = np.concatenate([is_level, np.ones(len(gappy), dtype=np.bool_)])
        else:
            _warn_missing(sum(schema.columns[j].n_missing for j in gappy))
    varies = (points != points[:1]).any(axis=0)
    if not varies.any():
        return None
    return TrainingData(
        points[:, varies], owner[varies], present[owner[varies]], y, n_classes, weight, is_level[varies], taken
    )


class ModelRelevance(RowRelevance):
    """A relevance read off a model; a study fits it to as many rows as it has the time for."""

    max_rows: int | None

    @abstractmethod
    def max_study_values(self, schema: Schema) -> int:
        """Return how many values a study has the time for."""

    def adapt_to(self, schema: Schema) -> Relevance | None:
        """Return the relevance with the rows that a study has the time for."""
        suited = super().adapt_to(schema)
        if suited is None or self.max_rows is not None:
            return suited
        return type(self)(**{**self.get_params(), "max_rows": _affordable_rows(schema, self.max_study_values(schema))})


def _affordable_rows(schema: Schema, max_values: int) -> int | None:
    """Return how many rows make up so many values, None where the table has no more of them."""
    n_columns = sum(1 if schema.columns[j].is_number else len(schema.columns[j].levels) for j in schema.used.tolist())
    most = max(_MIN_ROWS, max_values // max(n_columns, 1))
    return most if schema.n_rows > most else None


def _draw_rows(
    source: Source, max_rows: int | None, random_state: Seed, caller: str
) -> tuple[Source, NDArray[np.intp]]:
    weight = weight_array(source)
    present = np.arange(source.schema.n_rows) if weight is None else np.flatnonzero(weight)
    if max_rows is not None and check_integer("max_rows", max_rows, low=2) < len(present):
        warn_user([f"{caller} reads {max_rows:,} of the {len(present):,} rows, drawn at random."])
        present = np.sort(make_rng(random_state).choice(present, max_rows, replace=False))
    return (source if len(present) == source.schema.n_rows else select_rows(source, present)), present


def _encode_target(source: Source, weight: Floats | None) -> tuple[NDArray[Any] | None, int]:
    """Return the target as a model is to see it, and its number of classes; None where all rows have the same."""
    y = target_array(source)
    if (y == y[0]).all():
        return None, 0
    if source.schema.has_classes:
        found, codes = np.unique(y, return_inverse=True)
        return codes, len(found)
    # In another unit first: squares of what is very large or very small leave the range of float64.
    y = y / np.abs(y).max()
    held = np.ones(len(y)) if weight is None else weight
    y = y - np.average(y, weights=held)
    freedom = held.sum() - 1
    spread = np.sqrt(held @ y**2 / freedom) if freedom > 0 else 0.0
    return (y / spread, 0) if spread > 0 else (None, 0)


def _missing_indicators(source: Source, columns: list[int]) -> Floats:
    """Return 1 where a value of some columns is missing, else 0."""
    held = np.zeros((source.schema.n_rows, len(columns)))
    for block in source.blocks(columns):
        for k, j in enumerate(columns):
            values = np.asarray(block.column(j))
            absent = np.isnan(values) if values.dtype.kind == "f" else values < 0
            held[block.rows.start : block.rows.stop, k] = absent
    return held


def _warn_missing(n_missing: int) -> None:
    values = "1 missing value counts" if n_missing == 1 else f"{n_missing:,} missing values count"
    # The same words whoever asks: in a study they are told once.
    warn_user(
        [f"{values} as the mean of the column, or as every level in its share, where columns are ranked by a model."]
    )
