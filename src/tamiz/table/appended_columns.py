"""Tables in memory with columns appended: noise, copies, or permuted copies of the columns of another table."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from numpy.typing import NDArray

from tamiz.arrays import Indices
from tamiz.exceptions import DataError
from tamiz.table.base import Table
from tamiz.table.encoded_table import EncodedTable
from tamiz.table.schema import Column
from tamiz.table.views import target_array, weight_array


class AppendedColumns:
    """The used columns of a table, read once, and tables of them with other columns appended.

    Parameters
    ----------
    table : Table
    advice : str
        What to do where a model asks for the user's table, which has no appended columns; the end of an error message.

    Attributes
    ----------
    values : mapping of int to ndarray of shape (n_rows,)
        The used columns: numbers, or codes of levels.
    """

    def __init__(self, table: Table, advice: str) -> None:
        self._table, self._advice = table, advice
        self._y = None if table.schema.target is None else target_array(table)
        self._weight = weight_array(table)
        self.values: Mapping[int, NDArray[Any]] = {j: table.column(j) for j in table.schema.used.tolist()}

    def table(
        self, appended: Sequence[tuple[Column, NDArray[Any]]], *, excluded: Collection[int] = (), reason: str = ""
    ) -> EncodedTable:
        """Return the table's columns with others after them.

        Parameters
        ----------
        appended : list of (Column, ndarray of shape (n_rows,))
            The descriptions and the values of the appended columns.
        excluded : collection of int, default=()
            Columns of the table that the table does not use.
        reason : str, default=""
            Why they are excluded.
        """
        opened, left_out = self._table, set(excluded)
        own = [
            replace(column, exclusion_reason=reason) if j in left_out and column.exclusion_reason is None else column
            for j, column in enumerate(opened.schema.columns)
        ]
        values = {j: column for j, column in self.values.items() if j not in left_out}
        values.update(enumerate((column for _, column in appended), start=len(own)))
        columns = (*own, *(column for column, _ in appended))
        schema = replace(opened.schema, columns=columns, n_dropped=0, notes=())
        table = EncodedTable(schema, values, self._y, self._weight, None, self._refuse_frame)
        table.class_labels = opened.class_labels
        table.groups, table.group_names, table.time = opened.groups, opened.group_names, opened.time
        table.metadata = opened.metadata
        return table

    def _refuse_frame(self, names: Sequence[str], rows: Indices) -> NoReturn:  # noqa: ARG002 - the signature of a frame function
        raise DataError(f"Added columns are not in the user's table: {self._advice}.")
