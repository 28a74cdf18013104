"""One classical map by one system in a process of its own: ``python mds_work.py SYSTEM INPUT.npz OUTPUT.npz``.

The input holds rows and the name of a distance; the distances are made before time counts. Prints the seconds of every repeat, and
the most memory that the process came to beside what it held before, as JSON.
"""

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist


def main(system: str, table: str, out: str) -> None:
    given = dict(np.load(table))
    D = distances(given["X"], str(given["metric"]))
    work = WORKS[system]()
    held = memory("VmRSS")
    seconds, found = [], {}
    for _ in range(int(given["repeats"])):
        begun = time.perf_counter()
        with warnings.catch_warnings(action="ignore"):
            found = work(D)
        seconds.append(time.perf_counter() - begun)
    peak = memory("VmHWM")
    np.savez(out, **found)
    print(json.dumps({"seconds": seconds, "beside_matrix": (peak - held) / D.nbytes}))


def distances(X: np.ndarray, metric: str) -> np.ndarray:
    """Slab by slab, so that nothing but the matrix is ever held."""
    D = np.empty((len(X), len(X)))
    for start in range(0, len(X), 500):
        cdist(X[start : start + 500], X, metric, out=D[start : start + 500])
    return D


def memory(name: str) -> float:
    """Bytes of this process alone; what `getrusage` calls the most takes over that of the process which started it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024.0 * int(line.split()[1]) for line in lines if line.startswith(name))


def tamiz() -> Any:
    from tamiz.reduction import ClassicalMDS

    def work(D: np.ndarray) -> dict[str, Any]:
        mapped = ClassicalMDS(2, dissimilarity="precomputed").fit(D)
        return {"values": mapped.eigenvalues_, "embedding": mapped.embedding_, "share": mapped.negative_share_}

    return work


def tamiz_corrected(rule: str) -> Any:
    from tamiz.reduction import ClassicalMDS

    def work(D: np.ndarray) -> dict[str, Any]:
        mapped = ClassicalMDS(2, dissimilarity="precomputed", correction=rule).fit(D)
        return {"values": mapped.eigenvalues_, "embedding": mapped.embedding_, "constant": mapped.additive_constant_}

    return work


def scikit_learn() -> Any:
    from sklearn.manifold import ClassicalMDS

    def work(D: np.ndarray) -> dict[str, Any]:
        mapped = ClassicalMDS(2, metric="precomputed").fit(D)
        return {"values": mapped.eigenvalues_, "embedding": mapped.embedding_}

    return work


def scikit_bio() -> Any:
    from skbio import DistanceMatrix
    from skbio.stats.ordination import pcoa

    def work(D: np.ndarray) -> dict[str, Any]:
        mapped = pcoa(DistanceMatrix(D), method="fsvd", dimensions=2, seed=0)
        return {"values": np.asarray(mapped.eigvals), "embedding": np.asarray(mapped.samples)}

    return work


WORKS = {
    "tamiz": tamiz,
    "tamiz lingoes": lambda: tamiz_corrected("lingoes"),
    "tamiz cailliez": lambda: tamiz_corrected("cailliez"),
    "scikit-learn": scikit_learn,
    "scikit-bio fsvd": scikit_bio,
}


if __name__ == "__main__":
    main(*sys.argv[1:])
