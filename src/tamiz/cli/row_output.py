"""Rows as a table that a command makes: coordinates, columns that are carried along, and where it goes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tamiz.cli.files import escape_formulas, prepare_for_text, write_table
from tamiz.cli.options import FILE
from tamiz.cli.terminal import Messenger, show_rows
from tamiz.runtime.registry import suggestion

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from tamiz.sources.base import Source

keep_option = click.option(
    "--keep",
    "kept",
    metavar="COLUMN",
    multiple=True,
    help="A column of the table to write beside the others as it is, such as an id or the target. Repeatable.",
)
rows_option = click.option(
    "-o",
    "--output",
    type=FILE,
    metavar="FILE",
    help="Write the rows as CSV, TSV, Parquet or Arrow by the name's ending, and not to standard output.",
)

escape_option = click.option(
    "--escape-formulas",
    "escape",
    is_flag=True,
    help="Put an apostrophe before text that a spreadsheet would run as a formula (it begins with =, +, - or @), where the "
    "rows are written as text.",
)


def check_kept_columns(source: Source, kept: Sequence[str], reserved_names: Sequence[str]) -> None:
    """Refuse columns to keep that the table does not have, or that are called as those that are written anyway."""
    from tamiz.exceptions import DataError

    for name in kept:
        if name not in source.column_names:
            raise DataError(f"There is no column {name!r} to keep{suggestion(name, source.column_names)}.")
        if name in reserved_names:
            raise DataError(f"The column {name!r} to keep is called as one of the coordinates; rename it in the table.")


def original_columns(source: Source, names: Sequence[str]) -> pa.Table:
    """Return columns of the user's table, by name, each once."""
    import pyarrow as pa

    from tamiz.runtime.validation import check_memory

    once = list(dict.fromkeys(names))
    if not once:
        return pa.table({})
    n = source.schema.n_rows
    # A value, and what it is written from.
    check_memory(16.0 * n * len(once), f"{n:,} rows of {len(once):,} columns", "Apply the model to parts of the table.")
    table: pa.Table = source.frame_by_name(once)
    return table


def add_coordinates(columns: pa.Table, names: Sequence[str], embedding: NDArray[Any]) -> pa.Table:
    """Return columns of the user's table and the coordinates of its rows beside them."""
    import numpy as np
    import pyarrow as pa

    coordinates = [pa.array(np.ascontiguousarray(axis)) for axis in embedding.T]
    return pa.table([*columns.columns, *coordinates], names=[*columns.column_names, *names])


def write_rows(messenger: Messenger, table: pa.Table, output: Path | None, *, to_stdout: bool, escape: bool) -> None:
    """Write a table to a file, or where there is none to standard output if it is to be shown there."""
    if output is not None:
        write_table(table, output, escape=escape)
        messenger.write_line(f"Written: {output}")
    elif to_stdout:
        show_rows(prepare_for_text(escape_formulas(table) if escape else table))
