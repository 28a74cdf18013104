"""Conversion of text to values: words for missing values, numbers, booleans and dates.

`as_numbers`, `as_booleans` and `as_dates` read plain notation. `parse_formatted` also reads percentages, separators of thousands
and dates with slashes, if a whole column is unambiguous; `recognize_format` names such a format for a warning if it is not.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
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

# Groups of three digits separated by a comma or a point, and a fraction after the other.
_COMMA_THOUSANDS = r"^[-+]?(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?$"
_POINT_THOUSANDS = r"^[-+]?(?:[1-9][0-9]{0,2}(?:\.[0-9]{3})+|[0-9]+)(?:,[0-9]+)?$"
_TIME = r"(?P<time>(?:[ T][0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?)?)"
_YEAR_LAST = rf"^(?P<first>[0-9]{{1,2}})[/.-](?P<second>[0-9]{{1,2}})[/.-](?P<year>[0-9]{{4}}){_TIME}$"
_YEAR_FIRST = rf"^(?P<year>[0-9]{{4}})[/.](?P<first>[0-9]{{1,2}})[/.](?P<second>[0-9]{{1,2}}){_TIME}$"
_MONTHS = 12

# Number of levels that are inspected, and the share and number of them that must have the same format.
_MAX_LEVELS, _MIN_ALIKE_SHARE, _MIN_LEVELS = 500, 0.9, 3
_DIGITS = r"[-+]?[0-9][0-9.,' ]*"
_NUMBER_PATTERN = re.compile(rf"{_DIGITS}|[-+]?\.[0-9]+", re.ASCII)
_MONEY_PATTERN = re.compile(rf"[-+]?[$€£¥] ?{_DIGITS}|{_DIGITS} ?[$€£¥]")
_UNIT_PATTERN = re.compile(rf"{_DIGITS} ?([^\W\d_]{{1,6}}[²³]?(?:/[^\W\d_]{{1,4}}[²³]?)?|%|°[CF]?)")
_DATE_PATTERN = re.compile(r"[0-9]{1,4}[/.-][0-9]{1,2}[/.-][0-9]{1,4}([ T][0-9:]+)?", re.ASCII)
_IS_PLAIN = re.compile(r"[0-9]+|[-+]?[0-9]*\.?[0-9]+|[0-9]{4}-[0-9]{2}-[0-9]{2}([ T].*)?", re.ASCII).fullmatch
_AMBIGUOUS = "dates with an ambiguous order of day and month"
_ORDINALS = frozenset({"st", "nd", "rd", "th"})


def clean_words(words: Any) -> Any:
    """Return words without the blanks around them, null for `MISSING_WORDS`."""
    words = pc.utf8_trim(words, _BLANKS)
    return pc.if_else(pc.is_in(words, _MISSING_WORDS), pa.scalar(None, words.type), words)


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


def parse_formatted(words: Any, *, comma_first: bool | None) -> Any:
    """Return words as float64 or timestamps; None if one is neither, or if the words are ambiguous.

    Percentages become numbers without the percent sign. Commas or points may separate thousands; the other begins a fraction. If
    all words can be read both ways, `comma_first` decides: whether a comma begins a fraction, or None if this is unknown. Day and
    month are distinguished by a value above 12.
    """
    percent = pc.match_substring_regex(words, r"^[^%]*[0-9] ?%$")
    if words.null_count < len(words) and pc.all(percent).as_py():
        words = pc.replace_substring_regex(words, " ?%$", "")
        if (plain := try_cast(words, pa.float64())) is not None:
            return plain
    numbers = _parse_formatted_numbers(words, comma_first=comma_first)
    return _parse_formatted_dates(words) if numbers is None else numbers


def _parse_formatted_numbers(words: Any, *, comma_first: bool | None) -> Any:
    by_commas = pc.all(pc.match_substring_regex(words, _COMMA_THOUSANDS)).as_py()
    by_points = pc.all(pc.match_substring_regex(words, _POINT_THOUSANDS)).as_py()
    if by_commas and by_points:
        if comma_first is None:
            return None
        by_points = comma_first
    if by_points:
        words = pc.replace_substring(pc.replace_substring(words, ".", ""), ",", ".")
    elif by_commas:
        words = pc.replace_substring(words, ",", "")
    return try_cast(words, pa.float64()) if by_commas or by_points else None


def _parse_formatted_dates(words: Any) -> Any:
    """Return dates with slashes, points or hyphens as timestamps; a value above 12 decides the order of day and month."""
    for pattern in (_YEAR_LAST, _YEAR_FIRST):
        if not pc.all(pc.match_substring_regex(words, pattern)).as_py():
            continue
        parts = pc.extract_regex(words, pattern)
        year, first, second, time = (pc.struct_field(parts, name) for name in ("year", "first", "second", "time"))
        largest = [pc.max(part.cast(pa.int64())).as_py() or 0 for part in (first, second)]
        month_first = pattern == _YEAR_FIRST or (largest[0] <= _MONTHS < largest[1])
        if not month_first and not largest[1] <= _MONTHS < largest[0]:
            return None
        month, day = (first, second) if month_first else (second, first)
        padded = [pc.utf8_lpad(part, 2, "0") for part in (month, day)]
        return as_dates(pc.binary_join_element_wise(pc.binary_join_element_wise(year, *padded, "-"), time, ""))
    return None


def recognize_format(levels: Sequence[str]) -> tuple[str, str] | None:
    """Return the format of levels that look like numbers or dates, and an example; None for ordinary categories."""
    sample = levels[:: max(1, len(levels) // _MAX_LEVELS)]
    if len(sample) < _MIN_LEVELS or not any(character.isdigit() for character in sample[0] + sample[-1]):
        return None
    for format_name, matching in (
        (_AMBIGUOUS, [level for level in sample if _DATE_PATTERN.fullmatch(level)]),
        ("amounts of money", [level for level in sample if _MONEY_PATTERN.fullmatch(level)]),
        ("numbers with a unit", _with_unit(sample)),
        (
            "numbers",
            [level for level in sample if _NUMBER_PATTERN.fullmatch(level) and not _DATE_PATTERN.fullmatch(level)],
        ),
    ):
        if len(matching) >= max(_MIN_LEVELS, _MIN_ALIKE_SHARE * len(sample)):
            if format_name in ("numbers", _AMBIGUOUS) and all(map(_IS_PLAIN, sample)):
                # Codes with leading zeros, or plain numbers and dates that a data frame contains as text on purpose.
                return None
            return format_name, next((level for level in matching if not level.isdigit()), matching[0])
    return None


def _with_unit(levels: Sequence[str]) -> list[str]:
    """Return the levels that consist of a number and a unit, if most have the same unit or a blank before the unit."""
    matching = [
        (level, match[1])
        for level in levels
        if (match := _UNIT_PATTERN.fullmatch(level)) and match[1].lower() not in _ORDINALS
    ]
    n_spaced = sum(level.endswith(f" {unit}") for level, unit in matching)
    n_most_frequent = max(
        (sum(unit == other for _, other in matching) for unit in {unit for _, unit in matching}), default=0
    )
    # A number with one letter, such as 3a, is a code.
    are_units = all(len(unit) > 1 or not unit.isalpha() for _, unit in matching) or n_spaced == len(matching)
    is_uniform = max(n_spaced, n_most_frequent) >= _MIN_ALIKE_SHARE * len(matching)
    return [level for level, _ in matching] if are_units and is_uniform else []
