"""Missing values by the pairwise and by the iterative rule, against plain versions."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine

from tamiz.exceptions import TamizWarning
from tamiz.reduction import PCA

from ...reference.pca import iterative, pairwise_covariance, place


def with_missing_values(X, share=0.1, seed=0):
    X = X.copy()
    X[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return X


@pytest.mark.parametrize("standardize", [False, True])
def test_pairwise_covariances_are_those_of_the_rows_that_have_both(standardize):
    X = with_missing_values(load_iris().data)
    plain = pairwise_covariance(X)
    if standardize:
        deviation = np.sqrt(np.diag(plain))
        plain = plain / np.outer(deviation, deviation)
    pca = PCA(None, standardize=standardize, missing="pairwise").fit(X)
    values, vectors = np.linalg.eigh(plain)
    np.testing.assert_allclose(pca.explained_variance_, values[::-1], rtol=1e-10)
    np.testing.assert_allclose(np.abs(pca.components_), np.abs(vectors.T[::-1]), atol=1e-9)
    np.testing.assert_allclose(pca.mean_, np.nanmean(X, axis=0), rtol=1e-12)


@pytest.mark.parametrize("missing", ["pairwise", "iterative"])
def test_a_row_with_missing_values_is_placed_where_its_present_values_fit_best(missing):
    X = with_missing_values(load_wine().data / load_wine().data.std(axis=0))
    pca = PCA(3, missing=missing).fit(X)
    for row in range(0, len(X), 9):
        np.testing.assert_allclose(pca.embedding_[row], place(X[row], pca.mean_, pca.components_), atol=1e-10)
    np.testing.assert_array_equal(pca.transform(X), pca.embedding_)
    np.testing.assert_array_equal(pca.transform(X[5:6])[0], pca.embedding_[5])


def test_a_row_with_fewer_values_than_components_is_placed_nearest_to_the_mean():
    X = load_iris().data
    pca = PCA(3, missing="pairwise").fit(X)
    row = np.array([6.0, np.nan, np.nan, np.nan])
    np.testing.assert_allclose(pca.transform(row[None])[0], place(row, pca.mean_, pca.components_), atol=1e-9)
    np.testing.assert_array_equal(pca.transform(np.full((1, 4), np.nan)), np.zeros((1, 3)))


@pytest.mark.parametrize("shape", [(150, 4), (12, 30)])
def test_the_iterative_rule_converges_to_the_plain_version(shape):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(shape[0], 2)) @ rng.normal(size=(2, shape[1])) + 0.1 * rng.normal(size=shape) + 3.0
    X = with_missing_values(X)
    _, axes, filled = iterative(X, 2, 3000)
    pca = PCA(2, missing="iterative").fit(X)
    np.testing.assert_allclose(pca.mean_, filled.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(np.abs(pca.components_), np.abs(axes), atol=1e-6)
    variances = np.linalg.eigvalsh(np.cov(filled.T))[::-1][:2]
    np.testing.assert_allclose(pca.explained_variance_, variances, rtol=1e-6)
    np.testing.assert_allclose(pca.explained_variance_ratio_, variances / np.trace(np.cov(filled.T)), rtol=1e-6)
    # At rest the fit of a gap is what fills it.
    gaps = np.isnan(X)
    np.testing.assert_allclose(pca.inverse_transform(pca.embedding_)[gaps], filled[gaps], atol=1e-5)


def test_the_iterative_rule_gives_a_table_of_two_dimensions_back():
    rng = np.random.default_rng(0)
    whole = rng.normal(size=(80, 2)) @ rng.normal(size=(2, 9)) + 1.0
    X = with_missing_values(whole, 0.15)
    pca = PCA(2, missing="iterative").fit(X)
    np.testing.assert_allclose(pca.inverse_transform(pca.embedding_), whole, atol=1e-5)
    np.testing.assert_allclose(pca.explained_variance_ratio_.sum(), 1, atol=1e-6)


@pytest.mark.parametrize("missing", ["pairwise", "iterative"])
def test_without_missing_values_the_rules_agree(missing):
    X = load_wine().data
    ours, plain = PCA(3, standardize=True, missing=missing).fit(X), PCA(3, standardize=True).fit(X)
    np.testing.assert_allclose(ours.embedding_, plain.embedding_, atol=1e-10)
    np.testing.assert_allclose(ours.explained_variance_ratio_, plain.explained_variance_ratio_, rtol=1e-10)


@pytest.mark.parametrize("missing", ["pairwise", "iterative"])
def test_integer_weights_count_as_repeated_rows(missing):
    X = with_missing_values(load_iris().data, 0.05)
    weight = np.random.default_rng(1).integers(0, 3, len(X))
    weighted = PCA(2, missing=missing).fit(X, sample_weight=weight)
    repeated = PCA(2, missing=missing).fit(X.repeat(weight, axis=0))
    np.testing.assert_allclose(weighted.explained_variance_, repeated.explained_variance_, rtol=1e-6)
    np.testing.assert_allclose(weighted.components_, repeated.components_, atol=1e-6)


def test_a_category_with_missing_values_is_placed_by_the_other_columns():
    frame = pd.DataFrame(
        {"x": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "y": list("aababb"), "z": [1.0, 1.5, 3.5, 3.0, 6.0, 5.0]}
    )
    pca = PCA(2, standardize=True, missing="pairwise").fit(frame)
    frame.loc[2, "y"] = None
    places = pca.transform(frame)
    np.testing.assert_array_equal(places[[0, 1, 3, 4, 5]], pca.embedding_[[0, 1, 3, 4, 5]])
    assert not np.allclose(places[2], pca.embedding_[2])


def test_a_covariance_of_no_table_is_reported():
    X = np.array([[1, 1, np.nan], [2, 2, np.nan], [3, 3, np.nan], [1, np.nan, 1], [2, np.nan, 2], [3, np.nan, 3],
                  [np.nan, 1, 3], [np.nan, 2, 2], [np.nan, 3, 1]], dtype=float)  # fmt: skip
    told = r"PCA: the covariance is not positive semidefinite \(smallest eigenvalue -1\.2\), .* missing='iterative' avoids this"
    for k in (1, 3):
        with pytest.warns(TamizWarning, match=told):
            pca = PCA(k, missing="pairwise").fit(X)
    assert pca.explained_variance_[2] == 0.0


def test_a_pair_of_less_weight_than_two_rows_has_no_covariance():
    X = np.array([[1.0, 2.0], [2.0, np.nan], [4.0, 3.0], [np.nan, 1.0], [3.0, np.nan], [np.nan, 4.0]])
    weight = np.array([0.5, 1.0, 1.0, 1.0, 1.0, 1.0])
    with pytest.warns(TamizWarning, match="fewer than two rows have both x0 and x1") as told:
        pca = PCA(2, missing="pairwise").fit(X, sample_weight=weight)
    assert told[0].message.args[0].columns == ("x0", "x1")
    np.testing.assert_array_equal(np.sort(np.abs(pca.components_).ravel()), [0, 0, 1, 1])


def test_new_rows_with_missing_values_are_placed_by_what_is_present_though_fit_saw_none():
    X = load_iris().data
    pca = PCA(2, missing="iterative").fit(X)
    row = X[:1].copy()
    row[0, 2] = np.nan
    np.testing.assert_allclose(pca.transform(row)[0], place(row[0], pca.mean_, pca.components_), atol=1e-10)


def test_many_components_are_placed_row_by_row():
    X = with_missing_values(np.random.default_rng(0).normal(size=(80, 40)), 0.02)
    pca = PCA(36, missing="pairwise").fit(X)
    for row in (0, 17, 79):
        np.testing.assert_allclose(pca.embedding_[row], place(X[row], pca.mean_, pca.components_), atol=1e-8)
    np.testing.assert_array_equal(pca.transform(X[5:6])[0], pca.embedding_[5])


def test_a_category_whose_rows_weigh_nothing_is_passed_over():
    frame = pd.DataFrame(
        {"x": [1.0, 2.0, 4.0, 3.0, 7.0], "y": [2.0, 1.0, 3.0, 5.0, 4.0], "z": ["a", "b", None, None, None]}
    )
    weight = np.array([0.0, 0.0, 1.0, 1.0, 1.0])
    for solver in ("covariance", "svd"):
        with pytest.warns(TamizWarning, match="missing values were imputed with the mean"):
            pca = PCA(2, solver=solver).fit(frame, sample_weight=weight)
        expected = PCA(2).fit(frame.loc[2:, ["x", "y"]])
        np.testing.assert_allclose(pca.explained_variance_, expected.explained_variance_, rtol=1e-10)


def test_columns_that_are_never_present_together_are_reported():
    X = np.array(
        [[1, np.nan, 3], [2, np.nan, 1], [4, np.nan, 2], [np.nan, 3, 1], [np.nan, 1, 2], [np.nan, 2, 5]], dtype=float
    )
    with pytest.warns(
        TamizWarning, match="fewer than two rows have both x0 and x1; the covariance of such pairs is set to 0"
    ):
        PCA(2, missing="pairwise").fit(X)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"missing": "iterativ"}, "missing must be one of 'mean', 'pairwise', 'iterative', got 'iterativ'"),
        (
            {"missing": "pairwise", "solver": "svd"},
            "missing='pairwise' requires solver='covariance' or 'auto', got 'svd'",
        ),
        ({"missing": "iterative", "n_components": 0.9}, "missing='iterative' needs a whole number of components"),
        ({"missing": "iterative", "n_components": 4}, "n_components must be from 1 to 3, got 4"),
    ],
)
def test_invalid_rules_for_missing_values_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        PCA(**{"n_components": 2, **parameters}).fit(with_missing_values(load_iris().data))


def test_iterations_that_do_not_converge_are_reported(monkeypatch):
    monkeypatch.setattr("tamiz.reduction.principal_components._MAX_STEPS", 3)
    with pytest.warns(
        TamizWarning, match=r"PCA: the missing values did not converge in 3 steps; the last one moved them by"
    ):
        PCA(2, missing="iterative").fit(with_missing_values(load_wine().data))
