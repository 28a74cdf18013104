"""How classical scaling places rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import linalg

from tamiz.kernels.matrix_products import project_rows
from tamiz.reduction.classical.inner_products import SquaredDistances, project_squared_distances
from tamiz.reduction.dissimilarities import Dissimilarities
from tamiz.reduction.krylov import power_of_two
from tamiz.statistics.base import Floats
from tamiz.statistics.eigenvector_signs import eigenvector_signs
from tamiz.storage.invariants import FloatArray, InstanceOf, Invariants


# MERGED: One choice among the turns and mirrors of a map that distances leave open.
def principal_axes_rotation(points: Floats) -> LinearProjection:
    """Return what turns places to their principal axes, from their mean."""
    centre: Floats = points.mean(axis=0)
    centred = points - centre
    centred /= power_of_two(float(np.abs(centred).max()))
    _, vectors = linalg.eigh(centred.T @ centred)
    axes = vectors[:, ::-1]
    axes *= eigenvector_signs(centred @ axes)
    return LinearProjection(centre, np.ascontiguousarray(axes.T))


class Extension(ABC):
    """What gives rows their places, each by itself."""

    directions: Floats

    @abstractmethod
    def accepts(self, dissimilarities: Dissimilarities) -> bool:
        """Return whether it has as many numbers as such rows are known by."""

    @abstractmethod
    def transform(self, dissimilarities: Dissimilarities, queries: Any, embedding: Floats) -> Floats:
        """Return the places of new rows.

        Parameters
        ----------
        dissimilarities : Dissimilarities
            The rows of fit.
        queries : Points
            The new rows.
        embedding : ndarray of shape (n_samples, k)
            The places of the rows of fit.
        """


@dataclass(frozen=True)
class LinearProjection(Extension):
    """Rows of numbers, along directions from a centre.

    Attributes
    ----------
    centre : ndarray of shape (n_columns,)
    directions : ndarray of shape (k, n_columns)
    """

    centre: Floats
    directions: Floats

    invariants: ClassVar[Invariants] = {"centre": FloatArray("d"), "directions": FloatArray("k", "d")}

    def accepts(self, dissimilarities: Dissimilarities) -> bool:
        """Return whether it has one number for every number of a row."""
        return dissimilarities.points.n_coordinates == len(self.centre)

    def transform(self, dissimilarities: Dissimilarities, queries: Any, embedding: Floats) -> Floats:  # noqa: ARG002
        """Return the places of new rows."""
        return self.project_rows(queries.euclidean_values())

    def project_rows(self, values: Floats) -> Floats:
        """Return the places of rows of numbers."""
        out = np.empty((len(values), len(self.directions)))
        project_rows(np.ascontiguousarray(values - self.centre), self.directions, out)
        return out


@dataclass(frozen=True)
class GowerExtension(Extension):
    """Rows known by their squared distances to the rows of fit, by sums of these along directions.

    Attributes
    ----------
    squared_distances : SquaredDistances
        How squared distances are made.
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
        """Return whether it has one number for every row."""
        return dissimilarities.n_points == self.directions.shape[1]

    def transform(self, dissimilarities: Dissimilarities, queries: Any, embedding: Floats) -> Floats:
        """Return the places of new rows."""
        if not self.squared_distances.off_diagonal:
            return self.offsets - project_squared_distances(
                dissimilarities, self.squared_distances, queries, self.directions
            )
        # The constant is not added to the distance of a row and itself: a row of fit that comes again is told by that alone.
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
        """Return the places of the rows of fit, whose sums are known."""
        out = self.offsets - sums
        if self.squared_distances.off_diagonal:
            out += self.squared_distances.off_diagonal * self.directions.T
            out = out[dissimilarities.points.first_occurrences()]
        return out
