"""The combined rank of a study and its interval: against a plain loop, and the laws they keep."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from tamiz import open_source, parallel, study
from tamiz.criteria import (
    Entropy,
    FisherScore,
    InformationGain,
    LaplacianScore,
    LinearCoefficient,
    PermutationImportance,
    SymmetricUncertainty,
    TreeImportance,
    Variance,
)
from tamiz.exceptions import TamizWarning
from tamiz.steps import combined
from tamiz.steps.combined import describe_combined, planned, ranks_of
from tamiz.steps.ranking import describe_ranking
from tamiz.steps.resampling import redraw
from tamiz.steps.scoring import Ranked

from .reference.combined import intervals, mean_ranks

IRIS = load_iris(as_frame=True)
EVERY = [InformationGain(), SymmetricUncertainty(), FisherScore(), TreeImportance(), LinearCoefficient()]


@pytest.fixture(autouse=True)
def _as_many_resamples_as_in_a_study(monkeypatch):
    monkeypatch.setattr(combined, "_MOST_RESAMPLES", 60)
    monkeypatch.setattr(combined, "_LEAST_RESAMPLES", 25)


def combined_of(source, relevances, seed=3, n_jobs=1):
    ranked = [Ranked(f"r{k}", type(one).__name__, one, source) for k, one in enumerate(relevances)]
    with parallel.session(n_jobs):
        return describe_combined(source, ranked, describe_ranking(source, ranked), seed)


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 120)
    return pd.DataFrame(
        {
            "good": y + 0.3 * rng.normal(size=120),
            "fair": np.where(rng.random(120) < 0.1, np.nan, y + rng.normal(size=120)),
            "level": np.array([*"abcd"])[np.where(rng.random(120) < 0.5, y, 3)],
            "noise": rng.normal(size=120),
            "flag": rng.random(120) < 0.5,
            "y": np.array([*"uvw"])[y],
        }
    )


@pytest.mark.filterwarnings("ignore:.*missing value.*by a model")
def test_ranks_and_intervals_are_those_of_a_plain_loop(mixed, monkeypatch):
    monkeypatch.setattr(combined, "_MOST_RESAMPLES", 25)
    found = combined_of(open_source(mixed, "y"), EVERY)
    kinds = {"flag": "boolean", "level": "categorical", "y": "categorical"}
    expected = intervals(mixed, "y", EVERY, 25, 3, kinds)
    np.testing.assert_allclose(found["intervals"], expected, rtol=1e-9)
    assert found["n_resamples"] == 25
    assert found["criteria"] == ["r0", "r1", "r2", "r3", "r4"]


def test_the_rank_is_the_mean_of_the_ranks_of_the_scores_shown():
    found = study(IRIS.data, IRIS.target, maps=[], assess=False).to_dict()["ranking"]
    scores = [np.array(found["scores"][name]) for name in found["combined"]["criteria"]]
    np.testing.assert_allclose(found["combined"]["ranks"], mean_ranks(scores), rtol=1e-12)


def test_equal_scores_share_the_mean_of_their_ranks_and_so_do_those_equal_up_to_rounding():
    assert ranks_of(np.array([0.5, 0.1, 0.5, 0.9, 0.1, 0.1])).tolist() == [2.5, 5, 2.5, 1, 5, 5]
    assert ranks_of(np.array([0.3, 0.1 + 0.2, 0.2])).tolist() == [1.5, 1.5, 3]
    assert ranks_of(np.zeros(3)).tolist() == [2, 2, 2]
    assert ranks_of(np.array([-1.0, 0.0])).tolist() == [2, 1]


def test_a_column_copied_has_the_same_rank_and_interval(mixed):
    twice = mixed.dropna(axis=1).assign(again=mixed["good"], level_again=mixed["level"])
    source = open_source(twice, "y")
    found = combined_of(source, EVERY)
    at = {name: j for j, name in enumerate(source.schema.names)}
    for one, other in (("good", "again"), ("level", "level_again")):
        assert found["ranks"][at[one]] == found["ranks"][at[other]]
        np.testing.assert_allclose(found["intervals"][at[one]], found["intervals"][at[other]])


def test_a_much_better_column_is_first_in_every_table(mixed):
    rng = np.random.default_rng(1)
    noise = pd.DataFrame(rng.normal(size=(300, 6)))
    noise.columns = [*"abcdef"]
    y = rng.integers(0, 2, 300)
    source = open_source(noise.assign(best=y + 0.01 * rng.normal(size=300)), y)
    found = combined_of(source, EVERY)
    assert found["ranks"][-1] == 1
    assert found["intervals"][-1] == [1, 1]
    # Those that tell nothing lie anywhere below.
    assert all(high - low > 1 for low, high in found["intervals"][:-1])


def test_the_number_of_threads_changes_nothing_and_the_seed_draws_the_rows():
    source = open_source(*load_breast_cancer(return_X_y=True, as_frame=True))
    one, two = (combined_of(source, EVERY[2:], n_jobs=n) for n in (1, 2))
    assert one == two
    assert combined_of(source, EVERY[2:], seed=4)["intervals"] != one["intervals"]


def test_with_a_target_only_criteria_that_read_it_count_and_without_one_all():
    ranked = study(IRIS.data, IRIS.target, maps=[], assess=False).to_dict()["ranking"]
    assert [one["id"] for one in ranked["criteria"]][3:] == [
        "fisher_score", "laplacian_score", "entropy", "variance", "tree_importance", "linear_coefficient",
    ]  # fmt: skip
    found = ranked["combined"]
    assert not {"laplacian_score", "entropy", "variance"} & set(found["criteria"])
    assert "Laplacian score, Entropy and Variance do not read target and are not counted." in found["how"]
    found = study(IRIS.data, maps=[]).to_dict()["ranking"]["combined"]
    assert found["criteria"] == ["laplacian_score", "entropy", "variance"]
    assert "Laplacian score of rows drawn twice would not mean the same: its ranks stay as they are." in found["how"]


def test_a_criterion_that_tells_no_column_from_another_is_not_counted():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    frame = pd.DataFrame(
        {
            name: np.where(rng.random(200) < 0.3 + share * y, "t", None)
            for name, share in zip("abc", (0, 0.2, 0.5), strict=True)
        }
    )
    source = open_source(frame, y)
    # Of one value and gaps the Fisher score sees the value only.
    found = combined_of(source, [InformationGain(missing="category"), FisherScore()])
    assert found["criteria"] == ["r0"]
    assert "FisherScore scores all columns alike here and is not counted." in found["how"]
    assert found["ranks"] == [3, 2, 1]
    # Where all do so, there is one rank for all columns.
    found = combined_of(source, [FisherScore()])
    assert (found["criteria"], found["ranks"]) == (["r0"], [2, 2, 2])


def test_criteria_of_joined_or_tested_rows_alone_have_no_interval():
    source = open_source(IRIS.data, IRIS.target)
    found = combined_of(source, [PermutationImportance(cv=3)])
    assert found["intervals"] == [None] * 4
    assert found["n_resamples"] == 0
    assert found["how"].endswith(
        "There is no interval: PermutationImportance of rows drawn twice would not mean the same."
    )
    # Beside one that is scored again, its ranks stay as they are.
    kept = combined_of(source, [PermutationImportance(cv=3), FisherScore()])
    alone = combined_of(source, [FisherScore()])["intervals"]
    np.testing.assert_allclose(kept["intervals"], (np.array(found["ranks"])[:, None] + alone) / 2)
    assert LaplacianScore().resampled is PermutationImportance().resampled is False


def test_a_column_that_takes_no_part_has_no_rank():
    frame = IRIS.data.assign(name=[f"row {i}" for i in range(150)], same=1.0)
    found = combined_of(open_source(frame, IRIS.target), [InformationGain(), Variance()])
    assert (found["ranks"][4], found["intervals"][4]) == (None, None)
    assert found["ranks"][5] == 5


def test_a_number_to_predict_is_ranked_too():
    source = open_source(*load_diabetes(return_X_y=True, as_frame=True))
    found = study(source, maps=[], assess=False).to_dict()["ranking"]["combined"]
    assert found["criteria"][-2:] == ["tree_importance", "linear_coefficient"]
    assert all(low <= high for low, high in found["intervals"])


def test_whole_groups_are_drawn_and_few_of_them_give_no_interval():
    frame = IRIS.data.assign(g=np.repeat(np.arange(30), 5), y=IRIS.target)
    source = open_source(frame, "y", groups="g")
    drawn = redraw(source, 150)
    rows = drawn.draw(np.random.default_rng(0))
    counts = np.bincount(rows, minlength=150)
    assert len(rows) == 150
    assert (counts.reshape(30, 5) == counts.reshape(30, 5)[:, :1]).all()
    assert "drawn with replacement in whole groups" in combined_of(source, EVERY[:2])["how"]
    few = open_source(frame.assign(g=np.arange(150) % 4), "y", groups="g")
    found = combined_of(few, EVERY[:2])
    assert (found["n_resamples"], found["intervals"]) == (0, [None] * 4)
    assert found["how"].endswith("There is no interval: 4 groups are too few to be drawn again.")


def test_rows_in_time_are_drawn_in_stretches():
    when = np.random.default_rng(0).permutation(150)
    source = open_source(IRIS.data.assign(t=when, y=IRIS.target), "y", time="t")
    drawn = redraw(source, 150)
    assert drawn.how == "in stretches of 5 rows that follow each other in time"
    times = np.sort(when[drawn.draw(np.random.default_rng(0))])
    assert len(times) == 150
    # Most rows drawn have the next one in time beside them.
    assert np.mean(np.isin(times + 1, times)) > 0.8


def test_rows_without_weight_are_not_drawn_and_weights_go_with_their_rows():
    weight = np.r_[np.zeros(50), np.ones(100)]
    source = open_source(IRIS.data, IRIS.target, weight=weight)
    part = open_source(IRIS.data[50:].reset_index(drop=True), IRIS.target[50:].reset_index(drop=True))
    relevances = [InformationGain(), FisherScore()]
    np.testing.assert_allclose(combined_of(source, relevances)["intervals"], combined_of(part, relevances)["intervals"])


def test_fewer_rows_are_drawn_of_a_long_table_and_none_where_it_would_take_minutes():
    assert planned(150, 4, 6) == (60, 150)
    assert planned(569, 30, 6) == (60, 569)
    n_resamples, size = planned(100_000, 50, 6)
    assert n_resamples >= 25
    assert 500 <= size < 100_000
    assert planned(1_000_000, 2_000, 6) == (0, 0)
    assert planned(10, 0, 0) == (60, 10)
    # Models of many classes take longer.
    assert planned(800, 6, 6, 40)[0] < planned(800, 6, 6, 2)[0] == 60


def test_a_smaller_table_is_told(monkeypatch):
    monkeypatch.setattr(combined, "_CLASS", 0)
    monkeypatch.setattr(combined, "_WORK", 25 * 100 * 4)
    monkeypatch.setattr(combined, "_LEAST_ROWS", 50)
    found = combined_of(open_source(IRIS.data, IRIS.target), [FisherScore()])
    assert "in 25 tables of 100 rows drawn with replacement" in found["how"]
    assert "smaller than the 150 rows of the table, so the intervals are wider than theirs would be" in found["how"]
    monkeypatch.setattr(combined, "_MOST_WORK", 1)
    found = combined_of(open_source(IRIS.data, IRIS.target), [FisherScore()])
    assert "There is no interval: to score a table of this size again and again would take minutes." in found["how"]


def test_a_class_that_few_rows_are_of_may_be_missing_from_a_table_drawn_again():
    y = np.zeros(60, dtype=int)
    y[0] = 1
    found = combined_of(open_source(IRIS.data[:60], y), EVERY)
    assert np.isfinite(found["intervals"]).all()


@pytest.mark.parametrize("n", [2, 3, 9])
def test_a_handful_of_rows_has_ranks_and_no_interval(n):
    found = combined_of(
        open_source(IRIS.data[50 - n // 2 : 50 + n - n // 2], IRIS.target[50 - n // 2 : 50 + n - n // 2]), EVERY
    )
    assert all(rank is not None for rank in found["ranks"])
    assert found["how"].endswith(f"There is no interval: {n} rows are too few to be drawn again.")


def test_what_models_warn_of_in_tables_drawn_again_is_told_once():
    source = open_source(IRIS.data, IRIS.target)
    with pytest.warns(TamizWarning) as said:
        combined_of(source, [LinearCoefficient(max_iter=3)])
    told = [str(one.message) for one in said]
    assert len(told) == 2
    assert told[1].startswith("In 60 of 60 tables of rows drawn again: LinearCoefficient: logistic regression did not")


def test_ctrl_c_while_rows_are_drawn_keeps_the_ranking(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("tamiz._study.describe_combined", interrupted)
    result = study(IRIS.data, IRIS.target, maps=[], assess=False).to_dict()
    assert result["ranking"]["combined"] is None
    assert result["ranking"]["scores"]["information_gain"]
    assert result["interrupted"].startswith("Interrupted in the step 'combined rank'")


def test_entropies_alone_are_counted_where_nothing_reads_the_target():
    found = combined_of(open_source(IRIS.data, IRIS.target), [Entropy(), Variance()])
    assert found["criteria"] == ["r0", "r1"]
    assert "not counted" not in found["how"]
