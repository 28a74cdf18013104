"""One choice between a direction and its opposite."""

from __future__ import annotations

import numpy as np

from tamiz.statistics.base import Floats

# Entries are equal in size within this, next to the largest: what eigenvectors found by steps are exact to.
_TIE_TOLERANCE = 1e-6


def eigenvector_signs(X: Floats, tolerance: float = _TIE_TOLERANCE) -> Floats:
    """Return for each column the sign that makes its largest entry positive, the first of those equal within a share of it."""
    size = np.abs(X)
    first = np.argmax(size >= size.max(axis=0) * (1 - tolerance), axis=0)
    return np.where(X[first, np.arange(X.shape[1])] < 0, -1.0, 1.0)
