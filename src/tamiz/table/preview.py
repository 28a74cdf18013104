"""Preview of a large file before it is read: the schema of its first rows, the estimated size, and the plan to read it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from tamiz.exceptions import DataError
from tamiz.runtime.memory import format_bytes, free_memory, limit_memory
from tamiz.table import column_storage
from tamiz.table.build import OpenOptions
from tamiz.table.csv_layout import find_layout
from tamiz.table.csv_reader import open_csv
from tamiz.table.in_memory import open_frame
from tamiz.table.known_columns import missing_codes
from tamiz.table.parquet import FORMAT_BY_SUFFIX, open_dataset, read_head
from tamiz.table.schema import Schema

# The codes of this column have the type of those of any column with the same levels.
_HEAD_BYTES = 2**20
_HEAD_ROWS = 2**13


@dataclass(frozen=True)
class Preview:
    """The estimated contents of a file.

    Attributes
    ----------
    schema : Schema
        The columns as inferred from the first rows, with the estimated number of rows of the file.
    parsed_bytes : int
        The size of a text file, which is parsed before its columns are read; 0 for a columnar file.
    disk_bytes : int
        The estimated maximum size of the temporary files.
    """

    schema: Schema
    parsed_bytes: int
    disk_bytes: int

    def column_bytes(self, column: int) -> int:
        """Return the memory of a column; `column` may be the number of the target."""
        described = self.schema.column(column)
        size = 8 if described.is_number else missing_codes(0, described.levels).itemsize
        return size * self.schema.n_rows


def read_preview(path: Path, options: OpenOptions, min_bytes: float = 0.0) -> Preview | None:
    """Return a preview of a file, None for a small file and for one whose first rows cannot be read.

    A text file of fewer than `min_bytes` / 8 bytes is small: a value needs at least one byte in the file and at most 8 in memory,
    so that its table has fewer than `min_bytes` bytes.

    The kind and the levels of the target are inferred from the first rows as well; a file that is sorted by class shows one class.
    """
    options = replace(options, is_head=True)
    try:
        ending = path.suffix.lstrip(".").lower()
        if path.is_dir() or ending in FORMAT_BY_SUFFIX:
            return _preview_columnar(path, options, FORMAT_BY_SUFFIX.get(ending, "parquet"))
        return None if ending == "arff" else _preview_text(path, options, min_bytes)
    except (DataError, OSError, MemoryError):
        # The reader of the whole file reports errors.
        return None


def _preview_columnar(path: Path, options: OpenOptions, file_format: str) -> Preview | None:
    data, n_rows = open_dataset(path, file_format)
    if not n_rows:
        return None
    schema = replace(open_frame(read_head(data, _HEAD_ROWS), options).schema, n_rows=n_rows)
    pa.default_memory_pool().release_unused()
    return Preview(schema, 0, 8 * n_rows * len(data.schema.names))


def _preview_text(path: Path, options: OpenOptions, min_bytes: float) -> Preview | None:
    size = path.stat().st_size
    if (
        size <= _HEAD_BYTES
        or 8 * size < min_bytes
        or not (layout := find_layout(path, options.known_columns, options.file)).is_plain
    ):
        return None
    with path.open("rb") as file, tempfile.TemporaryDirectory(prefix="tamiz-") as folder:
        head = file.read(_HEAD_BYTES)
        sample = Path(folder) / f"head{path.suffix}"
        sample.write_bytes(head[: head.rfind(b"\n") + 1])
        schema = open_csv(sample, options).schema
    return Preview(replace(schema, n_rows=layout.estimated_rows), size, layout.disk_bytes)


@dataclass(frozen=True)
class ReadPlan:
    """Bytes that are read and written, estimated from the first rows of a file.

    Attributes
    ----------
    name : str
        The file.
    n_rows, n_columns : int
    parsed_bytes : int
        The size of the file if it is parsed first; 0 if it is read column by column.
    disk_bytes : int
        The size of the temporary files.
    pass_bytes : tuple of int or None
        Bytes that each pass over the rows reads; None if the passes are unknown.
    memory : int or None
        The memory limit that the user set.
    """

    name: str
    n_rows: int
    n_columns: int
    parsed_bytes: int
    disk_bytes: int
    pass_bytes: tuple[int, ...] | None
    memory: int | None

    def __str__(self) -> str:
        table = f"about {self.n_rows:,} rows of {self.n_columns:,} columns"
        first = (
            f"parse {self.name} ({format_bytes(self.parsed_bytes)}, {table}) once"
            if self.parsed_bytes
            else f"read {self.name} ({table}) column by column"
        )
        parts = [f"Plan: {first}, into about {format_bytes(self.disk_bytes)} of disk in {tempfile.gettempdir()}"]
        if self.pass_bytes:
            each = " and ".join(format_bytes(n_bytes) for n_bytes in self.pass_bytes)
            parts.append(f"then {len(self.pass_bytes)} {'pass' if len(self.pass_bytes) == 1 else 'passes'} over {each}")
        if self.memory is not None:
            parts.append(f"at most {format_bytes(self.memory)} of memory")
        return "; ".join(parts) + "."


def make_read_plan(
    path: Path,
    roles: OpenOptions,
    memory: int | None,
    choose_passes: Callable[[Schema], Sequence[Sequence[int]] | None] | None = None,
) -> ReadPlan | None:
    """Return the plan for a file that does not fit in memory, None for any other.

    Parameters
    ----------
    path : Path
    roles : OpenOptions
    memory : int or None
        The memory limit in bytes.
    choose_passes : callable, default=None
        Returns the columns that each pass over the rows reads, for a schema; None if they are unknown.
    """
    with limit_memory(memory):
        fits = column_storage.MAX_MEMORY_SHARE * free_memory()
        seen = read_preview(path, roles, fits)
    if seen is None:
        return None
    n_columns = seen.schema.n_columns
    if 8 * seen.schema.n_rows * n_columns <= fits:
        return None
    try:
        passes = None if choose_passes is None else choose_passes(seen.schema)
    except DataError:
        # For example, a target of classes that looks numeric in the first rows.
        passes = None
    read = None if passes is None else tuple(sum(map(seen.column_bytes, columns)) for columns in passes)
    return ReadPlan(path.name, seen.schema.n_rows, n_columns, seen.parsed_bytes, seen.disk_bytes, read, memory)
