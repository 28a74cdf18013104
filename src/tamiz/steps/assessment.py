"""The selection of a study assessed: the search repeated inside folds and on shuffled targets."""

from __future__ import annotations

from typing import Any

from tamiz.exceptions import DataError
from tamiz.selection import SubsetSelector
from tamiz.sources.base import Source
from tamiz.warn import tell

# A selection is assessed where nobody asked up to so many values of the table read, and up to so many sets looked at, in all of
# its searches together: that takes a few seconds.
_MOST_VALUES = 60_000_000
_MOST_SETS = 250_000
# The books of a set are as much work as this merit.
_EFFORT_OF_ONE = 20.0
# An exact search passes over so many sets, about, while another evaluates one.
_PASSED_IN_ONE = 1_000
_N_SPLITS = 10
_WAY = "Ask for it with assess=True (--assess)."


def assess_selection(
    selector: SubsetSelector, source: Source, seed: int, *, assess: bool | None
) -> dict[str, Any] | None:
    """Return how far the score of a selection can be trusted; None where it is left out, and why is told.

    Parameters
    ----------
    selector : SubsetSelector
        Fitted.
    source : Source
    seed : int
    assess : bool or None
        Whether it was asked for; None leaves it to the size of the work.
    """
    if assess is False or (assess is None and source.schema.target is None):
        return None
    # What it needs takes a moment to be imported.
    from tamiz.assessment import selection_report
    from tamiz.assessment.null import usual_number

    n_shuffles = usual_number(source)
    n_searches = 1 + _N_SPLITS + n_shuffles
    # By counts alone: a clock would give other results on another machine.
    n_values = source.schema.n_rows * len(source.schema.used)
    n_sets = len(selector.archive_) + selector.archive_.n_passed / _PASSED_IN_ONE
    work = n_searches * n_sets * max(selector.merit_effort_ / _EFFORT_OF_ONE, 1.0)
    if assess is None and (n_searches * n_values > _MOST_VALUES or work > _MOST_SETS):
        tell([f"The subset was not searched for again inside folds: {n_searches} searches take long here. {_WAY}"])
        return None
    try:
        report = selection_report(selector, source, n_splits=_N_SPLITS, n_permutations=n_shuffles, random_state=seed)
    except (DataError, MemoryError) as error:
        if assess:
            raise
        tell([f"How far the score of the subset can be trusted cannot be told: {error}"])
        return None
    return report.to_dict()
