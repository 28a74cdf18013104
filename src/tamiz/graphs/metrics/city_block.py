"""Rows of numbers at the sums of their differences."""

from __future__ import annotations

from typing import Self

import numpy as np
from scipy.spatial.distance import cdist

from tamiz.graphs.points import EuclideanPoints
from tamiz.statistics.base import Floats


class CityBlockPoints(EuclideanPoints):
    """Rows at their city block (Manhattan) distances: the sum over columns of the differences, all taken as positive.

    Notes
    -----
    Cost O(n p) a row.
    """

    metric = "cityblock"

    def block(self, queries: Self, start: int, stop: int) -> Floats:
        """Return distances."""
        return np.asarray(cdist(queries.values[start:stop], self.values, "cityblock"))

    def euclidean_values(self) -> None:  # type: ignore[override]  # of rows at other distances there are none
        """Return None: no rows of numbers have these as their Euclidean distances."""
