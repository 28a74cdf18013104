"""Which way to go on: by polynomials, by elimination or by multigrid."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from tamiz.kernels.sparse_factorization import minimum_degree
from tamiz.runtime.random import make_rng
from tamiz.spectral.chebyshev import FILTER_GAIN, ChebyshevFilter
from tamiz.spectral.multigrid import Multigrid
from tamiz.spectral.pencil import Pencil
from tamiz.spectral.rayleigh_ritz import RitzPairs
from tamiz.spectral.shift_invert import ShiftInvert
from tamiz.statistics.base import Floats

# Seconds, measured once. What is chosen depends on sizes and counts alone, never on a clock: it is chosen again next time.
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
# Rounds that elimination and multigrid take as a rule.
_ELIMINATION_ROUNDS = 7
_MULTIGRID_ROUNDS = 20
# Multigrid has so many rounds for a digit, after those in which it smooths what it was given.
_TRIAL_ROUNDS = 8
_SETTLING_ROUNDS = 3
# A factor has at most so many entries, of 12 bytes: a fixed number, so that what else the machine holds decides nothing.
_MAX_FACTOR_ENTRIES = 1e8
# An order is looked for when that takes this much less than what is left to do.
_MIN_SAVING_FACTOR = 3


class EigenSolver(Protocol):
    """Something that finds new directions."""

    @property
    def description(self) -> str:
        """What was done, in words."""

    def directions(self, ritz: RitzPairs) -> Floats:
        """Return columns that bring the Ritz vectors over target closer to the smallest eigenvectors."""


class SolverPolicy:
    """Begins with polynomials, and changes over when what they have yet to do is more than another way takes in all.

    Parameters
    ----------
    pencil : Pencil
    n_wanted : int
        Pairs to be found.
    """

    def __init__(self, pencil: Pencil, n_wanted: int) -> None:
        self._pencil = pencil
        self._n_wanted = n_wanted
        self._chebyshev = ChebyshevFilter(pencil)
        self._solver: EigenSolver = self._chebyshev
        # The multiplications of an elimination, once they are known, and the seconds in which it was found not to be done.
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
        """The way that was taken in the end, in words."""
        return self._solver.description

    def start_directions(self, block: int) -> Floats:
        """Return directions to begin with."""
        return self._chebyshev.start_directions(make_rng(0).uniform(-1.0, 1.0, size=(self._pencil.n, block)))

    def directions(self, ritz: RitzPairs) -> Floats:
        """Return new directions, by another way than before where that is quicker."""
        if self._solver is self._multigrid:
            self._check_multigrid(ritz)
        if self._solver is self._chebyshev:
            self._choose_solver(ritz)
        return self._solver.directions(ritz)

    def _choose_solver(self, ritz: RitzPairs) -> None:
        left = self._remaining_seconds(ritz)
        if math.isinf(self._elimination_work) and left > max(
            _MIN_SAVING_FACTOR * _ORDERING_ENTRY_SECONDS * self._pencil.n_entries, 4 * self._rejected_seconds
        ):
            self._estimate_elimination(left)
        elimination, multigrid = self._elimination_seconds(), self._multigrid_seconds(len(ritz.active_indices))
        if left > elimination and elimination <= multigrid:
            self._solver = ShiftInvert(self._pencil, self._order, float(ritz.values[-1]))
        elif left > multigrid:
            self._multigrid = Multigrid(self._pencil)
            self._multigrid_excluded = not self._multigrid.useful
            self._multigrid_rounds = 0
            if not self._multigrid_excluded:
                self._solver = self._multigrid

    def _estimate_elimination(self, remaining_seconds: float) -> None:
        """See whether an elimination takes no longer than twice the seconds left."""
        graph = self._pencil.laplacian_product
        work = minimum_degree(graph.indptr, graph.indices, 2 * remaining_seconds / _MULTIPLICATION_SECONDS, self._order)
        if work < 0 or self._factor_entries(work) > _MAX_FACTOR_ENTRIES:
            self._rejected_seconds = remaining_seconds
        else:
            self._elimination_work = work

    def _check_multigrid(self, ritz: RitzPairs) -> None:
        """Leave multigrid when it has not gained a digit for some time."""
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
        """Return at least how many seconds polynomials take from here: a round makes the residuals as much smaller as it can."""
        _, degree = self._chebyshev.choose_polynomial(ritz)
        block = len(ritz.active_indices)
        rounds = ritz.digits_over_target(self._n_wanted) / math.log10(FILTER_GAIN)
        return rounds * (self._round_seconds(block) + degree * self._product_seconds(block))

    def _factor_entries(self, work: float) -> float:
        """Return at most how many entries a factor has."""
        return math.sqrt(2 * work * self._pencil.n)

    def _elimination_seconds(self) -> float:
        """Return the seconds that an elimination and the rounds after it take."""
        if math.isinf(self._elimination_work):
            return math.inf
        shares = _FACTOR_ENTRY_SECONDS * self._factor_entries(self._elimination_work)
        return (
            _MULTIPLICATION_SECONDS * self._elimination_work
            + 3 * shares
            + _ELIMINATION_ROUNDS * (self._round_seconds(4) + shares)
        )

    def _multigrid_seconds(self, block: int) -> float:
        """Return the seconds that a hierarchy and the rounds after it take."""
        if self._multigrid_excluded:
            return math.inf
        rounds = _MULTIGRID_ROUNDS * (self._round_seconds(block) + 5 * self._product_seconds(block))
        return _IMPORT_SECONDS + _COARSENING_ENTRY_SECONDS * self._pencil.n_entries + rounds
