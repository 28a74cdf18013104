"""Graphs from lists of edges, a matrix or neighbours; invalid input is a one-sentence error."""

import re
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from tamiz.exceptions import DataError
from tamiz.graphs import Binary, Graph, InverseClassSize, KNearest
from tamiz.graphs.edges import MIN_WEIGHT
from tamiz.reduction import UMAP, LaplacianEigenmaps
from tamiz.runtime import validation


@pytest.mark.parametrize(
    ("n_samples", "kind", "sentence"),
    [
        (3.7, TypeError, "n_samples must be a whole number, got 3.7."),
        ("5", TypeError, "n_samples must be a whole number, got '5'."),
        (True, TypeError, "n_samples must be a whole number, got True."),
        (-2, ValueError, "n_samples must be from 1 to 2147483647, got -2."),
        (0, ValueError, "n_samples must be from 1 to 2147483647, got 0."),
        (10**12, ValueError, "n_samples must be from 1 to 2147483647, got 1000000000000."),
    ],
)
def test_an_invalid_number_of_rows_is_refused(n_samples, kind, sentence):
    with pytest.raises(kind, match=re.escape(sentence)):
        Graph.from_edges([], [], n_samples=n_samples)


@pytest.mark.parametrize("row", [-1, 10**12, 2**63 + 5])
def test_a_row_that_no_graph_has_is_named(row):
    dtype = np.int64 if row < 2**63 else np.uint64
    for heads, tails, name in (([0, row], [1, 2], "heads"), ([0, 1], [1, row], "tails")):
        with pytest.raises(
            DataError, match=f"{name} contains row {row}; rows are numbered from 0 to 2147483646 at most"
        ):
            Graph.from_edges(np.array(heads, dtype=dtype), np.array(tails, dtype=dtype))


def test_more_rows_than_fit_in_memory_are_refused_before_they_are_allocated(monkeypatch):
    monkeypatch.setattr(validation, "free_memory", lambda: 1e6)
    sentence = (
        r"A graph of 2,000,000,001 rows needs 48 GB of memory and 1 MB are free\. Number the rows that have edges"
    )
    with pytest.raises(MemoryError, match=sentence):
        Graph.from_edges([0], [2 * 10**9])


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        (["a"], "weights must be real numbers, got an array of <U1"),
        ([1j], "weights must be real numbers, got an array of complex128"),
        ([None], "weights must be real numbers, got an array of object"),
        ([[1.0], [1.0, 2.0]], "weights must be an array of numbers, got lists of unequal lengths"),
        (
            [MIN_WEIGHT / 2],
            r"The edge of rows 0 and 1 has weight 5e-291; a weight that is not 0 must be at least 1e-290\.",
        ),
        ([5e-324], r"The edge of rows 0 and 1 has weight 4.941e-324; a weight that is not 0 must be at least 1e-290\."),
    ],
)
def test_invalid_weights_are_refused(weights, sentence):
    with pytest.raises(DataError, match=sentence):
        Graph.from_edges([0], [1], weights)


def test_lists_of_unequal_lengths_are_no_rows():
    with pytest.raises(DataError, match="heads must be an array of numbers, got lists of unequal lengths"):
        Graph.from_edges([[0], [1, 2]], [1, 2])


def test_weights_whose_sum_is_no_number_are_refused_and_half_of_them_are_not():
    sentence = r"The weights are up to 1e\+308, and their sum is above 1.798e\+308, the largest float64\. Divide"
    for make in (
        lambda: Graph.from_edges([0, 0, 0], [1, 2, 3], [1e308] * 3),
        lambda: Graph.from_sparse(1e308 * (1 - np.eye(3))),
    ):
        with pytest.raises(DataError, match=sentence):
            make()
    graph = Graph.from_edges([0, 0], [1, 2], [4e307, 4e307])
    np.testing.assert_array_equal(graph.degrees, [8e307, 4e307, 4e307])


