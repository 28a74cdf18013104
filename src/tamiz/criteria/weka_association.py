"""The associations of Weka's CfsSubsetEval, which deviate from the published formula of CFS."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamiz.arrays import Floats, Indices
from tamiz.criteria.base import Association, GatherFunction, PairwiseAssociations
from tamiz.runtime.validation import check_memory
from tamiz.statistics.contingency import Coding, LevelCounts
from tamiz.statistics.cross_products import LevelIndicators, ScatterMatrix
from tamiz.table.schema import Schema

# Weka treats numbers that differ by less than this as equal.
_ZERO_TOLERANCE = 1e-6


class WekaUncertainty(Association):
    """An association rounded to single precision, in which 0 between two columns counts as 1."""

    def __init__(self, association: Association) -> None:
        self.association = association

    def check(self, schema: Schema) -> None:
        self.association.check(schema)

    def pairwise(self, gather: GatherFunction, schema: Schema) -> PairwiseAssociations:
        return _WekaUncertainties(self.association.pairwise(gather, schema), schema.n_columns)


class _WekaUncertainties(PairwiseAssociations):
    def __init__(self, associations: PairwiseAssociations, target: int) -> None:
        self._exact = associations
        self._target = target

    def associations(self, i: Indices, j: Indices) -> Floats:
        """Return the associations in single precision, 1 in place of 0 between two columns."""
        values = self._exact.associations(i, j).astype(np.float32).astype(np.float64)
        inner = (i != self._target) & (j != self._target)
        return np.where(inner & (values < _ZERO_TOLERANCE), 1.0, values)


class WekaCorrelation(Association):
    """Absolute Pearson correlation, times the standard deviations of the columns, for a numeric target.

    The correlation of a categorical column is the mean absolute correlation of the indicators of its levels, weighted by their
    shares. A missing number is replaced by the mean, a missing level by the most frequent one.
    """

    def pairwise(self, gather: GatherFunction, schema: Schema) -> PairwiseAssociations:
        (levels,) = gather(LevelCounts(schema.categorical, Coding(schema.n_levels, {})))
        modes = [int(np.argmax(counts[:-1])) for counts in levels.counts]
        indicators = [
            LevelIndicators(j, schema.n_levels[j], mode) for j, mode in zip(schema.categorical, modes, strict=True)
        ]
        n = len(schema.numeric) + 1 + sum(column.n_levels for column in indicators)
        check_memory(ScatterMatrix.work_bytes(n), f"{n:,} x {n:,} cross products", "Use convention='hall'.")
        incomplete = tuple(j for j in schema.numeric if schema.columns[j].n_missing)
        (products,) = gather(ScatterMatrix((*schema.numeric, schema.n_columns), tuple(indicators), incomplete))
        return _WekaCorrelations(products, schema)


class _WekaCorrelations(PairwiseAssociations):
    def __init__(self, products: ScatterMatrix, schema: Schema) -> None:
        matrix = products.matrix
        squares = np.diag(matrix).copy()
        # Each column is scaled by a power of two, so that no product overflows or underflows.
        exponent = np.frexp(squares)[1] // 2
        matrix = np.ldexp(matrix, -(exponent[:, None] + exponent))
        scaled = np.diag(matrix)
        scale = np.sqrt(np.outer(scaled, scaled))
        self._target = schema.n_columns
        # NaN marks a pair with a constant column.
        self._correlation = np.divide(np.abs(matrix), scale, out=np.full_like(matrix, np.nan), where=scale > 0)
        self._positions: dict[int, slice] = {c: slice(k, k + 1) for k, c in enumerate(products.numeric)}
        self._shares: dict[int, Floats] = {c: np.ones(1) for c in products.numeric}
        start = len(products.numeric)
        for column, n_levels, _ in products.categorical:
            self._positions[column] = slice(start, start + n_levels)
            self._shares[column] = products.mean[self._positions[column]]
            start += n_levels
        std = {
            c: np.sqrt((self._shares[c] * squares[part]).sum() / products.total_weight)
            for c, part in self._positions.items()
        }
        self._std = {c: value if value > 0 else 1.0 for c, value in std.items()}

    def associations(self, i: Indices, j: Indices) -> Floats:
        """Return the correlation times the standard deviations of the columns, that of the target left out."""
        return np.array([self._weighted_correlation(a, b) for a, b in zip(i.tolist(), j.tolist(), strict=True)])

    def self_associations(self, columns: Indices) -> Floats:
        return np.array([self._std[column] ** 2 for column in columns.tolist()])

    def _weighted_correlation(self, a: int, b: int) -> float:
        inner = self._target not in (a, b)
        scale = (self._std[a] if a != self._target else 1.0) * (self._std[b] if b != self._target else 1.0)
        block: Any = self._correlation[self._positions[a], self._positions[b]]
        weighted = np.outer(self._shares[a], self._shares[b]) * np.where(np.isnan(block), 1.0 if inner else 0.0, block)
        value = float(np.float32(weighted.sum()))
        return float(scale) * (1.0 if inner and value == 0.0 else value)
