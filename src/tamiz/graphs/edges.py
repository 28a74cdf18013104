"""The edges of a graph, their lengths and weights, and the components that they join."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator

from tamiz.arrays import Floats, Indices, Masks
from tamiz.exceptions import DataError
from tamiz.kernels.sparse_graphs import label_components_depth_first
from tamiz.neighbors.base import Neighbors
from tamiz.runtime.user_warnings import list_names, warn
from tamiz.runtime.validation import check_real

# Smaller weights are set to 0. The smallest normal float64 is 2e-308; the margin keeps the digits of degrees, their inverses and
# weighted squares.
MIN_WEIGHT = 1e-290
# exp(-x) > MIN_WEIGHT for x up to this value.
_MAX_EXPONENT = 667.0


class Weight(BaseEstimator, ABC):
    """Abstract base class of edge weights, which are above 0.

    Attributes
    ----------
    needs_classes : bool
        Whether the weight of an edge depends on the class of its rows.
    needs_lengths : bool
        Whether the weight of an edge depends on its length.
    t : float or None
        Width of the kernel; None for weights without one.
    """

    needs_classes: ClassVar[bool] = False
    needs_lengths: ClassVar[bool] = False
    t: float | None = None

    def resolve_parameters(self, lengths: Floats) -> Weight:  # noqa: ARG002 - a weight with a width reads them
        """Return the weight with every parameter set, for a graph with edges of these lengths (each edge once)."""
        return self

    @abstractmethod
    def edge_weights(self, lengths: Floats, class_sizes: Floats | None) -> Floats:
        """Return the weights of edges from their lengths and class sizes; class_sizes is None if classes are not known."""

    def describe(self) -> str:
        """Return the weights of the edges in words."""
        return f"edges weighted by {self!r}"

    def check_weights(self, lengths: Floats, weights: Floats) -> None:
        """Raise ValueError if all weights are 0, and warn if some are."""

    def relative_weights(self, lengths: Floats, nearest: Floats) -> Floats:  # noqa: ARG002 - a weight with a width reads it
        """Return the weights of a new row's edges divided by the weight of its nearest; these do not underflow far away."""
        return self.edge_weights(lengths, None)


class HeatKernel(Weight):
    """Weight exp(-d^2 / t) for an edge of length d.

    .. math:: w_{ij} = \\exp(-d_{ij}^2 / t)

    Parameters
    ----------
    t : float or None, default=None
        Width, in squared units of the distances. None is the mean squared length of the graph's edges; infinity makes every
        weight 1.

    Raises
    ------
    ValueError
        When t is not above 0, t is so small that every weight is 0, or the mean squared length leaves the range of float64.

    Notes
    -----
    A weight below 1e-290 is set to 0, which removes the edge, with a warning.

    References
    ----------
    Belkin and Niyogi (2003), Laplacian eigenmaps for dimensionality reduction and data representation, Neural Computation 15.

    Examples
    --------
    >>> import numpy as np
    >>> from tamiz.graphs import HeatKernel
    >>> HeatKernel(t=2.0).edge_weights(np.array([0.0, 1.0, 2.0]), None).round(4)
    array([1.    , 0.6065, 0.1353])
    """

    needs_lengths: ClassVar[bool] = True

    def __init__(self, t: float | None = None) -> None:
        self.t = t

    def describe(self) -> str:
        """Return the weights of the edges in words."""
        return "edges weighted by a heat kernel"

    def resolve_parameters(self, lengths: Floats) -> Weight:
        """Return the kernel with its width set."""
        if self.t is not None:
            width = check_real("t", self.t)
            if width <= 0:
                raise ValueError(f"t must be above 0, got {width:g}. None uses the mean squared length of the edges.")
            return HeatKernel(width)
        longest = float(lengths.max(initial=0.0))
        if longest == 0.0:
            # Edges of length 0 have weight 1 at any width.
            return HeatKernel(np.inf)
        with np.errstate(over="ignore"):
            mean = float(np.mean(lengths**2))
        limits = np.finfo(np.float64)
        if not limits.tiny <= mean <= limits.max:
            raise DataError(
                f"The longest edge has the length {longest:.4g}, and the mean squared length, which is t by default, must be "
                f"from {limits.tiny:.3g} to {limits.max:.3g}; pass the rows in another unit, or use Binary()."
            )
        return HeatKernel(mean)

    def edge_weights(self, lengths: Floats, class_sizes: Floats | None) -> Floats:  # noqa: ARG002
        """Return exp(-d^2 / t)."""
        assert self.t is not None
        weights = _heat_kernel(lengths, lengths, self.t)
        weights[weights < MIN_WEIGHT] = 0.0
        return weights

    def check_weights(self, lengths: Floats, weights: Floats) -> None:
        """Raise ValueError if t makes all weights 0, and warn if it makes some weights 0."""
        n_zero = len(weights) - int(np.count_nonzero(weights))
        if not n_zero:
            return
        remedy = f"t={_smallest_width(float(lengths.max())):.3g} or more keeps all weights above 0."
        if n_zero == len(weights):
            raise ValueError(
                f"t={self.t:g} makes the weight of every edge 0: the shortest is {lengths.min():.4g} long. {remedy}"
            )
        warn(
            "TZ504",
            f"t={self.t:g} makes the weight of {n_zero:,} of {len(weights):,} edges 0, which removes them; {remedy}",
        )

    def relative_weights(self, lengths: Floats, nearest: Floats) -> Floats:
        """Return exp(-(d^2 - nearest^2) / t)."""
        assert self.t is not None
        return _heat_kernel(lengths - nearest, lengths + nearest, self.t)


