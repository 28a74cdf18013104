"""Landmarks: subsets of rows, the distances of all rows to them, and classical scaling of all rows by them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats, Indices
from tamiz.neighbors.precomputed import PrecomputedDistances
from tamiz.reduction.classical_scaling import (
    ClassicalSolution,
    GowerExtension,
    LinearProjection,
    scale_coordinates,
    scale_distances,
)
from tamiz.reduction.dissimilarities import (
    Dissimilarities,
    FromSimilarities,
    Similarities,
)
from tamiz.runtime import parallel
from tamiz.storage.invariants import InstanceOf, IntegerArray, Invariants

# Default number of landmarks, and its minimum for each coordinate.
_DEFAULT_LANDMARKS, _LANDMARKS_PER_COORDINATE = 500, 20
# Values of one parallel task.
_VALUES_PER_TASK = 2**18
# Distances of one parallel task.
_DISTANCES_PER_TASK = 2**17
# Rows of a precomputed matrix that are copied at a time.
_ROWS_PER_COPY = 32


class RowSubsets:
    """Distances within subsets of rows, and from single rows to all, computed on demand.

    Parameters
    ----------
    dissimilarities : Dissimilarities
        All rows.
    """

    def __init__(self, dissimilarities: Dissimilarities) -> None:
        self.dissimilarities = dissimilarities

    @property
    def n(self) -> int:
        return int(self.dissimilarities.points.n_samples)

    def subset(self, rows: Indices) -> Dissimilarities:
        return Dissimilarities(self.dissimilarities.points.take(rows))

    def as_landmarks(self, rows: Indices) -> Dissimilarities:
        """Return the dissimilarities of any rows to these rows, without references to the others."""
        return self.subset(rows)

    def distances_among(self, rows: Indices) -> Floats:
        alone = self.subset(rows)
        return alone.distances(alone.points, 0, len(rows))

    def distances_from(self, row: int) -> Floats:
        one, out = self.subset(np.array([row])), np.empty(self.n)

        def piece(span: tuple[int, int]) -> None:
            out[slice(*span)] = one.distances(self.dissimilarities.points, *span)[:, 0]

        parallel.run_blocks(piece, parallel.block_ranges(self.n, _DISTANCES_PER_TASK))
        return out


class _LandmarkColumns(Dissimilarities):
    """Numbers of pairs of rows and landmarks, as columns of a matrix that has a column for every training row.

    `points` are all training rows, or no rows with what the distances of others to them need.
    """

    invariants: ClassVar[Invariants] = {"landmarks": IntegerArray("l")}

    def __init__(self, points: Any, landmarks: Indices) -> None:
        super().__init__(points)
        self.landmarks = landmarks

    @property
    def n_points(self) -> int:
        return len(self.landmarks)

    def block(self, queries: Any, start: int, stop: int) -> Floats:
        """Return some columns; few rows at a time, because each has a number for every training row."""
        out = np.empty((stop - start, len(self.landmarks)))
        for a, b in parallel.block_ranges(stop - start, _ROWS_PER_COPY):
            numbers = super().block(queries, start + a, start + b)
            np.take(numbers, self.landmarks, axis=1, out=out[a:b], mode="clip")
        return out


class LandmarkDistances(_LandmarkColumns):
    """Distances to landmarks, by a matrix of distances to all training rows."""

    points: PrecomputedDistances
    invariants: ClassVar[Invariants] = {"points": InstanceOf(PrecomputedDistances)}


class LandmarkSimilarities(_LandmarkColumns, FromSimilarities):
    """Similarities to landmarks, by a matrix of similarities to all training rows."""


class _PairMatrixSubsets(RowSubsets):
    def distances_from(self, row: int) -> Floats:
        return self.dissimilarities.distances(self.dissimilarities.points, row, row + 1)[0]

    def _submatrix(self, rows: Indices) -> NDArray[np.floating[Any]]:
        """Return the submatrix of some rows in the type of the matrix, on which the tolerances of its checks depend."""
        numbers = np.stack(
            [self.dissimilarities.block(self.dissimilarities.points, row, row + 1)[0, rows] for row in rows.tolist()]
        )
        return numbers.astype(self.dissimilarities.points.dtype)


class _DistanceMatrixSubsets(_PairMatrixSubsets):
    def subset(self, rows: Indices) -> Dissimilarities:
        return Dissimilarities(PrecomputedDistances(self._submatrix(rows)))

    def as_landmarks(self, rows: Indices) -> Dissimilarities:
        """Return distances to these rows; of the matrix only its number of columns is stored."""
        everything = np.arange(self.n)
        no_rows = np.empty((0, self.n), dtype=self.dissimilarities.points.dtype)
        columns = PrecomputedDistances.from_state({"distances": no_rows, "rows": everything, "columns": everything})
        return LandmarkDistances(columns, rows)


class _SimilarityMatrixSubsets(_PairMatrixSubsets):
    def subset(self, rows: Indices) -> Dissimilarities:
        return FromSimilarities(Similarities(self._submatrix(rows)))

    def as_landmarks(self, rows: Indices) -> Dissimilarities:
        """Return similarities to these rows; of the matrix only the self-similarities are stored."""
        return LandmarkSimilarities(self.dissimilarities.points.take(np.arange(0)), rows)


_SUBSETS_BY_DISSIMILARITY: dict[str, type[RowSubsets]] = {
    "precomputed": _DistanceMatrixSubsets,
    "similarity": _SimilarityMatrixSubsets,
}


def create_subsets(dissimilarities: Dissimilarities, dissimilarity: str) -> RowSubsets:
    return _SUBSETS_BY_DISSIMILARITY.get(dissimilarity, RowSubsets)(dissimilarities)


def default_n_landmarks(n: int, k: int) -> int:
    return min(n, max(_DEFAULT_LANDMARKS, _LANDMARKS_PER_COORDINATE * k))


def random_landmarks(subsets: RowSubsets, n_landmarks: int, rng: np.random.Generator) -> Indices:
    return np.sort(rng.choice(subsets.n, size=n_landmarks, replace=False))


@dataclass(frozen=True)
class LandmarkScaling:
    """Classical scaling of landmarks, extended to all rows.

    Attributes
    ----------
    solution : ClassicalSolution
        The solution for the landmarks.
    landmark_dissimilarities : Dissimilarities
        Dissimilarities of any rows to the landmarks.
    embedding : ndarray of shape (n, k)
        Coordinates of all rows.
    """

    solution: ClassicalSolution
    landmark_dissimilarities: Dissimilarities
    embedding: Floats

    @classmethod
    def fit(cls, subsets: RowSubsets, landmarks: Indices, k: int) -> LandmarkScaling:
        """Scale the landmarks and map all rows: by a linear projection for Euclidean rows, else by Gower's formula."""
        to_landmarks, values = subsets.as_landmarks(landmarks), subsets.dissimilarities.euclidean_coordinates()
        if values is None:
            found = scale_distances(subsets.subset(landmarks), k, None)
            return cls(
                found,
                to_landmarks,
                found.extension.transform(to_landmarks, subsets.dissimilarities.points, found.embedding),
            )
        part = values[landmarks]
        if part.shape[1] < len(part):
            found = scale_coordinates(part, k)
            projection = found.extension
        else:
            found = scale_distances(subsets.subset(landmarks), k, None)
            projection = _as_linear_projection(found.extension, part)
        assert isinstance(projection, LinearProjection)
        spans = parallel.block_ranges(len(values), max(1, _VALUES_PER_TASK // values.shape[1]))
        embedding = np.concatenate(
            list(parallel.map_blocks(lambda span: projection.project_rows(values[slice(*span)]), spans))
        )
        return cls(replace(found, extension=projection), to_landmarks, embedding)


def _as_linear_projection(extension: object, landmarks: Floats) -> LinearProjection:
    """Convert Gower's formula for Euclidean landmarks to a linear projection.

    With |x - z|^2 = |x|^2 - 2 x'z + |z|^2 the term |x|^2 vanishes, because the directions sum to 0.
    """
    assert isinstance(extension, GowerExtension)
    centre: Floats = landmarks.mean(axis=0)
    return LinearProjection(centre, 2.0 * extension.directions @ (landmarks - centre))
