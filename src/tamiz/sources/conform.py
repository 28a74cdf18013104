"""New rows read as the columns of a table that was seen before."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamiz.exceptions import DataError
from tamiz.sources.base import Source
from tamiz.sources.date_parts import merge_date_parts, split_dates_like
from tamiz.sources.fitted import encode_known_column
from tamiz.sources.memory import column_loader
from tamiz.sources.schema import Schema
from tamiz.sources.sparse import SparseTable
from tamiz.sources.table import TableSource
from tamiz.warn import warn_user


def align_to_schema(X: Any, schema: Schema) -> Source:
    """Return new rows under a fitted schema: its kinds, its levels, its columns left out; the missing values are their own.

    A level that the schema does not know is missing, and told of. Columns are taken by position. A source whose columns have the
    same names, kinds and levels, such as one opened under the schema (`open_source(like=)`), is returned as it is; any other, such
    as a file with a level more or less, is read whole into memory.
    """
    if isinstance(X, Source) and _same_columns(X.schema, schema):
        return X
    if (whole := merge_date_parts(schema)) is not schema:
        return split_dates_like(align_to_schema(X, whole), schema)
    numbers = None
    if isinstance(X, Source):
        X, numbers = X.frame([j for j, column in enumerate(X.schema.columns) if not column.date_part]), X.row_numbers
    held = SparseTable(X) if sparse.issparse(X) else None
    names, load = column_loader(X) if held is None else (held.names, held.raw_column)
    if len(names) != schema.n_columns:
        raise DataError(f"X has {len(names)} features, but {schema.n_columns} were there in fit.")
    n = len(load(names[0]))
    rows = np.arange(n) if numbers is None else numbers

    def word(at: int) -> str:
        return f"row {rows[at]}"

    columns, values = list(schema.columns), dict[int, NDArray[Any]]()
    told: list[str] = []
    for j in schema.used.tolist():
        columns[j], values[j], sentences = encode_known_column(schema.columns[j], load(names[j]), word)
        told += sentences
    if held is not None:
        values |= held.as_floats().lazy_columns(j for j in values if columns[j].is_number)
    warn_user(told)
    return TableSource(Schema(tuple(columns), n), values, None, None, rows, lambda *_: X)


def _same_columns(new: Schema, known: Schema) -> bool:
    """Whether the same columns take part under the same names, their values encoded alike."""
    if new.n_columns != known.n_columns or not np.array_equal(new.used, known.used):
        return False
    pairs = ((new.columns[j], known.columns[j]) for j in known.used.tolist())
    return all((a.name, a.kind, a.levels) == (b.name, b.kind, b.levels) for a, b in pairs)
