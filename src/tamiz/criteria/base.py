"""Base classes of criteria, the loop that fills the statistics they require, and the scores of all columns of a table.

A *relevance* scores columns one by one; a *merit* scores sets of columns; an *association* measures pairs of columns, for
merits that need them. Most criteria do not read rows: they name the statistics they require and compute scores from these.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, Self, TypeAlias, runtime_checkable

import numpy as np
from sklearn.base import BaseEstimator, clone

from tamiz.arrays import Floats, Indices
from tamiz.exceptions import DataError
from tamiz.runtime.verdicts import Verdict
from tamiz.search.base import Evaluator
from tamiz.statistics.base import Statistic
from tamiz.statistics.coded_tables import WeightedTable
from tamiz.statistics.independence import ColumnTests
from tamiz.table.base import Table
from tamiz.table.schema import Schema
from tamiz.table.views import weight_groups_equally

if TYPE_CHECKING:
    from tamiz.models.multioutput import MultiOutputTarget


GatherFunction: TypeAlias = Callable[..., tuple[Any, ...]]
# In a docstring: a parameter with its description, and the name of one that a base class describes.
_PARAMETER = re.compile(r"^(\w+) : .*(?:\n {4}.*)+", re.MULTILINE)
_PARAMETER_NAME = re.compile(r"^\{(\w+)\}$", re.MULTILINE)
# From weights of the rows, of shape (n_weightings, n_rows), to scores of shape (n_weightings, n_columns).
ReweightedScorer: TypeAlias = Callable[[Floats], Floats]
# From numbers of columns, and of columns to copy and permute, to the scores of the columns and the copies in one table.
ShadowScorer: TypeAlias = Callable[[Indices, Indices, np.random.Generator], Floats]


class StatisticsCache:
    """Filled statistics, found by their keys."""

    def __init__(self) -> None:
        self._filled: dict[Hashable, Statistic] = {}

    def add(self, filled: Iterable[Statistic]) -> None:
        self._filled.update((statistic.key, statistic) for statistic in filled)

    def pending(self, wanted: Sequence[Statistic]) -> list[Statistic]:
        return [statistic for statistic in wanted if statistic.key not in self._filled]

    def __getitem__(self, wanted: Any) -> Any:
        return self._filled[wanted.key]


class Criterion(BaseEstimator, ABC):
    """Base class of relevances, merits and associations.

    Attributes
    ----------
    needs_target : bool
        Whether the criterion requires a target.
    unit : str
        The unit of the scores, "" for a plain number.
    """

    needs_target: ClassVar[bool] = True
    unit: ClassVar[str] = ""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Complete a docstring: a parameter in braces is replaced by its description in the docstring of a base class."""
        super().__init_subclass__(**kwargs)
        if cls.__doc__ and _PARAMETER_NAME.search(text := cleandoc(cls.__doc__)):
            described = (_PARAMETER.finditer(cleandoc(base.__doc__ or "")) for base in cls.__mro__[1:])
            known = {found[1]: found[0] for matches in described for found in matches}
            cls.__doc__ = _PARAMETER_NAME.sub(lambda name: known.get(name[1], name[0]), text)

    @property
    def reads_target(self) -> bool:
        """Whether the criterion with its current parameters reads a target; otherwise y is ignored."""
        return self.needs_target

    @property
    def allow_missing(self) -> bool:
        """Whether missing values are accepted."""
        return True

    def check(self, schema: Schema) -> None:
        """Raise DataError for a table on which the criterion is not defined."""
        if self.reads_target and schema.target is None:
            raise DataError(f"{type(self).__name__} requires y to be passed, but the target y is None.")

    def with_missing(self, missing: str) -> Self:
        """Return a copy with this rule for missing values, or the criterion itself where it has no such parameter."""
        return clone(self).set_params(missing=missing) if "missing" in self.get_params() else self


class Relevance(Criterion):
    """A score for every single column; larger is better. A subclass is a `StatisticRelevance` or a `RowRelevance`.

    Attributes
    ----------
    used_by_default : bool
        Whether a study uses it for rankings unless the user chooses the criteria.
    supports_bootstrap : bool
        Whether scores of a bootstrap sample estimate the scores of the table. They do not where rows are compared with other
        rows, or where models are tested on rows that were not used for training: a row that is drawn twice is its own neighbour,
        or is in both parts.
    """

    used_by_default: ClassVar[bool] = True
    supports_bootstrap: ClassVar[bool] = True

    @property
    def supports_multioutput(self) -> bool:
        """Whether a target with several columns is accepted with the current parameters."""
        return False

    def adapt_to(self, schema: Schema) -> Relevance | None:
        """Return the relevance with parameters that suit the table, None where it is not defined there."""
        try:
            self.check(schema)
        except DataError:
            return None
        return self


