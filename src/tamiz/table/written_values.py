"""Numbers and dates as people and programs write them: `$1,234`, `(5)`, `12 kg`, `13-Jan-2020`, `2012-Q1`.

A column is read where its words can be read in one way only. The words are the distinct values of a column, null where missing.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import time
from functools import partial
from string import ascii_uppercase
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tamiz.arrays import Masks
from tamiz.runtime.verdicts import Verdict
from tamiz.table.text_values import as_dates, try_cast

# Full-width digits and signs, other minus signs and blanks, and what they are in plain notation.
_UNUSUAL = "０１２３４５６７８９＋－．，％：／\u2212\u2010\u2011\u2013\u2248\u00a0\u202f\u2009\u2007\u3000\u2019"
_PLAIN = dict(zip(_UNUSUAL, "0123456789+-.,%:/----~     '", strict=True))
_CURRENCIES = (
    "USD|EUR|GBP|JPY|CHF|CAD|AUD|NZD|CNY|RMB|HKD|SGD|INR|BRL|MXN|ARS|CLP|COP|ZAR|RUB|TRY|PLN|CZK|HUF|SEK|NOK|DKK|ISK|ILS|KRW|"
    r"THB|IDR|MYR|PHP|VND|AED|SAR|EGP|NGN|KES|US\$|R\$|[$€£¥₹₽₩₺]"
)
_DIGITS = r"[0-9](?:[0-9.,' ]*[0-9.,])?(?:[eE][-+]?[0-9]+)?|\.[0-9]+"
_UNIT = r"%|‰|°[CFK]?|[^\W\d_]{1,6}[²³23]?(?:/[^\W\d_]{1,4}[²³23]?)?"
_NUMBER = (
    rf"^(?P<open>\(?) ?(?P<approximate>~?) ?(?P<sign>[-+]?) ?(?P<before>(?:{_CURRENCIES})?) ?(?P<second>[-+]?)"
    rf"(?P<digits>{_DIGITS})(?P<blank> ?)(?P<after>(?:{_CURRENCIES}|{_UNIT})?) ?(?P<minus>-?)(?P<close>\)?)$"
)
_ORDINALS = frozenset({"st", "nd", "rd", "th"})
# Groups of three digits separated by a comma or a point, and a fraction after the other. In India the further groups have two.
_COMMA_THOUSANDS = r"^(?:[1-9][0-9]{0,2}(?:(?:,[0-9]{2})*,[0-9]{3})+|[0-9]*)(?:\.[0-9]*)?(?:[eE].*)?$"
_POINT_THOUSANDS = r"^(?:[1-9][0-9]{0,2}(?:\.[0-9]{3})+|[0-9]*)(?:,[0-9]*)?(?:[eE].*)?$"
_BLANK_THOUSANDS = r"^[1-9][0-9]{0,2}(?:([ '])[0-9]{3})(?:[ '][0-9]{3})*(?:[.,][0-9]*)?$|^[^ ']*$"

# Words that are missing values beside numbers or dates, and that may be levels in other columns: those of databases, spreadsheets
# and SAS.
_SPREADSHEET_ERRORS = "#DIV/0! #REF! #VALUE! #NAME? #NUM! #NULL! #ERROR!"
_OTHER_WORDS = r"- -- --- * \N n.a. N.A. na Na nil NIL none NONE missing Missing MISSING unknown Unknown UNKNOWN (null)"
WORDS_FOR_MISSING = pa.array(
    [*_SPREADSHEET_ERRORS.split(), *_OTHER_WORDS.split(), *(f".{letter}" for letter in ascii_uppercase)]
)
_MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAME = (
    r"(?P<name>(?i:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?))\.?"
)
_WEEKDAY = r"(?:(?i:mon|tue|wed|thu|fri|sat|sun)[A-Za-z]*,? )?"
_CLOCK = r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<seconds>[0-9]{2}(?:\.[0-9]{1,9})?))?(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?"
_TIME = rf"(?:(?:[ T:]|, ?){_CLOCK}(?: ?(?P<offset>Z|UTC|GMT|[-+][0-9]{{2}}:?[0-9]{{2}}))?)?"
_YEAR, _TWO = r"(?P<year>[0-9]{4})", r"[0-9]{1,2}"
# In the order in which they are tried. `first` and `second` are a day and a month in an order that the values decide.
_DATES = tuple(
    rf"^{date}{_TIME}$"
    for date in (
        rf"{_YEAR}[-/.](?P<month>{_TWO})[-/.](?P<day>{_TWO})",
        rf"(?P<first>{_TWO})[/.-](?P<second>{_TWO})[/.-]{_YEAR}",
        rf"{_WEEKDAY}(?P<day>{_TWO})(?:st|nd|rd|th)?\.?[- ]?{_NAME}[-, ]*{_YEAR}",
        rf"{_WEEKDAY}{_NAME}[- ](?P<day>{_TWO})(?:st|nd|rd|th)?,?[- ]{_YEAR}",
        rf"{_YEAR}[- ]?{_NAME}[- ]?(?P<day>{_TWO})",
        rf"{_YEAR}[-/](?P<month>{_TWO})",
        rf"{_NAME}[-, ]+{_YEAR}",
        rf"{_YEAR}[- ]?[Qq](?P<quarter>[1-4])",
        rf"[Qq](?P<quarter>[1-4])[- /]?{_YEAR}",
        rf"{_YEAR}-?W(?P<week>[0-9]{{2}})(?:-?(?P<weekday>[1-7]))?",
    )
)
_ISO_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"
_COMPACT = rf"^{_YEAR}(?P<month>[0-9]{{2}})(?P<day>[0-9]{{2}})$"
_ONLY_CLOCK = rf"^{_CLOCK}$"
_COMPACT_YEARS = (1900, 2101)
_MONTHS = 12

# Levels that are inspected, and the least number and share of them that look like numbers or dates.
_MAX_LEVELS, _MIN_LEVELS, _MIN_ALIKE_SHARE = 500, 3, 0.9

Words: TypeAlias = pa.Array


class Reading(NamedTuple):
    """What words were read as.

    Attributes
    ----------
    values : pyarrow.Array
        float64, timestamps or times of day; null for words that are missing or were not read.
    example : str or None
        A word that was read and is not in plain notation, None if all are.
    unit : str
        The unit or currency that all numbers have.
    """

    values: pa.Array
    example: str | None = None
    unit: str = ""


class Ambiguity(NamedTuple):
    """Why words that look like numbers or dates were not read, and three of them."""

    reason: str
    examples: tuple[str, ...] = ()
    what: str = "numbers"
    advice: str = "Write all in one way."


def unwrap_words(words: Words) -> Words:
    """Return words without the form ="..." by which spreadsheets keep text."""
    return pc.replace_substring_regex(words, r'^="(.*)"$', r"\1") if _any(words, '^="') else words


def _to_plain_characters(words: Words) -> Words:
    """Return words with ASCII digits, signs and blanks."""
    if _any(words, r"[^\x00-\x7f]"):
        for character, plain in _PLAIN.items():
            words = pc.replace_substring(words, character, plain)
    return words


def _any(words: Words, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(words, pattern)).as_py())


def read_numbers(words: Words, *, comma_first: bool | None) -> Reading | Ambiguity | None:
    """Return words as numbers; None if the first words are none.

    Currencies, units and percent signs are dropped if all words have the same. Commas, points, blanks or apostrophes may separate
    thousands. If all words can be read with a comma before the fraction and with commas between thousands, `comma_first` decides;
    None is that this is unknown.
    """
    plain = _to_plain_characters(words)
    parts = _extract(plain, _NUMBER)
    found = parts["digits"].is_valid()
    present = int(pc.sum(found).as_py() or 0)
    if not present:
        return None
    n_words = int(pc.sum(pc.invert(pc.is_in(words.drop_null(), WORDS_FOR_MISSING))).as_py() or 0)

    def ambiguous(why: Ambiguity) -> Ambiguity | None:
        return why._replace(examples=_three(words, found)) if present >= _MIN_ALIKE_SHARE * n_words else None

    opened, closed = _has(parts["open"]), _has(parts["close"])
    minus, signs = _has(parts["minus"]), [_get(parts[name]) for name in ("sign", "second")]
    negative = [opened & closed, minus, signs[0] == "-", signs[1] == "-"]
    unit = _common_unit(parts, found)
    if unit is None or (opened != closed).any() or (np.sum(negative, axis=0) > 1).any():
        return None
    if isinstance(unit, Ambiguity):
        return ambiguous(unit)
    for marked, what in ((opened, "all are in parentheses"), (minus, "all end with a minus")):
        if marked.sum() == present:
            return ambiguous(Ambiguity(what))
    digits = _to_fractions(parts["digits"], comma_first)
    if digits is None:
        return None
    if isinstance(digits, Ambiguity):
        return ambiguous(digits)
    numbers = try_cast(digits, pa.float64())
    if numbers is None:
        return None
    values = np.where(np.any(negative, axis=0), -1.0, 1.0) * numbers.to_numpy(zero_copy_only=False)
    is_plain = pc.equal(pc.replace_substring_regex(words, "^[-+]", ""), digits)
    unusual = words.filter(pc.invert(pc.fill_null(is_plain, True)))
    # The word that could be read in another way is the example.
    doubtful = unusual.filter(pc.match_substring_regex(unusual, "[.,][0-9]{3}$"))
    example = next(iter([*doubtful[:1].to_pylist(), *unusual[:1].to_pylist()]), None)
    return Reading(pa.array(values, from_pandas=True), example, unit)


def _common_unit(parts: dict[str, Words], found: pa.Array) -> str | Ambiguity | None:
    """Return the unit that all numbers have, "" if none has one, None if a word is no number with a unit."""
    before, after, blank = _get(parts["before"]), _get(parts["after"]), _get(parts["blank"])
    read = np.asarray(found)
    if ((before != "") & (after != "") & (after != "%") & read).any():
        return None
    texts = np.char.add(before[read].astype(str), after[read].astype(str))
    units = {unit.strip() for unit in texts}
    # A number with one letter, such as 3a, is a code, and 10th is an ordinal number.
    letters = {unit for unit in units if len(unit) == 1 and unit.isalpha()}
    if any(unit.lower() in _ORDINALS for unit in units) or (np.isin(texts, list(letters)) & (blank[read] == "")).any():
        return None
    if len(units) == 1:
        return units.pop()
    if units == {"", "%"}:
        return Ambiguity("some are percentages and some have no percent sign")
    if len(units) > 3:
        return None
    named = ", ".join(sorted(units - {""}))
    return Ambiguity(
        f"some have a unit ({named}) and some have none" if "" in units else f"their units differ ({named})"
    )


def _to_fractions(digits: Words, comma_first: bool | None) -> Words | Ambiguity | None:
    """Return digits without separators of thousands and with a point before the fraction."""
    digits = pc.utf8_trim(digits, " ")
    if not pc.all(pc.match_substring_regex(digits, _BLANK_THOUSANDS)).as_py():
        return None
    digits = pc.replace_substring_regex(digits, "[ ']", "")
    by_commas = pc.all(pc.match_substring_regex(digits, _COMMA_THOUSANDS)).as_py()
    by_points = pc.all(pc.match_substring_regex(digits, _POINT_THOUSANDS)).as_py()
    if by_commas and by_points and pc.any(pc.match_substring_regex(digits, "[.,]")).as_py():
        if comma_first is None:
            return Ambiguity("a comma may separate thousands or a fraction")
        by_points = comma_first
    elif by_commas:
        by_points = False
    if by_points:
        return pc.replace_substring(pc.replace_substring(digits, ".", ""), ",", ".")
    return pc.replace_substring(digits, ",", "") if by_commas else None


def read_plain_dates(words: Words) -> Reading | None:
    """Return words as timestamps if all are written as YYYY-MM-DD, with or without a time."""
    return None if (dates := as_dates(words)) is None else Reading(dates)


def read_dates(words: Words, *, day_first: bool | None = None) -> Reading | Ambiguity | None:
    """Return words as timestamps or times of day; None if none is a date.

    Each word is read in the first notation that it fits. The order of day and month is that of a value above 12, or `day_first`. A
    month, a quarter and a week are their first day. Words with an offset are in UTC.
    """
    plain = _to_plain_characters(words)
    if (iso := as_dates(plain)) is not None:
        return Reading(iso)
    if (times := _read_clock_times(plain)) is not None:
        return Reading(times, words[int(np.flatnonzero(np.asarray(words.is_valid()))[0])].as_py())
    micros = np.zeros(len(words), dtype="int64")
    read = np.zeros(len(words), dtype=bool)

    def ambiguous(why: str, fits: Masks) -> Ambiguity | None:
        found = Ambiguity(why, _three(words, pa.array(fits)), "dates", "Write them as YYYY-MM-DD.")
        return found if fits.sum() >= _MIN_ALIKE_SHARE * (len(words) - words.null_count) else None

    for pattern in (*_DATES, _COMPACT):
        parts = _extract(plain, pattern)
        fits = np.asarray(parts["year"].is_valid()) & ~read
        if not fits.any():
            continue
        if pattern == _COMPACT and not _are_compact_dates(parts, plain):
            continue
        if "offset" in parts and len({bool(zone) for zone in _get(parts["offset"])[fits]}) > 1:
            return ambiguous("some have an offset from UTC and some have none", fits)
        if "first" in parts:
            order = _day_first(parts, fits) if day_first is None else day_first
            if order is None:
                return ambiguous("the order of day and month is unknown", fits)
            parts["day"], parts["month"] = (parts["first"], parts["second"])[:: 1 if order else -1]
        moments, valid = _moments(parts)
        micros[fits & valid] = moments[fits & valid]
        read |= fits & valid
    if not read.any():
        return None
    values = pa.array(micros, pa.int64(), mask=~read).cast(pa.timestamp("us"))
    unusual = np.flatnonzero(read & ~np.asarray(pc.fill_null(pc.match_substring_regex(words, _ISO_DATE), True)))
    return Reading(values, words[int(unusual[0])].as_py() if unusual.size else None)


def _read_clock_times(words: Words) -> pa.Array | None:
    """Return times of day such as 13:45 and 1:30 PM; None if a word is none."""
    parts = _extract(words, _ONLY_CLOCK)
    if words.null_count == len(words) or parts["hour"].null_count > words.null_count:
        return None
    micros, valid = _clock(parts)
    return (
        pa.array(micros, pa.int64(), mask=~np.asarray(words.is_valid())).cast(pa.time64("us"))
        if (valid | ~np.asarray(words.is_valid())).all()
        else None
    )


def _are_compact_dates(parts: dict[str, Words], words: Words) -> bool:
    """Whether all words are days written with eight digits, such as 20200301, and more than two."""
    years = _whole(parts["year"])[np.asarray(parts["year"].is_valid())]
    everything = parts["year"].null_count == words.null_count and len(years) > 2
    return bool(
        everything
        and _moments(parts)[1][np.asarray(words.is_valid())].all()
        and ((years >= _COMPACT_YEARS[0]) & (years < _COMPACT_YEARS[1])).all()
    )


def _day_first(parts: dict[str, Words], fits: NDArray[np.bool_]) -> bool | None:
    """Whether the day is before the month, by a value above 12; None if no value shows it, or if they contradict each other."""
    first, second = (_whole(parts[name])[fits].max() > _MONTHS for name in ("first", "second"))
    return None if first == second else bool(first)


def _moments(parts: dict[str, Words]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return microseconds since 1970, and which of them are moments that exist."""
    n = len(parts["year"])
    whole = {name: _whole(parts[name]) if name in parts else np.full(n, 1) for name in ("year", "month", "day")}
    if "name" in parts:
        short = pc.utf8_slice_codeunits(pc.utf8_lower(parts["name"]), 0, 3)
        whole["month"] = 1 + np.asarray(pc.fill_null(pc.index_in(short, pa.array(_MONTH_NAMES)), -1))
    if "quarter" in parts:
        whole["month"] = 3 * _whole(parts["quarter"]) - 2
    valid = (whole["month"] >= 1) & (whole["month"] <= _MONTHS) & (whole["day"] >= 1)
    months = np.clip(12 * (whole["year"] - 1970) + whole["month"] - 1, -12 * 1970, 12 * 8030).astype("datetime64[M]")
    days = months.astype("datetime64[D]").astype("int64") + whole["day"] - 1
    valid &= days < (months + 1).astype("datetime64[D]").astype("int64")
    if "week" in parts:
        # Week 1 contains 4 January, and weeks begin on Monday; 1970-01-01 was a Thursday.
        fourth = months.astype("datetime64[D]").astype("int64") + 3
        week, weekday = _whole(parts["week"]), np.maximum(_whole(parts["weekday"]), 1)
        days = fourth - (fourth + 3) % 7 + 7 * (week - 1) + weekday - 1
        next_fourth = (months + 12).astype("datetime64[D]").astype("int64") + 3
        valid &= (week >= 1) & (days - weekday + 1 < next_fourth - (next_fourth + 3) % 7)
    micros, on_clock = _clock(parts)
    return days * 86_400_000_000 + micros - _offsets(parts["offset"]) if "offset" in parts else days * 86_400_000_000, (
        valid & on_clock
    )


