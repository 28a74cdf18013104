"""Selectors inside scikit-learn's pipelines, grids and cross-validation, with metadata routing and without."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.compose import make_column_transformer
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import has_fit_parameter

from tamiz import RankSelector, SubsetSelector
from tamiz.criteria import CFS, CrossValidated, FisherScore, InformationGain
from tamiz.error_control import KnockoffSelector, StabilitySelector
from tamiz.exceptions import DataError
from tamiz.search import Backward, BestFirst, Forward

N = 90


def make_data():
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(N) % 2)
    X = pd.DataFrame(rng.normal(size=(N, 6)), columns=list("abcdef"))
    X["a"] += 2 * y
    X["d"] -= 2 * y
    return X, y, np.arange(N) // 5, rng.integers(1, 4, N).astype(float)


X, Y, GROUPS, WEIGHT = make_data()
SELECTORS = [SubsetSelector(CFS(), BestFirst()), RankSelector(FisherScore(), n_features=2)]


@pytest.fixture(params=[False, True], ids=["plain", "routed"])
def routed(request):
    with sklearn.config_context(enable_metadata_routing=request.param):
        yield request.param


@pytest.fixture(params=SELECTORS, ids=["subset", "rank"])
def selector(request):
    return sklearn.clone(request.param)


def by_hand(selector, folds, weight=None):
    """The scores of choosing and fitting in every fold."""
    scores = []
    for train, test in folds:
        given = {} if weight is None else {"sample_weight": weight[train]}
        chosen = sklearn.clone(selector).fit(X.iloc[train], Y[train], **given).get_feature_names_out()
        model = GaussianNB().fit(X.iloc[train][chosen], Y[train], **given)
        tested = None if weight is None else weight[test]
        scores.append(model.score(X.iloc[test][chosen], Y[test], tested))
    return scores


def test_a_pipeline_chooses_and_learns_in_every_fold(routed, selector):
    folds = list(GroupKFold(3).split(X, Y, GROUPS))
    found = cross_validate(make_pipeline(selector, GaussianNB()), X, Y, cv=folds, error_score="raise")
    assert found["test_score"].tolist() == by_hand(selector, folds)


def test_groups_make_the_folds_around_a_selector(routed, selector):
    given = {"params": {"groups": GROUPS}} if routed else {"groups": GROUPS}
    pipeline = make_pipeline(selector, GaussianNB())
    found = cross_validate(pipeline, X, Y, cv=GroupKFold(3), error_score="raise", **given)
    assert found["test_score"].tolist() == by_hand(selector, GroupKFold(3).split(X, Y, GROUPS))


def test_weights_reach_the_selector_in_a_pipeline(routed, selector):
    name = type(selector).__name__.lower()
    if routed:
        pipeline = make_pipeline(
            selector.set_fit_request(sample_weight=True), GaussianNB().set_fit_request(sample_weight=True)
        )
        pipeline.fit(X, Y, sample_weight=WEIGHT)
    else:
        pipeline = make_pipeline(selector, GaussianNB())
        pipeline.fit(X, Y, **{f"{name}__sample_weight": WEIGHT, "gaussiannb__sample_weight": WEIGHT})
    alone = sklearn.clone(selector).fit(X, Y, sample_weight=WEIGHT)
    plain = sklearn.clone(selector).fit(X, Y)
    worth = "merit_" if name == "subsetselector" else "scores_"
    assert np.array_equal(getattr(pipeline[0], worth), getattr(alone, worth))
    assert not np.array_equal(getattr(pipeline[0], worth), getattr(plain, worth))


def test_weights_reach_the_selector_in_every_fold(routed, selector):
    folds = list(GroupKFold(3).split(X, Y, GROUPS))
    name = type(selector).__name__.lower()
    if routed:
        pipeline = make_pipeline(
            selector.set_fit_request(sample_weight=True), GaussianNB().set_fit_request(sample_weight=True)
        )
        # A pipeline routes weights to the score of its last step from scikit-learn 1.8 on; a scorer does in every version.
        scoring = get_scorer("accuracy").set_score_request(sample_weight=True)
        given = {"params": {"sample_weight": WEIGHT}, "error_score": "raise"}
        found = cross_validate(pipeline, X, Y, cv=folds, scoring=scoring, **given)
        assert found["test_score"].tolist() == pytest.approx(by_hand(selector, folds, WEIGHT))
    else:
        given = {f"{name}__sample_weight": WEIGHT, "gaussiannb__sample_weight": WEIGHT}
        pipeline = make_pipeline(selector, GaussianNB())
        found = cross_validate(pipeline, X, Y, cv=folds, params=given, error_score="raise", return_estimator=True)
        for (train, _), fitted in zip(folds, found["estimator"], strict=True):
            alone = sklearn.clone(selector).fit(X.iloc[train], Y[train], sample_weight=WEIGHT[train])
            assert fitted[0].get_support().tolist() == alone.get_support().tolist()


def test_an_unrequested_weight_is_an_error_under_routing(selector):
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(selector, GaussianNB().set_fit_request(sample_weight=True))
        with pytest.raises(UnsetMetadataPassedError, match=r"\[sample_weight\] are passed but are not explicitly set"):
            pipeline.fit(X, Y, sample_weight=WEIGHT)


def test_a_grid_goes_over_sizes_and_over_the_parts_of_a_search(routed):
    pipeline = make_pipeline(SubsetSelector(CFS(), BestFirst()), GaussianNB())
    grid = {"subsetselector__n_features": [1, (1, 3)], "subsetselector__search__patience": [1, 5]}
    found = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(X, Y)
    assert len(found.cv_results_["params"]) == 4
    assert found.best_params_["subsetselector__n_features"] != 1
    assert found.best_estimator_[0].get_feature_names_out().tolist() == ["a", "d"]


def test_a_grid_goes_over_searches_and_merits(routed):
    pipeline = make_pipeline(SubsetSelector(CFS(), Forward(), n_features=2), GaussianNB())
    grid = {
        "subsetselector__search": [Forward(), Backward()],
        "subsetselector__merit__missing": ["distribute", "category"],
    }
    found = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(X, Y)
    assert np.ptp(found.cv_results_["mean_test_score"]) == 0
    assert "support_" not in vars(pipeline[0])


def test_a_grid_goes_over_relevances(routed):
    grid = {"rankselector__relevance": [FisherScore(), InformationGain()], "rankselector__n_features": [1, 2]}
    pipeline = make_pipeline(RankSelector(FisherScore()), GaussianNB())
    found = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(X, Y)
    assert found.best_params_["rankselector__n_features"] == 2


def test_a_column_transformer_chooses_among_some_columns(routed, selector):
    made = make_column_transformer(
        (selector, ["a", "b", "c"]), remainder="passthrough", verbose_feature_names_out=False
    )
    chosen = sklearn.clone(selector).fit(X[["a", "b", "c"]], Y).get_feature_names_out().tolist()
    assert made.fit(X, Y).get_feature_names_out().tolist() == [*chosen, "d", "e", "f"]
    made.set_output(transform="pandas")
    pd.testing.assert_frame_equal(made.fit_transform(X, Y), X[[*chosen, "d", "e", "f"]])


def test_a_ranking_before_a_search(routed):
    pipeline = make_pipeline(
        RankSelector(FisherScore(), n_features=4), SubsetSelector(CFS(), BestFirst()), GaussianNB()
    )
    pipeline.fit(X, Y)
    assert pipeline[:-1].get_feature_names_out().tolist() == ["a", "d"]


def test_weights_are_routed_to_the_step_of_a_wrapped_pipeline_that_requests_them():
    folds = GroupKFold(3)
    with sklearn.config_context(enable_metadata_routing=True):
        classifier = LogisticRegression().set_fit_request(sample_weight=True)
        scoring = get_scorer("accuracy").set_score_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), classifier)
        selector = SubsetSelector(CrossValidated(pipeline, folds), Backward(), n_features=6)
        found = selector.fit(X, Y, sample_weight=WEIGHT, groups=GROUPS).merit_
        given = {"sample_weight": WEIGHT, "groups": GROUPS}
        wanted = cross_validate(pipeline, X, Y, cv=folds, scoring=scoring, params=given, error_score="raise")
        assert found == pytest.approx(wanted["test_score"].mean(), rel=1e-12)
        nobody = make_pipeline(StandardScaler(), LogisticRegression())
        with pytest.raises(
            DataError, match=r"accepts no sample_weight in fit.* call set_fit_request\(sample_weight=True\)"
        ):
            SubsetSelector(CrossValidated(nobody, 3), Forward()).fit(X, Y, sample_weight=WEIGHT)
    with pytest.raises(DataError, match=r"after sklearn\.set_config\(enable_metadata_routing=True\)"):
        SubsetSelector(CrossValidated(pipeline, 3), Forward()).fit(X, Y, sample_weight=WEIGHT)


@pytest.mark.parametrize(
    "selector", [StabilitySelector(n_pairs=2, random_state=0), KnockoffSelector(fdr=0.8, random_state=0)]
)
def test_weights_pass_a_selector_that_does_not_accept_them(selector):
    # A parameter that only raised would be offered weights by every meta-estimator that searches the signature for it.
    assert not has_fit_parameter(selector, "sample_weight")
    with pytest.raises(TypeError, match=r"Selector\.fit\(\) got an unexpected keyword argument 'sample_weight'"):
        selector.fit(X, Y, sample_weight=WEIGHT)
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(sklearn.clone(selector), GaussianNB().set_fit_request(sample_weight=True))
        pipeline.fit(X, Y, sample_weight=WEIGHT)
    kept = sklearn.clone(selector).fit(X, Y).get_feature_names_out()
    assert len(kept)
    model = GaussianNB().fit(X[kept], Y, sample_weight=WEIGHT)
    np.testing.assert_array_equal(pipeline.predict_proba(X), model.predict_proba(X[kept]))
