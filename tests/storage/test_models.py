"""Graphs, models and selections behave after loading as before, to the bit."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from tamiz import RankSelector, SubsetSelector, criteria, graphs, load, neighbors, reduction, save, search
from tamiz.cluster import SpectralClustering
from tamiz.criteria import CFS, InformationGain, LaplacianScore
from tamiz.exceptions import DataError
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
from tamiz.neighbors import BruteForce, KDTree, NNDescent
from tamiz.reduction import PCA, LaplacianEigenmaps
from tamiz.search import BestFirst, Evaluations, Forward, Seconds

from .files import again, alike, document_of, parts_of

ARGUMENTS = {
    "Radius": (1.5,),
    "Evaluations": (10,),
    "Seconds": (1.5,),
    "Patience": (3,),
    "MinGain": (0.1,),
    "TargetMerit": (0.5,),
}
KINDS = ("relevance", "merit", "search", "map", "stopping", "discretization", "builder", "weight", "neighbors")
PARTS = [
    entry
    for package in (criteria, graphs, neighbors, reduction, search)
    for entry in package.registry
    if entry.kind in KINDS
]


def rows(n, n_columns=3, seed=0):
    """Rows with ties and duplicates."""
    X = np.random.default_rng(seed).normal(size=(n, n_columns)).round(1)
    X[: n // 10] = X[n // 2 : n // 2 + n // 10]
    return X


def mixed(n, seed=0):
    """A table of numbers, names and missing values."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    size = rng.normal(size=n)
    size[::7] = np.nan
    return pd.DataFrame({"größe": size, "colour": rng.choice(["red", "grün", "blue"], n), "weight": rng.normal(size=n)})


def assert_same_graph(graph, loaded):
    assert alike(loaded.adjacency, graph.adjacency)
    assert alike(loaded.degrees, graph.degrees)
    assert alike(loaded.components.labels, graph.components.labels)
    assert alike(loaded.edges, graph.edges)
    for name in ("n_samples", "n_edges", "radius", "t", "search_description", "recall", "directed"):
        assert alike(getattr(loaded, name), getattr(graph, name)), name
    assert alike(loaded.first_occurrences(), graph.first_occurrences())


def assert_attaches_alike(graph, loaded, X):
    before, after = graph.attach(X), loaded.attach(X)
    assert alike(before.neighbors, after.neighbors)
    assert alike(before.relative_weights, after.relative_weights)
    assert alike(before.nearest_weights, after.nearest_weights)


@pytest.mark.parametrize("entry", PARTS, ids=lambda entry: entry.attribute)
def test_every_part_comes_back_with_its_parameters(entry, tmp_path):
    part = entry.load()(*ARGUMENTS.get(entry.attribute, ()))
    loaded = again(part, tmp_path)
    assert type(loaded) is type(part)
    assert repr(loaded) == repr(part)


def test_parts_within_parts_come_back(tmp_path):
    stop = Evaluations(3) | Seconds(2.5)
    whole = SubsetSelector(
        CFS(), Forward(fixed=["größe", 2], column_groups=[(0, 1)]), stop=stop, journal=tmp_path / "j"
    )
    loaded = again([whole, KNearest(3, weight=HeatKernel(2.0), search=KDTree())], tmp_path)
    assert repr(loaded[0]) == repr(whole)
    assert loaded[0].search.column_groups == [(0, 1)]
    assert loaded[1].weight.t == 2.0


@pytest.mark.filterwarnings("ignore:.*falls into:tamiz.exceptions.TamizWarning")
@pytest.mark.parametrize(
    "builder",
    [
        KNearest(4, search=BruteForce()),
        KNearest(4, search=KDTree()),
        KNearest(4, symmetry="mutual", weight=Binary()),
        KNearest(4, symmetry="directed", weight=HeatKernel(2.0)),
        KNearest(4, metric="seuclidean"),
        KNearest(4, metric="cosine"),
        Radius(1.5),
        ConnectedRadius(),
    ],
    ids=repr,
)
def test_a_graph_comes_back_and_joins_new_rows_as_before(builder, tmp_path):
    X = rows(200)
    graph = builder.build(X)
    loaded = again(graph, tmp_path)
    assert_same_graph(graph, loaded)
    assert_attaches_alike(graph, loaded, np.vstack([rows(50, seed=1), X[:20]]))


def test_a_graph_of_an_approximate_search_comes_back_with_its_recall(tmp_path):
    X = rows(2500, n_columns=6)
    graph = KNearest(15, search=NNDescent()).build(X)
    loaded = again(graph, tmp_path)
    assert_same_graph(graph, loaded)
    assert_attaches_alike(graph, loaded, np.vstack([rows(50, n_columns=6, seed=1), X[:20]]))


