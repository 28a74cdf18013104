"""A column of text to its values: numbers, booleans, dates or text, judged by the whole column, read piece by piece."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tamiz.exceptions import DataError
from tamiz.sources.raw_column import LARGEST_EXACT_INTEGER, RawColumn
from tamiz.sources.schema import Kind
from tamiz.sources.text_values import (
    as_booleans,
    as_dates,
    as_exact_integers,
    as_numbers,
    clean_words,
    encode_dictionary,
    parse_formatted,
    try_cast,
)

# MERGED: Columns of text in a mapped file: what a file of separated values was parsed into.
# Rows of a column that are typed at a time.
_PIECE_ROWS = 2**18


class TextTable:
    """A table of text columns in a file of Arrow's own format.

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
        """Return a column."""
        return TextColumn(self, self._table.column(j))

    def release_pages(self) -> None:
        """Count the pages read so far as the process's no more; they stay in the system's memory while there is some."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED)


class TextColumn:
    """A column of text, given piece by piece."""

    def __init__(self, table: TextTable, values: pa.ChunkedArray) -> None:
        self._table = table
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def values(self) -> pa.ChunkedArray:
        """Return the whole column, null where a value is missing."""
        parts = [part for piece in self.pieces() for part in clean_words(piece).chunks]
        return pa.chunked_array(parts, pa.string())

    def pieces(self) -> Iterator[pa.ChunkedArray]:
        """Yield the rows in order."""
        for start in range(0, len(self), _PIECE_ROWS):
            yield self._values.slice(start, _PIECE_ROWS)
            self._table.release_pages()


_NUMBER_PATTERN = r"^[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?$|^[-+]?(?i:inf|infinity)$"
# Among more than this share of numbers, what is no number is a slip rather than a value.
_MAX_NUMBER_SHARE = 0.9
# Numbers of at most this many different values may be codes that have a few letters among them.
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
    """Read a whole column of text. Where the kind is left to `infer`, a few slips among numbers are an error.

    `comma_first` is as in `parse_formatted`.
    """
    numbers = _parse_numbers(text, decimal_comma=False)
    if numbers is None and decimal_comma:
        numbers = _parse_numbers(text, decimal_comma=True)
    if numbers is not None:
        return RawColumn(name, numbers)
    # From here on the distinct values are enough.
    encoded = encode_dictionary(name, text.pieces())
    words = clean_words(encoded.dictionary)
    found = words.drop_null()
    # That they are digits of one width, as numbers are not, was seen above.
    if as_numbers(words, decimal_comma=decimal_comma) is None:
        if (typed := as_booleans(words, found)) is not None or (typed := as_dates(words)) is not None:
            return RawColumn(name, typed.take(encoded.indices))
        if infer and (written := parse_formatted(words, comma_first=comma_first)) is not None:
            return RawColumn(name, written.take(encoded.indices))
        if infer:
            _check_stray_text(name, words, encoded.indices, describe_row, decimal_comma=decimal_comma)
    return RawColumn(name, _dictionary_array(words, encoded.indices))


def read_text_column_as(
    name: str, text: TextColumn, kind: Kind, *, decimal_comma: bool, comma_first: bool | None
) -> RawColumn:
    """Read a whole column of a kind that is known: nothing else is made of it, whatever it looks like in these rows.

    What is no number or date stays text, for whoever makes numbers of it to name.
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
        # As a number a date is seconds since 1970.
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
    """Read a column of which only what is missing counts."""
    codes = [np.asarray(clean_words(piece).is_valid()).astype(np.int8) - np.int8(1) for piece in text.pieces()]
    return RawColumn(name, np.concatenate(codes), categories=("",))


def _parse_numbers(text: TextColumn, *, decimal_comma: bool) -> NDArray[np.float64] | pa.Array | None:
    """Return the values as numbers, None where one is none or all are codes; whole ones that float64 cannot tell apart exactly."""
    numbers = np.empty(len(text))
    widths, start, largest = _CodeDetector(), 0, 0.0
    for piece in text.pieces():
        # Most pieces are numbers as they are, and need not be searched for blanks and words.
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
        widths.update(piece)
        found = typed.to_numpy(zero_copy_only=False)
        # `fmax` passes over NaN.
        largest = max(largest, float(np.fmax.reduce(np.abs(found), initial=0.0)))
        numbers[start : start + len(piece)] = found
        start += len(piece)
    if widths.may_be_codes and _all_digits(text):
        return None
    exact = as_exact_integers(text.values()) if largest >= LARGEST_EXACT_INTEGER else None
    return numbers if exact is None else exact.combine_chunks()


class _CodeDetector:
    """Whether values may be codes: as wide as each other, some with a zero in front, as postal codes are."""

    def __init__(self) -> None:
        self._width: int | None = None
        self._same_width = True
        self._leading_zero = False

    def update(self, text: Any) -> None:
        """Look at more values."""
        if not self._same_width:
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
        """Whether all that is left to ask is that they are digits."""
        return self._same_width and self._leading_zero


def _all_digits(text: TextColumn) -> bool:
    return all(pc.all(pc.match_substring_regex(clean_words(piece), "^[0-9]+$")).as_py() for piece in text.pieces())


def _check_stray_text(
    name: str, words: pa.Array, codes: pa.Array, describe_row: DescribeRow, *, decimal_comma: bool
) -> None:
    """Refuse a column of numbers in which a few values are none."""
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
    rest = (
        f", and the other {n_good:,} values are. Mend the line"
        if n_bad == 1
        else f"; {n_bad:,} values are not and {n_good:,} are. Mend the lines"
    )
    raise DataError(
        f"{describe_row(at)}, column {name}: {value!r} is not a number{rest}, or declare the column categorical with kinds."
    )


def _fill_codes(codes: pa.Array, fill_value: int) -> NDArray[np.int32]:
    return np.asarray(codes.fill_null(fill_value))


def _dictionary_array(words: pa.Array, codes: pa.Array) -> pa.Array:
    """Return the codes into the words that are present, null elsewhere."""
    valid = np.asarray(words.is_valid())
    place = pa.array(np.cumsum(valid, dtype=np.int32) - 1, mask=~valid)
    return pa.DictionaryArray.from_arrays(place.take(codes), words.drop_null())
