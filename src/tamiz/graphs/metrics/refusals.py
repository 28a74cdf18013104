"""Rows that a metric cannot measure, named."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tamiz.exceptions import DataError
from tamiz.sources.base import Source
from tamiz.statistics.base import Block, Floats
from tamiz.warn import tell

_NAMED_ROWS = 5


def named_rows(rows: NDArray[np.integer]) -> str:
    """Return "Row 3 has" or "Rows 3, 8 and 11 more have"."""
    listed = ", ".join(str(int(row)) for row in rows[:_NAMED_ROWS])
    if len(rows) == 1:
        return f"Row {listed} has"
    more = f" and {len(rows) - _NAMED_ROWS:,} more" if len(rows) > _NAMED_ROWS else ""
    return f"Rows {listed}{more} have"


def refuse_not_finite(rows: NDArray[np.intp]) -> None:
    """Refuse the rows named."""
    if len(rows):
        raise DataError(
            f"{named_rows(rows)} a NaN or an infinite value; distances need finite ones. "
            "Fill such values in or leave such rows out."
        )


def refuse_no_direction(rows: NDArray[np.intp]) -> None:
    """Refuse the rows named."""
    if len(rows):
        raise DataError(
            f"{named_rows(rows)} only zeros and so no direction, which is what the cosine distance compares. "
            "Leave such rows out, or use the Euclidean distance."
        )


def refuse_other_columns(n_given: int, n_fitted: int) -> None:
    """Refuse new rows of another number of columns."""
    if n_given != n_fitted:
        raise DataError(f"X has {n_given} features, but {n_fitted} were there in fit.")


def refuse_empty(values: Floats, row_numbers: NDArray[np.intp]) -> None:
    """Refuse rows of which no column, a row of `values`, holds anything."""
    empty = np.ones(values.shape[1], dtype=bool)
    for column in values:
        empty &= np.isnan(column)
    if empty.any():
        named = named_rows(row_numbers[np.flatnonzero(empty)])
        raise DataError(
            f"{named} no value in any column that varies, and so no distance to others. Leave such rows out."
        )


def refuse_gaps(source: Source, *, fill: bool) -> None:
    """Refuse rows with missing values, or tell that they are filled with the mean of their column."""
    schema = source.schema
    gappy = [j for j in schema.used.tolist() if schema.columns[j].n_missing]
    n_missing = sum(schema.columns[j].n_missing for j in gappy)
    if not n_missing:
        return
    if fill:
        values = "missing value was" if n_missing == 1 else "missing values were"
        tell([f"{n_missing:,} {values} given the mean of the column before distances were taken."])
        return
    gaps = np.concatenate([_gaps(block, gappy) for block in source.blocks(gappy)])
    rows = np.flatnonzero(gaps.any(axis=1))
    column = schema.columns[gappy[int(np.argmax(gaps[rows[0]]))]].name
    where = f"in column {column}" if len(rows) == 1 else f"the first in column {column}"
    raise DataError(
        f"{named_rows(source.row_numbers[rows])} a missing value, {where}; distances need all of them. "
        "Fill them in, leave the rows out, or use metric='gower'."
    )


def _gaps(block: Block, columns: list[int]) -> NDArray[np.bool_]:
    values = [block.values[j] for j in columns]
    return np.column_stack([np.isnan(v) if v.dtype == np.float64 else v < 0 for v in values])
