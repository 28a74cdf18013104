"""Associations of two columns without the target, by their kinds or by counts of intervals; and groups of similar columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, leaves_list, linkage, optimal_leaf_ordering
from scipy.sparse import csr_array
from scipy.spatial.distance import squareform
from scipy.special import betainc, betaincinv, gammaln

from tamiz.arrays import Codes, Floats, Indices, Masks, divide_or_zero, is_missing
from tamiz.criteria.base import gather_statistics
from tamiz.criteria.discretization import ColumnCoder
from tamiz.criteria.entropies import MissingRule, SymmetricUncertainty
from tamiz.kernels.contingency import LEFT_OUT, add_pair_weights, bin_values, symmetric_uncertainty
from tamiz.runtime import parallel, progress
from tamiz.runtime.random import make_rng
from tamiz.runtime.validation import check_memory
from tamiz.statistics.cross_products import CommonRows
from tamiz.statistics.cuts import EqualFrequency, SortedColumn
from tamiz.table.base import Table, weights_or_ones
from tamiz.table.duplicate_detection import compute_fingerprints, find_duplicate_columns
from tamiz.table.views import positive_weight_rows, select_columns, select_rows, without_target

# Intervals of a numeric column: at most ten, and so few that a cell of the contingency table of two columns has five rows. Below so
# many rows per cell, the uncertainty of two columns is corrected for chance.
_MAX_BINS, _MIN_BINS, _MIN_ROWS_PER_CELL = 10, 2, 5
_PAIR_TILE = 2**18


# Two columns with fewer rows in common have the association 0 where values are missing. The correlation of ten rows of noise is at
# least 0.95 with probability 2.6e-5, that of five with 0.013.
MIN_COMMON_ROWS = 10


def count_common_rows(table: Table, columns: Sequence[int]) -> NDArray[np.int64]:
    """Return the number of rows in which both of two columns have a value, of shape (n_columns, n_columns)."""
    incomplete = [k for k, j in enumerate(columns) if table.schema.columns[j].n_missing]
    common = (
        table.reduce(CommonRows(tuple(columns[k] for k in incomplete)))[0].counts if incomplete else np.empty((0, 0))
    )
    return _common_of_all(common, incomplete, len(columns), table.schema.n_rows).astype(np.int64)


def _common_of_all(common: NDArray[Any], incomplete: list[int], n: int, whole: float) -> NDArray[Any]:
    """Return the number, or weight, of common rows of all pairs of n columns from those of the pairs of incomplete columns."""
    counts = np.full((n, n), whole)
    if incomplete:
        counts[incomplete] = common.diagonal()[:, None]
        counts[:, incomplete] = np.minimum(counts[:, incomplete], common.diagonal())
        counts[np.ix_(incomplete, incomplete)] = common
    return counts


def pair_association(n_rows: float) -> SymmetricUncertainty:
    """Return the measure of pairs of columns: numbers are cut into intervals of equal frequency, without the target.

    MDL would leave some columns in one interval, where even a column and its copy have a symmetric uncertainty of 0.
    """
    return SymmetricUncertainty(discretization=EqualFrequency(_n_intervals(n_rows)))


def _n_intervals(n_rows: float) -> int:
    return min(_MAX_BINS, max(_MIN_BINS, math.isqrt(int(n_rows) // _MIN_ROWS_PER_CELL)))


def target_uncertainties(table: Table, missing: MissingRule = "distribute") -> Floats:
    """Return the symmetric uncertainty of every column with the target, 0 without a target."""
    schema = table.schema
    relevance = None if schema.target is None else SymmetricUncertainty(missing=missing).adapt_to(schema)
    if relevance is None:
        return np.zeros(schema.n_columns)
    return relevance.scores(gather_statistics([relevance], table.reduce, schema), schema)


def pair_uncertainties(table: Table, association: SymmetricUncertainty, first: Indices, second: Indices) -> Floats:
    """Return the symmetric uncertainties of pairs of columns on the rows with both values; 0 for fewer than `MIN_COMMON_ROWS`."""
    pairs = association.pairwise(table.reduce, table.schema, complete=True)
    n_pairs = len(first)
    values = np.empty(n_pairs)
    for start in range(0, n_pairs, _PAIR_TILE):
        here = slice(start, start + _PAIR_TILE)
        values[here] = pairs.associations(first[here], second[here])
        progress.report_progress("Comparing columns", min(start + _PAIR_TILE, n_pairs), n_pairs)
    n_common = _common_rows_of_pairs(table, first, second)
    return np.where(n_common < min(MIN_COMMON_ROWS, table.schema.n_rows), 0.0, values)


def _common_rows_of_pairs(table: Table, first: Indices, second: Indices) -> NDArray[np.int64]:
    n = table.schema.n_columns
    columns = np.flatnonzero(np.bincount(first, minlength=n) + np.bincount(second, minlength=n))
    position = np.zeros(n, dtype=np.intp)
    position[columns] = np.arange(len(columns))
    return count_common_rows(table, columns.tolist())[position[first], position[second]]


def recut_uncertainties(
    table: Table,
    first: Indices,
    second: Indices,
    uncertainties: Floats,
    corrected: Floats,
    threshold: float,
) -> Floats:
    """Return symmetric uncertainties corrected for chance, those from a quarter of the threshold on with cuts on the common rows.

    Columns with other missing values are cut at other places, which lowers the uncertainty of copies.
    """
    columns = table.schema.columns
    is_incomplete = np.array([column.is_number and column.n_missing > 0 for column in columns])
    doubtful = np.flatnonzero((uncertainties >= threshold / 4) & (is_incomplete[first] | is_incomplete[second]))
    values = {j: table.column(j) for j in np.union1d(first[doubtful], second[doubtful]).tolist()}
    weight = weights_or_ones(table)

    shuffled = make_rng(0).permutation(len(weight))

    def recut(pair: int) -> float:
        both = [values[int(side[pair])] for side in (first, second)]
        rows = ~(is_missing(both[0]) | is_missing(both[1]))
        n_rows = int(rows.sum())
        a, b = (_cut_evenly(one[rows], weight[rows]) if one.dtype.kind == "f" else one[rows] for one in both)
        value = _uncertainty(a, b, weight[rows])
        if value < threshold or (int(a.max()) + 1) * (int(b.max()) + 1) <= n_rows / _MIN_ROWS_PER_CELL:
            return value
        return _above_chance(value, _uncertainty(a, b[_shuffle_rows(shuffled, rows)], weight[rows]))

    recut_values = corrected.copy()
    recut_values[doubtful] = list(parallel.map_blocks(recut, doubtful.tolist()))
    return recut_values


def _uncertainty(a: Codes, b: Codes, weight: Floats) -> float:
    counts = np.zeros((int(a.max(initial=0)) + 2, int(b.max(initial=0)) + 2))
    add_pair_weights(a, b, weight, counts)
    return float(symmetric_uncertainty(counts, LEFT_OUT, np.zeros(3)))


def _shuffle_rows(shuffled: Indices, rows: Masks) -> Indices:
    return (np.cumsum(rows) - 1)[shuffled[rows[shuffled]]]


def _above_chance(value: float, expected: float) -> float:
    return (value - expected) / (1 - expected) if expected < 1 else 0.0


def _cut_evenly(values: Floats, weight: Floats) -> Codes:
    order = np.argsort(values, kind="stable")
    labels = np.zeros(len(values), dtype=np.int32)
    edges = EqualFrequency(_n_intervals(len(values))).cuts(
        SortedColumn(values[order], labels, weight[order], 1, np.empty(0))
    )
    codes = np.empty(len(values), dtype=np.int32)
    bin_values(values, edges, codes)
    return codes


def chance_corrected_uncertainties(
    table: Table,
    association: SymmetricUncertainty,
    first: Indices,
    second: Indices,
    uncertainties: Floats,
    threshold: float,
) -> Floats:
    """Return the symmetric uncertainties of pairs of columns, corrected for chance.

    Columns of many values share much by chance, because hardly any pair of values occurs twice. As in the adjusted mutual
    information, a value U becomes (U - E) / (1 - E), where E is the uncertainty after the rows of one column are shuffled. Only
    pairs that reach the threshold, and have few rows per cell, are corrected.
    """
    rule, levels = association.discretization, table.schema.n_levels
    assert isinstance(rule, EqualFrequency)
    sizes = np.full(table.schema.n_columns, rule.n_bins)
    sizes[list(levels)] = list(levels.values())
    schema = table.schema
    doubtful = np.flatnonzero(uncertainties >= threshold)
    a, b = first[doubtful], second[doubtful]
    n_common = _common_rows_of_pairs(table, a, b) * (schema.n_effective / schema.n_rows)
    doubtful = doubtful[sizes[a] * sizes[b] > n_common / _MIN_ROWS_PER_CELL]
    if not len(doubtful):
        return uncertainties
    coder = ColumnCoder(rule, table.schema, with_target=False, caller="study")
    coding = coder.gather_coding(table.reduce)
    codes: dict[int, Codes] = {}
    for j in np.union1d(first[doubtful], second[doubtful]).tolist():
        codes[j] = np.concatenate([coding.encode(block, j) for block in table.blocks([j])]).astype(np.int32)
    weight = weights_or_ones(table)
    shuffled = make_rng(0).permutation(len(weight))

    def chance(pair: int) -> float:
        a, b = int(first[pair]), int(second[pair])
        # The rows with both values are shuffled among themselves.
        rows = (codes[a] >= 0) & (codes[b] >= 0)
        return _uncertainty(codes[a][rows], codes[b][rows][_shuffle_rows(shuffled, rows)], weight[rows])

    expected = np.fromiter(parallel.map_blocks(chance, doubtful.tolist()), dtype=np.float64, count=len(doubtful))
    corrected = uncertainties.copy()
    corrected[doubtful] = [_above_chance(*pair) for pair in zip(uncertainties[doubtful], expected, strict=True)]
    return corrected


# The smallest association of redundant columns, of equivalent ones, and of those that are equal but for their scale or names.
REDUNDANT, EQUIVALENT, COPY = 0.9, 0.99, 0.9999
# The probability that any pair of independent columns counts as associated, at most.
_CHANCE = 0.01
# A correlation of the values counts only where that of the ranks is at least this share of it: an outlier of both columns alone
# makes no copy.
_MIN_RANK_SHARE = 0.5
# Correlations of ranks in which missing values may hide a redundant or an equivalent pair: they are computed on the common rows.
_DOUBTFUL = ((0.8, REDUNDANT), (0.96, COPY))
# A category with more levels than this, and with fewer rows a level, may be an id. Recodings have nearly as many levels.
_MAX_LEVELS, _MIN_LEVEL_ROWS, _MIN_LEVEL_SHARE = 20, 20, 0.9
_TILE, _CHUNK_ROWS = 512, 2**15
# Numbers of 3 to so many values, and fewer than a fifth of the rows, may be codes of categories; not where there are very many.
_MAX_CODES, _MAX_CODE_WORK = 50, 20_000_000_000
# Contingency tables of more cells are counted by their pairs of values.
_MAX_CELLS = 2**16
_BYTES_PER_PAIR, _BYTES_PER_VALUE = 80.0, 48.0
# Of a table of more values evenly spaced rows are used, at least so many.
_MAX_VALUES, _MIN_ROWS = 10_000_000, 1000
MEASURES = ("equal", "|r|", "|rho|", "V", "eta", "eta of ranks")
_EQUAL, _R, _RHO, _V, _ETA, _RANK_ETA = range(len(MEASURES))


@dataclass(frozen=True)
class KindAssociations:
    r"""The association of every pair of some columns, in [0, 1], by a measure that depends on their kinds.

    Attributes
    ----------
    values : ndarray of shape (n_columns, n_columns)
        The association; 0 on the diagonal.
    measures : ndarray of shape (n_columns, n_columns), uint8
        The measure of each pair, as a position in `MEASURES`.
    supported : ndarray of shape (n_columns, n_columns), bool
        Whether independent columns would hardly have such an association in any pair.
    n_common : ndarray of shape (n_columns, n_columns)
        The number of rows with both values.

    Notes
    -----
    All measures use the rows with both values, with their weights.

    Two numbers: the larger of the absolute values of Pearson's and Spearman's correlation; Pearson's counts only where Spearman's
    is at least half of it, so that an outlier of both columns alone makes no association.

    Two categories, or numbers of 3 to 50 values that may be codes of categories: Cramer's V with the bias correction of Bergsma.
    With :math:`\varphi^2 = \chi^2 / n`,

    .. math:: V^2 = \frac{\max(0, \varphi^2 - (k - 1)(l - 1) / (n - 1))}{\min(\tilde k, \tilde l) - 1}, \quad
        \tilde k = k - \frac{(k - 1)^2}{n - 1}

    It is 1 also where one column determines the other, such as town and country, because the smaller number of levels counts.

    For numbers it counts only where it is larger than the other measures.

    A number and a category: the correlation ratio eta, of the values or of the ranks, the larger one under the condition above.
    :math:`\eta^2 = 1 - (1 - \eta_0^2)(n - 1) / (n - k)` is corrected for the k levels (Kelley's epsilon squared).

    A pair is `supported` if it has at least 10 common rows where values are missing, if random pairings of the two columns have at
    least 100 outcomes for every pair of columns, and if a correlation or a correlation ratio as large has a probability of at most
    .01 / (number of pairs) in independent normal columns. A category of more than 20 levels, and of fewer than 20 rows a level, may
    be an id that determines whatever is constant in its levels: it is supported only with categories of as many levels (90 %).
    Equal columns (with other names of the levels) are always supported. Rows of a group count as one row for chance.

    Cost O(n p^2) for n rows and p columns, which are in memory. Of a table of more than 10 million values evenly spaced rows are
    used, at least 1,000.

    References
    ----------
    Bergsma (2013), A bias-correction for Cramer's V and Tschuprow's T, Journal of the Korean Statistical Society 42; Kelley
    (1935), An unbiased correlation ratio measure, PNAS 21.
    """

    columns: Indices
    values: Floats
    measures: NDArray[np.uint8]
    supported: Masks
    n_common: NDArray[np.int64]

    @property
    def beyond_chance(self) -> Floats:
        """The associations, 0 where they may be chance."""
        return np.where(self.supported, self.values, 0.0)

    def measure(self, i: int, j: int) -> str:
        """Return the name of the measure of the pair at two positions."""
        return MEASURES[self.measures[i, j]]


def max_rows(n_columns: int) -> int:
    """Return the number of rows that are used, at most."""
    return max(_MAX_VALUES // max(n_columns, 1), _MIN_ROWS)


def associate_columns(table: Table, columns: Sequence[int]) -> KindAssociations:
    p = len(columns)
    check_memory(
        _BYTES_PER_PAIR * p * p + _BYTES_PER_VALUE * p * min(table.schema.n_rows, max_rows(p)),
        f"The associations of {p:,} columns with each other",
        "Keep fewer columns first, with RankSelector.",
    )
    table = positive_weight_rows(without_target(table))
    if table.schema.n_rows > max_rows(p):
        table = select_rows(table, np.linspace(0, table.schema.n_rows - 1, max_rows(p)).astype(np.intp))
    schema = table.schema
    values, measures = np.zeros((p, p)), np.zeros((p, p), dtype=np.uint8)
    n_common = count_common_rows(table, columns)
    supported = n_common >= min(MIN_COMMON_ROWS, schema.n_rows)
    weight = weights_or_ones(table)
    # Rows of a group may be one observation.
    n_independent = (
        schema.n_effective if table.groups is None else min(schema.n_effective, len(np.unique(table.groups)))
    )
    weight = weight * (n_independent / weight.sum())
    counted = _common_weights(table, columns, weight)
    is_number = np.array([schema.columns[j].is_number for j in columns], dtype=bool)
    numeric, nominal = np.flatnonzero(is_number), np.flatnonzero(~is_number)
    alpha = _CHANCE / max(p * (p - 1) // 2, 1)
    numbers, _ = read_numbers(table, [columns[k] for k in numeric.tolist()])
    codes = [table.column(columns[k]) for k in nominal.tolist()]
    ranks = _ranks(numbers, weight)
    variety, levels = np.zeros((2, p))
    for k, one in zip([*numeric, *nominal], [*ranks.T, *codes], strict=True):
        variety[k], levels[k] = _log_orders(one, weight)
    share = divide_or_zero(variety, counted.diagonal())
    supported &= np.minimum(share, share[:, None]) * counted >= -np.log(alpha)
    # A category of few rows a level may be an id, which determines whatever is constant in its levels: it only has recodings.
    is_fine = ~is_number & (levels > np.maximum(_MAX_LEVELS, counted.diagonal() / _MIN_LEVEL_ROWS))
    alike = np.minimum(levels, levels[:, None]) >= _MIN_LEVEL_SHARE * np.maximum(levels, levels[:, None])
    supported &= ~(is_fine | is_fine[:, None]) | (alike & ~is_number & ~is_number[:, None])
    enough = supported.copy()
    if len(numeric):
        here = np.ix_(numeric, numeric)
        r, rho = _correlate(numbers, weight), _correlate(ranks, weight)
        _refine_ranks(numbers, weight, rho)
        values[here], measures[here] = _larger(r, rho, _R, _RHO)
        supported[here] &= values[here] >= _critical_correlation(counted[here], alpha)
    if len(numeric) and len(nominal):
        here = np.ix_(nominal, numeric)
        eta, chance = _correlation_ratios(codes, numbers, weight, counted[here])
        rank_eta, rank_chance = _correlation_ratios(codes, ranks, weight, counted[here])
        values[here], measures[here] = _larger(eta, rank_eta, _ETA, _RANK_ETA)
        supported[here] &= np.where(measures[here] == _ETA, chance, rank_chance) <= alpha
        there = np.ix_(numeric, nominal)
        values[there], measures[there], supported[there] = values[here].T, measures[here].T, supported[here].T
    as_codes = _codes_of_numbers(numbers, codes)
    coded = np.concatenate([nominal, numeric[list(as_codes)]]).astype(np.intp)
    if len(coded) > 1:
        here = np.ix_(coded, coded)
        v = _cramers_v([*codes, *as_codes.values()], weight, counted[here])
        larger = v > values[here] + 1e-9
        larger[: len(nominal), : len(nominal)] = True
        values[here], measures[here] = np.where(larger, v, values[here]), np.where(larger, _V, measures[here])
        supported[here] |= larger & enough[here]
    _set_equal(table, columns, values, measures, supported)
    np.fill_diagonal(values, 0.0)
    return KindAssociations(np.array(columns, dtype=np.intp), values, measures, supported, n_common)


def _larger(plain: Floats, ranked: Floats, one: int, other: int) -> tuple[Floats, NDArray[np.uint8]]:
    plain = np.where(ranked >= _MIN_RANK_SHARE * plain, plain, 0.0)
    # Up to rounding the plain measure is named.
    is_ranked = ranked > plain + 1e-9
    return np.clip(np.maximum(plain, ranked), 0.0, 1.0), np.where(is_ranked, other, one).astype(np.uint8)


def read_numbers(table: Table, columns: list[int]) -> tuple[Floats, Floats]:
    """Return numbers of shape (n_rows, n_columns), divided by the largest absolute value of each column, and these values."""
    numbers = np.empty((table.schema.n_rows, len(columns)))
    for k, j in enumerate(columns):
        numbers[:, k] = table.column(j)
    with np.errstate(invalid="ignore"):
        largest = np.fmax.reduce(np.abs(numbers), axis=0, initial=0.0)
    scale: Floats = np.where(largest > 0, largest, 1.0)
    return numbers / scale, scale


def _codes_of_numbers(numbers: Floats, codes: list[Codes]) -> dict[int, Codes]:
    """Return the codes of the numeric columns that have few values, by their position; none where there are very many levels."""
    found = {}
    n = len(numbers)
    for k in range(numbers.shape[1]):
        values = numbers[:, k]
        # Most columns have many values in their first rows.
        if len(np.unique(values[:1000])) <= _MAX_CODES + 1:
            present = ~np.isnan(values)
            levels, of_rows = np.unique(values[present], return_inverse=True)
            if 3 <= len(levels) <= min(_MAX_CODES, n // 5):
                found[k] = np.full(n, -1, dtype=np.int32)
                found[k][present] = of_rows
    n_levels = sum(int(one.max(initial=0)) + 1 for one in [*codes, *found.values()] if one.max(initial=0) < _MAX_CODES)
    return found if n_levels**2 * n <= _MAX_CODE_WORK else {}


def _ranks(numbers: Floats, weight: Floats) -> Floats:
    """Return the mid-ranks of every column among its present values, as sums of weights."""
    ranks = np.full(numbers.shape, np.nan)

    def rank(k: int) -> None:
        rows = np.flatnonzero(~np.isnan(numbers[:, k]))
        ranks[rows, k] = _mid_ranks(numbers[rows, k], weight[rows])

    parallel.run_blocks(rank, range(numbers.shape[1]))
    return ranks


def _mid_ranks(values: Floats, weight: Floats) -> Floats:
    order = np.argsort(values, kind="stable")
    if not len(order):
        return np.empty(0)
    ascending = values[order]
    starts = np.flatnonzero(np.concatenate([[True], ascending[1:] != ascending[:-1]]))
    weights = np.add.reduceat(weight[order], starts)
    ranks = np.empty(len(values))
    ranks[order] = np.repeat(np.cumsum(weights) - weights / 2, np.diff(starts, append=len(values)))
    return ranks


def _log_orders(values: NDArray[Any], weight: Floats) -> tuple[float, int]:
    """Return the logarithm of the number of different orders of the present values, and the number of different values."""
    present = ~is_missing(values)
    found, at = np.unique(values[present], return_inverse=True)
    counts = np.bincount(at, weights=weight[present])
    return float(gammaln(counts.sum() + 1) - gammaln(counts + 1).sum()), len(found)


def _common_weights(table: Table, columns: Sequence[int], weight: Floats) -> Floats:
    """Return the weight of the rows in which both of two columns have a value."""
    incomplete = [k for k, j in enumerate(columns) if table.schema.columns[j].n_missing]
    present = np.zeros((len(weight), len(incomplete)))
    for position, k in enumerate(incomplete):
        present[:, position] = ~is_missing(table.column(columns[k]))
    return _common_of_all(present.T @ (present * weight[:, None]), incomplete, len(columns), weight.sum())


def _centre(values: Floats, weight: Floats) -> tuple[Floats, Floats, Floats]:
    """Return where columns have values, as 0 and 1, their differences from the mean, 0 where missing, and their weights."""
    missing = np.isnan(values)
    present = (~missing).astype(np.float64)
    total = np.maximum(weight @ present, 1e-300)
    centred = np.where(missing, 0.0, values)
    centred -= present * (weight @ centred / total)
    return present, centred, total


def _correlate(values: Floats, weight: Floats) -> Floats:
    """Return the absolute correlations of all pairs of columns, each on the rows with both values; 0 where one is constant."""
    m = values.shape[1]
    present, centred, total = _centre(values, weight)
    deviation = np.sqrt(weight @ centred**2 / total)
    centred *= divide_or_zero(1.0, deviation)
    found = np.empty((m, m))
    complete = bool(present.all())

    def fill(start: int) -> None:
        here = slice(start, start + _TILE)
        own = centred[:, here] * weight[:, None]
        products = own.T @ centred
        if complete:
            found[here] = np.abs(products) / weight.sum()
            return
        both = np.maximum((present[:, here] * weight[:, None]).T @ present, 1e-300)
        first = (own.T @ present) / both
        second = ((present[:, here] * weight[:, None]).T @ centred) / both
        first_variance = ((own * centred[:, here]).T @ present) / both - first**2
        second_variance = ((present[:, here] * weight[:, None]).T @ centred**2) / both - second**2
        # A variance that is only rounding is none.
        varied = (first_variance > 1e-9) & (second_variance > 1e-9)
        scale = np.sqrt(np.where(varied, first_variance * second_variance, 1.0))
        found[here] = np.where(varied, np.abs(products / both - first * second) / scale, 0.0)

    parallel.run_blocks(fill, range(0, m, _TILE))
    return np.minimum(np.maximum(found, found.T), 1.0)


def _refine_ranks(numbers: Floats, weight: Floats, rho: Floats) -> None:
    """Rank the common rows of pairs whose correlation of ranks may be too small because of missing values."""
    incomplete: Masks = np.asarray(np.isnan(numbers).any(axis=0))
    doubtful = np.any([(rho >= low) & (rho < high) for low, high in _DOUBTFUL], axis=0)
    first, second = np.nonzero(np.triu(doubtful & (incomplete | incomplete[:, None]), 1))

    def refine(at: int) -> None:
        i, j = first[at], second[at]
        rows = ~np.isnan(numbers[:, i] + numbers[:, j])
        pair = np.column_stack([_mid_ranks(numbers[rows, k], weight[rows]) for k in (i, j)])
        rho[i, j] = rho[j, i] = _correlate(pair, weight[rows])[0, 1]

    parallel.run_blocks(refine, range(len(first)))


def _critical_correlation(n: Floats, alpha: float) -> Floats:
    """Return the absolute correlation that independent normal columns of n rows exceed with probability alpha."""
    sizes, where = np.unique(n, return_inverse=True)
    tail = betaincinv(np.maximum(sizes - 2, 1e-3) / 2, 0.5, alpha)
    critical: Floats = np.where(sizes > 2, np.sqrt(1.0 - tail), 2.0)
    return critical[where].reshape(n.shape)


def _cramers_v(codes: list[Codes], weight: Floats, counted: Floats) -> Floats:
    c = len(codes)
    phi, levels = np.zeros((c, c)), np.ones((c, c))
    sizes = np.array([int(one.max(initial=-1)) + 1 for one in codes])
    # Pairs of columns of few levels are products of indicators; those of many levels, and of many rows, are counted one by one.
    is_large = sizes**2 > 6e5 / max(len(weight), 1) + 60
    tiles: list[list[int]] = [[]]
    for k in np.flatnonzero(~is_large).tolist():
        if tiles[-1] and sizes[[*tiles[-1], k]].sum() > _TILE:
            tiles.append([])
        tiles[-1].append(k)

    def fill_tile(at: tuple[int, int]) -> None:
        one, other = (tiles[k] for k in at)
        found, first, second = _tile_phi(codes, sizes, one, other, weight)
        here, there = np.ix_(one, other), np.ix_(other, one)
        phi[here], phi[there], levels[here], levels[there] = found, found.T, first, second.T

    def fill_pair(at: tuple[int, int]) -> None:
        i, j = at
        phi[i, j], levels[i, j], levels[j, i] = _pair_phi(codes[i], codes[j], weight)
        phi[j, i] = phi[i, j]

    if tiles[0]:
        parallel.run_blocks(fill_tile, [(i, j) for i in range(len(tiles)) for j in range(i, len(tiles))])
    pairs = np.nonzero(np.triu(is_large | is_large[:, None], 1))
    parallel.run_blocks(fill_pair, zip(*(side.tolist() for side in pairs), strict=True))
    # The levels of the first column, and those of the second one.
    first_levels, second_levels = levels, levels.T
    n = np.maximum(counted - 1, 1e-9)
    free = (first_levels - 1) * (second_levels - 1)
    smaller = np.minimum(
        first_levels - 1 - (first_levels - 1) ** 2 / n, second_levels - 1 - (second_levels - 1) ** 2 / n
    )
    v = np.sqrt(np.clip(divide_or_zero(np.maximum(phi - free / n, 0.0), np.maximum(smaller, 0.0)), 0.0, 1.0))
    # Both orders of a pair may differ in the last bit.
    return np.maximum(v, v.T)


def _tile_phi(
    codes: list[Codes], sizes: Indices, one: list[int], other: list[int], weight: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return phi squared of every column of one tile with every column of another, and their numbers of levels."""
    counts = np.zeros((sizes[one].sum(), sizes[other].sum()))
    for start in range(0, len(weight), _CHUNK_ROWS):
        here = slice(start, start + _CHUNK_ROWS)
        left, right = (_indicators([codes[k][here] for k in tile], sizes[tile]) for tile in (one, other))
        counts += left.T @ (right * weight[here, None].astype(np.float32))
    starts = [np.concatenate([[0], np.cumsum(sizes[tile])[:-1]]) for tile in (one, other)]
    owner = [np.repeat(np.arange(len(tile)), sizes[tile]) for tile in (one, other)]
    rows = np.add.reduceat(counts, starts[1], axis=1)
    columns = np.add.reduceat(counts, starts[0], axis=0)
    total = np.add.reduceat(rows, starts[0], axis=0)
    parts = divide_or_zero(counts**2, rows[:, owner[1]] * columns[owner[0]])
    phi = np.add.reduceat(np.add.reduceat(parts, starts[1], axis=1), starts[0], axis=0) - (total > 0)
    first = np.add.reduceat((rows > 0).astype(np.float64), starts[0], axis=0)
    second = np.add.reduceat((columns > 0).astype(np.float64), starts[1], axis=1)
    return phi, first, second


def _indicators(codes: list[Codes], sizes: Indices) -> NDArray[np.float32]:
    return np.concatenate(
        [(one[:, None] == np.arange(size)) for one, size in zip(codes, sizes.tolist(), strict=True)], axis=1
    ).astype(np.float32)


def _pair_table(a: NDArray[Any], b: NDArray[Any], weight: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the cells with rows of a contingency table, the sums of their rows and columns, and the two numbers of levels."""
    a, b = a.astype(np.int64), b.astype(np.int64)
    height, width = int(a.max(initial=0)) + 1, int(b.max(initial=0)) + 1
    at = a * width + b
    if height * width <= max(_MAX_CELLS, len(a)):
        table: Floats = np.bincount(at, weights=weight, minlength=height * width).astype(np.float64)
        cells = np.flatnonzero(table)
        counts = table[cells]
    else:
        cells, at = np.unique(at, return_inverse=True)
        counts = np.bincount(at, weights=weight).astype(np.float64)
    rows, columns = (np.bincount(one, weights=weight).astype(np.float64) for one in (a, b))
    return (
        counts,
        rows[cells // width],
        columns[cells % width],
        np.array([(rows > 0).sum(), (columns > 0).sum()], float),
    )


def _pair_phi(one: Codes, other: Codes, weight: Floats) -> tuple[float, float, float]:
    both = (one >= 0) & (other >= 0)
    if not both.any():
        return 0.0, 1.0, 1.0
    counts, rows, columns, levels = _pair_table(one[both], other[both], weight[both])
    return float((counts**2 / (rows * columns)).sum()) - 1.0, float(levels[0]), float(levels[1])


def _correlation_ratios(codes: list[Codes], numbers: Floats, weight: Floats, counted: Floats) -> tuple[Floats, Floats]:
    """Return eta of every category (rows) with every number (columns), and the probability of one as large by chance."""
    present, centred, _ = _centre(numbers, weight)
    eta, chance = (np.zeros((len(codes), numbers.shape[1])) for _ in range(2))

    def fill(k: int) -> None:
        rows = np.flatnonzero(codes[k] >= 0)
        if not len(rows):
            return
        indicators = csr_array((weight[rows], codes[k][rows], np.arange(len(rows) + 1)))
        sums, sizes = indicators.T @ centred[rows], indicators.T @ present[rows]
        whole, n = sums.sum(axis=0), np.maximum(sizes.sum(axis=0), 1e-300)
        between = divide_or_zero(sums**2, sizes).sum(axis=0) - whole**2 / n
        around = weight[rows] @ centred[rows] ** 2 - whole**2 / n
        varied = around > 1e-12 * np.maximum(weight @ centred**2, 1e-300)
        within = np.clip(1.0 - divide_or_zero(between, np.where(varied, around, 0.0)), 0.0, 1.0)
        within = np.where(varied, within, 1.0)
        levels = (sizes > 0).sum(axis=0)
        free = counted[k] - levels
        eta[k] = np.where(
            free > 0, np.sqrt(np.clip(1.0 - within * (counted[k] - 1) / np.maximum(free, 1e-9), 0.0, 1.0)), 0
        )
        # The unexplained share of independent normal numbers has a beta distribution.
        usable = (free > 0) & (levels > 1)
        chance[k] = np.where(usable, betainc(np.maximum(free, 1e-9) / 2, np.maximum(levels - 1, 1) / 2, within), 1.0)

    parallel.run_blocks(fill, range(len(codes)))
    return eta, chance


def _set_equal(
    table: Table,
    columns: Sequence[int],
    values: Floats,
    measures: NDArray[np.uint8],
    supported: Masks,
) -> None:
    """Set the association of equal columns to 1, whatever their number of values."""
    fingerprints = compute_fingerprints(select_columns(table, columns), rows=False, distinct_values=False).columns
    position = {j: k for k, j in enumerate(columns)}
    equal: dict[int, list[int]] = {}
    for later, first in find_duplicate_columns(table, fingerprints).items():
        equal.setdefault(position[first], [position[first]]).append(position[later])
    for group in equal.values():
        here = np.ix_(group, group)
        values[here], measures[here], supported[here] = 1.0, _EQUAL, True


def one_sided_associations(found: KindAssociations, table: Table, threshold: float) -> Floats:
    r"""Return how far each column (rows) determines each other one (columns): the association, or 0 where it determines it less.

    Parameters
    ----------
    table : Table
        The table of the associations.
    threshold : float
        Only associations from this on are tested, and pairs of numbers are not: of these each determines the other.

    Notes
    -----
    A town determines its country, but not the other way round. The association of a category j with a column i that determines it
    is the square root of Goodman and Kruskal's tau, the share of the Gini variance of j that i explains:

    .. math:: \tau = \frac{P(\text{two rows of equal } i \text{ have equal } j) - \sum_b p_b^2}{1 - \sum_b p_b^2}

    For a number of many values, rows of equal i are neighbours in its order. For two categories of two levels it is V, as eta is
    for numbers, so the thresholds are the same.
    """
    sided = found.beyond_chance
    explained = _ExplainedVariance(table)
    is_category = np.isin(found.measures, (_V, _ETA, _RANK_ETA))
    for i, k in zip(*np.nonzero((sided >= threshold) & is_category), strict=True):
        # eta is the association of the number that the category determines.
        is_eta = found.measures[i, k] != _V and table.schema.columns[found.columns[k]].is_number
        if not is_eta and explained(int(found.columns[i]), int(found.columns[k])) < threshold**2:
            sided[i, k] = 0.0
    return sided


class _ExplainedVariance:
    """Goodman and Kruskal's tau of two columns, with the codes of columns that were read before."""

    def __init__(self, table: Table) -> None:
        self._table = positive_weight_rows(without_target(table))
        self._weight = weights_or_ones(self._table)
        self._values: dict[int, NDArray[Any]] = {}
        self._coded: dict[int, bool] = {}

    def __call__(self, i: int, j: int) -> float:
        a, b = self._read(i), self._read(j)
        both = ~(is_missing(a) | is_missing(b))
        a, b, weight = a[both], b[both], self._weight[both]
        total = weight.sum()
        alone = float(((np.bincount(b, weights=weight) / total) ** 2).sum()) if total > 0 else 1.0
        if alone >= 1.0:
            return 0.0
        if self._coded[i]:
            counts, rows, _, _ = _pair_table(a, b, weight)
            same = float((counts**2 / rows).sum() / total)
        else:
            ordered = b[np.argsort(a, kind="stable")]
            same = float((ordered[1:] == ordered[:-1]).mean())
        return (same - alone) / (1.0 - alone)

    def _read(self, j: int) -> NDArray[Any]:
        """Return codes, -1 where missing, or the numbers of a column of many values."""
        if j not in self._values:
            values = self._table.column(j)
            levels, of_rows = np.unique(values[~is_missing(values)], return_inverse=True)
            coded = not self._table.schema.columns[j].is_number or len(levels) <= max(len(values) // 5, 2)
            if coded:
                codes = np.full(len(values), -1, dtype=np.int32)
                codes[~is_missing(values)] = of_rows
                values = codes
            self._values[j], self._coded[j] = values, coded
        return self._values[j]


def complete_linkage_groups(similarities: Floats, threshold: float) -> list[Indices]:
    """Return the complete-linkage groups of two or more columns, whose pairs have at least this similarity, from 0 to 1."""
    # Only the few columns with a similar other column can be in a group.
    some = np.flatnonzero((similarities >= threshold).any(axis=1))
    if not len(some):
        return []
    distances = 1 - similarities[np.ix_(some, some)]
    np.fill_diagonal(distances, 0.0)
    # 1e-12 covers rounding: 1 - (1 - threshold) may differ from the threshold in the last bit.
    labels = fcluster(linkage(squareform(distances, checks=False), "complete"), 1 - threshold + 1e-12, "distance")
    return [group for label in np.unique(labels) if len(group := some[labels == label]) > 1]


def leaf_order(similarities: Floats, max_columns: int) -> Indices:
    """Return columns in an order that puts similar ones side by side: all, or those with the largest similarities."""
    strongest = similarities.max(axis=1)
    kept = np.sort(np.argsort(-strongest, kind="stable")[:max_columns])
    if len(kept) < 3:
        return kept
    square = 1 - similarities[np.ix_(kept, kept)]
    np.fill_diagonal(square, 0.0)
    distances = squareform(square, checks=False)
    tree = optimal_leaf_ordering(linkage(distances, "average"), distances)
    return kept[leaves_list(tree)]