@pytest.mark.filterwarnings("ignore:.*falls into:tamiz.exceptions.TamizWarning")
def test_a_graph_of_mixed_columns_comes_back_and_reads_new_rows_as_before(tmp_path):
    for metric in ("gower", "seuclidean"):
        table = mixed(80) if metric == "gower" else mixed(80).fillna(0.25)
        new = mixed(20, seed=1) if metric == "gower" else mixed(20, seed=1).fillna(0.25)
        graph = KNearest(4, metric=metric).build(table)
        assert_attaches_alike(graph, again(graph, tmp_path), new)


def test_a_graph_of_sparse_rows_comes_back(tmp_path):
    X = sparse.random_array((80, 200), density=0.05, random_state=np.random.default_rng(0), format="csr")
    X = sparse.csr_array(X + sparse.csr_array((np.ones(80), (np.arange(80), np.arange(80) % 7)), shape=X.shape))
    for metric in ("euclidean", "cosine"):
        graph = KNearest(4, metric=metric).build(X)
        loaded = again(graph, tmp_path)
        assert alike(loaded.adjacency, graph.adjacency)
        assert_attaches_alike(graph, loaded, X[:9] * 1.5)


def test_a_graph_of_given_distances_comes_back(tmp_path):
    X, new = rows(60), rows(9, seed=1)
    graph = KNearest(4, metric="precomputed").build(cdist(X, X))
    assert_attaches_alike(graph, again(graph, tmp_path), cdist(new, X))


def test_a_graph_of_classes_comes_back(tmp_path):
    X, y = rows(60), np.repeat(["a", "b", "c"], 20)
    for weight in (None, Binary(), HeatKernel(2.0)):
        graph = SameClass(weight=weight).build(X, y)
        loaded = again(graph, tmp_path)
        assert alike(loaded.degrees, graph.degrees)
        assert alike(loaded.adjacency, graph.adjacency)
        assert alike(loaded.variation(X), graph.variation(X))
    graph = KNearest(3, within_class=True, weight=InverseClassSize()).build(X, y)
    assert alike(again(graph, tmp_path).adjacency, graph.adjacency)


def test_a_graph_that_was_given_comes_back(tmp_path):
    edges = Graph.from_edges([0, 1, 1], [1, 2, 1], [0.5, 2.0, 1.0], n_samples=4)
    matrix = Graph.from_sparse(np.ones((3, 3)))
    for graph in (edges, matrix):
        loaded = again(graph, tmp_path)
        assert alike(loaded.adjacency, graph.adjacency)
        assert alike(loaded.degrees, graph.degrees)
    with pytest.raises(DataError, match="no distances to new rows"):
        again(edges, tmp_path).attach([[0.0]])
    with pytest.raises(DataError, match="made from weights alone"):
        _ = again(edges, tmp_path).edges
    measured = Graph.from_edges([0, 1], [1, 2], lengths=[0.0, 2.5])
    assert alike(again(measured, tmp_path).edges, measured.edges)


def test_derived_attributes_are_not_stored(tmp_path):
    graph = KNearest(4, search=KDTree()).build(rows(200))
    assert graph.degrees.sum() > 0
    assert len(graph.components)
    n_values = 200 * 3
    path = save(graph, tmp_path / "x")
    arrays = [np.load(path)[name] for name in np.load(path).files if name.startswith("arrays")]
    assert sum(array.dtype == np.float64 and array.size == n_values for array in arrays) == 1
    assert sum(array.size == 200 for array in arrays) == 0


@pytest.mark.parametrize("laplacian", ["random_walk", "symmetric", "unnormalized"])
def test_laplacian_eigenmaps_place_new_rows_as_before(laplacian, tmp_path):
    X, new = rows(200), rows(30, seed=1)
    fitted = LaplacianEigenmaps(2, graph=KNearest(10), laplacian=laplacian).fit(X)
    loaded = again(fitted, tmp_path)
    for name in ("embedding_", "eigenvalues_", "residuals_", "component_labels_", "n_features_in_"):
        assert alike(getattr(loaded, name), getattr(fitted, name)), name
    assert alike(loaded.transform(new), fitted.transform(new))
    assert alike(loaded.transform(X), fitted.transform(X))
    assert loaded.get_params()["graph__n_neighbors"] == 10
    assert loaded.get_feature_names_out().tolist() == fitted.get_feature_names_out().tolist()


