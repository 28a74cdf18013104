"""What steps down a stress have taught of how its slope changes (limited-memory BFGS)."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from tamiz.reduction.majorization.problem import State
from tamiz.statistics.base import Floats

# Steps that are remembered.
_MOST = 5
# A step is at most so many times as long as that to the Guttman transform.
_LONGEST = 10.0
# A step is remembered where the slope changed along it, by the cosine of the two.
_LEAST_CURVATURE = 1e-3


@dataclass(frozen=True)
class Step:
    """A step, and what changed along it.

    Attributes
    ----------
    step : ndarray of shape (n_components n,)
    slope : ndarray of the same shape
        The change of the slope.
    solved : ndarray of the same shape
        V^+ times that: the change of what there is between the points and their Guttman transform.
    curvature : float
        The product of step and slope, above 0.
    """

    step: Floats
    slope: Floats
    solved: Floats
    curvature: float


class Memory:
    """The last steps."""

    def __init__(self) -> None:
        self._steps: deque[Step] = deque(maxlen=_MOST)

    def add(self, now: State, new: State) -> None:
        """Keep a step along which the slope rises; forget all where it does not."""
        step, slope = (new.points - now.points).ravel(), (new.slope - now.slope).ravel()
        solved = step - (new.guttman - now.guttman).ravel()
        curvature = float(step @ slope)
        size = float(np.sqrt(max(float(step @ step) * float(solved @ slope), 0.0)))
        if curvature > _LEAST_CURVATURE * size and curvature > 0:
            self._steps.append(Step(step, slope, solved, curvature))
        else:
            self.forget()

    def forget(self) -> None:
        """Start anew."""
        self._steps.clear()

    def direction(self, now: State) -> Floats | None:
        """Return the quasi-Newton step by Nocedal's two loops, None where nothing is remembered.

        All products are those of the metric of V: V^+ is where the guess of the inverse begins.
        """
        if not self._steps:
            return None
        slope, solved = now.slope.ravel().copy(), (now.points - now.guttman).ravel()
        longest = _LONGEST * float(np.linalg.norm(solved))
        shares = []
        for past in reversed(self._steps):
            shares.append(float(past.step @ slope) / past.curvature)
            slope -= shares[-1] * past.slope
            solved -= shares[-1] * past.solved
        last = self._steps[-1]
        solved *= last.curvature / float(last.solved @ last.slope)
        for past, share in zip(self._steps, reversed(shares), strict=True):
            solved += (share - float(past.slope @ solved) / past.curvature) * past.step
        length = float(np.linalg.norm(solved))
        solved *= -1.0 if length <= longest else -longest / length
        return solved.reshape(now.points.shape)
