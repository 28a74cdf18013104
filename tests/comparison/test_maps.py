"""Comparison of maps: the measures of single fits, one search, costs, distances between maps, and refusals."""

import json
from html import unescape
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from sklearn import decomposition
from sklearn.datasets import load_iris

import tamiz
from tamiz.comparison import compare_maps, procrustes
from tamiz.exceptions import DataError, TamizWarning
from tamiz.graphs import Binary, KNearest, builders
from tamiz.metrics import quality
from tamiz.reduction import MDS, PCA, TSNE, LaplacianEigenmaps
from tamiz.runtime import parallel

X, SPECIES = load_iris(return_X_y=True)
EIGENMAP = LaplacianEigenmaps(graph=KNearest(40))
SHORT_TSNE = TSNE(perplexity=10, n_early_iter=20, n_iter=60, random_state=0)
quiet = pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")


@pytest.fixture(scope="module")
def compared():
    return compare_maps(X, {"PCA": PCA(2), "eigenmap": EIGENMAP, "MDS": MDS(random_state=0)}, SPECIES)


def test_every_map_and_every_measure_is_that_of_a_single_fit(compared):
    for label, alone in {"PCA": PCA(2), "eigenmap": EIGENMAP, "MDS": MDS(random_state=0)}.items():
        embedding = alone.fit(X).embedding_
        np.testing.assert_array_equal(compared[label].embedding, embedding)
        expected = quality(X, embedding, labels=SPECIES)
        for found, wanted in zip(compared[label].quality.measures, expected.measures, strict=True):
            # The rank correlation samples pairs with another seed only where there are more than it reads.
            assert found.value == pytest.approx(wanted.value, abs=1e-12)


def test_distances_between_maps_are_those_of_procrustes(compared):
    found = compared.procrustes_distances
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_array_equal(np.diag(found), 0.0)
    assert found[0, 1] == procrustes(compared["eigenmap"].embedding, compared["PCA"].embedding).statistic
    assert found[0, 2] < 0.01 < found[0, 1]


def test_the_best_map_is_the_one_of_the_best_measure(compared):
    for measure in ("kruskal_stress", "trustworthiness", "label_accuracy"):
        values = {label: one.quality[measure].value for label, one in compared.maps.items()}
        wanted = min(values.values()) if measure == "kruskal_stress" else max(values.values())
        assert values[compared.best(measure)] == wanted


def test_the_table_marks_the_best_value_of_every_measure_and_has_the_costs(compared):
    lines = repr(compared).splitlines()
    assert lines[0].startswith("3 maps: 150 rows, 15 neighbours, euclidean distances; graphs ")
    assert lines[1].split() == ["PCA", "eigenmap", "MDS"]
    stress = next(line for line in lines if line.startswith("kruskal_stress"))
    values = [one.quality["kruskal_stress"].value for one in compared.maps.values()]
    marked = [cell.endswith("*") for cell in stress.split()[1:]]
    assert marked == [value == min(values) for value in values]
    assert [line.split()[0] for line in lines[-3:]] == ["seconds", "memory", "The"]
    assert "<td>label_accuracy</td>" in compared._repr_html_()


def test_the_record_is_json(compared):
    found = json.loads(json.dumps(compared.to_dict()))
    assert [one["label"] for one in found["maps"]] == ["PCA", "eigenmap", "MDS"]
    assert found["maps"][0]["n_samples"] == 150
    assert all(one["seconds"] > 0 and one["peak_bytes"] > 0 for one in found["maps"])


def test_the_memory_of_a_fit_is_measured():
    class Wasteful(decomposition.PCA):
        def fit_transform(self, X, y=None):
            np.ones(4_000_000).sum()
            return super().fit_transform(X)

    found = compare_maps(X, [PCA(2), Wasteful(2)])
    assert 32e6 < found["Wasteful"].peak_bytes < 40e6
    assert found["PCA"].peak_bytes < 2e6


