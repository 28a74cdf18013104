"""Places that rounds start from."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamiz.reduction.given_start import given_start
from tamiz.reduction.landmark_scaling import LandmarkScaling, drawn, enough
from tamiz.reduction.landmarks import Some
from tamiz.reduction.sampled_stress import SampledPairs
from tamiz.statistics.base import Floats

CHOICES = ("landmark", "random")
# What is added to a map by landmarks, next to distances: rows that it has at one place, or in a line, would stay there.
_NOISE = 1e-3


def start(init: Any, table: Some, pairs: SampledPairs, m: int, rng: np.random.Generator) -> Floats:
    """Return the places that were asked for, of shape (n, m)."""
    if not isinstance(init, str):
        return given_start(init, CHOICES, table.n, m)
    # Places whose distances are as large as the dissimilarities, on the whole.
    size = pairs.unit * float(np.sqrt((pairs.delta**2).mean() / (2 * m)))
    noise = size * rng.standard_normal((table.n, m))
    if init == "random":
        return noise
    return LandmarkScaling.of(table, drawn(table, enough(table.n, m), rng), m).places + _NOISE * noise
