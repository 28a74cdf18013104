"""`KnockoffSelector`: its statistics, its selections and false discoveries, checks, warnings, storage and threads."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import toeplitz

from tamiz import load, open_table, save
from tamiz.criteria import FisherScore, IndependenceTest, TreeImportance, Variance
from tamiz.error_control import KnockoffSelector
from tamiz.error_control.knockoff_selector import LassoCoefficient
from tamiz.exceptions import DataError, TamizWarning


def regression(seed, *, n=300, p=40, n_relevant=15, effect=0.5, rho=0.4):
    """A table whose first columns are relevant, in random order, and which ones are."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) @ np.linalg.cholesky(toeplitz(rho ** np.arange(p))).T
    relevant = np.isin(np.arange(p), rng.choice(p, n_relevant, replace=False))
    coefficients = effect * relevant * rng.choice([-1, 1], p)
    return X, X @ coefficients + rng.normal(size=n), relevant


def false_share(support, relevant):
    return (support & ~relevant).sum() / max(1, support.sum())


@pytest.mark.parametrize("method", ["mvr", "equicorrelated"])
def test_relevant_columns_are_selected(method):
    X, y, relevant = regression(1)
    selector = KnockoffSelector(method=method, random_state=0).fit(X, y)
    assert (selector.support_ & relevant).sum() >= 12
    assert false_share(selector.support_, relevant) <= 0.25
    np.testing.assert_array_equal(selector.support_, selector.statistics_[0] >= selector.threshold_[0])
    np.testing.assert_array_equal(selector.support_, selector.e_values_ > 0)
    assert selector.transform(X).shape == (300, selector.support_.sum())


def test_classes_and_mixed_columns():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(600, 24))
    signal = Z[:, :12].sum(axis=1)
    frame = pd.DataFrame(
        {f"x{j}": Z[:, j] if j % 2 else np.array(["a", "b", "c"])[np.digitize(Z[:, j], [-0.4, 0.4])] for j in range(24)}
    )
    frame.iloc[::9, 3] = np.nan
    y = np.array(["no", "yes", "perhaps"])[np.digitize(signal + rng.normal(size=600), [-1.5, 1.5])]
    with pytest.warns(TamizWarning, match=": 67 missing values count as the mean"):
        selector = KnockoffSelector(fdr=0.2, random_state=0).fit(frame, y)
    assert selector.support_[:12].sum() >= 10
    assert selector.support_[12:].sum() <= 4
    assert selector.transform(frame).dtypes.equals(frame.dtypes[selector.support_])


def test_a_column_and_its_knockoff_have_random_places():
    # A relevance that prefers earlier columns favours neither.
    class First(TreeImportance):
        def score(self, table):
            return -np.arange(table.schema.n_columns, dtype=float)

    X, y, _ = regression(0, n=100, p=60, n_relevant=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TamizWarning)
        statistics = KnockoffSelector(First(), random_state=0).fit(X, y).statistics_[0]
    assert 15 <= (statistics > 0).sum() <= 45
    np.testing.assert_array_equal(np.abs(statistics), 1.0)


@pytest.mark.parametrize("importance", [TreeImportance(), "fisher-score", FisherScore(), "tree-importance"])
def test_any_relevance_that_reads_the_target_is_an_importance(importance):
    X, y, relevant = regression(2, effect=1.0)
    y = y > 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TamizWarning)
        selector = KnockoffSelector(importance, fdr=0.5, random_state=0).fit(X, y)
    assert selector.statistics_[0][relevant].mean() > selector.statistics_[0][~relevant].mean()


