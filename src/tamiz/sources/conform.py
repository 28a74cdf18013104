"""New rows read as the columns of a table that was seen before."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.exceptions import DataError
from tamiz.sources.base import Source
from tamiz.sources.kinds import level_codes, refuse_infinite, to_numbers
from tamiz.sources.memory import raw_columns
from tamiz.sources.schema import Schema
from tamiz.sources.table import TableSource


def conform(X: Any, schema: Schema) -> Source:
    """Return new rows under a fitted schema: its kinds, its levels, its columns left out.

    A level that the schema does not know is missing. Columns are taken by position.
    """
    if isinstance(X, Source):
        if X.schema.columns == schema.columns:
            return X
        X = X.frame()
    names, load = raw_columns(X)
    if len(names) != schema.n_columns:
        raise DataError(f"X has {len(names)} features, but {schema.n_columns} were there in fit.")
    values: dict[int, NDArray[Any]] = {}
    for j in schema.used.tolist():
        column, raw = schema.columns[j], load(names[j])
        if column.is_number:
            values[j], _ = to_numbers(raw, lambda at: f"row {at}", column.kind)
            refuse_infinite(values[j], column.name, lambda at: f"row {at}")
        else:
            values[j] = level_codes(raw, column.levels)
    n = len(load(names[0]))
    return TableSource(Schema(schema.columns, n), values, None, None, np.arange(n), lambda *_: X)
