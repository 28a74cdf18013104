"""Linear discriminant analysis from cross products within classes has the predictions of refits."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import KFold, LeaveOneOut, ShuffleSplit
from tests.models.random_cases import drawn_folds, evaluator_of, flipped, refitted

from tamiz.exceptions import DataError
from tamiz.models import linear
from tamiz.models.backends import RefitBackend
from tamiz.models.linear import LinearDiscriminantBackend
from tamiz.runtime import parallel
from tamiz.search.base import Candidates

LDA = LinearDiscriminantAnalysis


def prepared(model, X, y, cv=4, scoring=None):
    return evaluator_of(X, y, model, cv, scoring)


def left(evaluator, candidates):
    """Which candidates and folds the sums leave to refits."""
    way, n_classes = evaluator.backend, len(evaluator.task.classes)
    return way.sum_over_folds(candidates, way._fill_counts, (n_classes, n_classes), 100)[1]


def table(seed, n, q, n_classes):
    """Columns of different units and centres, in which classes are apart."""
    rng = np.random.default_rng(seed)
    y = np.r_[np.repeat(np.arange(n_classes), 8), rng.integers(0, n_classes, n - 8 * n_classes)]
    X = rng.normal(size=(n_classes, q))[y] + rng.normal(size=(n, q)) @ rng.normal(size=(q, q))
    return (X + rng.integers(-5, 6, q)) * 10.0 ** rng.integers(-3, 4, q), rng.permutation(y) if seed % 7 == 6 else y


@pytest.mark.parametrize("seed", range(80))
def test_scores_are_those_of_refits(seed):
    rng = np.random.default_rng(seed)
    n_classes, q = int(rng.integers(2, 6)), int(rng.integers(2, 10))
    X, y = table(seed, int(rng.integers(60, 140)), q, n_classes)
    shares = rng.integers(1, 4, n_classes)
    model = LDA(priors=shares / shares.sum() if seed % 3 == 0 else None, store_covariance=bool(seed % 2))
    scoring, cv = [None, "balanced_accuracy", "f1_macro"][seed % 3], drawn_folds(rng, model, y)
    mask = rng.random(q) < 0.5
    mask[0] |= not mask.any()
    candidate = flipped(rng, mask)
    evaluator = prepared(model, X, y, cv, scoring)
    with warnings.catch_warnings():
        # A class may be predicted that no row of a fold is of.
        warnings.simplefilter("ignore")
        theirs = refitted(model, X[:, mask], y, cv, scoring)
    assert isinstance(evaluator.backend, LinearDiscriminantBackend)
    assert not left(evaluator, candidate).any()
    np.testing.assert_allclose(evaluator.fold_scores(candidate)[0], theirs, rtol=0, atol=1e-12)


@pytest.mark.parametrize("load", [load_iris, pytest.param(load_digits, marks=pytest.mark.slow)])
def test_real_tables_score_as_in_scikit_learn(load):
    X, y = load(return_X_y=True)
    rng = np.random.default_rng(0)
    masks = rng.random((2, X.shape[1])) < 0.5
    masks[:, 0] |= ~masks.any(axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = prepared(LDA(), X, y, 3).fold_scores(Candidates.from_masks(masks))
        theirs = [refitted(LDA(), X[:, mask], y, 3) for mask in masks]
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)


def hard(kind, rng):
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 5)) + y[:, None] * [1.0, 0.0, 0.5, 0.0, 0.0]
    if kind == "duplicates":
        X[:, 3], X[:, 4] = X[:, 1], 2 * X[:, 0]
    elif kind == "a constant":
        X[:, 2] = 0.1
    elif kind == "constant within classes":
        X[:, 2] = y
    elif kind == "units far apart":
        X *= np.array([1e8, 1.0, 1e-8, 1e3, 1.0])
    elif kind == "nearly collinear":
        X[:, 3] = X[:, 1] + 1e-5 * X[:, 3]
    elif kind == "centres in a line":
        # In each of the four folds, as they are drawn in order.
        for k in range(3):
            parts = rng.normal(size=(4, 5, 5))
            parts += np.array([k, k, 0, 0, 1e-6 * (k == 1)]) - parts.mean(axis=1, keepdims=True)
            X[y == k] = parts.reshape(20, 5)
    elif kind == "indicators":
        X = np.eye(5)[rng.integers(0, 5, 60)]
    elif kind == "equal rows":
        X = rng.integers(0, 2, (60, 5)).astype(float)
    elif kind == "more columns than rows":
        X, y = rng.normal(size=(12, 20)), np.arange(12) % 2
    elif kind == "a class of few rows":
        y = np.where(np.arange(60) < 4, 2, np.arange(60) % 2)
    return X, y


KINDS = [
    "duplicates",
    "a constant",
    "constant within classes",
    "units far apart",
    "nearly collinear",
    "centres in a line",
]


@pytest.mark.parametrize("tol", [1e-4, 1e-2])
@pytest.mark.parametrize("kind", [*KINDS, "indicators", "equal rows", "more columns than rows", "a class of few rows"])
def test_ill_conditioned_cross_products_are_refitted(kind, tol):
    rng = np.random.default_rng(3)
    X, y = hard(kind, rng)
    masks = np.vstack([np.ones(X.shape[1], dtype=bool), rng.random((4, X.shape[1])) < 0.6])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = prepared(LDA(tol=tol), X, y).fold_scores(Candidates.from_masks(masks))
        theirs = [refitted(LDA(tol=tol), X[:, mask], y, 4) for mask in masks]
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "units far apart"])
def test_directions_that_the_refit_leaves_out_are_never_guessed(kind):
    X, y = hard(kind, np.random.default_rng(3))
    assert left(prepared(LDA(tol=1e-4), X, y), Candidates.from_masks(np.ones((1, 5), dtype=bool))).all()


def test_a_class_that_a_fold_does_not_learn_is_not_predicted():
    X, y = table(1, 60, 3, 3)
    rows = np.arange(60)
    folds = [(rows[y != 2], rows[y == 2]), (rows[1::2], rows[::2]), (rows[y != 0][1::2], rows[::3])]
    whole = np.ones((1, 3), dtype=bool)
    ours = prepared(LDA(), X, y, folds).fold_scores(Candidates.from_masks(whole))[0]
    np.testing.assert_allclose(ours, refitted(LDA(), X, y, folds), rtol=0, atol=1e-12)


def test_a_score_depends_on_its_candidate_alone_to_the_bit():
    X, y = table(4, 150, 8, 3)
    evaluator = prepared(LDA(), X, y)
    rng = np.random.default_rng(5)
    target = np.zeros(8, dtype=bool)
    target[[1, 2, 4, 7]] = True
    parents = rng.random((12, 8)) < 0.5
    alone = evaluator.backend.confusion_counts(Candidates.from_masks(target))
    flips = [Candidates.from_flips(parent, [rng.permutation(np.flatnonzero(parent != target))]) for parent in parents]
    assert (evaluator.backend.confusion_counts(Candidates.concatenate(flips)) == alone).all()


def test_threads_change_no_bit():
    X, y = table(6, 200, 20, 3)
    masks = np.random.default_rng(7).random((600, 20)) < 0.4
    counts = []
    for n_jobs in (1, 2):
        with parallel.thread_session(n_jobs):
            counts.append(prepared(LDA(), X, y).backend.confusion_counts(Candidates.from_masks(masks)))
    assert (counts[0] == counts[1]).all()


@pytest.mark.parametrize("cv", [KFold(7, shuffle=True, random_state=0), LeaveOneOut(), ShuffleSplit(5, random_state=0)])
def test_folds_read_some_at_a_time_score_the_same(cv, monkeypatch):
    X, y = table(8, 35, 6, 3)
    masks = Candidates.from_masks(np.random.default_rng(9).random((3, 6)) < 0.7)
    monkeypatch.setattr(linear, "_MAX_PRODUCT_BYTES", 2 * 4 * 8 * 49)
    ours = prepared(LDA(), X, y, cv).fold_scores(masks)
    theirs = [refitted(LDA(), X[:, mask], y, cv) for mask in masks.masks()]
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        LDA(solver="lsqr"),
        LDA(solver="eigen", shrinkage="auto"),
        LDA(n_components=1),
        LDA(priors=[0.5, 0.6]),
        LDA(priors=[1.0, 0.0]),
    ],
    ids=str,
)
def test_other_parameters_are_refitted(model):
    X, y = table(14, 40, 3, 2)
    assert isinstance(prepared(model, X, y).backend, RefitBackend)


def test_weights_are_an_error():
    X, y = table(15, 40, 3, 2)
    with pytest.raises(DataError, match="LinearDiscriminantAnalysis accepts no sample_weight"):
        evaluator_of(X, y, LDA(), weight=np.arange(40) % 3 + 1.0)
