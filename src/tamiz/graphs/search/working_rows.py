"""Rows in float32 for an approximate search to work on, along fewer directions where that loses hardly any neighbour."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tamiz import parallel
from tamiz.graphs.search.directions import leading, spread_out
from tamiz.kernels.nearest import measure_all
from tamiz.kernels.projection import project
from tamiz.statistics.base import Floats

Floats32 = NDArray[np.float32]

# So many columns are worked on as they are; more, along the least of these numbers of directions that will do.
_MOST_COLUMNS = 128
_DIRECTIONS = (64, 96, 128)
# Rows that the directions are found from, that the centre is, and whose neighbours are tried along the directions.
_FOUND_FROM, _CENTRED, _TRIED = 4096, 1024, 64
# Rows whose neighbours are looked at for the blur, numbers compared for it at most, and the blur that asks for longer lists.
_LEAST_BLUR_ROWS, _MOST_BLUR_ROWS, _BLUR_NUMBERS, _BLURRED = 4, 16, 2**28, 2.0**-10
# Numbers are kept within this.
_LARGEST = 2.0**50
# Numbers of one piece of work.
_SLAB = 2**19


@dataclass(frozen=True)
class WorkingRows:
    """Rows less a centre, in a unit that keeps their squares within float32, along some directions or as they are.

    Distances between them are those of the rows times `unit`, or shorter where there are directions.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_directions), float32
    n_listed : int
        How many of the nearest here to list for the k nearest wanted to be among them.
    blur : float
        Rounding to float32 in units of the distance of a k-th neighbour: where groups of rows lie far apart, it is large.
    centre : ndarray of shape (n_columns,)
    unit : float
        A power of two.
    directions : ndarray of shape (n_directions, n_columns) or None
        Orthonormal; None where all columns are kept.
    """

    rows: Floats32
    n_listed: int
    blur: float
    centre: Floats
    unit: float
    directions: Floats | None = None

    @classmethod
    def of(cls, values: Floats, k: int, share: float) -> Self:
        """Return rows to search on.

        Parameters
        ----------
        values : ndarray of shape (n_rows, n_columns)
        k : int
            Neighbours wanted of each row.
        share : float
            So many of them must be among those listed, tried on some rows, for directions to be taken.
        """
        some = values[spread_out(len(values), _FOUND_FROM)]
        centre, unit = _centre_and_unit(some)
        blur = _blur(values, centre, k)
        n_listed = 2 * k + 2
        if values.shape[1] > _MOST_COLUMNS and len(values) > 8 * n_listed and blur < _BLURRED:
            directions = leading(_scaled(some, centre, unit).astype(np.float32), _DIRECTIONS[-1]).T.astype(np.float64)
            along, apart = _along(values, centre, unit, directions)
            for n_directions in _DIRECTIONS:
                part = along[:, :n_directions]
                if _caught(part, apart, k, n_listed) >= share:
                    kept = np.ascontiguousarray(directions[:n_directions])
                    return cls(np.ascontiguousarray(part), n_listed, blur, centre, unit, kept)
        rows = np.empty(values.shape, dtype=np.float32)

        def fill(span: tuple[int, int]) -> None:
            rows[slice(*span)] = _scaled(values[slice(*span)], centre, unit)

        _by_slabs(values, fill)
        return cls(rows, n_listed if blur > _BLURRED else k + 1, blur, centre, unit)

    def like(self, values: Floats) -> Floats32:
        """Return other rows in the same way, each by itself."""
        apart = _scaled(values, self.centre, self.unit)
        if self.directions is None:
            return apart.astype(np.float32)
        along = np.empty((len(values), len(self.directions)))
        project(apart, self.directions, along)
        return along.astype(np.float32)


def _centre_and_unit(some: Floats) -> tuple[Floats, float]:
    """Return the median of some rows, and the power of two that brings a typical number near 1: no outlier moves them."""
    centre = np.median(some[spread_out(len(some), _CENTRED)], axis=0)
    apart = np.abs(some - centre)
    apart = apart[apart > 0.0]
    return centre, float(np.ldexp(1.0, -int(np.frexp(np.median(apart))[1]))) if apart.size else 1.0


def _scaled(values: Floats, centre: Floats, unit: float) -> Floats:
    """Return rows less the centre, in the unit; numbers whose squares float32 could not hold, cut off."""
    apart = values - centre
    apart *= unit
    return np.clip(apart, -_LARGEST, _LARGEST, out=apart)


def _blur(values: Floats, centre: Floats, k: int) -> float:
    """Return the rounding of a row to float32 in units of its distance from its k-th neighbour, of most rows tried."""
    n_tried = int(np.clip(_BLUR_NUMBERS // values.size, _LEAST_BLUR_ROWS, _MOST_BLUR_ROWS))
    tried = spread_out(len(values), n_tried)

    def blur(row: int) -> float:
        distances = np.empty(len(values))
        measure_all(values, row, values, distances)
        last = min(k, len(values) - 1)
        distance = float(np.partition(distances, last)[last])
        return float(np.linalg.norm(values[row] - centre)) * 2.0**-24 / distance if distance > 0.0 else 0.0

    return float(np.quantile(list(parallel.map_blocks(blur, tried)), 0.9))


def _by_slabs(values: Floats, fill: Callable[[tuple[int, int]], None]) -> None:
    for _ in parallel.map_blocks(fill, parallel.spans(len(values), 1 + _SLAB // max(values.shape[1], 1))):
        pass


def _along(values: Floats, centre: Floats, unit: float, directions: Floats) -> tuple[Floats32, Floats32]:
    """Return all rows along the directions, and the squared distances of the tried rows from all."""
    along = np.empty((len(values), len(directions)), dtype=np.float32)
    tried = _scaled(values[spread_out(len(values), _TRIED)], centre, unit).astype(np.float32)
    apart = np.empty((len(tried), len(values)), dtype=np.float32)
    turned = np.ascontiguousarray(directions.T, dtype=np.float32)
    lengths = np.einsum("ij,ij->i", tried, tried)[:, None]

    def fill(span: tuple[int, int]) -> None:
        part = _scaled(values[slice(*span)], centre, unit).astype(np.float32)
        np.matmul(part, turned, out=along[slice(*span)])
        apart[:, slice(*span)] = lengths + np.einsum("ij,ij->i", part, part) - 2 * (tried @ part.T)

    _by_slabs(values, fill)
    return along, apart


def _caught(along: Floats32, apart: Floats32, k: int, n_listed: int) -> float:
    """Return the share of the k nearest of the tried rows that are among the `n_listed` nearest along the directions.

    A row counts as one of its own neighbours, on both sides.
    """
    tried = along[spread_out(len(along), len(apart))]
    squares = np.einsum("ij,ij->i", along, along)

    def count(span: tuple[int, int]) -> int:
        nearest = np.argpartition(apart[slice(*span)], k, axis=1)[:, : k + 1]
        near = squares - 2 * (tried[slice(*span)] @ along.T)
        last = np.partition(near, n_listed, axis=1)[:, n_listed, None]
        return int((np.take_along_axis(near, nearest, axis=1) <= last).sum()) - len(nearest)

    return sum(parallel.map_blocks(count, parallel.spans(len(tried), 8))) / (len(tried) * k)
