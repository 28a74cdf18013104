"""The one loop that every search runs in."""

from __future__ import annotations

import numpy as np

from tamiz import progress
from tamiz.candidates import Candidates
from tamiz.evaluator import Evaluator, Floats
from tamiz.search.archive import Archive
from tamiz.search.base import Walk
from tamiz.search.journal import Journal
from tamiz.search.stopping import StoppingRule

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
