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
Indices = NDArray[np.integer[Any]]


class Proposal(ABC):
    """What a search wants to know next."""

    @abstractmethod
    def scan(self, budget: int | None) -> ScanResult:
        """Return the sets to be evaluated, with what was found on the way to them by looking at no more than `budget` sets."""


@dataclass(frozen=True)
class Candidates(Proposal):
    """Candidates as flips of few parents: an evaluator that knows a parent's sums needs only the flips.

    Attributes
    ----------
    parents : ndarray of shape (n_parents, n_columns), bool
    parent_index : ndarray of shape (n_candidates,)
        The row of `parents` that each candidate comes from.
    starts : ndarray of shape (n_candidates + 1,)
    flipped : ndarray
        Candidate c flips the columns flipped[starts[c] : starts[c + 1]].
    """

    parents: Masks
    parent_index: Indices
    starts: Indices
    flipped: Indices

    @classmethod
    def from_masks(cls, masks: Masks) -> Candidates:
        """Return sets as they are."""
        masks = np.atleast_2d(masks)
        m = len(masks)
        return cls(masks, np.arange(m), np.zeros(m + 1, dtype=np.intp), np.empty(0, dtype=np.intp))

    @classmethod
    def from_flips(cls, parent: Masks, units: Sequence[NDArray[np.intp]]) -> Candidates:
        """Return one candidate a unit of columns: the parent with that unit flipped."""
        starts = np.concatenate([[0], np.cumsum([len(unit) for unit in units])]).astype(np.intp)
        flipped = np.concatenate(units).astype(np.intp) if units else np.empty(0, dtype=np.intp)
        return cls(np.atleast_2d(parent), np.zeros(len(units), dtype=np.intp), starts, flipped)

    @classmethod
    def concatenate(cls, batches: Sequence[Candidates]) -> Candidates:
        """Return several batches as one, in order; at least one is needed."""
        n_parents = np.cumsum([0, *(len(part.parents) for part in batches)])
        n_flipped = np.cumsum([0, *(len(part.flipped) for part in batches)])
        starts = [part.starts[:-1] + before for part, before in zip(batches, n_flipped[:-1], strict=True)]
        return cls(
            np.concatenate([part.parents for part in batches]),
            np.concatenate([part.parent_index + before for part, before in zip(batches, n_parents[:-1], strict=True)]),
            np.concatenate([*starts, n_flipped[-1:]]).astype(np.intp),
            np.concatenate([part.flipped for part in batches]),
        )

    def scan(self, budget: int | None) -> ScanResult:  # noqa: ARG002 - which of them are new, and fit the room, the run decides
        """Return the candidates as they are."""
        return ScanResult(self)

    def __len__(self) -> int:
        return len(self.parent_index)

    def __getitem__(self, chosen: NDArray[Any]) -> Candidates:
        """Return some of the candidates, by their numbers."""
        widths = np.diff(self.starts)[chosen]
        starts = np.concatenate([[0], np.cumsum(widths)]).astype(np.intp)
        places = np.arange(starts[-1]) - np.repeat(starts[:-1], widths) + np.repeat(self.starts[:-1][chosen], widths)
        return Candidates(self.parents, self.parent_index[chosen], starts, self.flipped[places])

    def flips_by_width(self, parent: int) -> Iterator[tuple[NDArray[np.intp], Indices]]:
        """Yield the candidates of one parent, and their flips as a matrix, by the number of columns flipped."""
        mine = np.flatnonzero(self.parent_index == parent)
        widths = np.diff(self.starts)[mine]
        for width in np.unique(widths):
            where = mine[widths == width]
            yield where, self.flipped[self.starts[where][:, None] + np.arange(width)]

    @cached_property
    def packed_parents(self) -> NDArray[np.uint8]:
        """The parents with eight columns in a byte, the first column the highest bit."""
        return np.ascontiguousarray(np.packbits(self.parents, axis=1))

    def masks(self) -> Masks:
        """Return the candidates as masks of shape (n_candidates, n_columns)."""
        masks = self.parents[self.parent_index]
        masks[np.repeat(np.arange(len(self)), np.diff(self.starts)), self.flipped] ^= True
        return masks

    def sizes(self) -> NDArray[np.intp]:
        """Return the number of columns of every candidate."""
        owner = np.repeat(np.arange(len(self)), np.diff(self.starts))
        change = np.where(self.parents[self.parent_index[owner], self.flipped], -1, 1)
        grown = np.bincount(owner, change, len(self)) if len(owner) else np.zeros(len(self))
        # Counting the bits of packed sets takes a tenth of the time of adding up bools.
        sizes = np.bitwise_count(self.packed_parents).sum(axis=1, dtype=np.intp)
        return sizes[self.parent_index] + grown.astype(np.intp)


@dataclass(frozen=True)
class ScanResult:
    """What came of a proposal.

    Attributes
    ----------
    candidates : Candidates
        To be evaluated and written down; there may be none.
    n_unrecorded : int
        Sets beyond these that were looked at and found no better: they are counted, and not written down.
    bound : float or None
        No set that may be chosen has a higher merit; None where nothing is proven.
    n_total : int or None
        How many sets the whole search looks at, where that is known.
    """

    candidates: Candidates
    n_unrecorded: int = 0
    bound: float | None = None
    n_total: int | None = None
