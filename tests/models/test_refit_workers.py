"""Refits in worker processes: the scores, warnings and errors of refits in the main process, to the bit and to the letter."""

import pickle
import threading
import time
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from tamiz import SubsetSelector
from tamiz.criteria import CrossValidated
from tamiz.exceptions import DataError
from tamiz.models import fold_scorer
from tamiz.runtime import parallel, workers
from tamiz.search import Forward
from tamiz.search.base import Candidates

from .random_cases import evaluator_of

X, Y = load_iris(return_X_y=True)
FRAME = pd.DataFrame(X, columns=list("abcd"))
MIXED = FRAME.assign(place=np.where(X[:, 0] > 5.5, "here", "there")).mask(
    np.random.default_rng(0).random((150, 5)) < 0.1
)
LOGISTIC = make_pipeline(StandardScaler(), LogisticRegression())
MASKS = np.array([[1, 1, 1, 1], [0, 1, 0, 1], [1, 0, 0, 0], [0, 0, 1, 1]], dtype=bool)


@pytest.fixture(autouse=True)
def answers(monkeypatch):
    """Workers that are ready and worth any work; what they answer."""
    monkeypatch.setattr(fold_scorer, "_MIN_REQUEST_SECONDS", 0.0)
    workers.start(2, pickle.dumps((fold_scorer.load_model, (pickle.dumps(LOGISTIC),))))
    end = time.monotonic() + 60
    while not workers.are_idle(2):
        assert time.monotonic() < end
        time.sleep(0.01)
    found = []
    scores = fold_scorer.RefitWorkers.scores

    def listen(self, rows, sets):
        answer = scores(self, rows, sets)
        found.extend(answer)
        return answer

    monkeypatch.setattr(fold_scorer.RefitWorkers, "scores", listen)
    return found


def scores_of(n_jobs, *given, masks=MASKS, **more):
    evaluator = evaluator_of(*given, **more)
    with parallel.thread_session(n_jobs):
        return evaluator.fold_scores(Candidates.from_masks(masks)), evaluator


