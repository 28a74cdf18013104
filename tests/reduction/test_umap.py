"""UMAP: the map and its cost, targets, the mapping of new rows, graphs, and bad input."""

import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.spatial.distance import pdist
from sklearn.datasets import load_digits, load_iris, make_blobs, make_swiss_roll
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors

from tamiz import load, open_table, save
from tamiz.exceptions import ConvergenceWarning, DataError, TamizWarning
from tamiz.graphs import Binary, Graph, KNearest
from tamiz.metrics import label_accuracy, neighborhood_recall, trustworthiness
from tamiz.reduction import PCA, UMAP
from tamiz.reduction.graph_reducer import shortest_edges
from tamiz.reduction.neighbor_embedding import initial_layout
from tamiz.reduction.umap import INIT_CHOICES, fit_curve, intersect_target, joint_memberships

from ..reference import umap as reference

DIGITS, CLASSES = load_digits(return_X_y=True)
RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def half():
    """The map of every second digit."""
    return UMAP(random_state=0).fit(DIGITS[::2])


def quietly(mapped, *args, **kwargs):
    """Fit without warnings of a missing convergence."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return mapped.fit(*args, **kwargs)


def test_the_cross_entropy_is_that_of_the_embedding():
    mapped = quietly(UMAP(negative_sample_rate=3, repulsion_strength=0.6, min_dist=0.2, random_state=0), DIGITS[:200])
    rates = mapped.memberships_.toarray().astype(np.float64)
    wanted = reference.cross_entropy(rates / rates.max(), mapped.embedding_, mapped.a_, mapped.b_, 3, 0.6)
    assert mapped.cross_entropy_ == pytest.approx(wanted, rel=1e-5)
    assert mapped.cross_entropy_history_[-1].tolist() == [500, mapped.cross_entropy_]


def test_the_map_keeps_more_neighbours_than_principal_components(half):
    X = DIGITS[::2]
    linear = PCA(2).fit_transform(X)
    for measure, margin in ((neighborhood_recall, 0.3), (trustworthiness, 0.1)):
        assert measure(X, half.embedding_, n_neighbors=15) > measure(X, linear, n_neighbors=15) + margin
    assert half.converged_
    assert half.n_epochs_ == 500


def test_new_rows_are_mapped_among_the_rows_of_their_class(half):
    neighbors = KNeighborsClassifier(10)
    on_map = neighbors.fit(half.embedding_, CLASSES[::2]).score(half.transform(DIGITS[1::2]), CLASSES[1::2])
    assert on_map > neighbors.fit(DIGITS[::2], CLASSES[::2]).score(DIGITS[1::2], CLASSES[1::2]) - 0.03


def test_every_new_row_is_mapped_alone(half):
    new = DIGITS[1::2] + 0.1
    mapped = half.transform(new)
    assert len(np.unique(mapped, axis=0)) == len(new)
    np.testing.assert_array_equal(half.transform(new[::-1])[::-1], mapped)
    np.testing.assert_array_equal(half.transform(new[5:6]), mapped[5:6])
    np.testing.assert_array_equal(half.transform(DIGITS[::2]), half.embedding_)


# More rows than one task has.
@pytest.mark.parametrize("n_components", [1, 3])
def test_one_and_three_coordinates_separate_groups(n_components):
    X, y = make_blobs(300, centers=3, cluster_std=0.7, random_state=0)
    mapped = UMAP(n_components, n_neighbors=40, random_state=0).fit_transform(X)
    assert mapped.shape == (300, n_components)
    assert label_accuracy(mapped, y) > 0.98


def mapped_by(X, y):
    return UMAP(random_state=0).fit(X, y).embedding_


def test_classes_attract_their_rows():
    X, y = make_blobs(400, centers=3, n_features=5, cluster_std=4, random_state=1)
    names = np.array(["low", "middle", "high"], dtype=object)[y]
    some = np.where(np.arange(400) % 4 > 0, names, None)
    plain, supervised, partly = (1 - label_accuracy(mapped_by(X, target), y) for target in (None, names, some))
    assert supervised < 0.2 * plain
    assert supervised < partly < 0.8 * plain


def test_numbers_order_the_map():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 10))
    numbers = X[:, 0] + 0.3 * rng.normal(size=400)
    numbers[::9] = np.nan
    known = ~np.isnan(numbers)
    y = numbers[known]
    scores = []
    for target in (None, numbers):
        points = UMAP(target_weight=0.9, random_state=0).fit(X, target).embedding_[known]
        scores.append(KNeighborsRegressor(5).fit(points[::2], y[::2]).score(points[1::2], y[1::2]))
    assert scores[1] > scores[0] + 0.3


def test_without_a_target_and_with_that_of_a_table_only_columns_count():
    frame = pd.DataFrame(DIGITS[:200, 10:20]).add_prefix("x")
    parameters = {"n_epochs": 60, "random_state": 0}
    wanted = quietly(UMAP(**parameters), frame).embedding_
    for args in (
        (frame, None),
        (frame, np.full(200, np.nan)),
        (open_table(frame.assign(y=CLASSES[:200].astype(str)), "y"),),
    ):
        np.testing.assert_array_equal(quietly(UMAP(**parameters), *args).embedding_, wanted)
    assert np.abs(quietly(UMAP(**parameters), frame, CLASSES[:200]).embedding_ - wanted).max() > 0.1
    # Columns of several kinds, and the type of the coordinates.
    frame["level"] = np.array(list("abc"))[CLASSES[:200] % 3]
    assert quietly(UMAP(**parameters), frame).embedding_.dtype == np.float64
    single = quietly(UMAP(**parameters), DIGITS[:200].astype(np.float32))
    assert single.embedding_.dtype == single.transform(DIGITS[:2].astype(np.float32)).dtype == np.float32


def test_a_fit_continues_with_its_target_also_after_loading(tmp_path):
    X, y = make_blobs(300, centers=3, n_features=5, cluster_std=4, random_state=1)
    with pytest.warns(
        ConvergenceWarning,
        match=r"after 10 epochs.*%.*Raise the number of epochs \(n_epochs\), or continue \(continue_fit\)",
    ):
        mapped = UMAP(n_epochs=10, random_state=0).fit(X, y)
    assert not mapped.converged_
    before, loaded = mapped.cross_entropy_, load(save(mapped, tmp_path / "map.tamiz"))
    mapped.continue_fit(400)
    assert mapped.converged_
    assert mapped.n_epochs_ == 410
    assert mapped.cross_entropy_ < before
    assert mapped.cross_entropy_history_[:, 0].tolist() == [10, *range(60, 411, 50)]
    assert 1 - label_accuracy(mapped.embedding_, y) < 0.2 * (1 - label_accuracy(mapped_by(X, None), y))
    loaded.continue_fit(400)
    np.testing.assert_array_equal(loaded.embedding_, mapped.embedding_)
    np.testing.assert_array_equal(loaded.transform(X[:5] + 0.1), mapped.transform(X[:5] + 0.1))


def test_a_callback_stops_the_fit_and_an_interrupt_keeps_the_layout():
    calls = []

    def stop(n_epochs, value, points):
        calls.append((n_epochs, value, points))
        return n_epochs >= 150

    mapped = quietly(UMAP(random_state=0), DIGITS[:300], callback=stop)
    assert [n_epochs for n_epochs, _, _ in calls] == [50, 100, 150]
    assert mapped.n_epochs_ == 150
    assert mapped.cross_entropy_ == calls[-1][1]
    np.testing.assert_array_equal(mapped.embedding_, calls[-1][2])

    def interrupt(n_epochs, value, points):
        raise KeyboardInterrupt

    mapped = UMAP(random_state=0)
    with pytest.raises(KeyboardInterrupt):
        quietly(mapped, DIGITS[:300], callback=interrupt)
    assert mapped.n_epochs_ == 50
    np.testing.assert_array_equal(mapped.embedding_, calls[0][2])
    assert mapped.transform(DIGITS[:2]).shape == (2, 2)


def test_a_graph_of_more_edges_and_a_graph_of_edges_alone_give_the_same_map():
    X = RNG.normal(size=(200, 4))
    mapped = quietly(UMAP(n_epochs=60, random_state=0), X)
    larger = KNearest(40).build(X)
    shared = quietly(UMAP(n_epochs=60, random_state=0, graph=larger), X)
    assert shared.graph_ is larger
    np.testing.assert_array_equal(shared.embedding_, mapped.embedding_)
    np.testing.assert_array_equal(shared.transform(X[:9] + 0.1), mapped.transform(X[:9] + 0.1))
    heads, tails = np.triu_indices(200, 1)
    lengths = reference.distances_of(X)[heads, tails]
    edges = Graph.from_edges(heads, tails, lengths=lengths)
    alone = quietly(UMAP(n_epochs=60, random_state=0, graph=edges))
    np.testing.assert_allclose(alone.memberships_.toarray(), mapped.memberships_.toarray(), atol=1e-6)
    with pytest.raises(DataError, match="no distances to new rows"):
        alone.transform(X)
    with_isolated = UMAP(graph=Graph.from_edges(heads, tails, lengths=lengths, n_samples=201), random_state=0)
    with pytest.warns(TamizWarning, match="2 components of 200 and 1 rows; row 200 has no edges"):
        with_isolated.fit()
    assert np.isfinite(with_isolated.embedding_).all()
    gaps = np.linalg.norm(with_isolated.embedding_[:200] - with_isolated.embedding_[200], axis=1)
    assert gaps.min() > 1


def test_initial_layouts():
    X, _ = make_blobs(300, centers=[[0, 0, 0], [9, 0, 0], [30, 3, 0]], random_state=0)

    def start(init):
        mapped = UMAP(init=init, n_neighbors=150, n_epochs=1, random_state=0)
        return quietly(mapped, X).embedding_

    # One epoch moves rows of this layout little, compared to its extent.
    given = 1000 + np.column_stack([np.linspace(0, 100, 300), np.linspace(0, 100, 300) ** 2 / 100])
    assert np.corrcoef(start(given)[:, 0], given[:, 0])[0, 1] > 0.9
    assert start(given).min() > 900
    for extent in (1e3, 1e-20):
        with pytest.raises(DataError, match=r"init spans .*, and must span from 1e-06 to 100"):
            start(extent * (given - 1000))
    linear = PCA(2).fit_transform(X)
    assert np.corrcoef(start("pca")[:, 0], linear[:, 0])[0, 1] > 0.9
    assert abs(np.corrcoef(start("random")[:, 0], linear[:, 0])[0, 1]) < 0.9
    # Rows on a line have one principal component.
    line = quietly(UMAP(init="pca", random_state=0), np.outer(np.arange(60), [1.0, 0, 0])).embedding_
    assert neighborhood_recall(np.arange(60.0)[:, None], line, n_neighbors=4) > 0.8


@pytest.mark.parametrize("unit", [2.0**-200, 2.0**200])
def test_memberships_do_not_depend_on_the_unit(unit):
    X = RNG.normal(size=(60, 4))
    expected, found = (quietly(UMAP(n_epochs=1, random_state=0), part).memberships_ for part in (X, X * unit))
    assert abs(expected - found).max() < 1e-6


def test_rows_that_the_target_leaves_alone_are_named():
    y = np.zeros(60, dtype=int)
    y[7] = 1
    with pytest.warns(TamizWarning, match="leaves 1 of 60 rows without a neighbour, the first is row 7"):
        UMAP(target_weight=1.0, random_state=0).fit(RNG.normal(size=(60, 4)), y)


def test_the_first_layout_does_not_depend_on_the_container_of_transformers():
    X = RNG.normal(size=(60, 4))
    with sklearn.config_context(transform_output="pandas"):
        framed = UMAP(init="pca", random_state=0).fit(X)
    assert np.array_equal(framed.embedding_, UMAP(init="pca", random_state=0).fit(X).embedding_)


def test_two_far_groups_are_named_and_kept_apart():
    X = np.concatenate([RNG.normal(size=(150, 3)), RNG.normal(size=(150, 3)) + 1e4])
    with pytest.warns(TamizWarning, match="2 components of 150 and 150 rows.*no meaning"):
        mapped = UMAP(random_state=0).fit(X)
    centres = np.array([group.mean(axis=0) for group in np.split(mapped.embedding_, 2)])
    from_own, from_other = (
        np.linalg.norm(mapped.embedding_ - np.repeat(order, 150, axis=0), axis=1) for order in (centres, centres[::-1])
    )
    assert from_own.max() < 0.5 * from_other.min()


def test_equal_rows_have_equal_coordinates():
    X = np.repeat(DIGITS[:20], 100, axis=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mapped = UMAP(n_epochs=100, random_state=0).fit(X)
    assert any("20 components of 100, 100" in str(warning.message) for warning in caught)
    np.testing.assert_array_equal(mapped.embedding_[::100].repeat(100, axis=0), mapped.embedding_)
    assert len(np.unique(mapped.embedding_, axis=0)) == 20


def test_few_rows_and_missing_values_are_mapped():
    for n in (2, 3, 5):
        mapped = UMAP(random_state=0).fit(DIGITS[:n])
        assert len(np.unique(mapped.embedding_, axis=0)) == mapped.n_neighbors_ == n
    X = DIGITS[:60].copy()
    X[3, 20] = np.nan
    with pytest.warns(TamizWarning, match="1 missing value was replaced by column means"):
        assert np.isfinite(quietly(UMAP(random_state=0), X).embedding_).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_neighbors": 101}, "n_neighbors must be at most the number of rows = 100.*itself, got 101"),
        ({"n_neighbors": 1}, "n_neighbors must be at least 2, got 1"),
        ({"min_dist": 2}, "min_dist must be at most spread = 1, got 2"),
        ({"spread": 0}, "spread must be above 0.*got 0"),
        ({"n_epochs": 0}, "n_epochs must be at least 1, got 0"),
        ({"n_components": 0}, "n_components must be at least 1, got 0"),
        ({"target_weight": 1.2}, "target_weight must be .*at most 1.*got 1.2"),
        ({"negative_sample_rate": 0}, "negative_sample_rate must be from 1 to 1000, got 0"),
        ({"set_op_mix_ratio": -1}, "set_op_mix_ratio must be at least 0.*got -1"),
        ({"init": "best"}, "init must be one of 'spectral', 'pca', 'random', got 'best'"),
        ({"init": np.zeros((9, 2))}, "100 rows and 2 columns, got the shape"),
        ({"graph": Graph.from_edges([0, 1], [1, 2])}, "graph has 3 rows and X has 100"),
    ],
)
def test_bad_parameters_are_refused_in_one_sentence(parameters, message):
    with pytest.raises(ValueError, match=message):
        UMAP(**parameters).fit(DIGITS[:100])


def test_bad_rows_are_refused_in_one_sentence():
    with pytest.raises(DataError, match=r"1 sample \(row\); UMAP needs at least 2"):
        UMAP().fit(DIGITS[:1])
    with pytest.raises(DataError, match="All 40 rows are equal"):
        UMAP().fit(np.ones((40, 3)))
    with pytest.raises(DataError, match="y has 49 values for 50 rows"):
        UMAP().fit(DIGITS[:50], CLASSES[:49])
    with pytest.raises(DataError, match="weights alone"):
        UMAP(graph=Graph.from_edges([0, 1], [1, 2])).fit()


def test_a_map_of_many_equal_rows_converges_and_separates_them():
    rng = np.random.default_rng(0)
    distinct = rng.normal(size=(20, 5))
    number = rng.permutation(np.repeat(np.arange(20), 50))
    with pytest.warns(TamizWarning, match="the graph falls into 20 components") as caught:
        mapped = UMAP(n_epochs=200, random_state=0).fit(distinct[number])
    # There is no ConvergenceWarning, whose advice of more epochs would not help.
    assert len(caught) == 1
    assert mapped.converged_
    centres = np.array([mapped.embedding_[number == k].mean(axis=0) for k in range(20)])
    within = max(np.ptp(mapped.embedding_[number == k], axis=0).max() for k in range(20))
    assert within < pdist(centres).min()


def relative_error(found, rows, fitted):
    return np.linalg.norm(found - rows, axis=1).mean() / np.linalg.norm(rows - fitted.mean(axis=0), axis=1).mean()


@pytest.mark.parametrize(("name", "share_of_mean", "share_of_nearest"), [("digits", 1.0, 0.85), ("roll", 0.7, 1.0)])
def test_rows_of_points_are_nearer_than_the_weighted_mean_and_the_nearest_row(
    half, name, share_of_mean, share_of_nearest
):
    """Held-out rows, from their places alone."""
    X = DIGITS if name == "digits" else make_swiss_roll(900, random_state=0)[0]
    fitted, new = X[::2], X[1::2]
    mapped = half if name == "digits" else quietly(UMAP(n_epochs=200, random_state=0), fitted)
    places = mapped.transform(new)
    distances, near = NearestNeighbors(n_neighbors=15).fit(mapped.embedding_).kneighbors(places)
    weights = 1 / (1 + mapped.a_ * distances ** (2 * mapped.b_))
    means = np.einsum("ij,ijp->ip", weights / weights.sum(axis=1, keepdims=True), fitted[near])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TamizWarning)
        found = mapped.inverse_transform(places)
    error = relative_error(found, new, fitted)
    assert error < share_of_mean * relative_error(means, new, fitted)
    assert error < share_of_nearest * relative_error(fitted[near[:, 0]], new, fitted)
    moved = np.linalg.norm(mapped.transform(found) - places, axis=1)
    assert np.median(moved) < 0.02 * np.ptp(mapped.embedding_, axis=0).max()
    assert relative_error(mapped.inverse_transform(mapped.embedding_), fitted, fitted) < 0.55


def test_the_regression_is_that_of_scikit_learn(half):
    for at in (0, 7, 300):
        z = half.embedding_[at].astype(float) + 0.01
        distances, near = NearestNeighbors(n_neighbors=15).fit(half.embedding_).kneighbors([z])
        weights = 1 / (1 + half.a_ * distances[0] ** (2 * half.b_))
        weights /= weights.sum()
        places = half.embedding_[near[0]]
        spread = (weights @ (places - weights @ places) ** 2).sum()
        wanted = Ridge(0.01 * spread).fit(places, DIGITS[::2][near[0]], sample_weight=weights).predict([z])
        np.testing.assert_allclose(half.inverse_transform([z]), wanted, atol=1e-6)


def test_each_point_is_inverted_alone_also_after_loading(half, tmp_path):
    points = half.embedding_[:40] + 0.01
    found = half.inverse_transform(points)
    np.testing.assert_array_equal(found[7:8], half.inverse_transform(points[7:8]))
    np.testing.assert_array_equal(found[::-1], half.inverse_transform(points[::-1]))
    save(half, tmp_path / "map")
    np.testing.assert_array_equal(load(tmp_path / "map").inverse_transform(points), found)
    frame = pd.DataFrame(points, columns=half.get_feature_names_out())
    np.testing.assert_array_equal(half.inverse_transform(frame[frame.columns[::-1]]), found)
    assert half.inverse_transform(points.astype(np.float32)).dtype == np.float32


@pytest.mark.filterwarnings("ignore:.*(TZ207|TZ401)")
@pytest.mark.parametrize("metric", ["euclidean", "seuclidean", "cityblock"])
def test_rows_have_the_units_of_the_table_and_no_missing_values(metric):
    X = make_blobs(120, 5, centers=3, random_state=0)[0] * [1, 10, 100, 1, 1] + 1000
    X[::17, 1] = np.nan
    mapped = quietly(UMAP(graph=KNearest(14, metric=metric), n_epochs=100, random_state=0), X)
    found = mapped.inverse_transform(mapped.embedding_)
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    assert np.isfinite(found).all()
    assert (np.abs(found - filled).mean(axis=0) < 0.7 * np.abs(filled - filled.mean(axis=0)).mean(axis=0)).all()


def test_points_outside_the_map_are_named_and_their_rows_stay_near_the_data(half):
    far = np.add(half.embedding_.mean(axis=0), [[0.0, 0.0], [1e6, 0.0]])
    with pytest.warns(TamizWarning, match=r"1 point is outside the convex hull of the map, .*: 1\.$"):
        found = half.inverse_transform(far)
    assert found.min() > -16
    assert found.max() < 32


@pytest.mark.filterwarnings("ignore:.*TZ401")
def test_rows_without_numbers_cannot_be_returned():
    X = make_blobs(60, 4, random_state=0)[0]
    mixed = pd.DataFrame(X, columns=list("abcd")).assign(kind=pd.Categorical(np.arange(60) % 3))
    graphs = KNearest(9, metric="cosine"), Graph.from_edges(range(59), range(1, 60), lengths=np.ones(59))
    for mapped in (
        quietly(UMAP(n_epochs=20), mixed),
        *(quietly(UMAP(n_epochs=20, graph=graph), X) for graph in graphs),
    ):
        with pytest.raises(DataError, match=r"needs a graph of dense numeric rows.*Encode categories"):
            mapped.inverse_transform(mapped.embedding_)
    with pytest.raises(ValueError, match="X has 3 columns, but 2 components"):
        mapped.inverse_transform(X[:, :3])


MEMBERSHIP_RNG = np.random.default_rng(0)
# Every 19th iris, and targets of these 8 rows.
IRIS = load_iris().data[::19]
SPECIES, SOME_SPECIES = np.array([0, 0, 0, 1, 1, 1, 2, 2]), np.array([0, -1, 0, 1, 1, 1, -1, 2])
NUMBERS = np.array([1.0, 2.5, 0.3, 4.1, 5.7, 3.2, 8.9, 7.4])
# The fuzzy graphs of umap-learn 0.5.12 with n_neighbors=4, the upper triangle row by row: `UMAP(transform_mode="graph").graph_`
# with target_metric="categorical" for classes and "l2" for numbers. Parameters, target, its weight, memberships.
UMAP_LEARN = [
    ({}, None, 0.5,
     "1 1 .6350102 0 0 0 0 .9293721 .332015 0 0 0 0 .6140427 0 0 0 0 0 1 0 0 .8017255 .7465138 1 .4727678 1 1"),
    ({"local_connectivity": 1.5, "mix_ratio": 0.25}, None, 0.5,
     "1 .8413517 .2240101 0 0 0 0 .7131315 .0650649 0 0 0 0 .2050992 0 0 0 0 0 .5335697 0 0 .4728883 .36574 1 .1123372 "
     ".5721875 .6778194"),
    ({}, SPECIES, 0.5,
     "1 1 .008539 0 0 0 0 .9950117 .0044692 0 0 0 0 .0082577 0 0 0 0 0 1 0 0 1 .0112723 .0150856 .0063608 .0134305 1"),
    ({}, SOME_SPECIES, 0.8,
     "1 1 .0000047 0 0 0 0 .9535196 .4136037 0 0 0 0 .0000046 0 0 0 0 0 1 0 0 1 .8333443 .0000148 .5644648 .0000139 1"),
    ({}, NUMBERS, 0.5,
     "1 1 .000127 0 .1029014 0 0 .5261208 .4211967 0 .4595317 0 0 .0001228 0 .0720453 0 0 .2676793 1 .0642257 .0291677 "
     ".1709718 .4577476 1 .000106 .0002243 1"),
    ({}, NUMBERS, 0.2,
     "1 1 .1229697 0 .2326545 0 0 .8273289 .5136747 0 .336481 0 0 .1190381 0 .1347402 0 0 .2894977 1 .1309251 .1074785 "
     ".5832897 .6871691 1 .0948366 .1950316 1"),
]  # fmt: skip


def memberships_of(X, n_neighbors, local_connectivity=1.0, mix_ratio=1.0):
    graph = KNearest(n_neighbors - 1, weight=Binary(), symmetry="directed").build(X, warn_components=False)
    return joint_memberships(shortest_edges(graph, n_neighbors - 1), local_connectivity, mix_ratio)


@pytest.mark.parametrize(("parameters", "target", "weight", "wanted"), UMAP_LEARN)
def test_memberships_are_those_of_umap_learn(parameters, target, weight, wanted):
    found = memberships_of(IRIS, 4, **parameters)
    plain = reference.joint_memberships(IRIS, 4, **parameters)
    if target is NUMBERS:
        found = intersect_target(found, target, weight, 4)
        plain = reference.intersect_values(plain, target, weight, 4)
    elif target is not None:
        found = intersect_target(found, [None if c < 0 else "abc"[c] for c in target], weight, 4)
        plain = reference.intersect_classes(plain, target, weight)
    upper = np.triu_indices(8, 1)
    for dense in (found.toarray(), plain):
        np.testing.assert_array_equal(dense, dense.T)
        np.testing.assert_allclose(dense[upper], np.array(wanted.split(), dtype=float), atol=1e-5)


@pytest.mark.parametrize(("connectivity", "mix_ratio"), [(0, 1), (0.4, 0.3), (1, 1), (2.7, 0), (30, 0.5)])
def test_memberships_are_those_of_the_definition(connectivity, mix_ratio):
    X = MEMBERSHIP_RNG.normal(size=(60, 4))
    # Rows all of whose neighbours are equal to them, and rows some of whose neighbours are equal to them and some very near.
    X[:14], X[14:18] = X[0], X[18]
    X[19:25] = X[18] + 1e-3 * X[19:25]
    found = memberships_of(X, 10, connectivity, mix_ratio).toarray()
    np.testing.assert_allclose(found, reference.joint_memberships(X, 10, connectivity, mix_ratio), atol=2e-5)


@pytest.mark.parametrize("weight", [0, 0.3, 0.9, 1])
def test_targets_with_missing_values_change_memberships_as_defined(weight):
    X, values = MEMBERSHIP_RNG.normal(size=(60, 4)), MEMBERSHIP_RNG.normal(size=60)
    values[::7] = np.nan
    before = memberships_of(X, 8)
    plain = before.toarray().astype(np.float64)
    wanted = reference.intersect_values(plain, values, weight, 8)
    np.testing.assert_allclose(intersect_target(before, values, weight, 8).toarray(), wanted, atol=2e-5)
    classes = np.where(np.isnan(values), -1, values > 0)
    found = intersect_target(before, [None if c < 0 else "ab"[c] for c in classes], weight, 8).toarray()
    np.testing.assert_allclose(found, reference.intersect_classes(plain, classes, weight), atol=2e-5)


def test_the_curve_is_fitted_to_the_distances_on_the_map():
    # Those of umap-learn 0.5.12.
    assert fit_curve(0.1, 1.0) == pytest.approx((1.576943, 0.895061), abs=1e-6)
    assert fit_curve(0.5, 2.0) == pytest.approx((0.258879, 1.057500), abs=1e-6)
    assert fit_curve(0.3, 0.7) == pytest.approx(tuple(reference.fit_curve(0.3, 0.7)), rel=1e-4)
    # The unit of the map scales a alone.
    a, b = fit_curve(0.1, 1.0)
    for spread in (1e-3, 0.1, 30.0, 1e6):
        assert fit_curve(0.1 * spread, spread) == pytest.approx((a / spread ** (2 * b), b))
        assert np.isfinite(fit_curve(spread, spread)).all()


def test_the_eigenvectors_of_separate_components_are_side_by_side():
    X, y = make_blobs(300, centers=3, random_state=0)
    graph = KNearest(14, weight=Binary(), symmetry="directed").build(X + 1e4 * y[:, None], warn_components=False)
    memberships = joint_memberships(graph.edges, 1.0, 1.0)
    points = initial_layout("spectral", INIT_CHOICES, graph, memberships, 2, np.random.default_rng(0), (0.0, 1.0))
    low, high = (np.array([f(points[y == c], axis=0) for c in range(3)]) for f in (np.min, np.max))
    assert (high - low).min() > 0.1
    for c, d in ((0, 1), (0, 2), (1, 2)):
        assert (low[c] > high[d]).any() or (low[d] > high[c]).any()
