"""Forward selection with every fold backend follows the path of scikit-learn's on six tables."""

import warnings

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_linnerud,
    load_wine,
    make_friedman1,
)
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from tamiz import SubsetSelector
from tamiz.criteria import CrossValidated
from tamiz.search import Forward

pytestmark = pytest.mark.slow
SIZE = 3


def ranked(X):
    """Every column cut into four by its quartiles, as codes."""
    return np.stack([np.searchsorted(np.quantile(x, [0.25, 0.5, 0.75]), x) for x in X.T], axis=1).astype(float)


def tables():
    bodies = load_linnerud()
    return {
        "iris": load_iris(return_X_y=True),
        "wine": load_wine(return_X_y=True),
        "breast cancer": load_breast_cancer(return_X_y=True),
        # Of pixels that hardly ever are on, scikit-learn's linear discriminants fail.
        "digits": (load_digits().data[:, load_digits().data.std(axis=0) > 2], load_digits().target),
        "diabetes, who is worse off": (load_diabetes().data, (load_diabetes().target > 140).astype(int)),
        "linnerud, who weighs more": (bodies.data, (bodies.target[:, 0] > 175).astype(int)),
    }


def numbers():
    bodies = load_linnerud()
    return {
        "diabetes": load_diabetes(return_X_y=True),
        "friedman": make_friedman1(300, random_state=0),
        "linnerud": (bodies.data, bodies.target[:, 0]),
        "iris, a petal's width": (load_iris().data[:, :3], load_iris().data[:, 3]),
        "wine, its colour": (np.delete(load_wine().data, 9, axis=1), load_wine().data[:, 9]),
        "breast cancer, the radius": (load_breast_cancer().data[:, 1:], load_breast_cancer().data[:, 0]),
    }


CLASSIFIERS = [GaussianNB(), KNeighborsClassifier(), LinearDiscriminantAnalysis(), BernoulliNB(binarize=1.0)]
COUNTING = [CategoricalNB(min_categories=4), MultinomialNB()]


def check(estimator, X, y):
    if type(estimator) in (KNeighborsClassifier, KNeighborsRegressor):
        X = apart(X)
    cv = StratifiedKFold(5) if is_classifier(estimator) else KFold(5)
    ours = SubsetSelector(CrossValidated(estimator, cv=cv), Forward(), n_features=min(SIZE, X.shape[1] - 1)).fit(X, y)
    assert "is not refitted" in ours.merit_method_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = SequentialFeatureSelector(estimator, n_features_to_select=int(ours.support_.sum()), cv=cv).fit(X, y)
        score = cross_val_score(estimator, X[:, ours.support_], y, cv=cv).mean()
    np.testing.assert_array_equal(ours.support_, theirs.get_support())
    assert ours.merit_ == pytest.approx(score, rel=1e-9)


def apart(X):
    """Rows a little apart: among those as near as each other scikit-learn takes any."""
    return X + 1e-4 * X.std(axis=0) * np.random.default_rng(0).normal(size=X.shape)


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("name", list(tables()))
def test_classes(name, estimator):
    check(estimator, *tables()[name])


@pytest.mark.parametrize("estimator", COUNTING, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("name", list(tables()))
def test_codes_and_counts(name, estimator):
    X, y = tables()[name]
    check(estimator, ranked(X), y)


@pytest.mark.parametrize(
    "estimator", [LinearRegression(), Ridge(), KNeighborsRegressor()], ids=lambda e: type(e).__name__
)
@pytest.mark.parametrize("name", list(numbers()))
def test_numbers(name, estimator):
    check(estimator, *numbers()[name])
