"""One fit of principal components by one system in a process of its own: ``python pca_work.py SYSTEM INPUT.npz OUTPUT.npz``.

Prints the seconds of every repeat of `fit` or `fit_transform` as JSON.
"""

import json
import sys
import time
from typing import Any

import numpy as np

K = 50


def main(system: str, table: str, out: str) -> None:
    given = dict(np.load(table))
    X = given["X"] if "X" in given else mixture(int(given["rows"]), int(given["columns"]))
    seconds, found = [], {}
    for _ in range(int(given["repeats"])):
        model = MODELS[system]()
        begun = time.perf_counter()
        getattr(model, str(given["method"]))(X)
        seconds.append(time.perf_counter() - begun)
        found = {"variances": np.asarray(model.explained_variance_, dtype=np.float64)}
    np.savez(out, **found)
    print(json.dumps({"seconds": seconds}))


def mixture(n: int, p: int) -> np.ndarray:
    """Correlated normal columns of float32."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, p), dtype=np.float32) @ rng.standard_normal((p, p), dtype=np.float32)


def tamiz() -> Any:
    from tamiz.reduction import PCA

    return PCA(K)


def scikit_learn(solver: str) -> Any:
    from sklearn.decomposition import PCA

    return PCA(K, svd_solver=solver, random_state=0)


MODELS = {
    "tamiz": tamiz,
    "scikit-learn covariance": lambda: scikit_learn("covariance_eigh"),
    "scikit-learn randomized": lambda: scikit_learn("randomized"),
    "scikit-learn auto": lambda: scikit_learn("auto"),
}

if __name__ == "__main__":
    main(*sys.argv[1:])
