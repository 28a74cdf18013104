"""Minimisation of stress by Guttman steps and limited-memory BFGS in the metric of the weight matrix V."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from tamiz.arrays import Floats
from tamiz.reduction.majorization.guttman import StressFunction, StressState
from tamiz.runtime import progress

# Squared stress that counts as 0, by the type of the pairs.
_ZERO_STRESS = {np.dtype(np.float64): 1e-28, np.dtype(np.float32): 1e-14}
# Below this squared stress, a step that gains less than a share of it has reached the rounding errors: an exact fit would converge
# faster.
NEAR_ZERO_STRESS, _MIN_RELATIVE_GAIN = 1e-10, 0.02
# Number of successive steps with too small a gain at convergence: a single step may be short.
_CONVERGED_STEPS = 2
# A step that raises the stress is shortened to a share in this range.
_STEP_SHRINK_RANGE = (0.05, 0.5)
_LABEL = "SMACOF"
# Steps stored by L-BFGS.
_MEMORY_STEPS = 5
# Largest length of a step relative to the Guttman step.
_MAX_STEP_RATIO = 10.0
# A step is stored if the cosine of step and gradient change is above this.
_MIN_CURVATURE = 1e-3


class StressMinimizer:
    """Minimises stress from an initial configuration.

    Every step lowers the stress. The L-BFGS step is tried first, and shortened once if it raises the stress. If that fails, the
    doubled Guttman step and then the Guttman step itself are used, which never raise it. Configurations are compared at their best
    scale.

    Parameters
    ----------
    function : StressFunction
    points : ndarray of shape (n_components, n)

    Attributes
    ----------
    state : StressState
    stress_history : list of float
        Kruskal's stress-1 at the start and after each step.
    n_iter : int
        Number of iterations.
    converged : bool
    """

    def __init__(self, function: StressFunction, points: Floats) -> None:
        self._function = function
        self._lbfgs = LBFGSMemory()
        self.state = function.evaluate(points)
        self.stress_history = [float(np.sqrt(self.state.stress))]
        self.n_iter, self.converged = 0, False

    def run(self, max_iter: int, tol: float) -> None:
        """Iterate until two successive steps lower the squared stress by at most the share `tol`, or `max_iter` is reached."""
        n_small_gains = 0
        zero = _ZERO_STRESS[self._function.pairs.dtype]
        for done in range(max_iter):
            progress.report_progress(_LABEL, done, max_iter)
            self.n_iter = done + 1
            before = self.state.stress
            if before <= zero or not self._step():
                self.converged = True
                break
            self.stress_history.append(float(np.sqrt(self.state.stress)))
            least = _MIN_RELATIVE_GAIN * before if before <= NEAR_ZERO_STRESS else tol * before
            n_small_gains = n_small_gains + 1 if before - self.state.stress <= max(least, tol * NEAR_ZERO_STRESS) else 0
            if n_small_gains == _CONVERGED_STEPS:
                self.converged = True
                break
        progress.report_progress(_LABEL, max_iter, max_iter)

    def _step(self) -> bool:
        """Make a step; return False if no step lowers the stress."""
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
        """Return the state after an L-BFGS step, None if that does not lower the stress."""
        now = self.state
        direction = self._lbfgs.direction(now)
        if direction is None:
            return None
        new = self._function.evaluate(now.points + direction)
        if new.stress < now.stress:
            return new
        # Minimum of the parabola through both stresses with the slope at the first.
        slope = 2.0 * float(direction.ravel() @ now.gradient.ravel()) / self._function.transformation.total
        share = -slope / (2.0 * (new.stress - now.stress - slope)) if slope < 0 else _STEP_SHRINK_RANGE[0]
        new = self._function.evaluate(
            now.points + min(max(share, _STEP_SHRINK_RANGE[0]), _STEP_SHRINK_RANGE[1]) * direction
        )
        return new if new.stress < now.stress else None


@dataclass(frozen=True)
class StepRecord:
    """A step with the change of the gradient along it.

    Attributes
    ----------
    step : ndarray of shape (n_components n,)
    gradient_change : ndarray of the same shape
        The change of the gradient.
    preconditioned_change : ndarray of the same shape
        V^+ times the gradient change: the change of the difference between points and Guttman transform.
    curvature : float
        The inner product of step and gradient change, above 0.
    """

    step: Floats
    gradient_change: Floats
    preconditioned_change: Floats
    curvature: float


class LBFGSMemory:
    """The L-BFGS memory of the last steps."""

    def __init__(self) -> None:
        self._steps: deque[StepRecord] = deque(maxlen=_MEMORY_STEPS)

    def add(self, old: StressState, new: StressState) -> None:
        """Store a step of positive curvature; clear the memory for other steps."""
        step, change = (new.points - old.points).ravel(), (new.gradient - old.gradient).ravel()
        preconditioned = step - (new.guttman_transform - old.guttman_transform).ravel()
        curvature = float(step @ change)
        size = float(np.sqrt(max(float(step @ step) * float(preconditioned @ change), 0.0)))
        if curvature > _MIN_CURVATURE * size and curvature > 0:
            self._steps.append(StepRecord(step, change, preconditioned, curvature))
        else:
            self.clear()

    def clear(self) -> None:
        self._steps.clear()

    def direction(self, current: StressState) -> Floats | None:
        """Return the quasi-Newton step by the two-loop recursion (Nocedal 1980), None if the memory is empty.

        The initial approximation of the inverse Hessian is a multiple of V^+.
        """
        if not self._steps:
            return None
        gradient, direction = current.gradient.ravel().copy(), (current.points - current.guttman_transform).ravel()
        longest = _MAX_STEP_RATIO * float(np.linalg.norm(direction))
        shares = []
        for past in reversed(self._steps):
            shares.append(float(past.step @ gradient) / past.curvature)
            gradient -= shares[-1] * past.gradient_change
            direction -= shares[-1] * past.preconditioned_change
        last = self._steps[-1]
        direction *= last.curvature / float(last.preconditioned_change @ last.gradient_change)
        for past, share in zip(self._steps, reversed(shares), strict=True):
            direction += (share - float(past.gradient_change @ direction) / past.curvature) * past.step
        length = float(np.linalg.norm(direction))
        direction *= -1.0 if length <= longest else -longest / length
        return direction.reshape(current.points.shape)
