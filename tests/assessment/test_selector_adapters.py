"""Selectors and estimators with scikit-learn's interface receive the rows in the user's type."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_transformer
from sklearn.feature_selection import RFE, SelectFromModel, SelectKBest, SelectorMixin, VarianceThreshold
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from tests.assessment.tables import signal

from tamiz import MixedNB, RankSelector, RedundancyFilter, SubsetSelector, open_table, selection_report
from tamiz.criteria import CFS, FisherScore, InformationGain
from tamiz.models.folds import draw_folds
from tamiz.runtime.random import make_rng
from tamiz.search import Forward

NAMES = list("abcdefgh")


def framed(**options):
    X, y = signal(**options)
    return pd.DataFrame(X, columns=NAMES), y


@pytest.mark.parametrize(
    "selector",
    [
        SelectKBest(k=2),
        RFE(LogisticRegression(), n_features_to_select=2),
        make_pipeline(StandardScaler(), SelectKBest(k=2)),
        make_pipeline(SubsetSelector(CFS(), Forward(), n_features=2)),
        # Its columns come in another order.
        make_pipeline(
            make_column_transformer(
                (StandardScaler(), ["d"]), remainder="passthrough", verbose_feature_names_out=False
            ),
            SelectKBest(k=2),
        ),
    ],
    ids=["filter", "wrapper", "pipeline", "pipeline of ours", "in another order"],
)
def test_the_columns_of_the_table_are_found(selector):
    X, y = framed()
    report = selection_report(selector, X, y, n_splits=2, n_permutations=1)
    assert report.columns == ("a", "d")
    assert report.merit is None
    assert report.null.statistic == "apparent score"
    assert report.null.observed == report.apparent.mean
    assert report.nested.mean > 0.75


def test_an_array_is_given_as_an_array_and_a_file_as_a_table(tmp_path):
    X, y = framed()
    X.assign(y=np.where(y, "p", "q")).to_csv(tmp_path / "a.csv", index=False)
    options = {"n_splits": 3, "n_permutations": 0, "model": LogisticRegression()}
    by_array = selection_report(SelectKBest(k=2), X.to_numpy(), y, **options)
    by_file = selection_report(SelectKBest(k=2), open_table(tmp_path / "a.csv", "y"), **options)
    assert by_array.columns == ("x0", "x3")
    assert by_file.columns == ("a", "d")
    assert by_file.nested.values.tolist() == pytest.approx(by_array.nested.values.tolist())


def test_the_frame_keeps_its_types():
    X, y = framed()
    X["kind"] = pd.Categorical(np.where(y, "u", "v"))
    X["kind"] = X["kind"].where(np.random.default_rng(0).random(len(y)) < 0.8)
    trees = make_pipeline(
        make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["kind"]), remainder="passthrough"),
        DecisionTreeClassifier(random_state=0),
    )

    class KeepsKinds(SelectorMixin, BaseEstimator):
        def fit(self, X, y=None):
            self.n_features_in_ = X.shape[1]
            self.kept_ = np.array([name in ("kind", "a") for name in X.columns])
            assert isinstance(X["kind"].dtype, pd.CategoricalDtype)
            return self

        def _get_support_mask(self):
            return self.kept_

    report = selection_report(KeepsKinds(), X, y, model=trees, n_splits=3, n_permutations=0)
    assert report.columns == ("a", "kind")
    assert report.nested.mean > 0.7
    assert report.model == "Pipeline"


def test_estimators_with_random_draws_are_seeded():
    X, y = framed()
    selector = SelectFromModel(ExtraTreeClassifier())
    options = {"n_splits": 2, "n_permutations": 1, "model": ExtraTreeClassifier(max_features=1)}
    one, again, other = (selection_report(selector, X, y, random_state=seed, **options) for seed in (1, 1, 2))
    assert one.to_dict() == again.to_dict()
    assert one.to_dict() != other.to_dict()
    assert selector.estimator.random_state is None


def test_a_redundancy_filter_is_fitted_on_the_training_rows_of_every_fold():
    X, y = framed()
    # Correlations near the threshold: the folds drop different columns.
    X["near"] = X["a"] + 0.33 * X["a"].std() * np.random.default_rng(0).normal(size=len(X))
    X["level"] = pd.qcut(X["d"], 3, labels=[*"uvw"]).astype(str)
    X["again"] = X["level"].map({"u": "x", "v": "y", "w": "z"})
    folds = draw_folds(open_table(X, y), 6, make_rng(0))
    report = selection_report(RedundancyFilter("pearson"), X, y, model="naive_bayes", n_splits=6, n_permutations=0)
    assert report.columns == tuple(RedundancyFilter("pearson").fit(X).get_feature_names_out())
    assert len(np.unique(report.fold_sets, axis=0)) > 1
    for fold, selected, score in zip(folds, report.fold_sets, report.scores_of("accuracy").nested.values, strict=True):
        pipeline = make_pipeline(RedundancyFilter("pearson"), MixedNB()).fit(X.iloc[fold.train], y[fold.train])
        assert pipeline[0].get_support().tolist() == selected.tolist()
        assert pipeline.score(X.iloc[fold.test], y[fold.test]) == pytest.approx(score)


def test_shuffled_targets_have_folds_of_all_their_classes():
    X, y = framed(n=40)
    # In folds of four rows that are stratified by the real target, most shuffled targets have a fold without one class.
    for selector in (RedundancyFilter("pearson"), SelectKBest(k=2)):
        null = selection_report(selector, X, y, n_permutations=20).null
        assert null.statistic == "apparent score"
        assert np.isfinite(null.null_values).all()
        assert null.median < null.observed


def test_weights_are_passed_to_estimators_that_accept_them():
    X, y = framed()
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    selector = SelectFromModel(LogisticRegression())
    report = selection_report(
        selector, X, y, sample_weight=weight, model=LogisticRegression(), n_splits=3, n_permutations=0
    )
    chosen = selector.fit(X, y, sample_weight=weight).get_support()
    assert report.support.tolist() == chosen.tolist()


@pytest.mark.parametrize(
    ("selector", "options", "error", "message"),
    [
        (
            "cfs",
            {},
            TypeError,
            r"^selector must be a selector such as SubsetSelector\(CFS\(\), BestFirst\(\)\), .* got 'cfs'\.$",
        ),
        (StandardScaler(), {}, TypeError, r"^selector must be a selector such as .* got StandardScaler\(\)\.$"),
        (
            make_pipeline(PolynomialFeatures(include_bias=False), SelectKBest(k=2)),
            {},
            ValueError,
            r"^The selector at the end of the pipeline does not select columns of the table, because earlier steps",
        ),
        (SelectKBest(k=2), {"sample_weight": np.ones(80)}, ValueError, r"^SelectKBest accepts no sample_weight in fit"),
        (
            make_pipeline(StandardScaler(), SelectFromModel(LogisticRegression())),
            {"sample_weight": np.ones(80)},
            ValueError,
            r"^Pipeline\(StandardScaler, SelectFromModel\) accepts no sample_weight in fit, and the rows have weights; leave",
        ),
        (
            SelectFromModel(LogisticRegression()),
            {"model": make_pipeline(StandardScaler(), LogisticRegression()), "sample_weight": np.ones(80)},
            ValueError,
            r"^Pipeline\(StandardScaler, LogisticRegression\) accepts no sample_weight in fit",
        ),
        (
            SelectFromModel(LogisticRegression()),
            {"scoring": lambda model, X, y: model.score(X, y), "sample_weight": np.ones(80)},
            ValueError,
            r"^<lambda> accepts no sample_weight, and the rows have weights; leave them out\.$",
        ),
        (
            SelectFromModel(LogisticRegression()),
            {"scoring": "adjusted_rand_score", "sample_weight": np.ones(80)},
            ValueError,
            r"^adjusted_rand_score accepts no sample_weight, and the rows have weights",
        ),
        (
            VarianceThreshold(),
            {"model": Ridge()},
            ValueError,
            r"^Ridge predicts numbers, and the target 'target' is classes",
        ),
        (VarianceThreshold(), {"model": 3}, TypeError, r"^model must be an object with fit and predict, .* got 3\.$"),
        (
            SubsetSelector(InformationGain(), Forward()),
            {},
            TypeError,
            r"^SubsetSelector: merit must be one such as CFS\(\), got InformationGain\(\)\.$",
        ),
        (RankSelector(CFS()), {}, TypeError, r"^RankSelector: relevance must be one such as InformationGain\(\)"),
        (
            RankSelector(FisherScore(), n_features=20),
            {},
            ValueError,
            r"^n_features=20 exceeds the 8 columns of the table",
        ),
    ],
)
def test_objects_without_selection_or_prediction_are_an_error_of_one_sentence(selector, options, error, message):
    X, y = framed()
    with pytest.raises(error, match=message):
        selection_report(selector, X, y, n_permutations=0, **options)
