"""Principal components of tall tables of float32 against scikit-learn's solvers."""

from functools import partial

import numpy as np
import pytest

from . import graph_data, processes
from .graph_data import needs_digits

timed = partial(processes.timed, work="pca_work.py", repeats=4)

METHODS = pytest.mark.parametrize("method", ["fit", "fit_transform"])
SYSTEMS = ["tamiz", "scikit-learn covariance", "scikit-learn randomized", "scikit-learn auto"]


@needs_digits
@METHODS
@pytest.mark.parametrize("system", SYSTEMS)
def test_digits(benchmark, tmp_path, system, method):
    benchmark.group = f"PCA, {method} of 70,000 x 784 of float32, 50 components"
    X = graph_data.digits().astype(np.float32)
    found = timed(benchmark, tmp_path, system=system, method=method, X=X)
    if system == "tamiz":
        exact = np.linalg.eigvalsh(np.cov(X.T.astype(np.float64)))[: -len(found["variances"]) - 1 : -1]
        assert np.abs(found["variances"] / exact - 1).max() < 1e-5


@METHODS
@pytest.mark.parametrize("system", SYSTEMS)
def test_a_million_rows(benchmark, tmp_path, system, method):
    benchmark.group = f"PCA, {method} of 1,000,000 x 100 of float32, 50 components"
    timed(benchmark, tmp_path, system=system, method=method, rows=1_000_000, columns=100)
