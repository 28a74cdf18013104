"""The choice of the eigensolver from estimated costs: Chebyshev polynomials, sparse elimination or multigrid."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from tamiz.arrays import Floats
from tamiz.kernels.sparse_factorization import minimum_degree
from tamiz.runtime.random import make_rng
from tamiz.spectral.chebyshev import FILTER_GAIN, ChebyshevFilter
from tamiz.spectral.multigrid import Multigrid
from tamiz.spectral.pencil import Pencil
from tamiz.spectral.rayleigh_ritz import RitzPairs
from tamiz.spectral.shift_invert import ShiftInvert

# Measured seconds per operation. The choice depends on sizes and counts only, never on a clock, so that it is reproducible.
_CALL_SECONDS = 4e-5
_PANEL_ENTRY_SECONDS = 1.5e-9
_PANEL_ROW_SECONDS = 1.2e-8
_ROUND_SECONDS = 1e-3
_ROUND_ROW_SECONDS = 1.5e-7
_ORDERING_ENTRY_SECONDS = 1.2e-7
_MULTIPLICATION_SECONDS = 1.1e-9
_FACTOR_ENTRY_SECONDS = 4e-9
_COARSENING_ENTRY_SECONDS = 3e-7
_IMPORT_SECONDS = 0.2
# Typical number of rounds with elimination and with multigrid.
_ELIMINATION_ROUNDS = 7
_MULTIGRID_ROUNDS = 20
# Multigrid must gain one digit in this many rounds, after the first rounds, which only smooth.
_TRIAL_ROUNDS = 8
_SETTLING_ROUNDS = 3
# Largest factor, in entries of 12 bytes. The limit is fixed, so that the choice does not depend on free memory.
_MAX_FACTOR_ENTRIES = 1e8
# An elimination order is computed only if the remaining polynomial work is this many times its cost.
_MIN_SAVING_FACTOR = 3


class EigenSolver(Protocol):
    """A method that computes new directions for the basis."""

    @property
    def description(self) -> str:
        """Description of the method for reports."""

    def directions(self, ritz: RitzPairs) -> Floats:
        """Return columns that bring the unconverged Ritz vectors closer to the smallest eigenvectors."""


class SolverPolicy:
    """Starts with Chebyshev polynomials and switches once their remaining work exceeds the total work of another solver.

    Parameters
    ----------
    pencil : Pencil
    n_wanted : int
        Number of wanted pairs.
    """

    def __init__(self, pencil: Pencil, n_wanted: int) -> None:
        self._pencil = pencil
        self._n_wanted = n_wanted
        self._chebyshev = ChebyshevFilter(pencil)
        self._solver: EigenSolver = self._chebyshev
        # Multiplications of an elimination, infinite while unknown, and the seconds within which it is known not to finish.
        self._order = np.empty(pencil.n, dtype=np.int32)
        self._elimination_work = math.inf
        self._rejected_seconds = 0.0
        self._multigrid: Multigrid | None = None
        # pyamg counts entries in 32 bits.
        self._multigrid_excluded = pencil.n_entries > np.iinfo(np.int32).max
        self._multigrid_rounds = 0
        self._last_excess = 0.0

    @property
    def description(self) -> str:
        return self._solver.description

    def start_directions(self, block: int) -> Floats:
        return self._chebyshev.start_directions(make_rng(0).uniform(-1.0, 1.0, size=(self._pencil.n, block)))

    def directions(self, ritz: RitzPairs) -> Floats:
        """Return new directions, after switching to another solver if that is faster."""
        if self._solver is self._multigrid:
            self._check_multigrid(ritz)
        if self._solver is self._chebyshev:
            self._choose_solver(ritz)
        return self._solver.directions(ritz)

    def _choose_solver(self, ritz: RitzPairs) -> None:
        remaining = self._remaining_seconds(ritz)
        if math.isinf(self._elimination_work) and remaining > max(
            _MIN_SAVING_FACTOR * _ORDERING_ENTRY_SECONDS * self._pencil.n_entries, 4 * self._rejected_seconds
        ):
            self._estimate_elimination(remaining)
        elimination, multigrid = self._elimination_seconds(), self._multigrid_seconds(len(ritz.active_indices))
        if remaining > elimination and elimination <= multigrid:
            self._solver = ShiftInvert(self._pencil, self._order, float(ritz.values[-1]))
        elif remaining > multigrid:
            try:
                self._multigrid = Multigrid(self._pencil)
            except ImportError:
                # Polynomials and elimination find the same pairs in up to five times the time.
                self._multigrid_excluded = True
                self._choose_solver(ritz)
                return
            self._multigrid_excluded = not self._multigrid.useful
            self._multigrid_rounds = 0
            if not self._multigrid_excluded:
                self._solver = self._multigrid

    def _estimate_elimination(self, remaining_seconds: float) -> None:
        """Count the work of an elimination, unless it would need more than twice the remaining seconds."""
        graph = self._pencil.laplacian_product
        work = minimum_degree(graph.indptr, graph.indices, 2 * remaining_seconds / _MULTIPLICATION_SECONDS, self._order)
        if work < 0 or self._factor_entries(work) > _MAX_FACTOR_ENTRIES:
            self._rejected_seconds = remaining_seconds
        else:
            self._elimination_work = work

    def _check_multigrid(self, ritz: RitzPairs) -> None:
        """Return to polynomials if multigrid has not gained a digit in the last trial rounds."""
        self._multigrid_rounds += 1
        if self._multigrid_rounds % _TRIAL_ROUNDS == _SETTLING_ROUNDS:
            excess = ritz.digits_over_target(self._n_wanted)
            if self._multigrid_rounds > _TRIAL_ROUNDS and excess > self._last_excess - 1:
                self._multigrid_excluded = True
                self._solver = self._chebyshev
            self._last_excess = excess

    def _product_seconds(self, block: int) -> float:
        panels = 0.7 if block <= 4 else -(-block // 8)
        return _CALL_SECONDS + panels * (
            _PANEL_ENTRY_SECONDS * self._pencil.n_entries + _PANEL_ROW_SECONDS * self._pencil.n
        )

    def _round_seconds(self, block: int) -> float:
        return (
            _ROUND_SECONDS + max(block, 4) / 4 * _ROUND_ROW_SECONDS * self._pencil.n + 2 * self._product_seconds(block)
        )

    def _remaining_seconds(self, ritz: RitzPairs) -> float:
        """Return a lower bound of the remaining seconds with polynomials: each round reduces residuals by at most FILTER_GAIN."""
        _, degree = self._chebyshev.choose_polynomial(ritz)
        block = len(ritz.active_indices)
        rounds = ritz.digits_over_target(self._n_wanted) / math.log10(FILTER_GAIN)
        return rounds * (self._round_seconds(block) + degree * self._product_seconds(block))

    def _factor_entries(self, work: float) -> float:
        """Return an upper bound of the number of factor entries."""
        return math.sqrt(2 * work * self._pencil.n)

    def _elimination_seconds(self) -> float:
        if math.isinf(self._elimination_work):
            return math.inf
        factor = _FACTOR_ENTRY_SECONDS * self._factor_entries(self._elimination_work)
        return (
            _MULTIPLICATION_SECONDS * self._elimination_work
            + 3 * factor
            + _ELIMINATION_ROUNDS * (self._round_seconds(4) + factor)
        )

    def _multigrid_seconds(self, block: int) -> float:
        """Return the estimated seconds of a multigrid setup and the rounds after it."""
        if self._multigrid_excluded:
            return math.inf
        rounds = _MULTIGRID_ROUNDS * (self._round_seconds(block) + 5 * self._product_seconds(block))
        return _IMPORT_SECONDS + _COARSENING_ENTRY_SECONDS * self._pencil.n_entries + rounds
