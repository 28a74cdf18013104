"""Gaussian knockoffs: their joint distribution with the columns, marginals, containers, missing values and collinear columns."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.linalg import toeplitz

from tamiz import open_table
from tamiz.error_control import knockoffs
from tamiz.error_control.gaussian_knockoffs import GaussianCopula, KnockoffSampler
from tamiz.exceptions import TamizWarning

from ..reference.knockoffs import joint_covariance


def normal_rows(n, correlation, seed=0):
    return np.random.default_rng(seed).multivariate_normal(np.zeros(len(correlation)), correlation, size=n)


def sampler_of(X, method="mvr", seed=0):
    columns = {j: np.ascontiguousarray(X[:, j]) for j in range(X.shape[1])}
    return KnockoffSampler(columns, [f"x{j}" for j in columns], method, np.random.default_rng(seed))


def mixed_frame(n, seed=0):
    """Columns of all kinds from one latent normal row."""
    Z = normal_rows(n, toeplitz(0.7 ** np.arange(6)), seed)
    levels = np.array(["low", "middle", "upper"])[np.digitize(Z[:, 2], [-0.5, 0.5])]
    return pd.DataFrame(
        {
            "skewed": np.exp(Z[:, 0]),
            "flag": Z[:, 1] > 0.5,
            "level": pd.Categorical(levels, ordered=True),
            "count": np.round(2 * Z[:, 3]).astype(int),
            "number": Z[:, 4],
            "single": Z[:, 5].astype(np.float32),
        },
        index=np.arange(100, 100 + n),
    )


def as_numbers(frame):
    return np.column_stack(
        [frame["skewed"].rank(), frame["flag"], frame["level"].cat.codes, *(frame[k] for k in ("count", "number", "single"))]
    ).astype(float)  # fmt: skip


@pytest.mark.parametrize("method", ["mvr", "equicorrelated"])
def test_the_scores_have_the_joint_covariance_of_the_theory(method):
    sampler = sampler_of(normal_rows(20_000, toeplitz(0.6 ** np.arange(4))), method)
    scores, copies = sampler.draw_scores(np.random.default_rng(1))
    found = np.cov(np.hstack([scores, copies]).T)
    np.testing.assert_allclose(found, joint_covariance(sampler.copula.correlation, sampler.s), atol=0.035)


def test_exchanging_any_columns_of_a_mixed_table_keeps_the_correlations():
    frame = mixed_frame(4000)
    X, copies = as_numbers(frame), as_numbers(knockoffs(frame, random_state=0))
    own = np.corrcoef(X.T)
    apart = ~np.eye(6, dtype=bool)
    assert np.abs(np.corrcoef(copies.T) - own)[apart].max() < 0.06
    assert np.abs(np.corrcoef(X.T, copies.T)[:6, 6:] - own)[apart].max() < 0.06
    # A knockoff is not its column.
    assert np.abs(np.diag(np.corrcoef(X.T, copies.T)[:6, 6:])).max() < 0.85


def test_correlations_of_columns_of_two_levels_are_those_of_the_latent_scores():
    # A table of levels alone: the correlation of random ranks would be 0.3.
    Z = normal_rows(4000, np.array([[1.0, 0.8], [0.8, 1.0]]))
    columns = [(Z[:, j] > 0.3).astype(np.int32) for j in range(2)]
    copula = GaussianCopula(columns, np.zeros(2, dtype=bool), np.random.default_rng(0))
    assert copula.correlation[0, 1] == pytest.approx(0.8, abs=0.05)


def test_correlations_with_missing_values_are_those_of_the_whole_table():
    Z = normal_rows(3000, np.array([[1.0, 0.8, 0.5], [0.8, 1.0, 0.5], [0.5, 0.5, 1.0]]))
    Z[np.random.default_rng(1).random(Z.shape) < 0.3] = np.nan
    copula = GaussianCopula(list(Z.T), np.zeros(3, dtype=bool), np.random.default_rng(0))
    np.testing.assert_allclose(copula.correlation[np.triu_indices(3, 1)], [0.8, 0.5, 0.5], atol=0.05)


def test_a_knockoff_is_a_permutation_of_its_column_in_the_container_of_the_table():
    frame = mixed_frame(60)
    frame.loc[103:110, "number"] = np.nan
    found = knockoffs(frame, random_state=0)
    assert found.dtypes.equals(frame.dtypes)
    assert found.index.equals(frame.index)
    assert found.isna().equals(frame.isna())
    for name in frame:
        assert sorted(found[name].dropna()) == sorted(frame[name].dropna())
        assert not found[name].equals(frame[name])
    table = pl.from_pandas(frame)
    assert knockoffs(table, random_state=0).equals(pl.from_pandas(found))
    assert knockoffs(table.lazy(), random_state=0).equals(pl.from_pandas(found))
    assert pl.from_arrow(knockoffs(table.to_arrow(), random_state=0))["count"].to_list() == found["count"].tolist()


def test_arrays_and_sparse_matrices_come_back_as_they_were():
    X = np.random.default_rng(0).poisson(1.0, size=(50, 4))
    found = knockoffs(X, random_state=3)
    assert found.dtype == X.dtype
    np.testing.assert_array_equal(np.sort(found, axis=0), np.sort(X, axis=0))
    matrix = sparse.csr_array(X.astype(float))
    from_sparse = knockoffs(matrix, random_state=3)
    assert (type(from_sparse), from_sparse.format) == (sparse.csr_array, "csr")
    np.testing.assert_array_equal(from_sparse.toarray(), found)
    np.testing.assert_array_equal(knockoffs(X.tolist(), random_state=3), found)


def test_the_seed_of_the_table_is_not_the_noise_of_the_knockoffs():
    X = np.random.default_rng(7).standard_normal((2000, 2))
    correlations = np.corrcoef(X.T, knockoffs(X, random_state=7).T)[:2, 2:]
    assert np.abs(correlations).max() < 0.1


COLLINEAR = {
    "a copy": lambda X: X[:, 1] * 1.0,
    "a decreasing function": lambda X: -X[:, 1],
    "an increasing function": lambda X: np.exp(X[:, 1]),
    "a sum": lambda X: X[:, 1] * 2 + X[:, 2] * 1e3,
}


@pytest.mark.parametrize("kind", COLLINEAR)
def test_knockoffs_of_collinear_columns_equal_them_and_the_warning_names_them(kind):
    X = normal_rows(300, toeplitz(0.5 ** np.arange(4)))
    whole = np.column_stack([X, COLLINEAR[kind](X)])
    expected = [1, 2, 4] if kind == "a sum" else [1, 4]
    with pytest.warns(TamizWarning, match=rf"Columns {', '.join(f'x{j}' for j in expected)} are exactly collinear"):
        found = knockoffs(whole, random_state=0)
    assert [j for j in range(5) if (found[:, j] == whole[:, j]).all()] == expected


def test_categories_with_other_names_for_the_same_levels_are_collinear():
    level = np.random.default_rng(0).choice(["a", "b", "c"], 200)
    frame = pd.DataFrame(
        {"one": level, "two": pd.Series(level).map({"a": "z", "b": "y", "c": "x"}), "x": np.arange(200.0)}
    )
    with pytest.warns(TamizWarning, match="Columns one, two are exactly collinear"):
        assert knockoffs(frame, random_state=0)[["one", "two"]].equals(frame[["one", "two"]])


def test_collinear_columns_still_condition_the_others():
    # The knockoff of a column is as correlated with the collinear columns as the column.
    Z = normal_rows(4000, toeplitz(0.8 ** np.arange(3)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TamizWarning)
        found = knockoffs(np.column_stack([Z, Z[:, 0]]), random_state=0)
    assert np.corrcoef(found[:, 1], Z[:, 0])[0, 1] == pytest.approx(0.8, abs=0.03)
    assert np.corrcoef(found[:, 1], Z[:, 1])[0, 1] < 0.9


def test_more_columns_than_rows_are_no_collinearity():
    X = np.random.default_rng(0).normal(size=(30, 60))
    found = knockoffs(X, random_state=0)
    assert (found != X).any(axis=0).all()


def test_columns_without_a_distribution_are_returned_unchanged():
    frame = pd.DataFrame(
        {"x": np.sqrt(np.arange(20.0)), "constant": 3.0, "sparse": [1.0] * 5 + [np.nan] * 15, "empty": np.nan}
    )
    found = knockoffs(frame, random_state=0)
    assert found[["constant", "sparse", "empty"]].equals(frame[["constant", "sparse", "empty"]])
    assert not found["x"].equals(frame["x"])
    assert knockoffs(np.ones((5, 2)), random_state=0).tolist() == [[1.0, 1.0]] * 5


@pytest.mark.filterwarnings("ignore:.*the values differ by less than 1e-150")
@pytest.mark.parametrize("unit", [1e-300, 1e149])
def test_knockoffs_do_not_depend_on_the_unit(unit):
    X = normal_rows(50, np.eye(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        np.testing.assert_array_equal(knockoffs(X * unit, random_state=0), knockoffs(X, random_state=0) * unit)


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match=r"method must be one of 'mvr', 'equicorrelated', got 'sdp'"):
        knockoffs(np.eye(3), method="sdp")
    with pytest.raises(TypeError, match=r"got a Table; pass source\.frame\(\)"):
        knockoffs(open_table(np.eye(3)))


def test_correlations_of_many_binary_columns_are_not_taken_for_collinearity():
    rng = np.random.default_rng(0)
    distance = np.abs(np.subtract.outer(np.arange(60), np.arange(60)))
    X = rng.multivariate_normal(np.zeros(60), 0.5**distance, size=300)
    numbers = X[:, ::2].copy()
    X[:, 1::2] = X[:, 1::2] > 0
    found = GaussianCopula(list(X.T), np.zeros(60, dtype=bool), np.random.default_rng(1))
    # The smallest eigenvalue is 0.33 of the distribution, and that of the uncertain estimates alone 0.01.
    assert np.linalg.eigvalsh(found.correlation)[0] > 0.05
    assert 0.02 < found.shrinkage < 0.5
    # Columns without ties keep their correlations.
    plain = GaussianCopula(list(numbers.T), np.zeros(30, dtype=bool), np.random.default_rng(1)).correlation
    np.testing.assert_allclose(found.correlation[::2, ::2], plain, atol=1e-12)
