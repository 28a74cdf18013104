"""Metadata of other names than weights and groups: routed to the fits and scores of every fold, as by scikit-learn's RFECV."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.feature_selection import RFECV
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tamiz import RankSelector, SizeSearchCV, SubsetSelector, selection_report
from tamiz.assessment import compare_columns
from tamiz.criteria import CrossValidated, FisherScore
from tamiz.exceptions import DataError
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


@pytest.mark.filterwarnings("ignore:1 row without a target")
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


@pytest.mark.filterwarnings("ignore:The area under the ROC curve is left out")
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
