"""The three solvers of principal components, and the number of components that are kept."""

import numpy as np
import pandas as pd
import pytest
from sklearn import decomposition
from sklearn.datasets import load_digits, load_wine

from tamiz.exceptions import TamizWarning
from tamiz.reduction import PCA

WAYS = ("covariance", "svd", "randomized")


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(300, 40), (40, 300), (300, 8)])
def test_every_solver_gives_the_same_components(shape, weighted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape) * np.linspace(3, 0.1, shape[1]) + rng.normal(size=shape[1])
    weight = rng.integers(0, 4, shape[0]).astype(float) if weighted else None
    exact, *others = (PCA(4, standardize=True, solver=way).fit(X, sample_weight=weight) for way in WAYS)
    for other in others:
        np.testing.assert_allclose(other.explained_variance_, exact.explained_variance_, rtol=1e-10)
        np.testing.assert_allclose(other.explained_variance_ratio_, exact.explained_variance_ratio_, rtol=1e-10)
        np.testing.assert_allclose(other.components_, exact.components_, atol=1e-5)
    assert [exact.solver_, *(other.solver_ for other in others)] == list(WAYS)
    assert (others[1].residuals_ < 1e-6 * exact.explained_variance_[0]).all()
    assert not exact.residuals_.any()


def test_the_solver_depends_on_the_numbers_of_rows_columns_and_components():
    rng = np.random.default_rng(0)
    assert PCA(2).fit(rng.normal(size=(500, 20))).solver_ == "covariance"
    assert PCA(2).fit(rng.normal(size=(20, 500))).solver_ == "svd"
    tall = rng.normal(size=(3000, 2500)).astype(np.float32)
    tall[:, :3] *= 30
    pca = PCA(2).fit(tall)
    assert pca.solver_ == "randomized"
    assert any("block Krylov" in note for note in pca.describe().notes)


def test_a_share_of_variance_keeps_the_fewest_components_that_reach_it():
    X = load_wine().data
    every = PCA(None, standardize=True).fit(X)
    held = np.cumsum(every.explained_variance_ratio_)
    for share in (0.3, 0.5, 0.9, 0.99):
        for solver in ("covariance", "svd"):
            pca = PCA(share, standardize=True, solver=solver).fit(X)
            assert pca.n_components_ == np.searchsorted(held, share) + 1
            assert pca.embedding_.shape[1] == pca.n_components_ == len(pca.get_feature_names_out())
    assert PCA(1.0, standardize=True).fit(X).n_components_ == 13
    theirs = decomposition.PCA(0.9, svd_solver="full").fit((X - X.mean(axis=0)) / X.std(axis=0))
    assert PCA(0.9, standardize=True).fit(X).n_components_ == theirs.n_components_


def test_a_share_of_variance_needs_a_solver_that_finds_all_variances():
    with pytest.raises(
        ValueError, match=r"solver='randomized' finds a number of components, and n_components=0\.9 is a share"
    ):
        PCA(0.9, solver="randomized").fit(load_wine().data)


def test_an_unknown_solver_is_refused_with_the_nearest_name():
    with pytest.raises(
        ValueError, match=r"solver must be one of 'auto', .*got 'covarianc' \(did you mean 'covariance'\?\)"
    ):
        PCA(solver="covarianc").fit(load_wine().data)


@pytest.mark.parametrize("solver", WAYS)
def test_float32_is_kept_and_right_to_its_digits(solver):
    X = load_digits().data
    exact, single = PCA(5).fit(X), PCA(5, solver=solver).fit(X.astype(np.float32))
    assert single.embedding_.dtype == single.transform(X.astype(np.float32)).dtype == np.float32
    assert single.components_.dtype == single.explained_variance_.dtype == np.float64
    np.testing.assert_allclose(single.explained_variance_, exact.explained_variance_, rtol=1e-5)
    np.testing.assert_allclose(single.embedding_, exact.embedding_, atol=1e-2)
    np.testing.assert_array_equal(single.embedding_, single.transform(X.astype(np.float32)))


def test_a_frame_of_float32_is_taken_as_the_array_is():
    X = load_digits().data[:, 1:30].astype(np.float32)
    array, frame = PCA(3).fit(X), PCA(3).fit(pd.DataFrame(X, columns=[f"p{j}" for j in range(29)]))
    assert frame.embedding_.dtype == np.float32
    np.testing.assert_array_equal(frame.embedding_, array.embedding_)


@pytest.mark.filterwarnings("ignore:.*TZ208")
@pytest.mark.parametrize("factor", [1e-25, 1e-15, 1e12, 1e20])
def test_float32_beyond_the_range_of_its_squares_is_multiplied_in_float64(factor):
    X = (load_wine().data[:, :3] * factor).astype(np.float32)
    exact = PCA(3).fit(X.astype(np.float64)).explained_variance_
    np.testing.assert_allclose(PCA(3).fit(X).explained_variance_, exact, rtol=1e-5)
    weight = np.full(len(X), 1e30)
    np.testing.assert_allclose(PCA(1).fit(X, sample_weight=weight).explained_variance_, exact[:1], rtol=1e-2)


