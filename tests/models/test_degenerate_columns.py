"""Wrapper searches with columns that determine the target, are constant, or are constant within a class or a fold."""

import numpy as np
import pandas as pd
import pytest
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.model_selection import KFold
from sklearn.naive_bayes import CategoricalNB

from tamiz import SubsetSelector
from tamiz.criteria import CrossValidated
from tamiz.models import registry
from tamiz.runtime import parallel
from tamiz.runtime.user_warnings import capture_warnings
from tamiz.search import Forward

RNG = np.random.default_rng(0)
N = 24
NOISE = pd.DataFrame(RNG.integers(0, 3, size=(N, 2)).astype(float), columns=["p", "q"])
TWO = np.arange(N) % 2
THREE = np.r_[np.zeros(N - 4, int), 1, 1, 2, 2]
HALF = np.where(np.arange(N) < N // 2, np.nan, 1.0)
CASES = {
    "equal to the target": (NOISE.assign(a=TWO * 1.0), TWO),
    "the only column": (pd.DataFrame({"a": TWO * 1.0}), TWO),
    "copies of the target": (NOISE.assign(a=TWO * 1.0, b=TWO * 1.0, c=2.0 * TWO), TWO),
    "constant": (NOISE.assign(a=1.0), TWO),
    "all missing": (NOISE.assign(a=np.nan), TWO),
    "missing in a fold": (NOISE.assign(a=HALF), TWO),
    "one row differs": (NOISE.assign(a=np.eye(N)[0]), TWO),
    "constant within classes": (NOISE.assign(a=np.where(TWO, 5.0, 7.0)), TWO),
    "constant within one class": (NOISE.assign(a=np.where(TWO, 5.0, RNG.integers(6, 9, N))), TWO),
    "two rows per class": (NOISE.assign(a=THREE * 1.0), THREE),
    "a class is missing in a fold": (NOISE.assign(a=np.sort(np.arange(N) % 3) * 1.0), np.sort(np.arange(N) % 3)),
}
MODELS = {
    **{entry.name: entry.name for entry in registry.of_kind("model") if entry.name != "forest"},
    "QuadraticDiscriminantAnalysis": QuadraticDiscriminantAnalysis(),
    **{entry.name: entry.load().estimator_class() for entry in registry.of_kind("backend")},
}
MODELS["CategoricalNB"] = CategoricalNB(min_categories=3)
REGRESSORS = ("KNeighborsRegressor", "LinearRegression", "Ridge", "linear", "ridge", "knn", "tree")


# These count values of complete columns, and a covariance needs two rows of every class in a fold.
COUNTS = ("CategoricalNB", "MultinomialNB", "BernoulliNB")
PAIRS = [
    (case, name)
    for case in CASES
    for name in MODELS
    if not ("missing" in case and name in COUNTS)
    and (case, name) != ("two rows per class", "QuadraticDiscriminantAnalysis")
]


@pytest.mark.parametrize(("case", "name"), PAIRS)
def test_every_set_has_a_score_or_a_recorded_failure(case, name):
    table, y = CASES[case]
    targets = [] if name.endswith(("Regressor", "Regression", "Ridge")) else [y]
    if name in REGRESSORS:
        targets.append(y * 1.5 + 0.25)
    folds = KFold(3) if "fold" in case else 2
    encode = True if name[0].isupper() and name not in COUNTS else "auto"
    for target in targets:
        with parallel.thread_session(1), capture_warnings():
            found = SubsetSelector(CrossValidated(MODELS[name], folds, encode=encode), Forward()).fit(table, target)
        assert np.isfinite(found.merit_)
