"""Sums over the training and test rows of folds as statistics of a table, which its workers or passes over a file fill.

Backends compute with them where the rows do not fit in memory, or where workers read them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats, Indices, Masks
from tamiz.models.column_products import ColumnProducts
from tamiz.models.design_matrix import MatrixEncoder
from tamiz.models.folds import Folds
from tamiz.statistics.base import Block, Statistic
from tamiz.statistics.contingency import Coding, LevelCounts
from tamiz.statistics.moments import Moments
from tamiz.table.base import Table
from tamiz.table.encode import CoordinateMoments
from tamiz.table.views import weights_or_ones
from tamiz.table.worker_tasks import store_rows

_TRAIN, _TEST = 1, 2


@dataclass(frozen=True)
class RowRoles:
    """In which folds each row is a training or test row, and further values of the rows, as tasks on workers read them.

    Attributes
    ----------
    roles : tuple
        For every fold a column.
    values : tuple
        Further columns.
    arrays : tuple
        What the columns are stored from; a stored column is deleted with its array.
    """

    roles: tuple[Any, ...]
    values: tuple[Any, ...] = ()
    arrays: tuple[NDArray[Any], ...] = ()

    @classmethod
    def of(cls, table: Table, folds: Folds) -> RowRoles:
        roles = np.zeros((len(folds), table.schema.n_rows), dtype=np.int8)
        for own, fold in zip(roles, folds, strict=True):
            own[fold.train] |= _TRAIN
            own[fold.test] |= _TEST
        return cls(tuple(store_rows(table.workers, own) for own in roles), (), tuple(roles))

    def with_values(self, table: Table, values: Iterable[NDArray[Any]]) -> RowRoles:
        arrays = tuple(values)
        stored = tuple(store_rows(table.workers, one) for one in arrays)
        return RowRoles(self.roles, stored, (*self.arrays, *arrays))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "arrays": ()}

    def rows(self, block: Block, fold: int, role: int) -> Indices:
        own = np.asarray(self.roles[fold][block.rows.start : block.rows.stop])
        return np.flatnonzero(own & role)

    def test_rows(self, block: Block) -> list[Indices]:
        return [self.rows(block, fold, _TEST) for fold in range(len(self.roles))]

    def at(self, block: Block, value: int) -> NDArray[Any]:
        return np.asarray(self.values[value][block.rows.start : block.rows.stop])


def has_repeated_rows(folds: Folds) -> bool:
    """Return whether a row occurs more than once among the training or test rows of a fold."""
    return any((np.diff(rows) == 0).any() for fold in folds for rows in (fold.train, fold.test))


def _take_rows(block: Block, rows: Indices) -> Block:
    return Block(
        range(len(rows)),
        {j: values[rows] for j, values in block.values.items()},
        None if block.y is None else block.y[rows],
        None if block.weight is None else block.weight[rows],
    )


def _read_block(block: Block) -> Block:
    return replace(block, values={j: np.asarray(values) for j, values in block.values.items()}, numeric_matrix=None)


class _FoldStatistic(Statistic):
    """Base class of sums that know the roles of the rows; they leave them on the worker."""

    def __init__(self, columns: Sequence[int], roles: RowRoles | None) -> None:
        self.columns = tuple(columns)
        self.roles = roles

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "roles": None if self.n_samples else self.roles}


class TrainingSums(_FoldStatistic):
    """Copies of statistics, filled with the training rows of every fold.

    Attributes
    ----------
    folds : list of list of Statistic
    """

    def __init__(self, statistics: Sequence[Any], roles: RowRoles) -> None:
        super().__init__(sorted({j for one in statistics for j in one.columns}), roles)
        self._statistics = list(statistics)
        self.folds = [[one.empty() for one in statistics] for _ in roles.roles]

    @property
    def key(self) -> Hashable:
        return type(self), id(self.roles), *(one.key for one in self._statistics)

    def empty(self) -> Self:
        assert self.roles is not None
        return type(self)(self._statistics, self.roles)

    def update(self, block: Block) -> Self:
        assert self.roles is not None
        read = _read_block(block)
        for fold, own in enumerate(self.folds):
            part = _take_rows(read, self.roles.rows(block, fold, _TRAIN))
            for statistic in own if len(part.rows) else ():
                statistic.update(part)
        self.n_samples += len(block.rows)
        return self

    def merge(self, other: Self) -> Self:
        for mine, theirs in zip(self.folds, other.folds, strict=True):
            for one, two in zip(mine, theirs, strict=True):
                one.merge(two)
        self.n_samples += other.n_samples
        return self

    def finish(self) -> None:
        for own in self.folds:
            for statistic in own:
                statistic.finish()


class FoldProductSums(_FoldStatistic):
    """Products of the coordinates of the training and the test rows of every fold, about their means in classes.

    Parameters
    ----------
    encoder : MatrixEncoder
    roles : RowRoles
        The first of its values is the class of each row; the others are targets, which become the last coordinates.
    n_classes : int
    centred : bool

    Attributes
    ----------
    train, test : list of ColumnProducts
        For every fold.
    """

    def __init__(self, encoder: MatrixEncoder, roles: RowRoles, n_classes: int, *, centred: bool) -> None:
        super().__init__(encoder.schema.used.tolist(), roles)
        self._encoder, self._n_classes, self._centred = encoder, n_classes, centred
        width = encoder.n_coordinates + len(roles.values) - 1
        self.train, self.test = ([ColumnProducts.empty(n_classes, width) for _ in roles.roles] for _ in range(2))

    @property
    def key(self) -> Hashable:
        """The encoder, the roles, the number of classes, and whether products are centred."""
        return type(self), id(self._encoder), id(self.roles), self._n_classes, self._centred

    def empty(self) -> Self:
        assert self.roles is not None
        return type(self)(self._encoder, self.roles, self._n_classes, centred=self._centred)

    def update(self, block: Block) -> Self:
        assert self.roles is not None
        roles = self.roles
        values = self._encoder.values(_read_block(block))
        codes, weights = roles.at(block, 0).astype(np.int64), block.weight_or_ones
        targets = [roles.at(block, k) for k in range(1, len(roles.values))]
        # A NaN, or a value that is too large to be squared, makes a sum NaN or infinite: a refit then reports it.
        with np.errstate(invalid="ignore", over="ignore"):
            for fold in range(len(roles.roles)):
                encoded = np.column_stack([self._encoder.encode(values.copy(), fold), *targets])
                for sums, role in ((self.train, _TRAIN), (self.test, _TEST)):
                    rows = roles.rows(block, fold, role)
                    if len(rows):
                        given = encoded[rows], codes[rows], weights[rows]
                        products = ColumnProducts.from_rows(*given, self._n_classes, centred=self._centred)
                        sums[fold] = sums[fold].merge(products)
        self.n_samples += len(block.rows)
        return self

    def merge(self, other: Self) -> Self:
        with np.errstate(invalid="ignore", over="ignore"):
            for mine, theirs in ((self.train, other.train), (self.test, other.test)):
                mine[:] = [one.merge(two) for one, two in zip(mine, theirs, strict=True)]
        self.n_samples += other.n_samples
        return self


# predict(block, test_rows, codes, counts, doubtful) adds to the counts of every candidate and fold the weights of a block's test
# rows by class and predicted class, and fills in which of them rounding could change. On workers it must be a picklable object.
Predict = Callable[[Block, list[Indices], NDArray[np.int64], Floats, Masks], None]


class PredictionCounts(_FoldStatistic):
    """Confusion counts of candidates in every fold.

    Parameters
    ----------
    columns : sequence of int
        The columns that are predicted from.
    roles : RowRoles
        The first of its values is the class of each row.
    predict : callable
    shape : tuple of int
        n_candidates, n_folds, n_classes, n_classes.

    Attributes
    ----------
    counts : ndarray of this shape
    doubtful : ndarray of shape (n_candidates, n_folds), bool
    """

    def __init__(self, columns: Sequence[int], roles: RowRoles, predict: Predict, shape: tuple[int, ...]) -> None:
        super().__init__(columns, roles)
        self._predict = predict
        self.counts, self.doubtful = np.zeros(shape), np.zeros(shape[:2], dtype=bool)

    @property
    def key(self) -> Hashable:
        """What predicts, and the roles."""
        return type(self), id(self._predict), id(self.roles)

    def empty(self) -> Self:
        assert self.roles is not None
        return type(self)(self.columns, self.roles, self._predict, self.counts.shape)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return {**state, "_predict": None} if self.n_samples else state

    def update(self, block: Block) -> Self:
        assert self.roles is not None
        doubtful = np.zeros_like(self.doubtful)
        codes = self.roles.at(block, 0).astype(np.int64)
        self._predict(_read_block(block), self.roles.test_rows(block), codes, self.counts, doubtful)
        self.doubtful |= doubtful
        self.n_samples += len(block.rows)
        return self

    def merge(self, other: Self) -> Self:
        self.counts += other.counts
        self.doubtful |= other.doubtful
        self.n_samples += other.n_samples
        return self


def fit_encodings(encoder: MatrixEncoder, table: Table, folds: Folds, roles: RowRoles) -> None:
    schema = table.schema
    (sums,) = table.reduce(
        TrainingSums((Moments(schema.numeric), LevelCounts(schema.categorical, Coding(schema.n_levels, {}))), roles)
    )
    weight = weights_or_ones(table)
    for (moments, counts), fold in zip(sums.folds, folds, strict=True):
        found = CoordinateMoments.of(moments, counts, float(weight[fold.train].sum()))
        encoder.fitted.append(
            encoder.fit_fold(found.present_weight, found.mean, found.squared_deviations, found.total_weight)
        )
