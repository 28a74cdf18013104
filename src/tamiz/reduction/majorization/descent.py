"""Steps down the stress."""

from __future__ import annotations

import numpy as np

from tamiz import progress
from tamiz.reduction.majorization.memory import LBFGSMemory
from tamiz.reduction.majorization.problem import StressFunction, StressState
from tamiz.statistics.base import Floats

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
