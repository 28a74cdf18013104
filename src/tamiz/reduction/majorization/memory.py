"""What steps down a stress have taught of how its slope changes (limited-memory BFGS)."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from tamiz.reduction.majorization.problem import StressState
from tamiz.statistics.base import Floats

# Steps that are remembered.
_MEMORY_STEPS = 5
# A step is at most so many times as long as that to the Guttman transform.
_MAX_STEP_RATIO = 10.0
# A step is remembered where the slope changed along it, by the cosine of the two.
_MIN_CURVATURE = 1e-3


@dataclass(frozen=True)
class StepRecord:
    """A step, and what changed along it.

    Attributes
    ----------
    step : ndarray of shape (n_components n,)
    gradient_change : ndarray of the same shape
        The change of the slope.
    preconditioned_change : ndarray of the same shape
        V^+ times that: the change of what there is between the points and their Guttman transform.
    curvature : float
        The product of step and slope, above 0.
    """

    step: Floats
    gradient_change: Floats
    preconditioned_change: Floats
    curvature: float


class LBFGSMemory:
    """The last steps."""

    def __init__(self) -> None:
        self._steps: deque[StepRecord] = deque(maxlen=_MEMORY_STEPS)

    def add(self, old: StressState, new: StressState) -> None:
        """Keep a step along which the slope rises; forget all where it does not."""
        step, slope = (new.points - old.points).ravel(), (new.gradient - old.gradient).ravel()
        solved = step - (new.guttman_transform - old.guttman_transform).ravel()
        curvature = float(step @ slope)
        size = float(np.sqrt(max(float(step @ step) * float(solved @ slope), 0.0)))
        if curvature > _MIN_CURVATURE * size and curvature > 0:
            self._steps.append(StepRecord(step, slope, solved, curvature))
        else:
            self.clear()

    def clear(self) -> None:
        """Start anew."""
        self._steps.clear()

    def direction(self, current: StressState) -> Floats | None:
        """Return the quasi-Newton step by Nocedal's two loops, None where nothing is remembered.

        All products are those of the metric of V: V^+ is where the guess of the inverse begins.
        """
        if not self._steps:
            return None
        slope, solved = current.gradient.ravel().copy(), (current.points - current.guttman_transform).ravel()
        longest = _MAX_STEP_RATIO * float(np.linalg.norm(solved))
        shares = []
        for past in reversed(self._steps):
            shares.append(float(past.step @ slope) / past.curvature)
            slope -= shares[-1] * past.gradient_change
            solved -= shares[-1] * past.preconditioned_change
        last = self._steps[-1]
        solved *= last.curvature / float(last.preconditioned_change @ last.gradient_change)
        for past, share in zip(self._steps, reversed(shares), strict=True):
            solved += (share - float(past.gradient_change @ solved) / past.curvature) * past.step
        length = float(np.linalg.norm(solved))
        solved *= -1.0 if length <= longest else -longest / length
        return solved.reshape(current.points.shape)
