"""Predictors by their names, and predictors that predict as a wrapper's model does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tamiz.assessment.naive_bayes import NaiveBayesModel
from tamiz.assessment.predictors import EncodedModel, NativeModel, TableModel
from tamiz.sources.schema import Schema
from tamiz.validation import check_choice
from tamiz.wrappers.adapter import adapt_estimator, can_predict
from tamiz.wrappers.mixed_nb import MixedNB
from tamiz.wrappers.models import Model

_CLASSIFIERS, _REGRESSORS = ("logistic", "naive_bayes", "knn", "forest"), ("ridge", "knn", "forest")


def default_models(schema: Schema) -> tuple[str, ...]:
    """Return the names of the models that a table is tried with: nearest neighbours accept no weights."""
    names = _CLASSIFIERS if schema.has_classes else _REGRESSORS
    return names if schema.weight is None else tuple(name for name in names if name != "knn")


def resolve_table_models(names: Sequence[str] | None, schema: Schema) -> tuple[dict[str, TableModel], list[str]]:
    """Return models by name, the usual ones where none are named, and a sentence for each of these that is left out."""
    if isinstance(names, str) or (names is not None and not len(names)):
        raise ValueError(f"predictors must be a list of names such as ['naive_bayes', 'forest'], got {names!r}.")
    models = {name: resolve_table_model(name, schema) for name in (default_models(schema) if names is None else names)}
    for model in models.values():
        model.check(schema)
    without = names is None and schema.weight is not None
    return models, ["Nearest neighbours accept no weights, and are left out."] if without else []


def table_model(model: Model) -> TableModel:
    """Return what predicts as a model does: from views of the table, from points, or from rows and columns as they were given."""
    if type(model.estimator) is MixedNB:
        return NaiveBayesModel(model.estimator)
    return (
        EncodedModel(model.estimator, model.label, impute=model.impute)
        if model.encode
        else NativeModel(model.estimator)
    )


def resolve_table_model(model: Any, schema: Schema) -> TableModel:
    """Return what predicts, by its name or as it was given; None is what suits the target."""
    # Here and not above: the package that lists the names imports this module.
    from tamiz.assessment import registry

    if model is None:
        model = "naive_bayes" if schema.has_classes else "knn"
    if not isinstance(model, str):
        return NativeModel(adapt_estimator(model, has_classes=schema.has_classes) if can_predict(model) else model)
    check_choice("predictor", model, [entry.name for entry in registry.of_kind("predictor")])
    made: TableModel = registry[model].load()()
    return made
