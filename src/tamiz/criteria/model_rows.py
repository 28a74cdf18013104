"""All rows of a table as points, for criteria that fit a model to them and read what it has learned."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.criteria.base import Relevance, RowRelevance
from tamiz.criteria.entropy_family import MISSING, Missing
from tamiz.random import Seed, generator
from tamiz.sources.base import Source
from tamiz.sources.schema import Schema
from tamiz.sources.views import rows_of, target_of, weight_of
from tamiz.statistics.base import Floats
from tamiz.validation import check_choice, check_integer
from tamiz.warn import tell

# A model of fewer rows tells too little, however many columns there are.
_LEAST_ROWS = 500


@dataclass(frozen=True)
class ModelRows:
    """What a model is fitted to.

    Attributes
    ----------
    points : ndarray of shape (n_rows, n_coordinates)
        Numbers standardised, an indicator for every level divided by the square root of its share; those that vary.
    owner : ndarray of shape (n_coordinates,)
        The column of the table that each coordinate belongs to.
    present : ndarray of shape (n_coordinates,)
        The share of the rows in which that column has a value, 1 where none is missing. Missing values lie at the mean, so what a
        column adds to a linear model has this share of the variance that it has among the rows with a value.
    target : ndarray of shape (n_rows,)
        Codes of the classes that occur, from 0 on, or numbers of mean 0 and standard deviation 1.
    n_classes : int
        0 for a number.
    weight : ndarray of shape (n_rows,) or None
    is_level : ndarray of shape (n_coordinates,)
        Whether the coordinate is the indicator of a level, or of gaps.
    taken : ndarray of shape (n_rows,)
        The numbers of the rows in the table.
    """

    points: Floats
    owner: NDArray[np.intp]
    present: Floats
    target: NDArray[Any]
    n_classes: int
    weight: Floats | None
    is_level: NDArray[np.bool_]
    taken: NDArray[np.intp]


def model_rows(
    source: Source, max_rows: int | None, random_state: Seed, missing: Missing, who: str
) -> ModelRows | None:
    """Return the rows that a model is fitted to, None where there is nothing to learn: no column varies, or the target does not.

    Rows of weight 0 are not there. Of more than `max_rows` so many are drawn. Where missing is a category, a column with gaps has
    an indicator of them besides, as of a level.
    """
    from tamiz.wrappers.encoded import Encoded
    from tamiz.wrappers.folds import Fold

    check_choice("missing", missing, MISSING)
    source, taken = _taken(source, max_rows, random_state, who)
    schema, weight = source.schema, weight_of(source)
    rows = np.arange(schema.n_rows)
    y, n_classes = _target(source, weight)
    if y is None or len(schema.used) == 0:
        return None
    encoded = Encoded(source, [fold := Fold(rows, rows)])
    points = encoded.train(fold)
    owner = np.empty(points.shape[1], dtype=np.intp)
    for j, own in enumerate(encoded.coordinates):
        owner[own] = j
    is_level = ~np.isin(owner, schema.numeric)
    gappy = [j for j in schema.used.tolist() if schema.columns[j].n_missing]
    present = np.ones(schema.n_columns)
    if gappy:
        absent = _gaps(source, gappy)
        share = np.average(absent, axis=0, weights=weight)
        present[gappy] -= share
        if missing == "category":
            points = np.hstack([points, (absent - share) / np.sqrt(share)])
            owner = np.concatenate([owner, np.array(gappy, dtype=np.intp)])
            is_level = np.concatenate([is_level, np.ones(len(gappy), dtype=np.bool_)])
        else:
            _tell_gaps(sum(schema.columns[j].n_missing for j in gappy))
    varies = (points != points[:1]).any(axis=0)
    if not varies.any():
        return None
    return ModelRows(
        points[:, varies], owner[varies], present[owner[varies]], y, n_classes, weight, is_level[varies], taken
    )


class ModelRelevance(RowRelevance):
    """A relevance read off a model; a study fits it to as many rows as it has the time for."""

    max_rows: int | None

    @abstractmethod
    def most_values(self, schema: Schema) -> int:
        """Return how many values a study has the time for."""

    def suited(self, schema: Schema) -> Relevance | None:
        """Return the relevance with the rows that a study has the time for."""
        suited = super().suited(schema)
        if suited is None or self.max_rows is not None:
            return suited
        return type(self)(**{**self.get_params(), "max_rows": _affordable_rows(schema, self.most_values(schema))})


def _affordable_rows(schema: Schema, most_values: int) -> int | None:
    """Return how many rows make up so many values, None where the table has no more of them."""
    n_columns = sum(1 if schema.columns[j].is_number else len(schema.columns[j].levels) for j in schema.used.tolist())
    most = max(_LEAST_ROWS, most_values // max(n_columns, 1))
    return most if schema.n_rows > most else None


def _taken(source: Source, max_rows: int | None, random_state: Seed, who: str) -> tuple[Source, NDArray[np.intp]]:
    weight = weight_of(source)
    present = np.arange(source.schema.n_rows) if weight is None else np.flatnonzero(weight)
    if max_rows is not None and check_integer("max_rows", max_rows, low=2) < len(present):
        tell([f"{who} reads {max_rows:,} of the {len(present):,} rows, drawn at random."])
        present = np.sort(generator(random_state).choice(present, max_rows, replace=False))
    return (source if len(present) == source.schema.n_rows else rows_of(source, present)), present


def _target(source: Source, weight: Floats | None) -> tuple[NDArray[Any] | None, int]:
    """Return the target as a model is to see it, and its number of classes; None where all rows have the same."""
    y = target_of(source)
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


def _gaps(source: Source, gappy: list[int]) -> Floats:
    """Return 1 where a value of some columns is missing, else 0."""
    held = np.zeros((source.schema.n_rows, len(gappy)))
    for block in source.blocks(gappy):
        for k, j in enumerate(gappy):
            values = np.asarray(block.column(j))
            absent = np.isnan(values) if values.dtype.kind == "f" else values < 0
            held[block.rows.start : block.rows.stop, k] = absent
    return held


def _tell_gaps(n: int) -> None:
    values = "1 missing value counts" if n == 1 else f"{n:,} missing values count"
    # The same words whoever asks: in a study they are told once.
    tell([f"{values} as the mean of the column, or as every level in its share, where columns are ranked by a model."])
