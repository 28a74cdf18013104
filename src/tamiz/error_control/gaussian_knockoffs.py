"""Gaussian model-X knockoffs of the columns of a table: the copula of the columns, the vector s, and draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import ndtr, ndtri

from tamiz.arrays import Floats, Indices, Masks, divide_or_zero, is_missing
from tamiz.runtime import parallel
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.user_warnings import list_names, warn_user
from tamiz.runtime.validation import check_choice, check_memory
from tamiz.runtime.verdicts import Verdict
from tamiz.statistics.cross_products import ROUNDING, StepwiseRegression
from tamiz.table.base import Table
from tamiz.table.factory import as_table
from tamiz.table.in_memory import eager_frame, is_frame

# s is at most this share of twice the diagonal, so that the noise of knockoffs is a diagonal and a factor, too.
_MAX_SHARE = 0.999


@dataclass(frozen=True)
class FactorCovariance:
    """The matrix D + U U' of a positive diagonal, of shape (p,), and a factor, of shape (p, r)."""

    diagonal: Floats
    factor: Floats

    def __len__(self) -> int:
        return len(self.diagonal)

    def to_array(self) -> Floats:
        """Return the matrix, of shape (p, p)."""
        return np.diag(self.diagonal) + self.factor @ self.factor.T

    @cached_property
    def inverse_factor(self) -> Floats:
        """V of the inverse, which is 1 / D - V V'."""
        scaled = self.factor / self.diagonal[:, None]
        root = np.linalg.cholesky(np.eye(self.factor.shape[1]) + self.factor.T @ scaled)
        return np.asarray(np.linalg.solve(root, scaled.T).T)

    def conditional(self, q: int) -> tuple[FactorCovariance, Floats]:
        """Return the covariance of the first q columns given the others, and the coefficients of their regression on these."""
        rest = FactorCovariance(self.diagonal[q:], self.factor[q:])
        coefficients = np.linalg.solve(rest.to_array(), rest.factor)
        left = np.eye(self.factor.shape[1]) - rest.factor.T @ coefficients
        eigenvalues, vectors = np.linalg.eigh((left + left.T) / 2)
        root = vectors * np.sqrt(np.maximum(eigenvalues, 0.0))
        return FactorCovariance(self.diagonal[:q], self.factor[:q] @ root), coefficients @ self.factor[:q].T

    def knockoff_variances(self, method: str, check: Callable[[], None] = lambda: None) -> Floats:
        """Return the vector s of a method, as `tamiz.error_control.gaussian_knockoffs` does, with s below twice the diagonal."""
        variances = self.diagonal + (self.factor**2).sum(axis=1)
        scaled = FactorCovariance(self.diagonal / variances, self.factor / np.sqrt(variances)[:, None])
        # With fewer factors than columns the smallest eigenvalue is at least the smallest of the diagonal.
        s = np.full(len(self), min(2 * _MAX_SHARE * float(scaled.diagonal.min(initial=1.0)), 1.0))
        if method != "equicorrelated":
            s = _descend(s / 2, scaled._sweep, check)
        return s * variances

    def _sweep(self, s: Floats) -> float:
        """Minimise tr(G^-1) over each s in turn, as in `mvr`; return the largest relative change.

        With d = 2 D - s, the inverse of 2 (D + U U') - S is 1 / d - U M U' / d^2 with M = (I / 2 + U' U / d)^-1.
        """
        factor, largest = self.factor, 0.0
        remainder = 2 * self.diagonal - s
        squares = factor.T @ (factor / remainder[:, None] ** 2)
        middle = np.linalg.inv(np.eye(factor.shape[1]) / 2 + factor.T @ (factor / remainder[:, None]))
        for j, row in enumerate(factor):
            d, image = remainder[j], middle @ row
            explained = row @ image
            entry = 1 / d - explained / d**2
            norm = np.sqrt(max(1 / d**2 - 2 * explained / d**3 + image @ squares @ image / d**2, 0.0))
            found = min(s[j] + (1 - norm * s[j]) / (norm + entry), 2 * _MAX_SHARE * self.diagonal[j])
            largest = max(largest, abs(found - s[j]) / s[j])
            s[j], remainder[j] = found, 2 * self.diagonal[j] - found
            change = 1 / remainder[j] - 1 / d
            middle -= np.outer(image, image) * (change / (1 + change * explained))
            squares += np.outer(row, row) * (1 / remainder[j] ** 2 - 1 / d**2)
        return largest


