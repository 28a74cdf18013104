"""Merits of sets that a reader asks about: those of the search where it came to them, and the others as far as they are cheap."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tamiz.candidates import Candidates
from tamiz.exceptions import DataError
from tamiz.selection import SubsetSelector
from tamiz.sources.base import Source
from tamiz.warn import warn_user

# As much work as a reader does not wait for, in microseconds or so: by counts alone, so that every machine tells the same.
_MAX_EFFORT = 4_000_000.0
# Masks of so many sets, and bytes of masks: of 5,000 columns these are as many sets.
_MAX_SETS, _MAX_BYTES = 5_000, 25_000_000


def merits_within_effort(
    selector: SubsetSelector, source: Source, candidates: Candidates, description: str
) -> NDArray[np.float64]:
    """Return the merits of sets, those first in order first; NaN where they are much work or none, and why is told.

    Parameters
    ----------
    selector : SubsetSelector
        Fitted.
    source : Source
    candidates : Candidates
        The sets.
    description : str
        What the sets are, for the sentence: "sets of one column more or less".
    """
    merits = np.full(len(candidates), np.nan)
    archive = selector.archive_
    numbers = archive.lookup(archive.keys(candidates))
    merits[numbers >= 0] = archive.merits_at(numbers[numbers >= 0])
    missing = np.flatnonzero(numbers < 0)
    by_memory = max(_MAX_BYTES // source.schema.n_columns, 1)
    room = min(int(_MAX_EFFORT / max(selector.merit_cost_, 1.0)), _MAX_SETS, by_memory)
    if room < len(missing):
        warn_user(
            [
                f"Of {len(candidates):,} {description} the merits of {len(missing) - room:,} were not asked for: each is much work, or "
                "there are many of them."
            ]
        )
    if len(missing[:room]):
        try:
            merits[missing[:room]] = selector.merits(candidates[missing[:room]].masks(), source)
        except DataError as error:
            warn_user([f"Of {len(missing):,} of {len(candidates):,} {description} there is no merit: {error}"])
    # A set that a model cannot be fitted on has none.
    return np.where(np.isneginf(merits), np.nan, merits)
