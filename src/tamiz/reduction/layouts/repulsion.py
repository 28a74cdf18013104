"""Repulsion of t-SNE from fixed points: exact sums, interpolation on a grid with FFT, or a tree of cells.

A field of points is evaluated anywhere. It returns for every query y the force sum_j w_j^2 (y - y_j) and the potential
sum_j w_j, where w_j = 1 / (1 + |y - y_j|^2).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import lru_cache

import numpy as np
from scipy import fft

from tamiz.arrays import Floats
from tamiz.kernels import read_only
from tamiz.kernels.neighbor_embedding import (
    Cells,
    build_cells,
    interpolate_from_grid,
    morton_codes,
    repel_by_cells,
    repel_exactly,
    spread_on_grid,
)
from tamiz.runtime import parallel

METHODS = ("exact", "cells", "grid")
# Distance between nodes of the grid: with cubic splines the forces have an error of about 1 % where points are sparse, less
# elsewhere. Layouts of a small extent have at least this number of nodes along the longer side.
_NODE_DISTANCE, _MIN_NODES = 1.0 / 3.0, 60
# Nodes outside the points: the splines need 2, and the deconvolution decays by a factor of 3.7 for each.
_MARGIN = 6
# A longer side would need a grid of gigabytes.
_MAX_GRID_EXTENT = 5_000.0
# Angle at which a cell acts as its centre: of a step, and of a value that is reported.
_THETA, _ACCURATE_THETA = 0.5, 0.2
# Points up to which reported values are exact sums.
_MAX_EXACT_POINTS = 3_000
# Queries of one task, and numbers of blocks of points that spread on grids of their own.
_QUERIES_PER_TASK, _SPREADING_BLOCKS, _TRANSFORM_BLOCKS = 2048, 8, 8
# Seconds of one core: per pair and coordinate (and one for the division) of exact sums, per node and binary digit of a transform,
# per point of a grid, and per point and level of a tree with one coordinate, three times as many for each further one.
_PAIR_COST, _NODE_COST, _GRID_POINT_COST, _CELL_COST = 9e-10, 6.5e-10, 7e-8, 5e-8


class RepulsionField(ABC):
    """Repulsion from points, of shape (n_points, m)."""

    def evaluate(self, queries: Floats) -> tuple[Floats, Floats]:
        """Return the forces, of shape (n_queries, m), and the potentials of queries; of a point, including its own."""
        forces, potential = np.empty_like(queries), np.empty(len(queries))
        parallel.run_blocks(
            lambda span: self._fill(queries, span, forces, potential),
            parallel.block_ranges(len(queries), _QUERIES_PER_TASK),
        )
        return forces, potential

    @abstractmethod
    def _fill(self, queries: Floats, span: tuple[int, int], forces: Floats, potential: Floats) -> None:
        """Fill the forces and potentials of some queries."""


class ExactField(RepulsionField):
    def __init__(self, points: Floats) -> None:
        self._coordinates = np.ascontiguousarray(points.T)

    def _fill(self, queries: Floats, span: tuple[int, int], forces: Floats, potential: Floats) -> None:
        repel_exactly(self._coordinates, queries, *span, forces, potential)


class CellField(RepulsionField):
    """A tree of square cells, in which a distant cell acts as its centre (Barnes and Hut 1986)."""

    def __init__(self, points: Floats, theta: float = _THETA) -> None:
        n, m = points.shape
        lower = points.min(axis=0)
        width = float(np.ptp(points, axis=0).max()) * (1.0 + 1e-9) or 1.0
        codes = np.empty(n, dtype=np.uint64)
        parallel.run_blocks(
            lambda span: morton_codes(points, lower, width, *span, codes), parallel.block_ranges(n, 2**15)
        )
        self._order = np.argsort(codes, kind="stable")
        self._points = points[self._order]
        self._theta = theta
        arrays = [
            np.empty((2 * n, m)),
            np.empty(2 * n),
            np.empty(2 * n),
            *(np.empty(2 * n, np.int64) for _ in range(3)),
        ]
        self._n_cells = build_cells(codes[self._order], self._points, width, *arrays)
        self._cells = Cells(*(read_only(array) for array in arrays))

    def _fill(self, queries: Floats, span: tuple[int, int], forces: Floats, potential: Floats) -> None:
        repel_by_cells(self._cells, self._n_cells, self._points, self._theta, queries, *span, forces, potential)

    def evaluate(self, queries: Floats) -> tuple[Floats, Floats]:
        """Return the forces and the potentials of queries; of a point, including its own."""
        if len(queries) != len(self._order):
            return super().evaluate(queries)
        # Neighbouring queries walk through the same cells.
        forces, potential = super().evaluate(np.ascontiguousarray(queries[self._order]))
        unsorted_forces, unsorted_potential = np.empty_like(forces), np.empty_like(potential)
        unsorted_forces[self._order], unsorted_potential[self._order] = forces, potential
        return unsorted_forces, unsorted_potential


class GridField(RepulsionField):
    """Points counted on a grid, whose potential is computed by FFT and interpolated, for one or two coordinates.

    Linderman et al. (2019) convolve four weights of each point with the kernels of the forces. Here the number of points is
    convolved with the kernel of the potential, whose gradient the splines return: a quarter of the transforms.

    Parameters
    ----------
    points
    margin : float, default=0
        Width around the points in which the field is defined too; queries outside are moved to its border.
    """

    def __init__(self, points: Floats, margin: float = 0.0) -> None:
        self._n_coordinates = points.shape[1]
        planar = self._in_plane(points)
        lower = planar.min(axis=0) - margin
        extent = planar.max(axis=0) + margin - lower
        self._step = node_distance(float(extent.max()))
        nodes = [int(np.ceil(side / self._step)) + 2 * _MARGIN for side in extent]
        self._lower = lower - (_MARGIN - 1) * self._step
        self._upper = self._lower + self._step * (np.array(nodes) - 3.0)
        self._grid = self._potential_of(self._spread(planar, nodes))

    def _in_plane(self, points: Floats) -> Floats:
        return points if self._n_coordinates == 2 else np.column_stack([points, np.zeros(len(points))])

    def _spread(self, planar: Floats, nodes: list[int]) -> Floats:
        n = len(planar)

        def spread(span: tuple[int, int]) -> Floats:
            grid = np.zeros(nodes)
            spread_on_grid(planar, *self._lower, 1.0 / self._step, *span, grid)
            return grid

        grids = parallel.map_blocks(spread, parallel.block_ranges(n, max(1024, -(-n // _SPREADING_BLOCKS))))
        total = next(grids)
        for grid in grids:
            total += grid
        return total

    def _potential_of(self, density: Floats) -> Floats:
        """Return the convolution of the density with the kernel, by transforms of at least twice its size.

        Every pass transforms lines in fixed blocks, so that the bits do not depend on threads.
        """
        rows, columns = density.shape
        size = _transform_length(rows), _transform_length(columns)
        filtered = _kernel_spectrum(*size, self._step)
        half = size[1] // 2 + 1
        spectrum, out = np.zeros((rows, half), dtype=np.complex128), np.empty((rows, columns))

        def along_rows(span: tuple[int, int]) -> None:
            part = slice(*span)
            spectrum[part] = fft.rfft(density[part], size[1], axis=1)

        def along_columns(span: tuple[int, int]) -> None:
            part = slice(*span)
            # Lines of columns are contiguous after the copy.
            lines = fft.fft(np.ascontiguousarray(spectrum[:, part].T), size[0], axis=1)
            lines *= filtered[part]
            spectrum[:, part] = fft.ifft(lines, axis=1, overwrite_x=True)[:, :rows].T

        def back(span: tuple[int, int]) -> None:
            part = slice(*span)
            out[part] = fft.irfft(spectrum[part], size[1], axis=1)[:, :columns]

        for work, n_lines in ((along_rows, rows), (along_columns, half), (back, rows)):
            parallel.run_blocks(work, parallel.block_ranges(n_lines, -(-n_lines // _TRANSFORM_BLOCKS)))
        return out

    def evaluate(self, queries: Floats) -> tuple[Floats, Floats]:
        """Return the forces and the potentials of queries; of a point, including its own."""
        forces, potential = super().evaluate(np.clip(self._in_plane(queries), self._lower + self._step, self._upper))
        return (forces if self._n_coordinates == 2 else np.ascontiguousarray(forces[:, :1])), potential

    def _fill(self, queries: Floats, span: tuple[int, int], forces: Floats, potential: Floats) -> None:
        interpolate_from_grid(queries, *self._lower, 1.0 / self._step, self._grid, *span, forces, potential)


def node_distance(extent: float) -> float:
    """Return the distance of the nodes for points of some extent: a third times a power of two, at least 60 nodes."""
    if extent <= 0.0:
        return _NODE_DISTANCE
    halvings = max(0, int(np.ceil(np.log2(_NODE_DISTANCE * _MIN_NODES / extent))))
    return _NODE_DISTANCE * 2.0**-halvings


def _transform_length(n_nodes: int) -> int:
    """Return the length of the transforms of some nodes: at least twice as many, one of few lengths, whose kernels are cached."""
    steps = max(16, 2 ** (int(np.log2(n_nodes)) - 2))
    return int(fft.next_fast_len(2 * steps * -(-n_nodes // steps), real=True))


@lru_cache(maxsize=2)
def _kernel_spectrum(rows: int, columns: int, step: float) -> Floats:
    """Return the transform of 1 / (1 + d^2) on a periodic grid, divided by that of the splines, of shape (columns // 2 + 1, rows).

    It is divided twice, because points are spread and interpolated by the same splines.
    """
    along = [step * np.minimum(np.arange(n), n - np.arange(n)) for n in (rows, columns)]
    kernel = 1.0 / (1.0 + along[0][:, None] ** 2 + along[1] ** 2)
    spectrum = fft.rfft2(kernel).real
    splines = [(2.0 + np.cos(2.0 * np.pi * np.arange(n) / n)) / 3.0 for n in (rows, columns)]
    return np.ascontiguousarray((spectrum / (splines[0][:, None] * splines[1][: columns // 2 + 1]) ** 2).T)


def choose_method(points: Floats) -> str:
    """Return the method of the least estimated time for points: it depends on their number and on the extent of the layout."""
    n, m = points.shape
    costs = {"exact": _PAIR_COST * n * n * (m + 1)}
    if m <= 3:
        costs["cells"] = _CELL_COST * 3 ** (m - 1) * n * np.log2(max(n, 2))
    sides = np.ptp(points, axis=0)
    if m <= 2 and sides.max() < _MAX_GRID_EXTENT:
        step = node_distance(float(sides.max()))
        nodes = float(np.prod([_transform_length(int(side / step) + 2 * _MARGIN) for side in sides]))
        costs["grid"] = _NODE_COST * nodes * np.log2(nodes) + _GRID_POINT_COST * n
    return min(costs, key=costs.__getitem__)


def build_field(points: Floats, method: str | None = None) -> RepulsionField:
    """Return the repulsion field of points; without a method, the one of the least estimated time."""
    fields = {"exact": ExactField, "cells": CellField, "grid": GridField}
    return fields[method or choose_method(points)](points)


def build_accurate_field(points: Floats) -> RepulsionField:
    """Return a field with potentials that are exact, or of a relative error of about 0.1 % for many points."""
    if len(points) <= _MAX_EXACT_POINTS or points.shape[1] > 3:
        return ExactField(points)
    return CellField(points, _ACCURATE_THETA) if choose_method(points) != "grid" else GridField(points)
