"""Columns of many values whose information about the target is not above chance: what a study states of them."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import mutual_info_score
from tests.report.reading import summary

import tamiz
from tamiz import SubsetSelector, open_table
from tamiz._study.ranking import find_chance_level
from tamiz.criteria import JMI, FisherScore, GainRatio, InformationGain, SymmetricUncertainty
from tamiz.report.columns import ranking_notes
from tamiz.search import BestFirst

pytestmark = pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")

N = 300
NO_EVIDENCE = "That is no evidence of a relation to target: the information is not above chance."


def table(kind, seed):
    """A patient number of 100 values in 300 rows, which is noise, and a weak and a strong column beside it."""
    rng = np.random.default_rng(seed)
    ill = rng.random(N) < (0.1 if kind == "imbalanced" else 0.5)
    patient = np.arange(N) % 100
    if kind == "sorted":
        patient = np.sort(patient)
    if kind == "patient determines":
        ill = (rng.random(100) < 0.5)[patient]
    X = pd.DataFrame({"patient": [f"P{one:03d}" for one in patient], "weak": rng.normal(size=N) + 0.2 * ill})
    if kind == "strong beside":
        X["strong"] = rng.normal(size=N) + 4 * ill
    y = rng.normal(size=N) if kind == "number" else np.where(ill, "ill", "well")
    return X, y


def is_above_chance(x, y, seed=0):
    """By 400 permutations of the rows: the share that reaches the observed mutual information is at most 5 %."""
    rng = np.random.default_rng(seed)
    if y.dtype.kind == "f":
        y = pd.qcut(y, 10, labels=False)
    observed = mutual_info_score(x, y) * (1 - 1e-9)
    reached = sum(mutual_info_score(x, rng.permutation(y)) >= observed for _ in range(400))
    return (1 + reached) / 401 <= 0.05


@pytest.mark.parametrize(
    "kind",
    [
        "plain",
        *(
            pytest.param(kind, marks=pytest.mark.slow)
            for kind in ("number", "imbalanced", "sorted", "strong beside", "patient determines")
        ),
    ],
)
def test_the_ranking_states_of_which_first_columns_the_information_is_not_above_chance(kind):
    X, y = table(kind, seed=1)
    relevances = None if kind == "plain" else [InformationGain(), SymmetricUncertainty()]
    result = tamiz.study(X, y, relevances=relevances, maps=[], assess=False, points=False)
    named = {column.name: column for column in result.record.ranking.at_chance}
    assert set(named) == (set() if is_above_chance(X["patient"], y) else {"patient"})
    # The truth of the table, which the permutations agree with.
    assert ("patient" in named) == (kind != "patient determines")
    shown = ranking_notes(result.record)
    if kind == "strong beside":
        assert shown["lead"].startswith("strong ranks first for target")
        assert NO_EVIDENCE not in shown["lead"]
    for text in (shown["at_chance"], summary(result)):
        assert ("above chance" in text) == bool(named)
    if named:
        column, bins = named["patient"], pd.qcut(y, 10, labels=False) if kind == "number" else y
        assert column.n_values == 100
        assert column.information == pytest.approx(mutual_info_score(X["patient"], bins) / np.log(2))
        assert "patient (100 values: " in shown["at_chance"]
    # Ranks of noise first are no finding either.
    if shown["lead"].startswith("patient ranks first"):
        assert (NO_EVIDENCE in shown["lead"]) == (kind != "patient determines")


def test_a_selected_column_at_chance_level_is_warned_of_once():
    X, y = table("plain", seed=1)
    result = tamiz.study(X, y, relevances=[], maps=[], assess=False, points=False)
    assert "patient" in result.record.subset.columns
    (warning,) = [one for one in result.record.warnings if "above chance" in one]
    assert re.match(r"CFS: the information about the target of 'patient' \(100 values, .* is not above chance", warning)
    by_jmi = tamiz.study(X, y, selector=SubsetSelector(JMI()), relevances=[], maps=[], assess=False, points=False)
    assert len([one for one in by_jmi.record.warnings if "above chance" in one]) == (
        "patient" in by_jmi.record.subset.columns
    )


@pytest.mark.parametrize("selected", [False, True])
def test_a_column_that_predicts_the_target_is_nowhere_called_chance(selected):
    rng = np.random.default_rng(0)
    y = rng.random(N) < 0.5
    word = pd.Series(rng.choice([f"w{k}" for k in range(40)], N))
    # The text is missing in one class, and says nothing in the other.
    X = pd.DataFrame({"reason": word.where(y), "other": rng.permutation(word), "x": rng.normal(size=N)})
    search = BestFirst(fixed=["reason"], excluded=["other", "x"]) if selected else None
    asked = {"relevances": [InformationGain(), GainRatio()], "maps": [], "assess": False, "keep_leaks": True}
    record = tamiz.study(X, np.where(y, "ill", "well"), selector=SubsetSelector(search=search), **asked).record
    assert [leak.name for leak in record.table.leakage] == ["reason"]
    table = open_table(X, np.where(y, "ill", "well"))
    named = [one.name for one in find_chance_level(table, record.ranking, "distribute")]
    assert "reason" in named
    assert [one.name for one in record.ranking.at_chance] == [name for name in named if name != "reason"]
    shown = ranking_notes(record)
    assert not [text for text in (*record.warnings, shown["at_chance"]) if "reason" in text and "chance" in text]
    assert not shown["lead"].startswith("reason") or "no evidence" not in shown["lead"]


def first_sentences(X, y, **more):
    relevances = [InformationGain(), FisherScore()]
    return ranking_notes(tamiz.study(X, y, relevances=relevances, maps=[], assess=False, points=False, **more).record)[
        "lead"
    ]


def test_the_lead_states_that_a_first_column_has_no_significant_relation():
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(80, 3)), columns=list("abc"))
    y = rng.permutation(["u", "v"] * 40)
    lead = first_sentences(X, y)
    doubt = "A test of one column alone finds no relation to target (adjusted p-value "
    assert re.match("[abc] ranks first for target: ", lead)
    assert doubt in lead
    X["a"] += 3 * (y == "u")
    lead = first_sentences(X, y)
    assert lead.startswith("a ranks first for target")
    assert doubt not in lead
    # In groups of rows there is no test.
    lead = first_sentences(X, y, groups=np.arange(80) // 2)
    assert lead.startswith("a ranks first for target")
