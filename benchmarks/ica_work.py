"""One independent component analysis by one system in a process of its own: ``python ica_work.py SYSTEM INPUT.npz OUTPUT.npz``.

Prints the seconds of every repeat as JSON; the first includes what is compiled or loaded. Writes the sources of the last repeat.
"""

import json
import sys
import time

import numpy as np


def tamiz(X: np.ndarray, k: int, seed: int) -> np.ndarray:
    from tamiz.reduction import ICA

    return ICA(k, random_state=seed).fit_transform(X)


def scikit_learn(X: np.ndarray, k: int, seed: int) -> np.ndarray:
    from sklearn.decomposition import FastICA

    # Its default tolerance bounds the squared change of a direction.
    return FastICA(k, whiten="unit-variance", tol=1e-8, max_iter=2000, random_state=seed).fit_transform(X)


def picard(X: np.ndarray, k: int, seed: int) -> np.ndarray:
    from picard import picard

    # The criterion is that of tamiz.
    return picard(X.T, n_components=k, tol=1e-6, max_iter=2000, random_state=seed)[2].T


SYSTEMS = {"tamiz": tamiz, "scikit-learn": scikit_learn, "picard": picard}


def main(system: str, source: str, out: str) -> None:
    given = dict(np.load(source))
    seconds = []
    for seed in range(int(given["repeats"])):
        begun = time.perf_counter()
        sources = SYSTEMS[system](given["X"], int(given["k"]), seed)
        seconds.append(time.perf_counter() - begun)
    np.savez(out, sources=sources)
    print(json.dumps({"seconds": seconds}))


if __name__ == "__main__":
    main(*sys.argv[1:])
