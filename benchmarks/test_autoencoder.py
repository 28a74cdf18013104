"""The autoencoder beside PCA and a network of scikit-learn: time, memory, and the squared error of held-out rows."""

from functools import partial

import pytest
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from . import processes

timed = partial(processes.timed, work="autoencoder_work.py", patience=900)
SYSTEMS = ["tamiz Autoencoder", "tamiz linear Autoencoder", "tamiz PCA", "scikit-learn MLPRegressor"]


@pytest.mark.benchmark(group="Autoencoder of 1,437 digits, squared error of a pixel of 360 others")
@pytest.mark.parametrize("n_components", [2, 5, 10])
@pytest.mark.parametrize("system", SYSTEMS)
def test_autoencoder_of_digits(benchmark, tmp_path, system, n_components):
    train, test = train_test_split(load_digits().data, test_size=360, random_state=0)
    found = timed(benchmark, tmp_path, system=system, train=train, test=test, n_components=n_components)
    benchmark.extra_info["squared_error"] = float(((found["reconstructed"] - test) ** 2).mean())
    if "epochs" in found:
        benchmark.extra_info["epochs"] = int(found["epochs"])


@pytest.mark.benchmark(group="Autoencoder of 300,000 rows of 15 mixed columns")
def test_autoencoder_of_many_mixed_rows(benchmark, tmp_path):
    found = timed(benchmark, tmp_path, system="tamiz Autoencoder of mixed rows", n_rows=300_000, n_components=2)
    assert found["error"] < found["pca_error"]
    benchmark.extra_info["error"] = float(found["error"])
    benchmark.extra_info["pca_error"] = float(found["pca_error"])
