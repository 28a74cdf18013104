"""Plots of rankings, of subset searches, and of recommended columns."""

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import NotFittedError

from tamiz import RankSelector, SubsetSelector
from tamiz.assessment import recommend_columns
from tamiz.criteria import CFS, InformationGain, LaplacianScore, Variance
from tamiz.display import RankingDisplay, RecommendationDisplay, SearchDisplay
from tamiz.exceptions import DataError
from tamiz.search import BestFirst, Evaluations, Exhaustive, Forward


def texts(labels):
    return [label.get_text() for label in labels]


def test_a_ranking_is_drawn_best_first_and_what_is_kept_apart_from_what_is_not():
    X, y = load_iris(return_X_y=True, as_frame=True)
    selector = RankSelector(InformationGain(), n_features=2).fit(X, y)
    display = RankingDisplay.from_estimator(selector)
    np.testing.assert_array_equal(display.columns_, selector.ranking_)
    kept, out = display.points_
    np.testing.assert_array_equal(kept.get_xdata(), selector.scores_[[2, 3]])
    np.testing.assert_array_equal(out.get_xdata(), selector.scores_[[0, 1]])
    np.testing.assert_array_equal([*kept.get_ydata(), *out.get_ydata()], [0, 1, 2, 3])
    assert texts(display.ax_.get_yticklabels()) == [X.columns[j] for j in selector.ranking_]
    assert display.ax_.get_xlabel() == "Information gain, in bits"
    assert texts(display.ax_.get_legend().get_texts()) == ["kept", "left out"]
    low, high = display.ax_.get_ylim()
    assert low > high, "the first is on top"
    assert display.ax_.get_xlim()[0] == 0.0


def test_only_the_first_are_drawn_and_the_title_states_of_how_many():
    X = np.random.default_rng(0).normal(size=(30, 50)) * np.arange(1, 51)
    display = RankingDisplay.from_estimator(RankSelector(Variance()).fit(X), n_columns=5)
    assert len(display.columns_) == 5
    assert display.ax_.get_title(loc="left") == "the first 5 of 50 columns"
    assert display.ax_.get_xlabel() == "Variance, in unit²"
    assert len(display.points_) == 1
    assert display.ax_.get_legend() is None, "nothing that is drawn is left out"


def test_a_panel_can_be_given_and_scores_below_zero_are_in_sight():
    _, panels = pyplot.subplots(1, 2)
    display = RankingDisplay([0.5, -0.25, 0.1]).plot(panels[1])
    assert display.ax_ is panels[1]
    assert display.figure_ is panels[1].figure
    assert display.ax_.get_xlim()[0] < -0.25
    assert (display.ax_.get_ylabel(), texts(display.ax_.get_yticklabels())) == ("Column", ["0", "2", "1"])


def test_a_figure_grows_with_the_columns_that_are_asked_for():
    few, many = (RankingDisplay(np.arange(200.0), n_columns=n).plot().figure_ for n in (20, 200))
    assert few.get_figheight() == pytest.approx(4.4)
    assert many.get_figheight() == pytest.approx(40)
    _, panel = pyplot.subplots(figsize=(3, 3))
    assert RankingDisplay(np.arange(200.0), n_columns=200).plot(panel).figure_.get_figheight() == 3


def test_equal_scores_are_in_column_order_and_a_ranking_that_is_given_is_kept():
    np.testing.assert_array_equal(RankingDisplay([1.0, 2.0, 2.0]).plot().columns_, [1, 2, 0])
    np.testing.assert_array_equal(RankingDisplay([1.0, 2.0, 2.0], ranking=[2, 1, 0]).plot().columns_, [2, 1, 0])


def test_names_are_drawn_as_they_are():
    display = RankingDisplay([2.0, 1.0, 0.5, 0.1], names=["$x$", "_hidden", "n" * 100, "two\nlines\tand"]).plot()
    assert texts(display.ax_.get_yticklabels()) == [r"\$x\$", " _hidden", "n" * 39 + "…", "two lines and"]
    display.figure_.canvas.draw()


