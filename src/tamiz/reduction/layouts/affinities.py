"""Affinities of rows of a given perplexity, from the lengths of the edges of a graph."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from tamiz.graphs.graph import Graph
from tamiz.kernels.neighbor_embedding import perplexity_affinities
from tamiz.neighbors.base import Neighbors
from tamiz.runtime import parallel
from tamiz.statistics.base import Floats

_ROWS_PER_TASK = 2048


def nearest_neighbors(graph: Graph, k: int) -> Neighbors:
    """Return the ends of the k shortest edges of every row, nearest first, or of all if a row has fewer.

    In a graph of the nearest neighbours of each row, in which rows may have further edges, they are the nearest neighbours.
    """
    edges = graph.edges
    n, counts = graph.n_samples, np.diff(edges.indptr)
    loops = edges.indices == edges.rows
    if loops.any():
        edges = edges.select(~loops)
        counts = np.diff(edges.indptr)
    if len(counts) and (counts == counts[0]).all():
        lengths = edges.lengths.reshape(n, -1)
        order = np.argsort(lengths, axis=1, kind="stable")[:, :k]
        indices = np.take_along_axis(edges.indices.reshape(n, -1), order, axis=1)
        return Neighbors.from_arrays(indices, np.take_along_axis(lengths, order, axis=1), n)
    order = np.lexsort((edges.lengths, edges.rows))
    # The position of an edge among those of its row.
    place = np.arange(len(order)) - np.repeat(edges.indptr[:-1], counts)
    order = order[place < k]
    indptr = np.concatenate([[0], np.cumsum(np.minimum(counts, k))]).astype(np.int64)
    return Neighbors(indptr, edges.indices[order], edges.lengths[order], n)


def row_affinities(near: Neighbors, perplexity: float) -> Floats:
    """Return p_j|i of a perplexity for every pair of a row and a neighbour; they sum to 1 in each row."""
    out = np.empty(len(near.indices))
    for _ in parallel.map_blocks(
        lambda span: perplexity_affinities(near.indptr, near.distances, perplexity, *span, out),
        parallel.block_ranges(near.n_rows, _ROWS_PER_TASK),
    ):
        pass
    return out


def joint_affinities(near: Neighbors, perplexity: float) -> sparse.csr_array:
    """Return the symmetric affinities P of t-SNE, which sum to 1, in float32: (p_j|i + p_i|j) / 2n."""
    found = row_affinities(near, perplexity)
    found /= 2.0 * near.n_rows
    directed = sparse.csr_array(
        (found.astype(np.float32), near.indices, near.indptr), shape=(near.n_rows, near.n_points)
    )
    joint = sparse.csr_array(directed + directed.T)
    joint.sum_duplicates()
    return joint
