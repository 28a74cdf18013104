"""Which way to go on: by polynomials, by elimination or by multigrid."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from tamiz.graphs.spectrum.chebyshev import GAIN, Chebyshev
from tamiz.graphs.spectrum.inverse import Inverse
from tamiz.graphs.spectrum.multigrid import Multigrid
from tamiz.graphs.spectrum.pencil import Pencil
from tamiz.graphs.spectrum.ritz import Ritz
from tamiz.kernels.ordering import minimum_degree
from tamiz.random import generator
from tamiz.statistics.base import Floats

# Seconds, measured once. What is chosen depends on sizes and counts alone, never on a clock: it is chosen again next time.
_CALL = 4e-5
_PANEL_ENTRY = 1.5e-9
_PANEL_ROW = 1.2e-8
_ROUND = 1e-3
_ROUND_ROW = 1.5e-7
_ORDERED_ENTRY = 1.2e-7
_MULTIPLICATION = 1.1e-9
_SHARE = 4e-9
_COARSENED_ENTRY = 3e-7
_IMPORT = 0.2
# Rounds that elimination and multigrid take as a rule.
_ELIMINATION_ROUNDS = 7
_MULTIGRID_ROUNDS = 20
# Multigrid has so many rounds for a digit, after those in which it smooths what it was given.
_TRIAL = 8
_SETTLING = 3
# A factor has at most so many entries, of 12 bytes: a fixed number, so that what else the machine holds decides nothing.
_MOST_SHARES = 1e8
# An order is looked for when that takes this much less than what is left to do.
_WORTH = 3


class Way(Protocol):
    """Something that finds new directions."""

    @property
    def told(self) -> str:
        """What was done, in words."""

    def directions(self, ritz: Ritz) -> Floats:
        """Return columns that bring the Ritz vectors over target closer to the smallest eigenvectors."""


class Policy:
    """Begins with polynomials, and changes over when what they have yet to do is more than another way takes in all.

    Parameters
    ----------
    pencil : Pencil
    wanted : int
        Pairs to be found.
    """

    def __init__(self, pencil: Pencil, wanted: int) -> None:
        self._pencil = pencil
        self._wanted = wanted
        self._chebyshev = Chebyshev(pencil)
        self._way: Way = self._chebyshev
        # The multiplications of an elimination, once they are known, and the seconds in which it was found not to be done.
        self._order = np.empty(pencil.n, dtype=np.int32)
        self._work = math.inf
        self._refused = 0.0
        self._multigrid: Multigrid | None = None
        # pyamg counts entries in 32 bits.
        self._hopeless = pencil.n_entries > np.iinfo(np.int32).max
        self._rounds = 0
        self._excess = 0.0

    @property
    def told(self) -> str:
        """The way that was taken in the end, in words."""
        return self._way.told

    def start(self, block: int) -> Floats:
        """Return directions to begin with."""
        return self._chebyshev.start(generator(0).uniform(-1.0, 1.0, size=(self._pencil.n, block)))

    def directions(self, ritz: Ritz) -> Floats:
        """Return new directions, by another way than before where that is quicker."""
        if self._way is self._multigrid:
            self._judge(ritz)
        if self._way is self._chebyshev:
            self._reconsider(ritz)
        return self._way.directions(ritz)

    def _reconsider(self, ritz: Ritz) -> None:
        left = self._left(ritz)
        if math.isinf(self._work) and left > max(_WORTH * _ORDERED_ENTRY * self._pencil.n_entries, 4 * self._refused):
            self._look(left)
        elimination, multigrid = self._elimination_seconds(), self._multigrid_seconds(len(ritz.active))
        if left > elimination and elimination <= multigrid:
            self._way = Inverse(self._pencil, self._order, float(ritz.values[-1]))
        elif left > multigrid:
            self._multigrid = Multigrid(self._pencil)
            self._hopeless = not self._multigrid.useful
            self._rounds = 0
            if not self._hopeless:
                self._way = self._multigrid

    def _look(self, left: float) -> None:
        """See whether an elimination takes no longer than twice the seconds left."""
        graph = self._pencil.differences
        work = minimum_degree(graph.indptr, graph.indices, 2 * left / _MULTIPLICATION, self._order)
        if work < 0 or self._shares(work) > _MOST_SHARES:
            self._refused = left
        else:
            self._work = work

    def _judge(self, ritz: Ritz) -> None:
        """Leave multigrid when it has not gained a digit for some time."""
        self._rounds += 1
        if self._rounds % _TRIAL == _SETTLING:
            excess = ritz.excess(self._wanted)
            if self._rounds > _TRIAL and excess > self._excess - 1:
                self._hopeless = True
                self._way = self._chebyshev
            self._excess = excess

    def _product_seconds(self, block: int) -> float:
        panels = 0.7 if block <= 4 else -(-block // 8)
        return _CALL + panels * (_PANEL_ENTRY * self._pencil.n_entries + _PANEL_ROW * self._pencil.n)

    def _round_seconds(self, block: int) -> float:
        return _ROUND + max(block, 4) / 4 * _ROUND_ROW * self._pencil.n + 2 * self._product_seconds(block)

    def _left(self, ritz: Ritz) -> float:
        """Return at least how many seconds polynomials take from here: a round makes the residuals as much smaller as it can."""
        _, degree = self._chebyshev.plan(ritz)
        block = len(ritz.active)
        rounds = ritz.excess(self._wanted) / math.log10(GAIN)
        return rounds * (self._round_seconds(block) + degree * self._product_seconds(block))

    def _shares(self, work: float) -> float:
        """Return at most how many entries a factor has."""
        return math.sqrt(2 * work * self._pencil.n)

    def _elimination_seconds(self) -> float:
        """Return the seconds that an elimination and the rounds after it take."""
        if math.isinf(self._work):
            return math.inf
        shares = _SHARE * self._shares(self._work)
        return _MULTIPLICATION * self._work + 3 * shares + _ELIMINATION_ROUNDS * (self._round_seconds(4) + shares)

    def _multigrid_seconds(self, block: int) -> float:
        """Return the seconds that a hierarchy and the rounds after it take."""
        if self._hopeless:
            return math.inf
        rounds = _MULTIGRID_ROUNDS * (self._round_seconds(block) + 5 * self._product_seconds(block))
        return _IMPORT + _COARSENED_ENTRY * self._pencil.n_entries + rounds
