"""Relevances that are computed from entropies: information gain, gain ratio, symmetric uncertainty, and the entropy of a column."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from tamiz.arrays import Floats, Indices, divide_or_zero
from tamiz.criteria.base import (
    Association,
    GatherFunction,
    HasSelectionWarnings,
    PairwiseAssociations,
    StatisticRelevance,
    StatisticsCache,
    gather_statistics,
)
from tamiz.criteria.discretization import ColumnCoder
from tamiz.criteria.information import FEW_VALUES, PairCounter, chance_level_warnings, count_values, read_coded_rows
from tamiz.exceptions import DataError
from tamiz.kernels import contingency as kernels
from tamiz.kernels.contingency import table_entropies
from tamiz.runtime.parallel import n_threads
from tamiz.runtime.validation import check_choice, check_memory
from tamiz.runtime.verdicts import Verdict
from tamiz.statistics.base import Statistic
from tamiz.statistics.coded_tables import WeightedTable
from tamiz.statistics.contingency import CodedRows, ContingencyTables, LevelCounts
from tamiz.statistics.cuts import MDL, Discretization, EqualFrequency, EqualWidth
from tamiz.table.base import Table
from tamiz.table.in_memory import code_vector, weight_vector
from tamiz.table.schema import Schema
from tamiz.table.views import select_columns, unweighted_sample, weight_groups_equally
from tamiz.table.worker_tasks import map_pairs

MissingRule = Literal["distribute", "category"]
MISSING_RULES: tuple[MissingRule, ...] = ("distribute", "category")
# Measuring the free memory takes longer than filling tables below this size, which every bootstrap sample does again.
_UNCHECKED_BYTES = 2**24


class CountRelevance(StatisticRelevance):
    """A relevance in bits that is computed from counts of the values of columns, with numbers cut into intervals."""

    unit: ClassVar[str] = "bits"

    def __init__(self, *, missing: MissingRule = "distribute", discretization: Discretization | None = None) -> None:
        self.missing = missing
        self.discretization = discretization

    def check(self, schema: Schema) -> None:
        """Raise DataError for a table without a required target, or for which the discretization cannot be used."""
        super().check(schema)
        check_choice("missing", self.missing, MISSING_RULES)
        self._coder(schema)

    def requires(self, cache: StatisticsCache, schema: Schema) -> Sequence[Statistic]:
        """Return the cut points, then the counts."""
        return self._coder(schema).requires(cache) or cache.pending([self._counts(cache, schema)])

    @abstractmethod
    def _coder(self, schema: Schema) -> ColumnCoder: ...

    @abstractmethod
    def _counts(self, cache: StatisticsCache, schema: Schema) -> Statistic:
        """Return the counts, which are filled once the cut points are in the cache."""


class EntropyRelevance(CountRelevance, HasSelectionWarnings):
    """A relevance that is a function of H(X), H(Y) and I(X; Y).

    Parameters
    ----------
    missing : {"distribute", "category"}, default="distribute"
        Distribute the counts of missing values in proportion to the present values, or treat missing as a category of its own.
    discretization : MDL, EqualFrequency or EqualWidth, default=None
        How numeric columns and a numeric target are cut into intervals. None is MDL, which requires classes.
    """

    @abstractmethod
    def _score(self, entropies: Floats) -> Floats:
        """Return scores from the entropies of columns, those of the target, and their mutual information, in bits: (3, n)."""

    def adapt_to(self, schema: Schema) -> Self | None:
        """Return the relevance; for a numeric target, one with 10 intervals of equal frequency, as in CFS."""
        numeric_target = schema.target is not None and not schema.has_classes
        if numeric_target and self.discretization is None:
            return type(self)(missing=self.missing, discretization=EqualFrequency(10)).adapt_to(schema)
        return super().adapt_to(schema)

    def _coder(self, schema: Schema) -> ColumnCoder:
        return ColumnCoder(self.discretization or MDL(), schema, with_target=True, caller=type(self).__name__)

    def _counts(self, cache: StatisticsCache, schema: Schema) -> ContingencyTables:
        coding = self._coder(schema).coding(cache)
        pairs = [(int(j), schema.n_columns) for j in schema.used]
        cells = sum((coding.sizes[a] + 1) * (coding.sizes[b] + 1) for a, b in pairs)
        n_bytes = 8.0 * cells * (2 * n_threads() + 2)
        if n_bytes > _UNCHECKED_BYTES:
            check_memory(
                n_bytes,
                f"Counting {coding.sizes[schema.n_columns]:,} classes in each of {len(pairs):,} columns",
                "Exclude columns with very many values, through kinds.",
            )
        return ContingencyTables(pairs, coding)

    def scores(self, cache: StatisticsCache, schema: Schema) -> Floats:
        """Return the score of every column."""
        tables = cache[self._counts(cache, schema)].tables
        # Entropy of the column, entropy of the target, mutual information.
        entropies = np.zeros((len(tables), 3))
        for table, row in zip(tables, entropies, strict=True):
            table_entropies(table.copy(), self.missing == "distribute", row)
        scores = np.zeros(schema.n_columns)
        scores[schema.used] = self._score(entropies.T)
        return scores

    def selection_warnings(self, tables: Sequence[Table], columns: Sequence[int]) -> list[Verdict]:
        """Return a warning on selected categories of many values whose information about the target is not above chance."""
        remedy = "select by the merit MIM with correction='chance' (tamiz select --merit mim --correction chance)"
        counts = self.count_classes(tables, columns)
        return chance_level_warnings(type(self).__name__, counts, tables[0].schema.names, remedy) if counts else []

    def count_classes(self, tables: Sequence[Table], columns: Sequence[int]) -> dict[int, list[Floats]]:
        """Return the rows of every value in every class of each output, of those of the columns that have many values.

        Rows with sampling weights count once each: chance depends on their number. A table is passed once with each output.
        """
        schema = tables[0].schema
        many = [j for j in columns if len(schema.columns[j].levels) > FEW_VALUES]
        counts: dict[int, list[Floats]] = {j: [] for j in many}
        if not many:
            return counts
        for table in tables:
            view = select_columns(weight_groups_equally(unweighted_sample(table)), many)
            cache = gather_statistics([self], view.reduce, view.schema)
            counted = cache[self._counts(cache, view.schema)].tables
            for j, values in zip(view.schema.used.tolist(), counted, strict=True):
                counts[j].append(values[:, :-1] if self.missing == "category" else values[:-1, :-1])
        return counts

    def reweighted_scores(self, sample: WeightedTable, schema: Schema) -> Floats:
        """Return the scores of the columns under other row weights; relevances share the entropies after MDL cuts."""
        if not schema.has_classes or not isinstance(self.discretization or MDL(), MDL):
            return super().reweighted_scores(sample, schema)
        scores = np.zeros(schema.n_columns)
        entropies = sample.mdl_entropies(schema.used.tolist(), distribute=self.missing == "distribute")
        scores[schema.used] = self._score(entropies.T)
        return scores


class InformationGain(EntropyRelevance):
    """Mutual information of a column and the target, in bits.

    .. math:: I(X; Y) = H(X) + H(Y) - H(X, Y)

    Parameters
    ----------
    {missing}
    {discretization}

    Raises
    ------
    DataError
        When there is no target, or a numeric one with MDL.

    Notes
    -----
    Cost O(n p), and O(n log n) for each numeric column. A constant column scores 0, and so does a numeric column that MDL does not
    cut.

    Columns with many values score high by chance. GainRatio and SymmetricUncertainty divide by their entropy, which reduces this
    and does not remove it. `RankSelector` warns of selected categorical columns of more than ten values whose information is not
    above chance. A forward search for `MIM(correction="chance")` ranks columns by the information above its expectation by chance.

    References
    ----------
    Quinlan (1986), Induction of decision trees, Machine Learning 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import RankSelector
    >>> from tamiz.criteria import InformationGain
    >>> iris = load_iris(as_frame=True)
    >>> RankSelector(InformationGain()).fit(iris.data, iris.target).scores_.round(3)
    array([0.698, 0.386, 1.418, 1.378])
    """

    def _score(self, entropies: Floats) -> Floats:
        return entropies[2]


class GainRatio(EntropyRelevance):
    """Information gain divided by the entropy of the column in the same intervals, in [0, 1].

    .. math:: GR(X, Y) = I(X; Y) / H(X)

    Parameters
    ----------
    {missing}
    {discretization}

    Raises
    ------
    DataError
        When there is no target, or a numeric one with MDL.

    Notes
    -----
    Cost as InformationGain. A constant column scores 0. A column with a small entropy can score high with little information.

    References
    ----------
    Quinlan (1986), Induction of decision trees, Machine Learning 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import RankSelector
    >>> from tamiz.criteria import GainRatio
    >>> iris = load_iris(as_frame=True)
    >>> RankSelector(GainRatio()).fit(iris.data, iris.target).scores_.round(3)
    array([0.381, 0.247, 0.734, 0.871])
    """

    unit: ClassVar[str] = ""

    def _score(self, entropies: Floats) -> Floats:
        return np.minimum(divide_or_zero(entropies[2], entropies[0]), 1.0)


# Pairs for each column from which on bits are faster than counts.
_MIN_BIT_USES = 3


class SymmetricUncertainty(EntropyRelevance, Association):
    """Mutual information of a column and the target, divided by the mean of their entropies; in [0, 1].

    .. math:: SU(X, Y) = 2 I(X; Y) / (H(X) + H(Y))

    Parameters
    ----------
    {missing}
    {discretization}

    Raises
    ------
    DataError
        When there is no target, or a numeric one with MDL.

    Notes
    -----
    Cost as InformationGain. It is 0 where both columns are constant. It is the default association of CFS; pairs of columns with
    few values are counted by bit sets.

    References
    ----------
    Press, Teukolsky, Vetterling and Flannery (1992), Numerical Recipes in C, section 14.4.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import RankSelector
    >>> from tamiz.criteria import SymmetricUncertainty
    >>> iris = load_iris(as_frame=True)
    >>> RankSelector(SymmetricUncertainty()).fit(iris.data, iris.target).scores_.round(3)
    array([0.409, 0.245, 0.806, 0.871])
    """

    unit: ClassVar[str] = ""

    def _score(self, entropies: Floats) -> Floats:
        return np.minimum(divide_or_zero(2 * entropies[2], entropies[0] + entropies[1]), 1.0)

    def pairwise(self, gather: GatherFunction, schema: Schema, *, complete: bool = False) -> PairwiseAssociations:
        """Return the associations of one table, after coding its rows; pairs of columns need no target.

        With `complete`, each pair is compared on the rows with both values, whatever `missing` is.
        """
        if schema.target is not None:
            self.check(schema)
        check_choice("missing", self.missing, MISSING_RULES)
        rows = read_coded_rows(self._coder(schema), gather, schema)
        return _PairwiseUncertainties(rows, kernels.LEFT_OUT if complete else int(self.missing == "distribute"))


class _PairwiseUncertainties(PairwiseAssociations):
    """Symmetric uncertainties of pairs of coded columns, which workers may have coded."""

    def __init__(self, rows: CodedRows, rule: int, *, use_bits: bool = True) -> None:
        self._rows, self._rule = rows, rule
        if rows.workers is not None:
            return
        # The index of each column of the table among the coded columns.
        self._position = np.zeros(max(rows.columns) + 1, dtype=np.int64)
        self._position[list(rows.columns)] = np.arange(len(rows.columns))
        n_columns, labels = len(rows.columns), np.zeros(rows.codes.shape[1], dtype=rows.codes.dtype)
        counts = count_values(rows, n_columns, labels, 1, rows.weight)
        self._counter = PairCounter(rows, n_columns, labels, counts, rule, use_bits=use_bits)

    def associations(self, i: Indices, j: Indices) -> Floats:
        if self._rows.workers is not None:
            return map_pairs(self._rows, partial(_associate, self._rule), i, j)
        found = self._counter.count(self._position[i], self._position[j])
        return np.minimum(divide_or_zero(2.0 * found[:, 0], found[:, 3]), 1.0)


def _associate(rule: int, rows: CodedRows, i: Indices, j: Indices) -> Floats:
    use_bits = len(i) > _MIN_BIT_USES * len(rows.columns)
    return _PairwiseUncertainties(rows, rule, use_bits=use_bits).associations(i, j)


def symmetric_uncertainty(
    a: ArrayLike, b: ArrayLike, *, sample_weight: ArrayLike | None = None, missing: MissingRule = "distribute"
) -> float:
    """Return the symmetric uncertainty of two categorical columns, in [0, 1].

    Parameters
    ----------
    a, b : array-like of shape (n_samples,)
        Values of any type, each a category; None and NaN are missing.
    sample_weight : array-like of shape (n_samples,), default=None
    missing : {"distribute", "category"}, default="distribute"
        Distribute the counts of missing values in proportion to the present values, or treat missing as a category of its own.

    Returns
    -------
    float
        :math:`2 I(A; B) / (H(A) + H(B))`, and 0 where both are constant.

    Notes
    -----
    Cost O(n) plus the product of the numbers of values.

    References
    ----------
    Press, Teukolsky, Vetterling and Flannery (1992), Numerical Recipes in C, section 14.4.

    Examples
    --------
    >>> from tamiz.criteria import symmetric_uncertainty
    >>> symmetric_uncertainty(["a", "a", "b", "b"], [1, 1, 2, 2])
    1.0
    """
    check_choice("missing", missing, MISSING_RULES)
    first, size_a = code_vector(a, "a")
    second, size_b = code_vector(b, "b")
    if len(first) != len(second):
        raise ValueError(f"a has {len(first)} values and b {len(second)}; they must have equally many.")
    table = np.zeros((size_a + 1, size_b + 1))
    kernels.add_pair_weights(first, second, weight_vector(sample_weight, len(first)), table)
    return float(kernels.symmetric_uncertainty(table, missing == "distribute", np.zeros(3)))


class Entropy(CountRelevance):
    """Shannon entropy of a column, in bits; no target is needed.

    .. math:: H(X) = -\\sum_x p(x) \\log_2 p(x)

    Parameters
    ----------
    missing : {"distribute", "category"}, default="distribute"
        Count present values only, or treat missing as a category of its own.
    discretization : MDL, EqualFrequency or EqualWidth, default=None
        How numbers are cut into intervals; None is EqualWidth(10). MDL needs a target with classes; with EqualFrequency all columns
        without ties have about the same score.

    Notes
    -----
    Cost O(n p), and O(n log n) for each numeric column. A constant column scores 0.

    References
    ----------
    Shannon (1948), A mathematical theory of communication, Bell System Technical Journal 27.

    Examples
    --------
    >>> from tamiz import RankSelector
    >>> from tamiz.criteria import Entropy
    >>> RankSelector(Entropy()).fit([[0, 0, 5], [1, 0, 5], [2, 1, 5], [3, 1, 5]]).scores_
    array([2., 1., 0.])
    """

    needs_target: ClassVar[bool] = False

    def _coder(self, schema: Schema) -> ColumnCoder:
        return ColumnCoder(self.discretization or EqualWidth(10), schema, with_target=False, caller="Entropy")

    def _counts(self, cache: StatisticsCache, schema: Schema) -> LevelCounts:
        return LevelCounts(schema.used.tolist(), self._coder(schema).coding(cache))

    def scores(self, cache: StatisticsCache, schema: Schema) -> Floats:
        """Return the entropy of every column."""
        counts = cache[self._counts(cache, schema)].counts
        scores = np.zeros(schema.n_columns)
        scores[schema.used] = [_entropy_bits(c if self.missing == "category" else c[:-1]) for c in counts]
        return scores


def _entropy_bits(counts: Floats) -> float:
    total = counts.sum()
    present = counts[counts > 0]
    return float((present * np.log2(total / present)).sum() / total) if total > 0 else 0.0


def entropy(values: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Return the Shannon entropy of one categorical column, in bits; None and NaN are ignored.

    .. math:: H(X) = -\\sum_x p(x) \\log_2 p(x)

    Parameters
    ----------
    values : array-like of shape (n_samples,)
        Values of any type, each a category.
    sample_weight : array-like of shape (n_samples,), default=None

    Returns
    -------
    float

    Notes
    -----
    Cost O(n).

    References
    ----------
    Shannon (1948), A mathematical theory of communication, Bell System Technical Journal 27.

    Examples
    --------
    >>> from tamiz.criteria import entropy
    >>> entropy(["heads", "tails"])
    1.0
    """
    codes, size = code_vector(values, "values")
    if len(codes) == 0:
        raise DataError("entropy needs at least 1 value, got none.")
    present = codes >= 0
    return _entropy_bits(
        np.bincount(codes[present], weight_vector(sample_weight, len(codes))[present], size).astype(np.float64)
    )
