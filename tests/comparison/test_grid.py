"""The grid of Laplacian eigenmaps: the swiss roll of the 2003 figure, one neighbour search, and the same maps as fitted singly."""

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr
from sklearn.datasets import load_iris, make_swiss_roll

from tamiz.comparison import eigenmap_grid
from tamiz.exceptions import DataError, TamizWarning
from tamiz.graphs import HeatKernel, KNearest
from tamiz.neighbors import BruteForce
from tamiz.neighbors.base import NeighborIndex, NeighborSearch
from tamiz.reduction import LaplacianEigenmaps
from tamiz.runtime import optional_imports, parallel

NUMBERS, WIDTHS = (5, 10, 15), (5.0, 25.0, np.inf)


@pytest.fixture(scope="module", params=[1, 3])
def roll(request):
    X, along = make_swiss_roll(400, random_state=request.param)
    return X, along, eigenmap_grid(X)


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

    def fit(self, points):
        self.fits += 1
        return CountingIndex(BruteForce().fit(points), self.asked)


def test_few_neighbours_follow_the_roll_at_any_width_and_many_only_at_a_narrow_one(roll):
    _, along, grid = roll
    follows = {key: abs(spearmanr(mapped.embedding_[:, 0], along).statistic) for key, mapped in grid.maps.items()}
    assert all(follows[5, t] > 0.99 for t in WIDTHS)
    assert follows[15, 5.0] > 0.99
    assert all(follows[15, t] < 0.6 for t in (25.0, np.inf))
    # Between the two, every edge that jumps costs a little more the more it weighs.
    assert follows[10, 5.0] > follows[10, 25.0] > follows[10, np.inf] > follows[15, np.inf]


def test_every_map_is_to_the_bit_the_one_fitted_alone(roll):
    X, _, grid = roll
    new, _ = make_swiss_roll(20, random_state=9)
    assert list(grid.maps) == [(k, t) for k in NUMBERS for t in WIDTHS]
    for (k, t), mapped in grid.maps.items():
        alone = LaplacianEigenmaps(2, graph=KNearest(k, weight=HeatKernel(t))).fit(X)
        difference = mapped.graph_.adjacency != alone.graph_.adjacency
        assert difference.nnz == 0
        assert mapped.graph_.t == t
        np.testing.assert_array_equal(mapped.embedding_, alone.embedding_)
        np.testing.assert_array_equal(mapped.eigenvalues_, alone.eigenvalues_)
        np.testing.assert_array_equal(mapped.transform(new), alone.transform(new))
        assert grid.embedding(k, t) is mapped.embedding_


def test_the_neighbours_are_searched_once_as_many_as_the_largest_graph_has():
    X, _ = make_swiss_roll(200, random_state=1)
    search = Counting()
    eigenmap_grid(X, n_neighbors=[15, 5, 10], search=search)
    assert search.fits == 1
    assert search.asked == [(15, None)]


def test_a_map_places_new_rows_among_as_many_neighbours_as_it_was_built_with():
    X, _ = make_swiss_roll(200, random_state=1)
    search = Counting()
    grid = eigenmap_grid(X, n_neighbors=[5, 12], t=[25], search=search)
    search.asked.clear()
    grid.maps[5, 25].transform(X[:3] + 0.1)
    assert [k for k, _ in search.asked] == [5]


def test_distances_and_frames_are_taken_as_the_builder_takes_them():
    # No two distances are equal, and so none changes its place where they were rounded in another order.
    X = pd.DataFrame(np.random.default_rng(3).normal(size=(80, 3)), columns=["a", "b", "c"])
    plain = eigenmap_grid(X.to_numpy(), n_neighbors=[12], t=[1]).embedding(12, 1)
    np.testing.assert_array_equal(eigenmap_grid(X, n_neighbors=[12], t=[1]).embedding(12, 1), plain)
    given = eigenmap_grid(cdist(X, X), n_neighbors=[12], t=[1], metric="precomputed")
    np.testing.assert_allclose(given.embedding(12, 1), plain, atol=1e-7)


def test_the_threads_change_no_bit():
    X = load_iris().data[50:]
    with parallel.thread_session(1):
        one = eigenmap_grid(X, n_neighbors=[12, 15], t=[1, 5])
    with parallel.thread_session(2):
        two = eigenmap_grid(X, n_neighbors=[12, 15], t=[1, 5])
    for key, mapped in one.maps.items():
        np.testing.assert_array_equal(mapped.embedding_, two.maps[key].embedding_)


def test_the_record_contains_the_maps_in_the_requested_order():
    X, _ = make_swiss_roll(100, random_state=1)
    grid = eigenmap_grid(X, n_neighbors=range(12, 9, -2), t=np.array([np.inf, 2.5]), n_components=3)
    assert (grid.n_neighbors, grid.t) == ((12, 10), (np.inf, 2.5))
    assert repr(grid) == "<EigenmapGrid of 100 rows in 3 coordinates: n_neighbors=12, 10; t=inf, 2.5>"
    with pytest.raises(
        ValueError, match=r"no map of n_neighbors=5, t=inf; it has n_neighbors 12, 10 and t inf, 2\.5\.$"
    ):
        grid.embedding(5, np.inf)


TWO = np.vstack([np.random.default_rng(0).normal(size=(30, 2)), 50 + np.random.default_rng(1).normal(size=(20, 2))])


