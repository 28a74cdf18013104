"""Sparse rows against the same rows as a dense array."""

import numpy as np
import pytest
from scipy import sparse

from tamiz.exceptions import TamizWarning
from tamiz.reduction import PCA


def rows(n=200, q=30, density=0.1, seed=0, offset=0.0):
    X = sparse.random_array(
        (n, q), density=0.3 if n < 100 else density, random_state=np.random.default_rng(seed), format="csr"
    )
    X = X.tolil()
    X[:, 3] = np.random.default_rng(seed + 1).normal(size=(n, 1)) + offset
    return X.tocsr()


@pytest.mark.parametrize("solver", ["covariance", "svd", "randomized"])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("shape", [(200, 30), (40, 90)])
def test_sparse_rows_have_the_components_of_dense_ones(shape, standardize, solver):
    X = rows(*shape)
    weight = np.random.default_rng(2).integers(1, 4, shape[0])
    ours = PCA(4, standardize=standardize, solver=solver).fit(X, sample_weight=weight)
    dense = PCA(4, standardize=standardize).fit(X.toarray(), sample_weight=weight)
    for name in ("explained_variance_", "explained_variance_ratio_", "mean_", "scale_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(dense, name), rtol=1e-9, err_msg=name)
    np.testing.assert_allclose(ours.components_, dense.components_, atol=1e-5)
    np.testing.assert_allclose(ours.embedding_, dense.embedding_, atol=1e-4)


@pytest.mark.parametrize("form", ["csr_array", "csc_matrix", "coo_array"])
def test_new_rows_are_placed_one_by_one_dense_or_sparse(form):
    X = rows()
    pca = PCA(3, standardize=True).fit(X)
    new = getattr(sparse, form)(rows(20, seed=5))
    places = pca.transform(new)
    np.testing.assert_array_equal(pca.transform(X), pca.embedding_)
    np.testing.assert_array_equal(pca.transform(sparse.csr_array(new)[[4]])[0], places[4])
    np.testing.assert_array_equal(pca.transform(new.toarray()), places)


def test_a_full_column_far_from_zero_keeps_its_variance():
    X = rows(offset=1e8)
    dense = PCA(2).fit(X.toarray())
    np.testing.assert_allclose(
        PCA(2, solver="covariance").fit(X).explained_variance_, dense.explained_variance_, rtol=1e-6
    )


def test_a_column_far_from_zero_in_the_rows_that_weigh_keeps_its_variance():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.where(np.arange(100) < 40, rng.normal(1e8, 1, 100), 0.0), rng.normal(size=100)])
    weight = np.where(np.arange(100) < 40, 1.0, 0.0)
    dense = PCA(2).fit(X, sample_weight=weight).explained_variance_
    ours = PCA(2, solver="covariance").fit(sparse.csr_array(X), sample_weight=weight).explained_variance_
    np.testing.assert_allclose(ours, dense, rtol=1e-6)


@pytest.mark.parametrize("solver", ["covariance", "svd", "randomized"])
def test_a_constant_column_under_weights_is_0_when_standardised(solver):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((30, 5)) < 0.4, rng.normal(size=(30, 5)), 0.0)
    X[:, 3] = 7.3
    for seed in range(20):
        weight = np.random.default_rng(seed).random(30) + 0.5
        with pytest.warns(TamizWarning, match="PCA: x3 is constant"):
            pca = PCA(1, standardize=True, solver=solver).fit(sparse.csr_array(X), sample_weight=weight)
        assert pca.scale_[3] == 1.0


def test_rows_of_zeros_do_not_vary():
    for given in (sparse.csr_array((5, 3)), sparse.csr_array(np.zeros((5, 3)))):
        with pytest.warns(TamizWarning, match="all columns are constant"):
            pca = PCA(1).fit(given)
        np.testing.assert_array_equal(pca.embedding_, np.zeros((5, 1)))


def test_columns_without_entries_are_constant_and_reported():
    X = sparse.csr_array(np.column_stack([np.eye(6), np.zeros(6), np.full(6, 3.0)]))
    with pytest.warns(TamizWarning, match="PCA: x6, x7 are constant and cannot be standardised"):
        pca = PCA(2, standardize=True).fit(X)
    assert not pca.components_[:, 6:].any()


def test_nothing_of_the_size_of_the_table_is_made():
    import tracemalloc

    X = sparse.random_array((50_000, 3_000), density=0.001, random_state=np.random.default_rng(0), format="csr")
    tracemalloc.start()
    pca = PCA(2, solver="randomized").fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.1 * 8 * X.shape[0] * X.shape[1]
    assert pca.residuals_.max() < 1e-6 * pca.explained_variance_[0]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda X: X.data.__setitem__(5, np.nan), r"^Row \d+, column x\d+ is nan; sparse rows need finite numbers"),
        (
            lambda X: X.data.__setitem__(5, 1e200),
            r"^Row \d+, column x\d+ is 1e\+200; sparse rows need finite numbers",
        ),
    ],
)
def test_numbers_that_cannot_be_squared_are_refused(spoil, message):
    X = rows()
    spoil(X)
    with pytest.raises(ValueError, match=message):
        PCA(2).fit(X)


def test_other_columns_and_one_row_are_refused():
    pca = PCA(2).fit(rows())
    with pytest.raises(ValueError, match="X has 7 features, but PCA is expecting 30 features"):
        pca.transform(rows(5, 7))
    with pytest.raises(ValueError, match="at least 2 are needed"):
        PCA(1).fit(rows(1, 30))
