"""Sweeps of parameters: the eigenmaps of the 2003 figure, one neighbour search, the maps of single fits, t-SNE, other maps."""

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr
from sklearn.datasets import load_iris, make_swiss_roll
from sklearn.decomposition import KernelPCA

from tamiz.comparison import parameter_sweep
from tamiz.exceptions import DataError, TamizWarning
from tamiz.graphs import Binary, HeatKernel, KNearest
from tamiz.metrics import quality
from tamiz.neighbors import BruteForce
from tamiz.neighbors.base import NeighborIndex, NeighborSearch
from tamiz.reduction import TSNE, UMAP, LaplacianEigenmaps
from tamiz.runtime import parallel

NUMBERS, WIDTHS = (5, 10, 15), (5.0, 25.0, np.inf)
quiet = pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")


def sweep_eigenmaps(X, n_neighbors=NUMBERS, t=WIDTHS, search=None, **parameters):
    graph = KNearest(search=search)
    return parameter_sweep(X, LaplacianEigenmaps(graph=graph, **parameters), {"n_neighbors": n_neighbors, "t": t})


@pytest.fixture(scope="module", params=[1, 3])
def roll(request):
    X, along = make_swiss_roll(400, random_state=request.param)
    return X, along, sweep_eigenmaps(X)


class CountingIndex(NeighborIndex):
    description = "counted"

    def __init__(self, index, asked):
        self.index, self.asked, self.points = index, asked, index.points

    def query(self, k, queries=None):
        self.asked.append((k, queries))
        return self.index.query(k, queries)

    def query_radius(self, radius, queries=None):
        self.asked.append((radius, queries))
        return self.index.within(radius, queries)


class Counting(NeighborSearch):
    """An exact search that writes down what it is asked."""

    def __init__(self):
        self.fits, self.asked = 0, []

    def __sklearn_clone__(self):
        return self

    def fit(self, points):
        self.fits += 1
        return CountingIndex(BruteForce().fit(points), self.asked)


@pytest.mark.slow
def test_few_neighbours_follow_the_roll_at_any_width_and_many_only_at_a_narrow_one(roll):
    _, along, grid = roll
    follows = {key: abs(spearmanr(mapped.embedding[:, 0], along).statistic) for key, mapped in grid.maps.items()}
    assert all(follows[5, t] > 0.99 for t in WIDTHS)
    assert follows[15, 5.0] > 0.99
    assert all(follows[15, t] < 0.6 for t in (25.0, np.inf))
    # Between the two, every edge that jumps costs a little more the more it weighs.
    assert follows[10, 5.0] > follows[10, 25.0] > follows[10, np.inf] > follows[15, np.inf]


def test_every_map_is_to_the_bit_the_one_fitted_alone(roll):
    X, _, grid = roll
    new, _ = make_swiss_roll(20, random_state=9)
    assert list(grid.maps) == [(k, t) for k in NUMBERS for t in WIDTHS]
    for (k, t), fitted in grid.maps.items():
        mapped = fitted.reducer
        alone = LaplacianEigenmaps(2, graph=KNearest(k, weight=HeatKernel(t))).fit(X)
        difference = mapped.graph_.adjacency != alone.graph_.adjacency
        assert difference.nnz == 0
        assert mapped.graph_.t == t
        np.testing.assert_array_equal(mapped.embedding_, alone.embedding_)
        np.testing.assert_array_equal(mapped.eigenvalues_, alone.eigenvalues_)
        np.testing.assert_array_equal(mapped.transform(new), alone.transform(new))
        np.testing.assert_array_equal(grid[k, t].embedding, mapped.embedding_)


def test_the_neighbours_are_searched_once_as_many_as_the_largest_graph_has():
    X, _ = make_swiss_roll(200, random_state=1)
    search = Counting()
    sweep_eigenmaps(X, n_neighbors=[15, 5, 10], search=search)
    assert search.fits == 1
    assert search.asked == [(15, None)]


def test_a_map_places_new_rows_among_as_many_neighbours_as_it_was_built_with():
    X, _ = make_swiss_roll(200, random_state=1)
    search = Counting()
    grid = sweep_eigenmaps(X, n_neighbors=[5, 12], t=[25], search=search)
    search.asked.clear()
    grid[5, 25].reducer.transform(X[:3] + 0.1)
    assert [k for k, _ in search.asked] == [5]


