"""Weighted means and cross products of columns with missing values, in one pass over the data."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from copy import copy
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from tamiz.arrays import Floats, divide_or_zero, is_missing
from tamiz.kernels.moments import add_deviations
from tamiz.runtime import parallel
from tamiz.statistics.base import Block, Statistic

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


# Values of a chunk, and its minimum and maximum number of rows: a chunk stays in the cache, and blocks of 4096 rows are one chunk.
_CHUNK_VALUES, _MIN_ROWS, _MAX_ROWS = 2**22, 256, 4096
# Rows from which the centre is estimated: of a part, and of the table.
_CENTRE_ROWS, _START_ROWS = 32, 256
# Maximum ratio of the squared mean, relative to the centre, to the variance: beyond it float32 products are too inaccurate.
_MAX_SQUARED_OFFSET = 4.0
# Ratio of the squared mean to the variance up to which the centre is 0, so that rows need not be copied.
_ZERO_CENTRE_OFFSET = 2.0
_MIN_WEIGHT = 1e-300
# The smallest share of a sum of squares about the mean of a column that is a variance about the mean of some of its rows.
_MIN_VARIANCE_SHARE = 1e-9
# Sums of squares in float32 are accurate between these.
_MIN_SQUARES, _MAX_SQUARES = 1e-20, 1e30
# Values of the columns of which common rows are counted together.
_COMMON_TILE = 2**18


class LevelIndicators(NamedTuple):
    """A categorical column as one indicator column (0 or 1) for every level; `missing_level` counts for a missing value."""

    column: int
    n_levels: int
    missing_level: int | None = None


@dataclass(eq=False)
class ScatterMatrix(Statistic):
    """Weighted means of columns, and their weighted cross products about the means.

    The coordinates are the numeric columns, followed by an indicator (0 or 1) for every level of the categorical columns. Every
    part of the rows is summed relative to a centre of its own and shifted when it is merged (Chan, Golub and LeVeque 1983): raw
    sums of squares would lose the variances to rounding. float32 rows are multiplied in float32, 2^22 values at a time, and
    summed in float64, with a relative error of about 1e-6. Their parts share one centre (`with_start_centre`). A part far from
    it, as in sorted columns, gets a centre of its own; if that is not accurate either, or squares leave the range of float32,
    the part is multiplied in float64.

    Parameters
    ----------
    incomplete : tuple of int
        The columns that have missing values.
    with_squares : bool, default=False
        Whether squares are summed for every pair of columns with missing values, for `correlations`. Sums are then in float64.

    Attributes
    ----------
    total_weight : float
        Total weight of the rows.
    mean : ndarray of shape (n,)
        Means of the values that are not missing.
    matrix : ndarray of shape (n, n)
        Weighted sum over the rows of (x - mean)(x - mean)', where a missing value counts as the mean.
    """

    numeric: tuple[int, ...]
    categorical: tuple[LevelIndicators, ...]
    incomplete: tuple[int, ...] = ()
    with_squares: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        self.mean: Floats
        self.total_weight: float
        incomplete = self.incomplete
        self.with_squares = self.with_squares and bool(incomplete)
        self.columns = self.numeric + tuple(one.column for one in self.categorical)
        self._coordinate_columns = owners = [
            *self.numeric,
            *(one.column for one in self.categorical for _ in range(one.n_levels)),
        ]
        # 0 means present in every row; the others index the incomplete columns.
        self._presence_index = np.array(
            [1 + incomplete.index(j) if j in incomplete else 0 for j in owners], dtype=np.intp
        )
        self._first_coordinates = [
            int(np.argmax(self._presence_index == kind)) for kind in range(1, 1 + len(incomplete))
        ]
        self._start_centre: Floats | None = None
        # Columns that are not constant: constant ones have squares of 0, which are exact.
        self._varying = np.ones(len(owners), dtype=bool)
        self._reset(None)

    def _reset(self, centre: Floats | None) -> None:
        """Remove all rows and set the centre; None means that it is estimated from the rows."""
        n, n_kinds = len(self._presence_index), 1 + len(self.incomplete)
        self._centre = np.full(n, np.nan) if centre is None else centre.copy()
        # Sums over the rows of w z z', w z p' and w p p': z is the centred row with 0 for missing values, p is 1 where present.
        self.matrix = np.zeros((n, n))
        self._sums = np.zeros((n, n_kinds))
        # Sums of w z^2 p'.
        self._squares = np.zeros((n, n_kinds if self.with_squares else 0))
        self._weights = np.zeros((n_kinds, n_kinds))

    def empty(self) -> Self:
        new = copy(self)
        new.n_samples = 0
        new._reset(None)
        return new

    def with_start_centre(self, block: Block, constant: Collection[int]) -> Self:
        """Return a new statistic whose centre for float32 parts is estimated from the first rows of the table.

        `constant` has the columns of the table that are constant.
        """
        new = self.empty()
        new._varying = np.array([owner not in constant for owner in self._coordinate_columns])
        first = block.slice_rows(block.rows.start, min(block.rows.start + _START_ROWS, block.rows.stop))
        new._find_centre(design_matrix(first, self.numeric, self.categorical, first.dtype), _START_ROWS)
        new._start_centre = new._centre
        return new

    def update(self, block: Block) -> Self:
        if block.dtype != np.float32 or self.with_squares:
            self._add_block(block, np.float64)
            return self
        part = self.empty() if self.n_samples else self
        attempts: list[tuple[Floats | None, type[np.floating[Any]]]] = [(None, np.float32), (None, np.float64)]
        if self._start_centre is not None:
            attempts.insert(0, (self._start_centre, np.float32))
        for centre, dtype in attempts:
            part._reset(centre)
            if part._add_block(block, dtype):
                break
        return self if part is self else self.merge(part)

    def _add_block(self, block: Block, dtype: type[np.floating[Any]]) -> bool:
        """Add the rows of a block, and return whether their products are accurate in the dtype."""
        n = len(self._centre)
        size = min(max(_CHUNK_VALUES // max(n, 1), _MIN_ROWS), _MAX_ROWS)
        # Centred rows and their products: allocating them for every chunk would cost more than the sums.
        buffers = np.empty((min(size, len(block.rows)), n), dtype), np.empty((n, n), dtype)
        if not all(self._add_rows(part, *buffers) for part in block.split_rows(size)):
            return False
        self.n_samples += len(block.rows)
        if dtype == np.float64:
            return True
        weight = np.maximum(self.present_weight, _MIN_WEIGHT)
        mean = self._sums[np.arange(n), self._presence_index] / weight
        square = self.matrix.diagonal() / weight
        return bool((mean**2 <= _MAX_SQUARED_OFFSET * np.maximum(square - mean**2, 0.0)).all())

    def _find_centre(self, rows: NDArray[Any], n_first: int = _CENTRE_ROWS) -> None:
        """Set the centre of columns without values so far to about their mean, and exactly to the value of a constant column.

        The centre is 0 if the means of all columns are small relative to their standard deviations.
        """
        for sample in (rows[:n_first], rows):
            new = np.flatnonzero(np.isnan(self._centre))
            if not len(new) or not len(sample):
                return
            values = sample[:, new].astype(np.float64, copy=False)
            present = ~np.isnan(values)
            first = values[np.argmax(present, axis=0), np.arange(len(new))]
            differences = np.where(present, values - first, 0.0)
            centre = first + differences.mean(axis=0) * (len(sample) / np.maximum(present.sum(axis=0), 1))
            if len(new) == len(self._centre) and (centre**2 <= _ZERO_CENTRE_OFFSET * differences.var(axis=0)).all():
                centre[:] = 0.0
            self._centre[new] = centre.astype(rows.dtype)

    def _add_rows(self, block: Block, buffer: NDArray[Any], products: NDArray[Any]) -> bool:
        """Add rows, and return whether their squares are within the range of the dtype of the buffer."""
        rows, weight = design_matrix(block, self.numeric, self.categorical, buffer.dtype.type), block.weight
        single = buffer.dtype == np.float32
        if weight is not None:
            rows, weight = rows[weight > 0], weight[weight > 0]
            if single and not ((weight > _MIN_SQUARES) & (weight < _MAX_SQUARES)).all():
                return False
        self._find_centre(rows)
        centre = np.where(np.isnan(self._centre), 0.0, self._centre).astype(buffer.dtype)
        # A copy is needed if values are changed below; a product of non-contiguous rows would make a slow copy itself.
        no_copy = not centre.any() and not self.incomplete and weight is None and rows.flags.c_contiguous
        z = rows if no_copy else np.subtract(rows, centre, out=buffer[: len(rows)])
        present = np.ones((len(z), 1 + len(self.incomplete)), buffer.dtype)
        if self.incomplete:
            missing = np.isnan(z)
            present[:, 1:] = ~missing[:, self._first_coordinates]
            z[missing] = 0.0
        weighed = present if weight is None else present * weight[:, None]
        sums = z.T @ weighed.astype(buffer.dtype, copy=False)
        if self.with_squares:
            self._squares += (z**2).T @ weighed
        if weight is not None:
            z *= np.sqrt(weight).astype(buffer.dtype)[:, None]
        with np.errstate(over="ignore", invalid="ignore"):
            np.matmul(z.T, z, out=products)
        if single and not self._is_accurate(products.diagonal(), z):
            return False
        self.matrix += products
        self._sums += sums
        self._weights += present.T.astype(np.float64) @ weighed
        return True

    def _is_accurate(self, squares: NDArray[Any], z: NDArray[Any]) -> bool:
        """Return whether the sums of squares of all columns are within the accurate range of float32."""
        if not (squares < _MAX_SQUARES).all():
            return False
        small = (squares < _MIN_SQUARES) & self._varying
        if not small.any():
            return True
        # One pass over all rows is faster than a copy of some columns.
        total, zero = np.zeros((2, len(squares)), np.float32)
        add_deviations(z, zero, total)
        return not total[small].any()

    def merge(self, other: Self) -> Self:
        self._centre = np.where(np.isnan(self._centre), other._centre, self._centre)
        moved = self._centre - other._centre
        shift = np.where(np.isnan(moved), 0.0, moved)
        self._squares += other._recentred_squares(shift)
        matrix, sums = other._recentred_sums(shift)
        self.matrix += matrix
        self._sums += sums
        self._weights += other._weights
        self.n_samples += other.n_samples
        return self

    def _recentred_sums(self, shift: Floats) -> tuple[Floats, Floats]:
        """Return the cross products and sums relative to the centre plus `shift`."""
        sums = self._sums - self._weights[self._presence_index] * shift[:, None]
        if not shift.any():
            return self.matrix, sums
        # Sum of w p_i p_j (z_i - m_i)(z_j - m_j), where p is 1 for present values.
        across = self._sums - 0.5 * self._weights[self._presence_index] * shift[:, None]
        across = (across[:, self._presence_index] if self.incomplete else across) * shift
        matrix = self.matrix - across
        matrix -= across.T
        return matrix, sums

    def _recentred_squares(self, shift: Floats) -> Floats:
        """Return the sums of squares relative to the centre plus `shift`."""
        if not self.with_squares or not shift.any():
            return self._squares
        return self._squares + shift[:, None] * (self._weights[self._presence_index] * shift[:, None] - 2 * self._sums)

    def finish(self) -> None:
        rows = np.arange(len(self._centre))
        weight = self._weights[self._presence_index, self._presence_index]
        own = self._sums[rows, self._presence_index]
        moved = divide_or_zero(own, weight)
        self._squares = self._recentred_squares(moved)
        self.matrix, self._sums = self._recentred_sums(moved)
        self._sums[rows, self._presence_index] = 0.0
        self.mean = np.nan_to_num(self._centre) + moved
        self._centre = self.mean
        self.total_weight = float(self._weights[0, 0])

    @staticmethod
    def work_bytes(n_coordinates: int, n_incomplete: int = 0) -> float:
        """Return the memory for the statistic in bytes: a matrix for each concurrent part, and its decomposition afterwards.

        `n_incomplete` is the number of incomplete columns with squares.
        """
        return 8.0 * n_coordinates * (n_coordinates + 2 * n_incomplete) * (2 * parallel.n_threads() + 6)

    @property
    def present_weight(self) -> Floats:
        return self._weights[self._presence_index, self._presence_index]

    def pairwise_covariance(self) -> tuple[Floats, Floats]:
        """Return the covariance of every pair over the rows with both values, 0 if their weight is below 2, and that weight."""
        weight = self._weights[self._presence_index][:, self._presence_index]
        sums = self._sums[:, self._presence_index]
        products = self.matrix - sums * sums.T / np.where(weight > 0, weight, 1.0)
        return np.divide(products, weight - 1, out=np.zeros_like(products), where=weight >= 2), weight

    def imputed_correlations(self) -> Floats:
        """Return the correlations of the coordinates, where a missing value counts as the mean; 0 with one without variance."""
        # Squares of numbers below 1e-150 underflow to 0.
        inverse = divide_or_zero(1.0, np.sqrt(self.matrix.diagonal()))
        correlations = np.clip(self.matrix * inverse[:, None] * inverse, -1.0, 1.0)
        np.fill_diagonal(correlations, 1.0)
        return correlations

    def correlations(self) -> Floats:
        """Return the correlation of every pair over the rows with both values; it needs `with_squares` where values are missing.

        It is 0 for a column that is constant in these rows. The matrix need not be positive semidefinite.
        """
        if not self.incomplete:
            return self.imputed_correlations()
        weight = self._weights[self._presence_index][:, self._presence_index]
        sums, squares = self._sums[:, self._presence_index], self._squares[:, self._presence_index]
        means = divide_or_zero(sums, weight)
        variances = squares - means * sums
        # A smaller difference of the two is due to rounding.
        inverse = divide_or_zero(1.0, np.sqrt(np.where(variances > _MIN_VARIANCE_SHARE * squares, variances, 0.0)))
        correlations = np.clip((self.matrix - means * sums.T) * inverse * inverse.T, -1.0, 1.0)
        np.fill_diagonal(correlations, 1.0)
        return correlations


def design_matrix(
    block: Block,
    numeric: tuple[int, ...],
    categorical: tuple[LevelIndicators, ...],
    dtype: type[np.floating[Any]] = np.float64,
) -> NDArray[Any]:
    """Return a matrix of the numeric columns, followed by indicators of every level; a missing value is NaN in all of its
    indicators.

    Without categorical columns it may be a view of the block.
    """
    parts = [block.matrix(numeric, dtype)]
    for column, n_levels, missing_level in categorical:
        codes = block.column(column)
        if missing_level is not None:
            codes = np.where(codes < 0, missing_level, codes)
        indicators = np.zeros((len(codes), n_levels), dtype)
        indicators[np.arange(len(codes)), codes] = 1.0
        indicators[codes < 0] = np.nan
        parts.append(indicators)
    return parts[0] if len(parts) == 1 else np.hstack(parts)


@dataclass(eq=False)
class CommonRows(Statistic):
    """The number of rows in which both of two columns have a value.

    Attributes
    ----------
    counts : ndarray of shape (n_columns, n_columns), int64
    """

    columns: tuple[int, ...]

    def __post_init__(self) -> None:
        self.counts = np.zeros((len(self.columns), len(self.columns)), dtype=np.int64)

    def update(self, block: Block) -> Self:
        # Sums of so few ones are exact in float32.
        for part in block.split_rows(max(_COMMON_TILE // len(self.columns), 256)):
            present = np.array([~is_missing(part.values[j]) for j in self.columns], dtype=np.float32)
            self.counts += (present @ present.T).astype(np.int64)
        self.n_samples += len(block.rows)
        return self

    def merge(self, other: Self) -> Self:
        self.counts += other.counts
        self.n_samples += other.n_samples
        return self
