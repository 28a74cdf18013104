"""Refits receive a copy of the columns in the user's type, and have equal scores at any number of threads."""

import os
import signal
import time
from contextlib import suppress

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import ShuffleSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from tamiz import SubsetSelector
from tamiz.criteria import CrossValidated
from tamiz.runtime import parallel
from tamiz.search import Forward
from tamiz.search.base import Candidates

from .random_cases import evaluator_of

X, Y = load_iris(return_X_y=True)
FRAME = pd.DataFrame(X, columns=list("abcd"))


class Looks(ClassifierMixin, BaseEstimator):
    """Keeps what it is fitted on, and predicts the first class."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.seen_ = X
        return self

    def predict(self, X):
        self.asked_ = X
        return np.full(len(X), self.classes_[0])


def fitted(table):
    """Return the refit on the second and the fourth column, learned from all but the first 50 rows."""
    evaluator = evaluator_of(table, Y, Looks(), cv=[(np.arange(50, 150), np.arange(50))])
    return evaluator.backend.fit_fold(np.array([1, 3]), 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_an_array_stays_one_of_its_type(dtype):
    given = fitted(X.astype(dtype))
    assert given.estimator.seen_.dtype == given.test_rows.dtype == dtype
    np.testing.assert_array_equal(given.estimator.seen_, X.astype(dtype)[50:, [1, 3]])
    np.testing.assert_array_equal(given.test_rows, X.astype(dtype)[:50, [1, 3]])


def test_a_frame_of_pandas_stays_one_with_its_types_and_index():
    frame = FRAME.assign(b=pd.Categorical(np.where(X[:, 1] > 3, "x", "y")), d=FRAME["d"].astype("float32"))
    frame.index = np.arange(1000, 1150)
    given = fitted(frame)
    pd.testing.assert_frame_equal(given.estimator.seen_, frame[["b", "d"]].iloc[50:])
    pd.testing.assert_frame_equal(given.test_rows, frame[["b", "d"]].iloc[:50])


def test_a_frame_of_polars_stays_one():
    frame = pl.from_pandas(FRAME)
    assert fitted(frame).test_rows.equals(frame[:50].select("b", "d"))


def test_an_arrow_table_is_handed_on_as_pandas():
    pd.testing.assert_frame_equal(fitted(pa.Table.from_pandas(FRAME)).test_rows, FRAME[["b", "d"]].iloc[:50])


def test_without_pandas_what_is_read_is_a_matrix(monkeypatch):
    monkeypatch.setattr("tamiz.models.backends.find_spec", lambda _: None)
    np.testing.assert_array_equal(fitted(pa.Table.from_pandas(FRAME)).test_rows, X[:50, [1, 3]])


def test_columns_left_out_are_not_handed_on():
    frame = FRAME.assign(id=[f"row {i}" for i in range(len(Y))])
    evaluator = evaluator_of(frame, Y, DecisionTreeClassifier(random_state=0), cv=3)
    assert evaluator.task.table.schema.columns[4].exclusion_reason
    expected = evaluator_of(FRAME, Y, DecisionTreeClassifier(random_state=0), cv=3)
    found = evaluator.evaluate(Candidates.from_masks(np.array([True, True, True, True, False])))
    np.testing.assert_array_equal(found, expected.evaluate(Candidates.from_masks(np.ones(4, dtype=bool))))


class Writes(Looks):
    """Spoils what it is given."""

    def fit(self, X, y):
        super().fit(X, y)
        self.least_ = float(np.min(np.asarray(X)))
        if isinstance(X, np.ndarray):
            X[:] = -1.0
        else:
            X.iloc[:, :] = -1.0
        return self


@pytest.mark.parametrize("table", [X.copy(), FRAME.copy()], ids=["array", "frame"])
def test_changes_that_an_estimator_makes_to_its_rows_do_not_leak(table):
    before = np.array(table)

    def least(estimator, rows, y):
        return estimator.least_

    evaluator = evaluator_of(table, Y, Writes(), cv=3, scoring=least)
    assert (evaluator.evaluate(Candidates.from_masks(np.ones((5, 4), dtype=bool))) > 0).all()
    np.testing.assert_array_equal(np.array(table), before)


@pytest.mark.parametrize(
    "estimator",
    [RandomForestClassifier(3), make_pipeline(StandardScaler(), LogisticRegression())],
    ids=["forest", "pipeline"],
)
def test_scores_depend_on_the_set_alone_and_not_on_threads_or_company(estimator):
    masks = np.array([[1, 1, 1, 1], [0, 1, 0, 1], [1, 0, 0, 0]], dtype=bool)
    evaluator = evaluator_of(X, Y, estimator, cv=3, scoring="neg_log_loss")
    found = []
    for n_jobs in (1, 2):
        with parallel.thread_session(n_jobs):
            found.append(evaluator.evaluate(Candidates.from_masks(masks)))
    with parallel.thread_session(1):
        found.append(np.concatenate([evaluator.evaluate(Candidates.from_masks(mask)) for mask in masks[::-1]])[::-1])
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


class Interrupted(Looks):
    """Its fifth fit, in whatever process, interrupts the search as Ctrl-C does; all take their time, and leave a sign in a file."""

    def __init__(self, signs=None, search=None):
        self.signs = signs
        self.search = search

    def fit(self, X, y):
        with open(self.signs, "ab") as file:
            file.write(b".")
        # Two processes may both see more than five signs; the first of them creates the file.
        if os.path.getsize(self.signs) >= 5:
            with suppress(FileExistsError), open(f"{self.signs}.sent", "xb"):
                os.kill(self.search, signal.SIGINT)
        time.sleep(0.05)
        return super().fit(X, y)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_ends_refits_soon(n_jobs, tmp_path):
    model = Interrupted(str(tmp_path / "signs"), os.getpid())
    selector = SubsetSelector(CrossValidated(model, cv=10), Forward(), n_features=4, n_jobs=n_jobs)
    with pytest.raises(KeyboardInterrupt):
        selector.fit(X, Y)
    # Of 10 x 10, those that had begun or were on their way to a worker.
    assert 5 <= (tmp_path / "signs").stat().st_size < 25


def test_a_model_that_counts_on_the_order_of_rows_learns_them_as_they_were_drawn():
    X, y = make_classification(150, 5, random_state=0)
    model, cv = SGDClassifier(max_iter=3, tol=None, shuffle=False), ShuffleSplit(4, random_state=0)
    found = evaluator_of(X, y, model, cv).fold_scores(Candidates.from_masks(np.ones(5, dtype=bool)))[0]
    np.testing.assert_array_equal(found, cross_val_score(model, X, y, cv=cv))
    train = next(cv.split(X))[0]
    assert (np.diff(train) < 0).any()
    listed = evaluator_of(X, y, model, list(cv.split(X))).fold_scores(Candidates.from_masks(np.ones(5, dtype=bool)))[0]
    np.testing.assert_array_equal(listed, found)
