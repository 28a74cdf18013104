"""Repeated rows and columns, against pandas on the same table."""

import numpy as np
import pandas as pd
import pytest

from tamiz import open_table
from tamiz._study.table import count_duplicates
from tamiz.runtime.codec import to_json
from tamiz.table import duplicate_detection
from tamiz.table.duplicate_detection import MAX_DISTINCT, compute_fingerprints, find_duplicate_columns
from tamiz.table.views import select_columns, select_rows


def repeated(table):
    return to_json(count_duplicates(table, compute_fingerprints(table).rows))


def same(table):
    names = table.schema.names
    found = find_duplicate_columns(table, compute_fingerprints(table).columns)
    return {names[j]: names[earlier] for j, earlier in found.items()}


def mixed(seed, n=400, *, levels=3):
    """Numbers with gaps, both zeros and categories with gaps, of few values, so that rows repeat."""
    rng = np.random.default_rng(seed)
    number = rng.choice([-1.5, -0.0, 0.0, 2.0, np.nan], n)
    colour = rng.choice(["red", "green", "blue", None], n)
    return pd.DataFrame(
        {"a": number, "b": rng.integers(0, levels, n), "colour": colour, "y": rng.choice(["no", "yes"], n)}
    )


@pytest.mark.parametrize("seed", range(6))
def test_repeated_and_contradicting_rows_are_those_that_pandas_counts(seed):
    frame = mixed(seed)
    found = repeated(open_table(frame, "y"))
    plain = frame.assign(a=frame["a"] + 0.0)
    assert found["n"] == plain.duplicated().sum() > 0
    by_columns = plain.groupby(["a", "b", "colour"], dropna=False)["y"]
    torn = by_columns.transform("nunique") > 1
    assert found["contradictions"]["n"] == torn.sum() > 0


def test_the_example_is_the_first_row_that_repeats_by_its_number_in_the_users_table():
    frame = pd.DataFrame(
        {"a": [9.0, 5.0, 1.0, 7.0, 1.0, 5.0, 1.0, 5.0], "y": ["p", None, "p", "q", "p", "q", "p", "p"]}
    )
    found = repeated(open_table(frame, "y"))
    assert (found["n"], found["example"]) == (2, [2, 4, 6])
    assert found["contradictions"] == {"n": 2, "example": [5, 7]}


def test_a_numeric_target_has_no_contradictions():
    frame = pd.DataFrame({"a": [1.0, 1.0, 2.0, 2.0], "y": [0.5, 0.25, 1.5, 1.5]})
    found = repeated(open_table(frame, "y"))
    assert (found["n"], found["example"]) == (1, [2, 3])
    assert found["contradictions"]["n"] == 0


def test_rows_without_a_target_are_equal_by_their_columns():
    found = repeated(open_table(mixed(0).drop(columns="y")))
    assert found["n"] == mixed(0).drop(columns="y").assign(a=lambda f: f["a"] + 0.0).duplicated().sum()


def test_columns_that_take_no_part_are_not_compared():
    frame = pd.DataFrame({"id": np.arange(20), "a": np.repeat(np.arange(10.0), 2), "y": np.tile([1.5, 2.5], 10)})
    assert repeated(open_table(frame, "y"))["n"] == 0
    frame["y"] = 1.0 * (frame["a"] > 4) + 0.5
    assert repeated(open_table(frame, "y"))["n"] == 10
    # Rows of which nothing is known are not equal.
    assert repeated(select_columns(open_table(frame, "y"), []))["n"] == 0


def test_rows_in_pieces_are_the_same_rows(monkeypatch):
    table = open_table(mixed(3, n=1000), "y")
    whole, columns = repeated(table), compute_fingerprints(table).columns
    monkeypatch.setattr(duplicate_detection, "PIECE_ROWS", 7)
    assert repeated(table) == whole
    assert compute_fingerprints(table).columns == columns
    kept = np.arange(0, 1000, 3)
    some = repeated(select_rows(table, kept))
    assert some["n"] == repeated(open_table(mixed(3, n=1000).iloc[kept], "y"))["n"]


def test_too_many_rows_are_not_compared(monkeypatch):
    monkeypatch.setattr(duplicate_detection, "_MAX_ROWS", 399)
    assert compute_fingerprints(open_table(mixed(0), "y")).rows is None


def test_a_column_repeats_the_first_one_of_equal_values():
    rng = np.random.default_rng(0)
    a = rng.normal(size=200)
    a[:5] = [np.nan, 0.0, -0.0, np.nan, 3.0]
    near = a.copy()
    near[100] += 1e-9
    frame = pd.DataFrame({"a": a, "near": near, "again": a + 0.0, "scaled": 2 * a, "third": a, "y": rng.random(200)})
    assert same(open_table(frame, "y")) == {"again": "a", "third": "a"}


def test_a_category_repeats_another_whose_levels_are_only_called_otherwise():
    rng = np.random.default_rng(1)
    colour = pd.Series(rng.choice(["red", "green", "blue", None], 300))
    frame = pd.DataFrame({
        "colour": colour,
        "farbe": colour.map({"red": "rot", "green": "gruen", "blue": "blau"}),
        "swapped": colour.map({"red": "blue", "green": "red", "blue": "green"}),
        "merged": colour.map({"red": "warm", "green": "cold", "blue": "cold"}),
        "filled": colour.fillna("none"),
        "gaps": colour.isna().map({True: "yes", False: None}),
    })  # fmt: skip
    assert same(open_table(frame)) == {"farbe": "colour", "swapped": "colour"}


def test_constant_columns_do_not_repeat_each_other():
    frame = pd.DataFrame({"a": ["x"] * 12, "b": ["z"] * 12, "c": [1.0] * 12, "d": [1.0] * 12, "e": np.arange(12) % 5})
    assert same(open_table(frame)) == {}


def test_numeric_and_categorical_columns_are_compared_within_their_kind_only():
    a = np.random.default_rng(2).integers(0, 2, 60)
    frame = pd.DataFrame({"number": a, "word": np.where(a, "yes", "no"), "wort": np.where(a, "ja", "nein")})
    assert same(open_table(frame)) == {"wort": "word"}


def test_distinct_numbers_are_counted_while_they_are_few(monkeypatch):
    monkeypatch.setattr(duplicate_detection, "PIECE_ROWS", 100)
    n = 5000
    frame = {
        "few": np.arange(n) % 7,
        "edge": np.arange(n) % MAX_DISTINCT,
        "many": np.arange(n) % (MAX_DISTINCT + 1),
        "late": np.where(np.arange(n) < 4000, 0, np.arange(n)) + 0.5,
    }
    gaps = np.where(np.arange(n) % 3, np.arange(n) % 4, np.nan)
    found = compute_fingerprints(open_table(pd.DataFrame({**frame, "gaps": gaps}))).distinct
    assert [None if values is None else len(values) for values in found.values()] == [7, 1000, None, None, 4]
