"""Eigenvalues of random tables with independent columns, as a reference (Horn's parallel analysis)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy import linalg
from sklearn.utils.validation import check_is_fitted

from tamiz.arrays import Floats
from tamiz.reduction.principal.base import CoordinateEncoder
from tamiz.runtime import parallel
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.validation import check_integer, check_memory, check_real
from tamiz.storage.invariants import FloatArray, Integer, Invariants

# Smaller differences of variances are rounding; with two rows the variances are equal in every table.
_EQUAL_TOLERANCE = 1e-9
# Budget of `parallel_analysis_`: operations, random tables, and the size above which it is omitted.
_NULL_OPERATIONS, _MAX_NULL_TABLES, _MAX_NULL_COST = 1e9, 100, 1.5e9


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


class ParallelAnalysisMixin:
    """Parallel analysis of a fitted PCA."""

    explained_variance_: Floats
    coordinate_variances_: Floats
    n_components_: int
    standardize: bool
    _row_encoder: CoordinateEncoder
    _total_weight: float
    _parallel_analysis: ParallelAnalysis | None

    @property
    def parallel_analysis_(self) -> ParallelAnalysis | None:
        """Parallel analysis with up to 100 random tables, as many as about a second allows; computed at first use.

        None for very many rows and columns, for a covariance without the number of rows, and where all columns are constant.
        """
        check_is_fitted(self)
        q = len(self.coordinate_variances_)
        size = min(self._total_weight, q) if np.isfinite(self._total_weight) else np.inf
        if size**2 * q > _MAX_NULL_COST or not self.coordinate_variances_.sum() > 0:
            return None
        if self._parallel_analysis is None:
            draws = int(np.clip(_NULL_OPERATIONS / (size**2 * q), 3, _MAX_NULL_TABLES))
            self._parallel_analysis = self.parallel_analysis(n_draws=draws, random_state=0)
        return self._parallel_analysis

    def parallel_analysis(
        self, *, n_draws: int = 100, quantile: float | None = None, random_state: Seed = 0
    ) -> ParallelAnalysis:
        """Compare the variances with those of random tables of independent normal columns (Horn's parallel analysis).

        Random columns have the observed variances, and the indicators of a category keep their dependence. Standardised columns are
        standardised in every random table. Random tables have no missing values, so that the reference is slightly too small for
        missing="pairwise".

        Parameters
        ----------
        n_draws : int, default=100
        quantile : float, default=None
            None compares with the mean over the random tables, as Horn does; 0.95 with their 95 % quantile.
        random_state : int, Generator or None, default=0

        Returns
        -------
        ParallelAnalysis
            `explained_variance`, `reference`, both of shape (n_components,), and `n_components`: the number of components
            before the first that is not above its reference.

        Notes
        -----
        Cost O(q^3) for each table, for any number of rows, because a square root of the cross products is drawn.

        References
        ----------
        Horn (1965), A rationale and test for the number of factors in factor analysis, Psychometrika 30; Bartlett (1933), On the
        theory of statistical regression, Proceedings of the Royal Society of Edinburgh 53.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tamiz.reduction import PCA
        >>> PCA(4, standardize=True).fit(load_iris().data).parallel_analysis().n_components
        1
        """
        check_is_fitted(self)
        if not np.isfinite(self._total_weight):
            raise ValueError("parallel_analysis needs the number of rows: pass n_samples to fit_covariance.")
        draws = check_integer("n_draws", n_draws, low=1)
        if quantile is not None and not 0 < check_real("quantile", quantile, low=0.0) < 1:
            raise ValueError(f"quantile must be between 0 and 1, got {quantile}.")
        standardized = bool(self.standardize)
        null = IndependentColumns.from_encoder(
            self._row_encoder, self.coordinate_variances_, self._total_weight, standardized=standardized
        )
        drawn = null.draw_eigenvalues(self.n_components_, draws, make_rng(random_state))
        return compare_with_null(self.explained_variance_, drawn, quantile)
