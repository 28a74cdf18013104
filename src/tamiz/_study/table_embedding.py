"""Embedding of all rows of a table: the map is fitted on as many rows as its cost allows, and maps the others in blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz._study.graph import RowGraph, build_row_graph, needs_connected_graph, needs_graph
from tamiz._study.map_settings import max_fitted_rows
from tamiz._study.maps import fit_map
from tamiz._study.sampling import sample_including
from tamiz.graphs.builder import GraphBuilder
from tamiz.reduction.base import Reducer
from tamiz.runtime import progress
from tamiz.runtime.user_warnings import capture_warnings, warn_user
from tamiz.runtime.validation import check_memory
from tamiz.table.base import Table
from tamiz.table.views import map_rows, select_columns

# Rows in a block.
_BLOCK_ROWS = 2**16


@dataclass(frozen=True)
class TableEmbedding:
    """A fitted map and the embedding of all rows of a table.

    Attributes
    ----------
    reducer : Reducer
    embedding : ndarray of shape (n_rows, n_components)
    n_fitted : int
        The rows that the map was fitted on.
    """

    reducer: Reducer
    embedding: NDArray[Any]
    n_fitted: int

    def sampling_notes(self) -> list[str]:
        """Return a note on the sample that the map was fitted on, none if it was fitted on all rows."""
        n = len(self.embedding)
        others = n - self.n_fitted
        if not others:
            return []
        mapped = "the other row was" if others == 1 else f"the other {others:,} rows were"
        return [
            f"Fitted on {self.n_fitted:,} of the {n:,} rows, drawn at random; {mapped} mapped by the out-of-sample extension."
        ]


def embed_table(
    reducer: Reducer, table: Table, builder: GraphBuilder | None, max_rows: int | None, seed: int
) -> TableEmbedding:
    """Fit a map on all rows or on a sample of them, and map the others.

    Parameters
    ----------
    reducer : Reducer
    table : Table
    builder : GraphBuilder or None
        The graph of a map that needs one and has none; None is the default of a study.
    max_rows : int or None
        The most rows that a map of n x n cost is fitted on; None is `max_fitted_rows`.
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
        reducer, fitted = row_graph.with_connected_graph(reducer), row_graph.graph_table or table
    mapped = fit_map(reducer, fitted, all_rows[:0], max_rows, seed, builder=row_graph.builder)
    rows = mapped.rows
    if row_graph.sample is not None:
        rows = row_graph.sample if rows is None else row_graph.sample[rows]
    if rows is None:
        return TableEmbedding(mapped.reducer, mapped.embedding, n)
    # The fit has already warned of missing values.
    with capture_warnings():
        embedding = transform_rows(mapped.reducer, table)
    embedding[rows] = mapped.embedding
    return TableEmbedding(mapped.reducer, embedding, len(rows))


def embed_distances(reducer: Reducer, matrix: NDArray[Any], max_rows: int | None, seed: int) -> TableEmbedding:
    """Fit a map on the distances of all rows, or on those of a sample, and map the others by their distances to the sample.

    Parameters
    ----------
    reducer : Reducer
        With dissimilarity "precomputed".
    matrix : ndarray of shape (n_rows, n_rows)
    max_rows : int or None
        The most rows that a map of n x n cost is fitted on; None is `max_fitted_rows`.
    seed : int
        Draws the sample.
    """
    n, size = len(matrix), max_fitted_rows(reducer)
    size = max_rows if size is not None and max_rows is not None else size
    if size is None or n <= size:
        return TableEmbedding(reducer.fit(matrix), reducer.embedding_, n)
    rows = sample_including(np.arange(0), n, size, np.random.default_rng(seed))
    others = np.setdiff1d(np.arange(n), rows, assume_unique=True)
    reducer.fit(matrix[np.ix_(rows, rows)])
    embedding = np.empty((n, reducer.embedding_.shape[1]))
    embedding[rows] = reducer.embedding_
    # The fit has already warned of missing values.
    with capture_warnings():
        embedding[others] = reducer.transform(matrix[np.ix_(others, rows)])
    return TableEmbedding(reducer, embedding, size)


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
    """Return the table with the columns that the map was fitted on."""
    # A column without values in the sample may have some in other rows.
    if reducer.schema_ is not None and not np.array_equal(reducer.schema_.used, table.schema.used):
        return select_columns(table, reducer.schema_.used.tolist())
    return table
