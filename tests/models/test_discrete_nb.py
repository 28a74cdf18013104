"""Naive Bayes of codes and counts without refits: the scores of scikit-learn, fold by fold."""

import warnings

import numpy as np
import pytest
from sklearn.model_selection import KFold, LeaveOneOut, ShuffleSplit, StratifiedKFold
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, MultinomialNB
from tests.models.random_cases import evaluator_of, refitted

from tamiz import SubsetSelector, models
from tamiz.criteria import CrossValidated
from tamiz.exceptions import DataError
from tamiz.models import backends
from tamiz.models.backends import RefitBackend
from tamiz.runtime import parallel
from tamiz.search import Forward
from tamiz.search.base import Candidates

KINDS = [CategoricalNB, MultinomialNB, BernoulliNB]


def evaluator(estimator, X, y, cv, weight=None, scoring="accuracy"):
    found = evaluator_of(X, y, estimator, cv, scoring, weight)
    assert not isinstance(found.backend, RefitBackend)
    return found


def drawn(kind, seed):
    """A table, classes, weights or none, a model and folds."""
    rng = np.random.default_rng(seed)
    n, p, n_classes = int(rng.integers(30, 120)), int(rng.integers(2, 9)), int(rng.integers(2, 5))
    y = np.concatenate([np.tile(np.arange(n_classes), 3), rng.integers(0, n_classes, n - 3 * n_classes)])
    weight = [None, rng.integers(1, 5, n) / 2, rng.random(n) + 0.2][rng.integers(3)]
    given = {"alpha": float(rng.choice([0.3, 0.5, 1.0])), "fit_prior": bool(rng.random() < 0.6)}
    if rng.random() < 0.2:
        given["class_prior"] = np.full(n_classes, 1 / n_classes)
    if kind is CategoricalNB:
        X = rng.integers(0, rng.integers(2, 5), (n, p))
        X[:, 0] = (X[:, 0] + y) % 3
        given["min_categories"] = 5
    elif kind is MultinomialNB:
        X = rng.poisson(rng.choice([0.3, 2]), (n, p)) + y[:, None] * (np.arange(p) == 0)
    else:
        X = rng.poisson(0.8, (n, p))
        given["binarize"] = float(rng.integers(2))
    cv = [StratifiedKFold(3), KFold(4, shuffle=True, random_state=0), ShuffleSplit(3, random_state=1)][rng.integers(3)]
    return X.astype(float), y, weight, kind(**given), cv


def from_a_parent(rng, mask):
    """A set as flips of another one, and as it is."""
    parent = rng.random(len(mask)) < 0.5
    flipped = np.flatnonzero(mask ^ parent)
    return Candidates(
        np.array([parent, mask]), np.array([0, 1]), np.array([0, len(flipped), len(flipped)]), rng.permutation(flipped)
    )


