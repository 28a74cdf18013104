"""Reader of JSON lines: a row as one JSON object on each line."""

from pathlib import Path

import pyarrow as pa
from pyarrow import json

from tamiz.exceptions import DataError
from tamiz.table.base import Table
from tamiz.table.build import OpenOptions
from tamiz.table.in_memory import open_frame


def open_jsonl(path: Path, options: OpenOptions) -> Table:
    """Open a file of JSON lines; a key that a row lacks is a missing value."""
    try:
        return open_frame(json.read_json(path), options)
    except pa.ArrowInvalid as error:
        raise DataError(f"{path} cannot be read as JSON lines: {error}") from error
