"""Locally linear embedding: the definitions, scikit-learn, surfaces unrolled, new rows, repetition and bad input."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.linalg import subspace_angles
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.datasets import make_s_curve, make_swiss_roll
from sklearn.manifold import locally_linear_embedding
from sklearn.neighbors import NearestNeighbors
from tests.reference import locally_linear as plain

import tamiz
from tamiz.exceptions import DataError, TamizWarning
from tamiz.graphs import Graph, KNearest, Radius, SameClass
from tamiz.reduction import PCA, LocallyLinearEmbedding
from tamiz.reduction.locally_linear_embedding import METHODS, alignment_matrix, gram_function
from tamiz.runtime import parallel

quiet = pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")


def roll(n, n_noise=0):
    """Return a swiss roll, with further columns of noise."""
    X, along = make_swiss_roll(n, random_state=0)
    return np.column_stack([X, 0.3 * np.random.default_rng(0).normal(size=(n, n_noise))]), along


def same_space(some, others, atol):
    return np.sin(subspace_angles(some, others).max()) < atol


class OwnRowFirst(NearestNeighbors):
    """Neighbours for scikit-learn, which leaves out the first: the row, then the row again and its nearest others."""

    def kneighbors(self, X=None, n_neighbors=None, return_distance=True):
        found = super().kneighbors(X, n_neighbors - 1, return_distance=return_distance)
        return np.column_stack([found[:, :1], found])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_noise", [0, 17], ids=["few columns", "more columns than neighbours"])
def test_the_matrix_is_that_of_the_definition(method, n_noise):
    X, _ = roll(120, n_noise)
    near = plain.nearest(X, 12)
    expected = plain.MATRICES[method](X, near, 2)
    graph = KNearest(12).build(X)
    points = graph.neighbor_rule.index.points
    indptr, indices = np.arange(0, near.size + 1, 12), near.ravel().astype(np.int32)
    found = alignment_matrix(method, gram_function(points, points), indptr, indices, 2, 1e-3)
    np.testing.assert_allclose(found.toarray(), expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("method", METHODS)
def test_the_coordinates_are_the_smallest_eigenvectors(method):
    X, _ = roll(220)
    M = plain.MATRICES[method](X, plain.nearest(X, 12), 2)
    values, vectors = plain.smallest(M, 2)
    mapped = LocallyLinearEmbedding(method=method, graph=KNearest(12)).fit(X)
    Y = mapped.embedding_
    np.testing.assert_allclose(mapped.eigenvalues_, values, rtol=1e-5)
    assert same_space(Y, vectors, 1e-5)
    np.testing.assert_allclose(Y.T @ Y, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(Y.sum(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(M @ Y - Y * mapped.eigenvalues_, axis=0), mapped.residuals_, atol=1e-12)
    assert (mapped.residuals_ < 1e-11).all()
    assert mapped.reconstruction_error_ == pytest.approx(mapped.eigenvalues_.sum())
    assert (Y[np.abs(Y).argmax(axis=0), range(2)] > 0).all()


def test_the_error_of_standard_is_that_of_the_reconstruction():
    X, _ = roll(200)
    mapped = LocallyLinearEmbedding(graph=KNearest(10)).fit(X)
    Y, near = mapped.embedding_, plain.nearest(X, 10)
    errors = [Y[i] - plain.weights(X[i], X[near[i]], 1e-3) @ Y[near[i]] for i in range(len(X))]
    assert mapped.reconstruction_error_ == pytest.approx(np.sum(np.square(errors)), rel=1e-5)


@pytest.mark.parametrize("make", [make_swiss_roll, pytest.param(make_s_curve, marks=pytest.mark.slow)])
@pytest.mark.parametrize("method", ["standard", "modified"])
def test_the_map_is_that_of_scikit_learn(method, make):
    X, _ = make(400, random_state=0)
    theirs, error = locally_linear_embedding(X, n_neighbors=12, n_components=2, method=method, eigen_solver="dense")
    mapped = LocallyLinearEmbedding(method=method, graph=KNearest(12)).fit(X)
    assert mapped.reconstruction_error_ == pytest.approx(error, rel=1e-6)
    assert same_space(mapped.embedding_, theirs, 1e-5)


@pytest.mark.parametrize("make", [make_swiss_roll, make_s_curve])
def test_local_tangent_space_alignment_is_that_of_scikit_learn_in_neighbourhoods_with_the_row_itself(make, monkeypatch):
    X, _ = make(400, random_state=0)
    monkeypatch.setattr("sklearn.manifold._locally_linear.NearestNeighbors", OwnRowFirst)
    theirs, error = locally_linear_embedding(X, n_neighbors=13, n_components=2, method="ltsa", eigen_solver="dense")
    mapped = LocallyLinearEmbedding(method="ltsa", graph=KNearest(12)).fit(X)
    assert mapped.reconstruction_error_ == pytest.approx(error, rel=1e-6)
    assert same_space(mapped.embedding_, theirs, 1e-6)


def test_the_hessian_definition_is_that_of_scikit_learn_with_the_fewest_neighbours():
    X, _ = roll(200)

    def theirs(method, n_neighbors):
        return locally_linear_embedding(X, n_neighbors=n_neighbors, n_components=2, method=method, eigen_solver="dense")

    vectors, error = theirs("hessian", 6)
    values, expected = plain.smallest(plain.hessian(X, plain.nearest(X, 6), 2, own_row=False), 2)
    assert values.sum() == pytest.approx(error, rel=1e-6)
    assert same_space(expected, vectors, 1e-5)
    # With more neighbours scikit-learn uses all columns of Q beyond the affine ones, not the d (d + 1) / 2 of quadratic functions:
    # its map is that of its "ltsa".
    assert same_space(theirs("hessian", 12)[0], theirs("ltsa", 12)[0], 1e-6)
    values, expected = plain.smallest(plain.hessian(X, plain.nearest(X, 12), 2, own_row=False), 2)
    assert not same_space(theirs("hessian", 12)[0], expected, 1e-2)


def unrolled(embedding, *parameters):
    """Return the largest rank correlation of a coordinate with each of the parameters of the surface."""
    found = np.abs(spearmanr(np.column_stack([embedding, *parameters]))[0])
    return found[: embedding.shape[1], embedding.shape[1] :].max(axis=0)


@pytest.mark.parametrize("make", [make_swiss_roll, make_s_curve])
@pytest.mark.parametrize("method", METHODS)
def test_curved_surfaces_are_unrolled(method, make):
    X, along = make(1000, random_state=0)
    mapped = LocallyLinearEmbedding(method=method).fit(X)
    found = unrolled(mapped.embedding_, along, X[:, 1])
    assert found[0] > 0.98
    # "standard" shows the parameter along the surface, and distorts the one across.
    assert found[1] > 0.98 or method == "standard"
    if make is make_swiss_roll:
        assert unrolled(PCA(2).fit(X).embedding_, along)[0] < 0.5


@pytest.mark.parametrize("method", METHODS)
def test_new_rows_are_mapped_to_the_weighted_mean_of_their_neighbours_each_alone(method):
    X, _ = roll(600)
    fitted, new = X[:500].copy(), X[500:]
    fitted[490:] = fitted[:10]
    mapped = LocallyLinearEmbedding(method=method, graph=KNearest(12))
    places = mapped.fit_transform(fitted)
    np.testing.assert_array_equal(mapped.transform(fitted), places)
    together = mapped.transform(np.concatenate([new, fitted[:3]]))
    nearest = np.argsort(cdist(new, fitted[:490]), axis=1, kind="stable")[:, :12]
    for i in range(5):
        w = plain.weights(new[i], fitted[nearest[i]], 1e-3)
        np.testing.assert_allclose(together[i], w @ places[nearest[i]], atol=1e-10)
    backwards = mapped.transform(new[::-1])[::-1]
    assert backwards.tobytes() == together[:-3].tobytes()
    for i in range(10):
        assert mapped.transform(new[i : i + 1]).tobytes() == together[i : i + 1].tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_the_bits_are_the_same_for_any_number_of_threads(method):
    X, _ = roll(3000)
    found = []
    for n_jobs in (1, 2, 3):
        with parallel.thread_session(n_jobs):
            mapped = LocallyLinearEmbedding(method=method, graph=KNearest(10)).fit(X)
            found.append(mapped.embedding_.tobytes() + mapped.transform(X[:100] + 0.01).tobytes())
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("method", METHODS)
def test_a_saved_map_is_the_same_after_loading(method, tmp_path):
    X, _ = roll(300)
    mapped = LocallyLinearEmbedding(method=method, graph=KNearest(10)).fit(X)
    tamiz.save(mapped, tmp_path / "map.tamiz")
    loaded = tamiz.load(tmp_path / "map.tamiz")
    np.testing.assert_array_equal(loaded.transform(X + 0.01), mapped.transform(X + 0.01))
    np.testing.assert_array_equal(loaded.transform(X), mapped.embedding_)
    assert loaded.reconstruction_error_ == mapped.reconstruction_error_


@pytest.mark.parametrize("method", METHODS)
def test_the_map_does_not_depend_on_unit_and_origin(method):
    X, _ = roll(300)
    expected = LocallyLinearEmbedding(method=method, graph=KNearest(10)).fit(X).embedding_
    for changed in (X * 2.0**100, X * 2.0**-300, X + 1e4):
        found = LocallyLinearEmbedding(method=method, graph=KNearest(10)).fit(changed).embedding_
        assert same_space(found, expected, 1e-4)


@quiet
def test_precomputed_distances_sparse_rows_and_unit_rows_have_the_map_of_their_coordinates():
    X, _ = roll(300)
    new = X[:20] + 0.01
    for method in METHODS:
        expected = LocallyLinearEmbedding(method=method, graph=KNearest(10)).fit(X)
        by_distance = LocallyLinearEmbedding(method=method, graph=KNearest(10, metric="precomputed")).fit(cdist(X, X))
        assert same_space(by_distance.embedding_, expected.embedding_, 1e-4)
        np.testing.assert_allclose(by_distance.transform(cdist(new, X)), expected.transform(new), atol=1e-4)
        np.testing.assert_array_equal(by_distance.transform(cdist(X, X)), by_distance.embedding_)
    rows = (
        np.abs(X) @ np.random.default_rng(0).uniform(size=(3, 40)) * (np.random.default_rng(1).random((300, 40)) < 0.3)
    )
    wide = sparse.hstack([sparse.csr_array(rows), sparse.csr_array((300, 200_000))]).tocsr()
    for metric in ("euclidean", "cosine"):
        graph = KNearest(10, metric=metric)
        expected, found = (LocallyLinearEmbedding(graph=graph).fit(table) for table in (rows, wide))
        assert same_space(found.embedding_, expected.embedding_, 1e-6)
        np.testing.assert_allclose(found.transform(wide[:9] * 1.1), expected.transform(rows[:9] * 1.1), atol=1e-8)


def test_distances_that_are_not_euclidean_have_finite_coordinates():
    D = np.random.default_rng(0).uniform(1, 2, size=(80, 80))
    D = (D + D.T) / 2
    np.fill_diagonal(D, 0)
    for method in METHODS:
        mapped = LocallyLinearEmbedding(method=method, graph=KNearest(10, metric="precomputed")).fit(D)
        assert np.isfinite(mapped.transform(D + 0.01)).all()


def test_mixed_columns_with_missing_values_are_mapped_like_other_tables():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=80), "b": rng.normal(size=80), "c": np.repeat(list("xy"), 40)})
    frame.loc[3, "a"] = np.nan
    with pytest.warns(TamizWarning, match="1 missing value was replaced"):
        mapped = LocallyLinearEmbedding(graph=KNearest(20)).set_output(transform="pandas").fit(frame)
    assert list(mapped.transform(frame.iloc[5:]).columns) == ["locallylinearembedding0", "locallylinearembedding1"]
    np.testing.assert_array_equal(mapped.transform(frame.iloc[5:]).to_numpy(), mapped.embedding_[5:])


def test_the_neighbours_are_those_that_the_builder_searches():
    X, _ = roll(300)
    expected = LocallyLinearEmbedding(graph=KNearest(10, symmetry="directed")).fit(X).embedding_
    for graph in (KNearest(10), KNearest(10).build(X)):
        np.testing.assert_array_equal(LocallyLinearEmbedding(graph=graph).fit(X).embedding_, expected)
    np.testing.assert_array_equal(LocallyLinearEmbedding(graph=KNearest(10).build(X)).fit().embedding_, expected)
    mutual = KNearest(14, symmetry="mutual")
    assert not np.array_equal(LocallyLinearEmbedding(graph=mutual).fit(X).embedding_, expected)
    # Within a radius the rows have different numbers of neighbours.
    X, along = make_s_curve(600, random_state=0)
    mapped = LocallyLinearEmbedding(method="ltsa", graph=Radius(0.5)).fit(X)
    assert unrolled(mapped.embedding_, along)[0] > 0.98
    assert np.isfinite(mapped.transform(X + 0.001)).all()


def two_rolls():
    X, _ = roll(400)
    return np.concatenate([X, X + 500])


def test_a_disconnected_graph_is_an_error_or_is_mapped_component_by_component():
    X = two_rolls()
    with pytest.raises(DataError, match=r"falls into 2 components of 400 and 400 rows. .*disconnected='per_component'"):
        LocallyLinearEmbedding().fit(X)
    mapped = LocallyLinearEmbedding(disconnected="per_component", method="ltsa", graph=KNearest(10)).fit(X)
    alone = LocallyLinearEmbedding(method="ltsa", graph=KNearest(10)).fit(X[:400])
    assert mapped.component_labels_.tolist() == [0] * 400 + [1] * 400
    assert mapped.eigenvalues_.shape == mapped.residuals_.shape == (2, 2)
    assert same_space(mapped.embedding_[:400], alone.embedding_, 1e-8)
    assert same_space(mapped.embedding_[400:], alone.embedding_, 1e-5)
    new = X[400:410] + 0.01
    nearest = np.argsort(cdist(new, X), axis=1)[:, :10]
    expected = [plain.weights(x, X[rows], 1e-3) @ mapped.embedding_[rows] for x, rows in zip(new, nearest, strict=True)]
    np.testing.assert_allclose(mapped.transform(new), expected, atol=1e-10)
    np.testing.assert_array_equal(mapped.transform(X), mapped.embedding_)


@pytest.mark.parametrize("graph", [KNearest(12), Radius(9.0)], ids=["nearest", "radius"])
@pytest.mark.parametrize("method", METHODS)
def test_equal_rows_count_once(method, graph):
    X, _ = roll(400)
    table = np.concatenate([X, np.repeat(X[:2], 300, axis=0), X])
    alone, mapped = (LocallyLinearEmbedding(method=method, graph=clone(graph)).fit(rows) for rows in (X, table))
    np.testing.assert_allclose(mapped.embedding_[:400], alone.embedding_, atol=1e-9)
    for copies, first in ((slice(400, 700), [0]), (slice(700, 1000), [1]), (slice(1000, None), slice(400))):
        assert (mapped.embedding_[copies] == mapped.embedding_[first]).all()
    np.testing.assert_array_equal(mapped.transform(table[::7]), mapped.embedding_[::7])
    np.testing.assert_allclose(mapped.transform(X[:20] + 0.01), alone.transform(X[:20] + 0.01), atol=1e-9)


def test_a_mutual_graph_of_equal_rows_loses_the_edges_of_the_copies():
    X, along = roll(400)
    table = np.concatenate([X, X[:5]])
    mapped = LocallyLinearEmbedding(method="ltsa", graph=KNearest(20, symmetry="mutual")).fit(table)
    assert (mapped.embedding_[400:] == mapped.embedding_[:5]).all()
    assert unrolled(mapped.embedding_[:400], along)[0] > 0.9


def test_coordinates_that_the_neighbourhoods_do_not_determine_are_reported():
    # The first rows have the same neighbourhood, whose curvature is one equation.
    line = np.arange(50.0)[:, None]
    with pytest.warns(TamizWarning, match="the coordinates are not determined"):
        LocallyLinearEmbedding(1, method="hessian").fit(line)


@quiet
@pytest.mark.parametrize("method", METHODS)
def test_constant_columns_and_rows_on_a_line_are_mapped(method):
    X, _ = roll(300)
    constant = np.column_stack([X, np.full(300, 7.0)])
    expected = LocallyLinearEmbedding(method=method).fit(X).embedding_
    assert same_space(LocallyLinearEmbedding(method=method).fit(constant).embedding_, expected, 1e-6)
    line = np.linspace(0, 1, 50)[:, None] * [1.0, 2.0, 3.0]
    along = LocallyLinearEmbedding(1, method=method).fit(line).embedding_[:, 0]
    assert method == "hessian" or abs(spearmanr(along, np.arange(50))[0]) > 0.999
    assert np.isfinite(LocallyLinearEmbedding(2, method=method).fit(line).embedding_).all()


@pytest.mark.parametrize("method", METHODS)
def test_an_outlier_leaves_the_eigenvectors_exact(method):
    X, _ = roll(300)
    X[0] = 1e5
    mapped = LocallyLinearEmbedding(method=method).fit(X)
    assert (mapped.residuals_ < 1e-9).all()
    np.testing.assert_allclose(mapped.embedding_.sum(axis=0), 0, atol=1e-9)


def test_few_rows_are_mapped():
    for n in (2, 3, 4, 8):
        X = np.random.default_rng(n).normal(size=(n, 3))
        mapped = LocallyLinearEmbedding(1).fit(X)
        assert mapped.embedding_.shape == (n, 1)
        np.testing.assert_array_equal(mapped.transform(X), mapped.embedding_)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"method": "hlle"}, "method must be one of 'standard', 'modified', 'hessian', 'ltsa', got 'hlle'"),
        ({"disconnected": "connect"}, "disconnected must be one of 'error', 'per_component', got 'connect'"),
        ({"n_components": 0}, "n_components must be"),
        ({"n_components": 40}, r"n_components must be below the number of distinct rows = 40, got 40"),
        ({"regularization": 0.0}, "regularization must be"),
        ({"graph": KNearest(40)}, "n_neighbors must be below the number of rows = 40, got 40"),
        (
            {"method": "hessian", "graph": KNearest(5)},
            r"'hessian' with n_components=2 needs at least n_neighbors = 6 .* 5",
        ),
        ({"method": "ltsa", "graph": KNearest(2)}, "'ltsa' with n_components=2 needs at least n_neighbors = 3"),
        (
            {"method": "modified", "n_components": 3, "graph": KNearest(2)},
            "needs at least n_neighbors = 3 for each row",
        ),
        ({"method": "ltsa", "n_components": 5}, r"looks for n_components=5 directions .* 3 coordinates"),
        ({"graph": KNearest(9, metric="cityblock")}, "metric='cityblock' has no inner products"),
        ({"graph": KNearest(9, metric="gower")}, "metric='gower' has no inner products"),
        ({"graph": SameClass()}, "graph does not have them"),
    ],
)
@quiet
def test_bad_parameters_are_refused_in_one_sentence(parameters, message):
    X = np.random.default_rng(0).normal(size=(40, 3))
    with pytest.raises(ValueError, match=message):
        LocallyLinearEmbedding(**parameters).fit(X, np.repeat([0, 1], 20))


def test_bad_rows_are_refused_in_one_sentence():
    with pytest.raises(DataError, match="X has 1 sample"):
        LocallyLinearEmbedding().fit([[1.0, 2.0]])
    with pytest.raises(DataError, match="All 30 rows are equal"):
        LocallyLinearEmbedding().fit(np.ones((30, 2)))
    with pytest.raises(DataError, match="infinite"):
        LocallyLinearEmbedding().fit([[1.0], [np.inf], [2.0]])
    with pytest.raises(DataError, match="needs the coordinates of the rows"):
        LocallyLinearEmbedding(1, graph=Graph.from_edges([0, 1], [1, 2], lengths=[1.0, 1.0])).fit()


def test_a_failed_fit_leaves_the_estimator_unchanged():
    X, _ = roll(100)
    mapped = LocallyLinearEmbedding().fit(X)
    before = mapped.embedding_
    with pytest.raises(DataError):
        mapped.fit(np.concatenate([X, X + 500]))
    assert mapped.embedding_ is before


@pytest.mark.slow
def test_fifty_thousand_rows_are_unrolled_without_an_array_of_n_by_n():
    X, along = make_swiss_roll(50_000, random_state=0)
    for method in METHODS:
        mapped = LocallyLinearEmbedding(method=method).fit(X)
        assert unrolled(mapped.embedding_, along)[0] > 0.98
        assert (mapped.residuals_ < 1e-11).all()


@pytest.mark.parametrize("method", ["ltsa", "hessian"])
def test_a_row_that_is_far_away_leaves_the_other_coordinates_exact(method):
    # Its coordinate has an eigenvalue of 0 to rounding, beside which those of the roll must still be found.
    X = make_swiss_roll(400, random_state=1)[0]
    X[6, {"ltsa": 1, "hessian": 2}[method]] = 1e7
    fitted = LocallyLinearEmbedding(2, method=method).fit(X)
    assert (fitted.residuals_ < 1e-9 * fitted.eigenvalues_ + 1e-12).all()
    assert fitted.eigenvalues_[0] < 1e-13 < 1e-3 < fitted.eigenvalues_[1]
