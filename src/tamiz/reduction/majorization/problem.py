"""The stress of a configuration, and where its majorising function is least."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tamiz.reduction.majorization.guttman import Division, Groups
from tamiz.reduction.majorization.transformations import Transformation
from tamiz.statistics.base import Floats


@dataclass(frozen=True)
class State:
    """A configuration at its best scale.

    Attributes
    ----------
    points : ndarray of shape (n_components, n)
        Centred.
    stress : float
        The squares left over, next to the squares of the disparities: the square of Kruskal's stress-1.
    guttman : ndarray of shape (n_components, n)
        The Guttman transform of the points, where their majorising function is least.
    slope : ndarray of shape (n_components, n)
        Half the derivative of the squares left over by the points.
    """

    points: Floats
    stress: float
    guttman: Floats
    slope: Floats


class Problem:
    """Distances that are to be near disparities.

    Parameters
    ----------
    transformation : Transformation
    groups : Groups
        Rows that are equal, and share a place.
    """

    def __init__(self, transformation: Transformation, groups: Groups) -> None:
        self.transformation = transformation
        self.pairs = transformation.pairs
        self._divide = Division.of(self.pairs, groups)

    def at(self, points: Floats) -> State:
        """Return the state of points: their stress at the best scale, which is found without another reading of the pairs.

        With rho the weighted sum of disparities times distances and eta that of squared distances, the squares left over at the
        scale b are total - 2 b rho + b^2 eta, least at b = rho / eta; the Guttman transform does not depend on the scale.
        """
        pairs = self.pairs
        centred = points - points.mean(axis=1, keepdims=True)
        given = np.ascontiguousarray(centred, dtype=pairs.dtype)
        turned, left = self.transformation.turned(given)
        weighed = pairs.weighed(centred)
        rho, eta = float(centred.ravel() @ turned.ravel()), float(centred.ravel() @ weighed.ravel())
        # Where no pair that is apart is wanted apart there is no best scale above 0.
        b = rho / eta if rho > 0 else 1.0
        left += 2 * rho * (1 - b) - eta * (1 - b * b)
        scaled = b * centred
        return State(
            scaled,
            max(left, 0.0) / self.transformation.total,
            self._divide(turned, scaled),
            b * weighed - turned,
        )
