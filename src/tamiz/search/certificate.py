"""What an exact search has proven."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tamiz.storage.invariants import Invariants, Number


@dataclass(frozen=True)
class Certificate:
    """How far the set found can be from the best of all.

    Attributes
    ----------
    merit : float
        Of the set found.
    bound : float
        What no set that may be chosen exceeds.
    """

    merit: float
    bound: float

    invariants: ClassVar[Invariants] = {"merit": Number(), "bound": Number()}

    @property
    def optimality_gap(self) -> float:
        """The most that a better set can gain; 0 where the set found is proven to be best."""
        return max(self.bound - self.merit, 0.0)

    @property
    def is_optimal(self) -> bool:
        """Whether no set is better."""
        return self.bound <= self.merit

    def __str__(self) -> str:
        if self.is_optimal:
            return "proven best: no set that may be chosen has a higher merit"
        return f"no set that may be chosen has a merit above {self.bound:.4g}, {self.optimality_gap:.2g} more than the one found"
