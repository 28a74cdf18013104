import datetime as dt
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tamiz import open_table


def test_an_array_of_numbers_is_used_as_it_lies():
    array = np.random.default_rng(0).normal(size=(20, 3))
    (block,) = open_table(array).blocks()
    assert np.shares_memory(block.numeric, array)


def test_an_array_is_never_changed():
    array = np.array([[1.0, np.nan], [2.0, 3.0], [4.0, 5.0]])
    array.flags.writeable = False
    (block,) = open_table(array, target=["a", None, "b"]).blocks()
    assert np.array_equal(block.numeric, [[1, np.nan], [4, 5]], equal_nan=True)


def test_the_columns_of_an_array_are_numbered():
    assert open_table(np.eye(3)).schema.names == ["x0", "x1", "x2"]


def test_an_array_of_objects_is_typed_column_by_column():
    array = np.array([["a", 1.5, True], [None, 2, False], ["b", np.nan, None]], dtype=object)
    columns = open_table(array).schema.columns
    assert [column.kind for column in columns] == ["categorical", "numeric", "boolean"]
    assert [column.n_missing for column in columns] == [1, 1, 1]


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float32", ">f8", "bool"])
def test_arrays_of_other_numbers_become_numbers_or_booleans(dtype):
    array = np.array([[0, 1], [1, 1], [1, 0]]).astype(dtype)
    (block,) = open_table(array).blocks()
    columns = block.codes if dtype == "bool" else block.numeric
    assert columns.tolist() == [[0, 1], [1, 1], [1, 0]]


def test_pandas_types_are_kept():
    frame = pd.DataFrame(
        {
            "n": [1.5, np.nan, 3.0],
            "whole": pd.array([1, None, 3], dtype="Int64"),
            "class": pd.Categorical(["lo", None, "hi"], categories=["hi", "lo", "never"]),
            "flag": pd.array([True, None, False], dtype="boolean"),
            "text": ["a", None, "b"],
            "time": pd.to_datetime(["1970-01-01", None, "1970-01-02"]),
        },
        index=[7, 7, 9],
    )
    table = open_table(frame)
    assert [c.kind for c in table.schema.columns] == [
        "numeric",
        "numeric",
        "categorical",
        "boolean",
        "categorical",
        "date",
    ]
    assert [c.n_missing for c in table.schema.columns] == [1] * 6
    assert table.schema.columns[2].levels == ("hi", "lo")
    pd.testing.assert_frame_equal(table.frame([0, 2], np.array([0, 2])), frame[["n", "class"]].iloc[[0, 2]])


def test_polars_frames_lazy_or_not_are_read():
    frame = pl.DataFrame(
        {"n": [1, None, 3], "day": [dt.date(1970, 1, 1), None, dt.date(1970, 1, 2)], "c": ["a", "b", "a"]}
    )
    for given in (frame, frame.lazy()):
        table = open_table(given, target="c")
        (block,) = table.blocks()
        assert np.array_equal(block.numeric, [[1, 0], [np.nan, np.nan], [3, 86400]], equal_nan=True)
        assert block.y.tolist() == [0, 1, 0]
    assert table.frame().equals(frame.select("n", "day"))


def test_names_that_are_no_text_become_text():
    assert open_table(pd.DataFrame([[1.0, 2.0], [3.0, 4.0]])).schema.names == ["0", "1"]


def test_rows_without_a_target_are_left_out_and_reported():
    table = open_table(np.arange(8.0).reshape(4, 2), target=["a", None, "b", "a"], weight=[1, 2, 3, 4])
    (block,) = table.blocks()
    assert table.schema.n_dropped == 1
    assert table.schema.dropped_row_notes == ["1 row without a target was left out."]
    assert block.numeric[:, 0].tolist() == [0, 4, 6]
    assert block.weight.tolist() == [1, 3, 4]
    assert table.row_numbers.tolist() == [0, 2, 3]


def test_a_target_beside_the_table_keeps_its_name():
    assert open_table(np.eye(3), target=pd.Series([1.5, 2.5, 4.0], name="price")).schema.target.name == "price"


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (np.zeros(3), ValueError, "^Expected 2D array, got 1D array"),
        (np.zeros((0, 2)), ValueError, r"^The table has 0 sample\(s\)"),
        (np.zeros((2, 0)), ValueError, r"^0 feature\(s\)"),
        (np.zeros((2, 2), complex), ValueError, "^Complex data not supported"),
        (pd.DataFrame(np.eye(2), columns=["a", "a"]), ValueError, "'a'"),
    ],
)
def test_tables_that_cannot_be_used_are_refused(data, error, message):
    with pytest.raises(error, match=message):
        open_table(data)


