"""Plots of stress: by iteration, by dimension, by point, and beside the permutation null."""

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from tamiz.display import PointStressDisplay, StressDisplay
from tamiz.exceptions import DataError
from tamiz.reduction import MDS, PCA


class Fitted(BaseEstimator):
    """A map with a history of its stress."""

    def __init__(self, history=(0.4, 0.2, 0.125), converged=True):
        self.history = history
        self.converged = converged

    def fit(self):
        self.stress_history_, self.converged_ = np.array(self.history), self.converged
        return self


def test_the_course_of_a_map_is_drawn_by_its_iterations_with_how_it_ended():
    display = StressDisplay.from_estimator(Fitted().fit())
    np.testing.assert_array_equal(display.line_.get_xydata(), [[0, 0.4], [1, 0.2], [2, 0.125]])
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("Iteration", "Kruskal's stress-1")
    assert display.ax_.get_title(loc="left") == "converged after 2 iterations at 0.125"
    assert display.ax_.get_ylim()[0] > 0.0
    stopped = StressDisplay.from_estimator(Fitted(converged=False).fit())
    assert stopped.ax_.get_title(loc="left") == "not converged after 2 iterations at 0.125"


def test_an_mds_is_drawn_as_it_came_to_its_map():
    X = np.random.default_rng(0).normal(size=(20, 4))
    mapped = MDS().fit(X)
    display = StressDisplay.from_estimator(mapped)
    np.testing.assert_array_equal(display.line_.get_ydata(), mapped.stress_history_)
    assert display.line_.get_xdata()[-1] == mapped.n_iter_
    worst = PointStressDisplay.from_estimator(mapped, n_points=4)
    np.testing.assert_array_equal(worst.points_.get_xdata(), np.sort(mapped.stress_per_point_)[:-5:-1])


def test_dimensions_are_drawn_from_a_stress_of_zero_on():
    display = StressDisplay([0.3, 0.1], numbers=[2, 4]).plot()
    np.testing.assert_array_equal(display.line_.get_xydata(), [[2, 0.3], [4, 0.1]])
    assert display.ax_.get_xlabel() == "Dimensions"
    assert display.ax_.get_ylim()[0] == 0.0
    assert display.reference_ is None
    assert display.ax_.get_legend() is None


def test_numbers_in_any_order_make_one_line_from_left_to_right():
    display = StressDisplay([0.1, 0.3, 0.2], numbers=[3, 1, 2], reference=[0.4, 0.6, 0.5]).plot()
    np.testing.assert_array_equal(display.line_.get_xydata(), [[1, 0.3], [2, 0.2], [3, 0.1]])
    np.testing.assert_array_equal(display.reference_.get_ydata(), [0.6, 0.5, 0.4])


def test_chance_is_a_dashed_line_and_several_draws_a_band():
    display = StressDisplay([0.3, 0.1], reference=[[0.5, 0.4], [0.7, 0.5]]).plot()
    np.testing.assert_allclose(display.reference_.get_xydata(), [[1, 0.6], [2, 0.45]])
    assert display.reference_.get_linestyle() == "--"
    (band,) = display.ax_.collections
    heights = band.get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == (0.4, 0.7)
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == [
        "this map",
        "by chance (2 permutations)",
    ]
    one = StressDisplay([0.3, 0.1], reference=[0.5, 0.4]).plot()
    assert not one.ax_.collections
    assert one.ax_.get_legend().get_texts()[1].get_text() == "by chance"


def test_many_iterations_are_a_line_without_marks_and_a_panel_can_be_given():
    _, panels = pyplot.subplots(1, 2)
    display = StressDisplay(np.linspace(1, 0, 200)).plot(panels[1])
    assert display.ax_ is panels[1]
    assert display.line_.get_marker() in ("", "None")
    assert StressDisplay(np.linspace(1, 0, 20)).plot(panels[0]).line_.get_marker() == "o"


def test_an_object_without_iterations_is_refused():
    with pytest.raises(NotFittedError):
        StressDisplay.from_estimator(Fitted())
    with pytest.raises(TypeError, match=r"^PCA has no stress_history_; pass a map fitted by iterative"):
        StressDisplay.from_estimator(PCA(1).fit(np.eye(3)))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"numbers": [1]}, r"^numbers must have one value per value of stress: got 1 for 2\.$"),
        ({"reference": [0.1, 0.2, 0.3]}, r"^reference must have one value per value of stress: got 3 for 2\.$"),
        ({"stress": [[0.1, 0.2]]}, r"^stress must be a list of numbers, got an array of shape \(1, 2\)\.$"),
        ({"stress": [0.1, np.nan]}, r"^Input stress contains NaN"),
    ],
)
def test_values_that_cannot_be_drawn_are_an_error(given, sentence):
    with pytest.raises(ValueError, match=sentence):
        StressDisplay(**{"stress": [0.2, 0.1], **given}).plot()


def test_lines_of_other_shapes_are_data_errors():
    with pytest.raises(DataError):
        StressDisplay([0.2, 0.1], numbers=[1]).plot()


def test_the_points_with_the_most_stress_are_drawn_first_beside_the_mean_of_all():
    display = PointStressDisplay([0.1, 0.4, 0.2, 0.4, 0.0], n_points=3).plot()
    np.testing.assert_array_equal(display.rows_, [1, 3, 2])
    np.testing.assert_array_equal(display.points_.get_xydata(), [[0.4, 0], [0.4, 1], [0.2, 2]])
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == ["1", "3", "2"]
    assert display.ax_.get_ylabel() == "Row"
    assert display.mean_.get_xdata()[0] == pytest.approx(0.22)
    # The first is on top.
    low, high = display.ax_.get_ylim()
    assert low > high


def test_points_have_the_names_they_are_given_as_they_are():
    mapped = Fitted().fit()
    mapped.stress_per_point_ = np.array([0.1, 0.2])
    _, panels = pyplot.subplots(1, 2)
    display = PointStressDisplay.from_estimator(mapped, names=["a_$x$", "b"], ax=panels[0])
    assert display.ax_ is panels[0]
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == ["b", r"a_\$x\$"]
    assert display.ax_.get_ylabel() == ""


def test_an_object_without_stress_of_points_is_refused():
    with pytest.raises(TypeError, match=r"^PCA has no stress_per_point_; pass a fitted MDS\.$"):
        PointStressDisplay.from_estimator(PCA(1).fit(np.eye(3)))
    with pytest.raises(DataError, match=r"^names must have one value per point: got 1 for 2\.$"):
        PointStressDisplay([0.1, 0.2], names=["a"]).plot()
    with pytest.raises(ValueError, match=r"^n_points must be at least 1, got 0\.$"):
        PointStressDisplay([0.1, 0.2], n_points=0).plot()


def test_a_display_that_cannot_be_drawn_leaves_no_empty_figure_and_the_panel_of_the_caller_open():
    _, panel = pyplot.subplots()
    before = pyplot.get_fignums()
    for ax in (None, panel):
        with pytest.raises(DataError):
            StressDisplay([0.2, 0.1], numbers=[1]).plot(ax)
        assert pyplot.get_fignums() == before
