"""A column of text to its values: numbers, booleans, dates or text, judged by the whole column, read piece by piece."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tamiz.exceptions import DataError
from tamiz.sources.distinct import distinct
from tamiz.sources.parsed import TextColumn
from tamiz.sources.raw import LARGEST_WHOLE, RawColumn
from tamiz.sources.schema import Kind
from tamiz.sources.text_values import as_booleans, as_dates, as_numbers, as_whole_numbers, cast, present
from tamiz.sources.written import read_written

_NUMBER = r"^[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?$|^[-+]?(?i:inf|infinity)$"
# Among more than this share of numbers, what is no number is a slip rather than a value.
_MOST_NUMBERS = 0.9
# Numbers of at most this many different values may be codes that have a few letters among them.
_FEWEST_NUMBERS = 20

Judge = Callable[[int], str]


def read_column(
    name: str, text: TextColumn, word_row: Judge, *, decimal_comma: bool, comma_first: bool | None, guess: bool
) -> RawColumn:
    """Read a whole column of text. Where the kind is left to `guess`, a few slips among numbers are an error.

    `comma_first` is as in `read_written`.
    """
    numbers = _numbers(text, decimal_comma=False)
    if numbers is None and decimal_comma:
        numbers = _numbers(text, decimal_comma=True)
    if numbers is not None:
        return RawColumn(name, numbers)
    # From here on the distinct values are enough.
    encoded = distinct(name, text.pieces())
    words = present(encoded.dictionary)
    found = words.drop_null()
    # That they are digits of one width, as numbers are not, was seen above.
    if as_numbers(words, decimal_comma=decimal_comma) is None:
        if (typed := as_booleans(words, found)) is not None or (typed := as_dates(words)) is not None:
            return RawColumn(name, typed.take(encoded.indices))
        if guess and (written := read_written(words, comma_first=comma_first)) is not None:
            return RawColumn(name, written.take(encoded.indices))
        if guess:
            _check_slips(name, words, encoded.indices, word_row, decimal_comma=decimal_comma)
    return RawColumn(name, _dictionary(words, encoded.indices))


def read_as(name: str, text: TextColumn, kind: Kind, *, decimal_comma: bool, comma_first: bool | None) -> RawColumn:
    """Read a whole column of a kind that is known: nothing else is made of it, whatever it looks like in these rows.

    What is no number or date stays text, for whoever makes numbers of it to name.
    """
    if kind in ("numeric", "date"):
        numbers = _numbers(text, decimal_comma=False)
        if numbers is None and decimal_comma:
            numbers = _numbers(text, decimal_comma=True)
        if numbers is not None:
            return RawColumn(name, numbers)
    encoded = distinct(name, text.pieces())
    words = present(encoded.dictionary)
    typed = None
    if kind in ("numeric", "date"):
        # As a number a date is seconds since 1970.
        typed = as_dates(words)
        if typed is None:
            typed = read_written(words, comma_first=comma_first)
    elif kind == "boolean":
        typed = as_booleans(words, words.drop_null())
    if typed is not None:
        return RawColumn(name, typed.take(encoded.indices))
    if kind == "numeric" and decimal_comma and not pc.any(pc.match_substring(words, ".")).as_py():
        words = pc.replace_substring(words, ",", ".")
    return RawColumn(name, _dictionary(words, encoded.indices))


def gaps_only(name: str, text: TextColumn) -> RawColumn:
    """Read a column of which only what is missing counts."""
    codes = [np.asarray(present(piece).is_valid()).astype(np.int8) - np.int8(1) for piece in text.pieces()]
    return RawColumn(name, np.concatenate(codes), words=("",))


def _numbers(text: TextColumn, *, decimal_comma: bool) -> NDArray[np.float64] | pa.Array | None:
    """Return the values as numbers, None where one is none or all are codes; whole ones that float64 cannot tell apart exactly."""
    numbers = np.empty(len(text))
    widths, start, largest = _Widths(), 0, 0.0
    for piece in text.pieces():
        # Most pieces are numbers as they are, and need not be searched for blanks and words.
        typed = None if decimal_comma else cast(piece, pa.float64())
        if typed is None:
            piece = present(piece)
            if decimal_comma:
                if pc.any(pc.match_substring(piece, ".")).as_py():
                    return None
                piece = pc.replace_substring(piece, ",", ".")
            typed = cast(piece, pa.float64())
            if typed is None:
                return None
        widths.see(piece)
        found = typed.to_numpy(zero_copy_only=False)
        # `fmax` passes over NaN.
        largest = max(largest, float(np.fmax.reduce(np.abs(found), initial=0.0)))
        numbers[start : start + len(piece)] = found
        start += len(piece)
    if widths.may_be_codes and _all_digits(text):
        return None
    exact = as_whole_numbers(text.words()) if largest >= LARGEST_WHOLE else None
    return numbers if exact is None else exact.combine_chunks()


class _Widths:
    """Whether values may be codes: as wide as each other, some with a zero in front, as postal codes are."""

    def __init__(self) -> None:
        self._width: int | None = None
        self._same = True
        self._zero = False

    def see(self, text: Any) -> None:
        """Look at more values."""
        if not self._same:
            return
        text = present(text)
        widths = pc.min_max(pc.binary_length(text))
        least = widths["min"].as_py()
        if least is None:
            return
        self._same = least == widths["max"].as_py() and least >= 2 and self._width in (None, least)
        self._width = least
        self._zero = self._zero or bool(pc.any(pc.starts_with(text, "0")).as_py())

    @property
    def may_be_codes(self) -> bool:
        """Whether all that is left to ask is that they are digits."""
        return self._same and self._zero


def _all_digits(text: TextColumn) -> bool:
    return all(pc.all(pc.match_substring_regex(present(piece), "^[0-9]+$")).as_py() for piece in text.pieces())


def _check_slips(name: str, words: pa.Array, codes: pa.Array, word_row: Judge, *, decimal_comma: bool) -> None:
    """Refuse a column of numbers in which a few values are none."""
    dotted = pc.replace_substring(words, ",", ".") if decimal_comma else words
    is_number = pc.match_substring_regex(dotted, _NUMBER)
    n_each = np.bincount(_codes(codes, len(words)), minlength=len(words) + 1)[: len(words)]
    good = np.asarray(is_number.fill_null(False))
    bad = np.asarray(pc.invert(is_number).fill_null(False))
    n_good, n_bad = int(n_each[good].sum()), int(n_each[bad].sum())
    n_distinct = int(np.count_nonzero(good))
    if n_good <= _MOST_NUMBERS * (n_good + n_bad) or (n_distinct <= _FEWEST_NUMBERS and 2 * n_distinct <= n_good):
        return
    at = int(np.flatnonzero(np.append(bad, False)[_codes(codes, len(words))])[0])
    value = words[codes[at].as_py()].as_py()
    rest = (
        f", and the other {n_good:,} values are. Mend the line"
        if n_bad == 1
        else f"; {n_bad:,} values are not and {n_good:,} are. Mend the lines"
    )
    raise DataError(
        f"{word_row(at)}, column {name}: {value!r} is not a number{rest}, or declare the column categorical with kinds."
    )


def _codes(codes: pa.Array, missing: int) -> NDArray[np.int32]:
    return np.asarray(codes.fill_null(missing))


def _dictionary(words: pa.Array, codes: pa.Array) -> pa.Array:
    """Return the codes into the words that are present, null elsewhere."""
    valid = np.asarray(words.is_valid())
    place = pa.array(np.cumsum(valid, dtype=np.int32) - 1, mask=~valid)
    return pa.DictionaryArray.from_arrays(place.take(codes), words.drop_null())
