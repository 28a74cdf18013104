"""Why each column is recommended or not: copies, noise and columns that add to the others."""

import numpy as np
import pandas as pd
import pytest

import tamiz
from tamiz._study import models
from tamiz.assessment import conditional_importance, recommend_columns
from tamiz.report.columns import collect_columns
from tamiz.report.recommendation import decision_sentence
from tamiz.table.views import select_columns

pytestmark = pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(400, 5)), columns=["strong", "weak", "n1", "n2", "n3"])
    y = 2 * X["strong"] + X["weak"] + 0.5 * rng.normal(size=400)
    return X.assign(copy=1 - 3 * X["strong"], near=X["strong"] + 0.4 * rng.normal(size=400)), y


@pytest.fixture(scope="module")
def studied(table):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("tamiz.models.named_models._REGRESSORS", ("ridge", "knn"))
        patched.setattr(models, "_FEWER_FOLDS", 3)
        return tamiz.study(*table, maps=[], relevances=[])


def test_each_column_is_kept_or_dropped_for_a_reason_that_is_true(table, studied):
    decisions = studied.record.decisions
    shown = {one.name: decision_sentence(one, studied.record.recommendation) for one in decisions}
    p_values = {one.name: one.p_value for one in decisions}
    assert list(shown) == list(table[0])
    assert [one.name for one in decisions if one.kept] == ["strong", "weak"]
    for name in ("strong", "weak"):
        assert shown[name] == "Belongs to the smallest set that loses nothing measurable."
        assert p_values[name] < 1e-6
    folds = {row["name"]: dict(row["facts"])["Chosen in the folds"] for row in collect_columns(studied.record)["rows"]}
    assert [folds[name] for name in ("strong", "weak", "copy")] == ["3 of 3", "3 of 3", "0 of 3"]
    assert shown["copy"].startswith("Equivalent to strong (")
    assert shown["near"] == "Redundant with strong, which is kept."
    assert abs(table[0]["near"].corr(table[0]["strong"])) > 0.9
    assert next(one for one in decisions if one.name == "near").similar[0].name == "strong"
    assert min(p_values[name] for name in ("n1", "n2", "n3")) > 0.01


def test_shares_and_p_values_are_those_of_the_functions(table, studied):
    X, y = table
    decisions = {one.name: one for one in studied.record.decisions}
    found = recommend_columns(X, y, models=["ridge", "knn"], n_splits=3)
    assert found.columns == ("strong", "weak")
    assert {name: one.share for name, one in decisions.items() if one.share} == found.frequencies
    columns = [j for j, name in enumerate(X) if name != "copy"]
    added = conditional_importance(select_columns(tamiz.open_table(X, y), columns), model="ridge", n_splits=3)
    for name, p in zip(added.names, added.adjusted_p_value, strict=True):
        assert decisions[name].p_value == pytest.approx(p, rel=1e-9)


@pytest.mark.slow
def test_where_it_takes_long_there_are_no_p_values_and_the_page_states_less(table, monkeypatch):
    monkeypatch.setattr("tamiz.models.named_models._REGRESSORS", ("ridge",))
    monkeypatch.setattr(models, "MAX_IMPORTANCE_WORK", 0)
    found = tamiz.study(*table, maps=[], relevances=[])
    shown = {one.name: decision_sentence(one, found.record.recommendation) for one in found.record.decisions}
    assert shown["n1"] == "Adds less than the margin to the kept columns."
    assert "p-value of what it adds" not in found.page()
