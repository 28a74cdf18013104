"""Weights of the rows: frequencies are repeated rows, and of sampling weights only the ratios matter."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone

from tamiz import MixedNB, RankSelector, RedundancyFilter, SubsetSelector, criteria, open_table, reduction, study
from tamiz.assessment import ranking_stability, selection_report
from tamiz.criteria import CFS, JMI, CrossValidated, IndependenceTest, InformationGain, MultiSURF, ReliefF
from tamiz.criteria.base import RowRelevance
from tamiz.exceptions import DataError
from tamiz.search import BestFirst, Forward

pytestmark = pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")

N = 120
FACTORS = [1000.0, 0.37]


def table(seed=0, n=N):
    """Return columns of all kinds, classes and numbers, and lognormal weights."""
    rng = np.random.default_rng(seed)
    signal = rng.normal(size=n)
    X = pd.DataFrame(
        {
            "signal": signal,
            "weak": signal + rng.normal(size=n),
            "noise": rng.normal(size=n),
            "code": pd.Categorical.from_codes(rng.integers(0, 4, n), [*"pqrs"]),
        }
    )
    X.loc[rng.random(n) < 0.1, "weak"] = np.nan
    response = signal + rng.normal(size=n)
    return X, np.where(response > 0, "high", "low"), response, 2500 * rng.lognormal(sigma=0.8, size=n)


def entries(kind):
    return [pytest.param(entry.load(), id=entry.name) for entry in criteria.registry.of_kind(kind)]


def sources(y, factors=(1.0, *FACTORS)):
    X, *_, weight = table()
    return [open_table(X, y, weight=factor * weight, weights="sampling") for factor in factors]


def targets():
    _, classes, numbers, _ = table()
    return {"classes": classes, "numbers": numbers}


def fitted_or_refused(estimator, table):
    """Return the fitted estimator, or the message where the method refuses the table."""
    try:
        return clone(estimator).fit(table)
    except (DataError, ValueError) as error:
        return str(error)


@pytest.mark.parametrize("target", ["classes", "numbers"])
@pytest.mark.parametrize("relevance", entries("relevance"))
def test_the_scale_of_sampling_weights_changes_no_score(relevance, target):
    first, *others = (fitted_or_refused(RankSelector(relevance()), one) for one in sources(targets()[target]))
    for other in others:
        if isinstance(first, str):
            assert other == first
            continue
        np.testing.assert_allclose(other.scores_, first.scores_, rtol=1e-9, atol=1e-12)
        assert other.ranking_.tolist() == first.ranking_.tolist()
        if first.p_values_ is not None:
            np.testing.assert_allclose(other.p_values_, first.p_values_, rtol=1e-9)


def test_only_estimators_from_counts_of_neighbours_refuse_sampling_weights():
    refused = set()
    for entry in criteria.registry.of_kind("relevance"):
        relevance = entry.load()()
        for y in targets().values():
            found = fitted_or_refused(RankSelector(relevance), sources(y, [1.0])[0])
            if isinstance(found, str) and "sampling weights" in found:
                refused.add(entry.name)
                assert isinstance(relevance, RowRelevance)
    assert refused == {"mutual_information"}


@pytest.mark.parametrize("relevance", entries("relevance"))
def test_equal_sampling_weights_change_no_score(relevance):
    X, y, *_ = table()
    scores = [
        found if isinstance(found := fitted_or_refused(RankSelector(relevance()), one), str) else found.scores_
        for one in (open_table(X, y), open_table(X, y, weight=np.full(N, 2500.3)))
    ]
    if isinstance(scores[1], str):
        assert "sampling weights" in scores[1]
    else:
        np.testing.assert_allclose(*scores, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("test", ["parametric", "welch", "rank"])
@pytest.mark.parametrize("target", ["classes", "numbers"])
def test_the_scale_of_sampling_weights_changes_no_p_value(test, target):
    first, *others = (RankSelector(IndependenceTest(test=test)).fit(one) for one in sources(targets()[target]))
    for other in others:
        np.testing.assert_allclose(other.p_values_, first.p_values_, rtol=1e-9)


@pytest.mark.parametrize(
    "search", [Forward(), pytest.param(BestFirst(), marks=pytest.mark.slow)], ids=["forward", "best"]
)
@pytest.mark.parametrize("target", ["classes", "numbers"])
@pytest.mark.parametrize("merit", entries("merit"))
def test_the_scale_of_sampling_weights_changes_no_selection(merit, target, search):
    merit = merit()
    if "correction" in merit.get_params():
        merit.set_params(correction="chance", missing="category")
    selector = SubsetSelector(merit, search, n_features=2, random_state=0)
    first, *others = (fitted_or_refused(selector, one) for one in sources(targets()[target]))
    for other in others:
        if isinstance(first, str):
            assert other == first
            continue
        assert other.merit_ == pytest.approx(first.merit_, rel=1e-9)
        assert other.support_.tolist() == first.support_.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["naive_bayes", "ridge", "logistic", "tree"])
def test_the_scale_of_sampling_weights_changes_no_wrapper_score(name):
    selector = SubsetSelector(CrossValidated(name, cv=3, scoring="roc_auc"), Forward(), n_features=1, random_state=0)
    first, *others = (selector.fit(one).merit_ for one in sources(targets()["classes"]))
    np.testing.assert_allclose(others, first, rtol=1e-9)


@pytest.mark.parametrize("measure", ["symmetric_uncertainty", "pearson", "linear"])
def test_the_scale_of_sampling_weights_changes_no_redundancy(measure):
    X, *_, weight = table()
    X["copy"] = X["signal"] * 2 + 0.01 * X["noise"]
    kept = [
        clone(RedundancyFilter(measure=measure)).fit(open_table(X, weight=f * weight, weights="sampling"))
        for f in (1.0, *FACTORS)
    ]
    assert kept[0].get_support().tolist() == kept[1].get_support().tolist() == kept[2].get_support().tolist()


def test_the_scale_of_sampling_weights_changes_no_interval():
    first, *others = (
        ranking_stability(one, None, InformationGain(), n_bootstrap=10) for one in sources(targets()["classes"])
    )
    for other in others:
        np.testing.assert_allclose(other.score_errors, first.score_errors, rtol=1e-9, atol=1e-12)
    first, *others = (
        selection_report(SubsetSelector(CFS(), BestFirst()), one, model="naive_bayes", n_splits=3, n_permutations=0)
        for one in sources(targets()["classes"])
    )
    for other in others:
        np.testing.assert_allclose(other.nested.values, first.nested.values, rtol=1e-9)
        np.testing.assert_array_equal(other.fold_sets, first.fold_sets)


@pytest.mark.parametrize("name", ["components_", "explained_variance_"])
def test_the_scale_of_sampling_weights_changes_no_component(name):
    numbers, *_, weight = table()
    X = numbers[["signal", "noise"]]
    found = [
        getattr(reduction.PCA(2).fit(open_table(X, weight=f * weight, weights="sampling")), name) for f in (1, *FACTORS)
    ]
    np.testing.assert_allclose(found[1:], [found[0]] * 2, rtol=1e-9)


def test_variances_are_those_of_reliability_weights():
    X, *_, weight = table()
    x = X["noise"].to_numpy()
    mean, total = np.average(x, weights=weight), weight.sum()
    unbiased = weight @ (x - mean) ** 2 / (total - weight @ weight / total)
    found = RankSelector(criteria.Variance()).fit(open_table(X[["noise"]], weight=weight)).scores_
    np.testing.assert_allclose(found, unbiased, rtol=1e-9)


@pytest.mark.parametrize("factor", FACTORS)
def test_batches_of_sampling_weights_are_one_table(factor):
    X, y, _, weight = table()
    X, weight = X[["signal", "noise"]].to_numpy(), factor * weight
    whole = MixedNB().fit(X, y, sample_weight=weight)
    parts = MixedNB()
    for rows in (slice(0, 50), slice(50, N)):
        parts.partial_fit(X[rows], y[rows], classes=["high", "low"], sample_weight=weight[rows])
    np.testing.assert_allclose(parts.predict_proba(X), whole.predict_proba(X), rtol=1e-9)
    np.testing.assert_allclose(
        parts.class_count_, MixedNB().fit(X, y, sample_weight=weight / 7).class_count_, rtol=1e-9
    )
    assert whole.schema_.n_effective == pytest.approx(weight.sum() ** 2 / (weight @ weight))


@pytest.mark.parametrize("y", [targets()["classes"], targets()["numbers"]], ids=["classes", "numbers"])
@pytest.mark.parametrize("merit", [CFS(), JMI()])
def test_frequencies_are_repeated_rows_in_rules_that_depend_on_the_number_of_rows(merit, y):
    X, *_ = table()
    weight = np.random.default_rng(1).integers(0, 4, N)
    rows = np.repeat(np.arange(N), weight)
    selector = SubsetSelector(merit, Forward(), n_features=2)
    weighted = clone(selector).fit(X, y, sample_weight=weight)
    repeated = clone(selector).fit(X.iloc[rows], y[rows])
    assert weighted.merit_ == pytest.approx(repeated.merit_, rel=1e-9)
    assert weighted.support_.tolist() == repeated.support_.tolist()


@pytest.mark.parametrize("decimals", [0, 3])
def test_survey_weights_do_not_make_noise_informative(decimals):
    rng = np.random.default_rng(0)
    signal, noise, code = rng.normal(size=800), rng.normal(size=800), rng.integers(0, 4, 800)
    X = pd.DataFrame({"noise": noise, "signal": signal, "code": code.astype(str)})
    y = np.where(signal + rng.normal(size=800) > 0, "a", "b")
    weight = (2500 * rng.lognormal(-0.5, 1, 800)).round(decimals)
    table = open_table(X, y, weight=weight, weights="sampling")
    scores = RankSelector(InformationGain()).fit(table).scores_
    assert scores[0] == 0
    assert scores[1] > 0.15
    assert scores[2] < 0.03
    for merit in (CFS(), JMI(), JMI(correction="chance")):
        n_features = None if isinstance(merit, CFS) else 1
        selected = SubsetSelector(merit, Forward(), n_features=n_features).fit(table).get_feature_names_out()
        assert selected.tolist() == ["signal"]
    found = RankSelector(IndependenceTest(), fdr=0.05).fit(table)
    assert found.get_feature_names_out().tolist() == ["signal"]
    for relevance in (ReliefF(), MultiSURF()):
        scores = RankSelector(relevance).fit(table).scores_
        assert scores[1] > 3 * np.abs(scores[[0, 2]]).max()
    # A column of as many values as rows.
    X["number"] = [f"row {i}" for i in range(800)]
    table = open_table(X, y, weight=weight, weights="sampling")
    selector = SubsetSelector(JMI(correction="chance"), Forward(), n_features=1)
    assert selector.fit(table).get_feature_names_out().tolist() == ["signal"]


@pytest.mark.slow
@pytest.mark.parametrize("test", ["parametric", "welch", "rank"])
@pytest.mark.parametrize("numeric_target", [False, True])
def test_the_tests_of_sampled_rows_keep_their_level(test, numeric_target):
    rng = np.random.default_rng(5)
    n, n_columns = 300, 400
    y = rng.normal(size=n)
    X = pd.DataFrame(rng.normal(size=(n, n_columns))).add_prefix("x")
    for j in range(0, n_columns, 4):
        X[f"x{j}"] = pd.Categorical.from_codes(rng.integers(0, 3, n), [*"abc"])
    table = open_table(X, y if numeric_target else y > 0, weight=rng.lognormal(sigma=0.7, size=n))
    p = RankSelector(IndependenceTest(test=test)).fit(table).p_values_
    # Of 400 tests at a level of 5 %, 99.9 % of the counts are in this range, which row counts in place of the effective size leave.
    low, high = stats.binom.ppf([0.0005, 0.9995], n_columns, 0.05)
    assert low <= (p < 0.05).sum() <= high


def test_a_report_states_what_the_weights_are(tmp_path):
    X, y, _, weight = table()
    result = study(X[["signal", "noise"]], y, weight=weight, weights="sampling", assess=False, maps=["pca"])
    described = result.to_dict()["table"]
    assert described["weight_kind"] == "sampling"
    n_effective = weight.sum() ** 2 / (weight @ weight)
    assert described["total_weight"] == pytest.approx(n_effective)
    result.to_html(tmp_path / "report.html")
    report = (tmp_path / "report.html").read_text()
    assert f"{N} rows have an effective sample size of {n_effective:,.1f}" in report
