"""Two samples of one column: distances of their distributions with p-values, stability indices, and levels of one sample alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from tamiz.arrays import Floats

# Student's t of more degrees of freedom is normal.
_MAX_DOF = 1e8


@dataclass(frozen=True)
class WeightedRows:
    """How rows count in an estimate and in its variance.

    Attributes
    ----------
    weight : ndarray of shape (n_rows,)
    groups : ndarray of shape (n_rows,) or None
        Codes from 0 on; rows of a group depend on each other.
    is_sampling : bool
        Whether a weight corrects a sampling design, and is not a number of equal rows.
    """

    weight: Floats
    groups: NDArray[Any] | None = None
    is_sampling: bool = False

    def take(self, rows: NDArray[Any]) -> WeightedRows:
        groups = None if self.groups is None else np.unique(self.groups[rows], return_inverse=True)[1]
        return WeightedRows(self.weight[rows], groups, self.is_sampling)

    @property
    def total(self) -> float:
        return float(self.weight.sum())

    @property
    def n_units(self) -> float:
        """The number of independent units: groups, rows counted with their frequency, or Kish's effective sample size."""
        if self.groups is not None:
            return float(np.count_nonzero(np.bincount(self.groups, self.weight)))
        return self.count(self.weight)

    def count(self, weight: Floats) -> float:
        """Return the number of rows that rows of some weights count as, without regard to groups."""
        if not self.is_sampling:
            return float(weight.sum())
        squares = float((weight**2).sum())
        return float(weight.sum()) ** 2 / squares if squares > 0 else 0.0

    def mean(self, values: Floats) -> Floats:
        """Return the weighted mean of values of shape (n_rows, ...)."""
        return np.asarray(np.tensordot(self.weight, values, axes=(0, 0)) / self.total)

    def covariance(self, influence: Floats) -> Floats:
        r"""Return the covariance matrix of the weighted means of influence values of shape (n_rows, k), which have mean 0.

        .. math:: \sum_g s_g s_g^T / (\sum w)^2, \qquad s_g = \sum_{i \in g} w_i \psi_i

        for groups g, for rows with sampling weights one by one, and for a row of frequency w as for w rows. With m groups or rows
        it is multiplied by m / (m - 1).
        """
        sums, counts, units = self.weight[:, None] * influence, None, self.n_units
        if self.groups is not None:
            n_groups = int(self.groups.max()) + 1 if len(self.groups) else 0
            sums = np.stack([np.bincount(self.groups, one, n_groups) for one in sums.T], axis=1)
        elif not self.is_sampling:
            sums, counts = influence, self.weight
        products = sums.T @ (sums if counts is None else counts[:, None] * sums)
        return np.asarray(products / self.total**2 * (units / (units - 1) if units > 1 else 1.0))

    def variance(self, influence: Floats) -> float:
        return float(self.covariance(influence[:, None])[0, 0])

    def design_effect(self, influence: Floats) -> float:
        """Return how many times larger the variance of a mean is than that of `count` independent rows, for groups; 1 without."""
        if self.groups is None:
            return 1.0
        independent = WeightedRows(self.weight, None, self.is_sampling).variance(influence)
        return max(self.variance(influence) / independent, 1e-3) if independent > 0 else 1.0


def mid_ranks(values: Floats, weight: Floats) -> Floats:
    """Return the weighted share of smaller values plus half of that of equal ones, in (0, 1): a row of weight 2 counts twice."""
    _, codes = np.unique(values, return_inverse=True)
    counts = np.bincount(codes, weight)
    below = np.cumsum(counts) - counts / 2
    return np.asarray(below[codes] / weight.sum())


def t_quantile(alpha: float, dof: float) -> float:
    """Return the quantile of Student's t that `alpha` / 2 is above."""
    return -float(special.stdtrit(dof, alpha / 2) if dof < _MAX_DOF else special.ndtri(alpha / 2))


def t_p_value(statistic: float, dof: float) -> float:
    return 2 * float(special.stdtr(dof, -statistic) if dof < _MAX_DOF else special.ndtr(-statistic))


# Levels with fewer rows in both samples together are counted as one, so that the chi-squared distribution is accurate.
_MIN_LEVEL_ROWS = 10
# Deciles, and numbers that are at least so frequent have a bin of their own.
_N_BINS = 10
# From so large a distance on, the unit may be another one.
MIN_UNIT_DISTANCE = 0.3


def compare_numbers(parts: Sequence[Floats], weight: Sequence[Floats], n: Sequence[float]) -> tuple[float, float]:
    """Return the Kolmogorov-Smirnov distance of the present numbers of two samples, and its asymptotic p-value.

    `n` is the number of rows that each sample counts as.
    """
    present = [~np.isnan(part) for part in parts]
    shares = [float(w[here].sum() / w.sum()) for w, here in zip(weight, present, strict=True)]
    counts = [size * share for size, share in zip(n, shares, strict=True)]
    if min(counts) < 1:
        return 0.0, 1.0
    values = np.unique(np.concatenate([part[here] for part, here in zip(parts, present, strict=True)]))
    steps = [
        np.cumsum(np.bincount(np.searchsorted(values, part[here]), w[here], len(values))) / w[here].sum()
        for part, here, w in zip(parts, present, weight, strict=True)
    ]
    distance = float(np.abs(steps[0] - steps[1]).max())
    root = math.sqrt(counts[0] * counts[1] / sum(counts))
    return distance, float(special.kolmogorov(root * distance))


def compare_counts(counts: Floats) -> tuple[float, float]:
    """Return half the sum of the absolute differences of the rates of bins, and the p-value of the chi-squared test."""
    counts = merge_rare(counts)
    if counts.shape[1] < 2 or not counts.sum(axis=1).all():
        return 0.0, 1.0
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    statistic = float(((counts - expected) ** 2 / expected).sum())
    rates = counts / counts.sum(axis=1, keepdims=True)
    return float(np.abs(rates[0] - rates[1]).sum()) / 2, float(special.chdtrc(counts.shape[1] - 1, statistic))


