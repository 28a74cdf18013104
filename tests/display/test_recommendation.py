"""Plot of the scores of recommended columns by their number."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

from tamiz.assessment import recommend_columns
from tamiz.display import RecommendationDisplay
from tamiz.exceptions import DataError

PATHS = {
    "low": [(1, 0.6, 0.5, 0.7), (2, 0.7, 0.6, 0.8)],
    "high": [(1, 0.7, 0.6, 0.8), (2, 0.9, 0.8, 1.0)],
    "single": [(4, 0.95, 0.9, 1.0)],
    "kept": [(1, 0.5, 0.4, 0.6), (3, 0.8, 0.7, 0.9)],
}


def texts(panel):
    return [text.get_text() for text in panel.texts]


def test_the_sets_of_every_path_are_at_their_sizes_and_scores_and_the_recommended_one_has_a_ring():
    X, y = load_wine(return_X_y=True, as_frame=True)
    found = recommend_columns(X, y, models=["naive_bayes"], n_splits=3)
    display = RecommendationDisplay.from_recommendation(found)
    label = found.candidates[found.recommended].label
    line = next(line for line in display.lines_ if line.get_label() == label)
    path = found.paths[found.recommended]
    np.testing.assert_array_equal(line.get_xdata(), list(map(len, path.columns)))
    np.testing.assert_array_equal(line.get_ydata(), [score.mean for score in path.scores])
    ((n, score),) = display.recommended_.get_xydata()
    assert n == len(found.columns)
    assert score == path.scores[path.columns.index(found.columns)].mean
    assert f"recommended: {len(found.columns)} columns" in texts(display.ax_)
    assert display.ax_.get_ylabel() == "roc_auc_ovr_weighted of naive Bayes"


def test_at_most_three_paths_are_drawn_the_recommended_one_first_then_the_best_ones_and_single_sets_last():
    display = RecommendationDisplay(PATHS, recommended=("kept", 3), all_columns=(9, 0.92), baseline=0.5).plot()
    assert [line.get_label() for line in display.lines_] == ["kept", "high", "low"]
    np.testing.assert_array_equal(display.recommended_.get_xydata(), [[3, 0.8]])
    assert texts(display.ax_) == ["without columns", "all 9 columns", "recommended: 3 columns"]
    heights = [line.get_ydata()[0] for line in display.ax_.lines if line.get_linestyle() == "--"]
    assert heights == [0.5]


def test_without_a_recommended_set_nothing_has_a_ring():
    display = RecommendationDisplay(PATHS).plot()
    assert display.recommended_ is None
    assert [line.get_label() for line in display.lines_] == ["high", "kept", "low"]
    assert texts(display.ax_) == []


@pytest.mark.parametrize(
    ("paths", "recommended", "match"),
    [
        ({}, None, "at least one set"),
        ({"a": []}, None, "at least one set"),
        (PATHS, ("kept", 2), "'kept' has a set of 2"),
    ],
)
def test_paths_without_sets_and_unknown_recommended_sets_are_refused(paths, recommended, match):
    with pytest.raises(DataError, match=match):
        RecommendationDisplay(paths, recommended=recommended).plot()
