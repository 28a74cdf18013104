"""Columns by which the rows of a table are sorted."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from tamiz import open_table
from tamiz.table import split_dates
from tamiz.table.row_groups import monotone_column_warnings, monotone_columns


def table(n=300):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.sort(rng.integers(0, 10**7, n)), unit="s"),
            "falling": np.where(rng.random(n) < 0.2, np.nan, -(np.arange(n) ** 2) * 0.3),
            "nearly": np.arange(n) * 1.5 + rng.normal(size=n),
            "trend": np.arange(n) + rng.normal(scale=n / 5, size=n),
            "noise": rng.normal(size=n),
            "sorted_codes": np.sort(rng.integers(0, 3, n)).astype(float),
        }
    )


@pytest.mark.parametrize("split", [False, True])
def test_dates_and_numbers_in_the_order_of_the_rows_are_found_and_trends_are_not(split):
    opened = open_table(table())
    found = monotone_columns(split_dates(opened) if split else opened)
    assert [one.name for one in found] == ["when", "falling", "nearly"]
    assert [round(one.correlation, 3) for one in found] == [1.0, -1.0, 1.0]


def test_rows_in_another_order_are_sorted_by_nothing():
    assert monotone_column_warnings(open_table(table().sample(frac=1, random_state=0).reset_index(drop=True))) == []


def test_months_in_order_are_found_though_most_rows_have_the_month_of_the_row_before():
    months = pd.DataFrame({"month": np.repeat(np.arange(5.0, 10.0), 30), "noise": np.random.default_rng(0).random(150)})
    (found,) = monotone_columns(open_table(months))
    assert found.name == "month"
    assert found.correlation == pytest.approx(spearmanr(months["month"], np.arange(150)).statistic)


def test_few_rows_are_sorted_by_chance():
    assert monotone_columns(open_table(table(12))) == []


def test_the_warning_names_the_column_its_correlation_and_what_to_do():
    (sentence,) = monotone_column_warnings(open_table(table()[["when", "noise"]]), leakage_columns=["when"])
    for fact in ("sorted by 'when'", "row number 1", "possible target leakage", "--time"):
        assert fact in sentence
