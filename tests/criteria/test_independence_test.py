"""IndependenceTest against definitions, scipy, scikit-learn and statsmodels; selection at a false discovery rate."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.feature_selection import SelectFdr, f_classif, f_regression

import tamiz
from tamiz import RankSelector, open_table
from tamiz.criteria import Entropy, IndependenceTest
from tamiz.criteria.base import gather_statistics
from tamiz.runtime import parallel

from ..reference import independence as plain
from ..statistics.mixed_tables import make_mixed

SEEDS = range(6)
GROUP_TESTS = {"parametric": plain.anova, "welch": plain.welch, "rank": plain.kruskal_wallis}
CORRELATIONS = {"parametric": plain.correlation, "welch": plain.correlation, "rank": plain.spearman}
# Rare levels are in the small tables.
few_counts = pytest.mark.filterwarnings("ignore:.*IndependenceTest")


@pytest.fixture(autouse=True)
def one_session():
    """Many small fits: opening threads for each would take longer than they do."""
    with parallel.thread_session(1):
        yield


def column_tests(relevance, table):
    return relevance.column_tests(gather_statistics([relevance], table.reduce, table.schema), table.schema)


def assert_tests(tests, expected, seed):
    found = np.array([tests.statistic, tests.df_between, tests.df_within]).T
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10, err_msg=f"seed {seed}")
    for (statistic, d1, d2), log_p in zip(expected, tests.log_p, strict=True):
        p = stats.chi2.sf(statistic, d1) if np.isinf(d2) else stats.f.sf(statistic, d1, d2)
        assert np.exp(log_p) == pytest.approx(p, rel=1e-7)


@pytest.mark.parametrize("likelihood_ratio", [False, True])
@pytest.mark.parametrize("missing", ["omit", "category"])
@pytest.mark.parametrize("test", GROUP_TESTS)
def test_with_classes_every_column_has_the_test_of_its_kind(test, missing, likelihood_ratio):
    relevance = IndependenceTest(
        test=test, missing=missing, contingency_test="likelihood_ratio" if likelihood_ratio else "pearson"
    )
    for seed in SEEDS:
        table = make_mixed(seed, n=70)
        expected = []
        for column in table.numbers.T:
            present = ~np.isnan(column)
            expected.append(GROUP_TESTS[test](column[present], table.classes[present]))
        for codes in table.codes.T:
            present = codes >= (0 if missing == "omit" else -1)
            expected.append(
                plain.contingency(codes[present], table.classes[present], likelihood_ratio=likelihood_ratio)
            )
        assert_tests(column_tests(relevance, table.table()), expected, seed)


@pytest.mark.parametrize("missing", ["omit", "category"])
@pytest.mark.parametrize("test", GROUP_TESTS)
def test_with_a_numeric_target_the_levels_are_the_groups(test, missing):
    for seed in SEEDS:
        table = make_mixed(seed, n=70)
        y = (np.random.default_rng(seed).normal(size=70) + 0.5 * table.classes).round(1)
        expected = []
        for column in table.numbers.T:
            present = ~np.isnan(column)
            expected.append(CORRELATIONS[test](column[present], y[present]))
        for codes in table.codes.T:
            present = codes >= (0 if missing == "omit" else -1)
            expected.append(GROUP_TESTS[test](y[present], codes[present]))
        found = column_tests(IndependenceTest(test=test, missing=missing), table.table(target=y))
        assert_tests(found, expected, seed)


@pytest.mark.parametrize("test", GROUP_TESTS)
def test_whole_weights_are_repeated_rows_for_a_numeric_target_too(test):
    for seed in SEEDS:
        table = make_mixed(seed)
        y = (np.random.default_rng(seed).normal(size=len(table.classes)) + table.classes).round(1)
        weighted = column_tests(IndependenceTest(test=test), table.table(target=y, weighted=True))
        repeated = column_tests(IndependenceTest(test=test), table.repeated().table(target=y.repeat(table.weight)))
        np.testing.assert_allclose(weighted.log_p, repeated.log_p, rtol=1e-10)
        np.testing.assert_allclose(weighted.df_within, repeated.df_within, rtol=1e-10)


def test_p_values_are_those_of_scipy_and_scikit_learn():
    X, y = load_breast_cancer(return_X_y=True)
    by_class = [X[y == c] for c in (0, 1)]
    F, p = f_classif(X, y)
    fitted = RankSelector(IndependenceTest()).fit(X, y)
    np.testing.assert_allclose(fitted.statistics_, F, rtol=1e-9)
    np.testing.assert_allclose(fitted.p_values_, p, rtol=1e-7)
    np.testing.assert_allclose(fitted.scores_, -np.log10(p), rtol=1e-9)
    welch = RankSelector(IndependenceTest(test="welch")).fit(X, y)
    np.testing.assert_allclose(welch.p_values_, stats.ttest_ind(*by_class, equal_var=False).pvalue, rtol=1e-7)
    rank = RankSelector(IndependenceTest(test="rank")).fit(X, y)
    np.testing.assert_allclose(rank.p_values_, stats.kruskal(*by_class).pvalue, rtol=1e-7)
    X, y = load_diabetes(return_X_y=True)
    np.testing.assert_allclose(RankSelector(IndependenceTest()).fit(X, y).p_values_, f_regression(X, y)[1], rtol=1e-7)
    expected = [stats.spearmanr(x, y).pvalue for x in X.T]
    np.testing.assert_allclose(RankSelector(IndependenceTest(test="rank")).fit(X, y).p_values_, expected, rtol=1e-7)


def test_welchs_test_is_that_of_statsmodels():
    # statsmodels 0.14: anova_oneway(X[:, j], y, use_var="unequal").
    fitted = RankSelector(IndependenceTest(test="welch")).fit(*load_iris(return_X_y=True))
    F = [138.90828526893796, 45.01203506107022, 1828.0919450856877, 1276.8845645050335]
    p = [1.5050589627451772e-28, 1.432735060724864e-14, 2.6933273587151527e-66, 4.1387385952397646e-64]
    np.testing.assert_allclose(fitted.statistics_, F, rtol=1e-10)
    np.testing.assert_allclose(fitted.p_values_, p, rtol=1e-8)


def test_contingency_tests_are_those_of_scipy():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, 400)
    frame = (
        pd.DataFrame({"a": [*"pqrs"], "b": [*"pqpq"]}).iloc[(y + rng.integers(0, 3, 400)) % 4].reset_index(drop=True)
    )
    for name, power in (("pearson", "pearson"), ("likelihood_ratio", "log-likelihood")):
        fitted = RankSelector(IndependenceTest(contingency_test=name)).fit(frame, y.astype(str))
        for j, column in enumerate(frame):
            expected = stats.chi2_contingency(pd.crosstab(frame[column], y), correction=False, lambda_=power)
            assert fitted.statistics_[j] == pytest.approx(expected.statistic, rel=1e-10)
            assert fitted.p_values_[j] == pytest.approx(expected.pvalue, rel=1e-8)


def test_a_column_of_two_values_has_students_t_test_of_a_numeric_target():
    rng = np.random.default_rng(5)
    flag, y = rng.random(60) < 0.4, rng.normal(size=60)
    y += 0.5 * flag
    found = RankSelector(IndependenceTest()).fit(pd.DataFrame({"flag": flag, "number": flag * 1.0}), y)
    expected = stats.ttest_ind(y[flag], y[~flag])
    np.testing.assert_allclose(found.p_values_, expected.pvalue, rtol=1e-9)
    np.testing.assert_allclose(found.statistics_, expected.statistic**2, rtol=1e-9)


@pytest.mark.parametrize("test", GROUP_TESTS)
@pytest.mark.parametrize("numeric_target", [False, True])
def test_a_mean_of_a_billion_loses_no_digits(test, numeric_target):
    rng = np.random.default_rng(0)
    X = rng.integers(-400, 400, (90, 3)) / 256.0
    y = rng.integers(0, 3, 90)
    y = X[:, 0] + y / 2 if numeric_target else y.astype(str)
    fit = RankSelector(IndependenceTest(test=test)).fit
    np.testing.assert_allclose(fit(X + 1e9, y).scores_, fit(X, y).scores_, rtol=1e-6)


@pytest.mark.filterwarnings("ignore:.*are equal within each class")
@pytest.mark.parametrize("test", GROUP_TESTS)
@pytest.mark.parametrize("numeric_target", [False, True])
def test_scores_are_ordered_and_finite_where_p_values_underflow(test, numeric_target):
    rng = np.random.default_rng(0)
    n = 4000
    y = rng.integers(0, 2, n).astype(float)
    if numeric_target:
        y += rng.random(n)
    noise = rng.normal(size=n)
    X = np.array([y + 0.4 * noise, y + 0.3 * noise, y + 0.2 * noise, y]).T
    target = y if numeric_target else y.astype(int).astype(str)
    fitted = RankSelector(IndependenceTest(test=test)).fit(X, target)
    assert fitted.p_values_.tolist() == [0.0] * 4
    assert np.isfinite(fitted.scores_).all()
    assert np.isfinite(fitted.statistics_).all()
    # The rank test of classes has its largest value where the classes do not overlap.
    assert (np.diff(fitted.scores_) > (0 if test != "rank" or numeric_target else -1e-9)).all()


def test_p_values_of_noise_are_uniform():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 1500)), rng.integers(0, 3, 60)
    for test in GROUP_TESTS:
        for target in (y.astype(str), rng.normal(size=60)):
            p = RankSelector(IndependenceTest(test=test)).fit(X, target).p_values_
            assert stats.kstest(p, "uniform").pvalue > 0.001


def test_a_constant_column_has_p_value_1_and_does_not_count_in_the_adjustment():
    X, y = load_iris(return_X_y=True)
    X = np.hstack([X, np.full((150, 40), 4.2)])
    fitted = RankSelector(IndependenceTest()).fit(X, y)
    assert fitted.scores_[4:].tolist() == [0.0] * 40
    assert fitted.p_values_[4:].tolist() == fitted.adjusted_p_values_[4:].tolist() == [1.0] * 40
    assert np.isnan(fitted.statistics_[4:]).all()
    np.testing.assert_allclose(fitted.adjusted_p_values_[:4], stats.false_discovery_control(fitted.p_values_[:4]))


def test_columns_that_cannot_be_tested_are_named():
    frame = pd.DataFrame({"x": [1.0, 2, 3, 4, 5, 7], "gap": [1.0, np.nan, 3, np.nan, np.nan, np.nan]})
    with pytest.warns(UserWarning, match="IndependenceTest cannot test 'gap': the rows with a value have"):
        fitted = RankSelector(IndependenceTest()).fit(frame, [*"ababab"])
    assert (fitted.p_values_[1], fitted.scores_[1]) == (1.0, 0.0)


def test_welchs_test_leaves_out_classes_of_one_row_and_accepts_a_class_without_variance():
    rng = np.random.default_rng(0)
    x, y = np.append(rng.normal(size=30), 50.0), np.array([*"ab"] * 15 + ["c"])
    fit = RankSelector(IndependenceTest(test="welch")).fit
    assert fit(x[:, None], y).p_values_ == pytest.approx(fit(x[:30, None], y[:30]).p_values_, rel=1e-12)
    same = np.where(y == "a", 2.0, x)[:30]
    expected = stats.ttest_1samp(same[y[:30] == "b"], 2.0).pvalue
    with pytest.warns(UserWarning, match="p-values of 'x0' may be far too small, because Welch's test has groups"):
        assert fit(same[:, None], y[:30]).p_values_[0] == pytest.approx(expected, rel=1e-9)


def test_welchs_test_warns_of_groups_whose_variance_is_uncertain():
    rng = np.random.default_rng(0)
    # 3 rows of a class, of which a third of the columns have equal values: their p-values are below 1e-100.
    X, rare = (rng.random((400, 30)) < 0.3) + 0.5, ["a"] * 397 + ["b"] * 3
    levels, target = (
        pd.DataFrame({"level": rng.integers(0, 300, 900).astype(str)}, dtype="category"),
        rng.normal(size=900),
    )
    for table, y in ((X, rare), (levels, target)):
        with pytest.warns(UserWarning, match="Merge rare levels, or use test='rank' or 'parametric'"):
            found = RankSelector(IndependenceTest(test="welch")).fit(table, y)
        assert found.p_values_.min() < 1e-15
        assert RankSelector(IndependenceTest()).fit(table, y).p_values_.min() > 1e-3
    # Groups of 10 rows, and classes that determine a column, need no warning.
    exact, noise = np.repeat([1.5, 2.5, 4.5], 10), rng.normal(size=30)
    found = RankSelector(IndependenceTest(test="welch")).fit(np.array([exact, noise]).T, np.repeat([*"abc"], 10))
    assert found.p_values_[0] < 1e-100


def test_anova_without_variance_within_the_classes_is_named_and_has_the_p_value_of_scipy():
    frame = pd.DataFrame({"copy": [1.0, 1, 2, 2], "noise": [1.0, 2, 3, 5], "level": [*"uuvv"]})
    # scipy 1.17 returns F = inf and p = 0, without a warning.
    expected = stats.f_oneway(frame["copy"][:2], frame["copy"][2:])
    assert (expected.statistic, expected.pvalue) == (np.inf, 0)
    with pytest.warns(UserWarning, match="IndependenceTest: the values of 'copy' are equal within each class"):
        by_class = RankSelector(IndependenceTest()).fit(frame[["copy", "noise"]], [*"aabb"])
    assert by_class.p_values_[0] < 1e-300
    assert by_class.statistics_[0] == np.finfo(float).max
    with pytest.warns(UserWarning, match=r"the values of 'level' are equal within each class .*p-value of test='rank'"):
        by_level = RankSelector(IndependenceTest()).fit(frame[["level", "noise"]], [1.5, 1.5, 2.5, 2.5])
    assert by_level.p_values_[0] < 1e-300
    # The way out, and two classes of which one has a single row and a missing value.
    assert RankSelector(IndependenceTest(test="rank")).fit(frame[["copy"]], [*"aabb"]).p_values_[0] > 0.01
    single = np.array([[1.0], [1.0], [1.0], [2.0], [np.nan]])
    with pytest.warns(UserWarning, match="the values of 'x0' are equal within each class"):
        RankSelector(IndependenceTest()).fit(single, [*"aaabb"])


@pytest.mark.parametrize("n", [3, 4, 5, 8])
def test_the_p_value_of_equal_ranks_is_that_of_the_permutation_test(n):
    x = np.arange(n) + 0.5
    found = RankSelector(IndependenceTest(test="rank")).fit(np.array([x, -x, x**3]).T, x**2)
    np.testing.assert_allclose(found.p_values_, 2 / math.factorial(n), rtol=1e-12)


def test_p_values_of_ranks_are_no_smaller_than_their_level_in_few_rows():
    rng = np.random.default_rng(0)
    for n in (4, 5):
        p = RankSelector(IndependenceTest(test="rank")).fit(rng.normal(size=(n, 200)), rng.normal(size=n)).p_values_
        # In 4 rows one of 12 independent columns has the order of the target, or the opposite one.
        assert p.min() > 0.01


def test_small_expected_counts_are_warned_of_by_name():
    y = [*"abab"] * 5
    frame = pd.DataFrame({"rare": [*"pqrstuvwxy"] * 2, "common": [*"ppqq"] * 5})
    with pytest.warns(UserWarning, match="20 % of the expected counts of 'rare' are below 5"):
        RankSelector(IndependenceTest()).fit(frame, y)


def test_fdr_selects_what_scikit_learn_selects():
    rng = np.random.default_rng(0)
    X, y = load_iris(return_X_y=True)
    X = np.hstack([X, rng.normal(size=(150, 60)), rng.normal(size=(150, 6)) + 0.25 * y[:, None]])
    for alpha in (0.01, 0.05, 0.3):
        expected = SelectFdr(f_classif, alpha=alpha).fit(X, y).get_support()
        np.testing.assert_array_equal(RankSelector(fdr=alpha).fit(X, y).get_support(), expected)
    strict = RankSelector(fdr=0.05, correction="bonferroni").fit(X, y)
    np.testing.assert_array_equal(strict.get_support(), f_classif(X, y)[1] * X.shape[1] <= 0.05)
    both = RankSelector(IndependenceTest(), fdr=0.05, n_features=2).fit(X, y)
    assert both.get_support(indices=True).tolist() == [2, 3]


def test_the_false_discovery_rate_is_controlled():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    shares = []
    for _ in range(60):
        X = rng.normal(size=(60, 50))
        X[:, :10] += 1.2 * y[:, None]
        kept = RankSelector(fdr=0.1).fit(X, y).get_support()
        shares.append(kept[10:].sum() / max(kept.sum(), 1))
    # The expected rate is 0.1 * 40 / 50.
    assert np.mean(shares) == pytest.approx(0.08, abs=0.035)


def test_an_empty_selection_states_the_smallest_adjusted_p_value():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 5)), np.arange(40) % 2
    with pytest.warns(
        UserWarning, match=r"No column has an adjusted p-value of at most fdr=1e-06: the smallest is 0\.\d+\."
    ):
        assert not RankSelector(fdr=1e-6).fit(X, y).get_support().any()


def test_a_relevance_without_p_values_is_refused_with_fdr_and_has_none():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=r"fdr needs p-values, and Entropy has none\. .*: IndependenceTest\."):
        RankSelector(Entropy(), fdr=0.05).fit(X, y)
    fitted = RankSelector(Entropy()).fit(X, y)
    assert fitted.p_values_ is fitted.adjusted_p_values_ is fitted.statistics_ is None
    with pytest.raises(ValueError, match="fdr must be at least 0 and at most 1, got 5"):
        RankSelector(fdr=5).fit(X, y)
    with pytest.raises(ValueError, match="correction must be one of"):
        RankSelector(correction="fdr").fit(X, y)
    with pytest.raises(ValueError, match="IndependenceTest requires y to be passed"):
        RankSelector(fdr=0.05).fit(X)


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"groups": np.arange(150) // 2}, "the rows of a group are not independent"),
        ({"groups": np.arange(150) // 2, "sample_weight": np.linspace(0.1, 1, 150)}, "the rows of a group are not"),
    ],
)
def test_without_independent_rows_there_are_scores_but_no_p_values(more, reason):
    X, y = load_iris(return_X_y=True)
    with pytest.warns(UserWarning, match=f"the scores rank the columns, but there are no p-values: {reason}"):
        fitted = RankSelector(IndependenceTest()).fit(X, y, **more)
    assert fitted.p_values_ is None
    assert fitted.ranking_[:2].tolist() == [2, 3]
    with pytest.raises(ValueError, match=f"p-values are not valid because {reason}"):
        RankSelector(fdr=0.05).fit(X, y, **more)


def test_a_selection_by_fdr_is_saved_and_loaded(tmp_path):
    X, y = load_iris(return_X_y=True)
    fitted = RankSelector(IndependenceTest(test="rank"), fdr=0.01, correction="holm").fit(np.c_[X, np.ones(150)], y)
    tamiz.save(fitted, tmp_path / "selector.tamiz")
    loaded = tamiz.load(tmp_path / "selector.tamiz")
    assert loaded.get_params(deep=False).keys() == fitted.get_params(deep=False).keys()
    for name in ("p_values_", "adjusted_p_values_", "statistics_", "scores_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(fitted, name))
    np.testing.assert_array_equal(loaded.get_support(), fitted.get_support())
    assert clone(fitted).fdr == 0.01


def test_parameters_are_checked():
    X, y = load_iris(return_X_y=True)
    for name in ("test", "contingency_test", "missing"):
        with pytest.raises(ValueError, match=f"{name} must be one of"):
            RankSelector(IndependenceTest(**{name: "other"})).fit(X, y)
    assert IndependenceTest().with_missing("distribute").missing == "omit"
    assert IndependenceTest().with_missing("category").missing == "category"


@few_counts
@pytest.mark.parametrize("test", GROUP_TESTS)
def test_pieces_of_rows_have_the_tests_of_one_piece_for_a_numeric_target(test, monkeypatch):
    table = make_mixed(1, n=90)
    y = np.random.default_rng(1).normal(size=90) + table.classes
    whole = column_tests(IndependenceTest(test=test), table.table(target=y))
    monkeypatch.setattr("tamiz.table.base.PIECE_ROWS", 7)
    monkeypatch.setattr("tamiz.table.base._MIN_PIECE_ROWS", 7)
    parts = column_tests(IndependenceTest(test=test), open_table(table.frame(), y))
    np.testing.assert_allclose(parts.log_p, whole.log_p, rtol=1e-10)
