"""Rank correlations of the columns of a table with the axes of a map."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_array

from tamiz.arrays import Floats, Indices
from tamiz.exceptions import DataError
from tamiz.runtime import parallel
from tamiz.runtime.user_warnings import warn_user
from tamiz.table.base import Table, weights_or_ones
from tamiz.table.encode import check_has_features
from tamiz.table.factory import as_table

# Values read into memory at a time, and values of one parallel task.
_VALUES_IN_MEMORY = 2**23
_VALUES_PER_TASK = 2**15


@dataclass(frozen=True)
class AxisCorrelations:
    """Rank correlations of columns with axes.

    Attributes
    ----------
    columns, kinds : list of str
        Names and kinds of the columns used.
    values : ndarray of shape (n_columns, n_axes)
        Spearman's rank correlation in [-1, 1] for numeric columns. For categories the correlation ratio of the ranks of the axis
        in [0, 1]: the square root of the between-level share of their sum of squares. 0 for constant columns or axes.
    chance_level : ndarray of shape (n_columns,)
        Root mean square of the value for a column that is independent of the axis. It is large for categories of many levels.
    n_rows : ndarray of shape (n_columns,)
        Number of rows in which the column is not missing.
    """

    columns: list[str]
    kinds: list[str]
    values: Floats
    chance_level: Floats
    n_rows: Indices


def axis_correlations(X: Any, embedding: ArrayLike, *, sample_weight: ArrayLike | None = None) -> AxisCorrelations:
    """Rank correlation of every column with every axis of a map.

    Parameters
    ----------
    X : array, data frame or Table
        The rows of the map, with any columns: those that the map was computed from, or others.
    embedding : array-like of shape (n_samples, n_axes)
        The coordinates of the rows on the map, from any method.
    sample_weight : array-like of shape (n_samples,), default=None
        A weight of 2 counts as the row twice.

    Returns
    -------
    AxisCorrelations
        `columns`, `kinds`, `values` of shape (n_columns, n_axes), `chance_level` and `n_rows`.

    Raises
    ------
    DataError
        When there is not one row of coordinates for every row of the table.

    Notes
    -----
    Cost O(n log n) for each column, plus O(n) for each axis. Ties have the mean of their ranks. Rows in which a column is missing
    are excluded for that column, and the axis is ranked over the remaining rows. The correlation ratio of ranks is the square root
    of the Kruskal-Wallis H over n - 1; for two levels it is the absolute rank correlation.

    References
    ----------
    Spearman (1904), The proof and measurement of association between two things, American Journal of Psychology 15; Kruskal and
    Wallis (1952), Use of ranks in one-criterion variance analysis, Journal of the American Statistical Association 47.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz.reduction import PCA, axis_correlations
    >>> X = load_iris(as_frame=True).data
    >>> explained = axis_correlations(X, PCA(2).fit_transform(X))
    >>> for name, (first, second) in zip(explained.columns, explained.values):
    ...     print(f"{name}: {first:.2f}, {second:.2f}")
    sepal length (cm): 0.92, 0.35
    sepal width (cm): -0.28, 0.78
    petal length (cm): 0.99, 0.07
    petal width (cm): 0.95, 0.03
    """
    with parallel.thread_session():
        table = as_table(X, None, sample_weight)
        points = check_array(embedding, dtype=np.float64)
        if len(points) != table.schema.n_rows:
            raise DataError(
                f"embedding has {len(points):,} rows and X has {table.schema.n_rows:,}; give the coordinates of the rows of X."
            )
        check_has_features(table.schema)
        found = correlate_columns(table, points)
    warn_user(table.schema.excluded_column_notes)
    return found


def correlate_columns(table: Table, embedding: Floats, rows: Indices | None = None) -> AxisCorrelations:
    """Return the rank correlations of a table's columns with the coordinates of some rows, in ascending order (None is all)."""
    schema, n = table.schema, len(embedding)
    used = schema.used.tolist()
    axes = _Axes(embedding, *_scale_weights(table, rows))

    def correlate(column: tuple[int, NDArray[Any]]) -> tuple[Floats, float, int]:
        return axes.correlate_column(column[1], len(schema.columns[column[0]].levels))

    found: list[tuple[Floats, float, int]] = []
    for start, stop in parallel.block_ranges(len(used), max(1, _VALUES_IN_MEMORY // n)):
        columns = list(read_columns(table, used[start:stop], rows))
        found += parallel.map_groups(correlate, columns, _VALUES_PER_TASK // n)
    return AxisCorrelations(
        [schema.columns[j].name for j in used],
        [schema.columns[j].kind for j in used],
        np.array([values for values, _, _ in found]).reshape(len(used), embedding.shape[1]),
        np.array([chance for _, chance, _ in found]),
        np.array([n_present for _, _, n_present in found], dtype=np.intp),
    )


def _scale_weights(table: Table, rows: Indices | None) -> tuple[Floats, float]:
    """Return the weights divided by a power of two, so that squares of their sums do not overflow, and that power."""
    weight = weights_or_ones(table)
    weight = weight if rows is None else weight[rows]
    exponent = 0 if table.schema.weight is None else int(np.frexp(weight.sum())[1])
    return np.ldexp(weight, -exponent), float(np.ldexp(1.0, exponent))


def read_columns(table: Table, columns: Sequence[int], rows: Indices | None) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield the columns with their values in all or the selected rows."""
    for j in columns:
        values = table.column(j)
        yield j, values if rows is None else values[rows]


class _SortedValues:
    """Sorted values, which can be ranked under different row weights without sorting again."""

    def __init__(self, values: NDArray[np.floating[Any]]) -> None:
        self._order = np.argsort(values)
        ordered = values[self._order]
        first = np.ones(len(values), dtype=bool)
        np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
        self._starts = np.flatnonzero(first)
        self._sizes = np.diff(self._starts, append=len(values))

    def centred_ranks(self, weight: Floats) -> Floats:
        """Return twice the centred rank of each row: the weight of the rows below minus the weight of the rows above.

        With weights 0 and 1 the ranks are integers, so that sums of their products are exact.
        """
        up_to = np.concatenate([[0.0], np.cumsum(weight[self._order])])
        balance = up_to[self._starts] + up_to[self._starts + self._sizes] - up_to[-1]
        ranks = np.empty(len(self._order))
        ranks[self._order] = np.repeat(balance, self._sizes)
        return ranks


class _Axes:
    """The axes of a map, ranked."""

    def __init__(self, points: Floats, weight: Floats, unit: float) -> None:
        self._weight_unit = unit
        self._axes = [_SortedValues(np.ascontiguousarray(axis)) for axis in points.T]
        self._weight = weight
        self._all_row_ranks = [axis.centred_ranks(weight) for axis in self._axes]

    def correlate_column(self, values: NDArray[Any], n_levels: int) -> tuple[Floats, float, int]:
        """Return the correlations of one column, its chance level and its number of present values."""
        is_number = values.dtype.kind == "f"
        present = ~np.isnan(values) if is_number else values >= 0
        n_present = int(np.count_nonzero(present))
        weight, along = self._weight, self._all_row_ranks
        if n_present < len(values):
            # Excluded rows have weight 0.
            weight = np.where(present, weight, 0.0)
            along = [axis.centred_ranks(weight) for axis in self._axes]
        if is_number:
            ranks = _SortedValues(values).centred_ranks(weight)
            chance = _chance_level(2, self._weight_unit * float(weight.sum()))
            return np.array([_correlation(ranks, axis, weight) for axis in along]), chance, n_present
        # Missing values are level 0.
        levels = values.astype(np.intp) + 1
        sizes = np.bincount(levels, weight, n_levels + 1).astype(np.float64)
        ratios = [_correlation_ratio(levels, sizes, axis, weight) for axis in along]
        chance = _chance_level(int(np.count_nonzero(sizes[1:])), self._weight_unit * float(sizes[1:].sum()))
        return np.array(ratios), chance, n_present


def _correlation(a: Floats, b: Floats, weight: Floats) -> float:
    weighted = a * weight
    spread = float(np.sqrt((weighted @ a) * ((b * weight) @ b)))
    return float(np.clip(weighted @ b / spread, -1.0, 1.0)) if spread > 0 else 0.0


def _correlation_ratio(levels: Indices, sizes: Floats, ranks: Floats, weight: Floats) -> float:
    weighted = ranks * weight
    total = float(weighted @ ranks)
    sums = np.bincount(levels, weighted, len(sizes))
    between = float((sums[sizes > 0] ** 2 / sizes[sizes > 0]).sum())
    return float(min(np.sqrt(between / total), 1.0)) if total > 0 else 0.0


def _chance_level(n_levels: int, n: float) -> float:
    return float(np.sqrt(max(n_levels - 1, 0) / (n - 1))) if n > 1 else 1.0
