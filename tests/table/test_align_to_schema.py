import numpy as np
import pandas as pd
import pytest

from tamiz import open_table
from tamiz.reduction import PCA
from tamiz.table import column_storage
from tamiz.table.base import EncodedTable
from tamiz.table.column_storage import FileColumn
from tamiz.table.factory import align_to_schema

RNG = np.random.default_rng(3)


def table(n_rows, n_missing, levels="pqr"):
    """Two numbers, the first with missing values, and a category."""
    numbers = RNG.standard_normal((n_rows, 2)).round(6)
    numbers[:n_missing, 0] = np.nan
    return pd.DataFrame(numbers, columns=["u", "v"]).assign(c=[levels[k % len(levels)] for k in range(n_rows)])


@pytest.fixture
def unread(monkeypatch):
    """Store columns in files, and fail if a frame of the whole table is requested."""
    monkeypatch.setattr(column_storage, "MAX_MEMORY_SHARE", 0.0)

    def refuse(self, columns=None, rows=None):
        raise AssertionError("frame() reads the whole table")

    monkeypatch.setattr(EncodedTable, "frame", refuse)


@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("missing", ["mean", "pairwise"])
def test_a_file_with_other_missing_values_is_not_read_into_memory_and_has_the_same_coordinates(
    tmp_path, unread, ending, missing
):
    path, rows = tmp_path / f"new.{ending}", table(300, n_missing=7)
    rows.to_csv(path, index=False) if ending == "csv" else rows.to_parquet(path)
    new = open_table(path)
    (block,) = new.blocks()
    assert isinstance(block.values[0], FileColumn)
    pca = PCA(2, missing=missing).fit(table(200, n_missing=3))
    np.testing.assert_array_equal(pca.transform(new), pca.transform(rows))


def test_numbers_of_missing_values_are_those_of_the_new_rows():
    fitted, new = open_table(table(200, n_missing=3)), open_table(table(300, n_missing=7))
    assert align_to_schema(new, fitted.schema) is new
    assert [column.n_missing for column in new.schema.columns] == [7, 0, 0]


@pytest.mark.filterwarnings("ignore:.*Column c. 1 level in 75 rows:tamiz.exceptions.TamizWarning")
@pytest.mark.parametrize("levels", ["pq", "pqrs"])
def test_a_table_with_other_levels_is_given_those_of_fit(levels):
    fitted, rows = open_table(table(200, n_missing=0)), table(300, n_missing=0, levels=levels)
    found = align_to_schema(open_table(rows), fitted.schema)
    assert found.schema.columns[2].levels == ("p", "q", "r")
    (block,) = found.blocks()
    # The level s was not present in fit.
    assert block.column(2).tolist() == rows["c"].map({"p": 0, "q": 1, "r": 2, "s": -1}).tolist()


def test_a_table_under_other_names_is_given_those_of_fit():
    fitted = open_table(table(200, n_missing=0))
    found = align_to_schema(open_table(table(300, n_missing=0).rename(columns={"u": "x"})), fitted.schema)
    assert found.schema.names == ["u", "v", "c"]
