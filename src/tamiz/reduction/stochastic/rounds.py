"""Rounds in which every place is drawn towards a few rows' wishes, by ever less."""

from __future__ import annotations

import numpy as np

from tamiz import progress
from tamiz.reduction.landmarks import Rows
from tamiz.reduction.sampled_stress import SampledPairs, SampledStress
from tamiz.reduction.stochastic.panels import Panels, Singles
from tamiz.statistics.base import Floats

# Rows that a round draws, and the length of its step in the first: as long as one may be that does not raise the stress, nearly.
# Few anchors and many rounds find better minima than more anchors in fewer, at the same number of pairs.
_ANCHORS, _FIRST = 16, 1.8
# Times that the stress is measured on the way.
_LOOKS = 10
# Rows whose steps are compared, and anchors of each of the two samples that ask for them, to tell whether the end is one.
_ROWS, _MANY = 4096, 2048
# A stress below this is rounding of float32, and no fall of it counts.
_ROUNDING = 1e-5


class Rounds:
    """A descent by rounds, from given places.

    Parameters
    ----------
    panels : Panels
    pairs : SampledPairs
        What the stress is measured on.
    places : ndarray of shape (n, m)
    rng : Generator

    Attributes
    ----------
    course : list of SampledStress
        At the start and after each tenth of the rounds.
    n_done : int
        Rounds that were made.
    """

    def __init__(self, panels: Panels, pairs: SampledPairs, places: Floats, rng: np.random.Generator) -> None:
        self._panels, self._pairs, self._rng = panels, pairs, rng
        self._laid: Singles = panels.laid(places)
        self._order, self._at = np.arange(0), 0
        self.course: list[SampledStress] = [pairs.stress(places)]
        self.n_done = 0

    @property
    def places(self) -> Floats:
        """Where the rows are now."""
        return self._panels.gathered(self._laid)

    def run(self, n_rounds: int) -> None:
        """Make rounds; every row is an anchor before one is so again, and steps fall as the square of the rounds that are left."""
        looks = set(np.linspace(0, n_rounds, min(_LOOKS, n_rounds) + 1).round().astype(int)[1:].tolist())
        for done in progress.track("rounds", range(n_rounds), n_rounds):
            self._panels.draw(self._laid, self._anchors(), _FIRST * (1.0 - done / n_rounds) ** 2)
            self.n_done = done + 1
            if self.n_done in looks:
                self.course.append(self._pairs.stress(self.places))

    def fall(self) -> float:
        """Return the share of the stress by which a whole step of majorisation would lower it, as its slope tells.

        The slope's square is that of the products of steps that two samples of anchors ask for: their errors are not in it. It
        may come out below 0 where there is hardly any slope.
        """
        n = self._panels.n
        rows = self._rng.permutation(n)[:_ROWS]
        one, other = self._samples(n)
        steps = self._panels.steps(self._laid, rows, one), self._panels.steps(self._laid, rows, other)
        square = float((steps[0] * steps[1]).sum()) / len(rows)
        last = max(self.course[-1].value, _ROUNDING) ** 2
        # The unit of the pairs is another power of two.
        wanted = float((self._pairs.delta**2).mean()) * (self._pairs.unit / self._panels.unit) ** 2
        return square / (last * wanted)

    def _samples(self, n: int) -> tuple[Rows, Rows]:
        if n <= 2 * _MANY:
            return np.arange(n), np.arange(n)
        drawn = self._rng.permutation(n)
        return drawn[:_MANY], drawn[_MANY : 2 * _MANY]

    def _anchors(self) -> Rows:
        n = self._panels.n
        size = min(_ANCHORS, n)
        if self._at + size > len(self._order):
            self._order, self._at = self._rng.permutation(n), 0
        self._at += size
        return self._order[self._at - size : self._at]
