"""Steps down the stress."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from tamiz.reduction.majorization.guttman import StressFunction, StressState
from tamiz.runtime import progress
from tamiz.statistics.base import Floats

# MERGED: What steps down a stress have taught of how its slope changes (limited-memory BFGS).
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


# Squared stress at which distances are the disparities but for rounding.
_ZERO_STRESS = {np.dtype(np.float64): 1e-28, np.dtype(np.float32): 1e-14}
# Squared stress that is next to none. On the way down to none at all every step gains much of what is left; where it gains less
# than a share of it, as where there are more dimensions than the rows have, there are no more digits to be had.
NEAR_ZERO_STRESS, _MIN_RELATIVE_GAIN = 1e-10, 0.02
# So many steps in a row must gain too little: a single one may be a short one.
_CONVERGED_STEPS = 2
# A step that leads up is shortened to a share between these.
_STEP_SHRINK_RANGE = (0.05, 0.5)
_LABEL = "SMACOF"


class StressMinimizer:
    """A configuration on its way down.

    Every step lowers the stress. The first that is tried comes of the steps before; where it does not lower the stress it is
    shortened once, and then given up for the step to the Guttman transform and as far beyond, and that for the transform itself:
    neither of these ever raises the stress. All configurations are compared at their best scale.

    Parameters
    ----------
    function : Problem
    points : ndarray of shape (n_components, n)

    Attributes
    ----------
    state : StressState
    stress_history : list of float
        Kruskal's stress-1 at the start and after each step.
    n_iter : int
        Steps that were tried.
    converged : bool
    """

    def __init__(self, function: StressFunction, points: Floats) -> None:
        self._function = function
        self._lbfgs = LBFGSMemory()
        self.state = function.evaluate(points)
        self.stress_history = [float(np.sqrt(self.state.stress))]
        self.n_iter, self.converged = 0, False

    def run(self, max_iter: int, tol: float) -> None:
        """Go on until two steps in a row lower the squared stress by at most a share `tol` each, or `max_iter` steps were made."""
        at_rest = 0
        nothing = _ZERO_STRESS[self._function.pairs.dtype]
        for done in range(max_iter):
            progress.report_progress(_LABEL, done, max_iter)
            self.n_iter = done + 1
            before = self.state.stress
            if before <= nothing or not self._step():
                self.converged = True
                break
            self.stress_history.append(float(np.sqrt(self.state.stress)))
            least = _MIN_RELATIVE_GAIN * before if before <= NEAR_ZERO_STRESS else tol * before
            at_rest = at_rest + 1 if before - self.state.stress <= max(least, tol * NEAR_ZERO_STRESS) else 0
            if at_rest == _CONVERGED_STEPS:
                self.converged = True
                break
        progress.report_progress(_LABEL, max_iter, max_iter)

    def _step(self) -> bool:
        """Make a step; return False where none lowers the stress any more."""
        now = self.state
        new = self._quasi_newton_state()
        if new is None:
            self._lbfgs.clear()
            beyond = self._function.evaluate(2.0 * now.guttman_transform - now.points)
            new = beyond if beyond.stress < now.stress else self._function.evaluate(now.guttman_transform)
        if not new.stress < now.stress:
            return False
        self._lbfgs.add(now, new)
        self.state = new
        return True

    def _quasi_newton_state(self) -> StressState | None:
        """Return where the remembered steps lead, None where that does not lower the stress."""
        now = self.state
        direction = self._lbfgs.direction(now)
        if direction is None:
            return None
        new = self._function.evaluate(now.points + direction)
        if new.stress < now.stress:
            return new
        # The least point of the parabola through both stresses, with the slope at the first.
        fall = 2.0 * float(direction.ravel() @ now.gradient.ravel()) / self._function.transformation.total
        cut = -fall / (2.0 * (new.stress - now.stress - fall)) if fall < 0 else _STEP_SHRINK_RANGE[0]
        new = self._function.evaluate(
            now.points + min(max(cut, _STEP_SHRINK_RANGE[0]), _STEP_SHRINK_RANGE[1]) * direction
        )
        return new if new.stress < now.stress else None
