"""How new rows are attached to a graph: by the rule that found its edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tamiz.exceptions import DataError
from tamiz.neighbors.base import NeighborIndex, Neighbors
from tamiz.neighbors.points import Points
from tamiz.neighbors.row_encoders import RowEncoder
from tamiz.runtime.user_warnings import warn_user
from tamiz.statistics.base import Floats
from tamiz.storage.invariants import Condition, InstanceOf, Integer, Invariants, Nullable, Number


@dataclass(frozen=True)
class Attachment:
    """The neighbours of new rows among the rows of a graph.

    Attributes
    ----------
    neighbors : Neighbors
        Neighbours of the new rows, at least one for each.
    relative_weights : ndarray of shape (n_pairs,)
        Weights of the edges to these neighbours, divided by the weight of the edge to the nearest one.
    nearest_weights : ndarray of shape (n_new,)
        Weight of the edge from each new row to its nearest neighbour.
    duplicate_of : ndarray of shape (n_new,)
        The lowest row of the graph that is equal to the new row, -1 if there is none.
    """

    neighbors: Neighbors
    relative_weights: Floats
    nearest_weights: Floats
    duplicate_of: NDArray[np.intp]


@dataclass(frozen=True)
class NeighborRule:
    """How the edges of a graph were found, so that new rows can be attached by the same rule.

    Attributes
    ----------
    index : NeighborIndex
        Index of the graph's rows.
    row_encoder : RowEncoder
        Reads new rows as the graph's rows were read.
    search_description : str
        How the neighbours were found.
    recall : float
        Share of the true neighbours that were found.
    n_neighbors : int or None
        Neighbours of each row; None for a radius graph or a same-class graph.
    radius : float or None
        Radius within which rows are joined; None for a k-nearest-neighbour graph or a same-class graph.
    """

    index: NeighborIndex
    row_encoder: RowEncoder
    search_description: str
    recall: float
    n_neighbors: int | None = None
    radius: float | None = None

    invariants: ClassVar[Invariants] = {
        "index": InstanceOf(NeighborIndex),
        "index.points.n_samples": Integer(low=1, size="n"),
        "row_encoder": (
            InstanceOf(RowEncoder),
            Condition(
                lambda it: it.row_encoder.n_coordinates in (None, it.index.points.n_coordinates),
                "does not read what its index was made of",
            ),
        ),
        "search_description": InstanceOf(str),
        "recall": Number(0.0, 1.0),
        "n_neighbors": Nullable(Integer(low=1, below="n+1")),
        "radius": Nullable(Number(0.0)),
    }

    @classmethod
    def from_index(
        cls,
        index: NeighborIndex,
        row_encoder: RowEncoder,
        *,
        n_neighbors: int | None = None,
        radius: float | None = None,
    ) -> NeighborRule:
        """Return the rule of edges that an index found."""
        return cls(index, row_encoder, index.description, index.recall, n_neighbors, radius)

    def query_points(self, X: Any) -> Points:
        """Return new rows as points under the graph's metric."""
        return self.index.points.new_points(self.row_encoder.encode(X))

    def find_neighbors(self, queries: Points) -> Neighbors:
        """Return the neighbours of new rows; a row with none within the radius gets its nearest row, with a warning."""
        if self.n_neighbors is not None:
            return self.index.query(self.n_neighbors, queries)
        if self.radius is None:
            raise DataError("A same-class graph cannot attach a row without a class; build a nearest-neighbour graph.")
        near = self.index.query_radius(self.radius, queries)
        alone = np.flatnonzero(np.diff(near.indptr) == 0)
        if not alone.size:
            return near
        rows = "row has" if alone.size == 1 else "rows have"
        warn_user(
            [
                f"{alone.size:,} new {rows} no row of the graph within the radius {self.radius:.6g} and "
                f"{'is' if alone.size == 1 else 'are'} joined to the nearest."
            ]
        )
        return near.fill_rows(alone, self.index.query(1, queries.take(alone)))