def test_the_reported_count_is_that_of_the_reported_edge():
    heads, tails = [0, 1, 5, 6, 5, 5], [1, 0, 6, 5, 6, 6]
    with pytest.raises(DataError, match="The edge of rows 0 and 1 is listed 2 times; list every pair once"):
        Graph.from_edges(heads, tails)


@pytest.mark.parametrize(
    ("matrix", "kind", "sentence"),
    [
        (np.ones(4), DataError, r"A graph's matrix must be square, got the shape \(4,\)\."),
        (sparse.coo_array(np.ones(4)), DataError, r"A graph's matrix must be square, got the shape \(4,\)\."),
        (np.ones((2, 2, 2)), DataError, r"A graph's matrix must be square, got the shape \(2, 2, 2\)\."),
        ([[1.0], [1.0, 2.0]], DataError, "A graph's matrix must be an array of numbers, got lists of unequal lengths"),
        (None, TypeError, "A graph's matrix must contain real numbers, sparse or dense, got NoneType of object"),
        (np.ones((2, 2)) * 1j, TypeError, "must contain real numbers, sparse or dense, got ndarray of complex128"),
        (sparse.csr_array(np.ones((2, 2)) * 1j), TypeError, "sparse or dense, got csr_array of complex128"),
        (Graph.from_edges([0], [1]), TypeError, "must contain real numbers, sparse or dense, got EdgeGraph of object"),
        (
            np.eye(3) + 1e-300 * (1 - np.eye(3)),
            DataError,
            "The edge of rows 0 and 1 has weight 1e-300; a weight that is not 0",
        ),
    ],
    ids=range(9),
)
def test_input_that_is_no_matrix_of_weights_is_refused(matrix, kind, sentence):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(kind, match=sentence):
            Graph.from_sparse(matrix)


def test_a_matrix_is_left_as_it_was():
    matrix = sparse.csr_array(([1.0, 2.0, 3.0], [1, 1, 0], [0, 2, 3]), shape=(2, 2))
    for array in (matrix.data, matrix.indices, matrix.indptr):
        array.flags.writeable = False
    np.testing.assert_array_equal(Graph.from_sparse(matrix).adjacency.toarray(), [[0, 3], [3, 0]])
    assert matrix.nnz == 3


def test_weights_at_the_floor_make_the_map_that_weights_near_one_make():
    heads, tails = np.arange(29), np.arange(1, 30)
    w = 1 + np.random.default_rng(0).random(29)
    tiny, ordinary = (Graph.from_edges(heads, tails, w * unit) for unit in (MIN_WEIGHT, 1.0))
    found, expected = (LaplacianEigenmaps(2, graph=graph).fit(np.zeros((30, 1))) for graph in (tiny, ordinary))
    np.testing.assert_allclose(found.eigenvalues_, expected.eigenvalues_, rtol=1e-9)


ASYMMETRIC = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 4.0], [3.0, 0.0, 0.5]])


@pytest.mark.parametrize("form", [np.array, sparse.csr_array, sparse.coo_matrix])
@pytest.mark.parametrize(
    ("symmetrize", "expected"),
    [
        ("max", [[0.0, 2.0, 3.0], [2.0, 0.0, 4.0], [3.0, 4.0, 0.5]]),
        ("mean", [[0.0, 1.5, 1.5], [1.5, 0.0, 2.0], [1.5, 2.0, 0.5]]),
        ("min", [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.5]]),
    ],
)
def test_a_directed_matrix_is_made_symmetric_on_request(form, symmetrize, expected):
    graph = Graph.from_sparse(form(ASYMMETRIC), symmetrize=symmetrize)
    np.testing.assert_array_equal(graph.adjacency.toarray(), expected)
    assert graph.n_edges == np.count_nonzero(np.triu(expected, 1))
    heads, tails = np.nonzero(ASYMMETRIC)
    of_edges = Graph.from_edges(heads, tails, ASYMMETRIC[heads, tails], symmetrize=symmetrize)
    np.testing.assert_array_equal(of_edges.adjacency.toarray(), expected)


