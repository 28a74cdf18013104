"""How classical scaling places rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tamiz.kernels.projection import project
from tamiz.reduction.dissimilarities import Dissimilarities
from tamiz.reduction.inner_products import Squares, along
from tamiz.statistics.base import Floats
from tamiz.storage.invariants import Invariants, Is, Numbers


class Placement(ABC):
    """What gives rows their places, each by itself."""

    directions: Floats

    @abstractmethod
    def places_beside(self, rows: Dissimilarities) -> bool:
        """Return whether it has as many numbers as such rows are known by."""

    @abstractmethod
    def places(self, rows: Dissimilarities, queries: Any, embedding: Floats) -> Floats:
        """Return the places of new rows.

        Parameters
        ----------
        rows : Dissimilarities
            The rows of fit.
        queries : Points
            The new rows.
        embedding : ndarray of shape (n_samples, k)
            The places of the rows of fit.
        """


@dataclass(frozen=True)
class ByColumns(Placement):
    """Rows of numbers, along directions from a centre.

    Attributes
    ----------
    centre : ndarray of shape (n_columns,)
    directions : ndarray of shape (k, n_columns)
    """

    centre: Floats
    directions: Floats

    invariants: ClassVar[Invariants] = {"centre": Numbers("d"), "directions": Numbers("k", "d")}

    def places_beside(self, rows: Dissimilarities) -> bool:
        """Return whether it has one number for every number of a row."""
        return rows.points.width == len(self.centre)

    def places(self, rows: Dissimilarities, queries: Any, embedding: Floats) -> Floats:  # noqa: ARG002
        """Return the places of new rows."""
        return self.of(queries.euclidean())

    def of(self, values: Floats) -> Floats:
        """Return the places of rows of numbers."""
        out = np.empty((len(values), len(self.directions)))
        project(np.ascontiguousarray(values - self.centre), self.directions, out)
        return out


@dataclass(frozen=True)
class BySums(Placement):
    """Rows known by their squared distances to the rows of fit, by sums of these along directions.

    Attributes
    ----------
    squares : Squares
        How squared distances are made.
    directions : ndarray of shape (k, n_samples)
    offsets : ndarray of shape (k,)
    """

    squares: Squares
    directions: Floats
    offsets: Floats

    invariants: ClassVar[Invariants] = {
        "squares": Is(Squares),
        "directions": Numbers("k", "n"),
        "offsets": Numbers("k"),
    }

    def places_beside(self, rows: Dissimilarities) -> bool:
        """Return whether it has one number for every row."""
        return rows.n_points == self.directions.shape[1]

    def places(self, rows: Dissimilarities, queries: Any, embedding: Floats) -> Floats:
        """Return the places of new rows."""
        if not self.squares.step:
            return self.offsets - along(rows, self.squares, queries, self.directions)
        # The constant is not added to the distance of a row and itself: a row of fit that comes again is told by that alone.
        equal, points = rows.points.equal_to(queries)
        sums = along(rows, self.squares, rows.known(queries, equal, points), self.directions)
        out = self.offsets - sums
        out[equal] = embedding[points]
        return out

    def of_fit(self, rows: Dissimilarities, sums: Floats) -> Floats:
        """Return the places of the rows of fit, whose sums are known."""
        out = self.offsets - sums
        if self.squares.step:
            out += self.squares.step * self.directions.T
            out = out[rows.points.first_equal()]
        return out
