"""Metadata of other names than weights and groups: routed to the fits and scores of every fold, as by scikit-learn's RFECV."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.feature_selection import RFECV
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, get_scorer, make_scorer
from sklearn.model_selection import StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tamiz import RankSelector, SizeSearchCV, SubsetSelector, assessment, selection_report
from tamiz.assessment import compare_columns
from tamiz.criteria import CrossValidated, FisherScore, PermutationImportance
from tamiz.exceptions import DataError
from tamiz.models import estimators
from tamiz.search import Backward, Forward, RecursiveElimination

N = 120
RNG = np.random.default_rng(0)
Y = RNG.permutation(np.arange(N) % 2)
X = RNG.normal(size=(N, 5)) + Y[:, None] * np.array([1.5, 0, 0.7, 0, 0])
PRICE = RNG.integers(1, 9, N).astype(float)
FOLDS = StratifiedKFold(3)


class PricedModel(ClassifierMixin, BaseEstimator):
    """Logistic regression whose weights are the prices of the training rows."""

    def __init__(self, needs_price=False):
        self.needs_price = needs_price

    def fit(self, X, y, *, price=None, scale=1.0):
        assert not self.needs_price if price is None else len(price) == len(y)
        self.model_ = LogisticRegression(C=scale).fit(X, y, sample_weight=price)
        self.classes_, self.coef_ = self.model_.classes_, self.model_.coef_
        return self

    def predict(self, X):
        return self.model_.predict(X)


def priced_accuracy(y, predicted, *, price=None):
    return accuracy_score(y, predicted, sample_weight=price)


@pytest.fixture(autouse=True)
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def model():
    return PricedModel(needs_price=True).set_fit_request(price=True)


def scorer():
    return make_scorer(priced_accuracy).set_score_request(price=True)


def wanted(columns, estimator, scoring, params):
    return cross_validate(estimator, X[:, columns], Y, cv=FOLDS, scoring=scoring, params=params)["test_score"]


@pytest.mark.filterwarnings("ignore:.*1 row without a target")
@pytest.mark.parametrize(
    ("table", "values"),
    [
        ("array", PRICE),
        ("array", PRICE.tolist()),
        ("frame", pd.Series(PRICE, index=np.arange(N)[::-1])),
        ("missing-targets", PRICE),
    ],
)
def test_metadata_reach_the_fits_and_scores_of_a_wrapper(table, values):
    rows, y = (pd.DataFrame(X), Y) if table == "frame" else (X, Y)
    if table == "missing-targets":
        rows, y = np.insert(X, 7, 0.5, axis=0), np.insert(Y.astype(float), 7, np.nan)
        values = np.insert(np.asarray(values), 7, 1e9)
    selector = SubsetSelector(CrossValidated(model(), FOLDS, scorer()), Forward(), n_features=2)
    if table == "missing-targets":
        y = pd.Series(y).map({0.0: "0", 1.0: "1"})
    selector.fit(rows, y, price=values)
    columns = selector.get_support(indices=True)
    assert selector.merit_ == pytest.approx(wanted(columns, model(), scorer(), {"price": PRICE}).mean())
    assert selector.merit_ != pytest.approx(wanted(columns, model(), scorer(), {"price": np.ones(N)}).mean())


def test_only_requested_metadata_are_passed_and_values_without_rows_are_unchanged():
    selector = SubsetSelector(
        CrossValidated(PricedModel().set_fit_request(scale=True, price=False), FOLDS, scorer()),
        Backward(),
        n_features=5,
    ).fit(X, Y, price=PRICE, scale=0.01)
    estimator = PricedModel().set_fit_request(scale=True, price=False)
    scores = wanted(np.arange(5), estimator, scorer(), {"price": PRICE, "scale": 0.01})
    assert selector.merit_ == pytest.approx(scores.mean())


def test_other_sets_and_a_journal_need_the_same_metadata(tmp_path):
    def search():
        merit = CrossValidated(model(), FOLDS, scorer())
        return SubsetSelector(merit, Forward(), n_features=(1, 1), journal=tmp_path / "journal")

    selector = search().fit(X, Y, price=PRICE)
    columns = np.array([False, True, False, True, True])
    (merit,) = selector.merits([columns], X, Y, price=PRICE)
    assert merit == pytest.approx(wanted(columns, model(), scorer(), {"price": PRICE}).mean())
    assert "evaluations" in str(selector.plan(X, Y, price=PRICE))
    assert search().fit(X, Y, price=PRICE).merit_ == selector.merit_
    with pytest.raises(DataError, match="journal"):
        search().fit(X, Y, price=PRICE + 1)


def test_an_alias_reaches_the_step_of_a_pipeline_in_a_pipeline():
    inner = make_pipeline(StandardScaler(), PricedModel().set_fit_request(price="cost"))
    selector = SubsetSelector(CrossValidated(inner, FOLDS), Forward(), n_features=2)
    outer = make_pipeline(selector, PricedModel().set_fit_request(price=True)).fit(X, Y, cost=PRICE, price=PRICE)
    columns = outer[0].get_support(indices=True)
    assert outer[0].merit_ == pytest.approx(wanted(columns, inner, None, {"cost": PRICE}).mean())
    assert set(outer[0].get_metadata_routing().fit.requests) == {"sample_weight", "groups", "cost"}


def test_sizes_are_those_of_rfecv_with_the_same_metadata():
    theirs = RFECV(model(), cv=FOLDS, scoring=scorer()).fit(X[:, :3], Y, price=PRICE)
    ours = SizeSearchCV(
        SubsetSelector(CrossValidated(model(), FOLDS, scorer()), Backward()), model(), cv=FOLDS, scoring=scorer()
    ).fit(X[:, :3], Y, price=PRICE)
    np.testing.assert_allclose(
        [ours.cv_results_[f"split{f}_test_score"][-1] for f in range(3)],
        [theirs.cv_results_[f"split{f}_test_score"][-1] for f in range(3)],
    )
    ranked = SizeSearchCV(RankSelector(FisherScore()), model(), cv=FOLDS, scoring=scorer()).fit(
        X[:, :3], Y, price=PRICE
    )
    assert ranked.cv_results_["mean_test_score"][-1] == pytest.approx(theirs.cv_results_["mean_test_score"][-1])


def test_metadata_reach_the_fits_of_recursive_elimination():
    merit = CrossValidated(model(), FOLDS)
    selector = SubsetSelector(merit, RecursiveElimination(), n_features=2).fit(X, Y, price=PRICE)
    columns = selector.get_support(indices=True)
    assert selector.merit_ == pytest.approx(wanted(columns, model(), None, {"price": PRICE}).mean())


@pytest.mark.filterwarnings("ignore:.*The area under the ROC curve is left out")
def test_metadata_reach_assessments():
    rows = X[:, :2]
    selector = SubsetSelector(CrossValidated(model(), 2, scorer()), Forward(), n_features=2)
    settings = {"n_splits": 2, "random_state": 0, "params": {"price": PRICE}}
    report = selection_report(selector, rows, Y, n_permutations=0, **settings)
    ranking = RankSelector(FisherScore(), n_features=2)
    again = selection_report(ranking, rows, Y, model=model(), scoring=scorer(), n_permutations=0, **settings)
    assert report.nested.mean == pytest.approx(again.nested.mean)
    constant = selection_report(selector, rows, Y, n_permutations=0, **{**settings, "params": {"price": np.ones(N)}})
    assert report.nested.mean != constant.nested.mean
    assert list(compare_columns(selector, rows, Y, models=["gaussian_nb"], **settings).models) == ["gaussian_nb"]


def test_metadata_reach_the_models_of_a_permutation_importance():
    importance = PermutationImportance(model(), FOLDS, scorer(), n_repeats=2)
    selector = RankSelector(importance, n_features=2).fit(X, Y, price=PRICE)
    again = RankSelector(importance, n_features=2).fit(X, Y, price=np.ones(N))
    assert (selector.scores_ != again.scores_).any()
    # The same weights of all rows: a model and a score without metadata.
    plain = PermutationImportance(LogisticRegression(), FOLDS, n_repeats=2)
    np.testing.assert_array_equal(again.scores_, RankSelector(plain).fit(X, Y).scores_)
    assert set(selector.get_metadata_routing().fit.requests) == {"sample_weight", "groups", "price"}
    sized = SizeSearchCV(RankSelector(importance), model(), sizes=[2], cv=FOLDS).fit(X, Y, price=PRICE)
    np.testing.assert_array_equal(sized.selector_.scores_, selector.scores_)
    # scikit-learn's accuracy with weights of another name.
    alias = get_scorer("accuracy").set_score_request(sample_weight="price")
    weighed, custom = (
        RankSelector(PermutationImportance(model(), FOLDS, one, n_repeats=2)).fit(X, Y, price=PRICE).scores_
        for one in (alias, scorer())
    )
    np.testing.assert_allclose(weighed, custom, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
@pytest.mark.parametrize("function", ["recommend_columns", "selection_error_rates", "run_noise_experiment"])
def test_metadata_reach_the_selections_of_every_assessment(function):
    rows, quick = X[:, [0, 2]], {"models": ["gaussian_nb"], "n_splits": 2}
    merit = CrossValidated(model(), 2, scorer(), encode=True)
    selector = SubsetSelector(merit, Forward(), n_features=1)

    def selected(price):
        params = {"price": price}
        if function == "recommend_columns":
            found = assessment.recommend_columns(rows, Y, candidates={"own": selector}, params=params, **quick)
            return found.candidates["own"].columns
        if function == "selection_error_rates":
            found = assessment.selection_error_rates(selector, rows, Y, signal=0.1, n_draws=8, params=params)
            return found.selected_sets.tolist()
        settings = {"n_added": [1], "n_draws": 1, **quick}
        found = assessment.run_noise_experiment(rows, Y, merit=merit, params=params, **settings)
        return found.random_selected_scores["gaussian_nb"].tolist()

    # Expensive are the rows of which the second column predicts the class.
    assert selected(np.where((X[:, 2] > 0.35) == (Y == 1), 1e4, 1.0)) != selected(np.ones(N))
    arguments = (selector, rows, Y) if function == "selection_error_rates" else (rows, Y)
    with pytest.raises(TypeError, match=rf"^{function}\(\) got 'other', which no estimator or scorer requests"):
        getattr(assessment, function)(*arguments, params={"other": PRICE})


def test_requests_are_resolved_once_in_a_search(monkeypatch):
    calls = []
    routed = estimators.MetadataRouter.route_params
    monkeypatch.setattr(
        estimators.MetadataRouter, "route_params", lambda *of, **given: calls.append(1) or routed(*of, **given)
    )
    few, many = (
        [
            SubsetSelector(CrossValidated(model(), cv, scorer()), Backward(), n_features=1).fit(X, Y, price=PRICE),
            len(calls),
        ][1]
        for cv in (2, 6)
    )
    assert few > 0
    assert many - few == few


def test_metadata_without_a_reader_are_errors():
    selector = SubsetSelector(CrossValidated(PricedModel(), FOLDS), Forward())
    with pytest.raises(UnsetMetadataPassedError, match="price"):
        selector.fit(X, Y, price=PRICE)
    with pytest.raises(TypeError, match=r"^SubsetSelector got 'other', which no estimator or scorer requests"):
        selector.fit(X, Y, other=PRICE)
    with pytest.raises(TypeError, match=r"^selection_report\(\) got 'other'"):
        selection_report(selector, X, Y, params={"other": PRICE})
    with (
        sklearn.config_context(enable_metadata_routing=False),
        pytest.raises(TypeError, match=r"unexpected keyword argument 'price'.*enable_metadata_routing=True"),
    ):
        selector.fit(X, Y, price=PRICE)
