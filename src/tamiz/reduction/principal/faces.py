"""Components as images (eigenfaces), where the columns are pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tamiz.exceptions import DataError
from tamiz.reduction.base import Gallery
from tamiz.sources.schema import Schema
from tamiz.validation import check_integer

if TYPE_CHECKING:
    from tamiz.reduction.pca import PCA

# Components shown, and from how many of them a row is rebuilt: what a reader can take in.
_MAX_IMAGES, _RECONSTRUCTION_STEPS = 15, (1, 5, 20, 50, 100)


def check_image_shape(shape: Any, n_coordinates: int, schema: Schema | None) -> None:
    """Refuse columns that are not the pixels of such an image."""
    if shape is None:
        return
    if np.shape(shape) != (2,):
        raise TypeError(f"image_shape must be two numbers, rows and columns of pixels such as (28, 28), got {shape!r}.")
    height, width = (check_integer("image_shape", side, low=1) for side in shape)
    if schema is not None and (schema.categorical or len(schema.used) < schema.n_columns):
        left = next(c.name for c in schema.columns if c.exclusion_reason is not None or not c.is_number)
        raise DataError(f"Pixels are numbers, and column {left} is none: leave it out, or image_shape.")
    if height * width != n_coordinates:
        raise DataError(
            f"image_shape={(height, width)} is {height * width:,} pixels, and there are {n_coordinates:,} columns."
        )


def eigenimages(pca: PCA, shape: tuple[int, int], embedding: NDArray[Any] | None) -> list[Gallery]:
    """Return the mean and the components of a fitted PCA as images, and rows rebuilt from some of them where there are rows."""
    size = (int(shape[0]), int(shape[1]))
    shown = min(pca.n_components_, _MAX_IMAGES)
    found = [
        Gallery("The mean", "The average of every pixel.", size, ["Mean"], [pca.mean_.tolist()]),
        Gallery(
            "The components",
            "What is added to the mean along each: light where it grows lighter, dark where it grows darker, grey where it stays.",
            size,
            [f"PC {k + 1} ({pca.explained_variance_ratio_[k]:.1%})" for k in range(shown)],
            (pca.components_[:shown] * pca.scale_).tolist(),
            signed=True,
        ),
    ]
    return found if embedding is None else found + _reconstructions(pca, size, embedding)


def _reconstructions(pca: PCA, size: tuple[int, int], embedding: NDArray[Any]) -> list[Gallery]:
    """Return rows from ever more components: the ones at the ends and in the middle along the first."""
    order = np.argsort(embedding[:, 0], kind="stable")
    steps = [*(k for k in _RECONSTRUCTION_STEPS if 2 * k <= pca.n_components_), pca.n_components_]
    shown = []
    for row in sorted({int(order[0]), int(order[len(order) // 2]), int(order[-1])}):
        points = np.zeros((len(steps), pca.n_components_))
        for i, k in enumerate(steps):
            points[i, :k] = embedding[row, :k]
        names = [f"{k} component{'s' * (k > 1)}" for k in steps]
        note = "The row as the mean and so many components give it."
        images = pca.inverse_transform(points).tolist()
        shown.append(Gallery(f"Row {row + 1} rebuilt", note, size, names, images, shows_rows=True))
    return shown
