"""Equivalent columns are not selected together: in a study, in recommended columns, and with a warning by a search alone."""

import numpy as np
import pandas as pd
import pytest
from tests.sentences import sentences

from tamiz import SubsetSelector, open_table, study
from tamiz.assessment import recommend_columns
from tamiz.criteria import CFS
from tamiz.exceptions import TamizWarning
from tamiz.runtime.user_warnings import collect_warnings
from tamiz.search import BestFirst, Exhaustive, Forward
from tamiz.selection.equivalent_columns import leave_out_equivalents

COPIES = {"lin", "noisy", "exp", "sexcode"}


def copies(n=300, seed=0):
    """Two columns with several copies each, and others; the target depends on x, a and sex."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=[*"abx"])
    X["lin"] = 2 * X["x"] + 1
    X["noisy"] = X["x"] + 0.1 * rng.normal(size=n)
    X["exp"] = np.exp(X["x"]).mask(rng.random(n) < 0.2)
    X["sex"] = np.where(rng.random(n) < 0.5, "m", "f")
    X["sexcode"] = 1.0 * (X["sex"] == "m")
    return X, X["x"] + X["a"] + X["sexcode"] + rng.normal(size=n)


def problem_of(table, search):
    return search.make_problem(table.schema.names, table.schema.used, None)


@pytest.mark.parametrize(
    ("search", "left_out"),
    [
        (Forward(), COPIES),
        (Forward(fixed=["lin"]), {"x", "noisy", "exp", "sexcode"}),
        (BestFirst(start=["noisy", "sexcode"]), {"x", "lin", "exp", "sex"}),
        (Forward(fixed=["x", "lin"]), {"noisy", "exp", "sexcode"}),
        (Forward(excluded=["x", "sex"]), {"noisy", "exp"}),
        (Forward(column_groups=[["x", "a"]]), {"noisy", "exp", "sexcode"}),
    ],
)
def test_a_required_column_is_kept_and_excluded_and_grouped_ones_are_not_compared(search, left_out):
    X, y = copies()
    table = open_table(X, y)
    kept, same = leave_out_equivalents(table, problem_of(table, search))
    assert {table.schema.names[j] for j in same} == left_out
    assert set(table.schema.used) - set(kept.schema.used) == set(same)


def test_a_table_without_equivalent_columns_is_returned_as_it_is():
    table = open_table(*copies())
    kept, _ = leave_out_equivalents(table)
    assert leave_out_equivalents(kept) == (kept, {})


def test_a_search_alone_warns_of_copies_that_it_selects():
    X, y = copies(seed=1)
    with pytest.warns(TamizWarning, match="Selected columns are copies or recodings .*'lin' and 'x'.*RedundancyFilter"):
        SubsetSelector(CFS(), Exhaustive(), n_features=5).fit(X[["x", "lin", "a", "b", "sex"]], y)
    for selector in (
        SubsetSelector(CFS(), Forward(fixed=["x", "lin"]), n_features=3),
        SubsetSelector(CFS(), Forward(), n_features=5, allow_duplicates=True),
    ):
        with collect_warnings() as messages:
            selector.fit(X[["x", "lin", "a", "b", "sex"]], y)
        assert not any("recodings" in message for message in messages)


@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
@pytest.mark.parametrize("kind", ["number", "classes"])
def test_a_study_selects_one_of_equivalent_columns_and_states_the_others(kind):
    X, y = copies()
    y = y if kind == "number" else np.where(y > 0, "p", "q")
    found = study(X.assign(y=y), "y", selector=SubsetSelector(CFS()), relevances=[], maps=[], assess=False).to_dict()
    assert not COPIES & set(found["subset"]["columns"])
    reasons = {one["name"]: one["same_as"] for one in found["subset"]["reasons"]}
    assert list(reasons) == list(X)
    assert {name for name, same_as in reasons.items() if same_as} == COPIES
    assert (reasons["lin"], reasons["sexcode"]) == ("x", "sex")
    assert "'lin' is equivalent to 'x'" in found["subset"]["notes"][0]
    assert not any("equivalent" in warning for warning in sentences(found))
    # The code of the selection alone selects the same columns.
    assert "excluded=['lin', 'noisy', 'exp', 'sexcode']" in found["reproduction"]["python"]
    fixed = study(
        X.assign(y=y),
        "y",
        selector=SubsetSelector(CFS(), Forward(fixed=["lin"])),
        relevances=[],
        maps=[],
        assess=False,
    )
    assert {"lin", "x", "noisy", "exp"} & set(fixed.to_dict()["subset"]["columns"]) == {"lin"}


@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
def test_a_study_keeps_all_columns_where_duplicates_are_allowed_or_so_many_are_requested():
    X, y = copies()
    for more in ({"allow_duplicates": True}, {"n_features": 8}):
        selector = SubsetSelector(CFS(), **more)
        found = study(X.assign(y=y), "y", selector=selector, relevances=[], maps=[], assess=False).to_dict()
        assert not any(one["same_as"] for one in found["subset"]["reasons"])


def test_recommended_columns_contain_one_of_equivalent_columns():
    X, y = copies(200)
    found = recommend_columns(X, y, models=["ridge"], n_splits=3)
    assert found.notes[-1].startswith("4 columns are not searched,")
    assert "'lin' is equivalent to 'x'" in found.notes[-1]
    for name, one in found.candidates.items():
        assert bool(COPIES & set(one.columns)) == (name == "all_columns")
    assert {"x", "a", "sex"} <= set(found.columns)
    assert not COPIES & set(found.columns)
