"""One vector of values as codes, for the functions that take plain vectors."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tamiz.exceptions import DataError
from tamiz.sources.kinds import encode_target, to_numbers
from tamiz.sources.memory import to_raw_column
from tamiz.sources.table import check_weights


def code_vector(values: ArrayLike, name: str) -> tuple[NDArray[np.int32], int]:
    """Return codes with -1 for missing, and the number of different values."""
    encoded = encode_target(to_raw_column(values, name), "categorical", lambda at: f"value {at}")
    if encoded.values is None:
        return np.full(encoded.column.n_missing, -1, dtype=np.int32), 0
    return np.ascontiguousarray(encoded.values, dtype=np.int32), len(encoded.column.levels)


def weight_vector(sample_weight: ArrayLike | None, n: int) -> NDArray[np.float64]:
    """Return the weights of n values, ones where none are given; what is no weight is refused."""
    if sample_weight is None:
        return np.ones(n)

    def word(at: int) -> str:
        return f"value {at}"

    weight, _ = to_numbers(to_raw_column(sample_weight, "sample_weight"), word)
    if len(weight) != n:
        raise DataError(f"sample_weight has {len(weight)} values for {n}: inconsistent numbers of samples.")
    check_weights(weight, word)
    return np.ascontiguousarray(weight, dtype=np.float64)
