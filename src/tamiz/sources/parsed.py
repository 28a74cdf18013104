"""Columns of text in a mapped file: what a file of separated values was parsed into."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from tamiz.sources.text_values import clean_words

# Rows of a column that are typed at a time.
_PIECE_ROWS = 2**18


class TextTable:
    """A table of text columns in a file of Arrow's own format.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._table = pa.ipc.open_file(pa.py_buffer(self._map)).read_all()
        self.n_rows: int = self._table.num_rows

    def column(self, j: int) -> TextColumn:
        """Return a column."""
        return TextColumn(self, self._table.column(j))

    def release_pages(self) -> None:
        """Count the pages read so far as the process's no more; they stay in the system's memory while there is some."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED)


class TextColumn:
    """A column of text, given piece by piece."""

    def __init__(self, table: TextTable, values: pa.ChunkedArray) -> None:
        self._table = table
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def values(self) -> pa.ChunkedArray:
        """Return the whole column, null where a value is missing."""
        parts = [part for piece in self.pieces() for part in clean_words(piece).chunks]
        return pa.chunked_array(parts, pa.string())

    def pieces(self) -> Iterator[pa.ChunkedArray]:
        """Yield the rows in order."""
        for start in range(0, len(self), _PIECE_ROWS):
            yield self._values.slice(start, _PIECE_ROWS)
            self._table.release_pages()
