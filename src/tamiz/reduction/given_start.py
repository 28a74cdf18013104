"""The places that a user starts a search from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tamiz.exceptions import DataError
from tamiz.graphs.reading import as_array
from tamiz.statistics.base import Floats


def read_initial_embedding(init: Any, choices: Sequence[str], n_samples: int, n_components: int) -> Floats:
    """Return the places of n rows, of shape (n, n_components); what else `init` may be is told by its names."""
    named = ", ".join(repr(name) for name in choices)
    expected = f"init must be {named} or an array of {n_samples:,} rows and {n_components} columns"
    places = as_array(init, expected)
    if places.dtype.kind not in "fiub":
        raise TypeError(f"{expected}, got {places.dtype} in the place of numbers.")
    if places.shape != (n_samples, n_components):
        raise DataError(f"{expected}, got the shape {places.shape}.")
    places = places.astype(np.float64)
    if not np.isfinite(places).all():
        row = int(np.argmin(np.isfinite(places).all(axis=1)))
        raise DataError(f"init holds a NaN or an infinite value in row {row}.")
    check_distinct_points(places)
    return places


def check_distinct_points(points: Floats) -> None:
    """Refuse points, one a row, that are all equal."""
    if (points == points[0]).all():
        raise DataError("init has all its points at one place, from where nothing moves them apart.")
