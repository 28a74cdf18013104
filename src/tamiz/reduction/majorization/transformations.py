"""What dissimilarities may be turned into before distances are held to them: nothing, or a line that does not fall."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.kernels.majorization import guttman_step, guttman_step_plane, regression_sums
from tamiz.reduction.majorization.curves import DisparityCurve, LinearCurve
from tamiz.reduction.majorization.pairs import CondensedPairs
from tamiz.statistics.base import Floats

# What is added to squared distances before they are divided by, next to dissimilarities near 1.
DISTANCE_GUARD = {np.dtype(np.float64): 1e-200, np.dtype(np.float32): 1e-30}


class Transformation(ABC):
    """What dissimilarities are turned into. The weighted sum of squares of disparities is always that of the dissimilarities.

    Attributes
    ----------
    pairs : Pairs
    total : float
        The weighted sum of squares.
    """

    def __init__(self, pairs: CondensedPairs) -> None:
        self.pairs = pairs
        self.total = pairs.weighted_sum(pairs.values, pairs.values)

    @abstractmethod
    def update(self, points: NDArray[Any]) -> tuple[Floats, float]:
        """Find the disparities nearest to the distances of points, and what majorisation makes of both.

        Parameters
        ----------
        points : ndarray of shape (n_components, n)
            In the type of the pairs.

        Returns
        -------
        turned : ndarray of shape (n_components, n)
            B(X) X, where B has -weight disparity / distance off its diagonal and rows that sum to 0.
        left : float
            The weighted sum of squared differences of disparities and distances.
        """

    @abstractmethod
    def disparities(self) -> NDArray[Any]:
        """Return the last disparities of all pairs, in the order of the pairs."""

    @abstractmethod
    def curve(self) -> DisparityCurve:
        """Return what turned dissimilarities into the last disparities, for new ones."""


class RatioTransformation(Transformation):
    """Dissimilarities as they are."""

    def update(self, points: NDArray[Any]) -> tuple[Floats, float]:
        """Return what majorisation makes of the dissimilarities and distances."""
        return _guttman_step_on_line(self.pairs, self.pairs.values, LinearCurve(), points)

    def disparities(self) -> NDArray[Any]:
        """Return the dissimilarities."""
        return self.pairs.values

    def curve(self) -> DisparityCurve:
        """Return the identity."""
        return LinearCurve()


class IntervalTransformation(Transformation):
    """A line that does not fall, and is nowhere below 0.

    Values are counted from the least of them: where they differ by little next to their size, sums of the values themselves would
    leave nothing of the differences.
    """

    def __init__(self, pairs: CondensedPairs) -> None:
        super().__init__(pairs)
        self._smallest = float(pairs.known_values().min())
        self._shifted = (pairs.values - self._smallest).astype(pairs.dtype)
        self._total_weight = float(pairs.row_weights().sum()) / 2
        self._sum = pairs.weighted_sum(self._shifted)
        self._squares = pairs.weighted_sum(self._shifted, self._shifted)
        self._line = LinearCurve()

    def update(self, points: NDArray[Any]) -> tuple[Floats, float]:
        """Find the line, and return what majorisation makes of it and the distances."""
        pairs, above = self.pairs, self._shifted
        sums, _ = pairs.accumulate(lambda *span: regression_sums(above, pairs.weights, points, *span), (2,), np.float64)
        offset, slope = self._fit_line(*sums.tolist())
        squares = offset**2 * self._total_weight + 2 * offset * slope * self._sum + slope**2 * self._squares
        scale = float(np.sqrt(self.total / squares))
        self._line = LinearCurve(offset * scale, slope * scale, self._smallest)
        return _guttman_step_on_line(pairs, above, self._line, points)

    def _fit_line(self, distances: float, products: float) -> tuple[float, float]:
        """Return the line by the weighted sums of distances and of their products with values: two numbers of at least 0."""
        mass, first, second = self._total_weight, self._sum, self._squares
        determinant = mass * second - first**2
        offset = (second * distances - first * products) / determinant
        slope = (mass * products - first * distances) / determinant
        if offset < 0:
            return 0.0, products / second
        return (offset, slope) if slope >= 0 else (distances / mass, 0.0)

    def disparities(self) -> NDArray[Any]:
        """Return the dissimilarities on the line."""
        number = self.pairs.dtype.type
        return np.asarray(number(self._line.offset) + number(self._line.slope) * self._shifted)

    def curve(self) -> DisparityCurve:
        """Return the last line."""
        return self._line


def _guttman_step_on_line(
    pairs: CondensedPairs, values: NDArray[Any], line: LinearCurve, points: NDArray[Any]
) -> tuple[Floats, float]:
    """Return B(X) X and what is left over, for disparities on a line over values."""
    numbers = (line.offset, line.slope, DISTANCE_GUARD[pairs.dtype])

    def add(start: int, stop: int, sums: NDArray[Any]) -> float:
        if len(points) == 2 and not pairs.is_weighted:
            return float(guttman_step_plane(values, points, start, stop, *numbers, sums))
        return float(guttman_step(values, pairs.weights, points, start, stop, *numbers, sums))

    return pairs.accumulate(add, points.shape, pairs.dtype)
