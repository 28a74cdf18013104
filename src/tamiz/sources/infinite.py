"""Infinite values for who reads them: in a table they count as missing, and are handed on as they are."""

from __future__ import annotations

import hashlib
from typing import Any

import narwhals as nw
import numpy as np

from tamiz.sources.memory import eager_frame, is_frame


def mask_infinite(data: Any) -> tuple[Any, bytes]:
    """Return an array or a frame with its infinite values missing, itself where it has none, and what tells where they were."""
    if isinstance(data, np.ndarray):
        infinite = np.isinf(data) if data.dtype.kind == "f" else np.zeros(0, dtype=bool)
        return (np.where(infinite, np.nan, data), _position_digest(infinite, data)) if infinite.any() else (data, b"")
    if not is_frame(data):
        return data, b""
    frame, told = eager_frame(data), b""
    for j, dtype in enumerate(frame.schema.values()):
        if not dtype.is_float():
            continue
        series = frame[:, j]
        values = series.to_numpy().astype(np.float64, copy=False)
        infinite = np.isinf(values)
        if infinite.any():
            told += str(j).encode() + _position_digest(infinite, values)
            shown = nw.new_series(series.name, np.where(infinite, np.nan, values), backend=frame.implementation)
            frame = frame.with_columns(shown)
    return (frame.to_native(), told) if told else (data, b"")


def _position_digest(infinite: np.ndarray[Any, Any], values: np.ndarray[Any, Any]) -> bytes:
    at = np.flatnonzero(infinite)
    return hashlib.sha256(at.tobytes() + np.signbit(values.ravel()[at]).tobytes()).digest()
