"""What dissimilarities may be turned into before distances are held to them: nothing, a line, or any numbers in their order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz import parallel
from tamiz.kernels.isotonic import merge, pool, sort_ties, spread
from tamiz.kernels.majorization import measure, regress
from tamiz.reduction.majorization.curves import Curve, Line, Steps
from tamiz.reduction.majorization.pairs import Pairs

# Entries of the order that are pooled at a time.
_PIECE = 2**17


@dataclass(frozen=True)
class Disparities:
    """What the distances of a configuration are held to: offset + slope times a value, for each pair.

    Attributes
    ----------
    values : ndarray of shape (n_pairs,)
        To be read only, and only until the next ones are asked for.
    offset, slope : float
    """

    values: NDArray[Any]
    offset: float = 0.0
    slope: float = 1.0

    def written(self) -> NDArray[Any]:
        """Return them one by one."""
        if self.offset == 0.0 and self.slope == 1.0:
            return self.values
        number = self.values.dtype.type
        return np.asarray(number(self.offset) + number(self.slope) * self.values)


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
    def of(self, points: NDArray[Any]) -> Disparities:
        """Return the disparities nearest to the distances of points, which are columns in the type of the pairs."""

    @abstractmethod
    def curve(self) -> Curve:
        """Return what turned dissimilarities into the last disparities, for new ones."""


class Ratio(Transformation):
    """Dissimilarities as they are."""

    def of(self, points: NDArray[Any]) -> Disparities:  # noqa: ARG002
        """Return the dissimilarities."""
        return Disparities(self.pairs.values)

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

    def of(self, points: NDArray[Any]) -> Disparities:
        """Return the line."""
        pairs = self.pairs
        sums = pairs.added(lambda *span: regress(pairs.values, pairs.weights, points, *span), (2,), np.float64)
        offset, slope = self._nearest(*sums.tolist())
        squares = offset**2 * self._mass + 2 * offset * slope * self._sum + slope**2 * self.total
        scale = float(np.sqrt(self.total / squares))
        self._line = Line(offset * scale, slope * scale)
        return Disparities(pairs.values, self._line.offset, self._line.slope)

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

    def curve(self) -> Curve:
        """Return the last line."""
        return self._line


class Ordinal(Transformation):
    """Numbers in the order of the dissimilarities.

    Parameters
    ----------
    pairs : Pairs
    ties : {"primary", "secondary"}
        Equal dissimilarities may differ afterwards, in any order, or stay equal.
    """

    def __init__(self, pairs: Pairs, ties: str) -> None:
        super().__init__(pairs)
        values = pairs.values
        known = np.flatnonzero(pairs.weights).astype(np.uint32) if pairs.is_weighted else None
        order = np.argsort(values if known is None else values[known], kind="stable").astype(np.uint32)
        self._order = order if known is None else known[order]
        ordered = values[self._order]
        equal = np.zeros(len(ordered), dtype=bool)
        np.equal(ordered[1:], ordered[:-1], out=equal[1:])
        self._joined = equal if ties == "secondary" and equal.any() else np.empty(0, dtype=bool)
        self._ties = _runs(equal) if ties == "primary" else np.empty(0, dtype=np.int64)
        size = len(ordered)
        self._distances, self._disparities = np.empty_like(values), np.zeros_like(values)
        self._sums, self._masses = np.empty(size), np.empty(size)
        self._begins = np.empty(size, dtype=np.int64)
        self._heights = np.empty(0)

    def of(self, points: NDArray[Any]) -> Disparities:
        """Return the distances themselves, pooled wherever they are not in order."""
        pairs, order, distances = self.pairs, self._order, self._distances
        _each(lambda span: measure(points, *span, distances), pairs.spans)
        _each(lambda span: sort_ties(distances, self._ties, *span, order), self._tied_spans())
        spans = self._spans()

        def pooled(span: tuple[int, int]) -> int:
            blocks = (part[slice(*span)] for part in (self._sums, self._masses, self._begins))
            return int(pool(distances, pairs.weights, order, self._joined, *span, *blocks))

        sizes = np.array(list(parallel.map_blocks(pooled, spans)), dtype=np.int64)
        starts = np.array([start for start, _ in spans], dtype=np.int64)
        n = merge(starts, sizes, self._sums, self._masses, self._begins)
        means, begins = self._sums[:n] / self._masses[:n], self._begins[:n]
        self._heights = means * np.sqrt(self.total / np.dot(self._sums[:n], means))
        _each(lambda span: spread(order, self._heights, begins, *span, self._disparities), spans)
        return Disparities(self._disparities)

    def curve(self) -> Curve:
        """Return the last blocks, each level, joined by lines."""
        begins = self._begins[: len(self._heights)]
        ends = np.append(begins[1:], len(self._order)) - 1
        values = self.pairs.values
        lows, highs = (values[self._order[at]].astype(np.float64) for at in (begins, ends))
        return Steps.through(lows, highs, self._heights)

    def _spans(self) -> list[tuple[int, int]]:
        """Return pieces of the order; what is joined stays in one."""
        cuts = [start for start, _ in parallel.spans(len(self._order), _PIECE)]
        if len(self._joined):
            free = np.append(np.flatnonzero(~self._joined), len(self._order))
            cuts = np.unique(free[np.searchsorted(free, cuts)]).tolist()
        return [span for span in zip(cuts, [*cuts[1:], len(self._order)], strict=True) if span[0] < span[1]]

    def _tied_spans(self) -> list[tuple[int, int]]:
        """Return ranges of ties with about as many entries each."""
        ends = self._ties[1::2]
        if not len(ends):
            return []
        cuts = np.unique(np.searchsorted(ends, np.arange(0, len(self._order), _PIECE))).tolist()
        return [span for span in zip(cuts, [*cuts[1:], len(ends)], strict=True) if span[0] < span[1]]


def _each(work: Any, spans: list[tuple[int, int]]) -> None:
    for _ in parallel.map_blocks(work, spans):
        pass


def _runs(equal: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return where runs of equal entries start and stop, one after the other; equal[r] says that r is equal to r - 1."""
    changes = np.flatnonzero(np.diff(equal.astype(np.int8), append=0))
    # A run starts one before its first equal entry, and stops after its last.
    starts, stops = changes[0::2], changes[1::2] + 1
    return np.ascontiguousarray(np.column_stack([starts, stops]).ravel(), dtype=np.int64)
