"""The rows that models of a study read, and the warning where a column of many levels limits them."""

import numpy as np
import pandas as pd
import pytest

from tamiz import RankSelector, open_source
from tamiz.criteria import LinearCoefficient, TreeImportance
from tamiz.error_control import BorutaSelector
from tamiz.exceptions import TamizWarning
from tamiz.runtime.user_warnings import capture_warnings


def wide_table(n_levels, n_rows=2500):
    """Return a source with a column of many levels, three numbers and two classes."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n_rows, 3)), columns=["a", "b", "c"])
    frame["city"] = pd.Categorical(np.arange(n_rows) % n_levels)
    return open_source(frame, np.where(frame["a"] > 0, "yes", "no"))


def sampling_warnings(relevance, source):
    with capture_warnings() as messages:
        relevance.make_training_data(source, 0)
    return [one for one in messages if " rows, drawn at random." in one]


@pytest.mark.parametrize("relevance", [TreeImportance(), LinearCoefficient()])
def test_a_column_whose_levels_limit_the_rows_is_named_with_a_way_out(relevance):
    source = wide_table(2500)
    (sentence,) = sampling_warnings(relevance.adapt_to(source.schema), source)
    assert " of the 2,500 rows, drawn at random. Column 'city' has 2,500 levels, " in sentence
    assert sentence.endswith("merge rare levels, or leave the column out by declaring it text with --kinds or kinds=.")


def test_boruta_names_the_column():
    source = wide_table(2500)
    relevance = TreeImportance().adapt_to(source.schema)
    assert relevance.max_rows == 500
    with pytest.warns(
        TamizWarning, match=r"TreeImportance reads 500 of the 2,500 rows, .* Column 'city' has 2,500 levels"
    ):
        BorutaSelector(relevance, max_iter=1, rough_fix=True, random_state=0).fit(source)


def test_no_column_is_named_where_the_user_chose_the_rows_or_all_are_numbers():
    (sentence,) = sampling_warnings(TreeImportance(max_rows=300), wide_table(2500))
    assert sentence.endswith("300 of the 2,500 rows, drawn at random.")
    numbers = open_source(np.random.default_rng(0).normal(size=(1200, 1000)), np.arange(1200) % 2)
    adapted = TreeImportance().adapt_to(numbers.schema)
    (sentence,) = sampling_warnings(adapted, numbers)
    assert sentence.endswith("1,048 of the 1,200 rows, drawn at random.")


def test_declaring_the_column_text_keeps_the_rows():
    frame = wide_table(2500).frame()
    source = open_source(frame, np.where(frame["a"] > 0, "yes", "no"), kinds={"city": "text"})
    assert TreeImportance().adapt_to(source.schema).max_rows is None
    with capture_warnings() as messages:
        RankSelector(TreeImportance().adapt_to(source.schema)).fit(source)
    assert not [one for one in messages if "drawn at random" in one]
