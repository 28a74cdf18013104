"""Embedding of the rows of a table: the map is fitted on as many rows as its cost allows, and maps the others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Indices
from tamiz.exceptions import DataError
from tamiz.graphs.row_graph import RowGraph, build_row_graph, needs_connected_graph, needs_graph
from tamiz.reduction.base import Reducer
from tamiz.reduction.named_maps import limit_neighbors
from tamiz.runtime import progress
from tamiz.runtime.random import sample_including, sample_rows
from tamiz.runtime.user_warnings import capture_warnings, warn_user
from tamiz.runtime.validation import check_memory
from tamiz.table.base import Table
from tamiz.table.views import map_rows, select_columns, select_rows

if TYPE_CHECKING:
    from tamiz.graphs.builders import GraphBuilder
    from tamiz.graphs.graph import Graph

# A map of quadratic cost is fitted on at least so many rows, whatever the scale.
_MIN_FITTED_ROWS = 200
# Of a map of more coordinates of all rows, those of a sample are computed.
_MAX_EMBEDDED_VALUES = 2**25
# Rows in a block.
_BLOCK_ROWS = 2**16


@dataclass(frozen=True)
class TableEmbedding:
    """A fitted map and the embedding of some rows.

    Attributes
    ----------
    reducer : Reducer
    table : Table
    rows : ndarray of row numbers, ascending, or None
        The rows of the table that are embedded; None is all.
    embedding : ndarray of shape (n_embedded, n_components)
    n_fitted : int
        The rows that the map was fitted on.
    """

    reducer: Reducer
    table: Table
    rows: Indices | None
    embedding: NDArray[Any]
    n_fitted: int

    def embedding_of(self, rows: Indices) -> NDArray[Any]:
        return self.embedding[rows if self.rows is None else np.searchsorted(self.rows, rows)]

    def sampling_notes(self) -> list[str]:
        """Return a note on the sample that the map was fitted on, none if it was fitted on all rows."""
        n = self.table.schema.n_rows
        if self.n_fitted == n:
            return []
        n_mapped = len(self.embedding) - self.n_fitted
        sentence = f"Fitted on {self.n_fitted:,} of the {n:,} rows, drawn at random"
        are, were = ("", "was") if n_mapped == 1 else (f" {n_mapped:,}", "were")
        rows = "row" if n_mapped == 1 else "rows"
        if self.rows is not None:
            rows += " that is shown" if n_mapped == 1 else " that are shown"
        return [
            f"{sentence}; the other{are} {rows} {were} mapped by the out-of-sample extension."
            if n_mapped
            else f"{sentence}."
        ]


def fit_map(
    reducer: Reducer,
    table: Table,
    shown_rows: Indices,
    max_rows: int | None,
    seed: int,
    scale: float = 1.0,
    builder: GraphBuilder | Graph | None = None,
) -> TableEmbedding:
    """Fit a map on all rows, or a map of n x n cost on a sample of them, and map the shown rows.

    Parameters
    ----------
    reducer : Reducer
    table : Table
        The rows that the map reads.
    shown_rows : ndarray of row numbers, ascending
        The rows to embed.
    max_rows : int or None
        The most rows that a map of n x n cost is fitted on. None is `max_study_rows`, times the
        square root of `scale` if that is below 1.
    seed : int
        Draws the sample; maps with the same `max_rows` use the same sample.
    scale : float, default=1.0
    builder : GraphBuilder, Graph or None
        Replaces the graph of the map on a sample: a graph of all rows is of no use there.
    """
    n, size = table.schema.n_rows, reducer.max_study_rows
    if size is not None:
        size = max(int(min(math.sqrt(scale) * size, size)), _MIN_FITTED_ROWS) if max_rows is None else max_rows
    if size is None or n <= size:
        reducer.fit(table)
        size = _MAX_EMBEDDED_VALUES // len(reducer.get_feature_names_out())
        if n <= size or not len(shown_rows):
            return TableEmbedding(reducer, table, None, reducer.embedding_, n)
        rows = sample_including(shown_rows, n, max(size, len(shown_rows)), np.random.default_rng(seed))
        with capture_warnings():
            return TableEmbedding(reducer, table, rows, reducer.transform(select_rows(table, rows)), n)
    rows = sample_including(shown_rows, n, size, np.random.default_rng(seed))
    if builder is not None:
        reducer.set_params(graph=limit_neighbors(builder, size))
    try:
        with capture_warnings() as captured:
            reducer.fit(select_rows(table, rows))
    except DataError as error:
        raise DataError(f"On a sample of {size:,} rows, which map_rows= or --map-rows sets: {error}") from error
    # Columns that the table excludes are known already.
    new = [one for one in captured if one not in table.schema.excluded_column_notes]
    warn_user(one.with_sentence(f"On a sample of {size:,} rows: {one}") for one in new)
    embedding = reducer.embedding_
    others = np.setdiff1d(shown_rows, rows, assume_unique=True)
    if len(others):
        # The fit has already warned of missing values.
        with capture_warnings():
            mapped = reducer.transform(select_rows(table, others))
        rows = np.concatenate([rows, others])
        order = np.argsort(rows)
        rows, embedding = rows[order], np.concatenate([embedding, mapped])[order]
    return TableEmbedding(reducer, table, rows, embedding, size)


def embed_table(
    reducer: Reducer, table: Table, builder: GraphBuilder | None, max_rows: int | None, seed: int
) -> TableEmbedding:
    """Fit a map on all rows or on a sample of them, and map the others.

    Parameters
    ----------
    reducer : Reducer
    table : Table
    builder : GraphBuilder or None
        The graph of a map that needs one and has none; None is the default of `build_row_graph`.
    max_rows : int or None
        The most rows that a map of n x n cost is fitted on; None is `max_study_rows`.
    seed : int
        Draws the sample.
    """
    n = table.schema.n_rows
    all_rows = np.arange(n)
    row_graph, fitted = RowGraph(table), table
    if needs_graph(reducer):
        row_graph = build_row_graph(
            table, builder, all_rows, np.random.default_rng(seed), connect=needs_connected_graph(reducer)
        )
        reducer, fitted = row_graph.with_graph(reducer, connected=True), row_graph.graph_table or table
    mapped = fit_map(reducer, fitted, all_rows[:0], max_rows, seed, builder=row_graph.builder)
    rows = mapped.rows
    if row_graph.sample is not None:
        rows = row_graph.sample if rows is None else row_graph.sample[rows]
    if rows is None:
        return TableEmbedding(mapped.reducer, table, None, mapped.embedding, n)
    # The fit has already warned of missing values.
    with capture_warnings():
        embedding = transform_rows(mapped.reducer, table)
    embedding[rows] = mapped.embedding
    return TableEmbedding(mapped.reducer, table, None, embedding, len(rows))


def embed_distances(
    reducer: Reducer, table: Table, matrix: NDArray[Any], max_rows: int | None, seed: int
) -> TableEmbedding:
    """Fit a map on the distances of all rows, or on those of a sample, and map the others by their distances to the sample.

    Parameters
    ----------
    reducer : Reducer
        With dissimilarity "precomputed".
    table : Table
        The table of the distances.
    matrix : ndarray of shape (n_rows, n_rows)
    max_rows : int or None
        The most rows that a map of n x n cost is fitted on; None is `max_study_rows`.
    seed : int
        Draws the sample.
    """
    n, size = len(matrix), reducer.max_study_rows
    size = max_rows if size is not None and max_rows is not None else size
    if size is None or n <= size:
        return TableEmbedding(reducer.fit(matrix), table, None, reducer.embedding_, n)
    rows = sample_rows(n, size, np.random.default_rng(seed))
    others = np.setdiff1d(np.arange(n), rows, assume_unique=True)
    reducer.fit(matrix[np.ix_(rows, rows)])
    embedding = np.empty((n, reducer.embedding_.shape[1]))
    embedding[rows] = reducer.embedding_
    # The fit has already warned of missing values.
    with capture_warnings():
        embedding[others] = reducer.transform(matrix[np.ix_(others, rows)])
    return TableEmbedding(reducer, table, None, embedding, size)


def transform_rows(reducer: Reducer, table: Table) -> NDArray[Any]:
    """Return the embedding of all rows of a table by a fitted map, computed in blocks; it is independent of the blocks."""
    n, k = table.schema.n_rows, len(reducer.get_feature_names_out())
    check_memory(
        8.0 * n * k, f"The embedding of {n:,} rows in {k:,} coordinates", "Apply the map to parts of the table."
    )
    embedding: NDArray[Any] = np.empty((n, k))
    # Every block repeats the same warnings.
    with capture_warnings() as captured:
        for start, found in map_rows(_fitted_columns(reducer, table), reducer.transform, _BLOCK_ROWS):
            if not start:
                embedding = embedding.astype(found.dtype, copy=False)
            embedding[start : start + len(found)] = found
            progress.report_progress("Mapping rows", start + len(found), n)
    warn_user(dict.fromkeys(captured))
    return embedding


def _fitted_columns(reducer: Reducer, table: Table) -> Table:
    # A column without values in the sample may have some in other rows.
    if reducer.schema_ is not None and not np.array_equal(reducer.schema_.used, table.schema.used):
        return select_columns(table, reducer.schema_.used.tolist())
    return table
