"""Descriptions of maps that are functions of the columns: PCA, independent components and autoencoders."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tamiz._study.map_descriptions.description import MapDescription, to_gallery
from tamiz.reduction.base import ImageSet
from tamiz.runtime.user_warnings import quote_name
from tamiz.table.encoding import INDICATOR_MEANS

if TYPE_CHECKING:
    from tamiz.reduction.autoencoder import Autoencoder
    from tamiz.reduction.ica import ICA
    from tamiz.reduction.pca import PCA
    from tamiz.reduction.principal.parallel_analysis import ParallelAnalysis

# The share of its variance from which a column counts as lost, and the most columns that a note names.
_LOST_SHARE, _MAX_NAMED_COLUMNS = 0.5, 5


def describe_pca(pca: PCA) -> MapDescription:
    """Describe the preprocessing, the shares of variance, the null model and the loadings."""
    shares, total = pca.explained_variance_ratio_, float(pca.coordinate_variances_.sum())
    chance = pca.parallel_analysis_
    return MapDescription(
        pca.axis_names_,
        _pca_notes(pca),
        spectrum_label="Share of the total variance",
        spectrum=shares.tolist(),
        cumulative=np.cumsum(shares).tolist(),
        chance_spectrum=[] if chance is None else (chance.reference / total).tolist(),
        chance_title="" if chance is None else _chance_title(chance),
        chance_note=""
        if chance is None
        else "Chance: the mean over random tables of the same size with independent columns (parallel analysis, Horn 1965).",
        loading_names=pca.coordinate_names_,
        loadings=pca.loadings_.tolist(),
        galleries=[to_gallery(images, _image_note(images)) for images in pca.image_sets()],
    )


def _pca_notes(pca: PCA) -> list[str]:
    """Return notes on scaling, categories, missing values and the solver."""
    n_indicators = sum(stop - start for start, stop in pca.level_spans_)
    notes = []
    if pca.standardize and n_indicators < len(pca.coordinate_variances_):
        notes.append("Numeric columns are divided by their standard deviation.")
    notes += _category_notes(pca)
    notes += _missing_value_notes(pca.n_missing_, pca.missing, has_categories=bool(pca.level_spans_))
    if pca.solver_ == "randomized":
        notes.append(
            f"Directions found by block Krylov from a random start: residuals up to {float(pca.residuals_.max()):.1g}."
        )
    if pca.whiten:
        notes.append("Each coordinate is divided by its standard deviation (whitened).")
    return notes


def _missing_value_notes(n_missing: int, missing: str, *, has_categories: bool) -> list[str]:
    if not n_missing:
        return []
    values = "missing value" if n_missing == 1 else "missing values"
    treatment = {
        "mean": f"{'was' if n_missing == 1 else 'were'} imputed with the mean of the column"
        f"{INDICATOR_MEANS if has_categories else ''}",
        "pairwise": f"{'was' if n_missing == 1 else 'were'} excluded pairwise: each covariance uses the rows with both values",
        "iterative": f"{'was' if n_missing == 1 else 'were'} imputed by the components, by least squares",
    }
    return [f"{n_missing:,} {values} {treatment[missing]}."]


def _category_notes(pca: PCA) -> list[str]:
    """Return a note on the weights of categorical columns; with FAMD weights also their share of the total variance."""
    levels, variances = pca.level_spans_, pca.coordinate_variances_
    if not levels:
        return []
    indicator = "A categorical column with K levels becomes K indicators (0 or 1), each divided by sqrt("
    if pca.categories == "balanced":
        count = sum(bool(variances[start:stop].any()) for start, stop in levels)
        count += int((variances[: levels[0][0]] > 0).sum())
        shares = f"; the total variance is {count:,}, the number of columns" if pca.standardize and count > 1 else ""
        return [
            f"{indicator}p (K - 1)), where p is the share of its level, so that the column has a total variance of 1{shares}."
        ]
    total = float(variances.sum())
    share = sum(float(variances[start:stop].sum()) for start, stop in levels) / total if total > 0 else 0.0
    return [
        f"{indicator}p), where p is the share of its level (FAMD): the total variance of the column is K - 1, and categorical "
        f"columns account for {share:.1%} of the total; categories='balanced' gives each column total variance 1."
    ]


def _chance_title(chance: ParallelAnalysis) -> str:
    """Return the heading with the components before the first one that is not above the null model."""
    n, n_computed = chance.n_components, len(chance.explained_variance)
    if n == 0:
        return "The first component explains no more variance than expected by chance"
    first = "The first component explains" if n == 1 else f"The first {n:,} components explain"
    # A later component may again be above; parallel analysis does not count it.
    rest = f"; component {n + 1:,} does not" if n < n_computed else ""
    return f"{first} more variance than expected by chance{rest}"


def _image_note(images: ImageSet) -> str:
    """Return what images of a PCA show."""
    if images.shows_rows:
        return "The reconstruction from the mean and this number of components."
    if images.signed:
        return "Changes along each component: light pixels become lighter, dark pixels darker, and grey pixels do not change."
    return "The average of every pixel."


def describe_ica(ica: ICA) -> MapDescription:
    """Describe the number of components, their test, the convergence, and the negentropy of every component."""
    from tamiz.reduction.ica import GAUSSIAN_LEVEL

    k = len(ica.components_)
    n_gaussian = int((ica.gaussian_p_values_ > GAUSSIAN_LEVEL).sum())
    notes = [
        f"The first {k:,} principal components, scaled to variance 1 and rotated to be as independent as possible."
        if k > 1
        else "The first principal component, scaled to variance 1."
    ]
    if ica.standardize:
        notes.append("Numeric columns are divided by their standard deviation.")
    if n_gaussian > 1:
        notes.append(
            f"{n_gaussian:,} of the components cannot be distinguished from noise, and their directions are arbitrary."
        )
    if not ica.converged_:
        notes.append(f"The rotation was still changing after {ica.n_iter_:,} iterations.")
    return MapDescription(
        ica.axis_names_,
        notes,
        proximity_note="Rows with similar sources are near each other; every source has the same variance.",
        spectrum_label="Negentropy value",
        spectrum=ica.negentropy_.tolist(),
        spectrum_note="How far the distribution of each coordinate is from normal; 0 for a normal distribution.",
        loading_names=ica.coordinate_names_,
        loadings=ica.mixing_.tolist(),
    )


def describe_autoencoder(autoencoder: Autoencoder) -> MapDescription:
    """Describe the error beside that of PCA, the columns by their errors, and the training."""
    n = autoencoder.n_validation_
    rows = f"{n:,} rows that it was not trained on" if n else "the rows that it was trained on"
    sizes = " and ".join(f"{size:,}" for size in autoencoder.hidden_sizes_)
    layers = "one layer" if len(autoencoder.hidden_sizes_) == 1 else f"{len(autoencoder.hidden_sizes_)} layers"
    kind = f"{layers} of {sizes} units before the coordinates and as many after them" if sizes else "linear layers"
    ended = "converged within" if autoencoder.converged_ else "was still improving after"
    n_axes = len(autoencoder.axis_names_)
    components = "the first principal component" if n_axes == 1 else f"the first {n_axes:,} principal components"
    return MapDescription(
        autoencoder.axis_names_,
        [
            f"A network with {kind} reconstructs the rows from the coordinates. The reconstructions lose "
            f"{autoencoder.error_:.1%} of the variance of {rows}, and those of PCA from {components} "
            f"{autoencoder.pca_error_:.1%}.",
            *_column_error_notes(autoencoder),
            f"The training {ended} {autoencoder.n_epochs_:,} epochs.",
        ],
        proximity_note=(
            "Rows that the network reconstructs alike are near each other. The network is not linear, so that equal distances in "
            "different parts of the map may mean different things."
            if sizes
            else "Rows with similar reconstructions are near each other."
        ),
        comparable_axes=False,
    )


def _column_error_notes(autoencoder: Autoencoder) -> list[str]:
    """Return notes on the columns that the coordinates describe best, and on those of which they lose at least half."""
    columns = [] if autoencoder.schema_ is None else autoencoder.schema_.columns
    errors = {
        column.name: float(error)
        for column, error in zip(columns, autoencoder.column_errors_, strict=True)
        if not np.isnan(error) and not column.constant
    }
    ascending = sorted(errors, key=lambda name: errors[name])
    kept = [name for name in ascending if errors[name] < _LOST_SHARE]
    lost = [name for name in reversed(ascending) if errors[name] >= _LOST_SHARE]
    return [
        f"{sentence} {', '.join(f'{quote_name(name)} ({errors[name]:.0%})' for name in names[:_MAX_NAMED_COLUMNS])}"
        f"{f' and {len(names) - _MAX_NAMED_COLUMNS:,} more' if len(names) > _MAX_NAMED_COLUMNS else ''}."
        for sentence, names in (
            ("Columns with the smallest loss of variance:", kept),
            ("Columns of which the coordinates lose at least half of the variance:", lost),
        )
        if names
    ]