def test_a_directed_matrix_is_refused_with_the_way_to_make_it_symmetric():
    with pytest.raises(DataError, match=r"is not symmetric: 1 at row 0, column 2.*symmetrize='max', 'mean' or 'min'"):
        Graph.from_sparse(np.array([[0, 0, 1.0], [0, 0, 0], [0, 0, 0]]))
    with pytest.raises(
        ValueError, match="symmetrize, where it is not None, must be one of 'max', 'mean', 'min', got 'sum'"
    ):
        Graph.from_sparse(ASYMMETRIC, symmetrize="sum")
    with pytest.raises(
        DataError, match=r"The edge of rows 0 and 1 is listed 2 times.*symmetrize='max', 'mean' or 'min'"
    ):
        Graph.from_edges([0, 1], [1, 0])
    with pytest.raises(
        DataError, match="The edge from row 0 to row 1 is listed 2 times; list every direction of a pair"
    ):
        Graph.from_edges([0, 0], [1, 1], symmetrize="mean")


def test_listed_lengths_are_those_of_both_directions():
    heads, tails, lengths = [2, 0, 1, 0], [1, 1, 1, 3], [0.0, 1.5, 0.0, 4.0]
    graph = Graph.from_edges(heads, tails, [1.0, 2.0, 3.0, 4.0], lengths=lengths)
    expected = np.full((4, 4), np.nan)
    expected[heads, tails] = expected[tails, heads] = lengths
    edges = graph.edges
    np.testing.assert_array_equal(edges.indptr, graph.adjacency.indptr)
    np.testing.assert_array_equal(edges.lengths, expected[edges.rows, edges.indices])
    without = Graph.from_edges(heads, tails, [1.0, 2.0, 3.0, 4.0])
    assert graph.adjacency.toarray().tobytes() == without.adjacency.toarray().tobytes()


@pytest.mark.parametrize("form", [np.array, sparse.csr_array, sparse.coo_matrix])
@pytest.mark.parametrize("symmetrize", ["max", "mean", "min"])
def test_lengths_of_one_direction_or_both_are_enough(form, symmetrize):
    distances = np.array([[0.0, 2.0, 5.0], [2.0, 0.0, 1.0], [5.0, 1.0, 0.0]])
    graph = Graph.from_sparse(ASYMMETRIC, lengths=form(distances), symmetrize=symmetrize)
    np.testing.assert_array_equal(graph.edges.lengths, distances[graph.edges.rows, graph.edges.indices])
    heads, tails = np.nonzero(ASYMMETRIC)
    weights = ASYMMETRIC[heads, tails]
    listed = Graph.from_edges(heads, tails, weights, lengths=distances[heads, tails], symmetrize=symmetrize)
    np.testing.assert_array_equal(listed.edges.lengths, graph.edges.lengths)
    one_way = sparse.csr_array((distances[heads, tails], (heads, tails)), shape=(3, 3))
    np.testing.assert_array_equal(
        Graph.from_sparse(ASYMMETRIC, lengths=one_way, symmetrize=symmetrize).edges.lengths, graph.edges.lengths
    )


def test_lengths_of_zero_and_loops_keep_their_edges():
    weights = sparse.csr_array(np.ones((2, 2)))
    stored_zero = sparse.csr_array(([0.0, 0.0], [1, 0], [0, 1, 2]), shape=(2, 2))
    for lengths in (stored_zero, np.zeros((2, 2))):
        assert Graph.from_sparse(weights, lengths=lengths).edges.lengths.tolist() == [0.0] * 4


def test_lengths_that_differ_by_rounding_are_averaged():
    lengths = np.array([[0.0, 1.0], [1.0 + 1e-7, 0.0]])
    graph = Graph.from_sparse(1.0 - np.eye(2), lengths=lengths)
    np.testing.assert_allclose(graph.edges.lengths, 1.0 + 0.5e-7, rtol=1e-15)


