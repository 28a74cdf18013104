"""Plots of Shepard diagrams and of neighbourhood-preservation curves."""

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.base import BaseEstimator
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from tamiz.display import QualityDisplay, ShepardDisplay
from tamiz.exceptions import DataError
from tamiz.metrics import quality, rank_agreement, shepard
from tamiz.reduction import PCA

X = load_iris().data[::5]
MAP = PCA(2).fit_transform(X)


class Ordinal(BaseEstimator):
    """A map that knows its pairs."""

    def fit(self):
        self.stress_ = 0.125
        return self

    def shepard(self):
        return SimpleNamespace(
            dissimilarities=np.array([3.0, 1.0, 2.0, 2.0]),
            distances=np.array([2.0, 1.0, 1.5, 0.5]),
            disparities=np.array([2.0, 0.9, 1.5, 0.9]),
        )


def test_every_pair_is_a_point_and_a_perfect_map_a_line():
    display = ShepardDisplay.from_embedding(X, 2.0 * X)
    found = shepard(X, 2.0 * X)
    np.testing.assert_array_equal(
        display.pairs_.get_offsets(), np.column_stack([found.dissimilarities, found.distances])
    )
    (_, far), (_, high) = display.line_.get_data()
    assert high == pytest.approx(2.0 * far)
    assert far == pytest.approx(found.dissimilarities.max())
    assert display.disparities_ is None
    assert display.ax_.get_title(loc="left") == "435 pairs, correlation 1.000, of ranks 1.000"
    assert (display.ax_.get_xlim()[0], display.ax_.get_ylim()[0]) == (0.0, 0.0)


def test_many_pairs_are_a_density():
    display = ShepardDisplay.from_embedding(load_iris().data, PCA(2).fit_transform(load_iris().data), n_pairs=5000)
    counts = display.pairs_.get_array()
    assert counts.sum() == 150 * 34
    assert display.ax_.get_title(loc="left").startswith("5,100 pairs drawn, correlation 0.998, of ranks 0.99")


def test_disparities_are_a_line_in_the_order_of_the_dissimilarities():
    display = ShepardDisplay.from_estimator(Ordinal().fit())
    np.testing.assert_array_equal(display.disparities_.get_xdata(), [1.0, 2.0, 2.0, 3.0])
    np.testing.assert_array_equal(display.disparities_.get_ydata(), [0.9, 0.9, 1.5, 2.0])
    assert display.line_ is None
    assert display.ax_.get_title(loc="left") == "stress 0.1250"
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["disparities"]


def test_a_panel_can_be_given():
    _, panels = pyplot.subplots(1, 2)
    assert ShepardDisplay.from_embedding(X, MAP, ax=panels[1]).ax_ is panels[1]
    assert QualityDisplay.from_embeddings(X, {"PCA": MAP}, ax=panels[0]).ax_ is panels[0]


def test_an_object_without_pairs_is_refused():
    with pytest.raises(NotFittedError):
        ShepardDisplay.from_estimator(Ordinal())
    with pytest.raises(TypeError, match=r"^PCA has no shepard\(\); use from_embedding"):
        ShepardDisplay.from_estimator(PCA(2).fit(X))
    with pytest.raises(DataError, match=r"^distances must have one value per pair: got 1 for 2\.$"):
        ShepardDisplay([1.0, 2.0], [1.0]).plot()
    with pytest.raises(DataError, match=r"^disparities must have one value per pair: got 1 for 2\.$"):
        ShepardDisplay([1.0, 2.0], [1.0, 2.0], disparities=[1.0]).plot()


def test_each_map_has_a_curve_and_its_area():
    maps = {"PCA": MAP, "all of it": X}
    display = QualityDisplay.from_embeddings(X, maps)
    for line, embedding in zip(display.lines_, maps.values(), strict=True):
        found = rank_agreement(X, embedding)
        np.testing.assert_array_equal(line.get_xdata(), found.n_neighbors)
        np.testing.assert_array_equal(line.get_ydata(), found.r_nx)
    assert display.lines_[1].get_label() == "all of it (1.00)"
    assert display.ax_.get_xscale() == "log"


def test_the_curves_of_a_card_are_drawn_too():
    card = quality(X, MAP, n_neighbors=5)
    display = QualityDisplay({"PCA": card.agreement}).plot()
    assert display.lines_[0].get_label() == f"PCA ({card['rank_agreement'].value:.2f})"


def test_curves_of_a_sample_are_of_those_rows():
    display = QualityDisplay.from_embeddings(X, {"PCA": MAP}, sample=10, random_state=3)
    found = rank_agreement(X, MAP, sample=10, random_state=3)
    np.testing.assert_array_equal(display.lines_[0].get_ydata(), found.r_nx)


def test_a_map_worse_than_chance_is_in_sight():
    far = np.abs(np.subtract.outer(np.arange(12), np.arange(12)))
    turned = np.where(far > 0, 20.0 - far, 0.0)
    display = QualityDisplay.from_embeddings(turned, {"line": np.arange(12.0)[:, None]}, metric="precomputed")
    assert display.ax_.get_ylim()[0] == display.lines_[0].get_ydata().min() < -0.3


def test_no_maps_and_too_many_are_refused():
    with pytest.raises(DataError, match=r"^A plot can show the curves of 1 to 10 maps, got 0\.$"):
        QualityDisplay({}).plot()
