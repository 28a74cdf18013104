"""Tests of independence of every column, against scikit-learn and scipy on the same table in the same run."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.feature_selection import chi2, f_classif, f_regression
from sklearn.preprocessing import OneHotEncoder

from tamiz import RankSelector, open_table
from tamiz.criteria import IndependenceTest

from .data import categorical, numeric

NUMERIC = "one-way ANOVA 100,000 x 100"
RANKS = "Kruskal-Wallis 100,000 x 100"
CORRELATION = "Pearson's correlation 100,000 x 100"
CATEGORICAL = "chi-squared 100,000 x 100"
TEXT = "chi-squared of text 100,000 x 100"


@cache
def numbers():
    return numeric(100_000, 100, n_informative=30)


@cache
def codes():
    return categorical(100_000, 100, n_informative=10)


@cache
def number_frame():
    return numbers().frame()[0], numbers().y


@cache
def response():
    return numbers().X[:, 0] + np.random.default_rng(0).normal(size=len(numbers().X))


@cache
def text_frame():
    words = np.array([f"v{code}" for code in range(5)], dtype=object)
    frame = pd.DataFrame({f"c{j}": words[column] for j, column in enumerate(codes().X.T)}, dtype="str")
    return frame, codes().frame()[1]


def encode_and_test(frame, y):
    """What a user of scikit-learn does with a data frame of categories."""
    return chi2(OneHotEncoder().fit_transform(frame), y)


def timed_fit(benchmark, relevance, *data):
    benchmark.extra_info["system"] = "tamiz"
    return benchmark.pedantic(RankSelector(relevance).fit, args=data, rounds=5, warmup_rounds=1)


@pytest.mark.benchmark(group=NUMERIC)
@pytest.mark.parametrize("form", ["arrays", "data frame", "open table"])
def test_tamiz_anova(benchmark, form):
    benchmark.extra_info["form"] = form
    X, y = numbers().X, numbers().y
    data = {"arrays": (X, y), "data frame": number_frame(), "open table": (open_table(X, y),)}[form]
    fitted = timed_fit(benchmark, IndependenceTest(), *data)
    np.testing.assert_allclose(fitted.statistics_, f_classif(X, y)[0], rtol=1e-6)


@pytest.mark.benchmark(group=NUMERIC)
@pytest.mark.parametrize("form", ["arrays", "data frame"])
def test_scikit_learn_f_classif(benchmark, form):
    benchmark.extra_info.update(system="scikit-learn f_classif", form=form)
    data = (numbers().X, numbers().y) if form == "arrays" else number_frame()
    benchmark.pedantic(f_classif, args=data, rounds=5, warmup_rounds=1)


@pytest.mark.benchmark(group=CORRELATION)
def test_tamiz_correlation(benchmark):
    benchmark.extra_info["form"] = "arrays"
    fitted = timed_fit(benchmark, IndependenceTest(), numbers().X, response())
    np.testing.assert_allclose(fitted.statistics_, f_regression(numbers().X, response())[0], rtol=1e-6)


@pytest.mark.benchmark(group=CORRELATION)
def test_scikit_learn_f_regression(benchmark):
    benchmark.extra_info["system"] = "scikit-learn f_regression"
    benchmark.pedantic(f_regression, args=(numbers().X, response()), rounds=5, warmup_rounds=1)


@pytest.mark.benchmark(group=RANKS)
def test_tamiz_kruskal_wallis(benchmark):
    benchmark.extra_info["form"] = "open table"
    X, y = numbers().X, numbers().y
    fitted = timed_fit(benchmark, IndependenceTest(test="rank"), open_table(X, y))
    expected = [stats.kruskal(*(X[y == c, j] for c in np.unique(y))).statistic for j in range(3)]
    np.testing.assert_allclose(fitted.statistics_[:3], expected, rtol=1e-9)


@pytest.mark.benchmark(group=RANKS)
def test_scipy_kruskal(benchmark):
    benchmark.extra_info["system"] = "scipy kruskal"
    classes = [numbers().X[numbers().y == c] for c in np.unique(numbers().y)]
    benchmark.pedantic(stats.kruskal, args=classes, rounds=2)


@pytest.mark.benchmark(group=CATEGORICAL)
@pytest.mark.parametrize("form", ["data frame", "open table"])
def test_tamiz_chi_squared(benchmark, form):
    benchmark.extra_info["form"] = form
    frame, y = codes().frame()
    fitted = timed_fit(
        benchmark, IndependenceTest(), *((frame, y) if form == "data frame" else (open_table(frame, y),))
    )
    table = np.array([[np.sum((codes().X[:, 0] == a) & (codes().y == b)) for b in np.unique(codes().y)]
                      for a in np.unique(codes().X[:, 0])])  # fmt: skip
    assert fitted.statistics_[0] == pytest.approx(stats.chi2_contingency(table, correction=False).statistic)


@pytest.mark.benchmark(group=CATEGORICAL)
def test_scikit_learn_chi2_of_indicators(benchmark):
    # chi2 has one statistic for each indicator; encoding the categories is not part of its time.
    benchmark.extra_info["system"] = "scikit-learn chi2 of sparse indicators"
    indicators = OneHotEncoder().fit_transform(codes().X)
    benchmark.pedantic(chi2, args=(indicators, codes().y), rounds=5, warmup_rounds=1)


@pytest.mark.benchmark(group=CATEGORICAL)
def test_scikit_learn_chi2_of_a_data_frame(benchmark):
    benchmark.extra_info["system"] = "scikit-learn OneHotEncoder and chi2 of a data frame"
    benchmark.pedantic(encode_and_test, args=codes().frame(), rounds=1)


@pytest.mark.benchmark(group=TEXT)
def test_tamiz_chi_squared_of_text(benchmark):
    benchmark.extra_info["form"] = "data frame"
    fitted = timed_fit(benchmark, IndependenceTest(), *text_frame())
    expected = RankSelector(IndependenceTest()).fit(*codes().frame())
    np.testing.assert_allclose(fitted.statistics_, expected.statistics_)


@pytest.mark.benchmark(group=TEXT)
def test_scikit_learn_chi2_of_text(benchmark):
    benchmark.extra_info["system"] = "scikit-learn OneHotEncoder and chi2 of a data frame"
    benchmark.pedantic(encode_and_test, args=text_frame(), rounds=1)
