"""One piece of work of one system in a process of its own: ``python graph_work.py SYSTEM INPUT.npz OUTPUT.npz``.

Prints the seconds of every repeat as JSON. Imports and the reading of the input are not counted; compilation is, unless a system
keeps its kernels on disk. faiss must be kept from other systems' threads, and what a system costs at first is part of its price.
"""

import json
import sys
import time
from typing import Any

import numpy as np
from scipy import sparse


def main(system: str, source: str, out: str) -> None:
    given = dict(np.load(source))
    repeats = int(given.pop("repeats", 1))
    work = WORKS[system]()
    seconds, found = [], {}
    for _ in range(repeats):
        begun = time.perf_counter()
        found = work(given)
        seconds.append(time.perf_counter() - begun)
    np.savez(out, **found)
    print(json.dumps({"seconds": seconds}))


def graph_of(given: dict[str, Any]) -> sparse.csr_array:
    n = len(given["indptr"]) - 1
    return sparse.csr_array((given["data"], given["indices"], given["indptr"]), shape=(n, n))


def tamiz_neighbors(search: str) -> Any:
    from tamiz import parallel
    from tamiz.graphs import Descent, Exact
    from tamiz.graphs.points import Rows

    chosen = {"exact": Exact, "descent": lambda: Descent(random_state=0)}[search]()

    def work(given: dict[str, Any]) -> dict[str, Any]:
        with parallel.session():
            found = chosen.fit(Rows(given["X"])).query(15)
        return {"indices": found.indices.reshape(-1, 15)}

    return work


def faiss_neighbors() -> Any:
    import faiss

    def work(given: dict[str, Any]) -> dict[str, Any]:
        X = np.ascontiguousarray(given["X"], dtype=np.float32)
        index = faiss.IndexFlatL2(X.shape[1])
        index.add(X)
        return {"indices": index.search(X, 16)[1][:, 1:]}

    return work


def scikit_learn_neighbors() -> Any:
    from sklearn.neighbors import NearestNeighbors

    def work(given: dict[str, Any]) -> dict[str, Any]:
        index = NearestNeighbors(n_neighbors=15, algorithm="brute", n_jobs=-1).fit(given["X"])
        return {"indices": index.kneighbors(return_distance=False)}

    return work


def pynndescent_neighbors() -> Any:
    import pynndescent

    def work(given: dict[str, Any]) -> dict[str, Any]:
        index = pynndescent.NNDescent(given["X"].astype(np.float32), n_neighbors=16, random_state=0)
        return {"indices": index.neighbor_graph[0][:, 1:]}

    return work


def hnswlib_neighbors() -> Any:
    import hnswlib

    def work(given: dict[str, Any]) -> dict[str, Any]:
        X = given["X"].astype(np.float32)
        index = hnswlib.Index("l2", X.shape[1])
        index.init_index(len(X), ef_construction=100, M=16)
        index.add_items(X)
        index.set_ef(60)
        return {"indices": index.knn_query(X, k=16)[0][:, 1:]}

    return work


def tamiz_score() -> Any:
    from tamiz.criteria import laplacian_score
    from tamiz.graphs import Binary, KNearest

    def work(given: dict[str, Any]) -> dict[str, Any]:
        X = given["X"]
        return {"scores": laplacian_score(X, KNearest(5, weight=Binary()).build(X))}

    return work


def scikit_feature_score() -> Any:
    from skfeature.function.similarity_based import lap_score
    from skfeature.utility.construct_W import construct_W

    def work(given: dict[str, Any]) -> dict[str, Any]:
        X = given["X"]
        W = construct_W(X, metric="euclidean", neighbor_mode="knn", weight_mode="binary", k=5)
        return {"scores": lap_score.lap_score(X, W=W, mode="raw")}

    return work


def itmo_score() -> Any:
    from ITMO_FS.filters.univariate import laplacian_score

    return lambda given: {"scores": np.asarray(laplacian_score(given["X"], np.zeros(len(given["X"]))))}


def tamiz_spectrum() -> Any:
    from tamiz import parallel
    from tamiz.graphs import Graph
    from tamiz.graphs.spectrum import smallest

    def work(given: dict[str, Any]) -> dict[str, Any]:
        with parallel.session():
            graph = Graph.from_sparse(graph_of(given))
            found = smallest(graph.laplacian("random_walk"), 1 + int(given["m"]))
        return {"vectors": found.vectors[:, 1:], "values": found.values[1:]}

    return work


def scikit_learn_spectrum(solver: str) -> Any:
    from sklearn.manifold import spectral_embedding

    def work(given: dict[str, Any]) -> dict[str, Any]:
        m = int(given["m"])
        return {"vectors": spectral_embedding(graph_of(given), n_components=m, eigen_solver=solver, random_state=0)}

    return work


def umap_spectrum() -> Any:
    from umap.spectral import spectral_layout

    def work(given: dict[str, Any]) -> dict[str, Any]:
        rng = np.random.RandomState(0)
        X = np.zeros((len(given["indptr"]) - 1, 1))
        # Its vectors are those of the symmetric Laplacian.
        S = sparse.csr_matrix(graph_of(given))
        return {"vectors": spectral_layout(X, S, int(given["m"]), rng) / np.sqrt(S.sum(axis=1))}

    return work


def tamiz_radius() -> Any:
    from tamiz.graphs import ConnectedRadius

    return lambda given: {"radius": np.array(ConnectedRadius().radius(given["X"]))}


def tamiz_classes() -> Any:
    from tamiz.criteria import laplacian_score
    from tamiz.graphs import SameClass

    return lambda given: {"scores": laplacian_score(given["X"], SameClass().build(given["X"], given["y"]))}


def scikit_learn_classes() -> Any:
    from sklearn.feature_selection import f_classif

    return lambda given: {"scores": f_classif(given["X"], given["y"])[0]}


def scikit_feature_classes() -> Any:
    from skfeature.function.similarity_based.fisher_score import fisher_score

    return lambda given: {"scores": fisher_score(given["X"], given["y"], mode="raw")}


WORKS = {
    "tamiz exact": lambda: tamiz_neighbors("exact"),
    "tamiz approximate": lambda: tamiz_neighbors("descent"),
    "faiss flat index": faiss_neighbors,
    "scikit-learn brute force": scikit_learn_neighbors,
    "pynndescent": pynndescent_neighbors,
    "hnswlib": hnswlib_neighbors,
    "tamiz score": tamiz_score,
    "scikit-feature lap_score": scikit_feature_score,
    "ITMO_FS laplacian_score": itmo_score,
    "tamiz spectrum": tamiz_spectrum,
    "scikit-learn lobpcg": lambda: scikit_learn_spectrum("lobpcg"),
    "scikit-learn amg": lambda: scikit_learn_spectrum("amg"),
    "umap-learn spectral_layout": umap_spectrum,
    "tamiz radius": tamiz_radius,
    "tamiz classes": tamiz_classes,
    "scikit-learn f_classif": scikit_learn_classes,
    "scikit-feature fisher_score": scikit_feature_classes,
}


if __name__ == "__main__":
    main(*sys.argv[1:])
