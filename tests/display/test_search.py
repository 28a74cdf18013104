"""Plots of the sets that a search evaluated."""

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError

from tamiz import RankSelector, SubsetSelector
from tamiz.criteria import CFS, Variance
from tamiz.display import SearchDisplay
from tamiz.exceptions import DataError
from tamiz.search import BestFirst, Evaluations, Exhaustive, Forward


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
