"""The largest eigenvalues of a symmetric operator that is known by its products alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from tamiz.random import generator
from tamiz.statistics.base import Floats

# Columns beside those wanted, at least: the gap to the last of them is what a search lives on. Products take eight at a time.
_BESIDE, _PANEL = 4, 8
# Products after which a search that has not come to its end is cut off.
_MOST = 200
# Columns of a basis, in blocks, after which it is taken together again.
_ROOM = 12
# A direction of which no more than this is left, next to what it was, lay in the basis already.
_NOTHING = 1e-10


@dataclass(frozen=True)
class Leading:
    """Eigenpairs of the largest eigenvalues, descending.

    Attributes
    ----------
    values : ndarray of shape (k,)
    vectors : ndarray of shape (n, k)
        Orthonormal.
    residuals : ndarray of shape (k,)
        |A v - value v|.
    least : float
        The smallest Ritz value seen: no eigenvalue of A is known to lie lower.
    """

    values: Floats
    vectors: Floats
    residuals: Floats
    least: float


def leading(product: Callable[[Floats], Floats], n: int, k: int, *, tol: float = 1e-7) -> Leading:
    """Return the k largest eigenpairs by block Krylov with Rayleigh and Ritz.

    Parameters
    ----------
    product : callable
        A X for X of shape (n, m), A symmetric of shape (n, n).
    n, k : int
    tol : float, default=1e-7
        Residuals, next to the largest absolute value, at which a pair is found: its value is then right to about their squares.

    References
    ----------
    Musco and Musco (2015), Randomized block Krylov methods for stronger and faster approximate singular value decomposition, NIPS.
    """
    width = min(-(-(k + _BESIDE) // _PANEL) * _PANEL, n)
    basis = last = linalg.qr(generator(0).standard_normal((n, width)), mode="economic")[0]
    images = product(basis)
    for n_products in range(1, _MOST + 1):
        projected = basis.T @ images
        values, Y = linalg.eigh((projected + projected.T) / 2)
        values, Y = values[::-1], Y[:, ::-1]
        residuals = np.linalg.norm(images @ Y[:, :k] - basis @ Y[:, :k] * values[:k], axis=0)
        if (residuals <= tol * np.abs(values).max()).all() or n_products == _MOST:
            break
        new = _beside(images[:, -last.shape[1] :], basis)
        if not new.shape[1]:
            break
        if basis.shape[1] + new.shape[1] > max(_ROOM * width, 4 * k):
            basis, images = basis @ Y[:, : 2 * width], images @ Y[:, : 2 * width]
            new = _beside(new, basis)
        last = new
        basis, images = np.hstack([basis, new]), np.hstack([images, product(new)])
    return Leading(values[:k], basis @ Y[:, :k], residuals, float(values[-1]))


def _beside(new: Floats, basis: Floats) -> Floats:
    """Return orthonormal columns for what the new ones have beside a basis."""
    whole = np.linalg.norm(new, axis=0)
    for _ in range(2):
        new = new - basis @ (basis.T @ new)
    new = new[:, np.linalg.norm(new, axis=0) > _NOTHING * whole]
    if not new.shape[1]:
        return new
    directions, lengths = linalg.qr(new, mode="economic")
    kept = directions[:, np.abs(np.diag(lengths)) > _NOTHING * whole.max(initial=0.0)]
    kept = kept - basis @ (basis.T @ kept)
    return linalg.qr(kept, mode="economic")[0] if kept.shape[1] else kept
