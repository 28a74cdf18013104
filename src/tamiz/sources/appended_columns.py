"""Tables in memory with columns appended: noise, copies, or permuted copies of the columns of another source."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from tamiz.exceptions import DataError
from tamiz.sources.base import Source
from tamiz.sources.schema import Column
from tamiz.sources.table import TableSource
from tamiz.sources.views import RowNumbers, target_array, weight_array


class AppendedColumns:
    """The used columns of a source, read once, and tables of them with other columns appended.

    Parameters
    ----------
    source : Source
    advice : str
        What to do where a model asks for the user's table, which has no appended columns; the end of an error message.

    Attributes
    ----------
    values : mapping of int to ndarray of shape (n_rows,)
        The used columns: numbers, or codes of levels.
    """

    def __init__(self, source: Source, advice: str) -> None:
        self._source, self._advice = source, advice
        self._y = None if source.schema.target is None else target_array(source)
        self._weight = weight_array(source)
        used = source.schema.used.tolist()
        blocks = list(source.blocks(used))
        self.values: Mapping[int, NDArray[Any]] = {
            j: np.concatenate([block.column(j) for block in blocks]) for j in used
        }

    def table(
        self, appended: Sequence[tuple[Column, NDArray[Any]]], *, excluded: Collection[int] = (), reason: str = ""
    ) -> TableSource:
        """Return the source's columns with others after them.

        Parameters
        ----------
        appended : list of (Column, ndarray of shape (n_rows,))
            The descriptions and the values of the appended columns.
        excluded : collection of int, default=()
            Columns of the source that the table does not use.
        reason : str, default=""
            Why they are excluded.
        """
        source, left_out = self._source, set(excluded)
        own = [
            replace(column, exclusion_reason=reason) if j in left_out and column.exclusion_reason is None else column
            for j, column in enumerate(source.schema.columns)
        ]
        values = {j: column for j, column in self.values.items() if j not in left_out}
        values.update(enumerate((column for _, column in appended), start=len(own)))
        columns = (*own, *(column for column, _ in appended))
        schema = replace(source.schema, columns=columns, n_dropped=0, notes=())
        table = TableSource(schema, values, self._y, self._weight, None, self._refuse_frame)
        table.class_labels = source.class_labels
        table.groups, table.group_names, table.time = source.groups, source.group_names, source.time
        table.metadata = source.metadata
        return table

    def _refuse_frame(self, names: Sequence[str], rows: RowNumbers) -> NoReturn:  # noqa: ARG002 - the signature of a frame function
        raise DataError(f"Added columns are not in the user's table: {self._advice}.")