def test_a_graph_that_a_model_was_given_stays_one_with_its_own(tmp_path):
    graph = KNearest(10).build(rows(200))
    fitted = LaplacianEigenmaps(2, graph=graph).fit(rows(200))
    loaded = again(fitted, tmp_path)
    assert loaded.graph is loaded.graph_
    assert len(parts_of(save(fitted, tmp_path / "map"))) <= len(parts_of(save(graph, tmp_path / "graph"))) + 5


def test_spectral_clustering_comes_back_with_its_embedding(tmp_path):
    X = rows(200)
    embedding = LaplacianEigenmaps(3, graph=KNearest(10)).fit(X)
    fitted = SpectralClustering(3, embedding=embedding, random_state=0).fit(X)
    loaded = again(fitted, tmp_path)
    assert alike(loaded.labels_, fitted.labels_)
    assert alike(loaded.eigenvalues_, fitted.eigenvalues_)
    assert loaded.graph_ is loaded.embedding.graph_
    assert alike(loaded.fit(X).labels_, fitted.labels_)


def test_principal_components_place_new_rows_as_before(tmp_path):
    table, new = mixed(80), mixed(20, seed=1)
    with pytest.warns(UserWarning, match="missing values were imputed with the mean"):
        fitted = PCA(3, standardize=True).fit(table)
    loaded = again(fitted, tmp_path)
    assert alike(vars(loaded), vars(fitted))
    with pytest.warns(UserWarning, match="of new rows count as the mean of the column"):
        assert alike(loaded.transform(new), fitted.transform(new))
    assert alike(loaded.inverse_transform(fitted.embedding_), fitted.inverse_transform(fitted.embedding_))
    assert loaded.coordinate_names_ == ["größe", "weight", "colour=blue", "colour=grün", "colour=red"]
    assert loaded.describe() == fitted.describe()


def test_the_container_of_set_output_is_kept(tmp_path):
    fitted = PCA(2).fit(rows(30)).set_output(transform="pandas")
    assert again(fitted, tmp_path).transform(rows(3)).columns.tolist() == ["pca0", "pca1"]


def test_a_ranking_comes_back(tmp_path):
    table = mixed(80).fillna(0.0)
    y = np.where(table["weight"] > 0, "yes", "no")
    fitted = RankSelector(InformationGain(), n_features=2).fit(table, y)
    loaded = again(fitted, tmp_path)
    for name in ("scores_", "ranking_", "feature_names_in_"):
        assert alike(getattr(loaded, name), getattr(fitted, name)), name
    assert loaded.schema_ == fitted.schema_
    assert loaded.transform(table).equals(fitted.transform(table))
    assert alike(again(RankSelector(LaplacianScore(graph=KNearest(5))).fit(rows(60)), tmp_path).scores_.shape, (3,))


def test_a_selection_comes_back_with_its_archive(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    X = (rng.normal(size=(200, 20)) + 0.5 * y[:, None] * rng.random(20)).round(1)
    fitted = SubsetSelector(CFS(), BestFirst(), n_features=(2, 6)).fit(X, y)
    loaded = again(fitted, tmp_path)
    assert alike(loaded.transform(X), fitted.transform(X))
    assert alike(loaded.merit_, fitted.merit_)
    before, after = fitted.archive_, loaded.archive_
    assert alike(after.masks, before.masks)
    assert alike(after.merits, before.merits)
    assert alike(after.sizes, before.sizes)
    for name in (
        "best",
        "best_merit",
        "improvements",
        "stop_reason",
        "interrupted",
        "stopped_early",
        "n_unrecorded",
        "bound",
        "n_steps_without_gain",
        "last_gain",
    ):
        assert alike(getattr(after, name), getattr(before, name)), name
    candidates = next(before.batches())
    numbers = after.index.lookup(after.index.keys(candidates))
    assert alike(numbers, np.arange(len(candidates)))
    assert alike(after.merits_at(numbers), before.merits_at(numbers))


def test_a_file_contains_few_arrays_for_a_long_search(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 100)
    fitted = SubsetSelector(CFS(), Forward(), n_features=15).fit(rng.normal(size=(100, 30)) + y[:, None], y)
    assert fitted.n_evaluations_ > 300
    assert len(parts_of(save(fitted, tmp_path / "x"))) < 15


def test_a_table_of_many_columns_is_stored_in_a_file_of_reasonable_size(tmp_path):
    fitted = RankSelector(criteria.Variance()).fit(rows(10, n_columns=2000))
    path = save(fitted, tmp_path / "x")
    assert path.stat().st_size < 100_000
    assert document_of(path)["content"]["record"]["class"] == "tamiz.selection.rank_selector:RankSelector"
    assert load(path).schema_ == fitted.schema_
