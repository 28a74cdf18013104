"""The Relief algorithms: differences of a column between near rows of different classes, compared with those of one class."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats, Indices
from tamiz.criteria.base import Relevance, RowRelevance
from tamiz.criteria.model_relevance import draw_rows, repeat_frequencies
from tamiz.kernels import read_only
from tamiz.kernels.relief import (
    CODE,
    COMPLETE_CODE,
    COMPLETE_NUMBER,
    EXPECTED_NUMBER,
    SKIPPED_NUMBER,
    ScaledColumns,
    add_near_differences,
    add_neighbor_differences,
    distance_block,
    mark_near_rows,
    nearest_by_group,
)
from tamiz.runtime import parallel, progress
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.user_warnings import list_names, warn, warn_user
from tamiz.runtime.validation import check_integer, check_memory, check_positive
from tamiz.runtime.verdicts import Verdict
from tamiz.table.base import Table, target_array, weight_array
from tamiz.table.schema import Schema

# A study compares at most this many values, about two seconds, but at least this many rows, however many columns there are.
_MAX_STUDY_DIFFERENCES = 1e10
_MIN_STUDY_ROWS = 500
# Values that are computed for a block of rows: 2 MB, and at most 32 rows.
_BLOCK_VALUES, _MAX_BLOCK_ROWS = 2**18, 32


@dataclass(frozen=True)
class ComparedRows:
    """The rows of a table, in its order or sorted by the target; rows with equal targets are in the order of the table.

    `table` has the columns in which at least two different values are present, and `source_columns` their numbers in the table.
    `weight` are sampling weights, ones without them.
    """

    table: ScaledColumns
    source_columns: Indices
    target: NDArray[Any]
    weight: Floats

    @property
    def n_rows(self) -> int:
        return len(self.target)

    def class_starts(self) -> NDArray[np.int64]:
        """Return the first row of every class that occurs, and the number of rows; the rows are sorted by class."""
        return np.append(np.flatnonzero(np.diff(self.target, prepend=-1)), self.n_rows).astype(np.int64)


class RowComparison(RowRelevance):
    """A relevance that compares every row with all others; a study compares a limited number of rows."""

    used_by_default: ClassVar[bool] = False
    supports_bootstrap: ClassVar[bool] = False
    max_rows: int | None
    random_state: Seed

    @abstractmethod
    def compare_rows(self, rows: ComparedRows, schema: Schema, rng: np.random.Generator) -> Floats:
        """Return the scores of the columns of `rows`, whose target is not constant."""

    @abstractmethod
    def read_rows(self, table: Table) -> ComparedRows:
        """Return the rows of a table."""

    def n_compared(self, n_rows: int) -> int:
        """Return how many of `n_rows` rows are compared with all of them."""
        return n_rows

    def adapt_to(self, schema: Schema) -> Relevance | None:
        """Return the relevance with `max_rows` set for a study."""
        adapted = super().adapt_to(schema)
        if adapted is None or self.max_rows is not None:
            return adapted
        n_pairs = _MAX_STUDY_DIFFERENCES / max(len(schema.used), 1)
        affordable = max(_MIN_STUDY_ROWS, math.isqrt(int(n_pairs)))
        if self.n_compared(affordable) < affordable:
            affordable = max(affordable, int(n_pairs / self.n_compared(affordable)))
        if schema.n_rows <= affordable:
            return adapted
        return type(self)(**{**self.get_params(), "max_rows": affordable})

    def score(self, table: Table) -> Floats:
        """Return the scores of the table's columns, after comparing its rows."""
        self.check(table.schema)
        rng = make_rng(self.random_state)
        scores = np.zeros(table.schema.n_columns)
        name = type(self).__name__
        rows = self.read_rows(draw_rows(repeat_frequencies(table), self.max_rows, rng, name)[0])
        if len(rows.source_columns) and rows.target.min() != rows.target.max():
            scores[rows.source_columns] = self.compare_rows(rows, table.schema, rng)
        return scores


def sum_over_blocks(function: Callable[[NDArray[np.int64]], Any], queries: NDArray[np.int64], n_values: int) -> Any:
    size = max(1, min(_MAX_BLOCK_ROWS, _BLOCK_VALUES // n_values))
    blocks = [queries[start:stop] for start, stop in parallel.block_ranges(len(queries), size)]
    total, n_done = 0.0, 0
    for block, part in zip(blocks, parallel.map_blocks(function, blocks), strict=True):
        total, n_done = total + part, n_done + len(block)
        progress.report_progress("Comparing rows", n_done, len(queries))
    return total


def read_compared_rows(table: Table, *, sort_by_target: bool, skip_missing: bool) -> ComparedRows:
    """Return the rows of a table; with `skip_missing` a missing value counts as no difference, else as the expected one."""
    schema = table.schema
    columns = schema.used.tolist()
    check_memory(
        16.0 * schema.n_rows * len(columns),
        f"Comparing {schema.n_rows:,} rows of {len(columns):,} columns",
        "Set max_rows, or keep fewer columns first, with RankSelector.",
    )
    target = target_array(table)
    weight = weight_array(table) if schema.weight_kind == "sampling" else None
    order = np.argsort(target, kind="stable") if sort_by_target else np.arange(len(target))
    position = np.empty(len(order), dtype=np.intp)
    position[order] = np.arange(len(order))
    values = np.empty((len(columns), schema.n_rows))
    for k, j in enumerate(columns):
        values[k, position] = table.column(j)
    is_number = np.array([schema.columns[j].is_number for j in columns], dtype=np.bool_)
    n_levels = np.array([len(schema.columns[j].levels) for j in columns], dtype=np.int64)
    values[~is_number[:, None] & (values < 0)] = np.nan
    complete = ~np.isnan(values).any(axis=1)
    low, high = np.fmin.reduce(values, axis=1), np.fmax.reduce(values, axis=1)
    varies = low < high
    # Numbers are scaled to [0, 1].
    values -= np.where(is_number, low, 0.0)[:, None]
    values /= np.where(is_number & varies, high - low, 1.0)[:, None]
    incomplete_number = SKIPPED_NUMBER if skip_missing else EXPECTED_NUMBER
    kinds = np.where(is_number, incomplete_number, CODE).astype(np.int8)
    kinds[complete] = np.where(is_number, COMPLETE_NUMBER, COMPLETE_CODE)[complete]
    expected = np.where(is_number | skip_missing, 0.0, 1 - 1 / np.maximum(n_levels, 1))
    scaled = ScaledColumns(read_only(values[varies]), read_only(kinds[varies]), read_only(expected[varies]))
    return ComparedRows(
        scaled, schema.used[varies], target[order], np.ones(len(order)) if weight is None else weight[order]
    )


def scaled_differences(values: Floats) -> Floats:
    """Return numbers scaled to [0, 1]; 0 where all are equal."""
    low, high = np.fmin.reduce(values), np.fmax.reduce(values)
    return (values - low) / (high - low if high > low else 1.0)


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
