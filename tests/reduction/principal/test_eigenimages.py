"""Principal components as images."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, load_iris

from tamiz.reduction import PCA

DIGITS = load_digits().data


def test_eigenimages_are_the_mean_the_components_and_reconstructed_rows():
    pca = PCA(20, image_shape=(8, 8)).fit(DIGITS)
    mean, components, *reconstructed = pca.image_sets()
    np.testing.assert_allclose(mean.images, [DIGITS.mean(axis=0)], atol=1e-10)
    np.testing.assert_allclose(components.images, pca.components_[:15], atol=1e-12)
    assert (mean.shape, components.names[0]) == ((8, 8), f"PC 1 ({pca.explained_variance_ratio_[0]:.1%})")
    assert components.signed
    assert [gallery.shows_rows for gallery in (mean, components, *reconstructed)] == [False, False, True, True, True]
    for gallery in reconstructed:
        assert gallery.names == ["1 component", "5 components", "20 components"]
        row = int(gallery.title.removeprefix("Row ").removesuffix(" reconstructed")) - 1
        np.testing.assert_allclose(gallery.images[1], pca.reconstruct(DIGITS[[row]], 5)[0], atol=1e-10)


def test_more_components_rebuild_rows_better_and_all_of_them_give_them_back():
    pca = PCA(None).fit(DIGITS)
    errors = [np.linalg.norm(pca.reconstruct(DIGITS, k) - DIGITS) for k in (0, 1, 5, 20, 64)]
    assert errors == sorted(errors, reverse=True)
    np.testing.assert_allclose(
        pca.reconstruct(DIGITS, 0), np.broadcast_to(DIGITS.mean(axis=0), DIGITS.shape), atol=1e-12
    )
    np.testing.assert_allclose(pca.reconstruct(DIGITS), DIGITS, atol=1e-10)
    # What is left out is what the components left out hold.
    left = pca.explained_variance_[5:].sum() * (len(DIGITS) - 1)
    np.testing.assert_allclose(errors[2] ** 2, left, rtol=1e-10)
    with pytest.raises(ValueError, match="n_components must be from 0 to 64, got 65"):
        pca.reconstruct(DIGITS, 65)


@pytest.mark.parametrize(
    ("shape", "error", "message"),
    [
        ((4, 5), ValueError, r"image_shape=\(4, 5\) is 20 pixels, and there are 64 columns"),
        ((0, 64), ValueError, "image_shape must be at least 1, got 0"),
        (64, TypeError, r"image_shape must be two numbers, rows and columns of pixels such as \(28, 28\), got 64"),
    ],
)
def test_a_shape_that_does_not_fit_is_refused(shape, error, message):
    with pytest.raises(error, match=message):
        PCA(2, image_shape=shape).fit(DIGITS)


def test_a_category_is_no_pixel():
    frame = load_iris(as_frame=True).data.assign(kind=list("abc") * 50)
    with pytest.raises(ValueError, match="image_shape needs numeric columns, and column kind is not numeric"):
        PCA(2, image_shape=(1, 7)).fit(frame)


def test_a_mean_alone_is_shown_where_there_are_no_rows():
    pca = PCA(2, image_shape=(8, 8)).fit_covariance(pd.DataFrame(DIGITS).cov(), mean=DIGITS.mean(axis=0))
    assert [gallery.title for gallery in pca.image_sets()] == ["The mean", "The components"]
