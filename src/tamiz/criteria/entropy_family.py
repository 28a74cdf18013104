"""Relevances read off the contingency table of a column and the target."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np

from tamiz.criteria.base import Known, Relevance
from tamiz.criteria.discretization import MDL, Coder, Discretization, EqualFrequency
from tamiz.kernels.tables import table_entropies
from tamiz.parallel import n_threads
from tamiz.sources.schema import Schema
from tamiz.statistics.base import Floats, Statistic
from tamiz.statistics.reweighted import Reweighted
from tamiz.statistics.tables import ContingencyTables
from tamiz.validation import check_choice, check_memory

Missing = Literal["distribute", "category"]
MISSING: tuple[Missing, ...] = ("distribute", "category")
_SMALL_BYTES = 2**24


class TableRelevance(Relevance):
    """A relevance that is a function of H(X), H(Y) and I(X; Y)."""

    unit: ClassVar[str] = "bits"

    def __init__(self, *, missing: Missing = "distribute", discretization: Discretization | None = None) -> None:
        self.missing = missing
        self.discretization = discretization

    @abstractmethod
    def _score(self, column: Floats, target: Floats, mutual: Floats) -> Floats:
        """Return scores from the entropies of columns and target and their mutual information, in bits."""

    def check(self, schema: Schema) -> None:
        """Refuse a table without a target, or with one that the discretisation cannot use."""
        super().check(schema)
        check_choice("missing", self.missing, MISSING)
        self._coder(schema)

    def suited(self, schema: Schema) -> Relevance | None:
        """Return the relevance; for a numeric target, one that cuts it and the columns into 10 intervals, as CFS does."""
        numeric_target = schema.target is not None and not schema.has_classes
        if numeric_target and self.discretization is None:
            return type(self)(missing=self.missing, discretization=EqualFrequency(10)).suited(schema)
        return super().suited(schema)

    def _coder(self, schema: Schema) -> Coder:
        return Coder(self.discretization or MDL(), schema, with_target=True, owner=type(self).__name__)

    def _tables(self, coder: Coder, known: Known, schema: Schema) -> ContingencyTables:
        coding = coder.coding(known)
        pairs = [(int(j), schema.n_columns) for j in schema.used]
        cells = sum((coding.sizes[a] + 1) * (coding.sizes[b] + 1) for a, b in pairs)
        n_bytes = 8.0 * cells * (2 * n_threads() + 2)
        # To ask for the free memory takes longer than to fill small tables again, as every bootstrap sample does.
        if n_bytes > _SMALL_BYTES:
            check_memory(
                n_bytes,
                f"Counting {coding.sizes[schema.n_columns]:,} classes in each of {len(pairs):,} columns",
                "Leave out columns of very many values with kinds.",
            )
        return ContingencyTables(pairs, coding)

    def requires(self, known: Known, schema: Schema) -> Sequence[Statistic]:
        """Return cut points, then the tables."""
        coder = self._coder(schema)
        return coder.requires(known) or known.lacking([self._tables(coder, known, schema)])

    def scores(self, known: Known, schema: Schema) -> Floats:
        """Return the score of every column."""
        tables = known[self._tables(self._coder(schema), known, schema)].tables
        facts = np.zeros((len(tables), 3))
        for table, row in zip(tables, facts, strict=True):
            table_entropies(table.copy(), self.missing == "distribute", row)
        scores = np.zeros(schema.n_columns)
        scores[schema.used] = self._score(*facts.T)
        return scores

    def scores_of(self, sample: Reweighted, schema: Schema) -> Floats:
        """Return the scores of the columns under other weights of the rows; entropies after cuts by MDL are shared by criteria."""
        if not schema.has_classes or not isinstance(self.discretization or MDL(), MDL):
            return super().scores_of(sample, schema)
        scores = np.zeros(schema.n_columns)
        facts = sample.mdl_entropies(schema.used.tolist(), distribute=self.missing == "distribute")
        scores[schema.used] = self._score(*facts.T)
        return scores


def divide(a: Floats, b: Floats) -> Floats:
    """Return a / b, and 0 where b is 0."""
    return np.divide(a, b, out=np.zeros_like(b), where=b > 0)
