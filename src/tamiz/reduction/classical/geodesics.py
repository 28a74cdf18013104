"""Classical scaling of geodesic distances: of landmarks, with all other rows mapped by their distances to these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats, Indices
from tamiz.graphs.shortest_paths import Output, ShortestPaths
from tamiz.kernels.matrix_products import project_squares
from tamiz.kernels.shortest_paths import add_distance_moments, distances_by_neighbors
from tamiz.neighbors.base import Neighbors
from tamiz.neighbors.precomputed import PrecomputedDistances
from tamiz.reduction.classical_scaling import GowerExtension, NegativeShare, scale_distances
from tamiz.reduction.dissimilarities import PrecomputedDissimilarities
from tamiz.reduction.krylov import power_of_two
from tamiz.runtime import parallel
from tamiz.runtime.validation import check_memory
from tamiz.runtime.verdicts import Verdict
from tamiz.storage.invariants import Condition, FloatArray, Invariants, Number

# Residual norm of eigenvectors, relative to the largest eigenvalue.
_TOL = 1e-11
# Values of one parallel task.
_VALUES_PER_TASK = 2**18
# Directions that a kernel multiplies at a time.
_PROJECTION_WIDTH = 4
# Variances below this share of the mean square are rounding errors.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class GeodesicExtension:
    """The formula of landmark MDS for rows of a graph: coordinates from geodesic distances to landmarks.

    Attributes
    ----------
    geodesics : ndarray of shape (n, l), float32
        The geodesic distances of the rows of the fit to the landmarks, divided by `unit`; the relative error is at most 6e-8.
    unit : float
        A power of two near the longest edge.
    directions : ndarray of shape (k, l)
    offsets : ndarray of shape (k,)
    """

    geodesics: NDArray[np.float32]
    unit: float
    directions: Floats
    offsets: Floats

    invariants: ClassVar[Invariants] = {
        "geodesics": (
            FloatArray("n", "l", low=0.0, allow_float32=True),
            Condition(lambda it: it.geodesics.dtype == np.float32, "is not of float32"),
        ),
        "unit": Number(0.0),
        "directions": FloatArray("k", "l"),
        "offsets": FloatArray("k"),
    }

    def extend(self, near: Neighbors) -> Floats:
        """Return the coordinates of new rows.

        Parameters
        ----------
        near : Neighbors
            Their neighbours among the rows of the fit. The geodesic distance to a landmark is the least sum of the distance to a
            neighbour and the neighbour's geodesic distance.
        """

        def read(start: int, stop: int) -> Floats:
            out = np.empty((stop - start, self.geodesics.shape[1]))
            distances_by_neighbors(
                near.indptr, near.indices, near.distances, self.geodesics, self.unit, start, stop, out
            )
            return out

        return self._map_blocks(read, near.n_rows)

    def embed_rows(self) -> Floats:
        def read(start: int, stop: int) -> Floats:
            return self.geodesics[start:stop].astype(np.float64) * self.unit

        return self._map_blocks(read, len(self.geodesics))

    def _map_blocks(self, read: Callable[[int, int], Floats], n: int) -> Floats:
        spans = parallel.block_ranges(n, max(1, _VALUES_PER_TASK // self.geodesics.shape[1]))
        return np.concatenate(list(parallel.map_blocks(lambda span: self._project(read(*span)), spans)))

    def _project(self, distances: Floats) -> Floats:
        """Return the coordinates of rows with these geodesic distances; those of a row do not depend on the others, to the bit."""
        k, n_landmarks = self.directions.shape
        out, sums = np.empty((len(distances), k)), np.empty((_PROJECTION_WIDTH, len(distances)))
        for start, stop in parallel.block_ranges(k, _PROJECTION_WIDTH):
            four = np.zeros((_PROJECTION_WIDTH, n_landmarks))
            four[: stop - start] = self.directions[start:stop]
            project_squares(distances, 1.0, 0.0, four, sums)
            out[:, start:stop] = self.offsets[start:stop] - sums[: stop - start].T
        return out


@dataclass(frozen=True)
class GeodesicScaling:
    """The map of the rows of one component of a graph.

    Attributes
    ----------
    extension : GeodesicExtension
    embedding : ndarray of shape (n, k)
        Coordinates of all rows.
    eigenvalues : ndarray of shape (k,)
        The largest eigenvalues of the centred inner products of the landmarks, descending.
    residual_variances : ndarray of shape (k,)
        1 - R^2 of the geodesic distances between landmarks and rows and their distances in the first 1 to k coordinates.
    negative_share : NegativeShare
    warnings : tuple of Verdict
        Warnings about convergence.
    """

    extension: GeodesicExtension
    embedding: Floats
    eigenvalues: Floats
    residual_variances: Floats
    negative_share: NegativeShare
    warnings: tuple[Verdict, ...] = ()

    @classmethod
    def fit(cls, paths: ShortestPaths, rows: Indices, landmarks: Indices, k: int) -> GeodesicScaling:
        """Scale landmarks and map all rows of a component.

        Parameters
        ----------
        paths : ShortestPaths
        rows : ndarray of shape (n,)
            All rows of the component, ascending.
        landmarks : ndarray of shape (l,)
            Some or all of these rows.
        k : int
            Number of coordinates, below l.
        """
        n, n_landmarks = len(rows), len(landmarks)
        if n == 1:
            nothing = np.zeros((0, 1))
            extension = GeodesicExtension(np.zeros((1, 1), dtype=np.float32), 1.0, nothing, nothing[:, 0])
            return cls(extension, nothing.T, nothing[:, 0], nothing[:, 0], NegativeShare(0.0, 0.0, 0.0))
        check_memory(
            4.0 * n * n_landmarks + 8.0 * n_landmarks**2,
            f"The geodesic distances of {n:,} rows and {n_landmarks:,} landmarks",
            "Lower n_landmarks.",
        )
        landmarks = paths.sort(landmarks)
        geodesics, among = np.empty((n, n_landmarks), dtype=np.float32), np.empty((n_landmarks, n_landmarks))
        unit = power_of_two(paths.longest_edge)
        paths.fill(landmarks, Output(rows, geodesics, unit), Output(landmarks, among))
        everything = np.arange(n_landmarks)
        points = PrecomputedDistances.from_state({"distances": among, "rows": everything, "columns": everything})
        classical = scale_distances(PrecomputedDissimilarities(points), k, None, tol=_TOL)
        gower = classical.extension
        assert isinstance(gower, GowerExtension)
        extension = GeodesicExtension(geodesics, unit, gower.directions, gower.offsets)
        embedding = np.empty((n, k)) if n_landmarks == n else extension.embed_rows()
        # The geodesic distances among landmarks are not rounded to float32.
        embedding[np.searchsorted(rows, landmarks)] = classical.embedding
        variances = _residual_variances(geodesics, embedding / unit, classical.embedding / unit)
        return cls(extension, embedding, classical.eigenvalues, variances, classical.negative_share, classical.warnings)


def _residual_variances(geodesics: NDArray[np.float32], points: Floats, landmarks: Floats) -> Floats:
    """Return 1 - R^2 over all pairs of a landmark and another row; NaN if all geodesics are equal, 1 if all points are."""
    (n, n_landmarks), k = geodesics.shape, points.shape[1]
    columns = np.ascontiguousarray(landmarks.T)

    def moments(span: tuple[int, int]) -> Floats:
        out = np.zeros((k + 1, 3))
        add_distance_moments(geodesics, points, columns, *span, np.empty(n_landmarks), out)
        return out

    spans = parallel.block_ranges(n, max(1, _VALUES_PER_TASK // n_landmarks))
    # A landmark and itself add 0 to every sum.
    means = sum(parallel.map_blocks(moments, spans), np.zeros((k + 1, 3))) / (n * n_landmarks - n_landmarks)
    variance = means[0, 1] - means[0, 0] ** 2
    if variance <= _ROUNDING * means[0, 1]:
        return np.full(k, np.nan)
    on_map = means[1:, 1] - means[1:, 0] ** 2
    covariance = means[1:, 2] - means[1:, 0] * means[0, 0]
    explained = np.divide(covariance**2, on_map * variance, out=np.zeros(k), where=on_map > _ROUNDING * means[1:, 1])
    return np.asarray(np.clip(1.0 - explained, 0.0, 1.0))
