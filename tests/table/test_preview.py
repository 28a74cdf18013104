import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamiz.criteria import FisherScore, GainRatio, Variance
from tamiz.criteria.base import columns_per_pass
from tamiz.table.build import OpenOptions
from tamiz.table.kinds import RawColumn
from tamiz.table.known_columns import match_levels
from tamiz.table.preview import Preview, read_preview
from tamiz.table.schema import Column, Schema

N_ROWS = 300_000
CLASSES = np.repeat(["a", "b"], N_ROWS // 2)


def written(tmp_path, ending, **columns):
    """A table of two numbers and more columns, as CSV or Parquet."""
    table = pa.table({"u": np.arange(N_ROWS) % 97 / 8, "v": np.arange(N_ROWS) % 89, **columns})
    path = tmp_path / f"table.{ending}"
    table.to_pandas().to_csv(path, index=False) if ending == "csv" else pq.write_table(table, path)
    return path


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_sorted_by_class_is_described_by_the_class_it_begins_with(tmp_path, ending):
    seen = read_preview(written(tmp_path, ending, y=CLASSES), OpenOptions("y"))
    assert seen is not None
    assert seen.schema.names == ["u", "v"]
    assert seen.schema.target == Column("y", "categorical", ("a",))
    assert seen.schema.n_rows == pytest.approx(N_ROWS, rel=0.05)
    assert columns_per_pass([GainRatio()], seen.schema) == [(0, 1), (0, 1, 2)]
    assert columns_per_pass([FisherScore()], seen.schema) == [(0, 1)]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_weights_and_a_target_that_begin_with_nothing_hide_no_file(tmp_path, ending):
    weights = (np.arange(N_ROWS) >= N_ROWS // 2).astype(float)
    late = pa.array([None] * (N_ROWS // 2) + ["a", "b"] * (N_ROWS // 4))
    seen = read_preview(written(tmp_path, ending, w=weights, y=late), OpenOptions("y", "w"))
    assert seen is not None
    assert (seen.schema.names, seen.schema.target.name, seen.schema.weight) == (["u", "v"], "y", "w")
    assert columns_per_pass([Variance()], seen.schema) == [(0, 1)]


def test_a_preview_of_an_absent_target_contains_no_class(tmp_path):
    assert read_preview(written(tmp_path, "csv"), OpenOptions("y")) is None


@pytest.mark.parametrize("n_levels", [1, 127, 128, 32767, 32768])
def test_a_column_takes_what_its_codes_take(n_levels):
    levels = tuple(map(str, range(n_levels)))
    columns = (Column("u", "numeric"), Column("c", "categorical", levels))
    seen = Preview(Schema(columns, 1000), 0, 0)
    codes = match_levels(RawColumn("c", pa.array(levels)), levels).codes
    assert [seen.column_bytes(0), seen.column_bytes(1)] == [8000, 1000 * codes.itemsize]
    assert codes.itemsize == (1 if n_levels <= 127 else 2 if n_levels <= 32767 else 4)
