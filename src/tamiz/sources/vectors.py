"""One vector of values as codes, for the functions that take plain vectors."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tamiz.sources.kinds import encode_target
from tamiz.sources.memory import column_of


def code_vector(values: ArrayLike, name: str) -> tuple[NDArray[np.int32], int]:
    """Return codes with -1 for missing, and the number of different values."""
    encoded = encode_target(column_of(values, name), "categorical", lambda at: f"value {at}")
    if encoded.values is None:
        return np.full(encoded.column.n_missing, -1, dtype=np.int32), 0
    return np.ascontiguousarray(encoded.values, dtype=np.int32), len(encoded.column.levels)
