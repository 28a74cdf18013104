"""Out-of-sample extension of classical scaling: linear projection or Gower's formula, and rotation to principal axes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import linalg

from tamiz.arrays import Floats
from tamiz.kernels.matrix_products import project_rows
from tamiz.reduction.classical.inner_products import SquaredDistances, project_squared_distances
from tamiz.reduction.dissimilarities import Dissimilarities
from tamiz.reduction.krylov import power_of_two
from tamiz.statistics.eigenvector_signs import eigenvector_signs
from tamiz.storage.invariants import FloatArray, InstanceOf, Invariants


class Extension(ABC):
    """Maps new rows to coordinates, each row independently of the others."""

    directions: Floats

    @abstractmethod
    def accepts(self, dissimilarities: Dissimilarities) -> bool:
        """Return whether the extension fits these dissimilarities."""

    @abstractmethod
    def transform(self, dissimilarities: Dissimilarities, queries: Any, embedding: Floats) -> Floats:
        """Return the coordinates of new rows.

        Parameters
        ----------
        dissimilarities : Dissimilarities
            The training rows.
        queries : Points
            The new rows.
        embedding : ndarray of shape (n_samples, k)
            The coordinates of the training rows.
        """


@dataclass(frozen=True)
class LinearProjection(Extension):
    """Projection of numeric rows on directions from a centre.

    Attributes
    ----------
    centre : ndarray of shape (n_columns,)
    directions : ndarray of shape (k, n_columns)
    """

    centre: Floats
    directions: Floats

    invariants: ClassVar[Invariants] = {"centre": FloatArray("d"), "directions": FloatArray("k", "d")}

    def accepts(self, dissimilarities: Dissimilarities) -> bool:
        """Return whether rows have as many coordinates as the directions."""
        return dissimilarities.points.n_coordinates == len(self.centre)

    def transform(self, dissimilarities: Dissimilarities, queries: Any, embedding: Floats) -> Floats:  # noqa: ARG002
        return self.project_rows(queries.euclidean_values())

    def project_rows(self, values: Floats) -> Floats:
        out = np.empty((len(values), len(self.directions)))
        project_rows(np.ascontiguousarray(values - self.centre), self.directions, out)
        return out


@dataclass(frozen=True)
class GowerExtension(Extension):
    """Gower's formula: coordinates from the squared distances to the training rows.

    Attributes
    ----------
    squared_distances : SquaredDistances
        Coefficients of squared distances.
    directions : ndarray of shape (k, n_samples)
    offsets : ndarray of shape (k,)
    """

    squared_distances: SquaredDistances
    directions: Floats
    offsets: Floats

    invariants: ClassVar[Invariants] = {
        "squared_distances": InstanceOf(SquaredDistances),
        "directions": FloatArray("k", "n"),
        "offsets": FloatArray("k"),
    }

    def accepts(self, dissimilarities: Dissimilarities) -> bool:
        """Return whether the directions have one entry for each training row."""
        return dissimilarities.n_points == self.directions.shape[1]

    def transform(self, dissimilarities: Dissimilarities, queries: Any, embedding: Floats) -> Floats:
        if not self.squared_distances.off_diagonal:
            return self.offsets - project_squared_distances(
                dissimilarities, self.squared_distances, queries, self.directions
            )
        # The constant is not added to the distance 0 of a row to itself, so rows equal to a training row get its coordinates.
        equal, points = dissimilarities.points.match_rows(queries)
        sums = project_squared_distances(
            dissimilarities,
            self.squared_distances,
            dissimilarities.copy_self_values(queries, equal, points),
            self.directions,
        )
        out = self.offsets - sums
        out[equal] = embedding[points]
        return out

    def embed_training_rows(self, dissimilarities: Dissimilarities, sums: Floats) -> Floats:
        out = self.offsets - sums
        if self.squared_distances.off_diagonal:
            out += self.squared_distances.off_diagonal * self.directions.T
            out = out[dissimilarities.points.first_occurrences()]
        return out


def principal_axes_rotation(points: Floats) -> LinearProjection:
    """Return the projection of points to their principal axes about their mean, with a fixed choice of signs."""
    centre: Floats = points.mean(axis=0)
    centred = points - centre
    centred /= power_of_two(float(np.abs(centred).max()))
    _, vectors = linalg.eigh(centred.T @ centred)
    axes = vectors[:, ::-1]
    axes *= eigenvector_signs(centred @ axes)
    return LinearProjection(centre, np.ascontiguousarray(axes.T))
