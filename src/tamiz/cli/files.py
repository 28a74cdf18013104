"""Tables that commands read from pipes, and tables and files that they write.

A table is read more than once, so one from a pipe is copied to a temporary file first. Output paths are checked before the
work begins; a file is written under a temporary name and renamed after it.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from tamiz.cli.terminal import STDOUT, Messenger
from tamiz.runtime.registry import suggestion
from tamiz.storage.atomic_write import atomic_path, check_writable

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from tamiz.table.base import Table


# The beginning of the name of the folder to which a pipe is copied; messages name the pipe without it.
PIPE_FOLDER = "tamiz-pipe-"


class TableFile(click.Path):
    """A table: a file, a folder of Parquet files, or a pipe (`-`, /dev/stdin, a named pipe)."""

    def __init__(self) -> None:
        # An unreadable file is bad data (exit status 1, raised by its reader), not a wrong command line (2).
        super().__init__(readable=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path; for a pipe, the path of a copy that is removed when the command ends."""
        path = Path(str(super().convert(value, param, ctx)))
        if ctx is None or ctx.resilient_parsing:
            return path
        if path == STDOUT:
            return _copy_pipe(sys.stdin.buffer, "stdin", ctx)
        try:
            mode = path.stat().st_mode
        except OSError:
            return path
        if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
            return path
        with path.open("rb") as pipe:
            return _copy_pipe(pipe, "stdin" if path.name.isdecimal() else path.stem, ctx)


class OutputFolder(type(Path())):  # type: ignore[misc]  # the class of paths depends on the system
    """A folder of Parquet files to write: its name was given with a slash at the end."""


