"""Sweeps of Gram matrices score additions to a large set as explicit refits do, and defer the other cases."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import KFold
from tests.models.random_cases import evaluator_of

from tamiz import SubsetSelector
from tamiz.criteria import CrossValidated
from tamiz.models.linear import MIN_SWEPT_COORDINATES, SweepOperators
from tamiz.search import Forward
from tamiz.search.base import Candidates


def mixed(n=400, seed=0):
    """Ten numbers and eight columns of 5 to 12 levels: 78 coordinates, some of which the target follows."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        rng.normal(size=(n, 10)) * 10.0 ** rng.integers(-2, 3, 10), columns=[f"n{j}" for j in range(10)]
    )
    for k in range(8):
        frame[f"c{k}"] = np.array([f"level {level}" for level in rng.integers(0, 5 + k, n)])
    y = frame["n0"] / frame["n0"].std() + (frame["c7"] == "level 3") - 0.5 * (frame["c2"] == "level 0")
    return frame, y.to_numpy() + rng.normal(size=n)


def numbers(n=500, p=48, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) + 3
    return X, X[:, :5].sum(axis=1) + X.std() * rng.normal(size=n)


def refits(evaluator, masks, alpha=1.0):
    """Scores of scikit-learn's ridge regression on the same points, refitted for every set and fold."""
    task = evaluator.task
    scores = np.empty((len(masks), len(task.folds)))
    for f, fold in enumerate(task.folds):
        train, test = task.matrix.train_rows(fold), task.matrix.test_rows(fold)
        for s, mask in enumerate(masks):
            at = np.concatenate([task.matrix.coordinates[j] for j in np.flatnonzero(mask)])
            model = Ridge(alpha).fit(train[:, at], task.target[fold.train])
            scores[s, f] = model.score(test[:, at], task.target[fold.test])
    return scores


def additions(parent):
    """Every column that a set lacks, added to it."""
    return Candidates.from_flips(parent, [np.array([j]) for j in np.flatnonzero(~parent)])


def swept(evaluator, candidates):
    return evaluator.backend._swept_errors(candidates)


def test_additions_to_a_large_set_of_mixed_columns_are_scored_as_their_refits():
    X, y = mixed()
    evaluator = evaluator_of(X, y, "ridge", cv=list(KFold(4, shuffle=True, random_state=0).split(X)))
    parent = np.zeros(18, dtype=bool)
    parent[[0, 1, 2, 10, 12, 14, 16, 17]] = True
    assert sum(len(evaluator.task.matrix.coordinates[j]) for j in np.flatnonzero(parent)) >= MIN_SWEPT_COORDINATES
    # Along the way of a forward search: sweeps go on from those of the parent before.
    for _ in range(4):
        candidates = additions(parent)
        found = swept(evaluator, candidates)
        assert found is not None
        assert np.isfinite(found).all()
        scores = evaluator.fold_scores(candidates)
        np.testing.assert_allclose(scores, refits(evaluator, candidates.masks()), rtol=0, atol=1e-9)
        parent = candidates.masks()[scores.mean(axis=1).argmax()]
    # A parent that lacks columns of the one before: they begin again.
    parent = ~parent
    parent[[0, 17]] = True, False
    scores = evaluator.fold_scores(additions(parent))
    np.testing.assert_allclose(scores, refits(evaluator, additions(parent).masks()), rtol=0, atol=1e-9)


def test_several_columns_added_at_once_are_one_block():
    X, y = mixed()
    evaluator = evaluator_of(X, y, "ridge", cv=list(KFold(3).split(X)))
    parent = np.arange(18) >= 12
    units = [np.array([0]), np.array([1, 10]), np.array([2, 3, 11]), np.array([], dtype=np.intp)]
    candidates = Candidates.from_flips(parent, [*units[3:], *units[:3]])
    # The parent itself is no addition: another way scores it.
    found = swept(evaluator, Candidates.from_flips(parent, units[:3]))
    assert np.isfinite(found).all()
    np.testing.assert_allclose(
        evaluator.fold_scores(candidates), refits(evaluator, candidates.masks()), rtol=0, atol=1e-9
    )


