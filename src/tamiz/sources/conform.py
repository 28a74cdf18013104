"""New rows read as the columns of a table that was seen before."""

from __future__ import annotations

from typing import Any

import numpy as np

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
    numbers, codes = [], []
    for j in schema.used.tolist():
        column, raw = schema.columns[j], load(names[j])
        if column.is_number:
            values, _ = to_numbers(raw, lambda at: f"row {at}")
            refuse_infinite(values, column.name, lambda at: f"row {at}")
            numbers.append(values)
        else:
            codes.append(level_codes(raw, column.levels))
    n = len(load(names[0]))
    return TableSource(
        Schema(schema.columns, n),
        np.array(numbers, dtype=np.float64).reshape(-1, n).T,
        np.array(codes, dtype=np.int32).reshape(-1, n).T,
        None, None, np.arange(n), lambda *_: X,
    )  # fmt: skip
