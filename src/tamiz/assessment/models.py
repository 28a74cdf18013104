"""Predictors by their names, and predictors that predict as a wrapper's model does."""

from __future__ import annotations

from typing import Any

from tamiz.assessment.naive_bayes import NaiveBayes
from tamiz.assessment.predictors import Encoded, Given, Predictor
from tamiz.sources.schema import Schema
from tamiz.validation import check_choice
from tamiz.wrappers.mixed_nb import MixedNB
from tamiz.wrappers.models import Model


def of_model(model: Model) -> Predictor:
    """Return what predicts as a model does: from views of the table, from points, or from rows and columns as they were given."""
    if type(model.estimator) is MixedNB:
        return NaiveBayes(model.estimator)
    return Encoded(model.estimator, model.label) if model.encode else Given(model.estimator)


def predictor_of(given: Any, schema: Schema) -> Predictor:
    """Return what predicts, by its name or as it was given; None is what suits the target."""
    # Here and not above: the package that lists the names imports this module.
    from tamiz.assessment import registry

    if given is None:
        given = "naive_bayes" if schema.has_classes else "knn"
    if not isinstance(given, str):
        return Given(given)
    check_choice("predictor", given, [entry.name for entry in registry.of_kind("predictor")])
    made: Predictor = registry[given].load()()
    return made
