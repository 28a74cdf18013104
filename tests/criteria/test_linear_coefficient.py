"""Linear coefficient: against scikit-learn pipelines, and the meaning of the scores."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tamiz import RankSelector, open_table
from tamiz.criteria import LinearCoefficient, linear_coefficient
from tamiz.exceptions import ConvergenceWarning, DataError, TamizWarning


def scores_of(X, y, *, sample_weight=None, **parameters):
    return RankSelector(LinearCoefficient(**parameters)).fit(X, y, sample_weight=sample_weight).scores_


def scaled(X):
    """Standardised by n - 1, as everywhere here; StandardScaler divides by n."""
    return StandardScaler().fit_transform(X) * np.sqrt((len(X) - 1) / len(X))


def over_pairs(coefficients):
    """The root mean square over pairs of classes, pair by pair."""
    n = len(coefficients)
    pairs = [(coefficients[k] - coefficients[m]) ** 2 for k in range(n) for m in range(k)]
    return np.sqrt(np.mean(pairs, axis=0))


@pytest.mark.parametrize("alpha", [0.1, 1.0, 30.0])
def test_two_classes_are_scored_by_the_coefficient_of_scikit_learns_pipeline(alpha):
    X, y = load_breast_cancer(return_X_y=True)
    model = LogisticRegression(C=1 / alpha, tol=1e-10, max_iter=10_000).fit(scaled(X), y)
    np.testing.assert_allclose(scores_of(X, y, alpha=alpha), np.abs(model.coef_[0]), rtol=1e-4, atol=3e-5)
    # StandardScaler as it is differs by the square root of (n - 1) / n, 1 in 1,138 here.
    pipeline = make_pipeline(StandardScaler(), LogisticRegression(C=1 / alpha, tol=1e-8, max_iter=10_000)).fit(X, y)
    np.testing.assert_allclose(scores_of(X, y, alpha=alpha), np.abs(pipeline[-1].coef_[0]), rtol=3e-3, atol=5e-3)


def test_many_classes_are_put_together_over_all_their_pairs():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(tol=1e-10, max_iter=10_000).fit(scaled(X), y)
    np.testing.assert_allclose(scores_of(X, y), over_pairs(model.coef_), rtol=1e-4)


def test_many_coefficients_are_found_step_by_step_and_are_the_same(monkeypatch):
    X, y = load_digits(return_X_y=True)
    X = X[:, X.std(axis=0) > 0][:, :25]
    newton = scores_of(X, y)
    monkeypatch.setattr(linear_coefficient, "_MAX_NEWTON_COEFFICIENTS", 0)
    np.testing.assert_allclose(scores_of(X, y), newton, rtol=2e-3, atol=2e-3)


def test_a_number_is_scored_by_the_coefficient_of_ridge_regression_over_its_standard_deviation():
    X, y = load_diabetes(return_X_y=True)
    model = Ridge(2.0).fit(scaled(X), y)
    np.testing.assert_allclose(scores_of(X, y, alpha=2.0), np.abs(model.coef_) / y.std(ddof=1), rtol=1e-9)
    np.testing.assert_allclose(scores_of(X, 1e6 * y - 4e8, alpha=2.0), scores_of(X, y, alpha=2.0), rtol=1e-6)


@pytest.mark.parametrize("target", ["classes", "number"])
def test_a_category_is_scored_by_the_spread_of_what_it_adds(target):
    rng = np.random.default_rng(1)
    level = rng.choice(4, 300, p=[0.55, 0.3, 0.1, 0.05])
    x = rng.normal(size=300)
    number = x + np.array([0.0, 1.0, -1.0, 3.0])[level] + rng.normal(size=300)
    y = number if target == "number" else number > 0.5
    frame = pd.DataFrame({"x": x, "level": np.array([*"abcd"])[level]})
    share = np.bincount(level) / 300
    Z = np.column_stack([scaled(x[:, None]), (level[:, None] == np.arange(4)) / np.sqrt(share) - np.sqrt(share)])
    if target == "number":
        model = Ridge(1.0).fit(Z, (y - y.mean()) / y.std(ddof=1))
    else:
        model = LogisticRegression(tol=1e-10, max_iter=10_000).fit(Z, y)
    weights = model.coef_.ravel()
    added = Z[:, 1:] @ weights[1:]
    expected = [abs(weights[0]), added.std()]
    np.testing.assert_allclose(scores_of(frame, y), expected, rtol=1e-4)
    np.testing.assert_allclose(expected[1], np.linalg.norm(weights[1:]), rtol=1e-6)


def mostly_missing(seed=0, n=600):
    """Two informative columns, 20 noise columns, and 20 noise columns with 96 % missing values."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        rng.normal(size=(n, 42)), columns=["true", "weak", *(f"n{j}" for j in range(20)), *(f"m{j}" for j in range(20))]
    )
    number = 0.5 * X["true"] + 0.25 * X["weak"] + rng.normal(size=n)
    for j in range(20):
        X.loc[rng.permutation(n)[: int(0.96 * n)], f"m{j}"] = np.nan
    return X, number.to_numpy()


