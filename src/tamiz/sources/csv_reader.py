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

from tamiz.exceptions import DataError
from tamiz.runtime import parallel, progress
from tamiz.runtime.memory import format_bytes, free_memory, resident_memory
from tamiz.sources.base import Source
from tamiz.sources.column_storage import ColumnStore, temporary_store
from tamiz.sources.csv_columns import TextTable, read_missing_only, read_text_column, read_text_column_as
from tamiz.sources.csv_layout import Layout, find_layout
from tamiz.sources.raw_column import RawColumn
from tamiz.sources.schema import Kind
from tamiz.sources.table import OpenOptions, build_table, is_every_row
from tamiz.sources.text_values import as_integers_or_codes

# Room for lines as long as these makes DuckDB slow, so it is asked for only where reading fails without.
_MAX_LINE_BYTES = 2**28
# What DuckDB reads a file of a few hundred columns in.
_MIN_PARSER_MEMORY = 2**27
# What it takes a column where there are thousands, and how it says that it had less.
_BYTES_PER_COLUMN = 2e5
_OUT_OF_MEMORY = "Out of Memory"
# A file of more columns is read by Arrow, which takes little time and memory a column, in pieces of so many bytes or rows.
_MANY_COLUMNS, _WIDE_BLOCK, _WIDE_ROWS = 1000, 2**24, 8
_QUOTE_SCAN_BYTES = 2**22
# Memory a row that typing and encoding a column takes.
_BYTES_PER_ROW = 28
# With less free memory, pieces are smaller than they are fast.
_AMPLE_MEMORY = 4e8
_SMALL_BUFFER = 2**23
# Rows of one piece of the file beneath.
_MIN_BATCH_ROWS, _MAX_BATCH_ROWS, _MAX_BATCH_CELLS = 2048, 2**16, 2**21


def open_csv(path: Path, options: OpenOptions) -> Source:
    """Open a file of separated values: commas, semicolons, tabs, bars or blanks, with or without a header.

    A header of numbers is found by the values beneath, by a role's column that it names, or by `OpenOptions.header`.

    Fields are missing when they are empty or one of the words of `text_values.MISSING`. A column is numbers,
    booleans or dates where every present value is; with semicolons, numbers may have a decimal comma. Digits of
    one width with zeros in front stay text. What is parsed lies in a temporary folder that goes with the source.
    """
    layout = find_layout(path, options.known_columns, options.header)
    with temporary_store() as room:
        source = _open_layout(layout, options, room)
        room.delete_with(source)
    if layout.note is not None:
        source.schema = replace(source.schema, notes=(*source.schema.notes, layout.note))
    return source


def _open_layout(layout: Layout, options: OpenOptions, store: ColumnStore) -> Source:
    table = _parse_file(layout, store)
    n_rows = table.n_rows
    if n_rows == 0 and options.reader is None:
        raise DataError(f"{layout.path} has a header and no rows.")
    place = {name: j for j, name in enumerate(layout.names)}
    guessed = _undeclared_columns(layout.names, options)
    left_out = _declared_exclusions(options)
    said = {name: kind for name, kind in _declared_kinds(layout.names, options).items() if kind in ("numeric", "date")}
    store.choose_location(8 * n_rows * len(layout.names))

    def word_row(at: int) -> str:
        return f"line {next(islice(layout.rows(), at, None))[0]}"

    comma = layout.delimiter == ";"
    # Where commas part the fields, one within a value parts thousands.
    comma_first = {";": True, ",": False}.get(layout.delimiter)

    def read(name: str) -> RawColumn:
        text = table.column(place[name])
        kind = said.get(name) if options.reader is None else options.reader.kind_of(name)
        if kind is not None:
            return read_text_column_as(name, text, kind, decimal_comma=comma, comma_first=comma_first)
        return read_text_column(
            name, text, word_row, decimal_comma=comma, comma_first=comma_first, infer=name in guessed
        )

    def load(name: str) -> RawColumn:
        return read_missing_only(name, table.column(place[name])) if name in left_out else read(name)

    def carried(name: str) -> Any:
        values = read(name).values
        whole = as_integers_or_codes(table.column(place[name]).values()) if isinstance(values, np.ndarray) else None
        return _to_arrow(values) if whole is None else whole

    def frame_of(names: Sequence[str], rows: NDArray[np.intp]) -> Any:
        frame = pa.table({name: carried(name) for name in names})
        return frame if is_every_row(rows, n_rows) else frame.take(pa.array(rows))

    return build_table(
        list(layout.names),
        load,
        options,
        frame_of,
        describe_row=word_row,
        store_column=store.store,
        column_memory=_BYTES_PER_ROW * n_rows,
    )


