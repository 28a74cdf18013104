"""Maps of more rows than a matrix of pairs can hold.

The yardstick is the search by all pairs on a part of the rows. Every system runs in a process of its own,
`large_maps_work.py`, which brings its own seconds and memory.
"""

from functools import partial

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from . import graph_data, processes
from .graph_data import needs_digits

timed = partial(processes.timed, work="large_maps_work.py", patience=600)


def stress(X, embedding):
    """The stress at the best scale over all pairs."""
    delta, d = pdist(X), pdist(embedding)
    return float(np.sqrt(1 - (delta @ d) ** 2 / (delta @ delta) / (d @ d)))


@needs_digits
@pytest.mark.benchmark(group="metric MDS of 70,000 digits in 50 columns, stress over 5,000 of them")
@pytest.mark.parametrize("system", ["tamiz StochasticMDS", "tamiz LandmarkMDS"])
def test_digits(benchmark, tmp_path, system):
    X = graph_data.digits_in_50()
    some = np.sort(np.random.default_rng(1).choice(len(X), 5000, replace=False))
    found = timed(benchmark, tmp_path, system=system, repeats=3, X=X)
    benchmark.extra_info["stress_of_5000"] = reached = stress(X[some], found["embedding"][some])
    if system == "tamiz StochasticMDS":
        from tamiz.reduction import MDS

        benchmark.extra_info["stress_by_all_pairs"] = whole = MDS(2).fit(X[some]).stress_
        assert reached < 1.02 * whole
        assert benchmark.extra_info["seconds"] < 120


@pytest.mark.benchmark(group="metric MDS of 1,000,000 x 20")
@pytest.mark.parametrize("system", ["tamiz StochasticMDS", "tamiz LandmarkMDS"])
def test_a_million_rows(benchmark, tmp_path, system):
    timed(benchmark, tmp_path, system=system, repeats=1, n_rows=1_000_000, n_columns=20)
    assert benchmark.extra_info["peak_gb"] < 2.0
