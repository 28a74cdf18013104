"""Words as values: which are missing, and what reads as a number, a boolean or a date."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tamiz.runtime.validation import check_memory

# MERGED: Numbers and dates as people write them: read where a whole column leaves no doubt, and named where it leaves some.
# Groups of three digits by one sign, a fraction by the other.
_COMMA_THOUSANDS = r"^[-+]?(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?$"
_POINT_THOUSANDS = r"^[-+]?(?:[1-9][0-9]{0,2}(?:\.[0-9]{3})+|[0-9]+)(?:,[0-9]+)?$"
_TIME = r"(?P<time>(?:[ T][0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?)?)"
_YEAR_LAST = rf"^(?P<first>[0-9]{{1,2}})[/.-](?P<second>[0-9]{{1,2}})[/.-](?P<year>[0-9]{{4}}){_TIME}$"
_YEAR_FIRST = rf"^(?P<year>[0-9]{{4}})[/.](?P<first>[0-9]{{1,2}})[/.](?P<second>[0-9]{{1,2}}){_TIME}$"
_MONTHS = 12

# As many levels are looked at, and so many of them must look alike.
_MAX_LEVELS, _MIN_ALIKE_SHARE, _MIN_LEVELS = 500, 0.9, 3
_DIGITS = r"[-+]?[0-9][0-9.,' ]*"
_NUMBER_PATTERN = re.compile(rf"{_DIGITS}|[-+]?\.[0-9]+", re.ASCII)
_MONEY_PATTERN = re.compile(rf"[-+]?[$€£¥] ?{_DIGITS}|{_DIGITS} ?[$€£¥]")
_UNIT_PATTERN = re.compile(rf"{_DIGITS} ?([^\W\d_]{{1,6}}[²³]?(?:/[^\W\d_]{{1,4}}[²³]?)?|%|°[CF]?)")
_DATE_PATTERN = re.compile(r"[0-9]{1,4}[/.-][0-9]{1,2}[/.-][0-9]{1,4}([ T][0-9:]+)?", re.ASCII)
_IS_PLAIN = re.compile(r"[0-9]+|[-+]?[0-9]*\.?[0-9]+|[0-9]{4}-[0-9]{2}-[0-9]{2}([ T].*)?", re.ASCII).fullmatch
_AMBIGUOUS = "dates whose day and month cannot be told apart"
_ORDINALS = frozenset({"st", "nd", "rd", "th"})


def parse_formatted(words: Any, *, comma_first: bool | None) -> Any:
    """Return words as float64 or moments, None where one is neither or they can be read in two ways.

    Percentages are numbers without their sign. Commas or points may part thousands, and the other sign begins a fraction. Where
    every value can be read both ways, `comma_first` states whether a comma begins a fraction, None that it is not known.
    Day and month are told apart by a value above 12.
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
    """Return dates with slashes or points as moments; the order of day and month is told by one that is above 12."""
    for pattern in (_YEAR_LAST, _YEAR_FIRST):
        if not pc.all(pc.match_substring_regex(words, pattern)).as_py():
            continue
        parts = pc.extract_regex(words, pattern)
        year, first, second, time = (pc.struct_field(parts, name) for name in ("year", "first", "second", "time"))
        top = [pc.max(part.cast(pa.int64())).as_py() or 0 for part in (first, second)]
        month_first = pattern == _YEAR_FIRST or (top[0] <= _MONTHS < top[1])
        if not month_first and not top[1] <= _MONTHS < top[0]:
            return None
        month, day = (first, second) if month_first else (second, first)
        padded = [pc.utf8_lpad(part, 2, "0") for part in (month, day)]
        return as_dates(pc.binary_join_element_wise(pc.binary_join_element_wise(year, *padded, "-"), time, ""))
    return None


def recognize_format(levels: Sequence[str]) -> tuple[str, str] | None:
    """Return what text looks like that is taken as categories, and one of its values; None where it looks like categories."""
    some = levels[:: max(1, len(levels) // _MAX_LEVELS)]
    if len(some) < _MIN_LEVELS or not any(character.isdigit() for character in some[0] + some[-1]):
        return None
    for what, found in (
        (_AMBIGUOUS, [level for level in some if _DATE_PATTERN.fullmatch(level)]),
        ("amounts of money", [level for level in some if _MONEY_PATTERN.fullmatch(level)]),
        ("numbers with a unit", _with_unit(some)),
        (
            "numbers",
            [level for level in some if _NUMBER_PATTERN.fullmatch(level) and not _DATE_PATTERN.fullmatch(level)],
        ),
    ):
        if len(found) >= max(_MIN_LEVELS, _MIN_ALIKE_SHARE * len(some)):
            if what in ("numbers", _AMBIGUOUS) and all(map(_IS_PLAIN, some)):
                # Codes with zeros in front; and what a frame has as text although it is written as numbers and days are.
                return None
            return what, next((level for level in found if not level.isdigit()), found[0])
    return None


def _with_unit(levels: Sequence[str]) -> list[str]:
    """Return the levels that are a number and a unit, most of them of one unit or with a blank before it."""
    found = [
        (level, match[1])
        for level in levels
        if (match := _UNIT_PATTERN.fullmatch(level)) and match[1].lower() not in _ORDINALS
    ]
    spaced = sum(level.endswith(f" {unit}") for level, unit in found)
    of_one = max((sum(unit == other for _, other in found) for unit in {unit for _, unit in found}), default=0)
    # One letter after a number, such as 3a, is a code.
    long = all(len(unit) > 1 or not unit.isalpha() for _, unit in found) or spaced == len(found)
    return [level for level, _ in found] if long and max(spaced, of_one) >= _MIN_ALIKE_SHARE * len(found) else []


# MERGED: Text as numbers of its distinct values, piece by piece.
# Words of fewer bytes are not worth a question how much memory there is.
_UNCHECKED_BYTES = 2**24


def encode_dictionary(name: str, pieces: Iterable[pa.ChunkedArray]) -> pa.DictionaryArray:
    """Return a column of text by the numbers of its distinct values, in the order in which they are first met."""
    parts: list[pa.Array] = []
    held = 0
    for piece in pieces:
        chunks = piece.dictionary_encode().unify_dictionaries().chunks
        parts += chunks
        held += chunks[-1].dictionary.nbytes if chunks else 0
        if held > _UNCHECKED_BYTES:
            # The words of the pieces, those of the whole, and where each is found.
            check_memory(
                4.0 * held,
                f"Telling the values of column {name} apart",
                f"If it is text that takes no part, say so: kinds={{{name!r}: 'text'}}.",
            )
    encoded = pa.chunked_array(parts, None if parts else pa.dictionary(pa.int32(), pa.string())).unify_dictionaries()
    whole = encoded.combine_chunks()
    return whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole


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
