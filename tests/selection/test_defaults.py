"""Criteria and searches by name, and the defaults."""

from typing import get_args

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from tamiz import RankSelector, SubsetSelector, load, open_table, save, selection_report
from tamiz.criteria import CFS, CrossValidated, EqualFrequency, FisherScore, InformationGain, Variance
from tamiz.criteria import registry as criteria
from tamiz.exceptions import TamizWarning
from tamiz.search import Beam, BestFirst, Forward, Genetic, RandomSubsets, RecursiveElimination
from tamiz.search import registry as searches
from tamiz.search.best_first import Direction
from tamiz.selection import defaults
from tamiz.selection.defaults import choose_merit_and_search

X, Y = load_iris(return_X_y=True)


def same(one, other):
    return repr(one) == repr(other)


@pytest.mark.parametrize(
    ("name", "part"),
    [("fisher", FisherScore()), ("fisher_score", FisherScore()), ("Information-Gain", InformationGain())],
)
def test_a_ranking_by_name_is_that_of_the_class(name, part):
    selector = RankSelector(name, n_features=2).fit(X, Y)
    np.testing.assert_array_equal(selector.scores_, RankSelector(part).fit(X, Y).scores_)
    assert same(selector.relevance_, part)
    assert selector.relevance == name
    assert clone(selector).relevance == name


@pytest.mark.parametrize(
    ("merit", "search", "merit_part", "search_part"),
    [
        ("cfs", "best-first", CFS(), BestFirst()),
        ("CFS", "best_first:backward", CFS(), BestFirst(direction="backward")),
        ("wrapper:gaussian-nb", "forward", CrossValidated("gaussian_nb"), Forward()),
        ("cfs", "beam:3", CFS(), Beam(width=3)),
        ("cfs", None, CFS(), BestFirst()),
        (None, Forward(), CFS(), Forward()),
        # The first words of one search only.
        ("cfs", "best", CFS(), BestFirst()),
        (None, None, CFS(), BestFirst()),
    ],
)
def test_a_search_by_names_is_that_of_the_classes(merit, search, merit_part, search_part):
    selector = SubsetSelector(merit, search).fit(X, Y)
    assert selector.merit_ == SubsetSelector(merit_part, search_part).fit(X, Y).merit_
    assert same(selector.criterion_, merit_part)
    assert same(selector.search_, search_part)
    assert selector.merit is merit


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("beam:20", Beam(20)),
        ("best-first:Backward", BestFirst(direction="backward")),
        ("genetic:30", Genetic(30)),
        ("random-subsets:7", RandomSubsets(7)),
        ("recursive-elimination:2", RecursiveElimination(2)),
        ("recursive-elimination:0.1", RecursiveElimination(0.1)),
        ("recursive-elimination:.25", RecursiveElimination(0.25)),
        ("forward:", Forward()),
    ],
)
def test_text_after_the_name_of_a_search_sets_one_parameter(name, expected):
    assert same(defaults.resolve_search(name), expected)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("beam:0", "width must be a whole number of at least 1, got '0'"),
        ("genetic:many", "population must be a whole number of at least 1, got 'many'"),
        ("best-first:backwar", "direction must be one of forward, backward, bidirectional, got 'backwar'.*'backward'"),
        ("forward:3", "Forward accepts nothing after a colon, got '3'"),
    ],
)
def test_text_that_a_search_does_not_accept_is_an_error(name, message):
    with pytest.raises(ValueError, match=message):
        defaults.resolve_search(name)


def test_the_listed_shorthand_is_a_parameter_of_the_search():
    for search in (entry.load() for entry in searches.of_kind("search")):
        assert search.shorthand is None or search.shorthand.name in search().get_params()
    assert BestFirst.shorthand.choices == get_args(Direction)


