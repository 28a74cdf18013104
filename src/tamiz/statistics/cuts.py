"""Cut points of numeric columns, from their exact sorted values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from tamiz.kernels.cuts import mdl_cuts, merge_classes, split_classes
from tamiz.runtime import parallel, progress
from tamiz.runtime.memory_gate import MemoryGate
from tamiz.runtime.validation import check_integer, check_memory
from tamiz.statistics.base import Block, Codes, Floats, Statistic

# More intervals than a code of two bytes has values are no intervals any more.
MAX_BINS = 2**16 - 1
# With more classes it is faster to find the order of the values than to merge those of the classes.
_MAX_MERGED_CLASSES = 64
# Memory a row that all columns share, and that a rule works in.
_SHARED_ROW_BYTES, _RULE_ROW_BYTES = 16, 20
_MEMORY_HINT = "FisherScore and Variance cut no columns."
_CHUNK_ROWS = 2**16


@dataclass(frozen=True)
class SortedColumn:
    """The present values of one column in ascending order, with each row's class and weight."""

    values: Floats
    labels: Codes
    weight: Floats
    n_classes: int
    # n log2 n of the whole numbers up to the number of rows, empty where weights are not whole.
    log_table: Floats


class Discretization(BaseEstimator, ABC):
    """A rule that cuts numbers into intervals. A value equal to a cut goes to the interval on its left."""

    needs_classes: ClassVar[bool] = False

    def cuts(self, column: SortedColumn) -> Floats:
        """Return ascending cut points of one sorted column, none where it stays in one piece; `cut_points` reads tables."""
        if not isinstance(column, SortedColumn):
            name = type(self).__name__
            raise TypeError(
                f"{name}.cuts takes a SortedColumn, got {type(column).__name__}. "
                f"tamiz.criteria.cut_points(X, y, discretization={name}()) returns the cut points of a table, an array or a Series."
            )
        return self._cuts(column)

    @abstractmethod
    def _cuts(self, column: SortedColumn) -> Floats:
        """Return ascending cut points."""


class MDL(Discretization):
    """Cuts that lower the entropy of the classes by more than it costs to describe them.

    The interval with k classes is cut at the midpoint of neighbouring values that leaves the least class entropy (the first
    of equals) when the gain exceeds :math:`(\\log_2 m + \\log_2(3^k - 2) - (k H - k_1 H_1 - k_2 H_2)) / N`, with m the number of
    distinct candidate cuts; then both halves are cut likewise.

    Notes
    -----
    Cost O(n log n) a column. A column whose every cut costs more than it tells stays in one piece, and tells nothing.

    References
    ----------
    Fayyad and Irani (1993), Multi-interval discretization of continuous-valued attributes, IJCAI; with the encoding of
    the cut that Weka calls the better one.

    Examples
    --------
    >>> from tamiz import RankSelector
    >>> from tamiz.criteria import MDL, InformationGain
    >>> age, ill = [[31.0], [35.0], [36.0], [40.0], [61.0], [66.0], [70.0], [75.0]], list("nnnnyyyy")
    >>> RankSelector(InformationGain(discretization=MDL())).fit(age, ill).scores_
    array([1.])
    """

    needs_classes: ClassVar[bool] = True

    def _cuts(self, column: SortedColumn) -> Floats:
        """Return the accepted cuts, ascending."""
        room = np.empty(max(len(column.values), 1))
        n = mdl_cuts(column.values, column.labels, column.weight, column.log_table, column.n_classes, room)
        return np.sort(room[:n])


