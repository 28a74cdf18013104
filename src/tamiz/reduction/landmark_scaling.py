"""Classical scaling of landmarks, and where it places all other rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tamiz import parallel
from tamiz.reduction.dissimilarities import Dissimilarities
from tamiz.reduction.landmarks import RowIndices, RowSubsets
from tamiz.reduction.placement import GowerExtension, LinearProjection
from tamiz.reduction.scaling import ClassicalSolution, scale_coordinates, scale_distances
from tamiz.statistics.base import Floats

# Landmarks where no number is given: so many, and at least so many a coordinate.
_DEFAULT_LANDMARKS, _LANDMARKS_PER_COORDINATE = 500, 20
# Numbers of one piece of work.
_VALUES_PER_TASK = 2**18


def default_n_landmarks(n: int, k: int) -> int:
    """Return how many of n rows are landmarks where nobody says."""
    return min(n, max(_DEFAULT_LANDMARKS, _LANDMARKS_PER_COORDINATE * k))


def random_landmarks(subsets: RowSubsets, n_landmarks: int, rng: np.random.Generator) -> RowIndices:
    """Return rows drawn at random, in their order."""
    return np.sort(rng.choice(subsets.n, size=n_landmarks, replace=False))


@dataclass(frozen=True)
class LandmarkScaling:
    """The landmarks' map with a place for every row.

    Attributes
    ----------
    solution : Scaling
        Of the landmarks.
    landmark_dissimilarities : Dissimilarities
        The landmarks, as any row has numbers with them.
    embedding : ndarray of shape (n, k)
    """

    solution: ClassicalSolution
    landmark_dissimilarities: Dissimilarities
    embedding: Floats

    @classmethod
    def fit(cls, subsets: RowSubsets, landmarks: RowIndices, k: int) -> LandmarkScaling:
        """Scale landmarks and place all rows; rows of numbers along directions, others by their distances."""
        beside, values = subsets.as_landmarks(landmarks), subsets.dissimilarities.euclidean_coordinates()
        if values is None:
            found = scale_distances(subsets.subset(landmarks), k, None)
            return cls(
                found, beside, found.extension.transform(beside, subsets.dissimilarities.points, found.embedding)
            )
        part = values[landmarks]
        if part.shape[1] < len(part):
            found = scale_coordinates(part, k)
            along = found.extension
        else:
            found = scale_distances(subsets.subset(landmarks), k, None)
            along = _as_linear_projection(found.extension, part)
        assert isinstance(along, LinearProjection)
        spans = parallel.block_ranges(len(values), max(1, _VALUES_PER_TASK // values.shape[1]))
        places = np.concatenate(list(parallel.map_blocks(lambda span: along.project_rows(values[slice(*span)]), spans)))
        return cls(replace(found, extension=along), beside, places)


def _as_linear_projection(extension: object, landmarks: Floats) -> LinearProjection:
    """Return sums of squared distances to rows of numbers as products with these.

    They are |x|^2 - 2 x'z + |z|^2, and directions sum to 0.
    """
    assert isinstance(extension, GowerExtension)
    centre: Floats = landmarks.mean(axis=0)
    return LinearProjection(centre, 2.0 * extension.directions @ (landmarks - centre))
