"""The Laplacian of a graph as a linear operator, and its smallest eigenpairs, with a canonical basis for equal eigenvalues.

The null vectors are known, one per component. The other pairs come from a dense solver if there are few rows, else from Chebyshev
polynomials of the Laplacian, or, where these would cost more, from a Krylov space of its inverse (`inverse_pairs`).
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator

from tamiz.arrays import Floats, Indices, Masks, eigenvector_signs
from tamiz.graphs.edges import Components, traverse_components
from tamiz.graphs.shift_invert import DENSE_DIVISOR, MAX_DENSE_ROWS, bandwidth, factorize, inverse_pairs
from tamiz.kernels.sparse_graphs import (
    laplacian_step_1,
    laplacian_step_4,
    laplacian_step_8,
    permute_matrix,
    project_out_null,
)
from tamiz.runtime import parallel
from tamiz.runtime.random import make_rng
from tamiz.runtime.user_warnings import warn
from tamiz.runtime.validation import check_choice, check_integer, check_memory, check_real

LAPLACIAN_KINDS: tuple[str, ...] = ("unnormalized", "symmetric", "random_walk")

# Entries and rows per block of work: about 1 ms for four columns.
_CHUNK_WORK = 400_000
_STEP_KERNELS = {1: laplacian_step_1, 4: laplacian_step_4, 8: laplacian_step_8}
MAX_PANEL_WIDTH = max(_STEP_KERNELS)


class LaplacianProduct:
    """Products with L = D - S, computed from differences along the edges in blocks of rows, for panels of up to eight columns."""

    def __init__(self, indptr: NDArray[np.integer], indices: NDArray[np.integer], weights: Floats) -> None:
        self.indptr = np.ascontiguousarray(indptr, dtype=np.int64)
        self.indices = np.ascontiguousarray(indices, dtype=np.int32)
        self.weights = np.ascontiguousarray(weights, dtype=np.float64)
        n = len(self.indptr) - 1
        work = self.indptr + np.arange(n + 1)
        cuts = np.searchsorted(work, np.arange(_CHUNK_WORK, work[-1], _CHUNK_WORK))
        bounds = np.unique(np.concatenate([[0], cuts, [n]]))
        self._row_spans = list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))

    def permute(self, order: NDArray[np.int32]) -> LaplacianProduct:
        """Return the operator with rows and columns in another order."""
        position = np.empty_like(order)
        position[order] = np.arange(len(order), dtype=np.int32)
        indptr, indices, weights = np.empty_like(self.indptr), np.empty_like(self.indices), np.empty_like(self.weights)
        permute_matrix(self.indptr, self.indices, self.weights, order, position, indptr, indices, weights)
        return LaplacianProduct(indptr, indices, weights)

    def recurrence_step(self, left_scale: Floats, x: Floats, out: Floats, a: float, c: float, b: float) -> None:
        """Fill out with a (left_scale L x - c x) - b out; x and out are panels (`pad_panel`)."""
        kernel = _STEP_KERNELS[x.shape[1]]

        def step(span: tuple[int, int]) -> None:
            kernel(self.indptr, self.indices, self.weights, left_scale, x, out, a, c, b, *span)

        parallel.run_blocks(step, self._row_spans)

    def multiply(self, left_scale: Floats, X: Floats) -> Floats:
        out = np.empty(X.shape)
        for start, stop in parallel.block_ranges(X.shape[1], MAX_PANEL_WIDTH):
            x = pad_panel(X[:, start:stop])
            product = np.zeros(x.shape)
            self.recurrence_step(left_scale, x, product, 1.0, 0.0, 0.0)
            out[:, start:stop] = product[:, : stop - start]
        return out


def pad_panel(X: Floats) -> Floats:
    """Return up to eight columns as a C-contiguous panel of 1, 4 or 8, padded with columns of zeros."""
    n, width = X.shape
    padded = np.zeros((n, next(wide for wide in _STEP_KERNELS if wide >= width)))
    padded[:, :width] = X
    return padded


class Laplacian(LinearOperator):
    """The Laplacian of a graph, a `LinearOperator` for `@` whose matrix is never stored.

    Parameters
    ----------
    adjacency : csr_array of shape (n_samples, n_samples)
        The weights S: symmetric and non-negative. A diagonal entry counts in both D and S.
    kind : {"unnormalized", "symmetric", "random_walk"}, default="unnormalized"
        D - S, 1 - D^-1/2 S D^-1/2 or 1 - D^-1 S.
    components : Components, default=None
        Components of the graph; None computes them.

    Attributes
    ----------
    kind : str
    adjacency : csr_array of shape (n_samples, n_samples)
    degrees : ndarray of shape (n_samples,)
        The sum of the weights of each row's edges, D.
    components : Components
        `labels` of shape (n_samples,) and `sizes`, numbered in the order of their first rows.

    Notes
    -----
    A product costs O(n_edges) per column. It runs on the threads of the session, and its bits do not depend on their number.
    Products are sums of differences along the edges, so a constant vector (times D^1/2 for "symmetric") is mapped to exactly 0.
    A row without edges is a component of its own. D^-1 and D^-1/2 are 0 there, so its row and column of L are 0 for every kind.

    References
    ----------
    von Luxburg (2007), A tutorial on spectral clustering, Statistics and Computing 17.

    Examples
    --------
    >>> import numpy as np
    >>> from tamiz.graphs import Graph
    >>> path = Graph.from_edges([0, 1], [1, 2])
    >>> path.laplacian("random_walk") @ np.array([1.0, 0.0, 3.0])
    array([ 1., -2.,  3.])
    """

    def __init__(
        self, adjacency: sparse.csr_array, kind: str = "unnormalized", components: Components | None = None
    ) -> None:
        self.kind = check_choice("kind", kind, LAPLACIAN_KINDS)
        self.adjacency = adjacency
        self.degrees: Floats = np.asarray(adjacency.sum(axis=1), dtype=np.float64).ravel()
        self.laplacian_product = LaplacianProduct(adjacency.indptr, adjacency.indices, adjacency.data)
        super().__init__(np.dtype(np.float64), adjacency.shape)
        self.components = Components.from_adjacency(adjacency) if components is None else components
        ones = np.ones(adjacency.shape[0])
        with np.errstate(divide="ignore"):
            inverse = np.where(self.degrees > 0, 1.0 / self.degrees, 0.0)
        # Every kind is left_scale (D - S) right_scale.
        self._left_scale, self._right_scale = {
            "unnormalized": (ones, ones),
            "symmetric": (np.sqrt(inverse), np.sqrt(inverse)),
            "random_walk": (inverse, ones),
        }[self.kind]

    def _matmat(self, X: NDArray[Any]) -> Floats:
        return self.laplacian_product.multiply(self._left_scale, X * self._right_scale[:, None])

    def _rmatmat(self, X: NDArray[Any]) -> Floats:
        return self.laplacian_product.multiply(self._right_scale, X * self._left_scale[:, None])

    def _rmatvec(self, x: NDArray[Any]) -> Floats:
        return self._rmatmat(x.reshape(-1, 1))


# With more rows than this a panel does not fit into the cache of a core. Products are then up to twice as fast if neighbouring rows
# of the graph are close in memory.
_MAX_CACHED_ROWS = 32768
# Rows per block of tall products.
_CHUNK_ROWS = 16384
# If projecting out the basis leaves at most this length of a unit column, the column is in the basis up to rounding.
_MIN_REMAINING = 1e-6
# Pairs are improved until their residual is this share of the target, because the pairs above them depend on them.
_TARGET_SHARE = 0.3
# Values closer than this share of the tolerance count as one eigenvalue: rotating their vectors hardly changes residuals.
_TIE_SHARE = 0.01
# Pairs that are improved at a time: with more, the lowest would converge long before the others.
_MAX_ACTIVE = 16
# Values below a jump by this factor, as of clusters with few edges between them, are improved together, up to so many.
_CLUSTER_JUMP, _MAX_CLUSTERS = 30.0, 48
# Ratio of a polynomial at the lowest value to its maximum above the cut. A larger gain makes the directions nearly dependent.
_FILTER_GAIN = 20.0
# The Ritz values above the block are used only once the residual of the block's largest value is below this share of the value.
_MAX_RELATIVE_RESIDUAL = 0.3
# Position of the Ritz value that is then used as the cut.
_CUT_POSITION, _MAX_CUT_RATIO = 12, 3.0
_MIN_DEGREE, _MAX_DEGREE, _MIN_GROWTH = 3, 2000, 1e-9
_LANCZOS_STEPS = 8
# A factorisation costs at most n (bandwidth^2 + 20,000) times as much as an entry of a product. Without this bound, that of a table
# of 20 columns and 10,000 rows does not end within minutes.
_FACTOR_ROW_WORK, _MAX_BAND_ENTRIES = 2e4, 1e8
# The shift of the inverse as a share of the largest wanted value. Without it, a value that is 0 up to rounding would dominate.
_SHIFT_SHARE = 1e-3
# Extra rounds to find out whether the next pair has the same eigenvalue as the last wanted one.
_PATIENCE = 4
# The iteration stops if for this many rounds the residuals have gained fewer digits and the last wanted value has not decreased.
_STALL_ROUNDS, _MIN_DIGIT_GAIN, _STALL_VALUE_RATIO = 30, 0.3, 0.99
# A row can represent a multiplet if the projection of its unit vector is at least this share of the largest; the first such row is
# used. The value is not the cosine of a simple angle, so that rounding does not decide for symmetric graphs.
_MIN_PROJECTION = 0.7


@dataclass(frozen=True)
class Spectrum:
    """Eigenpairs of a Laplacian, ascending.

    Attributes
    ----------
    values : ndarray of shape (m,)
        Exactly 0 for each component of the graph, then the others. Equal eigenvalues are the same number.
    vectors : ndarray of shape (n_samples, m)
        Unit vectors, orthonormal; for "random_walk" orthonormal with the degrees as weights. The null vectors are first, in the
        order of the components. Each is constant on the rows of its component (times D^1/2 for "symmetric"), 1 for a row
        without edges, and 0 elsewhere.
    residuals : ndarray of shape (m,)
        |L y - lambda y|, and for "random_walk" |L y - lambda D y| with L = D - S.
    solver : str
        Description of the solver for reports.
    n_components : int
        Number of components of the graph, which is the multiplicity of the eigenvalue 0.
    """

    values: Floats
    vectors: Floats
    residuals: Floats
    solver: str
    n_components: int


def smallest_eigenpairs(laplacian: Laplacian, n_eigenpairs: int, *, tol: float = 1e-6) -> Spectrum:
    """Return the smallest eigenpairs, including the null vectors.

    Parameters
    ----------
    laplacian : Laplacian
        "random_walk" is solved as L y = lambda D y.
    n_eigenpairs : int
        Number of pairs, from 1 to the number of rows. The graph has one null vector per component.
    tol : float, default=1e-6
        A pair has converged when its residual, in the symmetric form of the problem, is at most `tol` times its eigenvalue or at
        the level of rounding. The relative error of the eigenvalue is then at most `tol`, and usually about its square.

    Returns
    -------
    Spectrum
        Its bits do not depend on the number of threads. The sign of a vector makes its largest entry positive (the first of equal
        entries). The vectors of equal eigenvalues are a canonical basis of their eigenspace, which depends on the space alone.

    Warns
    -----
    ConvergenceWarning
        When a residual is above `tol`.

    Raises
    ------
    TypeError
        When `laplacian` is not a Laplacian, for example the graph itself.
    MemoryError
        When the vectors do not fit into memory.

    Notes
    -----
    The known null vectors are projected out. Graphs of up to 200 rows are solved by a dense solver. Otherwise a basis grows by
    blocks of directions, and its Rayleigh-Ritz vectors are computed, until they have converged. The directions are Chebyshev
    polynomials of the Laplacian, whose degree grows as the wanted eigenvalues get closer to the others. If their remaining work
    exceeds that of a sparse factorisation, as in graphs of paths, grids and surfaces, a Krylov space of the inverse replaces them.
    This choice depends on sizes and counts only, not on measured time.

    References
    ----------
    Belkin and Niyogi (2003), Laplacian eigenmaps for dimensionality reduction and data representation, Neural Computation 15; Zhou
    and Saad (2007), A Chebyshev-Davidson algorithm for large symmetric eigenproblems, SIAM J. Matrix Anal. Appl. 29.

    Examples
    --------
    >>> from tamiz.graphs import Graph

    >>> path = Graph.from_edges([0, 1], [1, 2])
    >>> smallest_eigenpairs(path.laplacian(), 3).values.round(12)
    array([0., 1., 3.])
    """
    if not isinstance(laplacian, Laplacian):
        raise TypeError(f"laplacian must be a Laplacian, such as graph.laplacian(), got {laplacian!r}.")
    n = laplacian.shape[0]
    n_eigenpairs = check_integer("n_eigenpairs", n_eigenpairs, low=1, high=n)
    tol = check_real("tol", tol, low=0.0)
    check_memory(
        16.0 * n * n_eigenpairs,
        f"{n_eigenpairs:,} eigenvectors of {n:,} rows",
        "Request fewer eigenvectors, or join the components of the graph first.",
    )
    with parallel.thread_session():
        pencil = Pencil(laplacian)
        n_null = min(n_eigenpairs, pencil.n_null)
        values, residuals = np.zeros(n_eigenpairs), np.empty(n_eigenpairs)
        vectors = np.zeros((n, n_eigenpairs))
        residuals[:n_null] = _fill_null_vectors(pencil, laplacian, vectors[:, :n_null])
        solver = "known null vectors"
        if n_eigenpairs > n_null:
            ritz, solver = _lowest_ritz_pairs(pencil, n_eigenpairs - n_null, tol)
            values[n_null:], residuals[n_null:] = _fill_other_vectors(pencil, laplacian, ritz, tol, vectors[:, n_null:])
    return Spectrum(values, vectors, residuals, solver, pencil.n_null)


def _fill_null_vectors(pencil: Pencil, laplacian: Laplacian, out: Floats) -> Floats:
    """Fill out with null vectors, one per component, and return their residuals."""
    number = out.shape[1]
    entries = (
        pencil.null_entries if laplacian.kind != "random_walk" else 1.0 / pencil.null_norms[pencil.component_labels]
    )
    some = np.flatnonzero(pencil.component_labels < number)
    out[pencil.row_order[some], pencil.component_labels[some]] = entries[some]
    # No edge joins two supports, so one product computes all residuals.
    scale = pencil.inverse_sqrt_b if laplacian.kind == "symmetric" else np.ones(pencil.n)
    product = pencil.product.multiply(scale, (entries * scale)[:, None])[:, 0]
    return np.sqrt(np.bincount(pencil.component_labels, product**2, minlength=number)[:number])


def _fill_other_vectors(
    pencil: Pencil, laplacian: Laplacian, ritz: _RitzPairs, tol: float, out: Floats
) -> tuple[Floats, Floats]:
    """Fill out with the other vectors, in canonical form, and return their values and residuals."""
    wanted = out.shape[1]
    end, _ = ritz.multiplet_end(wanted)
    X, products, root = (
        pencil.restore_row_order(a) for a in (ritz.vectors[:, :end], ritz.products[:, :end], pencil.sqrt_b)
    )
    values = np.einsum("ij,ij->j", X, products)
    for equal in multiplets(values, ritz.tie_tolerances[:end]):
        if equal.stop - equal.start > 1:
            Y = canonical_rotation(X[:, equal])
            X[:, equal], products[:, equal] = X[:, equal] @ Y, products[:, equal] @ Y
            values[equal] = values[equal].mean()
    X, products, values = X[:, :wanted], products[:, :wanted], values[:wanted]
    rest = products - X * values
    _warn_unconverged(np.linalg.norm(rest, axis=0), values, tol, pencil.rounding_residual)
    if laplacian.kind == "random_walk":
        np.divide(X, root[:, None], out=out, where=root[:, None] > 0)
        rest *= root[:, None]
    else:
        out[:] = X
    out *= eigenvector_signs(out)
    return values, np.linalg.norm(rest, axis=0)


def _warn_unconverged(residuals: Floats, values: Floats, tol: float, rounding: float) -> None:
    over = np.flatnonzero(residuals > tol * values + rounding)
    if len(over):
        worst = over[np.argmax(residuals[over] / values[over])]
        others = "" if len(over) == 1 else f", the worst of {len(over)},"
        warn(
            "TZ501",
            f"An eigenvector of the Laplacian{others} has the residual {residuals[worst]:.2g}, above tol = {tol:g} times its "
            f"eigenvalue {values[worst]:.6g}. The map is approximate; to accept this accuracy, use a larger tol.",
        )


class Pencil:
    """The problem L y = lambda B y as M u = lambda u, with u = B^1/2 y and M = B^-1/2 L B^-1/2, and its known null vectors.

    B is 1 for "unnormalized" and D for the other two kinds, which are the same problem. Each component of the graph has one null
    vector, which is B^1/2 on its rows and 0 elsewhere; for a row without edges it is the unit vector. `row_order` is the order of
    the graph's rows in all arrays; `sqrt_b` and `inverse_sqrt_b` are B^1/2 and B^-1/2, 0 where B is 0. `null_entries` are the
    entries of all null vectors together, which have length 1, and `null_norms` the norms of B^1/2 on each component.
    """

    def __init__(self, laplacian: Laplacian) -> None:
        self.n = laplacian.shape[0]
        self.n_null = len(laplacian.components)
        self.n_nonnull = self.n - self.n_null
        self.product, self.row_order = laplacian.laplacian_product, np.arange(self.n, dtype=np.int32)
        if self.n > _MAX_CACHED_ROWS:
            _, self.row_order = traverse_components(self.product.indptr, self.product.indices)
            self.product = self.product.permute(self.row_order)
        self.n_entries = len(self.product.indices)
        self.component_labels = laplacian.components.labels[self.row_order]
        self.degrees = laplacian.degrees[self.row_order]
        self.sqrt_b = np.ones(self.n) if laplacian.kind == "unnormalized" else np.sqrt(self.degrees)
        with np.errstate(divide="ignore"):
            self.inverse_sqrt_b = np.where(self.sqrt_b > 0, 1.0 / self.sqrt_b, 0.0)
        entries = np.where(self.sqrt_b > 0, self.sqrt_b, 1.0)
        self.null_norms = np.sqrt(np.bincount(self.component_labels, entries**2, minlength=self.n_null))
        self.null_entries = entries / self.null_norms[self.component_labels]
        # Gershgorin: no eigenvalue exceeds twice the largest diagonal entry.
        self.eigenvalue_bound = 2.0 * float((self.degrees * self.inverse_sqrt_b**2).max(initial=0.0))
        self.rounding_residual = 64 * float(np.finfo(np.float64).eps) * self.eigenvalue_bound

    def multiply(self, X: Floats) -> Floats:
        return self.product.multiply(self.inverse_sqrt_b, X * self.inverse_sqrt_b[:, None])

    def remove_null_space(self, X: Floats) -> None:
        """Project the columns of X, in place, onto the complement of the null vectors."""
        project_out_null(self.component_labels, self.null_entries, X, np.empty((self.n_null, X.shape[1])))

    def restore_row_order(self, values: Floats) -> Floats:
        out = np.empty(values.shape)
        out[self.row_order] = values
        return out

    def weight_matrix(self) -> sparse.csr_array:
        graph = self.product
        return sparse.csr_array((graph.weights, graph.indices, graph.indptr.astype(np.int32)), shape=(self.n, self.n))


@dataclass(frozen=True)
class _RitzPairs:
    """The lowest Ritz pairs of a basis: values, vectors X, products M X and residuals, and all higher Ritz values.

    A pair has converged at its residual target; a value counts as equal to its neighbour up to its tie tolerance.
    """

    values: Floats
    vectors: Floats
    products: Floats
    residuals: Floats
    residual_targets: Floats
    tie_tolerances: Floats
    higher_values: Floats

    @classmethod
    def from_vectors(cls, pencil: Pencil, X: Floats, values: Floats, tol: float) -> _RitzPairs:
        """Return the pairs of orthonormal vectors X with their residuals; `values` are all Ritz values of the basis."""
        products, own = pencil.multiply(X), values[: X.shape[1]]
        return cls(
            own,
            X,
            products,
            np.linalg.norm(products - X * own, axis=0),
            tol * own + pencil.rounding_residual,
            _TIE_SHARE * tol * own + pencil.rounding_residual,
            values[X.shape[1] :],
        )

    @property
    def unconverged(self) -> Masks:
        return self.residuals > _TARGET_SHARE * self.residual_targets

    def active_indices(self, most: int) -> Indices:
        """Return the lowest unconverged pairs, padded with the highest other pairs to a multiple of 4."""
        lowest = np.flatnonzero(self.unconverged)[:most]
        others = np.setdiff1d(np.arange(len(self.values)), lowest)
        return np.sort(np.concatenate([lowest, others[len(others) - min(-len(lowest) % 4, len(others)) :]]))

    def digits_over_target(self, n_wanted: int) -> float:
        """Return log10 of the largest ratio of residual to target of the wanted pairs, at least 0."""
        over = self.residuals[:n_wanted] / np.maximum(self.residual_targets[:n_wanted], np.finfo(np.float64).tiny)
        return float(np.log10(max(1.0, over.max(initial=1.0))))

    def multiplet_end(self, n_wanted: int) -> tuple[int, bool]:
        """Return the number of pairs up to the last with the eigenvalue of the last wanted one, and whether it is certain."""
        end = n_wanted
        while end < len(self.values) and self.values[end] - self.values[end - 1] <= self.tie_tolerances[end]:
            if self.residuals[end] > self.residual_targets[end]:
                return end, False
            end += 1
        if end == len(self.values):
            return end, True
        return end, bool(self.values[end] - self.residuals[end] > self.values[end - 1] + self.tie_tolerances[end])


def _lowest_ritz_pairs(pencil: Pencil, n_wanted: int, tol: float) -> tuple[_RitzPairs, str]:
    """Return at least n_wanted lowest pairs of M besides the null vectors, and a description of the solver.

    If following pairs have the same eigenvalue as the last wanted one, they are included, as far as they fit into one block.
    """
    if pencil.n <= MAX_DENSE_ROWS or DENSE_DIVISOR * n_wanted > pencil.n_nonnull:
        return _solve_dense(pencil, n_wanted, tol), "the whole matrix"
    block = min(-(-(n_wanted + 1) // 4) * 4, pencil.n_nonnull)
    n_active = _MAX_ACTIVE
    basis, filters, stopping = _Basis(pencil), _ChebyshevFilter(pencil), _StoppingRule(n_wanted)
    basis.reserve(max(32, 4 * block))
    basis.add(filters.start_directions(block))
    width: int | None = None
    while True:
        values, Y = basis.ritz_coefficients()
        clusters = _count_clusters(values, block)
        if clusters > block:
            block = n_active = clusters
            basis.reserve(4 * block)
        ritz = _RitzPairs.from_vectors(pencil, basis.combine(Y[:, :block]), values, tol)
        if stopping.should_stop(ritz):
            return ritz, filters.description
        active = ritz.active_indices(n_active)
        rounds = ritz.digits_over_target(n_wanted) / math.log10(_FILTER_GAIN)
        remaining = rounds * filters.choose_polynomial(ritz)[1] * len(active) * pencil.n_entries
        if remaining > _FACTOR_ROW_WORK * pencil.n:
            width = bandwidth(pencil.weight_matrix()) if width is None else width
            if pencil.n * width < _MAX_BAND_ENTRIES and remaining > pencil.n * (width**2 + _FACTOR_ROW_WORK):
                found = _solve_by_inverse(pencil, ritz, width, tol)
                if found is not None:
                    return found, "a Krylov space of the inverse"
        basis.make_room(block, values, Y)
        if not basis.add(filters.directions(ritz, active)):
            return ritz, filters.description


def _count_clusters(values: Floats, block: int) -> int:
    """Return the number of Ritz values below a jump above the block, a multiple of 4; the block if there is none."""
    jumps = np.flatnonzero(values[block:] > _CLUSTER_JUMP * np.maximum(values[block - 1 : -1], 0.0))
    below = block + int(jumps[0]) if len(jumps) else block
    return min(-(-below // 4) * 4, max(block, _MAX_CLUSTERS))


def _solve_by_inverse(pencil: Pencil, ritz: _RitzPairs, width: int, tol: float) -> _RitzPairs | None:
    """Return as many pairs from a Krylov space of the inverse; None if rounding makes it indefinite."""
    shift = max(_SHIFT_SHARE * float(ritz.values[-1]), pencil.rounding_residual)
    ground = np.where(pencil.sqrt_b > 0, shift * pencil.sqrt_b**2, 1.0)
    solve = factorize(sparse.csr_array(sparse.diags_array(pencil.degrees + ground) - pencil.weight_matrix()), width)
    if solve is None:
        return None
    root = pencil.sqrt_b[:, None]
    X = inverse_pairs(
        lambda Y: solve(Y * root) * root, pencil.remove_null_space, ritz.vectors, len(ritz.values)
    ).vectors
    values, Y = linalg.eigh(X.T @ pencil.multiply(X), check_finite=False)
    return _RitzPairs.from_vectors(pencil, X @ Y, values, tol)


def _solve_dense(pencil: Pencil, n_wanted: int, tol: float) -> _RitzPairs:
    n = pencil.n
    check_memory(32.0 * n * n, f"The dense Laplacian of {n:,} rows", "Request fewer eigenvectors.")
    matrix = pencil.multiply(np.eye(n))
    # The eigenvalues of the null vectors are moved above the spectrum.
    lift = 2.0 * pencil.eigenvalue_bound + 1.0
    same = pencil.component_labels[:, None] == pencil.component_labels
    matrix += np.where(same, lift * np.outer(pencil.null_entries, pencil.null_entries), 0.0)
    most = min(pencil.n_nonnull, n_wanted + 8)
    values, X = linalg.eigh(matrix, subset_by_index=(0, most - 1), check_finite=False)
    X = np.ascontiguousarray(X)
    pencil.remove_null_space(X)
    return _RitzPairs.from_vectors(pencil, X, values, tol)


class _Basis:
    """Orthonormal columns Q, orthogonal to the null vectors and stored as rows, with the projected matrix Q' M Q."""

    def __init__(self, pencil: Pencil) -> None:
        self._pencil = pencil
        self._Q, self._H = np.empty((0, pencil.n)), np.zeros((0, 0))
        self._spans = [slice(*span) for span in parallel.block_ranges(pencil.n, _CHUNK_ROWS)]
        self.size = 0

    def reserve(self, capacity: int) -> None:
        """Make room for a number of columns in all."""
        n, size, before = self._pencil.n, self.size, (self._Q, self._H)
        check_memory(20.0 * n * capacity, f"The search of eigenvectors of {n:,} rows", "Request fewer eigenvectors.")
        self._Q, self._H = np.empty((capacity, n)), np.zeros((capacity, capacity))
        self._Q[:size], self._H[:size, :size] = before[0][:size], before[1][:size, :size]

    def add(self, new: Floats) -> bool:
        """Add columns, except those in the span of the basis; return whether there are others."""
        # Twice, because the first pass leaves rounding errors of the length of the columns. A column that was in the basis up to
        # rounding is then a random direction.
        new, _ = self._orthonormalize(new)
        new, remaining = self._orthonormalize(new)
        new = np.ascontiguousarray(new[:, remaining > _MIN_REMAINING][:, : self._pencil.n_nonnull - self.size])
        start, stop = self.size, self.size + new.shape[1]
        self._Q[start:stop] = new.T
        self.size = stop
        if stop > start:
            self._H[:stop, start:stop] = self._coefficients(self._pencil.multiply(new))
            self._H[start:stop, :start] = self._H[:start, start:stop].T
        return stop > start

    def _orthonormalize(self, new: Floats) -> tuple[Floats, Floats]:
        """Return orthonormal columns without their projections on the basis, and the lengths that the projections leave."""
        self._pencil.remove_null_space(new)
        new -= self.combine(self._coefficients(new))
        new, triangle = np.linalg.qr(new)
        return np.ascontiguousarray(new), np.abs(np.diag(triangle))

    def _coefficients(self, X: Floats) -> Floats:
        """Return Q' X."""
        return np.asarray(sum(parallel.map_blocks(lambda rows: self._Q[: self.size, rows] @ X[rows], self._spans)))

    def ritz_coefficients(self) -> tuple[Floats, Floats]:
        """Return the Ritz values, ascending, and the coefficients of their vectors."""
        matrix = self._H[: self.size, : self.size]
        return linalg.eigh((matrix + matrix.T) / 2, check_finite=False)

    def combine(self, Y: Floats) -> Floats:
        out, Y = np.empty((self._pencil.n, Y.shape[1])), np.ascontiguousarray(Y)
        parallel.run_blocks(lambda rows: np.matmul(self._Q[: self.size, rows].T, Y, out=out[rows]), self._spans)
        return out

    def make_room(self, block: int, values: Floats, Y: Floats) -> None:
        """Replace the basis by its lowest Ritz vectors, with coefficients Y and these values, if a block has no room."""
        if self.size + block > len(self._Q):
            kept = max(16, 2 * block)
            self._Q[:kept] = self.combine(Y[:, :kept]).T
            self._H[:kept, :kept] = np.diag(values[:kept])
            self.size = kept