class EqualFrequency(Discretization):
    """Intervals of about the same weight: the k-th cut follows the first value by which k / n_bins of it is reached.

    Parameters
    ----------
    n_bins : int, default=10
        Intervals at most: equal values stay together.

    Notes
    -----
    Cost O(n log n) a column. No target is needed.

    References
    ----------
    Dougherty, Kohavi and Sahami (1995), Supervised and unsupervised discretization of continuous features, ICML.

    Examples
    --------
    >>> from tamiz import RankSelector
    >>> from tamiz.criteria import Entropy, EqualFrequency
    >>> RankSelector(Entropy(discretization=EqualFrequency(4))).fit([[1.0], [2.0], [3.0], [90.0]]).scores_
    array([2.])
    """

    def __init__(self, n_bins: int = 10) -> None:
        self.n_bins = n_bins

    def _cuts(self, column: SortedColumn) -> Floats:
        """Return at most n_bins - 1 cuts, ascending: equal values stay together."""
        check_integer("n_bins", self.n_bins, low=2, high=MAX_BINS)
        values, running = column.values, np.cumsum(column.weight)
        if len(values) == 0:
            return np.empty(0)
        wanted = running[-1] * np.arange(1, self.n_bins) / self.n_bins
        # A hair of slack: a sum of whole weights must reach its own share whatever the last bit says.
        reached = values[np.searchsorted(running, wanted * (1 - 1e-12))]
        at = np.unique(np.searchsorted(values, reached, side="right")) - 1
        at = at[at < len(values) - 1]
        low, high = values[at], values[at + 1]
        middle = low / 2 + high / 2
        return np.where(middle < high, middle, low)


class EqualWidth(Discretization):
    """Intervals of the same width between the least and the largest value.

    Parameters
    ----------
    n_bins : int, default=10
        Intervals, some of which may be empty.

    Notes
    -----
    Cost O(n log n) a column. No target is needed. One value far away from all others leaves these in one interval.

    References
    ----------
    Dougherty, Kohavi and Sahami (1995), Supervised and unsupervised discretization of continuous features, ICML.

    Examples
    --------
    >>> from tamiz import RankSelector
    >>> from tamiz.criteria import Entropy, EqualWidth
    >>> RankSelector(Entropy(discretization=EqualWidth(4))).fit([[1.0], [2.0], [3.0], [90.0]]).scores_.round(4)
    array([0.8113])
    """

    def __init__(self, n_bins: int = 10) -> None:
        self.n_bins = n_bins

    def _cuts(self, column: SortedColumn) -> Floats:
        """Return n_bins - 1 cuts, ascending; none for a constant column."""
        check_integer("n_bins", self.n_bins, low=2, high=MAX_BINS)
        if len(column.values) == 0 or column.values[0] == column.values[-1]:
            return np.empty(0)
        low, high = column.values[0], column.values[-1]
        share = np.arange(1, self.n_bins) / self.n_bins
        return np.unique(low * (1 - share) + high * share)


class CutPoints(Statistic):
    """Cut points of numeric columns by one rule, exact: from every value, not from a sketch.

    It keeps the pieces of the columns until all rows were seen, and then reads them column by column: those that lie on disk take
    no memory before.

    Attributes
    ----------
    edges : dict of column to ndarray
        Ascending cut points.
    """

    def __init__(self, columns: tuple[int, ...], rule: Discretization, n_classes: int) -> None:
        self.columns = columns
        self.rule = rule
        self.n_classes = n_classes if rule.needs_classes else 1
        self.edges: dict[int, Floats] = {}
        self._values: dict[int, list[NDArray[Any]]] = {column: [] for column in columns}
        self._labels: list[Codes] = []
        self._weights: list[Floats] = []

    @property
    def key(self) -> Hashable:
        """Columns and rule."""
        return type(self), self.columns, type(self.rule), *self.rule.get_params().items(), self.n_classes

    def empty(self) -> Self:
        """Return a new one that has seen nothing."""
        return type(self)(self.columns, self.rule, self.n_classes)

    def update(self, block: Block) -> Self:
        """Add the rows of a block."""
        for column in self.columns:
            self._values[column].append(block.values.get(column, block.y))  # type: ignore[arg-type]  # a target is there
        if self.rule.needs_classes:
            assert block.y is not None
            self._labels.append(np.ascontiguousarray(block.y, dtype=np.int32))
        else:
            self._labels.append(np.zeros(len(block.rows), dtype=np.int32))
        if block.weight is not None:
            self._weights.append(block.weight)
        self.n_samples += len(block.rows)
        return self

    def merge(self, other: Self) -> Self:
        """Add all that another one has seen."""
        for column in self.columns:
            self._values[column] += other._values[column]
        self._labels += other._labels
        self._weights += other._weights
        self.n_samples += other.n_samples
        return self

    def finish(self) -> None:
        """Read, sort and cut column by column."""
        n, needs_classes = self.n_samples, self.rule.needs_classes
        if n > _CHUNK_ROWS:
            check_memory(_SHARED_ROW_BYTES * n, f"What {n:,} rows have in common when columns are cut", _MEMORY_HINT)
        weight = np.concatenate(self._weights) if self._weights else np.ones(n)
        whole = not self._weights or bool(np.all(weight == np.floor(weight)) and weight.sum() <= 4 * n)
        table = n_log_n_table(int(weight.sum()) + 1 if whole and needs_classes else 0)
        sort = (
            _ArgsortSorter(self._labels, weight)
            if self._weights or self.n_classes > _MAX_MERGED_CLASSES
            else _ClassMergeSorter(self._labels, weight, self.n_classes)
        )
        turns, n_bytes = MemoryGate(), max(sort.row_bytes, _RULE_ROW_BYTES) * n

        def cut(column: int) -> Floats:
            taken = turns.reserve(n_bytes, f"Cutting a column of {n:,} rows", _MEMORY_HINT)
            with taken, sort.sorted_column(self._values.pop(column)) as ascending:
                return np.array(self.rule.cuts(SortedColumn(*ascending, self.n_classes, table)))

        for done, cuts in enumerate(parallel.map_blocks(cut, self.columns)):
            self.edges[self.columns[done]] = cuts
            progress.report_progress("Cutting columns", done + 1, len(self.columns))
        self._values, self._labels, self._weights = {}, [], []


