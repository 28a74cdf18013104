"""A search made ready for a table: run to its end, or begun to see how fast it goes."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

import numpy as np

from tamiz.evaluator import Evaluator
from tamiz.search.archive import Archive
from tamiz.search.base import Problem, Search
from tamiz.search.journal import Journal
from tamiz.search.plan import SearchPlan
from tamiz.search.run import run_search
from tamiz.search.stopping import Evaluations, Seconds, StoppingRule
from tamiz.sources.base import Source

# A plan times so many sets, and not for longer.
_TIMED_SETS = 1000
_TIMED_SECONDS = 2.0


@dataclass(frozen=True)
class SearchJob:
    """A search made ready for a table.

    Attributes
    ----------
    search : Search
    source : Source
    problem : Problem
    evaluator : Evaluator
    rng : Generator
        What the search draws lots by.
    duplicates : dict of int to int
        Columns that are not searched, each with the one that it repeats exactly.
    """

    search: Search
    source: Source
    problem: Problem
    evaluator: Evaluator
    rng: np.random.Generator
    duplicates: dict[int, int] = field(default_factory=dict)

    def run(self, stop: StoppingRule | None, journal: Journal | None = None) -> Archive:
        """Search."""
        problem = self.problem if stop is None else replace(self.problem, tolerance=stop.tolerance)
        walk = self.search.walk(problem, self.rng)
        archive = run_search(
            walk, self.evaluator, self._new_archive(), stop, journal, self.search.max_evaluations(problem)
        )
        archive.apply_tolerance(problem.tolerance)
        return archive

    def plan(self, stop: StoppingRule | None) -> SearchPlan:
        """Begin the search, and return what all of it would take at most."""
        most = self.search.max_evaluations(self.problem)
        limits = [
            n
            for n in (most, None if stop is None else stop.remaining_evaluations(self._new_archive()))
            if n is not None
        ]
        begun = time.perf_counter()
        archive = self.run(Evaluations(_TIMED_SETS) | Seconds(_TIMED_SECONDS))
        seconds = time.perf_counter() - begun
        # A search that ended by itself is no longer than that.
        evaluations = min([*limits, *([] if archive.stopped_early else [archive.n_evaluations])], default=None)
        # How many times as much there is to do as was timed; numbers of sets go far beyond the largest float.
        scale = 1.0 if evaluations is None else max(1.0, min(evaluations, 10**30) / max(archive.n_evaluations, 1))
        # What passes over sets writes hardly any down.
        held = archive.n_bytes * (1.0 if archive.n_unrecorded else scale)
        return SearchPlan(
            evaluations,
            None if evaluations is None else seconds * scale,
            None if stop is None else stop.time_limit(),
            held + self.evaluator.max_bytes(),
            archive.n_evaluations,
            self.evaluator.method,
        )

    def _new_archive(self) -> Archive:
        """Return empty books."""
        problem = self.problem
        return Archive(
            problem.n_columns, min_size=problem.min_size, max_size=problem.max_size, min_gain=self.search.min_gain
        )