class StatisticRelevance(Relevance):
    """A relevance that is a function of statistics, which several criteria fill in the same passes over the rows.

    With a target of L columns the score of a column is the mean of its scores with each of them as the target (binary relevance;
    Spolaôr, Cherman, Monard and Lee 2013, A comparison of multi-label feature selection methods using the problem transformation
    approach, ENTCS 292), unless `combine_outputs` is overridden.
    """

    @property
    def supports_multioutput(self) -> bool:
        """Whether a target is read."""
        return self.reads_target

    def combine_outputs(self, scores: Floats) -> Floats:
        """Return one score per column from those with each output as the target, of shape (n_outputs, n_columns)."""
        return scores.mean(axis=0)

    @abstractmethod
    def requires(self, cache: StatisticsCache, schema: Schema) -> Sequence[Statistic]:
        """Return the statistics required next, none when all are in the cache."""

    @abstractmethod
    def scores(self, cache: StatisticsCache, schema: Schema) -> Floats:
        """Return a finite score for every column of the schema, 0 for columns that are not used."""

    def reweighted_scores(self, sample: WeightedTable, schema: Schema) -> Floats:
        """Return the scores under other row weights; raise UnsupportedStatisticError where the counts do not suffice."""
        return self.scores(gather_statistics([self], sample.gather, schema), schema)


class RowRelevance(Relevance):
    """A relevance that reads rows, because no statistic over single rows contains what it needs.

    One that draws at random has a parameter `random_state`, so that its scores depend only on its parameters and the table.
    """

    @abstractmethod
    def score(self, table: Table) -> Floats:
        """Return a finite score for every column of the table, 0 for columns that are not used."""


# What some relevances can do beyond scores, and whoever needs it asks for by `isinstance`.


@runtime_checkable
class HasSelectionWarnings(Protocol):
    """A relevance that warns of columns which are selected by its scores; a table is passed once with each output of the target."""

    def selection_warnings(self, tables: Sequence[Table], columns: Sequence[int]) -> list[Verdict]: ...


@runtime_checkable
class HasPValues(Protocol):
    """A relevance with a test of independence of every column and the target.

    Columns can then be selected at a false discovery rate. The warnings, on tests that were not possible or are inaccurate, name
    the columns.
    """

    def column_tests(self, cache: StatisticsCache, schema: Schema) -> ColumnTests: ...

    def test_warnings(self, tests: ColumnTests, schema: Schema) -> list[Verdict]: ...


@runtime_checkable
class HasStandardDeviations(Protocol):
    """A relevance whose scores are means over random draws, with the standard deviations of what is averaged."""

    def score_with_std(self, table: Table) -> tuple[Floats, Floats]: ...


@runtime_checkable
class Reweightable(Protocol):
    """A relevance that reads rows, but can score columns under many weightings of the rows faster than one by one."""

    def make_reweighted_scorer(self, table: Table, n_weightings: int) -> ReweightedScorer | None:
        """Return a function that scores the columns; None where so many weightings would take minutes, or nothing is faster."""


@runtime_checkable
class Shadowable(Protocol):
    """A relevance that can score columns beside permuted copies without a table of them."""

    def make_shadow_scorer(self, table: Table) -> ShadowScorer:
        """Return a function that scores columns and copies, with new random draws at each call."""


class PairwiseAssociations(ABC):
    """The associations between the columns of one table, as an `Association` returns them.

    A subclass implements `associations`, and `self_associations` where the association of a column with itself is not 1.

    Examples
    --------
    See `Association`, whose example derives from both.

    >>> import numpy as np
    >>> from tamiz.criteria import PairwiseAssociations
    >>> class IndependentColumns(PairwiseAssociations):
    ...     def associations(self, i, j):
    ...         return np.zeros(len(i))
    >>> IndependentColumns().self_associations(np.array([0, 1]))
    array([1., 1.])
    """

    @abstractmethod
    def associations(self, i: Indices, j: Indices) -> Floats:
        """Return the association of each pair of columns.

        Parameters
        ----------
        i, j : ndarray of shape (n_pairs,)
            Column numbers; i[k] and j[k] are a pair. The number of the target is `n_columns`.

        Returns
        -------
        ndarray of shape (n_pairs,)
            Finite, at least 0, and the same for (i, j) and (j, i).
        """

    def self_associations(self, columns: Indices) -> Floats:
        """Return the association of each column with itself: 1, also for a constant column.

        No association of two columns may exceed both of their associations with themselves.

        Parameters
        ----------
        columns : ndarray of shape (m,)
            Column numbers.
        """
        return np.ones(len(columns))


