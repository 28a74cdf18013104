"""Columns that grow or fall with the row number: the rows are sorted by them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from tamiz import parallel
from tamiz.sources.base import Source

# A rank correlation with the row number beyond this is a sorted column, some neighbours exchanged or not.
_MIN_ROW_CORRELATION = 0.999
# Of fewer rows the best of many columns comes near that by chance.
_MIN_SORTED_ROWS = 20
# Steps looked at first, and the share of them that go one way in a column that may be sorted.
_MAX_STEPS, _MIN_STEP_SHARE = 100, 0.8
_MAX_NAMED = 5
# Values of one piece of work: few columns of a long table, many of a short one.
_TASK_VALUES = 2**16


@dataclass(frozen=True)
class MonotoneColumn:
    """A column by which the rows are sorted.

    Attributes
    ----------
    name : str
    correlation : float
        Spearman's, with the row number, over the rows that have a value.
    """

    name: str
    correlation: float


def monotone_columns(source: Source) -> list[MonotoneColumn]:
    """Return the numbers and dates whose Spearman correlation with the row number is above .999 or below -.999.

    Dates that take part by their calendar parts are among them, the parts are not.

    Parameters
    ----------
    source : Source

    Notes
    -----
    Cost O(n) for a column, and a sort for one of which most of a hundred steps over the whole length go one way.
    """
    schema = source.schema
    wanted = [
        j
        for j, column in enumerate(schema.columns)
        if column.is_number
        and not column.date_part
        and (column.exclusion_reason is None or column.name in schema.split_dates)
    ]

    def look(columns: list[int]) -> list[float]:
        blocks = list(source.blocks(columns))
        return [_row_correlation(np.concatenate([block.column(j) for block in blocks])) for j in columns]

    size = max(1, _TASK_VALUES // max(schema.n_rows, 1))
    tasks = [wanted[start : start + size] for start in range(0, len(wanted), size)]
    found = zip(wanted, chain.from_iterable(parallel.map_blocks(look, tasks)), strict=True)
    return [MonotoneColumn(schema.columns[j].name, rho) for j, rho in found if abs(rho) > _MIN_ROW_CORRELATION]


def monotone_column_warnings(source: Source, leakage_columns: Collection[str] = ()) -> list[str]:
    """Return the warning that names the columns by which the rows are sorted, none where there are none.

    Parameters
    ----------
    source : Source
    leakage_columns : collection of str
        Columns reported as possible target leakage.
    """
    found = monotone_columns(source)
    if not found:
        return []
    named = ", ".join(
        f"{one.name!r} (Spearman correlation with the row number {one.correlation:.4g}"
        f"{'; also a possible target leakage' if one.name in leakage_columns else ''})"
        for one in found[:_MAX_NAMED]
    )
    more = f" and {len(found) - _MAX_NAMED:,} more" if len(found) > _MAX_NAMED else ""
    which = "it" if len(found) == 1 else "one of them"
    return [
        f"The rows are sorted by {named}{more}. If {which} is the time of a row, name it (time=, --time): folds then test on later "
        "rows, and it is no feature. If it only numbers the rows, declare the kind id."
    ]


def _row_correlation(values: NDArray[Any]) -> float:
    """Return the rank correlation of present values with the row number, 0 where it is seen to be far from 1 and -1."""
    present = np.flatnonzero(~np.isnan(values))
    n = len(present)
    if n < _MIN_SORTED_ROWS:
        return 0.0
    steps = np.diff(values[present[np.linspace(0, n - 1, min(n, _MAX_STEPS)).astype(np.intp)]])
    share = max(np.count_nonzero(steps > 0), np.count_nonzero(steps < 0)) / len(steps)
    if share < _MIN_STEP_SHARE:
        return 0.0
    ranks = rankdata(values[present])
    return float(np.corrcoef(ranks, np.arange(n))[0, 1])
