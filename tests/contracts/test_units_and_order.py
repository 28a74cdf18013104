"""Units, the order of the columns and copies of rows decide nothing in any method on neighbours: what rounding decides is a tie."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris
from sklearn.neighbors import KNeighborsClassifier
from tests.neighbors.distance_only_points import OnlyDistances
from tests.reference import neighbors as plain
from tests.reference.ties import tie_keys

from tamiz import RankSelector, SubsetSelector, criteria, metrics
from tamiz.cluster import SpectralClustering
from tamiz.criteria import CrossValidated, MultiSURF, MutualInformation, ReliefF
from tamiz.graphs import ConnectedRadius, KNearest, Radius, SameClass
from tamiz.graphs.edges import HeatKernel
from tamiz.neighbors import BruteForce, KDTree, NNDescent
from tamiz.neighbors.exact_search import choose_exact_search
from tamiz.neighbors.metrics import read_points
from tamiz.neighbors.spanning_tree import spanning_tree
from tamiz.reduction import MDS, UMAP, Isomap, LandmarkMDS, LaplacianEigenmaps, LocallyLinearEmbedding
from tamiz.reduction.graph_reducer import shortest_edges
from tamiz.search import Forward

IRIS, SPECIES = load_iris(return_X_y=True)
GRID = np.indices((5, 4, 3)).reshape(3, -1).T + 1.0
# Several components, and layouts that stop at once.
pytestmark = pytest.mark.filterwarnings("ignore")
TABLES = {"iris": IRIS, "grid": GRID, "rows twice": np.concatenate([IRIS[:60:2], IRIS[20:80:2]])}
CHANGES = {
    "times 10": lambda X: X * 10,
    "times 2.54": lambda X: X * 2.54,
    "times .001": lambda X: X * 1e-3,
    "columns reversed": lambda X: X[:, ::-1],
    "columns turned, in inches": lambda X: np.roll(X, 1, axis=1) / 2.54,
}
# Every column in a unit of its own, for methods that divide columns by their scale.
OWN_UNITS = {"units by column": lambda X: X * np.array([2.54, 1e-3, 10, 1 / 3])[: X.shape[1]]}
tables = pytest.mark.parametrize("table", TABLES)
changes = pytest.mark.parametrize("change", CHANGES)


def changed(table, change):
    """The table after the change."""
    return (CHANGES | OWN_UNITS)[change](TABLES[table])


def nearest(points, k=15, search=None):
    search = choose_exact_search(points) if search is None else search
    return search.fit(points).query(k).indices.reshape(-1, k)


def read(X, metric):
    if metric == "sparse":
        return read_points(sparse.csr_array(X), "euclidean", fill_missing=False)[0]
    given = cdist(X, X) if metric == "precomputed" else X
    return read_points(given, metric, fill_missing=False)[0]


METRICS = ["euclidean", "seuclidean", "cityblock", "gower", "precomputed", "sparse"]


@tables
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("change", [*CHANGES, *OWN_UNITS])
def test_neighbours_are_the_same(table, metric, change):
    if change in OWN_UNITS and metric not in ("seuclidean", "gower"):
        return
    X = np.ascontiguousarray(changed(table, change))
    assert (nearest(read(X, metric)) == nearest(read(TABLES[table], metric))).all()


@changes
def test_neighbours_by_direction_are_the_same(change):
    assert (nearest(read(changed("iris", change), "cosine")) == nearest(read(IRIS, "cosine"))).all()


@tables
@changes
@pytest.mark.parametrize("search", [BruteForce(), KDTree()], ids=["products", "tree"])
def test_every_exact_search_finds_what_the_plain_order_of_all_pairs_has(table, change, search):
    X = np.ascontiguousarray(changed(table, change))
    expected = plain.nearest(plain.distances(X, X), 15, own=True)[0]
    assert (nearest(read(X, "euclidean"), search=search) == expected).all()
    assert (nearest(OnlyDistances(X)) == expected).all()
    assert (expected == plain.nearest(plain.distances(TABLES[table], TABLES[table]), 15, own=True)[0]).all()


@tables
@changes
def test_a_descent_orders_what_it_finds_alike(table, change):
    """It may miss some of several ties, but no smaller distance in these tables."""
    X = np.ascontiguousarray(changed(table, change))
    found = NNDescent(random_state=0).fit(read(X, "euclidean")).query(15)
    keys = tie_keys(found.distances).reshape(-1, 15)
    expected = tie_keys(plain.nearest(plain.distances(X, X), 15, own=True)[1])
    np.testing.assert_allclose(keys, expected, rtol=2.0**-25)
    tied = keys[:, 1:] == keys[:, :-1]
    assert (np.diff(found.indices.reshape(-1, 15), axis=1)[tied] > 0).all()
    assert tied.sum() > len(X)


@tables
def test_copies_of_rows_at_the_end_leave_the_order_of_the_others(table):
    X = TABLES[table]
    alone, with_copies = nearest(read(X, "euclidean")), nearest(read(np.concatenate([X, X[::3]]), "euclidean"), 20)
    for row, found in enumerate(with_copies[: len(X)]):
        others = found[found < len(X)][:15]
        assert (others == alone[row][: len(others)]).all()


def edges(graph):
    """The ends of all edges."""
    return np.stack([graph.edges.rows, graph.edges.indices])


BUILDERS = {
    "k nearest": lambda unit: KNearest(7),
    "mutual": lambda unit: KNearest(7, symmetry="mutual"),
    "within classes": lambda unit: KNearest(7, within_class=True),
    "radius": lambda unit: Radius(unit * 1.0),
    "connected radius": lambda unit: ConnectedRadius(),
    "same class": lambda unit: SameClass(weight=HeatKernel()),
}


@pytest.mark.parametrize("table", ["iris", "grid"])
@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize(("change", "unit"), list(zip(CHANGES, (10, 2.54, 1e-3, 1, 1 / 2.54), strict=True)))
def test_graphs_have_the_same_edges_and_weights(table, builder, change, unit):
    classes = SPECIES if table == "iris" else np.arange(len(GRID)) % 2
    before = BUILDERS[builder](1).build(TABLES[table], classes)
    after = BUILDERS[builder](unit).build(changed(table, change), classes)
    assert np.array_equal(edges(before), edges(after))
    np.testing.assert_allclose(after.edges.lengths, unit * before.edges.lengths, rtol=1e-12)
    np.testing.assert_allclose(after.adjacency.data, before.adjacency.data, rtol=1e-12)


@tables
@changes
def test_the_spanning_tree_has_the_same_edges_and_its_longest_connects_the_rows_in_any_unit(table, change):
    trees = [
        spanning_tree(choose_exact_search(points).fit(points))
        for points in (read(TABLES[table], "euclidean"), read(changed(table, change), "euclidean"))
    ]
    assert np.array_equal(trees[0].heads, trees[1].heads)
    assert np.array_equal(trees[0].tails, trees[1].tails)
    unit = np.median(changed(table, change).sum(axis=1) / TABLES[table].sum(axis=1))
    graph = Radius(ConnectedRadius().radius(TABLES[table]) * unit).build(changed(table, change))
    assert len(graph.components) == 1


RELEVANCES = {
    "relieff": ReliefF(),
    "relieff, numeric target": ReliefF(),
    "multisurf": MultiSURF(),
    "multisurf, numeric target": MultiSURF(),
    "laplacian": criteria.LaplacianScore(),
    "spectral": criteria.SPEC(),
    "multi-cluster": criteria.MCFS(),
    "mutual information": MutualInformation(),
    "mutual information, numeric target": MutualInformation(),
}


@pytest.mark.parametrize("change", [*CHANGES, *OWN_UNITS])
@pytest.mark.parametrize("name", RELEVANCES)
def test_scores_are_the_same(name, change):
    if change in OWN_UNITS and name in ("laplacian", "spectral", "multi-cluster"):
        return
    order = np.argsort(CHANGES.get(change, lambda X: X)(np.arange(4.0)[None])[0])
    y = IRIS.sum(axis=1) * 1.1 if "numeric" in name else SPECIES.astype(str)
    before, after = (RankSelector(RELEVANCES[name]).fit(X, y).scores_ for X in (IRIS, changed("iris", change)))
    np.testing.assert_allclose(after[order], before, rtol=1e-6, atol=1e-9)


EMBEDDINGS = {
    "laplacian eigenmaps": LaplacianEigenmaps(2, graph=KNearest(30)),
    "isomap": Isomap(2, graph=KNearest(30)),
    "locally linear": LocallyLinearEmbedding(2, graph=KNearest(30)),
    "modified": LocallyLinearEmbedding(2, graph=KNearest(30), method="modified"),
}


@changes
@pytest.mark.parametrize("name", EMBEDDINGS)
def test_embeddings_are_the_same(name, change):
    """Up to the sign of a coordinate and the unit of distances."""
    before, after = (EMBEDDINGS[name].fit(X).embedding_ for X in (IRIS, changed("iris", change)))
    before, after = (one / np.abs(one).max(axis=0) for one in (before, after))
    after *= np.sign((before * after).sum(axis=0))
    np.testing.assert_allclose(after, before, atol=1e-6)


@pytest.mark.parametrize("ties", ["primary", "secondary"])
@pytest.mark.parametrize("change", [name for name in CHANGES if name.startswith("times")])
@pytest.mark.parametrize("table", ["iris", "grid"])
def test_ordinal_maps_are_the_same(table, change, ties):
    """Up to the unit of distances."""
    tables = TABLES[table][:60], np.ascontiguousarray(changed(table, change)[:60])
    # No two rows start at one place: there the direction of a step would be undefined.
    init = tables[0][:, :2] + tables[0][:, [2]] * [0.3, -0.2]
    mds = MDS(kind="ordinal", ties=ties, dissimilarity="precomputed", init=init)
    before, after = (mds.fit(cdist(X, X)).embedding_ for X in tables)
    np.testing.assert_allclose(after / np.abs(after).max(), before / np.abs(before).max(), atol=1e-9)


@changes
def test_the_graphs_of_layouts_are_the_same(change):
    """Those of UMAP and t-SNE; the layout itself amplifies rounding errors."""
    before, after = (UMAP(n_epochs=1).fit(X).graph_ for X in (IRIS, changed("iris", change)))
    assert np.array_equal(edges(before), edges(after))
    before, after = (shortest_edges(KNearest(15).build(X), 10) for X in (IRIS, changed("iris", change)))
    assert np.array_equal(before.rows, after.rows)
    assert np.array_equal(before.indices, after.indices)


@changes
@pytest.mark.parametrize("n_features", [1, 4])
def test_scores_of_nearest_neighbours_are_the_same(change, n_features):
    merit = CrossValidated(KNeighborsClassifier(5))
    before, after = (
        SubsetSelector(merit, Forward(), n_features=n_features).fit(X, SPECIES).merit_
        for X in (IRIS, changed("iris", change))
    )
    assert after == before


@changes
def test_the_farthest_landmarks_are_the_same(change):
    before, after = (
        LandmarkMDS(2, n_landmarks=20, landmarks="maxmin", random_state=0).fit(X).landmarks_
        for X in (GRID, changed("grid", change))
    )
    assert (before == after).all()


@changes
def test_clusters_are_the_same(change):
    before, after = (
        SpectralClustering(3, graph=KNearest(30), random_state=0).fit(X).labels_
        for X in (IRIS, changed("iris", change))
    )
    assert (before == after).all()


@changes
@pytest.mark.parametrize(
    "measure", ["trustworthiness", "continuity", "neighborhood_recall", "mean_relative_rank_errors", "rank_agreement"]
)
def test_measures_of_maps_are_the_same(measure, change):
    X, rounded = changed("iris", change), IRIS[:, :2]
    before, after = (
        vars(found) if hasattr(found, "__dict__") else {"value": found}
        for found in (
            getattr(metrics, measure)(IRIS, rounded),
            getattr(metrics, measure)(X, rounded[:, ::-1] * 2.54),
        )
    )
    for key, value in before.items():
        np.testing.assert_allclose(after[key], value, rtol=1e-12)