class Association(Criterion):
    """A measure of the association of two columns; `CFS` computes it for the pairs of columns that a search needs.

    A subclass implements `pairwise`, and may extend `check` to reject a table.

    Examples
    --------
    CFS on a precomputed matrix of correlations, the target in its last row and column:

    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from tamiz import SubsetSelector
    >>> from tamiz.criteria import CFS, Association, PairwiseAssociations
    >>> class Precomputed(Association):
    ...     def __init__(self, matrix):
    ...         self.matrix = matrix
    ...     def pairwise(self, gather, schema):
    ...         return PrecomputedPairs(self.matrix)
    >>> class PrecomputedPairs(PairwiseAssociations):
    ...     def __init__(self, matrix):
    ...         self.matrix = matrix
    ...     def associations(self, i, j):
    ...         return self.matrix[i, j]
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> correlations = np.abs(np.corrcoef(X.to_numpy().T, y))
    >>> SubsetSelector(CFS(Precomputed(correlations))).fit(X, y).get_feature_names_out().tolist()
    ['bmi', 'bp', 's3', 's5']
    """

    @abstractmethod
    def pairwise(self, gather: GatherFunction, schema: Schema) -> PairwiseAssociations:
        """Return the associations over one table.

        Parameters
        ----------
        gather : callable
            Called with statistics, returns filled copies of them from one pass over the rows; may be called several times.
        schema : Schema
            The columns of the table.
        """


class Merit(Criterion):
    """A score for a set of columns; larger is better."""

    @property
    def allow_infinite(self) -> bool:
        """Whether infinite values are accepted; they are passed to the estimator."""
        return False

    @abstractmethod
    def bind(self, table: Table, rng: np.random.Generator) -> Evaluator:
        """Return the evaluator of the merit for one table.

        Parameters
        ----------
        rng : Generator
            For what is drawn once for all sets, such as folds.

        Raises
        ------
        DataError
            When the merit is not defined for the table.
        """


class MultiOutputMerit(Merit):
    """A merit that also accepts a target with several columns."""

    @property
    def supports_multioutput(self) -> bool:
        """Whether a target with several columns is accepted with the current parameters."""
        return True

    @abstractmethod
    def bind(self, table: Table, rng: np.random.Generator, outputs: MultiOutputTarget | None = None) -> Evaluator:
        """Return the evaluator of the merit for one table, with `outputs` in place of its target where there are any."""


def gather_statistics(
    criteria: Sequence[StatisticRelevance], gather: GatherFunction, schema: Schema, cache: StatisticsCache | None = None
) -> StatisticsCache:
    """Return the cache with all statistics that the criteria require, filled in shared passes over the data."""
    cache = StatisticsCache() if cache is None else cache
    for criterion in criteria:
        criterion.check(schema)
    while wanted := {s.key: s for criterion in criteria for s in criterion.requires(cache, schema)}:
        cache.add(gather(*wanted.values()))
    return cache


def columns_per_pass(criteria: Sequence[StatisticRelevance], schema: Schema) -> list[tuple[int, ...]]:
    """Return the columns that each pass of `gather_statistics` over the data would read; no row is read here."""
    passes: list[tuple[int, ...]] = []

    def gather(*statistics: Statistic) -> tuple[Statistic, ...]:
        passes.append(tuple(sorted({column for statistic in statistics for column in statistic.columns})))
        for statistic in statistics:
            statistic.finish()
        return statistics

    gather_statistics(criteria, gather, schema)
    return passes


class ColumnScores(NamedTuple):
    """Scores of the columns of a table.

    `std` are, of scores that are means over random draws, the standard deviations of what is averaged, and `per_output` the scores
    with each column of a target of several, of shape (n_outputs, n_columns).
    """

    scores: Floats
    std: Floats | None = None
    tests: ColumnTests | None = None
    per_output: Floats | None = None


def score_columns(relevance: Relevance, table: Table) -> ColumnScores:
    if isinstance(relevance, HasStandardDeviations):
        return ColumnScores(*relevance.score_with_std(table))
    if isinstance(relevance, RowRelevance):
        return ColumnScores(relevance.score(table))
    assert isinstance(relevance, StatisticRelevance)
    cache = gather_statistics([relevance], weight_groups_equally(table).reduce, table.schema)
    tests = relevance.column_tests(cache, table.schema) if isinstance(relevance, HasPValues) else None
    return ColumnScores(relevance.scores(cache, table.schema), tests=tests)


def score_rows(relevance: Relevance, rows: Table) -> Floats:
    """Return the scores of the columns from rows that count by their own weights, whatever their groups."""
    if isinstance(relevance, RowRelevance):
        return relevance.score(rows)
    assert isinstance(relevance, StatisticRelevance)
    return relevance.scores(gather_statistics([relevance], rows.reduce, rows.schema), rows.schema)


def score_outputs(relevance: Relevance, *tables: Table) -> ColumnScores:
    """Return the combined scores and tests of a table, which is passed once with each column of a target as its target."""
    assert isinstance(relevance, StatisticRelevance)
    found = [score_columns(relevance, table) for table in tables]
    per_output = np.stack([one.scores for one in found])
    tests = [one.tests for one in found if one.tests is not None]
    combined = ColumnTests.over_outputs(tests) if tests else None
    return ColumnScores(relevance.combine_outputs(per_output), tests=combined, per_output=per_output)
