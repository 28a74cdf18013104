"""One map judged by one system in a process of its own: ``python metrics_work.py SYSTEM INPUT.npz OUTPUT.npz``.

The input holds rows, their map and the number of neighbours. Prints the seconds of every repeat, and the most memory that the
process came to beside what it held before, as JSON.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np


def main(system: str, table: str, out: str) -> None:
    given = dict(np.load(table))
    work = WORKS[system]()
    held = memory("VmRSS")
    seconds, found = [], {}
    for _ in range(int(given["repeats"])):
        begun = time.perf_counter()
        found = work(given["X"], given["embedding"], int(given["n_neighbors"]))
        seconds.append(time.perf_counter() - begun)
    np.savez(out, **found)
    print(json.dumps({"seconds": seconds, "beside_bytes": memory("VmHWM") - held}))


def memory(name: str) -> float:
    """Bytes of this process alone; what `getrusage` calls the most takes over that of the process which started it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024.0 * int(line.split()[1]) for line in lines if line.startswith(name))


def tamiz() -> Any:
    from tamiz.metrics import continuity, trustworthiness

    def work(X: np.ndarray, embedding: np.ndarray, k: int) -> dict[str, Any]:
        return {
            "trustworthiness": trustworthiness(X, embedding, n_neighbors=k),
            "continuity": continuity(X, embedding, n_neighbors=k),
        }

    return work


def tamiz_card() -> Any:
    from tamiz.metrics import quality

    def work(X: np.ndarray, embedding: np.ndarray, k: int) -> dict[str, Any]:
        card = quality(X, embedding, n_neighbors=k, sample=len(X))
        return {measure.name: measure.value for measure in card.measures}

    return work


def tamiz_sample() -> Any:
    from tamiz.metrics import quality

    def work(X: np.ndarray, embedding: np.ndarray, k: int) -> dict[str, Any]:
        card = quality(X, embedding, n_neighbors=k, sample=1000)
        return {measure.name: np.array([measure.value, measure.error]) for measure in card.measures}

    return work


def scikit_learn() -> Any:
    from sklearn.manifold import trustworthiness

    def work(X: np.ndarray, embedding: np.ndarray, k: int) -> dict[str, Any]:
        return {"trustworthiness": trustworthiness(X, embedding, n_neighbors=k)}

    return work


WORKS = {
    "tamiz both": tamiz,
    "tamiz whole card": tamiz_card,
    "tamiz card of 1,000 rows": tamiz_sample,
    "scikit-learn trustworthiness": scikit_learn,
}


if __name__ == "__main__":
    main(*sys.argv[1:])