METHODS = ("mvr", "equicorrelated")
# Steps whose rank-one updates of the inverse are applied at once, as one matrix product.
_BLOCK_STEPS = 32
_MAX_SWEEPS, _TOLERANCE = 200, 1e-7


def knockoff_variances(covariance: Floats, method: str, check: Callable[[], None] = lambda: None) -> Floats:
    r"""Return the vector s of a method, in the units of the variances; `check` may raise an error before a sweep.

    The joint covariance of columns and knockoffs, positive semidefinite where :math:`2 \Sigma - S` and S are, is

    .. math:: G = \begin{pmatrix} \Sigma & \Sigma - S \\ \Sigma - S & \Sigma \end{pmatrix}, \quad S = \mathrm{diag}(s)
    """
    if not len(covariance):
        return np.empty(0)
    std = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(std, std)
    return (equicorrelated(correlation) if method == "equicorrelated" else mvr(correlation, check)) * std**2


def equicorrelated(correlation: Floats) -> Floats:
    """Return the same s for all columns, the largest that is allowed: min(2 lambda_min, 1).

    Notes
    -----
    Cost O(p^3).

    References
    ----------
    Barber and Candès (2015), Controlling the false discovery rate via knockoffs, Annals of Statistics 43.

    Examples
    --------
    >>> import numpy as np
    >>> equicorrelated(np.array([[1.0, 0.8], [0.8, 1.0]])).round(6)
    array([0.4, 0.4])
    """
    smallest = float(np.linalg.eigvalsh(correlation)[0])
    return np.full(len(correlation), min(max(2 * smallest, 0.0), 1.0))


def mvr(correlation: Floats, check: Callable[[], None] = lambda: None) -> Floats:
    """Return the s of minimum variance-based reconstructability, which minimises the trace of the inverse of G.

    .. math:: L(s) = \\mathrm{tr}(G^{-1}) = \\sum_j 1 / s_j + \\mathrm{tr}((2 \\Sigma - S)^{-1})

    Notes
    -----
    L is convex. Coordinate descent: with :math:`A = (2 \\Sigma - S)^{-1}` and its column :math:`a_j`, the change d of
    :math:`s_j` changes A by the rank-one matrix :math:`d a_j a_j^T / (1 - d A_{jj})`, and the best change is :math:`(1
    - \\|a_j\\| s_j) / (\\|a_j\\| + A_{jj})`. Sweeps end when no s changes by more than 1e-7 of itself. Cost O(p^3) for
    a sweep; the inverse is computed again for each, so that rounding errors do not accumulate.

    References
    ----------
    Spector and Janson (2022), Powerful knockoffs via minimizing reconstructability, Annals of Statistics 50.

    Examples
    --------
    >>> import numpy as np
    >>> mvr(np.array([[1.0, 0.8], [0.8, 1.0]])).round(4)
    array([0.2342, 0.2342])
    """
    # Strictly inside: the smallest eigenvalue of 2 Sigma - S is at least that of Sigma.
    return _descend(equicorrelated(correlation) / 2, lambda s: _sweep(_inverse(2 * correlation - np.diag(s)), s), check)


def _inverse(matrix: Floats) -> Floats:
    return np.asarray(np.linalg.inv(matrix), dtype=np.float64)


def _descend(s: Floats, sweep: Callable[[Floats], float], check: Callable[[], None]) -> Floats:
    """Sweep over s until its largest relative change is small."""
    for _ in range(_MAX_SWEEPS):
        check()
        if sweep(s) <= _TOLERANCE:
            break
    return s


