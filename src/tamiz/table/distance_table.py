"""Distance matrices as tables: reading, checking cell by cell, and a warning if a table of features looks like one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tamiz.arrays import Floats
from tamiz.exceptions import DataError
from tamiz.runtime.validation import check_memory
from tamiz.runtime.verdicts import Verdict
from tamiz.table.base import Table
from tamiz.table.in_memory import column_loader
from tamiz.table.kinds import RawColumn, level_text, to_numbers

# A smaller table may be square and symmetric by chance; of a larger one only the first rows are checked.
_MIN_ROWS, _MAX_ROWS = 3, 1000
# Largest relative difference of mirror entries that counts as rounding.
SYMMETRY_TOLERANCE = {np.dtype(np.float64): 1e-10, np.dtype(np.float32): 1e-5}


@dataclass(frozen=True)
class DistanceTable:
    """The distances of all pairs of rows.

    Attributes
    ----------
    matrix : ndarray of shape (n_rows, n_rows)
        Symmetric to rounding, 0 on the diagonal, at least 0; NaN is a missing distance.
    label_column : str or None
        The column that contains the names of the rows, if there is one.
    """

    matrix: Floats
    label_column: str | None


def read_distance_table(table: Table, other_columns: Collection[str] = ()) -> DistanceTable:
    """Read a table as a distance matrix.

    Parameters
    ----------
    table : Table
        Row i and column i belong to the same object. One more column may contain the names of the rows, in the order of the header.
    other_columns : collection of str
        Columns that are not part of the matrix.

    Raises
    ------
    DataError
        If the table is not a distance matrix; the message names the cell.
    MemoryError
        If the matrix does not fit in memory.
    """
    names = [name for name in table.column_names if name not in other_columns]
    n = table.schema.n_rows
    if len(names) not in (n, n + 1):
        raise DataError(
            f"A distance matrix has as many columns as rows, and at most one more with the names of the rows; the table has {n:,} "
            f"rows and {len(names):,} columns."
        )
    # The columns as read (16 bytes a value), and the matrix.
    check_memory(24.0 * n * n, f"A matrix of {n:,} x {n:,} distances", "Pass fewer rows.")
    return _parse_matrix(table.frame_by_name(names), n)


def distance_matrix_warnings(table: Table) -> list[Verdict]:
    """Return a warning if the columns of a table look like a distance matrix, else an empty list."""
    schema, n = table.schema, table.schema.n_rows
    roles = {schema.target.name if schema.target else None, schema.weight, schema.groups, schema.time}
    names = [name for name in table.column_names if name not in roles]
    if n < _MIN_ROWS or len(names) not in (n, n + 1):
        return []
    size = min(n, _MAX_ROWS)
    try:
        found = _parse_matrix(table.frame_by_name(names[: size + len(names) - n], np.arange(size)), size).matrix
    except (DataError, TypeError):
        return []
    if not found.any():
        return []
    sentence = (
        "The table is square and symmetric with zeros on its diagonal, like a distance matrix, but its columns are used as "
        "features. To map the distances: tamiz reduce TABLE --method mds --dissimilarity precomputed, or in Python "
        'MDS(dissimilarity="precomputed").'
    )
    return [Verdict("TZ209", sentence)]


def _parse_matrix(table: Any, n: int) -> DistanceTable:
    names, load = column_loader(table)
    columns = [load(name) for name in names]
    at = _label_column_index(columns) if len(names) > n else None
    rows = [column for j, column in enumerate(columns) if j != at]
    matrix = np.empty((n, n))
    for j, column in enumerate(rows):
        matrix[:, j] = to_numbers(column, lambda row: f"row {row + 1} of the matrix")
    _check_distances(matrix, [column.name for column in rows])
    return DistanceTable(matrix, None if at is None else names[at])


def _label_column_index(columns: Sequence[RawColumn]) -> int:
    """Return the index of the column that contains the names of the rows, in the order of the header."""
    names = [column.name for column in columns]
    words = [_column_texts(column) for column in columns]
    for j in range(len(columns)):
        if words[j] == names[:j] + names[j + 1 :]:
            return j
    text = [j for j, column in enumerate(columns) if not isinstance(column.values, np.ndarray)]
    at = text[0] if text else 0
    wanted = names[:at] + names[at + 1 :]
    row = next(i for i in range(len(wanted)) if words[at][i] != wanted[i])
    raise DataError(
        f"The table has one column more than rows, and column {names[at]!r} does not contain the names of the rows of a distance "
        f"matrix: row {row + 1} is {words[at][row]!r}, and column {row + 1} is {wanted[row]!r}. Rows and columns need the same "
        "names in the same order."
    )


def _column_texts(column: RawColumn) -> list[str | None]:
    values = column.values
    if column.categories is not None:
        return [None if code < 0 else column.categories[code] for code in values]
    return [level_text(value) for value in (values.tolist() if isinstance(values, np.ndarray) else values.to_pylist())]


def _check_distances(matrix: Floats, names: Sequence[str]) -> None:
    """Raise DataError for numbers that are not distances; the message names the cell by its row, counted from 1, and its column."""

    def cell(i: int, j: int) -> str:
        return f"row {i + 1} ({names[i]}), column {names[j]} is {matrix[i, j]:.12g}"

    for i, row in enumerate(matrix):
        if (row < 0).any():
            raise DataError(f"Not a distance matrix: {cell(i, int(np.argmax(row < 0)))}; a distance is at least 0.")
        if row[i] > 0:
            raise DataError(
                f"Not a distance matrix: {cell(i, i)}; a row is at distance 0 from itself. Convert similarities to distances first."
            )
        differ = np.abs(row - matrix[:, i]) > SYMMETRY_TOLERANCE[matrix.dtype] * np.maximum(row, matrix[:, i])
        if differ.any():
            j = int(np.argmax(differ))
            raise DataError(f"Not a distance matrix: {cell(i, j)} and {cell(j, i)}; the matrix must be symmetric.")
