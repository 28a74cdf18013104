"""Layout of a file of separated values: encoding, delimiter, quote, header, and the lines above and below the table."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import BinaryIO

from tamiz.exceptions import DataError
from tamiz.runtime.user_warnings import list_names, quote_name
from tamiz.runtime.verdicts import Verdict
from tamiz.table.build import FileOptions
from tamiz.table.text_values import MISSING_WORDS, looks_typed

_PIECE_BYTES = 2**22
_BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
# Bytes that are undefined in Windows' code page 1252; a file with one of them is Latin-1.
_NOT_CP1252 = frozenset(b"\x81\x8d\x8f\x90\x9d")


# Lines with other characters than ASCII that are inspected. If more than half of the letters of such words are other characters,
# the script is not Latin, and the encoding is found by the frequencies of its letters; those of Latin scripts are too alike.
_MAX_UNUSUAL_LINES, _LATIN_SHARE = 2_000, 0.6
_UNUSUAL_WORD = re.compile(rb"(?=[A-Za-z]*[\x80-\xff])[A-Za-z\x80-\xff]{3,}")
_OTHER_SCRIPTS = (
    *("cp1251", "koi8_r", "koi8_u", "iso8859_5", "cp866", "cp1253", "iso8859_7", "cp1255", "cp1256", "iso8859_6"),
    *("cp932", "euc_jp", "gb18030", "big5", "cp949", "cp874"),
)


def find_encoding(path: Path) -> tuple[str, bool]:
    """Return Python's name of a file's encoding, and whether it is a guess.

    A byte order mark decides. Without one the encoding is UTF-8 if the whole file is valid UTF-8, otherwise that in which the
    lines with other characters are most like text; Windows-1252 or Latin-1 where few characters show it.
    """
    with path.open("rb") as file:
        return _encoding_of(path, file)


def _encoding_of(path: Path, file: BinaryIO) -> tuple[str, bool]:
    piece = file.read(_PIECE_BYTES)
    if not piece.strip():
        raise DataError(f"{path} is empty.")
    for mark, name in _BYTE_ORDER_MARKS:
        if piece.startswith(mark):
            return name, False
    decoder = codecs.getincrementaldecoder("utf-8")()
    unusual: list[bytes] = []
    is_utf8, latin1 = True, False
    while piece:
        if b"\0" in piece:
            raise DataError(
                f"{path} is not a text file: it contains NUL bytes. Use a CSV, TSV, ARFF, Parquet or Arrow file, or state its "
                "encoding, such as utf-16-le, with --encoding or encoding=."
            )
        if is_utf8:
            try:
                # A character that is cut off at the end of the file is not valid UTF-8 either.
                decoder.decode(piece, final=len(piece) < _PIECE_BYTES)
            except UnicodeDecodeError:
                is_utf8 = False
        if not piece.isascii():
            latin1 = latin1 or not _NOT_CP1252.isdisjoint(piece)
            if len(unusual) < _MAX_UNUSUAL_LINES:
                unusual += [line for line in piece.splitlines() if not line.isascii()][:_MAX_UNUSUAL_LINES]
        piece = file.read(_PIECE_BYTES)
    if is_utf8:
        return "utf-8", False
    return _guess_encoding(b"\n".join(unusual), "latin-1" if latin1 else "cp1252"), True


def _guess_encoding(sample: bytes, western: str) -> str:
    """Return the most likely encoding of lines that are not UTF-8: the western one where the script is Latin."""
    from charset_normalizer import from_bytes

    words = b" ".join(_UNUSUAL_WORD.findall(sample))
    if sum(byte > 127 for byte in words) <= _LATIN_SHARE * len(words):
        return western
    for text in (sample, words):
        if (best := from_bytes(text, cp_isolation=list(_OTHER_SCRIPTS)).best()) is not None:
            return best.encoding
    return western


def _encoding_note(path: Path, encoding: str, sample: str) -> Verdict:
    word = next((word for word in re.findall(r"\w+", sample) if not word.isascii()), None)
    example = "" if word is None else f", in which it has words such as {quote_name(word)}"
    return Verdict(
        "TZ205",
        f"{path.name} is not in UTF-8; it was read as {encoding}{example}. If that is wrong, state the encoding with --encoding or "
        "encoding=.",
    )


# In order of preference among separators that split the rows equally evenly. Blanks are tried last and separately, because they
# also occur within values.
_SEPARATORS = ("\t", ";", "|", ",", "^", "~", "::")
_BLANKS = r"\s+"
# What the csv module, which splits at one character, sees in place of a longer separator.
_UNIT_SEPARATOR = "\x1f"
_SAMPLE_CHARACTERS, _TAIL_BYTES = 2**20, 2**16
# For most other encodings DuckDB would download an extension.
_UTF8 = ("utf-8", "utf-8-sig")
_SAMPLE_RECORDS = 1000
# Lines above and below a table that are recognised.
_MAX_ABOVE, _MAX_BELOW = 20, 5
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)
_TOTAL = re.compile(r"(grand |sub)?totals?|sums?|summe|gesamt|total général|suma|totale", re.IGNORECASE)
# Integers that may be column names, numbers with a fraction, and the range of years.
_INTEGER = re.compile(r"0|[1-9][0-9]{0,17}", re.ASCII)
_FRACTION = re.compile(r"[.,eE]")
_YEARS = (1800, 2101)
_FEW_VALUES = 3
# Names of columns without a header.
_DEFAULT_NAME = re.compile(r"x(0|[1-9][0-9]*)")

Fields = list[str]


@dataclass(frozen=True)
class Layout:
    """The layout of a file of separated values.

    Attributes
    ----------
    path : Path
    encoding, separator, quote : str
        The separator is a character, several, or `\\s+` for runs of blanks and tabs.
    has_header : bool
    names : tuple of str
        The columns' names: those of the header, or x0, x1, ... if the file has none.
    is_plain : bool
        Whether DuckDB can read the file directly: it is in UTF-8, the header is in the first line, one character separates fields,
        and the last line is a row.
    row_bytes : float
        The mean length of the first rows.
    n_above, n_below : int
        Lines above the header and records below the last row that are no part of the table.
    has_row_names : bool
        Whether the header has no name for the first column, as R writes row names.
    drops_bad_rows : bool
        Whether rows with another number of fields than the header are left out.
    notes : tuple of Verdict
        What was assumed or left out, and the option that changes this.
    """

    path: Path
    encoding: str
    separator: str
    quote: str
    has_header: bool
    names: tuple[str, ...]
    is_plain: bool
    row_bytes: float
    n_above: int = 0
    n_below: int = 0
    has_row_names: bool = False
    drops_bad_rows: bool = False
    notes: tuple[Verdict, ...] = ()

    @property
    def delimiter(self) -> str:
        return _delimiter(self.separator)

    @property
    def estimated_rows(self) -> int:
        """The number of rows, estimated from the size of the file and the mean length of its first rows."""
        return round(self.path.stat().st_size / self.row_bytes)

    @property
    def disk_bytes(self) -> int:
        """The estimated size of the parsed file and its columns: the text, and per field an offset (4 bytes) and a number (8)."""
        text = self.path.stat().st_size * (1 if self.is_plain else 2)
        return text + 12 * self.estimated_rows * len(self.names)

    def rows(self) -> Iterator[tuple[int, Fields]]:
        """Yield the rows that are read, each with the number of the line in which it begins."""
        n = len(self.names)
        return ((line, row) for line, row in self.all_rows() if len(row) == n or not self.drops_bad_rows)

    def all_rows(self) -> Iterator[tuple[int, Fields]]:
        """Yield the rows below the header, also those with another number of fields."""
        waiting: deque[tuple[int, Fields]] = deque()
        n_waiting = 0
        for line, fields in self._records():
            waiting.append((line, fields))
            n_waiting += len(self.names) == 1 or any(fields)
            # Empty rows are rows where others follow them.
            while n_waiting > self.n_below:
                row = waiting.popleft()
                n_waiting -= len(self.names) == 1 or any(row[1])
                yield row

    def _records(self) -> Iterator[tuple[int, Fields]]:
        """Yield the records below the header, with those that are no rows."""
        with self.path.open(encoding=self.encoding, newline="") as file:
            lines = _split_at_one_character(islice(file, self.n_above, None), self.separator)
            reader = csv.reader(
                lines, delimiter=self.delimiter, quotechar=self.quote, skipinitialspace=True, strict=True
            )
            line = self.n_above + 1
            header = self.has_header
            try:
                for fields in reader:
                    if _is_row(fields, 2 if header else len(self.names)):
                        if not header:
                            yield line, self._drop_empty_end(fields)
                        header = False
                    line = self.n_above + reader.line_num + 1
            except csv.Error as error:
                raise DataError(_quote_error(line, str(error), self.quote)) from None

    def _drop_empty_end(self, fields: Fields) -> Fields:
        """Return the fields of a row without surplus empty fields at its end, as DuckDB does."""
        fields = _drop_trailing_blank(fields, self.delimiter)
        return (fields if any(fields[len(self.names) :]) else fields[: len(self.names)]) or [""]


def _delimiter(separator: str) -> str:
    if separator == _BLANKS:
        return " "
    return separator if len(separator) == 1 else _UNIT_SEPARATOR


def _split_at_one_character(lines: Iterable[str], separator: str) -> Iterable[str]:
    """Return lines in which one character stands for the separator."""
    if separator == _BLANKS:
        return (line.replace("\t", " ") for line in lines)
    return lines if len(separator) == 1 else (line.replace(separator, _UNIT_SEPARATOR) for line in lines)


def _is_row(fields: Sequence[str], n_columns: int) -> bool:
    """Whether a record is a row and not a blank line; in a table of one column a blank line is a missing value."""
    return n_columns == 1 or len(fields) > 1 or bool(fields and fields[0].strip())


def _drop_trailing_blank(fields: Fields, delimiter: str) -> Fields:
    # Blanks at the end of a line are not a value.
    return fields[:-1] if delimiter == " " and fields and not fields[-1] else fields


def _quote_error(line: int, error: str, quote: str) -> str:
    problem = "text follows a closing quote" if "expected after" in error else "a quote is not closed"
    return f"line {line}: {problem}; write a quote within a value twice ({2 * quote})."


def find_layout(
    path: Path,
    known_columns: Collection[str] = (),
    file: FileOptions = FileOptions(),  # noqa: B008
) -> Layout:
    """Find the layout of a file of separated values.

    Parameters
    ----------
    path : Path
    known_columns : collection of str
        Names of columns that the file contains. They decide about the separator and the header.
    file : FileOptions
        What the user states of the file.
    """
    header, separator = file.header, file.sep
    encoding, is_guess = find_encoding(path) if file.encoding is None else (file.encoding, False)
    sample, lines = _read_sample(path, encoding)
    notes = [_encoding_note(path, encoding, sample)] if is_guess else []
    known = set(known_columns)
    n_above = 0
    if (stated := _SEPARATOR_LINE.fullmatch(lines[0])) and len(lines) > 1:
        n_above, separator = 1, separator or stated[1]
    quote = _find_quote(sample)
    n_above += _count_comments(lines[n_above:], quote)
    if separator is None:
        separator = _find_separator(lines[n_above:], quote)
        if known:
            separator = _separator_by_names(lines[n_above:], quote, known, separator)
    records = _read_records(lines[n_above:], separator, quote)
    n_titles = 0 if header is False else _count_titles([fields for _, fields in records], known)
    n_above += records[n_titles][0] - 1
    if n_above and n_titles + (n_above > bool(stated)):
        notes += _above_note(path, lines[bool(stated) : n_above])
    first, beneath = records[n_titles][1], [fields for _, fields in records[n_titles + 1 :]]
    has_header, is_assumed = _is_known_header(first, known) if header is None else header, False
    has_row_names = has_header is not False and _has_row_names(first, beneath)
    if has_header is None:
        has_header, is_assumed = (
            (True, False) if has_row_names else _guess_header(first, beneath, decimal_comma=separator == ";")
        )
    if is_assumed:
        notes.append(_header_note(path, first, has_header=has_header))
    names = _header_names([""] * has_row_names + first) if has_header else [f"x{j}" for j in range(len(first))]
    if has_header:
        _check_unique(names)
    below = _find_lines_below(path, encoding, separator, quote, len(names))
    if any(map(any, below)):
        notes.append(_below_note(path, [separator.join(fields) for fields in below if any(fields)]))
    is_plain = (
        encoding in _UTF8
        and len(separator) == 1
        and separator != " "
        and len(names) > 1
        and not (n_above or has_row_names or below)
        and _is_duckdb_readable(lines, separator, quote, has_mark=encoding == "utf-8-sig")
    )
    return Layout(
        *(path, encoding, separator, quote, has_header, tuple(names), is_plain),
        row_bytes=len("".join(lines).encode(encoding)) / len(lines),
        n_above=n_above,
        n_below=sum(map(any, below)),
        has_row_names=has_row_names,
        drops_bad_rows=file.on_bad_rows == "drop",
        notes=tuple(notes),
    )


def _read_sample(path: Path, encoding: str) -> tuple[str, list[str]]:
    """Return the first characters of a file, and the lines in them that are whole."""
    try:
        with path.open(encoding=encoding, newline="") as file:
            sample = file.read(_SAMPLE_CHARACTERS)
            whole = not file.read(1)
    except LookupError:
        raise DataError(
            f"{encoding!r} is not an encoding; examples are utf-8, cp1252, latin-1, cp1251 and utf-16."
        ) from None
    except UnicodeError as error:
        raise DataError(f"{path} is not in {encoding}: {error}.") from None
    if not sample.strip():
        raise DataError(f"{path} is empty.")
    # Not `splitlines`, which also splits at characters that do not end a line of a file, such as U+2028.
    lines = list(io.StringIO(sample, newline=""))
    if not whole and len(lines) > 1:
        lines.pop()
    return sample, lines


def _count_comments(lines: Sequence[str], quote: str) -> int:
    """Return the number of lines at the beginning that are comments: the last of them may be the header, as in "#a,b"."""
    n = next((at for at, line in enumerate(lines) if not line.startswith("#")), len(lines))
    if not n or n == len(lines):
        return 0
    separator = _find_separator(lines[n:], quote)
    last, first = (_read_records(lines[at : at + 1], separator, quote)[0][1] for at in (n - 1, n))
    return n - (len(last) == len(first) > 1)


def _count_titles(records: Sequence[Fields], known: set[str]) -> int:
    """Return the number of records above the header: titles of one field, or empty."""
    width = _usual_width(records)
    n = next((at for at, fields in enumerate(records) if sum(map(bool, fields)) > 1), len(records))
    if n == len(records) or not 0 < n <= _MAX_ABOVE or len(records[n]) < width or known.intersection(records[0]):
        return 0
    head = [field.strip() for field in records[n]]
    titles = [field for fields in records[:n] for field in fields if field]
    is_header = all(head) and not any(looks_typed([field], decimal_comma=True) for field in head)
    return n if is_header and not any(looks_typed([title], decimal_comma=True) for title in titles) else 0


def _usual_width(records: Sequence[Fields]) -> int:
    widths = Counter(map(len, records))
    return max(widths, key=lambda width: (widths[width], width))


def _has_row_names(first: Fields, rows: Sequence[Fields]) -> bool:
    """Whether the header has one field less than every row, and the first fields of the rows differ."""
    names = [row[0] for row in rows]
    return (
        len(rows) > 1
        and all(len(row) == len(first) + 1 and any(row) for row in rows)
        and any(row[-1] for row in rows)
        and len(set(names)) == len(names)
    )


def _find_lines_below(path: Path, encoding: str, separator: str, quote: str, n_columns: int) -> list[Fields]:
    """Return the records at the end of a file that are no rows: empty ones, remarks in one field, and a row of totals."""
    if n_columns == 1:
        return []
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(start := max(0, size - _TAIL_BYTES) // 2 * 2)
        tail = file.read().decode(encoding, errors="ignore")
    lines = list(io.StringIO(tail, newline=""))[bool(start) :]
    records = [fields for _, fields in _read_records(lines, separator, quote, last=True)]
    n_full = 0
    for at in range(len(records) - 1, 0, -1):
        fields = records[at]
        filled = [field.strip() for field in fields if field.strip()]
        if not filled:
            continue
        # A word or a number alone may be a row that was cut off.
        is_remark = len(filled) == 1 and len(fields) < n_columns and re.search(r"\w:|\w \w", filled[0]) is not None
        is_short = is_remark or (len(filled) == 1 and not any(records[at - 1]))
        is_total = bool(_TOTAL.fullmatch(fields[0].strip(" :")))
        before = [row for row in records[max(0, at - 10) : at] if any(row)]
        if (
            not (is_short or is_total)
            or n_full == _MAX_BELOW
            or (is_total and any(row[0] and _TOTAL.fullmatch(row[0].strip(" :")) for row in before))
        ):
            return records[at + 1 :]
        n_full += 1
    return []


def _is_duckdb_readable(lines: Sequence[str], delimiter: str, quote: str, *, has_mark: bool) -> bool:
    """Whether DuckDB reads the first line correctly: it silently skips a header with a stray quote, or with a line break after a
    byte order mark, and rows after it.
    """
    if lines[0].isspace() or any(f"{delimiter}  " in line and quote in line for line in lines):
        return False
    reader = csv.reader(lines, delimiter=delimiter, quotechar=quote, skipinitialspace=True, strict=True)
    try:
        next(reader)
    except csv.Error:
        return False
    return reader.line_num == 1 or not has_mark


def _read_records(lines: Sequence[str], separator: str, quote: str, *, last: bool = False) -> list[tuple[int, Fields]]:
    """Return the first records, each with the number of its first line, or the last ones."""
    delimiter = _delimiter(separator)
    reader = csv.reader(
        _split_at_one_character(lines, separator), delimiter=delimiter, quotechar=quote, skipinitialspace=True
    )
    records: deque[tuple[int, Fields]] = deque(maxlen=_SAMPLE_RECORDS)
    line = 1
    try:
        # Not a comprehension: if a field exceeds the limit of the csv module, the rows before it are kept.
        for fields in reader if last else islice(reader, _SAMPLE_RECORDS):
            if _is_row(fields, 2):
                records.append((line, _drop_trailing_blank(fields, delimiter)))
            line = reader.line_num + 1
    except csv.Error:
        pass
    return list(records) or [(1, [""])]


def _find_quote(sample: str) -> str:
    if '"' in sample:
        return '"'
    quoted = re.findall(r"(?:^|[,;\t|])[ ]?'[^'\n]*'(?=[,;\t|\r\n]|$)", sample, re.MULTILINE)
    return "'" if 2 * len(quoted) > sample.count("\n") else '"'


def _find_separator(lines: Sequence[str], quote: str) -> str:
    best, best_share = ",", 0.0
    for separator in (*_SEPARATORS, _BLANKS):
        if separator == _BLANKS and best_share >= 0.5:
            break
        widths = [len(fields) for _, fields in _read_records(lines, separator, quote)]
        width, count = max(Counter(widths).items(), key=lambda item: (item[1], item[0]))
        # The header counts for half: a character that occurs in values only does not separate columns.
        share = (count / len(widths) + (widths[0] == width)) / 2
        if width > 1 and share > best_share + 0.05:
            best, best_share = separator, share
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


def _separator_by_names(lines: Sequence[str], quote: str, known: set[str], guessed: str) -> str:
    """Return the separator that yields most of the known names in the first row; the guessed one if several tie."""
    found = {
        separator: len(known.intersection(_header_names(_read_records(lines[:1], separator, quote)[0][1])))
        for separator in (guessed, ",", *_SEPARATORS, _BLANKS)
    }
    return max(found, key=lambda separator: found[separator])


def _above_note(path: Path, lines: Sequence[str]) -> list[Verdict]:
    """Return a note about lines above the header, none where they are blank."""
    texts = [text for line in lines if (text := line.strip(" \t\r\n,;|"))]
    if not texts:
        return []
    one = len(lines) == 1
    first, are = (
        ("line", "was left out. If it is a row") if one else (f"{len(lines)} lines", "were left out. If they are rows")
    )
    shown = list_names(texts, as_text=quote_name)
    advice = f"{are} of values, use --no-header or header=False."
    return [Verdict("TZ206", f"The first {first} of {path.name} ({shown}), above the column names, {advice}")]


def _below_note(path: Path, lines: Sequence[str]) -> Verdict:
    last, are = (
        ("line", "is not a row of the table and was")
        if len(lines) == 1
        else (f"{len(lines)} lines", "are not rows of the table and were")
    )
    return Verdict("TZ206", f"The last {last} of {path.name} ({list_names(lines, as_text=quote_name)}) {are} left out.")


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
