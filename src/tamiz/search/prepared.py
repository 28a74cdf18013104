"""A search made ready for a table: run to its end, or begun to see how fast it goes."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

import numpy as np

from tamiz.evaluator import Evaluator
from tamiz.search.archive import Archive
from tamiz.search.base import Problem, Search
from tamiz.search.journal import Journal
from tamiz.search.plan import Plan
from tamiz.search.run import run
from tamiz.search.stopping import Evaluations, Seconds, Stopping
from tamiz.sources.base import Source

# A plan times so many sets, and not for longer.
_TIMED_SETS = 1000
_TIMED_SECONDS = 2.0


@dataclass(frozen=True)
class Prepared:
    """A search made ready for a table.

    Attributes
    ----------
    search : Search
    source : Source
    problem : Problem
    evaluator : Evaluator
    rng : Generator
        What the search draws lots by.
    repeats : dict of int to int
        Columns that are not searched, each with the one that it repeats exactly.
    """

    search: Search
    source: Source
    problem: Problem
    evaluator: Evaluator
    rng: np.random.Generator
    repeats: dict[int, int] = field(default_factory=dict)

    def run(self, stop: Stopping | None, journal: Journal | None = None) -> Archive:
        """Search."""
        problem = self.problem if stop is None else replace(self.problem, tolerance=stop.tolerance)
        walk = self.search.walk(problem, self.rng)
        archive = run(walk, self.evaluator, self._archive(), stop, journal, self.search.most_evaluations(problem))
        archive.settle(problem.tolerance)
        return archive

    def plan(self, stop: Stopping | None) -> Plan:
        """Begin the search, and return what all of it would take at most."""
        most = self.search.most_evaluations(self.problem)
        limits = [n for n in (most, None if stop is None else stop.room(self._archive())) if n is not None]
        begun = time.perf_counter()
        archive = self.run(Evaluations(_TIMED_SETS) | Seconds(_TIMED_SECONDS))
        seconds = time.perf_counter() - begun
        # A search that ended by itself is no longer than that.
        evaluations = min([*limits, *([] if archive.cut_off else [archive.n_evaluations])], default=None)
        # How many times as much there is to do as was timed; numbers of sets go far beyond the largest float.
        scale = 1.0 if evaluations is None else max(1.0, min(evaluations, 10**30) / max(archive.n_evaluations, 1))
        # What passes over sets writes hardly any down.
        held = archive.n_bytes * (1.0 if archive.n_passed else scale)
        return Plan(
            evaluations,
            None if evaluations is None else seconds * scale,
            None if stop is None else stop.seconds(),
            held + self.evaluator.most_bytes(),
            archive.n_evaluations,
            self.evaluator.how,
        )

    def _archive(self) -> Archive:
        """Return empty books."""
        problem = self.problem
        return Archive(problem.n_columns, least=problem.least, most=problem.most, min_gain=self.search.min_gain)
