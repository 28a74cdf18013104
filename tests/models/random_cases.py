"""Random sets of columns, folds and weights, and their scores by scikit-learn's cross-validation."""

import numpy as np
import sklearn
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, RepeatedKFold, ShuffleSplit, StratifiedKFold, cross_val_score

from tamiz.criteria import CrossValidated
from tamiz.search.base import Candidates
from tamiz.table.factory import as_table
from tamiz.table.roles import to_row_numbers


def evaluator_of(X, y, estimator, cv=5, scoring=None, weight=None, groups=None, encode=False, seed=0):
    """Return the evaluator of a wrapper on a table; a number of folds makes those of scikit-learn, in the order of the rows."""
    table = as_table(X, y, weight, groups=groups)
    if type(cv) is int and cv > 1 and groups is None and isinstance(estimator, BaseEstimator):
        cv = StratifiedKFold(cv) if is_classifier(estimator) else KFold(cv)
    merit = CrossValidated(estimator, cv=cv, scoring=scoring, encode=encode)
    return merit.bind(table, np.random.default_rng(seed))


def drawn_folds(rng, estimator, y):
    """Return folds as anybody may ask for them: as many, drawn, repeated, or listed."""
    n, seed = int(rng.integers(2, 7)), int(rng.integers(1000))
    whole = StratifiedKFold(n) if is_classifier(estimator) else KFold(n)
    kinds = [
        n,
        KFold(n, shuffle=True, random_state=seed),
        RepeatedKFold(n_splits=n, n_repeats=2, random_state=seed),
        ShuffleSplit(n, test_size=0.3, random_state=seed),
        list(whole.split(np.empty((len(y), 1)), y)),
    ]
    return kinds[int(rng.integers(len(kinds)))]


def drawn_weight(rng, n):
    """Return weights, whole ones or others, or none."""
    return [None, rng.integers(1, 4, n).astype(float), rng.random(n) + 0.1][int(rng.integers(3))]


def counted(weight):
    """Return weights as the numbers of rows that they count as, which the fits receive."""
    return None if weight is None else to_row_numbers(weight, None, str)[0]


def refitted(estimator, X, y, cv, scoring=None, weight=None):
    """Return the scores of scikit-learn's cross-validation, with weights in the fit and in the score."""
    if weight is None:
        return cross_val_score(estimator, X, y, cv=cv, scoring=scoring)
    with sklearn.config_context(enable_metadata_routing=True):
        asked = clone(estimator).set_fit_request(sample_weight=True)
        scorer = check_scoring(asked, scoring).set_score_request(sample_weight=True) if scoring else None
        if scorer is None:
            asked.set_score_request(sample_weight=True)
        return cross_val_score(asked, X, y, cv=cv, scoring=scorer, params={"sample_weight": counted(weight)})


def flipped(rng, mask):
    """Return a set as it is, or as some flips of another one."""
    n = int(rng.integers(0, 4))
    columns = rng.choice(len(mask), min(n, len(mask)), replace=False)
    parent = mask.copy()
    parent[columns] ^= True
    return Candidates.from_flips(parent, [columns]) if n else Candidates.from_masks(mask)
