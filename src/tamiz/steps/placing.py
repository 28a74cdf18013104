"""A map of all rows of a table: fitted on as many as its cost allows, the others placed, piece by piece."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz import parallel, progress
from tamiz.graphs.builder import GraphBuilder
from tamiz.reduction.base import Reducer
from tamiz.sources.base import Source
from tamiz.sources.views import Rows, columns_of, span_of
from tamiz.steps.joining import join_rows, takes_graph
from tamiz.steps.mapping import fit_map
from tamiz.steps.sampling import rows_with
from tamiz.validation import check_memory
from tamiz.warn import held, tell

# Rows that are placed at a time.
_SPAN = 2**16


@dataclass(frozen=True)
class Placed:
    """A fitted map and the places of all rows of a table.

    Attributes
    ----------
    reducer : Reducer
    embedding : ndarray of shape (n_rows, n_components)
    n_fitted : int
        Rows that it was fitted on.
    """

    reducer: Reducer
    embedding: NDArray[Any]
    n_fitted: int

    def told(self) -> list[str]:
        """Return which rows it was fitted on, where these are not all."""
        n = len(self.embedding)
        others = n - self.n_fitted
        if not others:
            return []
        placed = "the other one was" if others == 1 else f"the other {others:,} were"
        return [f"Fitted on {self.n_fitted:,} of the {n:,} rows, drawn at random; {placed} placed one by one."]


def fit_on_rows(reducer: Reducer, source: Source, builder: GraphBuilder | None, most: int | None, seed: int) -> Placed:
    """Fit a map on all rows or on a sample of them, and place the others.

    Parameters
    ----------
    reducer : Reducer
    source : Source
    builder : GraphBuilder or None
        How rows are joined, for a map that lives on a graph and was given none; None is as a study joins them.
    most : int or None
        Rows that a map of n x n cost is fitted on at most; None is what the map says.
    seed : int
        Draws the sample.
    """
    n = source.schema.n_rows
    everyone = np.arange(n)
    sample: Rows | None = None
    fitted = source
    if takes_graph(reducer):
        joined = join_rows(source, builder, everyone, np.random.default_rng(seed))
        reducer, fitted, sample = joined.lent_whole_to(reducer), joined.source or source, joined.sample
    mapped = fit_map(reducer, fitted, everyone[:0], most, seed)
    rows = sample if mapped.rows is None else mapped.rows
    if rows is None:
        return Placed(mapped.reducer, mapped.embedding, n)
    # Of their gaps the fit has told.
    with held():
        embedding = place_rows(mapped.reducer, source)
    embedding[rows] = mapped.embedding
    return Placed(mapped.reducer, embedding, len(rows))


def fit_on_distances(reducer: Reducer, matrix: NDArray[Any], most: int | None, seed: int) -> Placed:
    """Fit a map on the distances of all rows, or on those of a sample, and place the others by their distances to it.

    Parameters
    ----------
    reducer : Reducer
        With dissimilarity "precomputed".
    matrix : ndarray of shape (n_rows, n_rows)
    most : int or None
        Rows that a map of n x n cost is fitted on at most; None is what the map says.
    seed : int
        Draws the sample.
    """
    n, size = len(matrix), reducer.study_rows
    size = most if size is not None and most is not None else size
    if size is None or n <= size:
        return Placed(reducer.fit(matrix), reducer.embedding_, n)
    rows = rows_with(np.arange(0), n, size, np.random.default_rng(seed))
    others = np.setdiff1d(np.arange(n), rows, assume_unique=True)
    reducer.fit(matrix[np.ix_(rows, rows)])
    embedding = np.empty((n, reducer.embedding_.shape[1]))
    embedding[rows] = reducer.embedding_
    # Of their gaps the fit has told.
    with held():
        embedding[others] = reducer.transform(matrix[np.ix_(others, rows)])
    return Placed(reducer, embedding, size)


def place_rows(reducer: Reducer, source: Source) -> NDArray[Any]:
    """Return the places of all rows of a source on a fitted map, read and placed piece by piece: each row is placed by itself."""
    n, k = source.schema.n_rows, len(reducer.get_feature_names_out())
    check_memory(8.0 * n * k, f"{n:,} places of {k:,} coordinates", "Apply the map to parts of the table.")
    places: NDArray[Any] = np.empty((n, k))
    # What is told of one piece is told of the whole table, and so of every piece again.
    with held() as told:
        for start, part in _pieces(reducer, source):
            found = reducer.transform(part)
            if not start:
                places = places.astype(found.dtype, copy=False)
            places[start : start + len(found)] = found
            progress.tell("Placing rows", start + len(found), n)
    tell(dict.fromkeys(told))
    return places


def _pieces(reducer: Reducer, source: Source) -> Iterator[tuple[int, Source]]:
    """Yield spans of the rows with the columns that the map was fitted on, each with its first row's number."""
    # A column may have no value in the rows of fit, and some in others.
    if reducer.schema_ is not None and not np.array_equal(reducer.schema_.used, source.schema.used):
        source = columns_of(source, reducer.schema_.used.tolist())
    for start, stop in parallel.spans(source.schema.n_rows, _SPAN):
        yield start, span_of(source, start, stop)
