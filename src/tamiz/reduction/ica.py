"""Independent component analysis: whitening, Picard-O and FastICA, the test of Gaussian components, and stability over starts.

Both solvers search a rotation W of whitened rows for which s_i E[tanh(y_i) y_j] is symmetric in the sources y = W z. The signs
s_i are those of E[tanh'(y_i)] - E[tanh(y_i) y_i]: 1 for super-Gaussian sources and -1 for sub-Gaussian ones. The largest
difference from symmetry is the gradient norm of both.

For normal rows, the mean of log cosh along a unit vector w, less its expectation, is asymptotically a Gaussian field on the sphere.
Whitened rows have the mean 0 and the variance 1 along every w, so of the Hermite expansion of log cosh only the even terms from 4
on remain. The probability that the field exceeds a level u anywhere is approximately the expected Euler characteristic of the set
where it does, which has a closed form (Adler and Taylor 2007).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special
from sklearn.utils.validation import check_is_fitted

from tamiz.arrays import Floats, Indices, eigenvector_signs
from tamiz.exceptions import DataError
from tamiz.kernels.log_cosh import log_cosh_sums, log_cosh_sums_single
from tamiz.reduction.description import MapDescription, MapSpectrum
from tamiz.reduction.parallel_analysis import IndependentColumns, affordable_draws, parallel_analysis
from tamiz.reduction.pca import ProjectionReducer
from tamiz.reduction.principal_components import (
    CentredRows,
    CentredSparse,
    CentredTable,
    PrincipalComponents,
    decompose,
)
from tamiz.runtime import parallel
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.user_warnings import list_names, warn, warn_user
from tamiz.runtime.validation import check_choice, check_integer, check_memory, check_positive
from tamiz.storage.invariants import BoolArray, FloatArray, InstanceOf, Integer, Invariants, Number, OneOf
from tamiz.table.base import Table
from tamiz.table.factory import as_table, float_dtype, record_features
from tamiz.table.schema import Schema

# A direction whose variance is at most this share of the largest has none: the covariance of rows of float64 is exact to about
# 1e-15 of it, and whitening divides by the square root of the variance. Rows of float32 are multiplied in float32.
_RANK_TOLERANCE, _FLOAT32_RANK_TOLERANCE = 1e-10, 1e-6
# Fewest random tables of parallel analysis.
_MIN_NULL_TABLES = 5


@dataclass(frozen=True)
class Whitening:
    """White rows: coordinates times the transpose of `forward` (k, n_coordinates), whose pseudo-inverse is `backward`."""

    rows: WhiteRows
    forward: Floats
    backward: Floats


def whiten(rows: CentredRows, n_components: int | None, *, standardized: bool, is_float32: bool) -> Whitening:
    """Return rows of unit covariance, with n, along the first principal components; by default those of parallel analysis."""
    upper = min(rows.n_rows, rows.n_coordinates)
    wanted = upper if n_components is None else check_integer("n_components", n_components, low=1)
    found = decompose(rows, min(wanted, upper), "auto")
    tolerance = _FLOAT32_RANK_TOLERANCE if is_float32 else _RANK_TOLERANCE
    rank = int((found.variances > tolerance * found.variances[0]).sum())
    if rank == 0:
        raise DataError("No column has a variance above 0, so that there is no component. Pass columns that vary.")
    if n_components is None:
        wanted = min(_count_components(rows, found, standardized=standardized), rank)
    elif wanted > rank:
        advice = "" if standardized else ", or set standardize=True if the columns have very different units"
        raise ValueError(
            f"n_components must be at most the rank of the table = {rank:,}, got {wanted:,}: directions with at most "
            f"{tolerance:g} of the largest variance do not count. Lower n_components{advice}."
        )
    check_memory(
        8.0 * 3 * rows.n_rows * wanted, f"{rows.n_rows:,} rows of {wanted:,} components", "Ask for fewer components."
    )
    directions = found.directions[:wanted]
    deviations = np.sqrt(found.variances[:wanted] * ((rows.total_weight - 1) / rows.total_weight))[:, None]
    unmixed = directions / deviations
    if is_float32 and np.abs(unmixed).max() > np.finfo(np.float32).max:
        raise DataError(
            f"A principal component has the standard deviation {deviations.min():.2g}, by which float32 cannot divide. "
            "Change the unit of the columns, or pass float64."
        )
    # The second transformation corrects rounding in the covariance, which float32 or a small variance makes noticeable.
    white, correction = WhiteRows.from_points(rows.project(unmixed))
    backward = (directions * deviations).T @ np.linalg.inv(correction)
    return Whitening(white, correction @ unmixed, backward)


def _count_components(rows: CentredRows, found: PrincipalComponents, *, standardized: bool) -> int:
    """Return the number of components of parallel analysis, at least 1; warn if it finds none."""
    n_draws = affordable_draws(rows.n_rows, rows.n_coordinates, _MIN_NULL_TABLES)
    null = IndependentColumns.from_encoding(
        rows.encoder.encoding, rows.variances, rows.total_weight, standardized=standardized
    )
    n = parallel_analysis(found.variances, null, n_draws).n_components
    if n == 0:
        warn(
            "TZ403",
            "ICA: no principal component has more variance than in tables of independent columns, so that one component "
            "is kept. Set n_components to keep more.",
        )
    return max(n, 1)


@dataclass(frozen=True)
class ComponentStability:
    """How often and how exactly other starts find the components of a fit.

    Attributes
    ----------
    index : ndarray of shape (n_components,)
        Stability index of each component, at most 1.
    share : ndarray of shape (n_components,)
        Share of the starts with a component in the same cluster, in (0, 1].
    cluster : ndarray of shape (n_components,), int64
        Cluster of each component. Components in one cluster are not separated reliably.
    log_likelihoods : ndarray of shape (n_starts,)
        The log-likelihood of each start, as `log_likelihood_` of the fit, which is the first.
    n_converged : int
        Starts whose gradient norm is at most the tolerance.
    """

    index: Floats
    share: Floats
    cluster: NDArray[np.int64]
    log_likelihoods: Floats
    n_converged: int


def component_stability(
    rows: WhiteRows, n_starts: int, solver: str, tol: float, max_iter: int, rng: np.random.Generator
) -> ComponentStability:
    """Solve from random rotations, and cluster all components with those of the fit, which are the coordinates of the rows.

    Estimates i and j have the similarity :math:`|r_{ij}|`, the absolute correlation of their sources. Average linkage
    joins them to as many clusters as there are components.
    """
    k = rows.n_components
    check_memory(8.0 * 3 * (n_starts * k) ** 2, f"The similarities of {n_starts * k:,} components", "Lower n_starts.")
    starts = [random_rotation(k, rng) for _ in range(n_starts - 1)]
    with parallel.thread_session():
        solutions = list(parallel.map_blocks(lambda start: solve(rows, start, solver, tol, max_iter), starts))
    fitted = rows.moments(np.eye(k))
    estimates = np.concatenate([np.eye(k), *(solution.rotation for solution in solutions)])
    # Rows of orthogonal matrices are unit vectors, and white rows make their products correlations.
    similarities = np.minimum(np.abs(estimates @ estimates.T), 1.0)
    labels = cluster_estimates(similarities, k)
    index = stability_indices(similarities, labels)
    start_of = np.repeat(np.arange(n_starts), k)
    share = np.array([len(np.unique(start_of[labels == label])) / n_starts for label in range(labels.max() + 1)])
    likelihoods = [fitted.log_likelihood, *(solution.moments.log_likelihood for solution in solutions)]
    own = labels[:k]
    return ComponentStability(
        index[own], share[own], own, np.array(likelihoods), 1 + sum(solution.converged for solution in solutions)
    )


def cluster_estimates(similarities: Floats, n_clusters: int) -> NDArray[np.int64]:
    """Return the clusters of average linkage, numbered from 0."""
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    if len(similarities) == 1:
        return np.zeros(1, dtype=np.int64)
    tree = linkage(squareform(1.0 - similarities, checks=False), "average")
    _, labels = np.unique(fcluster(tree, n_clusters, "maxclust"), return_inverse=True)
    return labels.astype(np.int64)


def stability_indices(similarities: Floats, labels: NDArray[np.int64]) -> Floats:
    """Return the index of each cluster: the mean similarity within it less the mean similarity to all other estimates.

    The mean within a cluster includes the similarity of an estimate to itself, as in Icasso.
    """
    members = (labels == np.arange(labels.max() + 1)[:, None]).astype(np.float64)
    sizes = members.sum(axis=1)
    totals = members @ similarities @ members.T
    within, n_outside = totals.diagonal(), len(labels) - sizes
    between = totals.sum(axis=1) - within
    pairs = sizes * n_outside
    return within / sizes**2 - np.divide(between, pairs, out=np.zeros_like(between), where=pairs > 0)


# Nodes of the quadrature of expectations of a normal variable, and terms of the Hermite expansion.
_N_NODES, _N_TERMS = 200, 60
# Distance of the levels at which the Euler characteristic is compared with 1, in units of the deviation of the field.
_LEVEL_STEP = 0.05


@dataclass(frozen=True)
class _NormalContrast:
    """The contrast of a standard normal variable.

    `mean` is the expectation of log cosh, `deviation` its standard deviation without the terms of degree 0 and 2, and `slope` the
    sum of the degrees of the terms, weighted by their shares of the variance: the derivative of the correlation of the field of two
    directions by the cosine of their angle, at 1.
    """

    mean: float
    deviation: float
    slope: float


@cache
def _normal_contrast() -> _NormalContrast:
    nodes, weights = special.roots_hermitenorm(_N_NODES)
    weights = weights / weights.sum()
    values = np.logaddexp(nodes, -nodes) - math.log(2.0)
    degrees = np.arange(4, _N_TERMS, 2)
    # With normalised polynomials a coefficient is the square root of the variance of its term.
    variances = np.array(
        [(weights @ (values * special.eval_hermitenorm(j, nodes))) ** 2 / special.factorial(j) for j in degrees]
    )
    total = float(variances.sum())
    return _NormalContrast(float(weights @ values), math.sqrt(total), float(degrees @ variances) / total)


def contrast(log_cosh: Floats) -> Floats:
    """Return the mean of log cosh of sources less that of a standard normal variable; below 0 for super-Gaussian sources."""
    return log_cosh - _normal_contrast().mean


def gaussian_p_values(log_cosh: Floats, n_rows: int) -> Floats:
    """Return for each source the probability that normal rows have a contrast as large as its own, of shape (k,).

    Sources are sorted by the size of their contrast. The one of rank r is compared with the largest contrast of any
    direction in the k - r + 1 dimensions of itself and the sources after it, and its probability is at least that of
    the sources before it.
    """
    normal, sizes = _normal_contrast(), np.abs(contrast(log_cosh))
    order = np.argsort(-sizes, kind="stable")
    levels = sizes[order] * math.sqrt(n_rows) / normal.deviation
    found = np.empty(len(sizes))
    found[order] = np.maximum.accumulate(exceedance_probabilities(levels, np.arange(len(sizes), 0, -1)))
    return found


def exceedance_probabilities(levels: Floats, n_dimensions: NDArray[np.int64]) -> Floats:
    """Return the probability, at most 1, that the absolute field exceeds each level in some direction of a space."""
    # From the last root on all Hermite polynomials are positive, and the Euler characteristic falls with the level. Below the
    # level where it last reaches 1 it is no probability.
    grids = [
        np.append(level, np.arange(level + _LEVEL_STEP, last_root + _LEVEL_STEP, _LEVEL_STEP))
        for level, last_root in zip(levels, 2.0 * np.sqrt(n_dimensions), strict=True)
    ]
    sizes = np.array([len(grid) for grid in grids])
    starts = np.cumsum(sizes) - sizes
    found = _euler_characteristics(np.concatenate(grids), np.repeat(n_dimensions, sizes))
    return np.where(np.maximum.reduceat(found, starts) >= 1.0, 1.0, np.maximum(found[starts], 0.0))


def _euler_characteristics(levels: Floats, n_dimensions: NDArray[np.int64]) -> Floats:
    """Return the expected Euler characteristic of the directions, up to sign, in which the absolute field exceeds each level."""
    top = n_dimensions - 1
    slope = _normal_contrast().slope
    # Degree 0: half of the sphere for each of the two signs.
    total = np.where(top % 2 == 0, special.erfc(levels / math.sqrt(2.0)), 0.0)
    # Hermite polynomials of degree j - 1 divided by the square root of (j - 1)!.
    before, hermite = np.zeros(len(levels)), np.ones(len(levels))
    for j in range(1, int(top.max()) + 1):
        own = np.flatnonzero((top >= j) & ((top - j) % 2 == 0))
        dimension, here = np.arange(j, top.max() + 1), hermite[own]
        log_volume = (
            math.log(2.0)
            + special.gammaln(dimension + 1) - special.gammaln(j + 1) - special.gammaln(dimension - j + 1)
            + _log_sphere_area(dimension) - _log_sphere_area(dimension - j)
            + 0.5 * j * math.log(slope)
        )  # fmt: skip
        log_scale = log_volume - 0.5 * (j + 1) * math.log(2.0 * math.pi) + 0.5 * special.gammaln(j)
        total[own] += np.sign(here) * np.exp(
            log_scale[top[own] - j]
            + np.log(np.maximum(np.abs(here), np.finfo(np.float64).tiny))
            - levels[own] ** 2 / 2.0
        )
        before, hermite = hermite, (levels * hermite - math.sqrt(j - 1) * before) / math.sqrt(j)
    return total


def _log_sphere_area(dimension: NDArray[np.int64]) -> Floats:
    """Return the logarithms of the areas of the unit spheres of some dimensions."""
    half = (dimension + 1) / 2.0
    return np.asarray(math.log(2.0) + half * math.log(math.pi) - special.gammaln(half))


# Values of a block, which stays with its sources and scores in the cache of a core; rows of a block are a multiple of 64.
_VALUES_PER_BLOCK, _ROW_MULTIPLE = 2**14, 64
# Values of a task. With fewer values starting threads costs more than it saves.
_VALUES_PER_TASK = 2**17


@dataclass(frozen=True)
class Moments:
    """Moments of the sources y = W z: the means of log cosh y_i, of the derivative of tanh y_i, and of tanh(y_i) y_j."""

    log_cosh: Floats
    slope: Floats
    products: Floats

    @cached_property
    def excess(self) -> Floats:
        """The mean of tanh'(y_i) minus that of tanh(y_i) y_i: above 0 for super-Gaussian sources, 0 for normal ones."""
        return self.slope - self.products.diagonal()

    @property
    def signs(self) -> Floats:
        """1 for super-Gaussian sources and -1 for sub-Gaussian ones."""
        return np.where(self.excess >= 0.0, 1.0, -1.0)

    @property
    def log_likelihood(self) -> float:
        """The mean of the sum of log p(y_i), in nats, for sources of mean square 1.

        p(y) is 1 / (pi cosh y) for super-Gaussian sources, and cosh(y) exp(-(y^2 + 1) / 2) / sqrt(2 pi) for
        sub-Gaussian ones.
        """
        super_gaussian = -math.log(math.pi) - self.log_cosh
        sub_gaussian = self.log_cosh - 1.0 - 0.5 * math.log(2.0 * math.pi)
        return float(np.where(self.signs > 0.0, super_gaussian, sub_gaussian).sum())

    def loss(self, signs: Floats) -> float:
        """Return the sum of the means of log cosh, each with its sign: what the solvers minimise."""
        return float(signs @ self.log_cosh)

    def gradient(self, signs: Floats) -> Floats:
        """Return the skew-symmetric gradient of the loss for rotations of the sources, of shape (k, k)."""
        signed = signs[:, None] * self.products
        return (signed - signed.T) / 2.0


