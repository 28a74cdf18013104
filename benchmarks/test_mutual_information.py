"""Mutual information of every column by nearest neighbours, against scikit-learn on the same table in the same run."""

from functools import cache

import numpy as np
import pytest
from sklearn.feature_selection import mutual_info_classif, mutual_info_regression

from tamiz import RankSelector, open_table
from tamiz.criteria import MutualInformation

CLASSES = "mutual information, numeric columns and two classes 100,000 x 100"
NUMBERS = "mutual information, numeric columns and target 100,000 x 10"


@cache
def table():
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 2, 100_000)
    columns = rng.normal(size=(100_000, 100)) + classes[:, None] * np.linspace(0, 2, 100)
    return columns, classes, columns[:, 0] + rng.normal(size=100_000)


# The noise that scikit-learn adds exchanges a few neighbours among 100,000 rows.
_NOISE = 1e-4


def timed_fit(benchmark, rounds, *data):
    benchmark.extra_info["system"] = "tamiz"
    selector = RankSelector(MutualInformation())
    return benchmark.pedantic(selector.fit, args=data, rounds=rounds, warmup_rounds=1).scores_


@pytest.mark.benchmark(group=CLASSES)
def test_tamiz_from_an_array_with_classes_100000_x_100(benchmark):
    benchmark.extra_info["form"] = "array"
    X, y, _ = table()
    timed_fit(benchmark, 3, X, y)


@pytest.mark.benchmark(group=CLASSES)
def test_tamiz_from_an_open_table_with_classes_100000_x_100(benchmark):
    benchmark.extra_info["form"] = "open table"
    X, y, _ = table()
    timed_fit(benchmark, 3, open_table(X, y))


@pytest.mark.benchmark(group=CLASSES)
@pytest.mark.parametrize("n_jobs", [1, -1])
def test_scikit_learn_with_classes_100000_x_100(benchmark, n_jobs):
    benchmark.extra_info.update(system="scikit-learn mutual_info_classif", form=f"n_jobs={n_jobs}")
    X, y, _ = table()
    options = {"n_jobs": n_jobs, "random_state": 0}
    theirs = benchmark.pedantic(mutual_info_classif, args=(X, y), kwargs=options, rounds=1)
    ours = RankSelector(MutualInformation()).fit(X, y).scores_
    np.testing.assert_allclose(ours, theirs / np.log(2), atol=_NOISE)


@pytest.mark.benchmark(group=NUMBERS)
def test_tamiz_with_a_numeric_target_100000_x_10(benchmark):
    benchmark.extra_info["form"] = "array"
    X, _, y = table()
    timed_fit(benchmark, 3, X[:, :10], y)


@pytest.mark.benchmark(group=NUMBERS)
@pytest.mark.parametrize("n_jobs", [1, -1])
def test_scikit_learn_with_a_numeric_target_100000_x_10(benchmark, n_jobs):
    benchmark.extra_info.update(system="scikit-learn mutual_info_regression", form=f"n_jobs={n_jobs}")
    X, _, y = table()
    options = {"n_jobs": n_jobs, "random_state": 0}
    theirs = benchmark.pedantic(mutual_info_regression, args=(X[:, :10], y), kwargs=options, rounds=1)
    ours = RankSelector(MutualInformation()).fit(X[:, :10], y).scores_
    np.testing.assert_allclose(ours, theirs / np.log(2), atol=_NOISE)
