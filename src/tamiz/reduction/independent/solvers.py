"""Solvers of independent component analysis: Picard-O and the parallel iteration of FastICA, from a random rotation.

Both search a rotation W of whitened rows for which s_i E[tanh(y_i) y_j] is symmetric in the sources y = W z. The signs
s_i are those of E[tanh'(y_i)] - E[tanh(y_i) y_i]: 1 for super-Gaussian sources and -1 for sub-Gaussian ones. The largest
difference from symmetry is the gradient norm of both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tamiz.arrays import Floats
from tamiz.reduction.independent.white_rows import Moments, WhiteRows

# Differences of gradients that L-BFGS remembers, and the least curvature of the approximate Hessian (Ablin et al. 2018).
_MEMORY, _LEAST_CURVATURE = 7, 0.01
# Largest angle between two components of a step, in radians: where the curvature is below its bound, steps are meaningless.
_LARGEST_STEP = 1.0
# Steps of a line search, and the share of the predicted decrease that ends it (Armijo).
_MAX_HALVINGS, _DECREASE_SHARE = 10, 1e-4
# Predicted decreases of the loss below this are rounding, of float64 and of float32; the gradient norm must fall instead.
_LOSS_ROUNDING, _LOSS_ROUNDING_SINGLE = 1e-12, 1e-8
# With at least this many values, iterations are in float32 until the gradient norm is near its rounding.
_MIN_SINGLE_VALUES, _SINGLE_TOLERANCE = 2**17, 5e-7
# A solver starts on a sample of at least this many rows, and of this many times the squared number of components, if the table has
# at least `_SAMPLE_FACTOR` times as many. The sample determines W up to about 1 / sqrt(rows), which is the tolerance there. Smaller
# samples of many components have other maxima than all rows.
_MIN_SAMPLE, _MIN_SAMPLE_PER_PAIR, _SAMPLE_FACTOR = 1_000, 2, 8
# Gradient norm of the start with super-Gaussian signs, and iterations of it and on a sample.
_START_TOLERANCE, _MAX_START_ITERATIONS = 1e-2, 30
# Iterations of FastICA after it, at least and at most, and the rise of the log-likelihood for each component by which one is
# followed by another.
_MIN_FIXED_POINT_ITERATIONS, _MAX_FIXED_POINT_ITERATIONS, _LEAST_RISE = 3, 15, 1e-4


@dataclass(frozen=True)
class Solution:
    """A rotation of whitened rows to independent sources.

    Attributes
    ----------
    rotation : ndarray of shape (k, k)
        Orthogonal.
    moments : Moments
        Of the sources.
    n_iter : int
        Iterations over all rows.
    gradient_norm : float
        The largest absolute entry of the gradient.
    converged : bool
        Whether the gradient norm is at most the tolerance.
    """

    rotation: Floats
    moments: Moments
    n_iter: int
    gradient_norm: float
    converged: bool


def random_rotation(n_components: int, rng: np.random.Generator) -> Floats:
    """Return a random orthogonal matrix, uniformly distributed."""
    q, r = np.linalg.qr(rng.standard_normal((n_components, n_components)))
    return np.asarray(q * np.sign(r.diagonal()))


def solve(rows: WhiteRows, rotation: Floats, solver: str, tol: float, max_iter: int) -> Solution:
    """Return the solution from a starting rotation, which is improved on samples of the rows first if there are many.

    Parameters
    ----------
    rows : WhiteRows
    rotation : ndarray of shape (k, k)
    solver : {"picard", "fastica"}
    tol : float
        The gradient norm at which the iterations end.
    max_iter : int
        Iterations over all rows.
    """
    run, single = SOLVERS[solver], rows
    if rows.n_rows * rows.n_components >= _MIN_SINGLE_VALUES:
        single = rows.to_single()
    stages = _samples(single)
    moments = None
    if solver == "picard":
        start = _start([*stages, single][0], rotation, tol)
        rotation, moments = start.rotation, start.moments
    for some in stages:
        own_tol = max(tol, 1.0 / np.sqrt(some.n_rows))
        rotation, moments = run(some, rotation, own_tol, _MAX_START_ITERATIONS, moments).rotation, None
    if single is rows:
        return run(rows, rotation, tol, max_iter, moments)
    early = run(single, rotation, max(tol, _SINGLE_TOLERANCE), max_iter, moments)
    found = run(rows, early.rotation, tol, max_iter - early.n_iter)
    return replace(found, n_iter=early.n_iter + found.n_iter)


def _samples(rows: WhiteRows) -> list[WhiteRows]:
    """Return samples of increasing size, on which the iterations start; none if there are few rows."""
    least = max(_MIN_SAMPLE, _MIN_SAMPLE_PER_PAIR * rows.n_components**2)
    step, samples = rows.n_rows // least, []
    while step >= _SAMPLE_FACTOR:
        samples.append(rows.sample(step))
        step //= _SAMPLE_FACTOR
    return samples


def _start(rows: WhiteRows, rotation: Floats, tol: float) -> Solution:
    """Return a rotation that lowers the loss with the signs of super-Gaussian sources, after some iterations of FastICA.

    With their own signs from the beginning, projections that are nearly Gaussian at the start become sub-Gaussian sources by
    chance, and the likelihood is lower: on digits with 20 components -30.1 to -29.9 in each row instead of -29.7. FastICA finds
    the signs of independent sources in few iterations, and often the sources.
    """
    signs = np.ones(rows.n_components)
    found = _descend(rows, rotation, signs, max(tol, _START_TOLERANCE), _MAX_START_ITERATIONS)
    found = fastica(rows, found.rotation, tol, _MIN_FIXED_POINT_ITERATIONS, found.moments)
    for _ in range(_MIN_FIXED_POINT_ITERATIONS, _MAX_FIXED_POINT_ITERATIONS):
        before, found = found, fastica(rows, found.rotation, tol, 1, found.moments)
        if found.moments.log_likelihood < before.moments.log_likelihood + _LEAST_RISE * rows.n_components:
            break
    return found


def picard(rows: WhiteRows, rotation: Floats, tol: float, max_iter: int, moments: Moments | None = None) -> Solution:
    """Minimise the loss over rotations by L-BFGS with a diagonal approximation of the Hessian (Picard-O).

    The moments at the start are computed if they are not passed.
    """
    return _descend(rows, rotation, None, tol, max_iter, moments)


def _descend(
    rows: WhiteRows,
    rotation: Floats,
    fixed_signs: Floats | None,
    tol: float,
    max_iter: int,
    moments: Moments | None = None,
) -> Solution:
    """Minimise the loss with given signs, or with those of the sources."""
    moments = rows.moments(rotation) if moments is None else moments
    signs = moments.signs if fixed_signs is None else fixed_signs
    gradient = moments.gradient(signs)
    memory, n_iter = _Memory(), 0
    while (norm := _largest(gradient)) > tol and n_iter < max_iter:
        found = None
        if memory.pairs:
            found = _line_search(rows, rotation, moments, signs, gradient, memory.direction(gradient, moments, signs))
        if found is None:
            memory.clear()
            found = _line_search(rows, rotation, moments, signs, gradient, memory.direction(gradient, moments, signs))
        if found is None:
            # No step lowers the loss: rounding hides smaller decreases.
            break
        rotation, moments, step = found
        n_iter += 1
        if fixed_signs is not None or np.array_equal(moments.signs, signs):
            following = moments.gradient(signs)
            memory.add(step, following - gradient)
            gradient = following
        else:
            # Another loss: what was remembered of its curvature is void.
            signs = moments.signs
            gradient = moments.gradient(signs)
            memory.clear()
    return Solution(rotation, moments, n_iter, norm, converged=norm <= tol)


def fastica(rows: WhiteRows, rotation: Floats, tol: float, max_iter: int, moments: Moments | None = None) -> Solution:
    """Iterate W to the orthogonal matrix nearest to E[tanh(y) z'] - diag(E[tanh'(y)]) W (parallel FastICA).

    The moments at the start are computed if they are not passed.
    """
    moments = rows.moments(rotation) if moments is None else moments
    for n_iter in range(max_iter + 1):
        norm = _largest(moments.gradient(moments.signs))
        if norm <= tol or n_iter == max_iter:
            break
        # With the opposite sign, so that sources do not change theirs in every iteration.
        fixed = moments.signs[:, None] * (np.diag(moments.slope) - moments.products)
        left, _, right = np.linalg.svd(fixed)
        rotation = left @ right @ rotation
        moments = rows.moments(rotation)
    return Solution(rotation, moments, n_iter, norm, converged=norm <= tol)


SOLVERS: dict[str, Callable[..., Solution]] = {"picard": picard, "fastica": fastica}


class _Memory:
    """The last steps of L-BFGS and the differences of the gradients between their ends."""

    def __init__(self) -> None:
        self.pairs: list[tuple[Floats, Floats, float]] = []

    def clear(self) -> None:
        self.pairs = []

    def add(self, step: Floats, difference: Floats) -> None:
        """Remember a step, unless its curvature is not positive."""
        curvature = float(np.vdot(step, difference))
        if curvature > 0.0:
            self.pairs = [*self.pairs[1 - _MEMORY :], (step, difference, 1.0 / curvature)]

    def direction(self, gradient: Floats, moments: Moments, signs: Floats) -> Floats:
        """Return the skew-symmetric direction of descent, by the two loops of L-BFGS."""
        residual, factors = gradient, []
        for step, difference, inverse in reversed(self.pairs):
            factors.append(inverse * np.vdot(step, residual))
            residual = residual - factors[-1] * difference
        excess = signs * moments.excess
        found = residual / np.maximum((excess[:, None] + excess) / 2.0, _LEAST_CURVATURE)
        for (step, difference, inverse), factor in zip(self.pairs, reversed(factors), strict=True):
            found = found + (factor - inverse * np.vdot(difference, found)) * step
        return -found * min(1.0, _LARGEST_STEP / _largest(found))


def _line_search(
    rows: WhiteRows, rotation: Floats, moments: Moments, signs: Floats, gradient: Floats, direction: Floats
) -> tuple[Floats, Moments, Floats] | None:
    """Return the first rotation along a direction, at half the step each time, with a lower loss, or None if there is none."""
    slope, loss = float(np.vdot(gradient, direction)), moments.loss(signs)
    if slope >= 0.0:
        return None
    rounding = (_LOSS_ROUNDING_SINGLE if rows.is_single else _LOSS_ROUNDING) * (1.0 + abs(loss))
    step = direction
    for halving in range(_MAX_HALVINGS):
        turned = _rotate(rotation, step)
        found = rows.moments(turned)
        predicted = slope * 0.5**halving
        if -predicted > rounding:
            accepted = found.loss(signs) <= loss + _DECREASE_SHARE * predicted
        else:
            accepted = _largest(found.gradient(signs)) < _largest(gradient)
        if accepted:
            return turned, found, step
        step = step / 2.0
    return None


def _rotate(rotation: Floats, step: Floats) -> Floats:
    """Return the rotation after a skew-symmetric step, by Cayley's transform: to second order its exponential."""
    half, identity = step / 2.0, np.eye(len(step))
    return np.asarray(np.linalg.solve(identity - half, rotation + half @ rotation))


def _largest(matrix: Floats) -> float:
    return float(np.abs(matrix).max(initial=0.0))
