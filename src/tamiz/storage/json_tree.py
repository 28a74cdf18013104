"""Objects as trees of JSON and back: a codec for each type of value that JSON does not have.

null, booleans, whole numbers, finite floats, text and lists are written as they are. Every other value is an object with one key:

- {"float": "nan"}: NaN or an infinite float
- {"tuple": [...]}
- {"dict": [[key, value], ...]}
- {"path": "folder/name"}
- {"scalar": ["<f8", "182d4454fb210940"]}: a NumPy number, its dtype and its bytes
- {"array": 3}: arrays/3.npy
- {"objects": {"shape", "items"}}: an array of Python objects, such as names
- {"csr": {"shape", "data", "indices", "indptr"}}
- {"record": {"class": "tamiz.module:Class", "fields": {...}}}: an object of this package with its fields (see `_RecordCodec`)
- {"same": 5}: another reference to the sixth record or sparse matrix, counted in the order in which they are completed
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
from tamiz.runtime.verdicts import Verdict
from tamiz.storage.packed_arrays import DTYPE_KINDS, ArrayReader, ArrayWriter
from tamiz.storage.records import class_path, find_format, restore_object

Json: TypeAlias = Any


class Codec(ABC):
    """Recognises, writes and reads one type of value.

    Attributes
    ----------
    tag : str
        The key of its objects.
    is_shared : bool
        Whether further references to a value are written as references. (ArrayWriter does this for arrays.)
    """

    tag: ClassVar[str]
    is_shared: ClassVar[bool] = False

    @abstractmethod
    def accepts(self, value: Any) -> bool:
        """Return whether a value is of the type of this codec."""

    @abstractmethod
    def write(self, value: Any, writer: TreeWriter, location: str) -> Json:
        """Return the tree of a value."""

    @abstractmethod
    def read(self, tree: Json, reader: TreeReader) -> Any:
        """Return the value of a tree."""


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
            [writer.write_value(key, f"a key of {location}"), writer.write_value(member, f"{location}[{key!r}]")]
            for key, member in value.items()
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
        # As an array, because an empty string has no bytes as a scalar.
        array = np.asarray(value)
        return [array.dtype.str, array.tobytes().hex()]

    def read(self, tree: Json, reader: TreeReader) -> Any:  # noqa: ARG002
        name, written = tree
        dtype, content = np.dtype(name), bytes.fromhex(written)
        if dtype.kind not in DTYPE_KINDS or len(content) != dtype.itemsize:
            raise DataError(f"is damaged: {tree} is not a NumPy scalar")
        return np.frombuffer(content, dtype)[0]


class _ArrayCodec(Codec):
    tag = "array"

    def accepts(self, value: Any) -> bool:
        # Masked arrays and matrices have further attributes; a memory map has none that matter.
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
        # Filled one by one: NumPy would convert nested lists to further dimensions.
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
            raise DataError("is damaged: the arrays of a sparse matrix do not match")
        return _build_csr(data, indices, indptr, (n_rows, n_columns))


def _build_csr(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: tuple[int, int]
) -> sparse.csr_array:
    """Return a matrix with these arrays; the constructor of scipy would change the width of the indices."""
    if {indices.dtype, indptr.dtype} - {np.dtype(np.int32), np.dtype(np.int64)}:
        raise DataError(f"is damaged: a sparse matrix has indptr of {indptr.dtype} and indices of {indices.dtype}")
    matrix = sparse.csr_array(shape, dtype=data.dtype)
    matrix.data, matrix.indices, matrix.indptr = data, indices, indptr
    # A full check: kernels rely on the ranges of all indices.
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
        state = {
            name: writer.write_value(field, f"{location}.{name}")
            for name, field in form.get_state(value, location).items()
        }
        return {"class": class_path(type(value)), "fields": state}

    def read(self, tree: Json, reader: TreeReader) -> Any:
        return restore_object(tree["class"], {name: reader.read_value(field) for name, field in tree["fields"].items()})


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


_REFERENCE_TAG = "same"
_CODEC_BY_TAG = {codec.tag: codec for codec in CODECS}


class TreeWriter:
    def __init__(self, arrays: ArrayWriter) -> None:
        self.arrays = arrays
        self._shared_numbers: dict[int, int] = {}
        # Kept alive until all is written, so that no id is reused.
        self._shared: list[Any] = []

    def write_value(self, value: Any, location: str) -> Json:
        """Return the tree of a value; raise TypeError with the location of a value that cannot be stored."""
        cls = type(value)
        if value is None or cls in (bool, int, str) or (cls is float and math.isfinite(value)):
            return value
        if isinstance(value, Verdict):
            # A fitted model needs the sentence only.
            return str(value)
        if cls is list:
            return self.write_values(value, location)
        if id(value) in self._shared_numbers:
            return {_REFERENCE_TAG: self._shared_numbers[id(value)]}
        codec = next((codec for codec in CODECS if codec.accepts(value)), None)
        if codec is None:
            raise TypeError(_refusal_message(value, location))
        tree = {codec.tag: codec.write(value, self, location)}
        if codec.is_shared:
            self._shared_numbers[id(value)] = len(self._shared)
            self._shared.append(value)
        return tree

    def write_values(self, values: Any, location: str) -> list[Json]:
        return [self.write_value(value, f"{location}[{number}]") for number, value in enumerate(values)]


class TreeReader:
    def __init__(self, arrays: ArrayReader) -> None:
        self.arrays = arrays
        self._shared: list[Any] = []

    def read_value(self, tree: Json) -> Any:
        if isinstance(tree, list):
            return self.read_values(tree)
        if not isinstance(tree, dict):
            return tree
        tag = next(iter(tree)) if len(tree) == 1 else ""
        if tag != _REFERENCE_TAG and tag not in _CODEC_BY_TAG:
            raise DataError(f"is damaged: it contains an object with the keys {list(tree)}")
        try:
            if tag == _REFERENCE_TAG:
                return self._shared[range(len(self._shared)).index(tree[tag])]
            value = _CODEC_BY_TAG[tag].read(tree[tag], self)
        except DataError:
            raise
        except (TypeError, ValueError, LookupError, AttributeError, OverflowError) as error:
            raise DataError(f"is damaged: it contains an invalid {tag!r} ({error})") from error
        if _CODEC_BY_TAG[tag].is_shared:
            self._shared.append(value)
        return value

    def read_values(self, trees: list[Json]) -> list[Any]:
        return [self.read_value(tree) for tree in trees]


def _refusal_message(value: Any, location: str) -> str:
    if isinstance(value, np.random.Generator | np.random.RandomState | np.random.BitGenerator):
        return f"{location} is a {type(value).__name__}, whose state is not stored; use a whole number as the seed."
    cls = type(value)
    name = cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"
    dtype = f" of {value.dtype}" if isinstance(value, np.ndarray) else ""
    advice = " skops.io.dump(model, path) of the package skops stores estimators of other packages, and models that contain them."
    return (
        f"{location} is of the type {name}{dtype}, which cannot be stored; numbers, text, arrays of these, and models of tamiz and "
        f"their parts can.{advice if isinstance(value, BaseEstimator) else ''}"
    )
