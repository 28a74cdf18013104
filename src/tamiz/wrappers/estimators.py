"""Estimators of scikit-learn's kind: their seeds, and whether they take weights."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any

from sklearn.pipeline import Pipeline

from tamiz.exceptions import DataError
from tamiz.sources.schema import Schema

_LARGEST_SEED = 2**31


def seeded(estimator: Any, seed: int) -> Any:
    """Return the estimator with every random_state that is None, its parts' too, set to a seed: searches can then be repeated."""
    parameters = estimator.get_params(deep=True)
    unset = [
        name
        for name, value in parameters.items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    ]
    return estimator.set_params(**dict.fromkeys(sorted(unset), seed % _LARGEST_SEED))


def check_takes_weights(estimator: Any, schema: Schema) -> None:
    """Refuse rows with weights for an estimator whose fit takes none; a pipeline would not know which of its steps they are for."""
    is_pipeline = isinstance(estimator, Pipeline)
    if schema.weight is None or (accepts_weights(estimator.fit) and not is_pipeline):
        return
    name = type(estimator).__name__
    if is_pipeline:
        name = f"{name}({', '.join(type(step).__name__ for _, step in estimator.steps)})"
    raise DataError(f"{name} takes no sample_weight in fit, and the rows have weights; leave them out.")


def accepts_weights(function: Callable[..., Any]) -> bool:
    """Return whether a function takes a sample_weight, or hands on what it does not know."""
    try:
        parameters = signature(function).parameters
    except ValueError:
        # Compiled without one: only calling it tells.
        return True
    return "sample_weight" in parameters or any(one.kind is Parameter.VAR_KEYWORD for one in parameters.values())