def merge_rare(counts: Floats) -> Floats:
    """Return counts of shape (2, n_bins) without empty bins, and with bins of fewer than 10 rows together as the last one."""
    rare = counts.sum(axis=0) < _MIN_LEVEL_ROWS
    if rare.any():
        counts = np.column_stack([counts[:, ~rare], counts[:, rare].sum(axis=1)])
    return counts[:, counts.sum(axis=0) > 0]


def stability_index(counts: Floats) -> tuple[float, float]:
    r"""Return the population stability index of two samples, and its mean if both have one distribution.

    .. math:: PSI = \sum_k (q_k - p_k) \ln \frac{q_k}{p_k}, \qquad E[PSI] \approx (K - 1) (1 / n + 1 / m)

    with the shares p and q of K bins in samples of n and m rows. A bin without rows in one of them counts as half a row there.

    Parameters
    ----------
    counts : ndarray of shape (2, n_bins)
    """
    counts = counts[:, counts.sum(axis=0) > 0]
    totals = counts.sum(axis=1)
    if not totals.all():
        return 0.0, 0.0
    shares = np.maximum(counts, 0.5) / totals[:, None]
    index = float(((shares[1] - shares[0]) * np.log(shares[1] / shares[0])).sum())
    return index, (counts.shape[1] - 1) * float((1 / totals).sum())


def bin_numbers(parts: Sequence[Floats], weight: Sequence[Floats]) -> Floats:
    """Return the weights of two samples in bins between the deciles of the first, of shape (2, n_bins); the last bin is missing.

    A bin contains its upper end. A number that a tenth of the first sample has is a bin of its own.
    """
    present = ~np.isnan(parts[0])
    values, at = np.unique(parts[0][present], return_inverse=True)
    totals = np.bincount(at, weight[0][present], len(values))
    edges = np.empty(0)
    if len(values):
        below = np.cumsum(totals) / totals.sum()
        deciles = values[np.searchsorted(below, np.arange(1, _N_BINS) / _N_BINS - 1e-12)]
        frequent = values[totals >= totals.sum() / _N_BINS]
        edges = np.unique(np.concatenate([deciles, frequent, np.nextafter(frequent, -np.inf)]))
    found = np.zeros((2, len(edges) + 2))
    for row, part, w in zip(found, parts, weight, strict=True):
        missing = np.isnan(part)
        row[:-1] = np.bincount(np.searchsorted(edges, part[~missing]), w[~missing], len(edges) + 1)
        row[-1] = w[missing].sum()
    return found


def count_levels(parts: Sequence[NDArray[Any]], weight: Sequence[Floats], n_levels: int) -> Floats:
    """Return the weights of two samples by level, of shape (2, n_levels + 1); the last is that of missing values."""
    codes = [np.where(part < 0, n_levels, part.astype(np.intp)) for part in parts]
    return np.stack([np.bincount(code, w, n_levels + 1) for code, w in zip(codes, weight, strict=True)])


def new_level_p_value(counts: Floats) -> float:
    r"""Return the probability of at least as many levels in the second sample alone, if both samples have one distribution.

    All c rows of a level are in the second of two samples of n and m rows with probability
    :math:`\binom{n + m - c}{m - c} / \binom{n + m}{m}`; the number of such levels has about a Poisson distribution.

    Parameters
    ----------
    counts : ndarray of shape (2, n_levels)
        Without missing values.
    """
    c = counts.sum(axis=0)
    total, m = float(c.sum()), float(counts[1].sum())
    n_new = int(np.count_nonzero((counts[0] == 0) & (counts[1] > 0)))
    if not n_new:
        return 1.0
    c = c[(c > 0) & (c <= m)]
    logs = special.gammaln(total - c + 1) - special.gammaln(m - c + 1)
    logs += special.gammaln(m + 1) - special.gammaln(total + 1)
    return float(special.gammainc(n_new, np.exp(logs).sum()))


def share_p_value(first: tuple[float, float], second: tuple[float, float]) -> float:
    """Return Fisher's exact p-value of two shares, each as the rows of a kind and all rows; weighted rows are rounded."""
    from scipy.stats import fisher_exact

    (a, n), (b, m) = ((round(part), round(whole)) for part, whole in (first, second))
    if a + b in (0, n + m):
        return 1.0
    # With many rows of both kinds the chi-squared test is as accurate, and fast.
    if min(a + b, n + m - a - b) * min(n, m) > 50 * (n + m):
        return compare_counts(np.array([[a, n - a], [b, m - b]], dtype=np.float64))[1]
    return float(fisher_exact([[a, n - a], [b, m - b]])[1])


def power_of_ten(parts: Sequence[Floats]) -> int:
    """Return k if the second sample is as the first one times 10**k, k other than 0; otherwise 0."""
    present = [part[~np.isnan(part)] for part in parts]
    sizes = [float(np.median(np.abs(part))) if len(part) else 0.0 for part in present]
    if not all(sizes):
        return 0
    k = round(math.log10(sizes[1] / sizes[0]))
    if not k:
        return 0
    rows = [np.ones(len(part)) for part in present]
    n = [len(part) for part in present]
    changed = compare_numbers(present, rows, n)[0]
    rescaled = compare_numbers([present[0], present[1] / 10.0**k], rows, n)[0]
    # The distance of numbers around 0 and their thousandfold is at most .5, and .4 of the tenfold.
    return k if changed >= MIN_UNIT_DISTANCE and rescaled <= min(0.2, changed / 2) else 0
