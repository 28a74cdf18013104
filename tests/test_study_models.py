"""A study compares its own and other selections, and adds noise columns and copies, with the numbers of the functions."""

import numpy as np
import pandas as pd
import pytest
from tests.sentences import sentences

import tamiz
from tamiz import SubsetSelector
from tamiz._study import models
from tamiz.assessment import compare_columns, recommend_columns, run_noise_experiment
from tamiz.criteria import CFS, CrossValidated
from tamiz.exceptions import DataError
from tamiz.models import named_models
from tamiz.report.html import render
from tamiz.report.records import StudyRecord
from tamiz.runtime.codec import from_json
from tamiz.search import BestFirst, Forward

pytestmark = [
    pytest.mark.usefixtures("few_models"),
    pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning"),
]
OF_CLASSES = named_models._CLASSIFIERS


@pytest.fixture(autouse=True)
def few_folds(monkeypatch):
    """Few folds and shuffled targets."""
    monkeypatch.setattr(models, "_FOLDS", 3)
    monkeypatch.setattr("tamiz.selection.permutation_null._DEFAULT_PERMUTATIONS", 3)


def study(*data, **more):
    return tamiz.study(*data, relevances=[], maps=[], **more).to_dict()


def page_of(found):
    return render(from_json(StudyRecord, found))


def table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = pd.DataFrame(rng.normal(size=(n, 3)) + y[:, None] * [1.5, 1.0, 0.0], columns=list("abc"))
    return X, np.where(y, "ill", "well")


def test_the_results_of_a_study_are_those_of_the_functions():
    X, y = table()
    found = study(X, y, random_state=4)
    selector = SubsetSelector(CFS(), BestFirst())
    same = {"n_splits": 3, "random_state": 4}
    made = recommend_columns(X, y, **same)
    assert [one["name"] for one in found["decisions"]] == list(X)
    assert found["recommendation"] == made.to_dict()
    assert found["subset"] is found["assessment"] is None
    # A search that is asked for is recommended.
    asked = study(X, y, random_state=4, selector=SubsetSelector(CFS(), BestFirst()))
    assert asked["recommendation"]["recommended"] == "cfs"
    assert (
        asked["recommendation"]["columns"]
        == asked["subset"]["columns"]
        == [*selector.fit(X, y).get_feature_names_out()]
    )
    compared = compare_columns(selector, X, y, **same)
    for model, scoring in compared.selected:
        change = asked["recommendation"]["changes"]["cfs"][model][scoring]
        assert change["values"] == compared.difference(model, scoring).values.tolist()
    added = run_noise_experiment(X, y, n_added=[0, 5], n_draws=1, **same)
    assert found["noise_experiment"] == added.to_dict()
    # Without a column more, the lines begin where the comparison is.
    for model in added.models:
        first = added.scores("random", model)[0].mean
        assert first == pytest.approx(compared.all_columns[model, added.scoring].mean, abs=1e-12)


def test_the_usual_models_and_scores_are_those_of_a_comparison(monkeypatch):
    monkeypatch.setattr("tamiz.models.named_models._CLASSIFIERS", OF_CLASSES)
    monkeypatch.setattr(models, "_FOLDS", 2)
    monkeypatch.setattr(models, "_N_ADDED_COLUMNS", (0, 1))
    X, y = table(24)
    found = study(X, y, selector=SubsetSelector(CFS()))
    assert [*found["recommendation"]["models"]] == [*OF_CLASSES]
    without_boosting = [name for name in OF_CLASSES if name != "gradient_boosting"]
    assert [*found["noise_experiment"]["models"]] == without_boosting
    assert [*found["recommendation"]["scorings"]] == ["roc_auc", "balanced_accuracy", "accuracy"]


def test_the_score_that_was_asked_for_decides_in_every_section():
    X, y = table()
    found = study(X, y, scoring="f1_macro")
    assert found["recommendation"]["scorings"] == ["f1_macro", "balanced_accuracy", "accuracy"]
    assert found["noise_experiment"]["scoring"] == "f1_macro"


def test_no_selections_are_compared_if_disabled_or_without_a_target():
    X, y = table()
    for found in (study(X, y, assess=False), study(X)):
        assert all(found[part] is None for part in ("recommendation", "assessment", "noise_experiment"))


