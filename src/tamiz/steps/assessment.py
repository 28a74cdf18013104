"""The selection of a study assessed: the search repeated inside folds and on shuffled targets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tamiz.exceptions import DataError
from tamiz.selection import SubsetSelector
from tamiz.sources.base import Source
from tamiz.steps.searching import N_SPLITS, WAY, is_much_work
from tamiz.warn import tell

if TYPE_CHECKING:
    from tamiz.assessment import SelectionReport


def assess_selection(
    selector: SubsetSelector, source: Source, seed: int, *, assess: bool | None
) -> SelectionReport | None:
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
    n_searches = 1 + N_SPLITS + n_shuffles
    n_values = source.schema.n_rows * len(source.schema.used)
    if assess is None and is_much_work(selector, n_values, n_searches):
        tell([f"The subset was not searched for again inside folds: {n_searches} searches take long here. {WAY}"])
        return None
    try:
        return selection_report(selector, source, n_splits=N_SPLITS, n_permutations=n_shuffles, random_state=seed)
    except (DataError, MemoryError) as error:
        if assess:
            raise
        tell([f"How far the score of the subset can be trusted cannot be told: {error}"])
        return None
