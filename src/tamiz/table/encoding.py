"""Encoding of mixed columns as coordinates: numbers, optionally standardised, and scaled indicators of the levels of categories.

Missing values are replaced by the mean of their coordinate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats, divide_or_zero
from tamiz.exceptions import DataError
from tamiz.kernels.moments import centre_rows
from tamiz.statistics.base import Block
from tamiz.statistics.contingency import Coding, LevelCounts
from tamiz.statistics.cross_products import LevelIndicators, design_matrix
from tamiz.statistics.moments import Moments
from tamiz.storage.invariants import Condition, FloatArray, InstanceOf, Integer, Invariants, ListOf, Number, Strings
from tamiz.table.base import Table
from tamiz.table.schema import Schema

# What imputation by the mean is for the indicators of a categorical column, for notes.
INDICATOR_MEANS = " (in a categorical column, each indicator with the share of its level)"


@dataclass(frozen=True)
class Encoding:
    """The fitted map from rows to points; it transforms each row independently of the others.

    Attributes
    ----------
    names : list of str
        A name for every coordinate: a column's name, or "column=level".
    numeric : tuple of int
        The numeric columns of the table.
    indicators : tuple of LevelIndicators
        The categorical columns of the table.
    centre, scale, fill : ndarray of shape (n_coordinates,)
        A coordinate is (x - centre) / scale. Where x is missing it is `fill`, the coordinate of the mean.
    n_missing : int
        Number of missing values, which are replaced by the mean of their column.
    total_weight : float
        The sum of the weights; the number of rows if they have none.
    """

    names: list[str]
    numeric: tuple[int, ...]
    indicators: tuple[LevelIndicators, ...]
    centre: Floats
    scale: Floats
    fill: Floats
    n_missing: int
    total_weight: float

    invariants: ClassVar[Invariants] = {
        "names": Strings("d"),
        "numeric": ListOf(Integer()),
        "indicators": (
            ListOf(InstanceOf(LevelIndicators)),
            Condition(
                lambda it: len(it.names) == len(it.numeric) + sum(one.n_levels for one in it.indicators),
                "does not fit the names",
            ),
        ),
        "centre": FloatArray("d"),
        "scale": (
            FloatArray("d", low=0.0),
            Condition(lambda it: it.scale.all(), "contains 0, by which coordinates would be divided"),
        ),
        "fill": FloatArray("d"),
        "n_missing": Integer(),
        "total_weight": Number(0.0),
    }

    @classmethod
    def fit(cls, table: Table, *, standardize: bool, centred: bool = True) -> Encoding:
        """Fit centre and scale in one pass over the data.

        Without centring and standardising, numbers keep their last bits, so that tied distances remain tied. The indicator of a
        level is divided by the square root of the level's share, so that rare levels have as much weight as frequent ones.
        """
        check_has_features(table.schema)
        moments = coordinate_moments(table)
        spread = moments.std[: len(table.schema.numeric)]
        return cls.from_moments(
            table.schema, moments.mean, spread if standardize else None, moments.total_weight, centred=centred
        )

    @classmethod
    def from_moments(
        cls,
        schema: Schema,
        mean: Floats,
        spread: Floats | None,
        total_weight: float,
        *,
        centred: bool = True,
        level_scale: Floats | None = None,
    ) -> Encoding:
        """Return the encoding of columns with known means.

        Numbers are divided by `spread` unless it is None. Indicators are divided by `level_scale`, of shape (n_levels,), by default
        by the square root of their share.
        """
        n_numeric = len(schema.numeric)
        levels = np.sqrt(mean[n_numeric:]) if level_scale is None else level_scale
        scale = np.concatenate([np.ones(n_numeric) if spread is None else spread, levels])
        scale = np.where(scale > 0, scale, 1.0)
        centre = mean if centred else np.zeros_like(mean)
        n_missing = sum(schema.columns[j].n_missing for j in schema.used.tolist())
        fill = (mean - centre) / scale
        return cls(
            coordinate_names(schema),
            schema.numeric,
            level_indicators(schema),
            centre,
            scale,
            fill,
            n_missing,
            total_weight,
        )

    def matches(self, schema: Schema) -> bool:
        """Return whether the used columns of a schema are those of the encoding, with as many levels."""
        return self.numeric == schema.numeric and self.indicators == level_indicators(schema)

    def transform(
        self,
        block: Block,
        dtype: type[np.floating[Any]] = np.float64,
        *,
        fill: bool = True,
        padded_width: int | None = None,
    ) -> NDArray[Any]:
        """Return the points of a block, of shape (n_rows, n_coordinates).

        Without `fill`, missing values remain NaN. With `padded_width`, rows are padded with zeros to this length.
        """
        values = np.ascontiguousarray(design_matrix(block, self.numeric, self.indicators, dtype))
        rounded = self.centre.astype(dtype)
        # The part of the centre that float32 does not represent is subtracted in a second step.
        remainder = (self.centre - rounded).astype(dtype)
        missing = self.fill.astype(dtype) if fill else np.full_like(rounded, np.nan)
        points = np.empty((len(values), padded_width or len(rounded)), dtype)
        centre_rows(values, rounded, remainder, self.scale.astype(dtype), missing, points)
        return points


@dataclass(frozen=True)
class CoordinateMoments:
    """Moments of every coordinate.

    Attributes
    ----------
    mean, squared_deviations, present_weight : ndarray of shape (n_coordinates,)
        The mean of the present values, the weighted sum of squared deviations from it, and the sum of their weights.
    total_weight : float
        The sum of the weights of all rows.
    """

    mean: Floats
    squared_deviations: Floats
    present_weight: Floats
    total_weight: float

    @classmethod
    def of(cls, moments: Moments, counts: LevelCounts, total_weight: float) -> CoordinateMoments:
        mean, squares, weights = [moments.mean[0]], [moments.squared_deviations[0]], [moments.weight[0]]
        for count in counts.counts:
            present = float(count[:-1].sum())
            share = count[:-1] / max(present, 1e-300)
            mean.append(share)
            squares.append(present * share * (1 - share))
            weights.append(np.full(len(share), present))
        return cls(np.concatenate(mean), np.concatenate(squares), np.concatenate(weights), total_weight)

    @property
    def std(self) -> Floats:
        """The standard deviation of the present values, 0 if their weight is at most 1."""
        return np.sqrt(divide_or_zero(self.squared_deviations, self.present_weight - 1))


def coordinate_moments(table: Table) -> CoordinateMoments:
    """Return the moments of every coordinate, in one pass over the data."""
    schema = table.schema
    coding = Coding(schema.n_levels, {})
    moments, counts = table.reduce(Moments(schema.numeric), LevelCounts(schema.categorical, coding))
    return CoordinateMoments.of(moments, counts, sum(float(block.weight_or_ones.sum()) for block in table.blocks([])))


def level_indicators(schema: Schema) -> tuple[LevelIndicators, ...]:
    return tuple(LevelIndicators(j, len(schema.columns[j].levels)) for j in schema.categorical)


def coordinate_names(schema: Schema) -> list[str]:
    """Return a name for every coordinate: a numeric column's own, or "column=level"."""
    names = [schema.columns[j].name for j in schema.numeric]
    for j in schema.categorical:
        names += [f"{schema.columns[j].name}={level}" for level in schema.columns[j].levels]
    return names


def check_has_features(schema: Schema) -> None:
    """Raise a DataError if all columns are excluded."""
    if len(schema.used) == 0:
        reasons = "; ".join(
            f"{column.name}: {column.exclusion_reason}" for column in schema.columns if column.exclusion_reason
        )
        raise DataError(f"No column can be used: {reasons}.")
