"""The mean rank of a study and its interval: against a plain loop, and their properties."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from tamiz import open_table, study
from tamiz._study.ranking import rank_columns
from tamiz.assessment.mean_ranks import RankingCriterion, combine_ranks
from tamiz.assessment.resampling import average_ranks
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
from tamiz.runtime import parallel
from tamiz.runtime.codec import to_json

from .reference.mean_rank import intervals, mean_ranks

IRIS = load_iris(as_frame=True)
COUNTING = [InformationGain(), SymmetricUncertainty(), FisherScore()]
EVERY = [*COUNTING, TreeImportance(), LinearCoefficient()]


@pytest.fixture(autouse=True)
def _as_many_samples_as_the_laws_need(monkeypatch):
    monkeypatch.setattr("tamiz.assessment.mean_ranks.N_BOOTSTRAP", 60)


def combined_of(table, relevances, seed=3, n_jobs=1):
    ranked = [RankingCriterion(f"r{k}", type(one).__name__, one, table) for k, one in enumerate(relevances)]
    with parallel.thread_session(n_jobs):
        return to_json(combine_ranks(table, ranked, rank_columns(table, ranked).scores, seed))


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


def test_intervals_of_criteria_that_count_are_those_of_tables_of_repeated_rows(mixed):
    found = combined_of(open_table(mixed, "y"), COUNTING)
    kinds = {"flag": "boolean", "level": "categorical", "y": "categorical"}
    np.testing.assert_allclose(found["intervals"], intervals(mixed, "y", COUNTING, 60, 3, kinds), rtol=1e-6)
    assert found["n_bootstrap"] == 60
    assert found["criteria"] == ["r0", "r1", "r2"]


@pytest.mark.filterwarnings("ignore:.*Criteria that fit a model")
@pytest.mark.slow
def test_intervals_of_models_are_close_to_those_of_tables_of_repeated_rows(mixed):
    models = [TreeImportance(), LinearCoefficient()]
    found = combined_of(open_table(mixed, "y"), models)
    kinds = {"flag": "boolean", "level": "categorical", "y": "categorical"}
    assert np.abs(np.array(found["intervals"]) - intervals(mixed, "y", models, 60, 3, kinds)).max() <= 0.5


def test_the_rank_is_the_mean_of_the_ranks_of_the_scores_shown():
    found = study(IRIS.data, IRIS.target, maps=[], assess=False).to_dict()["ranking"]
    scores = [np.array(found["scores"][name]) for name in found["mean_rank"]["criteria"]]
    np.testing.assert_allclose(found["mean_rank"]["ranks"], mean_ranks(scores), rtol=1e-12)


def test_equal_scores_share_the_mean_of_their_ranks_and_so_do_those_equal_up_to_rounding():
    assert average_ranks(np.array([0.5, 0.1, 0.5, 0.9, 0.1, 0.1])).tolist() == [2.5, 5, 2.5, 1, 5, 5]
    assert average_ranks(np.array([0.3, 0.1 + 0.2, 0.2])).tolist() == [1.5, 1.5, 3]
    assert average_ranks(np.zeros(3)).tolist() == [2, 2, 2]
    assert average_ranks(np.array([-1.0, 0.0])).tolist() == [2, 1]


def test_a_column_copied_has_the_same_rank_and_interval(mixed):
    twice = mixed.dropna(axis=1).assign(again=mixed["good"], level_again=mixed["level"])
    table = open_table(twice, "y")
    found = combined_of(table, EVERY)
    at = {name: j for j, name in enumerate(table.schema.names)}
    for one, other in (("good", "again"), ("level", "level_again")):
        assert found["ranks"][at[one]] == found["ranks"][at[other]]
        np.testing.assert_allclose(found["intervals"][at[one]], found["intervals"][at[other]])


def test_a_much_better_column_is_first_in_every_table(mixed):
    rng = np.random.default_rng(1)
    noise = pd.DataFrame(rng.normal(size=(300, 6)))
    noise.columns = [*"abcdef"]
    y = rng.integers(0, 2, 300)
    table = open_table(noise.assign(best=y + 0.01 * rng.normal(size=300)), y)
    found = combined_of(table, EVERY)
    assert found["ranks"][-1] == 1
    assert found["intervals"][-1] == [1, 1]
    # Those that tell nothing lie anywhere below.
    assert all(high - low > 1 for low, high in found["intervals"][:-1])


def test_the_number_of_threads_changes_nothing_and_the_seed_draws_the_rows():
    table = open_table(*load_breast_cancer(return_X_y=True, as_frame=True))
    one, two = (combined_of(table, EVERY[2:], n_jobs=n) for n in (1, 2))
    assert one == two
    assert combined_of(table, EVERY[2:], seed=4)["intervals"] != one["intervals"]


def test_with_a_target_only_criteria_that_read_it_count_and_without_one_all():
    ranked = study(IRIS.data, IRIS.target, maps=[], assess=False).to_dict()["ranking"]
    assert [one["id"] for one in ranked["criteria"]][3:] == [
        "fisher_score", "laplacian_score", "entropy", "variance", "tree_importance", "linear_coefficient",
    ]  # fmt: skip
    found = ranked["mean_rank"]
    assert not {"laplacian_score", "entropy", "variance"} & set(found["criteria"])
    assert "Laplacian score, Entropy and Variance do not use the target and are not counted." in found["method"]
    found = study(IRIS.data, maps=[]).to_dict()["ranking"]["mean_rank"]
    assert found["criteria"] == ["laplacian_score", "entropy", "variance"]
    assert "Laplacian score cannot be computed from a sample that contains a row twice: its ranks" in found["method"]


def test_a_criterion_with_equal_scores_for_all_columns_is_not_counted():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    frame = pd.DataFrame(
        {
            name: np.where(rng.random(200) < 0.3 + share * y, "t", None)
            for name, share in zip("abc", (0, 0.2, 0.5), strict=True)
        }
    )
    table = open_table(frame, y)
    # Of one value and gaps the Fisher score sees the value only.
    found = combined_of(table, [InformationGain(missing="category"), FisherScore()])
    assert found["criteria"] == ["r0"]
    assert "FisherScore scores all columns equally here and is not counted." in found["method"]
    assert found["ranks"] == [3, 2, 1]
    # Where all do so, there is one rank for all columns.
    found = combined_of(table, [FisherScore()])
    assert (found["criteria"], found["ranks"]) == (["r0"], [2, 2, 2])


def test_criteria_of_joined_or_tested_rows_alone_have_no_interval():
    table = open_table(IRIS.data, IRIS.target)
    found = combined_of(table, [PermutationImportance(cv=3)])
    assert found["intervals"] == [None] * 4
    assert found["n_bootstrap"] == 0
    assert found["method"].endswith(
        "There is no interval: PermutationImportance cannot be computed from a sample that contains a row twice."
    )
    # Beside one that is scored again, its ranks stay as they are.
    kept = combined_of(table, [PermutationImportance(cv=3), FisherScore()])
    assert None not in kept["intervals"]
    assert (
        "PermutationImportance cannot be computed from a sample that contains a row twice: its ranks" in kept["method"]
    )
    assert LaplacianScore().supports_bootstrap is PermutationImportance().supports_bootstrap is False


def test_a_column_that_takes_no_part_has_no_rank():
    frame = IRIS.data.assign(name=[f"row {i}" for i in range(150)], same=1.0)
    found = combined_of(open_table(frame, IRIS.target), [InformationGain(), Variance()])
    assert (found["ranks"][4], found["intervals"][4]) == (None, None)
    assert found["ranks"][5] == 5


def test_a_number_to_predict_is_ranked_too():
    table = open_table(*load_diabetes(return_X_y=True, as_frame=True))
    found = study(table, maps=[], assess=False).to_dict()["ranking"]["mean_rank"]
    assert found["criteria"][-2:] == ["tree_importance", "linear_coefficient"]
    assert all(low <= high for low, high in found["intervals"])


def test_rows_without_weight_are_not_drawn_and_weights_go_with_their_rows():
    weight = np.r_[np.zeros(50), np.ones(100)]
    table = open_table(IRIS.data, IRIS.target, weight=weight)
    part = open_table(IRIS.data[50:].reset_index(drop=True), IRIS.target[50:].reset_index(drop=True))
    relevances = [InformationGain(), FisherScore()]
    np.testing.assert_allclose(combined_of(table, relevances)["intervals"], combined_of(part, relevances)["intervals"])


def test_a_rare_class_may_be_missing_from_a_bootstrap_sample():
    y = np.zeros(60, dtype=int)
    y[0] = 1
    found = combined_of(open_table(IRIS.data[:60], y), EVERY)
    assert np.isfinite(found["intervals"]).all()


@pytest.mark.parametrize("n", [2, 3, 9])
def test_a_handful_of_rows_has_ranks_and_no_interval(n):
    found = combined_of(
        open_table(IRIS.data[50 - n // 2 : 50 + n - n // 2], IRIS.target[50 - n // 2 : 50 + n - n // 2]), EVERY
    )
    assert all(rank is not None for rank in found["ranks"])
    assert found["method"].endswith(f"There is no interval: {n} rows are too few for bootstrap samples.")


def test_control_c_during_the_bootstrap_keeps_the_ranking(monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("tamiz._study.run.combine_ranks", interrupted)
    result = study(IRIS.data, IRIS.target, maps=[], assess=False).to_dict()
    assert result["ranking"]["mean_rank"] is None
    assert result["ranking"]["scores"]["information_gain"]
    assert result["interruption"].startswith("Interrupted in the step 'mean rank'")


def test_entropies_alone_are_counted_where_nothing_reads_the_target():
    found = combined_of(open_table(IRIS.data, IRIS.target), [Entropy(), Variance()])
    assert found["criteria"] == ["r0", "r1"]
    assert "not counted" not in found["method"]
