"""The one loop that every search runs in."""

from __future__ import annotations

import numpy as np

from tamiz import progress
from tamiz.candidates import Candidates
from tamiz.evaluator import Evaluator, Floats
from tamiz.search.archive import Archive
from tamiz.search.base import Walk
from tamiz.search.journal import Journal
from tamiz.search.stopping import Stopping

# Nobody waits for so many sets, and there are numbers of sets beyond the largest float.
_COUNTLESS = 10**15

# Sets of a batch are evaluated so many microseconds of work at a time, by what the merit says of itself: a rule is asked, and
# Ctrl-C finds, what came of a part. Counts and no clock, so that every run has the same parts.
_PART_EFFORT = 500_000.0


def run(
    walk: Walk,
    evaluator: Evaluator,
    archive: Archive,
    stop: Stopping | None = None,
    journal: Journal | None = None,
    most: int | None = None,
) -> Archive:
    """Run a walk to its end, or until a rule stops it, and return the archive.

    Every set is evaluated once, a batch that is much work in parts. On Ctrl-C the archive keeps what was found and says so
    (`interrupted`). `most` is how many sets the walk evaluates at most, where that is known: whoever listens to the progress is
    told.
    """
    stop = None if stop is None else stop.begin()
    try:
        proposal = next(walk)
        while True:
            room = None if stop is None else stop.room(archive)
            found = proposal.look(room)
            merits, reason = _merits(found.sets, evaluator, archive, room, stop, journal)
            archive.pass_over(found.n_passed, found.bound)
            archive.end_step()
            _tell(archive, room, most if found.total is None else found.total)
            reason = reason or _reason(stop, archive)
            if reason is not None or merits is None:
                archive.stopped, archive.cut_off = reason or "the room for evaluations is used up", True
                break
            proposal = walk.send(merits)
    except StopIteration as end:
        archive.stopped = str(end.value)
    except KeyboardInterrupt:
        archive.stopped = "interrupted"
        archive.interrupted = archive.cut_off = True
    finally:
        walk.close()
        if journal is not None:
            journal.close()
    return archive


def _tell(archive: Archive, room: int | None, most: int | None) -> None:
    rooms = (most, None if room is None else archive.n_evaluations + room)
    limits = [n for n in rooms if n is not None and n < _COUNTLESS]
    size = archive.best_size
    columns = "" if size is None else f" of {size:,} {'column' if size == 1 else 'columns'}"
    progress.tell(
        f"Searching, best merit {archive.best_merit:.4g}{columns}", archive.n_evaluations, min(limits, default=None)
    )


def _reason(stop: Stopping | None, archive: Archive) -> str | None:
    return None if stop is None else stop.reason(archive)


def _merits(
    candidates: Candidates,
    evaluator: Evaluator,
    archive: Archive,
    room: int | None,
    stop: Stopping | None,
    journal: Journal | None,
) -> tuple[Floats | None, str | None]:
    """Return the merits of a batch, evaluating what is new; None when there was no room for all of it, or a reason to stop."""
    keys = archive.keys(candidates)
    fresh = np.flatnonzero(archive.are_new(keys))
    n_wanted = len(fresh)
    if room is not None:
        fresh = fresh[: max(room, 0)]
    size = max(1, int(_PART_EFFORT / max(evaluator.effort, 1.0)))
    for start in range(0, len(fresh), size):
        part = fresh[start : start + size]
        new = candidates if len(part) == len(candidates) else candidates[part]
        values, scores = evaluator.evaluate_with_folds(new) if journal is None else journal.complete(new, evaluator)
        archive.record(new, keys[part], values, scores)
        if new is candidates:
            return values, None
        if start + size < len(fresh) and (reason := _reason(stop, archive)) is not None:
            return None, reason
    if len(fresh) < n_wanted:
        return None, None
    return archive.recall(archive.find(keys)), None