def _undeclared_columns(names: Sequence[str], options: OpenOptions) -> set[str]:
    """Return the columns of which the user did not say what they are; a group may be anything."""
    if options.reader is not None:
        return set()
    if options.kinds is None:
        guessed = set(names)
    else:
        guessed = {options.target} if isinstance(options.kinds, str) else set(names) - set(options.kinds)  # type: ignore[arg-type]
    return guessed - {options.groups}


def _declared_kinds(names: Sequence[str], options: OpenOptions) -> Mapping[str, Kind]:
    """Return the kinds that the user said."""
    if isinstance(options.kinds, str):
        return dict.fromkeys((name for name in names if name != options.target), options.kinds)
    return options.kinds or {}


def _declared_exclusions(options: OpenOptions) -> set[str]:
    """Return the features that the user said take no part."""
    given = options.kinds if isinstance(options.kinds, Mapping) else {}
    return {name for name, kind in given.items() if kind in ("text", "id") and name not in options.role_by_column}


def _to_arrow(values: Any) -> pa.Array:
    if isinstance(values, np.ndarray):
        return pa.array(values, from_pandas=True)
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


def _parse_file(layout: Layout, store: ColumnStore) -> TextTable:
    """Parse the file into a columnar one."""
    parsed = store.folder / "table.arrow"
    store.check_disk_space(layout.disk_bytes, f"What {layout.path} is parsed into")
    is_wide = len(layout.names) > _MANY_COLUMNS
    failed: Exception | None = None

    def read(given: Layout, options: str) -> TextTable:
        return (
            _parse_wide(given, parsed)
            if is_wide
            else _parse_with_duckdb(_read_csv_call(given, options), layout, parsed)
        )

    if layout.is_plain and not (is_wide and _has_quotes(layout)):
        try:
            pieces = "" if free_memory() > _AMPLE_MEMORY else f", buffer_size={_SMALL_BUFFER}"
            table = read(layout, pieces)
            if table.n_rows:
                return table
        except (duckdb.Error, pa.ArrowInvalid, OSError) as error:
            failed = _reading_error(error)
    # Either the file is not as it is read here, or a row is not like the others: then this says which.
    plain = _rewrite_as_plain(layout, store.folder)
    commas = replace(layout, path=plain, delimiter=",", quote='"', has_header=False)
    try:
        return read(commas, f", max_line_size={_MAX_LINE_BYTES}")
    except (duckdb.Error, pa.ArrowInvalid, OSError) as error:
        reason = str(failed or _reading_error(error)).splitlines()[0]
        raise DataError(f"{layout.path} cannot be read as separated values: {reason}") from error
    finally:
        plain.unlink()


def _reading_error(error: Exception) -> Exception:
    """Return an error of DuckDB's, which Arrow hands on as an OSError; one of the system's, a full disk, is raised."""
    if isinstance(error, OSError) and error.errno is not None:
        raise error
    return error


def _has_quotes(layout: Layout) -> bool:
    """Whether a quote stands anywhere: Arrow takes one that is not closed without a word."""
    quote = layout.quote.encode()
    with layout.path.open("rb") as file:
        return any(quote in piece for piece in iter(lambda: file.read(_QUOTE_SCAN_BYTES), b""))


