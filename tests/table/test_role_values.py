"""Groups and times of rows: columns of the table or passed beside it, for every table."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamiz import open_table
from tamiz.table import as_table
from tamiz.table.build import OpenOptions
from tamiz.table.preview import read_preview

N = 6
COLUMNS = {
    "a": [0.5, 1.5, 1.0, 4.0, 2.5, 3.0],
    "patient": ["p2", "p1", "p2", "p10", "p1", "p10"],
    "when": [dt.datetime(2024, 3, day) for day in (5, 1, 4, 2, 6, 3)],
    "class": ["x", "y", "x", None, "y", "x"],
}
# The groups and times of the rows with a target.
GROUPS, NAMES = [2, 0, 2, 0, 1], ("p1", "p10", "p2")
ORDER = [1, 4, 2, 0, 3]


def in_memory(path):
    return pd.DataFrame(COLUMNS)


def as_polars(path):
    return pl.DataFrame(COLUMNS)


def as_csv(path):
    pd.DataFrame(COLUMNS).to_csv(path / "a.csv", index=False)
    return path / "a.csv"


def as_parquet(path):
    pq.write_table(pa.table(COLUMNS), path / "a.parquet")
    return path / "a.parquet"


def as_arff(path):
    rows = zip(*COLUMNS.values(), strict=True)
    lines = [f"{a},{patient},'{when:%Y-%m-%dT%H:%M:%S}',{y or '?'}" for a, patient, when, y in rows]
    head = ["@relation r", "@attribute a numeric", "@attribute patient {p1,p10,p2}", "@attribute when date"]
    (path / "a.arff").write_text("\n".join([*head, "@attribute class {x,y}", "@data", *lines]))
    return path / "a.arff"


@pytest.mark.parametrize("way", [in_memory, as_polars, as_csv, as_parquet, as_arff])
def test_columns_of_a_role_are_no_features_and_those_of_rows_that_count(way, tmp_path):
    table = open_table(way(tmp_path), "class", groups="patient", time="when")
    assert table.schema.names == ["a"]
    assert (table.schema.groups, table.schema.time) == ("patient", "when")
    assert table.groups.dtype == np.int32
    assert (table.groups.tolist(), table.group_names) == (GROUPS, NAMES)
    assert np.argsort(table.time).tolist() == ORDER
    assert table.time.dtype == np.int64


def test_groups_and_times_beside_a_matrix_leave_it_as_it_lies():
    table = np.random.default_rng(0).normal(size=(N, 2))
    opened = open_table(
        table, [0, 1, 0, np.nan, 1, 0], groups=pd.Series([7, 5, 7, 6, 5, 6], name="ward"), time=COLUMNS["a"]
    )
    assert (opened.groups.tolist(), opened.group_names) == ([2, 0, 2, 0, 1], ("5", "6", "7"))
    assert opened.time.tolist() == [0.5, 1.5, 1.0, 2.5, 3.0]
    assert (opened.schema.groups, opened.schema.time) == ("ward", "time")
    assert np.shares_memory(open_table(table, groups=COLUMNS["patient"]).blocks().__next__().numeric_matrix, table)


def test_columns_of_an_array_can_have_a_role():
    table = np.column_stack([COLUMNS["a"], [1, 2, 1, 2, 3, 3], range(N, 0, -1)])
    opened = open_table(table, groups="x1", time="x2")
    assert opened.schema.names == ["x0"]
    assert opened.groups.tolist() == [0, 1, 0, 1, 2, 2]
    assert opened.time.tolist() == [6, 5, 4, 3, 2, 1]


def test_a_table_without_roles_has_none():
    table = open_table(np.eye(3))
    assert (table.groups, table.group_names, table.time) == (None, (), None)


def test_fit_takes_groups_and_times_as_values():
    table = as_table(np.eye(3), [1, 2, 1], groups=["a", "b", "b"], time=[3, 1, 2])
    assert table.groups.tolist() == [0, 1, 1]
    assert table.time.tolist() == [3, 1, 2]
    with pytest.raises(
        TypeError, match=r"^groups must be the groups, got the name 'g': fit on open_table\(X, groups='g'"
    ):
        as_table(np.eye(3), [1, 2, 1], groups="g")
    with pytest.raises(TypeError, match=r"^time must be the times, got the name 't': fit on open_table\(X, time='t'"):
        as_table(np.eye(3), [1, 2, 1], time="t")
    with pytest.raises(TypeError, match=r"^A Table has its own target and weights"):
        as_table(table, groups=[1, 2, 3])


@pytest.mark.parametrize(
    ("values", "order"),
    [
        ([3, 1, 2], [1, 2, 0]),
        ([2**60 + 1, 2**60, 2**60 + 2], [1, 0, 2]),
        (np.array([2**63 + 4096, 5, 7], np.uint64), [1, 2, 0]),
        (np.array([0.3, 0.1, 0.2], np.float32), [1, 2, 0]),
        (["10", "9", "1e1"], [1, 0, 2]),
        (["2024-01-03", "2023-12-31", "2024-01-02"], [1, 2, 0]),
        (["2024-03", "2024-01", "2023-12"], [2, 1, 0]),
        (["2024-Q3", "2023-Q4", "2024-Q1"], [1, 2, 0]),
        (["2024-W09", "2024-W10", "2023-W52"], [2, 0, 1]),
        (pd.Series(["b", "a"] * 2).map({"a": "2024-01-01", "b": "2024-02-01"}).astype("category")[:3], [1, 0, 2]),
        (pd.to_datetime(pd.Series([3, 1, 2]), unit="ns"), [1, 2, 0]),
        (np.array([3, 1, 2], "M8[D]"), [1, 2, 0]),
        (pa.chunked_array([pa.array([3, 1, 2], pa.date32())]), [1, 2, 0]),
        (pl.Series([dt.time(3), dt.time(1), dt.time(2)]), [1, 2, 0]),
        (pl.Series([dt.timedelta(3), dt.timedelta(1), dt.timedelta(2)]), [1, 2, 0]),
        ([True, False, True], [1, 0, 2]),
    ],
)
def test_sortable_types_are_accepted_as_times(values, order):
    table = open_table(np.eye(3), time=values)
    assert np.argsort(table.time, kind="stable").tolist() == order


@pytest.mark.parametrize("role", ["groups", "time"])
@pytest.mark.parametrize(
    "values",
    [[1, 2, np.nan, 4, 5, 6], [1, 2, None, 4, 5, 6], pd.Series(["2024-01-01"] * 2 + [None] * 2 + ["2024-01-01"] * 2)],
)
def test_a_missing_value_in_groups_or_times_is_refused_with_its_row(role, values):
    what = {"groups": "group", "time": "time"}[role]
    with pytest.raises(ValueError, match=rf"^row 2: the {what} is missing, but every row needs one\. Fill it in"):
        open_table(np.eye(6), **{role: values})


def test_a_missing_value_in_a_file_is_refused_with_its_line(tmp_path):
    (tmp_path / "a.csv").write_text("a,g\n1.5,x\n2,\n3,y\n")
    with pytest.raises(ValueError, match=r"^line 3: the group is missing"):
        open_table(tmp_path / "a.csv", groups="g")


def test_a_missing_value_in_a_row_without_a_target_does_not_count():
    assert open_table(np.eye(4), ["a", None, "b", "b"], groups=[1, np.nan, 2, 1]).groups.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("values", "row", "word"),
    [
        (["2024-01-01", "soon", "2024-01-02"], 1, "soon"),
        (["2024-01-01", "2024-01-02", "7"], 2, "7"),
        (["2024-Q1", "2024-Q5", "2024-Q2"], 1, "2024-Q5"),
        (["early", "late", "later"], 0, "early"),
    ],
)
def test_values_that_are_no_times_are_named(values, row, word):
    with pytest.raises(
        ValueError,
        match=rf"^row {row}, column time: '{word}' is not a time in the format of the others; times are numbers",
    ):
        open_table(np.eye(3), time=values)


@pytest.mark.parametrize("role", ["groups", "time"])
def test_groups_and_times_of_another_length_are_refused(role):
    what = {"groups": "group", "time": "time"}[role]
    with pytest.raises(ValueError, match=rf"^The {what} has 2 values and the table 3 rows: inconsistent numbers"):
        open_table(np.eye(3), **{role: [1, 2]})
    with pytest.raises(ValueError, match=rf"^There is no column 'x9' for the {what}.*; columns: x0, x1, x2\.$"):
        open_table(np.eye(3), **{role: "x9"})


def test_one_column_has_one_role():
    with pytest.raises(ValueError, match=r"^Column 'x1' cannot be both the group and the time\.$"):
        open_table(np.eye(3), groups="x1", time="x1")
    with pytest.raises(ValueError, match=r"^Column 'x1' cannot be both the target and the group\.$"):
        open_table(np.eye(3), "x1", groups="x1")


def test_a_group_named_text_is_read_and_a_slip_among_numbers_is_a_group(tmp_path):
    rows = "".join(f"{k / 2},{k if k != 20 else 'none'},z{k}\n" for k in range(40))
    (tmp_path / "a.csv").write_text("a,g,t\n" + rows)
    table = open_table(tmp_path / "a.csv", groups="g", kinds={"t": "text"})
    assert len(table.group_names) == 40
    assert table.schema.names == ["a", "t"]
    again = open_table(tmp_path / "a.csv", groups="g", kinds={"g": "id", "t": "text"})
    assert again.group_names == table.group_names


def test_a_preview_excludes_roles_from_the_columns(tmp_path):
    rows = np.random.default_rng(0).integers(0, 10**6, size=(80_000, 3))
    path = tmp_path / "a.csv"
    pd.DataFrame(rows, columns=["a", "g", "t"]).to_csv(path, index=False)
    seen = read_preview(path, OpenOptions(groups="g", time="t"))
    assert seen.schema.names == ["a"]


def test_roles_are_in_the_fingerprint():
    table = np.random.default_rng(0).normal(size=(4, 2))
    given = [{}, {"groups": [1, 1, 2, 2]}, {"groups": [1, 2, 1, 2]}, {"time": [1, 2, 3, 4]}, {"time": [1, 2, 4, 3]}]
    assert len({open_table(table, **roles).fingerprint() for roles in given}) == 5
