"""One map of many rows by one system in a process of its own: ``python large_maps_work.py SYSTEM INPUT.npz OUTPUT.npz``.

Prints the seconds of every repeat, and the most memory that the process came to, as JSON.
"""

import json
import sys
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np


def main(system: str, table: str, out: str) -> None:
    given = dict(np.load(table))
    X = np.ascontiguousarray(given["X"]) if "X" in given else made(int(given["n_rows"]), int(given["n_columns"]))
    work = WORKS[system]
    seconds, found = [], {}
    for _ in range(int(given["repeats"])):
        begun = time.perf_counter()
        with warnings.catch_warnings(action="ignore"):
            found = work(X)
        seconds.append(time.perf_counter() - begun)
    np.savez(out, **found)
    print(json.dumps({"seconds": seconds, "peak_gb": peak() / 1e9}))


def made(n_rows: int, n_columns: int) -> np.ndarray:
    """Rows whose columns vary by ever less, made in place."""
    X = np.random.default_rng(0).standard_normal((n_rows, n_columns))
    X *= np.linspace(3.0, 0.5, n_columns)
    return X


def peak() -> float:
    """Bytes of this process alone."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024.0 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def stochastic(X: np.ndarray) -> dict[str, Any]:
    from tamiz.reduction import StochasticMDS

    mapped = StochasticMDS(2, random_state=0).fit(X)
    return {"embedding": mapped.embedding_, "stress": mapped.sampled_stress_, "converged": mapped.converged_}


def landmark(X: np.ndarray) -> dict[str, Any]:
    from tamiz.reduction import LandmarkMDS

    mapped = LandmarkMDS(2, random_state=0).fit(X)
    return {"embedding": mapped.embedding_, "stress": mapped.sampled_stress_}


def tamiz_tsne(X: np.ndarray) -> dict[str, Any]:
    from tamiz.reduction import TSNE

    return {"embedding": TSNE().fit(X).embedding_}


def open_tsne(X: np.ndarray) -> dict[str, Any]:
    import openTSNE

    return {"embedding": np.asarray(openTSNE.TSNE(n_jobs=2, random_state=0).fit(X))}


def tamiz_umap(X: np.ndarray) -> dict[str, Any]:
    from tamiz.reduction import UMAP

    return {"embedding": UMAP(random_state=0).fit(X).embedding_}


def umap_learn(X: np.ndarray) -> dict[str, Any]:
    import umap

    # Without a seed, so that it uses both cores.
    return {"embedding": umap.UMAP().fit_transform(X)}


def tamiz_isomap(X: np.ndarray) -> dict[str, Any]:
    from tamiz.graphs import KNearest
    from tamiz.reduction import Isomap

    mapped = Isomap(2, graph=KNearest(10), disconnected="connect", random_state=0).fit(X)
    return {"embedding": mapped.embedding_, "residual_variances": mapped.residual_variances_}


def scikit_learn_isomap(X: np.ndarray) -> dict[str, Any]:
    from sklearn.manifold import Isomap

    return {"embedding": Isomap(n_neighbors=10).fit(X).embedding_}


def tamiz_lle(method: str, X: np.ndarray) -> dict[str, Any]:
    from tamiz.reduction import LocallyLinearEmbedding

    mapped = LocallyLinearEmbedding(method=method).fit(X)
    return {"embedding": mapped.embedding_, "error": mapped.reconstruction_error_, "residuals": mapped.residuals_}


def scikit_learn_lle(method: str, X: np.ndarray) -> dict[str, Any]:
    from sklearn.manifold import LocallyLinearEmbedding

    mapped = LocallyLinearEmbedding(n_neighbors=15, method=method, random_state=0).fit(X)
    return {"embedding": mapped.embedding_, "error": mapped.reconstruction_error_}


def by_all_pairs(X: np.ndarray) -> dict[str, Any]:
    from tamiz.reduction import MDS

    mapped = MDS(2).fit(X)
    return {"embedding": mapped.embedding_, "stress": mapped.stress_}


LLE_METHODS = ("standard", "modified", "hessian", "ltsa")
WORKS = {
    "tamiz StochasticMDS": stochastic,
    "tamiz LandmarkMDS": landmark,
    "tamiz MDS": by_all_pairs,
    "tamiz TSNE": tamiz_tsne,
    "openTSNE": open_tsne,
    "tamiz UMAP": tamiz_umap,
    "umap-learn": umap_learn,
    "tamiz Isomap": tamiz_isomap,
    "scikit-learn Isomap": scikit_learn_isomap,
    **{f"tamiz LLE {method}": partial(tamiz_lle, method) for method in LLE_METHODS},
    **{f"scikit-learn LLE {method}": partial(scikit_learn_lle, method) for method in LLE_METHODS},
}

if __name__ == "__main__":
    main(*sys.argv[1:])
