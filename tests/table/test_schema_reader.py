"""New rows that are read with the schema of a fitted table."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tamiz import open_table
from tamiz.exceptions import DataError, TamizWarning
from tamiz.reduction import PCA
from tamiz.table import column_storage
from tamiz.table.build import SchemaReader
from tamiz.table.csv_layout import find_layout
from tamiz.table.factory import open_with_reader
from tamiz.table.kinds import RawColumn
from tamiz.table.known_columns import match_levels
from tamiz.table.views import slice_rows

N = 60
ENDINGS = ["csv", "tsv", "parquet", "arrow"]


def frame():
    """Columns of every kind, of which a few rows would be inferred to have another kind."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "number": rng.normal(size=N).round(4),
            "count": rng.integers(0, 5, N),
            "colour": rng.choice(["red", "green", "blue"], N),
            "member": rng.choice(["true", "false"], N),
            "code": rng.choice(["007", "012", "100"], N),
            "since": rng.choice(["2020-01-01", "never"], N),
            "when": pd.date_range("2020-01-01", periods=N).strftime("%Y-%m-%d"),
            "name": [f"k{i}" for i in range(N)],
        }
    )


def written(table, path):
    writers = {
        "csv": lambda: table.to_csv(path, index=False),
        "tsv": lambda: table.to_csv(path, index=False, sep="\t"),
        "parquet": lambda: table.to_parquet(path),
        "arrow": lambda: table.to_feather(path),
    }
    writers[path.suffix[1:]]()
    return path


@pytest.fixture
def fitted(tmp_path):
    """The schema of the table in a file."""
    return open_table(written(frame(), tmp_path / "fitted.csv")).schema


@pytest.fixture
def read(tmp_path, fitted):
    """Write rows and open them with the schema of fit; return the table and the values of its columns by name."""

    def open_rows(table, ending="csv", **how):
        opened = open_with_reader(written(table, tmp_path / f"new.{ending}"), SchemaReader(fitted, **how))
        assert [(c.name, c.kind, c.levels, c.exclusion_reason) for c in opened.schema.columns] == [
            (c.name, c.kind, c.levels, c.exclusion_reason) for c in fitted.columns
        ]
        (block,) = opened.blocks()
        return opened, {fitted.names[j]: np.asarray(values) for j, values in block.values.items()}

    return open_rows


def whole_values(table):
    (block,) = table.blocks()
    return {table.schema.names[j]: np.asarray(values) for j, values in block.values.items()}


def test_every_kind_is_there_to_be_tested(fitted):
    assert [c.kind for c in fitted.columns] == [
        "numeric", "numeric", "categorical", "boolean", "categorical", "categorical", "date", "id",
    ]  # fmt: skip


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("row", [0, 7, 31])
def test_one_row_has_the_values_that_it_had_among_the_others(read, tmp_path, ending, row):
    _, values = read(frame().iloc[row : row + 1], ending)
    known = whole_values(open_table(tmp_path / "fitted.csv"))
    assert {name: column.tolist() for name, column in values.items()} == {
        name: [column[row]] for name, column in known.items()
    }


@pytest.mark.parametrize("ending", ENDINGS)
def test_columns_are_found_by_name_in_any_order_and_others_not_read(read, ending):
    table = frame()
    opened, values = read(table[sorted(table.columns, reverse=True)].assign(extra=1), ending)
    assert opened.column_names[-1] == "extra"
    assert opened.frame_by_name(["extra", "count"]).column_names == ["extra", "count"]
    _, expected = read(table, ending)
    assert {name: v.tolist() for name, v in values.items()} == {name: v.tolist() for name, v in expected.items()}


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_table_without_rows_has_the_columns_of_fit(read, ending):
    table, values = read(frame().iloc[:0], ending)
    assert table.schema.n_rows == 0
    assert {len(column) for column in values.values()} == {0}


def test_a_level_that_was_not_there_is_missing_and_reported_with_its_rows(read):
    table = frame().assign(colour=["violet", "mauve", "mauve"] + ["red"] * (N - 3))
    message = r"Column colour: 2 levels in 3 rows were not present in fit: 'mauve', 'violet'; these values are treated as missing"
    with pytest.warns(TamizWarning, match=message):
        opened, values = read(table)
    assert values["colour"].tolist()[:4] == [-1, -1, -1, 2]
    assert opened.schema.columns[2].n_missing == 3


def test_of_many_unknown_levels_five_are_named(read):
    with pytest.warns(TamizWarning, match=r"60 levels in 60 rows .*: 'v0', 'v1', 'v10', 'v11', 'v12' and 55 more;"):
        read(frame().assign(colour=[f"v{i}" for i in range(N)]))


