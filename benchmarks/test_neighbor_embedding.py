"""t-SNE beside openTSNE and UMAP beside umap-learn: time, memory, and how well the 15 nearest rows are preserved."""

from functools import partial

import numpy as np
import pytest

from tamiz.metrics import quality

from . import graph_data, processes
from .graph_data import needs_digits

timed = partial(processes.timed, work="large_maps_work.py", patience=900)


def measure_quality(benchmark, X, embedding):
    measured = quality(X, embedding, random_state=0)
    for name in ("trustworthiness", "neighborhood_recall"):
        benchmark.extra_info[name] = measured[name].value
    assert np.isfinite(embedding).all()


@needs_digits
@pytest.mark.benchmark(group="t-SNE of digits in 50 columns")
@pytest.mark.parametrize("n_rows", [10_000, 70_000])
@pytest.mark.parametrize("system", ["tamiz TSNE", "openTSNE"])
def test_tsne_of_digits(benchmark, tmp_path, system, n_rows):
    X = graph_data.digits_in_50()[:n_rows]
    found = timed(benchmark, tmp_path, system=system, X=X)
    measure_quality(benchmark, X, found["embedding"])


# The first of three times in a process includes what is compiled or loaded.
@needs_digits
@pytest.mark.benchmark(group="UMAP of digits in 50 columns")
@pytest.mark.parametrize("n_rows", [10_000, 70_000])
@pytest.mark.parametrize("system", ["tamiz UMAP", "umap-learn"])
def test_umap_of_digits(benchmark, tmp_path, system, n_rows):
    X = graph_data.digits_in_50()[:n_rows]
    found = timed(benchmark, tmp_path, system=system, repeats=3, X=X)
    measure_quality(benchmark, X, found["embedding"])


@pytest.mark.benchmark(group="UMAP of 1,000,000 normal rows in 50 columns")
def test_umap_of_a_million_rows(benchmark, tmp_path):
    found = timed(benchmark, tmp_path, system="tamiz UMAP", n_rows=1_000_000, n_columns=50)
    assert np.isfinite(found["embedding"]).all()