@pytest.mark.parametrize("n_draws", [15, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", KINDS)
def test_any_draw_has_the_accuracy_of_refits_in_every_fold(kind, n_draws):
    for seed in range(n_draws):
        X, y, weight, model, cv = drawn(kind, seed)
        rng = np.random.default_rng(seed)
        mask = rng.random(X.shape[1]) < 0.6
        mask[rng.integers(len(mask))] = True
        flips, whole = evaluator(model, X, y, cv, weight).fold_scores(from_a_parent(rng, mask))
        assert np.array_equal(flips, whole)
        np.testing.assert_allclose(whole, refitted(model, X[:, mask], y, cv, "accuracy", weight), rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(5))
def test_log_loss_is_that_of_refits(kind, seed):
    X, y, weight, model, _ = drawn(kind, seed)
    ours = evaluator(model, X, y, StratifiedKFold(3), weight, "neg_log_loss")
    found = ours.fold_scores(Candidates.from_masks(np.ones((1, X.shape[1]), dtype=bool)))[0]
    np.testing.assert_allclose(found, refitted(model, X, y, StratifiedKFold(3), "neg_log_loss", weight), rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.slow
def test_ties_between_equal_classes_are_broken_as_in_scikit_learn(kind):
    # Three classes of as many rows each; the rows of the second are those of the first, or the columns changed about.
    rng = np.random.default_rng(0)
    part, other = rng.integers(0, 3, (2, 12, 4))
    for second in (part, part[:, ::-1], part[:, [1, 0, 2, 3]]):
        X, y = np.vstack([part, second, other]).astype(float), np.repeat(list("bac"), 12)
        model = kind(min_categories=3) if kind is CategoricalNB else kind()
        ours = evaluator(model, X, y, KFold(6, shuffle=True, random_state=0))
        masks = (np.arange(1, 16)[:, None] >> np.arange(4) & 1).astype(bool)
        for mask, found in zip(masks, ours.fold_scores(Candidates.from_masks(masks)), strict=True):
            wanted = refitted(model, X[:, mask], y, KFold(6, shuffle=True, random_state=0))
            np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)


def test_codes_never_need_a_refit(monkeypatch):
    monkeypatch.setattr(backends, "_refit_sums", None)
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (16, 4)).astype(float), np.tile([0, 1], 8)
    ours = evaluator(CategoricalNB(min_categories=2), X, y, LeaveOneOut())
    masks = (np.arange(1, 16)[:, None] >> np.arange(4) & 1).astype(bool)
    for mask, found in zip(masks, ours.fold_scores(Candidates.from_masks(masks)), strict=True):
        assert np.array_equal(found, refitted(CategoricalNB(min_categories=2), X[:, mask], y, LeaveOneOut()))


@pytest.mark.parametrize("kind", KINDS)
def test_a_class_that_a_fold_does_not_learn_is_not_predicted(kind):
    X, _, _, model, _ = drawn(kind, 3)
    model.set_params(class_prior=None, fit_prior=True)
    y = np.arange(len(X)) % 3
    y[y == 0] = 1
    y[:4] = 0
    folds = [(np.arange(4, len(X)), np.arange(4)), (np.arange(20), np.arange(20, len(X)))]
    found = evaluator(model, X, y, folds).fold_scores(Candidates.from_masks(np.ones((1, X.shape[1]), dtype=bool)))[0]
    np.testing.assert_allclose(found, refitted(model, X, y, folds), rtol=0, atol=1e-12)
    assert found[0] == 0


@pytest.mark.parametrize("kind", KINDS)
def test_counts_of_nothing_added_are_scored_as_scikit_learn_does(kind):
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 2, (40, 3)).astype(float), np.tile([0, 1], 20)
    X[y == 0, 0] = 0
    model = kind(alpha=0.0, **({"min_categories": 3} if kind is CategoricalNB else {}))
    masks = (np.arange(1, 8)[:, None] >> np.arange(3) & 1).astype(bool)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        found = evaluator(model, X, y, 4).fold_scores(Candidates.from_masks(masks))
        for mask, scores in zip(masks, found, strict=True):
            np.testing.assert_allclose(scores, refitted(model, X[:, mask], y, 4), rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_scores_do_not_depend_on_threads(kind):
    X, y, _, model, _ = drawn(kind, 7)
    X, y = np.tile(X, (30, 1)), np.tile(y, 30)
    candidates = Candidates.from_flips(
        np.zeros(X.shape[1], dtype=bool), [np.array([j]) for j in range(X.shape[1])] * 40
    )
    found = []
    for n_jobs in (1, 2):
        with parallel.thread_session(n_jobs):
            found.append(evaluator(model, X, y, 3).fold_scores(candidates))
    assert np.array_equal(*found)


@pytest.mark.parametrize(
    ("kind", "value", "what"),
    [
        (CategoricalNB, -1.0, "-1 is not a code, a whole number of at least 0. Use GaussianNB or MixedNB"),
        (CategoricalNB, 0.5, "0.5 is not a code"),
        (CategoricalNB, 1e12, "1e\\+12 is too large for a code"),
        (MultinomialNB, -2.0, "-2 is below 0, and MultinomialNB counts. Use GaussianNB or MixedNB"),
    ],
)
def test_a_value_that_cannot_be_counted_is_named(kind, value, what):
    X, y = np.random.default_rng(0).integers(0, 3, (31, 3)).astype(float), [None, *([0, 1] * 15)]
    X[6, 1] = value
    with pytest.raises(DataError, match=f"row 6, column x1: {what}"):
        evaluator(kind(), X, np.array(y, dtype=float), 3)


@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss"])
def test_a_code_that_a_fold_tests_and_has_not_learned_is_named(scoring):
    X, y = np.random.default_rng(0).integers(0, 3, (30, 3)).astype(float), np.tile([0, 1], 15)
    X[4, 1] = 7
    ours = evaluator(CategoricalNB(), X, y, KFold(3), scoring=scoring)
    ours.fold_scores(Candidates.from_masks(np.array([[True, False, True]])))
    wanted = r"Fold 1 of 3, column x1: the test row 4 has code 7, .* is 2\. Pass CategoricalNB\(min_categories=8\)"
    with pytest.raises(DataError, match=wanted):
        ours.fold_scores(Candidates.from_masks(np.ones((1, 3), dtype=bool)))


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (MultinomialNB(alpha=[1.0, 2.0]), "alpha differs"),
        (BernoulliNB(alpha=0.0, force_alpha=False), "alpha is below 1e-10"),
        (CategoricalNB(min_categories=[3, 3]), "min_categories differs"),
    ],
)
def test_models_that_are_not_sums_of_log_likelihoods_are_refitted(model, why):
    X, y = np.random.default_rng(0).integers(0, 3, (30, 2)).astype(float), np.tile([0, 1], 15)
    found = evaluator_of(X, y, model, 3)
    assert isinstance(found.backend, RefitBackend)
    assert why in models.registry[type(model).__name__].load().unsupported_reason(found.task)


def test_forward_selection_takes_the_columns_of_refits():
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, 150)
    X = rng.poisson(2, (150, 8)) + y[:, None] * (np.arange(8) % 3 == 0)
    fast = SubsetSelector(CrossValidated(MultinomialNB(), cv=5), Forward(), n_features=4).fit(X, y)
    # Of a subclass nothing is known: it is refitted.
    slow = SubsetSelector(CrossValidated(type("Own", (MultinomialNB,), {})(), cv=5), Forward(), n_features=4).fit(X, y)
    assert np.array_equal(fast.support_, slow.support_)
    assert fast.merit_ == pytest.approx(slow.merit_, abs=1e-12)
