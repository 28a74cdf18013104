"""Base class of relevances that are computed from the entropies of a column and the target and their mutual information."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Literal, Self

import numpy as np

from tamiz.arrays import Floats
from tamiz.criteria.base import StatisticRelevance, StatisticsCache, gather_statistics
from tamiz.criteria.chance_information import FEW_VALUES, chance_level_warnings
from tamiz.criteria.discretization import ColumnCoder
from tamiz.kernels.contingency import table_entropies
from tamiz.runtime.parallel import n_threads
from tamiz.runtime.validation import check_choice, check_memory
from tamiz.runtime.verdicts import Verdict
from tamiz.statistics.base import Statistic
from tamiz.statistics.coded_tables import WeightedTable
from tamiz.statistics.contingency import ContingencyTables
from tamiz.statistics.cuts import MDL, Discretization, EqualFrequency
from tamiz.table.base import Table
from tamiz.table.row_groups import weight_groups_equally
from tamiz.table.schema import Schema
from tamiz.table.views import select_columns, unweighted_sample

MissingRule = Literal["distribute", "category"]
MISSING_RULES: tuple[MissingRule, ...] = ("distribute", "category")
# Measuring the free memory takes longer than filling tables below this size, which every bootstrap sample does again.
_UNCHECKED_BYTES = 2**24


class EntropyRelevance(StatisticRelevance):
    """A relevance that is a function of H(X), H(Y) and I(X; Y)."""

    unit: ClassVar[str] = "bits"

    def __init__(self, *, missing: MissingRule = "distribute", discretization: Discretization | None = None) -> None:
        self.missing = missing
        self.discretization = discretization

    @abstractmethod
    def _score(self, column: Floats, target: Floats, mutual: Floats) -> Floats:
        """Return scores from the entropies of columns and target and their mutual information, in bits."""

    def check(self, schema: Schema) -> None:
        """Raise DataError for a table without a target, or with a target that the discretization cannot use."""
        super().check(schema)
        check_choice("missing", self.missing, MISSING_RULES)
        self._coder(schema)

    def adapt_to(self, schema: Schema) -> Self | None:
        """Return the relevance; for a numeric target, one with 10 intervals of equal frequency, as in CFS."""
        numeric_target = schema.target is not None and not schema.has_classes
        if numeric_target and self.discretization is None:
            return type(self)(missing=self.missing, discretization=EqualFrequency(10)).adapt_to(schema)
        return super().adapt_to(schema)

    def _coder(self, schema: Schema) -> ColumnCoder:
        return ColumnCoder(self.discretization or MDL(), schema, with_target=True, caller=type(self).__name__)

    def _contingency_tables(self, coder: ColumnCoder, cache: StatisticsCache, schema: Schema) -> ContingencyTables:
        coding = coder.coding(cache)
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

    def requires(self, cache: StatisticsCache, schema: Schema) -> Sequence[Statistic]:
        """Return the cut points, then the contingency tables."""
        coder = self._coder(schema)
        return coder.requires(cache) or cache.pending([self._contingency_tables(coder, cache, schema)])

    def scores(self, cache: StatisticsCache, schema: Schema) -> Floats:
        """Return the score of every column."""
        tables = cache[self._contingency_tables(self._coder(schema), cache, schema)].tables
        # Entropy of the column, entropy of the target, mutual information.
        entropies = np.zeros((len(tables), 3))
        for table, row in zip(tables, entropies, strict=True):
            table_entropies(table.copy(), self.missing == "distribute", row)
        scores = np.zeros(schema.n_columns)
        scores[schema.used] = self._score(*entropies.T)
        return scores

    def selection_warnings(self, tables: Sequence[Table], columns: Sequence[int]) -> list[Verdict]:
        """Return a warning on selected categories of many values whose information about the target is not above chance."""
        remedy = "select by the merit MIM with correction='chance' (tamiz select --merit mim --correction chance)"
        return chance_level_warnings(
            type(self).__name__, self.count_classes(tables, columns), tables[0].schema.names, remedy
        )

    def count_classes(self, tables: Sequence[Table], columns: Sequence[int]) -> dict[int, list[Floats]]:
        """Return the rows of every value in every class of each output, of those of the columns that have many values.

        Rows with sampling weights count once each: chance depends on their number.

        Parameters
        ----------
        tables : sequence of Table
            The table with each output of the target.
        columns : sequence of int

        Returns
        -------
        dict of int to list of ndarray of shape (n_values, n_classes)
        """
        schema = tables[0].schema
        many = [j for j in columns if len(schema.columns[j].levels) > FEW_VALUES]
        counts: dict[int, list[Floats]] = {j: [] for j in many}
        if not many:
            return counts
        for table in tables:
            view = select_columns(weight_groups_equally(unweighted_sample(table)), many)
            cache = gather_statistics([self], view.reduce, view.schema)
            counted = cache[self._contingency_tables(self._coder(view.schema), cache, view.schema)].tables
            for j, values in zip(view.schema.used.tolist(), counted, strict=True):
                counts[j].append(values[:, :-1] if self.missing == "category" else values[:-1, :-1])
        return counts

    def reweighted_scores(self, sample: WeightedTable, schema: Schema) -> Floats:
        """Return the scores of the columns under other row weights; relevances share the entropies after MDL cuts."""
        if not schema.has_classes or not isinstance(self.discretization or MDL(), MDL):
            return super().reweighted_scores(sample, schema)
        scores = np.zeros(schema.n_columns)
        entropies = sample.mdl_entropies(schema.used.tolist(), distribute=self.missing == "distribute")
        scores[schema.used] = self._score(*entropies.T)
        return scores
