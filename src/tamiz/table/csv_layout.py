"""Layout of a file of separated values: encoding, delimiter, quote character and header.

The encoding is found by one pass over the whole file, everything else by its first rows.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import BinaryIO

from tamiz.exceptions import DataError
from tamiz.runtime.user_warnings import quote_name
from tamiz.runtime.verdicts import Verdict
from tamiz.table.text_values import MISSING_WORDS, looks_typed

_PIECE_BYTES = 2**22
_BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
# Bytes that are undefined in Windows' code page 1252; a file with one of them is Latin-1.
_NOT_CP1252 = frozenset(b"\x81\x8d\x8f\x90\x9d")


def find_encoding(path: Path) -> str:
    """Return Python's name of a file's encoding.

    A byte order mark decides. Without one the encoding is UTF-8 if the whole file is valid UTF-8, otherwise Windows-1252 or
    Latin-1.
    """
    try:
        with path.open("rb") as file:
            return _encoding_of(path, file)
    except PermissionError:
        raise PermissionError(f"{path} cannot be read: permission denied.") from None


def _encoding_of(path: Path, file: BinaryIO) -> str:
    piece = file.read(_PIECE_BYTES)
    if not piece.strip():
        raise DataError(f"{path} is empty.")
    for mark, name in _BYTE_ORDER_MARKS:
        if piece.startswith(mark):
            return name
    decoder = codecs.getincrementaldecoder("utf-8")()
    is_utf8 = True
    latin1 = False
    while piece:
        if b"\0" in piece:
            raise DataError(
                f"{path} is not a text file: it contains NUL bytes. Use a CSV, TSV, ARFF, Parquet or Arrow file."
            )
        if is_utf8:
            try:
                # A character that is cut off at the end of the file is not valid UTF-8 either.
                decoder.decode(piece, final=len(piece) < _PIECE_BYTES)
            except UnicodeDecodeError:
                is_utf8 = False
        latin1 = latin1 or (not piece.isascii() and not _NOT_CP1252.isdisjoint(piece))
        piece = file.read(_PIECE_BYTES)
    if is_utf8:
        return "utf-8"
    return "latin-1" if latin1 else "cp1252"


# In order of preference among delimiters that split the rows equally evenly. Blanks are tried last and separately, because they
# also occur within values.
_DELIMITERS = "\t;|,"
_SAMPLE_CHARACTERS = 2**20
# For most other encodings DuckDB would download an extension.
_UTF8 = ("utf-8", "utf-8-sig")
_SAMPLE_RECORDS = 1000
# Integers that may be column names, numbers with a fraction, and the range of years.
_INTEGER = re.compile(r"0|[1-9][0-9]{0,17}", re.ASCII)
_FRACTION = re.compile(r"[.,eE]")
_YEARS = (1800, 2101)
_FEW_VALUES = 3
# Names of columns without a header.
_DEFAULT_NAME = re.compile(r"x(0|[1-9][0-9]*)")


@dataclass(frozen=True)
class Layout:
    """The layout of a file of separated values.

    Attributes
    ----------
    path : Path
    encoding, delimiter, quote : str
    has_header : bool
    names : tuple of str
        The columns' names: those of the header, or x0, x1, ... if the file has none.
    is_plain : bool
        Whether DuckDB can read the file directly: it is in UTF-8, the header is in the first line, and one character separates
        fields.
    row_bytes : float
        The mean length of the first rows.
    note : Verdict or None
        If the first row is numbers: whether it was assumed to be a header, and the option that changes this.
    """

    path: Path
    encoding: str
    delimiter: str
    quote: str
    has_header: bool
    names: tuple[str, ...]
    is_plain: bool
    row_bytes: float
    note: Verdict | None = None

    @property
    def estimated_rows(self) -> int:
        """The number of rows, estimated from the size of the file and the mean length of its first rows."""
        return round(self.path.stat().st_size / self.row_bytes)

    @property
    def disk_bytes(self) -> int:
        """The estimated size of the parsed file and its columns: the text, and per field an offset (4 bytes) and a number (8)."""
        text = self.path.stat().st_size * (1 if self.is_plain else 2)
        return text + 12 * self.estimated_rows * len(self.names)

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the rows below the header, each with the number of the line in which it begins."""
        with self.path.open(encoding=self.encoding, newline="") as file:
            reader = csv.reader(
                file, delimiter=self.delimiter, quotechar=self.quote, skipinitialspace=True, strict=True
            )
            line = 1
            header = self.has_header
            try:
                for fields in reader:
                    if _is_row(fields, 2 if header else len(self.names)):
                        if not header:
                            yield line, self._drop_empty_end(fields)
                        header = False
                    line = reader.line_num + 1
            except csv.Error as error:
                raise DataError(_quote_error(line, str(error), self.quote)) from None

    def _drop_empty_end(self, fields: list[str]) -> list[str]:
        """Return the fields of a row without surplus empty fields at its end, as DuckDB does."""
        fields = _drop_trailing_blank(fields, self.delimiter)
        return (fields if any(fields[len(self.names) :]) else fields[: len(self.names)]) or [""]


