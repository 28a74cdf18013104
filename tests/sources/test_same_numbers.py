"""One table, given in every way, is the same table."""

import csv
import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from tamiz import open_source

N = 200


def make_columns():
    rng = np.random.default_rng(7)
    numbers = (rng.normal(size=N) * 10.0 ** rng.integers(-8, 9, N)).tolist()
    return {
        "number": [None if k % 17 == 3 else x for k, x in enumerate(numbers)],
        "whole": rng.integers(-5, 1000, N).tolist(),
        "colour": [None if k % 13 == 5 else ["red", "dark blue", "o'hara", "a,b"][k % 4] for k in range(N)],
        "grade": [str(k % 12) + "th" for k in range(N)],
        "flag": [None if k % 19 == 1 else bool(k % 3) for k in range(N)],
        "day": [None if k % 11 == 2 else dt.datetime(1969, 12, 1) + dt.timedelta(hours=7 * k) for k in range(N)],
        "constant": [2.5] * N,
        "empty": [None] * N,
        "code": [f"n{k}" for k in range(N)],
        "id": list(range(1, N + 1)),
        "class": [None if k == 50 else "pqr"[k % 3] for k in range(N)],
    }


COLUMNS = make_columns()
NUMBERS = ["number", "whole", "constant", "empty"]


def as_pandas(path):
    return pd.DataFrame(COLUMNS)


def as_polars(path):
    return pl.DataFrame(COLUMNS)


def as_arrow(path):
    return pa.table(COLUMNS)


def as_parquet(path):
    pq.write_table(pa.table(COLUMNS), path / "table.parquet", row_group_size=64)
    return path / "table.parquet"


def as_feather(path):
    pyarrow.feather.write_feather(pa.table(COLUMNS), path / "table.feather", chunksize=64)
    return path / "table.feather"


def as_text(path, name, delimiter):
    with (path / name).open("w", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(COLUMNS)
        writer.writerows(zip(*COLUMNS.values(), strict=True))
    return path / name


def as_csv(path):
    return as_text(path, "table.csv", ",")


def as_tsv(path):
    return as_text(path, "table.tsv", "\t")


def as_arff(path):
    def word(value):
        if value is None:
            return "?"
        if isinstance(value, dt.datetime):
            return f"'{value:%Y-%m-%dT%H:%M:%S}'"
        return repr(value) if isinstance(value, int | float) else "'" + value.replace("'", "\\'") + "'"

    types = {
        "day": "date",
        "code": "string",
        "colour": "string",
        "grade": "string",
        "class": "{r,q,p}",
        "flag": "{True,False}",
    }
    lines = ["@relation same", *(f"@attribute {name} {types.get(name, 'numeric')}" for name in COLUMNS), "@data"]
    lines += [",".join(map(word, row)) for row in zip(*COLUMNS.values(), strict=True)]
    (path / "table.arff").write_text("\n".join(lines))
    return path / "table.arff"


WAYS = [as_polars, as_arrow, as_parquet, as_feather, as_csv, as_tsv, as_arff]


def described(source, *, without_kind=()):
    return [
        (c.name, None if c.name in without_kind else c.kind, c.levels, c.n_missing, c.constant, c.left_out)
        for c in (*source.schema.columns, source.schema.target)
    ]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_every_way_gives_the_same_schema_and_bits(way, tmp_path):
    expected = open_source(as_pandas(tmp_path), target="class")
    source = open_source(way(tmp_path), target="class")
    # ARFF has no booleans: what stands for them is nominal, with the same levels.
    without_kind = ("flag",) if way is as_arff else ()
    assert described(source, without_kind=without_kind) == described(expected, without_kind=without_kind)
    assert (source.schema.n_rows, source.schema.n_dropped) == (N - 1, 1)
    (block,), (wanted,) = source.blocks(), expected.blocks()
    assert block.numeric_columns == wanted.numeric_columns
    assert block.numeric.tobytes() == wanted.numeric.tobytes()
    assert block.code_columns == wanted.code_columns
    assert np.array_equal(block.codes, wanted.codes)
    assert np.array_equal(block.y, wanted.y)


def test_an_array_gives_the_same_bits_as_a_frame():
    array = np.array([COLUMNS[name] for name in NUMBERS], dtype=float).T  # None becomes NaN
    source, expected = open_source(array), open_source(pd.DataFrame(COLUMNS)[NUMBERS])
    told = [[(c.kind, c.n_missing, c.constant, c.left_out) for c in s.schema.columns] for s in (source, expected)]
    assert told[0] == told[1]
    (block,), (wanted,) = source.blocks(), expected.blocks()
    assert np.ascontiguousarray(block.numeric).tobytes() == np.ascontiguousarray(wanted.numeric).tobytes()


def test_the_table_has_what_the_comparison_is_about(tmp_path):
    schema = open_source(as_pandas(tmp_path), target="class").schema
    assert [c.kind for c in schema.columns] == [
        "numeric", "numeric", "categorical", "categorical", "boolean", "date", "numeric", "numeric", "id", "id",
    ]  # fmt: skip
    assert schema.target.levels == ("p", "q", "r")
