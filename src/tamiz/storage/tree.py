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
from tamiz.storage.kinds import CODECS, Json

_REFERENCE_TAG = "same"
_CODEC_BY_TAG = {kind.tag: kind for kind in CODECS}


class TreeWriter:
    """A thing taken apart into a tree and arrays."""

    def __init__(self, arrays: ArrayWriter) -> None:
        self.arrays = arrays
        self._shared_numbers: dict[int, int] = {}
        # Kept alive until all is written, so that no identity is given out twice.
        self._shared: list[Any] = []

    def write_value(self, value: Any, location: str) -> Json:
        """Return the tree of a value; its place is named where it cannot be stored."""
        sort = type(value)
        if value is None or sort in (bool, int, str) or (sort is float and math.isfinite(value)):
            return value
        if sort is list:
            return self.write_values(value, location)
        if id(value) in self._shared_numbers:
            return {_REFERENCE_TAG: self._shared_numbers[id(value)]}
        kind = next((kind for kind in CODECS if kind.accepts(value)), None)
        if kind is None:
            raise TypeError(_refusal_message(value, location))
        tree = {kind.tag: kind.write(value, self, location)}
        if kind.is_shared:
            self._shared_numbers[id(value)] = len(self._shared)
            self._shared.append(value)
        return tree

    def write_values(self, values: Any, location: str) -> list[Json]:
        """Return the trees of values in a row."""
        return [self.write_value(value, f"{location}[{number}]") for number, value in enumerate(values)]


class TreeReader:
    """A thing put together from a tree and arrays."""

    def __init__(self, arrays: ArrayReader) -> None:
        self.arrays = arrays
        self._shared: list[Any] = []

    def read_value(self, tree: Json) -> Any:
        """Return the value of a tree."""
        if isinstance(tree, list):
            return self.read_values(tree)
        if not isinstance(tree, dict):
            return tree
        tag = next(iter(tree)) if len(tree) == 1 else ""
        if tag != _REFERENCE_TAG and tag not in _CODEC_BY_TAG:
            raise DataError(f"is damaged: it holds an object of the keys {list(tree)}")
        try:
            if tag == _REFERENCE_TAG:
                return self._shared[range(len(self._shared)).index(tree[tag])]
            value = _CODEC_BY_TAG[tag].read(tree[tag], self)
        except DataError:
            raise
        except (TypeError, ValueError, LookupError, AttributeError, OverflowError) as error:
            raise DataError(f"is damaged: what it holds as {tag!r} is none ({error})") from error
        if _CODEC_BY_TAG[tag].is_shared:
            self._shared.append(value)
        return value

    def read_values(self, trees: list[Json]) -> list[Any]:
        """Return the values of trees in a row."""
        return [self.read_value(tree) for tree in trees]


def _refusal_message(value: Any, location: str) -> str:
    if isinstance(value, np.random.Generator | np.random.RandomState | np.random.BitGenerator):
        return f"{location} is a {type(value).__name__}, and the state of one is not stored; use a whole number as the seed."
    sort = type(value)
    name = sort.__qualname__ if sort.__module__ == "builtins" else f"{sort.__module__}.{sort.__qualname__}"
    of = f" of {value.dtype}" if isinstance(value, np.ndarray) else ""
    way_out = " skops.io.dump(model, path), of the package skops, stores estimators of other packages, and what has them as parts."
    return (
        f"{location} is of the type {name}{of}, which cannot be stored; numbers, text, arrays of them and the parts and models of "
        f"tamiz can.{way_out if isinstance(value, BaseEstimator) else ''}"
    )
