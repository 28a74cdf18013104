"""What a selection buys, and what columns cost that tell nothing new."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tamiz.criteria.base import Merit
from tamiz.exceptions import DataError
from tamiz.selection import SubsetSelector
from tamiz.sources.base import Source
from tamiz.steps.searching import N_SPLITS, WAY, is_much_work
from tamiz.warn import held, tell

if TYPE_CHECKING:
    from tamiz.assessment import SelectionReport

# Models are fitted to so many values at most, and to so many rows: distances grow with their square. Of more rows some are drawn.
_MOST_VALUES, _MOST_ROWS = 250_000, 5_000
# Of fewer rows than this a sample is none.
_FEWEST_ROWS = 500
# Columns are added to a sample, for models are fitted a few hundred times; fifty beside many hundreds change nothing to be seen.
_ADDED_VALUES, _ADDED_MOST_ROWS, _ADDED_MOST_COLUMNS = 50_000, 1_000, 200
_N_ADDED = 50


def describe_buys(
    selector: SubsetSelector, source: Source, seed: int, report: SelectionReport | None, *, assess: bool | None
) -> dict[str, Any] | None:
    """Return the scores of models on all columns and on the chosen ones; None where they are left out, and why is told.

    Parameters
    ----------
    selector : SubsetSelector
        Fitted.
    source : Source
    seed : int
    report : SelectionReport or None
        Of the same selector and seed, whose choices in folds are taken where all rows are.
    assess : bool or None
        Whether it was asked for; None leaves it to the size of the work.
    """
    n_rows, n_seen = source.schema.n_rows, _n_seen(source)
    if assess is False or source.schema.target is None:
        return None
    most_rows = min(_MOST_ROWS, max(_MOST_VALUES // max(n_seen, 1), _FEWEST_ROWS))
    n_values = min(n_rows, most_rows) * n_seen
    known = report is not None and n_rows <= most_rows
    # Ten searches are few: each may be longer than where a hundred are made.
    much = n_values > 4 * _MOST_VALUES or (not known and is_much_work(selector, n_values, N_SPLITS, patience=4.0))
    if assess is None and much:
        tell([f"What the subset buys was not computed: {N_SPLITS} searches and models take long here. {WAY}"])
        return None
    # What it needs takes a moment to be imported.
    from tamiz.assessment import compare_columns

    try:
        with held():
            found = compare_columns(
                selector,
                source,
                n_splits=N_SPLITS,
                max_rows=most_rows,
                report=report if known else None,
                random_state=seed,
            )
    except (DataError, MemoryError) as error:
        if assess:
            raise
        tell([f"What the subset buys cannot be told: {error}"])
        return None
    described = found.to_dict()
    if assess is None and n_seen > _ADDED_MOST_COLUMNS:
        described["notes"].append(
            f"No columns were added to show what they cost: beside the {n_seen:,} numbers that models see of a row, {_N_ADDED} "
            f"more change little. {WAY}"
        )
    return described


def describe_argument(
    source: Source, merit: Merit, seed: int, bought: dict[str, Any] | None, *, assess: bool | None
) -> dict[str, Any] | None:
    """Return the scores of models as columns are added that tell nothing new; None where that is left out, and why is told.

    Parameters
    ----------
    source : Source
    merit : Merit
        What chooses among the columns and those added.
    seed : int
    bought : dict or None
        What `describe_buys` gave, whose notes are told beside it; where it could not be made, that and why was told.
    assess : bool or None
        As in `describe_buys`.
    """
    n_seen = _n_seen(source)
    if assess is False or source.schema.target is None or (assess is None and n_seen > _ADDED_MOST_COLUMNS):
        return None
    from tamiz.assessment import added_columns

    most_rows = min(_ADDED_MOST_ROWS, max(_ADDED_VALUES // (n_seen + _N_ADDED), _FEWEST_ROWS // 2))
    try:
        with held():
            found = added_columns(source, merit=merit, max_rows=most_rows, n_splits=N_SPLITS, random_state=seed)
    except (DataError, MemoryError) as error:
        if bought is not None:
            bought["notes"].append(f"What added columns cost cannot be told: {error}")
        return None
    return found.to_dict()


def _n_seen(source: Source) -> int:
    """Return how many numbers most models see of a row: a column of levels is one for each."""
    schema = source.schema
    return len(schema.numeric) + sum(schema.level_sizes.values())
