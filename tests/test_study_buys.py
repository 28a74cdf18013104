"""A study tells what its subset buys, and what columns cost that tell nothing new, by counts of the work alone."""

import json

import numpy as np
import pandas as pd
import pytest

import tamiz
from tamiz import SubsetSelector
from tamiz.assessment import added_columns, compare_columns
from tamiz.criteria import CFS, CrossValidated
from tamiz.exceptions import DataError
from tamiz.report import render
from tamiz.search import BestFirst, Forward

pytestmark = pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")


def study(*data, **more):
    return tamiz.study(*data, relevances=[], maps=[], **more).to_dict()


def table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = pd.DataFrame(rng.normal(size=(n, 3)) + y[:, None] * [1.5, 1.0, 0.0], columns=list("abc"))
    return X, np.where(y, "ill", "well")


def test_what_a_study_tells_is_what_the_functions_find():
    X, y = table()
    found = study(X, y, random_state=4)
    selector = SubsetSelector(CFS(), BestFirst())
    compared = compare_columns(selector, X, y, random_state=4)
    assert found["buys"] == json.loads(json.dumps(compared.to_dict()))
    assert found["argument"] == json.loads(json.dumps(added_columns(X, y, random_state=4).to_dict()))
    assert {"buys", "argument"} <= {timing["step"] for timing in found["timings"]}
    # Without a column more, the lines begin where the comparison stands.
    for model, line in zip(found["buys"]["scores"][0]["models"], found["argument"]["panels"][0]["lines"], strict=True):
        assert line["means"][0] == model["all_columns"]["mean"]


def test_the_folds_choices_are_searched_for_once(monkeypatch):
    X, y = table()
    from tamiz.assessment import columns_compared

    monkeypatch.setattr(columns_compared, "in_turn", _without_searches(columns_compared.in_turn))
    assert len(study(X, y)["buys"]["n_chosen"]) == 10


def _without_searches(in_turn):
    def turned(*arguments, **more):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(SubsetSelector, "fit", None)
            return in_turn(*arguments, **more)

    return turned


def test_nothing_is_compared_where_nobody_wants_it_or_there_is_no_target():
    X, y = table()
    for found in (study(X, y, assess=False), study(X)):
        assert found["buys"] is None
        assert found["argument"] is None


def test_a_comparison_that_takes_long_is_left_out_and_told_unless_it_is_asked_for(monkeypatch):
    X, y = table()
    told = "What the subset buys was not computed: 10 searches and models take long here. Ask for it with assess=True (--assess)."
    monkeypatch.setattr("tamiz.steps.searching._MOST_SETS", 1)
    monkeypatch.setattr("tamiz.assessment.null._MANY", 3)
    found = study(X, y)
    assert found["buys"] is None
    assert told in found["warnings"]
    assert found["argument"] is not None
    asked = study(X, y, assess=True)
    assert len(asked["buys"]["models"]) == 3
    assert told not in asked["warnings"]


def test_of_many_rows_models_see_some_and_the_section_says_so(monkeypatch):
    X, y = table(n=300)
    monkeypatch.setattr("tamiz.steps.buys._MOST_ROWS", 100)
    monkeypatch.setattr("tamiz.steps.buys._ADDED_MOST_ROWS", 80)
    found = study(X, y)
    assert (found["buys"]["n_samples"], found["argument"]["n_samples"]) == (100, 80)
    assert found["buys"]["notes"] == ["100 of 300 rows, drawn at random."]
    assert found["argument"]["notes"] == ["80 of 300 rows, drawn at random."]
    assert "100 of 300 rows, drawn at random." in render(found)


def test_beside_very_many_columns_none_are_added_and_the_section_says_so(monkeypatch):
    X, y = table()
    monkeypatch.setattr("tamiz.steps.buys._ADDED_MOST_COLUMNS", 2)
    found = study(X, y)
    assert found["argument"] is None
    assert found["buys"]["notes"][-1].startswith(
        "No columns were added to show what they cost: beside the 3 numbers that models see"
    )
    assert study(X, y, assess=True)["argument"] is not None


def test_rows_of_which_no_folds_can_be_made_are_told_and_an_error_where_it_was_asked_for():
    X, y = table(20)
    found = study(X, y, groups=["one"] * 20)
    assert found["buys"] is None
    assert found["argument"] is None
    assert any(
        w.startswith("What the subset buys cannot be told: Every row is of one group") for w in found["warnings"]
    )
    assert not any("added columns" in w for w in found["warnings"])
    with pytest.raises(DataError, match="Every row is of one group"):
        study(X, y, groups=["one"] * 20, assess=True)


def test_a_wrapper_chooses_in_every_fold_and_the_figure_keeps_to_the_usual_merit():
    X, y = table()
    found = study(X, y, merit=CrossValidated("mixed_nb", cv=3), search=Forward())
    assert found["buys"]["selector"].endswith("by Forward")
    assert found["argument"]["selector"] == "CFS by best-first search"


@pytest.mark.parametrize("case", ["one column", "weights", "a number", "time", "many classes", "gaps and levels"])
def test_tables_of_every_kind_are_compared_and_drawn(case):
    X, y = table()
    more = {}
    if case == "one column":
        X = X[["a"]]
    elif case == "weights":
        more = {"weight": np.arange(60) % 3}
    elif case == "a number":
        y = X["a"] * 2 + np.random.default_rng(1).normal(size=60)
    elif case == "time":
        more = {"time": np.arange(60)}
    elif case == "many classes":
        y = np.array([f"class {k % 7}" for k in range(60)])
    else:
        X = X.assign(
            gaps=np.nan, same=1.0, kind=np.where(np.arange(60) % 7 == 0, None, np.where(np.arange(60) % 2, "u", "v"))
        )
    found = study(X, y, **more)
    assert len(found["buys"]["models"]) == (2 if case == "weights" else 3)
    assert len(found["buys"]["scores"]) == (1 if case == "a number" else 3)
    assert found["argument"]["panels"]
    assert 'id="buys"' in render(found)


def test_one_thread_and_two_buy_the_same():
    X, y = table()
    one, two = (study(X, y, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert (one["buys"], one["argument"]) == (two["buys"], two["argument"])


def test_beside_a_comparison_of_few_rows_the_section_says_why_no_columns_were_added():
    X, y = table(16)
    found = study(X, y)
    assert found["argument"] is None
    assert found["buys"]["notes"][-1] == (
        "What added columns cost cannot be told: Adding columns takes at least 20 rows, and there are 16."
    )
