"""Recursive elimination: the order of drops, and the same order in every run."""

import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine, make_classification, make_regression
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.feature_selection import RFE, RFECV
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tamiz import SizeSearchCV, SubsetSelector
from tamiz.criteria import CFS, CrossValidated
from tamiz.exceptions import DataError, TamizWarning
from tamiz.search import Evaluations, RecursiveElimination
from tamiz.search.base import Evaluator
from tamiz.table.factory import as_table

from ..reference.importance import importances as plain
from ..reference.importance import orders
from .merits import best_of, problem_of, search_in, sets_of, subset_of

WORTH = [4.0, 1.0, 3.0, 1.0, 0.0, -2.0, 5.0]
P = len(WORTH)


class Additive(Evaluator):
    """Importances that add up; it records the units for which they were computed."""

    def __init__(self, worth=WORTH):
        self.worth = np.array(worth)
        self.asked = []

    def evaluate(self, candidates):
        return candidates.masks() @ self.worth

    def importances(self, mask, units, n_repeats, getter="auto"):
        assert all(mask[unit].all() for unit in units)
        self.asked += [(subset_of(mask), [tuple(unit.tolist()) for unit in units], n_repeats)] * bool(units)
        return np.array([self.worth[unit].sum() for unit in units])


def path_of(search, n_features=None, evaluator=None):
    return sets_of(search_in(search, evaluator or Additive(), P, n_features=n_features))


def dropped(path):
    """The dropped columns, step by step."""
    return [tuple(sorted(set(more) - set(fewer))) for more, fewer in pairwise(path)]


def test_the_column_of_least_importance_is_dropped_and_the_last_of_equal_ones():
    path = path_of(RecursiveElimination())
    assert path[0] == tuple(range(P))
    assert dropped(path) == [(5,), (4,), (3,), (1,), (2,), (0,), (6,)]


def test_the_best_set_of_the_path_is_the_result_and_the_smaller_of_equal_ones():
    archive = search_in(RecursiveElimination(), Additive(), P)
    assert best_of(archive) == (0, 1, 2, 3, 6)
    assert archive.stop_reason == "no column is left to drop"


def test_it_ends_at_the_size_asked_for():
    assert [len(subset) for subset in path_of(RecursiveElimination(), (3, P))] == [7, 6, 5, 4, 3]
    # Larger sets than those asked for are passed without an evaluation.
    assert path_of(RecursiveElimination(), 3) == [(0, 2, 6)]
    archive = search_in(RecursiveElimination(), Additive(), P, n_features=(2, 4))
    assert [len(subset) for subset in sets_of(archive)] == [4, 3, 2]
    assert best_of(archive) == (0, 1, 2, 6)
    assert archive.stop_reason == "the requested size is reached"


def test_several_columns_are_dropped_in_a_step_within_the_limit():
    assert dropped(path_of(RecursiveElimination(3))) == [(3, 4, 5), (0, 1, 2), (6,)]
    assert dropped(path_of(RecursiveElimination(3), (2, P))) == [(3, 4, 5), (1, 2)]
    assert path_of(RecursiveElimination(100), (2, 4)) == [(0, 6)]


def test_a_share_is_of_those_that_are_left():
    assert [len(subset) for subset in path_of(RecursiveElimination(0.5))] == [7, 4, 2, 1, 0]
    assert [len(subset) for subset in path_of(RecursiveElimination(0.01), (4, P))] == [7, 6, 5, 4]
    assert [len(subset) for subset in path_of(RecursiveElimination(0.5, fixed=[4]))] == [7, 4, 3, 2, 1]


@pytest.mark.parametrize("step", [1, 2, 0.3, 0.5, 100])
@pytest.mark.parametrize("n_features", [None, 1, 3, (2, 4), P])
def test_the_number_of_evaluations_is_known_in_advance(step, n_features):
    search = RecursiveElimination(step)
    assert search.max_evaluations(problem_of(search, P, n_features)) == len(path_of(search, n_features))


