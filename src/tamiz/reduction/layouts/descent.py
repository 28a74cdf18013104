"""The base class of the descents of t-SNE and UMAP: steps, regular evaluations of the cost, and the callback."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

from tamiz.arrays import Floats
from tamiz.runtime import progress

# Steps between two evaluations of the cost.
CHECK_INTERVAL = 50

Callback = Callable[[int, float, Floats], object]


class Descent(ABC):
    """Descent of a cost by the coordinates of rows.

    Attributes
    ----------
    n_steps : int
        Steps done.
    history : list of (int, float)
        Steps done, and the cost, at each evaluation.
    """

    steps_name: ClassVar[str]

    def __init__(self) -> None:
        self.n_steps = 0
        self.history: list[tuple[int, float]] = []

    @property
    @abstractmethod
    def points(self) -> Floats:
        """A copy of the points, of shape (n, m)."""

    def run(self, settings: Floats, callback: Callback | None = None) -> None:
        """Make a step with each setting, or fewer if the callback returns a true value."""
        n_steps = len(settings)
        for done, setting in enumerate(progress.track_progress(self.steps_name, settings.tolist(), n_steps), start=1):
            self._step(setting)
            self.n_steps += 1
            if done % CHECK_INTERVAL == 0 or done == n_steps:
                cost = self.cost()
                self.history.append((self.n_steps, cost))
                if callback is not None and callback(self.n_steps, cost, self.points):
                    return

    @abstractmethod
    def _step(self, setting: float) -> None:
        """Move the points once."""

    @abstractmethod
    def cost(self) -> float:
        """Return the cost of the layout."""
