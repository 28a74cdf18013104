"""The loop that runs a search (`run_search`), a search prepared for one table (`SearchJob`), and its cost (`SearchPlan`)."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from tamiz.arrays import Floats, Masks
from tamiz.runtime import progress
from tamiz.runtime.memory import format_bytes
from tamiz.search.archive import Archive
from tamiz.search.base import Candidates, Evaluator, MeritFunction, Problem, Search, Walk, checked_merits
from tamiz.search.journal import Journal
from tamiz.search.stopping import Evaluations, Seconds, StoppingRule
from tamiz.table.base import Table

# A plan times the first sets of a search: at most this many, for at most this long.
_TIMED_SETS = 1000
_TIMED_SECONDS = 2.0
# Larger totals are not shown as progress: such a search does not end in practice, and some totals are beyond the largest float.
_MAX_SHOWN_TOTAL = 10**15
# A batch is evaluated in chunks of this cost, in units of `MeritInfo.cost` (about a microsecond each); after each chunk the
# stopping rules are applied and Ctrl-C takes effect. The chunks depend on counts and not on the clock, so they are the same in
# every run.
_CHUNK_COST = 500_000.0


@dataclass(frozen=True)
class SearchJob:
    """A search prepared for one table.

    `duplicates` are columns that are not searched, each with the column that it duplicates exactly.
    """

    search: Search
    table: Table
    problem: Problem
    evaluator: Evaluator
    rng: np.random.Generator
    duplicates: dict[int, int] = field(default_factory=dict)

    def run(self, stop: StoppingRule | None, journal: Journal | None = None) -> Archive:
        tolerance = 0.0 if stop is None else stop.tolerance
        problem = replace(self.problem, evaluator=self.evaluator, tolerance=tolerance)
        walk = self.search.walk(problem, self.rng)
        archive = run_search(
            walk,
            self.evaluator,
            self._new_archive(),
            stop,
            journal,
            self.search.max_evaluations(problem),
            self.table.schema.names,
        )
        archive.apply_tolerance(problem.tolerance)
        return archive

    def visited_by_size(self) -> dict[int, Masks]:
        """Return by size the allowed sets that a search visits which ignores merits."""
        return self.search.visited_by_size(replace(self.problem, evaluator=self.evaluator), self.rng)

    def plan(self, stop: StoppingRule | None) -> SearchPlan:
        """Run the first sets of the search, and return the largest cost of the whole search, extrapolated from them."""
        if self.search.ignores_merits and self.problem.max_size < self.problem.n_columns:
            # The sets on the way to the requested sizes take time, too: as many sets, all of them evaluated, take longer.
            problem = replace(self.problem, max_size=self.problem.n_columns)
            return replace(self, problem=problem).plan(stop)
        search_limit = self.search.max_evaluations(self.problem)
        rule_limit = None if stop is None else stop.remaining_evaluations(self._new_archive())
        limits = [n for n in (search_limit, rule_limit) if n is not None]
        started = time.perf_counter()
        archive = self.run(Evaluations(_TIMED_SETS) | Seconds(_TIMED_SECONDS))
        seconds = time.perf_counter() - started
        # A search that was complete within the timed sets needs no more evaluations.
        max_evaluations = min([*limits, *([] if archive.stopped_early else [archive.n_evaluations])], default=None)
        # All evaluations as a multiple of the timed ones; numbers of sets can be far beyond the largest float.
        scale = (
            1.0 if max_evaluations is None else max(1.0, min(max_evaluations, 10**30) / max(archive.n_evaluations, 1))
        )
        # A search that counts sets without recording them records hardly any.
        archive_bytes = archive.n_bytes * (1.0 if archive.n_unrecorded else scale)
        return SearchPlan(
            max_evaluations,
            None if max_evaluations is None else seconds * scale,
            None if stop is None else stop.time_limit(),
            archive_bytes + self.evaluator.info.max_bytes,
            archive.n_evaluations,
            self.evaluator.info.method,
        )

    def _new_archive(self) -> Archive:
        problem = self.problem
        return Archive(
            problem.n_columns, min_size=problem.min_size, max_size=problem.max_size, min_gain=self.search.min_gain
        )


@dataclass(frozen=True)
class SearchPlan:
    """The estimated largest cost of a search.

    Attributes
    ----------
    max_evaluations : int or None
        Largest number of evaluations, None where neither the search nor a rule limits it.
    estimated_seconds : float or None
        Time of `max_evaluations` at the pace of the timed sets; None where `max_evaluations` is None.
    time_limit : float or None
        Time limit of the stopping rule in seconds, None where there is none.
    max_bytes : float
        Memory of the archive and of the merit, beyond the table.
    n_timed : int
        Number of timed sets.
    method : str
        How the merit of a set is computed, as a sentence.
    """

    max_evaluations: int | None
    estimated_seconds: float | None
    time_limit: float | None
    max_bytes: float
    n_timed: int
    method: str = ""

    def __str__(self) -> str:
        """Return the plan as one sentence, and the method as another."""
        if self.max_evaluations is None:
            evaluations = "the number of evaluations has no limit: the search continues while the merit rises"
        else:
            evaluations = f"at most {_format_count(self.max_evaluations, 'evaluation')}"
        parts = [f"Plan: {evaluations}"]
        if self.estimated_seconds is not None:
            parts.append(f"{format_duration(self.estimated_seconds)} at the pace of the first {self.n_timed:,}")
        if self.time_limit is not None:
            parts.append(f"stopped after {self.time_limit:g} seconds")
        parts.append(f"at most {format_bytes(self.max_bytes)} of memory beyond the table")
        return " ".join(filter(None, ["; ".join(parts) + ".", self.method]))


def _format_count(n: int, word: str) -> str:
    # Numbers of sets can be far beyond the largest float.
    return f"{n:,} {word}{'' if n == 1 else 's'}" if n < 10**12 else f"about 10^{round(math.log10(n))} {word}s"


def format_duration(seconds: float) -> str:
    """Return an upper limit of a time as text, in a suitable unit."""
    if seconds > 1e13:
        return "more than 100,000 years"
    for unit, size in (("years", 31_557_600.0), ("days", 86_400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"at most {seconds / size:,.0f} {unit}"
    return f"at most {seconds:.2g} seconds"


def run_search(
    walk: Walk,
    evaluator: Evaluator,
    archive: Archive,
    stop: StoppingRule | None = None,
    journal: Journal | None = None,
    max_evaluations: int | None = None,
    names: Sequence[str] | None = None,
) -> Archive:
    """Run a walk to its end, or until a rule stops it, and return the archive.

    Every set is evaluated once. On Ctrl-C the search ends, `interrupted` is set, and the archive contains everything evaluated
    before. `max_evaluations`, the largest number of evaluations of the walk where it is known, is used for the progress report. A
    merit that is NaN raises DataError, with the `names` of the columns.
    """
    evaluate = partial(checked_merits, evaluator, names)
    size = max(1, int(_CHUNK_COST / max(evaluator.info.cost, 1.0)))
    try:
        proposal = next(walk)
        while True:
            budget = None if stop is None else stop.remaining_evaluations(archive)
            found = proposal.scan(budget)
            merits, reason = _evaluate_batch(found.candidates, evaluate, size, archive, budget, stop, journal)
            archive.add_unrecorded(found.n_unrecorded, found.bound)
            archive.end_step()
            _report_search(archive, budget, max_evaluations if found.n_total is None else found.n_total)
            reason = reason or _stop_reason(stop, archive)
            if reason is not None or merits is None:
                archive.stop_reason, archive.stopped_early = reason or "the limit of evaluations is reached", True
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
    totals = (max_evaluations, None if budget is None else archive.n_evaluations + budget)
    limits = [n for n in totals if n is not None and n < _MAX_SHOWN_TOTAL]
    size = archive.best_size
    columns = "" if size is None else f" of {size:,} {'column' if size == 1 else 'columns'}"
    progress.report_progress(
        f"Searching, best merit {archive.best_merit:.4g}{columns}", archive.n_evaluations, min(limits, default=None)
    )


def _stop_reason(stop: StoppingRule | None, archive: Archive) -> str | None:
    return None if stop is None else stop.reason(archive)


def _evaluate_batch(
    candidates: Candidates,
    evaluate: MeritFunction,
    size: int,
    archive: Archive,
    budget: int | None,
    stop: StoppingRule | None,
    journal: Journal | None,
) -> tuple[Floats | None, str | None]:
    """Return the merits of a batch, after its new sets are evaluated, `size` at a time, and the reason to stop, None for none.

    The merits are None where the budget does not suffice for the whole batch, or where a rule stops the search before its end.
    """
    keys = archive.index.keys(candidates)
    new_numbers = np.flatnonzero(archive.index.are_new(keys))
    n_new = len(new_numbers)
    if budget is not None:
        new_numbers = new_numbers[: max(budget, 0)]
    for start in range(0, len(new_numbers), size):
        part = new_numbers[start : start + size]
        chunk = candidates if len(part) == len(candidates) else candidates[part]
        values, scores = evaluate(chunk) if journal is None else journal.evaluate(chunk, evaluate)
        archive.record(chunk, keys[part], values, scores)
        if chunk is candidates:
            return values, None
        if start + size < len(new_numbers) and (reason := _stop_reason(stop, archive)) is not None:
            return None, reason
    if len(new_numbers) < n_new:
        return None, None
    return archive.merits_at(archive.index.lookup(keys)), None