def test_one_column_and_a_table_without_information_are_drawn():
    display = RankingDisplay.from_estimator(RankSelector(Variance()).fit(np.ones((5, 1))))
    display.figure_.canvas.draw()
    assert display.points_[0].get_xydata().tolist() == [[0, 0]]
    display = RankingDisplay.from_estimator(RankSelector(LaplacianScore()).fit(np.eye(20)[:, :3]))
    display.figure_.canvas.draw()
    assert len(display.points_[0].get_xydata()) == 3


def test_a_score_that_is_not_registered_is_called_by_its_class():
    class Own(Variance):
        unit = ""

    display = RankingDisplay.from_estimator(RankSelector(Own()).fit(np.eye(4)))
    assert display.ax_.get_xlabel() == "Own"


def test_an_object_without_a_ranking_is_refused():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(NotFittedError):
        RankingDisplay.from_estimator(RankSelector(Variance()))
    with pytest.raises(TypeError, match=r"^SubsetSelector has no ranking_; pass a fitted RankSelector\.$"):
        RankingDisplay.from_estimator(SubsetSelector(CFS(), Forward()).fit(X, y))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"names": ["a"]}, r"^names must have one value per score: got 1 for 2\.$"),
        ({"ranking": [1]}, r"^ranking must have one value per score: got 1 for 2\.$"),
        ({"support": [True]}, r"^support must have one value per score: got 1 for 2\.$"),
    ],
)
def test_lists_of_other_lengths_are_refused(given, sentence):
    with pytest.raises(DataError, match=sentence):
        RankingDisplay([0.1, 0.2], **given).plot()


def test_numbers_that_cannot_be_drawn_are_refused():
    with pytest.raises(ValueError, match=r"^n_columns must be at least 1, got 0\.$"):
        RankingDisplay([0.1], n_columns=0).plot()
    with pytest.raises(ValueError, match=r"^Input scores contains NaN"):
        RankingDisplay([0.1, np.nan]).plot()
    with pytest.raises(DataError, match=r"^scores must be a list of numbers, got an array of shape \(1, 2\)\.$"):
        RankingDisplay([[0.1, 0.2]]).plot()


def test_every_set_is_a_point_the_best_of_each_size_a_line_and_the_chosen_one_a_ring():
    X, y = load_breast_cancer(return_X_y=True)
    selector = SubsetSelector(CFS(), BestFirst()).fit(X, y)
    display = SearchDisplay.from_estimator(selector)
    np.testing.assert_array_equal(display.points_.get_ydata(), selector.archive_.merits)
    np.testing.assert_array_equal(display.points_.get_xdata(), selector.archive_.sizes)
    sizes, tops = display.line_.get_data()
    for size, top in zip(sizes, tops, strict=True):
        assert top == selector.archive_.merits[selector.archive_.sizes == size].max()
    np.testing.assert_array_equal(display.best_.get_xydata(), [[selector.support_.sum(), selector.merit_]])
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("Columns in the set", "CFS")
    note = f"{selector.n_evaluations_} sets of columns: no improvement in 5 consecutive steps"
    assert display.ax_.get_title(loc="left") == note
    assert display.ax_.get_legend().get_texts()[-1].get_text() == "chosen: 9 columns"


def test_the_chosen_set_of_a_size_asked_for_is_not_the_best_of_all():
    X, y = load_iris(return_X_y=True)
    selector = SubsetSelector(CFS(), Forward(), n_features=3).fit(X, y)
    display = SearchDisplay.from_estimator(selector)
    assert display.best_.get_xdata()[0] == 3
    assert display.best_.get_ydata()[0] < display.line_.get_ydata().max()


