"""Conversion of text to values: words for missing values, numbers, booleans and dates.

Values in other notation are read by `written_values`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tamiz.runtime.validation import check_memory

# A field that equals one of these words, apart from blanks around it, is missing.
MISSING_WORDS = frozenset(
    {"", "?", ".", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "None", "NaT"}
)
_MISSING_WORDS = pa.array(sorted(MISSING_WORDS))

# The words that begin with a letter and are numbers or booleans.
_TYPED_WORDS = frozenset({"true", "false", "nan", "inf", "infinity"})
# Integers of up to 18, 38 and 76 digits.
_INTEGER_TYPES = (pa.int64(), pa.decimal128(38, 0), pa.decimal256(76, 0))
_BLANKS = " \t\r\n\v\f\u00a0"

# Number of words of which a cast is tried before that of all words.
_HEAD_WORDS = 2**8

# The free memory is not checked for dictionaries below this size.
_UNCHECKED_BYTES = 2**24


def clean_words(words: Any, na: Collection[str] = ()) -> Any:
    """Return words without the blanks around them, null for `MISSING_WORDS` and those of `na`."""
    words = pc.utf8_trim(words, _BLANKS)
    missing = pa.array([*MISSING_WORDS, *na]) if na else _MISSING_WORDS
    return pc.if_else(pc.is_in(words, missing), pa.scalar(None, words.type), words)


def looks_typed(values: Collection[str], *, decimal_comma: bool) -> bool:
    """Return whether all values are numbers, booleans or dates."""
    # The first letter suffices for nearly all names of columns, of which there may be 100,000.
    if any(value[:1].isalpha() and value.lower() not in _TYPED_WORDS for value in map(str.strip, values)):
        return False
    words = pa.array([value.strip() for value in values], pa.string())
    return (
        as_numbers(words, decimal_comma=decimal_comma) is not None
        or as_booleans(words, words) is not None
        or as_dates(words) is not None
    )


def try_cast(text: Any, kind: pa.DataType) -> Any:
    """Cast words to another type; return None if one cannot be cast."""
    try:
        # Arrow writes an error message for every word that it cannot cast, so the first words are cast on their own.
        if len(text) > _HEAD_WORDS:
            text[:_HEAD_WORDS].cast(kind)
        return text.cast(kind)
    except pa.ArrowInvalid:
        return None


def as_numbers(words: pa.Array, *, decimal_comma: bool) -> Any:
    """Return words as float64; None if one is not a number. A decimal comma is accepted only if no word has a decimal point."""
    numbers = try_cast(words, pa.float64())
    if numbers is None and decimal_comma and not pc.any(pc.match_substring(words, ".")).as_py():
        numbers = try_cast(pc.replace_substring(words, ",", "."), pa.float64())
    return numbers


def as_exact_integers(words: Any) -> Any:
    """Return words as integers or decimals of up to 76 digits; None if one has a fraction or more digits."""
    return next((typed for kind in _INTEGER_TYPES if (typed := try_cast(words, kind)) is not None), None)


def as_integers_or_codes(words: Any) -> Any:
    """Return words as integers, or unchanged if one has leading zeros; None if one is not an integer."""
    whole = try_cast(words, pa.int64())
    if whole is None or not pc.any(pc.match_substring_regex(words, "^[-+]?0[0-9]")).as_py():
        return whole
    return words


def as_booleans(words: pa.Array, present: pa.Array) -> pa.Array | None:
    """Return words as booleans; None if one of the words that are `present` (not null) is neither true nor false."""
    if not pc.all(pc.is_in(pc.utf8_lower(present), pa.array(["true", "false"]))).as_py():
        return None
    return pc.equal(pc.utf8_lower(words), "true")


def as_dates(words: pa.Array) -> pa.Array | None:
    """Return words as timestamps, those with an offset in UTC; None if one is not a date.

    The unit is the microsecond, or the nanosecond if a word has more digits of a second.
    """
    for unit in ("us", "ns"):
        if (dates := try_cast(words, pa.timestamp(unit))) is not None:
            return dates
        if (in_utc := try_cast(words, pa.timestamp(unit, "UTC"))) is not None:
            return in_utc.cast(pa.timestamp(unit))
    return None


def encode_dictionary(name: str, pieces: Iterable[pa.ChunkedArray]) -> pa.DictionaryArray:
    """Dictionary-encode a column of text piece by piece; the distinct values are in the order of their first occurrence."""
    parts: list[pa.Array] = []
    n_bytes = 0
    for piece in pieces:
        chunks = piece.dictionary_encode().unify_dictionaries().chunks
        parts += chunks
        n_bytes += chunks[-1].dictionary.nbytes if chunks else 0
        if n_bytes > _UNCHECKED_BYTES:
            # The dictionaries of the pieces, that of the whole column, and the hash table that merges them.
            check_memory(
                4.0 * n_bytes,
                f"Encoding the distinct values of column {name}",
                f"If it is free text, exclude it with kinds={{{name!r}: 'text'}}.",
            )
    encoded = pa.chunked_array(parts, None if parts else pa.dictionary(pa.int32(), pa.string())).unify_dictionaries()
    whole = encoded.combine_chunks()
    return whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