class OutputPath(click.Path):
    """A file to write, or with a slash at its end a folder of Parquet files."""

    def __init__(self) -> None:
        super().__init__(readable=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path, as an `OutputFolder` if it ends with a slash."""
        path = super().convert(value, param, ctx)
        return OutputFolder(path) if str(value).endswith(("/", os.sep)) else path


def _copy_pipe(pipe: BinaryIO, name: str, context: click.Context) -> Path:
    folder = tempfile.TemporaryDirectory(prefix=PIPE_FOLDER)
    context.call_on_close(folder.cleanup)
    path = Path(folder.name) / name
    try:
        with path.open("wb") as file:
            shutil.copyfileobj(pipe, file)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise click.FileError(str(path), f"the table from the pipe cannot be copied there: {why}") from error
    return path


# Rows of a file in a folder of Parquet files.
_PART_ROWS = 2**20

# Text that a spreadsheet runs as a formula, except numbers.
_FORMULA_PATTERN, _NUMBER_PATTERN = r"^[=+\-@\t\r]", r"^[+\-]?(\d+\.?\d*|\.\d+)([eE][+\-]?\d+)?$"


def check_output_paths(outputs: Sequence[Path | None], *tables: Path, model: Path | None = None) -> None:
    """Raise an error for outputs that cannot be written, or that would overwrite an input or each other."""
    if list(outputs).count(STDOUT) > 1:
        raise click.UsageError("Only one of --output and --json can go to standard output.")
    # os.path.realpath accepts circular links, for which Path.resolve raises RuntimeError.
    used = {os.path.realpath(table): "the table itself" for table in tables}
    if model is not None:
        used[os.path.realpath(model)] = "the model itself"
    for output in outputs:
        if output is None or output == STDOUT:
            continue
        check_writable(output)
        if (target := os.path.realpath(output)) in used:
            raise ValueError(f"{output} is {used[target]}; write to a file of another name.")
        used[target] = "already the name of another output"


def check_table_output(output: Path | None, description: str) -> None:
    """Raise a usage error for standard output, the default of `description`, and for file names with an unknown extension."""
    if output is None:
        return
    if output == STDOUT:
        raise click.UsageError(f"{description} are written to standard output by default; name a file with --output.")
    if not isinstance(output, OutputFolder):
        check_ending(output, "a table", _WRITERS)


def check_ending(output: Path, what: str, endings: Collection[str]) -> None:
    """Raise a usage error for a file name with another extension."""
    if (ending := _suffix(output)) not in endings:
        hint = suggestion(ending, endings)
        raise click.UsageError(f"{output}: the extension of {what} must be one of {', '.join(endings)}{hint}.")


def write_table(messenger: Messenger, table: pa.Table, output: Path, *, escape: bool = False) -> None:
    """Write a table atomically in the format of the file name's extension; `escape` is that of `prepare_for_text`."""
    if isinstance(output, OutputFolder):
        _write_folder(table, output)
    else:
        ending = _suffix(output)
        if ending in _TEXT_WRITERS:
            plain = prepare_for_text(table, escape=escape)
            if not (escape or plain.equals(prepare_for_text(table, escape=True))):
                advice = "--escape-formulas puts an apostrophe before it"
                messenger.write_note(f"{output} has text that a spreadsheet would run as a formula. {advice}.")
            table = plain
        with atomic_path(output) as temporary:
            _WRITERS[ending](table, str(temporary))
    messenger.write_line(f"Written: {output}")


def _write_folder(table: pa.Table, output: Path) -> None:
    with tempfile.TemporaryDirectory(prefix=f".{output.name}-", dir=output.parent) as temporary:
        parts = Path(temporary) / output.name
        parts.mkdir()
        for k, start in enumerate(range(0, max(len(table), 1), _PART_ROWS)):
            _write_parquet(table.slice(start, _PART_ROWS), str(parts / f"part-{k:05d}.parquet"))
        parts.rename(output)


def _suffix(output: Path) -> str:
    return output.suffix.lstrip(".").lower()


def _write_text(table: pa.Table, path: str, delimiter: str) -> None:
    from pyarrow import csv

    csv.write_csv(table, path, csv.WriteOptions(delimiter=delimiter))


def prepare_for_text(table: pa.Table, *, escape: bool) -> pa.Table:
    """Return a table for a text file: dictionaries decoded, which pyarrow does not write, and timestamps at midnight as dates.

    With `escape` there is an apostrophe before names and text that a spreadsheet would run as a formula; numbers are unchanged.
    """
    import pyarrow as pa

    columns, names = [_plain_column(column) for column in table.columns], table.column_names
    if escape:
        columns = [_escape_formulas(column) for column in columns]
        names = _escape_formulas(pa.chunked_array([pa.array(names, pa.string())])).to_pylist()
    return pa.table(columns, names=names)


def _escape_formulas(text: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa
    from pyarrow import compute

    if not (pa.types.is_string(text.type) or pa.types.is_large_string(text.type)):
        return text
    formula = compute.match_substring_regex(text, _FORMULA_PATTERN)
    runs = compute.and_(formula, compute.invert(compute.match_substring_regex(text, _NUMBER_PATTERN)))
    return compute.if_else(runs, compute.binary_join_element_wise(pa.scalar("'", text.type), text, ""), text)


def _plain_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        return column.cast(column.type.value_type)
    if pa.types.is_timestamp(column.type) and column.type.tz is None:
        for shorter in (pa.date32(), pa.timestamp("s")):
            short = column.cast(shorter, safe=False)
            if short.cast(column.type).equals(column):
                return short
    return column


def _write_parquet(table: pa.Table, path: str) -> None:
    from pyarrow import parquet

    parquet.write_table(table, path)


def _write_arrow(table: pa.Table, path: str) -> None:
    from pyarrow import feather

    feather.write_feather(table, path)


_TEXT_WRITERS = {
    ending: partial(_write_text, delimiter=sign) for ending, sign in (("csv", ","), ("tsv", "\t"), ("txt", "\t"))
}
_WRITERS: dict[str, Callable[[pa.Table, str], None]] = {
    **_TEXT_WRITERS,
    "parquet": _write_parquet,
    "arrow": _write_arrow,
    "feather": _write_arrow,
}


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
