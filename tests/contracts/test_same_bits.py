"""Every map has the same bits for any number of threads and in another process."""

import hashlib
import json
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

from tamiz import reduction
from tamiz.runtime import parallel

MAPS = [entry.name for entry in reduction.registry.of_kind("map")]
# More rows than one task has, or smaller tasks.
N_ROWS = {
    "classical_mds": 1300,
    "ica": 12_000,
    "isomap": 900,
    "mds": 300,
    "pca": 12_000,
    "stochastic_mds": 5000,
    "tsne": 900,
}
SETTINGS = {
    "autoencoder": {"hidden_sizes": (32, 16), "batch_size": 128, "max_epochs": 5},
    "isomap": {"n_landmarks": 200},
    "mds": {"max_iter": 5},
    "stochastic_mds": {"n_rounds": 60, "tol": 1.0},
    "tsne": {"n_iter": 60},
    "umap": {"n_epochs": 20},
}
SMALLER_TASKS = {
    "autoencoder_network._PRODUCTS_PER_TASK": 2**10,
    "pairs._PAIRS_PER_TASK": 2**12,
    "pairs._ENTRIES_PER_TASK": 2**12,
}


def fit(name, n_jobs, seed=3):
    """Return a map of random rows, and the coordinates of new rows where the map has them."""
    n, rng = N_ROWS.get(name, 2500), np.random.default_rng(0)
    table = pd.DataFrame(rng.laplace(size=(n, 6)) @ rng.normal(size=(6, 6))).rename(columns=str)
    new = table[:300] + 0.1
    if name in ("autoencoder", "pca"):
        table["class"], new["class"] = rng.choice(list("abc"), n), rng.choice(list("abc"), 300)
    reducer = reduction.registry[name].load()(2, **SETTINGS.get(name, {}))
    if "random_state" in reducer.get_params(deep=False):
        reducer.set_params(random_state=seed)
    with parallel.thread_session(n_jobs), warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        for constant, size in SMALLER_TASKS.items():
            patch.setattr(f"tamiz.reduction.{constant}", size)
        fitted = reducer.fit(table)
        return fitted, fitted.transform(new) if hasattr(fitted, "transform") else np.empty(0)


def digests(name, n_jobs):
    """Return a hash of each fitted array and number."""
    fitted, transformed = fit(name, n_jobs)
    found = {key: np.asarray(value) for key, value in vars(fitted).items() if key.endswith("_") and key[0] != "_"}
    arrays = {key: value for key, value in found.items() if value.dtype.kind in "bif"}
    arrays |= {"transform": transformed, "embedding_": fitted.embedding_}
    return {key: hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest() for key, value in arrays.items()}


@pytest.mark.parametrize("name", MAPS)
def test_the_bits_are_the_same_for_any_number_of_threads(name):
    assert digests(name, 1) == digests(name, 2)


@pytest.mark.parametrize("name", ["autoencoder", "stochastic_mds", "umap"])
def test_another_seed_is_another_map(name):
    one, other = (fit(name, 2, seed)[0].embedding_ for seed in (3, 4))
    assert np.abs(one - other).max() > 0.01


@pytest.mark.slow
def test_the_bits_are_the_same_in_another_process():
    run = subprocess.run([sys.executable, __file__], capture_output=True, check=True)
    assert json.loads(run.stdout) == {name: digests(name, 2) for name in MAPS}


if __name__ == "__main__":
    json.dump({name: digests(name, 1) for name in MAPS}, sys.stdout)
