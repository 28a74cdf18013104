"""SMACOF: stress and its Guttman transform V^+ B(X) X, minimised by Guttman steps and limited-memory BFGS from several starts."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from tamiz.arrays import Floats, Indices
from tamiz.exceptions import DataError
from tamiz.kernels.majorization import expand_condensed, impute_by_triangle, stress_per_point
from tamiz.reduction.base import check_distinct_points, read_initial_embedding
from tamiz.reduction.classical_scaling import scale_coordinates, scale_distances
from tamiz.reduction.dissimilarities import Dissimilarities
from tamiz.reduction.krylov import power_of_two
from tamiz.reduction.pairs import (
    CondensedPairs,
    IntervalTransformation,
    OrdinalTransformation,
    RatioTransformation,
    Transformation,
    accumulate,
    condense,
)
from tamiz.runtime import parallel, progress
from tamiz.runtime.validation import check_memory

MDS_KINDS: tuple[str, ...] = ("metric", "interval", "ordinal")
TIE_RULES = ("primary", "secondary")
INIT_CHOICES = ("classical", "random")
# Bytes for each pair beside its value and weight: shifted values, disparities, and for ordinal scaling row numbers, weight, blocks
# and the sort order.
BYTES_PER_PAIR_BY_KIND = {"metric": 2, "interval": 12, "ordinal": 48}
# Up to this many rows V is factored once, in n^3 / 3 operations; above, each solve takes a few products with V.
_MAX_CHOLESKY_ROWS = 1500
# Relative residual and largest number of conjugate gradient steps. An approximate Guttman transform lowers the stress too.
_CG_TOLERANCE, _MAX_CG_STEPS = 1e-3, 25
# Squared stress that counts as 0, by the type of the pairs.
_ZERO_STRESS = {np.dtype(np.float64): 1e-28, np.dtype(np.float32): 1e-14}
# Below this squared stress, a step that gains less than a share of it has reached the rounding errors: an exact fit would converge
# faster.
NEAR_ZERO_STRESS, _MIN_RELATIVE_GAIN = 1e-10, 0.02
# Number of successive steps with too small a gain at convergence: a single step may be short.
_CONVERGED_STEPS = 2
# A step that raises the stress is shortened to a share in this range.
_STEP_SHRINK_RANGE = (0.05, 0.5)
# Steps stored by L-BFGS, and largest length of a step relative to the Guttman step.
_MEMORY_STEPS, _MAX_STEP_RATIO = 5, 10.0
# A step is stored if the cosine of step and gradient change is above this.
_MIN_CURVATURE = 1e-3
# Intermediate rows from which the triangle inequality bounds a missing distance.
_TRIANGLE_ROWS = 500
# Relative size of the noise in dimensions without a positive eigenvalue, and its seed, independent of seeds that generate data:
# majorisation never leaves a subspace that contains all points.
_FLAT_NOISE, _SEED = 1e-2, 2_718_281_829

WeightSolver = Callable[[Floats, Floats], Floats]


def create_transformation(kind: str, ties: str, pairs: CondensedPairs) -> Transformation:
    if kind == "ordinal":
        return OrdinalTransformation(pairs, ties)
    return IntervalTransformation(pairs) if kind == "interval" else RatioTransformation(pairs)


class EqualRows:
    """Groups of equal rows, given the number of the first row that is equal to each."""

    def __init__(self, first_occurrences: Indices) -> None:
        _, self._group = np.unique(first_occurrences, return_inverse=True)
        self._sizes = np.bincount(self._group)
        self.all_distinct = len(self._sizes) == len(first_occurrences)

    def sums(self, values: Floats) -> Floats:
        """Return the sums of columns over each group, of shape (m, n_groups)."""
        return np.stack([np.bincount(self._group, row) for row in values])

    def expand(self, values: Floats) -> Floats:
        """Return the column of its group for each row, of shape (m, n)."""
        return np.ascontiguousarray(values[:, self._group])

    def means(self, values: Floats) -> Floats:
        return values if self.all_distinct else self.expand(self.sums(values) / self._sizes)


class StressState(NamedTuple):
    """A configuration, of shape (n_components, n), centred and at its best scale.

    `stress` is squared Kruskal's stress-1: residual sum of squares over the sum of squares of the disparities. The Guttman
    transform is the minimum of the majorising function; the gradient is half that of the residual sum of squares.
    """

    points: Floats
    stress: float
    guttman_transform: Floats
    gradient: Floats


class StressFunction:
    """Stress as a function of the configuration; equal rows have equal coordinates."""

    def __init__(self, transformation: Transformation, equal_rows: EqualRows) -> None:
        self.transformation = transformation
        self.pairs = transformation.pairs
        self._solve_weights = make_weight_solver(self.pairs, equal_rows)

    def evaluate(self, points: Floats) -> StressState:
        """Return the state of a configuration at its best scale, in one pass over the pairs.

        With the weighted sums rho of disparity times distance and eta of squared distances, the residual sum of squares at scale b
        is total - 2 b rho + b^2 eta, minimal at b = rho / eta. The Guttman transform does not depend on the scale.
        """
        pairs = self.pairs
        centred = points - points.mean(axis=1, keepdims=True)
        typed = np.ascontiguousarray(centred, dtype=pairs.dtype)
        pulled, residual = self.transformation.update(typed)
        weighted = pairs.multiply_by_weight_matrix(centred)
        rho, eta = float(centred.ravel() @ pulled.ravel()), float(centred.ravel() @ weighted.ravel())
        # rho is 0 if no pair with a distance above 0 has a disparity above 0; then no positive scale is best.
        b = rho / eta if rho > 0 else 1.0
        residual += 2 * rho * (1 - b) - eta * (1 - b * b)
        scaled = b * centred
        return StressState(
            scaled,
            max(residual, 0.0) / self.transformation.total,
            self._solve_weights(pulled, scaled),
            b * weighted - pulled,
        )

    def per_point(self, points: Floats) -> Floats:
        """Return Kruskal's stress-1 over the pairs of each row, of the current disparities."""
        pairs, disparities = self.pairs, self.transformation.disparities()
        typed = np.ascontiguousarray(points, dtype=pairs.dtype)
        sums, _ = accumulate(
            lambda *span: stress_per_point(disparities, pairs.weights, typed, *span),
            pairs.row_spans,
            (2, pairs.n),
            np.float64,
        )
        return np.sqrt(np.divide(sums[0], sums[1], out=np.zeros(pairs.n), where=sums[1] > 0))


