"""The smallest eigenpairs of a graph's Laplacian, with a canonical basis for equal eigenvalues.

The null vectors are known, one per component. The other pairs come from a dense solver if there are few rows, and otherwise from
a Rayleigh-Ritz iteration (`lowest_ritz_pairs`), whose directions come from the solver that `SolverPolicy` expects to be cheapest.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from tamiz.arrays import Floats
from tamiz.graphs.laplacian import Laplacian
from tamiz.runtime import parallel
from tamiz.runtime.user_warnings import warn
from tamiz.runtime.validation import check_integer, check_memory, check_real
from tamiz.spectral.pencil import Pencil
from tamiz.spectral.rayleigh_ritz import Basis, RitzPairs
from tamiz.spectral.solver_policy import SolverPolicy
from tamiz.statistics.eigenvector_signs import eigenvector_signs

# The dense solver is fastest up to this many rows, or if more than 1 / 6 of all pairs are wanted.
_MAX_DENSE_ROWS = 200
_DENSE_DIVISOR = 6
# Extra rounds to find out whether the next pair has the same eigenvalue as the last wanted one.
_PATIENCE = 4
# The iteration stops if for this many rounds the residuals have gained fewer digits and the last wanted value has not decreased.
_STALL_ROUNDS = 30
_MIN_DIGIT_GAIN = 0.3
_STALL_VALUE_RATIO = 0.99
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
    blocks of directions, and its Rayleigh-Ritz vectors are computed, until they have converged. The first directions are Chebyshev
    polynomials of the Laplacian, whose degree grows as the wanted eigenvalues get closer to the others. If their remaining work
    exceeds that of a sparse elimination in minimum-degree order, or of algebraic multigrid where the optional package pyamg is
    installed, the iteration switches to solutions with L. These choices depend on sizes and counts only, not on measured time.

    References
    ----------
    Belkin and Niyogi (2003), Laplacian eigenmaps for dimensionality reduction and data representation, Neural Computation 15; Zhou
    and Saad (2007), A Chebyshev-Davidson algorithm for large symmetric eigenproblems, SIAM J. Matrix Anal. Appl. 29.

    Examples
    --------
    >>> from tamiz.graphs import Graph
    >>> from tamiz.spectral import smallest_eigenpairs
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
            ritz, solver = lowest_ritz_pairs(pencil, n_eigenpairs - n_null, tol)
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
    product = pencil.laplacian_product.multiply(scale, (entries * scale)[:, None])[:, 0]
    return np.sqrt(np.bincount(pencil.component_labels, product**2, minlength=number)[:number])


def _fill_other_vectors(
    pencil: Pencil, laplacian: Laplacian, ritz: RitzPairs, tol: float, out: Floats
) -> tuple[Floats, Floats]:
    """Fill out with the other vectors, in canonical form, and return their values and residuals."""
    wanted = out.shape[1]
    end, _ = ritz.multiplet_end(wanted)
    X, products, root = (
        _restore_row_order(pencil, a) for a in (ritz.vectors[:, :end], ritz.products[:, :end], pencil.sqrt_b)
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


def _restore_row_order(pencil: Pencil, values: Floats) -> Floats:
    out = np.empty(values.shape)
    out[pencil.row_order] = values
    return out


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


def lowest_ritz_pairs(pencil: Pencil, n_wanted: int, tol: float) -> tuple[RitzPairs, str]:
    """Return at least n_wanted lowest pairs of M besides the null vectors, and a description of the solver.

    If following pairs have the same eigenvalue as the last wanted one, they are included, as far as they fit into one block.
    """
    if pencil.n <= _MAX_DENSE_ROWS or _DENSE_DIVISOR * n_wanted > pencil.n_nonnull:
        return _solve_dense(pencil, n_wanted, tol), "the whole matrix"
    block = min(-(-(n_wanted + 1) // 4) * 4, pencil.n_nonnull)
    keep, capacity = max(16, 2 * block), max(32, 4 * block)
    check_memory(
        8.0 * pencil.n * (capacity + 6 * block + 24),
        f"The search of {n_wanted:,} eigenvectors of {pencil.n:,} rows",
        "Request fewer eigenvectors.",
    )
    basis, policy, stopping = Basis(pencil, capacity), SolverPolicy(pencil, n_wanted), _StoppingRule(n_wanted)
    basis.add(policy.start_directions(block), np.empty((pencil.n, 0)))
    while True:
        values, Y = basis.ritz_coefficients()
        ritz = RitzPairs.from_vectors(pencil, basis.combine(Y[:, :block]), values, tol)
        if stopping.should_stop(ritz):
            return ritz, policy.description
        if basis.size + block > basis.capacity:
            basis.restart(values[:keep], Y[:, :keep])
        size = basis.size
        basis.add(policy.directions(ritz), ritz.vectors)
        if basis.size == size:
            return ritz, policy.description


class _StoppingRule:
    """Decides when the iteration ends: converged, or stalled."""

    def __init__(self, n_wanted: int) -> None:
        self._n_wanted = n_wanted
        self._patience = _PATIENCE
        self._past: deque[tuple[float, float]] = deque(maxlen=_STALL_ROUNDS)

    def should_stop(self, ritz: RitzPairs) -> bool:
        """Return whether the wanted pairs have converged or have stopped improving."""
        excess = ritz.digits_over_target(self._n_wanted)
        if excess == 0.0:
            self._patience -= 1
            return ritz.multiplet_end(self._n_wanted)[1] or self._patience < 0
        state = (excess, float(ritz.values[self._n_wanted - 1]))
        stalled = len(self._past) == _STALL_ROUNDS and not (
            state[0] < self._past[0][0] - _MIN_DIGIT_GAIN or state[1] < _STALL_VALUE_RATIO * self._past[0][1]
        )
        self._past.append(state)
        return stalled


def _solve_dense(pencil: Pencil, n_wanted: int, tol: float) -> RitzPairs:
    n = pencil.n
    check_memory(32.0 * n * n, f"The dense Laplacian of {n:,} rows", "Request fewer eigenvectors.")
    matrix = pencil.multiply(np.eye(n))
    # The eigenvalues of the null vectors are moved above the spectrum.
    lift = 2.0 * pencil.eigenvalue_bound + 1.0
    matrix += np.where(
        pencil.component_labels[:, None] == pencil.component_labels,
        lift * np.outer(pencil.null_entries, pencil.null_entries),
        0.0,
    )
    most = min(pencil.n_nonnull, n_wanted + 8)
    values, X = linalg.eigh(matrix, subset_by_index=(0, most - 1), check_finite=False)
    X = np.ascontiguousarray(X)
    pencil.remove_null_space(X)
    return RitzPairs.from_vectors(pencil, X, values, tol)


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
