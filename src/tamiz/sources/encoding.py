"""Mixed columns as points: numbers as they are or standardised, categories as scaled indicators, gaps at the mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tamiz.exceptions import DataError
from tamiz.sources.base import Source
from tamiz.sources.schema import Schema
from tamiz.statistics.base import Block, Floats
from tamiz.statistics.coding import Coding
from tamiz.statistics.cross_products import Indicators, expand
from tamiz.statistics.moments import Moments
from tamiz.statistics.tables import LevelCounts


@dataclass(frozen=True)
class Encoding:
    """How rows become points; fitted once, applied to any row by itself.

    Attributes
    ----------
    names : list of str
        One for every coordinate: a column's name, or "column=level".
    numeric, levels
        The source columns behind them.
    centre, scale, fill : ndarray of shape (n_coordinates,)
        A coordinate is (x - centre) / scale, and `fill` where x is missing: the place of the mean.
    n_missing : int
        Missing values that were given their column's mean.
    total : float
        Weight of all rows, their number where they have none.
    """

    names: list[str]
    numeric: tuple[int, ...]
    levels: tuple[Indicators, ...]
    centre: Floats
    scale: Floats
    fill: Floats
    n_missing: int
    total: float

    @classmethod
    def fit(cls, source: Source, *, standardize: bool, centred: bool = True) -> Encoding:
        """Learn centre and scale in one pass.

        Where only distances count, numbers that are neither standardised nor centred keep their last bits, and ties
        stay ties. The indicator of a level is divided by the square root of the level's share, so that rare levels weigh as much as
        frequent ones.
        """
        schema = source.schema
        if len(schema.used) == 0:
            raise DataError(f"No column can be used: {_reasons(schema)}.")
        coding = Coding(schema.level_sizes, {})
        moments, counts = source.reduce(Moments(schema.numeric), LevelCounts(schema.categorical, coding))
        shares = [c[:-1] / c[:-1].sum() for c in counts.counts]
        names = [schema.columns[j].name for j in schema.numeric]
        for j in schema.categorical:
            names += [f"{schema.columns[j].name}={level}" for level in schema.columns[j].levels]
        spread = np.ones(len(schema.numeric))
        if standardize:
            freedom = moments.weight[0] - 1
            variance = np.divide(moments.squares[0], freedom, out=np.zeros_like(freedom), where=freedom > 0)
            spread = np.where(moments.largest[0] > moments.least[0], np.sqrt(variance), 1.0)
        n_missing = sum(schema.columns[j].n_missing for j in schema.used.tolist())
        total = sum(float(block.weights.sum()) for block in source.blocks([]))
        levels = tuple(Indicators(j, len(schema.columns[j].levels)) for j in schema.categorical)
        scale = np.concatenate([spread, *(np.sqrt(share) for share in shares)])
        scale = np.where(scale > 0, scale, 1.0)
        mean = np.concatenate([moments.mean[0], *shares])
        centre = mean if centred else np.zeros_like(mean)
        return cls(names, schema.numeric, levels, centre, scale, (mean - centre) / scale, n_missing, total)

    def rows(self, block: Block) -> Floats:
        """Return the points of a block, of shape (n_rows, n_coordinates)."""
        points = expand(block, self.numeric, self.levels)
        points -= self.centre
        points /= self.scale
        gaps = np.isnan(points)
        if gaps.any():
            points[gaps] = np.broadcast_to(self.fill, points.shape)[gaps]
        return points


def _reasons(schema: Schema) -> str:
    return "; ".join(f"{column.name}: {column.left_out}" for column in schema.columns if column.left_out)