def test_the_plot_of_a_stopped_or_unrecorded_search_states_the_number_of_evaluations():
    X, y = load_iris(return_X_y=True)
    exact = SearchDisplay.from_estimator(SubsetSelector(CFS(), Exhaustive()).fit(X, y))
    assert exact.ax_.get_title(loc="left").startswith("16 sets of columns: ")
    few = SearchDisplay.from_estimator(SubsetSelector(CFS(), Forward(), stop=Evaluations(3)).fit(X, y))
    assert few.ax_.get_title(loc="left") == "3 sets of columns: 3 evaluations made"
    few.figure_.canvas.draw()


def test_without_a_choice_the_largest_merit_is_ringed_and_of_equals_the_smallest_set():
    _, panels = pyplot.subplots(1, 2)
    display = SearchDisplay([3, 1, 2, 1], [0.5, 0.2, 0.5, 0.3], merit_label="_$x$").plot(panels[0])
    assert display.ax_ is panels[0]
    np.testing.assert_array_equal(display.best_.get_xydata(), [[2, 0.5]])
    np.testing.assert_array_equal(display.line_.get_xydata(), [[1, 0.3], [2, 0.5], [3, 0.5]])
    assert display.ax_.get_ylabel() == r" _\$x\$"
    assert display.ax_.get_title(loc="left") == ""


def test_many_sets_are_one_picture_in_a_saved_page():
    rng = np.random.default_rng(0)
    display = SearchDisplay(rng.integers(0, 90, 5000), rng.random(5000)).plot()
    assert display.points_.get_rasterized()
    assert display.line_.get_marker() in ("", "None")
    assert not SearchDisplay([1], [0.5]).plot().points_.get_rasterized()


def test_an_object_without_an_archive_is_refused():
    with pytest.raises(NotFittedError):
        SearchDisplay.from_estimator(SubsetSelector(CFS(), Forward()))
    with pytest.raises(TypeError, match=r"^RankSelector has no archive_; pass a fitted SubsetSelector\.$"):
        SearchDisplay.from_estimator(RankSelector(Variance()).fit(np.eye(3)))


def test_lists_of_other_lengths_and_numbers_of_no_set_are_refused():
    with pytest.raises(DataError, match=r"^sizes must have one value per merit: got 1 for 2\.$"):
        SearchDisplay([1], [0.1, 0.2]).plot()
    with pytest.raises(ValueError, match=r"^best must be from 0 to 1, got 2\.$"):
        SearchDisplay([1, 2], [0.1, 0.2], best=2).plot()


PATHS = {
    "low": [(1, 0.6, 0.5, 0.7), (2, 0.7, 0.6, 0.8)],
    "high": [(1, 0.7, 0.6, 0.8), (2, 0.9, 0.8, 1.0)],
    "single": [(4, 0.95, 0.9, 1.0)],
    "kept": [(1, 0.5, 0.4, 0.6), (3, 0.8, 0.7, 0.9)],
}


def texts_of_figure(panel):
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
    assert f"recommended: {len(found.columns)} columns" in texts_of_figure(display.ax_)
    assert display.ax_.get_ylabel() == "roc_auc_ovr_weighted of naive Bayes"


def test_at_most_three_paths_are_drawn_the_recommended_one_first_then_the_best_ones_and_single_sets_last():
    display = RecommendationDisplay(PATHS, recommended=("kept", 3), all_columns=(9, 0.92), baseline=0.5).plot()
    assert [line.get_label() for line in display.lines_] == ["kept", "high", "low"]
    np.testing.assert_array_equal(display.recommended_.get_xydata(), [[3, 0.8]])
    assert texts_of_figure(display.ax_) == ["without columns", "all 9 columns", "recommended: 3 columns"]
    heights = [line.get_ydata()[0] for line in display.ax_.lines if line.get_linestyle() == "--"]
    assert heights == [0.5]


def test_without_a_recommended_set_nothing_has_a_ring():
    display = RecommendationDisplay(PATHS).plot()
    assert display.recommended_ is None
    assert [line.get_label() for line in display.lines_] == ["high", "kept", "low"]
    assert texts_of_figure(display.ax_) == []


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
