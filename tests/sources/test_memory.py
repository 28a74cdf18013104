import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tamiz import open_source


def test_an_array_of_numbers_is_used_as_it_lies():
    array = np.random.default_rng(0).normal(size=(20, 3))
    (block,) = open_source(array).blocks()
    assert np.shares_memory(block.numeric, array)


def test_an_array_is_never_changed():
    array = np.array([[1.0, np.nan], [2.0, 3.0], [4.0, 5.0]])
    array.flags.writeable = False
    (block,) = open_source(array, target=["a", None, "b"]).blocks()
    assert np.array_equal(block.numeric, [[1, np.nan], [4, 5]], equal_nan=True)


def test_the_columns_of_an_array_are_numbered():
    assert open_source(np.eye(3)).schema.names == ["x0", "x1", "x2"]


def test_an_array_of_objects_is_typed_column_by_column():
    array = np.array([["a", 1.5, True], [None, 2, False], ["b", np.nan, None]], dtype=object)
    columns = open_source(array).schema.columns
    assert [column.kind for column in columns] == ["categorical", "numeric", "boolean"]
    assert [column.n_missing for column in columns] == [1, 1, 1]


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float32", ">f8", "bool"])
def test_arrays_of_other_numbers_become_numbers_or_booleans(dtype):
    array = np.array([[0, 1], [1, 1], [1, 0]]).astype(dtype)
    (block,) = open_source(array).blocks()
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
    source = open_source(frame)
    assert [c.kind for c in source.schema.columns] == [
        "numeric",
        "numeric",
        "categorical",
        "boolean",
        "categorical",
        "date",
    ]
    assert [c.n_missing for c in source.schema.columns] == [1] * 6
    assert source.schema.columns[2].levels == ("hi", "lo")
    pd.testing.assert_frame_equal(source.frame([0, 2], np.array([0, 2])), frame[["n", "class"]].iloc[[0, 2]])


def test_polars_frames_lazy_or_not_are_read():
    frame = pl.DataFrame(
        {"n": [1, None, 3], "day": [dt.date(1970, 1, 1), None, dt.date(1970, 1, 2)], "c": ["a", "b", "a"]}
    )
    for given in (frame, frame.lazy()):
        source = open_source(given, target="c")
        (block,) = source.blocks()
        assert np.array_equal(block.numeric, [[1, 0], [np.nan, np.nan], [3, 86400]], equal_nan=True)
        assert block.y.tolist() == [0, 1, 0]
    assert source.frame().equals(frame.select("n", "day"))


def test_names_that_are_no_text_become_text():
    assert open_source(pd.DataFrame([[1.0, 2.0], [3.0, 4.0]])).schema.names == ["0", "1"]


def test_rows_without_a_target_are_left_out_and_told():
    source = open_source(np.arange(8.0).reshape(4, 2), target=["a", None, "b", "a"], weight=[1, 2, 3, 4])
    (block,) = source.blocks()
    assert source.schema.n_dropped == 1
    assert source.schema.dropped == ["1 row without a target left out."]
    assert block.numeric[:, 0].tolist() == [0, 4, 6]
    assert block.weight.tolist() == [1, 3, 4]
    assert source.row_numbers.tolist() == [0, 2, 3]


def test_a_target_beside_the_table_keeps_its_name():
    assert open_source(np.eye(3), target=pd.Series([1.5, 2.5, 4.0], name="price")).schema.target.name == "price"


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (np.zeros(3), ValueError, "^Expected 2D array, got 1D array"),
        (np.zeros((0, 2)), ValueError, r"^The table has 0 sample\(s\)"),
        (np.zeros((2, 0)), ValueError, r"^0 feature\(s\)"),
        (np.zeros((2, 2), complex), ValueError, "^Complex data not supported"),
        (pd.DataFrame(np.eye(2), columns=["a", "a"]), ValueError, "'a'"),
        (pa.table({"a": [[1], [2]]}), TypeError, "^Column a: values of type list"),
    ],
)
def test_tables_that_cannot_be_used_are_refused(data, error, message):
    with pytest.raises(error, match=message):
        open_source(data)


def test_an_infinity_is_named_with_row_and_column():
    with pytest.raises(ValueError, match=r"^row 1, column x0: inf is infinite"):
        open_source(np.array([[1.0, 2.0], [np.inf, 3.0]]))
    with pytest.raises(ValueError, match=r"^row 1, column b: -inf is infinite"):
        open_source(pd.DataFrame({"b": [1.0, -np.inf]}))


def test_a_target_of_another_length_is_refused():
    with pytest.raises(ValueError, match=r"^The target has 2 values and the table 3 rows"):
        open_source(pd.DataFrame(np.eye(3)), target=["a", "b"])


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (["a", "a", "a"], "^Target 'target' is constant"),
        ([None, None, None], "^Target 'target' is missing in every row"),
        (["a", None, None], "1 sample is too few"),
    ],
)
def test_a_target_that_says_nothing_is_refused(target, message):
    with pytest.raises(ValueError, match=message):
        open_source(pd.DataFrame(np.eye(3)), target=target)


@pytest.mark.parametrize(
    ("weight", "message"), [([1, -1, 1], "row 1: the weight -1.0"), ([0, 0, 0], "^Every weight is zero")]
)
def test_weights_that_cannot_be_used_are_refused(weight, message):
    with pytest.raises(ValueError, match=message):
        open_source(pd.DataFrame(np.eye(3)), weight=weight)
