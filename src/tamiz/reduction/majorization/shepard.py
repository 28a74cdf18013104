"""Pairs of rows in a map by stress: what they are apart by, what that was turned into, and how far they lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tamiz.reduction.dissimilarities import Dissimilarities
from tamiz.reduction.majorization.pairs import condensed_indices
from tamiz.statistics.base import Floats


@dataclass(frozen=True)
class ShepardPairs:
    """Pairs of rows in a map.

    Attributes
    ----------
    dissimilarities : ndarray of shape (n_pairs,)
        As they were given or measured, NaN where one is missing.
    distances : ndarray of shape (n_pairs,)
        On the map.
    disparities : ndarray of shape (n_pairs,)
        What the distances are held to.
    """

    dissimilarities: Floats
    distances: Floats
    disparities: Floats

    @classmethod
    def from_rows(
        cls,
        row_indices: NDArray[np.intp],
        dissimilarities: Dissimilarities,
        embedding: Floats,
        disparities: NDArray[Any],
        unit: float,
    ) -> Self:
        """Return the pairs among some rows.

        Parameters
        ----------
        row_indices : ndarray of int
            Ascending.
        dissimilarities : Dissimilarities
            All rows.
        embedding : ndarray of shape (n, n_components)
        disparities : ndarray of shape (n (n - 1) / 2,)
            Of all pairs, over the unit.
        unit : float
        """
        i, j = (row_indices[ends] for ends in np.triu_indices(len(row_indices), 1))
        measured = [
            dissimilarities.distances(dissimilarities.points, row, row + 1)[0, row_indices[at + 1 :]]
            for at, row in enumerate(row_indices.tolist())
        ]
        distances = np.sqrt(((embedding[i] - embedding[j]) ** 2).sum(axis=1))
        held = disparities[condensed_indices(i, j, len(embedding))]
        return cls(np.concatenate(measured), distances, held * np.float64(unit))
