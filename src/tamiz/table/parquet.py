"""Reader of columnar files: Parquet (a file or a folder of files) and Arrow IPC, read one column at a time."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
from numpy.typing import NDArray

from tamiz.exceptions import DataError
from tamiz.runtime.executors import Workers, check_folder
from tamiz.runtime.memory import stated_limit
from tamiz.runtime.user_warnings import list_names
from tamiz.table.base import Table, is_every_row
from tamiz.table.build import ColumnSource, OpenOptions, build_table
from tamiz.table.column_storage import temporary_store
from tamiz.table.in_memory import raw_from_arrow
from tamiz.table.kinds import RawColumn
from tamiz.table.text_values import encode_dictionary

# Memory per row for reading and encoding a column.
_BYTES_PER_ROW = 32
_BATCH_ROWS = 2**17
# Values that are read at a time. A scan costs a millisecond for every thousand columns of the file, so those of few rows share one.
_VALUES_PER_SCAN = 2**21
# Columns are read in parallel, and the batches of a column one after another. By default Arrow would read a hundred batches ahead.
_SCAN_OPTIONS = {"batch_readahead": 1, "fragment_readahead": 1, "use_threads": False}

# Arrow's names of the formats.
FORMAT_BY_SUFFIX = {"parquet": "parquet", "arrow": "ipc", "feather": "ipc"}
_FORMAT_LABELS = {"parquet": "Parquet", "ipc": "Arrow IPC"}


def open_parquet(path: Path, options: OpenOptions) -> Table:
    """Open a Parquet file, or a folder of Parquet files with the same columns; dictionary columns are categorical."""
    return _open_columnar(path, options, "parquet")


def open_arrow(path: Path, options: OpenOptions) -> Table:
    """Open an Arrow IPC (Feather) file; dictionary columns are categorical."""
    return _open_columnar(path, options, "ipc")


def open_dataset(path: Path, file_format: str) -> tuple[ds.Dataset, int]:
    """Return the dataset of a file or folder, and its number of rows."""
    label = _FORMAT_LABELS[file_format]
    try:
        # In a folder, Arrow ignores files whose names begin with a dot or an underscore.
        data = ds.dataset(path, format=file_format, partitioning="hive" if path.is_dir() else None)
        n_rows = data.count_rows()
    except PermissionError:
        raise PermissionError(f"{path} cannot be read: permission denied.") from None
    except (pa.ArrowInvalid, OSError) as error:
        if "duplicate field names" in str(error):
            raise DataError(f"{path} has two columns with the same name; rename one of them.") from None
        unreadable = _unreadable_part(path, file_format) or path
        raise DataError(f"{unreadable} cannot be read as {label}: {str(error).splitlines()[0]}") from error
    if path.is_dir() and (common := _common_schema(data)) != data.schema:
        data = ds.dataset(path, schema=common, format=file_format, partitioning="hive")
    return data, n_rows


def _unreadable_part(path: Path, file_format: str) -> Path | None:
    """Return the first file of a folder that cannot be read."""
    for part in sorted(path.rglob(f"*.{file_format}")) if path.is_dir() else ():
        try:
            ds.dataset(part, format=file_format).count_rows()
        except (pa.ArrowInvalid, OSError):
            return part
    return None


def _common_schema(data: ds.Dataset) -> pa.Schema:
    """Return the columns of a folder, with types that hold the values of all files.

    Raise a DataError if a file has other columns than the first, which Arrow would fill or leave out, or if types do not fit.
    """
    first, common = next(data.get_fragments()), data.schema
    for part in data.get_fragments():
        if part.physical_schema.equals(first.physical_schema):
            continue
        names, wanted = set(part.physical_schema.names), set(first.physical_schema.names)
        absent, further = wanted - names, names - wanted
        if absent or further:
            shown = list_names(sorted(absent or further), as_text=repr)
            difference = f"has no column {shown}, which" if absent else f"has the column {shown}, which"
            raise DataError(
                f"{part.path} {difference} {first.path} {'has' if absent else 'has not'}; all files of a folder need the same "
                "columns."
            )
        try:
            common = pa.unify_schemas([common, part.physical_schema], promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            name = next(name for name in common.names if not _fit(common.field(name), part.physical_schema))
            raise DataError(
                f"{part.path} has {part.physical_schema.field(name).type} values in column {name!r}, where files before it have "
                f"{common.field(name).type} values; convert one of them."
            ) from None
    return common


def _fit(field: pa.Field, other: pa.Schema) -> bool:
    """Whether one type holds the values of a field and of the field of this name in another schema."""
    try:
        pa.unify_schemas([pa.schema([field]), other], promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return False
    return True


class _ColumnarTable:
    """The columns of a file or folder, read one at a time, here or on workers.

    Parameters
    ----------
    path : Path
    file_format : str
    files : tuple of (path, size, time of change), default=None
        The files when the table was opened; an error is raised if they were changed since then.
    """

    def __init__(self, path: Path, file_format: str, files: tuple[tuple[str, int, int], ...] | None = None) -> None:
        self._arguments = path, file_format
        self.data, self.n_rows = open_dataset(path, file_format)
        self._files = files or _file_states(self.data)
        if files is not None:
            self.check_unchanged()
        schema = self.data.schema
        self.names: list[str] = schema.names
        self.types = dict(zip(schema.names, schema.types, strict=True))
        self._read_pieces = _column_reader(self.data, self.n_rows)

    def __reduce__(self) -> tuple[Any, ...]:
        return _open_on_worker, (*self._arguments, self._files)

    def __call__(self, name: str) -> RawColumn:
        return _read_column(name, self.types[name], self._read_pieces(name), self.n_rows)

    def check_unchanged(self) -> None:
        """Raise a DataError if a file was changed since the table was opened."""
        for then, now in zip(self._files, _file_states(self.data), strict=False):
            if then != now:
                raise DataError(f"{then[0]} was modified after it was opened; open the table again.")

    def frame(self, names: Sequence[str], rows: NDArray[Any]) -> pa.Table:
        """Return columns of some rows with their original types."""
        table = self.data.to_table({name: ds.field(name) for name in names})
        return table if is_every_row(rows, self.n_rows) else table.take(pa.array(rows))


@lru_cache(maxsize=2)
def _open_on_worker(path: Path, file_format: str, files: tuple[tuple[str, int, int], ...]) -> _ColumnarTable:
    return _ColumnarTable(path, file_format, files)


def _file_states(data: ds.Dataset) -> tuple[tuple[str, int, int], ...]:
    states = ((file, Path(file).stat()) for file in data.files)
    return tuple((file, state.st_size, state.st_mtime_ns) for file, state in states)


def _open_columnar(path: Path, options: OpenOptions, file_format: str) -> Table:
    columns = _ColumnarTable(path.absolute() if options.executor else path, file_format)
    if columns.n_rows == 0 and options.reader is None:
        raise DataError(f"{path} has no rows.")
    executor = options.executor
    with temporary_store(
        None if executor is None else _common_folder(path, executor), on_disk=executor is not None
    ) as store:
        if executor is None:
            store.choose_location(8 * columns.n_rows * len(columns.names))
        source = ColumnSource(
            columns.names,
            columns.n_rows,
            columns,
            columns.frame,
            store=store.store,
            column_memory=_BYTES_PER_ROW * columns.n_rows,
            workers=None if executor is None else Workers(executor, store.folder, stated_limit()),
        )
        table = build_table(source, options)
        columns.check_unchanged()
        store.delete_with(table)
    return table


def _common_folder(path: Path, executor: Executor) -> Path:
    """Return a folder that workers see: that of temporary files, or that of the table."""
    beside = path.absolute() if path.is_dir() else path.absolute().parent
    candidates = Path(tempfile.gettempdir()), beside
    for parent in candidates:
        with suppress(PermissionError), tempfile.TemporaryDirectory(prefix=".tamiz-", dir=parent) as folder:
            if check_folder(executor, Path(folder)):
                return parent
    raise DataError(
        f"The workers and this process see no common folder that they can write to: neither {candidates[0]} nor {beside}. Copy the "
        "table to a folder that all machines see, or set TMPDIR to one."
    )


def _read_column(name: str, kind: pa.DataType, pieces: Iterable[pa.Array], n_rows: int) -> RawColumn:
    """Read a column; floats and text are read piece by piece, so that memory contains them once only."""
    checked = _checked_pieces(name, pieces, n_rows)
    if kind in (pa.float64(), pa.float32()):
        numbers, start = np.empty(n_rows, kind.to_pandas_dtype()), 0
        for piece in checked:
            numbers[start : start + len(piece)] = piece.to_numpy(zero_copy_only=False)
            start += len(piece)
        return RawColumn(name, numbers, original=numbers)
    if kind in (pa.string(), pa.large_string()):
        return RawColumn(name, encode_dictionary(name, (pa.chunked_array([piece]) for piece in checked)))
    values = pa.chunked_array(list(checked), kind)
    return raw_from_arrow(
        name, values.unify_dictionaries().combine_chunks() if pa.types.is_dictionary(kind) else values.combine_chunks()
    )


def _checked_pieces(name: str, pieces: Iterable[pa.Array], n_rows: int) -> Iterator[pa.Array]:
    """Yield a column piece by piece; raise a DataError if the number of rows has changed since the file was opened."""
    seen = 0
    for piece in pieces:
        seen += len(piece)
        if seen > n_rows:
            break
        yield piece
    if seen != n_rows:
        count = "more" if seen > n_rows else f"{seen:,}"
        raise DataError(
            f"Column {name}: the file had {n_rows:,} rows when it was opened and now has {count}. It was modified; open it again."
        )


def _column_reader(data: ds.Dataset, n_rows: int, batch_rows: int = _BATCH_ROWS) -> Callable[[str], Iterable[pa.Array]]:
    """Return a function that returns the batches of a column in order, without empty batches at the end of files."""
    names = data.schema.names
    size, lock = max(1, _VALUES_PER_SCAN // max(n_rows, 1)), Lock()
    position = {name: j for j, name in enumerate(names)}

    def scan(name: str) -> Iterator[pa.Array]:
        for batch in data.to_batches(columns={name: ds.field(name)}, batch_size=batch_rows, **_SCAN_OPTIONS):
            if batch.num_rows:
                yield batch.column(0)

    # Columns are read in their order, by several threads.
    @lru_cache(maxsize=2)
    def read_group(group: int) -> pa.Table:
        return data.to_table(
            {name: ds.field(name) for name in names[group * size : (group + 1) * size]}, use_threads=False
        )

    def read(name: str) -> Iterable[pa.Array]:
        with lock:
            chunks: list[pa.Array] = read_group(position[name] // size).column(name).chunks
        return chunks

    return scan if size == 1 else read


def read_head(data: ds.Dataset, n_rows: int) -> pa.Table:
    """Return up to `n_rows` of the first rows, read column by column, because Arrow would decode all columns at once."""
    read_pieces = _column_reader(data, data.count_rows(), n_rows)
    first = {name: next(iter(read_pieces(name))).slice(0, n_rows) for name in data.schema.names}
    n_head = min(map(len, first.values()))
    return pa.table({name: values.slice(0, n_head) for name, values in first.items()})
