"""Part of all sets, judged by kernels piece by piece."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Generic, NamedTuple, TypeVar

from tamiz import parallel
from tamiz.candidates import Masks, Proposal, ScanResult
from tamiz.search.base import Problem
from tamiz.search.exact.sums import Incumbent, UnitQuadraticForm, no_candidates

Block = TypeVar("Block")


class BlockResult(NamedTuple):
    """What came of a piece: how many sets were judged, and merit, size and units of the best; None where none is better."""

    n_sets: int
    merit: float
    size: int
    members: Masks | None


@dataclass(frozen=True)
class EnumerationProposal(Proposal, Generic[Block]):
    """Sets to be judged.

    Attributes
    ----------
    problem : Problem
    form : UnitQuadraticForm
    best : Incumbent
        What is to be beaten; it is kept up to date.
    n_total : int
        How many sets the whole search judges.
    """

    problem: Problem
    form: UnitQuadraticForm
    best: Incumbent
    n_total: int

    @property
    @abstractmethod
    def blocks(self) -> list[Block]:
        """What one thread judges at a time."""

    @property
    @abstractmethod
    def n_sets(self) -> float:
        """How many sets there are at most."""

    @abstractmethod
    def evaluate_block(self, block: Block, budget: int) -> BlockResult:
        """Judge the sets of a piece, at most `budget`."""

    def scan(self, budget: int | None) -> ScanResult:
        """Judge the sets, as many as there is room for, and return the best of them where it is better."""
        if budget is None or budget >= self.n_sets:
            found = list(parallel.map_blocks(partial(self.evaluate_block, budget=2**62), self.blocks))
        else:
            # Only the last proposal before the end is cut: one piece after the other, each with what room is left.
            found = []
            for piece in self.blocks:
                found.append(self.evaluate_block(piece, budget - sum(one.n_sets for one in found)))
        gained = False
        for one in found:
            gained |= one.members is not None and self.best.update(one.merit, one.size, one.members)
        sets = self.best.to_candidates(self.problem) if gained else no_candidates(self.problem)
        return ScanResult(sets, sum(one.n_sets for one in found) - len(sets), None, self.n_total)
