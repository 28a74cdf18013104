"""One map by majorisation by one system in a process of its own: ``python smacof_work.py SYSTEM INPUT.npz OUTPUT.npz``.

The input holds rows, the kind of scaling and a start; their distances are made before time counts. Both systems end at the same
change of the squares left over: scikit-learn's is counted in squared distances, ours in the squares left over themselves, so that
ours is told how much of these a millionth of the squared distances is, from a first map that does not count. Prints the seconds of
every repeat, the steps and Kruskal's stress-1, as JSON.
"""

import json
import sys
import time
import warnings
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist, squareform

TOL = 1e-6
MOST_STEPS = 1000


def main(system: str, table: str, out: str) -> None:
    given = dict(np.load(table))
    D, kind, start = squareform(pdist(given["X"])), str(given["kind"]), given["start"]
    work = {"tamiz": tamiz, "scikit-learn": scikit_learn}[system](D, kind, start)
    seconds, found = [], {}
    for _ in range(int(given["repeats"])):
        begun = time.perf_counter()
        with warnings.catch_warnings(action="ignore"):
            found = work()
        seconds.append(time.perf_counter() - begun)
    np.savez(out, **found)
    print(json.dumps({"seconds": seconds, "steps": int(found["steps"]), "stress": float(found["stress"])}))


def tamiz(D: np.ndarray, kind: str, start: np.ndarray) -> Any:
    from tamiz.reduction import MDS

    def scaled(tol: float) -> Any:
        return MDS(kind=kind, dissimilarity="precomputed", init=start, tol=tol, max_iter=MOST_STEPS).fit(D)

    tol = TOL / scaled(TOL).stress_ ** 2

    def work() -> dict[str, Any]:
        mds = scaled(tol)
        return {"stress": mds.stress_, "steps": mds.n_iter_, "embedding": mds.embedding_}

    return work


def scikit_learn(D: np.ndarray, kind: str, start: np.ndarray) -> Any:
    from sklearn.manifold import smacof

    def work() -> dict[str, Any]:
        embedding, stress, steps = smacof(
            D, metric=kind == "metric", init=start, n_init=1, eps=TOL, max_iter=MOST_STEPS, normalized_stress=True,
            return_n_iter=True,
        )  # fmt: skip
        stress = at_best_scale(D, embedding) if kind == "metric" else stress
        return {"stress": stress, "steps": steps, "embedding": embedding}

    return work


def at_best_scale(D: np.ndarray, embedding: np.ndarray) -> float:
    """Kruskal's stress-1 of a metric map."""
    delta, d = squareform(D, checks=False), pdist(embedding)
    return float(np.sqrt(max(1 - (delta @ d) ** 2 / ((delta @ delta) * (d @ d)), 0.0)))


if __name__ == "__main__":
    main(*sys.argv[1:])
