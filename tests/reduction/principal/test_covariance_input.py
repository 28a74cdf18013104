"""Principal components from a covariance matrix alone."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, load_wine

from tamiz.exceptions import TamizWarning
from tamiz.reduction import PCA

WINE = load_wine().data


@pytest.mark.parametrize("standardize", [False, True])
def test_a_covariance_has_the_components_of_its_rows(standardize):
    rows = PCA(3, standardize=standardize).fit(WINE)
    given = PCA(3, standardize=standardize).fit_covariance(np.cov(WINE.T), mean=WINE.mean(axis=0), n_samples=len(WINE))
    for name in ("explained_variance_", "explained_variance_ratio_", "components_", "loadings_", "mean_", "scale_"):
        np.testing.assert_allclose(getattr(given, name), getattr(rows, name), rtol=1e-9, atol=1e-12, err_msg=name)
    np.testing.assert_allclose(given.transform(WINE), rows.embedding_, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(given.transform(WINE[7:8])[0], given.transform(WINE)[7])
    np.testing.assert_allclose(given.parallel_analysis().reference, rows.parallel_analysis().reference, rtol=1e-9)


def test_a_covariance_input_has_no_embedding():
    pca = PCA(2).fit(WINE).fit_covariance(np.cov(WINE.T))
    assert not hasattr(pca, "embedding_")
    with pytest.raises(
        ValueError, match="fitted without a mean, so no row can be mapped: pass mean= to fit_covariance"
    ):
        pca.transform(WINE)
    with pytest.raises(ValueError, match="parallel_analysis needs the number of rows: pass n_samples"):
        pca.parallel_analysis()
    assert pca.parallel_analysis_ is None


def test_the_names_of_a_frame_are_those_of_the_coordinates():
    frame = load_iris(as_frame=True).data
    pca = PCA(2).fit_covariance(frame.cov(), mean=frame.mean())
    assert pca.coordinate_names_ == list(frame.columns)
    assert list(pca.get_feature_names_out()) == ["pca0", "pca1"]
    np.testing.assert_allclose(pca.transform(frame), PCA(2).fit(frame).embedding_, atol=1e-12)


def test_a_covariance_of_no_table_is_reported():
    with pytest.warns(
        TamizWarning, match=r"not positive semidefinite \(smallest eigenvalue -1\), .*Negative variances are set to 0\."
    ):
        PCA(1).fit_covariance([[1.0, 2.0], [2.0, 1.0]])


@pytest.mark.parametrize(
    ("given", "parameters", "message"),
    [
        (np.ones((2, 3)), {}, "A covariance must be a square matrix, got 2 rows and 3 columns"),
        ([[1.0, 0.5], [0.4, 1.0]], {}, r"must be symmetric: that of x0 and x1 is 0\.5, and of x1 and x0 0\.4"),
        ([[1.0, np.nan], [np.nan, 1.0]], {}, "The covariance of x0 and x1 is nan; it must be a finite number"),
        ([[-1.0, 0.0], [0.0, 1.0]], {}, "The variance of x0 is -1; it must be at least 0"),
        (np.eye(2), {"mean": [1.0]}, "mean must be 2 numbers, one a column of the covariance, got 1"),
        (np.eye(2), {"n_samples": 1}, "n_samples must be at least 2, got 1"),
    ],
)
def test_an_invalid_covariance_is_refused(given, parameters, message):
    with pytest.raises(ValueError, match=message):
        PCA(1).fit_covariance(given, **parameters)


def test_rows_with_missing_values_cannot_be_placed():
    pca = PCA(1).fit_covariance(np.eye(2), mean=[0, 0])
    with pytest.raises(ValueError, match="Row 1, column x0 is nan; fill it in or leave the row out"):
        pca.transform([[1.0, 2.0], [np.nan, 1.0]])


def test_a_mean_with_names_is_put_in_the_order_of_the_columns():
    frame = load_iris(as_frame=True).data
    mean = frame.mean()[list(frame.columns[::-1])]
    pca = PCA(2).fit_covariance(frame.cov(), mean=mean)
    np.testing.assert_allclose(pca.mean_, frame.mean().to_numpy())
    with pytest.raises(
        ValueError, match=r"The rows of the covariance are .* and its columns .*; put them in one order"
    ):
        PCA(2).fit_covariance(frame.cov().iloc[::-1])


def test_rows_that_are_not_dense_numbers_are_refused():
    pca = PCA(1).fit_covariance(np.eye(2), mean=[0, 0])
    with pytest.raises(TypeError, match="beside a covariance rows are a dense array"):
        pca.transform(sparse.csr_array(np.eye(2)))
    with pytest.raises(ValueError, match="X must contain numbers"):
        pca.transform(np.array([["a", "b"]]))
    with pytest.raises(ValueError, match="The covariance must contain numbers"):
        pca.fit_covariance([["a", "b"], ["b", "a"]])
    with pytest.raises(ValueError, match="The mean of x1 is nan; it must be a finite number"):
        pca.fit_covariance(np.eye(2), mean=[0, np.nan])


def test_parameters_are_checked_although_they_have_no_part():
    with pytest.raises(ValueError, match="solver must be one of"):
        PCA(1, solver="nonsense").fit_covariance(np.eye(2))
