"""Locally linear embedding beside scikit-learn's: time, memory, and the error that both minimise."""

from functools import partial

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.datasets import make_swiss_roll

from . import graph_data, processes
from .graph_data import needs_digits

timed = partial(processes.timed, work="large_maps_work.py", patience=900)
SYSTEMS = ("tamiz", "scikit-learn")


@pytest.mark.benchmark(group="LLE of a swiss roll of 20,000 rows, 15 neighbours")
@pytest.mark.parametrize("method", ["standard", "modified", "hessian", "ltsa"])
@pytest.mark.parametrize("system", SYSTEMS)
def test_lle_of_a_roll(benchmark, tmp_path, system, method):
    X, along = make_swiss_roll(20_000, random_state=0)
    found = timed(benchmark, tmp_path, system=f"{system} LLE {method}", repeats=3, X=X)
    record_quality(benchmark, found, along)


@pytest.mark.benchmark(group="LLE of a swiss roll of 50,000 rows, 15 neighbours")
@pytest.mark.parametrize("method", ["hessian", "ltsa"])
@pytest.mark.parametrize("system", SYSTEMS)
def test_lle_of_a_long_roll(benchmark, tmp_path, system, method):
    X, along = make_swiss_roll(50_000, random_state=0)
    found = timed(benchmark, tmp_path, system=f"{system} LLE {method}", X=X)
    record_quality(benchmark, found, along)


# Neighbours in 50 columns: the factor is nearly dense.
@needs_digits
@pytest.mark.benchmark(group="LLE of 5,000 digits in 50 columns, 15 neighbours")
@pytest.mark.parametrize("system", SYSTEMS)
def test_lle_of_digits(benchmark, tmp_path, system):
    X = graph_data.digits_in_50()[:5000]
    found = timed(benchmark, tmp_path, system=f"{system} LLE standard", repeats=2, X=X)
    record_quality(benchmark, found)


def record_quality(benchmark, found, along=None):
    if found is None:
        return
    benchmark.extra_info["error"] = float(found["error"])
    if along is not None:
        ranks = np.abs(spearmanr(np.column_stack([found["embedding"], along])).statistic)
        benchmark.extra_info["rank_correlation"] = float(ranks[:2, 2].max())
