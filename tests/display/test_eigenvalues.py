"""Plots of eigenvalues: of a map, of a clustering, of components."""

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.datasets import load_iris, make_swiss_roll
from sklearn.exceptions import NotFittedError

from tamiz.cluster import SpectralClustering
from tamiz.display import EigenvalueDisplay
from tamiz.exceptions import DataError
from tamiz.graphs import Graph, KNearest
from tamiz.reduction import PCA, LaplacianEigenmaps
from tamiz.reduction.principal_components import ParallelAnalysis


def test_a_map_is_drawn_with_its_largest_residual():
    X, _ = make_swiss_roll(200, random_state=1)
    mapped = LaplacianEigenmaps(4, graph=KNearest(8)).fit(X)
    display = EigenvalueDisplay.from_estimator(mapped)
    (line,) = display.lines_
    np.testing.assert_array_equal(line.get_xdata(), [1, 2, 3, 4])
    np.testing.assert_array_equal(line.get_ydata(), mapped.eigenvalues_)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("Eigenvector", "Eigenvalue")
    assert display.ax_.get_title(loc="left") == f"largest residual {mapped.residuals_.max():.1e}"
    assert display.ax_.get_ylim()[0] == 0.0


def test_a_pca_is_drawn_by_its_variances():
    pca = PCA(3).fit(load_iris().data)
    display = EigenvalueDisplay.from_estimator(pca)
    np.testing.assert_array_equal(display.lines_[0].get_ydata(), pca.explained_variance_)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("Component", "Variance")
    assert display.ax_.get_title(loc="left") == ""


def test_a_clustering_is_drawn_from_its_zero_on():
    X, _ = make_swiss_roll(200, random_state=1)
    clusters = SpectralClustering(3, graph=KNearest(8), random_state=0).fit(X)
    display = EigenvalueDisplay.from_estimator(clusters)
    np.testing.assert_array_equal(display.lines_[0].get_ydata(), clusters.eigenvalues_)


def test_every_component_has_a_line_of_its_own():
    # Two paths, of three rows and of two: the second has one eigenvalue above 0.
    graph = Graph.from_edges([0, 1, 3], [1, 2, 4])
    mapped = LaplacianEigenmaps(2, graph=graph, disconnected="per_component").fit(np.arange(5.0)[:, None])
    display = EigenvalueDisplay.from_estimator(mapped)
    np.testing.assert_allclose([line.get_ydata() for line in display.lines_], [[1, 2], [2, np.nan]], atol=1e-12)
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["Component 1", "Component 2"]


def test_many_parts_are_drawn_and_the_first_ten_named():
    display = EigenvalueDisplay(np.outer(np.arange(1, 14), [0.1, 0.2])).plot()
    assert len(display.lines_) == 13
    assert len(display.ax_.get_legend().get_texts()) == 10


def test_values_below_zero_are_in_sight_and_a_panel_can_be_given():
    _, panels = pyplot.subplots(1, 2)
    display = EigenvalueDisplay([3.0, 1.0, -0.5]).plot(panels[1])
    assert display.ax_ is panels[1]
    assert display.ax_.get_ylim()[0] < -0.5


class Chance(PCA):
    """A map that knows what its values would be by chance."""

    @property
    def parallel_analysis_(self):
        total = self.explained_variance_[0] / self.explained_variance_ratio_[0]
        return ParallelAnalysis(self.explained_variance_, total * np.array([0.4, 0.3, 0.2]), 1, 100)


def test_the_reference_of_random_tables_is_drawn_dashed_in_the_unit_of_the_values():
    pca = Chance(3).fit(load_iris().data)
    display = EigenvalueDisplay.from_estimator(pca)
    total = pca.explained_variance_[0] / pca.explained_variance_ratio_[0]
    np.testing.assert_allclose(display.reference_.get_ydata(), total * np.array([0.4, 0.3, 0.2]), rtol=1e-12)
    assert display.reference_.get_linestyle() == "--"
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["by chance (parallel analysis)"]
    assert len(display.lines_) == 1


def test_a_reference_is_drawn_as_far_as_there_are_values():
    display = EigenvalueDisplay([3.0, 1.0], reference=[2.0, 1.5, 1.0]).plot()
    np.testing.assert_array_equal(display.reference_.get_xydata(), [[1, 2], [2, 1.5]])
    assert EigenvalueDisplay([3.0, 1.0]).plot().reference_ is None


def test_an_object_without_eigenvalues_is_refused():
    with pytest.raises(NotFittedError):
        EigenvalueDisplay.from_estimator(PCA())
    clusters = SpectralClustering(2, graph=KNearest(8), random_state=0)
    clusters.labels_ = np.zeros(3)
    with pytest.raises(
        TypeError,
        match=r"^SpectralClustering has neither eigenvalues_ nor explained_variance_",
    ):
        EigenvalueDisplay.from_estimator(clusters)
    with pytest.raises(DataError, match=r"^There is no eigenvalue to draw: every one is NaN\.$"):
        EigenvalueDisplay([np.nan, np.nan]).plot()
