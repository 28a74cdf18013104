"""RedundancyFilter against the tools that drop correlated and collinear columns, on the same table in the same run.

`DropCorrelatedFeatures` of feature_engine visits columns in their order, as "pearson" does: both keep the same columns. The usual
method for collinearity removes the column with the largest variance inflation factor until all are below 1 / (1 - R2). The factors
are those of statsmodels, which fits a regression for each, or the diagonal of the inverse of the correlation matrix. It may keep
other columns than "linear", and nearly as many: all factors of the kept columns are below the limit, with both.
"""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_limits

from tamiz import RedundancyFilter

TALL = "redundancy by correlation, 50,000 x 200"
WIDE = "redundancy by correlation, 1,000 x 2,000"
FEW = "redundancy by regression, 1,000 x 40"
MANY = "redundancy by regression, 2,000 x 400"
THRESHOLD = 0.95


@cache
def correlated(n_rows, n_columns):
    """A quarter of the columns are independent, and the others are noisy multiples of them with correlations of 0.9 to 1."""
    rng = np.random.default_rng(0)
    n_sources = n_columns // 4
    sources = rng.normal(size=(n_rows, n_sources))
    correlation = rng.uniform(0.9, 1.0, n_columns - n_sources)
    copies = sources[:, rng.integers(0, n_sources, n_columns - n_sources)] * correlation
    copies += rng.normal(size=copies.shape) * np.sqrt(1 - correlation**2)
    return pd.DataFrame(np.hstack([sources, copies])).rename(columns="c{:04d}".format)


@cache
def collinear(n_rows, n_columns):
    """Half of the columns are independent, and the others are sums of three of them with noise of 0.1 % of their variance."""
    rng = np.random.default_rng(0)
    sources = rng.normal(size=(n_rows, n_columns // 2))
    sums = [sources[:, rng.choice(n_columns // 2, 3, replace=False)].sum(axis=1) for _ in range(n_columns // 2)]
    noise = rng.normal(scale=np.sqrt(0.003), size=(n_rows, n_columns // 2))
    return pd.DataFrame(np.hstack([sources, np.column_stack(sums) + noise])).rename(columns="c{:04d}".format)


def fit_tamiz(benchmark, measure, table):
    selector = RedundancyFilter(measure, threshold=THRESHOLD)
    fitted = benchmark.pedantic(selector.fit, args=(table,), rounds=3, warmup_rounds=1)
    benchmark.extra_info.update(system="tamiz", n_selected=int(fitted.support_.sum()))
    return fitted.get_feature_names_out().tolist()


def fit_feature_engine(benchmark, table):
    selection = pytest.importorskip("feature_engine.selection")
    selector = selection.DropCorrelatedFeatures(threshold=THRESHOLD)
    fitted = benchmark.pedantic(selector.fit, args=(table,), rounds=2, warmup_rounds=0)
    kept = fitted.get_feature_names_out()
    benchmark.extra_info.update(system="feature_engine DropCorrelatedFeatures", n_selected=len(kept))
    return kept


@pytest.mark.parametrize(("group", "shape"), [(TALL, (50_000, 200)), (WIDE, (1_000, 2_000))])
def test_tamiz_pearson(benchmark, group, shape):
    benchmark.group = group
    kept = fit_tamiz(benchmark, "pearson", correlated(*shape))
    assert set(correlated(*shape).columns[: shape[1] // 4]) <= set(kept)


@pytest.mark.parametrize(("group", "shape"), [(TALL, (50_000, 200)), (WIDE, (1_000, 2_000))])
def test_feature_engine_keeps_the_columns_of_tamiz(benchmark, group, shape):
    benchmark.group = group
    kept = fit_feature_engine(benchmark, correlated(*shape))
    ours = RedundancyFilter("pearson", threshold=THRESHOLD).fit(correlated(*shape)).get_feature_names_out()
    assert kept == ours.tolist()


@pytest.mark.parametrize(("group", "shape"), [(FEW, (1_000, 40)), (MANY, (2_000, 400))])
def test_tamiz_linear(benchmark, group, shape):
    benchmark.group = group
    kept = fit_tamiz(benchmark, "linear", collinear(*shape))
    assert kept == collinear(*shape).columns[: shape[1] // 2].tolist()


@pytest.mark.benchmark(group=FEW)
def test_statsmodels_keeps_as_many_columns_as_tamiz(benchmark):
    inflation = pytest.importorskip("statsmodels.stats.outliers_influence").variance_inflation_factor
    table = collinear(1_000, 40).to_numpy()

    def factors(kept):
        values = np.column_stack([np.ones(len(table)), table[:, kept]])
        return [inflation(values, j + 1) for j in range(len(kept))]

    # Its regressions are too small for two threads.
    with threadpool_limits(1):
        kept = benchmark.pedantic(drop_by_inflation, args=(factors, 40), rounds=1)
    benchmark.extra_info.update(system="statsmodels variance_inflation_factor", n_selected=len(kept))
    assert len(kept) == pytest.approx(20, rel=0.02)


@pytest.mark.benchmark(group=MANY)
def test_inverse_correlations_keep_as_many_columns_as_tamiz(benchmark):
    table = collinear(2_000, 400).to_numpy()

    def drop_columns():
        correlations = np.corrcoef(table.T)
        return drop_by_inflation(lambda kept: np.linalg.inv(correlations[np.ix_(kept, kept)]).diagonal(), 400)

    kept = benchmark.pedantic(drop_columns, rounds=2, warmup_rounds=0)
    benchmark.extra_info.update(system="numpy, inverse correlations", n_selected=len(kept))
    assert len(kept) == pytest.approx(200, rel=0.02)


def drop_by_inflation(factors, n_columns):
    """Return the columns that remain after the one with the largest factor was removed until all are small."""
    kept = list(range(n_columns))
    while True:
        found = factors(kept)
        if max(found) < 1 / (1 - THRESHOLD):
            return kept
        kept.pop(int(np.argmax(found)))
