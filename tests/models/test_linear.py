"""Linear regression from cross products has the scores of refits."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import KFold, LeaveOneOut, ShuffleSplit
from tests.models.random_cases import drawn_folds, drawn_weight, evaluator_of, flipped, refitted

from tamiz.exceptions import DataError
from tamiz.models import linear
from tamiz.models.backends import RefitBackend
from tamiz.models.linear import LinearRegressionBackend, RidgeBackend
from tamiz.runtime import parallel
from tamiz.search.base import Candidates

MODELS = [
    LinearRegression(),
    LinearRegression(fit_intercept=False),
    Ridge(),
    Ridge(30.0, fit_intercept=False),
    Ridge(0.01, solver="svd"),
    Ridge(0.0, solver="cholesky"),
]

SCORES = [None, "r2", "neg_mean_squared_error", "neg_root_mean_squared_error", "r2"]


def prepared(model, X, y, cv=4, scoring=None, weight=None):
    return evaluator_of(X, y, model, cv, scoring, weight)


def expected(model, X, y, mask, cv=4, scoring=None, weight=None):
    return refitted(model, X[:, mask], y, cv, scoring, weight)


def left(evaluator, candidates):
    """Which candidates and folds the sums leave to refits."""
    way = evaluator.backend
    return way._solved_errors(candidates)[1]


def table(seed, n, q):
    """Columns of different units and centres, some of which the target follows."""
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, q)) @ rng.normal(size=(q, q)) + rng.integers(-5, 6, q)) * 10.0 ** rng.integers(-1, 2, q)
    return X, X[:, : q // 2] @ rng.normal(size=q // 2) + X.std() * rng.normal(size=n)


def same(ours, theirs):
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(80))
def test_scores_are_those_of_refits(seed):
    rng = np.random.default_rng(seed)
    n, q = int(rng.integers(30, 120)), int(rng.integers(2, 10))
    X, y = table(seed, n, q)
    model, scoring = MODELS[seed % len(MODELS)], SCORES[seed % len(SCORES)]
    weight, cv = drawn_weight(rng, n), drawn_folds(rng, model, y)
    mask = rng.random(q) < 0.5
    mask[0] |= not mask.any()
    candidate = flipped(rng, mask)
    evaluator = prepared(model, X, y, cv, scoring, weight)
    assert isinstance(evaluator.backend, LinearRegressionBackend | RidgeBackend)
    assert not left(evaluator, candidate).any()
    same(evaluator.fold_scores(candidate)[0], expected(model, X, y, mask, cv, scoring, weight))


def test_many_rows_tested_are_scored_by_products_of_columns():
    X, y = table(0, 800, 6)
    evaluator = prepared(LinearRegression(), X, y)
    masks = np.array([[True, False, True, True, False, True]])
    assert not left(evaluator, Candidates.from_masks(masks)).any()
    same(evaluator.fold_scores(Candidates.from_masks(masks)), [expected(LinearRegression(), X, y, masks[0])])


def nearly_exact(n, error):
    X, _ = table(1, n, 4)
    rng = np.random.default_rng(2)
    return X, X @ rng.normal(size=4) / X.std() + error * rng.normal(size=n)


@pytest.mark.parametrize("error", [1e-1, 1e-3, 1e-4])
@pytest.mark.parametrize("n", [60, 800])
def test_errors_that_nearly_vanish_keep_their_digits(n, error):
    X, y = nearly_exact(n, error)
    whole, scoring = np.ones(4, dtype=bool), "neg_mean_squared_error"
    ours = prepared(LinearRegression(), X, y, scoring=scoring).fold_scores(Candidates.from_masks(whole))[0]
    np.testing.assert_allclose(ours, expected(LinearRegression(), X, y, whole, scoring=scoring), rtol=1e-9)


@pytest.mark.parametrize("n", [60, 800])
def test_errors_that_are_rounding_are_those_of_the_refit(n):
    X, y = nearly_exact(n, 0.0)
    evaluator = prepared(LinearRegression(), X, y, scoring="neg_mean_squared_error")
    whole = np.ones(4, dtype=bool)
    assert left(evaluator, Candidates.from_masks(whole)).all()
    for fold, score in enumerate(evaluator.fold_scores(Candidates.from_masks(whole))[0]):
        fitted = evaluator.backend.fit_fold(np.arange(4), fold)
        assert score == -np.mean((y[evaluator.task.folds[fold].test] - fitted.estimator.predict(fitted.test_rows)) ** 2)


def hard(kind, rng):
    X = rng.normal(size=(40, 5))
    if kind == "duplicates":
        X[:, 3], X[:, 4] = X[:, 1], -2 * X[:, 0] + 1
    elif kind == "a constant":
        X[:, 2] = 0.1
    elif kind == "a constant in one fold":
        X[10:, 2] = 3.7
    elif kind == "units far apart":
        X *= np.array([1e8, 1.0, 1e-8, 1e3, 1.0])
    elif kind == "nearly collinear":
        X[:, 3] = X[:, 1] + 1e-7 * X[:, 3]
    elif kind == "a large common part":
        X[:, 2] += 1e9
    elif kind == "indicators":
        X = np.eye(5)[rng.integers(0, 5, 40)]
    elif kind == "more columns than rows":
        X = rng.normal(size=(12, 30))
    return X, X[:, 0] / X[:, 0].std() + 0.5 * rng.normal(size=len(X))


KINDS = [
    "duplicates",
    "a constant",
    "a constant in one fold",
    "units far apart",
    "nearly collinear",
    "a large common part",
]


ROUNDED = ["units far apart", "a large common part"]


@pytest.mark.parametrize("model", MODELS[:5], ids=str)
@pytest.mark.parametrize("kind", [*KINDS, "indicators", "more columns than rows"])
def test_ill_conditioned_cross_products_are_refitted(kind, model):
    rng = np.random.default_rng(3)
    X, y = hard(kind, rng)
    masks = np.vstack([np.ones(X.shape[1], dtype=bool), rng.random((3, X.shape[1])) < 0.6])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = prepared(model, X, y).fold_scores(Candidates.from_masks(masks))
        theirs = np.array([expected(model, X, y, mask) for mask in masks])
    # Of large numbers the refit itself keeps no more digits.
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-6 if kind in ROUNDED else 1e-9)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "fold" not in kind])
def test_dependent_columns_are_never_guessed(kind):
    X, y = hard(kind, np.random.default_rng(3))
    assert left(prepared(LinearRegression(), X, y), Candidates.from_masks(np.ones((1, 5), dtype=bool))).all()


def test_a_score_depends_on_its_candidate_alone_to_the_bit():
    X, y = table(4, 150, 8)
    X[:, 7] = X[:, 2]
    evaluator = prepared(LinearRegression(), X, y)
    rng = np.random.default_rng(5)
    target = np.zeros(8, dtype=bool)
    target[[1, 2, 4, 7]] = True
    parents = rng.random((12, 8)) < 0.5
    flips = [np.flatnonzero(parent != target) for parent in parents]
    from_parents = Candidates.concatenate(
        [Candidates.from_flips(parent, [rng.permutation(flip)]) for parent, flip in zip(parents, flips, strict=True)]
    )
    alone = evaluator.fold_scores(Candidates.from_masks(target))
    assert (evaluator.fold_scores(from_parents) == alone).all()


def test_threads_change_no_bit():
    X, y = table(6, 200, 20)
    masks = np.random.default_rng(7).random((900, 20)) < 0.4
    scores = []
    for n_jobs in (1, 2):
        with parallel.thread_session(n_jobs):
            scores.append(prepared(Ridge(), X, y).fold_scores(Candidates.from_masks(masks)))
    assert (scores[0] == scores[1]).all()


@pytest.mark.parametrize("cv", [KFold(7), LeaveOneOut(), ShuffleSplit(5, random_state=0)])
def test_folds_read_some_at_a_time_score_the_same(cv, monkeypatch):
    X, y = table(8, 35, 6)
    masks = Candidates.from_masks(np.random.default_rng(9).random((4, 6)) < 0.7)
    scoring = "neg_mean_squared_error"
    whole = prepared(LinearRegression(), X, y, cv, scoring)
    together = whole.fold_scores(masks)
    monkeypatch.setattr(linear, "_MAX_PRODUCT_BYTES", 2 * 4 * 8 * 49)
    parts = prepared(LinearRegression(), X, y, cv, scoring)
    np.testing.assert_allclose(together, parts.fold_scores(masks), rtol=1e-10)
    assert parts.backend.max_bytes() < whole.backend.max_bytes()
    theirs = [expected(LinearRegression(), X, y, mask, cv, scoring) for mask in masks.masks()]
    same(parts.fold_scores(masks), theirs)


@pytest.mark.parametrize("model", [LinearRegression(), Ridge()], ids=str)
def test_mixed_columns_encoded_in_every_fold_score_as_refits_do(model):
    rng = np.random.default_rng(16)
    kinds = rng.choice(list("xyz"), 90)
    frame = pd.DataFrame({"a": rng.normal(size=90), "b": pd.Categorical(kinds), "c": rng.normal(size=90)})
    frame.loc[3:9, "c"] = np.nan
    y = frame["a"].to_numpy() + (kinds == "x") + rng.normal(size=90)
    evaluator = evaluator_of(frame, y, model, encode=True)
    candidates = Candidates.from_masks(np.array([[True, True, True], [True, False, True], [False, True, False]]))
    ours = evaluator.fold_scores(candidates)
    evaluator.backend = RefitBackend(evaluator.task)
    same(ours, evaluator.fold_scores(candidates))


def test_a_constant_target_in_a_tested_fold_scores_as_in_scikit_learn():
    X, y = table(10, 40, 3)
    y[10:20] = 0.1
    same(
        prepared(LinearRegression(), X, y, KFold(4)).fold_scores(Candidates.from_masks(np.ones((1, 3), dtype=bool))),
        [expected(LinearRegression(), X, y, np.ones(3, dtype=bool), KFold(4))],
    )


def test_r2_of_one_tested_row_is_an_error():
    X, y = table(11, 10, 3)
    with pytest.raises(DataError, match="1 test row"):
        prepared(LinearRegression(), X, y, LeaveOneOut()).evaluate(Candidates.from_masks(np.ones((1, 3), dtype=bool)))


def test_integer_targets_float32_and_boolean_columns_are_numbers():
    rng = np.random.default_rng(12)
    X = np.column_stack([rng.normal(size=(60, 2)).astype(np.float32), rng.random(60) < 0.4])
    y = (3 * X[:, 0] + 2 * X[:, 2] + rng.normal(size=60)).round().astype(int)
    X = X.astype(np.float64)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).astype({"a": np.float32, "b": np.float32, "c": bool})
    ours = prepared(LinearRegression(), frame, y, 5).fold_scores(Candidates.from_masks(np.ones((1, 3), dtype=bool)))
    same(ours, [expected(LinearRegression(), X, y, np.ones(3, dtype=bool), 5)])


def test_rows_of_weight_0_count_nowhere():
    X, y = table(13, 60, 4)
    weight = np.ones(60)
    weight[::5] = 0.0
    kept, mask = weight > 0, np.ones((1, 4), dtype=bool)
    folds = [(np.setdiff1d(np.arange(60), np.arange(s, s + 15)), np.arange(s, s + 15)) for s in range(0, 60, 15)]
    place = np.cumsum(kept) - 1
    beside = [tuple(place[rows[kept[rows]]] for rows in fold) for fold in folds]
    same(
        prepared(Ridge(), X, y, folds, weight=weight).fold_scores(Candidates.from_masks(mask)),
        prepared(Ridge(), X[kept], y[kept], beside).fold_scores(Candidates.from_masks(mask)),
    )


@pytest.mark.parametrize(
    "model",
    [
        LinearRegression(positive=True),
        Ridge(positive=True),
        Ridge(solver="lsqr"),
        Ridge(solver="sag"),
        Ridge(np.array([1.0])),
    ],
    ids=str,
)
def test_other_parameters_are_refitted(model):
    X, y = table(14, 40, 3)
    assert isinstance(prepared(model, X, y).backend, RefitBackend)


def test_a_missing_value_is_an_error_that_names_its_column():
    X, y = table(15, 40, 3)
    X[3, 1] = np.nan
    with pytest.raises(DataError, match="'b' has 1 missing value"):
        prepared(LinearRegression(), pd.DataFrame(X, columns=["a", "b", "c"]), y).evaluate(
            Candidates.from_masks(np.ones((1, 3), dtype=bool))
        )
