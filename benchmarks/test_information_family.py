"""mRMR and JMI by forward selection, against mrmr-selection and ITMO_FS on the same table in the same run.

Work of a forward selection of k of p columns: k p pairs, or n k p = 2.5e9 increments of a counter for 100,000 x 500 and 50
columns. Bit sets of five values need 16 / 64 of it as population counts of words, which are vectorised. JMI of the large
table does not end in a peer: scikit-feature needs 0.2 s for each pair of columns, more than an hour (its JMI also ignores the
weights 1 / |S|), and ITMO_FS 0.1 s for a pair of columns of only 2,000 rows.
"""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics.cluster import expected_mutual_information

from tamiz import SubsetSelector, open_table
from tamiz.criteria import JMI, MRMR
from tamiz.criteria.information import ExpectedInformation
from tamiz.search import Forward

from .data import categorical

MRMR_LARGE = "mRMR, 50 of 100,000 x 500 of 5 values"
JMI_LARGE = "JMI, 50 of 100,000 x 500 of 5 values"
JMI_SMALL = "JMI, 10 of 2,000 x 100 of 5 values"
EXPECTED = "Expected information of 20 columns of 100 values and 10 classes in 10,000 rows"


@cache
def large():
    return categorical(100_000, 500, n_informative=40, n_values=5)


@cache
def small():
    return categorical(2_000, 100, n_informative=20, n_values=5)


@cache
def numbers():
    return pd.DataFrame(large().X.astype(np.float64), columns=[f"c{j}" for j in range(500)]), pd.Series(large().y)


def timed_fit(benchmark, merit, k, form, *data):
    benchmark.extra_info.update(system="tamiz", form=form)
    selector = SubsetSelector(merit, Forward(), n_features=k)
    fitted = benchmark.pedantic(selector.fit, args=data, rounds=3, warmup_rounds=1)
    benchmark.extra_info["n_selected"] = int(fitted.support_.sum())
    return fitted


@pytest.mark.benchmark(group=MRMR_LARGE)
@pytest.mark.parametrize("scheme", ["difference", "quotient"])
def test_tamiz_mrmr_of_codes(benchmark, scheme):
    timed_fit(benchmark, MRMR(scheme=scheme), 50, f"information, {scheme}", *large().frame())


@pytest.mark.benchmark(group=MRMR_LARGE)
def test_tamiz_mrmr_of_codes_from_an_open_table(benchmark):
    timed_fit(benchmark, MRMR(), 50, "information, difference, open table", open_table(*large().frame()))


# The test that times a peer precedes the one that compares its result, which is cached then.
@cache
def peer_columns():
    mrmr = pytest.importorskip("mrmr")
    return mrmr.mrmr_classif(*numbers(), K=50, show_progress=False)


@pytest.mark.benchmark(group=MRMR_LARGE)
def test_mrmr_selection(benchmark):
    benchmark.extra_info.update(system="mrmr-selection mrmr_classif", form="correlation, quotient, n_jobs=-1")
    benchmark.pedantic(peer_columns, rounds=1)


@pytest.mark.benchmark(group=MRMR_LARGE)
def test_tamiz_mrmr_of_numbers_selects_the_columns_of_mrmr_selection(benchmark):
    X, y = numbers()
    fitted = timed_fit(benchmark, MRMR("correlation", scheme="quotient"), 50, "correlation, quotient", X, y.astype(str))
    assert set(fitted.get_feature_names_out()) == set(peer_columns())


@pytest.mark.benchmark(group=JMI_LARGE)
def test_tamiz_jmi_of_codes(benchmark):
    timed_fit(benchmark, JMI(), 50, "data frame", *large().frame())


@pytest.mark.benchmark(group=JMI_LARGE)
def test_tamiz_jmi_of_codes_from_an_open_table(benchmark):
    timed_fit(benchmark, JMI(), 50, "open table", open_table(*large().frame()))


@cache
def itmo_columns():
    multivariate = pytest.importorskip("ITMO_FS.filters.multivariate")
    fitted = multivariate.MultivariateFilter("JMI", 10)
    fitted.fit(small().X.astype(np.int64), small().y)
    return sorted(map(int, fitted.selected_features))


@pytest.mark.benchmark(group=JMI_SMALL)
def test_itmo_fs(benchmark):
    benchmark.extra_info["system"] = "ITMO_FS MultivariateFilter('JMI')"
    benchmark.pedantic(itmo_columns, rounds=1)


@pytest.mark.benchmark(group=JMI_SMALL)
def test_tamiz_jmi_selects_the_columns_of_itmo_fs(benchmark):
    fitted = timed_fit(benchmark, JMI(), 10, "data frame", *small().frame())
    assert np.flatnonzero(fitted.support_).tolist() == itmo_columns()


@cache
def class_counts():
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 10, 10_000)
    return [
        np.histogram2d(rng.integers(0, 100, 10_000), classes, bins=(np.arange(101), np.arange(11)))[0]
        for _ in range(20)
    ]


def expected_relevances():
    return ExpectedInformation(np.vstack(class_counts()), np.arange(0, 2001, 100), conditional=False).relevances


def expected_by_scikit_learn():
    return np.array([expected_mutual_information(table.astype(np.int64), 10_000) for table in class_counts()]) / np.log(
        2
    )


@pytest.mark.benchmark(group=EXPECTED)
def test_tamiz_expected_information(benchmark):
    benchmark.extra_info["system"] = "tamiz"
    found = benchmark.pedantic(expected_relevances, rounds=3, warmup_rounds=1)
    np.testing.assert_allclose(found, expected_by_scikit_learn(), rtol=1e-7)


@pytest.mark.benchmark(group=EXPECTED)
def test_scikit_learn_expected_information(benchmark):
    benchmark.extra_info["system"] = "scikit-learn expected_mutual_information"
    benchmark.pedantic(expected_by_scikit_learn, rounds=3)
