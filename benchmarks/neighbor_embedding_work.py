"""One t-SNE map by one system in a process of its own: ``python neighbor_embedding_work.py SYSTEM INPUT.npz OUTPUT.npz``.

Prints the seconds of every repeat, those from the start of the process to the end of the first, and its peak memory, as JSON.
"""

import time

BEGUN = time.perf_counter()

import json  # noqa: E402
import sys  # noqa: E402
import warnings  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402


def main(system: str, source: str, out: str) -> None:
    given = dict(np.load(source))
    X = np.ascontiguousarray(given["X"])
    seconds, found, process = [], np.empty(0), 0.0
    for _ in range(int(given["repeats"])):
        begun = time.perf_counter()
        with warnings.catch_warnings(action="ignore"):
            found = WORKS[system](X)
        seconds.append(time.perf_counter() - begun)
        process = process or time.perf_counter() - BEGUN
    np.savez(out, embedding=found)
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    print(json.dumps({"seconds": seconds, "process_seconds": process, "peak_gb": 1024 * int(peak.split()[1]) / 1e9}))


def tamiz_tsne(X: np.ndarray) -> np.ndarray:
    from tamiz.reduction import TSNE

    return TSNE().fit(X).embedding_


def open_tsne(X: np.ndarray) -> np.ndarray:
    import openTSNE

    return np.asarray(openTSNE.TSNE(n_jobs=2, random_state=0).fit(X))


WORKS = {"tamiz TSNE": tamiz_tsne, "openTSNE": open_tsne}

if __name__ == "__main__":
    main(*sys.argv[1:])
