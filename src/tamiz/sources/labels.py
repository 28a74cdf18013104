"""The classes of a target as the user wrote them, for estimators and scorers to which they mean something."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.utils import column_or_1d

from tamiz.sources.raw import RawColumn

# What int64 holds.
_LARGEST_INT64 = 2**63 - 1


def class_labels(raw: RawColumn, codes: NDArray[Any], levels: Sequence[str]) -> NDArray[Any]:
    """Return the value that every level stands for, in the order of the codes.

    Values given in memory keep their type, as scikit-learn's estimators see them; those of a file have the type that the file says,
    and numbers in text are integers where every one is whole.

    Parameters
    ----------
    raw : RawColumn
        The target as it was read.
    codes : ndarray of shape (n_rows,)
        Of every row, -1 where the target is missing; every level occurs.
    levels : sequence of str
    """
    present = np.flatnonzero(codes >= 0)[::-1]
    rows = np.empty(len(levels), dtype=np.intp)
    # Of several values assigned to one place the last one stays: that of the first row.
    rows[codes[present]] = present
    if raw.original is not None and _is_typed(found := _original_labels(raw.original, rows)):
        return found
    if isinstance(raw.values, pa.Array) and _is_typed(found := _arrow_labels(raw.values, rows)):
        return found
    return _parse_labels(levels)


def _original_labels(original: Any, rows: NDArray[np.intp]) -> NDArray[Any]:
    if isinstance(original, np.ndarray):
        return original[rows]
    taken = nw.from_native(original, series_only=True)[rows.tolist()].to_native()
    # As an estimator of scikit-learn's reads a series: pandas' own integers and booleans become float64.
    return np.asarray(column_or_1d(taken))


def _arrow_labels(values: pa.Array, rows: NDArray[np.intp]) -> NDArray[Any]:
    taken = values.take(pa.array(rows))
    taken = taken.dictionary_decode() if pa.types.is_dictionary(taken.type) else taken
    found = taken.to_numpy(zero_copy_only=False)
    return np.array(found.tolist()) if _is_text(found) else found


def _is_typed(found: NDArray[Any]) -> bool:
    """Whether these are values of one type: objects of several cannot be put in order."""
    return found.dtype.kind != "O" or _is_text(found)


def _is_text(found: NDArray[Any]) -> bool:
    return found.dtype.kind == "O" and all(isinstance(value, str) for value in found.tolist())


def _parse_labels(levels: Sequence[str]) -> NDArray[Any]:
    """Return integers where every level is one, numbers where every one is, text otherwise; "01" is text."""
    if all(map(_is_integer_text, levels)):
        return np.array([int(level) for level in levels], dtype=np.int64)
    if all(_is_integer_text(level) or _is_float_text(level) for level in levels):
        return np.array([float(level) for level in levels])
    return np.array(levels)


def _is_integer_text(level: str) -> bool:
    try:
        return str(int(level)) == level and abs(int(level)) <= _LARGEST_INT64
    except ValueError:
        return False


def _is_float_text(level: str) -> bool:
    try:
        return repr(float(level)) == level and np.isfinite(float(level))
    except ValueError:
        return False