def test_a_missing_value_is_no_unknown_level(read):
    table = frame().assign(colour=[None, "?", "NA"] + ["red"] * (N - 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, values = read(table)
    assert values["colour"].tolist()[:3] == [-1, -1, -1]


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        ("member", "TRUE", 1),
        ("member", "False", 0),
        ("code", "100", 2),
        ("code", "012", 1),
        ("since", "2020-01-01", 0),
        ("count", "3.50", 3.5),
        ("count", "1e3", 1000.0),
        ("number", " 2.5 ", 2.5),
        ("when", "1970-01-02", 86400.0),
        ("when", "1970-01-01T00:00:07", 7.0),
    ],
)
def test_a_value_means_what_it_did_however_it_is_written(read, column, value, expected):
    _, values = read(frame().iloc[:1].assign(**{column: value}))
    assert values[column].tolist() == [expected]


def test_numbers_as_levels_are_known_by_their_value(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("grade,x\n" + "".join(f"{1 + i % 3}.0,{i * i}\n" for i in range(12)))
    schema = open_table(path, kinds={"grade": "categorical"}).schema
    assert schema.columns[0].levels == ("1", "2", "3")
    for text in ("2", "2.0", "2.00", "2e0"):
        path.write_text(f"grade,x\n{text},5\n")
        assert whole_values(open_table(path, schema=schema))["grade"].tolist() == [1]


@pytest.mark.filterwarnings("ignore:.*Column (code|grade)")
@pytest.mark.parametrize(
    ("levels", "word", "code"),
    [
        (("007", "012", "100"), "0100", -1),
        (("007", "012", "100"), "7", -1),
        (("1", "2", "never"), "2.0", 1),
        (("1.50", "2"), "2.0", -1),
        (("nan", "inf", "2"), "nan", 0),
        (("nan", "inf", "2"), "2.", 2),
        (("1", "2"), "infinity", -1),
        (("1", "2"), "1_0", -1),
        (("a", "b"), "A", -1),
        (("False", "True"), "tRuE", 1),
        (("0.5", "1"), "0,5", 0),
    ],
)
def test_digits_with_zeros_in_front_are_codes_and_other_numbers_their_values(levels, word, code):
    raw = RawColumn("code", pa.array([word]))
    assert match_levels(raw, levels).codes.tolist() == [code]


def test_a_column_of_missing_values_keeps_its_kind(read):
    _, values = read(frame().iloc[:2].assign(number=None, colour=None, when=None, member=None))
    assert np.isnan(values["number"]).all()
    assert np.isnan(values["when"]).all()
    assert values["colour"].tolist() == values["member"].tolist() == [-1, -1]


@pytest.mark.parametrize(
    ("column", "value", "sentence"),
    [
        ("number", "x1", r"^line 3, column number: 'x1' is not a number\.$"),
        ("number", "2020-01-01", r"^line 3, column number: '2020-01-01' is not a number\.$"),
        ("number", "true", r"^line 3, column number: 'true' is not a number\.$"),
        ("count", "inf", r"^line 3, column count: inf is infinite"),
        ("count", "1e200", r"^line 3, column count: 1e\+200 is too large to be squared"),
        ("when", "soon", r"^line 3, column when: 'soon' is not a date"),
    ],
)
def test_a_value_that_its_kind_cannot_take_is_named_with_its_line(read, column, value, sentence):
    table = frame().iloc[:3].astype(object)
    table.loc[1, column] = value
    with pytest.raises(DataError, match=sentence):
        read(table)


def test_a_decimal_comma_is_read_where_semicolons_separate_fields(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x;y\n" + "".join(f"{i},5;{i * i % 7},25\n" for i in range(12)))
    schema = open_table(path).schema
    path.write_text("y;x\n0,25;3,5\n")
    assert {name: v.tolist() for name, v in whole_values(open_table(path, schema=schema)).items()} == {
        "x": [3.5],
        "y": [0.25],
    }
    path.write_text("y;x\n0,25;3,5\n0,25;drei\n")
    with pytest.raises(DataError, match=r"^line 3, column x: 'drei' is not a number\.$"):
        open_table(path, schema=schema)


def test_a_column_that_is_not_there_is_named_with_the_nearest(read):
    with pytest.raises(
        DataError,
        match=r"^There is no column 'colour' \(did you mean 'color'\?\), which fit had\. Columns are matched by name: rename",
    ):
        read(frame().rename(columns={"colour": "color"}))
    with pytest.raises(DataError, match=r"^2 columns of fit are absent: 'number', 'when'\. Columns are matched"):
        read(frame().drop(columns=["number", "when"]))


def test_a_column_that_took_no_part_need_not_be_there(read):
    table, _ = read(frame().drop(columns=["name"]))
    assert table.schema.n_rows == N


def test_a_column_that_is_not_there_is_missing_where_that_is_asked_for(read):
    with pytest.warns(
        TamizWarning,
        match=r"2 columns are absent and filled with missing values in all 60 rows: 'number', 'colour'\.$",
    ):
        table, values = read(frame().drop(columns=["number", "colour"]), fill_absent=True)
    assert np.isnan(values["number"]).all()
    assert set(values["colour"].tolist()) == {-1}
    assert [table.schema.columns[j].n_missing for j in (0, 2)] == [N, N]


def test_a_table_of_none_of_the_columns_keeps_its_rows_where_all_are_filled(read):
    with pytest.warns(TamizWarning, match="7 columns are absent"):
        table, values = read(pd.DataFrame({"other": range(4)}), fill_absent=True)
    assert table.schema.n_rows == 4
    assert {len(v) for v in values.values()} == {4}


@pytest.mark.parametrize("make", [pd.DataFrame, lambda rows: __import__("polars").DataFrame(rows.to_dict("list"))])
def test_frames_are_read_by_name_as_well(fitted, make):
    rows = make(frame())
    turned = rows[[*rows.columns][::-1]]
    straight, other = (whole_values(open_table(one, schema=fitted)) for one in (rows, turned))
    assert {name: v.tolist() for name, v in straight.items()} == {name: v.tolist() for name, v in other.items()}


def test_a_matrix_is_read_by_the_numbers_of_its_columns():
    X = np.random.default_rng(0).normal(size=(20, 3))
    schema = open_table(X).schema
    np.testing.assert_array_equal(whole_values(open_table(X[:5], schema=schema))["x2"], X[:5, 2])


def test_a_schema_excludes_other_descriptions_of_the_columns(fitted):
    with pytest.raises(
        TypeError, match=r"^schema= defines all columns: omit target, kinds, weight, weights, groups and time"
    ):
        open_table(frame(), kinds={"count": "numeric"}, schema=fitted)


@pytest.mark.parametrize("missing", ["mean", "pairwise"])
def test_a_model_takes_such_a_table_and_gives_the_rows_of_fit_their_places(tmp_path, fitted, missing):
    path = tmp_path / "fitted.csv"
    with pytest.warns(TamizWarning, match="1 of 8 columns is excluded"):
        pca = PCA(3, missing=missing).fit(open_table(path))
    assert pca.schema_ == fitted
    turned = written(frame()[list(fitted.names)[::-1]], tmp_path / "turned.csv")
    np.testing.assert_array_equal(pca.transform(open_table(turned, schema=pca.schema_)), pca.embedding_)
    with pytest.raises(
        DataError,
        match=r"in fit it was 'number'. Reorder the columns, or open the table with open_table\(\.\.\., schema=",
    ):
        pca.transform(open_table(turned))


def test_columns_of_a_file_larger_than_memory_are_kept_on_disk(tmp_path, fitted, monkeypatch):
    expected = whole_values(open_table(tmp_path / "fitted.csv", schema=fitted))
    monkeypatch.setattr(column_storage, "MAX_MEMORY_SHARE", 0.0)
    table = open_table(tmp_path / "fitted.csv", schema=fitted)
    (block,) = table.blocks()
    assert not any(isinstance(values, np.ndarray) for values in block.values.values())
    for name, values in whole_values(table).items():
        np.testing.assert_array_equal(values, expected[name])


def test_a_span_is_the_rows_in_between_with_what_is_known_of_all(tmp_path):
    table = frame().assign(number=[np.nan, *range(N - 1)])
    opened = open_table(table)
    span = slice_rows(opened, 20, 25)
    assert (span.schema.n_rows, span.schema.columns) == (5, opened.schema.columns)
    (block,) = span.blocks()
    assert block.rows == range(5)
    np.testing.assert_array_equal(block.values[0], table["number"][20:25])
    np.testing.assert_array_equal(span.row_numbers, range(20, 25))
    assert span.frame([2], np.array([0, 4]))["colour"].tolist() == table["colour"].iloc[[20, 24]].tolist()
    assert span.frame_by_name(["name"])["name"].tolist() == [f"k{i}" for i in range(20, 25)]


# The layout


@pytest.fixture
def layout(tmp_path):
    def of(text, known):
        path = tmp_path / "table.csv"
        path.write_text(text)
        found = find_layout(path, known)
        return found.names, found.delimiter, found.has_header

    return of


def test_known_names_identify_a_header_that_looks_like_a_row(layout):
    assert layout("a,b\nred,blue\nred,b\n", ["a", "b"]) == (("a", "b"), ",", True)
    assert layout("2019,2020\n1,2\n", ["2019", "2020"]) == (("2019", "2020"), ",", True)
    assert layout("7,20,3\n1,2,5\n", ["20"]) == (("7", "20", "3"), ",", True)


def test_rows_of_a_table_without_names_stay_rows_however_few(layout):
    assert layout("red,small\n", ["x0", "x1"]) == (("x0", "x1"), ",", False)
    assert layout("x0,x1\n1,2\n", ["x0", "x1"])[2] is True


def test_known_names_identify_the_delimiter_of_a_header_without_rows(layout):
    assert layout("petal length\n", ["petal length"])[0] == ("petal length",)
    assert layout("petal length;petal width, mm\n", ["petal width, mm"])[:2] == (
        ("petal length", "petal width, mm"),
        ";",
    )
