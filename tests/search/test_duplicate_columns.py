"""Columns that duplicate each other exactly are never selected together, unless the user asks for it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

from tamiz import SubsetSelector, open_table, selection_report
from tamiz.criteria import CFS, CrossValidated
from tamiz.exceptions import TamizWarning
from tamiz.search import BestFirst, BranchAndBound, Exhaustive, Forward

N = 120
RNG = np.random.default_rng(0)
X = RNG.normal(size=N)
LEVEL = np.array(["low", "mid", "high"])[RNG.integers(0, 3, N)]
Y = np.where(X + (LEVEL == "low") + 0.5 * RNG.normal(size=N) > 0.3, "yes", "no")
TABLE = pd.DataFrame(
    {
        "x": X,
        "level": LEVEL,
        "noise": RNG.normal(size=N),
        "again": X,
        "renamed": pd.Series(LEVEL).map({"low": "a", "mid": "b", "high": "c"}),
        "near": X + 1e-9,
        "same": 1.0,
        "still": 2.0,
    }
)
NOTE = r"2 columns duplicate another exactly and are not searched: 'again' duplicates 'x', 'renamed' duplicates 'level'"
ONE_NOTE = r"'again' duplicates 'x' exactly and is not searched; use allow_duplicates=True \(--allow-duplicates\)"


def searched(search, **more):
    return SubsetSelector(CFS(), search, **more).fit(TABLE, Y)


@pytest.mark.filterwarnings("ignore:.*Selected columns are copies or recodings")
@pytest.mark.parametrize("search", [Forward(), BestFirst(direction="backward"), Exhaustive(), BranchAndBound()])
def test_equal_columns_are_not_chosen_together_and_are_named(search):
    with pytest.warns(TamizWarning, match=NOTE):
        selector = SubsetSelector(CFS(), search, n_features=4).fit(TABLE, Y)
    assert selector.duplicates_ == {"again": "x", "renamed": "level"}
    assert not {"again", "renamed"} & set(selector.get_feature_names_out())


def test_they_are_searched_where_that_is_allowed():
    selector = searched(Exhaustive(), n_features=8, allow_duplicates=True)
    assert selector.duplicates_ == {}
    assert set(selector.get_feature_names_out()) == set(TABLE.columns)


def test_a_fixed_column_stays_and_its_duplicates_are_left_out():
    with pytest.warns(TamizWarning, match="'x' duplicates 'again'"):
        selector = searched(Forward(fixed=["again"]))
    assert selector.duplicates_ == {"x": "again", "renamed": "level"}
    assert "again" in selector.get_feature_names_out()
    with pytest.warns(TamizWarning, match="'renamed' duplicates 'level' exactly"):
        both = searched(Forward(fixed=["again", "x"]))
    assert {"again", "x"} <= set(both.get_feature_names_out())


def test_a_column_to_start_with_stays():
    with pytest.warns(TamizWarning, match="'x' duplicates 'again'"):
        selector = searched(Forward(start=["again"]))
    assert "x" in selector.duplicates_


def test_excluded_columns_and_groups_are_left_alone():
    with pytest.warns(TamizWarning, match="'renamed' duplicates 'level' exactly"):
        without = searched(Forward(excluded=["x"]))
    assert "again" not in without.duplicates_
    with pytest.warns(TamizWarning, match="'renamed' duplicates 'level' exactly"):
        grouped = searched(Forward(column_groups=[["again", "noise"]]))
    assert "again" not in grouped.duplicates_


def test_a_size_that_only_copies_could_fill_is_refused_with_the_way_out():
    with pytest.raises(ValueError, match=r"ask for at most 6\. .*allow_duplicates=True"):
        searched(Forward(), n_features=7)


def test_merits_and_journals_do_not_depend_on_it(tmp_path):
    path = tmp_path / "search.journal"
    with pytest.warns(TamizWarning, match=NOTE):
        few = searched(Forward(), journal=path)
    every = searched(Forward(), journal=path, allow_duplicates=True)
    both = np.isin(TABLE.columns, ["x", "again"])
    np.testing.assert_array_equal(few.merits(both, TABLE, Y), every.merits(both, TABLE, Y))
    with pytest.warns(TamizWarning, match=NOTE):
        assert searched(Forward(), journal=path).merit_ == few.merit_


def test_columns_that_are_equal_in_a_fold_only_are_not_reported():
    rare = np.zeros(N)
    rare[:2] = 1
    other = np.where(np.arange(N) == 0, 0, rare)
    table = pd.DataFrame({"x": X, "rare": rare, "other": other})
    report = selection_report(SubsetSelector(CFS(), Forward()), table, Y, n_splits=5, n_permutations=0)
    assert not [note for note in report.notes if "duplicates" in note]


def test_without_equal_columns_nothing_changes():
    data, y = load_breast_cancer(return_X_y=True)
    data = data[:, :8]
    one, other = (
        SubsetSelector(CFS(), BestFirst(), allow_duplicates=allowed).fit(data, y).archive_ for allowed in (False, True)
    )
    np.testing.assert_array_equal(one.merits, other.merits)


def test_a_wrapper_and_a_file_leave_them_out_too(tmp_path):
    path = tmp_path / "table.csv"
    TABLE[["x", "noise", "again"]].assign(y=Y).to_csv(path, index=False)
    with pytest.warns(TamizWarning, match=ONE_NOTE):
        selector = SubsetSelector(CrossValidated("gaussian_nb", 3), Forward()).fit(open_table(path, "y"))
    assert selector.duplicates_ == {"again": "x"}
