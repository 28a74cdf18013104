"""One piece of work of one system in a process of its own: ``python graph_work.py SYSTEM INPUT.npz OUTPUT.npz``.

Prints the seconds of every repeat as JSON. Imports and the making of the input are not counted; compilation is, unless a system
keeps its kernels on disk. faiss must be kept from other systems' threads, and what a system costs at first is part of its price.
"""

import json
import sys
import time
from typing import Any

import numpy as np
from scipy import sparse


def main(system: str, table: str, out: str) -> None:
    given = dict(np.load(table))
    repeats = int(given.pop("repeats", 1))
    seconds, found = [], {}
    for _ in range(repeats):
        work = WORKS[system](given)
        begun = time.perf_counter()
        found = work()
        seconds.append(time.perf_counter() - begun)
    np.savez(out, **found)
    print(json.dumps({"seconds": seconds}))


def graph_of(given: dict[str, Any]) -> sparse.csr_array:
    n = len(given["indptr"]) - 1
    return sparse.csr_array((given["data"], given["indices"], given["indptr"]), shape=(n, n))


def tamiz_neighbors(given: dict[str, Any], search: str) -> Any:
    from tamiz.neighbors import BruteForce, NNDescent
    from tamiz.neighbors.points import EuclideanPoints
    from tamiz.runtime import parallel

    chosen = {"exact": BruteForce, "descent": lambda: NNDescent(random_state=0)}[search]()

    def work() -> dict[str, Any]:
        with parallel.thread_session():
            found = chosen.fit(EuclideanPoints(given["X"])).query(15)
        return {"indices": found.indices.reshape(-1, 15)}

    return work


def faiss_neighbors(given: dict[str, Any]) -> Any:
    import faiss

    def work() -> dict[str, Any]:
        X = np.ascontiguousarray(given["X"], dtype=np.float32)
        index = faiss.IndexFlatL2(X.shape[1])
        index.add(X)
        return {"indices": index.search(X, 16)[1][:, 1:]}

    return work


def scikit_learn_neighbors(given: dict[str, Any]) -> Any:
    from sklearn.neighbors import NearestNeighbors

    def work() -> dict[str, Any]:
        index = NearestNeighbors(n_neighbors=15, algorithm="brute", n_jobs=-1).fit(given["X"])
        return {"indices": index.kneighbors(return_distance=False)}

    return work


def pynndescent_neighbors(given: dict[str, Any]) -> Any:
    import pynndescent

    def work() -> dict[str, Any]:
        index = pynndescent.NNDescent(given["X"].astype(np.float32), n_neighbors=16, random_state=0)
        return {"indices": index.neighbor_graph[0][:, 1:]}

    return work


def hnswlib_neighbors(given: dict[str, Any]) -> Any:
    import hnswlib

    def work() -> dict[str, Any]:
        X = given["X"].astype(np.float32)
        index = hnswlib.Index("l2", X.shape[1])
        index.init_index(len(X), ef_construction=100, M=16)
        index.add_items(X)
        index.set_ef(60)
        return {"indices": index.knn_query(X, k=16)[0][:, 1:]}

    return work


def tamiz_score(given: dict[str, Any]) -> Any:
    from tamiz.criteria import laplacian_score
    from tamiz.graphs import Binary, KNearest

    def work() -> dict[str, Any]:
        X = given["X"]
        return {"scores": laplacian_score(X, KNearest(5, weight=Binary()).build(X))}

    return work


def scikit_feature_score(given: dict[str, Any]) -> Any:
    from skfeature.function.similarity_based import lap_score
    from skfeature.utility.construct_W import construct_W

    def work() -> dict[str, Any]:
        X = given["X"]
        W = construct_W(X, metric="euclidean", neighbor_mode="knn", weight_mode="binary", k=5)
        return {"scores": lap_score.lap_score(X, W=W, mode="raw")}

    return work


def itmo_score(given: dict[str, Any]) -> Any:
    from ITMO_FS.filters.univariate import laplacian_score

    return lambda: {"scores": np.asarray(laplacian_score(given["X"], np.zeros(len(given["X"]))))}


def tamiz_spectrum(given: dict[str, Any]) -> Any:
    from tamiz.graphs import Graph
    from tamiz.graphs.laplacian import smallest_eigenpairs
    from tamiz.runtime import parallel

    graph = Graph.from_sparse(graph_of(given))

    def work() -> dict[str, Any]:
        with parallel.thread_session():
            found = smallest_eigenpairs(graph.laplacian("random_walk"), 1 + int(given["m"]))
        return {"vectors": found.vectors[:, 1:], "values": found.values[1:]}

    return work


