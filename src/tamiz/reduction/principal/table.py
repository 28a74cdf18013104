"""The rows of a table about their mean, read block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tamiz import parallel
from tamiz.kernels.indicators import add_levels, sum_levels
from tamiz.kernels.projection import project
from tamiz.reduction.principal.gaps import least_squares
from tamiz.reduction.principal.rows import CentredRows, Reading
from tamiz.sources.base import Source
from tamiz.sources.conform import conform
from tamiz.sources.encoding import (
    CoordinateMoments,
    Encoding,
    check_usable,
    coordinate_moments,
    coordinate_names,
    indicators,
)
from tamiz.sources.schema import Schema
from tamiz.statistics.base import Block, Floats
from tamiz.statistics.cross_products import Indicators, Scatter
from tamiz.storage.invariants import Invariants, Is, Law
from tamiz.warn import tell

# Values of one piece of work.
_PIECE = 2**18
# Numbers of float32 that a processor multiplies at a time: 100 coordinates take a quarter longer than 104.
_LANES = 8
# Standard deviations between this and its inverse are multiplied in float32.
_RANGE = 1e8


@dataclass(frozen=True)
class TableReading(Reading):
    """How the rows of a table are read.

    Attributes
    ----------
    schema : Schema
    encoding : Encoding
    fill : bool
        Whether a missing value is put at its mean; else a row is placed by what is present of it.
    """

    schema: Schema
    encoding: Encoding
    fill: bool

    invariants: ClassVar[Invariants] = {
        "schema": Is(Schema),
        "encoding": (
            Is(Encoding),
            Law(lambda it: it.encoding.reads(it.schema), "does not fit the columns of the schema"),
        ),
        "fill": Is(bool),
    }

    @property
    def names(self) -> list[str]:  # type: ignore[override]  # read only
        """The coordinates."""
        return self.encoding.names

    @property
    def mean(self) -> Floats:  # type: ignore[override]
        """The centre."""
        return self.encoding.centre

    @property
    def scale(self) -> Floats:  # type: ignore[override]
        """What coordinates are divided by."""
        return self.encoding.scale

    @property
    def levels(self) -> list[tuple[int, int]]:  # type: ignore[override]
        """The coordinates of each categorical column."""
        ends = np.cumsum([len(self.encoding.numeric), *(one.n_levels for one in self.encoding.levels)]).tolist()
        return list(pairwise(ends))

    @property
    def n_missing(self) -> int:  # type: ignore[override]
        """Missing values among the rows of fit."""
        return self.encoding.n_missing

    def table(self) -> Schema:
        """Return the columns as they were taken."""
        return self.schema

    def opened(self, X: Any) -> Source:
        """Return new rows under the columns of fit; what counts as the mean, missing or never seen in fit, is told."""
        rows = conform(X, self.schema)
        n = sum(rows.schema.columns[j].n_missing for j in rows.schema.used.tolist())
        if n and self.fill:
            values = "missing value or unknown level" if n == 1 else "missing values or unknown levels"
            tell([f"PCA: {n:,} {values} of new rows {'counts' if n == 1 else 'count'} as the mean of the column."])
        return rows

    def coordinates(self, rows: Source) -> Iterator[Floats]:
        """Yield the coordinates of rows, some at a time."""
        return (self.encoding.rows(piece, fill=self.fill) for piece in pieces(rows, len(self.mean)))

    def places(self, rows: Source, directions: Floats) -> NDArray[Any]:
        """Return rows along directions."""
        dtype = next(rows.blocks()).dtype
        out = np.empty((rows.schema.n_rows, len(directions)), dtype)
        if self.fill:
            split = Split(self.encoding)
            table, of_numbers = split.table(directions).astype(dtype), widened(split.of_numbers(directions), dtype)

            def along_levels(piece: Block) -> None:
                there = out[piece.rows.start : piece.rows.stop]
                project(split.numbers.rows(piece, dtype, width=of_numbers.shape[1]), of_numbers, there)
                add_levels(piece.codes, split.starts, table, there)

            each(along_levels, pieces(rows, split.width))
            return out
        wide, q = widened(directions, dtype), len(self.mean)

        def along(piece: Block) -> None:
            points = self.encoding.rows(piece, dtype, fill=False, width=wide.shape[1])
            there = out[piece.rows.start : piece.rows.stop]
            gappy = np.flatnonzero(np.isnan(points).any(axis=1))
            project(np.nan_to_num(points) if len(gappy) else points, wide, there)
            if len(gappy):
                there[gappy] = least_squares(points[gappy, :q].astype(np.float64), directions)

        each(along, pieces(rows, q))
        return out


class Split:
    """The coordinates of a table in two parts: numbers, and levels, whose indicators are never written down.

    Parameters
    ----------
    encoding : Encoding
        Centred, so that a missing value is 0 in every coordinate.

    Attributes
    ----------
    numbers : Encoding
        That of the numbers alone.
    starts : ndarray of shape (n_categorical,), int64
        The place of each column's first level among the levels.
    width : int
        Values that a row holds.
    """

    def __init__(self, encoding: Encoding) -> None:
        p, columns = len(encoding.numeric), encoding.levels
        self.numbers = replace(
            encoding,
            names=encoding.names[:p],
            levels=(),
            **{name: getattr(encoding, name)[:p] for name in ("centre", "scale", "fill")},
        )
        sizes = np.array([column.n_levels for column in columns], dtype=np.int64)
        self.starts = np.cumsum(sizes) - sizes
        self.width = p + len(columns)
        self._owner = np.repeat(np.arange(len(columns)), sizes)
        self._centre, self._scale = encoding.centre[p:, None], encoding.scale[p:, None]

    def of_numbers(self, directions: Floats) -> Floats:
        """Return the part of directions that belongs to the numbers."""
        return np.ascontiguousarray(directions[:, : len(self.numbers.numeric)])

    def table(self, directions: Floats) -> Floats:
        """Return what a row of each level adds along directions, of shape (n_levels, n_directions)."""
        there = np.ascontiguousarray(directions[:, len(self.numbers.numeric) :].T) / self._scale
        return there - self._by_column(self._centre * there)

    def centred(self, sums: Floats) -> Floats:
        """Return the product of scaled and centred indicators with rows from the sums of the rows of each level."""
        return (sums - self._centre * self._by_column(sums)) / self._scale

    def _by_column(self, values: Floats) -> Floats:
        """Return for every level the sum over those of its column."""
        return np.add.reduceat(values, self.starts)[self._owner] if len(values) else values


class TableRows(CentredRows):
    """The rows of a source.

    Parameters
    ----------
    source : Source
    standardize : bool
    missing : {"mean", "pairwise", "iterative"}
        The last counts a gap at the mean, until the rows are completed.
    categories : {"balanced", "famd"}
        The total variance of a categorical column of K levels: 1, or K - 1.
    """

    def __init__(self, source: Source, *, standardize: bool, missing: str, categories: str) -> None:
        check_usable(source.schema)
        self.source, self.schema = source, source.schema
        self._standardize, self._missing, self._categories = standardize, missing, categories
        self.n_rows = source.schema.n_rows
        self.n_coordinates = len(coordinate_names(source.schema))
        self._gappy = tuple(j for j in source.schema.used.tolist() if source.schema.columns[j].n_missing)
        self.n_missing = sum(source.schema.columns[j].n_missing for j in self._gappy)
        self._scatter: Scatter | None = None
        self.definite = missing != "pairwise"
        self._single = next(source.blocks()).dtype == np.float32
        if self._single:
            self.resolution = 1e-6

    @cached_property
    def _moments(self) -> CoordinateMoments:
        if self._scatter is None:
            return coordinate_moments(self.source)
        scatter = self._scatter
        return CoordinateMoments(scatter.mean, scatter.matrix.diagonal(), scatter.held, scatter.total)

    @cached_property
    def _pairs(self) -> tuple[Floats, Floats]:
        """The covariance of every pair over the rows that have both, and their weight; after `covariance`."""
        assert self._scatter is not None
        return self._scatter.pairwise()

    @cached_property
    def encoding(self) -> Encoding:
        """How rows become coordinates."""
        moments, schema = self._moments, self.source.schema
        spread = moments.spread[: len(schema.numeric)] if self._standardize else None
        scale = level_scale(moments, len(schema.numeric), indicators(schema), self._categories)
        return Encoding.of(schema, moments.mean, spread, moments.total, level_scale=scale)

    @property
    def total(self) -> float:
        """Weight of all rows."""
        return self.encoding.total

    @property
    def reading(self) -> TableReading:
        """How they are read."""
        return TableReading(self.source.schema, self.encoding, fill=self._missing == "mean")

    @property
    def variances(self) -> Floats:
        """The variance of every coordinate."""
        if self._missing == "pairwise" and self._scatter is not None:
            return np.asarray(self._pairs[0].diagonal()) / self.encoding.scale**2
        return self._moments.squares / self.encoding.scale**2 / (self._moments.total - 1)

    def sentences(self) -> list[str]:
        """Return which columns take no part, and how gaps were counted."""
        told = list(self.source.schema.left_out)
        if self.n_missing and self._missing == "mean":
            values = "missing value was" if self.n_missing == 1 else "missing values were"
            told.append(f"PCA: {self.n_missing:,} {values} given the mean of the column.")
        if self._missing == "pairwise" and self._scatter is not None:
            apart = np.argwhere(self._pairs[1] < 2)
            if len(apart):
                i, j = apart[0].tolist()
                told.append(
                    f"PCA: fewer than two rows have both {self.encoding.names[i]} and {self.encoding.names[j]}; the covariance of "
                    "such a pair counts as 0."
                )
        return told

    def covariance(self) -> Floats:
        """Return the covariance, in one pass over the rows."""
        schema = self.source.schema
        constant = {j for j in schema.numeric if schema.columns[j].constant}
        scatter = Scatter(schema.numeric, indicators(schema), self._gappy)
        scatter = scatter.started(next(self.source.blocks()), constant)
        (scatter,) = self.source.reduce(scatter)
        self._scatter = scatter
        raw = self._pairs[0] if self._missing == "pairwise" else scatter.matrix / (scatter.total - 1)
        if (self.encoding.scale == 1.0).all():
            return raw
        return raw / np.outer(self.encoding.scale, self.encoding.scale)

    def times_covariance(self, X: Floats) -> Floats:
        """Return X times the covariance, in one pass over the rows."""
        # Squares must stay within the range of float32.
        spread = np.sqrt(self.variances.max())
        dtype = np.float32 if self._single and 1 / _RANGE < spread < _RANGE else np.float64
        split = Split(self.encoding)
        table, of_numbers = split.table(X), split.of_numbers(X)

        def product(piece: Block) -> tuple[Floats, Floats]:
            numbers = split.numbers.rows(piece, dtype)
            images = numbers @ of_numbers.T.astype(dtype, copy=False)
            sums = np.zeros(table.shape)
            if len(table):
                codes, images = piece.codes, images.astype(np.float64)
                add_levels(codes, split.starts, table, images)
            if piece.weight is not None:
                images *= piece.weight[:, None]
            if len(table):
                sum_levels(codes, split.starts, images, sums)
            return np.asarray(images.T.astype(dtype, copy=False) @ numbers, dtype=np.float64), sums

        by_number, by_level = np.zeros(of_numbers.shape), np.zeros(table.shape)
        for numbers, levels in parallel.map_blocks(product, pieces(self.source, split.width)):
            by_number += numbers
            by_level += levels
        return np.hstack([by_number, split.centred(by_level).T]) / (self.total - 1)

    def whole(self) -> Floats:
        """Return the rows, each times the root of its weight."""
        rooted = np.empty((self.n_rows, self.n_coordinates))

        def fill(piece: Block) -> None:
            rooted[piece.rows.start : piece.rows.stop] = self.encoding.rows(piece)
            if piece.weight is not None:
                rooted[piece.rows.start : piece.rows.stop] *= np.sqrt(piece.weight)[:, None]

        each(fill, pieces(self.source, self.n_coordinates))
        return rooted

    def places(self, directions: Floats) -> NDArray[Any]:
        """Return the rows along directions."""
        return self.reading.places(self.source, directions)


def level_scale(moments: CoordinateMoments, first: int, columns: tuple[Indicators, ...], categories: str) -> Floats:
    """Return what the indicators of levels are divided by, of shape (n_levels,).

    The square root of a level's share gives a column of K levels the total variance K - 1, as FAMD does; with the square root of
    K - 1 as well it is 1, as that of a standardised number. Numbers are standardised with n - 1, and so are indicators: both
    variances are exact, and missing values reduce both alike.

    Parameters
    ----------
    moments : CoordinateMoments
    first : int
        The coordinate of the first indicator.
    columns : tuple of Indicators
    categories : {"balanced", "famd"}

    References
    ----------
    Pages (2004), Analyse factorielle de donnees mixtes, Revue de Statistique Appliquee 52.
    """
    scale = [np.empty(0)]
    for column in columns:
        own = slice(first, first := first + column.n_levels)
        share, present = moments.mean[own], moments.held[own]
        freedom = present - 1
        squares = np.divide(share * present, freedom, out=share.copy(), where=freedom > 0)
        if categories == "balanced":
            squares = squares * max(int((share > 0).sum()) - 1, 1)
        scale.append(np.sqrt(squares))
    return np.concatenate(scale)


def widened(directions: Floats, dtype: type[np.floating[Any]]) -> NDArray[Any]:
    """Return directions with zeros behind them: `project` is slower where numbers are left over by its vectors."""
    k, q = directions.shape
    wide = np.zeros((k, -(-q // _LANES) * _LANES), dtype)
    wide[:, :q] = directions
    return wide


def pieces(source: Source, n_coordinates: int) -> Iterator[Block]:
    """Yield the rows in pieces of work."""
    size = max(1, _PIECE // n_coordinates)
    return (piece for block in source.blocks() for piece in block.pieces(size))


def each(work: Callable[[Block], None], items: Iterator[Block]) -> None:
    """Do some work for every item, several at a time."""
    for _ in parallel.map_blocks(work, items):
        pass
