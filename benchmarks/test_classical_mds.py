"""Classical scaling from 10,000 x 10,000 distances against scikit-learn's whole decomposition and scikit-bio's randomised one.

Every system runs in a process of its own, `mds_work.py`, which brings its own seconds and memory. scikit-bio checks the distances
when they are wrapped, which counts, as ours are checked too.
"""

from functools import partial

import numpy as np
import pytest

from . import graph_data, processes
from .graph_data import needs_digits

N = 10_000

# scikit-learn's takes minutes, and is run once.
timed = partial(processes.timed, work="mds_work.py", patience=900)


@needs_digits
@pytest.mark.benchmark(group="classical MDS, 10,000 x 10,000 Euclidean distances, 2 coordinates")
@pytest.mark.parametrize(("system", "repeats"), [("tamiz", 5), ("scikit-bio fsvd", 5), ("scikit-learn", 1)])
def test_euclidean_distances(benchmark, tmp_path, system, repeats):
    X = graph_data.digits_in_50()[:N]
    found = timed(benchmark, tmp_path, system=system, repeats=repeats, X=X, metric="euclidean")
    # The rows' own cross products have the same eigenvalues.
    values = np.linalg.eigvalsh(np.cov(X.T) * (N - 1))[:-3:-1]
    error = float(np.abs(found["values"][:2] / values - 1).max())
    benchmark.extra_info["eigenvalue_error"] = error
    if system == "tamiz":
        assert error < 1e-9
        assert benchmark.extra_info["beside_matrix"] < 0.2


@needs_digits
@pytest.mark.benchmark(group="classical MDS, 10,000 x 10,000 city-block distances, 2 coordinates")
@pytest.mark.parametrize("system", ["tamiz", "scikit-bio fsvd"])
def test_distances_that_are_not_euclidean(benchmark, tmp_path, system):
    timed(benchmark, tmp_path, system=system, repeats=5, X=graph_data.digits_in_50()[:N], metric="cityblock")


@needs_digits
@pytest.mark.benchmark(group="classical MDS with a constant, 10,000 x 10,000 city-block distances, 2 coordinates")
@pytest.mark.parametrize("system", ["tamiz lingoes", "tamiz cailliez"])
def test_constants(benchmark, tmp_path, system):
    timed(benchmark, tmp_path, system=system, repeats=2, X=graph_data.digits_in_50()[:N], metric="cityblock")
    assert benchmark.extra_info["beside_matrix"] < 1.2