def test_distances_and_frames_are_taken_as_the_builder_takes_them():
    # No two distances are equal, and so none changes its place where they were rounded in another order.
    X = pd.DataFrame(np.random.default_rng(3).normal(size=(80, 3)), columns=["a", "b", "c"])
    plain = sweep_eigenmaps(X.to_numpy(), n_neighbors=[12], t=[1])[12, 1].embedding
    np.testing.assert_array_equal(sweep_eigenmaps(X, n_neighbors=[12], t=[1])[12, 1].embedding, plain)
    precomputed = LaplacianEigenmaps(graph=KNearest(metric="precomputed"))
    given = parameter_sweep(cdist(X, X), precomputed, {"n_neighbors": [12], "t": [1]}, metric="precomputed")
    np.testing.assert_allclose(given[12, 1].embedding, plain, atol=1e-7)


def test_the_threads_change_no_bit():
    X = load_iris().data[50:]
    with parallel.thread_session(1):
        one = sweep_eigenmaps(X, n_neighbors=[12, 15], t=[1, 5])
    with parallel.thread_session(2):
        two = sweep_eigenmaps(X, n_neighbors=[12, 15], t=[1, 5])
    for key, mapped in one.maps.items():
        np.testing.assert_array_equal(mapped.embedding, two.maps[key].embedding)


def test_the_record_contains_the_maps_in_the_requested_order():
    X, _ = make_swiss_roll(100, random_state=1)
    sweep = sweep_eigenmaps(X, n_neighbors=range(12, 9, -2), t=np.array([np.inf, 2.5]), n_components=3)
    assert sweep.parameters == {"n_neighbors": (12, 10), "t": (np.inf, 2.5)}
    assert repr(sweep) == "<ParameterSweep of 100 rows in 3 coordinates: n_neighbors=12, 10; t=∞, 2.5>"
    with pytest.raises(KeyError, match=r"no map of 5, ∞; it has n_neighbors 12, 10; t ∞, 2\.5\."):
        sweep[5, np.inf]
    found = sweep.measure("continuity")
    assert found.shape == (2, 2)
    assert found[1, 0] == quality(X, sweep[10, np.inf].embedding, random_state=0)["continuity"].value


TWO = np.vstack([np.random.default_rng(0).normal(size=(30, 2)), 50 + np.random.default_rng(1).normal(size=(20, 2))])


def test_a_graph_that_falls_apart_is_refused_by_its_values():
    with pytest.raises(DataError, match=r"^6, 1000: The graph falls into 2 components of 30 and 20 rows\. Use more "):
        sweep_eigenmaps(TWO, n_neighbors=[35, 6], t=[1000])


def test_a_graph_that_falls_apart_is_connected_when_requested():
    with pytest.warns(TamizWarning, match="added to join the 2 components"):
        sweep = sweep_eigenmaps(TWO, n_neighbors=[6], t=[500], disconnected="connect")
    first = sweep[6, 500].embedding[:, 0]
    assert max(first[:30].min(), first[30:].min()) > min(first[:30].max(), first[30:].max())


def test_a_graph_that_falls_apart_is_mapped_by_component_when_requested():
    with pytest.warns(TamizWarning, match=r"6, 500: the graph falls into 2 components of 30 and 20 rows; each has "):
        sweep = sweep_eigenmaps(TWO, n_neighbors=[6], t=[500], disconnected="per_component")
    assert sweep[6, 500].reducer.eigenvalues_.shape == (2, 2)
    alone = sweep_eigenmaps(TWO[:30], n_neighbors=[6], t=[500])[6, 500].embedding
    np.testing.assert_allclose(sweep[6, 500].embedding[:30], alone, atol=1e-8)


X20 = np.random.default_rng(2).normal(size=(20, 2))


@pytest.mark.parametrize(
    ("parameters", "error", "sentence"),
    [
        ({}, ValueError, r"^parameters must have one or two parameters, got 0\.$"),
        ({"n_neighbors": [5], "t": [1], "disconnected": ["error"]}, ValueError, r"one or two parameters, got 3"),
        ([("t", [5])], TypeError, r"^parameters must be a dict, such as "),
        ({"n_neighbors": []}, ValueError, r"^n_neighbors is an empty list; a sweep needs at least one value\.$"),
        ({"t": 5}, TypeError, r"^t must be a list, got 5\. Put it in brackets: \[5\]\.$"),
        ({"t": [5, 5.0]}, ValueError, r"^t contains 5 twice; pass each value once\.$"),
        ({"t": [0.0]}, ValueError, r"^t must be above 0, got 0"),
        ({"t": [1e-9]}, ValueError, r"^t=1e-09 makes the weight of every edge 0: the shortest is"),
        ({"n_neighbors": [5, 20]}, ValueError, r"^n_neighbors must be below the number of rows = 20, got 20"),
        ({"neighbors": [5]}, ValueError, r"^LaplacianEigenmaps has no parameter 'neighbors'.*it has .*n_neighbors"),
        ({"n_components": [1, 20]}, ValueError, r"^n_components must be below the number of rows = 20"),
        ({"disconnected": ["join"]}, ValueError, r"^disconnected must be one of 'error', 'connect', 'per_component'"),
    ],
)
def test_a_bad_value_is_an_error_of_one_sentence(parameters, error, sentence):
    with pytest.raises(error, match=sentence):
        parameter_sweep(X20, LaplacianEigenmaps(), parameters)