def _sweep(inverse: Floats, s: Floats) -> float:
    """Minimise over each s in turn; update the inverse and s, and return the largest relative change of an s."""
    n, largest = len(s), 0.0
    for start in range(0, n, _BLOCK_STEPS):
        steps = range(start, min(start + _BLOCK_STEPS, n))
        vectors, factors = np.empty((n, len(steps)), order="F"), np.empty(len(steps))
        for k, j in enumerate(steps):
            # The column of the inverse after the steps of this block.
            column = inverse[j] + vectors[:, :k] @ (factors[:k] * vectors[j, :k])
            norm = np.sqrt(column @ column)
            change = (1 - norm * s[j]) / (norm + column[j])
            largest = max(largest, abs(change) / s[j])
            s[j] += change
            vectors[:, k], factors[k] = column, change / (1 - change * column[j])
        inverse += (vectors * factors) @ vectors.T
    return largest


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
    """The rows of a column whose values determine an interval of scores, and its ends, infinite for a missing value."""

    rows: Indices
    low: Floats
    high: Floats


class GaussianCopula:
    """Latent normal scores of the columns of a table, and their correlation matrix.

    Each column is a non-decreasing function of a latent standard normal score, and the scores of a row are jointly normal. A value
    that occurs once determines its score. A value with ties, such as a level, determines an interval, and a missing value nothing:
    these scores are drawn from their conditional distribution, by Gibbs sampling.

    Tied values of `fixed` columns have the mean score of their ties, without a random draw. The correlation matrix is shrunk to the
    identity by Ledoit and Wolf's intensity where there are fewer than two rows per column, otherwise only so far that no eigenvalue
    is below 0.001. `shrinkage` is the mean share by which correlations are reduced.

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
        precision = _inverse(self.correlation)
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


# Standardised coefficients of an exact relation below this are rounding errors.
_MIN_COEFFICIENT = 1e-6


def find_collinear(columns: Sequence[NDArray[Any]], scores: Floats) -> Masks:
    """Return which columns are part of an exact dependency.

    Notes
    -----
    A dependency is a linear one, of the numbers or of the scores, or two categorical columns whose levels correspond
    one to one. A linear one contains the columns that a basis determines, and the columns of the basis that determine
    them: in exact arithmetic the same columns for every basis. `RedundancyFilter` has the same definition of an exact
    relation, with the columns that it prefers as basis. With no more rows than columns every column is a linear
    function of the others, and only pairs of columns are compared. Cost O(n p^2 + p^3).
    """
    numbers = [k for k, values in enumerate(columns) if values.dtype.kind == "f"]
    found = _find_dependent(scores)
    if numbers:
        found[numbers] |= _find_dependent(np.column_stack([_standardized(columns[k]) for k in numbers]))
    return found | _find_relabelled(columns)


def select_basis(scores: Floats) -> Indices:
    """Return columns, ascending, of which all others are linear functions."""
    regression = StepwiseRegression(_correlations(scores))
    regression.add_basis()
    return np.sort(np.array(regression.columns, dtype=np.intp))


def _standardized(values: NDArray[Any]) -> Floats:
    """Return numbers with mean 0 and standard deviation 1, missing ones at the mean."""
    present = ~is_missing(values)
    deviations = np.zeros(len(values))
    # Divided first: squares of very large or very small numbers overflow or underflow.
    here = values[present].astype(np.float64)
    here = here / np.abs(here).max()
    deviations[present] = here - here.mean()
    std = np.sqrt((deviations**2).mean())
    return deviations / std if std > 0 else deviations


def _correlations(columns: Floats) -> Floats:
    """Return the correlations of columns with mean 0; a column without variance has 0 with every column, and itself."""
    products = columns.T @ columns
    norms = np.sqrt(products.diagonal())
    inverse = divide_or_zero(1.0, norms)
    correlations: Floats = products * inverse[:, None] * inverse
    np.fill_diagonal(correlations, norms > 0)
    return correlations


def _find_dependent(columns: Floats) -> Masks:
    """Return which columns with mean 0 are part of an exact linear relation."""
    n_rows, n_columns = columns.shape
    correlations = _correlations(columns)
    if n_rows <= n_columns + 1:
        pairs = 1 - np.abs(correlations) < ROUNDING
        np.fill_diagonal(pairs, val=False)
        return np.asarray(pairs.any(axis=0))
    regression = StepwiseRegression(correlations)
    regression.add_basis()
    found = np.ones(n_columns, dtype=bool)
    found[regression.columns] = False
    relations = np.abs(regression.coefficients(np.flatnonzero(found))) > _MIN_COEFFICIENT
    found[regression.columns] = relations.any(axis=1)
    return found


def _find_relabelled(columns: Sequence[NDArray[Any]]) -> Masks:
    """Return the categorical columns that equal another one but for the names of the levels."""
    found = np.zeros(len(columns), dtype=bool)
    first_column: dict[bytes, int] = {}
    for k, values in enumerate(columns):
        if values.dtype.kind != "f":
            _, first_rows, codes = np.unique(values, return_index=True, return_inverse=True)
            # Levels are numbered in the order in which they occur; a missing value is a level.
            content = np.argsort(np.argsort(first_rows))[codes].tobytes() + is_missing(values).tobytes()
            other = first_column.setdefault(content, k)
            if other != k:
                found[[k, other]] = True
    return found


# Matrices of rows by columns, and of columns by columns, that exist at once.
_N_ROW_MATRICES, _N_COLUMN_MATRICES = 6, 8


def knockoffs(X: Any, *, method: str = "mvr", random_state: Seed = None) -> Any:
    """Return Gaussian knockoffs of the columns: a table with the same distribution that is independent of the target given X.

    .. math:: \\tilde Z \\mid Z \\sim N\\big(Z - Z \\Sigma^{-1} S, \\; 2 S - S \\Sigma^{-1} S\\big)

    with the normal scores Z of a row of X, their correlation matrix :math:`\\Sigma`, and the diagonal matrix S of the
    method. When any columns are exchanged with their knockoffs, the joint distribution of the scores of both stays the
    same.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_columns)
    method : {"mvr", "equicorrelated"}, default="mvr"
        How S is chosen. "mvr" minimises the variance with which a column can be reconstructed from the others and all
        knockoffs; "equicorrelated" has the same, largest possible number for all columns, and less power where columns
        are correlated.
    random_state : int, Generator or RandomState, default=None
        Seed.

    Returns
    -------
    array, sparse matrix or data frame
        A table like X: the same container, names, index and dtypes. Every column is a permutation of the column of X.

    Raises
    ------
    DataError
        When the table cannot be used.

    Warns
    -----
    TamizWarning
        When columns are exactly collinear: their knockoffs equal them.

    Notes
    -----
    The distribution of X is assumed to be a Gaussian copula: each column is a non-decreasing function of a score, and
    the scores of a row are jointly normal. Marginal distributions may be any. Levels of a category are ordered as in
    the schema, which is an assumption for more than two levels without an order. The scores of values with ties, of
    levels and of missing values are drawn from their conditional distribution (see `GaussianCopula`). With fewer than
    two rows per column the correlations are shrunk by Ledoit and Wolf's intensity; those of ties and missing values are
    reduced by their uncertainty. A knockoff has the values of its column in the order of the knockoff's scores, and is
    missing where the column is missing; values are assumed to be missing at random. Rows are assumed to be independent.
    The target is not read.

    Constant columns, columns with one value beside missing ones, and columns of text or ids are returned unchanged.

    Cost O(n p^2 + p^3), about 20 times for "mvr", and 70 times where values have ties or are missing; with more columns than rows
    O(n p^2), and about 20 times O(n^2 p) for "mvr".

    References
    ----------
    Candès, Fan, Janson and Lv (2018), Panning for gold: model-X knockoffs for high dimensional controlled variable
    selection, Journal of the Royal Statistical Society B 80.
    Spector and Janson (2022), Powerful knockoffs via minimizing reconstructability, Annals of Statistics 50.
    Ledoit and Wolf (2004), A well-conditioned estimator for large-dimensional covariance matrices, Journal of
    Multivariate Analysis 88.
    Hoff (2007), Extending the rank likelihood for semiparametric copula estimation, Annals of Applied Statistics 1.

    Examples
    --------
    >>> import numpy as np
    >>> from tamiz.error_control import knockoffs
    >>> rng = np.random.default_rng(0)
    >>> X = rng.multivariate_normal([0, 0], [[1.0, 0.5], [0.5, 1.0]], size=2000)
    >>> both = np.column_stack([X, knockoffs(X, random_state=0)])
    >>> np.corrcoef(both.T)[2:].round(1)
    array([[0.4, 0.5, 1. , 0.5],
           [0.5, 0.4, 0.5, 1. ]])
    """
    check_choice("method", method, METHODS)
    if isinstance(X, Table):
        raise TypeError("X must be an array or a data frame, got a Table; pass source.frame().")
    # A stream of its own: users simulate tables by default_rng(seed), and the noise must not be the numbers of the table.
    rng = np.random.default_rng(make_rng(random_state).integers(2**63))
    with parallel.thread_session():
        table = as_table(X)
        values = {j: table.column(j) for j in table.schema.used.tolist()}
        sampler = KnockoffSampler(values, table.schema.names, method, rng)
        permutations = sampler.draw(rng)
    warn_user(sampler.collinearity_warnings())
    return _permute_columns(X, permutations)


class KnockoffSampler:
    """Draws of Gaussian knockoffs of the used columns of a table, by their numbers.

    `columns` are those with knockoffs: neither constant nor `collinear`, which others determine. 1 - s is the correlation of the
    score of a column with that of its knockoff.
    """

    def __init__(
        self,
        values: Mapping[int, NDArray[Any]],
        names: Sequence[str],
        method: str,
        rng: np.random.Generator,
        check: Callable[[], None] | None = None,
    ) -> None:
        check = check or (lambda: None)
        self._values, self._names = values, names
        varying = np.array([j for j, column in values.items() if _n_distinct(column) > 1], dtype=np.intp)
        n_rows = len(next(iter(values.values()))) if values else 0
        check_memory(
            matrix_bytes(n_rows, len(varying)),
            f"Knockoffs of {len(varying):,} columns and {n_rows:,} rows",
            "Leave columns or rows out.",
        )
        scores = np.empty((n_rows, len(varying)))
        for k, j in enumerate(varying.tolist()):
            scores[:, k] = mean_scores(values[j])
        is_collinear = find_collinear([values[j] for j in varying.tolist()], scores)
        self.columns, self.collinear = varying[~is_collinear], varying[is_collinear]
        check()
        basis = self.collinear[select_basis(scores[:, is_collinear])] if is_collinear.any() else self.collinear
        fixed = np.arange(len(self.columns) + len(basis)) >= len(self.columns)
        self.copula = GaussianCopula([values[j] for j in [*self.columns.tolist(), *basis.tolist()]], fixed, rng, check)
        self._prepare(method, check)

    def _prepare(self, method: str, check: Callable[[], None]) -> None:
        """Compute s, and the matrices of the conditional distribution of the knockoffs.

        Given the basis of the collinear columns, whose s is 0, the residuals of the other columns are normal. Their
        knockoffs have the covariance of the residuals, and the explained part of a column is also that of its knockoff.
        """
        q, correlation = len(self.columns), self.copula.correlation
        if isinstance(correlation, FactorCovariance):
            self._residuals, self._slopes = correlation.conditional(q)
            self.s = self._residuals.knockoff_variances(method, check)
            return
        self._slopes = np.asarray(np.linalg.solve(correlation[q:, q:], correlation[q:, :q]), dtype=np.float64)
        covariance = correlation[:q, :q] - correlation[:q, q:] @ self._slopes
        self.s = knockoff_variances(covariance, method, check)
        check()
        self._shift = np.linalg.solve(covariance, np.diag(self.s))
        conditional = 2 * np.diag(self.s) - self.s[:, None] * self._shift
        eigenvalues, vectors = np.linalg.eigh((conditional + conditional.T) / 2)
        # For "equicorrelated" the smallest eigenvalue is 0 but for rounding.
        self._noise_root = vectors * np.sqrt(np.maximum(eigenvalues, 0.0))

    def draw_scores(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Return scores of the columns and of their knockoffs, both of shape (n_rows, len(columns))."""
        all_scores, q = self.copula.draw_scores(rng), len(self.columns)
        scores = all_scores[:, :q]
        residuals = scores - all_scores[:, q:] @ self._slopes
        if isinstance(self.copula.correlation, FactorCovariance):
            return scores, scores - self._draw_shift(residuals, rng)
        noise = rng.standard_normal(scores.shape) @ self._noise_root.T
        return scores, scores - residuals @ self._shift + noise

    def _draw_shift(self, residuals: Floats, rng: np.random.Generator) -> Floats:
        """Return the differences of columns and knockoffs given the residuals, from a diagonal and a factor.

        2 S - S (1 / D - V V') S is 2 S - S^2 / D, which is not negative, and the factor S V.
        """
        diagonal, factor = self._residuals.diagonal, self._residuals.inverse_factor
        noise = rng.standard_normal(residuals.shape) * np.sqrt(self.s * (2 - self.s / diagonal))
        common = residuals @ factor + rng.standard_normal((len(residuals), factor.shape[1]))
        return np.asarray((residuals / diagonal - common @ factor.T) * self.s + noise)

    def draw(self, rng: np.random.Generator) -> dict[int, Indices]:
        """Return knockoffs as permutations: the value of row i is that of row permutation[i] of the column."""
        _, knockoff_scores = self.draw_scores(rng)
        permutations = {}
        for k, j in enumerate(self.columns.tolist()):
            values = self._values[j]
            present = np.flatnonzero(~is_missing(values))
            permutation = np.arange(len(values))
            by_score = present[np.argsort(knockoff_scores[present, k], kind="stable")]
            permutation[by_score] = present[np.argsort(values[present], kind="stable")]
            permutations[j] = permutation
        return permutations

    def collinearity_warnings(self) -> list[Verdict]:
        """Return a sentence that lists the collinear columns; empty if there are none."""
        if not len(self.collinear):
            return []
        names = [self._names[j] for j in self.collinear.tolist()]
        sentence = (
            f"Columns {list_names(names)} are exactly collinear: their knockoffs equal them, so they can never be selected. Leave "
            "out those that the others determine."
        )
        return [Verdict("TZ301", sentence, names)]