def _is_row(fields: Sequence[str], n_columns: int) -> bool:
    """Whether a record is a row and not a blank line; in a table of one column a blank line is a missing value."""
    return n_columns == 1 or len(fields) > 1 or bool(fields and fields[0].strip())


def _drop_trailing_blank(fields: list[str], delimiter: str) -> list[str]:
    # Blanks at the end of a line are not a value.
    return fields[:-1] if delimiter == " " and fields and not fields[-1] else fields


def _quote_error(line: int, error: str, quote: str) -> str:
    problem = "text follows a closing quote" if "expected after" in error else "a quote is not closed"
    return f"line {line}: {problem}; write a quote within a value twice ({2 * quote})."


def find_layout(path: Path, known_columns: Collection[str] = (), header: bool | None = None) -> Layout:
    """Find the layout of a file of separated values.

    Parameters
    ----------
    path : Path
    known_columns : collection of str
        Names of columns that the file contains. They decide about the delimiter and the header.
    header : bool or None
        Whether the first row contains the column names; None infers it.
    """
    encoding = find_encoding(path)
    with path.open(encoding=encoding, newline="") as file:
        sample = file.read(_SAMPLE_CHARACTERS)
        whole = not file.read(1)
    if not sample.strip():
        raise DataError(f"{path} is empty.")
    # Not `splitlines`, which also splits at characters that do not end a line of a file, such as U+2028.
    lines = list(io.StringIO(sample, newline=""))
    if not whole and len(lines) > 1:
        lines.pop()
    quote = _find_quote(sample)
    delimiter = _find_delimiter(lines, quote)
    if known_columns:
        delimiter = _delimiter_by_names(lines, quote, set(known_columns), delimiter)
    records = _read_records(lines, delimiter, quote)
    first, beneath = records[0], records[1:]
    has_header, is_assumed = _is_known_header(first, set(known_columns)) if header is None else header, False
    if has_header is None:
        has_header, is_assumed = _guess_header(first, beneath, decimal_comma=delimiter == ";")
    names = _header_names(first) if has_header else [f"x{j}" for j in range(len(first))]
    if has_header:
        _check_unique(names)
    is_plain = (
        encoding in _UTF8 and delimiter != " " and len(names) > 1 and _is_duckdb_readable(lines, delimiter, quote)
    )
    row_bytes = len("".join(lines).encode(encoding)) / len(lines)
    note = _header_note(path, first, has_header=has_header) if is_assumed else None
    return Layout(path, encoding, delimiter, quote, has_header, tuple(names), is_plain, row_bytes, note)


def _is_duckdb_readable(lines: Sequence[str], delimiter: str, quote: str) -> bool:
    """Whether DuckDB reads the first line correctly: it silently skips a header with a stray quote, and rows after it."""
    if lines[0].isspace() or any(f"{delimiter}  " in line and quote in line for line in lines):
        return False
    try:
        next(csv.reader(lines, delimiter=delimiter, quotechar=quote, skipinitialspace=True, strict=True))
    except csv.Error:
        return False
    return True


def _read_records(lines: Sequence[str], delimiter: str, quote: str) -> list[list[str]]:
    reader = csv.reader(lines, delimiter=delimiter, quotechar=quote, skipinitialspace=True)
    records: list[list[str]] = []
    try:
        # Not a comprehension: if a field exceeds the limit of the csv module, the rows before it are kept.
        for fields in islice(reader, _SAMPLE_RECORDS):
            records += [_drop_trailing_blank(fields, delimiter)] if _is_row(fields, 2) else []
    except csv.Error:
        pass
    return records or [[""]]


def _find_quote(sample: str) -> str:
    if '"' in sample:
        return '"'
    quoted = re.findall(r"(?:^|[,;\t|])[ ]?'[^'\n]*'(?=[,;\t|\r\n]|$)", sample, re.MULTILINE)
    return "'" if 2 * len(quoted) > sample.count("\n") else '"'


