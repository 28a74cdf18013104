"""Permutation importance fold by fold, by scikit-learn."""

import numpy as np
from sklearn.base import clone
from sklearn.inspection import permutation_importance
from sklearn.metrics import get_scorer


def orders(n, seed, n_repeats):
    """The orders that scikit-learn's permutation_importance puts n rows in."""
    drawn = np.random.RandomState(seed).randint(np.iinfo(np.int32).max + 1)
    rng, shuffled, found = np.random.RandomState(drawn), np.arange(n), [np.arange(n)]
    for _ in range(n_repeats):
        rng.shuffle(shuffled)
        # It shuffles what the repeat before has left.
        found.append(found[-1][shuffled])
    return found[1:]


def importances(estimator, X, y, folds, scoring, n_repeats, weight=None):
    """The mean over folds and orders."""
    return losses(estimator, X, y, folds, scoring, n_repeats, weight).mean(axis=2).mean(axis=0)


def losses(estimator, X, y, folds, scoring, n_repeats, weight=None):
    """What each order costs in each fold; the seed of a fold is its number."""
    scorer = get_scorer(scoring) if isinstance(scoring, str) else scoring
    found = []
    for number, (train, test) in enumerate(folds):
        learned, tested = ({} if weight is None else {"sample_weight": weight[rows]} for rows in (train, test))
        model = clone(estimator).fit(X[train], y[train], **learned)
        of_fold = permutation_importance(
            model, X[test], y[test], scoring=scorer, n_repeats=n_repeats, random_state=number, **tested
        )
        found.append(of_fold.importances)
    return np.array(found)
