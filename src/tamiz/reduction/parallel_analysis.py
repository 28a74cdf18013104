"""The number of principal components by Horn's parallel analysis."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy import linalg

from tamiz.arrays import Floats
from tamiz.runtime import parallel
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.validation import check_memory
from tamiz.storage.invariants import FloatArray, Integer, Invariants
from tamiz.table.encode import Encoding

# Smaller differences of variances are rounding; with two rows the variances are equal in every table.
_EQUAL_TOLERANCE = 1e-9
# Operations and random tables of an analysis of about a second.
_NULL_OPERATIONS, _MAX_NULL_TABLES = 1e9, 100


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
    def from_encoding(
        cls, encoding: Encoding, variances: Floats, n_rows: float, *, standardized: bool
    ) -> IndependentColumns:
        divided = np.full(len(variances), standardized)
        for start, stop in encoding.level_spans:
            divided[start:stop] = False
        return cls(variances, encoding.level_spans, encoding.centre, divided, n_rows)

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


def parallel_analysis(
    observed: Floats, null: IndependentColumns, n_draws: int, *, quantile: float | None = None, seed: Seed = 0
) -> ParallelAnalysis:
    """Compare variances with those of random tables: their mean, or a quantile."""
    return compare_with_null(observed, null.draw_eigenvalues(len(observed), n_draws, make_rng(seed)), quantile)


def affordable_draws(n_rows: float, n_coordinates: int, least: int) -> int:
    """Return the number of random tables, between `least` and 100, that take about a second."""
    return int(np.clip(_NULL_OPERATIONS / (min(n_rows, n_coordinates) ** 2 * n_coordinates), least, _MAX_NULL_TABLES))


def compare_with_null(observed: Floats, null_eigenvalues: Floats, quantile: float | None) -> ParallelAnalysis:
    """Return the observed variances and those of random tables."""
    reference = null_eigenvalues.mean(axis=0) if quantile is None else np.quantile(null_eigenvalues, quantile, axis=0)
    below = np.flatnonzero(observed <= reference + _EQUAL_TOLERANCE * observed.max(initial=0.0))
    return ParallelAnalysis(observed, reference, int(below[0]) if len(below) else len(observed), len(null_eigenvalues))