def test_every_registered_name_is_taken():
    for entry in criteria.of_kind("relevance"):
        assert isinstance(defaults.resolve_relevance(entry.name), entry.load())
    for entry in searches.of_kind("search"):
        assert isinstance(defaults.resolve_search(entry.name.replace("_", "-")), entry.load())


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        (RankSelector("fischer-score"), "'fischer-score' is no relevance .did you mean 'fisher-score'"),
        (SubsetSelector("cfss"), "'cfss' is no merit .did you mean 'cfs'"),
        (SubsetSelector("knn"), "'knn' is a model, not a merit; use wrapper:knn"),
        (SubsetSelector("wrapper"), "a wrapper needs a model: wrapper:NAME with one of .*gaussian-nb"),
        (SubsetSelector("wrapper:gausian-nb"), "'gausian-nb' is no model .did you mean 'gaussian-nb'"),
        (SubsetSelector("cfs", "forwards"), "'forwards' is no search .did you mean 'forward'"),
        (SubsetSelector("cfs", "best-first:sideways"), "direction must be one of forward, backward, bidirectional"),
    ],
)
def test_an_unknown_name_is_one_sentence_with_the_nearest(selector, message):
    with pytest.raises(ValueError, match=message):
        selector.fit(X, Y)


def test_without_a_relevance_the_first_that_has_a_meaning_ranks():
    assert same(RankSelector().fit(X, Y).relevance_, InformationGain())
    numbers, target = load_diabetes(return_X_y=True)
    assert same(RankSelector().fit(numbers, target).relevance_, InformationGain(discretization=EqualFrequency(10)))
    without = RankSelector().fit(X[50:])
    assert not without.relevance_.needs_target
    assert without.get_support().all()


def test_names_are_parameters_of_a_grid():
    grid = {"rankselector__relevance": ["fisher", "variance", None], "rankselector__n_features": [2]}
    found = GridSearchCV(make_pipeline(RankSelector(), GaussianNB()), grid, cv=3).fit(X, Y)
    assert found.best_score_ > 0.9
    assert found.cv_results_["mean_test_score"].std() > 0


def test_selectors_by_name_are_assessed_and_stored(tmp_path):
    frame = pd.DataFrame(X, columns=list("abcd"))
    report = selection_report(SubsetSelector(), frame, Y, n_splits=3, n_permutations=0, random_state=0)
    assert report.merit_name == "CFS"
    assert selection_report(
        RankSelector("variance", n_features=2), frame, Y, n_splits=3, n_permutations=0
    ).merit_name.startswith("mean Variance")
    again = load(save(SubsetSelector("cfs", "beam:2").fit(frame, Y), tmp_path / "columns.tamiz"))
    assert again.get_params()["search"] == "beam:2"
    assert again.transform(frame).columns.tolist() == ["c", "d"]


def test_the_usual_merit_of_a_number_is_ridge_regression_and_of_classes_cfs():
    numbers, target = load_diabetes(return_X_y=True)
    number = open_table(numbers, target).schema
    classes = open_table(X, Y).schema
    merit, search = choose_merit_and_search(None, None, number)
    assert same(merit, CrossValidated("ridge"))
    assert same(search, Forward())
    merit, search = choose_merit_and_search(None, None, classes, "category")
    assert merit.missing == "category"
    assert same(search, BestFirst())
    given = CFS(), Forward()
    assert choose_merit_and_search(*given, number) == given
    assert same(SubsetSelector(None, "best-first").fit(numbers, target).search_, BestFirst())


def test_a_table_too_large_for_ridge_regression_is_searched_by_cfs_with_a_note(monkeypatch):
    numbers, target = load_diabetes(return_X_y=True)
    monkeypatch.setattr(defaults, "_MAX_RIDGE_VALUES", 100)
    with pytest.warns(TamizWarning, match=r"442 rows of 10 numbers.*--merit wrapper:ridge"):
        merit, _ = choose_merit_and_search(None, None, open_table(numbers, target).schema)
    assert isinstance(merit, CFS)


def test_no_score_without_a_target_reads_one():
    # A missing target value would drop a row.
    y = Y.astype(float)
    y[0] = np.nan
    assert RankSelector(Variance()).fit(X, y).schema_.n_rows == len(X)
    assert RankSelector("variance").fit(X, y).schema_.n_rows == len(X)
