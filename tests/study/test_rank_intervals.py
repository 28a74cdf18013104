"""Bootstrap intervals of the mean rank: they contain it, and cover the average rank of tables of their size."""

import numpy as np
import pandas as pd
import pytest

from tamiz import open_table, study
from tamiz._study import estimates
from tamiz._study.ranking import rank_columns
from tamiz.assessment import mean_rank, mean_ranks
from tamiz.assessment.mean_ranks import RankingCriterion, choose_ranking_criteria, combine_ranks
from tamiz.criteria import FisherScore, InformationGain, LinearCoefficient, TreeImportance
from tamiz.criteria.base import RowRelevance
from tamiz.exceptions import DataError
from tamiz.graphs.row_graph import RowGraph
from tamiz.runtime import parallel
from tamiz.runtime.codec import to_json

# Shifts of the mean between classes, or half the slopes of a number: nothing, little next to the spread of 200 rows, and much.
EFFECTS = np.array([0.0] * 4 + [0.12, 0.18, 0.24, 0.3] + [0.6, 0.9, 1.2, 1.6])
PARTS = {"null": slice(0, 4), "weak": slice(4, 8), "strong": slice(8, 12)}


def combined_of(table, relevances=None, seed=0):
    ranked = choose_ranking_criteria(relevances, table.schema, "distribute", RowGraph(table))
    return to_json(combine_ranks(table, ranked, rank_columns(table, ranked).scores, seed))


def resembling_caravan(n_rows, seed=0):
    """85 columns of small whole numbers in groups, hardly any of which tells of a class of 6 % of the rows."""
    rng = np.random.default_rng(seed)
    y = rng.random(n_rows) < 0.06
    groups = rng.normal(size=(n_rows, 17)) + np.outer(y, np.r_[np.linspace(0.5, 0.1, 12), np.zeros(5)])
    values = groups[:, np.arange(85) % 17] + rng.normal(size=(n_rows, 85))
    frame = pd.DataFrame(np.clip(np.round(values + 1), 0, 9)).set_axis([f"v{j}" for j in range(85)], axis=1)
    return frame.assign(buys=np.where(y, "yes", "no"))


def drawn_table(kind, rng):
    """200 rows and twelve columns, three of them categories."""
    if kind == "classes":
        y = rng.integers(0, 2, 200)
        X = EFFECTS * y[:, None] + rng.normal(size=(200, 12))
    else:
        X = rng.normal(size=(200, 12))
        y = X @ (EFFECTS / 2) + rng.normal(size=200)
    frame = pd.DataFrame(X).set_axis([*"abcdefghijkl"], axis=1)
    levels = {name: np.array([*"wxyz"])[np.searchsorted([-0.7, 0, 0.7], frame[name])] for name in "bfj"}
    return frame.assign(**levels), y


def test_every_interval_contains_its_mean_rank(monkeypatch):
    monkeypatch.setattr(mean_ranks, "N_BOOTSTRAP", 40)
    with parallel.thread_session():
        found = combined_of(open_table(resembling_caravan(6_000), "buys"))
    ranks, ends = np.array(found["ranks"]), np.array(found["intervals"])
    assert len(found["criteria"]) == 6
    assert ((ends[:, 0] <= ranks) & (ranks <= ends[:, 1])).all()
    assert (ends[:, 1] > ends[:, 0]).all()
    assert ends.min() >= 1
    assert ends.max() <= 85
    assert list(found["criterion_intervals"]) == found["criteria"]
    for name, intervals in found["criterion_intervals"].items():
        ends = np.array(intervals)
        assert 1 <= ends.min() <= ends.max() <= 85, name
        assert (ends[:, 1] >= ends[:, 0]).all(), name


def test_the_intervals_of_a_criterion_by_itself_are_those_of_its_mean_rank():
    rng, y = np.random.default_rng(0), np.arange(100) % 2
    table = open_table(np.linspace(0, 1, 6) * y[:, None] + rng.normal(size=(100, 6)), y)
    alone = combined_of(table, [FisherScore()])
    both = combined_of(table, [FisherScore(), InformationGain()])["criterion_intervals"]
    (intervals,) = alone["criterion_intervals"].values()
    np.testing.assert_allclose(intervals, alone["intervals"], atol=0.05 + 1e-9)
    assert both["fisher_score"] == intervals
    assert both["information_gain"] != intervals


