"""Isomap: the definition, scikit-learn's coordinates, unrolled rolls, landmarks, new rows, disconnected graphs, bad input."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.spatial import procrustes
from scipy.stats import spearmanr
from sklearn import manifold
from sklearn.datasets import load_digits, load_iris, make_s_curve, make_swiss_roll
from tests.reference import isomap as plain

from tamiz import load, open_table, save
from tamiz.exceptions import DataError, TamizWarning
from tamiz.graphs import Binary, ConnectedRadius, Graph, KNearest, SameClass
from tamiz.reduction import PCA, ClassicalMDS, Isomap

quiet = pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")


def rolled_grid(n_along=48, n_across=20):
    """A grid of squares of side 1 that is rolled up: a roll without random numbers, and the coordinates on the grid."""
    along, across = (part.ravel() for part in np.mgrid[0:n_along, 0:n_across].astype(float))
    # The arc of a spiral of radius a has about the length a^2 / 2 at the angle a.
    angle = np.sqrt(2 * along + 40)
    return np.column_stack([angle * np.cos(angle), across, angle * np.sin(angle)]), np.column_stack([along, across])


def two_clusters(n=60, apart=1e4):
    X = np.random.default_rng(0).normal(size=(n, 2))
    X[n // 3 :] += apart
    return X


def assert_equal_up_to_sign(found, wanted, atol):
    signs = np.sign((found * wanted).sum(axis=0))
    np.testing.assert_allclose(found, wanted * signs, atol=atol)


def test_the_map_is_that_of_the_definition():
    X = np.random.default_rng(0).normal(size=(150, 3))
    mapped = Isomap(3, graph=KNearest(7)).fit(X)
    D = plain.geodesics(plain.length_matrix(mapped.graph_))
    embedding, values, share = plain.scale(D, 3)
    assert_equal_up_to_sign(mapped.embedding_, embedding, 1e-12)
    np.testing.assert_allclose(mapped.eigenvalues_, values, rtol=1e-12)
    assert mapped.negative_share_ == pytest.approx(share, rel=1e-10)
    assert mapped.negative_share_error_ == 0
    wanted = plain.residual_variances(D, embedding, embedding, ~np.eye(150, dtype=bool))
    np.testing.assert_allclose(mapped.residual_variances_, wanted, atol=1e-7)
    np.testing.assert_allclose(mapped.geodesic_distances([5, 2]), D[[5, 2]], rtol=1e-14)
    np.testing.assert_array_equal(mapped.landmark_rows_, np.arange(150))
    largest = np.abs(mapped.embedding_).argmax(axis=0)
    assert (mapped.embedding_[largest, range(3)] > 0).all()


@pytest.mark.parametrize("n_neighbors", [7, 10])
def test_the_map_and_new_rows_are_those_of_scikit_learn(n_neighbors):
    X, _ = make_swiss_roll(1000, random_state=0)
    peer = manifold.Isomap(n_neighbors=n_neighbors).fit(X)
    mapped = Isomap(2, graph=KNearest(n_neighbors)).fit(X)
    assert_equal_up_to_sign(mapped.embedding_, peer.embedding_, 1e-8)
    np.testing.assert_allclose(mapped.geodesic_distances(np.arange(1000)), peer.dist_matrix_, atol=1e-12)
    # Geodesic distances of up to 100 in float32.
    assert_equal_up_to_sign(mapped.transform(X[:100] + 0.1), peer.transform(X[:100] + 0.1), 1e-5)


def test_points_on_a_path_are_mapped_to_their_distances_along_it():
    # A right angle of points at the distances 1, 2 and 3: as R's vegan, from the matrix of distances and k neighbours.
    X = np.array([[0.0, 0], [1, 0], [3, 0], [3, 3]])
    D = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    mapped = Isomap(1, graph=KNearest(1, metric="precomputed"), disconnected="connect").fit(D)
    np.testing.assert_allclose(mapped.geodesic_distances(0), [[0, 1, 3, 6]])
    np.testing.assert_allclose(np.abs(mapped.embedding_[:, 0] - mapped.embedding_[0, 0]), [0, 1, 3, 6], atol=1e-12)
    assert mapped.residual_variances_[0] < 1e-12
    assert mapped.negative_share_ < 1e-12


def test_a_roll_without_random_numbers_has_two_dimensions():
    X, grid = rolled_grid()
    mapped = Isomap(4, graph=KNearest(8)).fit(X)
    first, *others = mapped.residual_variances_
    assert first > 10 * others[0]
    assert max(others) < 0.01
    assert min(others) > 0.9 * others[0]
    # The axes of the grid, in the order of their variance.
    for axis in range(2):
        assert abs(spearmanr(mapped.embedding_[:, axis], grid[:, axis])[0]) > 0.98
    for linear in (PCA(3), ClassicalMDS(3, dissimilarity="seuclidean")):
        found = linear.fit(X).embedding_
        assert max(abs(spearmanr(axis, grid[:, 0])[0]) for axis in found.T) < 0.9


@pytest.mark.parametrize("make", [make_swiss_roll, make_s_curve])
def test_curved_sheets_are_unrolled(make):
    X, along = make(1200, random_state=1)
    mapped = Isomap(2, graph=KNearest(10)).fit(X)
    assert abs(spearmanr(mapped.embedding_[:, 0], along)[0]) > 0.98
    assert abs(spearmanr(mapped.embedding_[:, 1], X[:, 1])[0]) > 0.98
    assert max(abs(spearmanr(axis, along)[0]) for axis in PCA(2).fit(X).embedding_.T) < 0.98


def test_few_landmarks_map_all_rows_as_the_exact_method_does():
    X, _ = make_swiss_roll(1500, random_state=0)
    graph = KNearest(10).build(X)
    exact = Isomap(3, graph=graph, n_landmarks="all").fit()
    np.testing.assert_array_equal(Isomap(3, graph=graph).fit().embedding_, exact.embedding_)
    np.testing.assert_array_equal(Isomap(3, graph=graph, n_landmarks=1500).fit().embedding_, exact.embedding_)
    mapped = Isomap(3, graph=graph, n_landmarks=120, random_state=0).fit()
    assert procrustes(exact.embedding_[:, :2], mapped.embedding_[:, :2])[2] < 1e-3
    landmarks = mapped.landmark_rows_
    assert len(np.unique(landmarks)) == 120
    # The formula of landmark MDS, from geodesics in float32.
    D = mapped.geodesic_distances(landmarks)
    embedding, values, share = plain.scale(D[:, landmarks], 3)
    placed = plain.place(D[:, landmarks], embedding, values, D.T)
    assert_equal_up_to_sign(mapped.embedding_, placed, 1e-4)
    assert_equal_up_to_sign(mapped.embedding_[landmarks], embedding, 1e-8)
    assert mapped.negative_share_ == pytest.approx(share, rel=1e-8)
    is_pair = landmarks[:, None] != np.arange(1500)
    wanted = plain.residual_variances(D, mapped.embedding_[landmarks], mapped.embedding_, is_pair)
    np.testing.assert_allclose(mapped.residual_variances_, wanted, atol=1e-7)
    again = [Isomap(2, graph=graph, n_landmarks=120, random_state=seed).fit().landmark_rows_ for seed in (0, 1)]
    assert (again[0] == landmarks).all()
    assert (again[1] != landmarks).any()


def test_more_rows_than_5000_have_landmarks_by_default():
    X, along = make_swiss_roll(5001, random_state=0)
    graph = KNearest(8).build(X)
    mapped = Isomap(2, graph=graph, random_state=0).fit()
    assert len(mapped.landmark_rows_) == 1000
    assert abs(spearmanr(mapped.embedding_[:, 0], along)[0]) > 0.98
    assert not mapped.quadratic_cost
    assert Isomap(n_landmarks="all").quadratic_cost


@quiet
@pytest.mark.parametrize("n_landmarks", [None, 30])
@pytest.mark.parametrize(
    "graph",
    [KNearest(8), KNearest(8, weight=Binary(), symmetry="mutual"), KNearest(8, symmetry="directed"), ConnectedRadius()],
    ids=["or", "mutual", "directed", "radius"],
)
def test_a_row_of_fit_keeps_its_place_and_every_new_row_is_mapped_alone(graph, n_landmarks):
    X = np.random.default_rng(2).normal(size=(90, 3))
    X[40:45] = X[10:15]
    new = np.random.default_rng(3).normal(size=(20, 3))
    mapped = Isomap(5, graph=graph, n_landmarks=n_landmarks, disconnected="per_component", random_state=0)
    places = mapped.fit_transform(X)
    np.testing.assert_array_equal(mapped.transform(X), places)
    together = mapped.transform(np.concatenate([new, X[:3]]))
    np.testing.assert_array_equal(mapped.transform(new[::-1]), together[19::-1])
    for i in range(len(new)):
        assert mapped.transform(new[i : i + 1]).tobytes() == together[i : i + 1].tobytes()


def test_a_new_row_reaches_landmarks_by_its_neighbours():
    X = np.random.default_rng(4).normal(size=(60, 2))
    new = np.array([[0.3, -0.2]])
    mapped = Isomap(2, graph=KNearest(6), n_landmarks=20, random_state=0).fit(X)
    lengths = np.sqrt(((X - new) ** 2).sum(axis=1))
    near = np.argsort(lengths)[:6]
    D = mapped.geodesic_distances(mapped.landmark_rows_)
    path = (D[:, near] + lengths[near]).min(axis=1)
    wanted = plain.place(
        D[:, mapped.landmark_rows_], mapped.embedding_[mapped.landmark_rows_], mapped.eigenvalues_, path[None]
    )
    np.testing.assert_allclose(mapped.transform(new), wanted, atol=1e-5)


# More rows than one task has, and the iterative eigensolver.
def test_a_graph_of_several_components_is_refused_with_the_ways_out():
    with pytest.raises(
        DataError,
        match=r"2 components of 40 and 20 rows\. .*'connect' or 'per_component'",
    ):
        Isomap(2).fit(two_clusters())


@quiet
def test_two_far_clusters_are_connected_and_neither_collapses():
    X = two_clusters()
    with pytest.warns(TamizWarning, match="1 edge of length 1.41.* was added to join the 2 components"):
        mapped = Isomap(5, disconnected="connect").fit(X)
    assert len(mapped.graph_.components) == 1
    first, second = mapped.embedding_[:20], mapped.embedding_[20:]
    assert abs(first[:, 0].mean() - second[:, 0].mean()) == pytest.approx(1e4 * np.sqrt(2), rel=1e-3)
    # Each cluster varies along the axis between them, and along axes of its own.
    for part in (first, second):
        assert (np.ptp(part, axis=0) > 1).sum() >= 3


def test_every_component_can_have_coordinates_of_its_own():
    X = two_clusters()
    with pytest.warns(TamizWarning, match="2 components of 40 and 20 rows"):
        mapped = Isomap(2, graph=KNearest(5), disconnected="per_component").fit(X)
    assert mapped.eigenvalues_.shape == mapped.residual_variances_.shape == (2, 2)
    assert mapped.negative_share_.shape == (2,)
    for part, rows in enumerate((slice(0, 20), slice(20, 60))):
        D = plain.geodesics(plain.length_matrix(mapped.graph_)[rows, rows])
        embedding, values, share = plain.scale(D, 2)
        # Coordinates of 1e4 have rounding errors in the lengths of edges.
        np.testing.assert_allclose(mapped.eigenvalues_[part], values, rtol=1e-9)
        assert_equal_up_to_sign(mapped.embedding_[rows], embedding, 1e-8)
        assert mapped.negative_share_[part] == pytest.approx(share)
    np.testing.assert_allclose(mapped.transform(X[:1] + 1e-3), mapped.embedding_[:1], atol=0.01)
    np.testing.assert_allclose(mapped.transform(X[-1:] + 1e-3), mapped.embedding_[-1:], atol=0.01)
    assert np.isinf(mapped.geodesic_distances([0])[0, 20:]).all()


@quiet
def test_components_of_one_row_and_of_two_rows_have_the_coordinates_that_they_can_have():
    X = np.concatenate([np.random.default_rng(6).normal(size=(30, 2)), [[500.0, 0], [900, 0], [900, 3]]])
    heads, tails = np.triu_indices(30, 1)
    lengths = np.sqrt(((X[heads] - X[tails]) ** 2).sum(axis=1))
    graph = Graph.from_edges([*heads, 31], [*tails, 32], lengths=[*lengths, 3.0])
    mapped = Isomap(2, graph=graph, disconnected="per_component").fit()
    np.testing.assert_array_equal(mapped.embedding_[30], [0.0, 0.0])
    np.testing.assert_allclose(np.abs(mapped.embedding_[31:]), [[1.5, 0], [1.5, 0]])
    np.testing.assert_array_equal(np.isnan(mapped.eigenvalues_), [[False, False], [True, True], [False, True]])
    np.testing.assert_array_equal(np.isnan(mapped.residual_variances_), [[False, False], [True, True], [True, True]])
    # Of the neighbours of a new row only those in the component of the nearest count.
    graph = KNearest(5, symmetry="mutual").build(X[:31])
    mapped = Isomap(2, graph=graph, disconnected="per_component").fit(X[:31])
    assert mapped.transform([[499.0, 0.0]]).tolist() == [[0.0, 0.0]]


@quiet
def test_equal_rows_have_equal_coordinates():
    X = np.repeat(load_digits().data[:20], 100, axis=0)
    with pytest.raises(DataError, match="20 components of 100, 100"):
        Isomap().fit(X)
    mapped = Isomap(disconnected="connect").fit(X)
    np.testing.assert_array_equal(mapped.embedding_[::100].repeat(100, axis=0), mapped.embedding_)
    assert len(np.unique(mapped.embedding_, axis=0)) == 20
    np.testing.assert_array_equal(mapped.transform(X[::50]), mapped.embedding_[::50])


def test_coordinates_without_distances_are_0_with_a_warning():
    X = np.outer(np.arange(30), [1.0, 2.0])
    with pytest.warns(TamizWarning, match="1 eigenvalue is above 0, and the other 2 coordinates are 0"):
        mapped = Isomap(3, graph=KNearest(2)).fit(X)
    assert np.abs(mapped.embedding_[:, 1:]).max() == 0
    assert mapped.residual_variances_.max() < 1e-12
    # Four rows at equal distances: no variance to explain.
    assert np.isnan(Isomap(2, graph=KNearest(3)).fit(np.eye(4)).residual_variances_).all()


def test_a_built_graph_is_mapped_without_its_rows():
    X = np.random.default_rng(0).normal(size=(60, 3))
    graph = KNearest(10).build(X)
    mapped, with_rows = Isomap(graph=graph).fit(), Isomap(graph=graph).fit(X)
    assert mapped.graph_ is graph
    np.testing.assert_array_equal(mapped.embedding_, with_rows.embedding_)
    np.testing.assert_array_equal(mapped.embedding_, Isomap(graph=KNearest(10)).fit_transform(X))
    np.testing.assert_array_equal(mapped.transform(X[:5] + 0.01), with_rows.transform(X[:5] + 0.01))
    assert not hasattr(mapped, "n_features_in_")
    with pytest.raises(DataError, match="X has 2 features, but fit had 3"):
        mapped.transform(X[:, :2])


@quiet
def test_tables_of_all_kinds_are_mapped_like_their_numbers(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, 3)), columns=list("abc"))
    wanted = Isomap().fit(frame.to_numpy())
    np.testing.assert_array_equal(Isomap().fit(frame).embedding_, wanted.embedding_)
    table = open_table(frame.assign(target=list("xy") * 40), "target")
    np.testing.assert_array_equal(Isomap().fit(table).embedding_, wanted.embedding_)
    single = Isomap().fit(frame.astype(np.float32))
    assert single.embedding_.dtype == single.transform(frame.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(single.embedding_, wanted.embedding_, atol=1e-4)
    frame.loc[3, "a"] = np.nan
    frame["d"] = rng.choice(["red", "blue"], 80)
    mapped = Isomap(disconnected="connect").fit(frame)
    np.testing.assert_array_equal(mapped.transform(frame), mapped.embedding_)
    loaded = load(save(mapped, tmp_path / "map.tamiz"))
    np.testing.assert_array_equal(loaded.transform(frame[:9]), mapped.embedding_[:9])
    np.testing.assert_array_equal(loaded.geodesic_distances([1]), mapped.geodesic_distances([1]))
    assert mapped.set_output(transform="pandas").transform(frame).columns.tolist() == ["isomap0", "isomap1"]


@pytest.mark.parametrize("unit", [2.0**-200, 2.0**200])
def test_the_unit_of_the_rows_scales_the_map(unit):
    X = np.random.default_rng(0).normal(size=(600, 4))
    mapped, scaled = (
        Isomap(n_landmarks=100, random_state=0).fit(X),
        Isomap(n_landmarks=100, random_state=0).fit(X * unit),
    )
    np.testing.assert_allclose(scaled.embedding_ / unit, mapped.embedding_, rtol=1e-9)
    np.testing.assert_allclose(scaled.transform(X * unit + unit) / unit, mapped.transform(X + 1), rtol=1e-9)
    np.testing.assert_allclose(scaled.residual_variances_, mapped.residual_variances_, rtol=1e-9)


def test_one_row_far_from_the_others_keeps_its_edges():
    # A heat kernel gives its edges the weight 0, which removes them.
    X = np.append(np.linspace(0, 1, 3000), 1e4)[:, None]
    mapped = Isomap(1).fit(X)
    assert np.ptp(mapped.embedding_) == pytest.approx(1e4, rel=1e-6)


def test_a_fit_that_fails_leaves_what_was_fitted_before():
    A, B = np.random.default_rng(0).normal(size=(2, 20, 2))
    mapped = Isomap(2, graph=KNearest(4)).fit(A)
    before = mapped.transform(A)
    with pytest.raises(ValueError, match="n_components must be below the number of rows = 20, got 20"):
        mapped.set_params(n_components=20).fit(B)
    np.testing.assert_array_equal(mapped.transform(A), before)


def test_more_distances_than_memory_are_refused_before_they_are_computed(monkeypatch):
    monkeypatch.setattr("tamiz.reduction.isomap.check_memory", refuse)
    with pytest.raises(
        MemoryError, match=r"20100 bytes: The geodesic distances of 67 rows and 25 landmarks, Lower n_la"
    ):
        Isomap(graph=KNearest(9), n_landmarks=25).fit(np.random.default_rng(0).normal(size=(67, 2)))


def refuse(n_bytes, task, advice):
    raise MemoryError(f"{n_bytes + 8400:.0f} bytes: {task}, {advice}")


def test_a_directed_graph_is_not_connected_but_mapped():
    X = two_clusters()
    with pytest.warns(TamizWarning), pytest.raises(DataError, match="directed graph cannot be connected"):
        Isomap(graph=KNearest(3, symmetry="directed"), disconnected="connect").fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TamizWarning)
        maps = [
            Isomap(graph=KNearest(5, symmetry=symmetry), disconnected="per_component").fit(X)
            for symmetry in ("directed", "or")
        ]
    np.testing.assert_array_equal(maps[0].embedding_, maps[1].embedding_)


IRIS, CLASSES = load_iris(return_X_y=True)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Isomap(0).fit(IRIS), "n_components must be at least 1, got 0"),
        (lambda: Isomap(50).fit(IRIS[:50]), "n_components must be below the number of rows = 50, got 50"),
        (lambda: Isomap(n_landmarks=2).fit(IRIS), "n_landmarks, unless .*, must be at least 3, got 2"),
        (lambda: Isomap(n_landmarks=51).fit(IRIS[:50]), "n_landmarks must be at most the number of rows = 50, got 51"),
        (lambda: Isomap(disconnected="drop").fit(IRIS), "disconnected must be one of"),
        (lambda: Isomap(graph=KNearest(50)).fit(IRIS[:50]), "n_neighbors must be below the number of rows = 50"),
        (lambda: Isomap(graph=Graph.from_edges([0], [1])).fit(IRIS), "The graph has 2 rows and X has 150"),
        (lambda: Isomap(graph=Graph.from_edges([0, 1], [1, 2])).fit(), "edges have no lengths"),
        (lambda: Isomap(graph=SameClass()).fit(IRIS, CLASSES), "falls into 3 components"),
        (lambda: Isomap().fit(IRIS[:1]), r"1 sample \(row\)"),
        (lambda: Isomap().fit(np.ones((40, 3))), "All 40 rows are equal"),
        (lambda: Isomap().fit(), "X is None, and fit requires rows"),
        (lambda: Isomap().fit(IRIS[:50]).geodesic_distances([50]), "rows must be from 0 to 49, got 50 to 50"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


def test_numbers_of_the_wrong_type_are_refused():
    with pytest.raises(TypeError, match="n_landmarks, unless it is None or 'all', must be a whole number, got 'most'"):
        Isomap(n_landmarks="most").fit(IRIS)
    with pytest.raises(TypeError, match="rows must be a list of row numbers"):
        Isomap().fit(IRIS[:50]).geodesic_distances([0.5])
