"""Base class of relevances that compare columns with a graph of the rows, and the smoothest eigenvectors of the graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse

from tamiz.arrays import Floats
from tamiz.criteria.base import RowRelevance
from tamiz.graphs.builders import GraphBuilder, resolve_builder
from tamiz.graphs.graph import Graph
from tamiz.graphs.laplacian import Laplacian
from tamiz.table.base import Table


class GraphRelevance(RowRelevance):
    """A relevance that reads a graph of the rows, from its parameter `graph`."""

    supports_bootstrap: ClassVar[bool] = False

    graph: GraphBuilder | Graph | None

    @property
    def needs_target(self) -> bool:  # type: ignore[override]  # the graph decides
        """Whether the graph is built from classes."""
        return isinstance(self.graph, GraphBuilder | Graph) and self.graph.needs_classes

    def _build_graph(self, table: Table) -> Graph:
        """Return the graph of the rows, built where it is not built yet."""
        return resolve_builder(self.graph, table).build(table, fill_missing=True)


@dataclass(frozen=True)
class RowEigenvectors:
    """Solutions of L y = lambda D y with the smallest eigenvalues.

    Attributes
    ----------
    values : ndarray of shape (m,)
        Ascending, in [0, 2], 0 for each component of the rows with edges.
    vectors : ndarray of shape (n_samples, m)
        Of mean square 1 and orthogonal, with the degrees as weights; 0 for rows without edges. With several components the first
        ones are constant on one component and 0 on the others.
    n_components : int
        Number of components of the rows with edges.
    """

    values: Floats
    vectors: Floats
    n_components: int


def degree_shares(graph: Graph, row_weight: Floats | None) -> Floats | None:
    """Return the degree of every row as a share of their sum, None if there are no edges; an edge counts w_i w_j times."""
    degrees = graph.degrees if row_weight is None else row_weight * graph.dot(row_weight)
    total = degrees.sum()
    return np.asarray(degrees / total) if total > 0 else None


def row_eigenvectors(graph: Graph, n_pairs: int, row_weight: Floats | None) -> RowEigenvectors | None:
    """Return the smallest eigenpairs, at least one per component; None if there are no edges.

    Parameters
    ----------
    graph : Graph
    n_pairs : int
        Number of pairs, fewer if the graph has fewer rows with edges, more if it has more components.
    row_weight : ndarray of shape (n_samples,) or None
        Weights of the rows: the edge of rows i and j counts w_i w_j times.
    """
    # Imported late: importing the solvers of scipy takes 60 ms, and `LaplacianScore` needs no eigenvectors.
    from tamiz.spectral import smallest_eigenpairs

    shares = degree_shares(graph, row_weight)
    if shares is None:
        return None
    rows = np.flatnonzero(shares > 0)
    laplacian = graph.laplacian("random_walk", None if len(rows) == graph.n_samples else rows)
    if row_weight is not None:
        scale = sparse.diags_array(row_weight[rows])
        laplacian = Laplacian(sparse.csr_array(scale @ laplacian.adjacency @ scale), "random_walk")
    n_components = len(laplacian.components)
    found = smallest_eigenpairs(laplacian, min(max(n_pairs, n_components), len(rows)))
    vectors = np.zeros((graph.n_samples, len(found.values)))
    vectors[rows] = found.vectors * np.sqrt(laplacian.degrees.sum())
    return RowEigenvectors(found.values, vectors, n_components)
