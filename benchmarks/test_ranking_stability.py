"""Stability of a ranking: 200 bootstrap samples by weights of the rows, against a ranking of the rows of each sample.

`seconds_per_sample` compares the two: the ranking of rows has fewer samples.
"""

import numpy as np
import pytest
from sklearn.datasets import make_classification

from tamiz import RankSelector
from tamiz.assessment import ranking_stability
from tamiz.criteria import ReliefF, SymmetricUncertainty

BOOTSTRAP = "ranking stability, symmetric uncertainty, 10,000 x 100"
HALVES = "ranking stability, ReliefF, 1,000 x 20, 50 halves"
N_REFITS = 20


def table(n_rows, n_columns):
    return make_classification(n_rows, n_columns, n_informative=10, random_state=0)


@pytest.mark.benchmark(group=BOOTSTRAP)
def test_tamiz_200_bootstrap_samples(benchmark):
    benchmark.extra_info.update(system="tamiz", n_samples=200)
    X, y = table(10_000, 100)
    options = {"relevance": SymmetricUncertainty(), "n_bootstrap": 200}
    found = benchmark.pedantic(ranking_stability, args=(X, y), kwargs=options, rounds=3, warmup_rounds=1)
    benchmark.extra_info["seconds_per_sample"] = benchmark.stats["min"] / 200
    assert found.spearman > 0.5


@pytest.mark.benchmark(group=BOOTSTRAP)
def test_refits_of_bootstrap_samples(benchmark):
    benchmark.extra_info.update(system="RankSelector on the rows of each sample", n_samples=N_REFITS)
    X, y = table(10_000, 100)

    def refit():
        rng = np.random.default_rng(0)
        draws = [np.sort(rng.integers(0, len(y), len(y))) for _ in range(N_REFITS)]
        return np.array([RankSelector(SymmetricUncertainty()).fit(X[rows], y[rows]).scores_ for rows in draws])

    scores = benchmark.pedantic(refit, rounds=3, warmup_rounds=1)
    benchmark.extra_info["seconds_per_sample"] = benchmark.stats["min"] / N_REFITS
    found = ranking_stability(X, y, SymmetricUncertainty(), n_bootstrap=N_REFITS)
    # More than 8,192 distinct values share bins in the samples of `ranking_stability`, so cut points of single columns may differ.
    np.testing.assert_allclose(found.score_errors.mean(), scores.std(axis=0, ddof=1).mean(), rtol=0.05)


@pytest.mark.benchmark(group=HALVES)
def test_tamiz_50_halves(benchmark):
    benchmark.extra_info.update(system="tamiz", n_samples=50)
    options = {"relevance": ReliefF(), "n_bootstrap": 50}
    benchmark.pedantic(ranking_stability, args=table(1_000, 20), kwargs=options, rounds=3, warmup_rounds=1)
