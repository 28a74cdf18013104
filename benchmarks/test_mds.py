"""Scaling by majorisation against scikit-learn's from the same start, and one step against one reading of the distances.

Every system runs in a process of its own, `smacof_work.py`. Beside the seconds stand the steps and the stress that they came to.
"""

from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from tamiz.reduction import PCA
from tamiz.reduction.pairs import CondensedPairs, RatioTransformation
from tamiz.reduction.smacof import EqualRows, StressFunction
from tamiz.runtime import parallel

from . import processes

timed = partial(processes.timed, work="smacof_work.py", patience=1200)
SYSTEMS = ["tamiz", "scikit-learn"]


def rows(n: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, 20))


def start(X: np.ndarray, how: str) -> np.ndarray:
    return PCA(2).fit_transform(X) if how == "classical" else np.random.default_rng(1).normal(size=(len(X), 2))


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize(
    ("name", "how"), [("n=1000", "classical"), ("digits", "classical"), ("n=3000", "classical"), ("n=5000", "random")]
)
def test_metric(benchmark, tmp_path, name, how, system):
    X = load_digits().data if name == "digits" else rows(int(name[2:]))
    benchmark.group = f"metric MDS, {name}, {how} start"
    repeats = 3 if system == "tamiz" else 1
    timed(benchmark, tmp_path, system=system, repeats=repeats, X=X, kind="metric", start=start(X, how))


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("n", [1000, 2000])
def test_ordinal(benchmark, tmp_path, n, system):
    X = rows(n)
    benchmark.group = f"ordinal MDS, n={n}, classical start"
    repeats = 3 if system == "tamiz" else 1
    timed(benchmark, tmp_path, system=system, repeats=repeats, X=X, kind="ordinal", start=start(X, "classical"))


@pytest.mark.benchmark(group="one step of metric MDS at n=10000, beside one reading of the float32 distances")
@pytest.mark.parametrize("work", ["step", "reading"])
def test_step(benchmark, work):
    n = 10_000
    rng = np.random.default_rng(0)
    values = rng.random(n * (n - 1) // 2, dtype=np.float32)
    with parallel.thread_session():
        if work == "step":
            pairs = CondensedPairs(n, values, np.empty(0, dtype=np.float32), 1.0, np.dtype(np.float32))
            problem, points = (
                StressFunction(RatioTransformation(pairs), EqualRows(np.arange(n))),
                rng.normal(size=(2, n)),
            )
            benchmark.pedantic(lambda: problem.evaluate(points), rounds=10, warmup_rounds=1)
            return
        # All n x n of them, as other systems hold them.
        matrix = np.concatenate([values, values, values[:n]])
        spans = parallel.block_ranges(len(matrix), 2**20)

        def read() -> list[Any]:
            return list(parallel.map_blocks(lambda span: matrix[slice(*span)].max(), spans))

        benchmark.pedantic(read, rounds=10, warmup_rounds=1)