class _ChebyshevFilter:
    """Polynomials of M that are at most 1 from a cut to the top of the spectrum and grow steeply below the cut.

    The degree depends on the Ritz values: the closer the wanted eigenvalues are to the cut, the more products are needed.
    """

    def __init__(self, pencil: Pencil) -> None:
        self._pencil = pencil
        self._upper_bound = min(pencil.eigenvalue_bound, 1.01 * _bound_largest_eigenvalue(pencil))
        self._largest_degree = 0

    @property
    def description(self) -> str:
        return (
            f"Chebyshev polynomials of degree up to {self._largest_degree}"
            if self._largest_degree
            else "a Chebyshev polynomial"
        )

    def start_directions(self, block: int) -> Floats:
        """Return start directions: filtered random columns."""
        X = make_rng(0).uniform(-1.0, 1.0, size=(self._pencil.n, block))
        return self._apply(X, 0.4 * self._upper_bound, 6)

    def choose_polynomial(self, ritz: _RitzPairs) -> tuple[float, int]:
        """Return the cut and the degree for the next polynomial, from the current Ritz values."""
        # The polynomial amplifies directions above the upper bound, so a bound that is too low is detected here and raised.
        highest = float(ritz.higher_values.max(initial=ritz.values[-1]))
        if highest > self._upper_bound:
            self._upper_bound = min(self._pencil.eigenvalue_bound, 1.02 * highest)
        lowest, largest = max(float(ritz.values[np.argmax(ritz.unconverged)]), 0.0), float(ritz.values[-1])
        self._upper_bound = max(self._upper_bound, 1.01 * lowest)
        if ritz.residuals[-1] > _MAX_RELATIVE_RESIDUAL * largest:
            cut = largest
        else:
            n_higher = max(_CUT_POSITION, 3 * len(ritz.values) // 2) - len(ritz.values)
            cut = min(float(ritz.higher_values[:n_higher].max(initial=largest)), _MAX_CUT_RATIO * largest)
        cut = min(max(cut, 1.05 * lowest), (lowest + self._upper_bound) / 2)
        growth = math.acosh(1 + 2 * (cut - lowest) / (self._upper_bound - cut))
        degree = max(_MIN_DEGREE, math.ceil(math.acosh(_FILTER_GAIN) / max(growth, _MIN_GROWTH)))
        return cut, min(degree, _MAX_DEGREE)

    def directions(self, ritz: _RitzPairs, active: Indices) -> Floats:
        """Return p(M) X for the active vectors X."""
        cut, degree = self.choose_polynomial(ritz)
        self._largest_degree = max(self._largest_degree, degree)
        return self._apply(np.take(ritz.vectors, active, axis=1), cut, degree)

    def _apply(self, X: Floats, cut: float, degree: int) -> Floats:
        pencil, out = self._pencil, np.empty(X.shape)
        inverse_b = pencil.inverse_sqrt_b**2
        half, middle = (self._upper_bound - cut) / 2, (self._upper_bound + cut) / 2
        for start, stop in parallel.block_ranges(X.shape[1], MAX_PANEL_WIDTH):
            before = pad_panel(X[:, start:stop] * pencil.inverse_sqrt_b[:, None])
            after = np.zeros(before.shape)
            # The polynomial is scaled to 1 at 0, which avoids overflow.
            scale = ratio = half / -middle
            pencil.product.recurrence_step(inverse_b, before, after, scale / half, middle, 0.0)
            for _ in range(degree - 1):
                following = 1 / (2 / scale - ratio)
                pencil.product.recurrence_step(
                    inverse_b, after, before, 2 * following / half, middle, ratio * following
                )
                before, after, ratio = after, before, following
            np.multiply(after[:, : stop - start], pencil.sqrt_b[:, None], out=out[:, start:stop])
        return out


def _bound_largest_eigenvalue(pencil: Pencil) -> float:
    """Return a close upper bound of the largest eigenvalue, from a few Lanczos steps."""
    v = make_rng(0).uniform(-1.0, 1.0, size=(pencil.n, 1))
    v /= np.linalg.norm(v)
    before, beta = np.zeros_like(v), 0.0
    diagonal, off_diagonal = [], []
    for _ in range(min(_LANCZOS_STEPS, pencil.n)):
        w = pencil.multiply(v)
        alpha = float(v[:, 0] @ w[:, 0])
        w -= alpha * v
        w -= beta * before
        beta = float(np.linalg.norm(w))
        diagonal.append(alpha)
        off_diagonal.append(beta)
        if beta < 1e-12 * pencil.eigenvalue_bound:
            break
        w /= beta
        before, v = v, w
    values, Y = linalg.eigh_tridiagonal(diagonal, off_diagonal[:-1])
    return float(values[-1] + abs(off_diagonal[-1] * Y[-1, -1]))


class _StoppingRule:
    """Decides when the iteration ends: converged, or stalled."""

    def __init__(self, n_wanted: int) -> None:
        self._n_wanted = n_wanted
        self._patience = _PATIENCE
        self._past: deque[tuple[float, float]] = deque(maxlen=_STALL_ROUNDS)

    def should_stop(self, ritz: _RitzPairs) -> bool:
        """Return whether the wanted pairs have converged or have stopped improving."""
        excess = ritz.digits_over_target(self._n_wanted)
        if excess == 0.0:
            self._patience -= 1
            return ritz.multiplet_end(self._n_wanted)[1] or self._patience < 0
        value = float(ritz.values[self._n_wanted - 1])
        stalled = len(self._past) == _STALL_ROUNDS and not (
            excess < self._past[0][0] - _MIN_DIGIT_GAIN or value < _STALL_VALUE_RATIO * self._past[0][1]
        )
        self._past.append((excess, value))
        return stalled


def multiplets(values: Floats, ties: Floats) -> list[slice]:
    """Return the runs of equal values in ascending values: each differs from the one before by at most its tie tolerance."""
    starts = np.flatnonzero(np.concatenate([[True], np.diff(values) > ties[1:]]))
    return [slice(int(a), int(b)) for a, b in zip(starts, np.append(starts[1:], len(values)), strict=True)]


def canonical_rotation(X: Floats) -> Floats:
    """Return the rotation, of shape (k, k), from orthonormal columns to a canonical basis of the space that they span.

    Each basis vector is the projection of a unit vector e_i onto the part of the space orthogonal to the previous basis vectors,
    for the first row i whose projection has at least 0.7 of the largest length. So the basis depends on the space alone.
    """
    k = X.shape[1]
    Y = np.zeros((k, k))
    remaining = X.copy()
    for t in range(k):
        squares = np.einsum("ij,ij->i", remaining, remaining)
        row = remaining[np.argmax(squares >= _MIN_PROJECTION**2 * squares.max())]
        row = row - Y[:, :t] @ (Y[:, :t].T @ row)
        Y[:, t] = row / np.linalg.norm(row)
        remaining -= np.outer(remaining @ Y[:, t], Y[:, t])
    return Y
