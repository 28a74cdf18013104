"""Calendar parts of dates in memory, in files and in new rows."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tamiz import RankSelector, SubsetSelector, load, open_table, save
from tamiz.criteria import CFS, InformationGain
from tamiz.exceptions import TamizWarning
from tamiz.search import Forward
from tamiz.table import split_dates
from tamiz.table.date_parts import calendar_part
from tamiz.table.views import select_columns, select_rows

NAMES = ["when (year)", "when (month)", "when (weekday)", "when (hour)"]


def frame_of(n=60, seed=0):
    rng = np.random.default_rng(seed)
    when = pd.Timestamp("1967-11-05 03:30") + pd.to_timedelta(rng.integers(0, 60 * 24 * 4000, n), unit="min")
    return pd.DataFrame(
        {"x": rng.normal(size=n), "when": pd.Series(when).mask(rng.random(n) < 0.1), "y": when.month > 6}
    )


def parts(frame):
    """The parts as pandas computes them."""
    when = frame["when"].dt
    return np.column_stack([when.year, when.month, when.isocalendar().day.astype(float), when.hour]).astype(float)


def values_of(table, names=NAMES):
    columns = [table.schema.names.index(name) for name in names]
    return np.column_stack([np.concatenate([block.column(j) for block in table.blocks([j])]) for j in columns])


def test_parts_are_those_of_pandas_before_1970_as_after_and_missing_where_the_date_is():
    frame = frame_of(2000)
    seconds = (frame["when"] - pd.Timestamp(0)).dt.total_seconds().to_numpy()
    found = np.column_stack([calendar_part(seconds, part) for part in ("year", "month", "weekday", "hour")])
    np.testing.assert_array_equal(found, parts(frame))
    assert np.isnan(calendar_part(np.array([1e20, np.nan]), "year")).all()


def test_parts_follow_the_columns_of_the_table_and_the_date_takes_no_part():
    frame = frame_of()
    table = split_dates(open_table(frame, "y"))
    assert table.schema.names == ["x", "when", *NAMES]
    assert table.schema.columns[1].exclusion_reason == "a date: its year, month, weekday and hour are used instead"
    assert [column.n_missing for column in table.schema.columns[2:]] == [frame["when"].isna().sum()] * 4
    (note,) = [note for note in table.schema.notes if "'when'" in note]
    assert "year, month, weekday and hour" in note
    assert table.schema.excluded_column_notes == []
    np.testing.assert_array_equal(values_of(table), parts(frame))
    assert split_dates(table) is table


def test_only_parts_that_vary_take_part():
    days = pd.date_range("2024-01-30", periods=4, freq="D")
    table = split_dates(open_table(pd.DataFrame({"day": days, "x": [1.0, 3, 2, 5]})))
    assert table.schema.names == ["day", "x", "day (month)", "day (weekday)"]
    minutes = pd.date_range("2024-01-30 10:00", periods=4, freq="min")
    table = split_dates(open_table(pd.DataFrame({"at": minutes, "x": [1.0, 3, 2, 5]})))
    assert table.schema.names == ["at", "x"]
    assert "are constant" in table.schema.columns[0].exclusion_reason


@pytest.mark.parametrize("kind", ["numeric", "id"])
def test_a_date_of_another_kind_is_not_split(kind, tmp_path):
    frame = frame_of()
    frame.to_csv(tmp_path / "table.csv", index=False)
    for data in (frame, tmp_path / "table.csv"):
        table = open_table(data, "y", kinds={"when": kind})
        assert split_dates(table) is table
        if kind == "numeric":
            seconds = (frame["when"] - pd.Timestamp(0)).dt.total_seconds()
            np.testing.assert_array_equal(values_of(table, ["when"])[:, 0], seconds)


def test_a_table_that_has_a_column_of_that_name_gets_a_numbered_one():
    frame = frame_of().assign(**{"when (month)": 1.0})
    assert "when (month) 2" in split_dates(open_table(frame, "y")).schema.names


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.Table.from_pandas, np.asarray])
def test_the_frame_has_the_parts_as_integers_in_the_order_asked_for(make):
    frame = frame_of().drop(columns="y").dropna().reset_index(drop=True)
    table = split_dates(open_table(make(frame), (frame["x"] > 0).to_numpy()))
    names = table.schema.names
    shown = table.frame([3, 0, 2], np.array([4, 7]))
    expected = np.column_stack([parts(frame)[[4, 7], 1], frame["x"].iloc[[4, 7]], parts(frame)[[4, 7], 0]])
    if isinstance(shown, np.ndarray):
        np.testing.assert_array_equal(shown.astype(float), expected)
        return
    assert list(getattr(shown, "column_names", shown.columns)) == [names[3], "x", names[2]]
    np.testing.assert_array_equal(
        [[float(str(value)) for value in shown[name]] for name in (names[3], "x", names[2])], expected.T
    )
    assert "int" in str(shown[names[3]].type if isinstance(shown, pa.Table) else shown[names[3]].dtype).lower()


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.Table.from_pandas])
def test_missing_dates_are_missing_parts_of_the_frame(make):
    frame = frame_of()
    shown = split_dates(open_table(make(frame), "y")).frame_by_name(["when (month)", "x"])
    month = np.array(
        list(shown["when (month)"].to_pylist() if isinstance(shown, pa.Table) else shown["when (month)"]), float
    )
    np.testing.assert_array_equal(month, parts(frame)[:, 1])


def test_views_of_rows_and_columns_have_the_parts():
    frame = frame_of()
    table = split_dates(open_table(frame, "y"))
    some = select_rows(table, np.array([3, 5, 5, 40]))
    np.testing.assert_array_equal(values_of(some), parts(frame)[[3, 5, 5, 40]])
    one = select_columns(table, [3])
    assert [block.numeric_columns for block in one.blocks()] == [(3,)]


def test_a_file_larger_than_memory_has_the_parts_of_the_table(tmp_path):
    frame = frame_of(500)
    frame.to_csv(tmp_path / "table.csv", index=False)
    in_memory = split_dates(open_table(frame, "y"))
    stored = split_dates(open_table(tmp_path / "table.csv", "y", memory="2GB"))
    np.testing.assert_array_equal(values_of(stored), values_of(in_memory))
    scores = [RankSelector(InformationGain()).fit(table).scores_ for table in (in_memory, stored)]
    np.testing.assert_array_equal(scores[0][2:], scores[1][2:])
    np.testing.assert_array_equal(values_of(select_rows(stored, np.array([1, 4, 400]))), parts(frame)[[1, 4, 400]])


def test_parts_of_new_rows_come_from_their_dates(tmp_path):
    frame = frame_of(200)
    selector = SubsetSelector(CFS(), Forward()).fit(split_dates(open_table(frame, "y")))
    assert selector.get_feature_names_out().tolist() == ["when (month)"]
    loaded = load(save(selector, tmp_path / "selector.tamiz"))
    new = frame_of(20, seed=9)
    for data in (new[["when", "x"]], new):
        rows = open_table(data, schema=loaded.schema_)
        assert rows.schema.names == selector.schema_.names
        np.testing.assert_array_equal(loaded.transform(rows)["when (month)"], parts(new)[:, 1])


def test_a_date_that_is_excluded_or_fixed_is_so_with_its_parts():
    table = split_dates(open_table(frame_of(200), "y"))
    for excluded in (["when"], [1]):
        selector = SubsetSelector(CFS(), Forward(excluded=excluded), n_features=1).fit(table)
        assert selector.get_feature_names_out().tolist() == ["x"]
    fixed = SubsetSelector(CFS(), Forward(fixed=["when"]), n_features=4).fit(table)
    assert fixed.get_feature_names_out().tolist() == NAMES


@pytest.mark.parametrize("selector", [RankSelector(InformationGain()), SubsetSelector(CFS(), Forward())])
def test_a_selector_warns_of_dates_that_it_scores_as_one_number(selector):
    frame = frame_of(200)
    with pytest.warns(TamizWarning, match=r"'when'.*split_dates"):
        selector.fit(frame[["x", "when"]], frame["when"] > frame["when"].median())
