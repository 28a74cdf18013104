"""One autoencoder by one system in a process of its own: ``python autoencoder_work.py SYSTEM INPUT.npz OUTPUT.npz``.

Prints the seconds of every repeat, and the most memory that the process came to, as JSON.
"""

import json
import sys
import time
import warnings

import numpy as np
import pandas as pd
from large_maps_work import peak


def main(system: str, table: str, out: str) -> None:
    given = dict(np.load(table))
    k, work = int(given["n_components"]), WORKS[system]
    rows = (given["train"], given["test"]) if "train" in given else mixed(int(given["n_rows"]))
    seconds, found = [], {}
    for _ in range(int(given["repeats"])):
        begun = time.perf_counter()
        with warnings.catch_warnings(action="ignore"):
            found = work(*rows, k)
        seconds.append(time.perf_counter() - begun)
    np.savez(out, **found)
    print(json.dumps({"seconds": seconds, "peak_gb": peak() / 1e9}))


def mixed(n_rows: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Nine columns of curves of three variables, four of their intervals, a flag, and text of 4,000 levels."""
    rng = np.random.default_rng(0)
    n = n_rows + 5_000
    t = rng.normal(size=(n, 3))
    columns = {f"x{j}": np.sin(t[:, j % 3] * (1 + j / 4)) + 0.3 * rng.normal(size=n) for j in range(9)}
    for j in range(4):
        interval = np.clip((2 * t[:, j % 3] + 4 + 0.5 * rng.normal(size=n)).astype(int), 0, 7)
        columns[f"c{j}"] = np.array(list("abcdefgh"))[interval]
    columns |= {"flag": t[:, 0] > 0, "text": np.char.add("t", rng.integers(0, 4000, n).astype(str))}
    table = pd.DataFrame(columns)
    table.loc[::9, "x3"] = np.nan
    return table[:n_rows], table[n_rows:]


def by_tamiz(train: np.ndarray, test: np.ndarray, k: int, **options: object) -> dict[str, object]:
    from tamiz.reduction import Autoencoder

    fitted = Autoencoder(k, standardize=False, random_state=0, **options).fit(train)
    return {"reconstructed": fitted.inverse_transform(fitted.transform(test)), "epochs": fitted.n_epochs_}


def by_pca(train: np.ndarray, test: np.ndarray, k: int) -> dict[str, object]:
    from tamiz.reduction import PCA

    return {"reconstructed": PCA(k).fit(train).reconstruct(test)}


def by_scikit_learn(train: np.ndarray, test: np.ndarray, k: int) -> dict[str, object]:
    """Layers of the same sizes, of which that of the code is not linear, trained by Adam until the loss of all rows does not fall.

    With early stopping it ends after 30 epochs, at the error of PCA: pixels that hardly vary dominate its validation score, the
    mean R2 of the columns.
    """
    from sklearn.neural_network import MLPRegressor

    mean, scale = train.mean(axis=0), train.std()
    model = MLPRegressor(
        hidden_layer_sizes=(128, 64, k, 64, 128),
        activation="tanh",
        batch_size=64,
        max_iter=1000,
        n_iter_no_change=20,
        random_state=0,
    )
    model.fit((train - mean) / scale, (train - mean) / scale)
    return {"reconstructed": model.predict((test - mean) / scale) * scale + mean, "epochs": model.n_iter_}


def by_tamiz_of_mixed_rows(train: pd.DataFrame, test: pd.DataFrame, k: int) -> dict[str, object]:
    from tamiz.reduction import Autoencoder

    fitted = Autoencoder(k, random_state=0).fit(train)
    errors = fitted.reconstruction_error(test)
    return {"error": errors.mean(), "pca_error": fitted.pca_error_, "epochs": fitted.n_epochs_}


WORKS = {
    "tamiz Autoencoder": by_tamiz,
    "tamiz linear Autoencoder": lambda train, test, k: by_tamiz(train, test, k, hidden_sizes=()),
    "tamiz PCA": by_pca,
    "scikit-learn MLPRegressor": by_scikit_learn,
    "tamiz Autoencoder of mixed rows": by_tamiz_of_mixed_rows,
}

if __name__ == "__main__":
    main(*sys.argv[1:])
