"""ICA beside scikit-learn's FastICA and picard: time, memory, and the log-likelihood that each reaches."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from . import processes


def mixture() -> np.ndarray:
    """Return 20,000 rows of 50 mixed sources, half of them Laplacian and half uniform."""
    rng = np.random.default_rng(0)
    sources = np.column_stack([rng.laplace(size=(20_000, 25)), rng.uniform(-1, 1, size=(20_000, 25))])
    return sources @ rng.normal(size=(50, 50))


TABLES = {"digits, 20 components": (lambda: load_digits().data, 20), "a mixture of 20,000 x 50": (mixture, 50)}


def log_likelihood(sources: np.ndarray) -> float:
    """Return the mean log-likelihood of a row, as `ICA.log_likelihood_` defines it."""
    Y = (sources - sources.mean(axis=0)) / sources.std(axis=0)
    log_cosh, tanh = (np.logaddexp(Y, -Y) - np.log(2)).mean(axis=0), np.tanh(Y)
    super_gaussian = (1 - tanh**2).mean(axis=0) >= (tanh * Y).mean(axis=0)
    return np.where(super_gaussian, -np.log(np.pi) - log_cosh, log_cosh - 1 - 0.5 * np.log(2 * np.pi)).sum()


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("system", ["tamiz", "scikit-learn", "picard"])
def test_independent_components(benchmark, tmp_path, system, table):
    make, k = TABLES[table]
    benchmark.group = f"ICA of {table}"
    found = processes.timed(benchmark, tmp_path, "ica_work.py", system, repeats=5, X=make(), k=k)
    benchmark.extra_info["log_likelihood"] = log_likelihood(found["sources"])
    assert np.isfinite(found["sources"]).all()