def test_a_graph_that_falls_apart_is_refused_by_its_number_of_neighbours():
    with pytest.raises(
        DataError,
        match=r"^With 6 neighbours the graph falls into 2 components of 30 and 20 rows\. Use more neighbours, or set "
        r"disconnected='connect' or 'per_component'\.$",
    ):
        eigenmap_grid(TWO, n_neighbors=[35, 6], t=[1000])


def test_a_graph_that_falls_apart_is_connected_when_asked():
    with pytest.warns(TamizWarning) as told:
        grid = eigenmap_grid(TWO, n_neighbors=[6], t=[500], disconnected="connect")
    assert str(told[0].message) == "With 6 neighbours the graph falls into 2 components of 30 and 20 rows."
    assert "added to join the 2 components" in str(told[1].message)
    first = grid.embedding(6, 500)[:, 0]
    assert max(first[:30].min(), first[30:].min()) > min(first[:30].max(), first[30:].max())


def test_a_graph_that_falls_apart_is_mapped_piece_by_piece_when_asked():
    with pytest.warns(TamizWarning, match=r"With 6 neighbours the graph falls into 2 components"):
        grid = eigenmap_grid(TWO, n_neighbors=[6], t=[500], disconnected="per_component")
    mapped = grid.maps[6, 500]
    assert mapped.eigenvalues_.shape == (2, 2)
    alone = eigenmap_grid(TWO[:30], n_neighbors=[6], t=[500]).embedding(6, 500)
    np.testing.assert_allclose(mapped.embedding_[:30], alone, atol=1e-8)


X20 = np.random.default_rng(2).normal(size=(20, 2))


@pytest.mark.parametrize(
    ("given", "error", "sentence"),
    [
        ({"n_neighbors": []}, ValueError, r"^n_neighbors is an empty list; a grid needs at least one value\.$"),
        ({"t": ()}, ValueError, r"^t is an empty list; a grid needs at least one value\.$"),
        ({"t": [5, 0]}, ValueError, r"^t must be above 0, got 0\. Infinity sets every edge weight to 1\.$"),
        ({"t": [-2.5]}, ValueError, r"^t must be above 0, got -2\.5\."),
        ({"t": [np.nan]}, ValueError, r"^t must be a number, got nan\.$"),
        ({"t": [None]}, TypeError, r"^t must be a number, got None\.$"),
        ({"t": 5}, TypeError, r"^t must be a list, got 5\. Put it in brackets: \[5\]\.$"),
        ({"n_neighbors": 5}, TypeError, r"^n_neighbors must be a list, got 5\. Put it in brackets: \[5\]\.$"),
        ({"n_neighbors": [0]}, ValueError, r"^n_neighbors must be at least 1, got 0\.$"),
        ({"n_neighbors": [2.5]}, TypeError, r"^n_neighbors must be a whole number, got 2\.5\.$"),
        (
            {"n_neighbors": [5, 20]},
            ValueError,
            r"^n_neighbors must be below the number of rows = 20, got 20\. Remove this value, or pass more rows\.$",
        ),
        ({"n_neighbors": [5, 5]}, ValueError, r"^n_neighbors contains 5 twice; pass each value once\.$"),
        ({"t": [5, 5.0]}, ValueError, r"^t contains 5 twice"),
        ({"n_components": 0}, ValueError, r"^n_components must be at least 1, got 0\.$"),
        ({"n_components": 20, "n_neighbors": [5]}, ValueError, r"^n_components must be below the number of rows = 20"),
        ({"disconnected": "join"}, ValueError, r"^disconnected must be one of 'error', 'connect', 'per_component'"),
        ({"metric": "euclid"}, ValueError, r"^metric must be one of .*\(did you mean 'euclidean'\?\)"),
        ({"n_neighbors": [5], "t": [1e-9]}, ValueError, r"^t=1e-09 makes the weight of every edge 0: the shortest is"),
    ],
)
def test_a_bad_value_is_an_error_of_one_sentence(given, error, sentence):
    with pytest.raises(error, match=sentence):
        eigenmap_grid(X20, **given)


def test_rows_that_are_all_equal_are_refused():
    with pytest.raises(DataError, match=r"^All 30 rows are equal"):
        eigenmap_grid(np.ones((30, 2)))


def test_the_figure_has_a_column_for_every_number_and_a_row_for_every_width(roll):
    _, along, grid = roll
    figure = grid.plot(along, color_label="along the roll")
    *panels, bar = figure.axes
    assert [ax.get_title() for ax in panels] == [f"N = {k},  t = {t}" for t in ("5", "25", "∞") for k in NUMBERS]
    assert bar.get_ylabel() == "along the roll"
    for (k, t), ax in zip([(k, t) for t in WIDTHS for k in NUMBERS], panels, strict=True):
        points = ax.collections[-1]
        np.testing.assert_array_equal(points.get_offsets(), grid.embedding(k, t))
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
    grid = eigenmap_grid(X20, n_neighbors=[6], t=[5], n_components=1)
    (ax,) = grid.plot().axes
    np.testing.assert_array_equal(ax.collections[0].get_offsets()[:, 1], np.arange(20))


def test_without_matplotlib_the_maps_are_made_and_the_plot_states_what_is_missing(monkeypatch):
    def missing(package):
        raise optional_imports.PackageNotFoundError(package)

    monkeypatch.setattr(optional_imports, "version", missing)
    grid = eigenmap_grid(X20, n_neighbors=[6], t=[5])
    with pytest.raises(ImportError, match=r"^Drawing needs matplotlib 3\.8 or later, which is not installed\."):
        grid.plot()
