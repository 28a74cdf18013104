"""A look at the beginning of a large file: what its columns are like, before all of it is read."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from tamiz.exceptions import DataError
from tamiz.sources.csv_layout import find_layout
from tamiz.sources.csv_reader import open_csv
from tamiz.sources.in_memory import open_frame
from tamiz.sources.kinds import level_codes
from tamiz.sources.parquet import FORMAT_BY_SUFFIX, open_dataset, read_head
from tamiz.sources.raw_column import RawColumn
from tamiz.sources.schema import Schema
from tamiz.sources.table import OpenOptions

# Its codes are as wide as those of any column with the same levels.
_EMPTY_COLUMN = RawColumn("", pa.array([], pa.string()))
_HEAD_BYTES = 2**20
_HEAD_ROWS = 2**13


@dataclass(frozen=True)
class Preview:
    """What a file holds, judged by its first rows.

    Attributes
    ----------
    schema : Schema
        The columns as the first rows show them, and about how many rows there are.
    parsed_bytes : int
        The size of a file that is parsed before it is read; 0 for one that is read column by column.
    disk_bytes : int
        About what the temporary files take at most.
    """

    schema: Schema
    parsed_bytes: int
    disk_bytes: int

    def column_bytes(self, column: int) -> int:
        """Return what a column takes, the target among them."""
        described = self.schema.column(column)
        size = 8 if described.is_number else level_codes(_EMPTY_COLUMN, described.levels).itemsize
        return size * self.schema.n_rows


def read_preview(path: Path, options: OpenOptions, min_bytes: float = 0.0) -> Preview | None:
    """Look at a file; None for one that is small or whose beginning does not tell.

    Text of fewer than `min_bytes` / 8 bytes is small: no table of it takes `min_bytes` bytes, for a value and its end are a byte or more.

    Of the target, the kind and the levels are those that the first rows show: one class where the file is sorted by class.
    """
    options = replace(options, is_head=True)
    try:
        ending = path.suffix.lstrip(".").lower()
        if path.is_dir() or ending in FORMAT_BY_SUFFIX:
            return _preview_columnar(path, options, FORMAT_BY_SUFFIX.get(ending, "parquet"))
        return None if ending == "arff" else _preview_text(path, options, min_bytes)
    except (DataError, OSError, MemoryError):
        # Whoever reads it all says what is wrong, if anything is.
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
        or not (layout := find_layout(path, options.known_columns, options.header)).is_plain
    ):
        return None
    with path.open("rb") as file, tempfile.TemporaryDirectory(prefix="tamiz-") as folder:
        begun = file.read(_HEAD_BYTES)
        sample = Path(folder) / f"head{path.suffix}"
        sample.write_bytes(begun[: begun.rfind(b"\n") + 1])
        schema = open_csv(sample, options).schema
    return Preview(replace(schema, n_rows=layout.estimated_rows), size, layout.disk_bytes)
