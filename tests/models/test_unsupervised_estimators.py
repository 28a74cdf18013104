"""Estimators without a target: their scores on test rows, equal to those of scikit-learn's cross-validation."""

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.metrics import accuracy_score, make_scorer, silhouette_score
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GroupKFold, KFold, cross_val_score
from sklearn.neighbors import KernelDensity, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from tamiz import SubsetSelector, open_table, study
from tamiz.criteria import CrossValidated
from tamiz.exceptions import DataError
from tamiz.runtime import parallel
from tamiz.search import Backward, Exhaustive, Forward, RandomSubsets, RecursiveElimination

X, Y = load_iris(return_X_y=True)
FOLDS = KFold(4, shuffle=True, random_state=3)
KMEANS = KMeans(3, n_init=1, random_state=0)


@pytest.fixture(autouse=True)
def one_session():
    """On one thread sums of distances are added up in one order, in scikit-learn's cross-validation too."""
    with parallel.thread_session(1):
        yield


def silhouette(estimator, X):
    return silhouette_score(X, estimator.predict(X))


def silhouette_beside(estimator, X, y):
    assert y is None
    return silhouette(estimator, X)


def mean_score(estimator, X):
    return estimator.score_samples(X).mean()


CASES = [
    (KMEANS, None),
    (KMEANS, silhouette),
    (make_pipeline(StandardScaler(), KMEANS), silhouette),
    (GaussianMixture(2, random_state=0), None),
    (KernelDensity(bandwidth=0.5), None),
    (PCA(1), None),
    (make_pipeline(StandardScaler(), PCA(1)), None),
    (IsolationForest(n_estimators=5, random_state=0), mean_score),
]


@pytest.mark.parametrize(
    ("estimator", "scoring"),
    [case if k in (0, 2, 5) else pytest.param(*case, marks=pytest.mark.slow) for k, case in enumerate(CASES)],
)
def test_every_set_has_the_scores_of_cross_val_score(estimator, scoring):
    results = SubsetSelector(CrossValidated(estimator, FOLDS, scoring), Exhaustive()).fit(X).cv_results_
    assert len(results["support"]) == 16
    for number, mask in enumerate(results["support"]):
        found = [results[f"split{fold}_test_score"][number] for fold in range(4)]
        expected = cross_val_score(estimator, X[:, mask], scoring=scoring, cv=FOLDS) if mask.any() else [-np.inf] * 4
        np.testing.assert_array_equal(found, expected)


def test_a_scorer_of_three_arguments_is_given_no_target():
    fitted = [
        SubsetSelector(CrossValidated(KMEANS, FOLDS, one), Forward()).fit(X) for one in (silhouette, silhouette_beside)
    ]
    assert fitted[0].merit_ == fitted[1].merit_
    assert (fitted[0].support_ == fitted[1].support_).all()


@pytest.mark.parametrize("search", [Forward(), Backward(), RandomSubsets(10), RecursiveElimination()], ids=repr)
def test_searches_find_the_best_set_of_those_they_look_at_and_it_has_a_column(search):
    selector = SubsetSelector(CrossValidated(KMEANS, FOLDS, silhouette), search, random_state=0).fit(X)
    assert selector.support_.any()
    assert selector.merit_ == selector.archive_.merits.max() > 0.5


def test_no_target_is_read_and_none_is_needed():
    selector = SubsetSelector(CrossValidated(KMEANS, FOLDS, silhouette), Forward())
    assert not get_tags(selector).target_tags.required
    assert get_tags(SubsetSelector(CrossValidated("ridge"))).target_tags.required
    without = selector.fit(X).merit_
    assert selector.fit(X, Y).merit_ == selector.fit(open_table(X, Y)).merit_ == without


def test_a_number_of_folds_is_kfold_with_the_rows_shuffled():
    folds = KFold(5, shuffle=True, random_state=int(np.random.default_rng(0).integers(2**31)))
    found = SubsetSelector(CrossValidated(PCA(1), 5), Forward(), n_features=1).fit(X)
    assert found.merit_ == cross_val_score(PCA(1), X[:, found.support_], cv=folds).mean()


