"""The edges of a graph with their lengths, the rule that found them, and the edges of new rows by the same rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tamiz.arrays import Floats, Indices, Masks
from tamiz.exceptions import DataError
from tamiz.kernels.sparse_graphs import merge_edges, transpose_edges
from tamiz.neighbors.base import NeighborIndex, Neighbors
from tamiz.neighbors.points import Points
from tamiz.runtime.user_warnings import warn
from tamiz.storage.invariants import Condition, InstanceOf, Integer, Invariants, Nullable, Number
from tamiz.table.encode import RowEncoder

SYMMETRIES = ("or", "mutual", "directed")


@dataclass(frozen=True)
class Edges:
    """Edges in CSR form. An undirected edge is stored in both directions; the edges of a row are sorted by their other end.

    Attributes
    ----------
    indptr : ndarray of shape (n_samples + 1,), int64
    indices : ndarray of shape (n_pairs,), int32
        The edges of row i end at the rows `indices[indptr[i] : indptr[i + 1]]`.
    lengths : ndarray of shape (n_pairs,)
        Length of each entry of `indices`.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    lengths: Floats

    @property
    def rows(self) -> NDArray[np.int32]:
        """The row of every entry of `indices`."""
        return np.repeat(np.arange(len(self.indptr) - 1, dtype=np.int32), np.diff(self.indptr))

    @property
    def upper_triangle(self) -> Masks:
        """Mask of the entries above the diagonal, which contain every undirected edge once."""
        return self.rows < self.indices

    def matrix(self, values: NDArray[Any]) -> sparse.csr_array:
        """Return the sparse matrix that has the value of each edge as its entry; zeros are stored too."""
        n = len(self.indptr) - 1
        # With an int64 indptr, scipy would copy the indices to int64 too.
        few = len(self.indices) <= np.iinfo(np.int32).max
        return sparse.csr_array(
            (values, self.indices, self.indptr.astype(np.int32) if few else self.indptr), shape=(n, n)
        )

    def length_matrix(self) -> sparse.csr_array:
        """Return the lengths as a sparse matrix, which stores those of 0 too; sums with other sparse matrices drop them."""
        return self.matrix(self.lengths)

    def select(self, mask: Masks) -> Edges:
        """Return the edges of the entries in the mask."""
        indptr = np.concatenate([[0], np.cumsum(mask)])[self.indptr]
        return Edges(indptr, self.indices[mask], self.lengths[mask])


def join_neighbors(neighbors: Neighbors, symmetry: str) -> Edges:
    """Return the edges of pairs that are neighbours in at least one direction ("or"), in both ("mutual"), or "directed" ones."""
    return (
        directed_edges(neighbors)
        if symmetry == "directed"
        else undirected_edges(neighbors, mutual=symmetry == "mutual")
    )


def undirected_edges(neighbors: Neighbors, *, mutual: bool = False) -> Edges:
    """Return an edge for each pair that are neighbours in at least one direction, or with `mutual` in both."""
    n, m = neighbors.n_rows, len(neighbors.indices)
    transposed = _transpose_csr(neighbors.indptr, neighbors.indices, neighbors.distances, n)
    # Transposing twice sorts the neighbours of every row by their row number.
    ordered = _transpose_csr(*transposed, n)
    out = np.empty(n + 1, dtype=np.int64), np.empty(2 * m, dtype=np.int32), np.empty(2 * m)
    filled = merge_edges(*ordered, *transposed, mutual, *out)
    return Edges(out[0], out[1][:filled].copy(), out[2][:filled].copy())


def directed_edges(neighbors: Neighbors) -> Edges:
    """Return a directed edge from every row to each of its neighbours, sorted by row number."""
    n = neighbors.n_rows
    return Edges(*_transpose_csr(*_transpose_csr(neighbors.indptr, neighbors.indices, neighbors.distances, n), n))


def _transpose_csr(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], lengths: Floats, n: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], Floats]:
    out = np.empty(n + 1, dtype=np.int64), np.empty(len(indices), dtype=np.int32), np.empty(len(indices))
    transpose_edges(indptr, indices, np.ascontiguousarray(lengths), *out)
    return out


@dataclass(frozen=True)
class Attachment:
    """The neighbours of new rows among the rows of a graph.

    Attributes
    ----------
    neighbors : Neighbors
        Neighbours of the new rows, at least one for each.
    relative_weights : ndarray of shape (n_pairs,)
        Weights of the edges to these neighbours, divided by the weight of the edge to the nearest one.
    nearest_weights : ndarray of shape (n_new,)
        Weight of the edge from each new row to its nearest neighbour.
    duplicate_of : ndarray of shape (n_new,)
        The lowest row of the graph that is equal to the new row, -1 if there is none.
    """

    neighbors: Neighbors
    relative_weights: Floats
    nearest_weights: Floats
    duplicate_of: Indices


@dataclass(frozen=True)
class NeighborRule:
    """How the edges of a graph were found, so that new rows can be attached by the same rule.

    Attributes
    ----------
    index : NeighborIndex
        Index of the graph's rows.
    row_encoder : RowEncoder
        Reads new rows as the graph's rows were read.
    search_description : str
        How the neighbours were found.
    recall : float
        Share of the true neighbours that were found.
    n_neighbors : int or None
        Neighbours of each row; None for a radius graph or a same-class graph.
    radius : float or None
        Radius within which rows are joined; None for a k-nearest-neighbour graph or a same-class graph.
    """

    index: NeighborIndex
    row_encoder: RowEncoder
    search_description: str
    recall: float
    n_neighbors: int | None = None
    radius: float | None = None

    invariants: ClassVar[Invariants] = {
        "index": InstanceOf(NeighborIndex),
        "index.points.n_samples": Integer(low=1, size="n"),
        "row_encoder": (
            InstanceOf(RowEncoder),
            Condition(
                lambda it: it.row_encoder.n_coordinates in (None, it.index.points.n_coordinates),
                "does not read what its index was made of",
            ),
        ),
        "search_description": InstanceOf(str),
        "recall": Number(0.0, 1.0),
        "n_neighbors": Nullable(Integer(low=1, below="n+1")),
        "radius": Nullable(Number(0.0)),
    }

    @classmethod
    def from_index(
        cls,
        index: NeighborIndex,
        row_encoder: RowEncoder,
        *,
        n_neighbors: int | None = None,
        radius: float | None = None,
    ) -> NeighborRule:
        return cls(index, row_encoder, index.description, index.recall, n_neighbors, radius)

    def query_points(self, X: Any) -> Points:
        """Return new rows as points under the graph's metric."""
        return self.index.points.new_points(self.row_encoder.encode(X))

    def find_neighbors(self, queries: Points) -> Neighbors:
        """Return the neighbours of new rows; a row with none within the radius gets its nearest row, with a warning."""
        if self.n_neighbors is not None:
            return self.index.query(self.n_neighbors, queries)
        if self.radius is None:
            raise DataError("A same-class graph cannot attach a row without a class; build a nearest-neighbour graph.")
        near = self.index.query_radius(self.radius, queries)
        alone = np.flatnonzero(np.diff(near.indptr) == 0)
        if not alone.size:
            return near
        rows = "row has" if alone.size == 1 else "rows have"
        warn(
            "TZ401",
            f"{alone.size:,} new {rows} no row of the graph within the radius {self.radius:.6g} and "
            f"{'is' if alone.size == 1 else 'are'} joined to the nearest.",
        )
        return near.fill_rows(alone, self.index.query(1, queries.take(alone)))
