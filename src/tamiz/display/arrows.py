"""Biplot arrows: loadings of columns as arrows over the points of a map, in the units of the points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

# More arrows and their names would overlap.
MAX_ARROWS = 8
# The longest arrow is as long as this quantile of the distances of the points from the origin.
_REACH = 0.9


@dataclass(frozen=True)
class Arrow:
    """An arrow from the origin of a map.

    Attributes
    ----------
    column : int
        The row of the loadings that it shows.
    x, y : float
        Coordinates of its tip.
    """

    column: int
    x: float
    y: float


def biplot_arrows(
    points: Sequence[Sequence[float]], loadings: Sequence[Sequence[float]], *, one_scale: bool
) -> list[Arrow]:
    """Return the arrows of the columns with the largest loadings on two axes, the largest first.

    Rows further along an arrow have larger values of its column. With equal units on both axes, an arrow points along the
    regression slopes of its column on the axes. With axes scaled by their own spread, it points along the loadings.

    Parameters
    ----------
    points : list of pairs
        Coordinates of the rows, centred at 0.
    loadings : list of pairs
        For each column, its covariance with each axis divided by the standard deviation of the axis.
    one_scale : bool
        Whether one unit has the same length on both axes.
    """
    spreads = [math.sqrt(math.fsum(point[axis] ** 2 for point in points) / max(len(points), 1)) for axis in (0, 1)]
    units = [1.0 if one_scale else spread or 1.0 for spread in spreads]
    sizes = [math.hypot(*pair) for pair in loadings]
    # Loadings that are rounding errors have no direction.
    least = 1e-9 * max(sizes, default=0.0)
    known = [j for j, size in enumerate(sizes) if size > least]
    drawn = sorted(known, key=lambda j: -sizes[j])[:MAX_ARROWS]
    # The slope of a column along an axis is its loading divided by the spread of the axis; on the screen an axis is divided by
    # its unit.
    steps = [unit / spread if spread else 0.0 for unit, spread in zip(units, spreads, strict=True)]
    tips = [(loadings[j][0] * steps[0], loadings[j][1] * steps[1]) for j in drawn]
    longest = max((math.hypot(*tip) for tip in tips), default=0.0)
    if longest == 0:
        return []
    distances = sorted(math.hypot(point[0] / units[0], point[1] / units[1]) for point in points)
    scale = distances[int(_REACH * (len(distances) - 1))] / longest
    return [Arrow(j, x * scale * units[0], y * scale * units[1]) for j, (x, y) in zip(drawn, tips, strict=True)]
