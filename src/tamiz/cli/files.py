"""Where a command writes: looked at before the work, written beside and renamed into place after it."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from tamiz.runtime.registry import suggestion
from tamiz.storage.atomic_write import atomic_path

if TYPE_CHECKING:
    import pyarrow as pa


# MERGED: Tables from a pipe: copied to a file first, because a table is read more than once.
# What a file of each format begins with; whatever else is text of separated values.
_FORMAT_SIGNATURES = {b"PAR1": "parquet", b"ARROW1": "arrow", b"@": "arff", b"%": "arff"}
_SIGNATURE_BYTES = 4096


class TableFile(click.Path):
    """A table: a file, a folder of Parquet files, or what comes out of a pipe (`-`, /dev/stdin, a named pipe)."""

    def __init__(self) -> None:
        # A file that cannot be read is bad data, told by the one who reads it, and no wrong command line.
        super().__init__(readable=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the file; of a pipe a copy, which is gone when the command ends."""
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


def _copy_pipe(pipe: BinaryIO, name: str, context: click.Context) -> Path:
    folder = tempfile.TemporaryDirectory(prefix="tamiz-")
    context.call_on_close(folder.cleanup)
    beginning = pipe.read(_SIGNATURE_BYTES)
    kind = next(
        (kind for sign, kind in _FORMAT_SIGNATURES.items() if beginning.lstrip(b"\xef\xbb\xbf").startswith(sign)), "csv"
    )
    path = Path(folder.name) / f"{name}.{kind}"
    try:
        with path.open("wb") as file:
            file.write(beginning)
            shutil.copyfileobj(pipe, file)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise click.FileError(str(path), f"the table from the pipe cannot be copied there: {why}") from error
    return path


# As an output it stands for standard output.
STDOUT = Path("-")
# Text that a spreadsheet runs, and what of it is a number.
_FORMULA_PATTERN, _NUMBER_PATTERN = r"^[=+\-@\t\r]", r"^[+\-]?(\d+\.?\d*|\.\d+)([eE][+\-]?\d+)?$"


def check_output_paths(outputs: Sequence[Path | None], table: Path | None = None, *, model: Path | None = None) -> None:
    """Refuse files that could not be written after the work, or that would overwrite what is read or each other."""
    read = {"the table itself": table, "the model itself": model}
    # Of links that lead in a circle, Path.resolve makes an error of its own.
    taken = {os.path.realpath(path): what for what, path in read.items() if path is not None}
    for output in outputs:
        if output is None or output == STDOUT:
            continue
        _check_output_path(output)
        if (place := os.path.realpath(output)) in taken:
            raise ValueError(f"{output} is {taken[place]}; write to a file of another name.")
        taken[place] = "already the name of another output"


def _check_output_path(output: Path) -> None:
    folder = output.parent
    if not folder.exists():
        raise FileNotFoundError(f"There is no folder {folder}; make it, or write {output.name} elsewhere.")
    if not folder.is_dir():
        raise NotADirectoryError(f"{folder} is a file, not a folder; write {output.name} elsewhere.")
    if output.is_dir():
        raise IsADirectoryError(f"{output} is a folder; give the name of a file in it.")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"The folder {folder} cannot be written to; write {output.name} elsewhere.")


def check_table_output(output: Path | None, description: str) -> None:
    """Refuse a file whose ending says nothing of how to write a table, and standard output, where `description` goes already."""
    if output is None:
        return
    if output == STDOUT:
        raise click.UsageError(f"{description} go to standard output already; give --output the name of a file.")
    ending = _suffix(output)
    if ending not in _WRITERS:
        raise click.UsageError(
            f"{output.name}: a table is written as {', '.join(_WRITERS)} by the ending of its name"
            f"{suggestion(ending, _WRITERS)}."
        )


def write_table(table: pa.Table, output: Path, *, escape: bool = False) -> None:
    """Write a table, whole or not at all, in the format that the name's ending says; text as `escape_formulas` where asked for."""
    writer = _WRITERS[_suffix(output)]
    with atomic_path(output) as beside:
        writer(escape_formulas(table) if escape and writer in (_write_csv, _write_tsv) else table, str(beside))


def escape_formulas(table: pa.Table) -> pa.Table:
    """Return a table with an apostrophe before each name and text that a spreadsheet would take as a formula; numbers stay."""
    import pyarrow as pa
    from pyarrow import compute

    def escaped(column: pa.ChunkedArray) -> pa.ChunkedArray:
        text = _plain_column(column)
        if not (pa.types.is_string(text.type) or pa.types.is_large_string(text.type)):
            return column
        formula = compute.match_substring_regex(text, _FORMULA_PATTERN)
        runs = compute.and_(formula, compute.invert(compute.match_substring_regex(text, _NUMBER_PATTERN)))
        return compute.if_else(runs, compute.binary_join_element_wise(pa.scalar("'", text.type), text, ""), text)

    names = escaped(pa.chunked_array([pa.array(table.column_names, pa.string())])).to_pylist()
    return pa.table([escaped(column) for column in table.columns], names=names)


def _suffix(output: Path) -> str:
    return output.suffix.lstrip(".").lower()


def _write_csv(table: pa.Table, path: str) -> None:
    _write_text(table, path, ",")


def _write_tsv(table: pa.Table, path: str) -> None:
    _write_text(table, path, "\t")


def _write_text(table: pa.Table, path: str, delimiter: str) -> None:
    from pyarrow import csv

    csv.write_csv(prepare_for_text(table), path, csv.WriteOptions(delimiter=delimiter))


def prepare_for_text(table: pa.Table) -> pa.Table:
    """Return a table as it is written in text: without dictionaries, which pyarrow does not write, and days as days."""
    import pyarrow as pa

    return pa.table([_plain_column(column) for column in table.columns], names=table.column_names)


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


_WRITERS: dict[str, Callable[[pa.Table, str], None]] = {
    "csv": _write_csv,
    "tsv": _write_tsv,
    "txt": _write_tsv,
    "parquet": _write_parquet,
    "arrow": _write_arrow,
    "feather": _write_arrow,
}
