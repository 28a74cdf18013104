"""What a criterion promises, and the one loop that counts what criteria ask for.

A *relevance* scores columns one by one; a *merit* scores sets of columns; an *association* measures pairs of columns, for
merits that need them. None of them sees rows: they say which statistics they need and read those.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from tamiz.exceptions import DataError
from tamiz.sources.base import Source
from tamiz.sources.schema import Schema
from tamiz.statistics.base import Floats, Statistic
from tamiz.statistics.coded_tables import WeightedTable

if TYPE_CHECKING:
    from tamiz.models.multioutput import MultiOutputTarget
    from tamiz.models.named_models import Model

GatherFunction: TypeAlias = Callable[..., tuple[Any, ...]]
# From weights of the rows, of shape (n_weightings, n_rows), to scores of shape (n_weightings, n_columns).
ReweightedScorer: TypeAlias = Callable[[Floats], Floats]


class StatisticsCache:
    """Filled statistics by what they count."""

    def __init__(self) -> None:
        self._filled: dict[Hashable, Statistic] = {}

    def add(self, filled: Iterable[Statistic]) -> None:
        """Take statistics in."""
        self._filled.update((statistic.key, statistic) for statistic in filled)

    def pending(self, wanted: Sequence[Statistic]) -> list[Statistic]:
        """Return the statistics that are not known yet."""
        return [statistic for statistic in wanted if statistic.key not in self._filled]

    def __getitem__(self, wanted: Any) -> Any:
        """Return the filled statistic for an empty one."""
        return self._filled[wanted.key]


class Criterion(BaseEstimator, ABC):
    """What relevances and merits share.

    Attributes
    ----------
    needs_target : bool
        Whether there is nothing to score without a target.
    unit : str
        The unit of the scores, "" for a plain number.
    """

    needs_target: ClassVar[bool] = True
    unit: ClassVar[str] = ""

    @property
    def reads_target(self) -> bool:
        """Whether the criterion, with the parameters that it has, needs a target; where it does not, none is read."""
        return self.needs_target

    @property
    def allow_missing(self) -> bool:
        """Whether missing values are scored as well."""
        return True

    def check(self, schema: Schema) -> None:
        """Refuse a table that the criterion has no meaning on."""
        if self.reads_target and schema.target is None:
            raise DataError(f"{type(self).__name__} requires y to be passed, but the target y is None.")

    def with_missing(self, missing: str) -> Self:
        """Return the criterion with a rule for missing values, itself where it has none to choose."""
        return clone(self).set_params(missing=missing) if "missing" in self.get_params() else self


class Relevance(Criterion):
    """A score for every column by itself; larger is better.

    Attributes
    ----------
    used_by_default : bool
        Whether a study ranks by it where nobody says by what.
    supports_bootstrap : bool
        Whether scores of a bootstrap sample mean what those of the rows mean: not where rows are joined to rows, or
        tested beside those learned from, for a row drawn twice is then its own neighbour.
    """

    used_by_default: ClassVar[bool] = True
    supports_bootstrap: ClassVar[bool] = True

    def adapt_to(self, schema: Schema) -> Relevance | None:
        """Return the relevance as a study of the table uses it, None where it has no meaning there."""
        try:
            self.check(schema)
        except DataError:
            return None
        return self

    def bind(self, source: Source) -> Relevance:  # noqa: ARG002 - most need statistics only
        """Return the relevance as it can score this table: one that compares rows with rows has then read them."""
        return self

    @abstractmethod
    def requires(self, cache: StatisticsCache, schema: Schema) -> Sequence[Statistic]:
        """Return the statistics wanted next, none when all are known."""

    @abstractmethod
    def scores(self, cache: StatisticsCache, schema: Schema) -> Floats:
        """Return a finite score for every column of the schema, 0 for those left out."""

    def reweighted_scores(self, sample: WeightedTable, schema: Schema) -> Floats:
        """Return the scores of the columns under other weights of the rows; NotCountedError where they cannot be counted so."""
        return self.scores(gather_statistics([self], sample.gather, schema), schema)


class RowRelevance(Relevance):
    """A relevance that reads rows, in `ready`: no statistic holds what it asks of them."""

    def requires(self, cache: StatisticsCache, schema: Schema) -> Sequence[Statistic]:  # noqa: ARG002
        """Return nothing."""
        return ()

    def scores(self, cache: StatisticsCache, schema: Schema) -> Floats:  # noqa: ARG002
        """Refuse: rows have to be read first."""
        raise TypeError(f"{type(self).__name__} reads rows: call ready(source) first.")

    def make_reweighted_scorer(self, source: Source, n_weightings: int) -> ReweightedScorer | None:  # noqa: ARG002 - most have none
        """Return a function that scores the table's columns under other weights of its rows.

        None where there is no faster way than to call `ready` again, or where `n_weightings` calls would take minutes.
        """
        return None


class PrecomputedScores(Relevance):
    """Scores that are there already.

    Parameters
    ----------
    values : ndarray of shape (n_columns,)
    std : ndarray of shape (n_columns,), default=None
        The standard deviation of what each is the mean of, where it is one.
    """

    needs_target: ClassVar[bool] = False

    def __init__(self, values: Floats, std: Floats | None = None) -> None:
        self.values = values
        self.std = std

    def requires(self, cache: StatisticsCache, schema: Schema) -> Sequence[Statistic]:  # noqa: ARG002
        """Return nothing."""
        return ()

    def scores(self, cache: StatisticsCache, schema: Schema) -> Floats:  # noqa: ARG002
        """Return the scores."""
        return self.values


class PairwiseAssociations(ABC):
    """The associations between the columns of one table, as an `Association` returns them.

    A subclass implements `associations`; `self_associations` too, where the association of a column with itself is not 1.

    Examples
    --------
    See `Association`, whose example derives from both.

    >>> import numpy as np
    >>> from tamiz.criteria import Pairs
    >>> class IndependentColumns(Pairs):
    ...     def pairs(self, i, j):
    ...         return np.zeros(len(i))
    >>> IndependentColumns().own(np.array([0, 1]))
    array([1., 1.])
    """

    @abstractmethod
    def associations(self, i: NDArray[np.intp], j: NDArray[np.intp]) -> Floats:
        """Return the association of each pair of columns.

        Parameters
        ----------
        i, j : ndarray of shape (n_pairs,)
            Numbers of columns, of which i[k] and j[k] are a pair; the number of columns, `n_columns`, is that of the target.

        Returns
        -------
        ndarray of shape (n_pairs,)
            Finite, at least 0, and the same for (i, j) and (j, i).
        """

    def self_associations(self, columns: NDArray[np.intp]) -> Floats:
        """Return the association of each column with itself, which none with another exceeds: 1, for a constant one too.

        Parameters
        ----------
        columns : ndarray of shape (m,)
            Numbers of columns.
        """
        return np.ones(len(columns))


class Association(Criterion):
    """A measure of how strongly two columns are associated, which `CFS` reads for the pairs that a search needs.

    A subclass implements `pairwise`, and may extend `check` to refuse a table.

    Examples
    --------
    CFS on a matrix of correlations that is there already, the target in its last row and column:

    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from tamiz import SubsetSelector
    >>> from tamiz.criteria import CFS, Association, Pairs
    >>> class Given(Association):
    ...     def __init__(self, matrix):
    ...         self.matrix = matrix
    ...     def prepare(self, gather, schema):
    ...         return GivenPairs(self.matrix)
    >>> class GivenPairs(Pairs):
    ...     def __init__(self, matrix):
    ...         self.matrix = matrix
    ...     def pairs(self, i, j):
    ...         return self.matrix[i, j]
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> correlations = np.abs(np.corrcoef(X.to_numpy().T, y))
    >>> SubsetSelector(CFS(Given(correlations))).fit(X, y).get_feature_names_out().tolist()
    ['bmi', 'bp', 's3', 's5']
    """

    @abstractmethod
    def pairwise(self, gather: GatherFunction, schema: Schema) -> PairwiseAssociations:
        """Return the associations over one table.

        Parameters
        ----------
        gather : callable
            Returns filled copies of the statistics that it is called with, from one pass over the rows; may be called again.
        schema : Schema
            The columns of the table.
        """


class Merit(Criterion):
    """A score for a set of columns; larger is better."""

    def model_and_scoring(self, schema: Schema) -> tuple[Model, Any] | None:  # noqa: ARG002 - most predict nothing
        """Return the model whose predictions on a table the merit scores, and the score; None where it scores none."""
        return None

    @property
    def supports_multioutput(self) -> bool:
        """Whether a target of several columns is predicted as well."""
        return False

    @property
    def allow_infinite(self) -> bool:
        """Whether infinite values are handed on to who may read them."""
        return False

    def bind(self, source: Source, outputs: MultiOutputTarget | None = None) -> Merit:  # noqa: ARG002 - most need statistics only
        """Return the merit as it can score this table: one that fits models reads the rows, and may predict several outputs."""
        return self

    @abstractmethod
    def make_evaluator(self, gather: GatherFunction, schema: Schema, rng: np.random.Generator) -> Any:
        """Return the evaluator (`evaluate(candidates)`, `quadratic()`, `bound(masks)`) over one table."""


def gather_statistics(
    criteria: Sequence[Relevance], gather: GatherFunction, schema: Schema, cache: StatisticsCache | None = None
) -> StatisticsCache:
    """Gather all that the criteria require, in passes that they share."""
    cache = StatisticsCache() if cache is None else cache
    for criterion in criteria:
        criterion.check(schema)
    while wanted := {s.key: s for criterion in criteria for s in criterion.requires(cache, schema)}:
        cache.add(gather(*wanted.values()))
    return cache


def columns_per_pass(criteria: Sequence[Relevance], schema: Schema) -> list[tuple[int, ...]]:
    """Return the columns that every pass over the rows reads when all that the criteria require is gathered; no row is read."""
    read: list[tuple[int, ...]] = []

    def gather(*statistics: Statistic) -> tuple[Statistic, ...]:
        read.append(tuple(sorted({column for statistic in statistics for column in statistic.columns})))
        for statistic in statistics:
            statistic.finish()
        return statistics

    gather_statistics(criteria, gather, schema)
    return read