@pytest.mark.parametrize(
    ("lengths", "kind", "sentence"),
    [
        (np.ones((3, 3)), DataError, r"lengths has the shape \(3, 3\) and the matrix of weights \(2, 2\)"),
        (
            np.ones((2, 2)) * 1j,
            TypeError,
            "lengths must contain real numbers, sparse or dense, got ndarray of complex128",
        ),
        (-np.ones((2, 2)), DataError, "The edge of rows 0 and 1 has length -1; lengths must be finite and at least 0"),
        ([[0.0, np.inf], [np.inf, 0.0]], DataError, "The edge of rows 0 and 1 has length inf"),
        ([[0.0, 1.0], [2.0, 0.0]], DataError, "The edge of rows 0 and 1 has the lengths 1 and 2"),
        (sparse.csr_array((2, 2)), DataError, "The edge of rows 0 and 1 has a weight and no length"),
    ],
    ids=range(6),
)
def test_lengths_that_no_edge_has_are_refused(lengths, kind, sentence):
    with pytest.raises(kind, match=sentence):
        Graph.from_sparse(1.0 - np.eye(2), lengths=lengths)


def test_listed_lengths_are_checked_edge_by_edge():
    with pytest.raises(DataError, match=r"lengths has the shape \(1,\) for 2 edges; pass one length per edge"):
        Graph.from_edges([0, 1], [1, 2], lengths=[1.0])
    with pytest.raises(DataError, match="The edge of rows 1 and 2 has length nan"):
        Graph.from_edges([0, 1], [1, 2], lengths=[1.0, np.nan])
    with pytest.raises(DataError, match="The edge of rows 0 and 1 has the lengths 1 and 3"):
        Graph.from_edges([0, 1], [1, 0], lengths=[1.0, 3.0], symmetrize="max")


def test_a_graph_of_weights_alone_has_edges_without_lengths():
    for graph in (Graph.from_edges([0], [1]), Graph.from_sparse(np.ones((2, 2)))):
        with pytest.raises(DataError, match=r"made from weights alone.*pass lengths= to Graph\.from_edges"):
            _ = graph.edges
    assert Graph.from_edges([], [], lengths=[], n_samples=3).edges.lengths.tolist() == []


def found_neighbors(n=120, k=8, *, metric="euclidean", own=False, seed=0):
    """Rows, and what scikit-learn's search finds: with the row itself or without it."""
    X = np.random.default_rng(seed).normal(size=(n, 3))
    search = NearestNeighbors(n_neighbors=k + own, metric=metric).fit(X)
    distances, indices = search.kneighbors(X) if own else search.kneighbors()
    return X, indices, distances


@pytest.mark.parametrize("symmetry", ["or", "mutual", "directed"])
@pytest.mark.parametrize("own", [False, True])
def test_neighbours_of_another_library_make_the_graph_of_the_builder(own, symmetry):
    X, indices, distances = found_neighbors(own=own)
    # In any order, and in half precision on a scale of its own.
    order = np.random.default_rng(1).permuted(np.tile(np.arange(indices.shape[1]), (len(X), 1)), axis=1)
    indices, distances = (np.take_along_axis(values, order, axis=1) for values in (indices, distances))
    expected = KNearest(8, symmetry=symmetry).build(X, warn_components=False)
    for d, tolerance in (
        (distances, 1e-12),
        (distances.astype(np.float32), 1e-6),
        (distances.astype(np.float16), 1e-3),
    ):
        graph = Graph.from_neighbors(indices.tolist(), d, symmetry=symmetry)
        assert graph.n_edges == expected.n_edges
        np.testing.assert_array_equal(graph.adjacency.indices, expected.adjacency.indices)
        np.testing.assert_allclose(graph.edges.lengths, expected.edges.lengths, rtol=2 * tolerance)
        np.testing.assert_allclose(graph.adjacency.data, expected.adjacency.data, rtol=10 * tolerance)


