"""Gaussian copula of a table: latent normal scores of its values, and their correlation matrix.

Each column is a non-decreasing function of a latent standard normal score, and the scores of a row are jointly normal.
A value that occurs once determines its score. A value with ties, such as a level or a small integer, determines an
interval, and a missing value nothing; these scores are drawn at random from their conditional distribution, by Gibbs
sampling.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from tamiz.arrays import Floats, Indices, Masks, divide_or_zero, is_missing
from tamiz.error_control.factor_covariance import FactorCovariance

# Rounds of estimation, of which the first are not averaged, and sweeps for a fresh draw with the estimate.
_FIT_ROUNDS, _BURN_IN, _DRAW_SWEEPS = 60, 20, 10
# Rows for each column, below which correlations are shrunk. With shrunk ones, knockoffs have smaller correlations with the
# other columns than their columns have: of 200 rows and 30 columns, of which neighbours are correlated by 0.44, the false discovery
# rate is 0.41 at a bound of 0.25, and 0.15 without shrinkage.
MIN_ROWS_PER_COLUMN = 2.0
# The smallest eigenvalue of the correlation matrix, for nearly equal columns.
_MIN_EIGENVALUE = 1e-3
# Columns whose products are computed at once.
_BLOCK_COLUMNS = 32


@dataclass(frozen=True)
class _Censored:
    """The values of a column that determine an interval of scores.

    Attributes
    ----------
    rows : ndarray of shape (m,)
    low, high : ndarray of shape (m,)
        The ends of the interval; infinite for a missing value.
    """

    rows: Indices
    low: Floats
    high: Floats


class GaussianCopula:
    """Latent normal scores of the columns of a table, and their correlation matrix.

    Parameters
    ----------
    columns : list of ndarray of shape (n_rows,)
        Numbers, NaN where missing, or codes of ordered levels, -1 where missing. None is constant.
    fixed : ndarray of shape (n_columns,), bool
        Columns whose tied values have the mean score of their ties, without a random draw.
    rng : Generator
    check : callable, default=None
        Called before every round; it raises an error to end the estimation.

    Attributes
    ----------
    mean_scores : ndarray of shape (n_rows, n_columns)
        Scores at the middle rank of ties, 0 where missing, with standard deviation 1.
    correlation : ndarray of shape (n_columns, n_columns) or FactorCovariance
        Positive definite: the correlation matrix of the scores. With fewer than two rows per column it is shrunk to the
        identity by Ledoit and Wolf's intensity, otherwise only so far that no eigenvalue is below 0.001, and for
        the uncertainty of ties and missing values. With more columns than rows it is that of `mean_scores`, as a diagonal and a
        factor.
    shrinkage : float
        The mean share by which correlations are reduced: 0 for none, 1 for uncorrelated columns.

    Notes
    -----
    Where values have ties or are missing, 60 rounds of data augmentation alternate a draw of the scores given the
    correlations with a draw of the correlations from their posterior distribution given the scores (Hoff 2007); the
    estimates from the scores of the last 40 are averaged. Correlations of columns with ties or missing values are then
    reduced by the share of their squares that is variance between these estimates: otherwise many uncertain
    correlations make each column a function of the others, and knockoffs have no power. Cost O(n p^2 + p^3) for a round. With more
    columns than rows there are no rounds, and a draw costs O(n^2 p).
    """

    def __init__(
        self,
        columns: Sequence[NDArray[Any]],
        fixed: Masks,
        rng: np.random.Generator,
        check: Callable[[], None] | None = None,
    ) -> None:
        n_rows = len(columns[0]) if columns else 0
        self.mean_scores = np.empty((n_rows, len(columns)))
        # Of shape (n_columns, n_rows), because sweeps read and write whole columns.
        self._start = np.empty((len(columns), n_rows))
        self._censored: list[_Censored] = []
        for k, values in enumerate(columns):
            self.mean_scores[:, k] = self._start[k] = mean_scores(values)
            rows = np.empty(0, dtype=np.intp)
            low, high = share_ranges(values)
            if not fixed[k]:
                self._start[k] = ndtri((low + high) / 2)
                rows = np.flatnonzero(high - low > 1.5 / np.count_nonzero(~is_missing(values)))
                shares = low[rows] + _open_uniform(rng, len(rows)) * (high[rows] - low[rows])
                self._start[k, rows] = ndtri(shares)
            self._censored.append(_Censored(rows, ndtri(low[rows]), ndtri(high[rows])))
        self.correlation: Floats | FactorCovariance
        if n_rows < len(columns):
            self.correlation, self.shrinkage = _factor_correlation(self.mean_scores)
        else:
            self.correlation, self.shrinkage = self._fit(rng, check or (lambda: None))

    def draw_scores(self, rng: np.random.Generator) -> Floats:
        """Return scores of shape (n_rows, n_columns); those of ties and missing values are drawn afresh."""
        scores = self._start.copy()
        if isinstance(self.correlation, FactorCovariance):
            for _ in range(_DRAW_SWEEPS):
                self._sweep_factor(scores, self.correlation, rng)
            return scores.T
        precision = np.asarray(np.linalg.inv(self.correlation), dtype=np.float64)
        for _ in range(_DRAW_SWEEPS):
            self._sweep(scores, precision, rng)
        return scores.T

    def _fit(self, rng: np.random.Generator, check: Callable[[], None]) -> tuple[Floats, float]:
        scores = self._start
        if not any(len(censored.rows) for censored in self._censored):
            return _estimate_correlation(scores)
        total, squares, intensity = np.zeros((len(scores),) * 2), np.zeros((len(scores),) * 2), 0.0
        n_averaged = _FIT_ROUNDS - _BURN_IN
        for done in range(_FIT_ROUNDS):
            check()
            if done >= _BURN_IN:
                correlation, shrinkage = _estimate_correlation(scores)
                total += correlation / n_averaged
                squares += correlation**2 / n_averaged
                intensity += shrinkage / n_averaged
            self._sweep(scores, _draw_precision(scores, rng), rng)
        has_intervals = np.array([len(one.rows) > 0 for one in self._censored])
        found, share = _shrink_by_draws(total, np.maximum(squares - total**2, 0.0), has_intervals)
        return found, 1 - (1 - intensity) * (1 - share)

    def _sweep(self, scores: Floats, precision: Floats, rng: np.random.Generator) -> None:
        """Draw the scores of ties and missing values, column by column, given all other scores of their rows.

        The products of scores and precision are computed for a block of columns at once, and updated after each column.
        """
        for start in range(0, len(scores), _BLOCK_COLUMNS):
            stop = min(start + _BLOCK_COLUMNS, len(scores))
            if not any(len(censored.rows) for censored in self._censored[start:stop]):
                continue
            products = precision[start:stop] @ scores
            for k in range(start, stop):
                censored, scale = self._censored[k], precision[k, k]
                if len(censored.rows):
                    before = scores[k].copy()
                    mean = (before - products[k - start] / scale)[censored.rows]
                    scores[k, censored.rows] = _draw_truncated(mean, scale**-0.5, censored, rng)
                    products[k - start + 1 :] += np.outer(precision[k, k + 1 : stop], scores[k] - before)

    def _sweep_factor(self, scores: Floats, correlation: FactorCovariance, rng: np.random.Generator) -> None:
        """Draw as `_sweep` does, from the factor of the precision matrix."""
        factor, inverse = correlation.inverse_factor, 1 / correlation.diagonal
        precision = inverse - (factor**2).sum(axis=1)
        images = factor.T @ scores
        for k, censored in enumerate(self._censored):
            if len(censored.rows):
                before = scores[k].copy()
                mean = (before - (inverse[k] * before - factor[k] @ images) / precision[k])[censored.rows]
                scores[k, censored.rows] = _draw_truncated(mean, float(precision[k]) ** -0.5, censored, rng)
                images += np.outer(factor[k], scores[k] - before)


def mean_scores(values: NDArray[Any]) -> Floats:
    """Return the normal scores of a column at the middle rank of ties, 0 where missing, with standard deviation 1."""
    low, high = share_ranges(values)
    scores = np.where(is_missing(values), 0.0, ndtri((low + high) / 2))
    return np.asarray(scores / np.sqrt((scores**2).mean()))


def share_ranges(values: NDArray[Any]) -> tuple[Floats, Floats]:
    """Return for each value the share of the present values below it and up to it; 0 and 1 for a missing value."""
    present = ~is_missing(values)
    _, codes, counts = np.unique(values[present], return_inverse=True, return_counts=True)
    through = np.cumsum(counts)
    low, high = np.zeros(len(values)), np.ones(len(values))
    n = max(len(codes), 1)
    low[present], high[present] = ((through - counts) / n)[codes], (through / n)[codes]
    return low, high


def _estimate_correlation(scores: Floats) -> tuple[Floats, float]:
    """Return the correlation matrix, and the intensity of its shrinkage to the identity."""
    from sklearn.covariance import ledoit_wolf

    if not len(scores):
        return np.empty((0, 0)), 0.0
    standardized = scores / np.sqrt((scores**2).mean(axis=1))[:, None]
    n_columns, n_rows = scores.shape
    if n_rows < MIN_ROWS_PER_COLUMN * n_columns:
        found, intensity = ledoit_wolf(standardized.T, assume_centered=True)
        return np.asarray(found), float(intensity)
    correlation = standardized @ standardized.T / n_rows
    smallest = float(np.linalg.eigvalsh(correlation)[0])
    share = (_MIN_EIGENVALUE - smallest) / (1 - smallest) if smallest < _MIN_EIGENVALUE else 0.0
    return (1 - share) * correlation + share * np.eye(n_columns), share


def _factor_correlation(scores: Floats) -> tuple[FactorCovariance, float]:
    """Return the correlations of more columns than rows, shrunk by Ledoit and Wolf's intensity, and the intensity."""
    from sklearn.covariance import ledoit_wolf_shrinkage

    n_rows, n_columns = scores.shape
    intensity = max(float(ledoit_wolf_shrinkage(scores, assume_centered=True)), _MIN_EIGENVALUE)
    factor = scores.T * np.sqrt((1 - intensity) / n_rows)
    return FactorCovariance(np.full(n_columns, intensity), factor), intensity