@pytest.mark.slow
def test_of_many_rows_models_read_a_sample_and_the_section_states_it(monkeypatch):
    X, y = table(n=300)
    monkeypatch.setattr(models, "_MAX_ROWS", 100)
    monkeypatch.setattr(models, "_NARROW_ROWS", 100)
    monkeypatch.setattr(models, "_MIN_ROWS", 100)
    found = study(X, y, selector=SubsetSelector(CFS()))
    for part in ("recommendation", "assessment", "noise_experiment"):
        assert found[part]["n_samples"] == 100
        assert found[part]["notes"][0] == "100 of 300 rows, drawn at random."
    assert "100 of 300 rows, drawn at random." in page_of(found)


def test_to_very_many_columns_none_are_added_and_the_section_states_it(monkeypatch):
    X, y = table()
    monkeypatch.setattr(models, "MAX_NOISE_COORDINATES", 2)
    found = study(X, y)
    assert found["noise_experiment"] is None
    assert (
        "The noise experiment is left out: A row has 3 coordinates, more than 2. Ask for it with assess=True (--assess)."
        in sentences(found)
    )
    asked = study(X, y, assess=True)
    assert asked["noise_experiment"] is not None
    assert not asked["recommendation"]["notes"]


def test_rows_of_which_no_folds_can_be_made_are_reported_and_an_error_where_it_was_asked_for():
    X, y = table(20)
    found = study(X, y, groups=["one"] * 20)
    assert all(found[part] is None for part in ("recommendation", "assessment", "noise_experiment"))
    assert any(
        w.startswith("The comparison of selections is left out: All rows are in one group") for w in sentences(found)
    )
    with pytest.raises(DataError, match="All rows are in one group"):
        study(X, y, groups=["one"] * 20, assess=True)


def test_a_requested_wrapper_is_compared_and_the_figure_uses_the_default_merit():
    X, y = table()
    found = study(X, y, selector=SubsetSelector(CrossValidated("naive_bayes", cv=3), Forward()))
    candidates = found["recommendation"]["candidates"]
    assert [*candidates] == ["all_columns", "subset", "mrmr", "wrapper"]
    assert candidates["subset"]["label"] == "accuracy of naive Bayes by Forward"
    assert found["noise_experiment"]["selector"] == "CFS (best-first search)"


def test_the_sizes_and_columns_asked_for_bind_every_selection():
    X, y = table()
    found = study(X, y, selector=SubsetSelector(search=BestFirst(fixed=["c"]), n_features=2))["recommendation"]
    found["candidates"].pop("all_columns")
    for one in found["candidates"].values():
        assert len(one["columns"]) == 2
        assert "c" in one["columns"]
    # Two columns were asked for, so all columns are no answer.
    assert found["recommended"] in found["candidates"]


@pytest.mark.parametrize(
    "case",
    [
        *("one column", "a number", "gaps and levels"),
        *(pytest.param(case, marks=pytest.mark.slow) for case in ("weights", "time", "many classes")),
    ],
)
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
    assert len(found["recommendation"]["models"]) == (1 if case == "weights" else 2)
    assert len(found["recommendation"]["scorings"]) == (1 if case == "a number" else 3)
    assert found["noise_experiment"]["random_scores"]
    page = page_of(found)
    assert 'id="noise_experiment"' in page
    assert 'id="recommendation"' in page


@pytest.mark.slow
def test_one_thread_and_two_find_the_same():
    X, y = table()
    one, two = (study(X, y, n_jobs=n_jobs) for n_jobs in (1, 2))
    for part in ("recommendation", "assessment", "noise_experiment"):
        assert one[part] == two[part]


def test_with_few_rows_no_columns_are_added_with_a_note():
    X, y = table(16)
    found = study(X, y)
    assert found["noise_experiment"] is None
    assert (
        "The noise experiment is left out: A noise experiment needs at least 20 rows, and there are 16."
        in sentences(found)
    )


def test_a_requested_search_that_fails_in_folds_of_few_rows_is_shown_without_a_comparison():
    X = np.random.default_rng(0).normal(size=(5, 3))
    frame, y = pd.DataFrame(X, columns=list("abc")), X @ [1.0, 2.0, 0.5]
    found = study(frame, y, selector=SubsetSelector(CrossValidated("ridge", cv=2), Forward()))
    assert found["subset"]["columns"]
    assert found["recommendation"] is None
    assert any(w.startswith("The comparison of selections is left out: ") for w in sentences(found))
