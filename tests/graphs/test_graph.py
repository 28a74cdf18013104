"""Graphs from edges, and the properties of every graph."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from tests.reference import graphs as plain

from tamiz.exceptions import DataError
from tamiz.graphs import Binary, Graph, HeatKernel, KNearest
from tamiz.reduction import LaplacianEigenmaps


def weights(seed, n=40, density=0.2):
    rng = np.random.default_rng(seed)
    S = np.triu(rng.random((n, n)) * (rng.random((n, n)) < density), 1)
    return S + S.T


def test_edges_and_their_matrix_are_one_graph():
    S = weights(0)
    heads, tails = np.nonzero(np.triu(S))
    by_edges = Graph.from_edges(heads, tails, S[heads, tails], n_samples=40)
    by_matrix = Graph.from_sparse(sparse.coo_array(S))
    for graph in (by_edges, by_matrix, Graph.from_sparse(S)):
        np.testing.assert_array_equal(graph.adjacency.toarray(), S)
        np.testing.assert_allclose(graph.degrees, S.sum(axis=1), rtol=1e-14)
        assert graph.n_edges == np.count_nonzero(S) // 2
    assert (by_edges.radius, by_edges.t, by_edges.recall, by_edges.search_description) == (None, None, None, None)


def test_the_laplacians_are_those_of_their_names():
    S = weights(1)
    graph = Graph.from_sparse(S)
    D = S.sum(axis=1)
    F = np.random.default_rng(0).normal(size=(40, 3))
    L = np.diag(D) - S
    np.testing.assert_allclose(graph.laplacian("unnormalized") @ F, L @ F, atol=1e-12)
    np.testing.assert_allclose(graph.laplacian("symmetric") @ F, L / np.sqrt(np.outer(D, D)) @ F, atol=1e-12)
    np.testing.assert_allclose(graph.laplacian("random_walk") @ F, (L / D[:, None]) @ F, atol=1e-12)
    np.testing.assert_allclose(graph.dot(F), S @ F, atol=1e-12)


def test_components_are_numbered_by_their_first_rows():
    graph = Graph.from_edges([0, 2, 1], [4, 3, 2], n_samples=7)
    np.testing.assert_array_equal(graph.components.labels, [0, 1, 1, 1, 0, 2, 3])
    np.testing.assert_array_equal(graph.components.sizes, [2, 3, 1, 1])
    assert graph.components.describe() == "4 components of 3, 2, 1 and 1 rows; rows 5, 6 have no edges"


def test_a_graph_without_edges_is_one():
    graph = Graph.from_edges([], [], n_samples=3)
    assert graph.n_edges == 0
    np.testing.assert_array_equal(graph.degrees, np.zeros(3))
    assert len(graph.components) == 3


def test_input_that_is_no_graph_is_refused_in_one_sentence():
    S = weights(2)
    skewed, negative = S.copy(), S.copy()
    skewed[3, 4] = 9.0
    skewed[4, 3] = 7.0
    negative[5, 6] = negative[6, 5] = -1.0
    for make, sentence in [
        (lambda: Graph.from_sparse(skewed), r"not symmetric: 9 at row 3, column 4, and 7 at row 4, column 3"),
        (lambda: Graph.from_sparse(negative), r"The edge of rows 5 and 6 has weight -1; weights must be finite"),
        (lambda: Graph.from_sparse(np.where(S.max() == S, np.nan, S)), r"has weight nan"),
        (lambda: Graph.from_sparse(S[:, :-1]), r"A graph's matrix must be square, got the shape \(40, 39\)"),
        (lambda: Graph.from_edges([0, 1], [1]), r"heads has 2 rows and tails has 1"),
        (
            lambda: Graph.from_edges([0, 5], [1, 2], n_samples=4),
            r"heads contains row 5, but rows are numbered from 0 to 3",
        ),
        (lambda: Graph.from_edges([0, 1], [1, 0]), r"The edge of rows 0 and 1 is listed 2 times"),
        (lambda: Graph.from_edges([0.5], [1]), r"heads must be a list of row numbers"),
        (lambda: Graph.from_edges([0], [1], [0.0]), r"The edge of rows 0 and 1 has weight 0; leave it out"),
        (lambda: Graph.from_edges([0], [1], [1.0, 2.0]), r"weights has the shape \(2,\) for 1 edges"),
        (lambda: Graph.from_edges([], []), r"There are no edges; pass n_samples"),
    ]:
        with pytest.raises(DataError, match=sentence):
            make()


def test_a_graph_without_rows_names_the_operations_that_need_them():
    graph = Graph.from_edges([0, 2], [1, 3])
    with pytest.raises(DataError, match="has no distances to new rows; build the graph from rows"):
        graph.attach([[1.0]])
    with pytest.raises(
        DataError, match=r"falls into 2 components of 2 and 2 rows\. It has no distances to find joining edges by"
    ):
        graph.connect_components()


def test_a_graph_prints_its_properties():
    X = np.random.default_rng(0).normal(size=(50, 2))
    graph = KNearest(5).build(X)
    _, t = plain.heat_graph(X, 5)
    assert repr(graph) == f"<Graph of 50 rows, {graph.n_edges} edges, t={t:.6g}, recall=1>"


def test_clones_share_a_graph():
    graph = Graph.from_edges([0, 1, 2], [1, 2, 0])
    assert clone(LaplacianEigenmaps(1, graph=graph)).graph is graph


def test_rows_of_another_number_are_refused():
    X = np.random.default_rng(0).normal(size=(40, 2))
    graph = KNearest(4).build(X)
    for rows in (np.ones((3, 2)), sparse.csr_array(np.ones((3, 2)))):
        with pytest.raises(DataError, match=r"X has 3 rows and the graph has 40; the numbers must be equal\."):
            graph.variation(rows)
    with pytest.raises(DataError, match=r"sample_weight has 39 rows and the graph has 40"):
        graph.variation(X, np.ones(39))
    with pytest.raises(DataError, match=r"F has 41 rows and the graph has 40"):
        graph.dot(np.ones(41))


def test_a_graph_is_described_by_its_components_neighbours_and_degrees():
    X = np.concatenate([np.random.default_rng(k).normal(100 * k, size=(n, 2)) for k, n in enumerate((30, 20, 12))])
    graph = KNearest(5, weight=HeatKernel(50.0)).build(X, warn_components=False)
    described = graph.describe()
    joined = graph.adjacency.toarray() > 0
    counts, degrees = joined.sum(axis=1), graph.adjacency.toarray().sum(axis=1)
    assert (described.n_rows, described.n_edges) == (62, joined.sum() / 2)
    assert (described.components.n, described.components.sizes) == (3, (30, 20, 12))
    found, weights = described.neighbors, described.degrees
    assert (found.min, found.median, found.max) == (counts.min(), np.median(counts), counts.max())
    assert found.histogram.rows == tuple(np.bincount(counts - counts.min()))
    assert (weights.min, weights.median, weights.max) == pytest.approx(
        (degrees.min(), np.median(degrees), degrees.max())
    )
    assert (described.t, described.unweighted, described.recall) == (50.0, False, 1.0)
    assert described.to_dict()["components"] == {"n": 3, "sizes": (30, 20, 12)}
    assert KNearest(5, weight=Binary()).build(X, warn_components=False).describe().unweighted