class WhiteRows:
    """Rows of mean 0 whose covariance, with n, is the identity.

    They are points, C-contiguous in float64 or float32, times the transpose of a transformation. It is part of every rotation, so
    that the rows are never formed.
    """

    def __init__(self, points: NDArray[Any], transformation: Floats) -> None:
        self._points, self._transformation = points, transformation
        self.n_rows, self.n_components = points.shape
        self.is_single = points.dtype == np.float32
        size = _rows_per_block(self.n_components)
        self._blocks = parallel.block_ranges(self.n_rows, size)
        self._tasks = parallel.block_ranges(len(self._blocks), max(1, _VALUES_PER_TASK // (size * self.n_components)))
        self._buffers = parallel.BufferPool(lambda: np.empty((2, size * self.n_components), points.dtype))

    @classmethod
    def from_points(cls, points: NDArray[Any]) -> tuple[WhiteRows, Floats]:
        """Return centred points of shape (n, k) after a symmetric transformation to unit covariance, and its matrix."""
        points = np.ascontiguousarray(points, dtype=np.float64)
        n, k = points.shape
        ranges = parallel.block_ranges(n, max(_rows_per_block(k), _VALUES_PER_TASK // k))
        covariance = np.zeros((k, k))
        for products in parallel.map_blocks(lambda own: points[slice(*own)].T @ points[slice(*own)], ranges):
            covariance += products
        values, vectors = np.linalg.eigh(covariance / n)
        transformation = (vectors / np.sqrt(values)) @ vectors.T
        return cls(points, transformation), transformation

    def sample(self, step: int) -> WhiteRows:
        return WhiteRows(np.ascontiguousarray(self._points[::step]), self._transformation)

    def to_single(self) -> WhiteRows:
        """Return the rows in float32, whose moments are exact to about 1e-7."""
        return WhiteRows(self._points.astype(np.float32), self._transformation)

    def moments(self, rotation: Floats) -> Moments:
        """Return the moments of the sources, in one pass over the rows; blocks are summed in their order."""
        k = self.n_components
        unmixing = rotation @ self._transformation
        own = unmixing.astype(self._points.dtype)
        sums, products = np.zeros((k, 2)), np.zeros((k, k))
        for own_sums, own_products in parallel.map_blocks(lambda task: self._sum_task(own, task), self._tasks):
            sums += own_sums
            products += own_products
        sums /= self.n_rows
        return Moments(sums[:, 0].copy(), 1.0 - sums[:, 1], products @ unmixing.T / self.n_rows)

    def _sum_task(self, unmixing: NDArray[Any], task: tuple[int, int]) -> tuple[Floats, Floats]:
        """Return the sums of log cosh and of squared tanh of some blocks, and the products of tanh with the points."""
        k = self.n_components
        sums, products, product = np.zeros((k, 2)), np.zeros((k, k)), np.empty((k, k), self._points.dtype)
        kernel = log_cosh_sums_single if self.is_single else log_cosh_sums
        with self._buffers.acquire() as buffer:
            for start, stop in self._blocks[slice(*task)]:
                points = self._points[start:stop]
                sources, tanh = (values[: points.size].reshape(k, stop - start) for values in buffer)
                np.matmul(unmixing, points.T, out=sources)
                kernel(sources, tanh, sums)
                products += np.matmul(tanh, points, out=product)
        return sums, products


def _rows_per_block(n_components: int) -> int:
    return max(_ROW_MULTIPLE, _VALUES_PER_BLOCK // n_components // _ROW_MULTIPLE * _ROW_MULTIPLE)


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
    """A rotation of whitened rows to independent sources, their moments, and the iterations over all rows."""

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
    """Return the solution from a starting rotation, which is improved on samples of the rows first if there are many."""
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
    """Minimise the loss over rotations by L-BFGS with a diagonal approximation of the Hessian (Picard-O)."""
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
    """Iterate W to the orthogonal matrix nearest to E[tanh(y) z'] - diag(E[tanh'(y)]) W (parallel FastICA)."""
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


# Probability below which a component is not Gaussian, and the largest number of components named in a warning.
GAUSSIAN_LEVEL, _MAX_NAMED = 0.01, 8
# A skewness below this is 0 up to rounding, and does not determine a sign.
_NO_SKEWNESS = 1e-9


class ICA(ProjectionReducer):
    """Independent component analysis: the linear coordinates that are as independent, and as far from normal, as possible.

    .. math:: s = W K (x - \\bar x), \\qquad \\max_{W' W = I} \\sum_k \\sigma_k E[-\\log \\cosh s_k]

    The rows K (x - mean) of the first principal components are white, that is of unit covariance. The sign of a
    component is 1 for a super-Gaussian source, with heavy tails, and -1 for a sub-Gaussian one.

    Parameters
    ----------
    n_components : int, default=None
        Number of principal components that are rotated. None is the number that parallel analysis finds, at least 1.
    solver : {"picard", "fastica"}, default="picard"
        Picard-O: L-BFGS over rotations, with an approximate Hessian. Or the parallel fixed-point iteration of
        FastICA, whose fixed points are the same, and which needs more iterations unless the sources are independent.
    standardize : bool, default=False
        Divide numeric columns by their standard deviation first. It changes which principal components are the first.
    tol : float, default=1e-6
        The iterations end when the gradient norm is at most this.
    max_iter : int, default=500
        Iterations over all rows, without those of the start.
    random_state : int, Generator or None, default=None
        Seed of the random rotation from which the iterations start. None is another seed in every fit.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_coordinates)
        Unmixing matrix W K: the sources are `(x - mean_) / scale_` times its transpose.
    mixing_ : ndarray of shape (n_coordinates, n_components)
        The pseudo-inverse of `components_`: what one unit of a source adds to the coordinates `(x - mean_) / scale_`.
    mean_, scale_ : ndarray of shape (n_coordinates,)
    coordinate_names_ : list of str
        Numeric columns by name, then "column=level" for the categories.
    embedding_ : ndarray of shape (n_samples, n_components)
        The sources, uncorrelated and of variance 1, with n; float32 if all numeric columns are float32.
    negentropy_ : ndarray of shape (n_components,)
        :math:`(E \\log \\cosh s - E \\log \\cosh \\nu)^2` with a standard normal :math:`\\nu`, descending: 0 for a
        normal variable.
    super_gaussian_ : ndarray of shape (n_components,), bool
        Whether the sign of a component is 1.
    gaussian_p_values_ : ndarray of shape (n_components,)
        Probability that normal rows have a direction of this negentropy, among as many dimensions as there are
        components from this one on; at most 0.01 for components that are not Gaussian.
    log_likelihood_ : float
        Mean over the rows of the sum of log p(s), in nats, with the densities p(s) = 1 / (pi cosh s) for super-Gaussian components,
        and :math:`\\cosh(s) e^{-(s^2 + 1) / 2} / \\sqrt{2 \\pi}` for sub-Gaussian ones.
    gradient_norm_ : float
        Largest of :math:`|\\sigma_k E[\\tanh(s_k) s_l] - \\sigma_l E[\\tanh(s_l) s_k]| / 2`.
    n_iter_ : int
        Iterations over all rows, at least 1, without those of the start: Picard-O starts with up to 30 iterations for
        super-Gaussian sources, and 3 to 15 of FastICA, which end when the likelihood rises little.
    converged_ : bool
        Whether the gradient norm is at most `tol`.

    Raises
    ------
    DataError
        When no column can be used, all are constant, there is only one row, or a Table has weights.
    ValueError
        When n_components exceeds the rank of the table: the number of principal components with more than 1e-10 of
        the largest variance, or 1e-6 for float32.

    Warns
    -----
    ConvergenceWarning
        When `converged_` is false.
    TamizWarning
        When components are indistinguishable from Gaussian ones, so that no direction among them is preferred, or
        when parallel analysis finds no component.

    Notes
    -----
    Components are in the order of their negentropy; the skewness of each is positive.

    Whitening is a PCA with balanced categories and imputed means. Cost O(n q^2 + q^3) for q coordinates, and O(n k^2)
    in each iteration; the white rows are in memory. If there are at least 8,000 rows and 16 k^2, the iterations start on
    a sample. With at least 131,072 values, iterations are in float32 until the gradient norm is `tol`, or 5e-7, and in
    float64 from there on; `gradient_norm_` is that of float64. Blocks of rows have a fixed size and are summed in a
    fixed order: the bits are the same for any number of threads.

    The objective has several maxima where no sources are independent, as in most tables of measurements. Picard-O
    starts with the signs of super-Gaussian sources, which leads to higher likelihoods. `stability` shows which
    components other starts find.

    For normal rows all directions are equally good. The test compares the contrast :math:`E \\log \\cosh s` of a
    component with the largest contrast of any direction in normal rows, whose distribution is approximated by the
    expected Euler characteristic of a Gaussian field on the sphere. It is valid for many rows: about 50 for each
    component.

    References
    ----------
    Hyvarinen (1999), Fast and robust fixed-point algorithms for independent component analysis, IEEE Transactions on
    Neural Networks 10; Ablin, Cardoso and Gramfort (2018), Faster ICA under orthogonal constraint, ICASSP; Adler and
    Taylor (2007), Random fields and geometry; Himberg and Hyvarinen (2003), Icasso, IEEE Workshop on Neural Networks
    for Signal Processing.

    Examples
    --------
    >>> import numpy as np
    >>> from tamiz.reduction import ICA
    >>> rng = np.random.default_rng(0)
    >>> sources = np.column_stack([rng.laplace(size=2000), rng.uniform(-1, 1, size=2000)])
    >>> ica = ICA(2, random_state=0).fit(sources @ [[1, 2], [1, 1]])
    >>> abs(np.corrcoef(ica.embedding_.T, sources.T)[:2, 2:]).round(1)
    array([[1., 0.],
           [0., 1.]])
    >>> ica.super_gaussian_
    array([ True, False])
    """

    axis_label: ClassVar = "IC"
    invariants: ClassVar[Invariants] = {
        "components_": FloatArray("k", "d"),
        "mixing_": FloatArray("d", "k"),
        "negentropy_": FloatArray("k", low=0.0),
        "super_gaussian_": BoolArray("k"),
        "gaussian_p_values_": FloatArray("k", low=0.0, high=1.0),
        "log_likelihood_": Number(),
        "gradient_norm_": Number(0.0),
        "n_iter_": Integer(),
        "converged_": InstanceOf(bool),
        "solver": OneOf(*SOLVERS),
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        solver: str = "picard",
        standardize: bool = False,
        tol: float = 1e-6,
        max_iter: int = 500,
        random_state: Seed = None,
    ) -> None:
        self.n_components = n_components
        self.solver = solver
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def study_settings(self, schema: Schema, variant: str) -> dict[str, Any]:  # noqa: ARG002
        """Return the parameters in a study: standardised columns."""
        return {"standardize": True}

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Whiten the rows, and rotate them to independent components.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Table
        y : ignored
        """
        solver, tol, max_iter = self._check_parameters()
        rng = make_rng(self.random_state)
        with parallel.thread_session():
            rows = self._read_rows(X)
            white = whiten(
                rows,
                self.n_components,
                standardized=bool(self.standardize),
                is_float32=float_dtype(X) == np.float32,
            )
            start = random_rotation(white.rows.n_components, rng)
            found = solve(white.rows, start, solver, tol, max_iter)
            order = np.argsort(-np.abs(contrast(found.moments.log_cosh)), kind="stable")
            rotation = found.rotation[order]
            unmixing, mixing = rotation @ white.forward, white.backward @ rotation.T
            embedding = rows.project(unmixing)
            signs = _skewness_signs(embedding, mixing)
            embedding = self._match_dtype(embedding * signs.astype(embedding.dtype), X)
        record_features(self, X)
        self._set_encoder(rows.encoder)
        self.embedding_ = embedding
        self.components_ = np.ascontiguousarray(unmixing * signs[:, None])
        self.mixing_ = np.ascontiguousarray(mixing * signs)
        self._set_solution(found, order)
        warn_user(rows.collect_warnings())
        self._warn_of_solution()
        return self

    def _check_parameters(self) -> tuple[str, float, int]:
        """Check the parameters; return `solver`, `tol` and `max_iter`."""
        if not isinstance(self.standardize, bool | np.bool_):
            raise TypeError(f"standardize must be True or False, got {self.standardize!r}.")
        return (
            check_choice("solver", self.solver, SOLVERS),
            check_positive("tol", self.tol),
            check_integer("max_iter", self.max_iter, low=1),
        )

    def _read_rows(self, X: Any) -> CentredRows:
        standardize = bool(self.standardize)
        if sparse.issparse(X):
            return CentredSparse(X, None, standardize=standardize)
        if isinstance(X, Table) and X.schema.weight is not None:
            raise DataError(
                f"ICA does not support sample weights, and the table has the weights {X.schema.weight!r}; open it without weight."
            )
        return CentredTable(as_table(X), standardize=standardize, missing="mean", categories="balanced", method="ICA")

    def _set_solution(self, found: Solution, order: Indices) -> None:
        """Set the attributes of the components in an order, and of the convergence."""
        log_cosh = found.moments.log_cosh[order]
        self.negentropy_ = contrast(log_cosh) ** 2
        self.super_gaussian_ = found.moments.signs[order] > 0.0
        self.gaussian_p_values_ = gaussian_p_values(log_cosh, len(self.embedding_))
        self.log_likelihood_ = found.moments.log_likelihood
        self.gradient_norm_, self.n_iter_, self.converged_ = found.gradient_norm, max(found.n_iter, 1), found.converged

    def _warn_of_solution(self) -> None:
        """Warn of a missing convergence and of Gaussian components."""
        if not self.converged_:
            reached = (
                f"ICA: not converged after {self.n_iter_:,} iterations: the gradient norm is {self.gradient_norm_:.2g}"
            )
            advice = (
                "Raise the number of iterations (max_iter)"
                if self.n_iter_ >= self.max_iter
                else "Rounding allows no further step: raise the tolerance (tol)"
            )
            warn("TZ501", f"{reached}, and the tolerance is {self.tol:g}. {advice}.")
        gaussian = [
            name for name, p in zip(self.axis_names_, self.gaussian_p_values_, strict=True) if p > GAUSSIAN_LEVEL
        ]
        if not gaussian:
            return
        named = list_names(gaussian, limit=_MAX_NAMED)
        consequence = (
            "no direction among them is preferred to any other"
            if len(gaussian) > 1
            else "the other components determine its direction"
        )
        warn(
            "TZ403",
            f"ICA: {named} cannot be distinguished from Gaussian noise (p-value above {GAUSSIAN_LEVEL:g}): "
            f"{consequence}.",
        )

    def describe(self) -> MapDescription:
        """Describe the number of components, their test, the convergence, and the negentropy of every component."""
        check_is_fitted(self)
        k, n_gaussian = len(self.components_), int((self.gaussian_p_values_ > GAUSSIAN_LEVEL).sum())
        notes = [
            f"The first {k:,} principal components, scaled to variance 1 and rotated to be as independent as possible."
            if k > 1
            else "The first principal component, scaled to variance 1."
        ]
        if self.standardize:
            notes.append("Numeric columns are divided by their standard deviation.")
        if n_gaussian > 1:
            notes.append(
                f"{n_gaussian:,} of the components cannot be distinguished from noise, and their directions are arbitrary."
            )
        if not self.converged_:
            notes.append(f"The rotation was still changing after {self.n_iter_:,} iterations.")
        return self._describe(
            notes,
            "Rows with similar sources are near each other; every source has the same variance.",
            spectrum=MapSpectrum(
                label="Negentropy value",
                values=tuple(self.negentropy_.tolist()),
                note="How far the distribution of each coordinate is from normal; 0 for a normal distribution.",
            ),
        )

    def stability(self, n_starts: int = 20, *, random_state: Seed = None) -> ComponentStability:
        """Return how stable each component is over random starts (Icasso).

        All components of all starts are clustered by average linkage on 1 - \\|r\\| into n_components clusters, with
        r the correlation of two components. The index of a cluster is the mean \\|r\\| of the pairs within it, less
        the mean \\|r\\| of its members with all other components: 1 for a component that every start finds, unlike
        any other. Each component of the fit has the index of its cluster.

        Parameters
        ----------
        n_starts : int, default=20
            Starts, of which the fit is the first.
        random_state : int, Generator or None, default=None
            Seed of the starts.

        Returns
        -------
        ComponentStability
            `index`, `share` of the starts with a component in the same cluster, `cluster` of each component, and
            `log_likelihoods` of the starts. A component that only the fit found has a high index and a small share.

        References
        ----------
        Himberg and Hyvarinen (2003), Icasso: software for investigating the reliability of ICA estimates by
        clustering and visualization, IEEE Workshop on Neural Networks for Signal Processing.
        """
        check_is_fitted(self)
        n = check_integer("n_starts", n_starts, low=2)
        solver, tol, max_iter = self._check_parameters()
        with parallel.thread_session():
            rows, _ = WhiteRows.from_points(self.embedding_)
            return component_stability(rows, n, solver, tol, max_iter, make_rng(random_state))

    def inverse_transform(self, X: Any) -> NDArray[Any]:
        """Return the rows that sources mix to, in the units of the columns.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_components)
            Sources as `transform` returns them. The columns of a frame are matched by name.

        Returns
        -------
        ndarray of shape (n_samples, n_coordinates)
            float32 where X is.
        """
        check_is_fitted(self)
        sources = self._read_coordinates(X)
        return np.asarray((sources @ self.mixing_.T) * self.scale_ + self.mean_, dtype=sources.dtype)


def _skewness_signs(embedding: NDArray[Any], mixing: Floats) -> Floats:
    """Return the signs that make the skewness of each source positive, or its largest weight if it has no skewness."""
    cubes = embedding * embedding
    cubes *= embedding
    skewness = cubes.mean(axis=0, dtype=np.float64)
    return np.where(np.abs(skewness) > _NO_SKEWNESS, np.sign(skewness), eigenvector_signs(mixing))
