"""A journal belongs to one estimator with its seed, one score and one list of folds."""

from functools import partial

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from tamiz import SubsetSelector
from tamiz.criteria import CrossValidated
from tamiz.exceptions import DataError
from tamiz.models.evaluator import stable_repr
from tamiz.search import Forward

from .random_cases import evaluator_of

X, Y = load_iris(return_X_y=True)
TREE = DecisionTreeClassifier(max_depth=2)


def share(estimator, X, y):
    return float(np.mean(estimator.predict(X) == y))


def selector(path, merit, seed=0):
    return SubsetSelector(merit, Forward(), n_features=2, journal=path, random_state=seed)


def facts(estimator=TREE, **given):
    return evaluator_of(X, Y, estimator, **given).identity_fields()


@pytest.mark.parametrize(
    "changed",
    [
        {"seed": 1},
        {"cv": 4},
        {"cv": KFold(5)},
        {"scoring": "f1_macro"},
        {"scoring": share},
        {"encode": True},
        {"estimator": DecisionTreeClassifier(max_depth=3)},
        {"estimator": make_pipeline(StandardScaler(), TREE)},
        {"estimator": GaussianNB(priors=[0.2, 0.3, 0.5])},
    ],
    ids=lambda changed: str({k: getattr(v, "__name__", v) for k, v in changed.items()}),
)
def test_settings_that_change_a_score_change_the_identity_of_a_journal(changed):
    assert facts() == facts()
    assert facts(**changed) != facts()


def of_name(made):
    """Return a score by its place in a list: all of one name, `score`."""

    def first(threshold):
        def score(estimator, X, y):
            return float(np.mean(estimator.predict(X) == y)) - threshold

        return score

    def second():
        def score(estimator, X, y):
            return float(np.mean(estimator.predict(X) != y))

        return score

    def third():
        def score(estimator, X, y, least=0.0):
            return max(float(np.mean(estimator.predict(X) != y)), least)

        return score

    return [first(0.1), first(0.2), second(), third()][made]


def test_functions_of_one_name_are_distinguished_by_what_they_do():
    words = [stable_repr(of_name(made)) for made in range(4)]
    assert words == [stable_repr(of_name(made)) for made in range(4)]
    assert len(set(words)) == 4
    assert stable_repr(lambda y, p: 1.0) != stable_repr(lambda y, p: 2.0)
    assert stable_repr(make_scorer(lambda y, p: 1.0)) != stable_repr(make_scorer(lambda y, p: 2.0))
    assert stable_repr(partial(share, X=X)) != stable_repr(partial(share, X=X + 1))
    assert len({stable_repr(TREE.score), stable_repr(TREE.fit), stable_repr(GaussianNB().score)}) == 3


def test_a_recursive_function_is_identified():
    def score(estimator, X, y):
        return score(estimator, X, y) if len(y) < 0 else 1.0

    assert stable_repr(score) == stable_repr(score)


def test_a_search_does_not_go_on_from_the_journal_of_another_score_of_that_name(tmp_path):
    path = tmp_path / "search.journal"
    selector(path, CrossValidated(TREE, scoring=of_name(0))).fit(X, Y)
    with pytest.raises(DataError, match="is the journal of another search, table or merit"):
        selector(path, CrossValidated(TREE, scoring=of_name(2))).fit(X, Y)


def test_large_parameters_are_distinguished_to_the_last_value():
    one, other = np.full(3000, 1 / 3), np.full(3000, 1 / 3)
    other[1500] += 1e-9
    assert stable_repr(GaussianNB(priors=one)) == stable_repr(GaussianNB(priors=one.copy()))
    assert stable_repr(GaussianNB(priors=one)) != stable_repr(GaussianNB(priors=other))


def test_a_search_goes_on_from_its_journal_and_not_from_anothers(tmp_path):
    path = tmp_path / "search.journal"
    merit = CrossValidated(TREE, cv=5, scoring=share)
    first = selector(path, merit).fit(X, Y)
    written = path.read_bytes()
    again = selector(path, merit).fit(X, Y)
    assert path.read_bytes() == written
    assert again.merit_ == first.merit_
    for other in (
        selector(path, CrossValidated(TREE, cv=4, scoring=share)),
        selector(path, merit, seed=1),
        selector(path, CrossValidated(LogisticRegression(), cv=5, scoring=share)),
    ):
        with pytest.raises(DataError, match="is the journal of another search, table or merit"):
            other.fit(X, Y)


@pytest.mark.parametrize("cv", [5, KFold(5, shuffle=True)])
def test_a_search_without_a_seed_draws_the_same_folds_again_and_another_seed_others(cv, tmp_path):
    path = tmp_path / "search.journal"
    merit = CrossValidated(GaussianNB(), cv=cv)
    first = selector(path, merit, seed=None).fit(X, Y)
    again = selector(path, merit, seed=None).fit(X, Y)
    assert again.merit_ == first.merit_
    every = np.eye(4, dtype=bool)
    np.testing.assert_array_equal(first.merits(every, X, Y), again.merits(every, X, Y))
    with pytest.raises(DataError, match="folds"):
        selector(path, merit, seed=1).fit(X, Y)
