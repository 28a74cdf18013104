"""Reader of files of separated values: parsed once, as text, into an Arrow file, then converted column by column.

DuckDB parses the file; Arrow parses files of very many columns. A file that neither reads correctly is first rewritten in UTF-8
with commas by Python's csv module, which also finds rows with a wrong number of fields.
"""

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

from tamiz.arrays import Indices
from tamiz.exceptions import DataError
from tamiz.runtime import parallel, progress
from tamiz.runtime.memory import format_bytes, free_memory, resident_memory
from tamiz.table.base import Table
from tamiz.table.column_storage import ColumnStore, temporary_store
from tamiz.table.csv_columns import TextTable, read_missing_only, read_text_column, read_text_column_as
from tamiz.table.csv_layout import Layout, find_layout
from tamiz.table.encoded_table import OpenOptions, build_table, is_every_row
from tamiz.table.raw_column import RawColumn
from tamiz.table.schema import Kind
from tamiz.table.text_values import as_integers_or_codes

# A limit as high as this makes DuckDB slow, so it is set only after reading with the default limit has failed.
_MAX_LINE_BYTES = 2**28
# DuckDB reads a file of a few hundred columns with this much memory.
_MIN_PARSER_MEMORY = 2**27
# DuckDB's memory per column of a file with thousands of columns, and the beginning of its error if it has less.
_BYTES_PER_COLUMN = 2e5
_OUT_OF_MEMORY = "Out of Memory"
# A file of more columns is read by Arrow, which needs little time and memory per column, in pieces of so many bytes or rows.
_MANY_COLUMNS, _WIDE_BLOCK, _WIDE_ROWS = 1000, 2**24, 8
_QUOTE_SCAN_BYTES = 2**22
# Memory per row for converting and encoding a column.
_BYTES_PER_ROW = 28
# With less free memory than this, buffers are small, which is slower.
_AMPLE_MEMORY = 4e8
_SMALL_BUFFER = 2**23
# Numbers of rows and cells of a batch of the Arrow file.
_MIN_BATCH_ROWS, _MAX_BATCH_ROWS, _MAX_BATCH_CELLS = 2048, 2**16, 2**21


def open_csv(path: Path, options: OpenOptions) -> Table:
    """Open a file of values separated by commas, semicolons, tabs, bars or blanks, with or without a header.

    A header of numbers is recognised by the values below it, by the name of a column with a role, or set by `OpenOptions.header`.

    A field is missing if it is empty or one of `text_values.MISSING_WORDS`. A column consists of numbers, booleans or dates if all
    of its present values do; in a file with semicolons, numbers may have a decimal comma. Digits of one width with leading zeros
    remain text. The parsed file is stored in a temporary folder, which is deleted with the table.
    """
    layout = find_layout(path, options.known_columns, options.header)
    with temporary_store() as store:
        table = _open_layout(layout, options, store)
        store.delete_with(table)
    if layout.note is not None:
        table.schema = replace(table.schema, notes=(*table.schema.notes, layout.note))
    return table


