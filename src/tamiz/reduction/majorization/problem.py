"""The stress of a configuration, and where its majorising function is least."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tamiz.reduction.majorization.guttman import EqualRows, WeightMatrixSolver
from tamiz.reduction.majorization.transformations import Transformation
from tamiz.statistics.base import Floats


@dataclass(frozen=True)
class StressState:
    """A configuration at its best scale.

    Attributes
    ----------
    points : ndarray of shape (n_components, n)
        Centred.
    stress : float
        The squares left over, next to the squares of the disparities: the square of Kruskal's stress-1.
    guttman_transform : ndarray of shape (n_components, n)
        The Guttman transform of the points, where their majorising function is least.
    gradient : ndarray of shape (n_components, n)
        Half the derivative of the squares left over by the points.
    """

    points: Floats
    stress: float
    guttman_transform: Floats
    gradient: Floats


class StressFunction:
    """Distances that are to be near disparities.

    Parameters
    ----------
    transformation : Transformation
    equal_rows : EqualRows
        Rows that are equal, and share a place.
    """

    def __init__(self, transformation: Transformation, equal_rows: EqualRows) -> None:
        self.transformation = transformation
        self.pairs = transformation.pairs
        self._solve_weights = WeightMatrixSolver.create(self.pairs, equal_rows)

    def evaluate(self, points: Floats) -> StressState:
        """Return the state of points: their stress at the best scale, which is found without another reading of the pairs.

        With rho the weighted sum of disparities times distances and eta that of squared distances, the squares left over at the
        scale b are total - 2 b rho + b^2 eta, least at b = rho / eta; the Guttman transform does not depend on the scale.
        """
        pairs = self.pairs
        centred = points - points.mean(axis=1, keepdims=True)
        given = np.ascontiguousarray(centred, dtype=pairs.dtype)
        turned, left = self.transformation.update(given)
        weighed = pairs.multiply_by_weight_matrix(centred)
        rho, eta = float(centred.ravel() @ turned.ravel()), float(centred.ravel() @ weighed.ravel())
        # Where no pair that is apart is wanted apart there is no best scale above 0.
        b = rho / eta if rho > 0 else 1.0
        left += 2 * rho * (1 - b) - eta * (1 - b * b)
        scaled = b * centred
        return StressState(
            scaled,
            max(left, 0.0) / self.transformation.total,
            self._solve_weights(turned, scaled),
            b * weighed - turned,
        )
