"""Columns in a file, read piece by piece into memory of their own: pages of a mapped file would count as the process's."""

from __future__ import annotations

import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray


class ColumnFile:
    """One file of columns: a column after another, or pieces of several in turn."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w+b", buffering=0)
        self._lock = threading.Lock()
        self._end = 0
        # With the last column that lies in it.
        weakref.finalize(self, self._file.close)

    def store(self, values: NDArray[Any]) -> StoredColumn:
        """Write a column and return it as it lies in the file."""
        data = memoryview(np.ascontiguousarray(values).view(np.uint8).data)
        with self._lock:
            start, self._end = self._end, self._end + len(data)
            self._file.seek(start)
            while data:
                data = data[self._file.write(data) :]
        return StoredColumn(self, start, values.dtype, range(len(values)))

    def read(self, start: int, into: NDArray[Any]) -> None:
        """Fill an array with what begins at a byte."""
        data = memoryview(into.view(np.uint8).data)
        with self._lock:
            self._file.seek(start)
            while data:
                n = self._file.readinto(data)
                if not n:
                    raise OSError("The temporary file of columns is shorter than it was written.")
                data = data[n:]


class StoredColumn(NDArrayOperatorsMixin):
    """A column that lies in a file: a slice of it is one as well, and any other use reads it as an array.

    Attributes
    ----------
    dtype : numpy.dtype
    """

    ndim = 1

    def __init__(self, file: ColumnFile, start: int, dtype: np.dtype[Any], rows: range) -> None:
        self._file = file
        self._start = start
        self._rows = rows
        self.dtype = dtype

    @property
    def shape(self) -> tuple[int]:
        """The number of rows."""
        return (len(self._rows),)

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice) and key.step in (None, 1):
            return StoredColumn(self._file, self._start, self.dtype, self._rows[key])
        return np.asarray(self)[key]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("A column in a file cannot be had without a copy.")
        values = np.empty(len(self), self.dtype)
        self._file.read(self._start + self._rows.start * self.dtype.itemsize, values)
        return values if dtype is None else values.astype(dtype, copy=False)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        read = (np.asarray(x) if isinstance(x, StoredColumn) else x for x in inputs)
        return getattr(ufunc, method)(*read, **options)
