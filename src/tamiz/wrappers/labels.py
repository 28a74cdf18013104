"""The classes as the user wrote them, for scorers and estimators to which they mean something."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.sources.base import Source
from tamiz.sources.schema import Schema
from tamiz.sources.views import target_of

_TRUTH = {"False": False, "True": True}
# What int64 holds.
_LARGEST = 2**63 - 1


def labels_of(source: Source) -> NDArray[Any]:
    """Return the target of every row that counts as the user wrote it: classes by their labels, or numbers."""
    target = target_of(source)
    return class_labels(source.schema)[target] if source.schema.has_classes else target


def class_labels(schema: Schema) -> NDArray[Any]:
    """Return the label of every class, in the order of their codes.

    Whole numbers where every level is one, numbers where every one is, True and False for booleans, text otherwise. What a table
    would write in another way, such as "01", is text.
    """
    assert schema.target is not None
    levels = schema.target.levels
    if set(levels) <= set(_TRUTH):
        return np.array([_TRUTH[level] for level in levels])
    if all(map(_is_whole, levels)):
        return np.array([int(level) for level in levels], dtype=np.int64)
    if all(_is_whole(level) or _is_number(level) for level in levels):
        return np.array([float(level) for level in levels])
    return np.array(levels)


def _is_whole(level: str) -> bool:
    try:
        return str(int(level)) == level and abs(int(level)) <= _LARGEST
    except ValueError:
        return False


def _is_number(level: str) -> bool:
    try:
        return repr(float(level)) == level and np.isfinite(float(level))
    except ValueError:
        return False
