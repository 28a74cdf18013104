"""How large eigenvalues would be if no column had to do with another (Horn's parallel analysis)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import linalg

from tamiz.reduction.principal.base import CoordinateEncoder
from tamiz.runtime import parallel
from tamiz.runtime.validation import check_memory
from tamiz.statistics.base import Floats
from tamiz.storage.invariants import FloatArray, Integer, Invariants

# Variances of nothing but rounding, and those of two rows, which are the same in every table, differ by less than this.
_EQUAL_TOLERANCE = 1e-9


@dataclass(frozen=True)
class ParallelAnalysis:
    """Variances of components, and those of tables of as many rows whose columns are independent.

    Attributes
    ----------
    explained_variance, reference : ndarray of shape (n_components,)
        Observed, and by chance: the mean over the tables drawn, or the quantile that was asked for.
    n_components : int
        How many come before the first that is not above its reference.
    n_draws : int
    """

    explained_variance: Floats
    reference: Floats
    n_components: int
    n_draws: int

    invariants: ClassVar[Invariants] = {
        "explained_variance": FloatArray("k"),
        "reference": FloatArray("k"),
        "n_components": Integer(below="k+1"),
        "n_draws": Integer(low=1),
    }


@dataclass(frozen=True)
class IndependentColumns:
    """Normal columns that are independent, each with a variance of its own.

    Attributes
    ----------
    variances : ndarray of shape (n_coordinates,)
    level_spans : list of tuple (int, int)
        The coordinates start : stop that are indicators of one column, which depend on each other.
    level_shares : ndarray of shape (n_coordinates,)
        The share of each such level.
    standardized : ndarray of shape (n_coordinates,), bool
        The coordinates that are divided by their standard deviation, in every table drawn.
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
        """Return columns like those of a table."""
        divided = np.full(len(variances), standardized)
        for start, stop in encoder.level_spans:
            divided[start:stop] = False
        return cls(variances, encoder.level_spans, encoder.mean, divided, n_rows)

    def draw_eigenvalues(self, k: int, n_draws: int, rng: np.random.Generator) -> Floats:
        """Return the k largest of each of some tables, of shape (n_draws, k)."""
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
        # A root of a Wishart matrix, without its rows (Bartlett 1933); with fewer rows than columns the rows themselves.
        if freedom > q:
            root = np.tril(rng.standard_normal((q, q)), -1)
            root[np.diag_indices(q)] = np.sqrt(rng.chisquare(freedom - np.arange(q)))
        else:
            root = rng.standard_normal((q, max(int(freedom), 1)))
        root *= np.sqrt(self.variances / freedom)[:, None]
        for start, stop in self.level_spans:
            # A column's own indicators have the same products in every table of its shares.
            spread = np.sqrt(self.variances[start:stop])[:, None]
            root[start:stop] = spread * (self._indicator_root(start, stop) @ _random_orthonormal_rows(root[start:stop]))
        lengths = np.sqrt((root**2).sum(axis=1))
        known = self.standardized & (lengths > 0)
        root[known] *= (np.sqrt(self.variances[known]) / lengths[known])[:, None]
        if root.shape[1] < q:
            values = linalg.eigvalsh(root.T @ root)
            return np.pad(values[::-1], (0, max(0, k - len(values))))[:k]
        # All of them: LAPACK's search for some gives up on the equal values that a column's indicators have, and saves little.
        return np.asarray(linalg.eigvalsh(root @ root.T)[q - k :][::-1])

    def _indicator_root(self, start: int, stop: int) -> Floats:
        """Return a root of the correlations of a column's indicators."""
        share = self.level_shares[start:stop]
        covariance = np.diag(share) - np.outer(share, share)
        deviation = np.sqrt(np.diag(covariance))
        scale = np.outer(deviation, deviation)
        correlation = np.divide(covariance, scale, out=np.zeros_like(scale), where=scale > 0)
        values, vectors = linalg.eigh(correlation)
        return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def _random_orthonormal_rows(rows: Floats) -> Floats:
    """Return rows of length 1 that are orthogonal, in random directions as these are; fewer dimensions than rows stay so many."""
    return (
        np.asarray(linalg.qr(rows.T, mode="economic")[0].T)
        if len(rows) <= rows.shape[1]
        else rows / np.sqrt(rows.shape[1])
    )


def compare_with_null(observed: Floats, null_eigenvalues: Floats, quantile: float | None) -> ParallelAnalysis:
    """Return the observed variances beside those of chance."""
    reference = null_eigenvalues.mean(axis=0) if quantile is None else np.quantile(null_eigenvalues, quantile, axis=0)
    below = np.flatnonzero(observed <= reference + _EQUAL_TOLERANCE * observed.max(initial=0.0))
    return ParallelAnalysis(observed, reference, int(below[0]) if len(below) else len(observed), len(null_eigenvalues))