def _parse_wide(layout: Layout, arrow_path: Path) -> TextTable:
    """Parse a file of very many columns, of which each costs DuckDB a fifth of a millisecond and 200 kB."""
    names = [f"c{j}" for j in range(len(layout.names))]
    block = min(max(_WIDE_BLOCK, int(_WIDE_ROWS * layout.row_bytes)), 2**31 - 1)
    schema = pa.schema([(name, pa.string()) for name in names])
    if not layout.path.stat().st_size:
        # Of an empty file Arrow makes an error, and a table that is placed by a model may be one.
        _write_batches([], schema, arrow_path)
        return TextTable(arrow_path)
    with arrow_csv.open_csv(
        layout.path,
        arrow_csv.ReadOptions(block_size=block, column_names=names, skip_rows=int(layout.has_header)),
        arrow_csv.ParseOptions(delimiter=layout.delimiter, quote_char=layout.quote, newlines_in_values=True),
        arrow_csv.ConvertOptions(column_types=schema, strings_can_be_null=False),
    ) as batches:
        _write_batches(batches, schema, arrow_path)
    return TextTable(arrow_path)


def _read_csv_call(layout: Layout, options: str) -> str:
    """Return the words by which DuckDB cuts a file into fields of text.

    It does no more than that: its sums differ from run to run, and its guesses look at the first rows alone.
    """
    columns = ", ".join(f"'c{j}': 'VARCHAR'" for j in range(len(layout.names)))
    return (
        f"read_csv({_sql_string(_escape_glob(layout.path.absolute()))}, auto_detect=false, delim={_sql_string(layout.delimiter)}, "
        f"quote={_sql_string(layout.quote)}, escape={_sql_string(layout.quote)}, header={layout.has_header}, "
        f"columns={{{columns}}}, null_padding=false, strict_mode=true, compression='none', "
        f"hive_partitioning=false{options})"
    )


def _parse_with_duckdb(read_csv: str, layout: Layout, arrow_path: Path) -> TextTable:
    """Parse by all threads, or by one where the memory does not hold the work of several."""
    free = free_memory()
    for threads in sorted({1, parallel.n_threads()}, reverse=True):
        try:
            _write_arrow(read_csv, layout, arrow_path, threads, free)
        except (duckdb.Error, OSError) as error:
            if _OUT_OF_MEMORY not in str(error):
                raise
        else:
            return TextTable(arrow_path)
    raise MemoryError(
        f"The {format_bytes(free)} of memory that are free do not hold pieces of {len(layout.names):,} columns while {layout.path} is "
        f"parsed. State at least {format_bytes(resident_memory() + _BYTES_PER_COLUMN * len(layout.names))}."
    )


def _write_arrow(read_csv: str, layout: Layout, arrow_path: Path, threads: int, free: float) -> None:
    settings: dict[str, Any] = {
        "threads": threads,
        "memory_limit": f"{max(_MIN_PARSER_MEMORY, min(int(0.75 * free), 2**50)) // 2**20}MiB",
        "temp_directory": str(arrow_path.parent),
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "preserve_insertion_order": True,
    }
    most, cells = (
        (_MAX_BATCH_ROWS, _MAX_BATCH_CELLS) if free > _AMPLE_MEMORY else (_MAX_BATCH_ROWS // 4, _MAX_BATCH_CELLS // 4)
    )
    rows = max(_MIN_BATCH_ROWS, min(most, cells // len(layout.names)))
    with duckdb.connect(config=settings) as connection:
        # It would draw a bar of its own on standard output.
        connection.execute("SET enable_progress_bar = false")
        batches = connection.sql(f"SELECT * FROM {read_csv}").to_arrow_reader(rows)
        _write_batches(batches, batches.schema, arrow_path)


def _write_batches(batches: Iterable[pa.RecordBatch], schema: pa.Schema, arrow_path: Path) -> None:
    """Write rows in Arrow's own format: DuckDB writes Parquet at half the speed, and a column read from here is not copied."""
    done = 0
    with pa.OSFile(str(arrow_path), "wb") as file, pa.ipc.new_file(file, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            done += batch.num_rows
            progress.report_progress("Parsing rows", done)


def _sql_string(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _escape_glob(path: Path) -> str:
    """Return a path in which signs that stand for several files stand for themselves."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in str(path))


def _rewrite_as_plain(layout: Layout, folder: Path) -> Path:
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
