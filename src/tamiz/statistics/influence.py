"""Variances of estimates from the influence of each row: with frequency weights, sampling weights and groups of rows."""

from __future__ import annotations

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