def _find_delimiter(lines: Sequence[str], quote: str) -> str:
    best, best_share = ",", 0.0
    for delimiter in (*_DELIMITERS, " "):
        if delimiter == " " and best_share >= 0.5:
            break
        widths = [len(record) for record in _read_records(lines, delimiter, quote)]
        width, count = max(Counter(widths).items(), key=lambda item: (item[1], item[0]))
        # The header counts for half: a character that occurs in values only does not separate columns.
        share = (count / len(widths) + (widths[0] == width)) / 2
        if width > 1 and share > best_share + 0.05:
            best, best_share = delimiter, share
    return best


def _guess_header(first: Sequence[str], rows: Sequence[Sequence[str]], *, decimal_comma: bool) -> tuple[bool, bool]:
    """Return whether the first row contains the column names, and whether this is an assumption.

    It does if its fields differ in type from the values below them. Integers may be names, such as years; then the other columns
    decide, or whether the numbers below have a fraction.
    """
    fields = [field.strip() for field in first]
    against, unlike = False, False
    for j, field in enumerate(fields):
        column = [value for row in rows if j < len(row) and (value := row[j].strip()) not in MISSING_WORDS]
        present = set(column)
        typed = looks_typed([field], decimal_comma=decimal_comma)
        is_whole = _INTEGER.fullmatch(field) is not None
        if not present or not looks_typed(present, decimal_comma=decimal_comma):
            against = against or field in present or (typed and not (is_whole and present))
            unlike = unlike or (field not in MISSING_WORDS and 0 < 2 * len(present) <= len(column))
        elif not typed and field not in MISSING_WORDS:
            return True, False
        elif is_whole:
            unlike = unlike or (len(column) >= _FEW_VALUES and all(_FRACTION.search(value) for value in column))
        else:
            against = against or typed
    numbers = [field for field in fields if _INTEGER.fullmatch(field)]
    if against or len(set(numbers)) < len(numbers):
        return False, False
    if not numbers:
        # An empty field may be the header of row names; a row of missing values only is a row.
        return any(field not in MISSING_WORDS for field in fields), False
    return unlike or _are_column_numbers(fields, rows) or _are_years(fields, rows), True


def _are_column_numbers(fields: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether fields number the columns from 0, as pandas writes an array, with or without an index of the rows."""
    numbers = fields[not fields[0] :]
    if numbers != [str(j) for j in range(len(numbers))]:
        return False
    counted = all(row[0].strip() == str(at) for at, row in enumerate(rows))
    return len(fields) >= _FEW_VALUES or (not fields[0] and counted and len(rows) > 1)


def _are_years(fields: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether the numbers of a row are consecutive years and the numbers below are not years."""
    numbers = [int(field) for field in fields if _INTEGER.fullmatch(field)]
    years = range(*_YEARS)
    consecutive = len(numbers) > 1 and all(b - a == 1 for a, b in pairwise(numbers)) and numbers[0] in years
    return consecutive and not all(
        _INTEGER.fullmatch(value.strip()) and int(value) in years for row in rows for value in row
    )


def _header_note(path: Path, first: Sequence[str], *, has_header: bool) -> Verdict:
    """Return a note that states how a first row of numbers was read."""
    fields = ", ".join(map(quote_name, _header_names(first)[:_FEW_VALUES])) + (
        ", ..." if len(first) > _FEW_VALUES else ""
    )
    if has_header:
        way_out = "was read as the column names. If it is a row of values, use --no-header or header=False."
    else:
        way_out = (
            "was read as a row of values, and the columns are named x0, x1, ... If it contains the column names, use --header or "
            "header=True."
        )
    return Verdict("TZ205", f"The first row of {path.name} ({fields}) {way_out}")


def _delimiter_by_names(lines: Sequence[str], quote: str, known: set[str], guessed: str) -> str:
    """Return the delimiter that yields most of the known names in the first row; the guessed delimiter if several tie."""
    found = {
        delimiter: len(known.intersection(_header_names(_read_records(lines[:1], delimiter, quote)[0])))
        for delimiter in (guessed, ",", *_DELIMITERS, " ")
    }
    return max(found, key=lambda delimiter: found[delimiter])


def _is_known_header(first: Sequence[str], known: set[str]) -> bool | None:
    """Whether the first row contains known column names; None if this cannot be decided."""
    if known.intersection(_header_names(first)):
        return True
    return False if known and all(map(_DEFAULT_NAME.fullmatch, known)) else None


def _header_names(fields: Sequence[str]) -> list[str]:
    return [field.strip() or f"Unnamed: {j}" for j, field in enumerate(fields)]


def _check_unique(names: Sequence[str]) -> None:
    seen: dict[str, int] = {}
    for position, name in enumerate(names, 1):
        if name in seen:
            raise DataError(
                f"Column {name!r} occurs twice in the header, at positions {seen[name]} and {position}; "
                "rename one of them."
            )
        seen[name] = position
