"""Information gain of every column, against scikit-learn and Weka on the same table in the same run."""

from functools import cache

import numpy as np
import pytest
from sklearn.feature_selection import mutual_info_classif

from tamiz import RankSelector, open_table
from tamiz.criteria import InformationGain

from .data import categorical, numeric
from .peers import needs_weka, record_weka, weka

CATEGORICAL = "information gain, categorical 100,000 x 100"
NUMERIC = "information gain, numeric by MDL 100,000 x 100"


@cache
def codes():
    return categorical(100_000, 100, n_informative=10)


@cache
def numbers():
    return numeric(100_000, 100, n_informative=30)


@cache
def gains_in_bits():
    return mutual_info_classif(codes().X, codes().y, discrete_features=True) / np.log(2)


def timed_fit(benchmark, rounds, *data):
    benchmark.extra_info["system"] = "tamiz"
    selector = RankSelector(InformationGain())
    return benchmark.pedantic(selector.fit, args=data, rounds=rounds, warmup_rounds=1).scores_


@pytest.mark.benchmark(group=CATEGORICAL)
def test_tamiz_from_a_data_frame_categorical_100000_x_100(benchmark):
    benchmark.extra_info["form"] = "data frame"
    scores = timed_fit(benchmark, 5, *codes().frame())
    np.testing.assert_allclose(scores, gains_in_bits(), atol=1e-10)


@pytest.mark.benchmark(group=CATEGORICAL)
def test_tamiz_from_an_open_table_categorical_100000_x_100(benchmark):
    benchmark.extra_info["form"] = "open table"
    scores = timed_fit(benchmark, 10, open_table(*codes().frame()))
    np.testing.assert_allclose(scores, gains_in_bits(), atol=1e-10)


@pytest.mark.benchmark(group=CATEGORICAL)
@pytest.mark.parametrize("n_jobs", [1, -1])
def test_scikit_learn_categorical_100000_x_100(benchmark, n_jobs):
    # Its fastest form: one-byte codes, column by column; 64-bit labels alone make it four times slower.
    benchmark.extra_info.update(system="scikit-learn mutual_info_classif", form=f"uint8 codes, n_jobs={n_jobs}")
    X, y = np.asfortranarray(codes().X), codes().y.astype(np.uint8)
    options = {"discrete_features": True, "n_jobs": n_jobs}
    benchmark.pedantic(mutual_info_classif, args=(X, y), kwargs=options, rounds=5, warmup_rounds=1)


@needs_weka
@pytest.mark.benchmark(group=CATEGORICAL)
def test_weka_categorical_100000_x_100(benchmark):
    result = benchmark.pedantic(weka, args=("infogain", *codes().weka_table()), kwargs={"repeats": 8}, rounds=1)
    record_weka(benchmark, result)
    np.testing.assert_allclose(result["scores"], gains_in_bits(), atol=1e-10)


@cache
def weka_numeric():
    return weka("infogain", *numbers().weka_table(), repeats=3)


@pytest.mark.benchmark(group=NUMERIC)
def test_tamiz_from_a_data_frame_numeric_100000_x_100(benchmark):
    benchmark.extra_info["form"] = "data frame"
    timed_fit(benchmark, 3, *numbers().frame())


@needs_weka
@pytest.mark.benchmark(group=NUMERIC)
def test_weka_numeric_100000_x_100(benchmark):
    record_weka(benchmark, benchmark.pedantic(weka_numeric, rounds=1))


@needs_weka
@pytest.mark.benchmark(group=NUMERIC)
def test_tamiz_from_an_open_table_numeric_100000_x_100_scores_as_weka(benchmark):
    benchmark.extra_info["form"] = "open table"
    scores = timed_fit(benchmark, 3, open_table(*numbers().frame()))
    np.testing.assert_allclose(scores, weka_numeric()["scores"], atol=1e-9)
