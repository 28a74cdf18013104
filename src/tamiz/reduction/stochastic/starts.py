"""Places that rounds start from."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamiz.reduction.given_start import read_initial_embedding
from tamiz.reduction.landmark_scaling import LandmarkScaling, default_n_landmarks, random_landmarks
from tamiz.reduction.landmarks import RowSubsets
from tamiz.reduction.sampled_stress import SampledPairs
from tamiz.statistics.base import Floats

INIT_CHOICES = ("landmark", "random")
# What is added to a map by landmarks, next to distances: rows that it has at one place, or in a line, would stay there.
_START_NOISE = 1e-3


def initial_embedding(
    init: Any, subsets: RowSubsets, pairs: SampledPairs, n_components: int, rng: np.random.Generator
) -> Floats:
    """Return the places that were asked for, of shape (n, m)."""
    if not isinstance(init, str):
        return read_initial_embedding(init, INIT_CHOICES, subsets.n, n_components)
    # Places whose distances are as large as the dissimilarities, on the whole.
    size = pairs.unit * float(np.sqrt((pairs.dissimilarities**2).mean() / (2 * n_components)))
    noise = size * rng.standard_normal((subsets.n, n_components))
    if init == "random":
        return noise
    return (
        LandmarkScaling.fit(
            subsets, random_landmarks(subsets, default_n_landmarks(subsets.n, n_components), rng), n_components
        ).embedding
        + _START_NOISE * noise
    )
