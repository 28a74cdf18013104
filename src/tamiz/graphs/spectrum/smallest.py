"""The smallest eigenpairs of a graph's Laplacian."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tamiz import parallel
from tamiz.exceptions import ConvergenceWarning
from tamiz.graphs.laplacian import Laplacian
from tamiz.graphs.spectrum.canonical import canonical_rotation, multiplets
from tamiz.graphs.spectrum.pencil import Pencil
from tamiz.graphs.spectrum.ritz import RitzPairs
from tamiz.graphs.spectrum.solve import lowest_ritz_pairs
from tamiz.statistics.base import Floats
from tamiz.statistics.signs import eigenvector_signs
from tamiz.validation import check_integer, check_memory, check_real
from tamiz.warn import warn_user


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
    >>> from tamiz.graphs.spectrum import smallest_eigenpairs
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
