"""The rows that models of a study read, and the levels that are merged where they would limit the rows."""

import numpy as np
import pandas as pd
import pytest

from tamiz import RankSelector, open_table
from tamiz.criteria import LinearCoefficient, TreeImportance
from tamiz.error_control.knockoff_selector import LassoCoefficient
from tamiz.runtime.user_warnings import capture_warnings


def wide_table(n_levels, n_rows=2500):
    """Return a table with a column of many levels, three numbers and two classes."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n_rows, 3)), columns=["a", "b", "c"])
    frame["city"] = pd.Categorical(np.arange(n_rows) % n_levels)
    return open_table(frame, np.where(frame["a"] > 0, "yes", "no"))


def sampling_warnings(relevance, table):
    with capture_warnings() as messages:
        relevance.make_training_data(table, 0)
    return [one for one in messages if " rows, drawn at random." in one]


@pytest.mark.parametrize("relevance", [TreeImportance(), LinearCoefficient(), LassoCoefficient()])
def test_rare_levels_are_merged_where_they_would_limit_the_rows(relevance):
    table = wide_table(2500)
    assert relevance.adapt_to(wide_table(60).schema).max_levels is None
    adapted = relevance.adapt_to(table.schema)
    assert (adapted.max_rows, adapted.max_levels) == (None, 50)
    with capture_warnings() as messages:
        rows = adapted.make_training_data(table, 0)
    assert rows.features.shape == (2500, 53)
    (sentence,) = messages
    assert sentence == (
        f"{type(relevance).__name__}: column 'city' has 2,500 levels; the 49 most frequent are kept, and all others are one level. "
        "Set max_levels, or leave a column out by declaring it text with --kinds or kinds=."
    )


def test_several_columns_of_many_levels_are_named_together():
    frame = pd.DataFrame({name: pd.Categorical(np.arange(300) % n) for name, n in (("a", 30), ("b", 20), ("c", 4))})
    with capture_warnings() as messages:
        TreeImportance(max_levels=5).make_training_data(open_table(frame, np.arange(300) % 2), 0)
    assert messages[0].startswith("TreeImportance: columns 'a', 'b' have up to 30 levels; the 4 most frequent are kept")


def test_a_column_of_many_levels_does_not_hide_a_column_that_predicts_a_rare_class():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40_000, 3)), columns=["b", "c", "a"])
    frame["city"] = pd.Categorical(rng.integers(2000, size=len(frame)))
    table = open_table(frame, np.where(frame["a"] + 2 * rng.normal(size=len(frame)) > 5, "rare", "usual"))
    with capture_warnings():
        scores = RankSelector(TreeImportance(n_rounds=3).adapt_to(table.schema)).fit(table).scores_
    assert scores[2] > 10 * scores[[0, 1, 3]].max()


def test_no_column_is_named_where_the_user_chose_the_rows_or_all_are_numbers():
    (sentence,) = sampling_warnings(TreeImportance(max_rows=300), wide_table(2500))
    assert sentence.endswith("300 of the 2,500 rows, drawn at random.")
    numbers = open_table(np.random.default_rng(0).normal(size=(1200, 1000)), np.arange(1200) % 2)
    adapted = TreeImportance().adapt_to(numbers.schema)
    (sentence,) = sampling_warnings(adapted, numbers)
    assert sentence.endswith("1,048 of the 1,200 rows, drawn at random.")


def test_declaring_the_column_text_keeps_the_rows():
    frame = wide_table(2500).frame()
    table = open_table(frame, np.where(frame["a"] > 0, "yes", "no"), kinds={"city": "text"})
    assert TreeImportance().adapt_to(table.schema).max_rows is None
    with capture_warnings() as messages:
        RankSelector(TreeImportance().adapt_to(table.schema)).fit(table)
    assert not [one for one in messages if "drawn at random" in one]
