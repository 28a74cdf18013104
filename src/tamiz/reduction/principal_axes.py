"""One choice among the turns and mirrors of a map that distances leave open."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from tamiz.reduction.krylov import power_of_two
from tamiz.reduction.placement import ByColumns
from tamiz.statistics.base import Floats
from tamiz.statistics.signs import signs


def to_principal_axes(places: Floats) -> ByColumns:
    """Return what turns places to their principal axes, from their mean."""
    centre: Floats = places.mean(axis=0)
    centred = places - centre
    centred /= power_of_two(float(np.abs(centred).max()))
    _, vectors = linalg.eigh(centred.T @ centred)
    axes = vectors[:, ::-1]
    axes *= signs(centred @ axes)
    return ByColumns(centre, np.ascontiguousarray(axes.T))
