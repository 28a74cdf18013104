"""Selections with error control: Boruta against BorutaPy with as many trees, and stability selection against refits of halves."""

from functools import cache

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from tamiz import RankSelector
from tamiz.criteria import InformationGain, TreeImportance
from tamiz.error_control import BorutaSelector, StabilitySelector

BORUTA = "Boruta, 2,000 x 50, 30 trees per iteration"
MADELON = "Boruta, 2,000 x 500 with interactions, 30 trees per iteration"
STABILITY = "stability selection, 2,000 x 100, 100 halves"
N_TREES = 30


@cache
def redundant():
    return make_classification(2000, 50, n_informative=6, n_redundant=6, shuffle=False, random_state=0)


@cache
def interactions():
    """Return a table of the kind of Madelon: classes at the corners of a cube, combinations of its axes, and noise."""
    options = {"n_informative": 5, "n_redundant": 15, "n_clusters_per_class": 16, "shuffle": False, "random_state": 0}
    return make_classification(2000, 500, class_sep=2.0, **options)


def finds_all_relevant(support, n_relevant):
    assert support[:n_relevant].all()
    assert support[n_relevant:].sum() <= 0.05 * len(support)


def time_tamiz(benchmark, data, n_relevant, max_depth, max_iter):
    benchmark.extra_info["system"] = "tamiz"
    X, y = data
    # Rounds of three trees.
    trees = TreeImportance(max_depth=max_depth, n_rounds=N_TREES // 3)
    selector = BorutaSelector(trees, max_iter=max_iter, rough_fix=True, random_state=0)
    support = benchmark.pedantic(selector.fit, args=(X, y), rounds=3, warmup_rounds=1).support_
    finds_all_relevant(support, n_relevant)


def time_borutapy(benchmark, data, n_relevant, max_depth, max_iter):
    boruta = pytest.importorskip("boruta")
    benchmark.extra_info["system"] = "BorutaPy"
    X, y = data
    forest = RandomForestClassifier(max_depth=max_depth, n_jobs=-1, random_state=0)
    selector = boruta.BorutaPy(forest, n_estimators=N_TREES, max_iter=max_iter, two_step=False, random_state=0)
    found = benchmark.pedantic(selector.fit, args=(X, y), rounds=1)
    finds_all_relevant(found.support_ | found.support_weak_, n_relevant)


@pytest.mark.benchmark(group=BORUTA)
def test_tamiz_boruta_2000_x_50(benchmark):
    time_tamiz(benchmark, redundant(), 12, 5, 100)


@pytest.mark.benchmark(group=BORUTA)
def test_borutapy_2000_x_50(benchmark):
    time_borutapy(benchmark, redundant(), 12, 5, 100)


@pytest.mark.benchmark(group=MADELON)
def test_tamiz_boruta_interactions(benchmark):
    time_tamiz(benchmark, interactions(), 20, 7, 30)


@pytest.mark.benchmark(group=MADELON)
def test_borutapy_interactions(benchmark):
    time_borutapy(benchmark, interactions(), 20, 7, 30)


@cache
def many_columns():
    return make_classification(2000, 100, n_informative=8, n_redundant=0, shuffle=False, random_state=0)


@pytest.mark.benchmark(group=STABILITY)
def test_tamiz_stability_selection(benchmark):
    benchmark.extra_info["system"] = "tamiz, weighted halves"
    selector = StabilitySelector(InformationGain(), n_features=8, random_state=0)
    assert benchmark.pedantic(selector.fit, args=many_columns(), rounds=3, warmup_rounds=1).support_.any()


@pytest.mark.benchmark(group=STABILITY)
@pytest.mark.filterwarnings("ignore:.* have the same score:tamiz.exceptions.TamizWarning")
def test_a_loop_over_halves(benchmark):
    benchmark.extra_info["system"] = "a fit to each half"
    X, y = many_columns()

    def select():
        rng = np.random.default_rng(0)
        counts = np.zeros(X.shape[1])
        for _ in range(50):
            for rows in np.array_split(rng.permutation(len(y)), 2):
                counts += RankSelector(InformationGain(), n_features=8).fit(X[rows], y[rows]).get_support()
        return counts / 100 >= 0.75

    assert benchmark.pedantic(select, rounds=1, warmup_rounds=1).any()
