"""A thing as a tree of JSON, and back.

What JSON has is written as it is: null, true, whole numbers, finite floats, text, lists. All else is an object of one key that
says what it is: one of `kinds`, or {"same": 5}, the sixth of the records and sparse matrices, counted as they end, so that what
stands in two places is one thing again when it is read.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from tamiz.exceptions import DataError
from tamiz.storage.arrays import ArrayReader, ArrayWriter
from tamiz.storage.kinds import KINDS, Json

_SAME = "same"
_BY_TAG = {kind.tag: kind for kind in KINDS}


class Writer:
    """A thing taken apart into a tree and arrays."""

    def __init__(self, arrays: ArrayWriter) -> None:
        self.arrays = arrays
        self._numbers: dict[int, int] = {}
        # Kept alive until all is written, so that no identity is given out twice.
        self._ended: list[Any] = []

    def value(self, value: Any, place: str) -> Json:
        """Return the tree of a value; its place is named where it cannot be stored."""
        sort = type(value)
        if value is None or sort in (bool, int, str) or (sort is float and math.isfinite(value)):
            return value
        if sort is list:
            return self.values(value, place)
        if id(value) in self._numbers:
            return {_SAME: self._numbers[id(value)]}
        kind = next((kind for kind in KINDS if kind.holds(value)), None)
        if kind is None:
            raise TypeError(_refusal(value, place))
        tree = {kind.tag: kind.write(value, self, place)}
        if kind.is_shared:
            self._numbers[id(value)] = len(self._ended)
            self._ended.append(value)
        return tree

    def values(self, values: Any, place: str) -> list[Json]:
        """Return the trees of values in a row."""
        return [self.value(value, f"{place}[{number}]") for number, value in enumerate(values)]


class Reader:
    """A thing put together from a tree and arrays."""

    def __init__(self, arrays: ArrayReader) -> None:
        self.arrays = arrays
        self._ended: list[Any] = []

    def value(self, tree: Json) -> Any:
        """Return the value of a tree."""
        if isinstance(tree, list):
            return self.values(tree)
        if not isinstance(tree, dict):
            return tree
        tag = next(iter(tree)) if len(tree) == 1 else ""
        if tag != _SAME and tag not in _BY_TAG:
            raise DataError(f"is damaged: it holds an object of the keys {list(tree)}")
        try:
            if tag == _SAME:
                return self._ended[range(len(self._ended)).index(tree[tag])]
            value = _BY_TAG[tag].read(tree[tag], self)
        except DataError:
            raise
        except (TypeError, ValueError, LookupError, AttributeError, OverflowError) as error:
            raise DataError(f"is damaged: what it holds as {tag!r} is none ({error})") from error
        if _BY_TAG[tag].is_shared:
            self._ended.append(value)
        return value

    def values(self, trees: list[Json]) -> list[Any]:
        """Return the values of trees in a row."""
        return [self.value(tree) for tree in trees]


def _refusal(value: Any, place: str) -> str:
    if isinstance(value, np.random.Generator | np.random.RandomState | np.random.BitGenerator):
        return (
            f"{place} is a {type(value).__name__}, and the state of one is not stored; use a whole number as the seed."
        )
    sort = type(value)
    name = sort.__qualname__ if sort.__module__ == "builtins" else f"{sort.__module__}.{sort.__qualname__}"
    of = f" of {value.dtype}" if isinstance(value, np.ndarray) else ""
    way_out = " skops.io.dump(model, path), of the package skops, stores estimators of other packages, and what has them as parts."
    return (
        f"{place} is of the type {name}{of}, which cannot be stored; numbers, text, arrays of them and the parts and models of "
        f"tamiz can.{way_out if isinstance(value, BaseEstimator) else ''}"
    )
