"""The stability of a ranking: against a plain loop over tables of drawn rows, and its properties."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from tamiz import RankSelector, open_table
from tamiz.assessment import ranking_stability
from tamiz.criteria import (
    FisherScore,
    IndependenceTest,
    InformationGain,
    LaplacianScore,
    LinearCoefficient,
    MutualInformation,
    ReliefF,
    SymmetricUncertainty,
    TreeImportance,
)
from tamiz.criteria.base import Relevance, RowRelevance

from ..reference.ranking_stability import draw_bootstrap, draw_half, rank_samples, stability_of

IRIS = load_iris(as_frame=True)
KINDS = {"level": "categorical", "y": "categorical"}


class PairCorrelation(RowRelevance):
    """The correlation of a column with the next one, which no counts and no fold of models can score again."""

    needs_target = False

    def score(self, table):
        columns = [np.concatenate([block.column(j) for block in table.blocks([j])]) for j in table.schema.used]
        correlations = np.corrcoef(columns)
        return np.abs(np.roll(correlations, -1, axis=1).diagonal())


def mixed(n_rows=121):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n_rows)
    return pd.DataFrame(
        {
            "good": y + 0.3 * rng.normal(size=n_rows),
            "fair": np.where(rng.random(n_rows) < 0.1, np.nan, y + rng.normal(size=n_rows)),
            "level": np.array([*"abcd"])[np.where(rng.random(n_rows) < 0.5, y, 3)],
            "noise": rng.normal(size=n_rows),
            "y": np.array([*"uvw"])[y],
        }
    )


@pytest.mark.parametrize(
    ("relevance", "draw"),
    [
        (SymmetricUncertainty(), draw_bootstrap),
        (FisherScore(), draw_bootstrap),
        (IndependenceTest(test="rank"), draw_bootstrap),
        (ReliefF(n_neighbors=3), draw_half),
        (MutualInformation(), draw_half),
        (LaplacianScore(), draw_half),
    ],
    ids=lambda one: type(one).__name__ if isinstance(one, Relevance) else one.__name__,
)
@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
def test_errors_and_agreement_are_those_of_tables_of_the_drawn_rows(relevance, draw):
    frame = mixed()
    found = ranking_stability(open_table(frame, "y", kinds=KINDS), None, relevance, n_bootstrap=15, random_state=4)
    scores, sampled = rank_samples(frame, "y", KINDS, relevance, draw, 15, 4)
    expected = stability_of(scores, sampled, 1.0 if draw is draw_bootstrap else (60 / 61) ** 0.5)
    np.testing.assert_array_equal(found.scores, scores)
    for name, values in expected.items():
        np.testing.assert_allclose(getattr(found, name), values, rtol=1e-6, atol=1e-12, err_msg=name)
    is_best = np.argsort(np.argsort(-sampled, axis=1), axis=1) < found.top
    assert found.top == 2
    np.testing.assert_allclose(found.top_shares, is_best.mean(axis=0))


@pytest.mark.parametrize(("relevance", "tolerance"), [(TreeImportance(), 0.15), (LinearCoefficient(), 0.05)])
@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
def test_errors_of_models_are_close_to_those_of_tables_of_the_drawn_rows(relevance, tolerance):
    frame = mixed()
    found = ranking_stability(open_table(frame, "y", kinds=KINDS), None, relevance, n_bootstrap=15, random_state=4)
    expected = stability_of(*rank_samples(frame, "y", KINDS, relevance, draw_bootstrap, 15, 4), 1.0)
    errors = found.score_errors
    assert np.abs(errors - expected["score_errors"]).max() < tolerance * errors.max()
    assert "scored by row weights" in found.method


def test_a_relevance_of_the_user_is_scored_anew_on_repeated_rows():
    X = np.random.default_rng(0).normal(size=(40, 3))
    found = ranking_stability(X, None, PairCorrelation(), n_bootstrap=8)
    rng, sampled = np.random.default_rng(0), []
    for _ in range(8):
        correlations = np.abs(np.corrcoef(X[rng.integers(0, 40, 40)].T))
        sampled.append([correlations[0, 1], correlations[1, 2], correlations[2, 0]])
    np.testing.assert_allclose(found.score_errors, np.std(sampled, axis=0, ddof=1))
    assert found.method.endswith("every sample is scored as a table of its own.")


@pytest.mark.parametrize("relevance", [InformationGain(), TreeImportance(), MutualInformation()])
def test_numbers_do_not_depend_on_the_number_of_threads(relevance):
    found = [
        ranking_stability(IRIS.data, IRIS.target, relevance, n_bootstrap=12, n_jobs=n_jobs).to_dict()
        for n_jobs in (1, 2)
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize("relevance", [FisherScore(), MutualInformation()])
def test_a_row_of_weight_two_is_two_rows(relevance):
    X, y = IRIS.data[::3], IRIS.target[::3]
    weight = np.arange(50) % 3
    rows = np.repeat(np.arange(50), weight)
    weighted = ranking_stability(X, y, relevance, sample_weight=weight, n_bootstrap=10)
    repeated = ranking_stability(X.iloc[rows], y.iloc[rows], relevance, n_bootstrap=10)
    for name in ("scores", "score_errors", "ranks", "rank_errors", "top_shares"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-9, err_msg=name)
    assert f"{len(rows)} rows drawn" in weighted.method or f"of {len(rows)} rows drawn" in weighted.method


@pytest.mark.parametrize("groups", [None, np.arange(150)])
def test_rows_with_sampling_weights_are_drawn_with_their_weights(groups):
    weight = np.linspace(0.5, 2, 150)
    found = ranking_stability(IRIS.data, IRIS.target, FisherScore(), sample_weight=weight, groups=groups, n_bootstrap=5)
    rng, sampled = np.random.default_rng(0), []
    for _ in range(5):
        counts = np.bincount(rng.integers(0, 150, 150), minlength=150)
        sampled.append(RankSelector(FisherScore()).fit(IRIS.data, IRIS.target, sample_weight=counts * weight).scores_)
    np.testing.assert_allclose(found.score_errors, np.std(sampled, axis=0, ddof=1), rtol=1e-6)


@pytest.mark.parametrize("relevance", [FisherScore(), IndependenceTest(test="rank")])
def test_a_group_that_is_drawn_twice_counts_twice(relevance):
    rng = np.random.default_rng(0)
    y = np.arange(20) % 2
    groups = np.repeat(np.arange(20), 4)
    X = (y[:, None] * [1.0, 0.5, 0.0] + rng.normal(size=(20, 3)))[groups]
    found = ranking_stability(X, y[groups], relevance, groups=groups, n_bootstrap=10)
    # One row a group: the rows of a group are equal, and count once.
    single = ranking_stability(X[::4], y, relevance, n_bootstrap=10)
    np.testing.assert_allclose(found.scores, single.scores)
    np.testing.assert_allclose(found.score_errors, single.score_errors)
    assert "cluster bootstrap: 20 whole groups" in found.method


def test_rows_in_time_are_drawn_in_blocks():
    rng = np.random.default_rng(0)
    # Runs of 50 equal rows: blocks of 6 have far fewer independent rows than 200.
    X = np.repeat(rng.normal(size=(4, 2)), 50, axis=0) + 0.1 * rng.normal(size=(200, 2))
    y = X[:, 0] + 0.3 * rng.normal(size=200)
    by_rows = ranking_stability(X, y > 0, FisherScore(), n_bootstrap=60)
    by_time = ranking_stability(X, y > 0, FisherScore(), time=np.arange(200), n_bootstrap=60)
    assert "blocks of 6 consecutive rows in time" in by_time.method
    assert (by_time.score_errors > by_rows.score_errors).all()


def test_constant_columns_share_the_last_ranks_and_excluded_ones_are_left_out():
    X = IRIS.data.assign(one=1.0, two=2.0, none=np.nan)
    with pytest.warns(UserWarning, match="none"):
        found = ranking_stability(X, IRIS.target, ReliefF(), n_bootstrap=6)
    assert found.names == (*IRIS.data.columns, "one", "two")
    assert found.ranks[4:].tolist() == [5.5, 5.5]
    assert found.rank_intervals[4:].tolist() == [[5.5, 5.5]] * 2
    assert found.score_errors[4:].tolist() == found.top_shares[4:].tolist() == [0, 0]
    assert len(found.notes) == 1


def test_equal_columns_share_a_place_in_the_top_set():
    x = IRIS.data.iloc[:, 2]
    found = ranking_stability(pd.DataFrame({"a": x, "b": x}), IRIS.target, FisherScore(), n_bootstrap=100, top=1)
    assert 0.3 < found.top_shares[0] < 0.7
    assert found.top_shares.sum() == 1
    assert np.isnan(found.spearman)
    assert found.to_dict()["kendall"] is None
    assert abs(found.top_stability) < 0.1
    assert found.sentence.startswith("Stability of the best column: ")


def test_a_sample_of_one_class_scores_nothing():
    y = np.repeat([0, 1], [39, 1])
    X = np.random.default_rng(0).normal(size=(40, 3)) + 2 * y[:, None]
    found = ranking_stability(X, y, PairCorrelationWithClass(), n_bootstrap=40)
    assert 0 < found.spearman < 1


class PairCorrelationWithClass(PairCorrelation):
    needs_target = True


def test_the_record_is_printed_in_the_order_of_the_ranks_and_written_as_json():
    found = ranking_stability(IRIS.data, IRIS.target, FisherScore(), n_bootstrap=20, top=2)
    lines = repr(found).splitlines()
    assert lines[0] == "Ranking stability: Fisher score, 4 columns of 150 rows"
    assert lines[1].endswith("in the top 2")
    assert [line.split("  ")[0] for line in lines[2:6]] == [IRIS.data.columns[j] for j in np.argsort(found.ranks)]
    assert len({len(line) for line in lines[1:6]}) == 1
    assert lines[7].startswith("The standard errors are those of 20 samples (bootstrap: 150 rows drawn with")
    assert "<td>petal length (cm)</td>" in found._repr_html_()
    written = json.loads(json.dumps(found.to_dict()))
    assert [one["name"] for one in written["columns"]] == [*IRIS.data.columns]
    assert written["columns"][2]["rank_interval"] == found.rank_intervals[2].tolist()
    wide = ranking_stability(
        np.random.default_rng(0).normal(size=(20, 31)), np.arange(20) % 2, FisherScore(), n_bootstrap=2
    )
    assert "\nand 1 more column\n" in repr(wide)
    assert wide.top == 10


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_bootstrap": 1}, "n_bootstrap must be at least 2, got 1"),
        ({"top": 5}, "top=5 exceeds the 4 used columns that are not constant"),
        ({"top": 0}, "top must be at least 1, got 0"),
        ({"groups": np.arange(150) % 4}, "4 groups are too few for bootstrap samples: at least 10 are needed"),
        ({"random_state": -1}, "random_state must be a whole number"),
    ],
)
def test_bad_parameters_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        ranking_stability(IRIS.data, IRIS.target, FisherScore(), **options)


def test_bad_tables_are_refused():
    few = IRIS.data[46:55], IRIS.target[46:55]
    with pytest.raises(ValueError, match="9 rows are too few for bootstrap samples"):
        ranking_stability(*few, FisherScore())
    with pytest.raises(ValueError, match="9 rows are too few for half-samples"):
        ranking_stability(*few, ReliefF())
    with pytest.raises(ValueError, match="requires a column that is not constant: the table has none"):
        ranking_stability(np.ones((20, 2)), np.arange(20) % 2, FisherScore())
    with pytest.raises(ValueError, match="requires y"):
        ranking_stability(IRIS.data, None, FisherScore())


@pytest.mark.slow
@pytest.mark.parametrize("relevance", [FisherScore(), SymmetricUncertainty(), MutualInformation(), ReliefF()])
def test_95_percent_intervals_cover_the_expected_score_and_rank(relevance):
    rng, effects = np.random.default_rng(0), np.array([0.0, 0.0, 0.2, 0.3, 0.5, 0.7, 1.0, 1.4])
    scores, score_intervals, ranks, rank_intervals = [], [], [], []
    for seed in range(150):
        y = np.arange(200) % 2
        X = effects * y[:, None] + rng.normal(size=(200, 8))
        found = ranking_stability(X, y, relevance, n_bootstrap=60, random_state=seed)
        scores.append(found.scores)
        ranks.append(found.ranks)
        score_intervals.append(found.score_intervals)
        rank_intervals.append(found.rank_intervals)
    for values, intervals in ((scores, score_intervals), (ranks, rank_intervals)):
        mean, ends = np.mean(values, axis=0), np.array(intervals)
        covered = ((ends[..., 0] <= mean) & (mean <= ends[..., 1])).mean(axis=0)
        # Useless columns are covered more often, and the first rank less often, as docs/honest-numbers.md states.
        assert 0.9 <= covered.mean() <= 0.99, covered