def matrix_bytes(n_rows: int, n_columns: int) -> float:
    """Return the bytes of the matrices that a sampler needs at once."""
    return 8.0 * n_columns * (_N_ROW_MATRICES * n_rows + _N_COLUMN_MATRICES * n_columns)


def _n_distinct(values: NDArray[Any]) -> int:
    """Return 0, 1 or 2 for no, one, and at least two different present values."""
    present = values[~is_missing(values)]
    return min(len(present), 1) + bool(len(present) and (present != present[0]).any())


def _permute_columns(X: Any, permutations: Mapping[int, Indices]) -> Any:
    """Return a table with the values of its columns permuted, in the container of X."""
    if sparse.issparse(X):
        columns = X.tocsc()
        permuted = [
            columns[:, [j]][permutations[j]] if j in permutations else columns[:, [j]] for j in range(X.shape[1])
        ]
        return type(X)(sparse.hstack(permuted, format=X.format))
    if is_frame(X):
        frame = eager_frame(X)
        series = [
            _permute_series(frame[:, j], permutations[j]) if j in permutations else frame[:, j]
            for j in range(len(frame.columns))
        ]
        return frame.with_columns(*series).to_native()
    out = np.array(X, copy=True)
    for j, permutation in permutations.items():
        out[:, j] = out[permutation, j]
    return out


def _permute_series(series: nw.Series[Any], permutation: Indices) -> nw.Series[Any]:
    """Return a series in another order; of pandas, with the index unchanged."""
    if series.implementation.is_pandas():
        native = series.to_native()
        return nw.from_native(native.take(permutation).set_axis(native.index), series_only=True)
    return series[permutation.tolist()]
