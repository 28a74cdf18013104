"""Words as values: which are missing, and what reads as a number, a boolean or a date."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

# A field that is one of these words, blanks around it aside, is missing.
MISSING_WORDS = frozenset(
    {"", "?", ".", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "None", "NaT"}
)

# All that begins with a letter and is a value of a type.
_TYPED_WORDS = frozenset({"true", "false", "nan", "inf", "infinity"})
# Whole numbers of up to 18, 38 and 76 digits.
_INTEGER_TYPES = (pa.int64(), pa.decimal128(38, 0), pa.decimal256(76, 0))
_BLANKS = " \t\r\n\v\f\u00a0"


def clean_words(words: Any) -> Any:
    """Return words without the blanks around them, null for those that stand for a missing value."""
    words = pc.utf8_trim(words, _BLANKS)
    return pc.if_else(pc.is_in(words, pa.array(sorted(MISSING_WORDS))), pa.scalar(None, words.type), words)


def looks_typed(values: Collection[str], *, decimal_comma: bool) -> bool:
    """Whether every value reads as a number, a boolean or a date."""
    # Of 100,000 names of columns nearly all are told by their first letter.
    if any(value[:1].isalpha() and value.lower() not in _TYPED_WORDS for value in map(str.strip, values)):
        return False
    words = pa.array([value.strip() for value in values], pa.string())
    return (
        as_numbers(words, decimal_comma=decimal_comma) is not None
        or as_booleans(words, words) is not None
        or as_dates(words) is not None
    )


def try_cast(text: Any, kind: pa.DataType) -> Any:
    """Return words as another type, None where one of them is none."""
    try:
        return text.cast(kind)
    except pa.ArrowInvalid:
        return None


def as_numbers(words: pa.Array, *, decimal_comma: bool) -> Any:
    """Return words as float64, None where one is no number; a decimal comma only where there is no point."""
    numbers = try_cast(words, pa.float64())
    if numbers is None and decimal_comma and not pc.any(pc.match_substring(words, ".")).as_py():
        numbers = try_cast(pc.replace_substring(words, ",", "."), pa.float64())
    return numbers


def as_exact_integers(words: Any) -> Any:
    """Return words as whole numbers, exact however long they are; None where one has a fraction or too many digits."""
    return next((typed for kind in _INTEGER_TYPES if (typed := try_cast(words, kind)) is not None), None)


def as_integers_or_codes(words: Any) -> Any:
    """Return words that are numbers as whole numbers, codes with zeros in front as they are; None where one is not whole."""
    whole = try_cast(words, pa.int64())
    if whole is None or not pc.any(pc.match_substring_regex(words, "^[-+]?0[0-9]")).as_py():
        return whole
    return words


def as_booleans(words: pa.Array, found: pa.Array) -> pa.Array | None:
    """Return words as booleans, None where one is neither true nor false."""
    if not pc.all(pc.is_in(pc.utf8_lower(found), pa.array(["true", "false"]))).as_py():
        return None
    return pc.equal(pc.utf8_lower(words), "true")


def as_dates(words: pa.Array) -> pa.Array | None:
    """Return words as moments, None where one is none."""
    dates = try_cast(words, pa.timestamp("us"))
    if dates is None and (moments := try_cast(words, pa.timestamp("us", "UTC"))) is not None:
        dates = moments.cast(pa.timestamp("us"))
    return dates