def scikit_learn_spectrum(given: dict[str, Any], solver: str) -> Any:
    from sklearn.manifold import spectral_embedding

    S, m = graph_of(given), int(given["m"])
    return lambda: {"vectors": spectral_embedding(S, n_components=m, eigen_solver=solver, random_state=0)}


def normalised(S: sparse.csr_array) -> tuple[sparse.csr_array, np.ndarray]:
    """D^-1/2 S D^-1/2 and D^-1/2."""
    inverse_root = 1 / np.sqrt(S.sum(axis=1))
    scale = sparse.diags_array(inverse_root)
    return sparse.csr_array(scale @ S @ scale), inverse_root


def lanczos(given: dict[str, Any]) -> Any:
    from scipy.sparse.linalg import eigsh

    S = graph_of(given)

    def work() -> dict[str, Any]:
        A, inverse_root = normalised(S)
        v0 = np.random.default_rng(0).uniform(-1, 1, len(inverse_root))
        vectors = eigsh(A, k=1 + int(given["m"]), which="LA", tol=1e-6, v0=v0)[1]
        return {"vectors": vectors[:, -2::-1] * inverse_root[:, None]}

    return work


def shift_invert(given: dict[str, Any]) -> Any:
    from scipy.sparse.linalg import LinearOperator, eigsh, splu

    S = graph_of(given)

    def work() -> dict[str, Any]:
        A, inverse_root = normalised(S)
        n, sigma = len(inverse_root), -1e-8
        L = sparse.csc_array(sparse.eye_array(n) - A)
        shifted = sparse.csc_array(L - sigma * sparse.eye_array(n))
        factor = splu(shifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        inverse = LinearOperator((n, n), factor.solve)
        v0 = np.random.default_rng(0).uniform(-1, 1, n)
        values, vectors = eigsh(L, k=1 + int(given["m"]), sigma=sigma, OPinv=inverse, tol=1e-6, v0=v0)
        return {"vectors": vectors[:, np.argsort(values)[1:]] * inverse_root[:, None]}

    return work


def umap_spectrum(given: dict[str, Any]) -> Any:
    from umap.spectral import spectral_layout

    S = sparse.csr_matrix(graph_of(given))

    def work() -> dict[str, Any]:
        rng = np.random.RandomState(0)
        X = np.zeros((S.shape[0], 1))
        # Its vectors are those of the symmetric Laplacian.
        return {"vectors": spectral_layout(X, S, int(given["m"]), rng) / np.sqrt(S.sum(axis=1))}

    return work


def tamiz_radius(given: dict[str, Any]) -> Any:
    from tamiz.graphs import ConnectedRadius

    return lambda: {"radius": np.array(ConnectedRadius().radius(given["X"]))}


def tamiz_classes(given: dict[str, Any]) -> Any:
    from tamiz.criteria import laplacian_score
    from tamiz.graphs import SameClass

    return lambda: {"scores": laplacian_score(given["X"], SameClass().build(given["X"], given["y"]))}


def scikit_learn_classes(given: dict[str, Any]) -> Any:
    from sklearn.feature_selection import f_classif

    return lambda: {"scores": f_classif(given["X"], given["y"])[0]}


def scikit_feature_classes(given: dict[str, Any]) -> Any:
    from skfeature.function.similarity_based.fisher_score import fisher_score

    return lambda: {"scores": fisher_score(given["X"], given["y"], mode="raw")}


WORKS = {
    "tamiz exact": lambda given: tamiz_neighbors(given, "exact"),
    "tamiz approximate": lambda given: tamiz_neighbors(given, "descent"),
    "faiss flat index": faiss_neighbors,
    "scikit-learn brute force": scikit_learn_neighbors,
    "pynndescent": pynndescent_neighbors,
    "hnswlib": hnswlib_neighbors,
    "tamiz score": tamiz_score,
    "scikit-feature lap_score": scikit_feature_score,
    "ITMO_FS laplacian_score": itmo_score,
    "tamiz spectrum": tamiz_spectrum,
    "scikit-learn lobpcg": lambda given: scikit_learn_spectrum(given, "lobpcg"),
    "umap-learn spectral_layout": umap_spectrum,
    "Lanczos": lanczos,
    "shift-invert": shift_invert,
    "tamiz radius": tamiz_radius,
    "tamiz classes": tamiz_classes,
    "scikit-learn f_classif": scikit_learn_classes,
    "scikit-feature fisher_score": scikit_feature_classes,
}


if __name__ == "__main__":
    main(*sys.argv[1:])
