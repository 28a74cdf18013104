"""The first call of one system in a process of its own: ``python first_call_work.py SYSTEM INPUT.npz OUTPUT.npz``.

Prints as JSON the seconds of the call, and beside them those of the import of the system before it and the CPU seconds of both.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np


def main(system: str, table: str, out: str) -> None:
    given = dict(np.load(table))
    begun, used = time.perf_counter(), time.process_time()
    call = CALLS[str(given["task"])][system]()
    imported, used_by_import = time.perf_counter(), time.process_time()
    found = call(given["X"], given["y"])
    seconds = time.perf_counter() - imported
    np.savez(out, found=np.asarray(found))
    cpu = {"import_cpu_seconds": used_by_import - used, "cpu_seconds": time.process_time() - used_by_import}
    print(json.dumps({"seconds": [seconds], "import_seconds": imported - begun, **cpu}))


def tamiz_eigenmap() -> Callable[..., Any]:
    from tamiz.graphs import KNearest
    from tamiz.reduction import LaplacianEigenmaps

    return lambda X, _: LaplacianEigenmaps(2, graph=KNearest(10)).fit_transform(X)


def sklearn_eigenmap() -> Callable[..., Any]:
    from sklearn.manifold import SpectralEmbedding

    return lambda X, _: SpectralEmbedding(2, affinity="nearest_neighbors", n_neighbors=10).fit_transform(X)


def tamiz_ica() -> Callable[..., Any]:
    from tamiz.reduction import ICA

    return lambda X, _: ICA(20, random_state=0).fit_transform(X)


def sklearn_ica() -> Callable[..., Any]:
    from sklearn.decomposition import FastICA

    return lambda X, _: FastICA(20, whiten="unit-variance", tol=1e-8, max_iter=2000, random_state=0).fit_transform(X)


def tamiz_anova() -> Callable[..., Any]:
    from tamiz import RankSelector
    from tamiz.criteria import IndependenceTest

    return lambda X, y: RankSelector(IndependenceTest()).fit(X, y).scores_


def sklearn_anova() -> Callable[..., Any]:
    from sklearn.feature_selection import f_classif

    return lambda X, y: f_classif(X, y)[1]


def tamiz_cfs() -> Callable[..., Any]:
    from tamiz import SubsetSelector, open_table
    from tamiz.criteria import CFS
    from tamiz.search import BestFirst

    return lambda X, y: SubsetSelector(CFS(), BestFirst()).fit(open_table(X, y, kinds="categorical")).support_


def fast_select_cfs() -> Callable[..., Any]:
    from fast_select import CFS

    return lambda X, y: CFS().fit(X, y).support_mask_


CALLS: dict[str, dict[str, Callable[[], Callable[..., Any]]]] = {
    "Laplacian eigenmap": {"tamiz": tamiz_eigenmap, "scikit-learn": sklearn_eigenmap},
    "ICA": {"tamiz": tamiz_ica, "scikit-learn": sklearn_ica},
    "ANOVA": {"tamiz": tamiz_anova, "scikit-learn": sklearn_anova},
    "CFS of codes": {"tamiz": tamiz_cfs, "fast-select": fast_select_cfs},
}

if __name__ == "__main__":
    main(*sys.argv[1:])
