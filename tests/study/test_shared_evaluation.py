"""All sections of a study that score columns use the same rows, folds, models and scores."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import tamiz
from tamiz import SubsetSelector, open_table
from tamiz._study import models
from tamiz._study.budget import DEFAULT_BUDGET
from tamiz._study.models import evaluation_size, perfect_score_warnings, prepare_evaluation
from tamiz.assessment import recommend_columns
from tamiz.criteria import CFS, MRMR
from tamiz.exceptions import DataError
from tamiz.report import registry
from tamiz.search import BestFirst, Forward
from tamiz.table.schema import Column, Schema


def table(n=400, p=3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    X = pd.DataFrame(rng.normal(size=(n, p)), columns=[f"x{j}" for j in range(p)])
    X["x0"] += 1.5 * y
    return X, np.where(y, "ill", "well")


@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
@pytest.mark.slow
def test_sections_agree_in_rows_folds_models_scores_and_numbers(monkeypatch):
    monkeypatch.setattr(models, "_FEWER_FOLDS", 3)
    monkeypatch.setattr(models, "_MAX_ROWS", 150)
    monkeypatch.setattr(models, "_NARROW_ROWS", 150)
    monkeypatch.setattr(models, "_MIN_ROWS", 150)
    record = tamiz.study(*table(), selector=SubsetSelector(CFS()), relevances=[], maps=[]).record
    parts = recommended, assessed, added = record.recommendation, record.assessment, record.noise_experiment
    # A few more than 150, for each class has some rows in every fold.
    assert len({part.n_samples for part in parts}) == len({part.folds_description for part in parts}) == 1
    assert [*added.models] == [one for one in recommended.models if one != "gradient_boosting"]
    assert recommended.scorings[0] == assessed.scoring == added.scoring == "roc_auc"
    by_cfs, every = recommended.candidates["cfs"].scores, recommended.all_columns.scores
    # Naive Bayes predicts in the assessment.
    deciding = "naive_bayes", "roc_auc"
    assert assessed.nested.values.tolist() == by_cfs[deciding].values.tolist()
    assert assessed.all_columns.values.tolist() == every[deciding].values.tolist()
    for model in added.models:
        assert added.scores("random", model)[0].mean == every[model, "roc_auc"].mean
    shown = {entry.name: entry.load()(record) for entry in registry.of_kind("section")}
    rows = f"{recommended.n_samples:,} rows"
    for text in (shown["recommendation"]["measured"], shown["noise_experiment"]["design"], shown["assessment"]["lead"]):
        assert rows in text
    for text in (shown["recommendation"]["measured"], shown["assessment"]["lead"]):
        assert "0.500" in text
    for part in parts:
        assert any("of 400 rows, drawn at random" in note for note in part.notes)


@pytest.mark.slow
def test_many_columns_and_few_rows_are_evaluated_where_the_search_was_quick():
    rng = np.random.default_rng(3)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 100))
    X[:, 7] += 3 * y
    table = open_table(X, y)
    selector = SubsetSelector(CFS(), BestFirst(), random_state=0).fit(table)
    asked = prepare_evaluation(table, None, 0, assess=None)
    quick = asked.assess(selector)
    assert quick.beats_baseline
    assert len(quick.null.null_values) >= 19
    selector.merit_cost_ *= 1e9
    with pytest.raises(DataError, match=r"searches of about .*--assess"):
        asked.assess(selector)
    # Asked for, it is made whatever it takes.
    assert replace(asked, requested=True).n_splits == asked.n_splits


@pytest.mark.parametrize(("missing", "n_columns"), [("distribute", 1), ("category", 2)])
@pytest.mark.slow
def test_selections_treat_missing_values_as_the_study_does(missing, n_columns):
    X, y = table(n=150, p=2)
    # Whether a value is missing determines most of the classes; the present values have no information.
    X["x1"] = np.where((y == "ill") ^ (np.random.default_rng(1).random(150) < 0.1), np.nan, 1.0 + np.arange(150) % 2)
    opened = open_table(X, y)
    selector = SubsetSelector(CFS(missing=missing), BestFirst(), random_state=0).fit(opened)
    found = prepare_evaluation(opened, None, 0, assess=True, missing=missing).recommend(selector, searched=True)
    assert found.recommended == "cfs"
    sizes = {name: len(one.columns) for name, one in found.candidates.items()}
    assert sizes["cfs"] == n_columns


def test_a_score_of_one_names_the_fewest_columns_that_reach_it():
    rng = np.random.default_rng(0)
    y = np.tile([0, 1], 100)
    X = pd.DataFrame({"noise": rng.normal(size=200), "a": rng.normal(size=200), "b": rng.normal(size=200)})
    X["b"] += np.where(y, 8.0, -8.0) - X["a"] * 6
    candidates = {"two": SubsetSelector(MRMR(), Forward(fixed=["a", "b"]), n_features=2)}

    def warnings_of(X, **more):
        found = recommend_columns(X, np.where(y, "ill", "well"), models=["logistic"], **more)
        return perfect_score_warnings(found)

    (warning,) = warnings_of(X, candidates=candidates)
    assert warning.startswith(
        "The AUC of logistic regression is 1.000 on 'a' and 'b': check that their values are known before the target. If not, "
    )
    assert "kinds={'a': 'id'} (--kinds a=id)" in warning or "kinds={'b': 'id'} (--kinds b=id)" in warning
    # No score of one, no warning.
    assert warnings_of(X.drop(columns="a"), candidates={}) == []
    (warning,) = warnings_of(pd.DataFrame(rng.normal(size=(200, 6)) + 3.0 * y[:, None]).add_prefix("x"), candidates={})
    assert re.search(r"1\.000 on 6 columns, of which ('x\d'(, | and )){4}'x\d' are the best: check", warning)


def test_narrow_tables_are_evaluated_on_more_rows():
    def rows(n, n_columns):
        schema = Schema(tuple(Column(f"x{j}", "numeric") for j in range(n_columns)), n)
        return evaluation_size(schema, DEFAULT_BUDGET)[0]

    assert [rows(n, 20) for n in (2_000, 3_000, 50_000)] == [2_000, 3_000, 3_000]
    assert [rows(50_000, k) for k in (2, 5, 10, 60, 500)] == [12_000, 12_000, 6_000, 3_000, 2_000]
