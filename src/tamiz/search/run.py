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


def run(
    walk: Walk, evaluator: Evaluator, archive: Archive, stop: Stopping | None = None, journal: Journal | None = None
) -> Archive:
    """Run a walk to its end, or until a rule stops it, and return the archive.

    Every set is evaluated once. On Ctrl-C the archive keeps what was found and says so (`interrupted`).
    """
    stop = None if stop is None else stop.begin()
    try:
        candidates = next(walk)
        while True:
            merits = _merits(candidates, evaluator, archive, stop, journal)
            progress.tell(f"Searching, best merit {archive.best_merit:.4g}", len(archive))
            reason = None if stop is None else stop.reason(archive)
            if reason is not None or merits is None:
                archive.stopped = reason or "the room for evaluations is used up"
                break
            candidates = walk.send(merits)
    except StopIteration as end:
        archive.stopped = str(end.value)
    except KeyboardInterrupt:
        archive.stopped = "interrupted"
        archive.interrupted = True
    finally:
        walk.close()
        if journal is not None:
            journal.close()
    return archive


def _merits(
    candidates: Candidates, evaluator: Evaluator, archive: Archive, stop: Stopping | None, journal: Journal | None
) -> Floats | None:
    """Return the merits of a batch, evaluating what is new; None when there was no room for all of it."""
    keys = archive.keys(candidates)
    known = archive.recall(keys)
    first = {key: c for c, (key, merit) in reversed(list(enumerate(zip(keys, known, strict=True)))) if merit is None}
    fresh = np.array(sorted(first.values()), dtype=np.intp)
    room = None if stop is None else stop.room(archive)
    if room is not None and len(fresh) > room:
        fresh = fresh[: max(room, 0)]
    new = candidates[fresh]
    new_keys = [keys[c] for c in fresh.tolist()]
    values = _evaluated(new, new_keys, evaluator, journal)
    if len(new):
        archive.record(new, new_keys, values)
    if len(fresh) == len(candidates):
        return values
    if len(fresh) < len(first):
        return None
    return np.array(archive.recall(keys), dtype=np.float64)


def _evaluated(new: Candidates, keys: list[bytes], evaluator: Evaluator, journal: Journal | None) -> Floats:
    """Return merits, from the journal where it has them; what is evaluated is written down."""
    if journal is None:
        return evaluator.evaluate(new)
    recalled = journal.recall(keys)
    values = np.array([np.nan if merit is None else merit for merit in recalled])
    unknown = np.array([c for c, merit in enumerate(recalled) if merit is None], dtype=np.intp)
    if len(unknown):
        part = new[unknown]
        values[unknown] = evaluator.evaluate(part)
        journal.append(part, values[unknown])
    return values
