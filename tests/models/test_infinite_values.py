"""Infinite values: estimators that accept them receive them, and every other use of them is an error."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from tamiz import SubsetSelector
from tamiz.criteria import CFS, CrossValidated
from tamiz.exceptions import DataError
from tamiz.models.mixed_nb import MixedNB
from tamiz.search import Exhaustive, Forward
from tamiz.table.factory import as_table

RNG = np.random.default_rng(0)
Y = np.repeat([0, 1], 40)
X = RNG.normal(size=(80, 3)) + Y[:, None] * [1.0, 0.5, 0.0]
X[Y == 1, 2] = np.where(RNG.random(40) < 0.7, np.inf, X[Y == 1, 2])
X[5, 1], X[6, 0] = -np.inf, np.nan
FOLDS = StratifiedKFold(4)


class Signs(ClassifierMixin, BaseEstimator):
    """Predicts 1 where a row has an infinite value."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.isinf(np.asarray(X)).any(axis=1).astype(int)


CLIPPED = make_pipeline(FunctionTransformer(lambda X: np.nan_to_num(X, posinf=9.0, neginf=-9.0)), GaussianNB())
BOOSTED = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5)


@pytest.mark.parametrize(
    "estimator",
    [
        pytest.param(Signs(), id="own"),
        pytest.param(CLIPPED, id="pipeline"),
        pytest.param(BOOSTED, id="boosted", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(
    "container",
    [
        np.asarray,
        pytest.param(pd.DataFrame, marks=pytest.mark.slow),
        pytest.param(lambda X: pl.DataFrame(X, schema=list("abc")), marks=pytest.mark.slow),
    ],
)
def test_scores_are_those_of_cross_val_score(estimator, container):
    table = container(X)
    results = SubsetSelector(CrossValidated(estimator, FOLDS), Exhaustive()).fit(table, Y).cv_results_
    frame = pd.DataFrame(X, columns=list("abc")) if container is not np.asarray else X
    for number, mask in enumerate(results["support"]):
        if mask.any():
            rows = frame.loc[:, mask] if isinstance(frame, pd.DataFrame) else X[:, mask]
            expected = cross_val_score(estimator, rows, Y, cv=FOLDS)
            np.testing.assert_array_equal([results[f"split{fold}_test_score"][number] for fold in range(4)], expected)


def test_the_chosen_columns_are_handed_on_as_they_are():
    selector = SubsetSelector(CrossValidated(BOOSTED, FOLDS), Forward(), n_features=1).fit(X, Y)
    np.testing.assert_array_equal(selector.transform(X), X[:, [2]])


def test_a_column_that_differs_by_infinite_values_alone_repeats_no_other():
    table = np.column_stack([np.where(np.isinf(X[:, 2]), np.nan, X[:, 2]), X[:, 2]])
    assert SubsetSelector(CrossValidated(Signs(), FOLDS), Exhaustive()).fit(table, Y).duplicates_ == {}


def test_fingerprints_distinguish_infinite_values_from_missing_ones():
    tables = [X, np.where(np.isinf(X), np.nan, X), np.where(np.isinf(X), -X, X)]
    for frame in (np.asarray, pd.DataFrame):
        assert len({as_table(frame(table), Y, allow_infinite=True).fingerprint() for table in tables}) == 3


@pytest.mark.parametrize(
    ("merit", "table", "said"),
    [
        (CFS(), X, "row 5, column x1: -inf is infinite"),
        (CrossValidated(GaussianNB()), X, "row 5, column x1: -inf is infinite"),
        (CrossValidated("tree"), X, "row 5, column x1: -inf is infinite"),
        (CrossValidated(BOOSTED, encode=True), X, "row 5, column x1: -inf is infinite"),
        (CrossValidated(MixedNB()), X, "The table has infinite values, which MixedNB does not accept here"),
        (
            CrossValidated(RandomForestClassifier(3)),
            pd.DataFrame(X).assign(place=np.where(Y, "here", "there")),
            "The table has infinite values, which RandomForestClassifier does not accept",
        ),
        (CrossValidated(RandomForestClassifier(3)), X, "RandomForestClassifier: Input X contains infinity"),
    ],
)
def test_criteria_that_do_not_support_infinite_values_refuse_them(merit, table, said):
    with pytest.raises(DataError, match=said):
        SubsetSelector(merit, Forward()).fit(table, Y)
