"""What dissimilarities may be turned into before distances are held to them: nothing, or a line that does not fall."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.kernels.majorization import regress, turn, turn_plane
from tamiz.reduction.majorization.curves import Curve, Line
from tamiz.reduction.majorization.pairs import Pairs
from tamiz.statistics.base import Floats

# What is added to squared distances before they are divided by, next to dissimilarities near 1.
TINY = {np.dtype(np.float64): 1e-200, np.dtype(np.float32): 1e-30}


class Transformation(ABC):
    """What dissimilarities are turned into. The weighted sum of squares of disparities is always that of the dissimilarities.

    Attributes
    ----------
    pairs : Pairs
    total : float
        The weighted sum of squares.
    """

    def __init__(self, pairs: Pairs) -> None:
        self.pairs = pairs
        self.total = pairs.square_sum(pairs.values)

    @abstractmethod
    def turned(self, points: NDArray[Any]) -> tuple[Floats, float]:
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
    def curve(self) -> Curve:
        """Return what turned dissimilarities into the last disparities, for new ones."""


class Ratio(Transformation):
    """Dissimilarities as they are."""

    def turned(self, points: NDArray[Any]) -> tuple[Floats, float]:
        """Return what majorisation makes of the dissimilarities and distances."""
        return turned_on(self.pairs, Line(), points)

    def disparities(self) -> NDArray[Any]:
        """Return the dissimilarities."""
        return self.pairs.values

    def curve(self) -> Curve:
        """Return the identity."""
        return Line()


class Interval(Transformation):
    """A line that does not fall, and is nowhere below 0."""

    def __init__(self, pairs: Pairs) -> None:
        super().__init__(pairs)
        known = pairs.values[pairs.weights > 0] if pairs.is_weighted else pairs.values
        self._least = float(known.min())
        self._mass = float(pairs.masses().sum()) / 2
        weighted = [pairs.values, pairs.weights] if pairs.is_weighted else [pairs.values]
        self._sum = float(np.einsum(",".join("i" * len(weighted)) + "->", *weighted, dtype=np.float64))
        self._line = Line()

    def turned(self, points: NDArray[Any]) -> tuple[Floats, float]:
        """Find the line, and return what majorisation makes of it and the distances."""
        pairs = self.pairs
        sums, _ = pairs.added(lambda *span: regress(pairs.values, pairs.weights, points, *span), (2,), np.float64)
        offset, slope = self._nearest(*sums.tolist())
        squares = offset**2 * self._mass + 2 * offset * slope * self._sum + slope**2 * self.total
        scale = float(np.sqrt(self.total / squares))
        self._line = Line(offset * scale, slope * scale)
        return turned_on(pairs, self._line, points)

    def _nearest(self, distances: float, products: float) -> tuple[float, float]:
        """Return the line by the weighted sums of distances and of their products with values.

        In height over the least value, above + slope (value - least), both numbers are at least 0.
        """
        mass, least = self._mass, self._least
        first = self._sum - least * mass
        second = self.total - 2 * least * self._sum + least**2 * mass
        products -= least * distances
        determinant = mass * second - first**2
        above = (second * distances - first * products) / determinant
        slope = (mass * products - first * distances) / determinant
        if above < 0:
            above, slope = 0.0, products / second
        elif slope < 0:
            above, slope = distances / mass, 0.0
        return above - slope * least, slope

    def disparities(self) -> NDArray[Any]:
        """Return the dissimilarities on the line."""
        number = self.pairs.dtype.type
        return np.asarray(number(self._line.offset) + number(self._line.slope) * self.pairs.values)

    def curve(self) -> Curve:
        """Return the last line."""
        return self._line


def turned_on(pairs: Pairs, line: Line, points: NDArray[Any]) -> tuple[Floats, float]:
    """Return B(X) X and what is left over, for disparities on a line."""
    numbers = (line.offset, line.slope, TINY[pairs.dtype])

    def add(start: int, stop: int, sums: NDArray[Any]) -> float:
        if len(points) == 2 and not pairs.is_weighted:
            return float(turn_plane(pairs.values, points, start, stop, *numbers, sums))
        return float(turn(pairs.values, pairs.weights, points, start, stop, *numbers, sums))

    return pairs.added(add, points.shape, pairs.dtype)
