"""Discretization of numeric columns: rules, and the cut points that they find in the exact sorted values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from tamiz.arrays import Codes, Floats
from tamiz.kernels.cuts import mdl_cuts, merge_classes, split_classes
from tamiz.runtime import parallel
from tamiz.runtime.validation import check_integer, check_memory
from tamiz.statistics.base import Block, WholeColumns

# The largest number of intervals: codes have two bytes.
MAX_BINS = 2**16 - 1
# With more classes, sorting all values by argsort is faster than merging sorted classes.
_MAX_MERGED_CLASSES = 64
# Memory for each row in bytes: shared by all columns, and of a rule.
_SHARED_ROW_BYTES, _RULE_ROW_BYTES = 16, 20
_MEMORY_HINT = "FisherScore and Variance cut no columns."
_CHUNK_ROWS = 2**16


@dataclass(frozen=True)
class SortedColumn:
    """The values of one column that are not missing, in ascending order, with the class and weight of each.

    Rows of equal value and class may be one entry with the sum of their weights.
    """

    values: Floats
    labels: Codes
    weight: Floats
    n_classes: int
    # n log2 n of the whole numbers up to the number of rows; empty if weights are not whole numbers.
    log_table: Floats


class Discretization(BaseEstimator, ABC):
    """A rule that cuts numbers into intervals. A value equal to a cut belongs to the interval on its left."""

    needs_classes: ClassVar[bool] = False

    def cuts(self, column: SortedColumn) -> Floats:
        """Return ascending cut points of one sorted column, which may be none; for tables see `tamiz.criteria.cut_points`."""
        if not isinstance(column, SortedColumn):
            name = type(self).__name__
            raise TypeError(
                f"{name}.cuts requires a SortedColumn, got {type(column).__name__}. "
                f"tamiz.criteria.cut_points(X, y, discretization={name}()) returns the cut points of a table, an array or a Series."
            )
        return self._cuts(column)

    @abstractmethod
    def _cuts(self, column: SortedColumn) -> Floats:
        """Return ascending cut points."""


class MDL(Discretization):
    """Cuts that reduce the entropy of the classes by more than their description length.

    An interval with k classes is cut at the midpoint of adjacent values with the smallest remaining class entropy (the first
    of equal ones) if the gain exceeds :math:`(\\log_2 m + \\log_2(3^k - 2) - (k H - k_1 H_1 - k_2 H_2)) / N`, with m the number of
    distinct candidate cuts; then both parts are cut in the same way.

    Notes
    -----
    Cost O(n log n) for each column. A column without an accepted cut has one interval, and an information gain of 0.

    References
    ----------
    Fayyad and Irani (1993), Multi-interval discretization of continuous-valued attributes, IJCAI; with the encoding of
    the cut that Weka calls "better encoding".

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
        cuts = np.empty(max(len(column.values), 1))
        n = mdl_cuts(column.values, column.labels, column.weight, column.log_table, column.n_classes, cuts)
        return np.sort(cuts[:n])


class EqualFrequency(Discretization):
    """Intervals of about equal weight: the k-th cut follows the first value at which the cumulative weight reaches k / n_bins.

    Parameters
    ----------
    n_bins : int, default=10
        Maximum number of intervals: equal values are in one interval, so there may be fewer.

    Notes
    -----
    Cost O(n log n) for each column. No target is needed.

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
        """Return at most n_bins - 1 cuts, ascending."""
        check_integer("n_bins", self.n_bins, low=2, high=MAX_BINS)
        values, running = column.values, np.cumsum(column.weight)
        if len(values) == 0:
            return np.empty(0)
        quantiles = running[-1] * np.arange(1, self.n_bins) / self.n_bins
        # A tolerance, so that rounding of a quantile does not move a cut by one value.
        last = values[np.searchsorted(running, quantiles * (1 - 1e-12))]
        at = np.unique(np.searchsorted(values, last, side="right")) - 1
        at = at[at < len(values) - 1]
        low, high = values[at], values[at + 1]
        middle = low / 2 + high / 2
        return np.where(middle < high, middle, low)


class EqualWidth(Discretization):
    """Intervals of equal width between the smallest and the largest value.

    Parameters
    ----------
    n_bins : int, default=10
        Number of intervals, some of which may be empty.

    Notes
    -----
    Cost O(n log n) for each column. No target is needed. One outlier puts all other values into one interval.

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


