"""Graphs from rows: edges, weights and warnings."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from tests.reference import graphs as plain

from tamiz import open_table
from tamiz.exceptions import DataError, TamizWarning
from tamiz.graphs import (
    Binary,
    ConnectedRadius,
    Graph,
    HeatKernel,
    InverseClassSize,
    KNearest,
    Radius,
    SameClass,
)
from tamiz.graphs.builders import check_builder_or_graph
from tamiz.neighbors import BruteForce
from tamiz.runtime import parallel

quiet = pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")


def rows(seed, n=60, p=3, kind="gaussian"):
    rng = np.random.default_rng(seed)
    return {
        "gaussian": lambda: rng.normal(size=(n, p)),
        "grid": lambda: rng.integers(0, 4, (n, p)).astype(float),
        "clusters": lambda: rng.normal(size=(n, p)) + 50.0 * rng.integers(0, 3, n)[:, None],
        "duplicates": lambda: np.repeat(rng.normal(size=(n // 3, p)), 3, axis=0),
    }[kind]()


@quiet
@pytest.mark.parametrize("kind", ["gaussian", "grid", "clusters", "duplicates"])
@pytest.mark.parametrize("symmetry", ["or", "mutual", "directed"])
@pytest.mark.parametrize("k", [1, 5, 30])
def test_the_graph_of_nearest_neighbours_is_the_plain_one(kind, symmetry, k):
    X = rows(1, kind=kind)
    expected, t = plain.heat_graph(X, k, symmetry=symmetry)
    graph = KNearest(k, symmetry=symmetry).build(X)
    np.testing.assert_allclose(graph.adjacency.toarray(), expected, rtol=1e-12, atol=0)
    assert graph.t == pytest.approx(t, rel=1e-12)


def test_an_edge_is_there_when_either_is_near_and_weighs_the_same_in_both_directions():
    # Row 2's nearest is row 1, and row 1's is row 0: one edge is mutual, the other one-way.
    X = [[0.0], [1.0], [3.0]]
    either = KNearest(1, weight=Binary()).build(X).adjacency.toarray()
    np.testing.assert_array_equal(either, [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    with pytest.warns(TamizWarning, match=r"2 components of 2 and 1 rows; row 2 has no edges"):
        mutual = KNearest(1, weight=Binary(), symmetry="mutual").build(X)
    np.testing.assert_array_equal(mutual.adjacency.toarray(), [[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    directed = KNearest(1, weight=Binary(), symmetry="directed").build(X)
    np.testing.assert_array_equal(directed.adjacency.toarray(), [[0, 1, 0], [1, 0, 0], [0, 1, 0]])
    with pytest.raises(DataError, match="A directed graph has no symmetric Laplacian"):
        directed.laplacian()


def test_edges_of_length_zero_are_edges():
    X = np.array([[0.0], [0.0], [0.0], [5.0]])
    graph = KNearest(2).build(X)
    assert graph.adjacency.toarray()[0, 1] == 1.0
    assert graph.n_edges == 5
    assert graph.edges.lengths.min() == 0.0


@quiet
def test_equal_distances_go_to_the_lower_row():
    graph = KNearest(1, weight=Binary(), symmetry="directed").build([[1.0], [0.0], [2.0], [1.0]])
    np.testing.assert_array_equal(graph.adjacency.indices, [3, 0, 0, 0])
    for turned in ([3.0, 1.0, 2.0], [2.0, 3.0, 1.0], [1.0, 3.0, 2.0]):
        graph = KNearest(1, weight=Binary(), symmetry="directed").build([[0.0, 0.0, 0.0], [1.0, 2.0, 3.0], turned])
        assert graph.adjacency.indices[0] == 1


@pytest.mark.parametrize("kind", ["gaussian", "grid", "clusters", "duplicates"])
def test_the_radius_graph_joins_all_pairs_within_it(kind):
    X = rows(2, kind=kind)
    D = plain.distances(X)
    radius = ConnectedRadius().radius(X)
    graph = Radius(radius, weight=Binary()).build(X)
    np.testing.assert_array_equal(graph.adjacency.toarray(), (radius >= D) & ~np.eye(len(X), dtype=bool))
    assert len(graph.components) == 1
    assert graph.radius == radius
    assert len(Components(radius > D)) > 1


def Components(joined):
    return np.unique(sparse.csgraph.connected_components(sparse.csr_array(joined))[1])


def test_the_connected_radius_graph_is_the_radius_graph_of_its_radius():
    X = rows(3)
    finder = ConnectedRadius(weight=Binary())
    np.testing.assert_array_equal(
        finder.build(X).adjacency.toarray(), Radius(finder.radius(X), weight=Binary()).build(X).adjacency.toarray()
    )


def test_neighbours_within_the_class_are_of_the_class():
    X, y = load_iris(return_X_y=True)
    graph = KNearest(4, within_class=True, weight=InverseClassSize()).build(X, y)
    heads, tails = graph.adjacency.nonzero()
    assert (y[heads] == y[tails]).all()
    np.testing.assert_array_equal(graph.adjacency.data, 1 / 50)
    for c in range(3):
        alone = KNearest(4, weight=Binary()).build(X[y == c]).adjacency.toarray()
        np.testing.assert_array_equal(graph.adjacency.toarray()[np.ix_(y == c, y == c)] > 0, alone > 0)


def test_classes_come_from_a_table_too():
    iris = load_iris(as_frame=True)
    table = open_table(iris.data, iris.target)
    from_table = KNearest(4, within_class=True).build(table)
    np.testing.assert_array_equal(
        from_table.adjacency.toarray(),
        KNearest(4, within_class=True).build(iris.data, iris.target).adjacency.toarray(),
    )
    np.testing.assert_array_equal(SameClass().build(table).degrees, np.ones(150))


@pytest.mark.parametrize("weight", [None, Binary(), HeatKernel(2.0)], ids=["share", "binary", "heat"])
def test_the_class_graph_is_the_dense_one(weight):
    X, y = load_iris(return_X_y=True)
    graph = SameClass(weight=weight).build(X, y)
    same = y[:, None] == y
    heat = np.exp(-(plain.distances(X) ** 2) / 2.0)
    dense = {"NoneType": same / 50, "Binary": same * 1.0, "HeatKernel": same * heat}[type(weight).__name__]
    np.testing.assert_allclose(graph.adjacency.toarray(), dense, rtol=1e-12)
    np.testing.assert_allclose(graph.degrees, dense.sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(graph.dot(X), dense @ X, rtol=1e-12)
    np.testing.assert_array_equal(graph.components.sizes, [50, 50, 50])
    assert graph.n_edges == 3 * 50 * 49 / 2


def test_categories_are_scaled_indicators_and_numbers_stay_as_they_are():
    frame = pd.DataFrame({"x": [0.0, 1.0, 2.0, 3.0], "c": ["a", "b", "b", "b"]})
    graph = KNearest(3, symmetry="directed").build(frame)
    # An indicator is divided by the root of its share: 1/4 and 3/4.
    squared = 1.0**2 + 1 / 0.25 + 1 / 0.75
    first = graph.edges.lengths[0]
    assert first == pytest.approx(np.sqrt(squared), rel=1e-12)


def test_standardised_columns_count_alike_whatever_their_unit():
    X = rows(4)
    metres = KNearest(5, metric="seuclidean").build(X).adjacency.toarray()
    np.testing.assert_allclose(
        KNearest(5, metric="seuclidean").build(X * [1, 1000, 0.001]).adjacency.toarray(), metres, rtol=1e-9
    )


@quiet
@pytest.mark.parametrize("metric", ["euclidean", "seuclidean", "cosine", "gower"])
def test_bits_do_not_depend_on_threads(metric):
    X = rows(5, n=300, p=6)
    built = []
    for n_jobs in (1, 2):
        with parallel.thread_session(n_jobs):
            built.append(KNearest(7, metric=metric).build(X).adjacency)
    assert built[0].data.tobytes() == built[1].data.tobytes()
    assert built[0].indices.tobytes() == built[1].indices.tobytes()


def test_distances_that_are_given_make_the_same_graph():
    X = rows(6)
    given = KNearest(5, metric="precomputed").build(plain.distances(X))
    np.testing.assert_allclose(given.adjacency.toarray(), KNearest(5).build(X).adjacency.toarray(), rtol=1e-9)


def test_sparse_rows_make_the_same_graph():
    X = rows(7) * (np.random.default_rng(0).random((60, 3)) < 0.5)
    for metric in ("euclidean",):
        dense = KNearest(5, metric=metric).build(X).adjacency.toarray()
        np.testing.assert_allclose(
            KNearest(5, metric=metric).build(sparse.csr_array(X)).adjacency.toarray(), dense, rtol=1e-9
        )


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda X: KNearest(0).build(X), r"n_neighbors must be at least 1, got 0"),
        (lambda X: KNearest(60).build(X), r"n_neighbors must be below the number of rows = 60, got 60"),
        (lambda X: KNearest(2.5).build(X), r"n_neighbors must be a whole number, got 2.5"),
        (
            lambda X: KNearest(3, symmetry="union").build(X),
            r"symmetry must be one of 'or', 'mutual', 'directed', got 'union'",
        ),
        (lambda X: KNearest(3, metric="manhattan").build(X), r"metric must be one of .*'gower'.*, got 'manhattan'"),
        (lambda X: KNearest(3, weight=HeatKernel(-1)).build(X), r"t must be above 0, got -1"),
        (lambda X: KNearest(3, weight=HeatKernel(0)).build(X), r"t must be above 0, got 0"),
        (lambda X: KNearest(3, weight=HeatKernel(np.nan)).build(X), r"t must be a number, got nan"),
        (
            lambda X: KNearest(3, weight=HeatKernel(1e-12)).build(X),
            r"t=1e-12 makes the weight of every edge 0: .* t=\d.* or more keeps all weights above 0",
        ),
        (
            lambda X: KNearest(3, weight=InverseClassSize()).build(X, np.arange(60) % 2),
            r"InverseClassSize requires edges within classes",
        ),
        (lambda X: KNearest(3, within_class=True).build(X), r"requires y to be passed, but the target y is None"),
        (
            lambda X: KNearest(3, within_class=True).build(X, ["lone"] + ["other"] * 59),
            r"Class 'lone' has 1 row, too few for 3 neighbours within the class. Leave the class out",
        ),
        (lambda X: Radius(-1.0).build(X), r"radius must be at least 0.0, got -1"),
        (lambda X: Radius(1e-9).build(X), r"radius=1e-09 joins no two rows: the nearest two are .* apart"),
        (lambda X: KNearest(3).build(np.ones((20, 2))), r"All 20 rows are equal, so no row is nearer than another"),
        (
            lambda X: KNearest(3).build(np.where(X[7, 0] == X, np.nan, X)),
            r"Row 7 has a missing value, in column x0; distances need all",
        ),
        (lambda X: SameClass().build(X, ["a"] * 30), r"X has 60 rows and y has 30 values"),
        (lambda X: SameClass().build(X), r"requires y to be passed"),
        (lambda X: Graph.from_edges([0], [1]).build(X), r"The graph has 2 rows and X has 60; build a graph of X"),
        (
            lambda X: KNearest(5, weight="binary").build(X),
            r"^weight must be a Weight, such as Binary\(\) or HeatKernel\(\), got 'binary'\.$",
        ),
        (lambda X: KNearest(5, weight=Binary).build(X), r"^weight must be a Weight, .*, got the class Binary\.$"),
        (
            lambda X: SameClass(weight="share").build(X, ["a", "b"] * 30),
            r"^weight must be a Weight, .*, got 'share'\.$",
        ),
        (lambda X: KNearest(5, weight="binary").needs_classes, r"^weight must be a Weight, .*, got 'binary'\.$"),
        (
            lambda X: SameClass().build(open_table(X, ["a", "b"] * 30), ["a", "b"] * 30),
            r"^A Table has its own target and weights: pass them to open_table",
        ),
        (
            lambda X: SameClass().build(open_table(X)),
            r"^SameClass joins rows of one class; open the table with a target of classes\.$",
        ),
        (
            lambda X: SameClass().build(open_table(pd.DataFrame(X, columns=["a b", "c", "d"]), "a b")),
            r"^SameClass joins rows of one class; open the table with a target of classes: 'a b' is read as numeric\. "
            r"Pass kinds=\{'a b': 'categorical'\} or, on the command line, --kinds 'a b=categorical'\.$",
        ),
        (
            lambda X: KNearest(1).build(sparse.csr_array((0, 3))),
            r"^X has 0 samples \(rows\); a graph needs at least 2\.$",
        ),
        (
            lambda X: KNearest(1).build(sparse.csr_array([[1.0]])),
            r"^X has 1 sample \(row\); a graph needs at least 2\.$",
        ),
    ],
)
def test_input_without_a_graph_is_refused_in_one_sentence(build, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        build(rows(8))


def test_the_width_that_is_named_leaves_a_weight_to_every_edge():
    X = rows(9)
    with pytest.raises(ValueError, match="keeps all weights above 0") as refused:
        KNearest(3, weight=HeatKernel(1e-9)).build(X)
    t = float(str(refused.value).rpartition("t=")[2].split()[0])
    graph = KNearest(3, weight=HeatKernel(t)).build(X)
    assert graph.adjacency.nnz == KNearest(3).build(X).adjacency.nnz


def test_edges_whose_weight_vanishes_are_reported():
    X = np.array([[0.0], [1.0], [2.0], [1000.0]])
    with pytest.warns(TamizWarning) as told:
        graph = KNearest(1, weight=HeatKernel(1.0)).build(X)
    sentences = [str(w.message) for w in told]
    assert "t=1 makes the weight of 1 of 3 edges 0, which removes them; t=1." in sentences[0]
    assert "falls into 2 components of 3 and 1 rows; row 3 has no edges" in sentences[1]
    assert graph.n_edges == 2


def test_a_missing_value_can_be_filled_and_is_reported():
    X = rows(10)
    X[3, 1] = np.nan
    with pytest.warns(TamizWarning, match="1 missing value was replaced by column means"):
        graph = KNearest(5).build(X, fill_missing=True)
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    np.testing.assert_allclose(graph.adjacency.toarray(), KNearest(5).build(filled).adjacency.toarray(), rtol=1e-12)


def test_components_are_reported_with_their_sizes():
    X = np.concatenate([rows(11, n=20), rows(12, n=10) + 100])
    with pytest.warns(TamizWarning, match=r"The graph of 30 rows falls into 2 components of 20 and 10 rows"):
        graph = KNearest(5).build(X)
    np.testing.assert_array_equal(graph.components.labels, np.repeat([0, 1], [20, 10]))


def test_a_graph_in_pieces_is_joined_by_the_shortest_edges_when_asked():
    X = np.concatenate([rows(13, n=20), rows(14, n=10) + 100, rows(15, n=10) - 100])
    with pytest.warns(TamizWarning, match="3 components"):
        graph = KNearest(5).build(X)
    with pytest.warns(TamizWarning, match=r"2 edges of lengths .* join the 3 components of the graph"):
        joined = graph.connect_components()
    assert len(joined.components) == 1
    assert joined.n_edges == graph.n_edges + 2
    added = (joined.adjacency - graph.adjacency).tocoo()
    D = plain.distances(X)
    for low, high in ((0, 1), (0, 2)):
        between = np.ix_(graph.components.labels == low, graph.components.labels == high)
        edge = [
            (i, j) for i, j in zip(added.row, added.col, strict=True) if i < j and graph.components.labels[j] == high
        ]
        assert D[edge[0]] == D[between].min()
    assert joined.connect_components() is joined


def assert_lengths_are_distances(graph, D):
    """Check that edges are the entries of the matrix of weights, with the distances of their rows."""
    edges, S = graph.edges, graph.adjacency
    np.testing.assert_array_equal(edges.indptr, S.indptr)
    np.testing.assert_array_equal(edges.indices, S.indices)
    assert edges.indptr.dtype == np.int64
    assert edges.indices.dtype == np.int32
    np.testing.assert_allclose(edges.lengths, D[edges.rows, edges.indices], rtol=1e-12, atol=0)


@quiet
@pytest.mark.parametrize(
    "builder",
    [
        KNearest(5),
        KNearest(5, symmetry="mutual"),
        KNearest(5, symmetry="directed"),
        KNearest(5, weight=Binary()),
        KNearest(5, weight=InverseClassSize(), within_class=True),
        KNearest(5, weight=HeatKernel(1e-3)),
        Radius(1.0),
        ConnectedRadius(),
        SameClass(weight=HeatKernel(t=np.inf)),
    ],
)
def test_every_graph_of_rows_has_the_lengths_of_its_edges(builder):
    X = rows(21, kind="duplicates")
    assert_lengths_are_distances(builder.build(X, ["a", "b", "b"] * 20), plain.distances(X))


@quiet
def test_a_directed_graph_is_made_symmetric_with_its_lengths():
    X = rows(23, kind="duplicates")
    directed = KNearest(4, symmetry="directed").build(X)
    lengths = directed.edges.length_matrix()
    assert lengths.nnz == directed.adjacency.nnz
    assert not lengths.data.all()
    with pytest.raises(DataError, match=r"lengths=graph\.edges\.length_matrix\(\), symmetrize='mean'"):
        directed.laplacian()
    graph = Graph.from_sparse(directed.adjacency, lengths=lengths, symmetrize="mean")
    assert_lengths_are_distances(graph, plain.distances(X))
    assert graph.adjacency.nnz == KNearest(4).build(X).adjacency.nnz


@quiet
@pytest.mark.parametrize("weight", [HeatKernel(), Binary(), HeatKernel(1e-3)])
def test_a_connected_graph_has_the_lengths_of_old_and_new_edges(weight):
    X = rows(22, kind="duplicates")
    X[30:45] += 50.0
    X[45:] -= 50.0
    graph = KNearest(2, weight=weight).build(X)
    joined = graph.connect_components()
    assert len(graph.components) > 3
    assert len(joined.components) == 1
    assert_lengths_are_distances(joined, plain.distances(X))
    # The weights are those of a sum of matrices.
    added = joined.adjacency - graph.adjacency
    assert added.nnz == 2 * (len(graph.components) - 1)
    assert (graph.adjacency + added).toarray().tobytes() == joined.adjacency.toarray().tobytes()
    np.testing.assert_array_equal(joined.adjacency.toarray(), joined.adjacency.toarray().T)


@pytest.mark.parametrize("weight", [InverseClassSize(), Binary()])
def test_a_graph_of_classes_names_the_builder_whose_graph_has_lengths(weight):
    graph = SameClass(weight=weight).build([[1.0], [2.0], [4.0]], ["a", "a", "b"])
    with pytest.raises(
        DataError, match=rf"{type(weight).__name__}\(\).*no lengths; SameClass\(weight=HeatKernel\(t=np\.inf"
    ):
        _ = graph.edges


@quiet
def test_new_rows_are_attached_each_by_itself():
    X, new = rows(16), rows(17, n=7)
    graph = KNearest(5, weight=HeatKernel(3.0)).build(X)
    together = graph.attach(new)
    D = np.sqrt(((new[:, None] - X[None]) ** 2).sum(axis=2))
    for i in range(len(new)):
        alone = graph.attach(new[i : i + 1])
        here = slice(together.neighbors.indptr[i], together.neighbors.indptr[i + 1])
        np.testing.assert_array_equal(together.neighbors.indices[here], alone.neighbors.indices)
        assert together.relative_weights[here].tobytes() == alone.relative_weights.tobytes()
        np.testing.assert_array_equal(together.neighbors.indices[here], np.argsort(D[i], kind="stable")[:5])
        near = np.sort(D[i])[:5]
        np.testing.assert_allclose(together.relative_weights[here], np.exp((near[0] ** 2 - near**2) / 3.0), rtol=1e-9)
        assert together.nearest_weights[i] == pytest.approx(np.exp(-(near[0] ** 2) / 3.0), rel=1e-9)


def test_a_new_row_outside_every_radius_is_joined_to_the_nearest_and_reported():
    X = rows(18)
    graph = ConnectedRadius().build(X)
    with pytest.warns(TamizWarning, match=r"1 new row has no row of the graph within the radius"):
        attached = graph.attach(np.concatenate([X[:2], [[99.0, 99.0, 99.0]]]))
    far = plain.distances(np.concatenate([[[99.0, 99.0, 99.0]], X]))[0, 1:]
    assert attached.neighbors.indices[-1] == np.argmin(far)
    assert len(attached.neighbors.indptr) == 4


def test_the_search_can_be_named_and_is_reported():
    X = rows(19)
    assert KNearest(5, search=BruteForce()).build(X).search_description == "exact, by matrix products"
    assert KNearest(5).build(X).recall == 1.0


@pytest.mark.parametrize(
    ("given", "told"),
    [("knn", "'knn'"), (5, "5"), (KNearest, "the class KNearest"), (Binary(), r"Binary\(\)"), (None, "None")],
)
def test_an_object_that_is_neither_a_builder_nor_a_graph_is_refused(given, told):
    with pytest.raises(
        TypeError, match=rf"^graph must be a GraphBuilder or a Graph, such as KNearest\(15\), got {told}\.$"
    ):
        check_builder_or_graph(given)


def test_builders_and_graphs_are_taken_as_they_are():
    builder, graph = KNearest(5), Graph.from_edges([0], [1])
    assert check_builder_or_graph(builder) is builder
    assert check_builder_or_graph(graph) is graph


def test_rows_are_named_by_their_numbers_in_the_users_table():
    X, target = rows(20), np.array(["a", "b"] * 30, dtype=object)
    target[[2, 7, 30]] = None
    X[50] += 1000.0
    with pytest.warns(TamizWarning, match=r"2 components of 56 and 1 rows; row 50 has no edges\.$"):
        graph = Radius(100.0).build(open_table(X, target))
    assert graph.components.describe() == "2 components of 56 and 1 rows; row 47 has no edges"
    X[50] = 0.0
    with pytest.raises(DataError, match=r"^Row 50 has only zeros and so no direction"):
        KNearest(5, metric="cosine").build(open_table(X, target))
