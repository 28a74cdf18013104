"""Separated values: parsed once, as text, into a columnar file beneath; typed column by column."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tamiz import parallel
from tamiz.exceptions import DataError
from tamiz.sources.base import Source
from tamiz.sources.raw import RawColumn
from tamiz.sources.room import Room, temporary_room
from tamiz.sources.table import Roles, build
from tamiz.sources.text_layout import Layout, find_layout
from tamiz.sources.text_values import read_column
from tamiz.validation import free_memory

# Room for lines as long as these makes DuckDB slow, so it is asked for only where reading fails without.
_LONGEST_LINE = 2**28
# Rows of one piece of the file beneath.
_FEWEST_ROWS, _MOST_ROWS, _BATCH_CELLS = 2048, 2**16, 2**21


def open_text(path: Path, roles: Roles) -> Source:
    """Open a file of separated values: commas, semicolons, tabs, bars or blanks, with or without a header.

    Fields are missing when they are empty or one of the words of `text_values.MISSING`. A column is numbers,
    booleans or dates where every present value is; with semicolons, numbers may have a decimal comma. Digits of
    one width with zeros in front stay text. What is parsed lies in a temporary folder that goes with the source.
    """
    layout = find_layout(path)
    with temporary_room() as room:
        source = _open(layout, roles, room)
        room.keep_for(source)
    return source


def _open(layout: Layout, roles: Roles, room: Room) -> Source:
    table = _parse(layout, room.folder)
    n_rows = table.num_rows
    if n_rows == 0:
        raise DataError(f"{layout.path} has a header and no rows.")
    place = {name: j for j, name in enumerate(layout.names)}
    guessed = _guessed(layout.names, roles)

    def word_row(at: int) -> str:
        return f"line {next(islice(layout.rows(), at, None))[0]}"

    def load(name: str) -> RawColumn:
        return read_column(
            name, table.column(place[name]), word_row, decimal_comma=layout.delimiter == ";", guess=name in guessed
        )

    def frame_of(names: Sequence[str], rows: NDArray[np.intp]) -> Any:
        frame = pa.table({name: _plain(load(name).values) for name in names})
        return frame if len(rows) == n_rows else frame.take(pa.array(rows))

    return build(list(layout.names), load, roles, frame_of, word_row=word_row, keep=room.keep)


def _guessed(names: Sequence[str], roles: Roles) -> set[str]:
    """Return the columns of which the user did not say what they are."""
    if roles.kinds is None:
        return set(names)
    return {roles.target} if isinstance(roles.kinds, str) else set(names) - set(roles.kinds)  # type: ignore[arg-type]


def _plain(values: Any) -> pa.Array:
    if isinstance(values, np.ndarray):
        return pa.array(values, from_pandas=True)
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


def _parse(layout: Layout, folder: Path) -> pa.Table:
    """Parse the file into a columnar one, and return that, mapped into memory."""
    parsed = folder / "table.arrow"
    failed: Exception | None = None
    if layout.is_plain:
        try:
            table = _convert(_read_csv(layout.path, layout), layout, parsed)
            if table.num_rows:
                return table
        except (duckdb.Error, OSError) as error:
            failed = _of_reading(error)
    # Either the file is not as DuckDB takes it, or a row is not like the others: then this says which.
    plain = _rewrite(layout, folder)
    commas = replace(layout, delimiter=",", quote='"', has_header=False)
    try:
        return _convert(_read_csv(plain, commas, f", max_line_size={_LONGEST_LINE}"), layout, parsed)
    except (duckdb.Error, OSError) as error:
        reason = str(failed or _of_reading(error)).splitlines()[0]
        raise DataError(f"{layout.path} cannot be read as separated values: {reason}") from error
    finally:
        plain.unlink()


def _of_reading(error: Exception) -> Exception:
    """Return an error of DuckDB's, which Arrow hands on as an OSError; one of the system's, a full disk, is raised."""
    if isinstance(error, OSError) and error.errno is not None:
        raise error
    return error


def _read_csv(path: Path, layout: Layout, options: str = "") -> str:
    """Return the words by which DuckDB cuts a file into fields of text.

    It does no more than that: its sums differ from run to run, and its guesses look at the first rows alone.
    """
    columns = ", ".join(f"'c{j}': 'VARCHAR'" for j in range(len(layout.names)))
    return (
        f"read_csv({_text(_without_pattern(path.absolute()))}, auto_detect=false, delim={_text(layout.delimiter)}, "
        f"quote={_text(layout.quote)}, escape={_text(layout.quote)}, header={layout.has_header}, "
        f"columns={{{columns}}}, null_padding=false, strict_mode=true, compression='none', "
        f"hive_partitioning=false{options})"
    )


def _convert(read_csv: str, layout: Layout, parsed: Path) -> pa.Table:
    settings: dict[str, Any] = {
        "threads": parallel.n_threads(),
        "memory_limit": f"{max(2**29, min(int(free_memory() / 2), 2**50)) // 2**20}MiB",
        "temp_directory": str(parsed.parent),
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "preserve_insertion_order": True,
    }
    rows = max(_FEWEST_ROWS, min(_MOST_ROWS, _BATCH_CELLS // len(layout.names)))
    # Arrow's own format: DuckDB writes Parquet at half the speed, and a column read from here is not copied.
    with duckdb.connect(config=settings) as connection, pa.OSFile(str(parsed), "wb") as file:
        # It would draw a bar of its own on standard output.
        connection.execute("SET enable_progress_bar = false")
        batches = connection.sql(f"SELECT * FROM {read_csv}").to_arrow_reader(rows)
        with pa.ipc.new_file(file, batches.schema) as writer:
            for batch in batches:
                writer.write_batch(batch)
    return pa.ipc.open_file(pa.memory_map(str(parsed))).read_all()


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _without_pattern(path: Path) -> str:
    """Return a path in which signs that stand for several files stand for themselves."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in str(path))


def _rewrite(layout: Layout, folder: Path) -> Path:
    """Write the table again in UTF-8, comma separated, or say which row is not like the others."""
    plain = folder / "plain.csv"
    n = len(layout.names)
    with plain.open("w", encoding="utf-8", newline="") as file:
        write: Callable[[list[str]], Any] = csv.writer(file, lineterminator="\n").writerow
        for line, fields in layout.rows():
            if len(fields) != n:
                head = "the header" if layout.has_header else "the first row"
                raise DataError(f"line {line} has {len(fields)} field{'s' * (len(fields) != 1)}, {head} {n}.")
            write(fields)
    return plain
