"""Separated values: parsed once, as text, into a columnar file beneath; typed column by column."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
from numpy.typing import NDArray

from tamiz import parallel, progress
from tamiz.exceptions import DataError
from tamiz.memory import free_memory, in_units, resident
from tamiz.sources.base import Source
from tamiz.sources.parsed import ParsedText
from tamiz.sources.raw import RawColumn
from tamiz.sources.room import Room, temporary_room
from tamiz.sources.schema import Kind
from tamiz.sources.table import Roles, build, is_whole
from tamiz.sources.text_columns import gaps_only, read_as, read_column
from tamiz.sources.text_layout import Layout, find_layout
from tamiz.sources.text_values import as_carried

# Room for lines as long as these makes DuckDB slow, so it is asked for only where reading fails without.
_LONGEST_LINE = 2**28
# What DuckDB reads a file of a few hundred columns in.
_LEAST_TO_PARSE = 2**27
# What it takes a column where there are thousands, and how it says that it had less.
_PARSED_COLUMN = 2e5
_OUT_OF_MEMORY = "Out of Memory"
# A file of more columns is read by Arrow, which takes little time and memory a column, in pieces of so many bytes or rows.
_MANY_COLUMNS, _WIDE_BLOCK, _WIDE_ROWS = 1000, 2**24, 8
_QUOTED_PIECE = 2**22
# Memory a row that typing and encoding a column takes.
_ROW_WORK = 28
# With less free memory, pieces are smaller than they are fast.
_PLENTY = 4e8
_SMALL_BUFFER = 2**23
# Rows of one piece of the file beneath.
_FEWEST_ROWS, _MOST_ROWS, _BATCH_CELLS = 2048, 2**16, 2**21


def open_text(path: Path, roles: Roles) -> Source:
    """Open a file of separated values: commas, semicolons, tabs, bars or blanks, with or without a header.

    A header of numbers is found by the values beneath, by a role's column that it names, or by `Roles.header`.

    Fields are missing when they are empty or one of the words of `text_values.MISSING`. A column is numbers,
    booleans or dates where every present value is; with semicolons, numbers may have a decimal comma. Digits of
    one width with zeros in front stay text. What is parsed lies in a temporary folder that goes with the source.
    """
    layout = find_layout(path, roles.known, roles.header)
    with temporary_room() as room:
        source = _open(layout, roles, room)
        room.keep_for(source)
    if layout.note is not None:
        source.schema = replace(source.schema, notes=(*source.schema.notes, layout.note))
    return source


def _open(layout: Layout, roles: Roles, room: Room) -> Source:
    table = _parse(layout, room)
    n_rows = table.n_rows
    if n_rows == 0 and roles.fitted is None:
        raise DataError(f"{layout.path} has a header and no rows.")
    place = {name: j for j, name in enumerate(layout.names)}
    guessed = _guessed(layout.names, roles)
    left_out = _left_out(roles)
    said = {name: kind for name, kind in _said(layout.names, roles).items() if kind in ("numeric", "date")}
    room.expect(8 * n_rows * len(layout.names))

    def word_row(at: int) -> str:
        return f"line {next(islice(layout.rows(), at, None))[0]}"

    comma = layout.delimiter == ";"
    # Where commas part the fields, one within a value parts thousands.
    comma_first = {";": True, ",": False}.get(layout.delimiter)

    def read(name: str) -> RawColumn:
        text = table.column(place[name])
        kind = said.get(name) if roles.fitted is None else roles.fitted.kind_of(name)
        if kind is not None:
            return read_as(name, text, kind, decimal_comma=comma, comma_first=comma_first)
        return read_column(name, text, word_row, decimal_comma=comma, comma_first=comma_first, guess=name in guessed)

    def load(name: str) -> RawColumn:
        return gaps_only(name, table.column(place[name])) if name in left_out else read(name)

    def carried(name: str) -> Any:
        values = read(name).values
        whole = as_carried(table.column(place[name]).words()) if isinstance(values, np.ndarray) else None
        return _plain(values) if whole is None else whole

    def frame_of(names: Sequence[str], rows: NDArray[np.intp]) -> Any:
        frame = pa.table({name: carried(name) for name in names})
        return frame if is_whole(rows, n_rows) else frame.take(pa.array(rows))

    return build(
        list(layout.names), load, roles, frame_of, word_row=word_row, keep=room.keep, column_work=_ROW_WORK * n_rows
    )


def _guessed(names: Sequence[str], roles: Roles) -> set[str]:
    """Return the columns of which the user did not say what they are; a group may be anything."""
    if roles.fitted is not None:
        return set()
    if roles.kinds is None:
        guessed = set(names)
    else:
        guessed = {roles.target} if isinstance(roles.kinds, str) else set(names) - set(roles.kinds)  # type: ignore[arg-type]
    return guessed - {roles.groups}


def _said(names: Sequence[str], roles: Roles) -> Mapping[str, Kind]:
    """Return the kinds that the user said."""
    if isinstance(roles.kinds, str):
        return dict.fromkeys((name for name in names if name != roles.target), roles.kinds)
    return roles.kinds or {}


def _left_out(roles: Roles) -> set[str]:
    """Return the features that the user said take no part."""
    given = roles.kinds if isinstance(roles.kinds, Mapping) else {}
    return {name for name, kind in given.items() if kind in ("text", "id") and name not in roles.names}


def _plain(values: Any) -> pa.Array:
    if isinstance(values, np.ndarray):
        return pa.array(values, from_pandas=True)
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


def _parse(layout: Layout, room: Room) -> ParsedText:
    """Parse the file into a columnar one."""
    parsed = room.folder / "table.arrow"
    room.check_disk(layout.disk_bytes, f"What {layout.path} is parsed into")
    is_wide = len(layout.names) > _MANY_COLUMNS
    failed: Exception | None = None

    def read(given: Layout, options: str) -> ParsedText:
        return _read_wide(given, parsed) if is_wide else _convert(_read_csv(given, options), layout, parsed)

    if layout.is_plain and not (is_wide and _has_quotes(layout)):
        try:
            pieces = "" if free_memory() > _PLENTY else f", buffer_size={_SMALL_BUFFER}"
            table = read(layout, pieces)
            if table.n_rows:
                return table
        except (duckdb.Error, pa.ArrowInvalid, OSError) as error:
            failed = _of_reading(error)
    # Either the file is not as it is read here, or a row is not like the others: then this says which.
    plain = _rewrite(layout, room.folder)
    commas = replace(layout, path=plain, delimiter=",", quote='"', has_header=False)
    try:
        return read(commas, f", max_line_size={_LONGEST_LINE}")
    except (duckdb.Error, pa.ArrowInvalid, OSError) as error:
        reason = str(failed or _of_reading(error)).splitlines()[0]
        raise DataError(f"{layout.path} cannot be read as separated values: {reason}") from error
    finally:
        plain.unlink()


def _of_reading(error: Exception) -> Exception:
    """Return an error of DuckDB's, which Arrow hands on as an OSError; one of the system's, a full disk, is raised."""
    if isinstance(error, OSError) and error.errno is not None:
        raise error
    return error


def _has_quotes(layout: Layout) -> bool:
    """Whether a quote stands anywhere: Arrow takes one that is not closed without a word."""
    quote = layout.quote.encode()
    with layout.path.open("rb") as file:
        return any(quote in piece for piece in iter(lambda: file.read(_QUOTED_PIECE), b""))


def _read_wide(layout: Layout, parsed: Path) -> ParsedText:
    """Parse a file of very many columns, of which each costs DuckDB a fifth of a millisecond and 200 kB."""
    names = [f"c{j}" for j in range(len(layout.names))]
    block = min(max(_WIDE_BLOCK, int(_WIDE_ROWS * layout.row_bytes)), 2**31 - 1)
    schema = pa.schema([(name, pa.string()) for name in names])
    if not layout.path.stat().st_size:
        # Of an empty file Arrow makes an error, and a table that is placed by a model may be one.
        _write_batches([], schema, parsed)
        return ParsedText(parsed)
    with arrow_csv.open_csv(
        layout.path,
        arrow_csv.ReadOptions(block_size=block, column_names=names, skip_rows=int(layout.has_header)),
        arrow_csv.ParseOptions(delimiter=layout.delimiter, quote_char=layout.quote, newlines_in_values=True),
        arrow_csv.ConvertOptions(column_types=schema, strings_can_be_null=False),
    ) as batches:
        _write_batches(batches, schema, parsed)
    return ParsedText(parsed)


def _read_csv(layout: Layout, options: str) -> str:
    """Return the words by which DuckDB cuts a file into fields of text.

    It does no more than that: its sums differ from run to run, and its guesses look at the first rows alone.
    """
    columns = ", ".join(f"'c{j}': 'VARCHAR'" for j in range(len(layout.names)))
    return (
        f"read_csv({_text(_without_pattern(layout.path.absolute()))}, auto_detect=false, delim={_text(layout.delimiter)}, "
        f"quote={_text(layout.quote)}, escape={_text(layout.quote)}, header={layout.has_header}, "
        f"columns={{{columns}}}, null_padding=false, strict_mode=true, compression='none', "
        f"hive_partitioning=false{options})"
    )


def _convert(read_csv: str, layout: Layout, parsed: Path) -> ParsedText:
    """Parse by all threads, or by one where the memory does not hold the work of several."""
    free = free_memory()
    for threads in sorted({1, parallel.n_threads()}, reverse=True):
        try:
            _write_arrow(read_csv, layout, parsed, threads, free)
        except (duckdb.Error, OSError) as error:
            if _OUT_OF_MEMORY not in str(error):
                raise
        else:
            return ParsedText(parsed)
    raise MemoryError(
        f"The {in_units(free)} of memory that are free do not hold pieces of {len(layout.names):,} columns while {layout.path} is "
        f"parsed. State at least {in_units(resident() + _PARSED_COLUMN * len(layout.names))}."
    )


def _write_arrow(read_csv: str, layout: Layout, parsed: Path, threads: int, free: float) -> None:
    settings: dict[str, Any] = {
        "threads": threads,
        "memory_limit": f"{max(_LEAST_TO_PARSE, min(int(0.75 * free), 2**50)) // 2**20}MiB",
        "temp_directory": str(parsed.parent),
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "preserve_insertion_order": True,
    }
    most, cells = (_MOST_ROWS, _BATCH_CELLS) if free > _PLENTY else (_MOST_ROWS // 4, _BATCH_CELLS // 4)
    rows = max(_FEWEST_ROWS, min(most, cells // len(layout.names)))
    with duckdb.connect(config=settings) as connection:
        # It would draw a bar of its own on standard output.
        connection.execute("SET enable_progress_bar = false")
        batches = connection.sql(f"SELECT * FROM {read_csv}").to_arrow_reader(rows)
        _write_batches(batches, batches.schema, parsed)


def _write_batches(batches: Iterable[pa.RecordBatch], schema: pa.Schema, parsed: Path) -> None:
    """Write rows in Arrow's own format: DuckDB writes Parquet at half the speed, and a column read from here is not copied."""
    done = 0
    with pa.OSFile(str(parsed), "wb") as file, pa.ipc.new_file(file, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            done += batch.num_rows
            progress.tell("Parsing rows", done)


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
        # Values that hold a sign of the line's end are quoted.
        write: Callable[[list[str]], Any] = csv.writer(file, lineterminator="\r\n").writerow
        for line, fields in layout.rows():
            if len(fields) != n:
                head = "the header" if layout.has_header else "the first row"
                raise DataError(f"line {line} has {len(fields)} field{'s' * (len(fields) != 1)}, {head} {n}.")
            write(fields)
    return plain
