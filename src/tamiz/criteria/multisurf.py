"""MultiSURF: ReliefF with a radius of its own for every row instead of a number of neighbours."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats
from tamiz.criteria.row_comparison import ComparedRows, RowComparison, read_compared_rows, sum_over_blocks
from tamiz.kernels.relief import COMPLETE_NUMBER, add_near_differences, distance_block, mark_near_rows
from tamiz.runtime.random import Seed
from tamiz.table.base import Table
from tamiz.table.schema import Schema


class MultiSURF(RowComparison):
    r"""How much more a column differs between near rows of different classes than between near rows of one class, in [-1, 1].

    .. math:: W_j = \frac{1}{n} \sum_i \left( \frac{\sum_{c \ne c_i} P(c) \, \bar\delta_j(i, M_c(i))}{\sum_{c \ne c_i} P(c)}
        - \bar\delta_j(i, H(i)) \right)

    over all n rows i. Row r is *near* row i if its distance is less than :math:`\mu_i - \sigma_i / 2`, with the mean and the
    standard deviation of the distances of row i to all other rows; a row at this distance up to rounding is not near. H(i) are the
    near rows of the same class (near hits), :math:`M_c(i)` those of class c (near misses), P(c) is the share of class c, and
    :math:`\bar\delta_j` the mean difference of column j. Differences and distances are those of `ReliefF`. A class without near
    rows does not count; a mean over no rows is 0.

    With a numeric target, near hits are the near rows whose target differs by less than one standard deviation of the target (with
    n - 1 in the denominator), and near misses are all other near rows.

    Parameters
    ----------
    max_rows : int, default=None
        Largest number of rows of the table that are used; more are sampled at random. None uses all rows, and in a study or by
        name as many as need 10 billion differences: 10,000 rows of 100 columns.
    random_state : int, Generator or RandomState, default=0
        Seed of the sample.

    Raises
    ------
    DataError
        When the table has no target.

    Notes
    -----
    Cost O(n^2 p), about twice that of `ReliefF`, and memory for a second copy of the numbers and O(64 n) for each thread beyond the
    rows. It has no parameter to choose, and detects interactions of two columns and main effects.

    A row of frequency weight 2 is two equal rows, each the other's nearest hit. With sampling weights all means, standard
    deviations and shares are weighted; n - 1 is the effective number of rows minus 1.

    A pair of rows counts for a column only where both values are present, and their distance is the mean over these columns. A
    column with a single value, also beside missing ones, scores 0 and is left out of the distances.

    Scores equal those of scikit-rebate 0.8 for two classes and for numeric targets, in tables of numbers and in tables of
    categories. These differences are intended:

    - More than two classes: scikit-rebate weights the near misses by the shares of the classes among the near rows, with weights
      that do not add up to 1. Here the weights are the shares of the classes in the table, as in ReliefF.
    - Tables with numbers and categories: unless a value is missing, scikit-rebate multiplies the differences of categories in its
      distance by the number of columns divided by the number of categorical ones. It also counts a difference of numbers above
      their standard deviation as 1. Here all columns have the same weight, and differences are the same in all tables.
    - Columns of numbers with at most 10 values are categories in scikit-rebate; here the kind of the column in the table decides.

    References
    ----------
    Urbanowicz, Olson, Schmitt, Meeker and Moore (2018), Benchmarking relief-based feature selection methods for bioinformatics data
    mining, Journal of Biomedical Informatics 85.

    Examples
    --------
    The target is 1 where two columns agree; neither of them has a relation with it by itself:

    >>> import numpy as np
    >>> from tamiz import RankSelector
    >>> from tamiz.criteria import MultiSURF
    >>> X = np.random.default_rng(0).integers(0, 2, (200, 6)).astype(str)
    >>> y = np.where(X[:, 0] == X[:, 1], "equal", "different")
    >>> sorted(RankSelector(MultiSURF()).fit(X, y).ranking_[:2].tolist())
    [0, 1]
    """

    def __init__(self, *, max_rows: int | None = None, random_state: Seed = 0) -> None:
        self.max_rows = max_rows
        self.random_state = random_state

    def read_rows(self, table: Table) -> ComparedRows:
        """Return the rows of a table, sorted by the target; a missing value counts as no difference."""
        return read_compared_rows(table, sort_by_target=True, skip_missing=True)

    def compare_rows(self, rows: ComparedRows, schema: Schema, rng: np.random.Generator) -> Floats:  # noqa: ARG002 - draws nothing
        """Return the scores of the columns of `rows`."""
        present = _present_values(rows)
        number_columns = np.flatnonzero(rows.table.kinds == COMPLETE_NUMBER)
        numbers = np.ascontiguousarray(rows.table.values[number_columns].T)
        groups = _ClassGroups(rows) if schema.has_classes else _TargetGroups(rows)

        def block_sums(block: NDArray[np.int64]) -> Floats:
            distances, near = np.empty((2, len(block), rows.n_rows))
            distance_block(rows.table, block, distances)
            if present is not None:
                n_shared = present[:, block].T @ present + (len(rows.source_columns) - len(present))
                # Rows without a common present column are near none.
                distances = np.divide(distances, n_shared, out=np.full_like(distances, np.inf), where=n_shared > 0)
            mark_near_rows(block, rows.weight, distances, near)
            totals = np.zeros(len(rows.source_columns))
            segments = groups.segments(block)
            add_near_differences(
                rows.table, numbers, number_columns, block, rows.weight, near, *segments, groups.shares, totals
            )
            return totals

        n_values = max(rows.n_rows, len(groups.shares) * len(rows.source_columns))
        sums: Floats = sum_over_blocks(block_sums, np.arange(rows.n_rows), n_values)
        return sums / rows.weight.sum()


def _present_values(rows: ComparedRows) -> Floats | None:
    """Return 1 for present and 0 for missing values of the columns that have missing ones; None if none has."""
    incomplete = rows.table.values[np.isnan(rows.table.values).any(axis=1)]
    return None if not len(incomplete) else (~np.isnan(incomplete)).astype(np.float64)


class _ClassGroups:
    """The segments of rows of one class: the class of a row is group 0, and class c is group c + 1 for rows of other classes."""

    def __init__(self, rows: ComparedRows) -> None:
        self._starts = rows.class_starts()
        n_classes = len(self._starts) - 1
        self._class_of = np.repeat(np.arange(n_classes), np.diff(self._starts))
        # The groups of the segments for a row of each class.
        self._groups = np.where(np.eye(n_classes, dtype=bool), 0, np.arange(1, n_classes + 1))
        class_weights = np.add.reduceat(rows.weight, self._starts[:-1])
        self.shares: Floats = np.concatenate([[0.0], class_weights / rows.weight.sum()])

    def segments(self, block: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the bounds of the segments and their groups, for every row of a block."""
        return self._starts[None].repeat(len(block), axis=0), self._groups[self._class_of[block]]


class _TargetGroups:
    """The segments of rows below, within and above one standard deviation of a numeric target; those within are group 0."""

    def __init__(self, rows: ComparedRows) -> None:
        target = np.asarray(rows.target)
        # Scaled by a power of 2, which is exact: squares of very small numbers underflow.
        self._target = np.ldexp(target, -np.frexp(np.abs(target).max())[1])
        total = rows.weight.sum()
        deviations = self._target - (rows.weight * self._target).sum() / total
        # Sampling weights sum to the effective number of rows.
        n_free = max(total - 1, np.finfo(float).tiny)
        self._radius = np.sqrt((rows.weight * deviations * deviations).sum() / n_free)
        self.shares: Floats = np.array([0.0, 1.0])

    def segments(self, block: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the bounds of the segments and their groups, for every row of a block."""
        own = self._target[block][:, None]
        bounds = np.empty((len(block), 4), dtype=np.int64)
        bounds[:, 0], bounds[:, 3] = 0, len(self._target)
        bounds[:, 1] = (own - self._target >= self._radius).sum(axis=1)
        bounds[:, 2] = len(self._target) - (self._target - own >= self._radius).sum(axis=1)
        return bounds, np.tile(np.array([1, 0, 1]), (len(block), 1))