def test_the_text_states_samples_rows_and_the_kind_of_bootstrap(monkeypatch):
    frame = resembling_caravan(300)
    for roles, words in (
        ({}, "(bootstrap: 300 rows drawn with replacement)"),
        ({"groups": "g"}, "(cluster bootstrap: 30 whole groups"),
        ({"time": "g"}, "(block bootstrap: blocks of 7 consecutive rows"),
    ):
        found = combined_of(open_table(frame.assign(g=np.arange(300) // 10), "buys", **roles), [FisherScore()])
        assert f"1.96 standard errors from {mean_ranks.N_BOOTSTRAP} bootstrap samples {words}" in found["method"]
    monkeypatch.setattr(estimates, "_MAX_VALUES", 1e5)
    ranking = study(frame, "buys", relevances=[FisherScore()], maps=[], assess=False).to_dict()["ranking"]
    found = ranking["mean_rank"]
    assert (found["n_bootstrap"], found["intervals"][0]) == (0, None)
    why = "200 bootstrap samples of 300 rows and 85 columns would exceed the time budget (max_seconds=, --max-seconds)"
    assert f"There is no interval: {why}." in found["method"]


def test_a_criterion_without_reweighting_keeps_its_ranks_and_the_text_states_it():
    class LastFirst(RowRelevance):
        def score(self, table):
            return np.arange(table.schema.n_columns, dtype=float)

    rng, y = np.random.default_rng(0), np.arange(400) % 2
    table = open_table(np.linspace(0.5, 2, 9) * y[:, None] + rng.normal(size=(400, 9)), y)
    ranked = [
        RankingCriterion("last", "Last first", LastFirst(), table),
        RankingCriterion("fisher", "Fisher", FisherScore(), table),
    ]
    both = combine_ranks(table, ranked, rank_columns(table, ranked).scores, 0)
    alone = combine_ranks(table, ranked[1:], rank_columns(table, ranked[1:]).scores, 0)
    ends = np.array(alone.intervals)
    inside = (ends[:, 0] > 1) & (ends[:, 1] < 9)
    assert inside.any()
    expected = (ends + np.arange(9, 0, -1)[:, None]) / 2
    np.testing.assert_allclose(np.array(both.intervals)[inside], expected[inside])
    assert "Last first in every bootstrap sample would take minutes: its ranks are the same in all" in both.method


def test_columns_that_are_tied_share_their_interval_and_a_clear_one_has_a_point():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    frame = pd.DataFrame({"best": y + 0.01 * rng.normal(size=200), "a": rng.normal(size=200)})
    frame["b"] = frame["a"]
    found = combined_of(open_table(frame, y), [InformationGain(), FisherScore(), LinearCoefficient(), TreeImportance()])
    assert found["intervals"][0] == [1, 1]
    assert found["intervals"][1] == found["intervals"][2]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["classes", "number"])
def test_95_percent_intervals_cover_the_average_rank_of_tables_of_their_size(kind, monkeypatch):
    monkeypatch.setattr(mean_ranks, "N_BOOTSTRAP", 200)
    rng, ranks, ends = np.random.default_rng(0), [], []
    with parallel.thread_session():
        for seed in range(200):
            found = combined_of(open_table(*drawn_table(kind, rng)), seed=seed)
            ranks.append(found["ranks"])
            ends.append(found["intervals"])
    ranks, ends = np.array(ranks), np.array(ends)
    average = ranks.mean(axis=0)
    covered = (ends[..., 0] <= average) & (average <= ends[..., 1])
    shares = {part: round(float(covered[:, columns].mean()), 3) for part, columns in PARTS.items()}
    assert 0.92 <= covered.mean() <= 0.98, shares
    # Columns without an effect are covered more often: among them ranks vary more between samples than between tables.
    assert min(shares.values()) >= 0.9
    assert ((ends[..., 0] <= ranks) & (ranks <= ends[..., 1])).all()


def test_the_function_has_the_mean_ranks_of_the_study():
    rng, y = np.random.default_rng(0), np.arange(100) % 2
    X = pd.DataFrame(np.linspace(0, 1, 6) * y[:, None] + rng.normal(size=(100, 6))).add_prefix("x")
    relevances = [FisherScore(), InformationGain()]
    found = mean_rank(X, y, relevances, n_bootstrap=5)
    assert found.to_dict() == combined_of(open_table(X, y), relevances)
    assert found.columns == tuple(X.columns)
    with pytest.raises(DataError, match="at least one column and one criterion"):
        mean_rank(pd.DataFrame({"a": [None] * 20}), np.arange(20) % 2, relevances)
    with pytest.raises(ValueError, match="n_bootstrap must be at least 2"):
        mean_rank(X, y, n_bootstrap=1)
