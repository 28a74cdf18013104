"""Affinities of rows from the lengths of the edges of a graph: those of t-SNE, of a perplexity, and the memberships of UMAP."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamiz.arrays import Floats
from tamiz.graphs.edges import Edges
from tamiz.graphs.graph import Graph
from tamiz.kernels.edge_sampling import smooth_memberships
from tamiz.kernels.neighbor_embedding import perplexity_affinities
from tamiz.kernels.primitives import distance_keys
from tamiz.runtime import parallel

_ROWS_PER_TASK, _ROWS_PER_PART = 2048, 16_384


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
    order = np.lexsort((distance_keys(edges.lengths), edges.rows))
    # The rank of an edge among those of its row.
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order)) - np.repeat(edges.indptr[:-1], counts)
    return edges.select(rank < k)


def row_affinities(indptr: NDArray[np.int64], lengths: Floats, perplexity: float) -> Floats:
    """Return p_j|i of a perplexity for every edge, of the rows in CSR form; they sum to 1 in each row."""
    out = np.empty(len(lengths))
    parallel.run_blocks(
        lambda span: perplexity_affinities(indptr, lengths, perplexity, *span, out),
        parallel.block_ranges(len(indptr) - 1, _ROWS_PER_TASK),
    )
    return out


def joint_affinities(edges: Edges, perplexity: float) -> sparse.csr_array:
    """Return the symmetric affinities P of t-SNE, which sum to 1, in float32: (p_j|i + p_i|j) / 2n."""
    n = len(edges.indptr) - 1
    found = np.empty(len(edges.lengths), dtype=np.float32)
    # In parts, because affinities in float64 take as much memory as the lengths.
    for first, last in parallel.block_ranges(n, _ROWS_PER_PART):
        start, stop = edges.indptr[first], edges.indptr[last]
        part = row_affinities(edges.indptr[first : last + 1] - start, edges.lengths[start:stop], perplexity)
        found[start:stop] = part / (2.0 * n)
    directed = edges.matrix(found)
    return sparse.csr_array(directed + directed.T)


def row_memberships(
    indptr: NDArray[np.int64], lengths: Floats, local_connectivity: float, mean_length: float | None = None
) -> Floats:
    """Return the membership of every edge, of the rows in CSR form: 1 for the nearest neighbour, less for further ones.

    Those of k edges have the sum log2(k + 1) as far as the lengths allow. `mean_length` limits the widths of rows whose neighbours
    are all equal to them; None is the mean over all rows, each of which counts as its own neighbour.
    """
    if mean_length is None:
        mean_length = mean_neighbor_length(indptr, lengths)
    out = np.empty(len(lengths))
    parallel.run_blocks(
        lambda span: smooth_memberships(indptr, lengths, local_connectivity, mean_length, *span, out),
        parallel.block_ranges(len(indptr) - 1, _ROWS_PER_TASK),
    )
    return out


def mean_neighbor_length(indptr: NDArray[np.int64], lengths: Floats) -> float:
    """Return the mean length of the edges, with one of length 0 from each row to itself."""
    return float(lengths.sum()) / (len(lengths) + len(indptr) - 1)


def fuzzy_union(directed: sparse.csr_array, mix_ratio: float = 1.0) -> sparse.csr_array:
    """Return the symmetric memberships: the union a + b - a b, mixed with the intersection a b."""
    transposed = sparse.csr_array(directed.T)
    product = directed * transposed
    union = sparse.csr_array(mix_ratio * (directed + transposed) + (1.0 - 2.0 * mix_ratio) * product)
    union.eliminate_zeros()
    return union


def joint_memberships(edges: Edges, local_connectivity: float, mix_ratio: float) -> sparse.csr_array:
    """Return the symmetric memberships of UMAP, in float32."""
    found = row_memberships(edges.indptr, edges.lengths, local_connectivity).astype(np.float32)
    return fuzzy_union(edges.matrix(found), mix_ratio)
