"""Columnar files: Parquet (a file or a folder of files) and Arrow, read a column at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
from numpy.typing import NDArray

from tamiz.exceptions import DataError
from tamiz.sources.base import Source
from tamiz.sources.column_storage import temporary_store
from tamiz.sources.in_memory import raw_from_arrow
from tamiz.sources.raw_column import RawColumn
from tamiz.sources.table import OpenOptions, build_table, is_every_row
from tamiz.sources.text_values import encode_dictionary

# Memory a row that reading and encoding a column takes.
_BYTES_PER_ROW = 32
_BATCH_ROWS = 2**17
# Columns are read side by side, not their pieces: one is read ahead, where Arrow would hold a hundred.
_SCAN_OPTIONS = {"batch_readahead": 1, "fragment_readahead": 1, "use_threads": False}

# Endings of names and what Arrow calls the format.
FORMAT_BY_SUFFIX = {"parquet": "parquet", "arrow": "ipc", "feather": "ipc"}
_FORMAT_LABELS = {"parquet": "Parquet", "ipc": "Arrow IPC"}


def open_parquet(path: Path, options: OpenOptions) -> Source:
    """Open a Parquet file, or a folder of them with the same columns; dictionary columns are categorical."""
    return _open_columnar(path, options, "parquet")


def open_arrow(path: Path, options: OpenOptions) -> Source:
    """Open an Arrow IPC (Feather) file; dictionary columns are categorical."""
    return _open_columnar(path, options, "ipc")


def open_dataset(path: Path, file_format: str) -> tuple[ds.Dataset, int]:
    """Return a file or folder and how many rows it has."""
    label = _FORMAT_LABELS[file_format]
    try:
        # Files whose names begin with a dot or an underscore are the leavings of whoever wrote the folder.
        data = ds.dataset(path, format=file_format, partitioning="hive" if path.is_dir() else None)
        n_rows = data.count_rows()
    except PermissionError:
        raise PermissionError(f"{path} cannot be read: permission denied.") from None
    except (pa.ArrowInvalid, OSError) as error:
        if "duplicate field names" in str(error):
            raise DataError(f"{path} has two columns of one name; give every column a name of its own.") from None
        raise DataError(f"{path} cannot be read as {label}: {str(error).splitlines()[0]}") from error
    return data, n_rows


def _open_columnar(path: Path, options: OpenOptions, file_format: str) -> Source:
    data, n_rows = open_dataset(path, file_format)
    if n_rows == 0 and options.reader is None:
        raise DataError(f"{path} has no rows.")

    def load(name: str) -> RawColumn:
        return _read_column(data, name, n_rows)

    def frame_of(names: Sequence[str], rows: NDArray[Any]) -> Any:
        table = data.to_table({name: ds.field(name) for name in names})
        return table if is_every_row(rows, n_rows) else table.take(pa.array(rows))

    with temporary_store() as room:
        room.choose_location(8 * n_rows * len(data.schema.names))
        source = build_table(
            data.schema.names, load, options, frame_of, store_column=room.store, column_memory=_BYTES_PER_ROW * n_rows
        )
        room.delete_with(source)
    return source


def _read_column(data: ds.Dataset, name: str, n_rows: int) -> RawColumn:
    """Read a column; floats and text piece by piece, so that they are never there twice."""
    kind = data.schema.field(name).type
    if kind in (pa.float64(), pa.float32()):
        numbers, start = np.empty(n_rows, kind.to_pandas_dtype()), 0
        for piece in _checked_pieces(data, name, n_rows):
            numbers[start : start + len(piece)] = piece.to_numpy(zero_copy_only=False)
            start += len(piece)
        return RawColumn(name, numbers, original=numbers)
    if kind in (pa.string(), pa.large_string()):
        return RawColumn(
            name,
            encode_dictionary(name, map(pa.chunked_array, ([piece] for piece in _checked_pieces(data, name, n_rows)))),
        )
    values = pa.chunked_array(list(_checked_pieces(data, name, n_rows)), kind)
    return raw_from_arrow(
        name, values.unify_dictionaries().combine_chunks() if pa.types.is_dictionary(kind) else values.combine_chunks()
    )


def _checked_pieces(data: ds.Dataset, name: str, n_rows: int) -> Iterator[pa.Array]:
    """Yield a whole column, refused where the file has not as many rows as it had when it was opened."""
    seen = 0
    for piece in _pieces(data, name):
        seen += len(piece)
        if seen > n_rows:
            break
        yield piece
    if seen != n_rows:
        what = "more" if seen > n_rows else f"{seen:,}"
        raise DataError(
            f"Column {name}: the file had {n_rows:,} rows when it was opened and has {what} now, so that it was written to "
            "meanwhile; open it again."
        )


def _pieces(data: ds.Dataset, name: str, n_rows: int = _BATCH_ROWS) -> Iterator[pa.Array]:
    """Yield the rows of a column in order, the empty ends of files left out."""
    for batch in data.to_batches(columns={name: ds.field(name)}, batch_size=n_rows, **_SCAN_OPTIONS):
        if batch.num_rows:
            yield batch.column(0)


def read_head(data: ds.Dataset, n_rows: int) -> pa.Table:
    """Return some of the first rows, read column by column: Arrow would take in all columns of a file for any of them."""
    first = {name: next(_pieces(data, name, n_rows)).slice(0, n_rows) for name in data.schema.names}
    least = min(map(len, first.values()))
    return pa.table({name: values.slice(0, least) for name, values in first.items()})
