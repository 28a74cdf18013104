"""Plots of images: components in grey around 0, other images from their smallest to their largest value."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.manifold import MDS

from tamiz.display import ImageDisplay
from tamiz.exceptions import DataError
from tamiz.reduction import PCA
from tamiz.reduction.base import ImageSet

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
