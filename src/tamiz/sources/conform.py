"""New rows read as the columns of a table that was seen before."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamiz.exceptions import DataError
from tamiz.sources.base import Source
from tamiz.sources.date_parts import split_like, without_parts
from tamiz.sources.fitted import conformed
from tamiz.sources.memory import raw_columns
from tamiz.sources.schema import Schema
from tamiz.sources.sparse import SparseTable
from tamiz.sources.table import TableSource
from tamiz.warn import tell


def conform(X: Any, schema: Schema) -> Source:
    """Return new rows under a fitted schema: its kinds, its levels, its columns left out; the missing values are their own.

    A level that the schema does not know is missing, and told of. Columns are taken by position. A source whose columns have the
    same names, kinds and levels, such as one opened under the schema (`open_source(like=)`), is returned as it is; any other, such
    as a file with a level more or less, is read whole into memory.
    """
    if isinstance(X, Source) and _alike(X.schema, schema):
        return X
    if (whole := without_parts(schema)) is not schema:
        return split_like(conform(X, whole), schema)
    numbers = None
    if isinstance(X, Source):
        X, numbers = X.frame([j for j, column in enumerate(X.schema.columns) if not column.part_of]), X.row_numbers
    held = SparseTable(X) if sparse.issparse(X) else None
    names, load = raw_columns(X) if held is None else (held.names, held.raw)
    if len(names) != schema.n_columns:
        raise DataError(f"X has {len(names)} features, but {schema.n_columns} were there in fit.")
    n = len(load(names[0]))
    rows = np.arange(n) if numbers is None else numbers

    def word(at: int) -> str:
        return f"row {rows[at]}"

    columns, values = list(schema.columns), dict[int, NDArray[Any]]()
    told: list[str] = []
    for j in schema.used.tolist():
        columns[j], values[j], sentences = conformed(schema.columns[j], load(names[j]), word)
        told += sentences
    if held is not None:
        values |= held.as_numbers().values(j for j in values if columns[j].is_number)
    tell(told)
    return TableSource(Schema(tuple(columns), n), values, None, None, rows, lambda *_: X)


def _alike(new: Schema, fitted: Schema) -> bool:
    """Whether the same columns take part under the same names, their values encoded alike."""
    if new.n_columns != fitted.n_columns or not np.array_equal(new.used, fitted.used):
        return False
    pairs = ((new.columns[j], fitted.columns[j]) for j in fitted.used.tolist())
    return all((a.name, a.kind, a.levels) == (b.name, b.kind, b.levels) for a, b in pairs)
