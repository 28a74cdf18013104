"""Regressions of columns on a growing set of columns, computed from their correlations."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.linalg import solve_triangular

from tamiz.arrays import Floats

# A share of unexplained variance below this is 0, and the column is determined exactly: sums of many rows are rounded.
ROUNDING = 1e-10
# A larger share is no error of rounding: standardised coefficients would have to exceed 1e6.
_MAX_ROUNDING = 1e-3


class StepwiseRegression:
    r"""Regressions of all columns on a growing set of columns.

    A column is determined exactly by the set if the set explains its variance but for a share of 1e-10, or of the error of rounding
    where that is larger. The shares are computed from a Cholesky factorisation of the correlation matrix, to which each column of
    the set adds a row:

    .. math:: R^2_j = \sum_k l_{kj}^2, \qquad l_{kj} = \frac{r_{kj} - \sum_{m<k} l_{mk} l_{mj}}{l_{kk}}

    Parameters
    ----------
    correlations : ndarray of shape (n_columns, n_columns)
        With ones on the diagonal, and 0 for a column without variance.

    Attributes
    ----------
    columns : list of int
        The columns of the set, in the order in which they were added.

    Notes
    -----
    Cost O(n_columns k^2) for k columns of the set.

    The order matters where columns are nearly collinear. Let e and f be standard normal and independent of a, b = a + 1e-4 e and
    c = e + 1e-3 f. In the order a, b, c no column is determined by those before it: the set leaves a share of 1e-8 of b
    unexplained, and 1e-6 of c. In the order a, c, b it leaves 1e-14 of b, which is therefore determined. A selector that prefers
    some columns must use their order. `add_basis` uses the second one, to detect that a correlation matrix is singular: in its
    order the coefficients are small, and so are errors of rounding.

    References
    ----------
    Golub and Van Loan (2013), Matrix Computations, sections 4.2 and 4.2.8, for the factorisation and its pivots.

    Examples
    --------
    >>> import numpy as np
    >>> from tamiz.statistics.stepwise_regression import StepwiseRegression
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> X[:, 2] = X[:, 0] + X[:, 1]
    >>> regression = StepwiseRegression(np.corrcoef(X.T))
    >>> regression.add(2)
    >>> regression.add(0)
    >>> regression.r2(1), regression.explain(1, 1 - regression.rounding(1))
    (1.0, [0, 2])
    """

    def __init__(self, correlations: Floats) -> None:
        self._correlations = correlations
        self.columns: list[int] = []
        # The Cholesky factor, with a row for each column of the set, and the share of variance that the set does not explain.
        self._factor = np.empty(correlations.shape)
        self._unexplained = correlations.diagonal().copy()

    def r2(self, column: int) -> float:
        """Return the share of the variance of a column that the set explains, 1 if the set determines it exactly."""
        unexplained = float(self._unexplained[column])
        return 1.0 if unexplained < self.rounding(column) else min(1.0 - unexplained, 1.0)

    def rounding(self, column: int) -> float:
        """Return the share of the variance of a column that may be unexplained because of rounding.

        Errors d of the correlations change the share by at most d (1 + sum |b|)^2, where b are the standardised coefficients.
        """
        if not self.columns or self._unexplained[column] > _MAX_ROUNDING:
            return ROUNDING
        size = 1.0 + float(np.abs(self.coefficients([column])).sum())
        return max(ROUNDING, 4 * float(np.finfo(float).eps) * size**2)

    def add(self, column: int) -> None:
        k = len(self.columns)
        factor = self._factor[:k]
        row = (self._correlations[column] - factor[:, column] @ factor) / np.sqrt(self._unexplained[column])
        self._factor[k] = row
        self._unexplained -= row**2
        self.columns.append(column)

    def add_basis(self) -> None:
        """Add the column that the set explains least, the first of equals, until the set determines every column."""
        while len(self.columns) < len(self._correlations):
            column = int(np.argmax(self._unexplained))
            if self._unexplained[column] < ROUNDING:
                return
            self.add(column)

    def coefficients(self, columns: Iterable[int]) -> Floats:
        """Return the standardised coefficients of regressions on the set, of shape (len(self.columns), number of columns)."""
        factor = self._factor[: len(self.columns)]
        found: Floats = solve_triangular(factor[:, self.columns], factor[:, list(columns)])
        return found

    def explain(self, column: int, threshold: float) -> list[int]:
        """Return few columns of the set, ascending, that explain a column up to the threshold of R2."""
        inner = self._correlations[np.ix_(self.columns, self.columns)]
        outer = self._correlations[self.columns, column]
        forward, partial = StepwiseRegression(inner), outer.copy()
        explained = 0.0
        while explained < threshold and len(forward.columns) < len(outer):
            gains = np.divide(
                partial**2, forward._unexplained, out=np.zeros(len(outer)), where=forward._unexplained > ROUNDING
            )
            gains[forward.columns] = -1.0
            best = int(np.argmax(gains))
            if gains[best] <= 0:
                break
            slope = partial[best] / np.sqrt(forward._unexplained[best])
            explained += slope**2
            forward.add(best)
            partial -= slope * forward._factor[len(forward.columns) - 1]
        chosen = forward.columns
        for one in list(chosen):
            rest = [other for other in chosen if other != one]
            if rest and _r2(inner[np.ix_(rest, rest)], outer[rest]) >= threshold:
                chosen = rest
        return sorted(self.columns[k] for k in chosen)


def _r2(correlations: Floats, with_target: Floats) -> float:
    return float(with_target @ np.linalg.solve(correlations, with_target))
