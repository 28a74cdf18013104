"""Symmetric uncertainties of pairs of columns without the target, and their correction for chance."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Codes, Floats, Indices, Masks, is_missing
from tamiz.criteria.base import gather_statistics
from tamiz.criteria.discretization import ColumnCoder
from tamiz.criteria.entropy_relevance import MissingRule
from tamiz.criteria.uncertainty import SymmetricUncertainty
from tamiz.kernels.contingency import LEFT_OUT, add_pair_weights, bin_values, symmetric_uncertainty
from tamiz.runtime import parallel, progress
from tamiz.runtime.random import make_rng
from tamiz.statistics.cross_products import CommonRows
from tamiz.statistics.cuts import EqualFrequency, SortedColumn
from tamiz.table.base import Table
from tamiz.table.views import weights_or_ones

# Intervals of a numeric column: at most ten, and so few that a cell of the contingency table of two columns has five rows. Below so
# many rows per cell, the uncertainty of two columns is corrected for chance.
_MAX_BINS, _MIN_BINS, _MIN_ROWS_PER_CELL = 10, 2, 5
_TILE = 2**18


# Two columns with fewer rows in common have the association 0 where values are missing. The correlation of ten rows of noise is at
# least 0.95 with probability 2.6e-5, that of five with 0.013.
MIN_COMMON_ROWS = 10


def count_common_rows(table: Table, columns: Sequence[int]) -> NDArray[np.int64]:
    """Return the number of rows in which both of two columns have a value, of shape (n_columns, n_columns)."""
    schema = table.schema
    counts = np.full((len(columns), len(columns)), schema.n_rows)
    incomplete = [k for k, j in enumerate(columns) if schema.columns[j].n_missing]
    read = [columns[k] for k in incomplete]
    if not read:
        return counts
    common = table.reduce(CommonRows(read))[0].counts
    counts[incomplete] = common.diagonal()[:, None]
    counts[:, incomplete] = np.minimum(counts[:, incomplete], common.diagonal())
    counts[np.ix_(incomplete, incomplete)] = common
    return counts


def pair_association(n_rows: float) -> SymmetricUncertainty:
    """Return the measure of pairs of columns: numbers are cut into intervals of equal frequency, without the target.

    MDL would leave some columns in one interval, where even a column and its copy have a symmetric uncertainty of 0.
    """
    return SymmetricUncertainty(discretization=EqualFrequency(_n_intervals(n_rows)))


def _n_intervals(n_rows: float) -> int:
    return min(_MAX_BINS, max(_MIN_BINS, math.isqrt(int(n_rows) // _MIN_ROWS_PER_CELL)))


def target_uncertainties(table: Table, missing: MissingRule = "distribute") -> Floats:
    """Return the symmetric uncertainty of every column with the target, 0 without a target."""
    schema = table.schema
    relevance = None if schema.target is None else SymmetricUncertainty(missing=missing).adapt_to(schema)
    if relevance is None:
        return np.zeros(schema.n_columns)
    return relevance.scores(gather_statistics([relevance], table.reduce, schema), schema)


def pair_uncertainties(table: Table, association: SymmetricUncertainty, first: Indices, second: Indices) -> Floats:
    """Return the symmetric uncertainties of pairs of columns on the rows with both values; 0 for fewer than `MIN_COMMON_ROWS`.

    Parameters
    ----------
    table : Table
    association : SymmetricUncertainty
        The measure.
    first, second : ndarray of shape (n_pairs,)
        Column numbers.
    """
    pairs = association.pairwise(table.reduce, table.schema, complete=True)
    n_pairs = len(first)
    values = np.empty(n_pairs)
    for start in range(0, n_pairs, _TILE):
        here = slice(start, start + _TILE)
        values[here] = pairs.associations(first[here], second[here])
        progress.report_progress("Comparing columns", min(start + _TILE, n_pairs), n_pairs)
    n_common = _common_rows_of_pairs(table, first, second)
    return np.where(n_common < min(MIN_COMMON_ROWS, table.schema.n_rows), 0.0, values)


def _common_rows_of_pairs(table: Table, first: Indices, second: Indices) -> NDArray[np.int64]:
    n = table.schema.n_columns
    columns = np.flatnonzero(np.bincount(first, minlength=n) + np.bincount(second, minlength=n))
    position = np.zeros(n, dtype=np.intp)
    position[columns] = np.arange(len(columns))
    return count_common_rows(table, columns.tolist())[position[first], position[second]]


def recut_uncertainties(
    table: Table,
    first: Indices,
    second: Indices,
    uncertainties: Floats,
    corrected: Floats,
    threshold: float,
) -> Floats:
    """Return symmetric uncertainties corrected for chance, those from a quarter of the threshold on with cuts on the common rows.

    Columns with other missing values are cut at other places, which lowers the uncertainty of copies.
    """
    columns = table.schema.columns
    is_incomplete = np.array([column.is_number and column.n_missing > 0 for column in columns])
    doubtful = np.flatnonzero((uncertainties >= threshold / 4) & (is_incomplete[first] | is_incomplete[second]))
    values = {j: table.column(j) for j in np.union1d(first[doubtful], second[doubtful]).tolist()}
    weight = weights_or_ones(table)

    shuffled = make_rng(0).permutation(len(weight))

    def recut(pair: int) -> float:
        both = [values[int(side[pair])] for side in (first, second)]
        rows = ~(is_missing(both[0]) | is_missing(both[1]))
        n_rows = int(rows.sum())
        a, b = (_cut_evenly(one[rows], weight[rows]) if one.dtype.kind == "f" else one[rows] for one in both)
        value = _uncertainty(a, b, weight[rows])
        if value < threshold or (int(a.max()) + 1) * (int(b.max()) + 1) <= n_rows / _MIN_ROWS_PER_CELL:
            return value
        return _above_chance(value, _uncertainty(a, b[_shuffle_rows(shuffled, rows)], weight[rows]))

    recut_values = corrected.copy()
    recut_values[doubtful] = list(parallel.map_blocks(recut, doubtful.tolist()))
    return recut_values


def _uncertainty(a: Codes, b: Codes, weight: Floats) -> float:
    counts = np.zeros((int(a.max(initial=0)) + 2, int(b.max(initial=0)) + 2))
    add_pair_weights(a, b, weight, counts)
    return float(symmetric_uncertainty(counts, LEFT_OUT, np.zeros(3)))


def _shuffle_rows(shuffled: Indices, rows: Masks) -> Indices:
    return (np.cumsum(rows) - 1)[shuffled[rows[shuffled]]]


def _above_chance(value: float, expected: float) -> float:
    return (value - expected) / (1 - expected) if expected < 1 else 0.0


def _cut_evenly(values: Floats, weight: Floats) -> Codes:
    order = np.argsort(values, kind="stable")
    labels = np.zeros(len(values), dtype=np.int32)
    edges = EqualFrequency(_n_intervals(len(values))).cuts(
        SortedColumn(values[order], labels, weight[order], 1, np.empty(0))
    )
    codes = np.empty(len(values), dtype=np.int32)
    bin_values(values, edges, codes)
    return codes


def chance_corrected_uncertainties(
    table: Table,
    association: SymmetricUncertainty,
    first: Indices,
    second: Indices,
    uncertainties: Floats,
    threshold: float,
) -> Floats:
    """Return the symmetric uncertainties of pairs of columns, corrected for chance.

    Columns of many values share much by chance, because hardly any pair of values occurs twice. As in the adjusted mutual
    information, a value U becomes (U - E) / (1 - E), where E is the uncertainty after the rows of one column are shuffled. Only
    pairs that reach the threshold, and have few rows per cell, are corrected.

    Parameters
    ----------
    table : Table
    association : SymmetricUncertainty
        The measure of the values.
    first, second : ndarray of shape (n_pairs,)
        Column numbers.
    uncertainties : ndarray of shape (n_pairs,)
    threshold : float
    """
    rule, levels = association.discretization, table.schema.n_levels
    assert isinstance(rule, EqualFrequency)
    sizes = np.full(table.schema.n_columns, rule.n_bins)
    sizes[list(levels)] = list(levels.values())
    schema = table.schema
    doubtful = np.flatnonzero(uncertainties >= threshold)
    a, b = first[doubtful], second[doubtful]
    n_common = _common_rows_of_pairs(table, a, b) * (schema.n_effective / schema.n_rows)
    doubtful = doubtful[sizes[a] * sizes[b] > n_common / _MIN_ROWS_PER_CELL]
    if not len(doubtful):
        return uncertainties
    coder = ColumnCoder(rule, table.schema, with_target=False, caller="study")
    coding = coder.gather_coding(table.reduce)
    codes: dict[int, Codes] = {}
    for j in np.union1d(first[doubtful], second[doubtful]).tolist():
        codes[j] = np.concatenate([coding.encode(block, j) for block in table.blocks([j])]).astype(np.int32)
    weight = weights_or_ones(table)
    shuffled = make_rng(0).permutation(len(weight))

    def chance(pair: int) -> float:
        a, b = int(first[pair]), int(second[pair])
        # The rows with both values are shuffled among themselves.
        rows = (codes[a] >= 0) & (codes[b] >= 0)
        return _uncertainty(codes[a][rows], codes[b][rows][_shuffle_rows(shuffled, rows)], weight[rows])

    expected = np.fromiter(parallel.map_blocks(chance, doubtful.tolist()), dtype=np.float64, count=len(doubtful))
    corrected = uncertainties.copy()
    corrected[doubtful] = [_above_chance(*pair) for pair in zip(uncertainties[doubtful], expected, strict=True)]
    return corrected
