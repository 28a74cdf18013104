"""Principal components by the cheapest of three solvers, and their number by Horn's parallel analysis."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy import linalg

from tamiz.arrays import Floats, eigenvector_signs
from tamiz.reduction.centred_rows import CentredRows
from tamiz.reduction.krylov import leading_eigenpairs
from tamiz.runtime import parallel
from tamiz.runtime.validation import check_integer, check_memory
from tamiz.runtime.verdicts import Verdict
from tamiz.statistics.cross_products import ScatterMatrix
from tamiz.storage.invariants import FloatArray, Integer, Invariants
from tamiz.table.encode import CoordinateEncoder

# Smaller differences of variances are rounding; with two rows the variances are equal in every table.
_EQUAL_TOLERANCE = 1e-9
SOLVERS = ("auto", "covariance", "svd", "randomized")

# Cost model: passes of block Krylov over the rows, and operations of a dense decomposition relative to n^3. Distinct eigenvalues
# need about 15 passes and noise 40, and an operation of a product with few vectors takes longer than one of the covariance.
_KRYLOV_PASSES, _DENSE_FACTOR = 30, 10.0
# Below this number of operations a dense decomposition is always faster than block Krylov.
_MIN_KRYLOV_OPERATIONS = 2e10
# Share of the components up to which LAPACK computes a subset faster than all by divide and conquer.
_SUBSET_SHARE = 1 / 7
# Extra vectors of block Krylov.
_EXTRA_COLUMNS = 12
# Tolerance for ties of absolute entries that determine the sign of a direction.
_SIGN_TOLERANCE = 1e-9
# Negative eigenvalues below this share of the largest count as rounding; residuals above this share cause a warning.
_EIGENVALUE_TOLERANCE, _LARGE_RESIDUAL = 1e-9, 1e-6


@dataclass(frozen=True)
class PrincipalComponents:
    """Directions of largest variance.

    Attributes
    ----------
    variances : ndarray of shape (k,)
        Descending.
    directions : ndarray of shape (k, n_coordinates)
        Orthonormal.
    total_variance : float
        The variance of all coordinates.
    solver : {"covariance", "svd", "randomized"}
    residuals : ndarray of shape (k,)
        |C v - variance v| for the randomized solver, else 0.
    smallest_eigenvalue : float
        The smallest eigenvalue; for positive semidefinite covariances an upper bound.
    """

    variances: Floats
    directions: Floats
    total_variance: float
    solver: str
    residuals: Floats
    smallest_eigenvalue: float

    def noise_variance(self, n_rows: float) -> float:
        """Return the mean variance of the discarded directions, at most min(n_rows, q); n_rows may be NaN (unknown)."""
        k, q = self.directions.shape
        beside = (q if np.isnan(n_rows) else min(n_rows, q)) - k
        return max(self.total_variance - float(self.variances.sum()), 0.0) / beside if beside > 0 else 0.0


def check_n_components(value: Any, upper: int) -> int | float:
    """Return the requested number of components, or the share of variance that they must explain."""
    if value is None:
        return upper
    if isinstance(value, bool) or not isinstance(value, Real):
        estimate = " To estimate how many, fit all (None) and call parallel_analysis()." if value == "mle" else ""
        raise TypeError(
            f"n_components must be a whole number, a share of the variance above 0 and up to 1.0, or None, got {value!r}.{estimate}"
        )
    if not isinstance(value, int | np.integer):
        if not 0.0 < float(value) <= 1.0:
            raise ValueError(
                f"n_components must be a whole number from 1 to {upper}, or a share of the variance above 0 and up to 1.0, got "
                f"{value}."
            )
        return float(value)
    return check_integer("n_components", value, low=1, high=upper)


def decompose(rows: CentredRows, n_components: int | float, solver: str) -> PrincipalComponents:
    """Return a number of components, or the fewest that explain a share of the variance."""
    chosen = _choose_solver(rows, n_components) if solver == "auto" else solver
    found = {"covariance": _solve_covariance, "svd": _solve_svd, "randomized": _solve_randomized}[chosen](
        rows, n_components
    )
    return _fix_signs(found)


def decompose_covariance(covariance: Floats, n_components: int | float) -> PrincipalComponents:
    return _fix_signs(_eigendecompose(covariance, n_components, semidefinite=False))


def _choose_solver(rows: CentredRows, n_components: int | float) -> str:
    """Return the solver with the fewest operations; the choice depends only on the sizes."""
    n, q = float(rows.n_rows), float(rows.n_coordinates)
    cost = {
        "covariance": n * q * q * rows.density + _DENSE_FACTOR * q**3,
        "svd": _DENSE_FACTOR * n * n * q if n < q else np.inf,
    }
    if not isinstance(n_components, float):
        width = n_components + _EXTRA_COLUMNS
        if width < min(n, q) / 4 and min(cost.values()) > _MIN_KRYLOV_OPERATIONS:
            cost["randomized"] = 4 * n * q * rows.density * width * _KRYLOV_PASSES
    return min(cost, key=lambda name: cost[name])


def _solve_covariance(rows: CentredRows, n_components: int | float) -> PrincipalComponents:
    q = rows.n_coordinates
    check_memory(
        ScatterMatrix.work_bytes(q),
        f"The cross products of {q:,} coordinates",
        "Keep fewer columns first, with RankSelector, or ask for few components with solver='randomized'.",
    )
    return _eigendecompose(rows.covariance(), n_components, semidefinite=rows.semidefinite)


def _eigendecompose(covariance: Floats, n_components: int | float, *, semidefinite: bool) -> PrincipalComponents:
    q, total = len(covariance), float(np.trace(covariance))
    if isinstance(n_components, float) or n_components > _SUBSET_SHARE * q:
        values, vectors = linalg.eigh(covariance, driver="evd")
        k = _count_for_share(values[::-1], n_components, total) if isinstance(n_components, float) else n_components
        least = float(values[0])
        values, vectors = values[q - k :], vectors[:, q - k :]
    else:
        k = n_components
        values, vectors = linalg.eigh(covariance, subset_by_index=(q - k, q - 1))
        least = float(values[0] if semidefinite else linalg.eigvalsh(covariance, subset_by_index=(0, 0))[0])
    return PrincipalComponents(values[::-1], vectors[:, ::-1].T, total, "covariance", np.zeros(k), least)


def _solve_svd(rows: CentredRows, n_components: int | float) -> PrincipalComponents:
    n, q = rows.n_rows, rows.n_coordinates
    check_memory(
        8.0 * 4 * n * q,
        f"The decomposition of {n:,} rows of {q:,} coordinates",
        "Ask for few components with solver='randomized', or keep fewer columns first, with RankSelector.",
    )
    _, sizes, directions = linalg.svd(rows.weighted_rows(), full_matrices=False, overwrite_a=True, check_finite=False)
    values = sizes**2 / (rows.total_weight - 1)
    total = float(rows.variances.sum())
    k = _count_for_share(values, n_components, total) if isinstance(n_components, float) else n_components
    return PrincipalComponents(values[:k], directions[:k], total, "svd", np.zeros(k), 0.0)


def _solve_randomized(rows: CentredRows, n_components: int | float) -> PrincipalComponents:
    if isinstance(n_components, float):
        raise ValueError(
            f"solver='randomized' finds a number of components, and n_components={n_components} is a share of the variance. Pass a "
            "whole number, or use solver='auto'."
        )
    found = leading_eigenpairs(rows.times_covariance, rows.n_coordinates, n_components, tol=rows.residual_tolerance)
    total = float(rows.variances.sum())
    return PrincipalComponents(found.values, found.vectors, total, "randomized", found.residuals, 0.0)


def _count_for_share(values: Floats, share: float, total: float) -> int:
    """Return the number of leading values that reach a share of the total, with a tolerance for rounding."""
    if total <= 0:
        return 1
    cumulative = np.cumsum(np.maximum(values, 0.0)) / total
    return min(int(np.searchsorted(cumulative, share - 1e-12)) + 1, len(values))


def _fix_signs(components: PrincipalComponents) -> PrincipalComponents:
    directions = components.directions * eigenvector_signs(components.directions.T, tolerance=_SIGN_TOLERANCE)[:, None]
    values = np.maximum(components.variances, 0.0)
    return replace(components, variances=values, directions=directions)


def decomposition_warnings(components: PrincipalComponents, advice: str = "") -> list[Verdict]:
    """Return warnings about negative eigenvalues and large residuals of a decomposition."""
    warnings: list[Verdict] = []
    largest = float(components.variances[0])
    if components.smallest_eigenvalue < -_EIGENVALUE_TOLERANCE * largest:
        warnings.append(
            Verdict(
                "TZ402",
                f"PCA: the covariance is not positive semidefinite (smallest eigenvalue {components.smallest_eigenvalue:.3g}), so "
                f"that ratios of explained variance may sum to more than 1. Negative variances are set to 0{advice}.",
            )
        )
    worst = float(components.residuals.max(initial=0.0))
    if worst > _LARGE_RESIDUAL * largest:
        warnings.append(
            Verdict(
                "TZ501",
                f"PCA: a component did not converge: its residual is {worst:.2g}, and the largest variance {largest:.4g}.",
            )
        )
    return warnings


@dataclass(frozen=True)
class ParallelAnalysis:
    """Variances of components, and those of tables with as many rows and independent columns.

    Attributes
    ----------
    explained_variance, reference : ndarray of shape (n_components,)
        Observed variances, and the reference: the mean or the requested quantile over random tables.
    n_components : int
        Number of components before the first one that is not above its reference.
    n_draws : int
    """

    explained_variance: Floats
    reference: Floats
    n_components: int
    n_draws: int

    @property
    def title(self) -> str:
        """A heading with the components before the first one that is not above its reference."""
        n = self.n_components
        if n == 0:
            return "The first component explains no more variance than expected by chance"
        first = "The first component explains" if n == 1 else f"The first {n:,} components explain"
        # A later component may again be above; parallel analysis does not count it.
        rest = f"; component {n + 1:,} does not" if n < len(self.explained_variance) else ""
        return f"{first} more variance than expected by chance{rest}"

    invariants: ClassVar[Invariants] = {
        "explained_variance": FloatArray("k"),
        "reference": FloatArray("k"),
        "n_components": Integer(below="k+1"),
        "n_draws": Integer(low=1),
    }


@dataclass(frozen=True)
class IndependentColumns:
    """Generator of independent normal columns with given variances.

    Attributes
    ----------
    variances : ndarray of shape (n_coordinates,)
    level_spans : list of tuple (int, int)
        The coordinates start : stop that are the indicators of one column, which are dependent.
    level_shares : ndarray of shape (n_coordinates,)
        The share of each level of these columns.
    standardized : ndarray of shape (n_coordinates,), bool
        The coordinates that are divided by their standard deviation in every random table.
    n_rows : float
        Number of rows.
    """

    variances: Floats
    level_spans: list[tuple[int, int]]
    level_shares: Floats
    standardized: np.ndarray
    n_rows: float

    @classmethod
    def from_encoder(
        cls, encoder: CoordinateEncoder, variances: Floats, n_rows: float, *, standardized: bool
    ) -> IndependentColumns:
        divided = np.full(len(variances), standardized)
        for start, stop in encoder.level_spans:
            divided[start:stop] = False
        return cls(variances, encoder.level_spans, encoder.mean, divided, n_rows)

    def draw_eigenvalues(self, k: int, n_draws: int, rng: np.random.Generator) -> Floats:
        """Return the k largest eigenvalues of each of several random tables, of shape (n_draws, k)."""
        q = len(self.variances)
        check_memory(
            8.0 * q * min(self.n_rows, q) * (parallel.n_threads() + 1),
            f"Drawing tables of {q:,} columns",
            "Keep fewer columns first, with RankSelector.",
        )
        seeds = rng.integers(0, 2**63, n_draws)
        with parallel.thread_session():
            return np.array(
                list(parallel.map_blocks(lambda seed: self._draw_one(k, np.random.default_rng(seed)), seeds))
            )

    def _draw_one(self, k: int, rng: np.random.Generator) -> Floats:
        q, freedom = len(self.variances), self.n_rows - 1
        # A square root of a Wishart matrix (Bartlett 1933); with fewer rows than columns, the rows themselves.
        if freedom > q:
            root = np.tril(rng.standard_normal((q, q)), -1)
            root[np.diag_indices(q)] = np.sqrt(rng.chisquare(freedom - np.arange(q)))
        else:
            root = rng.standard_normal((q, max(int(freedom), 1)))
        root *= np.sqrt(self.variances / freedom)[:, None]
        for start, stop in self.level_spans:
            # The products of the indicators of one column are the same in every table with these shares.
            spread = np.sqrt(self.variances[start:stop])[:, None]
            root[start:stop] = spread * (self._indicator_roots[start] @ _random_orthonormal_rows(root[start:stop]))
        lengths = np.sqrt((root**2).sum(axis=1))
        known = self.standardized & (lengths > 0)
        root[known] *= (np.sqrt(self.variances[known]) / lengths[known])[:, None]
        if root.shape[1] < q:
            values = linalg.eigvalsh(root.T @ root)
            return np.pad(values[::-1], (0, max(0, k - len(values))))[:k]
        # All eigenvalues: LAPACK's solver for a subset fails on the equal eigenvalues of a column's indicators, and saves little.
        return np.asarray(linalg.eigvalsh(root @ root.T)[q - k :][::-1])

    @cached_property
    def _indicator_roots(self) -> dict[int, Floats]:
        return {start: self._indicator_root(start, stop) for start, stop in self.level_spans}

    def _indicator_root(self, start: int, stop: int) -> Floats:
        """Return a square root of the correlation matrix of a column's indicators."""
        share = self.level_shares[start:stop]
        covariance = np.diag(share) - np.outer(share, share)
        deviation = np.sqrt(np.diag(covariance))
        scale = np.outer(deviation, deviation)
        correlation = np.divide(covariance, scale, out=np.zeros_like(scale), where=scale > 0)
        values, vectors = linalg.eigh(correlation)
        return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def _random_orthonormal_rows(rows: Floats) -> Floats:
    """Return random rows orthonormalised; more rows than dimensions are only scaled to a mean squared length of 1."""
    return (
        np.asarray(linalg.qr(rows.T, mode="economic")[0].T)
        if len(rows) <= rows.shape[1]
        else rows / np.sqrt(rows.shape[1])
    )


def compare_with_null(observed: Floats, null_eigenvalues: Floats, quantile: float | None) -> ParallelAnalysis:
    """Return the observed variances and those of random tables."""
    reference = null_eigenvalues.mean(axis=0) if quantile is None else np.quantile(null_eigenvalues, quantile, axis=0)
    below = np.flatnonzero(observed <= reference + _EQUAL_TOLERANCE * observed.max(initial=0.0))
    return ParallelAnalysis(observed, reference, int(below[0]) if len(below) else len(observed), len(null_eigenvalues))