def _shrink_by_draws(mean: Floats, between: Floats, has_intervals: Masks) -> tuple[Floats, float]:
    """Return the mean of the estimates, reduced by their variance between the draws, and the mean share removed.

    The score of a column with intervals counts as the sum of a part that is correlated with the others and of noise. The
    share of the noise is the variance of the column's correlations among the draws, relative to their squares. Pairs of
    columns without intervals keep their correlation.
    """
    squares = mean**2
    np.fill_diagonal(squares, 0.0)
    noise = divide_or_zero(between.sum(axis=0), squares.sum(axis=0))
    kept = np.where(has_intervals, np.sqrt(1 - np.minimum(noise, 1.0)), 1.0)
    shrunk = mean * np.outer(kept, kept)
    np.fill_diagonal(shrunk, 1.0)
    pairs = ~np.eye(len(mean), dtype=bool)
    return shrunk, float(1 - np.outer(kept, kept)[pairs].mean()) if len(mean) > 1 else 0.0


def _draw_precision(scores: Floats, rng: np.random.Generator) -> Floats:
    """Draw the inverse of the correlation matrix from its posterior distribution given the scores.

    Scores that were drawn with their own estimate would confirm it: the smallest eigenvalue of the estimate falls in every
    round, until the columns seem collinear.
    """
    n_columns, n_rows = scores.shape
    root = np.linalg.cholesky(np.linalg.inv(scores @ scores.T + np.eye(n_columns)))
    # A Wishart matrix by Bartlett's decomposition; with the prior of n_columns + 2 degrees of freedom, the mean of the
    # covariance matrix is that of the scores.
    degrees = n_rows + n_columns + 2 - np.arange(n_columns)
    triangle = np.tril(rng.standard_normal((n_columns, n_columns)), -1) + np.diag(np.sqrt(rng.chisquare(degrees)))
    factor = root @ triangle
    precision = factor @ factor.T
    std = np.sqrt(np.diag(np.linalg.inv(precision)))
    return np.asarray(precision * std[:, None] * std)


def _open_uniform(rng: np.random.Generator, n: int) -> Floats:
    """Return uniform numbers in (0, 1), without 0, whose normal quantile is infinite."""
    return np.maximum(rng.random(n), 2.0**-54)


def _draw_truncated(mean: Floats, std: float, censored: _Censored, rng: np.random.Generator) -> Floats:
    low, high = (censored.low - mean) / std, (censored.high - mean) / std
    # In the lower tail probabilities are accurate; an interval above the mean is mirrored.
    mirrored = low > 0
    low, high = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
    probability = ndtr(low)
    drawn = ndtri(probability + _open_uniform(rng, len(mean)) * (ndtr(high) - probability))
    # More than 38 standard deviations away the probability underflows: then the nearest end.
    drawn = np.where(np.isfinite(drawn), np.clip(drawn, low, high), high)
    return np.asarray(mean + std * np.where(mirrored, -drawn, drawn))
