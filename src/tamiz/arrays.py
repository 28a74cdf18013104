"""Types of arrays, and what every package does with them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
# Levels of categorical columns and classes, -1 for missing.
Codes = NDArray[np.int32]
# Numbers of rows or columns.
Indices = NDArray[np.intp]
Masks = NDArray[np.bool_]


def divide_or_zero(a: ArrayLike, b: ArrayLike) -> Floats:
    """Return a / b, and 0 where b is not positive."""
    return np.divide(a, b, out=np.zeros(np.broadcast_shapes(np.shape(a), np.shape(b))), where=np.asarray(b) > 0)


def is_missing(values: NDArray[Any]) -> Masks:
    """Return where numbers are NaN, or codes of levels are negative."""
    return np.isnan(values) if values.dtype.kind == "f" else np.asarray(values < 0)


def eigenvector_signs(X: Floats, tolerance: float = 1e-6) -> Floats:
    """Return for each column the sign that makes its entry of largest absolute value positive, the first of equal ones.

    Entries count as equal within a relative `tolerance`: the accuracy of iterative eigenvectors.
    """
    size = np.abs(X)
    first = np.argmax(size >= size.max(axis=0) * (1 - tolerance), axis=0)
    return np.where(X[first, np.arange(X.shape[1])] < 0, -1.0, 1.0)
