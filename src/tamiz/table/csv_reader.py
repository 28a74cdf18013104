"""Reader of files of separated values: parsed once, as text, into an Arrow file, then converted column by column.

DuckDB parses the file; Arrow parses files of very many columns. A file that neither reads correctly is first rewritten in UTF-8
with commas by Python's csv module, which also finds rows with a wrong number of fields.
"""

from __future__ import annotations

import csv
import mmap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
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
from tamiz.runtime.user_warnings import list_names
from tamiz.runtime.verdicts import Verdict
from tamiz.table.base import Table, is_every_row
from tamiz.table.build import ColumnSource, OpenOptions, build_table
from tamiz.table.column_storage import ColumnStore, temporary_store
from tamiz.table.csv_layout import Layout, find_layout
from tamiz.table.kinds import LARGEST_EXACT_INTEGER, RawColumn, are_days
from tamiz.table.schema import Kind
from tamiz.table.text_values import (
    as_booleans,
    as_exact_integers,
    as_integers_or_codes,
    clean_words,
    encode_dictionary,
    try_cast,
)
from tamiz.table.written_values import (
    WORDS_FOR_MISSING,
    Ambiguity,
    Reading,
    ambiguity_note,
    missing_word_note,
    mixed_dates_note,
    read_dates,
    read_numbers,
    read_plain_dates,
    reading_note,
    stray_date_note,
    stray_number,
    unwrap_words,
)

# Number of rows of a column that are converted at a time.
_PIECE_ROWS = 2**18


class TextTable:
    """A table of text columns in an Arrow IPC file.

    Parameters
    ----------
    path : Path
    """

    # Words that are missing, beside those that always are.
    na: Sequence[str] = ()

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
        parts = [part for piece in self.pieces() for part in self.clean(piece).chunks]
        return pa.chunked_array(parts, pa.string())

    @property
    def has_na(self) -> bool:
        return bool(self._table.na)

    def clean(self, words: Any) -> Any:
        """Return words without the blanks around them, null where missing."""
        return clean_words(words, self._table.na)

    def pieces(self) -> Iterator[pa.ChunkedArray]:
        """Yield the rows in order, piece by piece."""
        for start in range(0, len(self), _PIECE_ROWS):
            yield self._values.slice(start, _PIECE_ROWS)
            self._table.release_pages()


