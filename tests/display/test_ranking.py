"""Plots of rankings."""

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from tamiz import RankSelector, SubsetSelector
from tamiz.criteria import CFS, InformationGain, LaplacianScore, Variance
from tamiz.display import RankingDisplay
from tamiz.exceptions import DataError
from tamiz.search import Forward


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