def test_an_infinity_is_named_with_row_and_column():
    with pytest.raises(ValueError, match=r"^row 1, column x0: inf is infinite"):
        open_table(np.array([[1.0, 2.0], [np.inf, 3.0]]))
    with pytest.raises(ValueError, match=r"^row 1, column b: -inf is infinite"):
        open_table(pd.DataFrame({"b": [1.0, -np.inf]}))


def test_a_target_of_another_length_is_refused():
    with pytest.raises(ValueError, match=r"^The target has 2 values and the table 3 rows"):
        open_table(pd.DataFrame(np.eye(3)), target=["a", "b"])


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (["a", "a", "a"], "^Target 'target' is constant"),
        ([None, None, None], "^Target 'target' is missing in every row"),
        (["a", None, None], "1 sample is too few"),
    ],
)
def test_a_target_without_information_is_refused(target, message):
    with pytest.raises(ValueError, match=message):
        open_table(pd.DataFrame(np.eye(3)), target=target)


@pytest.mark.parametrize(
    ("weight", "message"), [([1, -1, 1], "row 1: the weight -1.0"), ([0, 0, 0], "^Every weight is zero")]
)
def test_weights_that_cannot_be_used_are_refused(weight, message):
    with pytest.raises(ValueError, match=message):
        open_table(pd.DataFrame(np.eye(3)), weight=weight)


def test_a_matrix_is_not_searched_for_ids():
    numbers = np.column_stack([np.arange(20), np.arange(20) ** 2])
    for given, kinds in (
        (numbers, None),
        (numbers, {"x1": "numeric"}),
        (numbers.astype(object), None),
    ):
        assert [column.kind for column in open_table(given, kinds=kinds).schema.columns] == ["numeric", "numeric"]


def test_text_in_a_matrix_that_all_differs_is_text_and_no_id():
    column = open_table(np.array([[f"n{k}", k] for k in range(20)], dtype=object)).schema.columns[0]
    assert (column.kind, column.exclusion_reason) == ("text", "all values are distinct")


def test_missing_values_of_every_library_are_missing_and_a_text_like_them_is_text():
    values = np.array([None, np.nan, pd.NA, pd.NaT, np.float32("nan"), np.datetime64("NaT"), "<NA>", "a"], dtype=object)
    for table in (values[:, None], pd.DataFrame({"a": values})):
        column = open_table(table).schema.columns[0]
        assert (column.levels, column.n_missing) == (("<NA>", "a"), 6)


def test_names_of_every_kind_come_back_with_the_frame():
    table = np.arange(6.0).reshape(2, 3)
    for names in ([7, 8, 9], [("a", 1), ("a", 2), ("b", 1)]):
        frame = pd.DataFrame(table, columns=pd.Index(names, tupleize_cols=False))
        opened = open_table(frame)
        pd.testing.assert_frame_equal(opened.frame([2, 0]), frame.iloc[:, [2, 0]])
        assert opened.frame([]).shape[1] == 0


def test_kinds_name_columns_that_are_numbers():
    frame = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]])
    assert open_table(frame, kinds={0: "categorical"}).schema.columns[0].kind == "categorical"


@pytest.mark.parametrize(
    "frame", [pd.DataFrame(np.eye(2), columns=["a", "a"]), pa.table([[1, 2], [2, 3]], names=["a", "a"])]
)
def test_a_name_that_occurs_twice_is_named(frame):
    with pytest.raises(ValueError, match=r"^Column 'a' occurs twice; rename one of them\.$"):
        open_table(frame)


def test_a_number_whose_square_is_not_finite_is_refused():
    with pytest.raises(ValueError, match=r"^row 1, column x0: 1e\+151 is too large to be squared; use another unit\.$"):
        open_table(np.array([[1.0], [1e151], [np.nan]]))
    assert open_table(np.array([[1.0], [-1e150], [np.nan]])).schema.columns[0].n_missing == 1


def test_integers_beyond_64_bits_are_numbers_in_an_array_of_objects():
    array = np.array([[10**30], [1], [1]], dtype=object)
    assert open_table(array).schema.columns[0].kind == "numeric"
    assert open_table(array, kinds="categorical").schema.columns[0].levels == ("1", str(10**30))


def test_integers_and_fractions_are_numbers_in_an_array_of_objects():
    array = np.array([[2**60], [1.5], [None]], dtype=object)
    (column,) = open_table(array).schema.columns
    assert (column.kind, column.n_missing) == ("numeric", 1)


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame({"c": pl.Series([1, 2], dtype=pl.Int128)}),
    ],
)
def test_types_without_a_number_are_refused_by_name(frame):
    with pytest.raises(ValueError, match=r"^Column c: values of type \S+ are not supported; cast the column"):
        open_table(frame)


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [({"a": [1, 2]}, TypeError, "got a dict"), (pd.Series([1.0, 2.0]), ValueError, "got a Series")],
)
def test_input_that_is_no_table_is_refused(data, error, message):
    with pytest.raises(error, match=message):
        open_table(data)


