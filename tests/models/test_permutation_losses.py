"""Permutation importance on test rows: the numbers of scikit-learn, for arrays and frames, for columns and column groups."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris, make_regression
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import mean_absolute_error
from sklearn.model_selection import KFold, LeaveOneOut, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from tests.models.random_cases import counted

from tamiz.criteria import CrossValidated
from tamiz.exceptions import DataError
from tamiz.runtime import parallel
from tamiz.search.base import Candidates
from tamiz.table.factory import as_table

from ..reference.importance import importances as plain
from ..reference.importance import orders

IRIS = load_iris(return_X_y=True)
NUMBERS = make_regression(n_samples=90, n_features=5, n_informative=3, noise=5.0, random_state=1)


def evaluator_of(X, y, estimator, *, weight=None, seed=0, **more):
    table = as_table(X, y, weight)
    merit = CrossValidated(estimator, **more)
    return merit.bind(table, np.random.default_rng(seed))


def singly(mask):
    return [np.array([j]) for j in np.flatnonzero(mask)]


def importances(X, y, estimator, *, mask=None, units=None, n_repeats=3, **more):
    evaluator = evaluator_of(X, y, estimator, **more)
    mask = np.ones(X.shape[1], dtype=bool) if mask is None else mask
    return mean_losses(evaluator, mask, units, n_repeats)


def mean_losses(evaluator, mask, units=None, n_repeats=2):
    _, losses = evaluator.permutation_losses(mask, singly(mask) if units is None else units, n_repeats)
    return losses.mean(axis=2).mean(axis=0)


@pytest.fixture
def scikit_learns_orders(monkeypatch):
    """The orders that the reference draws."""
    monkeypatch.setattr(
        "tamiz.models.evaluator._draw_permutations",
        lambda task, columns, fold, n_repeats: orders(len(task.folds[fold].test), fold, n_repeats),
    )


def mean_error(model, X, y, sample_weight=None):
    return -mean_absolute_error(y, model.predict(X), sample_weight=sample_weight)


OF_CLASSES = [
    (GaussianNB(), "accuracy"),
    (GaussianNB(), "f1_macro"),
    (GaussianNB(), "roc_auc_ovr"),
    (GaussianNB(), "roc_auc"),
    (LogisticRegression(), "roc_auc"),
    (DecisionTreeClassifier(max_depth=2, random_state=0), "roc_auc"),
    (DecisionTreeClassifier(max_depth=3, random_state=0), "neg_log_loss"),
]
OF_NUMBERS = [
    (Ridge(), "r2"),
    (Ridge(), "neg_root_mean_squared_error"),
    (DecisionTreeRegressor(max_depth=3, random_state=0), mean_error),
]


@pytest.mark.usefixtures("scikit_learns_orders")
@pytest.mark.parametrize("weighted", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.parametrize(
    ("estimator", "scoring"), [*OF_CLASSES, *OF_NUMBERS], ids=lambda value: getattr(value, "__name__", str(value))
)
def test_with_scikit_learns_orders_the_importances_are_its_own(estimator, scoring, weighted):
    of_classes = (estimator, scoring) in OF_CLASSES
    X, y = IRIS if of_classes else NUMBERS
    y = (y > 1).astype(int) if scoring == "roc_auc" else y
    rng = np.random.default_rng(0)
    columns = np.sort(rng.choice(X.shape[1], rng.integers(1, X.shape[1] + 1), replace=False))
    splitter = (StratifiedKFold if of_classes else KFold)(int(rng.integers(2, 5)), shuffle=True, random_state=0)
    folds = list(splitter.split(X, y))
    weight = rng.random(len(y)) + 0.1 if weighted else None
    mask = np.isin(np.arange(X.shape[1]), columns)
    ours = importances(X, y, estimator, mask=mask, cv=folds, scoring=scoring, weight=weight)
    theirs = plain(estimator, X[:, columns], y, folds, scoring, 3, counted(weight))
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


class Careful(ClassifierMixin, BaseEstimator):
    """Half a table of means: it predicts the class whose rows of a level were most, and wants columns as it learned them."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.types_ = types_of(X)
        values = matrix_of(X)
        self.means_ = np.array([values[np.asarray(y) == c].mean(axis=0) for c in self.classes_])
        return self

    def predict(self, X):
        assert types_of(X) == self.types_
        distances = ((matrix_of(X)[:, None] - self.means_) ** 2).sum(axis=2)
        return self.classes_[distances.argmin(axis=1)]