@quiet
def test_graphs_share_a_search(monkeypatch):
    searches = []
    choose = builders.choose_search

    def count(search, points):
        searches.append(points.n_samples)
        return choose(search, points)

    monkeypatch.setattr(builders, "choose_search", count)
    found = compare_maps(X, [EIGENMAP, SHORT_TSNE, PCA(2)])
    assert searches == [150]
    np.testing.assert_array_equal(found["t-SNE"].embedding, SHORT_TSNE.fit(X).embedding_)


def test_labels_are_those_of_the_registry_or_the_parameters():
    found = compare_maps(X, ["pca", MDS(), MDS(kind="ordinal"), decomposition.KernelPCA(2)])
    assert list(found.maps) == ["PCA", "MDS()", "MDS(kind='ordinal')", "KernelPCA"]
    found = compare_maps(X, [PCA(2), PCA(2)])
    assert list(found.maps) == ["PCA() (1)", "PCA() (2)"]


def test_frames_and_numeric_targets():
    table = pd.DataFrame(X, columns=list("abcd"))
    found = compare_maps(table, [PCA(2)], table["a"] + 0.001 * np.arange(150))
    assert "label_accuracy" not in [one.name for one in found["PCA"].quality.measures]
    np.testing.assert_array_equal(found["PCA"].embedding, PCA(2).fit(table).embedding_)


def test_few_rows_are_compared_with_fewer_neighbours():
    found = compare_maps(X[:9], [PCA(2)])
    assert found["PCA"].quality.n_neighbors == 4


def test_the_threads_change_no_bit():
    reducers = {"PCA": PCA(2), "eigenmap": EIGENMAP}
    with parallel.thread_session(1):
        one = compare_maps(X, reducers)
    with parallel.thread_session(2):
        two = compare_maps(X, reducers)
    for label in reducers:
        np.testing.assert_array_equal(one[label].embedding, two[label].embedding)
        assert one[label].quality.measures == two[label].quality.measures


def test_the_estimators_of_the_caller_are_not_changed():
    reducer = LaplacianEigenmaps(disconnected="per_component")
    with pytest.warns(TamizWarning, match="Laplacian eigenmaps: the graph falls into 2 components of 100 and 50 rows"):
        compare_maps(X, [reducer])
    assert reducer.graph is None
    assert not hasattr(reducer, "embedding_")


def test_maps_of_different_dimensions_are_pointed_out():
    with pytest.warns(TamizWarning, match=r"different numbers of coordinates \(PCA 3, MDS 2\)"):
        compare_maps(X, [PCA(3), MDS()])


def test_the_figure_has_a_panel_for_every_map(compared):
    figure = compared.plot(SPECIES)
    assert [ax.get_title().splitlines()[0] for ax in figure.axes] == ["PCA", "eigenmap", "MDS"]
    value = compared["MDS"].quality["trustworthiness"].value
    assert figure.axes[2].get_title().splitlines()[1] == f"trustworthiness {value:.3f}"


def test_a_map_without_extent_is_named():
    class Constant(decomposition.PCA):
        def fit_transform(self, X, y=None):
            return np.zeros((len(X), 2))

    with pytest.raises(DataError, match=r"^Constant: All rows of the embedding have the same coordinates"):
        compare_maps(X, [PCA(2), Constant()])


@pytest.mark.parametrize(
    ("reducers", "error", "sentence"),
    [
        ([], ValueError, r"^reducers is empty; pass at least one map\.$"),
        ("pca", TypeError, r"^reducers must be a list or a dict of maps, got 'pca'\.$"),
        (["pcb"], ValueError, r"pcb"),
        ([PCA], TypeError, r"^A map must be an estimator with fit_transform, such as PCA\(2\), or a name, got"),
        ([3], TypeError, r"^A map must be an estimator with fit_transform"),
        ([LaplacianEigenmaps()], DataError, r"^Laplacian eigenmaps: The graph falls into 2 components"),
    ],
)
def test_a_bad_value_is_an_error_of_one_sentence(reducers, error, sentence):
    with pytest.raises(error, match=sentence):
        compare_maps(X, reducers)