def _heat_kernel(a: Floats, b: Floats, t: float) -> Floats:
    """Return exp(-a b / t)."""
    if np.isinf(t):
        return np.ones(len(a))
    # Scaled by a power of two near 1 / sqrt(t), which changes no digit, the product overflows only where the weight is 0.
    unit = np.ldexp(1.0, -(np.frexp(t)[1] // 2))
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(-(a * unit) * (b * unit) / (t * unit * unit)))


def _smallest_width(length: float) -> float:
    """Return a rounded-up width at which an edge of this length has a weight above 0."""
    exact = max(length * length / _MAX_EXPONENT, float(np.finfo(np.float64).tiny))
    if np.isinf(exact):
        return exact
    unit = 10.0 ** (np.floor(np.log10(exact)) - 2)
    return float(np.ceil(exact / unit) * unit)


class Binary(Weight):
    """Weight 1 for every edge, as a heat kernel of infinite width.

    References
    ----------
    Belkin and Niyogi (2003), Laplacian eigenmaps for dimensionality reduction and data representation, Neural Computation 15.

    Examples
    --------
    >>> import numpy as np
    >>> from tamiz.graphs import Binary
    >>> Binary().edge_weights(np.array([0.0, 1.0, 2.0]), None)
    array([1., 1., 1.])
    """

    def edge_weights(self, lengths: Floats, class_sizes: Floats | None) -> Floats:  # noqa: ARG002
        """Return ones, as a view of a single number: a graph with many edges stores no weights."""
        return np.broadcast_to(np.float64(1.0), len(lengths))


class InverseClassSize(Weight):
    """Weight 1 / n for an edge within a class of n rows.

    .. math:: w_{ij} = 1 / n_c

    In a same-class graph, which joins every row to all rows of its class and to itself, each row then has degree 1.

    References
    ----------
    He, Cai and Niyogi (2005), Laplacian score for feature selection, NIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from tamiz.graphs import InverseClassSize
    >>> InverseClassSize().edge_weights(np.array([0.5, 0.5]), np.array([4.0, 10.0]))
    array([0.25, 0.1 ])
    """

    needs_classes: ClassVar[bool] = True

    def describe(self) -> str:
        """Return the weights of the edges in words."""
        return "edges weighted by the inverse of the class size"

    def edge_weights(self, lengths: Floats, class_sizes: Floats | None) -> Floats:  # noqa: ARG002
        """Return 1 / class_sizes."""
        if class_sizes is None:
            raise DataError(
                "InverseClassSize requires edges within classes; use SameClass() or KNearest(within_class=True)."
            )
        return np.asarray(1.0 / class_sizes)


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
    if symmetry == "directed":
        return directed_edges(neighbors)
    # The entries are numbered, because sparse matrices drop lengths of 0. Where both directions are neighbours, the number of the
    # row's own list is the one that is used.
    m, numbers = len(neighbors.indices), np.arange(1, len(neighbors.indices) + 1)
    mutual = symmetry == "mutual"
    own = _number_matrix(neighbors, numbers if mutual else numbers + m)
    other = sparse.csr_array(_number_matrix(neighbors, numbers + m if mutual else numbers).T)
    return _edges_of_numbers(own.minimum(other) if mutual else own.maximum(other), neighbors)


def directed_edges(neighbors: Neighbors) -> Edges:
    """Return a directed edge from every row to each of its neighbours, sorted by row number."""
    return _edges_of_numbers(_number_matrix(neighbors, np.arange(1, len(neighbors.indices) + 1)), neighbors)


def _number_matrix(neighbors: Neighbors, numbers: NDArray[np.int64]) -> sparse.csr_array:
    n = neighbors.n_rows
    matrix = sparse.csr_array((numbers, neighbors.indices, neighbors.indptr), shape=(n, n), copy=True)
    matrix.sort_indices()
    return matrix


def _edges_of_numbers(matrix: sparse.csr_array, neighbors: Neighbors) -> Edges:
    """Return the edges of a matrix of numbers of neighbours, which are counted from 1."""
    lengths = neighbors.distances[(matrix.data - 1) % max(len(neighbors.distances), 1)]
    return Edges(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32, copy=False), lengths)


