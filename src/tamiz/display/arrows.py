"""Biplot arrows: loadings of columns as arrows over the points of a map, in the units of the points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

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


def biplot_arrows(points: ArrayLike, loadings: ArrayLike, *, one_scale: bool) -> list[Arrow]:
    """Return the arrows of the columns with the largest loadings on two axes, the largest first.

    Rows further along an arrow have larger values of its column. With equal units on both axes, an arrow points along the
    regression slopes of its column on the axes. With axes scaled by their own spread, it points along the loadings.

    Parameters
    ----------
    points : array-like of shape (n_rows, 2)
        Coordinates of the rows, centred at 0.
    loadings : array-like of shape (n_columns, 2)
        For each column, its covariance with each axis divided by the standard deviation of the axis.
    one_scale : bool
        Whether one unit has the same length on both axes.
    """
    points, loadings = (np.reshape(pairs, (-1, 2)).astype(np.float64) for pairs in (points, loadings))
    spreads = np.sqrt(np.mean(points**2, axis=0))
    units = np.where(one_scale | (spreads == 0), 1.0, spreads)
    sizes = np.hypot(*loadings.T)
    # Loadings that are rounding errors have no direction.
    least = 1e-9 * sizes.max(initial=0.0)
    drawn = [j for j in np.argsort(-sizes, kind="stable")[:MAX_ARROWS].tolist() if sizes[j] > least]
    # The slope of a column along an axis is its loading divided by the spread of the axis; on the screen an axis is divided by
    # its unit.
    tips = loadings[drawn] * np.divide(units, spreads, out=np.zeros(2), where=spreads > 0)
    longest = np.hypot(*tips.T).max(initial=0.0)
    if longest == 0:
        return []
    distances = np.sort(np.hypot(*(points / units).T))
    scale = distances[int(_REACH * (len(distances) - 1))] / longest
    return [Arrow(j, x, y) for j, (x, y) in zip(drawn, (tips * scale * units).tolist(), strict=True)]
