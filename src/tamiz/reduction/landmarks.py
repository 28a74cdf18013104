"""A few rows of many, and the numbers that all others have with them."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tamiz import parallel
from tamiz.graphs.metrics.precomputed import PrecomputedDistances
from tamiz.reduction.dissimilarities import Dissimilarities, Given, Measured, Similar
from tamiz.reduction.similarities import Similarities
from tamiz.statistics.base import Floats
from tamiz.storage.invariants import Invariants, Whole

Rows = NDArray[np.intp]

# Numbers of one piece of work.
_PIECE = 2**17
# Rows of a table of pairs that are copied at a time.
_FEW = 32


class Some:
    """Rows of a table that are measured from one another, and from all others, when they are asked for.

    Parameters
    ----------
    rows : Dissimilarities
        All rows.
    """

    def __init__(self, rows: Dissimilarities) -> None:
        self.rows = rows

    @property
    def n(self) -> int:
        """How many rows there are."""
        return int(self.rows.points.n_samples)

    def alone(self, some: Rows) -> Dissimilarities:
        """Return some of the rows, without the others."""
        return Measured(self.rows.points.take(some))

    def beside(self, some: Rows) -> Dissimilarities:
        """Return some of the rows as those that any row has numbers with; all others are let go."""
        return self.alone(some)

    def among(self, some: Rows) -> Floats:
        """Return the distances of some rows from one another."""
        alone = self.alone(some)
        return alone.distances(alone.points, 0, len(some))

    def from_row(self, row: int) -> Floats:
        """Return the distances of all rows from one."""
        one, out = self.alone(np.array([row])), np.empty(self.n)

        def piece(span: tuple[int, int]) -> None:
            out[slice(*span)] = one.distances(self.rows.points, *span)[:, 0]

        for _ in parallel.map_blocks(piece, parallel.spans(self.n, _PIECE)):
            pass
        return out


class PickedDistances(Given):
    """Rows whose distances to some of many rows are read, from a table of distances to all of them.

    Parameters
    ----------
    points : PrecomputedDistances
        All those rows.
    picked : ndarray of int
    """

    invariants: ClassVar[Invariants] = {"picked": Whole("l")}

    def __init__(self, points: Any, picked: Rows) -> None:
        super().__init__(points)
        self.picked = picked

    @property
    def n_points(self) -> int:
        """Those that are picked."""
        return len(self.picked)

    def block(self, queries: Any, start: int, stop: int) -> Floats:
        """Return distances to those that are picked."""
        out = np.empty((stop - start, len(self.picked)))
        for a, b in parallel.spans(stop - start, _FEW):
            np.take(super().block(queries, start + a, start + b), self.picked, axis=1, out=out[a:b], mode="clip")
        return out


class PickedSimilarities(Similar):
    """Rows whose similarities to some of many rows are read, from a table of similarities to all of them.

    Parameters
    ----------
    points : Similarities
        All those rows, or none of them, with the similarities of all to themselves.
    picked : ndarray of int
    """

    invariants: ClassVar[Invariants] = {"picked": Whole("l")}

    def __init__(self, points: Similarities, picked: Rows) -> None:
        super().__init__(points)
        self.picked = picked

    @property
    def n_points(self) -> int:
        """Those that are picked."""
        return len(self.picked)

    def block(self, queries: Any, start: int, stop: int) -> Floats:
        """Return similarities to those that are picked."""
        out = np.empty((stop - start, len(self.picked)))
        for a, b in parallel.spans(stop - start, _FEW):
            np.take(super().block(queries, start + a, start + b), self.picked, axis=1, out=out[a:b], mode="clip")
        return out


class _OfPairs(Some):
    """Rows of a table of pairs."""

    def from_row(self, row: int) -> Floats:
        """Return a row of the table as distances."""
        return self.rows.distances(self.rows.points, row, row + 1)[0]

    def _numbers(self, some: Rows) -> NDArray[np.floating[Any]]:
        """Return the numbers of some rows with one another, in the table's own precision: its checks are by that."""
        numbers = np.stack([self.rows.block(self.rows.points, row, row + 1)[0, some] for row in some.tolist()])
        return numbers.astype(self.rows.points.dtype)


class _OfDistances(_OfPairs):
    def alone(self, some: Rows) -> Dissimilarities:
        """Return some of the rows, without the others."""
        return Given(PrecomputedDistances(self._numbers(some)))

    def beside(self, some: Rows) -> Dissimilarities:
        """Return the columns of some rows; of the table the number of its columns is kept."""
        everything = np.arange(self.n)
        held = np.empty((0, self.n), dtype=self.rows.points.dtype)
        columns = PrecomputedDistances.restored({"distances": held, "rows": everything, "columns": everything})
        return PickedDistances(columns, some)


class _OfSimilarities(_OfPairs):
    def alone(self, some: Rows) -> Dissimilarities:
        """Return some of the rows, without the others."""
        return Similar(Similarities(self._numbers(some)))

    def beside(self, some: Rows) -> Dissimilarities:
        """Return the columns of some rows; of the table the similarities of rows to themselves are kept."""
        return PickedSimilarities(self.rows.points.take(np.arange(0)), some)


KINDS: dict[str, type[Some]] = {"precomputed": _OfDistances, "similarity": _OfSimilarities}


def some_of(rows: Dissimilarities, dissimilarity: str) -> Some:
    """Return what measures some of the rows that were read by a dissimilarity."""
    return KINDS.get(dissimilarity, Some)(rows)
