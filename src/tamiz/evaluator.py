"""What gives merits to candidates."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from tamiz.candidates import Candidates, Masks

Floats = NDArray[np.float64]


class Evaluator(ABC):
    """A merit over one table."""

    @abstractmethod
    def evaluate(self, candidates: Candidates) -> Floats:
        """Return the merit of every candidate; each value depends on its candidate alone."""

    def quadratic(self) -> tuple[Floats, Floats] | None:
        """Return c and A where merit = c'x / sqrt(x'Ax), None where it is no such quotient."""
        return None

    def bound(self, masks: Masks) -> Floats | None:  # noqa: ARG002 - a merit with a bound reads the masks
        """Return upper bounds of the merits of all subsets of each mask, None where there is no bound."""
        return None
