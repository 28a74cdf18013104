"""Log loss and area under the ROC curve from likelihoods, and the cases that need a refit."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import GaussianNB
from tests.models.random_cases import drawn_folds, drawn_weight, evaluator_of, flipped, refitted

from tamiz import open_table
from tamiz.models.backends import _roc_area, choose_backend, likelihood_scorer
from tamiz.models.named_models import resolve_models
from tamiz.models.scoring import resolve_scoring
from tamiz.models.task import make_task


def tables():
    rng = np.random.default_rng(2)
    yield load_breast_cancer(return_X_y=True)
    yield make_classification(300, 8, n_informative=5, random_state=1)
    # Many rows that are the same, and of both classes.
    X = rng.integers(0, 3, (200, 5)).astype(float)
    yield X, np.where(X[:, 0] + rng.integers(0, 3, 200) > 2, "yes", "no")
    yield load_iris(return_X_y=True)


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::UserWarning")
@pytest.mark.parametrize(
    ("table", "scoring"), [(t, s) for t in range(4) for s in ("roc_auc", "neg_log_loss") if t < 3 or s[0] == "n"]
)
def test_any_set_has_the_score_of_its_refits(table, scoring):
    rng = np.random.default_rng(table)
    X, y = list(tables())[table]
    n_refits = n = 0
    for _ in range(12):
        mask = rng.random(X.shape[1]) < rng.random()
        mask[rng.integers(X.shape[1])] = True
        cv, weight = drawn_folds(rng, GaussianNB(), y), drawn_weight(rng, len(y))
        evaluator = evaluator_of(X, y, GaussianNB(), cv, scoring, weight)
        assert "not refitted" in evaluator.info.method
        expected = refitted(GaussianNB(), X[:, mask], y, cv, scoring, weight)
        np.testing.assert_allclose(evaluator.fold_scores(flipped(rng, mask))[0], expected, rtol=1e-9)
        score, columns = likelihood_scorer(evaluator.task), np.flatnonzero(mask)
        n_refits += sum(score(evaluator.backend, columns, fold) is None for fold in range(len(expected)))
        n += len(expected)
    assert n_refits < n / 2


def test_probabilities_within_rounding_are_left_to_the_refit_unless_the_rows_are_the_same():
    chance, noise = np.array([0.1, 0.5, 0.5 + 1e-15, 0.9]), np.full(4, 1e-14)
    positive, weight = np.array([False, True, False, True]), np.ones(4)
    apart, same = np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([[1.0], [2.0], [2.0], [4.0]])
    assert _roc_area(chance, noise, positive, weight, lambda rows: apart[rows]) is None
    tied = roc_auc_score(positive, [0.1, 0.5, 0.5, 0.9])
    assert _roc_area(chance, noise, positive, weight, lambda rows: same[rows]) == tied
    # Rows of one class may lie as they like.
    assert _roc_area(chance, noise, np.array([False, True, True, True]), weight, lambda rows: apart[rows]) == 1.0


@pytest.mark.parametrize("weighted", [False, True])
def test_naive_bayes_on_mixed_columns_has_the_area_of_its_refits_without_refits_at_equal_probabilities(weighted):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({f"x{j}": rng.normal(size=150) for j in range(2)})
    # Levels of few rows: many have the same counts, so different levels have the same probability.
    frame = frame.assign(**{f"c{j}": rng.integers(0, 40, 150).astype(str) for j in range(2)})
    frame = frame.mask(rng.random(frame.shape) < 0.1)
    frame["y"] = np.where(rng.random(150) < 0.4, "yes", "no")
    frame["w"] = rng.lognormal(size=150) if weighted else 1.0
    table = open_table(frame, "y", weight="w")
    model = resolve_models(["naive_bayes"], table.schema)[0]["naive_bayes"]
    task = make_task(model, table, cv=3, scoring=resolve_scoring("roc_auc", has_classes=True), seed=0)
    backend = choose_backend(task)[0]
    score = likelihood_scorer(task)
    for columns in ([2], [3], [0, 2], [2, 3], [0, 1, 2, 3]):
        for fold, part in enumerate(task.folds):
            fitted = backend.fit_fold(np.array(columns), fold)
            expected = fitted.estimator.predict_joint_log_proba(fitted.test_rows)
            np.testing.assert_array_equal(backend.joint_log_likelihood(np.array(columns), fold), expected)
            chance = fitted.estimator.predict_proba(fitted.test_rows)[:, 1]
            area = roc_auc_score(task.codes[part.test] == 1, chance, sample_weight=task.weight_at(part.test))
            assert score(backend, np.array(columns), fold) == pytest.approx(area, rel=1e-12)


def test_a_fold_without_one_of_the_classes_has_scikit_learns_sentence():
    X, y = load_iris(return_X_y=True)
    folds = [(np.arange(30, 150), np.arange(30)), (np.arange(120), np.arange(120, 150))]
    evaluator = evaluator_of(X, y, GaussianNB(), folds, "neg_log_loss")
    with pytest.raises(ValueError, match="Fold 1 of 2"):
        evaluator.evaluate(flipped(np.random.default_rng(0), np.ones(4, dtype=bool)))


def test_a_set_is_as_much_work_as_it_takes_so_that_rules_for_stopping_are_asked_in_time():
    X, y = load_breast_cancer(return_X_y=True)
    by_sums, by_area = (
        evaluator_of(X[:100], y[:100], GaussianNB(), 5, scoring, None) for scoring in ("accuracy", "roc_auc")
    )
    assert by_area.info.cost >= 1000 > by_sums.info.cost
