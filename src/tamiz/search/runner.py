"""The one loop that every search runs in."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace

import numpy as np

from tamiz.runtime import progress
from tamiz.runtime.memory import format_bytes
from tamiz.search.archive import Archive
from tamiz.search.base import Problem, Search, Walk
from tamiz.search.journal import Journal
from tamiz.search.stopping import Evaluations, Seconds, StoppingRule
from tamiz.sources.base import Source
from tamiz.subsets.candidates import Candidates
from tamiz.subsets.evaluator import Evaluator, Floats

# MERGED: A search made ready for a table: run to its end, or begun to see how fast it goes.
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


# MERGED: What a search will take, told before it begins.
@dataclass(frozen=True)
class SearchPlan:
    """What a search takes at most.

    Attributes
    ----------
    max_evaluations : int or None
        Sets, None where the search itself knows no limit.
    estimated_seconds : float or None
        By the pace of the sets that were timed; None where the number of sets is not known.
    time_limit : float or None
        The rule that stops it, where one looks at the clock.
    max_bytes : float
        For the sets that are written down and for what the merit holds.
    n_timed : int
        Sets that were timed.
    method : str
        How the merit of a set is found, a sentence.
    """

    max_evaluations: int | None
    estimated_seconds: float | None
    time_limit: float | None
    max_bytes: float
    n_timed: int
    method: str = ""

    def __str__(self) -> str:
        """Return one sentence."""
        if self.max_evaluations is None:
            sets = "no number of evaluations can be given: the search goes on while it gains"
        else:
            sets = f"at most {_format_count(self.max_evaluations, 'evaluation')}"
        told = [f"Plan: {sets}"]
        if self.estimated_seconds is not None:
            told.append(f"{_format_duration(self.estimated_seconds)} at the pace of the first {self.n_timed:,}")
        if self.time_limit is not None:
            told.append(f"stopped after {self.time_limit:g} seconds")
        told.append(f"at most {format_bytes(self.max_bytes)} of memory beyond the table")
        return " ".join(filter(None, ["; ".join(told) + ".", self.method]))


def _format_count(n: int, word: str) -> str:
    # Numbers of sets go far beyond the largest float.
    return f"{n:,} {word}{'' if n == 1 else 's'}" if n < 10**12 else f"about 10^{round(math.log10(n))} {word}s"


def _format_duration(seconds: float) -> str:
    """Return a time in the unit that suits it."""
    if seconds > 1e13:
        return "more than 100,000 years"
    for unit, size in (("years", 31_557_600.0), ("days", 86_400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"at most {seconds / size:,.0f} {unit}"
    return f"at most {seconds:.2g} seconds"


# Nobody waits for so many sets, and there are numbers of sets beyond the largest float.
_MAX_SHOWN_TOTAL = 10**15

# Sets of a batch are evaluated so many microseconds of work at a time, by what the merit says of itself: a rule is asked, and
# Ctrl-C finds, what came of a part. Counts and no clock, so that every run has the same parts.
_CHUNK_COST = 500_000.0


def run_search(
    walk: Walk,
    evaluator: Evaluator,
    archive: Archive,
    stop: StoppingRule | None = None,
    journal: Journal | None = None,
    max_evaluations: int | None = None,
) -> Archive:
    """Run a walk to its end, or until a rule stops it, and return the archive.

    Every set is evaluated once, a batch that is much work in parts. On Ctrl-C the archive keeps what was found and says so
    (`interrupted`). `max_evaluations` is how many sets the walk evaluates at most, where that is known: whoever listens to the progress is
    told.
    """
    stop = None if stop is None else stop.start()
    try:
        proposal = next(walk)
        while True:
            room = None if stop is None else stop.remaining_evaluations(archive)
            found = proposal.scan(room)
            merits, reason = _evaluate_batch(found.candidates, evaluator, archive, room, stop, journal)
            archive.add_unrecorded(found.n_unrecorded, found.bound)
            archive.end_step()
            _report_search(archive, room, max_evaluations if found.n_total is None else found.n_total)
            reason = reason or _stop_reason(stop, archive)
            if reason is not None or merits is None:
                archive.stop_reason, archive.stopped_early = reason or "the room for evaluations is used up", True
                break
            proposal = walk.send(merits)
    except StopIteration as end:
        archive.stop_reason = str(end.value)
    except KeyboardInterrupt:
        archive.stop_reason = "interrupted"
        archive.interrupted = archive.stopped_early = True
    finally:
        walk.close()
        if journal is not None:
            journal.close()
    return archive


def _report_search(archive: Archive, budget: int | None, max_evaluations: int | None) -> None:
    rooms = (max_evaluations, None if budget is None else archive.n_evaluations + budget)
    limits = [n for n in rooms if n is not None and n < _MAX_SHOWN_TOTAL]
    size = archive.best_size
    columns = "" if size is None else f" of {size:,} {'column' if size == 1 else 'columns'}"
    progress.report_progress(
        f"Searching, best merit {archive.best_merit:.4g}{columns}", archive.n_evaluations, min(limits, default=None)
    )


def _stop_reason(stop: StoppingRule | None, archive: Archive) -> str | None:
    return None if stop is None else stop.reason(archive)


def _evaluate_batch(
    candidates: Candidates,
    evaluator: Evaluator,
    archive: Archive,
    budget: int | None,
    stop: StoppingRule | None,
    journal: Journal | None,
) -> tuple[Floats | None, str | None]:
    """Return the merits of a batch, evaluating what is new; None when there was no room for all of it, or a reason to stop."""
    keys = archive.keys(candidates)
    fresh = np.flatnonzero(archive.are_new(keys))
    n_wanted = len(fresh)
    if budget is not None:
        fresh = fresh[: max(budget, 0)]
    size = max(1, int(_CHUNK_COST / max(evaluator.evaluation_cost, 1.0)))
    for start in range(0, len(fresh), size):
        part = fresh[start : start + size]
        new = candidates if len(part) == len(candidates) else candidates[part]
        values, scores = evaluator.evaluate_with_folds(new) if journal is None else journal.evaluate(new, evaluator)
        archive.record(new, keys[part], values, scores)
        if new is candidates:
            return values, None
        if start + size < len(fresh) and (reason := _stop_reason(stop, archive)) is not None:
            return None, reason
    if len(fresh) < n_wanted:
        return None, None
    return archive.merits_at(archive.lookup(keys)), None
