"""A column of text to its values: numbers, booleans, dates or text, judged by the whole column."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tamiz.exceptions import DataError
from tamiz.sources.raw import RawColumn

# A field that is one of these words, blanks around it aside, is missing.
MISSING = frozenset({"", "?", ".", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "None", "NaT"})

_NUMBER = r"^[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?$|^[-+]?(?i:inf|infinity)$"
_BLANKS = " \t\r\n\v\f\u00a0"
# Among more than this share of numbers, what is no number is a slip rather than a value.
_MOST_NUMBERS = 0.9
# Numbers of at most this many different values may be codes that have a few letters among them.
_FEWEST_NUMBERS = 20

Judge = Callable[[int], str]


def read_column(name: str, text: pa.ChunkedArray, word_row: Judge, *, decimal_comma: bool, guess: bool) -> RawColumn:
    """Read a whole column of text. Where the kind is left to `guess`, a few slips among numbers are an error."""
    numbers = _cast(text, pa.float64())
    if numbers is not None and not _is_code(text):
        return RawColumn(name, _to_numpy(numbers))
    # From here on the distinct values are enough.
    encoded = text.dictionary_encode().unify_dictionaries().combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0) if encoded.num_chunks else pa.array([], pa.string()).dictionary_encode()
    words = pc.utf8_trim(encoded.dictionary, _BLANKS)
    words = pc.if_else(pc.is_in(words, pa.array(sorted(MISSING))), pa.scalar(None, words.type), words)
    present = words.drop_null()
    if not len(present):
        return RawColumn(name, np.full(len(text), np.nan))
    if not _is_code(present):
        if (numbers := _as_numbers(words, decimal_comma=decimal_comma)) is not None:
            return RawColumn(name, _to_numpy(numbers.take(encoded.indices)))
        if (typed := _as_booleans(words, present)) is not None or (typed := _as_dates(words)) is not None:
            return RawColumn(name, typed.take(encoded.indices))
        if guess:
            _check_slips(name, words, encoded.indices, word_row, decimal_comma=decimal_comma)
    return RawColumn(name, _dictionary(words, encoded.indices))


def looks_typed(values: Collection[str], *, decimal_comma: bool) -> bool:
    """Whether every value reads as a number, a boolean or a date."""
    words = pa.array([value.strip() for value in values], pa.string())
    return (
        _as_numbers(words, decimal_comma=decimal_comma) is not None
        or _as_booleans(words, words) is not None
        or _as_dates(words) is not None
    )


def _cast(text: Any, kind: pa.DataType) -> Any:
    try:
        return text.cast(kind)
    except pa.ArrowInvalid:
        return None


def _to_numpy(numbers: Any) -> NDArray[np.float64]:
    return np.ascontiguousarray(numbers.to_numpy(zero_copy_only=False))


def _is_code(text: Any) -> bool:
    """Whether the values are digits of one width, some with a zero in front, as postal codes are."""
    widths = pc.min_max(pc.binary_length(text))
    width = widths["min"].as_py()
    if width is None or width < 2 or width != widths["max"].as_py():
        return False
    if not pc.any(pc.starts_with(text, "0")).as_py():
        return False
    return bool(pc.all(pc.match_substring_regex(text, "^[0-9]+$")).as_py())


def _as_numbers(words: pa.Array, *, decimal_comma: bool) -> pa.Array | None:
    numbers = _cast(words, pa.float64())
    if numbers is None and decimal_comma and not pc.any(pc.match_substring(words, ".")).as_py():
        numbers = _cast(pc.replace_substring(words, ",", "."), pa.float64())
    return numbers


def _as_booleans(words: pa.Array, present: pa.Array) -> pa.Array | None:
    if not pc.all(pc.is_in(pc.utf8_lower(present), pa.array(["true", "false"]))).as_py():
        return None
    return pc.equal(pc.utf8_lower(words), "true")


def _as_dates(words: pa.Array) -> pa.Array | None:
    dates = _cast(words, pa.timestamp("us"))
    if dates is None and (moments := _cast(words, pa.timestamp("us", "UTC"))) is not None:
        dates = moments.cast(pa.timestamp("us"))
    return dates


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


def _codes(codes: pa.Array, missing: int) -> NDArray[np.int64]:
    return np.asarray(codes.cast(pa.int64()).fill_null(missing))


def _dictionary(words: pa.Array, codes: pa.Array) -> pa.Array:
    """Return the codes into the words that are present, null elsewhere."""
    valid = np.asarray(words.is_valid())
    place = pa.array(np.cumsum(valid, dtype=np.int32) - 1, mask=~valid)
    return pa.DictionaryArray.from_arrays(place.take(codes), words.drop_null())