@pytest.mark.filterwarnings("ignore:.*Criteria that fit a model")
@pytest.mark.parametrize("missing", ["distribute", "category"])
@pytest.mark.parametrize("target", ["classes", "number"])
def test_noise_with_96_percent_missing_is_ranked_as_noise_without(target, missing):
    X, number = mostly_missing()
    scores = scores_of(X, number if target == "number" else number > 0, alpha=0.01, missing=missing)
    assert set(np.argsort(-scores)[:2]) == {0, 1}
    # A missing value that is a level of its own is a second number to fit.
    sparse, dense = (np.sqrt(np.mean(scores[own] ** 2)) for own in (slice(22, None), slice(2, 22)))
    assert 0.7 < sparse / dense < (1.3 if missing == "distribute" else 2.0)


@pytest.mark.filterwarnings("ignore:.*Criteria that fit a model")
def test_a_column_with_missing_values_is_scored_by_the_spread_of_what_it_adds():
    X, y = mostly_missing()
    X["level"] = pd.cut(X.pop("m0"), [-9, 0, 1, 9], labels=["a", "b", "c"]).astype(object)
    numbers = X.drop(columns="level").to_numpy()
    Z = (numbers - np.nanmean(numbers, axis=0)) / np.nanstd(numbers, axis=0, ddof=1)
    present = X["level"].notna()
    share = X.loc[present, "level"].value_counts(normalize=True).sort_index()
    one_hot = (pd.get_dummies(X["level"]) - share) / np.sqrt(share)
    Z = np.nan_to_num(np.column_stack([Z, one_hot.where(present)]))
    weights = Ridge(1.0).fit(Z, (y - y.mean()) / y.std(ddof=1)).coef_
    added = [*(Z * weights)[:, :-3].std(axis=0), (Z[:, -3:] @ weights[-3:]).std()]
    # Columns of 24 values are standardised by 23.
    np.testing.assert_allclose(scores_of(X, y), added, rtol=0.025)


@pytest.mark.filterwarnings("ignore:.*Criteria that fit a model")
@pytest.mark.slow
def test_the_square_of_a_score_is_the_fall_of_r2_without_the_column():
    X, y = mostly_missing()
    filled = X.fillna(X.mean()).to_numpy()
    scores = scores_of(X, y, alpha=1e-6)
    whole = LinearRegression().fit(filled, y).score(filled, y)
    falls = np.array([whole - LinearRegression().fit(rest, y).score(rest, y)
                      for rest in (np.delete(filled, j, axis=1) for j in range(X.shape[1]))])  # fmt: skip
    # Columns drawn independently are correlated a little in 600 rows.
    np.testing.assert_allclose(scores**2, falls, rtol=0.25, atol=1e-6)


def test_columns_that_repeat_each_other_share_their_coefficient():
    X, y = load_iris(return_X_y=True)
    alone = scores_of(X[:, [1, 3]], y)
    twice = scores_of(X[:, [1, 3, 3]], y)
    np.testing.assert_allclose(twice[1], twice[2], rtol=1e-9)
    assert twice[1] < 0.7 * alone[1]


def test_a_model_that_has_not_converged_is_reported_and_nothing_else():
    with pytest.warns(TamizWarning, match="did not converge in max_iter = 2 steps; the scores are those") as recorded:
        scores_of(*load_iris(return_X_y=True), max_iter=2)
    assert len(recorded) == 1
    assert issubclass(recorded[0].category, ConvergenceWarning)
    assert str(recorded[0].message).startswith("TZ501: ")
    assert "Raise max_iter, or alpha." in str(recorded[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores_of(*load_iris(return_X_y=True))


def test_of_more_rows_than_asked_for_so_many_are_drawn_and_it_is_reported():
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.warns(TamizWarning, match="LinearCoefficient reads 200 of the 569 rows, drawn at random"):
        drawn = scores_of(X, y, max_rows=200)
    assert (drawn != scores_of(X, y)).any()


def test_a_study_takes_as_many_rows_as_there_is_time_for(monkeypatch):
    X, y = load_iris(return_X_y=True)
    X, y = np.repeat(X, 10, axis=0), np.repeat(y, 10)
    schema = open_table(X, y).schema
    assert LinearCoefficient().adapt_to(schema).max_rows is None
    monkeypatch.setattr(LinearCoefficient, "max_study_values", 4 * 3 * 700)
    assert LinearCoefficient(alpha=3.0).adapt_to(schema).get_params() == {
        "alpha": 3.0, "max_iter": 1000, "missing": "distribute", "max_rows": 700, "max_levels": None, "random_state": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("parameters", "kind", "sentence"),
    [
        ({"alpha": 0}, ValueError, "alpha must be a number above 0, got 0; without a penalty the coefficients"),
        ({"alpha": -1}, ValueError, "alpha must be at least 0"),
        ({"alpha": "small"}, TypeError, "alpha must be a number, got 'small'"),
        ({"max_iter": 0}, ValueError, "max_iter must be at least 1, got 0"),
    ],
)
def test_invalid_parameters_are_refused(parameters, kind, sentence):
    with pytest.raises(kind, match=sentence):
        scores_of(*load_iris(return_X_y=True), **parameters)


def test_a_table_without_a_target_is_refused():
    with pytest.raises(DataError, match="LinearCoefficient requires y to be passed, but the target y is None"):
        scores_of(load_iris(return_X_y=True)[0], None)