# If more than this share of the values are numbers or dates, the others are taken to be typing errors.
_MIN_READ_SHARE = 0.9
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
        As in `read_numbers`.
    infer : bool
        Whether the user declared no kind. Formatted numbers and dates are then converted, and a few words in a column of numbers
        raise a DataError.
    """
    may_be_numbers = kind in (None, "numeric", "date")
    for with_comma in (False, True)[: 1 + decimal_comma] if may_be_numbers else ():
        numbers = _parse_numbers(text, decimal_comma=with_comma)
        # Days such as 20200301 are dates.
        if numbers is not None and not (infer and isinstance(numbers, np.ndarray) and are_days(numbers)):
            return RawColumn(name, numbers)
    # The rest needs the distinct values only.
    encoded = encode_dictionary(name, text.pieces())
    words = unwrap_words(text.clean(encoded.dictionary))
    are_codes = kind is None and _are_codes(words)
    may_be_booleans = kind == "boolean" or (kind is None and not are_codes)
    if may_be_booleans and (booleans := as_booleans(words, words.drop_null())) is not None:
        return RawColumn(name, booleans.take(encoded.indices))
    notes: list[Verdict] = []
    if may_be_numbers and not are_codes:
        rows = _WordRows(name, words, encoded.indices, describe_row)
        for read in _readers(kind, infer=infer, comma_first=comma_first):
            found = read(words)
            if isinstance(found, Ambiguity):
                notes.append(ambiguity_note(name, found))
            elif found is not None and (values := rows.check(found, notes, infer=infer)) is not None:
                return RawColumn(name, values.take(encoded.indices), notes=tuple(notes))
    if kind == "numeric" and decimal_comma and not pc.any(pc.match_substring(words, ".")).as_py():
        words = pc.replace_substring(words, ",", ".")
    return RawColumn(name, _dictionary_array(words, encoded.indices), notes=tuple(notes))


def _readers(
    kind: Kind | None, *, infer: bool, comma_first: bool | None
) -> list[Callable[[pa.Array], Reading | Ambiguity | None]]:
    """Return the functions that read words, in the order in which they are tried."""
    if kind is None and not infer:
        return [read_plain_dates]
    numbers = partial(read_numbers, comma_first=comma_first)
    return [read_dates] if kind == "date" else [read_dates, numbers]


class _WordRows:
    """The rows of the distinct words of a column.

    Parameters
    ----------
    name : str
    words, codes : pyarrow.Array
        The distinct words, null where missing, and the position of the word of each row.
    describe_row : callable
        As in `read_text_column`.
    """

    def __init__(self, name: str, words: pa.Array, codes: pa.Array, describe_row: DescribeRow) -> None:
        self._name = name
        self._words = words
        self._codes = np.asarray(codes.fill_null(len(words)))
        self._describe_row = describe_row
        self._n_each = np.bincount(self._codes, minlength=len(words) + 1)[: len(words)]

    def check(self, reading: Reading, notes: list[Verdict], *, infer: bool) -> pa.Array | None:
        """Return the values of a reading, and add to the notes what was read how; None if too few words were read.

        Raise a DataError that names the first word that is no number, if nearly all are numbers.
        """
        read = np.asarray(reading.values.is_valid())
        missing = np.asarray(pc.fill_null(pc.is_in(self._words, WORDS_FOR_MISSING), False))
        unread = np.asarray(self._words.is_valid()) & ~read & ~missing
        n_read, n_unread = int(self._n_each[read].sum()), int(self._n_each[unread].sum())
        if n_unread and not infer:
            return None
        if n_unread:
            is_date = pa.types.is_temporal(reading.values.type)
            at = int(np.flatnonzero(np.append(unread, False)[self._codes])[0])
            word = self._words[int(self._codes[at])].as_py()
            if n_read <= _MIN_READ_SHARE * (n_read + n_unread):
                if is_date and n_read >= n_unread:
                    notes.append(mixed_dates_note(self._name, word, n_unread, n_read + n_unread))
                return None
            line = self._describe_row(at)
            if not is_date:
                if self._may_be_codes(reading, read, n_read):
                    return None
                raise DataError(stray_number(self._name, word, line, n_unread, n_read))
            notes.append(stray_date_note(self._name, word, line, n_unread))
        beside = np.flatnonzero(missing & ~read).tolist()
        notes += [missing_word_note(self._name, self._words[k].as_py(), int(self._n_each[k])) for k in beside]
        if reading.example is not None:
            notes.append(reading_note(self._name, self._words, reading))
        return reading.values

    def _may_be_codes(self, reading: Reading, read: NDArray[np.bool_], n_read: int) -> bool:
        values = reading.values.to_numpy(zero_copy_only=False)[read]
        if (values != np.floor(values)).any():
            return False
        n_distinct = int(np.count_nonzero(read))
        return n_distinct <= _MIN_DISTINCT_NUMBERS and 2 * n_distinct <= n_read


def read_missing_only(name: str, text: TextColumn) -> RawColumn:
    """Read which values of an excluded column are missing, and nothing else."""
    codes = [np.asarray(text.clean(piece).is_valid()).astype(np.int8) - np.int8(1) for piece in text.pieces()]
    return RawColumn(name, np.concatenate(codes), categories=("",))


def _parse_numbers(text: TextColumn, *, decimal_comma: bool) -> Floats | pa.Array | None:
    """Return the values as numbers; None if one is not a number, or if all are codes with leading zeros.

    Integers beyond 2**53, which float64 does not represent exactly, are returned as an Arrow array.
    """
    numbers = np.empty(len(text))
    widths, start, largest = _CodeDetector(), 0, 0.0
    for piece in text.pieces():
        # Most pieces can be cast at once, without a search for blanks and words for missing values.
        typed = None if decimal_comma or text.has_na else try_cast(piece, pa.float64())
        if typed is None:
            piece = text.clean(piece)
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
    return all(pc.all(pc.match_substring_regex(text.clean(piece), "^[0-9]+$")).as_py() for piece in text.pieces())


def _are_codes(words: pa.Array) -> bool:
    """Whether all words are digits of one width, and some begin with 0."""
    detector = _CodeDetector()
    detector.update(words, np.zeros(len(words)))
    return detector.may_be_codes and pc.all(pc.match_substring_regex(words, "^[0-9]+$")).as_py()


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

    A header of numbers is recognised by the values below it, by the name of a column with a role, or set by `FileOptions.header`.

    A field is missing if it is empty or one of `text_values.MISSING_WORDS`. A column consists of numbers, booleans or dates if all
    of its present values do; in a file with semicolons, numbers may have a decimal comma. Digits of one width with leading zeros
    remain text. The parsed file is stored in a temporary folder, which is deleted with the table.
    """
    layout = find_layout(path, options.known_columns, options.file)
    with temporary_store() as store:
        table = _open_layout(layout, options, store)
        store.delete_with(table)
    return table


