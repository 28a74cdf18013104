"""Columns of one value and missing values, as in a table of purchases, get a level for missing."""

import numpy as np
import pandas as pd
import pytest

from tamiz import RankSelector, open_table, study
from tamiz.criteria import InformationGain
from tamiz.table import add_missing_level


@pytest.fixture(scope="module")
def purchases():
    rng = np.random.default_rng(3)
    bought = rng.random((240, 4)) < 0.5
    frame = pd.DataFrame(np.where(bought, "t", None), columns=["bread", "milk", "tea", "salt"], dtype=object)
    total = np.where(bought[:, 0] ^ (rng.random(240) < 0.1), "high", "low")
    return frame.assign(both=np.where(bought[:, 1], "a", "b"), total=total)


def test_missing_is_the_last_level_and_present_values_keep_theirs(purchases):
    table = add_missing_level(open_table(purchases, "total"))
    columns = {column.name: column for column in table.schema.columns}
    assert columns["bread"].levels == ("t", "missing")
    assert columns["bread"].n_missing == 0
    assert columns["both"].levels == ("a", "b")
    (block,) = table.blocks([0])
    np.testing.assert_array_equal(np.asarray(block.values[0]) == 1, purchases["bread"].isna())


def test_a_table_without_such_columns_is_the_same_table(purchases):
    table = open_table(purchases[["both", "total"]], "total")
    assert add_missing_level(table) is table


def test_a_study_scores_and_selects_what_was_bought(purchases):
    result = study(purchases, "total", maps=[], assess=False)
    present = purchases[["bread"]].notna().astype(str)
    scorer = RankSelector(InformationGain(), n_features=1).fit(present, purchases["total"])
    ranking = result.to_dict()["ranking"]
    j = ranking["columns"].index("bread")
    assert ranking["scores"]["information_gain"][j] == pytest.approx(scorer.scores_[0])
    assert result.to_dict()["subset"]["columns"] == ["bread"]
    (note,) = [one for one in result.warnings if "missing is read as a level" in one]
    assert note.columns == ("bread", "milk", "tea", "salt")
    assert "add_missing_level(open_table(" in result.to_dict()["reproduction"]["python"]


def test_the_script_adds_levels_exactly_where_the_study_did(purchases):
    def script(table):
        return study(table, "total", maps=[], relevances=[], assess=False).to_dict()["reproduction"]["python"]

    # A level of this name is no level that was added, and one that is added beside it has another name.
    named = purchases[["both", "total"]].assign(both=np.where(purchases["both"] == "a", "a", "missing"))
    assert "add_missing_level" not in script(named)
    single = purchases[["bread", "both", "total"]].replace({"bread": {"t": "missing"}})
    assert add_missing_level(open_table(single, "total")).schema.columns[0].levels == ("missing", "missing'")
    assert "add_missing_level(open_table(" in script(single)
