"""A few rows of many, and the numbers that all others have with them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tamiz.neighbors.precomputed import PrecomputedDistances
from tamiz.reduction.classical.extension import GowerExtension, LinearProjection
from tamiz.reduction.classical.scaling import ClassicalSolution, scale_coordinates, scale_distances
from tamiz.reduction.dissimilarities import (
    ComputedDissimilarities,
    Dissimilarities,
    FromSimilarities,
    PrecomputedDissimilarities,
    Similarities,
)
from tamiz.runtime import parallel
from tamiz.statistics.base import Floats
from tamiz.storage.invariants import IntegerArray, Invariants

# MERGED: Classical scaling of landmarks, and where it places all other rows.
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


RowIndices = NDArray[np.intp]

# Numbers of one piece of work.
_DISTANCES_PER_TASK = 2**17
# Rows of a table of pairs that are copied at a time.
_ROWS_PER_COPY = 32


class RowSubsets:
    """Rows of a table that are measured from one another, and from all others, when they are asked for.

    Parameters
    ----------
    dissimilarities : Dissimilarities
        All rows.
    """

    def __init__(self, dissimilarities: Dissimilarities) -> None:
        self.dissimilarities = dissimilarities

    @property
    def n(self) -> int:
        """How many rows there are."""
        return int(self.dissimilarities.points.n_samples)

    def subset(self, rows: RowIndices) -> Dissimilarities:
        """Return some of the rows, without the others."""
        return ComputedDissimilarities(self.dissimilarities.points.take(rows))

    def as_landmarks(self, rows: RowIndices) -> Dissimilarities:
        """Return some of the rows as those that any row has numbers with; all others are let go."""
        return self.subset(rows)

    def distances_among(self, rows: RowIndices) -> Floats:
        """Return the distances of some rows from one another."""
        alone = self.subset(rows)
        return alone.distances(alone.points, 0, len(rows))

    def distances_from(self, row: int) -> Floats:
        """Return the distances of all rows from one."""
        one, out = self.subset(np.array([row])), np.empty(self.n)

        def piece(span: tuple[int, int]) -> None:
            out[slice(*span)] = one.distances(self.dissimilarities.points, *span)[:, 0]

        for _ in parallel.map_blocks(piece, parallel.block_ranges(self.n, _DISTANCES_PER_TASK)):
            pass
        return out


class LandmarkDistances(PrecomputedDissimilarities):
    """Rows whose distances to some of many rows are read, from a table of distances to all of them.

    Parameters
    ----------
    points : PrecomputedDistances
        All those rows.
    landmarks : ndarray of int
    """

    invariants: ClassVar[Invariants] = {"landmarks": IntegerArray("l")}

    def __init__(self, points: Any, landmarks: RowIndices) -> None:
        super().__init__(points)
        self.landmarks = landmarks

    @property
    def n_points(self) -> int:
        """Those that are picked."""
        return len(self.landmarks)

    def block(self, queries: Any, start: int, stop: int) -> Floats:
        """Return distances to those that are picked."""
        out = np.empty((stop - start, len(self.landmarks)))
        for a, b in parallel.block_ranges(stop - start, _ROWS_PER_COPY):
            np.take(super().block(queries, start + a, start + b), self.landmarks, axis=1, out=out[a:b], mode="clip")
        return out


class LandmarkSimilarities(FromSimilarities):
    """Rows whose similarities to some of many rows are read, from a table of similarities to all of them.

    Parameters
    ----------
    points : Similarities
        All those rows, or none of them, with the similarities of all to themselves.
    landmarks : ndarray of int
    """

    invariants: ClassVar[Invariants] = {"landmarks": IntegerArray("l")}

    def __init__(self, points: Similarities, landmarks: RowIndices) -> None:
        super().__init__(points)
        self.landmarks = landmarks

    @property
    def n_points(self) -> int:
        """Those that are picked."""
        return len(self.landmarks)

    def block(self, queries: Any, start: int, stop: int) -> Floats:
        """Return similarities to those that are picked."""
        out = np.empty((stop - start, len(self.landmarks)))
        for a, b in parallel.block_ranges(stop - start, _ROWS_PER_COPY):
            np.take(super().block(queries, start + a, start + b), self.landmarks, axis=1, out=out[a:b], mode="clip")
        return out


class _PairMatrixSubsets(RowSubsets):
    """Rows of a table of pairs."""

    def distances_from(self, row: int) -> Floats:
        """Return a row of the table as distances."""
        return self.dissimilarities.distances(self.dissimilarities.points, row, row + 1)[0]

    def _submatrix(self, rows: RowIndices) -> NDArray[np.floating[Any]]:
        """Return the numbers of some rows with one another, in the table's own precision: its checks are by that."""
        numbers = np.stack(
            [self.dissimilarities.block(self.dissimilarities.points, row, row + 1)[0, rows] for row in rows.tolist()]
        )
        return numbers.astype(self.dissimilarities.points.dtype)


class _DistanceMatrixSubsets(_PairMatrixSubsets):
    def subset(self, rows: RowIndices) -> Dissimilarities:
        """Return some of the rows, without the others."""
        return PrecomputedDissimilarities(PrecomputedDistances(self._submatrix(rows)))

    def as_landmarks(self, rows: RowIndices) -> Dissimilarities:
        """Return the columns of some rows; of the table the number of its columns is kept."""
        everything = np.arange(self.n)
        held = np.empty((0, self.n), dtype=self.dissimilarities.points.dtype)
        columns = PrecomputedDistances.from_state({"distances": held, "rows": everything, "columns": everything})
        return LandmarkDistances(columns, rows)


class _SimilarityMatrixSubsets(_PairMatrixSubsets):
    def subset(self, rows: RowIndices) -> Dissimilarities:
        """Return some of the rows, without the others."""
        return FromSimilarities(Similarities(self._submatrix(rows)))

    def as_landmarks(self, rows: RowIndices) -> Dissimilarities:
        """Return the columns of some rows; of the table the similarities of rows to themselves are kept."""
        return LandmarkSimilarities(self.dissimilarities.points.take(np.arange(0)), rows)


_SUBSETS_BY_DISSIMILARITY: dict[str, type[RowSubsets]] = {
    "precomputed": _DistanceMatrixSubsets,
    "similarity": _SimilarityMatrixSubsets,
}


def create_subsets(dissimilarities: Dissimilarities, dissimilarity: str) -> RowSubsets:
    """Return what measures some of the rows that were read by a dissimilarity."""
    return _SUBSETS_BY_DISSIMILARITY.get(dissimilarity, RowSubsets)(dissimilarities)
