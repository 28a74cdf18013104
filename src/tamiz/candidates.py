"""Sets of columns that a search proposes: parents, and for every candidate what it flips in which parent."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Masks = NDArray[np.bool_]
# Held in half the room where many are kept.
Numbers = NDArray[np.integer[Any]]


class Proposal(ABC):
    """What a search wants to know next."""

    @abstractmethod
    def look(self, room: int | None) -> Found:
        """Return the sets to be evaluated, with what was found on the way to them by looking at no more than `room` sets."""


@dataclass(frozen=True)
class Candidates(Proposal):
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
    parent: Numbers
    starts: Numbers
    flipped: Numbers

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

    @classmethod
    def joined(cls, parts: Sequence[Candidates]) -> Candidates:
        """Return several batches as one, in order; at least one is needed."""
        n_parents = np.cumsum([0, *(len(part.parents) for part in parts)])
        n_flipped = np.cumsum([0, *(len(part.flipped) for part in parts)])
        starts = [part.starts[:-1] + before for part, before in zip(parts, n_flipped[:-1], strict=True)]
        return cls(
            np.concatenate([part.parents for part in parts]),
            np.concatenate([part.parent + before for part, before in zip(parts, n_parents[:-1], strict=True)]),
            np.concatenate([*starts, n_flipped[-1:]]).astype(np.intp),
            np.concatenate([part.flipped for part in parts]),
        )

    def look(self, room: int | None) -> Found:  # noqa: ARG002 - which of them are new, and fit the room, the run decides
        """Return the candidates as they are."""
        return Found(self)

    def __len__(self) -> int:
        return len(self.parent)

    def __getitem__(self, chosen: NDArray[Any]) -> Candidates:
        """Return some of the candidates, by their numbers."""
        widths = np.diff(self.starts)[chosen]
        starts = np.concatenate([[0], np.cumsum(widths)]).astype(np.intp)
        places = np.arange(starts[-1]) - np.repeat(starts[:-1], widths) + np.repeat(self.starts[:-1][chosen], widths)
        return Candidates(self.parents, self.parent[chosen], starts, self.flipped[places])

    def flips_of(self, parent: int) -> Iterator[tuple[NDArray[np.intp], Numbers]]:
        """Yield the candidates of one parent, and their flips as a matrix, by the number of columns flipped."""
        mine = np.flatnonzero(self.parent == parent)
        widths = np.diff(self.starts)[mine]
        for width in np.unique(widths):
            where = mine[widths == width]
            yield where, self.flipped[self.starts[where][:, None] + np.arange(width)]

    @cached_property
    def packed(self) -> NDArray[np.uint8]:
        """The parents with eight columns in a byte, the first column the highest bit."""
        return np.ascontiguousarray(np.packbits(self.parents, axis=1))

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
        # Counting the bits of packed sets takes a tenth of the time of adding up bools.
        sizes = np.bitwise_count(self.packed).sum(axis=1, dtype=np.intp)
        return sizes[self.parent] + grown.astype(np.intp)


@dataclass(frozen=True)
class Found:
    """What came of a proposal.

    Attributes
    ----------
    sets : Candidates
        To be evaluated and written down; there may be none.
    n_passed : int
        Sets beyond these that were looked at and found no better: they are counted, and not written down.
    bound : float or None
        No set that may be chosen has a higher merit; None where nothing is proven.
    total : int or None
        How many sets the whole search looks at, where that is known.
    """

    sets: Candidates
    n_passed: int = 0
    bound: float | None = None
    total: int | None = None
