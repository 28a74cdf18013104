"""Isomap beside scikit-learn's: time, memory, and whether both maps are the same; landmarks for many rows."""

from functools import partial

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.datasets import make_swiss_roll
from sklearn.manifold import Isomap

from . import graph_data, processes
from .graph_data import needs_digits

timed = partial(processes.timed, work="large_maps_work.py", patience=600)


# The first of the times includes what is compiled or loaded.
@pytest.mark.benchmark(group="Isomap of a swiss roll of 5,000 rows, 10 neighbours")
@pytest.mark.parametrize("system", ["tamiz Isomap", "scikit-learn Isomap"])
def test_exact_isomap(benchmark, tmp_path, system):
    X, _ = make_swiss_roll(5_000, random_state=0)
    found = np.abs(timed(benchmark, tmp_path, system=system, repeats=5, X=X)["embedding"])
    if system == "tamiz Isomap":
        wanted = np.abs(Isomap(n_neighbors=10).fit(X).embedding_)
        benchmark.extra_info["largest_difference"] = difference = float(np.abs(found - wanted).max())
        assert difference < 1e-8 * wanted.max()


@pytest.mark.benchmark(group="Isomap of a swiss roll of 70,000 rows, 10 neighbours")
def test_landmarks_of_a_swiss_roll(benchmark, tmp_path):
    X, along = make_swiss_roll(70_000, random_state=0)
    found = timed(benchmark, tmp_path, system="tamiz Isomap", repeats=3, X=X)
    benchmark.extra_info["rank_correlation"] = reached = abs(spearmanr(found["embedding"][:, 0], along)[0])
    assert reached > 0.98
    assert benchmark.extra_info["seconds"] < 30
    assert benchmark.extra_info["peak_gb"] < 1.0


@needs_digits
@pytest.mark.benchmark(group="Isomap of 70,000 digits in 50 columns, 10 neighbours")
def test_landmarks_of_digits(benchmark, tmp_path):
    found = timed(benchmark, tmp_path, system="tamiz Isomap", repeats=3, X=graph_data.digits_in_50())
    assert np.isfinite(found["embedding"]).all()
    assert benchmark.extra_info["seconds"] < 30
    assert benchmark.extra_info["peak_gb"] < 1.0
