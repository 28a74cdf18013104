"""Plot of images: components, means and rows whose columns are pixels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array, check_is_fitted

from tamiz.display import figures
from tamiz.display.base import read_names
from tamiz.display.coloring import escape_text
from tamiz.exceptions import DataError
from tamiz.reduction.base import Reducer
from tamiz.runtime.validation import check_integer

_IMAGES_PER_ROW = 8
_INCHES_PER_IMAGE, _INCHES_PER_NAME = 1.3, 0.25


@dataclass(eq=False, repr=False)
class ImageDisplay:
    """Images of one shape in a grid, in grey.

    Parameters
    ----------
    images : array-like of shape (n_images, n_pixels)
        Pixels, row by row.
    shape : tuple of two int
        Height and width in pixels.
    names : list of str, default=None
        Names of the images.
    signed : bool, default=False
        True maps 0 to the middle grey; False scales each image from its smallest to its largest value.
    title : str, default=""

    Attributes
    ----------
    figure_ : matplotlib Figure
    images_ : list of matplotlib AxesImage

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tamiz.display import ImageDisplay
    >>> from tamiz.reduction import PCA
    >>> pca = PCA(10).fit(load_digits().data)
    >>> display = ImageDisplay(pca.components_, (8, 8), signed=True).plot()
    >>> len(display.images_), display.images_[0].get_array().shape
    (10, (8, 8))
    """

    images: ArrayLike
    shape: tuple[int, int]
    _: KW_ONLY
    names: Sequence[str] | None = None
    signed: bool = False
    title: str = ""

    @classmethod
    def from_estimator(cls, estimator: Reducer, *, gallery: int | None = None) -> Self:
        """Draw images of a fitted map whose columns are pixels.

        Parameters
        ----------
        estimator : Reducer
            A fitted map that knows the shape of the images, such as a PCA with `image_shape`.
        gallery : int, default=None
            Index of a set of images in `estimator.image_sets()`. None is the first signed set, such as the components,
            or the first of all.

        Returns
        -------
        ImageDisplay
        """
        if not isinstance(estimator, Reducer):
            raise TypeError(f"from_estimator requires a fitted map of tamiz.reduction, got {type(estimator).__name__}.")
        check_is_fitted(estimator)
        image_sets = estimator.image_sets()
        if not image_sets:
            raise TypeError(
                f"{type(estimator).__name__} has no images, because it was fitted without image_shape. Use "
                "ImageDisplay(images, shape) for any rows of pixels."
            )
        if gallery is None:
            shown = next((one for one in image_sets if one.signed), image_sets[0])
        else:
            shown = image_sets[check_integer("gallery", gallery, low=0, high=len(image_sets) - 1)]
        return cls(shown.images, shown.shape, names=shown.names, signed=shown.signed, title=shown.title).plot()

    def plot(self) -> Self:
        """Draw in a new figure, eight images per row."""
        images = check_array(self.images, dtype=np.float64)
        height, width = (check_integer("shape", side, low=1) for side in self.shape)
        if images.shape[1] != height * width:
            raise DataError(
                f"An image of {height:,} x {width:,} has {height * width:,} pixels, but the rows have {images.shape[1]:,}."
            )
        names = [""] * len(images) if self.names is None else read_names(self.names, len(images), "image")
        n_columns = min(len(images), _IMAGES_PER_ROW)
        n_rows = -(-len(images) // n_columns)
        tall = _INCHES_PER_IMAGE * height / width + (0.0 if self.names is None else _INCHES_PER_NAME)
        self.figure_, panels = figures.make_panels(n_rows, n_columns, width=_INCHES_PER_IMAGE, height=tall)
        for panel in panels.flat:
            panel.set_axis_off()
        self.images_ = []
        for panel, pixels, name in zip(panels.flat, images, names, strict=False):
            self.images_.append(self._draw(panel, pixels.reshape(height, width)))
            panel.set_title(escape_text(name), fontsize="small", color=figures.MUTED)
        if self.title:
            self.figure_.suptitle(escape_text(self.title), x=0.01, ha="left", fontsize="medium", color=figures.INK)
        return self

    def _draw(self, panel: Any, pixels: Any) -> Any:
        limit = float(np.abs(pixels).max()) or 1.0
        limits = {"vmin": -limit, "vmax": limit} if self.signed else {}
        return panel.imshow(pixels, cmap="gray", interpolation="nearest", **limits)
