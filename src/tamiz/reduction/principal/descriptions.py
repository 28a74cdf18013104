"""What a reader of principal components must know, a sentence each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tamiz.exceptions import DataError
from tamiz.reduction.base import Gallery
from tamiz.reduction.principal.decomposition import PrincipalComponents
from tamiz.reduction.principal.parallel_analysis import ParallelAnalysis
from tamiz.runtime.validation import check_integer
from tamiz.sources.schema import Schema
from tamiz.statistics.base import Floats

if TYPE_CHECKING:
    from tamiz.reduction.pca import PCA


# MERGED: Components as images (eigenfaces), where the columns are pixels.
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


# What chance is.
CHANCE_NOTE = (
    "By chance is the mean of tables of as many rows whose columns are independent (parallel analysis, Horn 1965)."
)
# Columns named in one sentence.
_MAX_NAMED_COLUMNS = 5
# An eigenvalue below 0 by less than this share of the largest is 0 to rounding, and a residual above this one is told.
_EIGENVALUE_TOLERANCE, _LARGE_RESIDUAL = 1e-9, 1e-6


def missing_value_notes(n_missing: int, missing: str) -> list[str]:
    """Return how missing values were counted."""
    if not n_missing:
        return []
    values = "missing value" if n_missing == 1 else "missing values"
    told = {
        "mean": f"{'counts' if n_missing == 1 else 'count'} as the mean of the column",
        "pairwise": "left out pair by pair: every covariance is taken over the rows that have both",
        "iterative": "filled by the components themselves, in least squares",
    }
    return [f"{n_missing:,} {values} {told[missing]}."]


def category_notes(
    levels: Sequence[tuple[int, int]], variances: Floats, categories: str, *, standardize: bool
) -> list[str]:
    """Return how categorical columns are weighted, and with FAMD's weights how much of the total variance they contribute."""
    if not levels:
        return []
    indicator = (
        "A categorical column is one indicator (0 or 1) for each of its K levels, divided by the square root of the level's "
        "share"
    )
    if categories == "balanced":
        count = sum(bool(variances[start:stop].any()) for start, stop in levels)
        count += int((variances[: levels[0][0]] > 0).sum())
        shares = f": proportions are shares of {count:,} columns" if standardize and count > 1 else ""
        return [f"{indicator} and of K - 1, so that each categorical column has total variance 1{shares}."]
    total = float(variances.sum())
    share = sum(float(variances[start:stop].sum()) for start, stop in levels) / total if total > 0 else 0.0
    return [
        f"{indicator} (FAMD): its total variance is K - 1, and categorical columns account for {share:.1%} of the "
        "total; categories='balanced' gives each column total variance 1."
    ]


def constant_column_warnings(names: Sequence[str], variances: Floats, *, standardize: bool) -> list[str]:
    """Return which columns do not vary, where that matters."""
    still = [name for name, variance in zip(names, variances, strict=True) if not variance > 0]
    if len(still) == len(names):
        return ["PCA: no column varies in what is present, so that every component is 0."]
    if not still or not standardize:
        return []
    named = ", ".join(still[:_MAX_NAMED_COLUMNS])
    more = f" and {len(still) - _MAX_NAMED_COLUMNS:,} more" if len(still) > _MAX_NAMED_COLUMNS else ""
    verb = "is" if len(still) == 1 else "are"
    return [f"PCA: {named}{more} {verb} constant, and cannot be standardised: 0 in every row."]


def decomposition_warnings(components: PrincipalComponents, advice: str = "") -> list[str]:
    """Return what is wrong with a decomposition, and what else could be done."""
    told, largest = [], float(components.variances[0])
    if components.smallest_eigenvalue < -_EIGENVALUE_TOLERANCE * largest:
        told.append(
            f"PCA: the covariance has eigenvalues below 0, the least is {components.smallest_eigenvalue:.3g}: no rows without gaps have such a "
            f"covariance, and shares of its total may sum to more than 1. Variances below 0 are given as 0{advice}."
        )
    worst = float(components.residuals.max(initial=0.0))
    if worst > _LARGE_RESIDUAL * largest:
        told.append(f"PCA: a direction has the residual {worst:.2g} beside the variance {largest:.4g}.")
    return told


def chance_title(analysis: ParallelAnalysis, shares: Floats) -> str:
    """Return how many components are more than chance: of all, where their shares of the variance sum to 1, or of the first."""
    n, k = analysis.n_components, len(analysis.reference)
    if n == 0:
        return "No component holds more than chance would give"
    first = "" if shares.sum() >= 1 - _EIGENVALUE_TOLERANCE else "the first "
    return f"{n:,} of {first}{k:,} component{'s' * (k > 1)} {'holds' if n == 1 else 'hold'} more than chance would give"
