"""The places that a user starts a search from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tamiz.exceptions import DataError
from tamiz.graphs.reading import array_of
from tamiz.statistics.base import Floats


def given_start(init: Any, names: Sequence[str], n: int, n_components: int) -> Floats:
    """Return the places of n rows, of shape (n, n_components); what else `init` may be is told by its names."""
    named = ", ".join(repr(name) for name in names)
    expected = f"init must be {named} or an array of {n:,} rows and {n_components} columns"
    places = array_of(init, expected)
    if places.dtype.kind not in "fiub":
        raise TypeError(f"{expected}, got {places.dtype} in the place of numbers.")
    if places.shape != (n, n_components):
        raise DataError(f"{expected}, got the shape {places.shape}.")
    places = places.astype(np.float64)
    if not np.isfinite(places).all():
        row = int(np.argmin(np.isfinite(places).all(axis=1)))
        raise DataError(f"init holds a NaN or an infinite value in row {row}.")
    refuse_one_place(places)
    return places


def refuse_one_place(places: Floats) -> None:
    """Refuse points, one a row, that are all equal."""
    if (places == places[0]).all():
        raise DataError("init has all its points at one place, from where nothing moves them apart.")
