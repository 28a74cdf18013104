"""Numbers and dates as they are written, beside plain readers of one word."""

import re
from datetime import date, datetime, time, timedelta

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamiz.table.written_values import Ambiguity, Reading, read_dates, read_numbers

MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]


def numbers(*words, comma_first=None):
    return read_numbers(pa.array(words, pa.string()), comma_first=comma_first)


def dates(*words, **options):
    return read_dates(pa.array(words, pa.string()), **options)


@pytest.mark.parametrize(
    ("words", "wanted", "unit"),
    [
        (["USD 12", "USD 1,300.5", None], [12, 1300.5, None], "USD"),
        (["12 EUR", "7 EUR"], [12, 7], "EUR"),
        (["$1", "-$2.50", "$-3"], [1, -2.5, -3], "$"),
        (["(1,234.00)", "5.00"], [-1234, 5], ""),
        (["5-", "7"], [-5, 7], ""),
        (["~5", "6"], [5, 6], ""),
        (["\u22125", "3"], [-5, 3], ""),
        (["\uff11\uff12", "3"], [12, 3], ""),
        (["1\u00a0234", "5"], [1234, 5], ""),
        (["1'234.5", "2"], [1234.5, 2], ""),
        (["1.234,5", "2,5", "12.345.678"], [1234.5, 2.5, 12345678], ""),
        (["12,34,567", "5"], [1234567, 5], ""),
        (["12 kg", "3 kg"], [12, 3], "kg"),
        (["5 mg/l", "7 mg/l"], [5, 7], "mg/l"),
        (["20 °C", "-3 °C"], [20, -3], "°C"),
        (["50%", "5 %"], [50, 5], "%"),
        (["1e5", ".5", "2."], [1e5, 0.5, 2], ""),
    ],
)
def test_numbers_are_read_where_all_words_are_written_in_one_way(words, wanted, unit):
    found = numbers(*words)
    assert isinstance(found, Reading)
    assert (found.values.to_pylist(), found.unit) == (wanted, unit)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["50%", "0.5"], "percent sign"),
        (["5 mg", "6 g"], "units differ"),
        (["(5)", "(6)"], "parentheses"),
        (["5-", "6-"], "end with a minus"),
        (["1,234", "2,500"], "thousands or a fraction"),
    ],
)
def test_numbers_that_can_be_read_in_two_ways_are_not_read(words, reason):
    found = numbers(*words)
    assert isinstance(found, Ambiguity)
    assert reason in found.reason
    assert found.examples == tuple(words)


@pytest.mark.parametrize(
    "words",
    [
        ["3a", "4b"],
        ["3a", "4a"],
        ["10th", "5th"],
        ["18-25", "26-40"],
        ["A1", "A2"],
        ["1.2.3", "4"],
        ["10.0.0.1"],
        ["1 2", "3 4"],
        ["x"],
    ],
)
def test_codes_are_no_numbers(words):
    assert numbers(*words) is None


@given(st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=8), st.sampled_from([",", "'", " ", "\u202f"]))
def test_thousands_are_those_of_python(values, separator):
    words = [f"{value:,}".replace(",", separator) for value in values]
    found = numbers(*words, comma_first=False)
    assert isinstance(found, Reading)
    assert found.values.to_pylist() == values


