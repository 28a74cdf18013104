"""The smallest eigenpairs beside the null ones: a basis that grows by whichever directions are cheapest."""

from __future__ import annotations

from collections import deque

import numpy as np
from scipy import linalg

from tamiz.graphs.spectrum.basis import Basis
from tamiz.graphs.spectrum.pencil import Pencil
from tamiz.graphs.spectrum.policy import SolverPolicy
from tamiz.graphs.spectrum.ritz import RitzPairs
from tamiz.validation import check_memory

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
