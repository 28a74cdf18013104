"""Reader of ORC files."""

from pathlib import Path

import pyarrow as pa
from pyarrow import orc

from tamiz.exceptions import DataError
from tamiz.table.base import Table
from tamiz.table.build import OpenOptions
from tamiz.table.in_memory import open_frame


def open_orc(path: Path, options: OpenOptions) -> Table:
    """Open a file in the columnar format of Hive."""
    try:
        return open_frame(orc.read_table(path), options)
    except pa.ArrowInvalid as error:
        raise DataError(f"{path} cannot be read as ORC: {error}") from error
