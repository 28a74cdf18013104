"""Every named model has the scores of scikit-learn's cross-validation of its encoding and its estimator on the same folds."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.metrics import get_scorer
from sklearn.model_selection import cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tamiz import MixedNB, open_table
from tamiz.exceptions import DataError
from tamiz.models import registry
from tamiz.models.fold_scorer import score_folds
from tamiz.models.folds import make_folds
from tamiz.models.named_models import resolve_model
from tamiz.models.scoring import resolve_scoring
from tamiz.table.base import weight_array
from tamiz.table.factory import as_table
from tamiz.table.views import select_rows

NAMES = [entry.name for entry in registry.of_kind("model")]
BOOSTING = {"max_iter": 60, "max_leaf_nodes": 15, "learning_rate": 0.15, "early_stopping": False, "random_state": 3}
CLASSIFIERS = {
    "naive_bayes": MixedNB(),
    "gaussian_nb": GaussianNB(),
    "knn": KNeighborsClassifier(5),
    "linear": LinearDiscriminantAnalysis(),
    "ridge": RidgeClassifier(),
    "logistic": LogisticRegression(max_iter=1000),
    "tree": DecisionTreeClassifier(min_samples_leaf=5, random_state=3),
    "forest": RandomForestClassifier(30, min_samples_leaf=2, random_state=3),
    "gradient_boosting": HistGradientBoostingClassifier(**BOOSTING),
}
REGRESSORS = {
    "knn": KNeighborsRegressor(5),
    "linear": LinearRegression(),
    "ridge": Ridge(),
    "tree": DecisionTreeRegressor(min_samples_leaf=5, random_state=3),
    "forest": RandomForestRegressor(30, min_samples_leaf=2, max_features=1 / 3, random_state=3),
    "gradient_boosting": HistGradientBoostingRegressor(**BOOSTING),
}
# The models whose columns are not standardised.
INDICATORS, CODES, AS_THEY_ARE = ("tree", "forest"), ("gradient_boosting",), ("naive_bayes",)
SCORINGS = {"classes": ("roc_auc", "balanced_accuracy", "accuracy"), "numbers": ("r2", "neg_mean_absolute_error")}
N = 90


class Standard(TransformerMixin, BaseEstimator):
    """Numbers standardised with n - 1, indicators divided by the root of their share; the mean in place of missing values."""

    def fit(self, X, y=None, sample_weight=None):
        weight = np.ones(len(X)) if sample_weight is None else sample_weight
        numbers = np.array([name in ("a", "b") for name in X.columns])
        present = ~np.isnan(X.to_numpy(float))
        values = np.where(present, X.to_numpy(float), 0.0)
        total = weight @ present
        self.mean_ = weight @ values / total
        squares = weight @ np.where(present, (values - self.mean_) ** 2, 0.0)
        self.scale_ = np.sqrt(np.where(numbers, squares / (total - 1), self.mean_))
        return self

    def transform(self, X):
        return np.nan_to_num((X.to_numpy(float) - self.mean_) / self.scale_)


def table(target):
    """Numbers and a category, both with missing values, and a target."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"a": rng.normal(size=N), "kind": rng.choice(["u", "v", "w"], N), "b": rng.normal(size=N)})
    signal = X["a"] + (X["kind"] == "u") + 0.5 * rng.normal(size=N)
    X.loc[rng.random(N) < 0.1, "a"] = np.nan
    X.loc[rng.random(N) < 0.1, "kind"] = None
    return X, np.where(signal > 0.3, "yes", "no") if target == "classes" else signal.to_numpy()


def as_numbers(X):
    """The numbers, then an indicator of each level, with missing values as NaN."""
    numbers = X[[name for name in ("a", "b") if name in X]].copy()
    for level in ("u", "v", "w") if "kind" in X else ():
        numbers[level] = np.where(X["kind"].isna(), np.nan, X["kind"] == level)
    return numbers


def as_codes(X):
    """The numbers, and the number of each level, with missing values as NaN."""
    return X.assign(kind=X["kind"].map({"u": 0.0, "v": 1.0, "w": 2.0}).astype(float)) if "kind" in X else X


def pipeline(name, model, X):
    """The rows as the model is to see them, and the estimator with its encoding."""
    if name in AS_THEY_ARE:
        return X, model
    if name in CODES:
        return as_codes(X), model
    return as_numbers(X), model if name in INDICATORS else make_pipeline(Standard(), model)