MOMENT = datetime(2020, 3, 7, 15, 4)
FORMS = [
    *(
        "%d-%b-%Y",
        "%d%b%Y",
        "%B %d, %Y",
        "%b %d %Y",
        "%d %B %Y",
        "%a, %d %b %Y",
        "%A, %B %d, %Y",
        "%Y/%m/%d",
        "%Y-%b-%d",
    ),
    *("%d%b%Y:%H:%M", "%Y/%m/%d %H:%M", "%d %b %Y %I:%M %p", "%a, %d %b %Y %H:%M:00 GMT"),
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("upper", [False, True])
def test_dates_are_those_that_python_writes(form, upper):
    moments = [MOMENT + timedelta(days=37 * k, minutes=91 * k) for k in range(40)]
    words = [moment.strftime(form) for moment in moments]
    found = dates(*[word.upper() for word in words] if upper else words)
    assert isinstance(found, Reading)
    has_time = "%M" in form
    assert found.values.to_pylist() == [m if has_time else datetime(m.year, m.month, m.day) for m in moments]
    assert found.example == (words[0].upper() if upper else words[0])


@pytest.mark.parametrize("form", ["%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m/%d/%Y %I:%M %p"])
def test_a_value_above_12_shows_the_order_of_day_and_month(form):
    moments = [MOMENT + timedelta(days=k) for k in range(40)]
    found = dates(*[moment.strftime(form) for moment in moments])
    assert isinstance(found, Reading)
    assert [value.date() for value in found.values.to_pylist()] == [moment.date() for moment in moments]


def test_an_unknown_order_of_day_and_month_is_that_of_the_user():
    found = dates("1/2/2020", "3/4/2021")
    assert isinstance(found, Ambiguity)
    assert "order of day and month" in found.reason
    read = [dates("1/2/2020", "3/4/2021", day_first=first).values.to_pylist()[0].date() for first in (True, False)]
    assert read == [date(2020, 2, 1), date(2020, 1, 2)]


def test_weeks_are_those_of_iso_8601():
    weeks = [(year, week) for year in range(2000, 2031) for week in (1, 2, 26, 52, 53)]
    found = dates(*[f"{year}-W{week:02d}" for year, week in weeks])
    assert isinstance(found, Reading)
    for (year, week), value in zip(weeks, found.values.to_pylist(), strict=True):
        exists = week < 53 or date(year, 12, 28).isocalendar().week == 53
        assert value == (datetime.fromisocalendar(year, week, 1) if exists else None)


def test_months_and_quarters_are_their_first_day():
    assert dates("2012-01", "2012-12").values.to_pylist() == [datetime(2012, 1, 1), datetime(2012, 12, 1)]
    assert dates("2012-Q1", "2013Q4").values.to_pylist() == [datetime(2012, 1, 1), datetime(2013, 10, 1)]
    assert dates("Jan 2020", "Dec-1999").values.to_pylist() == [datetime(2020, 1, 1), datetime(1999, 12, 1)]


@given(st.integers(1900, 2100), st.integers(0, 13), st.integers(0, 32))
def test_a_day_is_read_if_it_exists(year, month, day):
    found = dates(f"{day} {MONTHS[month % 12]} {year}", f"{year}/{month}/{day}", "1 May 2000")
    assert isinstance(found, Reading)
    wanted = []
    for at in (month % 12 + 1, month):
        try:
            wanted.append(datetime(year, at, day))
        except ValueError:
            wanted.append(None)
    assert found.values.to_pylist()[:2] == wanted


def test_times_of_day_are_times_on_two_clocks():
    assert dates("13:45", "1:30 PM", "12:00 am", "12:05 p.m.").values.to_pylist() == [
        *(time(13, 45), time(13, 30), time(0, 0), time(12, 5)),
    ]
    assert dates("25:00", "1:00") is None
    assert dates("13:00 PM") is None


def test_an_offset_is_taken_off():
    found = dates("Mon, 13 Jan 2020 10:00:00 +0130", "13 Jan 2020 10:00:00 -05:00")
    assert found.values.to_pylist() == [datetime(2020, 1, 13, 8, 30), datetime(2020, 1, 13, 15, 0)]


@pytest.mark.parametrize("words", [["20200301", "12345678", "20201231"], ["12.5", "13.1"], ["x", "y"], ["1", "2"]])
def test_other_words_are_no_dates(words):
    assert dates(*words) is None


def test_days_of_eight_digits_are_dates():
    assert dates("20200301", "19991231", "20000229").values.to_pylist() == [
        *(datetime(2020, 3, 1), datetime(1999, 12, 31), datetime(2000, 2, 29)),
    ]


@given(st.lists(st.text(max_size=12), min_size=1, max_size=6))
def test_any_words_are_read_or_refused_without_an_error(words):
    for found in (numbers(*words), dates(*words)):
        if isinstance(found, Reading):
            read = np.asarray(found.values.is_valid())
            assert len(read) == len(words)
            assert all(
                re.search(r"\d", word) for word, is_read in zip(words, read, strict=True) if is_read and word.isascii()
            )