@dataclass(eq=False)
class CutPoints(WholeColumns):
    """Ascending cut points of numeric columns by one rule, exact because they use every value."""

    rule: Discretization = field(compare=False)
    n_classes: int

    def __post_init__(self) -> None:
        super().__post_init__()
        self.n_classes = self.n_classes if self.rule.needs_classes else 1

    @property
    def edges(self) -> dict[int, Floats]:
        return self.results

    @property
    def key(self) -> Hashable:
        return super().key, type(self.rule), *self.rule.get_params().items()

    def _target(self, block: Block) -> Codes:
        """Return the classes of the rows; one class for a rule that uses none."""
        if not self.rule.needs_classes:
            return np.zeros(len(block.rows), dtype=np.int32)
        return np.ascontiguousarray(super()._target(block), dtype=np.int32)

    def finish(self) -> None:
        n = self.n_samples
        if n > _CHUNK_ROWS:
            check_memory(_SHARED_ROW_BYTES * n, f"Cutting columns of {n:,} rows", _MEMORY_HINT)
        weight = self._all_weights()
        whole = not self._weights or bool(np.all(weight == np.floor(weight)) and weight.sum() <= 4 * n)
        table = n_log_n_table(int(weight.sum()) + 1 if whole and self.rule.needs_classes else 0)
        sorter = (
            _ArgsortSorter(self._y, weight)
            if self._weights or self.n_classes > _MAX_MERGED_CLASSES
            else _ClassMergeSorter(self._y, self.n_classes)
        )

        def cut(_: int, pieces: list[NDArray[Any]]) -> Floats:
            with sorter.sorted_column(pieces) as (values, labels, weights):
                return np.array(self.rule.cuts(SortedColumn(values, labels, weights, self.n_classes, table)))

        self._map_columns(cut, "Cutting", max(sorter.row_bytes, _RULE_ROW_BYTES), _MEMORY_HINT)


def n_log_n_table(size: int) -> Floats:
    """Return an array of n log2 n for the whole numbers below `size`."""
    table = np.arange(size, dtype=np.float64)
    for start, stop in parallel.block_ranges(size, _CHUNK_ROWS):
        table[start:stop] *= np.log2(np.maximum(table[start:stop], 1.0))
    return table


class _ClassMergeSorter:
    """Sorts a column class by class and merges the classes, for rows of equal weight."""

    row_bytes = 28

    def __init__(self, labels: list[Codes], n_classes: int) -> None:
        self._labels = labels
        sizes = sum((np.bincount(part, minlength=n_classes) for part in labels), np.zeros(n_classes, dtype=np.int64))
        self._starts = np.cumsum(sizes) - sizes
        n = int(sizes.sum())
        self._buffers = parallel.BufferPool(
            lambda: (np.empty(n), np.empty(n), np.empty(n, dtype=np.int32), np.empty(n))
        )

    @contextmanager
    def sorted_column(self, pieces: list[NDArray[Any]]) -> Iterator[tuple[Floats, Codes, Floats]]:
        """Yield the values of a column that are not missing, ascending, with the class and weight of each; equal rows are one."""
        with self._buffers.acquire() as (parts, values, labels, counts):
            ends = self._starts.copy()
            for piece, classes in zip(pieces, self._labels, strict=True):
                split_classes(np.ascontiguousarray(piece, dtype=np.float64), classes, ends, parts)
            for start, end in zip(self._starts, ends, strict=True):
                parts[start:end].sort()
            n = merge_classes(parts, self._starts, ends, values, labels, counts)
            yield values[:n], labels[:n], counts[:n]


class _ArgsortSorter:
    """Sorts a column by argsort: slower, for rows with weights and for many classes."""

    row_bytes = 44

    def __init__(self, labels: list[Codes], weight: Floats) -> None:
        self._labels = np.concatenate([np.empty(0, dtype=np.int32), *labels])
        self._weight = weight
        self._has_weight = weight > 0

    @contextmanager
    def sorted_column(self, pieces: list[NDArray[Any]]) -> Iterator[tuple[Floats, Codes, Floats]]:
        """Yield the values that are not missing and have a positive weight, ascending, with the class and weight of each."""
        values = np.concatenate([np.empty(0), *pieces])
        order = np.argsort(values, kind="stable")
        order = order[: len(values) - int(np.isnan(values).sum())]
        order = order[self._has_weight[order]]
        yield values[order], self._labels[order], self._weight[order]
