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

from abc import ABC, abstractmethod
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamiz.exceptions import DataError
from tamiz.storage.arrays import DTYPES
from tamiz.storage.records import form_of, made, name_of

if TYPE_CHECKING:
    from tamiz.storage.tree import Reader, Writer

Json: TypeAlias = Any


class Kind(ABC):
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
    def holds(self, value: Any) -> bool:
        """Return whether a value is of the sort."""

    @abstractmethod
    def write(self, value: Any, writer: Writer, place: str) -> Json:
        """Return a value's tree."""

    @abstractmethod
    def read(self, tree: Json, reader: Reader) -> Any:
        """Return a tree's value."""


class _Float(Kind):
    tag = "float"

    def holds(self, value: Any) -> bool:
        return type(value) is float

    def write(self, value: Any, writer: Writer, place: str) -> Json:  # noqa: ARG002
        return str(value)

    def read(self, tree: Json, reader: Reader) -> Any:  # noqa: ARG002
        return {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}[tree]


class _Tuple(Kind):
    tag = "tuple"

    def holds(self, value: Any) -> bool:
        return type(value) is tuple

    def write(self, value: Any, writer: Writer, place: str) -> Json:
        return writer.values(value, place)

    def read(self, tree: Json, reader: Reader) -> Any:
        return tuple(reader.values(tree))


class _Dict(Kind):
    tag = "dict"

    def holds(self, value: Any) -> bool:
        return type(value) is dict

    def write(self, value: Any, writer: Writer, place: str) -> Json:
        return [
            [writer.value(key, f"a key of {place}"), writer.value(held, f"{place}[{key!r}]")]
            for key, held in value.items()
        ]

    def read(self, tree: Json, reader: Reader) -> Any:
        return dict(map(reader.values, tree))


class _Path(Kind):
    tag = "path"

    def holds(self, value: Any) -> bool:
        return isinstance(value, PurePath)

    def write(self, value: Any, writer: Writer, place: str) -> Json:  # noqa: ARG002
        return str(value)

    def read(self, tree: Json, reader: Reader) -> Any:  # noqa: ARG002
        return Path(tree)


class _Scalar(Kind):
    tag = "scalar"

    def holds(self, value: Any) -> bool:
        return isinstance(value, np.generic) and value.dtype.kind in DTYPES

    def write(self, value: Any, writer: Writer, place: str) -> Json:  # noqa: ARG002
        # As an array even a text of no letters has bytes.
        array = np.asarray(value)
        return [array.dtype.str, array.tobytes().hex()]

    def read(self, tree: Json, reader: Reader) -> Any:  # noqa: ARG002
        name, written = tree
        dtype, content = np.dtype(name), bytes.fromhex(written)
        if dtype.kind not in DTYPES or len(content) != dtype.itemsize:
            raise DataError(f"is damaged: {tree} is no number of NumPy's")
        return np.frombuffer(content, dtype)[0]


class _Array(Kind):
    tag = "array"

    def holds(self, value: Any) -> bool:
        # Masks and matrices are more than their numbers; a memory map is not.
        return type(value) in (np.ndarray, np.memmap) and value.dtype.kind in DTYPES

    def write(self, value: Any, writer: Writer, place: str) -> Json:  # noqa: ARG002
        return writer.arrays.add(value)

    def read(self, tree: Json, reader: Reader) -> Any:
        return reader.arrays.get(tree)


class _Objects(Kind):
    tag = "objects"

    def holds(self, value: Any) -> bool:
        return type(value) is np.ndarray and value.dtype == object

    def write(self, value: Any, writer: Writer, place: str) -> Json:
        return {"shape": list(value.shape), "items": writer.values(value.ravel(), place)}

    def read(self, tree: Json, reader: Reader) -> Any:
        items = reader.values(tree["items"])
        # Filled one by one: NumPy would take lists among them for further dimensions.
        array = np.empty(len(items), dtype=object)
        for number, item in enumerate(items):
            array[number] = item
        return array.reshape(tree["shape"])


class _Csr(Kind):
    tag = "csr"
    is_shared = True

    def holds(self, value: Any) -> bool:
        return type(value) is sparse.csr_array and value.ndim == 2

    def write(self, value: Any, writer: Writer, place: str) -> Json:
        parts = {name: writer.value(getattr(value, name), f"{place}.{name}") for name in ("data", "indices", "indptr")}
        return {"shape": [int(size) for size in value.shape], **parts}

    def read(self, tree: Json, reader: Reader) -> Any:
        data, indices, indptr = (reader.value(tree[name]) for name in ("data", "indices", "indptr"))
        n_rows, n_columns = map(int, tree["shape"])
        if [part.ndim for part in (data, indices, indptr)] != [1, 1, 1] or len(indptr) != n_rows + 1:
            raise DataError("is damaged: a sparse matrix does not fit together")
        return _csr(data, indices, indptr, (n_rows, n_columns))


def _csr(data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: tuple[int, int]) -> sparse.csr_array:
    """Return a matrix of these very arrays: made of all three, it would change the width of the numbers."""
    if {indices.dtype, indptr.dtype} - {np.dtype(np.int32), np.dtype(np.int64)}:
        raise DataError(f"is damaged: a sparse matrix has the rows {indptr.dtype} and the columns {indices.dtype}")
    matrix = sparse.csr_array(shape, dtype=data.dtype)
    matrix.data, matrix.indices, matrix.indptr = data, indices, indptr
    # In full: kernels trust that every column is there.
    matrix.check_format(full_check=True)
    return matrix


class _Record(Kind):
    tag = "record"
    is_shared = True

    def holds(self, value: Any) -> bool:
        return form_of(type(value)) is not None

    def write(self, value: Any, writer: Writer, place: str) -> Json:
        form = form_of(type(value))
        assert form is not None
        holds = {name: writer.value(held, f"{place}.{name}") for name, held in form.state(value, place).items()}
        return {"class": name_of(type(value)), "holds": holds}

    def read(self, tree: Json, reader: Reader) -> Any:
        return made(tree["class"], {name: reader.value(held) for name, held in tree["holds"].items()})


KINDS: tuple[Kind, ...] = (
    _Float(),
    _Tuple(),
    _Dict(),
    _Path(),
    _Scalar(),
    _Array(),
    _Objects(),
    _Csr(),
    _Record(),
)
