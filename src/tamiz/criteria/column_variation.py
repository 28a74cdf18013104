"""Variation of the columns of a table along the edges of a graph of its rows, and the blocks of columns that it is computed from.

A missing value counts as the mean of its column. A categorical column is the indicators of its levels, each divided by the square
root of the level's share.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from tamiz.arrays import Floats, Indices
from tamiz.graphs.graph import Graph
from tamiz.graphs.variation import Variation, as_row_major, rescale_columns
from tamiz.runtime import parallel
from tamiz.runtime.user_warnings import ImputationNote, warn_user
from tamiz.statistics.cross_products import LevelIndicators, design_matrix
from tamiz.table.base import Table
from tamiz.table.sparse import find_sparse_matrix
from tamiz.table.views import map_columns, weight_array

# Values of a block of columns that is gathered into one matrix, where the table itself is not stored as a matrix.
_BLOCK_VALUES = 2**23
# Sums of squares below this are computed again after rescaling: their terms lose digits to underflow.
_MIN_TOTAL = 1e-300
# The relevances in the words of a study.
_READERS = {"LaplacianScore": "the Laplacian score", "MCFS": "MCFS", "SPEC": "SPEC"}


def laplacian_ratio(variation: Variation) -> Floats:
    """Return L: 2 for a constant column."""
    varies = ~variation.constant & (variation.total != 0)
    return np.divide(variation.along_edges, variation.total, out=np.full(len(varies), 2.0), where=varies)


def robust_variation(graph: Graph, rows: Any, row_weight: Floats | None = None) -> Variation:
    """Return the variation of columns; columns whose squares overflow or underflow float64 are rescaled first."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = graph.variation(rows, row_weight)
        out = ~((found.total >= _MIN_TOTAL) & np.isfinite(found.total + found.along_edges))
    columns = np.flatnonzero(out & ~found.constant)
    if not columns.size:
        return found
    weight = np.ones(graph.n_samples) if row_weight is None else row_weight
    again = graph.variation(rescale_columns(rows[:, columns], weight * graph.dot(weight) > 0), row_weight)
    within, total = found.along_edges.copy(), found.total.copy()
    within[columns], total[columns] = again.along_edges, again.total
    return Variation(within, total, found.constant)


def column_variation(table: Table, graph: Graph, reader: str) -> Variation:
    """Return the variation of every column, computed in blocks of columns; `reader` is named in a note on missing values."""
    if (matrix := find_sparse_matrix(table)) is not None:
        return robust_variation(graph, as_row_major(matrix), weight_array(table))
    _warn_of_missing_values(table, reader)
    n = table.schema.n_columns
    found = Variation(np.zeros(n), np.zeros(n), np.ones(n, dtype=bool))
    for part in map_columns(table, partial(_part_variation, graph)):
        within, total = found.along_edges + part.along_edges, found.total + part.total
        found = Variation(within, total, found.constant & part.constant)
    return found


def _part_variation(graph: Graph, table: Table) -> Variation:
    schema, row_weight = table.schema, weight_array(table)
    within, total = np.zeros(schema.n_columns), np.zeros(schema.n_columns)
    constant = np.ones(schema.n_columns, dtype=bool)
    for owners, rows in _blocks_of_columns(table, row_weight):
        found = robust_variation(graph, rows, row_weight)
        np.add.at(within, owners, found.along_edges)
        np.add.at(total, owners, found.total)
        constant[owners[~found.constant]] = False
    return Variation(within, total, constant)


def column_blocks(table: Table, weight: Floats | None, reader: str) -> Iterator[tuple[Indices, Floats]]:
    """Yield blocks of mean-imputed columns, each with the columns of the table that they belong to."""
    _warn_of_missing_values(table, reader)
    yield from _blocks_of_columns(table, weight)


def _warn_of_missing_values(table: Table, reader: str) -> None:
    n_missing = table.schema.n_missing
    if n_missing:
        values = "missing value counts" if n_missing == 1 else "missing values count"
        text = f"{reader}: {n_missing:,} {values} as the mean of the column."
        warn_user([ImputationNote(text, _READERS[reader])])


def _blocks_of_columns(table: Table, weight: Floats | None) -> Iterator[tuple[Indices, Floats]]:
    schema, n_missing = table.schema, table.schema.n_missing
    blocks = list(table.blocks())
    if len(blocks) == 1 and blocks[0].numeric_matrix is not None and not n_missing:
        yield np.array(schema.numeric, dtype=np.intp), blocks[0].matrix(schema.numeric)
        return
    n_per_block = max(1, _BLOCK_VALUES // schema.n_rows)
    for start, stop in parallel.block_ranges(len(schema.numeric), n_per_block):
        columns = schema.numeric[start:stop]
        yield (
            np.array(columns, dtype=np.intp),
            _impute_means([block.matrix(columns) for block in table.blocks(columns)], weight),
        )
    for j, n_levels in schema.n_levels.items():
        level = (LevelIndicators(j, n_levels),)
        rows = _impute_means([design_matrix(block, (), level) for block in table.blocks([j])], weight)
        # The mean of an indicator is the share of the level; mean imputation does not change it.
        share = np.average(rows, axis=0, weights=weight)
        yield np.full(n_levels, j), rows / np.sqrt(np.where(share > 0, share, 1.0))


def _impute_means(parts: list[Floats], weight: Floats | None) -> Floats:
    rows = np.ascontiguousarray(np.concatenate(parts) if len(parts) > 1 else parts[0])
    missing = np.isnan(rows)
    if not missing.any():
        return rows
    present_weight = np.where(missing, 0.0, (np.ones(len(rows)) if weight is None else weight)[:, None])
    total = present_weight.sum(axis=0)
    mean = (present_weight * np.where(missing, 0.0, rows)).sum(axis=0) / np.where(total > 0, total, 1.0)
    return np.where(missing, mean, rows)