def make_weight_solver(pairs: CondensedPairs, equal_rows: EqualRows) -> WeightSolver:
    """Return a function that solves V Y = sums for centred Y with equal columns for equal rows, by least squares in the norm of V.

    Its arguments are centred sums of shape (n_components, n), and an approximation of Y.
    """
    if not pairs.is_weighted:
        # V = n I - 1 1'.
        return lambda sums, start: equal_rows.means(sums / pairs.n)  # noqa: ARG005
    solver = CholeskySolver if pairs.n <= _MAX_CHOLESKY_ROWS else ConjugateGradientSolver
    return solver(pairs, equal_rows)


class CholeskySolver:
    """Solver by the Cholesky factor of V + c 1 1', positive definite for connected pairs; equal rows are summed."""

    def __init__(self, pairs: CondensedPairs, equal_rows: EqualRows) -> None:
        self._equal_rows = equal_rows
        matrix = -pairs.to_square(pairs.weights)
        if not equal_rows.all_distinct:
            matrix = equal_rows.sums(equal_rows.sums(matrix).T)
        np.fill_diagonal(matrix, 0.0)
        masses = -matrix.sum(axis=1)
        np.fill_diagonal(matrix, masses)
        # Any c > 0 is valid; this one has the magnitude of the entries of V.
        matrix += masses.mean() / len(matrix)
        try:
            self._factor = linalg.cho_factor(matrix, lower=True, overwrite_a=True)
        except linalg.LinAlgError as error:
            raise DataError(
                "The weight matrix is numerically singular, because some rows are connected only by very small weights. "
                "Remove these pairs or increase their weights."
            ) from error

    def __call__(self, sums: Floats, start: Floats) -> Floats:  # noqa: ARG002
        right = sums if self._equal_rows.all_distinct else self._equal_rows.sums(sums)
        solved = np.ascontiguousarray(linalg.cho_solve(self._factor, right.T).T)
        if not self._equal_rows.all_distinct:
            solved = self._equal_rows.expand(solved)
        return solved - solved.mean(axis=1, keepdims=True)


class ConjugateGradientSolver:
    """Solver by conjugate gradients with diagonal preconditioning, for all dimensions at once."""

    def __init__(self, pairs: CondensedPairs, equal_rows: EqualRows) -> None:
        self._pairs, self._equal_rows = pairs, equal_rows
        self._inverse_diagonal = 1.0 / equal_rows.means(pairs.row_weights()[None])

    def __call__(self, sums: Floats, start: Floats) -> Floats:
        Y = start.copy()
        residual = self._equal_rows.means(sums - self._pairs.multiply_by_weight_matrix(Y))
        scaled = residual * self._inverse_diagonal
        direction = scaled.copy()
        norms = (residual * scaled).sum(axis=1)
        targets = _CG_TOLERANCE**2 * norms
        for _ in range(_MAX_CG_STEPS):
            product = self._equal_rows.means(self._pairs.multiply_by_weight_matrix(direction))
            curvature = (direction * product).sum(axis=1)
            active = (norms > targets) & (curvature > 0)
            if not active.any():
                break
            step = np.divide(norms, curvature, out=np.zeros_like(norms), where=active)
            Y += step[:, None] * direction
            residual -= step[:, None] * product
            scaled = residual * self._inverse_diagonal
            before, norms = norms, np.where(active, (residual * scaled).sum(axis=1), norms)
            ratio = np.divide(norms, before, out=np.zeros_like(norms), where=active)
            direction = scaled + ratio[:, None] * direction
        return Y - Y.mean(axis=1, keepdims=True)