@pytest.mark.parametrize("target", ["classes", "numbers"])
@pytest.mark.parametrize(
    "columns",
    [["a", "kind", "b"], *(pytest.param(one, marks=pytest.mark.slow) for one in (["a", "b"], ["kind", "b"]))],
    ids=" ".join,
)
@pytest.mark.parametrize("name", NAMES)
def test_scores_are_those_of_cross_validate(name, columns, target):
    models = CLASSIFIERS if target == "classes" else REGRESSORS
    X, y = table(target)
    opened = open_table(X, y)
    if name not in models:
        with pytest.raises(DataError, match="needs classes, and the target 'target' is a number"):
            resolve_model(name, opened.schema)
        return
    folds = make_folds(opened, 3, 0)
    scorings = [resolve_scoring(one, has_classes=target == "classes") for one in SCORINGS[target]]
    mask = np.isin(opened.schema.names, columns)
    found = score_folds(resolve_model(name, opened.schema), opened, folds, scorings, sets=mask[None], seed=3)
    rows, model = pipeline(name, models[name], X[columns])
    expected = cross_validate(model, rows, y, cv=[(f.train, f.test) for f in folds], scoring=list(SCORINGS[target]))
    assert found.values.shape == (len(scorings), 1, 3)
    for values, scoring in zip(found.values[:, 0], SCORINGS[target], strict=True):
        np.testing.assert_allclose(values, expected[f"test_{scoring}"], rtol=1e-9, atol=1e-12, err_msg=scoring)


