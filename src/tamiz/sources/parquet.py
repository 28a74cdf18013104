"""Columnar files: Parquet (a file or a folder of files) and Arrow, read a column at a time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from numpy.typing import NDArray

from tamiz.exceptions import DataError
from tamiz.sources.base import Source
from tamiz.sources.memory import from_arrow
from tamiz.sources.raw import RawColumn
from tamiz.sources.room import temporary_room
from tamiz.sources.table import Roles, build


def open_parquet(path: Path, roles: Roles) -> Source:
    """Open a Parquet file, or a folder of them with the same columns; dictionary columns are categorical."""
    return _open(path, roles, "parquet", "Parquet")


def open_arrow(path: Path, roles: Roles) -> Source:
    """Open an Arrow IPC (Feather) file; dictionary columns are categorical."""
    return _open(path, roles, "ipc", "Arrow IPC")


def _open(path: Path, roles: Roles, file_format: str, label: str) -> Source:
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
    if n_rows == 0:
        raise DataError(f"{path} has no rows.")

    def load(name: str) -> RawColumn:
        return from_arrow(name, data.to_table({name: ds.field(name)}).column(0).combine_chunks())

    def frame_of(names: Sequence[str], rows: NDArray[Any]) -> Any:
        table = data.to_table({name: ds.field(name) for name in names})
        return table if len(rows) == n_rows else table.take(pa.array(rows))

    with temporary_room() as room:
        source = build(data.schema.names, load, roles, frame_of, keep=room.keep)
        room.keep_for(source)
    return source
