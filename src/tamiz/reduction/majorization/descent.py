"""Steps down the stress."""

from __future__ import annotations

import numpy as np

from tamiz import progress
from tamiz.reduction.majorization.memory import Memory
from tamiz.reduction.majorization.problem import Problem, State
from tamiz.statistics.base import Floats

# Squared stress at which distances are the disparities but for rounding.
_NOTHING = {np.dtype(np.float64): 1e-28, np.dtype(np.float32): 1e-14}
# Squared stress that is next to none. On the way down to none at all every step gains much of what is left; where it gains less
# than a share of it, as where there are more dimensions than the rows have, there are no more digits to be had.
LITTLE, _SLOW = 1e-10, 0.02
# So many steps in a row must gain too little: a single one may be a short one.
_STEPS_AT_REST = 2
# A step that leads up is shortened to a share between these.
_CUTS = (0.05, 0.5)
_LABEL = "SMACOF"


class Descent:
    """A configuration on its way down.

    Every step lowers the stress. The first that is tried comes of the steps before; where it does not lower the stress it is
    shortened once, and then given up for the step to the Guttman transform and as far beyond, and that for the transform itself:
    neither of these ever raises the stress. All configurations are compared at their best scale.

    Parameters
    ----------
    problem : Problem
    points : ndarray of shape (n_components, n)

    Attributes
    ----------
    state : State
    course : list of float
        Kruskal's stress-1 at the start and after each step.
    n_iter : int
        Steps that were tried.
    converged : bool
    """

    def __init__(self, problem: Problem, points: Floats) -> None:
        self._problem = problem
        self._memory = Memory()
        self.state = problem.at(points)
        self.course = [float(np.sqrt(self.state.stress))]
        self.n_iter, self.converged = 0, False

    def run(self, max_iter: int, tol: float) -> None:
        """Go on until two steps in a row lower the squared stress by at most a share `tol` each, or `max_iter` steps were made."""
        at_rest = 0
        nothing = _NOTHING[self._problem.pairs.dtype]
        for done in range(max_iter):
            progress.tell(_LABEL, done, max_iter)
            self.n_iter = done + 1
            before = self.state.stress
            if before <= nothing or not self._go_on():
                self.converged = True
                break
            self.course.append(float(np.sqrt(self.state.stress)))
            least = _SLOW * before if before <= LITTLE else tol * before
            at_rest = at_rest + 1 if before - self.state.stress <= max(least, tol * LITTLE) else 0
            if at_rest == _STEPS_AT_REST:
                self.converged = True
                break
        progress.tell(_LABEL, max_iter, max_iter)

    def _go_on(self) -> bool:
        """Make a step; return False where none lowers the stress any more."""
        now = self.state
        new = self._tried()
        if new is None:
            self._memory.forget()
            beyond = self._problem.at(2.0 * now.guttman - now.points)
            new = beyond if beyond.stress < now.stress else self._problem.at(now.guttman)
        if not new.stress < now.stress:
            return False
        self._memory.add(now, new)
        self.state = new
        return True

    def _tried(self) -> State | None:
        """Return where the remembered steps lead, None where that does not lower the stress."""
        now = self.state
        direction = self._memory.direction(now)
        if direction is None:
            return None
        new = self._problem.at(now.points + direction)
        if new.stress < now.stress:
            return new
        # The least point of the parabola through both stresses, with the slope at the first.
        fall = 2.0 * float(direction.ravel() @ now.slope.ravel()) / self._problem.transformation.total
        cut = -fall / (2.0 * (new.stress - now.stress - fall)) if fall < 0 else _CUTS[0]
        new = self._problem.at(now.points + min(max(cut, _CUTS[0]), _CUTS[1]) * direction)
        return new if new.stress < now.stress else None