@pytest.mark.slow
def test_several_draws_average_e_values_and_do_not_depend_on_threads():
    X, y, relevant = regression(3, p=60, n_relevant=30, n=600)
    selectors = [KnockoffSelector(fdr=0.2, n_draws=3, random_state=5, n_jobs=n).fit(X, y) for n in (1, 2)]
    for name in ("statistics_", "threshold_", "e_values_", "support_", "s_"):
        np.testing.assert_array_equal(getattr(selectors[0], name), getattr(selectors[1], name))
    assert selectors[0].checks_ == selectors[1].checks_
    assert selectors[0].statistics_.shape == (3, 60)
    assert len(np.unique(selectors[0].statistics_[:, 0])) == 3
    assert (selectors[0].support_ & relevant).sum() >= 25
    assert false_share(selectors[0].support_, relevant) <= 0.3


def test_an_empty_selection_is_a_warning_with_the_least_estimate():
    X, y, _ = regression(4, p=8, n_relevant=3)
    with pytest.warns(
        TamizWarning, match=r"No column is selected at fdr=0\.1: the least estimate over all thresholds is"
    ) as found:
        selector = KnockoffSelector(random_state=0).fit(X, y)
    assert str(found[-1].message).endswith("A selection at this bound has at least 10 columns; 8 have knockoffs.")
    assert selector.threshold_.tolist() == [np.inf]
    assert not selector.support_.any()
    assert selector.e_values_.tolist() == [0.0] * 8
    # Without the 1 of knockoff+ a few columns can be selected.
    few = KnockoffSelector(offset=0, random_state=0).fit(X, y)
    assert 1 <= few.support_.sum() <= 4


def test_correlated_columns_are_not_selected_for_their_neighbours():
    """With correlations that are shrunk, the mean of these tables is 0.39."""
    shares = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(200, 24))
        X[:, 1:] += 0.6 * X[:, :-1]
        relevant = np.arange(24) % 3 == 0
        y = X[:, relevant].sum(axis=1) + 2 * rng.normal(size=200)
        with warnings.catch_warnings(action="ignore"):
            support = KnockoffSelector(IndependenceTest(), fdr=0.25, random_state=seed).fit(X, y).support_
        shares.append(false_share(support, relevant))
    # The standard error is about 0.03.
    assert np.mean(shares) <= 0.28


def test_constant_excluded_and_collinear_columns_are_never_selected():
    X, y, relevant = regression(5)
    frame = pd.DataFrame(X).rename(columns=str).assign(constant=1.0, text=[f"word {i} of it" for i in range(300)])
    j = int(np.flatnonzero(relevant)[0])
    frame["copy"] = frame[str(j)]
    with pytest.warns(TamizWarning) as found:
        selector = KnockoffSelector(random_state=0).fit(frame, y)
    assert any(f"Columns {j}, copy are exactly collinear" in str(one.message) for one in found)
    unused = [j, *range(40, 43)]
    assert not selector.statistics_[0, unused].any()
    assert not selector.s_[unused].any()
    assert not selector.support_[unused].any()
    assert selector.support_.sum() >= 12
    assert {check.name: check.passed for check in selector.checks_}["collinearity"] is False


def test_checks_find_rows_that_no_normal_distribution_has():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 10)) * rng.choice([0.2, 2.0], 500)[:, None]
    y = X.sum(axis=1) + rng.normal(size=500)
    with pytest.warns(TamizWarning, match="may exceed its bound.*correlation of squared scores of two columns changes"):
        selector = KnockoffSelector(random_state=0).fit(X, y)
    checks = {check.name: check for check in selector.checks_}
    assert checks["second moments"].passed
    assert not checks["fourth moments"].passed
    assert checks["fourth moments"].value > checks["fourth moments"].limit


@pytest.mark.filterwarnings("ignore:.*No column is selected")
def test_checks_report_groups_and_few_rows():
    X, y, _ = regression(6, n=30)
    table = open_table(X, y, groups=np.arange(30) % 5)
    with pytest.warns(TamizWarning, match="may exceed its bound") as found:
        selector = KnockoffSelector(random_state=0).fit(table)
    checks = {check.name: check for check in selector.checks_}
    assert (checks["rows"].passed, checks["independence"].passed) == (False, False)
    assert checks["rows"].value == pytest.approx(30 / 40)
    assert 0 < checks["shrinkage"].value <= 1
    assert any("0.75 rows per column" in str(one.message) for one in found)


