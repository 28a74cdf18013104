"""Reader of files of separated values: parsed once, as text, into an Arrow file, then converted column by column.

DuckDB parses the file; Arrow parses files of very many columns. A file that neither reads correctly is first rewritten in UTF-8
with commas by Python's csv module, which also finds rows with a wrong number of fields.
"""

from __future__ import annotations

import csv
import mmap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
from numpy.typing import NDArray

from tamiz.arrays import Floats, Indices
from tamiz.exceptions import DataError
from tamiz.runtime import parallel, progress
from tamiz.runtime.memory import format_bytes, free_memory, resident_memory
from tamiz.table.base import Table, is_every_row
from tamiz.table.build import ColumnSource, OpenOptions, build_table
from tamiz.table.column_storage import ColumnStore, temporary_store
from tamiz.table.csv_layout import Layout, find_layout
from tamiz.table.kinds import LARGEST_EXACT_INTEGER, RawColumn
from tamiz.table.schema import Kind
from tamiz.table.text_values import (
    as_booleans,
    as_dates,
    as_exact_integers,
    as_integers_or_codes,
    as_numbers,
    clean_words,
    encode_dictionary,
    parse_formatted,
    try_cast,
)

# Number of rows of a column that are converted at a time.
_PIECE_ROWS = 2**18


