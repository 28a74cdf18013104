"""Plots of stress, Shepard diagrams and eigenvalues."""

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.base import BaseEstimator
from sklearn.datasets import load_iris, make_swiss_roll
from sklearn.exceptions import NotFittedError

from tamiz.cluster import SpectralClustering
from tamiz.display import EigenvalueDisplay, PointStressDisplay, QualityDisplay, ShepardDisplay, StressDisplay
from tamiz.exceptions import DataError
from tamiz.graphs import Graph, KNearest
from tamiz.metrics import quality, rank_agreement, shepard
from tamiz.reduction import MDS, PCA, LaplacianEigenmaps
from tamiz.reduction.parallel_analysis import ParallelAnalysis


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
