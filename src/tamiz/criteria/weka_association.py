"""The habits of Weka's CfsSubsetEval, kept apart from the formula they depart from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.criteria.base import Association, GatherFunction, PairwiseAssociations
from tamiz.runtime.validation import check_memory
from tamiz.sources.schema import Schema
from tamiz.statistics.base import Floats
from tamiz.statistics.contingency import Coding, LevelCounts
from tamiz.statistics.cross_products import LevelIndicators, ScatterMatrix

# Weka takes numbers closer than this for equal.
_ZERO_TOLERANCE = 1e-6


class WekaUncertainty(Association):
    """An association rounded to single precision, where 0 between two columns counts as 1."""

    def __init__(self, association: Association) -> None:
        self.association = association

    def check(self, schema: Schema) -> None:
        """Refuse what the association refuses."""
        self.association.check(schema)

    def pairwise(self, gather: GatherFunction, schema: Schema) -> PairwiseAssociations:
        """Return the association over one table."""
        return _WekaUncertainties(self.association.pairwise(gather, schema), schema.n_columns)


class _WekaUncertainties(PairwiseAssociations):
    def __init__(self, associations: PairwiseAssociations, target: int) -> None:
        self._exact = associations
        self._target = target

    def associations(self, i: NDArray[np.intp], j: NDArray[np.intp]) -> Floats:
        """Return the values as Weka holds them."""
        values = self._exact.associations(i, j).astype(np.float32).astype(np.float64)
        inner = (i != self._target) & (j != self._target)
        return np.where(inner & (values < _ZERO_TOLERANCE), 1.0, values)


class WekaCorrelation(Association):
    """|Pearson| for a numeric target, times the columns' standard deviations.

    A nominal column is a set of indicators, one a value: its correlation is the mean over the values, weighted by
    their shares, of the indicators' |Pearson|. A gap counts as the mean, or as the most frequent value.
    """

    def pairwise(self, gather: GatherFunction, schema: Schema) -> PairwiseAssociations:
        """Return the association over one table."""
        (levels,) = gather(LevelCounts(schema.categorical, Coding(schema.n_levels, {})))
        modes = [int(np.argmax(counts[:-1])) for counts in levels.counts]
        filled = [
            LevelIndicators(j, schema.n_levels[j], mode) for j, mode in zip(schema.categorical, modes, strict=True)
        ]
        n = len(schema.numeric) + 1 + sum(one.n_levels for one in filled)
        check_memory(ScatterMatrix.work_bytes(n), f"{n:,} x {n:,} cross products", "Use convention='hall'.")
        gappy = tuple(j for j in schema.numeric if schema.columns[j].n_missing)
        (products,) = gather(ScatterMatrix((*schema.numeric, schema.n_columns), tuple(filled), gappy))
        return _WekaCorrelations(products, schema)


class _WekaCorrelations(PairwiseAssociations):
    def __init__(self, products: ScatterMatrix, schema: Schema) -> None:
        matrix = products.matrix
        squares = np.diag(matrix).copy()
        # In powers of two of each column's own, so that no product leaves the range of numbers.
        unit = np.frexp(squares)[1] // 2
        matrix = np.ldexp(matrix, -(unit[:, None] + unit))
        scaled = np.diag(matrix)
        scale = np.sqrt(np.outer(scaled, scaled))
        self._target = schema.n_columns
        # NaN marks a pair in which one does not vary.
        self._correlation = np.divide(np.abs(matrix), scale, out=np.full_like(matrix, np.nan), where=scale > 0)
        self._positions: dict[int, slice] = {c: slice(k, k + 1) for k, c in enumerate(products.numeric)}
        self._shares: dict[int, Floats] = {c: np.ones(1) for c in products.numeric}
        start = len(products.numeric)
        for column, n_levels, _ in products.categorical:
            self._positions[column] = slice(start, start + n_levels)
            self._shares[column] = products.mean[self._positions[column]]
            start += n_levels
        spread = {
            c: np.sqrt((self._shares[c] * squares[part]).sum() / products.total_weight)
            for c, part in self._positions.items()
        }
        self._spread = {c: value if value > 0 else 1.0 for c, value in spread.items()}

    def associations(self, i: NDArray[np.intp], j: NDArray[np.intp]) -> Floats:
        """Return correlation times standard deviations, the target's left out."""
        return np.array([self._weighted_correlation(a, b) for a, b in zip(i.tolist(), j.tolist(), strict=True)])

    def self_associations(self, columns: NDArray[np.intp]) -> Floats:
        """Return the variances."""
        return np.array([self._spread[column] ** 2 for column in columns.tolist()])

    def _weighted_correlation(self, a: int, b: int) -> float:
        inner = self._target not in (a, b)
        scale = (self._spread[a] if a != self._target else 1.0) * (self._spread[b] if b != self._target else 1.0)
        block: Any = self._correlation[self._positions[a], self._positions[b]]
        weighed = np.outer(self._shares[a], self._shares[b]) * np.where(np.isnan(block), 1.0 if inner else 0.0, block)
        value = float(np.float32(weighed.sum()))
        return float(scale) * (1.0 if inner and value == 0.0 else value)
