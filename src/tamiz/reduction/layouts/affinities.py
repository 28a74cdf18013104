"""Affinities of rows of a given perplexity, from the lengths of the edges of a graph."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamiz.graphs.edges import Edges
from tamiz.graphs.graph import Graph
from tamiz.kernels.neighbor_embedding import perplexity_affinities
from tamiz.runtime import parallel
from tamiz.statistics.base import Floats

_ROWS_PER_TASK = 2048


def shortest_edges(graph: Graph, k: int) -> Edges:
    """Return the k shortest edges of every row, or all if a row has fewer; loops are left out.

    In a graph of the nearest neighbours of each row, in which rows may have further edges, they end at the nearest neighbours.
    """
    edges = graph.edges
    loops = edges.indices == edges.rows
    if loops.any():
        edges = edges.select(~loops)
    counts = np.diff(edges.indptr)
    if counts.max(initial=0) <= k:
        return edges
    order = np.lexsort((edges.lengths, edges.rows))
    # The rank of an edge among those of its row.
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order)) - np.repeat(edges.indptr[:-1], counts)
    return edges.select(rank < k)


def row_affinities(indptr: NDArray[np.int64], lengths: Floats, perplexity: float) -> Floats:
    """Return p_j|i of a perplexity for every edge, of the rows in CSR form; they sum to 1 in each row."""
    out = np.empty(len(lengths))
    for _ in parallel.map_blocks(
        lambda span: perplexity_affinities(indptr, lengths, perplexity, *span, out),
        parallel.block_ranges(len(indptr) - 1, _ROWS_PER_TASK),
    ):
        pass
    return out


def joint_affinities(edges: Edges, perplexity: float) -> sparse.csr_array:
    """Return the symmetric affinities P of t-SNE, which sum to 1, in float32: (p_j|i + p_i|j) / 2n."""
    n = len(edges.indptr) - 1
    found = row_affinities(edges.indptr, edges.lengths, perplexity) / (2.0 * n)
    directed = sparse.csr_array((found.astype(np.float32), edges.indices, edges.indptr), shape=(n, n))
    del found
    return sparse.csr_array(directed + directed.T)