def n_log_n_table(size: int) -> Floats:
    """Return n log2 n of the whole numbers below `size`."""
    table = np.arange(size, dtype=np.float64)
    for start, stop in parallel.block_ranges(size, _CHUNK_ROWS):
        table[start:stop] *= np.log2(np.maximum(table[start:stop], 1.0))
    return table


class _ClassMergeSorter:
    """Columns sorted class by class, for rows that weigh the same."""

    row_bytes = 20

    def __init__(self, labels: list[Codes], weight: Floats, n_classes: int) -> None:
        self._labels = labels
        self._weight = weight
        sizes = sum((np.bincount(part, minlength=n_classes) for part in labels), np.zeros(n_classes, dtype=np.int64))
        self._starts = np.cumsum(sizes) - sizes
        n = len(weight)
        self._buffers = parallel.BufferPool(lambda: (np.empty(n), np.empty(n), np.empty(n, dtype=np.int32)))

    @contextmanager
    def sorted_column(self, pieces: list[NDArray[Any]]) -> Iterator[tuple[Floats, Codes, Floats]]:
        """Give the present values of a column, ascending, and the class and weight of each."""
        with self._buffers.borrow() as (parts, values, labels):
            ends = self._starts.copy()
            for piece, classes in zip(pieces, self._labels, strict=True):
                split_classes(np.ascontiguousarray(piece, dtype=np.float64), classes, ends, parts)
            for start, end in zip(self._starts, ends, strict=True):
                parts[start:end].sort()
            n = int((ends - self._starts).sum())
            merge_classes(parts, self._starts, ends, values[:n], labels[:n])
            yield values[:n], labels[:n], self._weight[:n]


class _ArgsortSorter:
    """Columns sorted by the order of their values: slower, for weights and for very many classes."""

    row_bytes = 44

    def __init__(self, labels: list[Codes], weight: Floats) -> None:
        self._labels = np.concatenate([np.empty(0, dtype=np.int32), *labels])
        self._weight = weight
        self._has_weight = weight > 0

    @contextmanager
    def sorted_column(self, pieces: list[NDArray[Any]]) -> Iterator[tuple[Floats, Codes, Floats]]:
        """Give the present values of a column, ascending, and the class and weight of each; those of no weight are left out."""
        values = np.concatenate([np.empty(0), *pieces])
        order = np.argsort(values, kind="stable")
        order = order[: len(values) - int(np.isnan(values).sum())]
        order = order[self._has_weight[order]]
        yield values[order], self._labels[order], self._weight[order]
