"""A study states direction and size of its first columns, interactions, and remarks on the table."""

import numpy as np
import pandas as pd
import pytest

from tamiz import open_table, study
from tamiz.criteria import FisherScore, Variance
from tamiz.report.columns import ranking_notes

pytestmark = pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")


def ranking_of(X, y, **options):
    # Repeated rows of a group make columns with many values predict the target.
    result = study(
        open_table(X, y, **options),
        assess=False,
        maps=[],
        keep_leaks=True,
        random_folds=True,
        relevances=[FisherScore() if y is not None else Variance()],
    )
    found = result.to_dict()
    remarks = {one["code"]: one for one in found["warnings"] if one["code"] in ("TZ217", "TZ212")}
    return found["ranking"], ranking_notes(result.record), remarks


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(800, 8))).add_prefix("x")
    X["pay"] = np.exp(3 * rng.normal(size=800))
    score = 1.5 * X["x0"] + 2 * np.sign(X["x3"] * X["x5"])
    y = np.where(rng.random(800) < 1 / (1 + np.exp(-score)), "yes", "no")
    return X, y


def test_the_first_columns_interactions_and_remarks(table):
    ranking, shown, remarks = ranking_of(*table)
    assert ranking["associations"]["x0"][0].startswith("higher where target is yes (+")
    assert set(ranking["associations"]) == set(table[0].columns)
    assert "x3 and x5: together beyond the sum of the two on the log-odds scale" in ranking["interactions"]
    assert remarks.keys() == {"TZ217"}
    assert remarks["TZ217"]["columns"] == ["pay"]
    assert shown["notes"] == [ranking["interactions"]]


def test_long_names_and_levels_are_shortened_in_sentences():
    rng = np.random.default_rng(0)
    y = rng.choice(["u", "v"], 200)
    X = pd.DataFrame({"a" * 5_000: rng.normal(size=200) + (y == "v"), "b": rng.choice(["k" * 5_000, "m" * 5_000], 200)})
    ranking, shown, _ = ranking_of(X, pd.Series(y, name="t" * 5_000))
    texts = [*(text for texts in ranking["associations"].values() for text in texts), ranking["interactions"]]
    assert max(map(len, [*texts, shown["lead"]])) < 500
    assert f"higher where {'t' * 39}…{'t' * 20} is v" in texts[0]


def test_rows_of_a_group_have_wider_intervals(table):
    X, y = table
    groups = np.repeat(np.arange(80), 10)
    X, y = X.iloc[groups].reset_index(drop=True), y[groups]
    texts = [ranking_of(X, y, **options)[0] for options in ({}, {"groups": groups})]
    ends = []
    for ranking in texts:
        text = ranking["associations"]["x0"][0]
        low, high = text.split("deviations, ")[1].split(")")[0].split(" to ")
        ends.append(float(high) - float(low))
    assert ends[1] > 2.5 * ends[0]


def test_without_a_target_or_with_few_rows_there_is_less_to_state(table):
    X, y = table
    ranking, _, remarks = ranking_of(X, None)
    assert (ranking["associations"], ranking["interactions"], list(remarks)) == ({}, "", ["TZ217"])
    ranking, _, _ = ranking_of(X.head(20), y[:20])
    assert set(ranking["associations"]) == set(X.columns)
    assert ranking["interactions"] == ""


def test_drift_is_warned_of_where_folds_depend_on_it(table):
    X, y = table
    rng = np.random.default_rng(1)
    X = X.assign(x1=X["x1"] + np.linspace(0, 3, len(X)) + rng.normal(size=len(X)))
    assert ranking_of(X, y)[2]["TZ212"]["columns"] == ["x1"]
    assert "TZ212" not in ranking_of(X, None)[2]