def _open_layout(layout: Layout, options: OpenOptions, store: ColumnStore) -> Table:
    table, notes = _parse_file(layout, store)
    table.na = options.file.na
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
    opened = build_table(
        ColumnSource(layout.names, n_rows, load, make_frame, describe_row, store.store, memory), options
    )
    opened.schema = replace(opened.schema, notes=(*opened.schema.notes, *layout.notes, *notes))
    return opened


def _undeclared_columns(names: Sequence[str], options: OpenOptions) -> set[str]:
    """Return the columns whose kind the user did not declare, apart from groups and times, which `roles` reads."""
    if options.reader is not None:
        return set()
    if options.kinds is None:
        undeclared = set(names)
    else:
        undeclared = {options.target} if isinstance(options.kinds, str) else set(names) - set(options.kinds)  # type: ignore[arg-type]
    return undeclared - {options.groups, options.time}


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


def _parse_file(layout: Layout, store: ColumnStore) -> tuple[TextTable, list[Verdict]]:
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
                return table, []
        except (duckdb.Error, pa.ArrowInvalid, OSError) as error:
            failed = _reading_error(error)
    # Either the file has a layout that DuckDB and Arrow do not read, or a row has a wrong number of fields: then rewriting raises.
    plain, notes = _rewrite_as_plain(layout, store.folder)
    commas = replace(
        layout, path=plain, separator=",", quote='"', has_header=False, n_above=0, n_below=0, has_row_names=False
    )
    try:
        return read(commas, f", max_line_size={_MAX_LINE_BYTES}"), notes
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


def _rewrite_as_plain(layout: Layout, folder: Path) -> tuple[Path, list[Verdict]]:
    """Rewrite the table in UTF-8 with commas; raise a DataError for rows with a wrong number of fields, or note them."""
    plain = folder / "plain.csv"
    n = len(layout.names)
    bad: list[tuple[int, int]] = []
    with plain.open("w", encoding="utf-8", newline="") as file:
        # With this terminator the writer quotes values that contain \r or \n.
        write: Callable[[list[str]], Any] = csv.writer(file, lineterminator="\r\n").writerow
        for line, fields in layout.all_rows():
            if len(fields) == n:
                write(fields)
            else:
                bad.append((line, len(fields)))
    if not bad:
        return plain, []
    first = "the header" if layout.has_header else "the first row"
    lines = [f"line {line} has {_count_fields(found)}" for line, found in bad]
    listed = list_names(lines, as_text=str)
    if not layout.drops_bad_rows:
        raise DataError(f"{listed}, but {first} has {n}. Correct them, or leave them out with --on-bad-rows drop.")
    are = "was left out: it has" if len(bad) == 1 else "were left out: they have"
    return plain, [
        Verdict(
            "TZ206", f"{len(bad):,} row{'s' * (len(bad) > 1)} of {layout.path.name} {are} not {n} fields, but {listed}."
        )
    ]


def _count_fields(n: int) -> str:
    return f"{n} field{'s' * (n != 1)}"
