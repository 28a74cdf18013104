"""Columns whose kind is uncertain, and the options that change it."""

import numpy as np
import pandas as pd

from tamiz import open_table
from tamiz._study.table import summarize_table
from tamiz.report.text import kinds_argument, kinds_option


def doubtful_kinds(*data):
    table = summarize_table(open_table(*data))
    return {column.name: column.kind_suggestion.kind for column in table.columns if column.kind_suggestion}


def test_integers_of_few_values_may_be_codes():
    n = np.arange(120)
    frame = pd.DataFrame({
        "zip": 20000 + n % 5, "half": n % 5 + 0.5, "two": n % 2, "thirteen": n % 13, "long": (n * 37 % 120) ** 2,
        "word": [f"{k % 4}a" for k in n],
    })  # fmt: skip
    assert doubtful_kinds(frame) == {"zip": "categorical"}
    # With few rows, few values are no sign of anything.
    assert doubtful_kinds(frame.iloc[:20]) == {}


def test_ids_of_numbers_may_be_measured_and_text_may_be_a_category():
    rng = np.random.default_rng(0)
    n = 60
    frame = pd.DataFrame({
        "row": np.arange(1, n + 1),
        "account_id": rng.permutation(10_000)[:n],
        "town": [f"town {k % 40}" for k in range(n)],
        "name": [f"name{k}" for k in range(n)],
        "x": rng.normal(size=n),
    })  # fmt: skip
    assert doubtful_kinds(frame) == {"row": "numeric", "account_id": "numeric", "town": "categorical"}


def test_declared_kinds_are_not_doubted():
    frame = pd.DataFrame({"zip": np.arange(60) % 5, "row": np.arange(60), "x": (np.arange(60) * 7 % 60) / 7})
    table = summarize_table(open_table(frame, kinds={"zip": "categorical", "row": "text"}))
    assert [column.kind_suggestion for column in table.columns] == [None] * 3


def test_lines_to_copy_quote_whatever_a_column_is_called():
    kinds = {"a b": "numeric", "$(rm x)": "categorical", "it's": "date", "--quiet": "text", "x=y": "id"}
    told = kinds_option(kinds)
    assert told == (
        "--kinds 'a b=numeric' --kinds '$(rm x)=categorical' --kinds 'it'\"'\"'s=date' --kinds=--quiet=text --kinds x=y=id"
    )
    # A line break, and what turns the text that follows, are spelled out (bash, zsh).
    assert kinds_option({"\u202eit's\n": "id"}) == "--kinds $'\\U0000202eit\\'s\\U0000000a=id'"
    assert eval(kinds_argument(kinds).removeprefix("kinds=")) == kinds
