"""Descriptions of maps of a neighbour graph: eigenmaps, Isomap, locally linear embedding, t-SNE and UMAP."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tamiz._study.map_descriptions.description import MapDescription

if TYPE_CHECKING:
    from tamiz.reduction.isomap import Isomap
    from tamiz.reduction.laplacian_eigenmaps import LaplacianEigenmaps
    from tamiz.reduction.locally_linear_embedding import LocallyLinearEmbedding
    from tamiz.reduction.tsne import TSNE
    from tamiz.reduction.umap import UMAP

# An eigenvalue of a graph below this is 0 up to rounding.
_ZERO_EIGENVALUE = 1e-12
# What the coordinates of locally linear embedding have to satisfy in every neighbourhood, by its method.
_LOCAL_CONDITIONS = {
    "standard": "Each row is the weighted mean of its neighbours, with the weights that reconstruct it in the table.",
    "modified": "Each row is the weighted mean of its neighbours, with several sets of weights that reconstruct it in the table.",
    "hessian": "Around each row, the coordinates have as little curvature as possible as functions on the neighbourhood.",
    "ltsa": "Around each row, the coordinates are nearly linear functions of the neighbourhood's principal components.",
}
_NEIGHBOR_EMBEDDING_NOTE = (
    "Rows that are neighbours in the table are near each other. "
    "Distances between groups, and sizes of groups, have little meaning."
)


def describe_laplacian_eigenmaps(eigenmaps: LaplacianEigenmaps) -> MapDescription:
    """Describe the eigenvalues and residuals; with "per_component" those of the largest component."""
    # One row of values for each component; NaN where a component is too small.
    values, residuals = np.atleast_2d(eigenmaps.eigenvalues_), np.atleast_2d(eigenmaps.residuals_)
    part = int(np.argmax(np.bincount(eigenmaps.component_labels_)))
    present = np.isfinite(values[part])
    n_zero = int((values[part][present] < _ZERO_EIGENVALUE).sum())
    notes = [
        f"{n_zero} of the eigenvalues {'is' if n_zero == 1 else 'are'} 0 up to rounding: edges of negligible weight "
        "connect groups of rows, and the positions of these groups are arbitrary. A larger t or binary weights connects them."
    ]
    return MapDescription(
        eigenmaps.axis_names_,
        notes if n_zero else [],
        proximity_note=(
            "Rows that are close in the graph are near each other; distances between groups have little meaning."
        ),
        comparable_axes=False,
        spectrum_label="Eigenvalue",
        spectrum=values[part][present].tolist(),
        spectrum_note=(
            "The smaller an eigenvalue, the less its coordinate changes along edges; an eigenvector with "
            "eigenvalue 0 is constant on each component."
        ),
        residuals=residuals[part][present].tolist(),
    )


def describe_isomap(isomap: Isomap) -> MapDescription:
    """Describe the residual variance, the landmarks and the spectrum; with "per_component" those of the largest component."""
    from tamiz.reduction.classical_mds import format_negative_share

    part = int(np.argmax(np.bincount(isomap.component_labels_)))
    values, variances = np.atleast_2d(isomap.eigenvalues_)[part], np.atleast_2d(isomap.residual_variances_)[part]
    share = np.atleast_1d(isomap.negative_share_)[part]
    negative = format_negative_share(share, np.atleast_1d(isomap.negative_share_error_)[part])
    values, variances = values[np.isfinite(values)], variances[np.isfinite(variances)]
    n, n_landmarks = len(isomap.component_labels_), len(isomap.landmark_rows_)
    rows = (
        ""
        if n_landmarks == n
        else f" All rows are mapped by their distances to {n_landmarks:,} of them, the landmarks."
    )
    notes = [
        f"The distance of two rows is the length of the shortest path between them along the neighbour graph.{rows}"
    ]
    if len(variances):
        shown = ", ".join(f"{variance:.3g}" for variance in variances)
        one = (
            "The first coordinate leaves"
            if len(variances) == 1
            else f"The first 1 to {len(variances)} coordinates leave"
        )
        notes.append(
            f"{one} {shown} of the variance of these distances unexplained (residual variance, 1 - R²). The number of "
            "coordinates at which it stops falling is an estimate of the dimension of the data."
        )
    note = f"The sum of squares {'of the landmarks ' if rows else ''}along each coordinate."
    if share:
        note += f" {negative} of the sum of absolute eigenvalues is negative: no map has exactly these distances."
    return MapDescription(
        isomap.axis_names_,
        notes,
        proximity_note="The distance of two points approximates the length of the shortest path between their rows.",
        spectrum_label="Eigenvalue" if len(values) else "",
        spectrum=values.tolist(),
        spectrum_note=note,
    )


def describe_locally_linear_embedding(lle: LocallyLinearEmbedding) -> MapDescription:
    """Describe the local condition and the eigenvalues; with "per_component" those of the largest component."""
    values, residuals = np.atleast_2d(lle.eigenvalues_), np.atleast_2d(lle.residuals_)
    sizes = np.bincount(lle.component_labels_)
    part = int(np.argmax(sizes))
    present = np.isfinite(values[part])
    notes = [_LOCAL_CONDITIONS[lle.method]]
    if len(sizes) > 1:
        notes.append(
            f"The graph has {len(sizes):,} components, and each has coordinates of its own: the components overlap on the map, and "
            f"their positions relative to each other have no meaning. The eigenvalues are those of the largest, of {sizes[part]:,} "
            "rows."
        )
    return MapDescription(
        lle.axis_names_,
        notes,
        proximity_note=(
            "Rows that are neighbours in the table are near each other; distances are stretched differently in different places."
        ),
        comparable_axes=False,
        spectrum_label="Eigenvalue",
        spectrum=values[part][present].tolist(),
        spectrum_note=(
            "The smaller an eigenvalue, the smaller the sum of squared errors of its coordinate in the neighbourhoods of all rows."
        ),
        residuals=residuals[part][present].tolist(),
    )


def describe_tsne(tsne: TSNE) -> MapDescription:
    """Describe the perplexity, the divergence and the convergence."""
    steps = f"{tsne.n_iter_:,} iterations"
    ended = "converged within" if tsne.converged_ else "was still decreasing after"
    return MapDescription(
        tsne.axis_names_,
        [
            f"Each row attracts its neighbours in the table, about {tsne.perplexity_:.3g} of them (the perplexity), and repels all "
            f"other rows. The Kullback-Leibler divergence of the map, {tsne.kl_divergence_:.3g}, {ended} {steps}.",
        ],
        proximity_note=_NEIGHBOR_EMBEDDING_NOTE,
    )


def describe_umap(umap: UMAP) -> MapDescription:
    """Describe the neighbours, the cross entropy and the convergence."""
    steps = f"{umap.n_epochs_:,} epochs"
    ended = "converged within" if umap.converged_ else "was still decreasing after"
    return MapDescription(
        umap.axis_names_,
        [
            f"Each row attracts its {umap.n_neighbors_ - 1:,} nearest rows in the table, and repels other rows, drawn at random. "
            f"The cross entropy of the map, {umap.cross_entropy_:.3g} for each row, {ended} {steps}.",
        ],
        proximity_note=_NEIGHBOR_EMBEDDING_NOTE,
    )
