"""Targets and weights: beside the table or in it."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tamiz import open_source
from tamiz.sources import as_source
from tamiz.sources.vectors import weight_vector

TABLE = np.random.default_rng(0).normal(size=(200, 3))
CLASSES = np.arange(200.0) % 2


@pytest.mark.parametrize("table", [TABLE, pd.DataFrame(TABLE), TABLE.astype(object)], ids=["array", "frame", "objects"])
@pytest.mark.parametrize("role", ["target", "weight"])
def test_values_beside_a_table_are_counted_with_their_gaps(table, role):
    given = {"target": CLASSES, "weight": np.ones(200)} | {role: np.append(CLASSES[:198], np.nan)}
    with pytest.raises(ValueError, match=rf"^The {role} has 199 values and the table 200 rows: inconsistent numbers"):
        open_source(table, **given)


def test_values_beside_a_file_are_counted(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a\n1.5\n2\n3\n")
    with pytest.raises(ValueError, match=r"^The target has 2 values and the table 3 rows"):
        open_source(path, target=["a", "b"])


def test_a_name_is_no_target_of_fit():
    with pytest.raises(
        TypeError, match=r"^y takes the target's values, got the name 't': fit on open_source\(X, target='t'"
    ):
        as_source(TABLE, "t")
    with pytest.raises(TypeError, match=r"^sample_weight takes the weights, got the name 'w'"):
        as_source(TABLE, CLASSES, "w")
    with pytest.raises(TypeError, match=r"^X takes a table, got the name 'a\.csv'"):
        as_source("a.csv")


def test_a_column_of_an_array_can_be_the_target_or_the_weight():
    weights = np.abs(TABLE[:, 1]) + 1
    table = np.column_stack([TABLE[:, 0], weights, CLASSES])
    source = open_source(table, "x2", weight="x1")
    (block,) = source.blocks()
    assert source.schema.names == ["x0"]
    assert block.numeric[:, 0].tolist() == TABLE[:, 0].tolist()
    assert block.y.tolist() == CLASSES.tolist()
    assert block.weight.tolist() == weights.tolist()


def test_one_column_is_not_both_target_and_weight():
    with pytest.raises(ValueError, match=r"^Column 'x2' cannot be both the target and the weight"):
        open_source(TABLE, "x2", weight="x2")


def test_weights_that_sum_to_less_than_two_rows_are_refused_with_a_factor():
    with pytest.raises(
        ValueError, match=r"^The weights sum to 1 over 200 rows; .* at least 2 .* Multiply them by 200\.$"
    ):
        open_source(TABLE, weight=np.full(200, 1 / 200))


@pytest.mark.parametrize("weight", [1e-200, 1e200])
def test_weights_out_of_reach_are_refused(weight):
    with pytest.raises(ValueError, match=r"^The weights sum to 2e[+-]\d+; between 1e-100 and 1e\+100"):
        open_source(TABLE, weight=np.full(200, weight))


def test_weights_that_sum_to_less_than_the_rows_are_told():
    told = "The weights sum to 100 over 200 rows: a weight counts as that many rows."
    assert told in open_source(TABLE, weight=np.full(200, 0.5)).schema.notes
    assert open_source(TABLE, weight=np.ones(200)).schema.notes == ()


def test_a_vector_of_weights_is_checked():
    assert weight_vector(None, 3).tolist() == [1, 1, 1]
    assert weight_vector([1, 0, 2], 3).tolist() == [1, 0, 2]
    for bad, message in (
        ([1, 2], "has 2 values for 3"),
        ([1, -1, 1], "value 1: the weight -1.0"),
        ([1, np.nan, 1], "value 1: the weight nan"),
        ([0, 0, 0], "^Every weight is zero"),
    ):
        with pytest.raises(ValueError, match=message):
            weight_vector(bad, 3)


@pytest.mark.parametrize(
    "box", [np.array, lambda v: pd.Series(v), lambda v: pl.Series(v), lambda v: pa.chunked_array([v])]
)
def test_whole_numbers_beyond_2_to_53_stay_different_classes(box):
    first = 2**60
    values = [first, first + 1, first + 2, first + 1]
    schema = open_source(TABLE[:4], box(values)).schema
    assert schema.target.levels == tuple(str(first + k) for k in range(3))


def test_whole_numbers_beyond_2_to_53_stay_different_levels():
    frame = pd.DataFrame({"a": [2**60, 2**60 + 1] * 5, "b": TABLE[:10, 0]})
    assert open_source(frame, kinds={"a": "categorical"}).schema.columns[0].levels == (str(2**60), str(2**60 + 1))


def test_what_a_masked_array_hides_is_missing():
    table = np.ma.masked_array(TABLE[:4], mask=np.eye(4, 3, dtype=bool))
    source = open_source(table, np.ma.masked_array([0, 1, 1, 0], mask=[0, 0, 0, 1]))
    assert [column.n_missing for column in source.schema.columns] == [1, 1, 1]
    assert source.schema.n_dropped == 1
    assert open_source(np.ma.masked_array([["a"], ["b"], ["b"]], mask=[[1], [0], [0]])).schema.columns[0].n_missing == 1


@pytest.mark.parametrize(
    "values",
    [
        np.array([1000, 2500, None], "m8[ms]"),
        pd.Series(pd.to_timedelta([1, 2.5, None], unit="s")),
        pl.Series([dt.timedelta(seconds=1), dt.timedelta(seconds=2.5), None]),
        pa.chunked_array([pa.array([1000, 2500, None], pa.time32("ms"))]),
        pa.chunked_array([pa.array([1_000_000_000, 2_500_000_000, None], pa.time64("ns"))]),
        pa.chunked_array([pa.array([1000, 2500, None], pa.duration("ms"))]),
    ],
)
def test_durations_and_times_of_day_are_seconds_whatever_the_source(values):
    source = open_source(TABLE[:3], values)
    (block,) = source.blocks()
    assert source.schema.target.kind == "numeric"
    assert block.y.tolist() == [1.0, 2.5]


def test_durations_of_whole_seconds_are_no_classes():
    assert open_source(TABLE[:4], np.array([1, 2, 1, 2], "m8[s]")).schema.target.kind == "numeric"


def test_a_pandas_category_of_a_number_and_its_text_is_one_class():
    target = pd.Series([1, "1", "b", "b"], dtype="category")
    assert open_source(TABLE[:4], target).schema.target.levels == ("1", "b")