def test_float32_keeps_the_part_of_its_centre_that_float32_has_not():
    X = np.round(np.random.default_rng(0).normal(size=(5000, 3)) * 3 + 1e6).astype(np.float32)
    exact = PCA(3).fit(X.astype(np.float64)).explained_variance_
    for solver in WAYS:
        pca = PCA(3, solver=solver).fit(X)
        assert np.abs(pca.embedding_.mean(axis=0, dtype=np.float64)).max() < 1e-5
        np.testing.assert_allclose(pca.explained_variance_, exact, rtol=2e-6)


@pytest.mark.parametrize("factor", [1e-25, 1e20])
@pytest.mark.parametrize("solver", WAYS)
def test_every_solver_keeps_float32_within_its_range(factor, solver):
    X = (np.random.default_rng(0).normal(size=(200, 6)) * factor).astype(np.float32)
    exact = PCA(2).fit(X.astype(np.float64)).explained_variance_
    np.testing.assert_allclose(PCA(2, solver=solver).fit(X).explained_variance_, exact, rtol=1e-5)


def test_float32_far_from_zero_keeps_the_digits_that_came():
    X = (load_wine().data[:, :3] + 4096.0).astype(np.float32)
    exact = PCA(3).fit(X.astype(np.float64)).explained_variance_
    np.testing.assert_allclose(PCA(3).fit(X).explained_variance_, exact, rtol=1e-5)


def test_a_direction_that_was_not_found_is_reported(monkeypatch):
    monkeypatch.setattr("tamiz.reduction.krylov._MAX_PRODUCTS", 1)
    with pytest.warns(
        TamizWarning, match="PCA: a component did not converge: its residual is .*, and the largest variance"
    ):
        PCA(2, solver="randomized").fit(np.random.default_rng(0).normal(size=(500, 300)))


@pytest.mark.parametrize("solver", WAYS)
def test_a_table_too_large_for_memory_is_refused_with_a_way_out(solver, monkeypatch):
    monkeypatch.setattr("tamiz.runtime.validation.free_memory", lambda: 1e4)
    messages = {
        "covariance": "The cross products of 64 coordinates needs .* are free.*solver='randomized'",
        "svd": "The decomposition of 1,797 rows of 64 coordinates needs .* are free.*solver='randomized'",
        "randomized": "A search by 72 vectors of 64 numbers needs .* are free. Ask for fewer components",
    }
    with pytest.raises(MemoryError, match=messages[solver]):
        PCA(3, solver=solver).fit(load_digits().data)


@pytest.mark.parametrize("way", ["warm-up", "ascending", "descending"])
def test_float32_columns_in_an_order_are_right_to_their_digits(way):
    rng = np.random.default_rng(0)
    if way == "warm-up":
        X = np.vstack([np.zeros((300, 4)), rng.normal(100, 1, (32_000, 4))])
    else:
        X = np.sort(rng.lognormal(0, 2, (33_000, 4)), axis=0)[:: 1 if way == "ascending" else -1]
    X = X.astype(np.float32)
    exact = PCA(4).fit(X.astype(np.float64)).explained_variance_
    np.testing.assert_allclose(PCA(4).fit(X).explained_variance_, exact, rtol=1e-6, atol=2e-6 * exact[0])


def test_products_of_float32_end_where_float32_does():
    X = (np.random.default_rng(0).normal(size=(900, 300)) * np.linspace(1.2, 1, 300)).astype(np.float32)
    pca = PCA(2, solver="randomized").fit(X)
    exact = PCA(2, solver="covariance").fit(X.astype(np.float64))
    np.testing.assert_allclose(pca.explained_variance_, exact.explained_variance_, rtol=1e-5)
    assert pca.residuals_.max() < 2e-6 * pca.explained_variance_[0]


def test_a_fit_that_fails_leaves_the_model_that_was_there():
    X = load_wine().data
    pca = PCA(2).fit(X)
    before = pca.transform(X[:3])
    with pytest.raises(TypeError):
        pca.fit(pd.DataFrame(X[:, :3], columns=["a", "b", 0]))
    np.testing.assert_array_equal(pca.transform(X[:3]), before)
    with pytest.raises(ValueError, match="n_components must be from 1 to 3, got 14"):
        pca.set_params(n_components=14).fit(X[:, :3])
    np.testing.assert_array_equal(pca.transform(X[:3]), before)


@pytest.mark.parametrize("factor", [1e-100, 1e80])
def test_the_search_keeps_its_digits_at_any_unit(factor):
    X = np.random.default_rng(0).normal(size=(60, 30))
    exact = PCA(2).fit(X).explained_variance_
    found = PCA(2, solver="randomized").fit(X * factor).explained_variance_
    np.testing.assert_allclose(found / factor / factor, exact, rtol=1e-9)
