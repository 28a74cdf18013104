"""Numbers and dates as people write them: read where a whole column leaves no doubt, and named where it leaves some."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tamiz.sources.text_values import as_dates, try_cast

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
