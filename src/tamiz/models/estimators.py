"""Estimators of scikit-learn's kind: their seeds, and whether they take weights."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from inspect import Parameter, signature
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_clusterer, is_outlier_detector
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.utils import ClassifierTags, RegressorTags, Tags, get_tags

from tamiz.exceptions import DataError
from tamiz.models.native_table import is_number_like
from tamiz.sources.base import Source
from tamiz.sources.schema import Column, Schema
from tamiz.statistics.base import Floats


# MERGED: Objects with fit and predict that are no estimators of scikit-learn's, as scorers and refits need them.
class EstimatorAdapter(BaseEstimator):
    """An object with fit and predict under the interface of scikit-learn's estimators.

    Its methods and attributes are the object's, so that a scorer finds `predict_proba` where there is one.

    Parameters
    ----------
    estimator : object
        Copied by `sklearn.clone`, or as a whole where that refuses it.
    has_classes : bool
        Whether it predicts classes.
    """

    def __init__(self, estimator: Any, has_classes: bool) -> None:
        self.estimator = estimator
        self.has_classes = has_classes

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier" if self.has_classes else "regressor"
        tags.classifier_tags = ClassifierTags() if self.has_classes else None
        tags.regressor_tags = None if self.has_classes else RegressorTags()
        # Nobody knows what the object does with missing values and text: its fit says so.
        tags.input_tags.allow_nan = tags.input_tags.string = True
        return tags

    def __sklearn_clone__(self) -> EstimatorAdapter:
        return EstimatorAdapter(_copy_estimator(self.estimator), self.has_classes)

    def __getattr__(self, name: str) -> Any:
        # Asked for only what the adapter does not have; a copy is asked before it has the object.
        if name.startswith("__") or "estimator" not in vars(self):
            raise AttributeError(name)
        return getattr(self.estimator, name)

    def fit(self, X: Any, y: NDArray[Any], **fit_params: Any) -> Self:
        """Fit the object, whatever its fit returns."""
        self.estimator.fit(X, y, **fit_params)
        if self.has_classes and not hasattr(self.estimator, "classes_"):
            self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the object's predictions, a column of them as an array of one dimension."""
        predicted = np.asarray(self.estimator.predict(X))
        return predicted[:, 0] if predicted.ndim == 2 and predicted.shape[1] == 1 else predicted


def can_predict(estimator: Any) -> bool:
    """Return whether an object, and no class, has fit and predict."""
    methods = (getattr(estimator, name, None) for name in ("fit", "predict"))
    return not isinstance(estimator, type) and all(map(callable, methods))


def adapt_estimator(estimator: Any, *, has_classes: bool) -> BaseEstimator:
    """Return an estimator of scikit-learn's as it is, any other object with fit and predict under an adapter.

    An object that does not say what it predicts predicts what the target is: classes or a number.
    """
    if hasattr(estimator, "__sklearn_tags__"):
        says = get_tags(estimator).estimator_type
        if says is not None and isinstance(estimator, BaseEstimator):
            return estimator
    else:
        says = getattr(estimator, "_estimator_type", None)
    return EstimatorAdapter(estimator, has_classes if says is None else says == "classifier")


def unwrap_estimator(estimator: Any) -> Any:
    """Return the user's object."""
    return estimator.estimator if isinstance(estimator, EstimatorAdapter) else estimator


def _copy_estimator(estimator: Any) -> Any:
    if not hasattr(estimator, "get_params"):
        return copy.deepcopy(estimator)
    try:
        return clone(estimator, safe=False)
    except (RuntimeError, TypeError):
        # Its constructor changes parameters, or has others than get_params says.
        return copy.deepcopy(estimator)


_LARGEST_SEED = 2**31
# Types of estimators that learn from rows without a target.
_UNSUPERVISED_TYPES = ("clusterer", "outlier_detector", "density_estimator")


