"""Notes and warnings about a fitted PCA, and its components as images (eigenfaces) if the columns are pixels."""

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


CHANCE_NOTE = (
    "The expectation by chance is the mean over random tables with as many rows and independent columns "
    "(parallel analysis, Horn 1965)."
)
# Largest number of columns named in a warning.
_MAX_NAMED_COLUMNS = 5
# Negative eigenvalues below this share of the largest count as rounding; residuals above this share cause a warning.
_EIGENVALUE_TOLERANCE, _LARGE_RESIDUAL = 1e-9, 1e-6
# Largest number of components shown as images, and numbers of components for reconstructions.
_MAX_IMAGES, _RECONSTRUCTION_STEPS = 15, (1, 5, 20, 50, 100)


def missing_value_notes(n_missing: int, missing: str) -> list[str]:
    """Return a note on the treatment of missing values."""
    if not n_missing:
        return []
    values = "missing value" if n_missing == 1 else "missing values"
    treatment = {
        "mean": f"{'was' if n_missing == 1 else 'were'} imputed with the mean of the column",
        "pairwise": f"{'was' if n_missing == 1 else 'were'} excluded pairwise: each covariance uses the rows with both values",
        "iterative": f"{'was' if n_missing == 1 else 'were'} imputed by the components, by least squares",
    }
    return [f"{n_missing:,} {values} {treatment[missing]}."]


def category_notes(
    levels: Sequence[tuple[int, int]], variances: Floats, categories: str, *, standardize: bool
) -> list[str]:
    """Return a note on the weights of categorical columns; with FAMD weights also their share of the total variance."""
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
    """Return a warning about constant columns if they matter."""
    constant = [name for name, variance in zip(names, variances, strict=True) if not variance > 0]
    if len(constant) == len(names):
        return ["PCA: all columns are constant, so that every component is 0."]
    if not constant or not standardize:
        return []
    named = ", ".join(constant[:_MAX_NAMED_COLUMNS])
    more = f" and {len(constant) - _MAX_NAMED_COLUMNS:,} more" if len(constant) > _MAX_NAMED_COLUMNS else ""
    verb = "is" if len(constant) == 1 else "are"
    return [f"PCA: {named}{more} {verb} constant and cannot be standardised; the coordinates are 0."]


def decomposition_warnings(components: PrincipalComponents, advice: str = "") -> list[str]:
    """Return warnings about negative eigenvalues and large residuals of a decomposition."""
    warnings, largest = [], float(components.variances[0])
    if components.smallest_eigenvalue < -_EIGENVALUE_TOLERANCE * largest:
        warnings.append(
            f"PCA: the covariance is not positive semidefinite (smallest eigenvalue {components.smallest_eigenvalue:.3g}), so that "
            f"ratios of explained variance may sum to more than 1. Negative variances are set to 0{advice}."
        )
    worst = float(components.residuals.max(initial=0.0))
    if worst > _LARGE_RESIDUAL * largest:
        warnings.append(
            f"PCA: a component did not converge: its residual is {worst:.2g}, and the largest variance {largest:.4g}."
        )
    return warnings


def chance_title(analysis: ParallelAnalysis, shares: Floats) -> str:
    """Return the heading with the number of components above the null model, of all or of the first components."""
    n, k = analysis.n_components, len(analysis.reference)
    if n == 0:
        return "No component explains more variance than expected by chance"
    first = "" if shares.sum() >= 1 - _EIGENVALUE_TOLERANCE else "the first "
    verb = "explains" if n == 1 else "explain"
    return f"{n:,} of {first}{k:,} component{'s' * (k > 1)} {verb} more variance than expected by chance"


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


def eigenimages(pca: PCA, shape: tuple[int, int], embedding: NDArray[Any] | None) -> list[Gallery]:
    """Return images of the mean and the components of a fitted PCA, and of reconstructed rows of its embedding."""
    size = (int(shape[0]), int(shape[1]))
    shown = min(pca.n_components_, _MAX_IMAGES)
    found = [
        Gallery("The mean", "The average of every pixel.", size, ["Mean"], [pca.mean_.tolist()]),
        Gallery(
            "The components",
            "Changes along each component: light pixels become lighter, dark pixels darker, and grey pixels do not change.",
            size,
            [f"PC {k + 1} ({pca.explained_variance_ratio_[k]:.1%})" for k in range(shown)],
            (pca.components_[:shown] * pca.scale_).tolist(),
            signed=True,
        ),
    ]
    return found if embedding is None else found + _reconstructions(pca, size, embedding)


def _reconstructions(pca: PCA, size: tuple[int, int], embedding: NDArray[Any]) -> list[Gallery]:
    """Return reconstructions from more and more components, of the rows at the ends and the middle of the first component."""
    order = np.argsort(embedding[:, 0], kind="stable")
    steps = [*(k for k in _RECONSTRUCTION_STEPS if 2 * k <= pca.n_components_), pca.n_components_]
    shown = []
    for row in sorted({int(order[0]), int(order[len(order) // 2]), int(order[-1])}):
        points = np.zeros((len(steps), pca.n_components_))
        for i, k in enumerate(steps):
            points[i, :k] = embedding[row, :k]
        names = [f"{k} component{'s' * (k > 1)}" for k in steps]
        note = "The reconstruction from the mean and this number of components."
        images = pca.inverse_transform(points).tolist()
        shown.append(Gallery(f"Row {row + 1} reconstructed", note, size, names, images, shows_rows=True))
    return shown
