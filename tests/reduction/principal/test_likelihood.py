"""The normal distribution of probabilistic PCA, against scikit-learn and a plain density."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from sklearn import decomposition
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import cross_val_score

from tamiz.reduction import PCA

WAYS = {
    "dense": (lambda X: X, "auto"),
    "covariance": (lambda X: X, "covariance"),
    "svd": (lambda X: X, "svd"),
    "krylov": (lambda X: X, "randomized"),
    "sparse": (sparse.csr_array, "auto"),
    "frame": (pd.DataFrame, "auto"),
}


@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_the_model_is_scikit_learns_by_every_solver(way, whiten):
    X = load_iris().data
    given, solver = WAYS[way]
    ours = PCA(2, solver=solver, whiten=whiten).fit(given(X))
    theirs = decomposition.PCA(2, svd_solver="full", whiten=whiten).fit(X)
    signs = np.sign((ours.components_ * theirs.components_).sum(axis=1))
    # Whitening is a unit of the embedding; scikit-learn multiplies the variances into its covariance twice.
    model = decomposition.PCA(2, svd_solver="full").fit(X)
    for name in ("singular_values_", "noise_variance_", "explained_variance_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-8, err_msg=name)
    np.testing.assert_allclose(ours.get_covariance(), model.get_covariance(), atol=1e-8)
    np.testing.assert_allclose(ours.get_precision(), model.get_precision(), atol=1e-8)
    np.testing.assert_allclose(ours.score_samples(given(X)), model.score_samples(X), rtol=1e-8)
    assert ours.score(given(X)) == pytest.approx(model.score(X), rel=1e-8)
    embedding = theirs.transform(X) * signs
    np.testing.assert_allclose(ours.embedding_, embedding, atol=1e-8)
    np.testing.assert_allclose(ours.transform(given(X)), embedding, atol=1e-8)
    np.testing.assert_allclose(
        ours.inverse_transform(embedding), theirs.inverse_transform(embedding * signs), atol=1e-8
    )


@pytest.mark.parametrize("k", [1, 5, 13])
def test_the_likelihood_of_fewer_or_all_components_is_scikit_learns(k):
    X = load_wine().data
    ours, theirs = PCA(k).fit(X), decomposition.PCA(k, svd_solver="full").fit(X)
    np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=1e-8)


def test_fewer_rows_than_columns_leave_the_directions_that_they_can_have():
    X = np.random.default_rng(0).normal(size=(10, 30))
    ours, theirs = PCA(4).fit(X), decomposition.PCA(4, svd_solver="full").fit(X)
    assert ours.solver_ == "svd"
    assert ours.noise_variance_ == pytest.approx(theirs.noise_variance_, rel=1e-10)
    np.testing.assert_allclose(ours.get_precision(), theirs.get_precision(), rtol=1e-8, atol=1e-10)


def test_the_likelihood_is_the_density_of_standardised_columns():
    X = load_iris().data
    pca = PCA(2, standardize=True).fit(X)
    Z = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    expected = stats.multivariate_normal(np.zeros(4), pca.get_covariance()).logpdf(Z)
    np.testing.assert_allclose(pca.score_samples(X), expected, rtol=1e-10)
    np.testing.assert_allclose(pca.get_covariance() @ pca.get_precision(), np.eye(4), atol=1e-10)


def test_a_covariance_alone_has_the_likelihood_of_its_rows():
    X = load_iris().data
    alone = PCA(2).fit_covariance(np.cov(X.T), mean=X.mean(axis=0), n_samples=len(X))
    whole = PCA(2).fit(X)
    np.testing.assert_allclose(alone.score_samples(X), whole.score_samples(X), rtol=1e-9)
    np.testing.assert_allclose(alone.singular_values_, whole.singular_values_, rtol=1e-9)
    assert np.isnan(PCA(2).fit_covariance(np.cov(X.T)).singular_values_).all()


def test_components_are_chosen_by_the_likelihood_of_other_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 8)) * 3 + rng.normal(size=(200, 8))
    scores = [cross_val_score(PCA(k), X).mean() for k in (1, 2, 6)]
    assert int(np.argmax(scores)) == 1


def mixed(n=60):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {"length": rng.normal(size=n), "width": rng.normal(size=n), "colour": rng.choice(["r", "g", "b"], n)}
    )


def test_mixed_tables_have_a_covariance_and_no_density():
    pca = PCA(2, standardize=True).fit(mixed())
    np.testing.assert_allclose(np.trace(pca.get_covariance()), 3, atol=1e-9)
    with pytest.raises(ValueError, match="column colour is categorical"):
        pca.score_samples(mixed())


def test_whitened_coordinates_of_mixed_and_incomplete_tables_have_variance_one():
    frame = mixed()
    frame.loc[::7, "width"] = np.nan
    with pytest.warns(match="imputed with the mean of the column"):
        pca = PCA(2, whiten=True).fit(frame)
    np.testing.assert_allclose(pca.embedding_.var(axis=0, ddof=1), 1, atol=1e-9)
    assert any("whitened" in note for note in pca.describe().notes)
    filled, plain = (PCA(2, missing="iterative", whiten=whiten).fit(frame) for whiten in (True, False))
    np.testing.assert_allclose(filled.embedding_ * np.sqrt(plain.explained_variance_), plain.embedding_, atol=1e-12)
    np.testing.assert_allclose(filled.inverse_transform(filled.embedding_), plain.reconstruct(frame), atol=1e-12)


def test_an_incomplete_row_has_no_density_unless_it_is_imputed():
    X = load_iris().data.copy()
    X[5, 2] = np.nan
    pca = PCA(2, missing="pairwise").fit(X)
    with pytest.raises(ValueError, match="Row 5 has a missing value"):
        pca.score_samples(X)


def test_a_direction_without_variance_has_no_precision_and_stays_at_0_when_whitened():
    X = load_iris().data[:, [0, 1, 1]]
    pca = PCA(3, whiten=True).fit(X)
    np.testing.assert_array_equal(pca.embedding_[:, 2], 0)
    np.testing.assert_allclose(pca.inverse_transform(pca.embedding_), X, atol=1e-9)
    with pytest.raises(ValueError, match="because 1 component has no variance"):
        pca.get_precision()
    with pytest.warns(match="the direction beside the components has no variance but rounding"):
        assert PCA(2).fit(X).score(X) > 10


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_of_set_output_are_turned_back(library):
    X = load_iris().data
    pca = PCA(2).set_output(transform=library)
    frame = pca.fit_transform(X)
    np.testing.assert_array_equal(pca.inverse_transform(frame), pca.inverse_transform(pca.embedding_))
    np.testing.assert_array_equal(pca.inverse_transform(frame[["pca1", "pca0"]]), pca.inverse_transform(frame))
