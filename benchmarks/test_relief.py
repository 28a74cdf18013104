"""ReliefF and MultiSURF against Weka, scikit-rebate and fast-select on the same tables in the same run.

ReliefF of n rows and p columns computes n^2 p absolute differences; if each pair of rows were compared once, half would suffice.
MultiSURF computes them twice: for the distances, and for the means over near rows. `gigadifferences` is n^2 p / 1e9 per second.
"""

from functools import cache

import numpy as np
import pytest

from tamiz import RankSelector, open_table
from tamiz.criteria import MultiSURF, ReliefF

from .data import Numbers
from .peers import needs_weka, record_weka, weka

RELIEFF = "ReliefF, numeric 10,000 x 100"
# Two interacting columns; single columns have no relation with the target.
INTERACTING = {0, 1}


@cache
def table(n_rows):
    X = np.random.default_rng(0).normal(size=(n_rows, 100))
    return Numbers(X, (X[:, 0] * X[:, 1] > 0).astype(np.int64))


def fit_tamiz(benchmark, relevance, n_rows, rounds):
    opened = open_table(*table(n_rows).frame())
    fitted = benchmark.pedantic(RankSelector(relevance).fit, args=(opened,), rounds=rounds, warmup_rounds=1)
    benchmark.extra_info.update(system="tamiz", gigadifferences=n_rows**2 * 100 / benchmark.stats.stats.min / 1e9)
    assert set(fitted.ranking_[:2].tolist()) == INTERACTING
    return fitted.scores_


def fit_scikit_rebate(benchmark, name, n_rows, **parameters):
    skrebate = pytest.importorskip("skrebate", reason="skrebate is not installed; pip install '.[bench]' brings it")
    benchmark.extra_info.update(system="scikit-rebate", form="n_jobs=-1")
    estimator = getattr(skrebate, name)(n_features_to_select=2, n_jobs=-1, **parameters)
    fitted = benchmark.pedantic(estimator.fit, args=(table(n_rows).X.copy(), table(n_rows).y), rounds=1)
    assert set(fitted.top_features_[:2].tolist()) == INTERACTING
    return fitted.feature_importances_


@cache
def weka_relief():
    return weka("relief", *table(10_000).weka_table(), repeats=1)


@pytest.mark.benchmark(group=RELIEFF)
def test_tamiz_relieff_10000_x_100(benchmark):
    fit_tamiz(benchmark, ReliefF(), 10_000, rounds=3)


@needs_weka
@pytest.mark.benchmark(group=RELIEFF)
def test_weka_relieff_10000_x_100_has_the_scores_of_tamiz(benchmark):
    record_weka(benchmark, benchmark.pedantic(weka_relief, rounds=1))
    ours = RankSelector(ReliefF()).fit(*table(10_000).frame()).scores_
    np.testing.assert_allclose(weka_relief()["scores"], ours, atol=1e-12)


@pytest.mark.benchmark(group=RELIEFF)
def test_scikit_rebate_relieff_10000_x_100(benchmark):
    fit_scikit_rebate(benchmark, "ReliefF", 10_000, n_neighbors=10)


def fit_fast_select(benchmark, name, n_rows, **parameters):
    fast_select = pytest.importorskip(
        "fast_select", reason="fast-select is not installed; pip install '.[bench]' brings it"
    )
    benchmark.extra_info.update(system="fast-select")
    estimator = getattr(fast_select, name)(n_features_to_select=2, backend="cpu", **parameters)
    fitted = benchmark.pedantic(estimator.fit, args=(table(n_rows).X, table(n_rows).y), rounds=3, warmup_rounds=1)
    assert set(fitted.top_features_[:2].tolist()) == INTERACTING


@pytest.mark.benchmark(group=RELIEFF)
def test_fast_select_relieff_10000_x_100(benchmark):
    fit_fast_select(benchmark, "ReliefF", 10_000, n_neighbors=10)


@pytest.mark.parametrize("n_rows", [1_000, 2_000, 4_000])
def test_fast_select_multisurf(benchmark, n_rows):
    benchmark.group = f"MultiSURF, numeric {n_rows:,} x 100"
    fit_fast_select(benchmark, "MultiSURF", n_rows)


@pytest.mark.parametrize("n_rows", [1_000, 2_000, 4_000, 8_000])
def test_tamiz_multisurf(benchmark, n_rows):
    benchmark.group = f"MultiSURF, numeric {n_rows:,} x 100"
    fit_tamiz(benchmark, MultiSURF(), n_rows, rounds=3)


@pytest.mark.parametrize("n_rows", [1_000, 2_000, 4_000])
def test_scikit_rebate_multisurf_has_the_scores_of_tamiz(benchmark, n_rows):
    benchmark.group = f"MultiSURF, numeric {n_rows:,} x 100"
    theirs = fit_scikit_rebate(benchmark, "MultiSURF", n_rows)
    ours = RankSelector(MultiSURF()).fit(*table(n_rows).frame()).scores_
    np.testing.assert_allclose(theirs, ours, atol=1e-12)
