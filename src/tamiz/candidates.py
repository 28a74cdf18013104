"""Sets of columns that a search proposes: parents, and for every candidate what it flips in which parent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Masks = NDArray[np.bool_]


@dataclass(frozen=True)
class Candidates:
    """Candidates as flips of few parents: an evaluator that knows a parent's sums needs only the flips.

    Attributes
    ----------
    parents : ndarray of shape (n_parents, n_columns), bool
    parent : ndarray of shape (n_candidates,)
        The row of `parents` that each candidate comes from.
    starts : ndarray of shape (n_candidates + 1,)
    flipped : ndarray
        Candidate c flips the columns flipped[starts[c] : starts[c + 1]].
    """

    parents: Masks
    parent: NDArray[np.intp]
    starts: NDArray[np.intp]
    flipped: NDArray[np.intp]

    @classmethod
    def of(cls, masks: Masks) -> Candidates:
        """Return sets as they are."""
        masks = np.atleast_2d(masks)
        m = len(masks)
        return cls(masks, np.arange(m), np.zeros(m + 1, dtype=np.intp), np.empty(0, dtype=np.intp))

    @classmethod
    def flips(cls, parent: Masks, units: Sequence[NDArray[np.intp]]) -> Candidates:
        """Return one candidate a unit of columns: the parent with that unit flipped."""
        starts = np.concatenate([[0], np.cumsum([len(unit) for unit in units])]).astype(np.intp)
        flipped = np.concatenate(units).astype(np.intp) if units else np.empty(0, dtype=np.intp)
        return cls(np.atleast_2d(parent), np.zeros(len(units), dtype=np.intp), starts, flipped)

    def __len__(self) -> int:
        return len(self.parent)

    def __getitem__(self, chosen: NDArray[Any]) -> Candidates:
        """Return some of the candidates, by their numbers."""
        widths = np.diff(self.starts)[chosen]
        starts = np.concatenate([[0], np.cumsum(widths)]).astype(np.intp)
        places = np.arange(starts[-1]) - np.repeat(starts[:-1], widths) + np.repeat(self.starts[:-1][chosen], widths)
        return Candidates(self.parents, self.parent[chosen], starts, self.flipped[places])

    def flips_of(self, parent: int) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Yield the candidates of one parent, and their flips as a matrix, by the number of columns flipped."""
        mine = np.flatnonzero(self.parent == parent)
        widths = np.diff(self.starts)[mine]
        for width in np.unique(widths):
            where = mine[widths == width]
            yield where, self.flipped[self.starts[where][:, None] + np.arange(width)]

    def masks(self) -> Masks:
        """Return the candidates as masks of shape (n_candidates, n_columns)."""
        masks = self.parents[self.parent]
        masks[np.repeat(np.arange(len(self)), np.diff(self.starts)), self.flipped] ^= True
        return masks

    def sizes(self) -> NDArray[np.intp]:
        """Return the number of columns of every candidate."""
        owner = np.repeat(np.arange(len(self)), np.diff(self.starts))
        change = np.where(self.parents[self.parent[owner], self.flipped], -1, 1)
        grown = np.bincount(owner, change, len(self)) if len(owner) else np.zeros(len(self))
        return self.parents.sum(axis=1)[self.parent] + grown.astype(np.intp)