def types_of(X):
    if isinstance(X, pd.DataFrame):
        return type(X), X.dtypes.to_dict()
    return type(X), list(X.schema.items()) if isinstance(X, pl.DataFrame) else X.schema


def matrix_of(X):
    frame = X if isinstance(X, pd.DataFrame) else X.to_pandas()
    return np.column_stack(
        [frame.iloc[:, k].map({"low": 0.0, "high": 1.0, True: 1.0, False: 0.0}.get).astype(float)
         if not pd.api.types.is_float_dtype(frame.dtypes.iloc[k]) else frame.iloc[:, k].to_numpy(dtype=float)
         for k in range(frame.shape[1])]
    )  # fmt: skip


def mixed_frame():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 120)
    level = np.where(rng.random(120) < 0.2, 1 - y, y)
    frame = pd.DataFrame(
        {
            "size": (rng.normal(size=120) + y).astype(np.float32),
            "level": pd.Categorical(np.array(["low", "high"])[level], categories=["low", "high"]),
            "flag": rng.random(120) < 0.5,
        },
        # Neither in order nor once each.
        index=rng.integers(0, 50, 120),
    )
    return frame, y


FRAMES = {
    "pandas": lambda frame: frame,
    "pandas, columns numbered": lambda frame: frame.set_axis(range(3), axis=1),
    "polars": lambda frame: pl.from_pandas(frame.reset_index(drop=True)),
    "arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


@pytest.mark.parametrize("library", FRAMES)
def test_frames_stay_frames_of_the_same_types_and_importances_those_of_numbers(library):
    frame, y = mixed_frame()
    numbers = matrix_of(frame)
    given = FRAMES[library](frame)
    found = evaluator_of(given, y, Careful(), cv=3).importances(np.ones(3, dtype=bool), singly(np.ones(3)), 4)
    as_numbers = pd.DataFrame(numbers)
    expected = evaluator_of(as_numbers, y, Careful(), cv=3).importances(np.ones(3, dtype=bool), singly(np.ones(3)), 4)
    np.testing.assert_array_equal(found, expected)
    assert found[1] > 0.05


def test_the_indicators_of_a_column_go_to_another_row_together():
    frame, y = mixed_frame()
    frame["level"] = pd.Categorical(np.random.default_rng(1).choice([*"abc"], 120))
    seen = []

    def remember(model, X, truth):
        seen.append(X)
        return float((model.predict(X) == truth).mean())

    units = [np.array([1])]
    importances(frame, y, LogisticRegression(), units=units, cv=2, scoring=remember, encode=True)
    assert seen[0].shape[1] == 1 + 3 + 2
    for rows in seen:
        # A row is of one level, whatever was exchanged.
        assert len(np.unique(rows[:, 1:4].round(9), axis=0)) == 3
    # A fold has three exchanges and the rows as they are.
    assert len(seen) == 8
    assert (seen[0][:, 1:4] != seen[3][:, 1:4]).any()
    np.testing.assert_array_equal(np.delete(seen[0], [1, 2, 3], axis=1), np.delete(seen[3], [1, 2, 3], axis=1))


def test_a_group_is_exchanged_together_and_shows_what_its_columns_hide_for_each_other():
    X, y = IRIS
    twice = np.hstack([X[:, [2]], X[:, [2]], X[:, [1]]])
    units = [np.array([0]), np.array([1]), np.array([0, 1])]
    first, second, together = importances(twice, y, GaussianNB(), units=units, n_repeats=20, cv=5)
    alone, _ = importances(X[:, [2, 1]], y, GaussianNB(), n_repeats=20, cv=5)
    assert max(first, second) < 0.7 * together
    assert together == pytest.approx(alone, rel=0.2)


def test_a_constant_or_unused_column_has_an_importance_of_exactly_0():
    X, y = NUMBERS
    X = np.column_stack([X, np.full(len(X), 0.1)])
    assert importances(X, y, Ridge(), cv=3)[-1] == 0
    stump = DecisionTreeRegressor(max_depth=1, random_state=0)
    assert np.count_nonzero(importances(X, y, stump, cv=[(np.arange(60), np.arange(60, 90))])) == 1


def test_with_all_columns_exchanged_together_a_model_is_left_with_guessing():
    (lost,) = importances(*IRIS, GaussianNB(), units=[np.arange(4)], n_repeats=50, cv=5)
    merit = evaluator_of(*IRIS, GaussianNB(), cv=5).evaluate(Candidates.from_masks(np.ones(4, dtype=bool)))[0]
    assert merit - lost == pytest.approx(1 / 3, abs=0.03)


def test_importances_depend_on_the_set_and_the_seed_alone():
    X, y = IRIS
    mask, other = np.array([True, False, True, True]), np.array([True, True, False, False])
    found = []
    for n_jobs in (1, 2):
        with parallel.thread_session(n_jobs):
            evaluator = evaluator_of(X, y, GaussianNB(), cv=5)
            found.append(mean_losses(evaluator, mask))
            mean_losses(evaluator, other)
            found.append(mean_losses(evaluator, mask))
            # Nor on the units that are asked for with a unit.
            found.append(np.append(mean_losses(evaluator, mask, [np.array([0]), np.array([2])]), found[0][-1]))
    for again in found[1:]:
        np.testing.assert_array_equal(again, found[0])
    assert (importances(X, y, GaussianNB(), mask=mask, cv=5, seed=1, n_repeats=2) != found[0]).any()


class Unsure(ClassifierMixin, BaseEstimator):
    """It says "neither" of what is in between."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.select([X[:, 0] < 1, X[:, 0] > 1.5], ["a", "b"], "neither")


@pytest.mark.usefixtures("scikit_learns_orders")
def test_a_class_that_no_row_is_of_counts_as_scikit_learn_has_it():
    X, y = IRIS[0][:, [3, 0]], np.where(IRIS[1] < 1, "a", "b")
    folds = list(StratifiedKFold(3).split(X, y))
    for scoring in ("accuracy", "f1_macro"):
        ours = importances(X, y, Unsure(), cv=folds, scoring=scoring)
        np.testing.assert_allclose(ours, plain(Unsure(), X, y, folds, scoring, 3), rtol=1e-12)
        assert ours[0] > 0


def test_an_estimator_that_writes_into_what_it_predicts_from_changes_nothing():
    X, y = IRIS
    spared, copied = (
        importances(X, y, make_pipeline(StandardScaler(copy=copy), GaussianNB()), cv=3, scoring="neg_log_loss")
        for copy in (False, True)
    )
    np.testing.assert_array_equal(spared, copied)


def test_folds_of_one_row_are_refused():
    with pytest.raises(
        DataError, match=r"Each of the 150 folds has 1 test row, and permutation importance needs at least 2"
    ):
        importances(*IRIS, GaussianNB(), cv=LeaveOneOut())


def test_an_error_names_the_fold_and_the_columns():
    def fail(model, X, y):
        raise ValueError("no score today")

    with pytest.raises(DataError, match=r"Fold 1 of 3, columns x0, x1, x2, x3, GaussianNB: no score today"):
        importances(*IRIS, GaussianNB(), cv=3, scoring=fail)


def test_asked_for_no_column_nothing_is_fitted():
    class NeverFitted(GaussianNB):
        def fit(self, *_):
            raise AssertionError

    assert len(evaluator_of(*IRIS, NeverFitted()).importances(np.ones(4, dtype=bool), [], 5)) == 0