def _open_layout(layout: Layout, options: OpenOptions, store: ColumnStore) -> Table:
    table = _parse_file(layout, store)
    n_rows = table.n_rows
    if n_rows == 0 and options.reader is None:
        raise DataError(f"{layout.path} has a header and no rows.")
    positions = {name: j for j, name in enumerate(layout.names)}
    undeclared = _undeclared_columns(layout.names, options)
    excluded = _declared_exclusions(options)
    declared = {
        name: kind for name, kind in _declared_kinds(layout.names, options).items() if kind in ("numeric", "date")
    }
    store.choose_location(8 * n_rows * len(layout.names))

    def describe_row(at: int) -> str:
        return f"line {next(islice(layout.rows(), at, None))[0]}"

    comma = layout.delimiter == ";"
    # If commas separate the fields, a comma within a value separates thousands.
    comma_first = {";": True, ",": False}.get(layout.delimiter)

    def read(name: str) -> RawColumn:
        text = table.column(positions[name])
        kind = declared.get(name) if options.reader is None else options.reader.kind_of(name)
        if kind is not None:
            return read_text_column_as(name, text, kind, decimal_comma=comma, comma_first=comma_first)
        return read_text_column(
            name, text, describe_row, decimal_comma=comma, comma_first=comma_first, infer=name in undeclared
        )

    def load(name: str) -> RawColumn:
        return read_missing_only(name, table.column(positions[name])) if name in excluded else read(name)

    def frame_values(name: str) -> Any:
        values = read(name).values
        whole = as_integers_or_codes(table.column(positions[name]).values()) if isinstance(values, np.ndarray) else None
        return _to_arrow(values) if whole is None else whole

    def make_frame(names: Sequence[str], rows: Indices) -> Any:
        frame = pa.table({name: frame_values(name) for name in names})
        return frame if is_every_row(rows, n_rows) else frame.take(pa.array(rows))

    return build_table(
        list(layout.names),
        load,
        options,
        make_frame,
        describe_row=describe_row,
        store_column=store.store,
        column_memory=_BYTES_PER_ROW * n_rows,
    )


def _undeclared_columns(names: Sequence[str], options: OpenOptions) -> set[str]:
    """Return the columns whose kind the user did not declare; groups are excluded, since their kind does not matter."""
    if options.reader is not None:
        return set()
    if options.kinds is None:
        undeclared = set(names)
    else:
        undeclared = {options.target} if isinstance(options.kinds, str) else set(names) - set(options.kinds)  # type: ignore[arg-type]
    return undeclared - {options.groups}


def _declared_kinds(names: Sequence[str], options: OpenOptions) -> Mapping[str, Kind]:
    if isinstance(options.kinds, str):
        return dict.fromkeys((name for name in names if name != options.target), options.kinds)
    return options.kinds or {}


def _declared_exclusions(options: OpenOptions) -> set[str]:
    """Return the features that the user declared as text or id, which are excluded."""
    kinds = options.kinds if isinstance(options.kinds, Mapping) else {}
    return {name for name, kind in kinds.items() if kind in ("text", "id") and name not in options.role_by_column}


def _to_arrow(values: Any) -> pa.Array:
    if isinstance(values, np.ndarray):
        return pa.array(values, from_pandas=True)
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


def _parse_file(layout: Layout, store: ColumnStore) -> TextTable:
    parsed = store.folder / "table.arrow"
    store.check_disk_space(layout.disk_bytes, f"Parsing {layout.path}")
    is_wide = len(layout.names) > _MANY_COLUMNS
    failed: Exception | None = None

    def read(file_layout: Layout, options: str) -> TextTable:
        if is_wide:
            return _parse_wide(file_layout, parsed)
        return _parse_with_duckdb(_read_csv_call(file_layout, options), layout, parsed)

    if layout.is_plain and not (is_wide and _has_quotes(layout)):
        try:
            buffer = "" if free_memory() > _AMPLE_MEMORY else f", buffer_size={_SMALL_BUFFER}"
            table = read(layout, buffer)
            if table.n_rows:
                return table
        except (duckdb.Error, pa.ArrowInvalid, OSError) as error:
            failed = _reading_error(error)
    # Either the file has a layout that DuckDB and Arrow do not read, or a row has a wrong number of fields: then rewriting raises.
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
    """Return an error of DuckDB, which Arrow raises again as an OSError; raise an OSError of the system, such as a full disk."""
    if isinstance(error, OSError) and error.errno is not None:
        raise error
    return error


def _has_quotes(layout: Layout) -> bool:
    """Whether the file contains a quote: Arrow silently accepts a quote that is not closed."""
    quote = layout.quote.encode()
    with layout.path.open("rb") as file:
        return any(quote in piece for piece in iter(lambda: file.read(_QUOTE_SCAN_BYTES), b""))


