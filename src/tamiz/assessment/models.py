"""Predictors that predict as a wrapper's model does."""

from __future__ import annotations

from tamiz.assessment.naive_bayes import NaiveBayes
from tamiz.assessment.predictors import Encoded, Given, Predictor
from tamiz.wrappers.mixed_nb import MixedNB
from tamiz.wrappers.models import Model


def of_model(model: Model) -> Predictor:
    """Return what predicts as a model does: from views of the table, from points, or from rows and columns as they were given."""
    if type(model.estimator) is MixedNB:
        return NaiveBayes(model.estimator)
    return Encoded(model.estimator, model.label) if model.encode else Given(model.estimator)
