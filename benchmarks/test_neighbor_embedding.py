"""t-SNE beside openTSNE: time, memory, and how well the 15 nearest rows are preserved."""

from functools import partial

import numpy as np
import pytest

from tamiz.metrics import quality

from . import graph_data, processes
from .graph_data import needs_digits

timed = partial(processes.timed, work="large_maps_work.py", patience=900)


@needs_digits
@pytest.mark.benchmark(group="t-SNE of digits in 50 columns")
@pytest.mark.parametrize("n_rows", [10_000, 70_000])
@pytest.mark.parametrize("system", ["tamiz TSNE", "openTSNE"])
def test_digits(benchmark, tmp_path, system, n_rows):
    X = graph_data.digits_in_50()[:n_rows]
    found = timed(benchmark, tmp_path, system=system, X=X)
    measured = quality(X, found["embedding"], random_state=0)
    for name in ("trustworthiness", "neighborhood_recall"):
        benchmark.extra_info[name] = measured[name].value
    assert np.isfinite(found["embedding"]).all()
