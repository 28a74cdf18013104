"""Descriptions of fitted maps for readers: what their axes, distances, spectra and images mean, in sentences.

`describe_reducer` describes any map by its public fitted attributes. A method about which there is more to report has a function
of its own in `_DESCRIPTIONS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tamiz._study.map_settings import method_name
from tamiz.reduction.base import ImageSet, Reducer
from tamiz.sources.encoding import INDICATOR_MEANS

if TYPE_CHECKING:
    from tamiz.reduction.autoencoder import Autoencoder
    from tamiz.reduction.classical_mds import ClassicalMDS
    from tamiz.reduction.ica import ICA
    from tamiz.reduction.isomap import Isomap
    from tamiz.reduction.landmark_mds import LandmarkMDS
    from tamiz.reduction.laplacian_eigenmaps import LaplacianEigenmaps
    from tamiz.reduction.locally_linear_embedding import LocallyLinearEmbedding
    from tamiz.reduction.mds import MDS
    from tamiz.reduction.pca import PCA
    from tamiz.reduction.principal.parallel_analysis import ParallelAnalysis
    from tamiz.reduction.stochastic_mds import StochasticMDS
    from tamiz.reduction.tsne import TSNE
    from tamiz.reduction.umap import UMAP

# An eigenvalue of a graph below this is 0 up to rounding.
_ZERO_EIGENVALUE = 1e-12
# The share of its variance from which a column counts as lost, and the most columns that a note names.
_LOST_SHARE, _MAX_NAMED_COLUMNS = 0.5, 5
# For each kind of MDS: the target of the distances, and the meaning of large distances.
_DISTANCE_MEANINGS = {
    "metric": ("the distances of the rows", ", and dissimilar rows are far apart."),
    "interval": ("a linear function of the distances of the rows, fitted to the map", "."),
    "ordinal": (
        "a monotone function of the distances of the rows, fitted to the map",
        ". The map preserves only the order of the distances.",
    ),
}


@dataclass(frozen=True)
class Gallery:
    """A group of images of one shape in a report.

    Attributes
    ----------
    title, note : str
        Heading, and an explanation for readers.
    shape : tuple of two int
        Height and width in pixels.
    names : list of str
        One name for each image.
    images : list of list of float
        Pixels, row by row.
    signed : bool
        Whether the colour scale is centred at 0; else it spans the values of each image.
    shows_rows : bool
        Whether the images show rows of the table.
    """

    title: str
    note: str
    shape: tuple[int, int]
    names: list[str]
    images: list[list[float]]
    signed: bool = False
    shows_rows: bool = False


@dataclass(frozen=True)
class MapDescription:
    """The description of a map in a report.

    Attributes
    ----------
    axis_names : list of str
        A name for every coordinate.
    notes : list of str
        Preprocessing and results, one sentence each.
    proximity_note : str
        Meaning of a small distance on the map, one sentence.
    comparable_axes : bool
        Whether all axes have the same unit.
    stress : float or None
        Kruskal's stress-1 of the map, on a sample of pairs for sampling methods; None for methods without stress.
    spectrum_label : str
        Name of the values of the spectrum.
    spectrum : list of float
        One value an axis, first axis first.
    spectrum_note : str
        Explanation of the spectrum, one sentence.
    cumulative : list of float
        Cumulative sums of the spectrum; empty if its values are not shares of a total.
    residuals : list of float
        Residual norms of iterative eigensolvers; empty for direct solvers.
    chance_spectrum : list of float
        Expected spectrum under the null model of parallel analysis; empty if not computed.
    chance_title, chance_note : str
        Heading with the number of axes above the null model, and an explanation of the null model, one sentence.
    loading_names : list of str
    loadings : list of list of float
        One row for each name, one value for each axis.
    galleries : list of Gallery
        Axes shown as images, if the columns are pixels.
    """

    axis_names: list[str]
    notes: list[str] = field(default_factory=list)
    proximity_note: str = "Rows with similar values are near each other."
    comparable_axes: bool = True
    stress: float | None = None
    spectrum_label: str = ""
    spectrum: list[float] = field(default_factory=list)
    spectrum_note: str = ""
    cumulative: list[float] = field(default_factory=list)
    residuals: list[float] = field(default_factory=list)
    chance_spectrum: list[float] = field(default_factory=list)
    chance_title: str = ""
    chance_note: str = ""
    loading_names: list[str] = field(default_factory=list)
    loadings: list[list[float]] = field(default_factory=list)
    galleries: list[Gallery] = field(default_factory=list)


def describe_reducer(reducer: Reducer) -> MapDescription:
    """Return the description of a fitted map, also of one of a class that derives from a method of the registry."""
    return _DESCRIPTIONS.get(method_name(reducer), _describe_attributes)(reducer)


def _describe_attributes(reducer: Reducer) -> MapDescription:
    """Describe `stress_`, `eigenvalues_`, `residuals_`, `loadings_` with `coordinate_names_`, and `image_sets()`."""
    stress = getattr(reducer, "stress_", None)
    eigenvalues = np.ravel(getattr(reducer, "eigenvalues_", ()))
    residuals = np.ravel(getattr(reducer, "residuals_", ()))
    names, loadings = getattr(reducer, "coordinate_names_", None), getattr(reducer, "loadings_", None)
    if names is None or loadings is None:
        names = loadings = ()
    return MapDescription(
        reducer.axis_names_,
        [] if stress is None else [f"Stress {stress:.3g}."],
        stress=None if stress is None else float(stress),
        spectrum_label="Eigenvalue" if len(eigenvalues) else "",
        spectrum=eigenvalues.tolist(),
        residuals=residuals.tolist(),
        loading_names=list(names),
        loadings=np.asarray(loadings).tolist(),
        galleries=[_to_gallery(images, "") for images in reducer.image_sets()],
    )


def _to_gallery(images: ImageSet, note: str) -> Gallery:
    return Gallery(
        images.title, note, images.shape, images.names, images.images, images.signed, shows_rows=images.shows_rows
    )


def _describe_pca(pca: PCA) -> MapDescription:
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
        galleries=[_to_gallery(images, _image_note(images)) for images in pca.image_sets()],
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


def _describe_mds(mds: MDS) -> MapDescription:
    """Describe the stress and the convergence."""
    target, meaning = _DISTANCE_MEANINGS[mds.kind_]
    fitted = "those of the rows" if mds.kind_ == "metric" else "the fitted function"
    differences = f"the distances on the map and {fitted}"
    steps = f"{mds.n_iter_:,} {'iteration' if mds.n_iter_ == 1 else 'iterations'}"
    ended = f"SMACOF converged in {steps}" if mds.converged_ else f"SMACOF did not converge within {steps}"
    return MapDescription(
        mds.axis_names_,
        [
            f"Distances on the map approximate {target}. Kruskal's stress-1 is {mds.stress_:.3g}: the root mean square of "
            f"the differences between {differences}, divided by the root mean square of the distances on the map; 0 is a "
            "perfect map.",
            f"{ended}{'.' if mds.converged_ else '; the stress was still decreasing.'}",
        ],
        proximity_note=f"Rows that are similar in the table are near each other on the map{meaning}",
        stress=float(mds.stress_),
    )


def _describe_classical_mds(mds: ClassicalMDS) -> MapDescription:
    """Describe the eigenvalues, the additive constant and the share of negative eigenvalues."""
    from tamiz.reduction.classical_mds import format_negative_share

    notes = []
    if mds.additive_constant_:
        added = (
            f"{mds.additive_constant_:.6g} was added to every distance, by Cailliez's rule"
            if mds.correction == "cailliez"
            else f"{2 * mds.additive_constant_:.6g} was added to every squared distance, by Lingoes's rule"
        )
        notes.append(f"{added}, so that the distances are Euclidean.")
    note = "The sum of squares along each coordinate."
    if not mds.is_euclidean_:
        share = format_negative_share(mds.negative_share_, mds.negative_share_error_)
        note += f" The distances are not Euclidean: {share} of the sum of absolute eigenvalues is negative."
    return MapDescription(
        mds.axis_names_,
        notes,
        proximity_note="The distance of two points approximates the distance of their rows in the table.",
        spectrum_label="Eigenvalue",
        spectrum=mds.eigenvalues_.tolist(),
        spectrum_note=note,
        residuals=mds.residuals_.tolist(),
    )


def _describe_landmark_mds(mds: LandmarkMDS) -> MapDescription:
    """Describe the eigenvalues of the landmarks and the sampled stress."""
    error = f" +- {mds.sampled_stress_error_:.1g}" if mds.sampled_stress_error_ else ""
    return MapDescription(
        mds.axis_names_,
        [
            f"All rows are mapped by their distances to {len(mds.landmarks_):,} landmarks.",
            f"Stress {mds.sampled_stress_:.3g}{error}, over random pairs of rows."
            if error
            else f"Stress {mds.sampled_stress_:.3g}.",
        ],
        proximity_note="Rows with similar distances to the landmarks are near each other.",
        stress=float(mds.sampled_stress_),
        spectrum_label="Eigenvalue",
        spectrum=mds.eigenvalues_.tolist(),
        spectrum_note="The sum of squares of the landmarks along each of their coordinates.",
    )


def _describe_stochastic_mds(mds: StochasticMDS) -> MapDescription:
    """Describe the sampled stress."""
    error = mds.sampled_stress_error_
    of = f" +- {error:.1g}, over random pairs of rows" if error else ""
    return MapDescription(
        mds.axis_names_,
        [
            f"Distances on the map approximate the dissimilarities ({mds.n_rounds_:,} rounds of stochastic descent). "
            f"Kruskal's stress-1 is {mds.sampled_stress_:.3g}{of}."
        ],
        proximity_note="The distance of two points approximates the distance of their rows in the table.",
        stress=float(mds.sampled_stress_),
    )


def _describe_laplacian_eigenmaps(eigenmaps: LaplacianEigenmaps) -> MapDescription:
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


def _describe_isomap(isomap: Isomap) -> MapDescription:
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


# What the coordinates of locally linear embedding have to satisfy in every neighbourhood, by its method.
_LOCAL_CONDITIONS = {
    "standard": "Each row is the weighted mean of its neighbours, with the weights that reconstruct it in the table.",
    "modified": "Each row is the weighted mean of its neighbours, with several sets of weights that reconstruct it in the table.",
    "hessian": "Around each row, the coordinates have as little curvature as possible as functions on the neighbourhood.",
    "ltsa": "Around each row, the coordinates are nearly linear functions of the neighbourhood's principal components.",
}


def _describe_locally_linear_embedding(lle: LocallyLinearEmbedding) -> MapDescription:
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


_NEIGHBOR_EMBEDDING_NOTE = (
    "Rows that are neighbours in the table are near each other. "
    "Distances between groups, and sizes of groups, have little meaning."
)


def _describe_tsne(tsne: TSNE) -> MapDescription:
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


def _describe_umap(umap: UMAP) -> MapDescription:
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


def _describe_ica(ica: ICA) -> MapDescription:
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


def _describe_autoencoder(autoencoder: Autoencoder) -> MapDescription:
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
        f"{sentence} {', '.join(f'{name} ({errors[name]:.0%})' for name in names[:_MAX_NAMED_COLUMNS])}"
        f"{f' and {len(names) - _MAX_NAMED_COLUMNS:,} more' if len(names) > _MAX_NAMED_COLUMNS else ''}."
        for sentence, names in (
            ("Columns with the smallest loss of variance:", kept),
            ("Columns of which the coordinates lose at least half of the variance:", lost),
        )
        if names
    ]


# By the name of the method in the registry: only the method of a map that is described needs to be imported.
_DESCRIPTIONS: dict[str, Callable[[Any], MapDescription]] = {
    "pca": _describe_pca,
    "classical_mds": _describe_classical_mds,
    "mds": _describe_mds,
    "landmark_mds": _describe_landmark_mds,
    "stochastic_mds": _describe_stochastic_mds,
    "laplacian_eigenmaps": _describe_laplacian_eigenmaps,
    "isomap": _describe_isomap,
    "locally_linear_embedding": _describe_locally_linear_embedding,
    "tsne": _describe_tsne,
    "umap": _describe_umap,
    "ica": _describe_ica,
    "autoencoder": _describe_autoencoder,
}