class TextTable:
    """A table of text columns in an Arrow IPC file.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._table = pa.ipc.open_file(pa.py_buffer(self._map)).read_all()
        self.n_rows: int = self._table.num_rows

    def column(self, j: int) -> TextColumn:
        return TextColumn(self, self._table.column(j))

    def release_pages(self) -> None:
        """Release the mapped pages that were read, so that they do not count towards the memory of the process.

        The operating system keeps them in its page cache as long as memory is free.
        """
        if hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED)


class TextColumn:
    """A column of text that is read piece by piece.

    Parameters
    ----------
    table : TextTable
    values : pyarrow.ChunkedArray
    """

    def __init__(self, table: TextTable, values: pa.ChunkedArray) -> None:
        self._table = table
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def values(self) -> pa.ChunkedArray:
        """Return all values, null where missing."""
        parts = [part for piece in self.pieces() for part in clean_words(piece).chunks]
        return pa.chunked_array(parts, pa.string())

    def pieces(self) -> Iterator[pa.ChunkedArray]:
        """Yield the rows in order, piece by piece."""
        for start in range(0, len(self), _PIECE_ROWS):
            yield self._values.slice(start, _PIECE_ROWS)
            self._table.release_pages()


_NUMBER_PATTERN = r"^[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?$|^[-+]?(?i:inf|infinity)$"
# If more than this share of the values are numbers, the others are taken to be typing errors.
_MAX_NUMBER_SHARE = 0.9
# Numbers with at most this many distinct values may be codes, of which a few contain letters.
_MIN_DISTINCT_NUMBERS = 20

DescribeRow = Callable[[int], str]


def read_text_column(
    name: str,
    text: TextColumn,
    describe_row: DescribeRow,
    kind: Kind | None = None,
    *,
    decimal_comma: bool,
    comma_first: bool | None,
    infer: bool = False,
) -> RawColumn:
    """Read a column of text as numbers, booleans, dates or text, whichever fits all of its values, or as a known kind.

    Parameters
    ----------
    name : str
    text : TextColumn
    describe_row : callable
        Turns the position of a row into words of a message, such as "line 12".
    kind : Kind or None
        The known kind. A column of kind "numeric" or "date" that cannot be converted is returned as text: `kinds.to_numbers` then
        raises a DataError that names the row.
    decimal_comma : bool
        Whether a comma may be the decimal separator.
    comma_first : bool or None
        As in `parse_formatted`.
    infer : bool
        Whether the user declared no kind. Formatted numbers and dates are then converted, and a few words in a column of numbers
        raise a DataError.
    """
    may_be_numbers = kind in (None, "numeric", "date")
    for with_comma in (False, True)[: 1 + decimal_comma] if may_be_numbers else ():
        if (numbers := _parse_numbers(text, decimal_comma=with_comma)) is not None:
            return RawColumn(name, numbers)
    # The rest needs the distinct values only.
    encoded = encode_dictionary(name, text.pieces())
    words = clean_words(encoded.dictionary)
    # Numbers here were refused by `_parse_numbers` as codes: digits of one width, some with a leading zero.
    are_codes = kind is None and as_numbers(words, decimal_comma=decimal_comma) is not None
    typed = None
    if kind == "boolean" or (kind is None and not are_codes):
        typed = as_booleans(words, words.drop_null())
    if typed is None and may_be_numbers and not are_codes:
        # The number of a date is its seconds since 1970.
        typed = as_dates(words)
        if typed is None and (kind is not None or infer):
            typed = parse_formatted(words, comma_first=comma_first)
    if typed is not None:
        return RawColumn(name, typed.take(encoded.indices))
    if infer and not are_codes:
        _check_stray_text(name, words, encoded.indices, describe_row, decimal_comma=decimal_comma)
    if kind == "numeric" and decimal_comma and not pc.any(pc.match_substring(words, ".")).as_py():
        words = pc.replace_substring(words, ",", ".")
    return RawColumn(name, _dictionary_array(words, encoded.indices))


def read_missing_only(name: str, text: TextColumn) -> RawColumn:
    """Read which values of an excluded column are missing, and nothing else."""
    codes = [np.asarray(clean_words(piece).is_valid()).astype(np.int8) - np.int8(1) for piece in text.pieces()]
    return RawColumn(name, np.concatenate(codes), categories=("",))


def _parse_numbers(text: TextColumn, *, decimal_comma: bool) -> Floats | pa.Array | None:
    """Return the values as numbers; None if one is not a number, or if all are codes with leading zeros.

    Integers beyond 2**53, which float64 does not represent exactly, are returned as an Arrow array.
    """
    numbers = np.empty(len(text))
    widths, start, largest = _CodeDetector(), 0, 0.0
    for piece in text.pieces():
        # Most pieces can be cast at once, without a search for blanks and words for missing values.
        typed = None if decimal_comma else try_cast(piece, pa.float64())
        if typed is None:
            piece = clean_words(piece)
            if decimal_comma:
                if pc.any(pc.match_substring(piece, ".")).as_py():
                    return None
                piece = pc.replace_substring(piece, ",", ".")
            typed = try_cast(piece, pa.float64())
            if typed is None:
                return None
        found = typed.to_numpy(zero_copy_only=False)
        widths.update(piece, found)
        # `fmax` ignores NaN.
        largest = max(largest, float(np.fmax.reduce(np.abs(found), initial=0.0)))
        numbers[start : start + len(piece)] = found
        start += len(piece)
    if widths.may_be_codes and _all_digits(text):
        return None
    exact = as_exact_integers(text.values()) if largest >= LARGEST_EXACT_INTEGER else None
    return numbers if exact is None else exact.combine_chunks()


class _CodeDetector:
    """Detects values that may be codes, such as postal codes: all of one width, some with a leading zero."""

    def __init__(self) -> None:
        self._width: int | None = None
        self._same_width = True
        self._leading_zero = False

    def update(self, text: Any, numbers: Floats) -> None:
        """Add values, as words and as numbers."""
        if not self._same_width:
            return
        # Codes are whole numbers; this test takes a fifth of the time of the next, which matters for 100,000 columns.
        if ((np.rint(numbers) != numbers) & ~np.isnan(numbers)).any():
            self._same_width = False
            return
        text = clean_words(text)
        widths = pc.min_max(pc.binary_length(text))
        least = widths["min"].as_py()
        if least is None:
            return
        self._same_width = least == widths["max"].as_py() and least >= 2 and self._width in (None, least)
        self._width = least
        self._leading_zero = self._leading_zero or bool(pc.any(pc.starts_with(text, "0")).as_py())

    @property
    def may_be_codes(self) -> bool:
        """Whether the values have one width and a leading zero; that they are digits is not checked here."""
        return self._same_width and self._leading_zero


def _all_digits(text: TextColumn) -> bool:
    return all(pc.all(pc.match_substring_regex(clean_words(piece), "^[0-9]+$")).as_py() for piece in text.pieces())


def _check_stray_text(
    name: str, words: pa.Array, codes: pa.Array, describe_row: DescribeRow, *, decimal_comma: bool
) -> None:
    """Raise a DataError if nearly all values of a column are numbers and a few are not."""
    dotted = pc.replace_substring(words, ",", ".") if decimal_comma else words
    is_number = pc.match_substring_regex(dotted, _NUMBER_PATTERN)
    n_each = np.bincount(_fill_codes(codes, len(words)), minlength=len(words) + 1)[: len(words)]
    good = np.asarray(is_number.fill_null(False))
    bad = np.asarray(pc.invert(is_number).fill_null(False))
    n_good, n_bad = int(n_each[good].sum()), int(n_each[bad].sum())
    n_distinct = int(np.count_nonzero(good))
    if n_good <= _MAX_NUMBER_SHARE * (n_good + n_bad) or (
        n_distinct <= _MIN_DISTINCT_NUMBERS and 2 * n_distinct <= n_good
    ):
        return
    at = int(np.flatnonzero(np.append(bad, False)[_fill_codes(codes, len(words))])[0])
    value = words[codes[at].as_py()].as_py()
    counts = (
        f", but the other {n_good:,} values are. Correct the line"
        if n_bad == 1
        else f"; {n_bad:,} values are not numbers and {n_good:,} are. Correct the lines"
    )
    raise DataError(
        f"{describe_row(at)}, column {name}: {value!r} is not a number{counts}, or declare the column categorical with kinds."
    )


def _fill_codes(codes: pa.Array, fill_value: int) -> NDArray[np.int32]:
    return np.asarray(codes.fill_null(fill_value))


def _dictionary_array(words: pa.Array, codes: pa.Array) -> pa.Array:
    """Return a dictionary array of the words that are not null; codes of null words become null."""
    valid = np.asarray(words.is_valid())
    new_codes = pa.array(np.cumsum(valid, dtype=np.int32) - 1, mask=~valid)
    return pa.DictionaryArray.from_arrays(new_codes.take(codes), words.drop_null())


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
        infer = kind is None and name in undeclared
        return read_text_column(
            name, text, describe_row, kind, decimal_comma=comma, comma_first=comma_first, infer=infer
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

    memory = _BYTES_PER_ROW * n_rows
    return build_table(ColumnSource(layout.names, n_rows, load, make_frame, describe_row, store.store, memory), options)


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