def _parse_wide(layout: Layout, arrow_path: Path) -> TextTable:
    """Parse a file of very many columns with Arrow; DuckDB needs 0.2 ms and 200 kB per column."""
    names = [f"c{j}" for j in range(len(layout.names))]
    block = min(max(_WIDE_BLOCK, int(_WIDE_ROWS * layout.row_bytes)), 2**31 - 1)
    schema = pa.schema([(name, pa.string()) for name in names])
    if not layout.path.stat().st_size:
        # Arrow raises an error for an empty file, but new rows for a model may be none.
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
    """Return DuckDB's SQL function call that splits a file into fields of text.

    DuckDB does nothing else here: its sums differ from run to run, and it infers types from the first rows only.
    """
    columns = ", ".join(f"'c{j}': 'VARCHAR'" for j in range(len(layout.names)))
    return (
        f"read_csv({_sql_string(_escape_glob(layout.path.absolute()))}, auto_detect=false, "
        f"delim={_sql_string(layout.delimiter)}, "
        f"quote={_sql_string(layout.quote)}, escape={_sql_string(layout.quote)}, header={layout.has_header}, "
        f"columns={{{columns}}}, null_padding=false, strict_mode=true, compression='none', "
        f"hive_partitioning=false{options})"
    )


def _parse_with_duckdb(read_csv: str, layout: Layout, arrow_path: Path) -> TextTable:
    """Parse with all threads, and with one thread if the memory does not suffice for several."""
    free = free_memory()
    for threads in sorted({1, parallel.n_threads()}, reverse=True):
        try:
            _write_arrow(read_csv, layout, arrow_path, threads, free)
        except (duckdb.Error, OSError) as error:
            if _OUT_OF_MEMORY not in str(error):
                raise
        else:
            return TextTable(arrow_path)
    needed = format_bytes(resident_memory() + _BYTES_PER_COLUMN * len(layout.names))
    raise MemoryError(
        f"The {format_bytes(free)} of free memory do not suffice to parse the {len(layout.names):,} columns of {layout.path}. "
        f"Set the memory limit to at least {needed}."
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
    max_rows, max_cells = (
        (_MAX_BATCH_ROWS, _MAX_BATCH_CELLS) if free > _AMPLE_MEMORY else (_MAX_BATCH_ROWS // 4, _MAX_BATCH_CELLS // 4)
    )
    rows = max(_MIN_BATCH_ROWS, min(max_rows, max_cells // len(layout.names)))
    with duckdb.connect(config=settings) as connection:
        # DuckDB's progress bar would be printed on standard output.
        connection.execute("SET enable_progress_bar = false")
        batches = connection.sql(f"SELECT * FROM {read_csv}").to_arrow_reader(rows)
        _write_batches(batches, batches.schema, arrow_path)


def _write_batches(batches: Iterable[pa.RecordBatch], schema: pa.Schema, arrow_path: Path) -> None:
    """Write rows to an Arrow IPC file: DuckDB writes Parquet half as fast, and reading a column of an Arrow file copies nothing."""
    done = 0
    with pa.OSFile(str(arrow_path), "wb") as file, pa.ipc.new_file(file, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            done += batch.num_rows
            progress.report_progress("Parsing rows", done)


def _sql_string(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _escape_glob(path: Path) -> str:
    """Return a path in which the wildcards of file names are escaped."""
    return "".join(f"[{character}]" if character in "*?[" else character for character in str(path))


def _rewrite_as_plain(layout: Layout, folder: Path) -> Path:
    """Rewrite the table in UTF-8 with commas; raise a DataError for a row with a wrong number of fields."""
    plain = folder / "plain.csv"
    n = len(layout.names)
    with plain.open("w", encoding="utf-8", newline="") as file:
        # With this terminator the writer quotes values that contain \r or \n.
        write: Callable[[list[str]], Any] = csv.writer(file, lineterminator="\r\n").writerow
        for line, fields in layout.rows():
            if len(fields) != n:
                first = "the header" if layout.has_header else "the first row"
                raise DataError(f"line {line} has {len(fields)} field{'s' * (len(fields) != 1)}, but {first} has {n}.")
            write(fields)
    return plain
