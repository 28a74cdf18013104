"""Where encoded columns are stored: in memory, or in a temporary file that is deleted with the table that uses it.

`ColumnStore` chooses the place by the free memory. A column in a file is a `LazyColumn`, which is read when it is used. It is read
into new memory and not mapped: pages of a mapped file would count towards the memory of the process.
"""

from __future__ import annotations

import io
import shutil
import tempfile
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from tamiz.arrays import Indices
from tamiz.runtime.memory import format_bytes, free_memory

# A table that needs more than this share of the free memory is stored on disk.
MAX_MEMORY_SHARE = 0.25


class ColumnStore:
    """Stores columns in memory or in a file of a temporary folder.

    Parameters
    ----------
    folder : Path
    """

    def __init__(self, folder: Path, *, on_disk: bool = False) -> None:
        self.folder = folder
        self._on_disk = on_disk
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy in another process stores columns in a file of its own."""
        return partial(ColumnStore, on_disk=self._on_disk), (self.folder,)

    @cached_property
    def _file(self) -> ColumnFile:
        return ColumnFile(self.folder / f"columns-{uuid4().hex}")

    def choose_location(self, n_bytes: int) -> None:
        """Choose, for a table of `n_bytes` bytes, whether columns are stored in memory or in a file."""
        self._on_disk = n_bytes > MAX_MEMORY_SHARE * free_memory()

    def store(self, values: NDArray[Any]) -> Any:
        """Store a column and return it: the array itself, or a `FileColumn`."""
        if not self._on_disk:
            return values
        with self._lock:
            file = self._file
        return file.store(values)

    def check_disk_space(self, n_bytes: float, task: str) -> None:
        """Raise an OSError if the disk has fewer than `n_bytes` bytes free; `task` begins the message."""
        free = shutil.disk_usage(self.folder).free
        if n_bytes > free:
            raise OSError(
                f"{task} needs about {format_bytes(n_bytes)} in the temporary folder {self.folder.parent}, where "
                f"{format_bytes(free)} are free. Set TMPDIR to a folder on a larger disk."
            )

    def delete_with(self, table: object) -> None:
        """Delete the folder when the table is garbage-collected."""
        weakref.finalize(table, shutil.rmtree, self.folder, ignore_errors=True)


@contextmanager
def temporary_store(parent: Path | None = None, *, on_disk: bool = False) -> Iterator[ColumnStore]:
    """Create a store in a new folder, by default a temporary one, and delete it if the body of the `with` statement raises."""
    # Beside a table it is hidden, so that it is no part of it.
    prefix = "tamiz-" if parent is None else ".tamiz-"
    store = ColumnStore(Path(tempfile.mkdtemp(prefix=prefix, dir=parent)), on_disk=on_disk)
    try:
        yield store
    except BaseException:
        shutil.rmtree(store.folder, ignore_errors=True)
        raise


class ColumnFile:
    """A file of columns, written one after another.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path, mode: str = "w+") -> None:
        self._path = path
        self._file = io.FileIO(path, mode)
        self._lock = threading.Lock()
        self._end = 0
        # Every column refers to this object, so that the file is closed after the last of them is garbage-collected.
        weakref.finalize(self, self._file.close)

    def __reduce__(self) -> tuple[Any, ...]:
        """In another process, the file is only read."""
        return _open_column_file, (self._path,)

    def store(self, values: NDArray[Any]) -> FileColumn:
        data = memoryview(np.ascontiguousarray(values).view(np.uint8).data)
        with self._lock:
            start, self._end = self._end, self._end + len(data)
            self._file.seek(start)
            while data:
                data = data[self._file.write(data) :]
        return FileColumn(self, start, values.dtype, range(len(values)))

    def read_into(self, start: int, out: NDArray[Any]) -> None:
        """Fill an array with the bytes of the file from position `start` on."""
        data = memoryview(out.view(np.uint8).data)
        with self._lock:
            self._file.seek(start)
            while data:
                n = self._file.readinto(data)
                if not n:
                    raise OSError("The temporary file of columns was truncated after it was written.")
                data = data[n:]


@lru_cache(maxsize=128)
def _open_column_file(path: Path) -> ColumnFile:
    return ColumnFile(path, "r")


class LazyColumn(NDArrayOperatorsMixin, ABC):
    """A column that is read when it is used: a slice of it is lazy as well, and any other use reads it as an array.

    A subclass is a dataclass.

    Attributes
    ----------
    rows : range or ndarray
        The rows of the source that are the rows of the column.
    dtype : numpy.dtype
    """

    ndim = 1
    rows: Any
    dtype: Any

    def __len__(self) -> int:
        return len(self.rows)

    def slice_rows(self, rows: slice) -> Self:
        """Return a range of rows, not read yet."""
        return replace(self, rows=self.rows[rows])  # type: ignore[type-var]  # a dataclass

    @abstractmethod
    def read(self) -> NDArray[Any]:
        """Return the values."""

    @property
    def shape(self) -> tuple[int]:
        return (len(self),)

    @property
    def size(self) -> int:
        return len(self)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice) and key.step in (None, 1):
            return self.slice_rows(key)
        return self.read()[key]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError(
                "A lazy column is read into new memory: an array without a copy (copy=False) is not possible."
            )
        values = self.read()
        return values if dtype is None else values.astype(dtype, copy=False)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        read = (x.read() if isinstance(x, LazyColumn) else x for x in inputs)
        return getattr(ufunc, method)(*read, **options)


@dataclass(eq=False)
class FileColumn(LazyColumn):
    """A column in a file.

    Attributes
    ----------
    file : ColumnFile
    start : int
        Position of the column's first byte in the file.
    """

    file: ColumnFile
    start: int
    dtype: np.dtype[Any]
    rows: range

    def read(self) -> NDArray[Any]:
        values = np.empty(len(self), self.dtype)
        self.file.read_into(self.start + self.rows.start * self.dtype.itemsize, values)
        return values


@dataclass(eq=False)
class RowSubsetColumn(LazyColumn):
    """Some rows of another column, ascending; a row may occur more than once."""

    column: Any
    rows: Indices

    @property
    def dtype(self) -> Any:
        return self.column.dtype

    def read(self) -> NDArray[Any]:
        """Return the values; of the other column, only the rows from the first to the last are read."""
        rows = self.rows
        if not len(rows):
            return np.empty(0, self.dtype)
        between = np.asarray(self.column[rows[0] : rows[-1] + 1])
        # Equal lengths do not suffice: a row may occur twice and another not at all.
        is_contiguous = len(between) == len(rows) and (np.diff(rows) == 1).all()
        return between if is_contiguous else between[rows - rows[0]]
