"""Rows to join and graphs to decompose, for the benchmarks of the neighbour graph."""

import gzip
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.io import loadmat
from sklearn.datasets import make_swiss_roll

SHARED = Path(__file__).parents[2] / "shared" / "data"
DIGITS = SHARED / "mnist-t10k-images-idx3-ubyte.gz"
COIL = SHARED / "COIL20.mat"

needs_digits = pytest.mark.skipif(not DIGITS.exists(), reason=f"no {DIGITS.name} beside the project, in shared/data")
needs_shared = pytest.mark.skipif(
    not (DIGITS.exists() and COIL.exists()),
    reason=f"no {DIGITS.name} and {COIL.name} beside the project, in shared/data",
)
SHIFTS = ((0, -1), (0, 1), (-1, 0), (1, 0), (-1, -1), (1, 1))


@cache
def digits() -> np.ndarray:
    """10,000 digits and their shifts by a pixel in six directions: 70,000 x 784."""
    images = np.frombuffer(gzip.decompress(DIGITS.read_bytes()), np.uint8, offset=16).reshape(-1, 28, 28)
    moved = [images, *(np.roll(images, shift, (1, 2)) for shift in SHIFTS)]
    return np.concatenate([one.reshape(-1, 784) for one in moved]).astype(np.float64)


@cache
def digits_in_50() -> np.ndarray:
    """Their first 50 principal components."""
    centred = digits() - digits().mean(axis=0)
    _, vectors = np.linalg.eigh(centred.T @ centred)
    return np.ascontiguousarray(centred @ vectors[:, :-51:-1])


@cache
def roll(n: int) -> np.ndarray:
    return make_swiss_roll(n, random_state=0)[0]


@cache
def graph(name: str) -> sparse.csr_array:
    """A connected graph by name."""
    return GRAPHS[name]()


def near(X: np.ndarray) -> sparse.csr_array:
    from tamiz.exceptions import TamizWarning
    from tamiz.graphs import KNearest

    with warnings.catch_warnings(category=TamizWarning, action="ignore"):
        return KNearest(15).build(X).connect_components().adjacency


def path(n: int) -> sparse.csr_array:
    return sparse.csr_array(sparse.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[1, -1]))


def grid(side: int) -> sparse.csr_array:
    line = path(side)
    eye = sparse.eye_array(side)
    return sparse.csr_array(sparse.kron(line, eye) + sparse.kron(eye, line))


def two_clusters() -> sparse.csr_array:
    rng = np.random.default_rng(0)
    parts = [near(rng.normal(size=(5000, 10))) for _ in range(2)]
    both = sparse.block_diag(parts, format="lil")
    both[0, 5000] = both[5000, 0] = 1e-3
    return sparse.csr_array(both)


def far_clusters() -> sparse.csr_array:
    """Twenty clusters of 70,000 rows, each joined to the next by one edge."""
    rng = np.random.default_rng(0)
    starts = 3500 * np.arange(20)
    parts = sparse.block_diag([near(rng.normal(size=(3500, 10))) for _ in starts], format="csr")
    bridges = sparse.coo_array((np.ones(19), (starts[:-1], starts[1:])), shape=parts.shape)
    return sparse.csr_array(parts + bridges + bridges.T)


GRAPHS = {
    "70,000 digits": lambda: near(digits_in_50()),
    "10,000 digits": lambda: near(digits_in_50()[:10_000]),
    "swiss roll of 20,000": lambda: near(roll(20_000)),
    "COIL20": lambda: near(loadmat(COIL)["X"].astype(np.float64)),
    "path of 5,000": lambda: path(5000),
    "grid of 100 x 100": lambda: grid(100),
    "two clusters and an edge": two_clusters,
    "20 far clusters of 70,000": far_clusters,
}
