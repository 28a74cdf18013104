"""Scores of columns beside shadows: copies of columns whose values are in a random order, so that they are irrelevant."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from tamiz.criteria.base import Relevance, RowRelevance, ShadowScorer
from tamiz.criteria.column_scores import score_columns
from tamiz.sources.appended_columns import AppendedColumns
from tamiz.sources.base import Source
from tamiz.sources.schema import CopiedColumn
from tamiz.statistics.base import Floats

_ADVICE = "use a relevance whose model reads encoded columns, such as TreeImportance()"


def make_shadow_scorer(relevance: Relevance, source: Source) -> ShadowScorer:
    """Return a function that scores columns and shadows in one table, each time with new permutations and random draws."""
    faster = relevance.make_shadow_scorer(source) if isinstance(relevance, RowRelevance) else None
    return faster or _TableScorer(relevance, source)


class _TableScorer:
    """Scores a table to which shadows are appended."""

    def __init__(self, relevance: Relevance, source: Source) -> None:
        self._relevance = relevance
        self._own = AppendedColumns(source, _ADVICE)
        self._schema = source.schema

    def __call__(self, columns: NDArray[np.intp], copied: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        shadows = [
            (CopiedColumn.from_column(self._schema.columns[j], f"shadow {k}"), rng.permutation(self._own.values[j]))
            for k, j in enumerate(copied.tolist())
        ]
        relevance = clone(self._relevance)
        parameters = relevance.get_params(deep=False)
        if "random_state" in parameters:
            relevance.set_params(random_state=int(rng.integers(2**31)))
        if parameters.get("encode") == "auto":
            # Without encoding the model would be fitted to the user's table, which has no shadows.
            relevance.set_params(encode=True)
        rejected = np.setdiff1d(self._schema.used, columns).tolist()
        table = self._own.table(shadows, excluded=rejected, reason="it is rejected")
        scores = score_columns(relevance, table).scores
        return np.concatenate([scores[columns], scores[self._schema.n_columns :]])
