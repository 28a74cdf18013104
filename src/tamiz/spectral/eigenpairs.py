"""The smallest eigenpairs of a graph's Laplacian."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from tamiz.exceptions import ConvergenceWarning
from tamiz.graphs.laplacian import Laplacian
from tamiz.runtime import parallel
from tamiz.runtime.user_warnings import warn_user
from tamiz.runtime.validation import check_integer, check_memory, check_real
from tamiz.spectral.pencil import Pencil
from tamiz.spectral.rayleigh_ritz import Basis, RitzPairs
from tamiz.spectral.solver_policy import SolverPolicy
from tamiz.statistics.base import Floats
from tamiz.statistics.eigenvector_signs import eigenvector_signs

# MERGED: The smallest eigenpairs beside the null ones: a basis that grows by whichever directions are cheapest.
# Up to so many rows, or with more than this share of all pairs wanted, the whole matrix is the quickest.
_MAX_DENSE_ROWS = 200
_DENSE_DIVISOR = 6
# Rounds that are given to the question whether a pair beyond those wanted is equal to the last of them.
_PATIENCE = 4
# A search ends when it has come no nearer for so many rounds, by digits or by a lower value.
_STALL_ROUNDS = 30
_MIN_DIGIT_GAIN = 0.3
_STALL_VALUE_RATIO = 0.99


def lowest_ritz_pairs(pencil: Pencil, n_wanted: int, tol: float) -> tuple[RitzPairs, str]:
    """Return the lowest pairs of M beside the null vectors, at least those wanted, and in words how they were found.

    Where the last one wanted equals some that follow it, these are there too, as far as one block of vectors shows them.
    """
    if pencil.n <= _MAX_DENSE_ROWS or _DENSE_DIVISOR * n_wanted > pencil.n_nonnull:
        return _solve_dense(pencil, n_wanted, tol), "the whole matrix"
    block = min(-(-(n_wanted + 1) // 4) * 4, pencil.n_nonnull)
    keep, room = max(16, 2 * block), max(32, 4 * block)
    check_memory(
        8.0 * pencil.n * (room + 6 * block + 24),
        f"The search of {n_wanted:,} eigenvectors of {pencil.n:,} rows",
        "Ask for fewer.",
    )
    basis, policy, watch = Basis(pencil, room), SolverPolicy(pencil, n_wanted), _StoppingRule(n_wanted)
    basis.add(policy.start_directions(block), np.empty((pencil.n, 0)))
    while True:
        values, Y = basis.ritz_coefficients()
        ritz = RitzPairs.from_vectors(pencil, basis.combine(Y[:, :block]), values, tol)
        if watch.should_stop(ritz):
            return ritz, policy.description
        if basis.size + block > basis.capacity:
            basis.restart(values[:keep], Y[:, :keep])
        size = basis.size
        basis.add(policy.directions(ritz), ritz.vectors)
        if basis.size == size:
            return ritz, policy.description


class _StoppingRule:
    """Says when a search has come to its end."""

    def __init__(self, n_wanted: int) -> None:
        self._n_wanted = n_wanted
        self._patience = _PATIENCE
        self._past: deque[tuple[float, float]] = deque(maxlen=_STALL_ROUNDS)

    def should_stop(self, ritz: RitzPairs) -> bool:
        """Return whether the wanted pairs have been found, or will not be found any better."""
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
    check_memory(32.0 * n * n, f"The Laplacian of {n:,} rows, written out,", "Ask for fewer eigenvectors.")
    matrix = pencil.multiply(np.eye(n))
    # The null vectors are put above the spectrum.
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


# MERGED: One choice among the bases that a set of eigenvectors can have.
# A row represents a multiplet when its part is no smaller than this next to the largest: the first one is taken. No cosine of a
# simple angle, so that symmetric graphs do not stand on the edge.
_MIN_PROJECTION = 0.7


def multiplets(values: Floats, ties: Floats) -> list[slice]:
    """Return the runs of ascending values that are equal to the one before them."""
    starts = np.flatnonzero(np.concatenate([[True], np.diff(values) > ties[1:]]))
    return [slice(int(a), int(b)) for a, b in zip(starts, np.append(starts[1:], len(values)), strict=True)]


def canonical_rotation(X: Floats) -> Floats:
    """Return the combinations that make a canonical basis of the space of orthonormal columns, of shape (k, k).

    Each vector is the projection of a unit vector e_i on what the ones before it leave of the space, for the first row i
    whose projection has at least 0.7 of the largest length: it depends on the space alone.
    """
    k = X.shape[1]
    Y = np.zeros((k, k))
    left = X.copy()
    for t in range(k):
        squares = np.einsum("ij,ij->i", left, left)
        row = left[np.argmax(squares >= _MIN_PROJECTION**2 * squares.max())]
        row = row - Y[:, :t] @ (Y[:, :t].T @ row)
        Y[:, t] = row / np.linalg.norm(row)
        left -= np.outer(left @ Y[:, t], Y[:, t])
    return Y


@dataclass(frozen=True)
class Spectrum:
    """Eigenpairs of a Laplacian, ascending.

    Attributes
    ----------
    values : ndarray of shape (m,)
        Exactly 0 for each component of the graph, then the others; equal ones are the same number.
    vectors : ndarray of shape (n_samples, m)
        Unit vectors; for "random_walk" they are orthonormal with the degrees as weights. Those of 0 come first, one a component in
        the order of the components: constant on its rows (times D^1/2 for "symmetric"), 1 on a row without an edge, 0 elsewhere.
    residuals : ndarray of shape (m,)
        |L y - lambda y|, and for "random_walk" |L y - lambda D y| with L = D - S.
    solver : str
        How they were found, in words for a report.
    n_components : int
        Components of the graph: the multiplicity of 0.
    """

    values: Floats
    vectors: Floats
    residuals: Floats
    solver: str
    n_components: int


def smallest_eigenpairs(laplacian: Laplacian, n_eigenpairs: int, *, tol: float = 1e-6) -> Spectrum:
    """Return the m smallest eigenpairs, the null ones among them.

    Parameters
    ----------
    laplacian : Laplacian
        "random_walk" is solved as L y = lambda D y.
    n_eigenpairs : int
        Pairs, from 1 to the number of rows. The null ones are as many as the graph has components.
    tol : float, default=1e-6
        A pair is found when its residual, in the symmetric form of the problem, is at most `tol` times its eigenvalue, or all that
        rounding leaves. The eigenvalue is as exact at least; as a rule its error is the square of that.

    Returns
    -------
    Spectrum
        The same bits at any number of threads. The sign of a vector makes its largest entry positive, the first of equals. Vectors
        of equal eigenvalues are a basis that depends on their space alone: each is what a unit vector e_i leaves in it, for the
        first row i that lies well within it.

    Warns
    -----
    ConvergenceWarning
        When a residual has not come down to `tol`.

    Raises
    ------
    TypeError
        When it is not a Laplacian, but the graph itself, say.
    MemoryError
        When the vectors do not fit.

    Notes
    -----
    The null vectors are known, one a component, and taken from everything. Few rows are solved whole. Otherwise a basis grows by
    blocks of directions and is asked for its best vectors (Rayleigh and Ritz) until they are good enough. It begins with Chebyshev
    polynomials of the Laplacian, whose degree grows with the narrowness of the gaps. Once these show that they have more to do than
    an elimination of the rows takes (whose work is counted beforehand, on an order of minimum degree), or a hierarchy of
    algebraic multigrid, directions come from solutions with L. A graph with a wide gap, a thin one and a large regular one
    so each go the way that suits them. All choices follow from sizes and counts.

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
        "Ask for fewer, or join the components of the graph first.",
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
    """Fill out with null vectors, one a component, and return their residuals."""
    number = out.shape[1]
    entries = (
        pencil.null_entries if laplacian.kind != "random_walk" else 1.0 / pencil.null_norms[pencil.component_labels]
    )
    some = np.flatnonzero(pencil.component_labels < number)
    out[pencil.row_order[some], pencil.component_labels[some]] = entries[some]
    # No edge leads from one support to another: one product serves them all.
    scale = pencil.inverse_sqrt_b if laplacian.kind == "symmetric" else np.ones(pencil.n)
    product = pencil.laplacian_product.multiply(scale, (entries * scale)[:, None])[:, 0]
    return np.sqrt(np.bincount(pencil.component_labels, product**2, minlength=number)[:number])


def _fill_other_vectors(
    pencil: Pencil, laplacian: Laplacian, ritz: RitzPairs, tol: float, out: Floats
) -> tuple[Floats, Floats]:
    """Fill out with the vectors beside the null ones, in canonical form, and return their values and residuals."""
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
    """Return values in the order of the graph's rows."""
    out = np.empty(values.shape)
    out[pencil.row_order] = values
    return out


def _warn_unconverged(residuals: Floats, values: Floats, tol: float, rounding: float) -> None:
    over = np.flatnonzero(residuals > tol * values + rounding)
    if len(over):
        worst = over[np.argmax(residuals[over] / values[over])]
        others = "" if len(over) == 1 else f", the worst of {len(over)},"
        warn_user(
            [
                f"An eigenvector of the Laplacian{others} has the residual {residuals[worst]:.2g}, above tol = {tol:g} times its "
                f"eigenvalue {values[worst]:.6g}: read the map as far as that goes, or take a larger tol."
            ],
            ConvergenceWarning,
        )
