"""Horn's parallel analysis against random tables."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine

from tamiz.reduction import PCA

from ...reference.pca import chance


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("shape", [(12, 20), pytest.param((60, 5), marks=pytest.mark.slow)])
def test_the_reference_is_the_mean_over_drawn_tables(shape, standardize):
    X = np.random.default_rng(3).normal(size=shape) * np.linspace(1, 2, shape[1])
    pca = PCA(4, standardize=standardize).fit(X)
    variances = np.ones(shape[1]) if standardize else X.var(axis=0, ddof=1)
    plain = chance(shape[0], variances, 4, 800, standardize)
    ours = pca.parallel_analysis(n_draws=800, random_state=1)
    # Both are means of 800: they differ by their standard errors.
    error = plain.std(axis=0) * np.sqrt(2 / 800)
    assert (np.abs(ours.reference - plain.mean(axis=0)) < 4 * error).all()
    upper = pca.parallel_analysis(n_draws=800, quantile=0.95, random_state=1)
    np.testing.assert_allclose(upper.reference, np.quantile(plain, 0.95, axis=0), rtol=0.05)


def test_components_above_chance_are_counted_up_to_the_first_that_is_not():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 12)) + rng.normal(size=(300, 12))
    assert PCA(8, standardize=True).fit(X).parallel_analysis().n_components == 3
    assert PCA(8, standardize=True).fit(rng.normal(size=(300, 12))).parallel_analysis(quantile=0.99).n_components == 0


@pytest.mark.slow
def test_indicators_of_one_category_hang_together_by_chance_as_well():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"kind": rng.choice(list("abc"), 500, p=[0.5, 0.3, 0.2]), "x": rng.normal(size=500)})
    pca = PCA(3, standardize=True).fit(frame)
    # Two independent columns: what is observed is what chance gives, a category's two directions among it.
    found = pca.parallel_analysis(n_draws=300)
    drawn = [
        PCA(3, standardize=True).fit(frame.assign(x=rng.permutation(frame["x"]))).explained_variance_
        for _ in range(300)
    ]
    np.testing.assert_allclose(found.reference, np.mean(drawn, axis=0), rtol=0.01)


def test_the_same_seed_gives_the_same_reference_and_the_fitted_map_stores_one():
    pca = PCA(4, standardize=True).fit(load_wine().data)
    one, two = pca.parallel_analysis(random_state=7), pca.parallel_analysis(random_state=7)
    np.testing.assert_array_equal(one.reference, two.reference)
    stored = pca.parallel_analysis_
    assert (len(stored.reference), stored.n_draws) == (4, 100)
    np.testing.assert_allclose(stored.reference, pca.parallel_analysis().reference, rtol=0.05)
    assert pca.parallel_analysis_ is stored
    with pytest.warns(match="all columns are constant"):
        constant = PCA(2).fit(np.ones((5, 3)))
    assert constant.parallel_analysis_ is None


def test_weights_count_as_rows():
    X = load_iris().data
    doubled = PCA(2).fit(X, sample_weight=np.full(150, 2.0)).parallel_analysis(random_state=0)
    repeated = PCA(2).fit(X.repeat(2, axis=0)).parallel_analysis(random_state=0)
    np.testing.assert_allclose(doubled.reference, repeated.reference, rtol=1e-10)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_draws": 0}, "n_draws must be at least 1, got 0"),
        ({"quantile": 1.5}, r"quantile must be between 0 and 1, got 1\.5"),
    ],
)
def test_draws_that_cannot_be_made_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        PCA(2).fit(load_iris().data).parallel_analysis(**parameters)


def test_of_two_rows_no_component_is_above_chance():
    # Every table of two rows has one direction, and what is left is rounding.
    for seed in range(5):
        pca = PCA(2, standardize=True).fit(np.random.default_rng(seed).normal(size=(2, 3)))
        assert pca.parallel_analysis().n_components == 0
