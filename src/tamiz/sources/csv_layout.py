"""How a file of separated values is laid out: encoding, delimiter, quote and header, found in its first rows."""

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
from tamiz.sources.text_values import MISSING_WORDS, looks_typed

# MERGED: The encoding of a text file, found by reading all of it once.
_PIECE_BYTES = 2**22
_BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
# Bytes that Windows' code page leaves out; a file with one of them is Latin-1.
_NOT_CP1252 = frozenset(b"\x81\x8d\x8f\x90\x9d")


def find_encoding(path: Path) -> str:
    """Return Python's name of the encoding: by its byte order mark, UTF-8 where all of it is, else a Western one."""
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
                f"{path} is not a text file: it holds NUL bytes. Give a CSV, TSV, ARFF, Parquet or Arrow file."
            )
        if is_utf8:
            try:
                # A character cut off at the end of the file is no UTF-8 either.
                decoder.decode(piece, final=len(piece) < _PIECE_BYTES)
            except UnicodeDecodeError:
                is_utf8 = False
        latin1 = latin1 or (not piece.isascii() and not _NOT_CP1252.isdisjoint(piece))
        piece = file.read(_PIECE_BYTES)
    if is_utf8:
        return "utf-8"
    return "latin-1" if latin1 else "cp1252"


# In the order in which one is preferred to another that cuts the rows as evenly. Blanks come last and alone, since
# they also stand within values.
_DELIMITERS = "\t;|,"
_SAMPLE_CHARACTERS = 2**20
# DuckDB would fetch an extension for most others.
_UTF8 = ("utf-8", "utf-8-sig")
_SAMPLE_RECORDS = 1000
# A number that may be a name; one that is written with a fraction; years.
_INTEGER = re.compile(r"0|[1-9][0-9]{0,17}", re.ASCII)
_FRACTION = re.compile(r"[.,eE]")
_YEARS = (1800, 2101)
_FEW_VALUES = 3
# What columns are called that have no name.
_DEFAULT_NAME = re.compile(r"x(0|[1-9][0-9]*)")


@dataclass(frozen=True)
class Layout:
    """What is needed to read a file of separated values.

    Attributes
    ----------
    names : tuple of str
        The columns' names: the header's, or x0, x1, ... where the file has none.
    is_plain : bool
        Whether DuckDB can read the file as it is: in UTF-8, the header in the first line, one sign between fields.
    row_bytes : float
        The mean length of its first rows in the file.
    note : str or None
        What was assumed of a first row of numbers, and the option that says otherwise.
    """

    path: Path
    encoding: str
    delimiter: str
    quote: str
    has_header: bool
    names: tuple[str, ...]
    is_plain: bool
    row_bytes: float
    note: str | None = None

    @property
    def estimated_rows(self) -> int:
        """How many rows there are, by the first of them."""
        return round(self.path.stat().st_size / self.row_bytes)

    @property
    def disk_bytes(self) -> int:
        """About what the parsed file and its typed columns take: the text, its ends (4 bytes) and a number (8) a field."""
        text = self.path.stat().st_size * (1 if self.is_plain else 2)
        return text + 12 * self.estimated_rows * len(self.names)

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the rows below the header, each with the line that it begins in."""
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
        """Return the fields of a row without empty ones at its end that are too many, as DuckDB leaves them out."""
        fields = _drop_trailing_blank(fields, self.delimiter)
        return (fields if any(fields[len(self.names) :]) else fields[: len(self.names)]) or [""]


def _is_row(fields: Sequence[str], n_columns: int) -> bool:
    """Whether a record is more than a blank line; in a table of one column that is a missing value."""
    return n_columns == 1 or len(fields) > 1 or bool(fields and fields[0].strip())


def _drop_trailing_blank(fields: list[str], delimiter: str) -> list[str]:
    # Blanks at the end of a line are no value.
    return fields[:-1] if delimiter == " " and fields and not fields[-1] else fields


def _quote_error(line: int, error: str, quote: str) -> str:
    if "expected after" in error:
        return f"line {line}: text follows a closing quote; write a quote within a value twice ({2 * quote})."
    return f"line {line}: a quote is opened and not closed; write a quote within a value twice ({2 * quote})."


def find_layout(path: Path, known_columns: Collection[str] = (), header: bool | None = None) -> Layout:
    """Find out how a file is laid out; columns that it is known to have, by their names, tell more than a few rows do.

    `header` says whether the first row names the columns, None that it is to be found out.
    """
    encoding = find_encoding(path)
    with path.open(encoding=encoding, newline="") as file:
        sample = file.read(_SAMPLE_CHARACTERS)
        whole = not file.read(1)
    if not sample.strip():
        raise DataError(f"{path} is empty.")
    # Not splitlines, which also cuts at signs that end no line in a file, such as the line separator U+2028.
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
    """Whether the file begins as DuckDB takes it: it skips a header with a loose quote, and rows after it, silently."""
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
        # Not a comprehension: what came before a field longer than the csv module takes tells enough.
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
        # The header counts for half: a sign that stands in values alone is none between columns.
        share = (count / len(widths) + (widths[0] == width)) / 2
        if width > 1 and share > best_share + 0.05:
            best, best_share = delimiter, share
    return best


def _guess_header(first: Sequence[str], rows: Sequence[Sequence[str]], *, decimal_comma: bool) -> tuple[bool, bool]:
    """Return whether the first row names the columns, its fields unlike the values beneath them, and whether that is assumed.

    Whole numbers may be names, such as years: the other columns, or how the numbers beneath are written, tell then.
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
        # Empty fields may head a column of row names; a row of nothing but values that are missing is a row.
        return any(field not in MISSING_WORDS for field in fields), False
    return unlike or _are_column_numbers(fields, rows) or _are_years(fields, rows), True


