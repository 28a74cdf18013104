"""Part of all sets, judged by kernels piece by piece."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Generic, NamedTuple, TypeVar

from tamiz import parallel
from tamiz.candidates import Found, Masks, Proposal
from tamiz.search.base import Problem
from tamiz.search.exact.sums import Incumbent, UnitSums, nothing

Piece = TypeVar("Piece")


class Judged(NamedTuple):
    """What came of a piece: how many sets were judged, and merit, size and units of the best; None where none is better."""

    n_sets: int
    merit: float
    size: int
    members: Masks | None


@dataclass(frozen=True)
class Judging(Proposal, Generic[Piece]):
    """Sets to be judged.

    Attributes
    ----------
    problem : Problem
    sums : UnitSums
    best : Incumbent
        What is to be beaten; it is kept up to date.
    total : int
        How many sets the whole search judges.
    """

    problem: Problem
    sums: UnitSums
    best: Incumbent
    total: int

    @property
    @abstractmethod
    def pieces(self) -> list[Piece]:
        """What one thread judges at a time."""

    @property
    @abstractmethod
    def n_sets(self) -> float:
        """How many sets there are at most."""

    @abstractmethod
    def judge(self, piece: Piece, room: int) -> Judged:
        """Judge the sets of a piece, at most `room`."""

    def look(self, room: int | None) -> Found:
        """Judge the sets, as many as there is room for, and return the best of them where it is better."""
        if room is None or room >= self.n_sets:
            found = list(parallel.map_blocks(partial(self.judge, room=2**62), self.pieces))
        else:
            # Only the last proposal before the end is cut: one piece after the other, each with what room is left.
            found = []
            for piece in self.pieces:
                found.append(self.judge(piece, room - sum(one.n_sets for one in found)))
        gained = False
        for one in found:
            gained |= one.members is not None and self.best.take(one.merit, one.size, one.members)
        sets = self.best.written(self.problem) if gained else nothing(self.problem)
        return Found(sets, sum(one.n_sets for one in found) - len(sets), None, self.total)