def test_groups_stay_together():
    groups = np.random.default_rng(0).integers(0, 12, 150)
    mixture = GaussianMixture(1, random_state=0)
    by_groups = SubsetSelector(CrossValidated(GaussianMixture(1), GroupKFold(3)), Forward(), n_features=1)
    found = by_groups.fit(X, groups=groups)
    expected = cross_val_score(mixture, X[:, found.support_], cv=GroupKFold(3), groups=groups)
    assert found.merit_ == expected.mean()
    with pytest.raises(DataError, match="groups"):
        by_groups.fit(X)
    whole = SubsetSelector(CrossValidated(GaussianMixture(1), 3), Forward(), n_features=1)
    assert whole.fit(X, groups=groups).merit_ != whole.fit(X).merit_


def test_weights_count_in_the_fit_and_in_a_score_that_takes_them():
    weight = np.random.default_rng(0).integers(1, 4, 150).astype(float)
    selector = SubsetSelector(CrossValidated(KMEANS, FOLDS), Forward(), n_features=2).fit(X, sample_weight=weight)
    expected = []
    for train, test in FOLDS.split(X):
        rows = X[:, selector.support_]
        fitted = KMEANS.fit(rows[train], sample_weight=weight[train])
        expected.append(fitted.score(rows[test], sample_weight=weight[test]))
    assert selector.merit_ == np.mean(expected)
    for estimator, scoring in ((KMEANS, silhouette), (PCA(1), None)):
        with pytest.raises(DataError, match=r"accepts no sample_weight.*leave them out"):
            SubsetSelector(CrossValidated(estimator, FOLDS, scoring), Forward()).fit(X, sample_weight=weight)


def test_text_is_encoded():
    table = pd.DataFrame(X, columns=list("abcd")).assign(kind=np.where(Y == 0, "one", "other"))
    selector = SubsetSelector(CrossValidated(KMeans(2, n_init=1), 4, silhouette), Forward(), n_features=2).fit(table)
    assert "kind" in selector.get_feature_names_out()


@pytest.mark.parametrize(
    "scoring", ["adjusted_rand_score", "accuracy", "no_such_score", make_scorer(accuracy_score)], ids=repr
)
def test_a_score_that_compares_with_a_target_is_refused(scoring):
    with pytest.raises(
        ValueError,
        match=r"compares predictions with a target, and KMeans is fitted without one.*scorer\(estimator, X\)",
    ):
        SubsetSelector(CrossValidated(KMEANS, scoring=scoring), Forward()).fit(X)


def test_an_estimator_without_a_score_needs_one():
    for estimator in (IsolationForest(), DBSCAN()):
        with pytest.raises(
            TypeError, match=r"has no score of its own: pass scoring=, a callable scorer\(estimator, X\)"
        ):
            SubsetSelector(CrossValidated(estimator), Forward()).fit(X)


def test_a_score_that_fails_names_the_fold_and_the_columns():
    with pytest.raises(DataError, match=r"Fold 1 of 4, column x0, silhouette: .*predict"):
        SubsetSelector(CrossValidated(DBSCAN(), FOLDS, silhouette), Forward()).fit(X)
    with pytest.raises(DataError, match="is nan on the 38 test rows; a score must be finite"):
        SubsetSelector(CrossValidated(KMEANS, FOLDS, lambda estimator, X: np.nan), Forward()).fit(X)


def test_estimators_that_read_a_target_still_need_one():
    for estimator in ("ridge", KMeans, StandardScaler()):
        with pytest.raises(DataError, match="requires y to be passed, but the target y is None"):
            SubsetSelector(CrossValidated(estimator), Forward()).fit(X)
    # It predicts nothing, and its fit needs classes.
    supervised = CrossValidated(NeighborhoodComponentsAnalysis(), scoring=mean_score)
    assert supervised.reads_target


@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
@pytest.mark.slow
def test_a_study_without_a_target_searches_and_reports(tmp_path):
    table = pd.DataFrame(X[::2], columns=list("abcd"))
    result = study(table, selector=SubsetSelector(CrossValidated(GaussianMixture(1), FOLDS), search=Forward()), maps=())
    assert result.record.subset.value == pytest.approx(
        cross_val_score(GaussianMixture(1), table[list(result.record.subset.columns)], cv=FOLDS).mean(), rel=1e-12
    )
    # Without its only column there is no set to have a merit.
    reasons = {reason.name: reason for reason in result.record.subset.reasons}
    (kept,) = list(result.record.subset.columns)
    assert reasons[kept].alternative_merit is None
    result.to_html(tmp_path / "report.html")
