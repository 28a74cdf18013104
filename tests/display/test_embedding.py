"""Plots of maps: points, colours, legends and notes."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib import colors, pyplot
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.manifold import MDS

from tamiz.display import EmbeddingDisplay, ImageDisplay, figures
from tamiz.display.embedding import biplot_arrows
from tamiz.exceptions import DataError
from tamiz.graphs import KNearest
from tamiz.reduction import PCA, LaplacianEigenmaps
from tamiz.reduction.base import ImageSet

IRIS = load_iris()
RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def pca():
    return PCA(3).fit(IRIS.data)


def legend_of(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def test_a_fitted_map_is_drawn_under_the_names_of_its_axes(pca):
    display = EmbeddingDisplay.from_estimator(pca)
    (points,) = display.points_
    np.testing.assert_array_equal(points.get_offsets(), pca.embedding_[:, :2])
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("PC 1", "PC 2")
    assert display.figure_ is display.ax_.figure


def test_other_coordinates_are_drawn_when_asked(pca):
    display = EmbeddingDisplay.from_estimator(pca, components=(2, 0))
    np.testing.assert_array_equal(display.points_[0].get_offsets(), pca.embedding_[:, [2, 0]])
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("PC 3", "PC 1")


def test_an_eigenmap_is_drawn_as_well_as_any_map():
    mapped = LaplacianEigenmaps(2, graph=KNearest(20)).fit(IRIS.data[50:])
    display = EmbeddingDisplay.from_estimator(mapped)
    np.testing.assert_array_equal(display.points_[0].get_offsets(), mapped.embedding_)


def test_points_of_any_origin_are_drawn_in_the_panel_given():
    _, (left, right) = pyplot.subplots(1, 2)
    points = RNG.normal(size=(30, 2))
    display = EmbeddingDisplay.from_embedding(points, ax=right, names=["east", "north"])
    assert display.ax_ is right
    assert not left.collections
    assert right.get_xlabel() == "east"


def test_numbers_are_shades_with_a_bar_and_missing_ones_grey_below():
    values = np.linspace(2.0, 4.5, 50)
    values[[3, 7]] = np.nan
    display = EmbeddingDisplay.from_embedding(RNG.normal(size=(50, 2)), color=values, color_label="weight")
    gaps, shaded = display.ax_.collections
    assert len(gaps.get_offsets()) == 2
    assert colors.to_hex(gaps.get_facecolor()[0]) == figures.FAINT
    np.testing.assert_array_equal(shaded.get_array(), values[~np.isnan(values)])
    assert shaded.cmap(0.0)[:3] == colors.to_rgb(figures.GRADIENT[0])
    assert display.figure_.axes[-1].get_ylabel() == "weight (2 missing, grey)"


def test_classes_have_a_colour_and_a_shape_each_and_missing_ones_are_grey():
    species = pd.Series(IRIS.target_names[IRIS.target], name="species").where(np.arange(150) % 50 > 0)
    display = EmbeddingDisplay.from_embedding(IRIS.data[:, 2:], color=species)
    assert legend_of(display) == ["missing", "setosa", "versicolor", "virginica"]
    assert display.ax_.get_legend().get_title().get_text() == "species"
    assert [len(points.get_offsets()) for points in display.points_] == [3, 49, 49, 49]
    drawn = [colors.to_hex(points.get_facecolor()[0]) for points in display.points_]
    assert drawn == [figures.FAINT, *figures.CLASS_COLORS[:3]]
    assert len({points.get_paths()[0].vertices.tobytes() for points in display.points_[1:]}) == 3


@pytest.mark.parametrize(
    ("color", "names"),
    [
        (IRIS.target, ["0", "1", "2"]),
        (IRIS.target > 0, ["False", "True"]),
        (list("ab") * 75, ["a", "b"]),
        (pl.Series("kind", ["u", "v", None] * 50), ["missing", "u", "v"]),
        ([None] * 150, ["missing"]),
        ([np.nan] * 150, ["missing"]),
    ],
    ids=["whole numbers", "booleans", "list", "polars", "nothing", "NaN"],
)
def test_a_column_of_classes_is_drawn_as_classes(color, names):
    assert legend_of(EmbeddingDisplay.from_embedding(IRIS.data[:, 2:], color=color)) == names


def test_many_integers_are_numbers():
    display = EmbeddingDisplay.from_embedding(IRIS.data[:, 2:], color=np.arange(150))
    assert display.points_[0].get_array() is not None


def test_the_rarest_of_many_classes_are_put_together():
    codes = np.repeat(np.arange(14), [20, 1, 18, 17, 2, 16, 15, 14, 3, 13, 12, 11, 4, 1])
    names = np.array([f"class {code:02d}" for code in range(14)])
    display = EmbeddingDisplay.from_embedding(RNG.normal(size=(len(codes), 2)), color=names[codes])
    kept = [code for code in range(14) if code not in (1, 4, 8, 12, 13)]
    assert legend_of(display) == [*names[kept], "other (5 classes)"]
    assert len(display.points_[-1].get_offsets()) == 1 + 2 + 3 + 4 + 1


def test_names_are_drawn_as_they_are(tmp_path):
    color = ["_hidden", "$x^2$", "a" * 60] * 10
    display = EmbeddingDisplay.from_embedding(RNG.normal(size=(30, 2)), color=color, color_label="cost in $")
    assert legend_of(display) == [r"\$x^2\$", " _hidden", "a" * 39 + "…"]
    display.figure_.savefig(tmp_path / "figure.png")


def test_one_unit_is_as_long_on_both_axes_unless_the_points_would_become_a_line():
    points = RNG.uniform(size=(50, 2))
    assert EmbeddingDisplay.from_embedding(points).ax_.get_aspect() == 1.0
    assert EmbeddingDisplay.from_embedding(points * [10, 1]).ax_.get_aspect() == "auto"
    _, panels = pyplot.subplots(1, 2, sharex=True, sharey=True)
    assert EmbeddingDisplay.from_embedding(points, ax=panels[0]).ax_.get_aspect() == "auto"


def test_one_coordinate_is_drawn_against_the_rows():
    display = EmbeddingDisplay.from_embedding([[5.0], [6.0], [2.0]])
    np.testing.assert_array_equal(display.points_[0].get_offsets(), [[5, 0], [6, 1], [2, 2]])
    assert display.ax_.get_ylabel() == "Row"


def test_many_points_are_drawn_small_and_as_a_picture():
    few, many = (EmbeddingDisplay.from_embedding(RNG.normal(size=(n, 2))).points_[0] for n in (50, 6000))
    assert few.get_sizes()[0] > 4 * many.get_sizes()[0]
    assert many.get_rasterized()
    assert not few.get_rasterized()


def test_displays_are_made_without_drawing():
    display = EmbeddingDisplay(IRIS.data[:, 2:], color=IRIS.target)
    assert not hasattr(display, "ax_")
    assert display.plot(legend=False).ax_.get_legend() is None
    assert legend_of(display.add_legend()) == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("given", "error", "sentence"),
    [
        ({"color": [1, 2]}, DataError, r"^color must have one value per point: got 2 for 150\.$"),
        ({"color": np.full(150, np.inf)}, DataError, r"^value 0, column color: inf is infinite"),
        ({"components": (0, 2)}, ValueError, r"^components must be from 0 to 1, got 2\.$"),
        ({"components": (0,)}, DataError, r"^components must be two coordinates, got 1\.$"),
        ({"names": ["one"]}, DataError, r"^names must have one value per coordinate: got 1 for 2\.$"),
    ],
)
def test_a_bad_value_is_an_error_of_one_sentence(given, error, sentence):
    with pytest.raises(error, match=sentence):
        EmbeddingDisplay.from_embedding(IRIS.data[:, 2:], **given)


def test_points_that_are_missing_are_refused():
    with pytest.raises(ValueError, match="contains NaN"):
        EmbeddingDisplay.from_embedding([[0.0, np.nan], [1.0, 1.0]])


def test_an_object_that_is_no_fitted_map_of_tamiz_is_refused_with_the_way_out():
    with pytest.raises(NotFittedError):
        EmbeddingDisplay.from_estimator(PCA())
    with pytest.raises(
        TypeError, match=r"^from_estimator requires a fitted map of tamiz\.reduction, got MDS; use from_embedding"
    ):
        EmbeddingDisplay.from_estimator(MDS())


def test_a_map_fitted_on_a_covariance_has_no_rows_to_draw_and_the_way_out_is_reported():
    covariance, mean = np.cov(IRIS.data, rowvar=False), IRIS.data.mean(axis=0)
    fitted = PCA(2).fit_covariance(covariance, mean=mean)
    with pytest.raises(
        DataError,
        match=r"^PCA was fitted on a covariance, .* pass transform\(X\) to from_embedding",
    ):
        EmbeddingDisplay.from_estimator(fitted)
    coordinates = fitted.transform(IRIS.data)
    (points,) = EmbeddingDisplay.from_embedding(coordinates).points_
    np.testing.assert_array_equal(points.get_offsets(), coordinates)


FRAME = pd.DataFrame(IRIS.data, columns=["sepal length", "sepal width", "petal length", "_petal $width$"])


def test_a_biplot_draws_the_columns_as_arrows_from_the_middle():
    fitted = PCA(3, standardize=True).fit(FRAME)
    display = EmbeddingDisplay.from_estimator(fitted, color=IRIS.target, loadings=True)
    names = [name.get_text() for name in display.arrows_]
    assert names == ["sepal width", "petal length", r" _petal \$width\$", "sepal length"]
    tips = np.array([name.xy for name in display.arrows_])
    expected = biplot_arrows(fitted.embedding_[:, :2].tolist(), fitted.loadings_[:, :2].tolist(), one_scale=True)
    np.testing.assert_allclose(tips, [[arrow.x, arrow.y] for arrow in expected])
    display.figure_.canvas.draw()
    (low_x, high_x), (low_y, high_y) = display.ax_.get_xlim(), display.ax_.get_ylim()
    assert np.all((low_x < tips[:, 0]) & (tips[:, 0] < high_x) & (low_y < tips[:, 1]) & (tips[:, 1] < high_y))


def test_the_names_at_arrows_do_not_cover_each_other():
    # Eight columns of nearly one direction.
    loadings = [[0.9, 0.001 * j] for j in range(8)]
    points = RNG.normal(size=(100, 2))
    display = EmbeddingDisplay(points, loadings=loadings, column_names=[f"a long name {j}" for j in range(8)]).plot()
    display.figure_.canvas.draw()
    boxes = [name.get_window_extent() for name in display.arrows_]
    assert len(boxes) == 8
    assert not any(a.shrunk(1.0, 0.8).overlaps(b.shrunk(1.0, 0.8)) for i, a in enumerate(boxes) for b in boxes[:i])


def test_arrows_follow_the_components_that_are_drawn():
    fitted = PCA(3).fit(FRAME)
    display = EmbeddingDisplay.from_estimator(fitted, loadings=True, components=(2, 0))
    largest = np.argmax(np.hypot(*fitted.loadings_[:, [2, 0]].T))
    assert display.arrows_[0].get_text() == FRAME.columns[largest]
    assert EmbeddingDisplay.from_estimator(fitted).arrows_ == []


def test_columns_without_names_are_numbered():
    display = EmbeddingDisplay(IRIS.data, loadings=np.eye(4)[:3]).plot()
    assert [name.get_text() for name in display.arrows_] == ["x0", "x1"]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"loadings": np.eye(3)}, r"^The loadings have 3 coordinates and the embedding has 4;"),
        (
            {"loadings": np.eye(4), "column_names": ["a"]},
            r"^column_names must have one value per loading: got 1 for 4\.$",
        ),
    ],
)
def test_loadings_that_do_not_fit_are_refused(given, sentence):
    with pytest.raises(DataError, match=sentence):
        EmbeddingDisplay(IRIS.data, **given).plot()


def test_a_map_without_loadings_has_no_biplot_and_the_way_out_is_reported():
    mapped = LaplacianEigenmaps(2, graph=KNearest(20)).fit(IRIS.data[50:])
    with pytest.raises(
        TypeError,
        match=r"^LaplacianEigenmaps has no loadings; tamiz\.reduction\.axis_correlations computes which columns",
    ):
        EmbeddingDisplay.from_estimator(mapped, loadings=True)


DIGITS = load_digits().data[:300]


class Pictures(PCA):
    """A map whose columns are the pixels of images."""

    def image_sets(self):
        names = [f"PC {k + 1}" for k in range(self.n_components_)]
        return [
            ImageSet("The mean", (8, 8), ["mean"], [self.mean_.tolist()]),
            ImageSet("Components", (8, 8), names, self.components_.tolist(), signed=True),
        ]


@pytest.fixture(scope="module")
def pictures():
    return Pictures(10).fit(DIGITS)


def test_components_have_zero_in_the_middle_of_the_grey(pictures):
    display = ImageDisplay.from_estimator(pictures)
    assert len(display.images_) == 10
    for image, component in zip(display.images_, pictures.components_, strict=True):
        np.testing.assert_array_equal(image.get_array(), component.reshape(8, 8))
        assert image.get_clim() == (-np.abs(component).max(), np.abs(component).max())
    assert [panel.get_title() for panel in display.figure_.axes[:3]] == ["PC 1", "PC 2", "PC 3"]
    assert display.figure_.get_suptitle() == "Components"


def test_other_images_go_from_their_least_to_their_largest_value(pictures):
    (mean,) = ImageDisplay.from_estimator(pictures, gallery=0).images_
    assert mean.get_clim() == (pictures.mean_.min(), pictures.mean_.max())
    assert mean.get_interpolation() == "nearest"


def test_images_are_drawn_eight_in_a_row_and_keep_their_shape():
    display = ImageDisplay(DIGITS[:11], (4, 16)).plot()
    assert len(display.figure_.axes) == 16
    assert display.images_[0].get_array().shape == (4, 16)
    blank = ImageDisplay(np.zeros((1, 4)), (2, 2), signed=True).plot()
    assert blank.images_[0].get_clim() == (-1.0, 1.0)


@pytest.mark.parametrize(
    ("shape", "names", "error", "sentence"),
    [
        ((8, 9), None, DataError, r"^An image of 8 x 9 has 72 pixels, but the rows have 64\.$"),
        ((0, 8), None, ValueError, r"^shape must be at least 1, got 0\.$"),
        ((8, 8), ["one"], DataError, r"^names must have one value per image: got 1 for 3\.$"),
    ],
)
def test_images_that_do_not_fit_are_refused(shape, names, error, sentence):
    with pytest.raises(error, match=sentence):
        ImageDisplay(DIGITS[:3], shape, names=names).plot()


def test_an_estimator_without_images_is_refused_with_the_way_out(pictures):
    with pytest.raises(NotFittedError):
        ImageDisplay.from_estimator(PCA())
    with pytest.raises(TypeError, match=r"^from_estimator requires a fitted map of tamiz\.reduction, got MDS\.$"):
        ImageDisplay.from_estimator(MDS())
    with pytest.raises(
        TypeError,
        match=r"^PCA has no images, because it was fitted without image_shape\. Use ImageDisplay\(images, shape\)",
    ):
        ImageDisplay.from_estimator(PCA(2).fit(DIGITS))
    with pytest.raises(ValueError, match=r"^gallery must be from 0 to 1, got 2\.$"):
        ImageDisplay.from_estimator(pictures, gallery=2)
