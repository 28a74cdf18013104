"""The sorts of values that are stored beside what JSON has, a class for each.

Each is an object of one key:

- {"float": "nan"}: a float that is no number, or infinite
- {"tuple": [...]}
- {"dict": [[key, value], ...]}
- {"path": "folder/name"}
- {"scalar": ["<f8", "182d4454fb210940"]}: a NumPy number, its dtype and its bytes
- {"array": 3}: arrays/3.npy
- {"objects": {"shape", "items"}}: an array of Python's own values, such as names
- {"csr": {"shape", "data", "indices", "indptr"}}
- {"record": {"class": "tamiz.module:Class", "holds": {name: value}}}
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from pathlib import Path, PurePath
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from tamiz.exceptions import DataError
from tamiz.storage.arrays import DTYPE_KINDS, ArrayReader, ArrayWriter
from tamiz.storage.records import class_path, find_format, restore_object

Json: TypeAlias = Any


class Codec(ABC):
    """A sort of value: how it is told from others, written and read.

    Attributes
    ----------
    tag : str
        The key of its objects.
    is_shared : bool
        Whether a value that is met again is the same one. (Arrays see to that themselves.)
    """

    tag: ClassVar[str]
    is_shared: ClassVar[bool] = False

    @abstractmethod
    def accepts(self, value: Any) -> bool:
        """Return whether a value is of the sort."""

    @abstractmethod
    def write(self, value: Any, writer: TreeWriter, location: str) -> Json:
        """Return a value's tree."""

    @abstractmethod
    def read(self, tree: Json, reader: TreeReader) -> Any:
        """Return a tree's value."""


class _FloatCodec(Codec):
    tag = "float"

    def accepts(self, value: Any) -> bool:
        return type(value) is float

    def write(self, value: Any, writer: TreeWriter, location: str) -> Json:  # noqa: ARG002
        return str(value)

    def read(self, tree: Json, reader: TreeReader) -> Any:  # noqa: ARG002
        return {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}[tree]


class _TupleCodec(Codec):
    tag = "tuple"

    def accepts(self, value: Any) -> bool:
        return type(value) is tuple

    def write(self, value: Any, writer: TreeWriter, location: str) -> Json:
        return writer.write_values(value, location)

    def read(self, tree: Json, reader: TreeReader) -> Any:
        return tuple(reader.read_values(tree))


class _DictCodec(Codec):
    tag = "dict"

    def accepts(self, value: Any) -> bool:
        return type(value) is dict

    def write(self, value: Any, writer: TreeWriter, location: str) -> Json:
        return [
            [writer.write_value(key, f"a key of {location}"), writer.write_value(held, f"{location}[{key!r}]")]
            for key, held in value.items()
        ]

    def read(self, tree: Json, reader: TreeReader) -> Any:
        return dict(map(reader.read_values, tree))


class _PathCodec(Codec):
    tag = "path"

    def accepts(self, value: Any) -> bool:
        return isinstance(value, PurePath)

    def write(self, value: Any, writer: TreeWriter, location: str) -> Json:  # noqa: ARG002
        return str(value)

    def read(self, tree: Json, reader: TreeReader) -> Any:  # noqa: ARG002
        return Path(tree)


class _ScalarCodec(Codec):
    tag = "scalar"

    def accepts(self, value: Any) -> bool:
        return isinstance(value, np.generic) and value.dtype.kind in DTYPE_KINDS

    def write(self, value: Any, writer: TreeWriter, location: str) -> Json:  # noqa: ARG002
        # As an array even a text of no letters has bytes.
        array = np.asarray(value)
        return [array.dtype.str, array.tobytes().hex()]

    def read(self, tree: Json, reader: TreeReader) -> Any:  # noqa: ARG002
        name, written = tree
        dtype, content = np.dtype(name), bytes.fromhex(written)
        if dtype.kind not in DTYPE_KINDS or len(content) != dtype.itemsize:
            raise DataError(f"is damaged: {tree} is no number of NumPy's")
        return np.frombuffer(content, dtype)[0]


