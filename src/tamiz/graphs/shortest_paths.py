"""Lengths of the shortest paths between rows of a graph."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats, Indices, Masks
from tamiz.graphs.edges import join_neighbors, traverse_components
from tamiz.graphs.graph import Graph
from tamiz.kernels.shortest_paths import N_LANES, order_by_distance, relax_from_eight
from tamiz.kernels.sparse_graphs import permute_matrix
from tamiz.neighbors.base import Neighbors
from tamiz.runtime import parallel

# Sources of one parallel task, which share an order of the rows. More sources are farther from each other, and each then needs more
# visits of the rows: with 64 a source takes half of the time that it takes with 8.
_SOURCES_PER_TASK = 64


class _Buffers(NamedTuple):
    """Arrays of one task: Dijkstra's algorithm, the permuted graph, and the distances from eight sources."""

    distances: Floats
    heap: NDArray[np.int32]
    position: NDArray[np.int32]
    order: NDArray[np.int32]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    lengths: Floats
    lanes: Floats
    is_active: Masks


class Output(NamedTuple):
    """Distances that are wanted: values[i, s] is that of rows[i] from source s, divided by `unit`, in float64 or float32."""

    rows: Indices
    values: NDArray[np.floating[Any]]
    unit: float = 1.0


class ShortestPaths:
    """Lengths of the shortest paths in a graph whose edges have lengths; a directed edge may be passed in both directions.

    Time O(E + n log n) for 64 sources together and O(E) for each of them, with E edges of n rows and a factor of 2 to 6. The
    result does not depend, to the bit, on the other sources or on the number of threads.
    """

    def __init__(self, graph: Graph) -> None:
        directed = graph.edges
        self.n = graph.n_samples
        self._edges = join_neighbors(Neighbors(directed.indptr, directed.indices, directed.lengths, self.n), "or")
        self.longest_edge = float(self._edges.lengths.max(initial=0.0))
        components, order = traverse_components(self._edges.indptr, self._edges.indices)
        self._labels = components.labels
        self._place = np.empty(self.n, dtype=np.intp)
        self._place[order] = np.arange(self.n)
        self._buffers = parallel.BufferPool(self._make_buffers)

    def sort(self, rows: Indices) -> Indices:
        """Return rows in an order in which rows that are near each other in the graph are close, as `fill` needs for its speed."""
        return rows[np.argsort(self._place[rows])]

    def distances(self, sources: Indices) -> Floats:
        """Return the distances of all rows from each source, of shape (n_sources, n); infinite where no path leads."""
        ordered = self.sort(sources)
        out = np.empty((self.n, len(sources)))
        self.fill(ordered, Output(np.arange(self.n), out))
        place = np.empty(len(sources), dtype=np.intp)
        place[np.argsort(self._place[sources])] = np.arange(len(sources))
        return np.ascontiguousarray(out[:, place].T)

    def fill(self, sources: Indices, *outputs: Output) -> None:
        """Fill `values` of the outputs with the distances from sources, as returned by `sort`."""
        borders = np.flatnonzero(np.diff(self._labels[sources])) + 1
        spans = [
            (start + a, start + b)
            for start, stop in zip([0, *borders], [*borders, len(sources)], strict=True)
            for a, b in parallel.block_ranges(int(stop - start), _SOURCES_PER_TASK)
        ]
        parallel.run_blocks(lambda span: self._fill_span(sources, *span, outputs), spans)

    def _fill_span(self, sources: Indices, start: int, stop: int, outputs: tuple[Output, ...]) -> None:
        """Fill the columns of some sources of one component."""
        edges = self._edges.indptr, self._edges.indices, self._edges.lengths
        with self._buffers.acquire() as work:
            middle = int(sources[(start + stop) // 2])
            m = order_by_distance(*edges, middle, work.distances, work.heap, work.position, work.order)
            permuted = work.indptr[: m + 1], work.indices, work.lengths
            permute_matrix(*edges, work.order[:m], work.position, *permuted)
            positions = [work.position[output.rows] for output in outputs]
            lanes = work.lanes[:m]
            for first in range(start, stop, N_LANES):
                n_lanes = min(N_LANES, stop - first)
                eight = np.resize(work.position[sources[first : first + n_lanes]], N_LANES)
                relax_from_eight(*permuted, eight, lanes, work.is_active)
                for position, output in zip(positions, outputs, strict=True):
                    reached = lanes[position, :n_lanes] / output.unit
                    reached[position < 0] = np.inf
                    output.values[:, first : first + n_lanes] = reached

    def _make_buffers(self) -> _Buffers:
        n, m = self.n, len(self._edges.indices)
        heap, position, order = np.empty((3, n), dtype=np.int32)
        indices, lengths = np.empty(m, dtype=np.int32), np.empty(m)
        indptr, lanes = np.empty(n + 1, dtype=np.int64), np.empty((n, N_LANES))
        return _Buffers(np.empty(n), heap, position, order, indptr, indices, lengths, lanes, np.zeros(n, dtype=bool))
