"""ReliefF: differences of a column between near rows of different classes, compared with those between near rows of one class."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats
from tamiz.criteria.row_comparison import (
    ComparedRows,
    RowComparison,
    read_compared_rows,
    scaled_differences,
    sum_over_blocks,
)
from tamiz.kernels.relief import add_neighbor_differences, distance_block, nearest_by_group
from tamiz.runtime.random import Seed
from tamiz.runtime.user_warnings import list_names, warn, warn_user
from tamiz.runtime.validation import check_integer, check_positive
from tamiz.runtime.verdicts import Verdict
from tamiz.table.base import Table
from tamiz.table.schema import Schema

# With so many times more rows in the largest class than in the others, noise scores above many columns that predict the target.
_MAX_CLASS_RATIO = 20


class ReliefF(RowComparison):
    r"""How much more a column differs between near rows of different classes than between near rows of one class, in [-1, 1].

    .. math:: W_j = \frac{1}{m} \sum_{i} \left( \sum_{c \ne c_i} \frac{P(c)}{1 - P(c_i)} \sum_{r \in M_c(i)} v_r \delta_j(i, r)
        - \sum_{r \in H(i)} v_r \delta_j(i, r) \right)

    over m rows i, with the k nearest rows of the same class H(i), the nearest *hits*, the k nearest rows of every other class
    :math:`M_c(i)`, the nearest *misses*, and the shares P(c) of the classes. The influences v of the neighbours in one sum add up
    to 1. The distance of two rows is the sum of the differences :math:`\delta_j` of all columns: for numbers :math:`|x - y|`
    divided by the range of the column, for categories 0 or 1.

    With a numeric target this is RReliefF. It has the k nearest rows N(i) of all, and estimates the same difference of
    probabilities, with :math:`\tau` for the difference of the targets divided by their range:

    .. math:: W_j = \frac{\sum_{ir} v_r \tau(i, r) \delta_j(i, r)}{\sum_{ir} v_r \tau(i, r)}
        - \frac{\sum_{ir} v_r (1 - \tau(i, r)) \delta_j(i, r)}{m - \sum_{ir} v_r \tau(i, r)}

    Parameters
    ----------
    n_neighbors : int, default=10
        k. A class with fewer other rows has as many neighbours as it has; a warning names it.
    n_samples : int, default=None
        m, the number of rows that are drawn without replacement and compared with all rows; None compares all rows.
    sigma : float, default=None
        The t-th neighbour, t = 0, 1, ..., has an influence proportional to :math:`\exp(-(t / \sigma)^2)`. None gives all neighbours
        the same influence.
    max_rows : int, default=None
        Largest number of rows of the table that are used; more are sampled at random. None uses all rows, and in a study or by
        name as many as need 10 billion differences: 10,000 rows of 100 columns.
    random_state : int, Generator or RandomState, default=0
        Seed of both samples.

    Raises
    ------
    DataError
        When the table has no target.

    Notes
    -----
    Cost O(m n p) differences, about 5 billion a second on one core, and O(32 n) memory for each thread beyond the rows. A column
    that is independent of the target by itself still scores high where near rows of different classes differ in it: unlike
    criteria of single columns, ReliefF finds columns that interact. Where one class has many times more rows than the others, its
    nearest hits are nearer than its nearest misses in every column, and noise scores above 0; a warning states it.

    A row of frequency weight 2 is two equal rows, each the other's nearest hit. With sampling weights the mean over the rows i is
    weighted, the influence of a neighbour is also proportional to its weight, and P(c) is the share of the weights of class c. The
    k nearest rows are counted, not weighed.

    Missing values are treated as in Weka: if the value of one row is missing, the difference is its expected value 1 - 1/L for a
    category with L levels, and max(x, 1 - x) for a number scaled to x in [0, 1]; if both are missing, it is 1 - 1/L, and 1 for
    numbers. A column with a single value, also beside missing ones, scores 0 and is left out of the distances. Of rows at
    equal distances, compared as in `KNearest`, the one with the lower row number is nearer.

    Scores equal those of Weka's ReliefFAttributeEval, with these exceptions: Weka has another order of rows at equal distances,
    its L includes levels that are declared but do not occur, and it treats numbers with a range below 1e-6 as constant.

    References
    ----------
    Kononenko (1994), Estimating attributes: analysis and extensions of RELIEF, ECML.
    Robnik-Sikonja and Kononenko (2003), Theoretical and empirical analysis of ReliefF and RReliefF, Machine Learning 53.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import RankSelector
    >>> from tamiz.criteria import ReliefF
    >>> X, y = load_iris(return_X_y=True)
    >>> RankSelector(ReliefF()).fit(X, y).scores_.round(2)
    array([0.14, 0.12, 0.36, 0.38])
    """

    def __init__(
        self,
        n_neighbors: int = 10,
        *,
        n_samples: int | None = None,
        sigma: float | None = None,
        max_rows: int | None = None,
        random_state: Seed = 0,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_samples = n_samples
        self.sigma = sigma
        self.max_rows = max_rows
        self.random_state = random_state

    def n_compared(self, n_rows: int) -> int:
        """Return how many of `n_rows` rows are compared with all of them."""
        return n_rows if self.n_samples is None else min(check_integer("n_samples", self.n_samples, low=1), n_rows)

    def read_rows(self, table: Table) -> ComparedRows:
        """Return the rows of a table, with expected differences where a value is missing."""
        return read_compared_rows(table, sort_by_target=table.schema.has_classes, skip_missing=False)

    def compare_rows(self, rows: ComparedRows, schema: Schema, rng: np.random.Generator) -> Floats:
        """Return the scores of the columns of `rows`."""
        k, n = check_integer("n_neighbors", self.n_neighbors, low=1), rows.n_rows
        n_compared = self.n_compared(n)
        drawn = np.arange(n) if n_compared == n else rng.choice(n, n_compared, replace=False)
        queries = np.sort(drawn).astype(np.int64)
        # No group has more than n - 1 other rows.
        influence = np.ones(min(k, n - 1))
        if self.sigma is not None:
            influence = np.exp(-((np.arange(len(influence)) / check_positive("sigma", self.sigma)) ** 2))
        if schema.has_classes:
            warn_user([*_small_class_warnings(rows, schema, k), *_imbalance_warnings(rows, schema)])
            return _class_scores(rows, queries, influence)
        if n <= k:
            warn("TZ307", f"ReliefF: the table has {n:,} rows, so each row has {n - 1:,} neighbours instead of {k:,}.")
        return _regression_scores(rows, queries, influence)


def _small_class_warnings(rows: ComparedRows, schema: Schema, k: int) -> Iterator[Verdict]:
    starts = rows.class_starts()
    assert schema.target is not None
    small = [schema.target.levels[rows.target[start]] for start in starts[:-1][np.diff(starts) <= k].tolist()]
    if small:
        verb, subject = ("has", "class") if len(small) == 1 else ("have", "classes")
        yield Verdict(
            "TZ307",
            f"ReliefF: {len(small):,} {subject} of the target {verb} fewer than {k + 1:,} rows ({list_names(small)}), so fewer "
            f"than {k:,} neighbours there. Choose a smaller n_neighbors to give all classes equally many.",
        )


def _imbalance_warnings(rows: ComparedRows, schema: Schema) -> Iterator[Verdict]:
    """Yield a warning where the misses of the largest class are drawn from far fewer rows than its hits."""
    starts = rows.class_starts()
    sizes = np.diff(starts)
    largest = int(sizes.argmax())
    others = np.delete(sizes, largest)
    # The mean size of the other classes, by their weights in the scores of rows of the largest.
    if sizes[largest] <= _MAX_CLASS_RATIO * (others @ others) / others.sum():
        return
    assert schema.target is not None
    level = schema.target.levels[rows.target[starts[largest]]]
    yield Verdict(
        "TZ504",
        f"ReliefF: class {level!r} has {sizes[largest]:,} of the {rows.n_rows:,} rows, so rows of other classes are farther "
        "from it in every column than its own rows, and columns of noise, categories most of all, score above 0. Compare the "
        "scores with those of permuted columns (BorutaSelector, --method boruta), or use MultiSURF.",
    )


def _neighbors(
    rows: ComparedRows, queries: NDArray[np.int64], starts: NDArray[np.int64], influence: Floats
) -> tuple[NDArray[np.int64], Floats]:
    """Return the nearest rows of every group, and their influences, which add up to 1: shape (n_queries, n_groups, k)."""
    distances = np.empty((len(queries), rows.n_rows))
    distance_block(rows.table, queries, distances)
    nearest = np.empty((len(queries), len(starts) - 1, len(influence)), dtype=np.int64)
    nearest_by_group(distances, queries, starts, nearest)
    influences = np.where(nearest >= 0, influence * rows.weight[nearest], 0.0)
    # A class of a single row has no hits.
    total = influences.sum(axis=2, keepdims=True)
    return nearest, np.divide(influences, total, out=influences, where=total > 0)


def _weighted_sums(
    rows: ComparedRows, queries: NDArray[np.int64], nearest: NDArray[np.int64], weights: Floats
) -> Floats:
    totals = np.zeros(len(rows.source_columns))
    shape = (len(queries), -1)
    add_neighbor_differences(rows.table, queries, nearest.reshape(shape), weights.reshape(shape), totals)
    return totals


def _class_scores(rows: ComparedRows, queries: NDArray[np.int64], influence: Floats) -> Floats:
    starts = rows.class_starts()
    share = np.add.reduceat(rows.weight, starts[:-1]) / rows.weight.sum()
    class_of = np.repeat(np.arange(len(share)), np.diff(starts))
    # The weight of neighbours of class c for a row of class d.
    class_weights = share / (1 - share[:, None])
    np.fill_diagonal(class_weights, -1.0)

    def block_sums(block: NDArray[np.int64]) -> Floats:
        nearest, influences = _neighbors(rows, block, starts, influence)
        weights = class_weights[class_of[block]] * rows.weight[block, None]
        return _weighted_sums(rows, block, nearest, influences * weights[:, :, None])

    sums: Floats = sum_over_blocks(block_sums, queries, rows.n_rows)
    return sums / rows.weight[queries].sum()


def _regression_scores(rows: ComparedRows, queries: NDArray[np.int64], influence: Floats) -> Floats:
    target = scaled_differences(rows.target)
    starts = np.array([0, rows.n_rows], dtype=np.int64)

    def block_sums(block: NDArray[np.int64]) -> Floats:
        nearest, influences = _neighbors(rows, block, starts, influence)
        influences *= rows.weight[block, None, None]
        weights = influences * np.abs(target[block][:, None, None] - target[nearest])
        different = _weighted_sums(rows, block, nearest, weights)
        both = _weighted_sums(rows, block, nearest, influences)
        return np.stack([different, both, np.full_like(both, weights.sum())])

    with_target, all_differences, target_differences = sum_over_blocks(block_sums, queries, rows.n_rows)
    n_different = target_differences[0]
    n_alike = rows.weight[queries].sum() - n_different
    # Without a difference of the targets, or without equal ones, that part is 0.
    separating = with_target / n_different if n_different > 0 else 0.0
    within = (all_differences - with_target) / n_alike if n_alike > 0 else 0.0
    return np.asarray(separating - within)
