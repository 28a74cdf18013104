"""Vectors of numbers that displays accept."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_array

from tamiz.exceptions import DataError


def read_vector(name: str, values: ArrayLike, dtype: type[np.generic] = np.float64) -> NDArray[Any]:
    """Return values as a one-dimensional array of finite numbers; `name` is that of the parameter, for messages."""
    vector: NDArray[Any] = check_array(np.asarray(values), dtype=dtype, ensure_2d=False, input_name=name)
    if vector.ndim != 1:
        raise DataError(f"{name} must be a list of numbers, got an array of shape {vector.shape}.")
    return vector
