"""Predictors by their names, and predictors that predict as a wrapper's model does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tamiz.assessment.naive_bayes import NaiveBayes
from tamiz.assessment.predictors import Encoded, Given, Predictor
from tamiz.sources.schema import Schema
from tamiz.validation import check_choice
from tamiz.wrappers.adapter import adapted, predicts
from tamiz.wrappers.mixed_nb import MixedNB
from tamiz.wrappers.models import Model

_OF_CLASSES, _OF_NUMBERS = ("logistic", "naive_bayes", "knn", "forest"), ("ridge", "knn", "forest")


def usual_models(schema: Schema) -> tuple[str, ...]:
    """Return the names of the models that a table is tried with: nearest neighbours accept no weights."""
    names = _OF_CLASSES if schema.has_classes else _OF_NUMBERS
    return names if schema.weight is None else tuple(name for name in names if name != "knn")


def models_of(given: Sequence[str] | None, schema: Schema) -> tuple[dict[str, Predictor], list[str]]:
    """Return models by name, the usual ones where none are named, and a sentence for each of these that is left out."""
    if isinstance(given, str) or (given is not None and not len(given)):
        raise ValueError(f"predictors must be a list of names such as ['naive_bayes', 'forest'], got {given!r}.")
    models = {name: predictor_of(name, schema) for name in (usual_models(schema) if given is None else given)}
    for model in models.values():
        model.check(schema)
    without = given is None and schema.weight is not None
    return models, ["Nearest neighbours accept no weights, and are left out."] if without else []


def of_model(model: Model) -> Predictor:
    """Return what predicts as a model does: from views of the table, from points, or from rows and columns as they were given."""
    if type(model.estimator) is MixedNB:
        return NaiveBayes(model.estimator)
    return Encoded(model.estimator, model.label, impute=model.impute) if model.encode else Given(model.estimator)


def predictor_of(given: Any, schema: Schema) -> Predictor:
    """Return what predicts, by its name or as it was given; None is what suits the target."""
    # Here and not above: the package that lists the names imports this module.
    from tamiz.assessment import registry

    if given is None:
        given = "naive_bayes" if schema.has_classes else "knn"
    if not isinstance(given, str):
        return Given(adapted(given, has_classes=schema.has_classes) if predicts(given) else given)
    check_choice("predictor", given, [entry.name for entry in registry.of_kind("predictor")])
    made: Predictor = registry[given].load()()
    return made
