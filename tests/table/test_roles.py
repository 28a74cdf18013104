"""Targets and weights: columns of the table, or passed beside it."""

import datetime as dt
from decimal import Decimal

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamiz import open_table
from tamiz.exceptions import DataError, TamizWarning
from tamiz.table import as_table, csv_reader
from tamiz.table.base import weight_array
from tamiz.table.in_memory import weight_vector
from tamiz.table.views import select_rows

TABLE = np.random.default_rng(0).normal(size=(200, 3))
CLASSES = np.arange(200.0) % 2


@pytest.mark.parametrize("table", [TABLE, pd.DataFrame(TABLE), TABLE.astype(object)], ids=["array", "frame", "objects"])
@pytest.mark.parametrize("role", ["target", "weight"])
def test_values_beside_a_table_are_counted_with_their_missing_values(table, role):
    given = {"target": CLASSES, "weight": np.ones(200)} | {role: np.append(CLASSES[:198], np.nan)}
    with pytest.raises(ValueError, match=rf"^The {role} has 199 values and the table 200 rows: inconsistent numbers"):
        open_table(table, **given)


def test_values_beside_a_file_are_counted(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a\n1.5\n2\n3\n")
    with pytest.raises(ValueError, match=r"^The target has 2 values and the table 3 rows"):
        open_table(path, target=["a", "b"])


def test_a_name_is_no_target_of_fit():
    with pytest.raises(
        TypeError, match=r"^y must be the target's values, got the name 't': fit on open_table\(X, target='t'"
    ):
        as_table(TABLE, "t")
    with pytest.raises(TypeError, match=r"^sample_weight must be the weights, got the name 'w'"):
        as_table(TABLE, CLASSES, "w")
    with pytest.raises(TypeError, match=r"^X must be a table, got the name 'a\.csv'"):
        as_table("a.csv")


def test_a_column_of_an_array_can_be_the_target_or_the_weight():
    weights = np.abs(TABLE[:, 1]) + 1
    table = np.column_stack([TABLE[:, 0], weights, CLASSES])
    opened = open_table(table, "x2", weight="x1")
    (block,) = opened.blocks()
    assert opened.schema.names == ["x0"]
    assert block.numeric[:, 0].tolist() == TABLE[:, 0].tolist()
    assert block.y.tolist() == CLASSES.tolist()
    np.testing.assert_allclose(block.weight / block.weight[0], weights / weights[0])


def test_one_column_is_not_both_target_and_weight():
    with pytest.raises(ValueError, match=r"Column 'x2' cannot be both the target and the weight"):
        open_table(TABLE, "x2", weight="x2")


@pytest.mark.parametrize("factor", [1.0, 0.37, 1e-90, 1e80])
def test_sampling_weights_of_any_scale_sum_to_the_effective_sample_size(factor):
    weight = np.arange(1.0, 201)
    table = open_table(TABLE, weight=factor * weight, weights="sampling")
    np.testing.assert_allclose(weight_array(table), weight * weight.sum() / (weight @ weight), rtol=1e-12)
    assert table.schema.n_effective == pytest.approx(weight.sum() ** 2 / (weight @ weight))
    note = "The weights are sampling weights: 200 rows have an effective sample size of 150.4."
    assert note in table.schema.notes
    equal = open_table(TABLE, weight=np.full(200, factor * 0.011), weights="sampling")
    assert weight_array(equal).tolist() == [1.0] * 200


@pytest.mark.parametrize(
    ("weight", "kind"), [([1, 2, 0], "frequency"), ([1.0, 2.5, 1], "sampling"), ([1e17, 3.0, 2], "frequency")]
)
def test_whole_numbers_are_frequencies_by_default_and_others_sampling_weights(weight, kind):
    table = TABLE[:3]
    assert open_table(table, weight=weight).schema.weight_kind == kind
    assert open_table(table, weight=weight, weights="sampling").schema.weight_kind == "sampling"
    assert open_table(table).schema.weight_kind is None


def test_frequencies_are_whole_numbers():
    message = r"^row 1: the weight 2\.5 is not a whole number, but .* pass weights='sampling' \(--weights sampling\)\.$"
    with pytest.raises(ValueError, match=message):
        open_table(TABLE[:3], weight=[1, 2.5, 0.5], weights="frequency")
    with pytest.raises(ValueError, match=r"^The weights count 1 sample \(row\) in all"):
        open_table(TABLE[:3], weight=[0, 1, 0])
    with pytest.raises(ValueError, match=r"^weights must be one of 'frequency', 'sampling', got 'survey'"):
        open_table(TABLE[:3], weight=[1, 2, 1], weights="survey")
    with pytest.raises(ValueError, match=r"^weights='sampling' \(--weights\) states .* pass weight= \(--weight\)\.$"):
        open_table(TABLE[:3], weights="sampling")


def test_whole_numbers_that_make_the_table_many_times_larger_are_reported():
    weight = np.full(200, 11)
    question = "200 rows count as 2,200. If they correct a sampling design, pass weights='sampling'"
    assert question in open_table(TABLE, weight=weight).schema.notes[0]
    with pytest.warns(UserWarning, match=question):
        as_table(TABLE, None, weight)
    # Whoever names the kind is not asked.
    note = "The weights are numbers of equal rows: 200 rows count as 2,200."
    assert open_table(TABLE, weight=weight, weights="frequency").schema.notes == (note,)
    assert "If they" not in open_table(TABLE, weight=np.full(200, 10)).schema.notes[0]
    assert open_table(TABLE, weight=np.ones(200)).schema.notes == ()


@pytest.mark.parametrize("weight", [1e-200, 1e200])
def test_weights_out_of_reach_are_refused(weight):
    with pytest.raises(ValueError, match=r"^The weights sum to 2e[+-]\d+; the sum must be between 1e-100 and 1e\+100"):
        open_table(TABLE, weight=np.full(200, weight))


def test_a_vector_of_weights_is_checked():
    assert weight_vector(None, 3).tolist() == [1, 1, 1]
    assert weight_vector([1, 0, 2], 3).tolist() == [1, 0, 2]
    for bad, message in (
        ([1, 2], "has 2 values for 3"),
        ([1, -1, 1], "value 1: the weight -1.0"),
        ([1, np.nan, 1], "value 1: the weight is missing"),
        ([0, 0, 0], "^Every weight is zero"),
    ):
        with pytest.raises(ValueError, match=message):
            weight_vector(bad, 3)


@pytest.mark.parametrize(
    "box", [np.array, lambda v: pd.Series(v), lambda v: pl.Series(v), lambda v: pa.chunked_array([v])]
)
def test_integers_beyond_2_to_53_stay_different_classes(box):
    first = 2**60
    values = [first, first + 1, first + 2, first + 1]
    schema = open_table(TABLE[:4], box(values)).schema
    assert schema.target.levels == tuple(str(first + k) for k in range(3))


def test_integers_beyond_2_to_53_stay_different_levels():
    frame = pd.DataFrame({"a": [2**60, 2**60 + 1] * 5, "b": TABLE[:10, 0]})
    assert open_table(frame, kinds={"a": "categorical"}).schema.columns[0].levels == (str(2**60), str(2**60 + 1))


FIRST = 10**18
CODES = [FIRST + k % 6 for k in range(24)]


def _csv(path, values):
    (path / "t.csv").write_text("code,a\n" + "".join(f"{v},{k % 5}.5\n" for k, v in enumerate(values)))
    return path / "t.csv"


def _arff(path, values):
    rows = "".join(f"{v},{k % 5}.5\n" for k, v in enumerate(values))
    (path / "t.arff").write_text(f"@relation r\n@attribute code numeric\n@attribute a numeric\n@data\n{rows}")
    return path / "t.arff"


def _parquet(path, values):
    pq.write_table(pa.table({"code": values, "a": [k % 5 + 0.5 for k in range(len(values))]}), path / "t.parquet")
    return path / "t.parquet"


def _frame(box):
    return lambda path, values: pd.DataFrame({"code": box(values), "a": [k % 5 + 0.5 for k in range(len(values))]})


WAYS = {
    "csv": _csv,
    "arff": _arff,
    "parquet": _parquet,
    "int64": _frame(np.array),
    "uint64": _frame(lambda values: np.array(values, np.uint64)),
    "objects": _frame(lambda values: pd.Series(values, dtype=object)),
    "decimals": _frame(lambda values: [Decimal(v) for v in values]),
    "polars": lambda path, values: pl.DataFrame({"code": values, "a": [k % 5 + 0.5 for k in range(len(values))]}),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("wide", [False, True])
def test_long_codes_stay_different_whatever_they_are_used_as(way, wide, tmp_path, monkeypatch):
    monkeypatch.setattr(csv_reader, "_MANY_COLUMNS", 1 if wide else 1000)
    table = WAYS[way](tmp_path, CODES)
    words = tuple(str(FIRST + k) for k in range(6))
    assert open_table(table, groups="code").group_names == words
    assert open_table(table, target="code").schema.target.levels == words
    levels = open_table(table, kinds={"code": "categorical"}).schema.columns[0].levels
    assert levels == words
    assert open_table(table, time="code").time.tolist() == CODES
    carried = nw.from_native(open_table(table, kinds={"code": "id"}).frame_by_name(["code"]))["code"].to_list()
    assert list(map(str, carried)) == list(map(str, CODES))


@pytest.mark.parametrize("way", WAYS)
def test_numbers_that_float64_cannot_distinguish_are_warned_of_by_name(way, tmp_path):
    message = r"Column code: its 6 different values become 1 as float64"
    with pytest.warns(TamizWarning, match=message):
        open_table(WAYS[way](tmp_path, CODES), kinds={"code": "numeric"})
    # Rounding to float64 keeps the order of distant numbers.
    open_table(WAYS[way](tmp_path, [FIRST + 4096 * (k % 5) for k in range(24)]))


def test_an_array_of_long_codes_is_warned_of():
    with pytest.warns(TamizWarning, match=r"Column x1: its 6 different values become 1 as float64"):
        open_table(np.column_stack([np.arange(24) % 5, CODES]))


@pytest.mark.parametrize("large", [2**63, 2**64, 10**24])
def test_a_list_of_labels_keeps_every_digit(large):
    labels = [large + k % 3 for k in range(6)]
    assert open_table(TABLE[:6], labels).schema.target.levels == tuple(str(large + k) for k in range(3))
    assert open_table(TABLE[:7], groups=[*labels, -5]).group_names[0] == "-5"
    with_gap = open_table(TABLE[:7], [*labels, float("nan")])
    assert (with_gap.schema.n_classes, with_gap.schema.n_dropped) == (3, 1)


def test_decimals_as_levels_are_written_without_zeros_at_their_end():
    frame = pd.DataFrame({"a": [Decimal("1.50"), Decimal("3"), Decimal("20")] * 2, "b": TABLE[:6, 0]})
    assert open_table(frame, kinds={"a": "categorical"}).schema.columns[0].levels == ("1.5", "3", "20")


def test_ids_that_float64_cannot_distinguish_are_ids(tmp_path):
    rows = "".join(f"{FIRST + k},{k % 5}.5\n" for k in np.random.default_rng(0).permutation(40))
    (tmp_path / "t.csv").write_text("customer_id,a\n" + rows)
    assert open_table(tmp_path / "t.csv").schema.columns[0].kind == "id"


def test_columns_of_a_file_are_carried_as_they_are_written(tmp_path):
    rows = "".join(f"{12345678901234 + k},{k * 7:0{1 + k % 3}d},{10**22 + k},{k}.0,{k or ''}\n" for k in range(20))
    (tmp_path / "t.csv").write_text("till,padded,long,real,gap\n" + rows)
    carried = open_table(tmp_path / "t.csv", kinds={"long": "id"}).frame_by_name(
        ["till", "padded", "long", "real", "gap"]
    )
    assert carried["till"].to_pylist() == [12345678901234 + k for k in range(20)]
    assert carried["padded"].to_pylist() == [f"{k * 7:0{1 + k % 3}d}" for k in range(20)]
    assert carried["long"].to_pylist() == [10**22 + k for k in range(20)]
    assert carried["real"].type == pa.float64()
    assert carried["gap"].to_pylist() == [k or None for k in range(20)]


def test_masked_values_of_an_array_are_missing():
    table = np.ma.masked_array(TABLE[:4], mask=np.eye(4, 3, dtype=bool))
    opened = open_table(table, np.ma.masked_array([0, 1, 1, 0], mask=[0, 0, 0, 1]))
    assert [column.n_missing for column in opened.schema.columns] == [1, 1, 1]
    assert opened.schema.n_dropped == 1
    assert open_table(np.ma.masked_array([["a"], ["b"], ["b"]], mask=[[1], [0], [0]])).schema.columns[0].n_missing == 1


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
def test_durations_and_times_of_day_are_seconds_whatever_the_table(values):
    table = open_table(TABLE[:3], values)
    (block,) = table.blocks()
    assert table.schema.target.kind == "numeric"
    assert block.y.tolist() == [1.0, 2.5]


def test_durations_of_whole_seconds_are_no_classes():
    assert open_table(TABLE[:4], np.array([1, 2, 1, 2], "m8[s]")).schema.target.kind == "numeric"


def test_a_pandas_category_of_a_number_and_its_text_is_one_class():
    target = pd.Series([1, "1", "b", "b"], dtype="category")
    assert open_table(TABLE[:4], target).schema.target.levels == ("1", "b")


def test_a_class_for_every_row_and_columns_of_one_value_are_noted():
    frame = pd.DataFrame({"a": [1.0] * 4, "b": ["x"] * 4, "id": list("pqrs"), "y": list("uvuv")})
    notes = open_table(frame[["a", "b", "id"]], "id").schema.notes
    assert "Each of the 4 rows has a class of its own, so 'id' cannot be predicted." in notes
    assert "All 2 used columns are constant, so that rows cannot be distinguished." in notes
    (alone,) = open_table(frame[["a"]]).schema.notes
    assert alone == "Column 'a' is constant, so that rows cannot be distinguished."
    usual = open_table(frame.assign(a=[1.0, 2, 3, 4])[["a", "b", "y"]], "y").schema.notes
    assert usual == ()


def test_target_values_are_those_of_the_rows_that_count():
    X = np.arange(5.0)[:, None]
    classes = open_table(X, pd.Series(["10", None, "9", "9", "10"]))
    assert classes.target_values().tolist() == ["10", "9", "9", "10"]
    numbers = open_table(X, [0.5, 1.5, np.nan, 2.5, 0.5], weight=np.ones(5))
    assert numbers.target_values().tolist() == [0.5, 1.5, 2.5, 0.5]
    assert numbers.target_values().dtype == np.float64
    assert select_rows(numbers, np.array([1, 3])).target_values().tolist() == [1.5, 0.5]


def test_target_values_of_a_table_without_a_target_are_refused_with_the_way_out():
    with pytest.raises(DataError, match=r"no target; pass a column name .* open_table\(\.\.\., target=\.\.\.\)"):
        open_table(np.arange(5.0)[:, None]).target_values()