def set_random_state(estimator: Any, seed: int) -> Any:
    """Return the estimator with every random_state that is None, its parts' too, set to a seed: searches can then be repeated."""
    parameters = estimator.get_params(deep=True)
    unset = [
        name
        for name, value in parameters.items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    ]
    # Not what set_params returns: that of scikit-learn's FrozenEstimator returns None.
    estimator.set_params(**dict.fromkeys(sorted(unset), seed % _LARGEST_SEED))
    return estimator


def fit_weighted(estimator: Any, rows: Any, y: NDArray[Any] | None, weight: Floats | None) -> Any:
    """Return the estimator, fitted; weights are handed to it where rows have any, for not every estimator takes None."""
    target = () if y is None else (y,)
    return estimator.fit(rows, *target, **({} if weight is None else {"sample_weight": weight}))


def is_unsupervised(estimator: Any, scoring: Any = None) -> bool:
    """Return whether an estimator of scikit-learn's kind learns from rows without a target, and can be scored so.

    It finds clusters, outliers or a density, or it predicts nothing and has a score of its own, or is given one.
    """
    if not isinstance(estimator, BaseEstimator):
        return False
    tags = get_tags(estimator)
    if tags.estimator_type is not None:
        return tags.estimator_type in _UNSUPERVISED_TYPES
    scored = callable(scoring) or hasattr(estimator, "score")
    return scored and not hasattr(estimator, "predict") and not tags.target_tags.required


def check_accepts_weights(estimator: Any, schema: Schema) -> None:
    """Refuse rows with weights for an estimator whose fit takes none.

    A pipeline or a search of scikit-learn's hands weights on to the steps that request them, where metadata routing is enabled.
    """
    estimator = unwrap_estimator(estimator)
    if schema.weight is None:
        return
    routing = get_config()["enable_metadata_routing"]
    routes = hasattr(estimator, "steps") or isinstance(estimator, MetaEstimatorMixin)
    if routing and routes and hasattr(estimator, "get_metadata_routing"):
        accepts = bool(estimator.get_metadata_routing().consumes("fit", ["sample_weight"]))
    else:
        accepts = accepts_weights(estimator.fit) and not isinstance(estimator, Pipeline)
    if accepts:
        return
    name, out = type(estimator).__name__, "leave them out"
    if isinstance(estimator, Pipeline):
        name = f"{name}({', '.join(type(step).__name__ for _, step in estimator.steps)})"
        out += ", or call set_fit_request(sample_weight=True) on the step that takes them"
        out += "" if routing else " after sklearn.set_config(enable_metadata_routing=True)"
    raise DataError(f"{name} takes no sample_weight in fit, and the rows have weights; {out}.")


def check_is_predictive(estimator: Any) -> None:
    """Refuse what predicts no target: clusters, and outliers."""
    what = "clusters" if is_clusterer(estimator) else "outliers" if is_outlier_detector(estimator) else None
    if what is not None:
        raise TypeError(
            f"{type(estimator).__name__} finds {what} and predicts no target; pass a classifier or a regressor."
        )


def check_accepts_columns(estimator: Any, schema: Schema) -> None:
    """Refuse text and gaps for an estimator of scikit-learn's that says it takes none, and steps that count columns.

    What others say of themselves is seldom true, and of an estimator made of others nothing is said: a refit tells.
    """
    for part in nested_estimators(estimator):
        if isinstance(part, ColumnTransformer):
            _check_no_positions(part)
    if not is_plain_sklearn(estimator):
        return
    name, tags = type(estimator).__name__, get_tags(estimator)
    columns = [schema.columns[j] for j in schema.used.tolist()]
    if not _accepts_categories(estimator):
        for column in columns:
            if not is_number_like(column):
                raise DataError(
                    f"Column {column.name!r} holds {non_numeric_kind(column)}, and {name} takes numbers: pass encode=True, or a "
                    "pipeline that encodes."
                )
    gaps = [column for column in columns if column.n_missing]
    if gaps and not tags.input_tags.allow_nan:
        others = (
            f", as do {len(gaps) - 1:,} more columns" if len(gaps) > 2 else ", as does 1 more" if len(gaps) == 2 else ""
        )
        raise DataError(
            f"Column {gaps[0].name!r} has {missing_phrase(gaps[0])}{others}, and {name} takes none: pass encode=True, or a pipeline that "
            "fills gaps (NaN)."
        )


