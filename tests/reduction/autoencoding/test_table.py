"""Encoding of a mixed table as numbers and codes, merging of rare levels, and reconstructed values."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tamiz.exceptions import DataError
from tamiz.reduction.autoencoder_network import MAX_LEVELS, OTHER_LEVELS, ColumnEncoder, EncodedRows, LevelTable
from tamiz.table.factory import as_table

TABLE = pd.DataFrame(
    {
        "size": [1.0, 2.0, np.nan, 5.0],
        "color": ["red", "blue", None, "red"],
        "same": [3.0, 3.0, 3.0, 3.0],
        "large": [True, False, True, True],
        "day": pd.to_datetime(["2020-01-01", "2020-01-03", "2020-01-05", "2020-01-07"]),
    }
)


def encode(table, **options):
    opened = as_table(table)
    encoder = ColumnEncoder.fit(opened, **{"standardize": True, **options})
    (block,) = opened.blocks()
    return encoder, encoder.encode(block)


def test_numbers_are_standardised_and_missing_values_are_zero():
    encoder, rows = encode(TABLE)
    names = [encoder.schema.columns[j].name for j in encoder.columns]
    assert names == ["size", "same", "day", "color", "large"]
    present = np.array([1.0, 2.0, 5.0])
    wanted = (present - present.mean()) / present.std()
    np.testing.assert_allclose(rows.numbers[[0, 1, 3], 0], wanted, rtol=1e-12)
    assert rows.numbers[2, 0] == 0.0
    assert rows.present[:, 0].tolist() == [True, True, False, True]
    assert rows.numbers[:, 1].tolist() == [0.0] * 4
    assert encoder.variances.tolist() == [1, 0, 1, 1, 1]


def test_indicators_are_centred_with_a_total_variance_of_1_and_zero_where_missing():
    encoder, rows = encode(TABLE)
    points = encoder.coordinates(rows)
    color = points[:, encoder.level_spans[0]]
    assert color[2].tolist() == [0.0, 0.0]
    np.testing.assert_allclose(color[[0, 1, 3]].mean(axis=0), 0.0, atol=1e-12)
    assert color[[0, 1, 3]].var(axis=0).sum() == pytest.approx(1.0, rel=1e-12)


def test_columns_of_one_unit_keep_the_ratios_of_their_variances():
    X = np.random.default_rng(0).normal(size=(50, 3)) * [1.0, 3.0, 0.0]
    encoder, rows = encode(X, standardize=False)
    np.testing.assert_allclose(rows.numbers.std(axis=0)[:2], X.std(axis=0)[:2] / encoder.scale[:2])
    assert encoder.scale[0] == encoder.scale[1]
    np.testing.assert_allclose(encoder.variances, rows.numbers.var(axis=0), rtol=1e-12)


def test_rare_levels_are_merged_and_the_frequent_ones_keep_their_order():
    counts = np.r_[np.full(10, 1), np.full(MAX_LEVELS, 5)]
    table = LevelTable.from_shares(counts / counts.sum())
    assert len(table.shares) == MAX_LEVELS
    assert table.merged[:10].tolist() == [MAX_LEVELS - 1] * 10
    assert table.merged[10 : 10 + MAX_LEVELS - 1].tolist() == list(range(MAX_LEVELS - 1))
    # Of equal shares the last one is merged.
    assert table.merged[-1] == MAX_LEVELS - 1
    assert table.shares.sum() == pytest.approx(1.0)
    names = table.level_names(tuple(f"v{k}" for k in range(len(counts))))
    assert names[:2] == ["v10", "v11"]
    assert names[-1] == OTHER_LEVELS
    few = LevelTable.from_shares(np.full(MAX_LEVELS, 1 / MAX_LEVELS))
    assert few.merged.tolist() == list(range(MAX_LEVELS))


@pytest.mark.parametrize("frame", [pd.DataFrame(np.zeros((4, 1)), index=list("wxyz")), pl.DataFrame({"z": [0.0] * 4})])
def test_values_return_with_their_names_units_and_types(frame):
    import narwhals as nw

    encoder, rows = encode(TABLE)
    outputs = np.concatenate([rows.numbers, *(10.0 * (rows.codes[:, [k]] == np.arange(2)) for k in range(2))], axis=1)
    found = encoder.to_frame(encoder.decode(outputs), nw.from_native(frame))
    assert type(found) is type(frame)
    assert list(found.columns) == list(TABLE.columns)
    columns = {name: found[name].to_list() for name in found.columns}
    assert columns["size"] == pytest.approx([1.0, 2.0, 8 / 3, 5.0])
    assert columns["color"] == ["red", "blue", "blue", "red"]
    assert columns["large"] == TABLE["large"].tolist()
    assert columns["day"] == TABLE["day"].tolist()
    if isinstance(frame, pd.DataFrame):
        assert found.index.tolist() == list("wxyz")
        assert found["large"].dtype == bool


def test_parts_of_rows_with_and_without_missing_values_are_joined():
    _, rows = encode(TABLE)
    parts = [rows.take(slice(0, 2)), rows.take(slice(2, 4))]
    complete = EncodedRows(parts[0].numbers, None, parts[0].codes)
    joined = EncodedRows.concatenate([complete, parts[1]])
    np.testing.assert_array_equal(joined.numbers, rows.numbers)
    np.testing.assert_array_equal(joined.present, rows.present)
    np.testing.assert_array_equal(joined.codes, rows.codes)
    assert EncodedRows.concatenate([complete, complete]).present is None


def test_a_table_of_constant_columns_is_refused():
    with pytest.raises(DataError, match="All columns are constant"):
        encode(np.ones((5, 2)))