def _are_column_numbers(fields: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether fields number the columns from 0, as pandas names those of an array, with or without an index of the rows."""
    numbers = fields[not fields[0] :]
    if numbers != [str(j) for j in range(len(numbers))]:
        return False
    counted = all(row[0].strip() == str(at) for at, row in enumerate(rows))
    return len(fields) >= _FEW_VALUES or (not fields[0] and counted and len(rows) > 1)


def _are_years(fields: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether the numbers of a row are years one after the other, and those beneath are not years."""
    numbers = [int(field) for field in fields if _INTEGER.fullmatch(field)]
    years = range(*_YEARS)
    follow = len(numbers) > 1 and all(b - a == 1 for a, b in pairwise(numbers)) and numbers[0] in years
    return follow and not all(
        _INTEGER.fullmatch(value.strip()) and int(value) in years for row in rows for value in row
    )


def _header_note(path: Path, first: Sequence[str], *, has_header: bool) -> str:
    """Return what was made of a first row of numbers."""
    named = ", ".join(_header_names(first)[:_FEW_VALUES]) + (", ..." if len(first) > _FEW_VALUES else "")
    if has_header:
        return (
            f"The first row of {path.name} is taken as the names of the columns ({named}); if it is a row of values, say so with "
            "--no-header or header=False."
        )
    return (
        f"The first row of {path.name} ({named}) is taken as a row of values, and the columns are called x0, x1, ...; if it names "
        "the columns, say so with --header or header=True."
    )


def _delimiter_by_names(lines: Sequence[str], quote: str, known: set[str], guessed: str) -> str:
    """Return the delimiter that cuts most of the known names from the first row, the guessed one among equals."""
    found = {
        delimiter: len(known.intersection(_header_names(_read_records(lines[:1], delimiter, quote)[0])))
        for delimiter in (guessed, ",", *_DELIMITERS, " ")
    }
    return max(found, key=lambda delimiter: found[delimiter])


def _is_known_header(first: Sequence[str], known: set[str]) -> bool | None:
    """Whether the first row names the columns that are known; None where it tells nothing."""
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
                "give every column a name of its own."
            )
        seen[name] = position
