"""Dates, durations and times of day as seconds: exact where float64 has the digits, with a warning where it has not."""

import re
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tamiz import open_table
from tamiz.exceptions import DataError, TamizWarning
from tamiz.table.kinds import to_seconds

N = 12
NOW = 1_700_000_000 * 10**9
TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
LOSS = r"Column t: its 12 different values become 1 as seconds in float64, .* Subtract the first from all"


def frame_of(ticks, kind):
    return pa.table({"t": pa.array(ticks, kind), "other": np.arange(len(ticks)) % 3 + 0.5})


def column_of(table, **options):
    (block,) = open_table(table, **options).blocks([0])
    return block.values[0]


@pytest.mark.parametrize(
    "make",
    [
        lambda dates: frame_of(dates, pa.timestamp("ns")),
        lambda dates: pl.DataFrame(frame_of(dates, pa.timestamp("ns"))),
        lambda dates: pd.DataFrame({"t": pd.to_datetime(dates), "other": np.arange(len(dates)) % 3 + 0.5}),
        lambda dates: pd.DataFrame({"t": pd.to_datetime(dates).tz_localize("Europe/Madrid"), "other": range(2, 2 + N)}),
    ],
)
def test_dates_that_differ_by_nanoseconds_are_warned_of_by_name(make):
    with pytest.warns(TamizWarning, match=LOSS):
        open_table(make([NOW + k for k in range(N)]))
    # Every third microsecond is a different float.
    open_table(make([NOW + 3000 * k for k in range(N)]))
    open_table(make([NOW] * N))


def test_an_array_of_dates_keeps_its_unit():
    dates = np.array([NOW + k for k in range(N)], "M8[ns]")
    with pytest.warns(TamizWarning, match=LOSS.replace("Column t", "Column x0")):
        open_table(dates[:, None])
    assert (
        open_table(np.arange(N, dtype=float)[:, None], time=dates[::-1]).time.tolist()
        == [NOW + k for k in range(N)][::-1]
    )
    assert column_of(dates[:, None] - dates[0]).tolist() == [k / 10**9 for k in range(N)]


def test_dates_of_a_file_that_differ_by_nanoseconds_are_dates(tmp_path):
    rows = "".join(f"2020-01-01 00:00:00.{k:09d},{k % 3}.5\n" for k in range(N))
    (tmp_path / "t.csv").write_text("t,other\n" + rows)
    with pytest.warns(TamizWarning, match=LOSS):
        assert open_table(tmp_path / "t.csv").schema.columns[0].kind == "date"


def test_as_the_warning_advises_durations_keep_nanoseconds():
    dates = pd.to_datetime([NOW + k for k in range(N)])
    assert column_of(pd.DataFrame({"t": dates - dates[0]})).tolist() == [k / 10**9 for k in range(N)]
    assert column_of(frame_of(range(N), pa.time64("ns"))).tolist() == [k / 10**9 for k in range(N)]


@pytest.mark.parametrize("unit", TICKS)
@pytest.mark.parametrize("kind", [pa.timestamp, pa.duration])
def test_seconds_are_the_nearest_float(kind, unit):
    rng = np.random.default_rng(0)
    ticks = np.concatenate([rng.integers(-(2**k), 2**k, 50) for k in (3, 20, 40, 53)])
    seconds = to_seconds(pa.array(ticks, kind(unit)))
    assert seconds.tolist() == [float(Fraction(int(tick), TICKS[unit])) for tick in ticks]


def test_equal_times_have_equal_seconds_in_every_unit_and_keep_their_order():
    micros = np.sort(np.random.default_rng(1).integers(-(2**62) // 1000, 2**62 // 1000, 1000))
    seconds = to_seconds(pa.array(micros, pa.timestamp("us")))
    np.testing.assert_array_equal(to_seconds(pa.array(micros * 1000, pa.timestamp("ns"))), seconds)
    near = 2**53 + np.arange(-3000, 3000)
    for nanos in (near, -near[::-1]):
        assert np.all(np.diff(to_seconds(pa.array(nanos, pa.timestamp("ns")))) >= 0)


def test_distant_dates_do_not_overflow():
    assert column_of(frame_of([5 * 10**13, None, -(10**14)], pa.timestamp("s")))[[0, 2]].tolist() == [5e13, -1e14]
    days = np.array(["300000-01-01", "-300000-01-02"], "M8[D]")[:, None]
    assert (column_of(days) / 86_400).tolist() == days[:, 0].astype(int).tolist()
    with pytest.warns(TamizWarning, match=r"Column t: its 12 different values become"):
        open_table(frame_of(np.arange(N) - 14_832_000_000 * 10**6, pa.timestamp("us")))


def test_missing_dates_are_missing_in_every_type():
    for kind in (pa.date32(), pa.date64(), pa.timestamp("ns"), pa.time32("s"), pa.time64("us"), pa.duration("ms")):
        seconds = to_seconds(pa.array([None, 0, None], kind))
        assert np.isnan(seconds).tolist() == [True, False, True]


def test_text_with_time_zones_is_read_as_dates_where_that_is_the_kind():
    words = [f"2020-01-{day:02d}T00:00:00+01:00" for day in range(1, 4)]
    kinds = {"t": "date"}
    first = column_of(pd.DataFrame({"t": words}), kinds=kinds)[0]
    assert first == pd.Timestamp(words[0]).timestamp()
    message = re.escape("Column t: some dates have a time zone and others have none; write all with one, or none.")
    with pytest.raises(DataError, match=message):
        open_table(pd.DataFrame({"t": [*words, "2020-01-01"]}), kinds=kinds)
