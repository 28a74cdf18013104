"""Every column of the catalogue: what is read, what stays text, and what is said of it."""

from __future__ import annotations

import csv
import re
import warnings
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from tamiz import open_table
from tamiz.table.base import Table

from .values import READ_VALUES, TEXT_VALUES


def opened(folder: Path, words: list[str]) -> tuple[Table, list[str]]:
    """Return a table of 24 rows with the words in turn, beside another column, and the sentences about it."""
    with (folder / "t.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["c", "u"], *([words[k % len(words)], f"{k % 7}.5"] for k in range(24))])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table = open_table(folder / "t.csv")
    return table, [*map(str, table.schema.notes), *(str(one.message) for one in caught)]


def number(value: object) -> float:
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC).timestamp()
    return float("nan") if value is None else float(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(("text", "values", "sentence"), READ_VALUES, ids=[text for text, *_ in READ_VALUES])
def test_words_are_read_as_what_they_are(tmp_path: Path, text: str, values: list[object], sentence: str) -> None:
    table, said = opened(tmp_path, text.split(" | "))
    (block,) = table.blocks()
    column = table.schema.columns[0]
    assert column.kind == ("date" if any(isinstance(one, datetime) for one in values) else "numeric")
    expected = [number(values[k % len(values)]) for k in range(24)]
    np.testing.assert_array_equal(np.asarray(block.values[0]), expected)
    assert column.n_missing == int(np.isnan(expected).sum())
    assert (len(said) == 1 and re.search(sentence, said[0])) if sentence else not said, said


@pytest.mark.parametrize(("text", "sentence"), TEXT_VALUES, ids=[text for text, _ in TEXT_VALUES])
def test_words_that_are_no_values_or_several_stay_text(tmp_path: Path, text: str, sentence: str) -> None:
    words = text.split(" | ")
    table, said = opened(tmp_path, words)
    assert (table.schema.columns[0].kind, set(table.schema.columns[0].levels)) == ("categorical", set(words))
    assert (len(said) == 1 and re.search(sentence, said[0])) if sentence else not said, said
