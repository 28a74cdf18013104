"""Columns of a parsed CSV file, and their conversion to numbers, booleans, dates or text.

A file of separated values is parsed once, as text, into an Arrow file that is mapped into memory (`TextTable`). The type of a
column is inferred from all of its values, which are read piece by piece.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tamiz.arrays import Floats
from tamiz.exceptions import DataError
from tamiz.table.raw_column import LARGEST_EXACT_INTEGER, RawColumn
from tamiz.table.schema import Kind
from tamiz.table.text_values import (
    as_booleans,
    as_dates,
    as_exact_integers,
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
    *,
    decimal_comma: bool,
    comma_first: bool | None,
    infer: bool,
) -> RawColumn:
    """Read a column of text as numbers, booleans, dates or text, whichever fits all of its values.

    Parameters
    ----------
    name : str
    text : TextColumn
    describe_row : callable
        Turns the position of a row into words of a message, such as "line 12".
    decimal_comma : bool
        Whether a comma may be the decimal separator.
    comma_first : bool or None
        As in `parse_formatted`.
    infer : bool
        Whether the user declared no kind. Formatted numbers and dates are then converted, and a few words in a column of numbers
        raise a DataError.
    """
    numbers = _parse_numbers(text, decimal_comma=False)
    if numbers is None and decimal_comma:
        numbers = _parse_numbers(text, decimal_comma=True)
    if numbers is not None:
        return RawColumn(name, numbers)
    # The rest needs the distinct values only.
    encoded = encode_dictionary(name, text.pieces())
    words = clean_words(encoded.dictionary)
    found = words.drop_null()
    # If these words are numbers, `_parse_numbers` refused them as codes: digits of one width, some with a leading zero.
    if as_numbers(words, decimal_comma=decimal_comma) is None:
        if (typed := as_booleans(words, found)) is not None or (typed := as_dates(words)) is not None:
            return RawColumn(name, typed.take(encoded.indices))
        if infer and (typed := parse_formatted(words, comma_first=comma_first)) is not None:
            return RawColumn(name, typed.take(encoded.indices))
        if infer:
            _check_stray_text(name, words, encoded.indices, describe_row, decimal_comma=decimal_comma)
    return RawColumn(name, _dictionary_array(words, encoded.indices))


def read_text_column_as(
    name: str, text: TextColumn, kind: Kind, *, decimal_comma: bool, comma_first: bool | None
) -> RawColumn:
    """Read a column of text as a known kind; parameters as of `read_text_column`.

    A column of kind "numeric" or "date" that cannot be converted is returned as text: `kinds.to_numbers` then raises a DataError
    that names the row.
    """
    if kind in ("numeric", "date"):
        numbers = _parse_numbers(text, decimal_comma=False)
        if numbers is None and decimal_comma:
            numbers = _parse_numbers(text, decimal_comma=True)
        if numbers is not None:
            return RawColumn(name, numbers)
    encoded = encode_dictionary(name, text.pieces())
    words = clean_words(encoded.dictionary)
    typed = None
    if kind in ("numeric", "date"):
        # The number of a date is its seconds since 1970.
        typed = as_dates(words)
        if typed is None:
            typed = parse_formatted(words, comma_first=comma_first)
    elif kind == "boolean":
        typed = as_booleans(words, words.drop_null())
    if typed is not None:
        return RawColumn(name, typed.take(encoded.indices))
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