def test_columns_of_a_group_are_scored_and_dropped_together():
    evaluator = Additive()
    path = path_of(RecursiveElimination(column_groups=[[6, 5], [1, 3]], n_repeats=8), evaluator=evaluator)
    assert dropped(path) == [(4,), (1, 3), (5, 6), (2,), (0,)]
    assert evaluator.asked[0] == (tuple(range(P)), [(0,), (1, 3), (2,), (4,), (5, 6)], 8)


def test_a_size_that_groups_allow_is_reached_though_single_columns_are_worth_less():
    # Of {0, 2, 6}, {1, 3} and {4, 5} two columns can be left only where the three go at once.
    groups = [[0, 2, 6], [1, 3], [4, 5]]
    assert path_of(RecursiveElimination(column_groups=groups), 2)[-1] == (1, 3)
    assert path_of(RecursiveElimination(column_groups=groups), 3)[-1] == (0, 2, 6)


def test_it_begins_at_its_start():
    assert path_of(RecursiveElimination(start=[1, 5, 6], fixed=[1]))[:2] == [(1, 5, 6), (1, 6)]


def test_fixed_columns_are_not_scored():
    evaluator = Additive()
    path_of(RecursiveElimination(fixed=[5]), evaluator=evaluator)
    assert all((5,) not in units for _, units, _ in evaluator.asked)


def test_a_merit_without_column_importances_is_refused():
    X, y = load_wine(return_X_y=True)
    sentence = r"^RecursiveElimination needs a merit that provides the importance of each column; CFS does not\. Use Backward\.$"
    with pytest.raises(ValueError, match=sentence):
        SubsetSelector(CFS(), RecursiveElimination()).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "kind", "sentence"),
    [
        ({"step": 0}, ValueError, "step must be at least 1, got 0"),
        (
            {"step": 1.5},
            ValueError,
            r"step must be a whole number of at least 1, or a share .* between 0 and 1, got 1\.5",
        ),
        ({"step": 0.0}, ValueError, r"or a share of the columns between 0 and 1, got 0\.0"),
        ({"step": "half"}, TypeError, "step must be a number, got 'half'"),
        ({"step": True}, TypeError, "step must be a whole number, got True"),
        ({"n_repeats": 0}, ValueError, "n_repeats must be at least 1, got 0"),
        ({"importance_getter": 3}, TypeError, "importance_getter must be 'auto', 'permutation', .* got 3"),
    ],
)
def test_parameters_out_of_range_are_refused(parameters, kind, sentence):
    with pytest.raises(kind, match=sentence):
        path_of(RecursiveElimination(**parameters))


@pytest.mark.slow
def test_the_path_follows_scikit_learns_importances_and_the_merits_are_those_of_its_folds(monkeypatch):
    monkeypatch.setattr(
        "tamiz.models.evaluator._draw_permutations",
        lambda task, columns, fold, n_repeats: orders(len(task.folds[fold].test), fold, n_repeats),
    )
    X, y = load_wine(return_X_y=True)
    folds = list(StratifiedKFold(4).split(X, y))
    columns, way, merits = np.arange(X.shape[1]), [], []
    while len(columns):
        way.append(tuple(columns.tolist()))
        merits.append(cross_val_score(GaussianNB(), X[:, columns], y, cv=folds).mean())
        worth = plain(GaussianNB(), X[:, columns], y, folds, "accuracy", 2)
        # Equal importances differ in their last bits when they are summed in another order.
        worth = (worth / np.abs(worth).max()).round(12)
        columns = np.delete(columns, np.flatnonzero(worth == worth.min())[-1])
    merit = CrossValidated(GaussianNB(), cv=folds)
    search = RecursiveElimination(importance_getter="permutation", n_repeats=2)
    archive = SubsetSelector(merit, search).fit(X, y).archive_
    # The empty set is the last.
    assert sets_of(archive)[:-1] == way
    np.testing.assert_allclose(archive.merits[:-1], merits, rtol=0, atol=1e-12)


def noisy_table(n_noise=12):
    rng = np.random.default_rng(3)
    signal = rng.normal(size=(150, 3))
    y = signal @ [2.0, -1.0, 1.5] + 0.3 * rng.normal(size=150)
    return np.hstack([rng.normal(size=(150, n_noise)), signal]), y


