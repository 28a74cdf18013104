"""The smallest eigenpairs beside the null ones: a basis that grows by whichever directions are cheapest."""

from __future__ import annotations

from collections import deque

import numpy as np
from scipy import linalg

from tamiz.graphs.spectrum.basis import Basis
from tamiz.graphs.spectrum.pencil import Pencil
from tamiz.graphs.spectrum.policy import Policy
from tamiz.graphs.spectrum.ritz import Ritz
from tamiz.validation import check_memory

# Up to so many rows, or with more than this share of all pairs wanted, the whole matrix is the quickest.
_DENSE_ROWS = 200
_DENSE_SHARE = 6
# Rounds that are given to the question whether a pair beyond those wanted is equal to the last of them.
_PATIENCE = 4
# A search ends when it has come no nearer for so many rounds, by digits or by a lower value.
_STALLED = 30
_DIGITS = 0.3
_LOWER = 0.99


def lowest(pencil: Pencil, wanted: int, tol: float) -> tuple[Ritz, str]:
    """Return the lowest pairs of M beside the null vectors, at least those wanted, and in words how they were found.

    Where the last one wanted equals some that follow it, these are there too, as far as one block of vectors shows them.
    """
    if pencil.n <= _DENSE_ROWS or _DENSE_SHARE * wanted > pencil.n_nonnull:
        return _dense(pencil, wanted, tol), "the whole matrix"
    block = min(-(-(wanted + 1) // 4) * 4, pencil.n_nonnull)
    keep, room = max(16, 2 * block), max(32, 4 * block)
    check_memory(
        8.0 * pencil.n * (room + 6 * block + 24),
        f"The search of {wanted:,} eigenvectors of {pencil.n:,} rows",
        "Ask for fewer.",
    )
    basis, policy, watch = Basis(pencil, room), Policy(pencil, wanted), _Watch(wanted)
    basis.add(policy.start(block), np.empty((pencil.n, 0)))
    while True:
        values, Y = basis.ritz()
        ritz = Ritz.of(pencil, basis.vectors(Y[:, :block]), values, tol)
        if watch.over(ritz):
            return ritz, policy.told
        if basis.size + block > basis.room:
            basis.restart(values[:keep], Y[:, :keep])
        size = basis.size
        basis.add(policy.directions(ritz), ritz.vectors)
        if basis.size == size:
            return ritz, policy.told


class _Watch:
    """Says when a search has come to its end."""

    def __init__(self, wanted: int) -> None:
        self._wanted = wanted
        self._patience = _PATIENCE
        self._past: deque[tuple[float, float]] = deque(maxlen=_STALLED)

    def over(self, ritz: Ritz) -> bool:
        """Return whether the wanted pairs have been found, or will not be found any better."""
        excess = ritz.excess(self._wanted)
        if excess == 0.0:
            self._patience -= 1
            return ritz.last_equal(self._wanted)[1] or self._patience < 0
        state = (excess, float(ritz.values[self._wanted - 1]))
        stalled = len(self._past) == _STALLED and not (
            state[0] < self._past[0][0] - _DIGITS or state[1] < _LOWER * self._past[0][1]
        )
        self._past.append(state)
        return stalled


def _dense(pencil: Pencil, wanted: int, tol: float) -> Ritz:
    n = pencil.n
    check_memory(32.0 * n * n, f"The Laplacian of {n:,} rows, written out,", "Ask for fewer eigenvectors.")
    matrix = pencil.product(np.eye(n))
    # The null vectors are put above the spectrum.
    lift = 2.0 * pencil.bound + 1.0
    matrix += np.where(pencil.labels[:, None] == pencil.labels, lift * np.outer(pencil.null, pencil.null), 0.0)
    most = min(pencil.n_nonnull, wanted + 8)
    values, X = linalg.eigh(matrix, subset_by_index=(0, most - 1), check_finite=False)
    X = np.ascontiguousarray(X)
    pencil.project(X)
    return Ritz.of(pencil, X, values, tol)