def _clock(parts: dict[str, Words]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return microseconds since midnight, and which of them are times that exist; a word without a time is midnight."""
    if "hour" not in parts:
        n = len(parts["year"])
        return np.zeros(n, dtype="int64"), np.ones(n, dtype=bool)
    hour, minute, half = _whole(parts["hour"]), _whole(parts["minute"]), np.char.lower(_get(parts["half"]).astype(str))
    seconds = _get(parts["seconds"])
    micros = np.array([round(float(second or 0) * 1e6) for second in seconds], dtype="int64")
    has_half = half != ""
    valid = (minute < 60) & (micros < 60_000_000) & np.where(has_half, (hour >= 1) & (hour <= 12), hour < 24)
    hour = np.where(has_half, hour % 12 + 12 * (half == "p"), hour)
    return (60 * hour + minute) * 60_000_000 + micros, valid


def _offsets(offset: Words) -> NDArray[np.int64]:
    """Return the microseconds by which a local time is ahead of UTC."""
    texts = _get(offset)
    known = {text: _offset(text) for text in set(texts.tolist())}
    return np.array([known[text] for text in texts], dtype="int64")


def _offset(text: str) -> int:
    if text[:1] not in ("+", "-"):
        return 0
    minutes = 60 * int(text[1:3]) + int(text[-2:])
    return (-minutes if text[0] == "-" else minutes) * 60_000_000


def _extract(words: Words, pattern: str) -> dict[str, Words]:
    """Return the groups of a pattern by their names, null for words that do not match."""
    parts = pc.extract_regex(words, pattern)
    return {field.name: pc.struct_field(parts, field.name) for field in parts.type}


def _get(words: Words) -> NDArray[Any]:
    """Return words as an array of objects, "" where missing."""
    return np.asarray(pc.fill_null(words, "").to_numpy(zero_copy_only=False), dtype=object)


def _has(words: Words) -> NDArray[np.bool_]:
    return np.asarray(_get(words) != "", dtype=bool)


def _whole(words: Words) -> NDArray[np.int64]:
    """Return digits as numbers, 0 where there are none."""
    empty = pc.equal(pc.fill_null(words, ""), "")
    return np.asarray(pc.if_else(empty, "0", words).cast(pa.int64()))


def _three(words: Words, chosen: pa.Array) -> tuple[str, ...]:
    return tuple(word for word in words.filter(chosen)[:3].to_pylist() if word is not None)


_KEEP_TEXT = "To keep the text, declare the column categorical or text with --kinds or kinds=."


def reading_note(name: str, words: Words, reading: Reading) -> Verdict:
    """Return a note that states how a word that is not in plain notation was read."""
    at = words.index(reading.example).as_py()
    value = reading.values[at].as_py()
    if isinstance(value, float):
        what = f"the number {value:g}{f' in {reading.unit}' if reading.unit else ''}"
    else:
        what = f"the {'time' if isinstance(value, time) else 'date'} {str(value).removesuffix(' 00:00:00')}"
    return Verdict(
        "TZ218", f"Column {name}: {reading.example!r} was read as {what}, and the others alike. {_KEEP_TEXT}", [name]
    )


def ambiguity_note(name: str, found: Ambiguity) -> Verdict:
    """Return a warning that states why words were read as text."""
    examples = ", ".join(map(repr, found.examples))
    read = f"look like {found.what}, but {found.reason}, and were read as text"
    return Verdict("TZ205", f"Column {name}: {examples} {read}. {found.advice} {_KEEP_TEXT}", [name])


def missing_word_note(name: str, word: str, n_rows: int) -> Verdict:
    """Return a note about a word that is read as missing."""
    rows = f"{n_rows:,} row{'s' * (n_rows > 1)}"
    return Verdict("TZ207", f"Column {name}: {word!r} in {rows} was read as missing. {_KEEP_TEXT}", [name])


def stray_number(name: str, word: str, line: str, n_stray: int, n_numbers: int) -> str:
    """Return the message of an error: a word among numbers."""
    counts = (
        f", but the other {n_numbers:,} values are. Correct the line"
        if n_stray == 1
        else f"; {n_stray:,} values are not numbers and {n_numbers:,} are. Correct the lines"
    )
    na = f"read {'it' if n_stray == 1 else 'them'} as missing with --na {shlex.quote(word)}"
    return (
        f"{line}, column {name}: {word!r} is not a number{counts}, {na}, or declare the column categorical with kinds."
    )


def stray_date_note(name: str, word: str, line: str, n_stray: int) -> Verdict:
    """Return a warning about a word among dates."""
    counts = "and is missing" if n_stray == 1 else f"and is missing, as are {n_stray - 1:,} other values"
    return Verdict("TZ205", f"{line}, column {name}: {word!r} is not a date {counts}. {_KEEP_TEXT}", [name])


def mixed_dates_note(name: str, word: str, n_others: int, n_rows: int) -> Verdict:
    """Return a warning about a column of which half or more are dates, and that was read as text."""
    sentence = f"{n_others:,} of {n_rows:,} values are not dates, such as {word!r}, so the column was read as text"
    return Verdict("TZ205", f"Column {name}: {sentence}. {_KEEP_TEXT}", [name])


_PLAIN_LEVEL = r"^(?:[-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?|[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[ T].*)?)$"


def unread_note(name: str, levels: Sequence[str]) -> Verdict | None:
    """Return a warning about levels of a data frame that look like numbers or dates, None for ordinary categories."""
    sample = levels[:: max(1, len(levels) // _MAX_LEVELS)]
    if len(sample) < _MIN_LEVELS or not any(character.isdigit() for character in sample[0] + sample[-1]):
        return None
    words = pa.array(sample, pa.string())
    if not _any(pc.invert(pc.match_substring_regex(words, _PLAIN_LEVEL)).cast(pa.string()), "true"):
        # Codes with leading zeros, or plain numbers and dates that a data frame contains as text on purpose.
        return None
    for what, read in (("dates", read_dates), ("numbers", partial(read_numbers, comma_first=None))):
        found = read(words)
        if isinstance(found, Ambiguity):
            return ambiguity_note(name, found)
        if found is not None and len(words) - found.values.null_count >= _MIN_ALIKE_SHARE * len(words):
            examples = tuple(words.filter(found.values.is_valid())[:3].to_pylist())
            return ambiguity_note(
                name, Ambiguity("a data frame has them as text", examples, what, "Convert them to use them as such.")
            )
    return None
