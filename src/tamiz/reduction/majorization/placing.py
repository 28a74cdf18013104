"""New rows in a map by stress."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from tamiz import parallel
from tamiz.exceptions import DataError
from tamiz.reduction.base import check_finite_embedding
from tamiz.reduction.dissimilarities import Dissimilarities
from tamiz.reduction.majorization.curves import DisparityCurve
from tamiz.reduction.single_point import minimize_row_stress_multistart
from tamiz.statistics.base import Floats

# Dissimilarities that are there at a time.
_DISSIMILARITIES_IN_MEMORY = 2**20


@dataclass(frozen=True)
class MappedRows:
    """New rows in a map.

    Attributes
    ----------
    embedding : ndarray of shape (n_new, n_components)
    stress : ndarray of shape (n_new,)
        Kruskal's stress-1 of each row against all rows of fit.
    reliability : ndarray of shape (n_new,)
        The share of the rows of fit that are placed no better, in [0, 1]: near 0 a row has no place in this map.
    """

    embedding: Floats
    stress: Floats
    reliability: Floats


@dataclass(frozen=True)
class FittedMap:
    """A map that rows are placed in.

    Attributes
    ----------
    dissimilarities : Dissimilarities
        The rows of fit.
    curve : DisparityCurve
        What dissimilarities over the unit are turned into.
    unit : float
    embedding : ndarray of shape (n, n_components)
    stress_per_point : ndarray of shape (n,)
    """

    dissimilarities: Dissimilarities
    curve: DisparityCurve
    unit: float
    embedding: Floats
    stress_per_point: Floats

    def map_rows(self, queries: Any) -> MappedRows:
        """Return the places of new rows, each by itself; a row that is equal to one of fit gets the place of that."""
        n_new, n = queries.n_samples, self.dissimilarities.points.n_samples
        equal, points = self.dissimilarities.points.match_rows(queries)
        queries = self.dissimilarities.copy_self_values(queries, equal, points)
        embedding, stress = np.empty((n_new, self.embedding.shape[1])), np.empty(n_new)
        embedding[equal], stress[equal] = self.embedding[points], self.stress_per_point[points]
        others = np.setdiff1d(np.arange(n_new), equal)
        self.dissimilarities.require_distances(others)
        for start, stop in parallel.block_ranges(len(others), max(1, _DISSIMILARITIES_IN_MEMORY // n)):
            some = others[start:stop]
            with np.errstate(over="ignore", invalid="ignore"):
                embedding[some], stress[some] = self._map_unequal_rows(queries.take(some), some)
        check_finite_embedding(embedding)
        better = np.searchsorted(np.sort(self.stress_per_point), stress, side="left")
        return MappedRows(embedding, stress, 1.0 - better / n)

    def _map_unequal_rows(self, queries: Any, row_numbers: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Return the places of rows that are equal to none of fit, and their stress."""
        wanted = self.curve(self.dissimilarities.distances(queries, 0, queries.n_samples) / self.unit)
        known = ~np.isnan(wanted)
        if not known.any(axis=1).all():
            row = row_numbers[int(np.argmin(known.any(axis=1)))]
            raise DataError(
                f"Row {row} has no distance to any row of fit, and so no place. Measure one, or leave the row out."
            )
        fitted = self.embedding / self.unit
        places = minimize_row_stress_multistart(fitted, wanted).positions
        distances = np.where(known, cdist(places, fitted), 0.0)
        squares = (distances**2).sum(axis=1)
        left = (np.where(known, wanted - distances, 0.0) ** 2).sum(axis=1)
        stress = np.sqrt(np.divide(left, squares, out=np.zeros(len(places)), where=squares > 0))
        return places * self.unit, stress
