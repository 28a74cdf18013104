"""Classical scaling of landmarks, and where it places all other rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tamiz import parallel
from tamiz.reduction.dissimilarities import Dissimilarities
from tamiz.reduction.landmarks import Rows, Some
from tamiz.reduction.placement import ByColumns, BySums
from tamiz.reduction.scaling import Scaling, by_columns, by_distances
from tamiz.statistics.base import Floats

# Landmarks where no number is given: so many, and at least so many a coordinate.
_LANDMARKS, _A_COORDINATE = 500, 20
# Numbers of one piece of work.
_PIECE = 2**18


def enough(n: int, k: int) -> int:
    """Return how many of n rows are landmarks where nobody says."""
    return min(n, max(_LANDMARKS, _A_COORDINATE * k))


def drawn(table: Some, n_landmarks: int, rng: np.random.Generator) -> Rows:
    """Return rows drawn at random, in their order."""
    return np.sort(rng.choice(table.n, size=n_landmarks, replace=False))


@dataclass(frozen=True)
class LandmarkScaling:
    """The landmarks' map with a place for every row.

    Attributes
    ----------
    scaling : Scaling
        Of the landmarks.
    beside : Dissimilarities
        The landmarks, as any row has numbers with them.
    places : ndarray of shape (n, k)
    """

    scaling: Scaling
    beside: Dissimilarities
    places: Floats

    @classmethod
    def of(cls, table: Some, landmarks: Rows, k: int) -> LandmarkScaling:
        """Scale landmarks and place all rows; rows of numbers along directions, others by their distances."""
        beside, values = table.beside(landmarks), table.rows.columns()
        if values is None:
            found = by_distances(table.alone(landmarks), k, None)
            return cls(found, beside, found.placement.places(beside, table.rows.points, found.embedding))
        part = values[landmarks]
        if part.shape[1] < len(part):
            found = by_columns(part, k)
            along = found.placement
        else:
            found = by_distances(table.alone(landmarks), k, None)
            along = _linear(found.placement, part)
        assert isinstance(along, ByColumns)
        spans = parallel.spans(len(values), max(1, _PIECE // values.shape[1]))
        places = np.concatenate(list(parallel.map_blocks(lambda span: along.of(values[slice(*span)]), spans)))
        return cls(replace(found, placement=along), beside, places)


def _linear(placement: object, landmarks: Floats) -> ByColumns:
    """Return sums of squared distances to rows of numbers as products with these.

    They are |x|^2 - 2 x'z + |z|^2, and directions sum to 0.
    """
    assert isinstance(placement, BySums)
    centre: Floats = landmarks.mean(axis=0)
    return ByColumns(centre, 2.0 * placement.directions @ (landmarks - centre))