def test_columns_that_a_model_needs_are_found_among_noise():
    X, y = noisy_table()
    selector = SubsetSelector(CrossValidated(Ridge(), cv=5), RecursiveElimination(0.25), n_features=3, random_state=0)
    assert selector.fit(X, y).get_support(indices=True).tolist() == [12, 13, 14]
    assert selector.n_evaluations_ < 10


@pytest.mark.parametrize("getter", ["auto", "permutation"])
def test_threads_and_a_journal_change_no_bit(tmp_path, getter):
    X, y = noisy_table(5)

    def searched(**more):
        merit, search = CrossValidated(Ridge(), cv=5), RecursiveElimination(n_repeats=2, importance_getter=getter)
        return SubsetSelector(merit, search, random_state=7, **more).fit(X, y).archive_

    whole = searched(n_jobs=1)
    cut = searched(n_jobs=2, journal=tmp_path / "journal", stop=Evaluations(4))
    assert sets_of(cut) == sets_of(whole)[:4]
    for again in (searched(n_jobs=2), searched(journal=tmp_path / "journal")):
        np.testing.assert_array_equal(again.masks, whole.masks)
        np.testing.assert_array_equal(again.merits, whole.merits)


def classes_table(seed=0, n=150, p=12):
    X, y = make_classification(n, p, n_informative=4, n_classes=3, n_clusters_per_class=1, random_state=seed)
    return StandardScaler().fit_transform(X), y


OF_CLASSES, OF_NUMBERS = classes_table(), make_regression(150, 10, n_informative=5, noise=5.0, random_state=2)
MODELS_WITH_IMPORTANCES = [
    (LogisticRegression(), OF_CLASSES, "auto"),
    (make_pipeline(StandardScaler(), LinearSVC(random_state=0)), OF_CLASSES, "named_steps.linearsvc.coef_"),
    (LinearDiscriminantAnalysis(), OF_CLASSES, "coef_"),
    (ExtraTreesClassifier(5, random_state=0), OF_CLASSES, "auto"),
    (Ridge(), OF_NUMBERS, "auto"),
    (DecisionTreeRegressor(random_state=0), OF_NUMBERS, lambda model: model.feature_importances_),
]


@pytest.mark.parametrize(("model", "table", "getter"), MODELS_WITH_IMPORTANCES, ids=lambda value: str(value)[:24])
@pytest.mark.parametrize("step", [2, 5])
def test_the_path_is_that_of_scikit_learns_recursive_elimination(model, table, getter, step):
    X, y = table
    rfe = RFE(model, n_features_to_select=1, step=step, importance_getter=getter).fit(X, y)
    search = RecursiveElimination(step, importance_getter=getter)
    archive = SubsetSelector(CrossValidated(model, cv=2), search, n_features=(1, 1.0)).fit(X, y).archive_
    n_steps = rfe.ranking_.max()
    assert sets_of(archive) == [tuple(np.flatnonzero(rfe.ranking_ <= rank).tolist()) for rank in range(n_steps, 0, -1)]


@pytest.mark.parametrize("scoring", ["accuracy", "roc_auc"])
@pytest.mark.parametrize(
    "model",
    [LogisticRegression(), pytest.param(ExtraTreesClassifier(4, random_state=0), marks=pytest.mark.slow)],
    ids=str,
)
def test_sizes_and_scores_are_those_of_scikit_learns_rfecv(model, scoring):
    X, y = OF_CLASSES
    y = y == 0
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    theirs = RFECV(model, step=3, cv=folds, scoring=scoring).fit(X, y)
    merit = CrossValidated(model, folds, scoring)
    for n_jobs in (1, 2) if scoring == "accuracy" else (2,):
        ours = SizeSearchCV(
            SubsetSelector(merit, RecursiveElimination(3)), model, cv=folds, scoring=scoring, n_jobs=n_jobs
        ).fit(X, y)
        assert set(ours.cv_results_) == {
            name for name in theirs.cv_results_ if not name.endswith(("_support", "_ranking"))
        }
        for name, values in ours.cv_results_.items():
            np.testing.assert_allclose(values, theirs.cv_results_[name], rtol=0, atol=1e-12)
        # Of equal mean scores both choose the fewest columns.
        np.testing.assert_array_equal(ours.get_support(), theirs.support_)


