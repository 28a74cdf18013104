"""One selection by one system in a process of its own: ``python wrapper_work.py SYSTEM INPUT.npz OUTPUT.npz``.

Prints as JSON the seconds of every repeat, the score of the columns found and how many they are, and the memory that the process
and its workers took at most beyond what they had before, where the system is asked for it.
"""

import json
import resource
import sys
import time
from typing import Any

import numpy as np

FOLDS = 10


def main(system: str, table: str, out: str) -> None:
    given = dict(np.load(table))
    X, y, name, size = given["X"], given["y"], str(given["model"]), int(given["size"])
    model, jobs = MODELS[name](), int(given["jobs"])
    select = {**SELECT, **GENETIC, **ELIMINATION}[system]
    seconds, mask = [], np.zeros(X.shape[1], dtype=bool)
    for _ in range(int(given["repeats"])):
        begun = time.perf_counter()
        mask = select(model, X, y, size, jobs)
        seconds.append(time.perf_counter() - begun)
    np.savez(out, mask=mask)
    usage = [resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(json.dumps({"seconds": seconds, "n_selected": int(mask.sum()), "peak_mb": [used // 1024 for used in usage]}))


def tamiz(model: Any, X: np.ndarray, y: np.ndarray, size: int, jobs: int) -> np.ndarray:
    from tamiz import SubsetSelector
    from tamiz.criteria import CrossValidated
    from tamiz.search import Exhaustive, Forward

    search, n_features = (Forward(), size) if size else (Exhaustive(), None)
    return SubsetSelector(CrossValidated(model, FOLDS), search, n_features=n_features, n_jobs=jobs).fit(X, y).support_


def scikit_learn(model: Any, X: np.ndarray, y: np.ndarray, size: int, jobs: int) -> np.ndarray:
    from sklearn.feature_selection import SequentialFeatureSelector

    return SequentialFeatureSelector(model, n_features_to_select=size, cv=FOLDS, n_jobs=jobs).fit(X, y).get_support()


def mlxtend(model: Any, X: np.ndarray, y: np.ndarray, size: int, jobs: int) -> np.ndarray:
    from mlxtend.feature_selection import SequentialFeatureSelector
    from sklearn.base import is_regressor

    scoring = "r2" if is_regressor(model) else "accuracy"
    found = SequentialFeatureSelector(
        model, k_features=size, floating=False, scoring=scoring, cv=FOLDS, n_jobs=jobs
    ).fit(X, y)
    mask = np.zeros(X.shape[1], dtype=bool)
    mask[list(found.k_feature_idx_)] = True
    return mask


def eliminated(model: Any, X: np.ndarray, y: np.ndarray, size: int, jobs: int) -> np.ndarray:
    from tamiz import SizeSearchCV, SubsetSelector
    from tamiz.criteria import CrossValidated
    from tamiz.search import RecursiveElimination

    scoring = ELIMINATION_SCORES[size]
    path = SubsetSelector(CrossValidated(model, elimination_folds(), scoring), RecursiveElimination(5))
    return SizeSearchCV(path, model, cv=elimination_folds(), scoring=scoring, n_jobs=jobs).fit(X, y).get_support()


def eliminated_by_rfecv(model: Any, X: np.ndarray, y: np.ndarray, size: int, jobs: int) -> np.ndarray:
    from sklearn.feature_selection import RFECV

    search = RFECV(model, step=5, cv=elimination_folds(), scoring=ELIMINATION_SCORES[size], n_jobs=jobs)
    return np.asarray(search.fit(X, y).support_)


def elimination_folds() -> Any:
    from sklearn.model_selection import StratifiedKFold

    return StratifiedKFold(5, shuffle=True, random_state=0)


def genetic(model: Any, X: np.ndarray, y: np.ndarray, size: int, jobs: int) -> np.ndarray:
    from tamiz import SubsetSelector
    from tamiz.criteria import CrossValidated
    from tamiz.search import Evaluations, Genetic

    selector = SubsetSelector(
        CrossValidated(model, FOLDS), Genetic(), stop=Evaluations(size), n_jobs=jobs, random_state=0
    )
    return selector.fit(X, y).support_


def sklearn_genetic(model: Any, X: np.ndarray, y: np.ndarray, size: int, jobs: int) -> np.ndarray:
    from sklearn_genetic import GAFeatureSelectionCV

    # As many evaluations as ours, some of them of one set twice.
    search = GAFeatureSelectionCV(
        model, cv=FOLDS, scoring="accuracy", population_size=30, generations=size // 30 - 1, n_jobs=jobs, verbose=False
    )
    return np.asarray(search.fit(X, y).support_)


def gaussian_nb() -> Any:
    from sklearn.naive_bayes import GaussianNB

    return GaussianNB()


def knn() -> Any:
    from sklearn.neighbors import KNeighborsClassifier

    return KNeighborsClassifier(5)


def linear() -> Any:
    from sklearn.linear_model import LinearRegression

    return LinearRegression()


def ridge() -> Any:
    from sklearn.linear_model import Ridge

    return Ridge()


def lda() -> Any:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    return LinearDiscriminantAnalysis()


def logistic() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=200)


def tree() -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(random_state=0)


MODELS = {each.__name__: each for each in (gaussian_nb, knn, linear, ridge, lda, logistic, tree)}
SELECT = {"tamiz": tamiz, "scikit-learn": scikit_learn, "mlxtend": mlxtend}
GENETIC = {"tamiz genetic": genetic, "sklearn-genetic-opt": sklearn_genetic}
ELIMINATION = {
    "tamiz elimination": eliminated,
    "scikit-learn RFECV": eliminated_by_rfecv,
    "scikit-learn RFECV in one process": lambda *given: eliminated_by_rfecv(*given[:-1], 1),
}
# By the size that is asked for.
ELIMINATION_SCORES = {0: "accuracy", 1: "roc_auc"}

if __name__ == "__main__":
    main(*sys.argv[1:])