def test_of_rows_that_do_not_list_themselves_the_farthest_neighbour_is_left_out():
    # Of four equal rows, a search of three lists the row itself or not.
    indices = np.array([[0, 1, 2], [0, 1, 2], [0, 1, 2], [0, 1, 2], [5, 0, 1], [4, 5, 0]])
    distances = np.array([[0.0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0], [1, 2, 2], [1, 0, 2]])
    graph = Graph.from_neighbors(indices, distances, weight=Binary(), symmetry="directed")
    assert np.diff(graph.adjacency.indptr).tolist() == [2] * 6
    assert graph.adjacency[[3]].indices.tolist() == [0, 1]
    assert graph.adjacency[[4]].indices.tolist() == [0, 5]
    assert graph.adjacency[[5]].indices.tolist() == [0, 4]


def test_a_map_of_these_neighbours_is_that_of_the_rows():
    X, indices, distances = found_neighbors(200, 14, own=True)
    found = UMAP(2, graph=Graph.from_neighbors(indices, distances), random_state=0).fit(X).embedding_
    np.testing.assert_allclose(found, UMAP(2, graph=KNearest(14), random_state=0).fit(X).embedding_, atol=1e-6)


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda i, d: (i[:, 0], d), "indices must be row numbers, k for each row, got an array of shape (120,) and int64."),
        (lambda i, d: (i * 1.0, d), "indices must be row numbers, k for each row, got an array of shape (120, 8) and float64."),
        (lambda i, d: (i, d[:, 1:]), "indices has the shape (120, 8) and distances (120, 7); they must be equal."),
        (lambda i, d: (i[:1], d[:1]), "indices has the shape (1, 8); a graph has 2 to 2,147,483,647 rows, each with a neighbour."),
        (lambda i, d: (i[:, :0], d[:, :0]), "indices has the shape (120, 0); a graph has 2 to"),
        (lambda i, d: (put(i, -1), d), "Neighbour 2 of row 7 is -1: the search found too few neighbours; let it search more,"),
        (lambda i, d: (put(i, 120), d), "Neighbour 2 of row 7 is 120: there are 120 rows. Search the neighbours of rows among"),
        (lambda i, d: (put(i, i[7, 3]), d), " more than once; a neighbour counts once."),
        (lambda i, d: (i, put(d, np.nan)), "has length nan; lengths must be finite and at least 0."),
        (lambda i, d: (i, put(d, -1e-9)), "has length -1e-09; lengths must be finite and at least 0."),
        (lambda i, d: (i, put(d, 9.0)), " is 9 in one direction and "),
        (lambda i, d: (np.arange(120)[:, None], d[:, :1]), "Row 0 lists itself more than once, or nothing else"),
        (lambda i, d: (np.where(np.arange(8) < 2, np.arange(120)[:, None], i), d), "Row 0 lists itself more than once"),
    ],
)  # fmt: skip
def test_neighbours_that_cannot_be_are_named(spoil, sentence):
    _, indices, distances = found_neighbors()
    # The mutual neighbours of row 7 are first, so that a distance has another direction.
    mutual = [j for j in indices[7] if 7 in indices[j]]
    assert mutual
    at = indices[7].tolist().index(mutual[0])
    for values in (indices, distances):
        values[7, [2, at]] = values[7, [at, 2]]
    with pytest.raises(DataError, match=re.escape(sentence)):
        Graph.from_neighbors(*spoil(indices, distances))


def put(values, one):
    changed = values.copy()
    changed[7, 2] = one
    return changed


def test_weights_of_classes_and_unknown_rules_are_refused():
    _, indices, distances = found_neighbors()
    with pytest.raises(ValueError, match="symmetry must be"):
        Graph.from_neighbors(indices, distances, symmetry="both")
    with pytest.raises(DataError, match="InverseClassSize requires classes"):
        Graph.from_neighbors(indices, distances, weight=InverseClassSize())