def test_a_selector_is_saved_and_loaded(tmp_path):
    X, y, _ = regression(1)
    selector = KnockoffSelector(LassoCoefficient(cv=3), random_state=0).fit(X, y)
    loaded = load(save(selector, tmp_path / "selector.tamiz"))
    np.testing.assert_array_equal(loaded.transform(X), selector.transform(X))
    np.testing.assert_array_equal(loaded.threshold_, selector.threshold_)
    assert loaded.checks_ == selector.checks_


BAD = {
    r"fdr must be above 0 and below 1, got 1": {"fdr": 1},
    r"fdr must be a number, got '5 %'": {"fdr": "5 %"},
    r"method must be one of 'mvr', 'equicorrelated', got 'sdp'": {"method": "sdp"},
    r"offset must be from 0 to 1, got 2": {"offset": 2},
    r"n_draws must be at least 1, got 0": {"n_draws": 0},
    r"offset=0 has no e-values, which n_draws=2 needs": {"offset": 0, "n_draws": 2},
    r"importance must read the target, as TreeImportance\(\) does, got Variance\(\)": {"importance": Variance()},
    r"importance must be a relevance such as TreeImportance\(\), or its name, got 3": {"importance": 3},
}


@pytest.mark.parametrize("message", BAD)
def test_bad_parameters_are_refused(message):
    X, y, _ = regression(0, n=30, p=5, n_relevant=2)
    with pytest.raises((ValueError, TypeError), match=message):
        KnockoffSelector(**BAD[message]).fit(X, y)


def test_weights_and_tables_without_a_target_are_refused():
    X, y, _ = regression(0, n=30, p=5, n_relevant=2)
    with pytest.raises(DataError, match=r"does not support row weights \('weight'\).* Repeat the rows"):
        KnockoffSelector().fit(open_table(X, y, weight=np.ones(30)))
    with pytest.raises(DataError, match="requires y to be passed"):
        KnockoffSelector().fit(X)


def test_the_lasso_is_that_of_scikit_learn():
    from sklearn.linear_model import LassoCV
    from sklearn.model_selection import KFold

    from tamiz import RankSelector

    X, y, _ = regression(8, n=80, p=6, n_relevant=3)
    seed = int(np.random.default_rng(0).integers(2**31))
    Z, t = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1), (y - y.mean()) / y.std(ddof=1)
    expected = np.abs(LassoCV(cv=KFold(5, shuffle=True, random_state=seed), max_iter=2000).fit(Z, t).coef_)
    np.testing.assert_allclose(RankSelector(LassoCoefficient()).fit(X, y).scores_, expected, rtol=1e-8)
    with pytest.raises(DataError, match="LassoCoefficient does not support row weights"):
        RankSelector(LassoCoefficient()).fit(X, y, sample_weight=np.ones(80))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
@pytest.mark.parametrize(
    ("parameters", "n_relevant", "least_power"),
    # Each of several draws has to select 20 columns.
    [({}, 20, 0.8), ({"method": "equicorrelated"}, 20, 0.5), ({"n_draws": 3}, 40, 0.6)],
)
def test_the_false_discovery_rate_is_bounded(parameters, n_relevant, least_power):
    shares, powers = [], []
    for seed in range(50):
        X, y, relevant = regression(seed, n=500, p=100, n_relevant=n_relevant, effect=0.25, rho=0.5)
        support = KnockoffSelector(random_state=seed, **parameters).fit(X, y).support_
        shares.append(false_share(support, relevant))
        powers.append((support & relevant).sum() / n_relevant)
    assert np.mean(shares) <= 0.1 + 0.02
    assert np.mean(powers) >= least_power