# Sizes and rows that the description of components lists.
_MAX_LISTED = 5


@dataclass(frozen=True)
class Components:
    """The component of every row, numbered in the order of their first rows, and the number of rows of each."""

    labels: NDArray[np.int32]
    sizes: NDArray[np.int64]

    @classmethod
    def from_adjacency(cls, adjacency: sparse.csr_array, *, directed: bool = False) -> Components:
        """Return the components of an adjacency matrix; the direction of edges is ignored."""
        if directed:
            return cls.from_labels(connected_components(adjacency, connection="weak")[1])
        return traverse_components(
            adjacency.indptr.astype(np.int64, copy=False), adjacency.indices.astype(np.int32, copy=False)
        )[0]

    @classmethod
    def from_labels(cls, labels: NDArray[np.integer]) -> Components:
        """Return one component for each distinct label."""
        _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
        number = np.empty(len(first), dtype=np.int32)
        number[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
        renumbered = number[inverse]
        return cls(renumbered, np.bincount(renumbered, minlength=len(first)).astype(np.int64))

    def __len__(self) -> int:
        return len(self.sizes)

    def describe(self, row_numbers: Indices | None = None) -> str:
        """Return a description such as "3 components of 380, 19 and 1 rows; row 17 has no edges".

        `row_numbers` are the numbers of the rows in the user's table; None counts from 0.
        """
        order = np.argsort(-self.sizes, kind="stable")
        if len(self) > _MAX_LISTED:
            listed = list_names(self.sizes[order], limit=_MAX_LISTED, as_text="{:,}".format)
        else:
            shown = [f"{size:,}" for size in self.sizes[order]]
            listed = " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))
        alone = np.flatnonzero(self.sizes[self.labels] == 1)
        alone = alone if row_numbers is None else row_numbers[alone]
        isolated = ""
        if alone.size == 1:
            isolated = f"; row {alone[0]} has no edges"
        elif alone.size:
            isolated = f"; rows {list_names(alone, limit=_MAX_LISTED)} have no edges"
        return f"{len(self):,} components of {listed} rows{isolated}"


def traverse_components(indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> tuple[Components, NDArray[np.int32]]:
    """Return the components of a symmetric matrix, and its rows in depth-first order, which places linked rows near each other."""
    n = len(indptr) - 1
    labels, order = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    n_components = label_components_depth_first(indptr, indices, labels, order)
    return Components(labels, np.bincount(labels, minlength=n_components).astype(np.int64)), order
