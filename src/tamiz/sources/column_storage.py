"""Columns that are read when they are used: those that lie in a file, and some rows of others.

A file is read piece by piece into memory of its own: pages of a mapped file would count as the process's.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from tamiz.runtime.memory import format_bytes, free_memory
from tamiz.sources.base import Source

# MERGED: Room on disk: a private folder that goes with the source that uses it, and columns kept in it.
# A table that would take more than this share of the free memory is kept on disk.
MAX_MEMORY_SHARE = 0.25


class ColumnStore:
    """A temporary folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._on_disk = False
        self._lock = threading.Lock()

    @cached_property
    def _file(self) -> ColumnFile:
        return ColumnFile(self.folder / "columns")

    def choose_location(self, n_bytes: int) -> None:
        """Choose where the columns of a table of this size stay: in memory, or in a file."""
        self._on_disk = n_bytes > MAX_MEMORY_SHARE * free_memory()

    def store(self, values: NDArray[Any]) -> Any:
        """Return a column in the place where it stays."""
        if not self._on_disk:
            return values
        with self._lock:
            file = self._file
        return file.store(values)

    def check_disk_space(self, n_bytes: float, task: str) -> None:
        """Refuse to begin what would not fit on the disk."""
        free = shutil.disk_usage(self.folder).free
        if n_bytes > free:
            raise OSError(
                f"{task} needs about {format_bytes(n_bytes)} in the temporary folder {self.folder.parent}, where "
                f"{format_bytes(free)} are free. Set TMPDIR to a folder on a larger disk."
            )

    def delete_with(self, source: Source) -> None:
        """Keep the folder until the source is gone."""
        weakref.finalize(source, shutil.rmtree, self.folder, ignore_errors=True)


@contextmanager
def temporary_store() -> Iterator[ColumnStore]:
    """Open a folder that is removed when what happens inside fails."""
    room = ColumnStore(Path(tempfile.mkdtemp(prefix="tamiz-")))
    try:
        yield room
    except BaseException:
        shutil.rmtree(room.folder, ignore_errors=True)
        raise


class ColumnFile:
    """One file of columns: a column after another, or pieces of several in turn."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w+b", buffering=0)
        self._lock = threading.Lock()
        self._end = 0
        # With the last column that lies in it.
        weakref.finalize(self, self._file.close)

    def store(self, values: NDArray[Any]) -> FileColumn:
        """Write a column and return it as it lies in the file."""
        data = memoryview(np.ascontiguousarray(values).view(np.uint8).data)
        with self._lock:
            start, self._end = self._end, self._end + len(data)
            self._file.seek(start)
            while data:
                data = data[self._file.write(data) :]
        return FileColumn(self, start, values.dtype, range(len(values)))

    def read_into(self, start: int, out: NDArray[Any]) -> None:
        """Fill an array with what begins at a byte."""
        data = memoryview(out.view(np.uint8).data)
        with self._lock:
            self._file.seek(start)
            while data:
                n = self._file.readinto(data)
                if not n:
                    raise OSError("The temporary file of columns is shorter than it was written.")
                data = data[n:]


class LazyColumn(NDArrayOperatorsMixin, ABC):
    """A column that is read when it is used: a slice of it is one as well, and any other use reads it as an array.

    Attributes
    ----------
    dtype : numpy.dtype
    """

    ndim = 1
    dtype: np.dtype[Any]

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows."""

    @abstractmethod
    def slice_rows(self, rows: slice) -> LazyColumn:
        """Return some rows in a row, not read yet."""

    @abstractmethod
    def read(self) -> NDArray[Any]:
        """Return the values."""

    @property
    def shape(self) -> tuple[int]:
        """The number of rows."""
        return (len(self),)

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice) and key.step in (None, 1):
            return self.slice_rows(key)
        return self.read()[key]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("A column that is not read yet cannot be had without a copy.")
        values = self.read()
        return values if dtype is None else values.astype(dtype, copy=False)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        read = (x.read() if isinstance(x, LazyColumn) else x for x in inputs)
        return getattr(ufunc, method)(*read, **options)


class FileColumn(LazyColumn):
    """A column that lies in a file."""

    def __init__(self, file: ColumnFile, start: int, dtype: np.dtype[Any], rows: range) -> None:
        self._file = file
        self._start = start
        self._rows = rows
        self.dtype = dtype

    def __len__(self) -> int:
        return len(self._rows)

    def slice_rows(self, rows: slice) -> FileColumn:
        """Return some rows in a row."""
        return FileColumn(self._file, self._start, self.dtype, self._rows[rows])

    def read(self) -> NDArray[Any]:
        """Return the values."""
        values = np.empty(len(self), self.dtype)
        self._file.read_into(self._start + self._rows.start * self.dtype.itemsize, values)
        return values


class RowSubsetColumn(LazyColumn):
    """Some rows of another column.

    Parameters
    ----------
    column : ndarray or LazyColumn
    rows : ndarray of row numbers, ascending
    """

    def __init__(self, column: Any, rows: NDArray[np.intp]) -> None:
        self._column = column
        self._rows = rows
        self.dtype = column.dtype

    def __len__(self) -> int:
        return len(self._rows)

    def slice_rows(self, rows: slice) -> RowSubsetColumn:
        """Return some rows in a row."""
        return RowSubsetColumn(self._column, self._rows[rows])

    def read(self) -> NDArray[Any]:
        """Return the values, of the other column only those between the first and the last row."""
        if not len(self._rows):
            return np.empty(0, self.dtype)
        first, last = self._rows[0], self._rows[-1]
        between = np.asarray(self._column[first : last + 1])
        # As many rows as there are from the first to the last may still be some of them twice.
        every = len(between) == len(self._rows) and (np.diff(self._rows) == 1).all()
        return between if every else between[self._rows - first]
