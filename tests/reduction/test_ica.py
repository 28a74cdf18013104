"""ICA: sources, agreement with scikit-learn's FastICA, new rows, tables of all kinds, and bad input."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn.datasets import load_digits
from sklearn.decomposition import FastICA

from tamiz import load, open_table, save
from tamiz.exceptions import ConvergenceWarning, DataError, TamizWarning
from tamiz.reduction import ICA, PCA
from tamiz.runtime import parallel

from ..reference import ica as reference

DIGITS = load_digits().data
RNG = np.random.default_rng(0)


def sources(n, rng=RNG):
    """Return heavy-tailed, light-tailed and skewed sources of variance 1."""
    S = np.column_stack(
        [
            rng.laplace(size=n),
            rng.uniform(size=n),
            rng.standard_t(5, size=n),
            np.sign(rng.normal(size=n)),
            rng.gamma(1, size=n),
        ]
    )
    return (S - S.mean(axis=0)) / S.std(axis=0)


S = sources(3000)
MIXING = RNG.normal(size=(5, 5))
MIXED = S @ MIXING.T + [3, -1, 0, 100, 2]


@pytest.fixture(scope="module")
def digits():
    return ICA(20, random_state=0).fit(DIGITS)


@pytest.fixture(scope="module")
def mixed():
    return ICA(5, random_state=0).fit(MIXED)


def test_mixed_sources_are_recovered(mixed):
    assert reference.amari_distance(mixed.components_, MIXING) < 0.02
    correlations = np.abs(np.corrcoef(mixed.embedding_.T, S.T)[:5, 5:])
    rows, columns = linear_sum_assignment(-correlations)
    assert correlations[rows, columns].min() > 0.995
    kurtosis = (S**4).mean(axis=0) - 3
    assert mixed.super_gaussian_[rows].tolist() == (kurtosis[columns] > 0).tolist()


def test_principal_components_do_not_recover_them():
    assert reference.amari_distance(PCA(5).fit(MIXED).components_, MIXING) > 0.1


def test_sources_are_uncorrelated_of_variance_1_skewed_to_the_right_and_in_the_order_of_negentropy(mixed, digits):
    for ica in (mixed, digits):
        Y = ica.embedding_
        np.testing.assert_allclose(Y.mean(axis=0), 0.0, atol=1e-10)
        np.testing.assert_allclose(Y.T @ Y / len(Y), np.eye(Y.shape[1]), atol=1e-10)
        assert ((Y**3).mean(axis=0) > 0).all()
        nu = np.random.default_rng(0).normal(size=(1_000_000, 1))
        wanted = (reference_log_cosh(Y) - reference_log_cosh(nu)) ** 2
        np.testing.assert_allclose(ica.negentropy_, wanted, atol=2e-4)
        assert (np.diff(ica.negentropy_) <= 0).all()


def reference_log_cosh(Y):
    return (np.logaddexp(Y, -Y) - np.log(2)).mean(axis=0)


@pytest.mark.filterwarnings("ignore:.*TZ403")
def test_the_log_likelihood_and_the_gradient_are_those_of_the_embedding():
    X = DIGITS[:300]
    ica = ICA(5, random_state=0).fit(X)
    assert ica.log_likelihood_ == pytest.approx(reference.log_likelihood(ica.embedding_), abs=1e-9)
    assert reference.gradient_norm(ica.embedding_) == pytest.approx(ica.gradient_norm_, abs=1e-10)
    assert ica.gradient_norm_ <= 1e-6


def matched(one, two):
    """Return the largest difference of two unmixing matrices, rows up to their order and sign, relative to their length."""
    one, two = (W / np.linalg.norm(W, axis=1)[:, None] for W in (one, two))
    cosines = one @ two.T
    rows, columns = linear_sum_assignment(-np.abs(cosines))
    signs = np.sign(cosines[rows, columns])
    return np.abs(one[rows] - signs[:, None] * two[columns]).max()


def peer(estimator, X):
    """Fit with one thread of BLAS: several wait for each other on a busy machine."""
    with parallel.thread_session(1):
        return estimator.fit(X)


@pytest.mark.parametrize("solver", ["picard", "fastica"])
def test_components_are_those_of_scikit_learns_fastica(solver):
    ours = ICA(5, solver=solver, tol=1e-10, random_state=0).fit(MIXED)
    # Its criterion is the square of an angle, and the default stops at an angle of 0.01.
    theirs = peer(FastICA(5, whiten="unit-variance", tol=1e-15, max_iter=1000, random_state=0), MIXED)
    assert matched(ours.components_, theirs.components_) < 1e-6
    np.testing.assert_allclose(theirs.mean_, ours.mean_, atol=1e-12)
    errors = np.abs(np.abs(np.corrcoef(ours.embedding_.T, theirs.transform(MIXED).T)[:5, 5:]).max(axis=0) - 1)
    assert errors.max() < 1e-10


def test_a_solution_is_a_fixed_point_of_scikit_learns_fastica():
    # In digits each start may find another maximum, so that FastICA starts at the solution, in its own principal axes.
    # FastICA multiplies a principal axis by the sign of its first entry, which must not be that of a constant column.
    varied = DIGITS[:, DIGITS.std(axis=0) > 0]
    ours = ICA(10, tol=1e-10, random_state=0).fit(varied)
    axes = PCA(10).fit(varied)
    whitening = axes.components_ * np.sqrt((len(varied) - 1) / len(varied) / axes.explained_variance_)[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = peer(FastICA(10, max_iter=1, random_state=0), varied).whitening_
    signs = np.sign((own * whitening).sum(axis=1))
    start = ours.components_ @ np.linalg.pinv(whitening) * signs
    theirs = peer(FastICA(10, whiten="unit-variance", max_iter=20, tol=1e-12, random_state=0, w_init=start), varied)
    assert matched(ours.components_, theirs.components_) < 1e-6


def test_picard_reaches_at_least_the_likelihood_of_fastica_on_digits(digits):
    fastica = ICA(20, solver="fastica", tol=1e-4, max_iter=2000, random_state=0).fit(DIGITS)
    assert fastica.converged_
    # As for other seeds: -29.68 and -29.70.
    assert digits.log_likelihood_ > fastica.log_likelihood_
    assert fastica.n_iter_ > 2 * digits.n_iter_


def test_mixing_is_the_pseudo_inverse_and_inverts_the_transformation(digits):
    np.testing.assert_allclose(digits.mixing_, np.linalg.pinv(digits.components_), atol=1e-10)
    back = digits.inverse_transform(digits.embedding_)
    # Rotations keep the principal subspace.
    np.testing.assert_allclose(back, PCA(20).fit(DIGITS).reconstruct(DIGITS), atol=1e-9)
    whole = ICA(61, random_state=0).fit(DIGITS)
    np.testing.assert_allclose(whole.inverse_transform(whole.embedding_), DIGITS, atol=1e-9)
    frame = pd.DataFrame(digits.embedding_[:3], columns=digits.get_feature_names_out()).iloc[:, ::-1]
    np.testing.assert_allclose(digits.inverse_transform(frame), back[:3], atol=1e-12)
    assert digits.inverse_transform(digits.embedding_[:3].astype(np.float32)).dtype == np.float32
    with pytest.raises(ValueError, match="X has 3 columns, but 20 components were fitted"):
        digits.inverse_transform(np.zeros((2, 3)))


def test_every_new_row_is_mapped_alone(digits):
    new = DIGITS + 0.1
    mapped = digits.transform(new)
    np.testing.assert_array_equal(digits.transform(new[::-1])[::-1], mapped)
    np.testing.assert_array_equal(digits.transform(new[5:6]), mapped[5:6])
    np.testing.assert_array_equal(digits.transform(DIGITS), digits.embedding_)
    np.testing.assert_allclose(mapped, (new - digits.mean_) @ digits.components_.T, atol=1e-11)


# More values than one task has.
def test_a_loaded_model_maps_rows_as_before_and_has_its_stability(digits, tmp_path):
    loaded = load(save(digits, tmp_path / "map.tamiz"))
    np.testing.assert_array_equal(loaded.transform(DIGITS[:9] + 0.1), digits.transform(DIGITS[:9] + 0.1))
    some = digits.embedding_[:9]
    np.testing.assert_array_equal(loaded.inverse_transform(some), digits.inverse_transform(some))
    assert (loaded.log_likelihood_, loaded.n_iter_, loaded.converged_) == (digits.log_likelihood_, digits.n_iter_, True)
    one, two = (ica.stability(3, random_state=0) for ica in (loaded, digits))
    np.testing.assert_array_equal(one.index, two.index)


def test_names_of_components(digits):
    assert digits.axis_names_[:2] == ["IC 1", "IC 2"]
    assert digits.get_feature_names_out()[0] == "ica0"


def test_float32_is_kept_and_equal_up_to_its_rounding(mixed):
    single = ICA(5, random_state=0).fit(MIXED.astype(np.float32))
    assert single.embedding_.dtype == single.transform(MIXED[:2].astype(np.float32)).dtype == np.float32
    assert single.components_.dtype == np.float64
    assert matched(single.components_, mixed.components_) < 1e-4
    assert ICA(61, random_state=0).fit(DIGITS.astype(np.float32)).converged_


def test_sparse_rows_have_the_components_of_dense_ones(digits):
    found = ICA(20, random_state=0).fit(sparse.csr_array(DIGITS))
    np.testing.assert_allclose(found.components_, digits.components_, atol=1e-6)
    np.testing.assert_allclose(found.transform(sparse.csr_array(DIGITS[:5])), digits.embedding_[:5], atol=1e-4)


def test_mixed_columns_and_missing_values_are_read_as_by_pca():
    frame = pd.DataFrame(MIXED[:600].copy(), columns=list("abcde"))
    frame["kind"] = np.array(["x", "y", "z"])[RNG.integers(3, size=600)]
    frame.loc[::50, "b"] = np.nan
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ica, pca = ICA(6, standardize=True, random_state=0).fit(frame), PCA(6, standardize=True).fit(frame)
    texts = sorted(one.message.args[0] for one in caught if "12 missing values were imputed" in str(one.message))
    assert [text.split(":")[0] for text in texts] == ["ICA", "PCA"]
    assert ica.coordinate_names_ == pca.coordinate_names_ == [*"abcde", "kind=x", "kind=y", "kind=z"]
    # The same subspace.
    np.testing.assert_allclose(ica.components_ @ pca.components_.T @ pca.components_, ica.components_, atol=1e-9)
    with pytest.warns(TamizWarning, match="ICA: 1 missing value or unknown level of new rows counts as"):
        new = ica.transform(frame.iloc[:1])
    np.testing.assert_array_equal(new, ica.embedding_[:1])


def test_a_source_is_read_and_weights_are_refused():
    frame = pd.DataFrame(MIXED, columns=list("abcde"))
    ica = ICA(5, random_state=0).fit(open_table(frame))
    np.testing.assert_array_equal(ica.embedding_, ICA(5, random_state=0).fit(frame).embedding_)
    with pytest.raises(DataError, match="ICA does not support sample weights, and the table has the weights 'w'"):
        ICA(5).fit(open_table(frame.assign(w=1.0), weight="w"))


def test_the_number_of_components_is_that_of_parallel_analysis():
    X = S[:, :3] @ RNG.normal(size=(3, 12)) + 0.3 * RNG.normal(size=(3000, 12))
    ica = ICA(random_state=0).fit(X)
    assert ica.embedding_.shape == (3000, 3) == (3000, PCA(None).fit(X).parallel_analysis().n_components)
    with pytest.warns(TamizWarning, match=r"no principal component has more variance.*Set n_components to keep more"):
        # Equal variances without any correlation.
        alone = ICA(random_state=0).fit(np.vstack([np.eye(4), -np.eye(4)] * 40))
    assert alone.embedding_.shape[1] == 1


def test_more_components_than_the_rank_are_an_error_that_names_the_rank():
    for n in (62, 64, 1000):
        sentence = rf"n_components must be at most the rank of the table = 61, got {n:,}: .*1e-10"
        with pytest.raises(ValueError, match=sentence):
            ICA(n).fit(DIGITS)
    doubled = np.column_stack([MIXED, MIXED[:, :2] + MIXED[:, 1:3]])
    with pytest.raises(ValueError, match=r"rank of the table = 5, got 7"):
        ICA(7).fit(doubled)
    # Variances of 1e-12 of the largest count only if columns are standardised.
    units = MIXED * [1e6, 1, 1, 1, 1]
    with pytest.raises(ValueError, match=r"rank of the table = 1, got 5.*set standardize=True"):
        ICA(5).fit(units)
    one, two = (ICA(5, standardize=True, random_state=0).fit(X).embedding_ for X in (units, MIXED))
    np.testing.assert_allclose(one, two, atol=1e-4)


def test_duplicates_and_constant_columns():
    X = np.vstack([np.column_stack([MIXED, np.ones(3000)])[:400]] * 5)
    ica = ICA(5, random_state=0).fit(X)
    assert ica.converged_
    np.testing.assert_array_equal(ica.embedding_[:400], ica.embedding_[400:800])
    assert (ica.components_[:, 5] == 0).all()


def test_tables_without_variance_and_single_rows_are_errors():
    with pytest.raises(DataError, match="No column has a variance above 0"):
        ICA(1).fit(np.ones((5, 3)))
    with pytest.raises(DataError, match="1 "):
        ICA(1).fit(MIXED[:1])
    with pytest.raises(DataError, match=r"float32 cannot divide.*pass float64"):
        ICA(1).fit((MIXED * 1e-44).astype(np.float32))


def test_normal_rows_are_named_in_a_warning():
    X = RNG.normal(size=(800, 4))
    with pytest.warns(
        TamizWarning,
        match=r"IC 1, IC 2, IC 3, IC 4 cannot be .* Gaussian noise \(p-value above 0\.01\): no direction among them",
    ):
        ica = ICA(4, random_state=0).fit(X)
    assert ica.gaussian_p_values_.min() > 0.01
    X[:, 0] = RNG.laplace(size=800)
    X[:, 1] = RNG.uniform(size=800)
    with pytest.warns(TamizWarning, match=r"ICA: IC 3, IC 4 cannot be .*no direction among them is preferred"):
        ica = ICA(4, standardize=True, random_state=0).fit(X)
    assert sorted(ica.super_gaussian_[:2]) == [False, True]
    with pytest.warns(TamizWarning, match=r"ICA: IC 3 cannot be .*the other components determine its direction"):
        ICA(3, standardize=True, random_state=0).fit(X[:, :3])


def test_many_normal_components_are_counted():
    with pytest.warns(TamizWarning, match=r"IC 8 and 4 more cannot be"):
        ICA(12, random_state=0).fit(RNG.normal(size=(600, 12)))


@pytest.mark.filterwarnings("ignore:.*TZ403")
def test_a_fit_that_does_not_converge_warns_with_the_gradient_norm():
    with pytest.warns(
        ConvergenceWarning,
        match=r"not converged after 3 iterations: the gradient norm is 0\.\d+, and the tolerance is 1e-06\. Raise",
    ):
        ica = ICA(20, max_iter=3, random_state=0).fit(DIGITS)
    assert not ica.converged_
    with pytest.warns(ConvergenceWarning, match="Rounding allows no further step: raise the tolerance"):
        ICA(5, tol=1e-300, random_state=0).fit(MIXED)


@pytest.mark.parametrize(
    ("parameters", "error", "match"),
    [
        ({"n_components": 0}, ValueError, "n_components must be at least 1, got 0"),
        ({"n_components": 2.5}, TypeError, "n_components must be a whole number"),
        ({"solver": "picart"}, ValueError, "solver must be one of 'picard', 'fastica', got 'picart'"),
        ({"tol": 0}, ValueError, "tol must be above 0"),
        ({"max_iter": 0}, ValueError, "max_iter must be at least 1"),
        ({"standardize": 1}, TypeError, "standardize must be True or False"),
    ],
)
def test_parameters_are_checked(parameters, error, match):
    with pytest.raises(error, match=match):
        ICA(**parameters).fit(MIXED)


@pytest.mark.slow
def test_amari_distances_fall_with_the_number_of_rows():
    for n, limit in ((1000, 0.05), (10_000, 0.015), (100_000, 0.005)):
        rng = np.random.default_rng(n)
        mixing = rng.normal(size=(5, 5))
        ica = ICA(5, random_state=0).fit(sources(n, rng) @ mixing.T)
        assert reference.amari_distance(ica.components_, mixing) < limit


@pytest.mark.slow
def test_solutions_are_those_of_picard_or_have_a_higher_likelihood():
    picard = pytest.importorskip("picard").picard
    settings = {"n_components": 5, "tol": 1e-9, "max_iter": 2000}
    ours = ICA(5, tol=1e-9, random_state=0).fit(MIXED)
    K, W, _ = picard(MIXED.T.copy(), random_state=0, **settings)
    assert matched(ours.components_, W @ K) < 1e-6
    # In digits each start may find another maximum.
    ours = ICA(5, random_state=0).fit(DIGITS)
    found = [reference.log_likelihood(picard(DIGITS.T.copy(), random_state=seed, **settings)[2].T) for seed in range(3)]
    assert ours.log_likelihood_ > max(found) - 1e-6
