"""Naive Bayes on mixed columns with gaps, as a predictor."""

from __future__ import annotations

from sklearn.base import clone

from tamiz.assessment.predictors import FittedModel, TableModel
from tamiz.exceptions import DataError
from tamiz.sources.base import Source
from tamiz.sources.schema import Schema
from tamiz.sources.views import select_columns
from tamiz.warn import capture_warnings
from tamiz.wrappers.mixed_nb import MixedNB


class NaiveBayesModel(TableModel):
    """Naive Bayes: every column by itself within each class."""

    label = "naive Bayes"

    def __init__(self, estimator: MixedNB | None = None) -> None:
        self._estimator = MixedNB() if estimator is None else estimator

    def check(self, schema: Schema) -> None:
        """Refuse a target that is a number."""
        if not schema.has_classes:
            assert schema.target is not None
            raise DataError(
                f"Naive Bayes needs classes, and the target {schema.target.name!r} is a number; use predictor='knn' or 'tree'."
            )

    def fit_columns(self, train: Source, columns: list[int], seed: int) -> FittedModel:  # noqa: ARG002 - nothing is drawn
        """Return what the rows teach."""
        # That other columns take no part is what was asked for.
        with capture_warnings():
            model = clone(self._estimator).fit(select_columns(train, columns))
        return FittedModel(model, lambda rows: rows)