def test_a_column_that_others_leave_nothing_of_is_left_to_a_refit():
    X, y = numbers()
    X[:, 47] = X[:, 3] - 2 * X[:, 4]
    evaluator = evaluator_of(X, y, Ridge(1e-9), cv=4)
    parent = np.arange(48) < 40
    candidates = additions(parent)
    found = swept(evaluator, candidates)
    # The last one is a sum of two of the parent's.
    assert np.isnan(found[-1]).all()
    assert np.isfinite(found[:-1]).all()
    scores = evaluator.fold_scores(candidates)
    np.testing.assert_allclose(scores, refits(evaluator, candidates.masks(), 1e-9), rtol=0, atol=1e-7)
    # With a penalty that counts, each of two columns that say the same keeps half.
    penalised = evaluator_of(X, y, Ridge(10.0), cv=4)
    assert np.isfinite(swept(penalised, candidates)).all()
    np.testing.assert_allclose(
        penalised.fold_scores(candidates), refits(penalised, candidates.masks(), 10.0), rtol=0, atol=1e-9
    )


def test_errors_near_zero_are_left_to_a_refit():
    X, _ = numbers()
    y = X @ np.arange(48)
    evaluator = evaluator_of(X, y, Ridge(1e-9), cv=4)
    candidates = additions(np.arange(48) < 47)
    assert np.isnan(swept(evaluator, candidates)).all()
    scores = evaluator.fold_scores(candidates)
    np.testing.assert_allclose(scores, refits(evaluator, candidates.masks(), 1e-9), rtol=0, atol=1e-9)


def test_other_candidates_than_additions_to_one_large_set_are_scored_otherwise():
    X, y = numbers()
    evaluator = evaluator_of(X, y, Ridge(), cv=4)
    large, small = np.arange(48) < 40, np.arange(48) < MIN_SWEPT_COORDINATES - 1
    assert swept(evaluator, additions(large)) is not None
    others = {
        "a small parent": additions(small),
        "a removal": Candidates.from_flips(large, [np.array([3])]),
        "a swap": Candidates.from_flips(large, [np.array([41]), np.array([3, 42])]),
        "several parents": Candidates.concatenate([additions(large), additions(np.arange(48) < 41)]),
        "sets as they are": Candidates.from_masks(np.array([large, small])),
        "nothing": Candidates.from_flips(large, []),
    }
    for name, candidates in others.items():
        assert swept(evaluator, candidates) is None, name
        if len(candidates):
            np.testing.assert_allclose(
                evaluator.fold_scores(candidates)[:3], refits(evaluator, candidates.masks()[:3]), rtol=0, atol=1e-9
            )


def test_without_a_penalty_with_few_rows_or_few_coordinates_nothing_is_swept():
    X, y = numbers()
    for model, rows, columns in (
        (LinearRegression(), 500, 48),
        (Ridge(), 80, 48),
        (Ridge(), 500, MIN_SWEPT_COORDINATES),
    ):
        evaluator = evaluator_of(X[:rows, :columns], y[:rows], model, cv=4)
        assert evaluator.backend._sweep_operators is None


def test_a_forward_search_finds_the_same_with_and_without_sweeps_on_any_number_of_threads(monkeypatch):
    X, y = mixed(seed=3)

    def searched(n_jobs):
        return SubsetSelector(
            CrossValidated("ridge", cv=4), Forward(), n_features=16, random_state=0, n_jobs=n_jobs
        ).fit(X, y)

    one, two = searched(1), searched(2)
    assert one.merit_ == two.merit_
    assert one.archive_.merits.tolist() == two.archive_.merits.tolist()
    monkeypatch.setattr(SweepOperators, "squared_errors", lambda *_: None)
    plain = searched(1)
    assert plain.support_.tolist() == one.support_.tolist()
    np.testing.assert_allclose(plain.archive_.merits, one.archive_.merits, rtol=0, atol=1e-9)


def test_the_products_that_are_given_stay_as_they_are():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 40)), rng.normal(size=200)
    joint = np.column_stack([X, y])
    gram, cross, form = (X.T @ X + np.eye(40))[None], (X.T @ y)[None], (joint.T @ joint)[None]
    before = gram.copy(), cross.copy(), form.copy()
    found = SweepOperators(gram, cross, form).squared_errors(additions(np.arange(40) < 35))
    assert all((one == other).all() for one, other in zip((gram, cross, form), before, strict=True))
    for j, square in zip(range(35, 40), found[:, 0], strict=True):
        at = [*range(35), j]
        beta = np.linalg.solve(gram[0][np.ix_(at, at)], cross[0, at])
        assert square == pytest.approx(((y - X[:, at] @ beta) ** 2).sum(), rel=1e-10)