def local():
    """A class that no other process can import."""

    class Local(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.classes_, counts = np.unique(y[X[:, 0] > X[:, 0].mean()], return_counts=True)
            self.best_ = self.classes_[counts.argmax()]
            return self

        def predict(self, X):
            return np.full(len(X), self.best_)

    return Local()


CASES = {
    "array": (X, LOGISTIC, {}),
    "float32": (X.astype(np.float32), LOGISTIC, {}),
    "pandas": (FRAME, LOGISTIC, {}),
    "polars": (pl.DataFrame(FRAME.to_dict("list")), LOGISTIC, {"scoring": "neg_log_loss"}),
    "sparse": (sparse.csr_array(np.where(X > 2, X, 0.0)), LogisticRegression(), {}),
    "weights": (X, LogisticRegression(), {"weight": np.arange(1.0, 151.0)}),
    "a draw": (X, DecisionTreeClassifier(max_features=1), {"seed": 3}),
    "many rows": (np.tile(X, (20, 1)), DecisionTreeClassifier(random_state=0), {}),
    "a lambda": (X, make_pipeline(FunctionTransformer(lambda X: X**2), LogisticRegression()), {}),
    "a local class": (X, local(), {}),
    "a local score": (X, LOGISTIC, {"scoring": lambda model, X, y: float(model.predict_proba(X)[0, 0])}),
}


FAST_CASES = ("weights", "a lambda")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "case", [case if case in FAST_CASES else pytest.param(case, marks=pytest.mark.slow) for case in CASES]
)
def test_scores_of_workers_are_those_of_one_thread_to_the_bit(case, answers, monkeypatch):
    # On a busy machine a refit of many rows may take long enough for threads.
    monkeypatch.setattr(fold_scorer, "_LONG_REFIT_SECONDS", np.inf)
    table, estimator, more = CASES[case]
    y = np.tile(Y, table.shape[0] // len(Y))
    alone, _ = scores_of(1, table, y, estimator, **more)
    assert not answers
    together, _ = scores_of(2, table, y, estimator, **more)
    if case == "many rows":
        # Threads take the first sets of many rows: later ones are given to workers.
        evaluator = evaluator_of(table, y, estimator, **more)
        with parallel.thread_session(2):
            evaluator.fold_scores(Candidates.from_masks(MASKS))
            together = evaluator.fold_scores(Candidates.from_masks(MASKS))
    np.testing.assert_array_equal(together, alone)
    assert answers
    assert None not in answers


@pytest.mark.filterwarnings("ignore")
def test_mixed_columns_are_encoded_for_workers_as_here(answers):
    masks = np.array([[1, 1, 0, 0, 1], [0, 0, 0, 0, 1], [0, 0, 1, 1, 1]], dtype=bool)
    alone, _ = scores_of(1, MIXED, Y, LogisticRegression(), masks=masks, encode=True)
    together, _ = scores_of(2, MIXED, Y, LogisticRegression(), masks=masks, encode=True)
    np.testing.assert_array_equal(together, alone)
    assert answers
    assert None not in answers


def test_warnings_of_workers_are_counted_as_those_of_one_thread(answers):
    model = LogisticRegression(max_iter=2)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        (_, alone), (_, together) = scores_of(1, X, Y, model), scores_of(2, X, Y, model)
        assert answers
        assert alone.notes() == together.notes()
    assert "LogisticRegression warned in 20 of 20 fits: ConvergenceWarning" in together.notes()[-1]


class Fails(LogisticRegression):
    """Fails on the third column alone."""

    def fit(self, X, y, sample_weight=None):
        if X.shape[1] == 1 and X[:, 0].max() < 3:
            raise RuntimeError("a width of less than 3")
        return super().fit(X, y, sample_weight)


def test_errors_of_workers_have_the_words_of_errors_here(answers):
    masks = np.array([[1, 1, 1, 1], [1, 1, 1, 0], [0, 0, 0, 1]], dtype=bool)
    said = []
    for n_jobs in (1, 2):
        with pytest.raises(DataError, match="column x3, Fails: RuntimeError: a width of less than 3") as caught:
            scores_of(n_jobs, X, Y, Fails(), masks=masks)
        said.append(str(caught.value))
    assert said[0] == said[1]


class Locked(LogisticRegression):
    """Cannot be sent anywhere."""

    def __init__(self, lock=None):
        super().__init__()
        self.lock = lock

    def __sklearn_clone__(self):
        return Locked(self.lock)


def test_an_estimator_that_cannot_be_sent_is_refitted_here(answers):
    alone, _ = scores_of(1, X, Y, LogisticRegression())
    together, _ = scores_of(2, X, Y, Locked(threading.Lock()))
    np.testing.assert_array_equal(together, alone)
    assert not answers


@pytest.mark.slow
def test_unfinished_work_of_workers_that_end_is_done_in_the_main_process(monkeypatch, answers):
    alone, _ = scores_of(1, X, Y, LOGISTIC)
    ask = workers.WorkerProcess.run_request

    def end_and_ask(self, request):
        self._process.kill()
        return ask(self, request)

    monkeypatch.setattr(workers.WorkerProcess, "run_request", end_and_ask)
    together, _ = scores_of(2, X, Y, LOGISTIC)
    np.testing.assert_array_equal(together, alone)
    assert answers
    assert set(answers) == {None}


def test_workers_are_started_when_refits_have_taken_a_while_and_not_before(monkeypatch):
    started = []
    monkeypatch.setattr(workers, "are_idle", lambda n: False)
    monkeypatch.setattr(workers, "start", lambda n, greeting: started.append(n))
    with parallel.thread_session(2):
        refits = fold_scorer.RefitWorkers(evaluator_of(X, Y, LOGISTIC).task, (), few_rows=True)
        refits.record_time(0.2, 100)
        assert not refits.are_available(100)
        assert not started
        refits.record_time(0.8, 400)
        assert not refits.are_available(100)
        # This process does a part of the refits.
        assert started == [1]
        # Threads do long refits of many rows as well.
        long = fold_scorer.RefitWorkers(refits.task, (), few_rows=False)
        long.record_time(5.0, 10)
        assert not long.are_available(100)
    started.clear()
    with parallel.thread_session(1):
        assert not refits.are_available(100_000)
    assert not started


def test_refits_for_which_no_worker_is_idle_are_done_in_this_process(monkeypatch):
    monkeypatch.setattr(workers, "_idle_workers", [])
    refits = fold_scorer.RefitWorkers(evaluator_of(X, Y, LOGISTIC).task, (), few_rows=True)
    rows = evaluator_of(X, Y, LOGISTIC).backend.fold_rows(np.arange(4), 0)
    assert refits._is_picklable()
    assert refits.scores(rows, [np.arange(2), np.arange(3)]) == [None, None]
    # The next refits are sent to workers again.
    assert not refits._failed


def test_a_search_finds_the_same_columns_by_workers(answers):
    X, y = make_classification(200, 8, n_informative=3, random_state=0)
    found = [
        SubsetSelector(CrossValidated(LOGISTIC, cv=3), Forward(), n_features=4, n_jobs=n_jobs).fit(X, y)
        for n_jobs in (1, 2)
    ]
    assert answers
    np.testing.assert_array_equal(found[0].support_, found[1].support_)
    assert found[0].merit_ == found[1].merit_