@pytest.fixture(scope="module")
def by_table():
    table, y = load_iris(return_X_y=True, as_frame=True)
    return tamiz.compare(table, y.map(str).rename("species"), ["pca", "laplacian-eigenmaps"], random_state=3)


def test_compare_has_the_settings_of_a_study_and_the_measures_of_compare_maps(by_table):
    table, y = load_iris(return_X_y=True, as_frame=True)
    graph = KNearest(15, weight=Binary(), metric="seuclidean")
    maps = {
        "PCA": PCA(2, standardize=True),
        "Laplacian eigenmaps": LaplacianEigenmaps(2, graph=graph, disconnected="connect"),
    }
    expected = compare_maps(table, maps, y.map(str), metric="seuclidean", random_state=3)
    for label in maps:
        np.testing.assert_allclose(by_table[label].embedding, expected[label].embedding)
        for measure in expected[label].quality.measures:
            assert by_table[label].quality[measure.name].value == pytest.approx(measure.value)


def test_the_frame_has_a_column_for_each_map_in_every_library(by_table):
    frame = by_table.to_frame("pandas").set_index("measure")
    assert frame.columns.tolist() == ["PCA", "Laplacian eigenmaps"]
    assert frame.loc["trustworthiness", "PCA"] == by_table["PCA"].quality["trustworthiness"].value
    assert frame.index[-2:].tolist() == ["seconds", "megabytes"]
    assert by_table.to_frame("polars")["PCA"].to_list() == by_table.to_frame("pyarrow")["PCA"].to_pylist()


def test_the_sentence_names_the_pair_of_maps_of_the_smallest_procrustes_distance(compared):
    distances = compared.procrustes_distances
    pairs = {(i, j): distances[i, j] for i in range(3) for j in range(i)}
    i, j = min(pairs, key=pairs.__getitem__)
    labels = list(compared.maps)
    assert f"are those of {labels[j]} and {labels[i]}: Procrustes distance m² = {pairs[i, j]:.3g}," in compared.sentence


def test_a_notebook_shows_the_maps_coloured_by_the_target(by_table):
    html = by_table._repr_html_()
    svg = ElementTree.fromstring(html[html.index("<svg") : html.index("</svg>") + 6])
    texts = [text.text for text in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert {"PCA", "Laplacian eigenmaps", "species", "0", "1", "2"} <= set(texts)
    assert by_table.sentence in unescape(html)
    assert pyplot.get_fignums() == []


def test_many_points_are_pixels_in_a_notebook():
    rows = np.random.default_rng(0).normal(size=(3000, 3))
    found = compare_maps(rows, [PCA(2)], sample=200)
    assert "<image" in found._repr_html_()
    assert len(found._repr_html_()) < 150_000
    assert found.sentence == ""


@pytest.mark.filterwarnings("ignore:TZ502", "ignore:TZ206")
def test_compare_samples_rows_and_leaves_out_rows_without_a_target_with_notes():
    rng = np.random.default_rng(0)
    y = rng.normal(size=130)
    y[:10] = np.nan
    found = tamiz.compare(rng.normal(size=(130, 3)), y, ["pca"], map_rows=50)
    assert found["PCA"].quality.n_samples == 50
    assert "label_accuracy" not in found.to_frame("pandas")["measure"].tolist()
    assert [one.code for one in found.warnings] == ["TZ206", "TZ502"]
    assert found.warnings[1] == "50 of the 120 rows are mapped and compared, drawn at random."


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"maps": ["pcb"]}, "'pcb' is no map .did you mean 'pca'"),
        ({"maps": ["pca", PCA(3)]}, "maps lists PCA twice"),
        ({"maps": ["classical-mds"], "dissimilarity": "gowr"}, "supports the dissimilarities"),
        ({"maps": ["umap"], "graph": "radius"}, "radius needs a number after a colon, such as radius:0.8"),
        ({"map_rows": 2}, "map_rows must be"),
        ({"maps": []}, r"maps must be a list of at least one map, such as .*, got \[\]"),
        ({"maps": "pca"}, "got 'pca'"),
    ],
)
def test_compare_refuses_what_cannot_be_used(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        tamiz.compare(X, **arguments)
