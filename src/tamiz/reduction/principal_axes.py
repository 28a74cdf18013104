"""One choice among the turns and mirrors of a map that distances leave open."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from tamiz.reduction.krylov import power_of_two
from tamiz.reduction.placement import LinearProjection
from tamiz.statistics.base import Floats
from tamiz.statistics.signs import eigenvector_signs


def principal_axes_rotation(points: Floats) -> LinearProjection:
    """Return what turns places to their principal axes, from their mean."""
    centre: Floats = points.mean(axis=0)
    centred = points - centre
    centred /= power_of_two(float(np.abs(centred).max()))
    _, vectors = linalg.eigh(centred.T @ centred)
    axes = vectors[:, ::-1]
    axes *= eigenvector_signs(centred @ axes)
    return LinearProjection(centre, np.ascontiguousarray(axes.T))