def test_rows_that_are_all_equal_are_refused():
    with pytest.raises(DataError, match=r"^All 30 rows are equal"):
        sweep_eigenmaps(np.ones((30, 2)))


def test_the_figure_has_a_column_for_each_value_of_the_first_parameter_and_a_row_for_the_second(roll):
    _, along, grid = roll
    figure = grid.plot(along, color_label="along the roll")
    *panels, bar = figure.axes
    titles = [ax.get_title() for ax in panels]
    assert [title.splitlines()[0] for title in titles] == [
        f"n_neighbors = {k}, t = {t}" for t in ("5", "25", "∞") for k in NUMBERS
    ]
    assert titles[3].splitlines()[1] == f"trustworthiness {grid[5, 25].quality['trustworthiness'].value:.3f}"
    assert bar.get_ylabel() == "along the roll"
    for (k, t), ax in zip([(k, t) for t in WIDTHS for k in NUMBERS], panels, strict=True):
        points = ax.collections[-1]
        np.testing.assert_array_equal(points.get_offsets(), grid[k, t].embedding)
        np.testing.assert_array_equal(points.get_array(), along)
        assert points.get_clim() == (along.min(), along.max())
        assert not len(ax.get_xticks())
        assert not len(ax.get_yticks())


def test_the_panels_have_limits_of_their_own(roll):
    *_, grid = roll
    figure = grid.plot()
    assert len(figure.axes) == 9
    assert len({ax.get_xlim() for ax in figure.axes}) == 9


def test_classes_are_named_once_beside_the_last_panel_of_the_first_row(roll):
    _, along, grid = roll
    figure = grid.plot(np.where(along < 10, "inner", "outer"))
    legends = [ax.get_legend() for ax in figure.axes]
    assert [at for at, legend in enumerate(legends) if legend] == [2]
    assert [text.get_text() for text in legends[2].get_texts()] == ["inner", "outer"]


def test_maps_of_one_coordinate_are_drawn_against_the_rows():
    grid = sweep_eigenmaps(X20, n_neighbors=[6], t=[5], n_components=1)
    (ax,) = grid.plot().axes
    np.testing.assert_array_equal(ax.collections[0].get_offsets()[:, 1], np.arange(20))


@quiet
def test_perplexities_of_tsne_share_a_search_and_equal_single_fits():
    X = load_iris().data
    reducer = TSNE(n_early_iter=20, n_iter=60, random_state=3)
    sweep = parameter_sweep(X, reducer, {"perplexity": [5, 20]}, load_iris().target)
    for perplexity in (5, 20):
        alone = TSNE(perplexity=perplexity, n_early_iter=20, n_iter=60, random_state=3).fit(X)
        np.testing.assert_array_equal(sweep[perplexity].embedding, alone.embedding_)
        assert sweep[perplexity].reducer.graph_.n_edges == 150 * 3 * perplexity
    assert sweep.measure("label_accuracy").shape == (2,)
    assert reducer.get_params()["perplexity"] is None


@quiet
def test_a_parameter_of_the_map_comes_before_one_of_its_graph():
    X = load_iris().data
    sweep = parameter_sweep(X, UMAP(n_epochs=20, random_state=0), {"n_neighbors": [5, 10], "min_dist": [0.1]})
    assert [one.reducer.n_neighbors_ for one in sweep.maps.values()] == [5, 10]


def test_a_map_of_another_library_is_swept():
    X = load_iris().data
    sweep = parameter_sweep(X, KernelPCA(2, kernel="rbf"), {"gamma": [0.01, 1.0]})
    np.testing.assert_allclose(sweep[1.0].embedding, KernelPCA(2, kernel="rbf", gamma=1.0).fit_transform(X))


def test_a_built_graph_cannot_be_swept_and_a_weight_without_a_width_has_no_t():
    graph = KNearest(5).build(X20)
    with pytest.raises(ValueError, match="LaplacianEigenmaps has no parameter 't'"):
        parameter_sweep(X20, LaplacianEigenmaps(graph=graph), {"t": [1]})
    with pytest.raises(ValueError, match="LaplacianEigenmaps has no parameter 't'"):
        parameter_sweep(X20, LaplacianEigenmaps(graph=KNearest(5, weight=Binary())), {"t": [1]})