def needs_encoding(estimator: Any, schema: Schema) -> bool:
    """Return whether a table has text and the estimator is one of scikit-learn's that accepts none, and could read points."""
    if all(is_number_like(schema.columns[j]) for j in schema.used.tolist()) or not is_plain_sklearn(estimator):
        return False
    return not _accepts_categories(estimator) and not get_tags(estimator).input_tags.positive_only


def accepts_missing(estimator: Any) -> bool:
    """Return whether an estimator is one of scikit-learn's that accepts missing values, and not what is made of some."""
    return is_plain_sklearn(estimator) and bool(get_tags(estimator).input_tags.allow_nan)


def accepts_sparse(estimator: Any) -> bool:
    """Return whether an estimator says that it accepts sparse rows."""
    return isinstance(estimator, BaseEstimator) and bool(get_tags(estimator).input_tags.sparse)


def native_rows(estimator: Any, source: Source, columns: Sequence[int] | None = None) -> Any:
    """Return rows as they were given, or as an array where they are a sparse matrix that the estimator does not accept."""
    rows = source.frame(columns)
    return rows.toarray() if sparse.issparse(rows) and not accepts_sparse(estimator) else rows


def _accepts_categories(estimator: Any) -> bool:
    tags = get_tags(estimator).input_tags
    # Gradient boosting takes the categories of a frame where its parameter says so, and its tags do not.
    by_parameter = estimator.get_params(deep=False).get("categorical_features") is not None
    return bool(tags.categorical or tags.string or by_parameter)


def _check_no_positions(transformer: ColumnTransformer) -> None:
    """Refuse columns chosen by their place: in a set of columns others are there."""
    for step, _, wanted in transformer.transformers:
        places = wanted if isinstance(wanted, slice) else np.atleast_1d(np.asarray(wanted, dtype=object))
        if isinstance(places, slice):
            by_place = any(isinstance(end, int) for end in (places.start, places.stop))
        else:
            by_place = any(isinstance(one, int | np.integer | np.bool_) for one in places.tolist())
        if by_place:
            raise DataError(
                f"Step {step!r} of a ColumnTransformer takes columns by their place, and in a set of columns others are there: let "
                "it choose columns by make_column_selector."
            )


def is_plain_sklearn(estimator: Any) -> bool:
    """Return whether an estimator is one of scikit-learn's, made of no others, that looks at the columns."""
    is_own = type(estimator).__module__.startswith("sklearn.") and not get_tags(estimator).no_validation
    return is_own and len(nested_estimators(estimator)) == 1


def nested_estimators(estimator: Any) -> list[Any]:
    """Return an estimator and all estimators that it is made of."""
    parameters = estimator.get_params(deep=True).values()
    return [estimator, *(part for part in parameters if isinstance(part, BaseEstimator))]


def non_numeric_kind(column: Column) -> str:
    """Return what a column holds that an estimator of numbers cannot read."""
    return "dates" if column.kind == "date" else "text"


def missing_phrase(column: Column) -> str:
    """Return how many values a column lacks."""
    return "1 missing value" if column.n_missing == 1 else f"{column.n_missing:,} missing values"


def accepts_weights(function: Callable[..., Any]) -> bool:
    """Return whether a function takes a sample_weight, or hands on what it does not know."""
    try:
        parameters = signature(function).parameters
    except ValueError:
        # Compiled without one: only calling it tells.
        return True
    return "sample_weight" in parameters or any(one.kind is Parameter.VAR_KEYWORD for one in parameters.values())
