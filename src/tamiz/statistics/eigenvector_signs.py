"""A rule for the signs of eigenvectors, which are determined only up to a sign."""

from __future__ import annotations

import numpy as np

from tamiz.arrays import Floats

# Absolute values within this relative difference of the largest count as equal: the accuracy of iterative eigenvectors.
_TIE_TOLERANCE = 1e-6


def eigenvector_signs(X: Floats, tolerance: float = _TIE_TOLERANCE) -> Floats:
    """Return for each column the sign that makes its entry of largest absolute value positive, the first of equal ones."""
    size = np.abs(X)
    first = np.argmax(size >= size.max(axis=0) * (1 - tolerance), axis=0)
    return np.where(X[first, np.arange(X.shape[1])] < 0, -1.0, 1.0)
