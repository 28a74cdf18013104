import gc
import tempfile

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from tamiz import open_table
from tamiz.exceptions import DataError
from tamiz.table import column_storage, parquet
from tamiz.table.column_storage import FileColumn

TABLE = pa.table(
    {
        "n": pa.array([1.5, None, 3.0, 4.0]),
        "whole": pa.array([1, 2, 2, None], pa.int64()),
        "class": pa.array(["p", "q", None, "p"]).dictionary_encode(),
        "flag": pa.array([True, False, None, True]),
        "day": pa.array([0, 1, None, 3], pa.date32()),
        "a.b": pa.array([1.0, 2.0, 3.0, 5.0]),
        "a": pa.array(["u", "v", "u", "v"]),
    }
)


def write_ipc(table, path):
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table)


WRITERS = {"parquet": pq.write_table, "arrow": write_ipc, "feather": pyarrow.feather.write_feather}


@pytest.mark.parametrize("ending", WRITERS)
def test_a_columnar_file_keeps_its_types(tmp_path, ending):
    path = tmp_path / f"table.{ending}"
    WRITERS[ending](TABLE, path)
    table = open_table(path)
    kinds = {column.name: column.kind for column in table.schema.columns}
    assert kinds == {
        "n": "numeric",
        "whole": "numeric",
        "class": "categorical",
        "flag": "boolean",
        "day": "date",
        "a.b": "numeric",
        "a": "categorical",
    }
    assert [column.n_missing for column in table.schema.columns] == [1, 1, 1, 1, 1, 0, 0]
    assert table.frame().equals(TABLE)
    assert table.frame([6, 0], np.array([2, 0])).to_pydict() == {"a": ["u", "u"], "n": [3.0, 1.5]}


def test_a_folder_of_parquet_files_is_one_table(tmp_path):
    for year in (2020, 2021):
        (tmp_path / f"year={year}").mkdir()
        pq.write_table(TABLE.select(["n"]), tmp_path / f"year={year}" / "part.parquet")
    table = open_table(tmp_path)
    assert table.schema.names == ["n", "year"]
    assert table.frame().column("year").to_pylist() == [2020] * 4 + [2021] * 4


@pytest.mark.parametrize("n_values", [1, 8, 12])
def test_columns_of_few_rows_are_read_several_at_a_time(tmp_path, monkeypatch, n_values):
    pq.write_table(TABLE, tmp_path / "table.parquet")
    whole = open_table(tmp_path / "table.parquet")
    head = parquet.read_head(parquet.open_dataset(tmp_path / "table.parquet", "parquet")[0], 3)
    # One, two and three columns of four rows.
    monkeypatch.setattr(parquet, "_VALUES_PER_SCAN", n_values)
    assert open_table(tmp_path / "table.parquet").fingerprint() == whole.fingerprint()
    assert parquet.read_head(parquet.open_dataset(tmp_path / "table.parquet", "parquet")[0], 3).equals(head)


def test_columns_larger_than_memory_are_kept_on_disk_and_go_with_the_table(tmp_path, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(column_storage, "MAX_MEMORY_SHARE", 0.0)
    pq.write_table(TABLE, tmp_path / "table.parquet")
    table = open_table(tmp_path / "table.parquet")
    (block,) = table.blocks()
    assert all(isinstance(values, FileColumn) for values in block.values.values())
    assert block.column(5).tolist() == [1, 2, 3, 5]
    del table, block
    gc.collect()
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("more", [-1, 1])
@pytest.mark.parametrize("name", ["n", "whole", "a", "class"])
def test_a_file_with_other_rows_than_it_was_opened_with_is_refused(tmp_path, monkeypatch, name, more):
    path = tmp_path / "table.parquet"
    pq.write_table(TABLE.select([name]), path)
    whole = parquet.open_dataset

    def counted_before(path, file_format):
        data, n_rows = whole(path, file_format)
        return data, n_rows - more

    monkeypatch.setattr(parquet, "open_dataset", counted_before)
    now = "more" if more > 0 else "4"
    with pytest.raises(
        DataError,
        match=rf"^Column {name}: the file had {4 - more} rows when it was opened and now has {now}\. .*; open it again\.$",
    ):
        open_table(path)


def test_a_file_of_another_format_is_refused(tmp_path):
    path = tmp_path / "table.parquet"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"table\.parquet cannot be read as Parquet: "):
        open_table(path)


def test_a_table_without_rows_is_refused(tmp_path):
    pq.write_table(TABLE.slice(0, 0), tmp_path / "table.parquet")
    with pytest.raises(ValueError, match=r"table\.parquet has no rows\.$"):
        open_table(tmp_path / "table.parquet")


def test_lists_within_cells_are_left_out(tmp_path):
    pq.write_table(pa.table({"a": [[1], [2]], "b": [1.0, 2.0]}), tmp_path / "table.parquet")
    assert open_table(tmp_path / "table.parquet").schema.columns[0].exclusion_reason == "its values are lists"


def test_names_that_occur_twice_are_refused(tmp_path):
    pq.write_table(pa.table([pa.array([1, 2]), pa.array([1, 2])], ["a", "a"]), tmp_path / "table.parquet")
    with pytest.raises(ValueError, match=r"table\.parquet has two columns with the same name"):
        open_table(tmp_path / "table.parquet")
