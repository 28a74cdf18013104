"""Sums from passes over a table, for tables that do not fit in memory, give the scores of models whose rows are in memory."""

import numpy as np
import pandas as pd
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier
from sklearn.model_selection import RepeatedKFold

from tamiz import MixedNB, open_table
from tamiz.criteria import CrossValidated
from tamiz.models.evaluator import ClassIndicatorEvaluator
from tamiz.search.base import Candidates
from tamiz.table import base as table_base

pytestmark = pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")

N = 240


def make_frame(seed):
    """Numbers in different units, with missing values, and categories, of which one level is rare."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, N)
    X = (rng.normal(size=(N, 4)) + y[:, None] * [1.0, 0.5, 0.0, 0.2] + [0, 1900, -3, 1]) * [1.0, 1.0, 1e-3, 50.0]
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame.loc[rng.random(N) < 0.1, "b"] = np.nan
    frame["colour"] = np.array(["red", "green", "blue"], dtype=object)[(y + (rng.random(N) < 0.5)) % 3]
    frame.loc[rng.random(N) < 0.1, "colour"] = None
    frame["rare"] = np.where(rng.random(N) < 0.02, "yes", "no")
    frame["weight"] = rng.integers(1, 5, N) / 2
    frame["y"] = np.array(["p", "q", "r"], dtype=object)[y]
    frame["number"] = X[:, 0] + 0.3 * X[:, 3] + rng.normal(size=N)
    return frame


def sets_of(schema, seed):
    rng = np.random.default_rng(seed)
    masks = np.zeros((8, schema.n_columns), dtype=bool)
    masks[:, schema.used] = rng.random((8, len(schema.used))) < 0.5
    masks[:, schema.used[0]] |= ~masks.any(axis=1)
    return Candidates.from_masks(masks)


def evaluators(frame, model, target, monkeypatch, **options):
    """The evaluator of a table in memory, and one that reads the table in passes of several pieces."""
    names = ["y", "number"]
    names.remove(target)
    weight = options.pop("weight", None)
    table = open_table(frame.drop(columns=[*names, *([] if weight else ["weight"])]), target, weight=weight)
    found = [CrossValidated(model, **options).bind(table, np.random.default_rng(0))]
    assert not found[0].task.reads_in_passes
    monkeypatch.setattr("tamiz.models.task.free_memory", lambda: 0)
    monkeypatch.setattr(table_base, "_piece_rows", lambda n_columns: 64)
    found.append(CrossValidated(model, **options).bind(table, np.random.default_rng(0)))
    assert found[1].task.reads_in_passes
    return found


CASES = [
    (MixedNB(), "y", {}),
    (MixedNB(), "y", {"weight": "weight", "scoring": "balanced_accuracy"}),
    (MixedNB(), "y", {"scoring": "neg_log_loss", "cv": RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)}),
    (LinearDiscriminantAnalysis(), "y", {}),
    (LinearDiscriminantAnalysis(), "y", {"cv": RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)}),
    (LinearDiscriminantAnalysis(priors=[0.5, 0.25, 0.25]), "y", {"scoring": "f1_macro"}),
    (Ridge(), "number", {"weight": "weight"}),
    (Ridge(fit_intercept=False, alpha=3.0), "number", {"cv": RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)}),
    (LinearRegression(), "number", {"scoring": "neg_root_mean_squared_error"}),
]


@pytest.mark.parametrize(("model", "target", "options"), CASES, ids=lambda one: str(one)[:40])
def test_any_set_has_the_score_of_the_table_in_memory(model, target, options, monkeypatch):
    for seed, columns in ((0, list("abcd")), (1, ["a", "b", "d", "colour", "rare"])):
        frame = make_frame(seed)
        if seed == 0:
            # Without missing values and categories nothing is encoded.
            frame["b"] = frame["b"].fillna(1900.5)
        kept = frame[[*columns, "weight", "y", "number"]]
        expected, found = evaluators(kept, model, target, monkeypatch, **options)
        sets = sets_of(expected.task.table.schema, seed)
        scores = found.fold_scores(sets)
        monkeypatch.undo()
        np.testing.assert_allclose(scores, expected.fold_scores(sets), rtol=1e-9, atol=1e-12)
        assert len(np.unique(scores.mean(axis=1).round(9))) > 4


def test_indicators_of_classes_have_the_scores_of_the_table_in_memory(monkeypatch):
    pair = evaluators(make_frame(2), RidgeClassifier(), "y", monkeypatch)
    sets = sets_of(pair[0].task.table.schema, 2)
    expected, found = (ClassIndicatorEvaluator(one.task).fold_scores(sets) for one in pair)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_set_whose_score_rounding_could_change_is_refitted_on_its_own_columns(monkeypatch):
    frame = make_frame(3)
    frame["copy"] = 2 * frame["a"]
    expected, found = evaluators(
        frame[["a", "d", "copy", "weight", "y", "number"]], LinearRegression(), "number", monkeypatch
    )
    sets = Candidates.from_masks(np.array([[True, False, True], [True, True, True], [True, True, False]]))
    scores = found.fold_scores(sets)
    np.testing.assert_allclose(scores, expected.fold_scores(sets), rtol=1e-9)
    assert "matrix" not in vars(found.task)


def test_drawn_rows_that_repeat_are_read_from_memory(monkeypatch):
    rng = np.random.default_rng(0)
    folds = [(rng.integers(0, 200, 200), np.arange(200, N)) for _ in range(2)]
    monkeypatch.setattr("tamiz.models.task.free_memory", lambda: 0)
    table = open_table(make_frame(4)[["a", "c", "y"]], "y")
    task = CrossValidated(LinearDiscriminantAnalysis(), cv=folds).bind(table, np.random.default_rng(0)).task
    assert not task.reads_in_passes