def test_a_path_that_is_shared_with_the_score_is_the_path_in_the_training_rows():
    X, y = OF_CLASSES
    selector = SubsetSelector(CrossValidated(LogisticRegression(), 2), RecursiveElimination(2), random_state=0)
    shared = SizeSearchCV(selector, LogisticRegression(), cv=3).fit(X, y)
    # Another estimator with the same fits: its path is found first, and the sets are scored after it.
    apart = SizeSearchCV(selector, LogisticRegression(tol=1e-4, verbose=False), cv=3).fit(X, y)
    for name, values in shared.cv_results_.items():
        np.testing.assert_allclose(values, apart.cv_results_[name], rtol=0, atol=1e-12)


def evaluator_of(frame, y, model, **more):
    return CrossValidated(model, 3, **more).bind(as_table(frame, y), np.random.default_rng(0))


def test_the_importance_of_a_category_is_that_of_all_its_indicators():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"level": rng.choice(list("abcd"), 200, p=[0.4, 0.3, 0.2, 0.1]), "number": rng.normal(size=200)}
    )
    y = frame["number"] + frame["level"].map({"a": 0.0, "b": 1.0, "c": -1.0, "d": 2.0}) + rng.normal(size=200)
    units = [np.array([0]), np.array([1])]
    found = evaluator_of(frame, y, Ridge()).importances(np.ones(2, dtype=bool), units, 1)
    shares = frame["level"].value_counts(normalize=True).sort_index()
    indicators = np.column_stack([(frame["level"] == level) / np.sqrt(share) for level, share in shares.items()])
    number = ((frame["number"] - frame["number"].mean()) / frame["number"].std()).to_numpy()
    coefficients = Ridge().fit(np.column_stack([number, indicators - indicators.mean(axis=0)]), y).coef_
    np.testing.assert_allclose(found, [(coefficients[1:] ** 2).sum(), coefficients[0] ** 2], rtol=1e-9)
    together = evaluator_of(frame, y, Ridge()).importances(np.ones(2, dtype=bool), [np.array([0, 1])], 1)
    np.testing.assert_allclose(together, [found.sum()], rtol=1e-9)


def test_a_model_without_importances_is_measured_by_permutation():
    X, y = OF_CLASSES
    mask, units = np.ones(12, dtype=bool), [np.array([j]) for j in range(12)]
    for model in (GaussianNB(), make_pipeline(PCA(), LogisticRegression()), SVC()):
        ours = [evaluator_of(X, y, model).importances(mask, units, 2, getter) for getter in ("auto", "permutation")]
        np.testing.assert_array_equal(*ours)


def test_coefficients_of_very_different_units_are_a_warning():
    X, y = OF_CLASSES
    sentence = r"Coefficients are per unit of a column, and standard deviations range from 0\.001 \(x0\) to 1 \(x\d+\)"
    scaled = X.copy()
    scaled[:, 0] *= 0.001
    search = RecursiveElimination(4)

    def fit(model, table=scaled, **more):
        return SubsetSelector(CrossValidated(model, 2, **more), search, n_features=4).fit(table, y)

    with pytest.warns(TamizWarning, match=sentence):
        fit(LogisticRegression())
    with warnings.catch_warnings():
        warnings.simplefilter("error", TamizWarning)
        fit(make_pipeline(StandardScaler(), LogisticRegression()))
        fit(LogisticRegression(), encode=True)
        fit(DecisionTreeClassifier(random_state=0))
        fit(LogisticRegression(), X)


@pytest.mark.parametrize(
    ("getter", "sentence"),
    [
        ("coef", "AttributeError: .*has no attribute 'coef'"),
        (
            lambda model: model.coef_[:, :2],
            r"must return a finite number for each of 12 columns, got an array of shape \(3, 2\)",
        ),
        (lambda model: model.coef_ * np.nan, "must return a finite number"),
    ],
    ids=["no attribute", "too few", "not a number"],
)
def test_a_getter_that_returns_no_importances_is_refused(getter, sentence):
    search = RecursiveElimination(importance_getter=getter)
    with pytest.raises(DataError, match=sentence):
        SubsetSelector(CrossValidated(LogisticRegression(), 2), search).fit(*OF_CLASSES)