class StressMinimizer:
    """Minimises stress from an initial configuration; `stress_history` has Kruskal's stress-1 at the start and after each step.

    Every step lowers the stress. The L-BFGS step is tried first, and shortened once if it raises the stress. If that fails, the
    doubled Guttman step and then the Guttman step itself are used, which never raise it. Configurations are compared at their best
    scale.
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
            progress.report_progress("SMACOF", done, max_iter)
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
        progress.report_progress("SMACOF", max_iter, max_iter)

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
        low, high = _STEP_SHRINK_RANGE
        new = self._function.evaluate(now.points + min(max(share, low), high) * direction)
        return new if new.stress < now.stress else None


class StepRecord(NamedTuple):
    """A step, the change of the gradient along it, V^+ times this change, and the inner product of both, above 0."""

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


def minimize_from_starts(
    function: StressFunction, configurations: Iterable[Floats], max_iter: int, tol: float
) -> tuple[StressMinimizer, KeyboardInterrupt | None]:
    """Minimise from each configuration; return the best, the first of ties, and the interruption that ended the run, if any."""
    best: StressMinimizer | None = None
    minimizer: StressMinimizer | None = None
    interruption: KeyboardInterrupt | None = None
    try:
        for points in configurations:
            minimizer = _start_minimizer(function, points)
            minimizer.run(max_iter, tol)
            best = _better(best, minimizer)
    except KeyboardInterrupt as error:
        interruption = error
        if minimizer is None:
            raise
    assert minimizer is not None
    return _better(best, minimizer), interruption


def _better(best: StressMinimizer | None, new: StressMinimizer) -> StressMinimizer:
    return new if best is None or new.state.stress < best.state.stress else best


def _start_minimizer(function: StressFunction, points: Floats) -> StressMinimizer:
    """Return a minimiser; flat dimensions are filled with noise unless the fit is already perfect."""
    minimizer = StressMinimizer(function, points)
    flat = ~points.any(axis=1)
    if minimizer.state.stress <= NEAR_ZERO_STRESS or not flat.any():
        return minimizer
    filled = points.copy()
    noise = np.random.default_rng(_SEED).standard_normal((int(flat.sum()), points.shape[1]))
    filled[flat] = _FLAT_NOISE * max(float(points.std()), _FLAT_NOISE) * noise
    return StressMinimizer(function, filled)


def initial_configurations(
    init: Any,
    n_init: int,
    dissimilarities: Dissimilarities,
    pairs: CondensedPairs,
    n_components: int,
    rng: np.random.Generator,
    first_occurrences: Indices,
) -> Iterator[Floats]:
    """Yield the requested start, then random ones; equal rows start, and so stay, at equal points."""
    for k in range(n_init):
        if k > 0 or (isinstance(init, str) and init == "random"):
            points = rng.standard_normal((n_components, pairs.n))
        elif isinstance(init, str):
            points = _classical_start(dissimilarities, pairs, n_components)
        else:
            given = read_initial_embedding(init, INIT_CHOICES, pairs.n, n_components)
            given /= power_of_two(float(np.abs(given).max()))
            points = np.ascontiguousarray((given - given.mean(axis=0)).T)
        points = points[:, first_occurrences]
        check_distinct_points(points.T)
        # Scaled so that squares are near 1; the minimiser finds the best scale anyway.
        yield points / float(np.abs(points - points[:, :1]).max())


class CondensedDissimilarities(Dissimilarities):
    """Condensed pairs as dissimilarities, for classical scaling."""

    def __init__(self, pairs: CondensedPairs, values: Floats) -> None:
        super().__init__(pairs)
        self._values = values

    def block(self, queries: Any, start: int, stop: int) -> Floats:  # noqa: ARG002 - all rows are their own queries
        out = np.empty((stop - start, self.points.n))
        expand_condensed(self._values, self.points.n, start, stop, out)
        return out


def _classical_start(dissimilarities: Dissimilarities, pairs: CondensedPairs, n_components: int) -> Floats:
    """Return the classical scaling solution in the unit of the pairs; missing dissimilarities are imputed."""
    values = dissimilarities.euclidean_coordinates()
    if values is not None:
        points = scale_coordinates(values / pairs.unit, n_components).embedding
    else:
        filled = _fill_missing(pairs) if pairs.is_weighted and not pairs.weights.all() else pairs.values
        points = scale_distances(CondensedDissimilarities(pairs, filled), n_components, None).embedding
    return np.ascontiguousarray(points.T)


def _fill_missing(pairs: CondensedPairs) -> Floats:
    """Impute missing dissimilarities by the middle of their triangle inequality bounds, else by the mean."""
    n = pairs.n
    check_memory(
        16.0 * n * n,
        f"The classical start for {n:,} rows with missing dissimilarities",
        "Pass init='random' or an array.",
    )
    known = pairs.to_square(np.where(pairs.weights > 0, pairs.values, np.nan))
    out = known.copy()
    step = -(-n // _TRIANGLE_ROWS)
    parallel.run_blocks(lambda span: impute_by_triangle(known, *span, step, out), parallel.block_ranges(n, 64))
    out[np.isnan(out)] = np.nanmean(known)
    values = np.empty_like(pairs.values)
    condense(out, 1.0, values)
    return values