@pytest.mark.parametrize("target", ["classes", "numbers"])
@pytest.mark.parametrize("name", NAMES)
def test_scores_with_weights_are_those_of_weighted_fits_and_scorers(name, target):
    models = CLASSIFIERS if target == "classes" else REGRESSORS
    X, y = table(target)
    opened = as_table(X, y, np.random.default_rng(2).uniform(0.5, 3.0, N))
    weight = weight_array(opened)
    if name not in models or name == "knn":
        with pytest.raises(DataError, match="accept no weights" if name == "knn" else "needs classes"):
            resolve_model(name, opened.schema)
        return
    folds = make_folds(opened, 3, 0)
    scorings = [resolve_scoring(one, has_classes=target == "classes") for one in SCORINGS[target]]
    if name == "linear" and target == "classes":
        with pytest.raises(DataError, match="LinearDiscriminantAnalysis accepts no sample_weight"):
            score_folds(resolve_model(name, opened.schema), opened, folds, scorings, seed=3)
        return
    found = score_folds(resolve_model(name, opened.schema), opened, folds, scorings, seed=3)
    rows, model = pipeline(name, models[name], X)
    steps = [step for step, _ in model.steps] if hasattr(model, "steps") else []
    names = [f"{step}__sample_weight" for step in steps] or ["sample_weight"]
    for f, fold in enumerate(folds):
        weights = dict.fromkeys(names, weight[fold.train])
        fitted = clone(model).fit(rows.iloc[fold.train], y[fold.train], **weights)
        for k, scoring in enumerate(SCORINGS[target]):
            value = get_scorer(scoring)(fitted, rows.iloc[fold.test], y[fold.test], sample_weight=weight[fold.test])
            assert found.values[k, 0, f] == pytest.approx(value, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_each_fold_may_have_its_own_set_and_the_empty_set_is_the_baseline(name):
    X, y = table("classes")
    opened = open_table(X, y)
    folds, model = make_folds(opened, 3, 0), resolve_model(name, opened.schema)
    scorings = [resolve_scoring(one, has_classes=True) for one in SCORINGS["classes"]]
    sets = np.array([[True, True, True], [True, False, False], [False, False, False]])
    every = score_folds(model, opened, folds, scorings, sets=sets, seed=3).values
    own = np.array([sets[[0, 1, 2]], sets[[1, 1, 0]]])
    found = score_folds(model, opened, folds, scorings, sets=own, seed=3).values
    assert found.shape == (3, 2, 3)
    for s, numbers in enumerate(([0, 1, 2], [1, 1, 0])):
        np.testing.assert_array_equal(found[:, s], every[:, numbers, [0, 1, 2]])
    cv = [(fold.train, fold.test) for fold in folds]
    baseline = cross_validate(DummyClassifier(), np.zeros((N, 1)), y, cv=cv, scoring=list(SCORINGS["classes"]))
    for values, scoring in zip(every[:, 2], SCORINGS["classes"], strict=True):
        np.testing.assert_allclose(values, baseline[f"test_{scoring}"], rtol=1e-12)


def test_the_baseline_of_a_number_is_the_mean():
    X, y = table("numbers")
    opened = open_table(X, y)
    folds, scorings = make_folds(opened, 3, 0), [resolve_scoring(one, has_classes=False) for one in SCORINGS["numbers"]]
    found = score_folds(
        resolve_model("tree", opened.schema), opened, folds, scorings, sets=np.zeros((1, 3), dtype=bool)
    )
    cv = [(fold.train, fold.test) for fold in folds]
    expected = cross_validate(DummyRegressor(), np.zeros((N, 1)), y, cv=cv, scoring=list(SCORINGS["numbers"]))
    for values, scoring in zip(found.values[:, 0], SCORINGS["numbers"], strict=True):
        np.testing.assert_allclose(values, expected[f"test_{scoring}"], rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_scores_are_those_of_the_labels_that_the_user_passed(name):
    X, y = table("classes")
    # The rare label is the positive class 1 of f1, whatever its code.
    labels = np.where(y == "yes", 1, 2)
    opened = open_table(X, labels)
    folds, model = make_folds(opened, 3, 0), resolve_model(name, opened.schema)
    found = score_folds(model, opened, folds, resolve_scoring("f1", has_classes=True), seed=3).values[0, 0]
    rows, estimator = pipeline(name, CLASSIFIERS[name], X)
    cv = [(fold.train, fold.test) for fold in folds]
    expected = cross_validate(estimator, rows, labels, cv=cv, scoring="f1")["test_score"]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    # scikit-learn's f1 has no positive class among text labels.
    words = open_table(X, y)
    with pytest.raises(DataError, match=r"^Fold 1 of 3, .*f1: pos_label=1 is not a valid label"):
        score_folds(model, words, make_folds(words, 3, 0), resolve_scoring("f1", has_classes=True))


@pytest.mark.parametrize("name", ["naive_bayes", "ridge", "logistic", "tree"])
def test_weights_of_a_small_sum_in_a_fold_count_by_their_ratios(name):
    X, y = table("classes")
    ratios = np.random.default_rng(2).uniform(0.5, 3.0, N)
    # The weights of the table sum to 2.4, those of the training rows to about 1.6.
    scores = []
    for weight in (2.4 * ratios / ratios.sum(), ratios / ratios.mean()):
        opened = as_table(X, y, weight)
        model = resolve_model(name, opened.schema)
        folds = make_folds(opened, 3, 0)
        scores.append(score_folds(model, opened, folds, resolve_scoring("roc_auc", has_classes=True)).values)
    np.testing.assert_allclose(*scores, rtol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_a_column_without_a_value_in_the_training_rows_of_a_fold_is_not_used_there(name):
    X, y = table("classes")
    opened = open_table(X, y)
    folds = make_folds(opened, 3, 0)
    X = X.assign(late=np.nan)
    X.loc[folds[0].test, "late"] = np.arange(len(folds[0].test), dtype=float)
    late = open_table(X, y)
    scoring = resolve_scoring("roc_auc", has_classes=True)
    sets = np.array([[True, True, True, True], [True, True, True, False], [False, False, False, True], [False] * 4])
    found = score_folds(resolve_model(name, late.schema), late, folds, scoring, sets=sets, seed=3).values[0]
    assert found[0, 0] == pytest.approx(found[1, 0], rel=1e-9)
    assert found[2, 0] == found[3, 0] == 0.5


def test_nearest_neighbours_are_fewer_where_there_are_fewer_training_rows():
    X, y = table("classes")
    opened = select_rows(open_table(X, y), np.arange(8))
    folds = make_folds(opened, 2, 0)
    assert min(len(fold.train) for fold in folds) == 4
    model = resolve_model("knn", opened.schema)
    scoring = resolve_scoring("accuracy", has_classes=True)
    found = score_folds(model, opened, folds, scoring, sets=np.array([[False, False, True]])).values[0, 0]
    rows, estimator = pipeline("knn", KNeighborsClassifier(4), X.loc[:7, ["b"]])
    cv = [(fold.train, fold.test) for fold in folds]
    np.testing.assert_allclose(found, cross_validate(estimator, rows, y[:8], cv=cv)["test_score"])
