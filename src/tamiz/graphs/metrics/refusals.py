"""Rows that a metric cannot measure, named."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tamiz.exceptions import DataError
from tamiz.sources.base import Source
from tamiz.sources.kinds import LARGEST_NUMBER
from tamiz.statistics.base import Block, Floats
from tamiz.warn import warn_user

_MAX_LISTED_ROWS = 5


def describe_rows(rows: NDArray[np.integer]) -> str:
    """Return "Row 3 has" or "Rows 3, 8 and 11 more have"."""
    listed = ", ".join(str(int(row)) for row in rows[:_MAX_LISTED_ROWS])
    if len(rows) == 1:
        return f"Row {listed} has"
    more = f" and {len(rows) - _MAX_LISTED_ROWS:,} more" if len(rows) > _MAX_LISTED_ROWS else ""
    return f"Rows {listed}{more} have"


def refuse_not_finite(rows: NDArray[np.intp]) -> None:
    """Refuse the rows named."""
    if len(rows):
        raise DataError(
            f"{describe_rows(rows)} a NaN or an infinite value; distances need finite ones. "
            "Fill such values in or leave such rows out."
        )


def refuse_too_large(rows: NDArray[np.intp]) -> None:
    """Refuse the rows named."""
    if len(rows):
        raise DataError(
            f"{describe_rows(rows)} a number above {LARGEST_NUMBER:g}, too large to be squared. Change the unit."
        )


def refuse_zero_rows(rows: NDArray[np.intp]) -> None:
    """Refuse the rows named."""
    if len(rows):
        raise DataError(
            f"{describe_rows(rows)} only zeros and so no direction, which is what the cosine distance compares. "
            "Leave such rows out, or use the Euclidean distance."
        )


def check_n_features(n_features: int, n_fitted: int) -> None:
    """Refuse new rows of another number of columns."""
    if n_features != n_fitted:
        raise DataError(f"X has {n_features} features, but {n_fitted} were there in fit.")


def refuse_empty_rows(values: Floats, row_numbers: NDArray[np.intp]) -> None:
    """Refuse rows of which no column, a row of `values`, holds anything."""
    empty = np.ones(values.shape[1], dtype=bool)
    for column in values:
        empty &= np.isnan(column)
    if empty.any():
        named = describe_rows(row_numbers[np.flatnonzero(empty)])
        raise DataError(
            f"{named} no value in any column that varies, and so no distance to others. Leave such rows out."
        )


def check_missing_values(source: Source, *, fill_missing: bool, new_rows: bool = False) -> None:
    """Refuse rows with missing values, or tell that they are filled with the mean of their column.

    In new rows an unknown level is missing too.
    """
    columns = source.schema.columns
    gappy = [j for j in source.schema.used.tolist() if columns[j].n_missing]
    n_missing = sum(columns[j].n_missing for j in gappy)
    if not n_missing:
        return
    if fill_missing:
        values, were = ("value", "was") if n_missing == 1 else ("values", "were")
        if new_rows and any(not columns[j].is_number for j in gappy):
            values += " or unknown level" + values.removeprefix("value")
        whose = " of new rows" if new_rows else ""
        warn_user(
            [f"{n_missing:,} missing {values}{whose} {were} given the mean of the column before distances were taken."]
        )
        return
    gaps = np.concatenate([_missing_mask(block, gappy) for block in source.blocks(gappy)])
    rows = np.flatnonzero(gaps.any(axis=1))
    if not len(rows):
        # The gaps of a table of which these are a part lie elsewhere.
        return
    column = columns[gappy[int(np.argmax(gaps[rows[0]]))]]
    what = "a missing value or an unknown level" if new_rows and not column.is_number else "a missing value"
    where = f"in column {column.name}" if len(rows) == 1 else f"the first in column {column.name}"
    why, way_out = (
        ("the graph was built without any", "build the graph with fill=True")
        if new_rows
        else ("distances need all of them", "use metric='gower'")
    )
    raise DataError(
        f"{describe_rows(source.row_numbers[rows])} {what}, {where}; {why}. Fill them in, leave the rows out, or {way_out}."
    )


def _missing_mask(block: Block, columns: list[int]) -> NDArray[np.bool_]:
    values = [block.values[j] for j in columns]
    return np.column_stack([np.isnan(v) if v.dtype.kind == "f" else v < 0 for v in values])