class _ArrayCodec(Codec):
    tag = "array"

    def accepts(self, value: Any) -> bool:
        # Masks and matrices are more than their numbers; a memory map is not.
        return type(value) in (np.ndarray, np.memmap) and value.dtype.kind in DTYPE_KINDS

    def write(self, value: Any, writer: TreeWriter, location: str) -> Json:  # noqa: ARG002
        return writer.arrays.add(value)

    def read(self, tree: Json, reader: TreeReader) -> Any:
        return reader.arrays.get(tree)


class _ObjectArrayCodec(Codec):
    tag = "objects"

    def accepts(self, value: Any) -> bool:
        return type(value) is np.ndarray and value.dtype == object

    def write(self, value: Any, writer: TreeWriter, location: str) -> Json:
        return {"shape": list(value.shape), "items": writer.write_values(value.ravel(), location)}

    def read(self, tree: Json, reader: TreeReader) -> Any:
        items = reader.read_values(tree["items"])
        # Filled one by one: NumPy would take lists among them for further dimensions.
        array = np.empty(len(items), dtype=object)
        for number, item in enumerate(items):
            array[number] = item
        return array.reshape(tree["shape"])


class _CsrCodec(Codec):
    tag = "csr"
    is_shared = True

    def accepts(self, value: Any) -> bool:
        return type(value) is sparse.csr_array and value.ndim == 2

    def write(self, value: Any, writer: TreeWriter, location: str) -> Json:
        parts = {
            name: writer.write_value(getattr(value, name), f"{location}.{name}")
            for name in ("data", "indices", "indptr")
        }
        return {"shape": [int(size) for size in value.shape], **parts}

    def read(self, tree: Json, reader: TreeReader) -> Any:
        data, indices, indptr = (reader.read_value(tree[name]) for name in ("data", "indices", "indptr"))
        n_rows, n_columns = map(int, tree["shape"])
        if [part.ndim for part in (data, indices, indptr)] != [1, 1, 1] or len(indptr) != n_rows + 1:
            raise DataError("is damaged: a sparse matrix does not fit together")
        return _build_csr(data, indices, indptr, (n_rows, n_columns))


def _build_csr(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: tuple[int, int]
) -> sparse.csr_array:
    """Return a matrix of these very arrays: made of all three, it would change the width of the numbers."""
    if {indices.dtype, indptr.dtype} - {np.dtype(np.int32), np.dtype(np.int64)}:
        raise DataError(f"is damaged: a sparse matrix has the rows {indptr.dtype} and the columns {indices.dtype}")
    matrix = sparse.csr_array(shape, dtype=data.dtype)
    matrix.data, matrix.indices, matrix.indptr = data, indices, indptr
    # In full: kernels trust that every column is there.
    matrix.check_format(full_check=True)
    return matrix


class _RecordCodec(Codec):
    tag = "record"
    is_shared = True

    def accepts(self, value: Any) -> bool:
        return find_format(type(value)) is not None

    def write(self, value: Any, writer: TreeWriter, location: str) -> Json:
        form = find_format(type(value))
        assert form is not None
        holds = {
            name: writer.write_value(held, f"{location}.{name}")
            for name, held in form.get_state(value, location).items()
        }
        return {"class": class_path(type(value)), "holds": holds}

    def read(self, tree: Json, reader: TreeReader) -> Any:
        return restore_object(tree["class"], {name: reader.read_value(held) for name, held in tree["holds"].items()})


CODECS: tuple[Codec, ...] = (
    _FloatCodec(),
    _TupleCodec(),
    _DictCodec(),
    _PathCodec(),
    _ScalarCodec(),
    _ArrayCodec(),
    _ObjectArrayCodec(),
    _CsrCodec(),
    _RecordCodec(),
)


# MERGED: A thing as a tree of JSON, and back.
# MERGED:
# MERGED: What JSON has is written as it is: null, true, whole numbers, finite floats, text, lists. All else is an object of one key that
# MERGED: says what it is: one of `kinds`, or {"same": 5}, the sixth of the records and sparse matrices, counted as they end, so that what
# MERGED: stands in two places is one thing again when it is read.
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
