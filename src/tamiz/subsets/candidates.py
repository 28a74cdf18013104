"""Candidate subsets of a search: parent sets, and for every candidate the columns that it adds to or removes from its parent."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Masks

# int32 where many are stored.
Indices = NDArray[np.integer[Any]]


class Proposal(ABC):
    @abstractmethod
    def scan(self, budget: int | None) -> ScanResult:
        """Return the sets to evaluate, and what is known after inspecting at most `budget` sets."""


@dataclass(frozen=True)
class Candidates(Proposal):
    """Candidates as flips of a few parents: an evaluator with the sums of a parent needs only the flips.

    Attributes
    ----------
    parents : ndarray of shape (n_parents, n_columns), bool
    parent_index : ndarray of shape (n_candidates,)
        The row of `parents` of each candidate.
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
        """Return candidates without flips, each its own parent."""
        masks = np.atleast_2d(masks)
        m = len(masks)
        return cls(masks, np.arange(m), np.zeros(m + 1, dtype=np.intp), np.empty(0, dtype=np.intp))

    @classmethod
    def from_flips(cls, parent: Masks, units: Sequence[NDArray[np.intp]]) -> Candidates:
        """Return one candidate for each unit of columns: the parent with that unit flipped."""
        starts = np.concatenate([[0], np.cumsum([len(unit) for unit in units])]).astype(np.intp)
        flipped = np.concatenate(units).astype(np.intp) if units else np.empty(0, dtype=np.intp)
        return cls(np.atleast_2d(parent), np.zeros(len(units), dtype=np.intp), starts, flipped)

    @classmethod
    def concatenate(cls, batches: Sequence[Candidates]) -> Candidates:
        """Return one or more batches as one, in order."""
        n_parents = np.cumsum([0, *(len(part.parents) for part in batches)])
        n_flipped = np.cumsum([0, *(len(part.flipped) for part in batches)])
        starts = [part.starts[:-1] + before for part, before in zip(batches, n_flipped[:-1], strict=True)]
        return cls(
            np.concatenate([part.parents for part in batches]),
            np.concatenate([part.parent_index + before for part, before in zip(batches, n_parents[:-1], strict=True)]),
            np.concatenate([*starts, n_flipped[-1:]]).astype(np.intp),
            np.concatenate([part.flipped for part in batches]),
        )

    def scan(self, budget: int | None) -> ScanResult:  # noqa: ARG002 - the runner applies the budget
        return ScanResult(self)

    def __len__(self) -> int:
        return len(self.parent_index)

    def __getitem__(self, chosen: NDArray[Any]) -> Candidates:
        """Return some of the candidates, by their indices."""
        widths = np.diff(self.starts)[chosen]
        starts = np.concatenate([[0], np.cumsum(widths)]).astype(np.intp)
        positions = np.arange(starts[-1]) - np.repeat(starts[:-1], widths) + np.repeat(self.starts[:-1][chosen], widths)
        return Candidates(self.parents, self.parent_index[chosen], starts, self.flipped[positions])

    def flips_by_width(self, parent: int) -> Iterator[tuple[NDArray[np.intp], Indices]]:
        """Yield the candidates of one parent and their flips as a matrix, for each number of flipped columns."""
        mine = np.flatnonzero(self.parent_index == parent)
        widths = np.diff(self.starts)[mine]
        for width in np.unique(widths):
            where = mine[widths == width]
            yield where, self.flipped[self.starts[where][:, None] + np.arange(width)]

    @cached_property
    def packed_parents(self) -> NDArray[np.uint8]:
        """The parents with eight columns in a byte, the first column as the highest bit."""
        return np.ascontiguousarray(np.packbits(self.parents, axis=1))

    def masks(self) -> Masks:
        """Return the candidates as masks of shape (n_candidates, n_columns)."""
        masks = self.parents[self.parent_index]
        masks[np.repeat(np.arange(len(self)), np.diff(self.starts)), self.flipped] ^= True
        return masks

    def sizes(self) -> NDArray[np.intp]:
        owner = np.repeat(np.arange(len(self)), np.diff(self.starts))
        change = np.where(self.parents[self.parent_index[owner], self.flipped], -1, 1)
        grown = np.bincount(owner, change, len(self)) if len(owner) else np.zeros(len(self))
        # Counting bits of packed sets takes a tenth of the time of summing bools.
        sizes = np.bitwise_count(self.packed_parents).sum(axis=1, dtype=np.intp)
        return sizes[self.parent_index] + grown.astype(np.intp)


@dataclass(frozen=True)
class ScanResult:
    """The result of a proposal: the sets to evaluate and record, if any."""

    candidates: Candidates
    # Further sets that were inspected and are no better; they are counted but not recorded.
    n_unrecorded: int = 0
    # A proven upper bound of the merits of all admissible sets.
    bound: float | None = None
    # The number of sets of the whole search, if known.
    n_total: int | None = None
