"""Components as images (eigenimages, eigenfaces), where the columns are the pixels of an image."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats
from tamiz.exceptions import DataError
from tamiz.reduction.base import ImageSet
from tamiz.runtime.validation import check_integer
from tamiz.table.schema import Schema

# Largest number of components shown as images, and numbers of components for reconstructions.
_MAX_IMAGES, _RECONSTRUCTION_STEPS = 15, (1, 5, 20, 50, 100)


def check_image_shape(shape: Any, n_coordinates: int, schema: Schema | None) -> None:
    """Raise an error if the columns are not the pixels of an image of this shape."""
    if shape is None:
        return
    if np.shape(shape) != (2,):
        raise TypeError(f"image_shape must be two numbers, rows and columns of pixels such as (28, 28), got {shape!r}.")
    height, width = (check_integer("image_shape", side, low=1) for side in shape)
    if schema is not None and (schema.categorical or len(schema.used) < schema.n_columns):
        left = next(c.name for c in schema.columns if c.exclusion_reason is not None or not c.is_number)
        raise DataError(
            f"image_shape needs numeric columns, and column {left} is not numeric. Remove the column or image_shape."
        )
    if height * width != n_coordinates:
        raise DataError(
            f"image_shape={(height, width)} is {height * width:,} pixels, and there are {n_coordinates:,} columns."
        )


def mean_image(shape: tuple[int, int], mean: Floats) -> ImageSet:
    return ImageSet("The mean", shape, ["Mean"], [mean.tolist()], note="The average of every pixel.")


def eigenimages(shape: tuple[int, int], components: NDArray[Any], scale: Floats, shares: Floats) -> ImageSet:
    """Return the first components as images in the units of the columns; `scale` divides the columns in the fit."""
    shown = min(len(components), _MAX_IMAGES)
    names = [f"PC {k + 1} ({shares[k]:.1%})" for k in range(shown)]
    note = (
        "Changes along each component: light pixels become lighter, dark pixels darker, and grey pixels do not change."
    )
    return ImageSet("The components", shape, names, (components[:shown] * scale).tolist(), signed=True, note=note)


def reconstructed_rows(
    shape: tuple[int, int], embedding: NDArray[Any], reconstruct: Callable[[Floats], NDArray[Any]]
) -> list[ImageSet]:
    """Return reconstructions from more and more components, of the rows at the ends and the middle of the first component."""
    n_components = embedding.shape[1]
    order = np.argsort(embedding[:, 0], kind="stable")
    steps = [*(k for k in _RECONSTRUCTION_STEPS if 2 * k <= n_components), n_components]
    names = [f"{k} component{'s' * (k > 1)}" for k in steps]
    shown = []
    for row in sorted({int(order[0]), int(order[len(order) // 2]), int(order[-1])}):
        points = np.zeros((len(steps), n_components))
        for i, k in enumerate(steps):
            points[i, :k] = embedding[row, :k]
        images = reconstruct(points).tolist()
        note = "The reconstruction from the mean and this number of components."
        shown.append(ImageSet(f"Row {row + 1} reconstructed", shape, names, images, shows_rows=True, note=note))
    return shown
