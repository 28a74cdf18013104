"""The description of a fitted map by its method.

`describe_reducer` describes any map by its public fitted attributes. A method about which there is more to report has a function
of its own in `_DESCRIPTIONS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tamiz._study.map_descriptions.description import MapDescription, to_gallery
from tamiz._study.map_descriptions.multidimensional_scaling import (
    describe_classical_mds,
    describe_landmark_mds,
    describe_mds,
    describe_stochastic_mds,
)
from tamiz._study.map_descriptions.neighbor_graphs import (
    describe_isomap,
    describe_laplacian_eigenmaps,
    describe_locally_linear_embedding,
    describe_tsne,
    describe_umap,
)
from tamiz._study.map_descriptions.projections import describe_autoencoder, describe_ica, describe_pca
from tamiz.reduction.base import Reducer
from tamiz.reduction.named_maps import method_name

# By the name of the method in the registry: only the method of a map that is described needs to be imported.
_DESCRIPTIONS: dict[str, Callable[[Any], MapDescription]] = {
    "pca": describe_pca,
    "classical_mds": describe_classical_mds,
    "mds": describe_mds,
    "landmark_mds": describe_landmark_mds,
    "stochastic_mds": describe_stochastic_mds,
    "laplacian_eigenmaps": describe_laplacian_eigenmaps,
    "isomap": describe_isomap,
    "locally_linear_embedding": describe_locally_linear_embedding,
    "tsne": describe_tsne,
    "umap": describe_umap,
    "ica": describe_ica,
    "autoencoder": describe_autoencoder,
}


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
        galleries=[to_gallery(images, "") for images in reducer.image_sets()],
    )