def test_a_table_of_one_row_is_refused():
    with pytest.raises(ValueError, match=r"^The table has 1 sample \(row\); at least 2 are needed\.$"):
        open_table(np.eye(1))


@pytest.mark.parametrize("kind", ["text", "id"])
def test_missing_values_of_a_category_left_out_are_counted(kind):
    frame = pd.DataFrame({"a": pd.Categorical(["x", None, "y"]), "b": [1.0, 2.0, 4.0]})
    assert open_table(frame, kinds={"a": kind}).schema.columns[0].n_missing == 1


def repeated(values):
    """600 values, so that others after them are not among the first, from which repeated words are inferred."""
    return pd.Series(values * (600 // len(values)), dtype=object)


@pytest.mark.parametrize(
    ("extra", "levels", "n_missing"),
    [
        ([None, np.nan, pd.NA, pd.NaT], ("a", "b"), 4),
        (["nan", ""], ("", "a", "b", "nan"), 0),
        ([np.str_("b")], ("a", "b"), 0),
        (["é", "\U0001f600"], ("a", "b", "é", "\U0001f600"), 0),
    ],
)
def test_python_strings_of_a_frame_are_levels(extra, levels, n_missing):
    frame = pd.DataFrame({"x": pd.concat([repeated(["b", "a"]), pd.Series(extra, dtype=object)], ignore_index=True)})
    (column,) = open_table(frame).schema.columns
    assert (column.kind, column.levels, column.n_missing) == ("categorical", levels, n_missing)
    (block,) = open_table(frame).blocks()
    assert block.column(0)[:4].tolist() == [levels.index("b"), levels.index("a")] * 2
    assert (block.column(0) < 0).sum() == n_missing


def test_python_strings_and_other_objects_are_levels_of_their_text():
    for others in ([7, 2.5, True], [["c"], None]):
        frame = pd.DataFrame({"x": pd.concat([repeated(["b", "a"]), pd.Series(others, dtype=object)])})
        levels = open_table(frame).schema.columns[0].levels
        assert levels == tuple(sorted({"a", "b", *(str(value) for value in others if value is not None)}))


def test_text_in_arrows_format_has_the_levels_of_python_strings():
    words = ["b", "a", None, "c"] * 200
    for dtype in ("str", "string[pyarrow]", "string[python]", object):
        (column,) = open_table(pd.DataFrame({"x": pd.Series(words, dtype=dtype)})).schema.columns
        assert (column.kind, column.levels, column.n_missing) == ("categorical", ("a", "b", "c"), 200)


def test_labels_of_a_text_target_have_the_type_of_the_series():
    y = pd.Series(["no", "yes"] * 300, dtype=object)
    assert open_table(np.arange(600.0)[:, None] % 7, y).target_values().tolist() == y.tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.uint16, np.int64])
def test_numbers_declared_categorical_are_levels_in_numeric_order(dtype):
    values = np.array([10, 2, 0, 2, 10, 7] * 50, dtype=dtype)
    table = open_table(values[:, None], kinds="categorical")
    assert table.schema.columns[0].levels == ("0", "2", "7", "10")
    (block,) = table.blocks()
    assert block.column(0)[:6].tolist() == [3, 1, 0, 1, 3, 2]


def test_equal_zeros_and_missing_numbers_are_one_level_and_none():
    values = np.array([-0.0, 0.0, np.nan, 0.1, 0.1] * 10)
    table = open_table(values[:, None], kinds="categorical")
    assert table.schema.columns[0].levels == ("0", "0.1")
    assert table.schema.columns[0].n_missing == 10
    (block,) = table.blocks()
    assert block.column(0)[:5].tolist() == [0, 0, -1, 1, 1]


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([[1], [2], None], "its values are lists"),
        ([{"b": 1}, None, {"b": 2}], "its values are structures"),
        ([b"1", b"2", None], "its values are bytes"),
        (
            pa.array([b"0" * 16, None, b"1" * 16], pa.binary(16)).cast(pa.uuid()),
            "its values are bytes",
        ),
        (
            pa.array([(1, 2, 3), None, (1, 2, 4)], pa.month_day_nano_interval()),
            "its values are of type month_day_nano_interval",
        ),
    ],
)
def test_columns_without_single_values_are_left_out_and_have_no_role(values, reason):
    table = pa.table({"a": values, "b": [1.0, 2.0, 3.0]})
    column = open_table(table).schema.columns[0]
    assert (column.kind, column.exclusion_reason, column.n_missing) == ("text", reason, 1)
    for role in ({"target": "a"}, {"groups": "a"}, {"weight": "a"}, {"time": "a"}, {"kinds": {"a": "numeric"}}):
        with pytest.raises(TypeError, match=f"^Column a: {re.escape(reason)}, but every argument must be"):
            open_table(table, **role)
