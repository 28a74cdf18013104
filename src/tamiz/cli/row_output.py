"""Output of rows: coordinates and kept columns as one table, written to a file or to standard output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tamiz.cli.command import flag, option
from tamiz.cli.files import OutputPath, prepare_for_text, write_table
from tamiz.cli.options import JSON
from tamiz.cli.terminal import Messenger, show_json, show_rows
from tamiz.runtime.registry import suggestion

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from tamiz.table.base import Table

ESCAPE = flag(
    "--escape-formulas",
    "In CSV and TSV files, put an apostrophe before text that a spreadsheet would run as a formula (it begins with =, +, - or @).",
)


@dataclass(frozen=True)
class RowOutput:
    """Where and how the rows of a command are written."""

    kept: tuple[str, ...] = option(
        "--keep COLUMN",
        text="Also write this column of the table unchanged, such as an id or the target. Repeatable.",
        multiple=True,
    )
    output: Path | None = option(
        "-o --output FILE",
        OutputPath(),
        "Write the rows to a file, as CSV, TSV, Parquet or Arrow by its extension, or to a new folder of Parquet files if it "
        "ends with a slash.  [default: standard output]",
    )
    escape: bool = ESCAPE
    as_json: bool = JSON

    def write(self, messenger: Messenger, rows: pa.Table, summary: Mapping[str, Any]) -> None:
        """Write the rows to the file; to standard output write the summary as JSON, or rows that are not in a file."""
        if self.output is not None:
            write_table(messenger, rows, self.output, escape=self.escape)
        if self.as_json:
            show_json(summary)
        elif self.output is None:
            show_rows(prepare_for_text(rows, escape=self.escape))


def check_kept_columns(table: Table, kept: Sequence[str], reserved_names: Sequence[str]) -> None:
    """Raise an error for columns to keep that the table lacks, or whose names are reserved."""
    from tamiz.exceptions import DataError

    for name in kept:
        if name not in table.column_names:
            raise DataError(f"There is no column {name!r} to keep{suggestion(name, table.column_names)}.")
        if name in reserved_names:
            raise DataError(f"The column {name!r} to keep has the name of a coordinate; rename it in the table.")


def original_columns(opened: Table, names: Sequence[str]) -> pa.Table:
    """Return columns of the user's table by name, without repetitions."""
    import pyarrow as pa

    from tamiz.runtime.validation import check_memory

    unique = list(dict.fromkeys(names))
    if not unique:
        return pa.table({})
    n = opened.schema.n_rows
    # 8 bytes for a value, and 8 for the table that it is copied from.
    check_memory(
        16.0 * n * len(unique), f"{n:,} rows of {len(unique):,} columns", "Apply the model to parts of the table."
    )
    table: pa.Table = opened.frame_by_name(unique)
    return table


def add_coordinates(columns: pa.Table, names: Sequence[str], embedding: NDArray[Any]) -> pa.Table:
    import numpy as np
    import pyarrow as pa

    coordinates = [pa.array(np.ascontiguousarray(axis)) for axis in embedding.T]
    return pa.table([*columns.columns, *coordinates], names=[*columns.column_names, *names])
