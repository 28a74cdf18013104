"""Estimators with scikit-learn's interface: checks of their input, seeds, and an adapter for other objects with fit and predict."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, signature
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import get_config
from sklearn.base import (
    BaseEstimator,
    MetaEstimatorMixin,
    OneToOneFeatureMixin,
    clone,
    is_clusterer,
    is_outlier_detector,
)
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.utils import ClassifierTags, RegressorTags, Tags, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

from tamiz.arrays import Floats
from tamiz.exceptions import DataError
from tamiz.runtime.user_warnings import list_names
from tamiz.table.base import Table
from tamiz.table.schema import Column, Schema

# How columns become numbers. "none": numbers as they are. "codes": also the number of every level. "indicators": also a 0/1
# indicator for every level; missing values stay NaN. "standard": numbers standardised and indicators scaled, by the training rows
# of every fold.
MatrixEncoding = Literal["none", "codes", "indicators", "standard"]

_LARGEST_SEED = 2**31
# Types of estimators that need no target.
_UNSUPERVISED_TYPES = ("clusterer", "outlier_detector", "density_estimator")


class EstimatorAdapter(BaseEstimator):
    """Gives an object with fit and predict the interface of scikit-learn estimators.

    All other methods and attributes are those of the object, so that a scorer finds `predict_proba` if there is one.

    It is copied by `sklearn.clone`, or by `copy.deepcopy` if `clone` raises.
    """

    def __init__(self, estimator: Any, has_classes: bool) -> None:
        self.estimator = estimator
        self.has_classes = has_classes

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier" if self.has_classes else "regressor"
        tags.classifier_tags = ClassifierTags() if self.has_classes else None
        tags.regressor_tags = None if self.has_classes else RegressorTags()
        # Unknown for the object: its fit raises if it accepts no missing values or no text.
        tags.input_tags.allow_nan = tags.input_tags.string = True
        return tags

    def __sklearn_clone__(self) -> EstimatorAdapter:
        return EstimatorAdapter(_copy_estimator(self.estimator), self.has_classes)

    def __getattr__(self, name: str) -> Any:
        # Called only for attributes that the adapter lacks, and during copying before `estimator` is set.
        if name.startswith("__") or "estimator" not in vars(self):
            raise AttributeError(name)
        return getattr(self.estimator, name)

    def fit(self, X: Any, y: NDArray[Any], **fit_params: Any) -> Self:
        """Fit the object; the value that its fit returns is ignored."""
        self.estimator.fit(X, y, **fit_params)
        if self.has_classes and not hasattr(self.estimator, "classes_"):
            self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the object's predictions; a single column becomes one-dimensional."""
        predicted = np.asarray(self.estimator.predict(X))
        return predicted[:, 0] if predicted.ndim == 2 and predicted.shape[1] == 1 else predicted


def can_predict(estimator: Any) -> bool:
    """Return whether something is an object (not a class) with fit and predict."""
    methods = (getattr(estimator, name, None) for name in ("fit", "predict"))
    return not isinstance(estimator, type) and all(map(callable, methods))


def adapt_estimator(estimator: Any, *, has_classes: bool) -> BaseEstimator:
    """Return a scikit-learn estimator unchanged, and any other object with fit and predict in an adapter.

    An object that does not declare an estimator type is a classifier if the target has classes, else a regressor.
    """
    if hasattr(estimator, "__sklearn_tags__"):
        declared = get_tags(estimator).estimator_type
        if declared is not None and isinstance(estimator, BaseEstimator):
            return estimator
    else:
        declared = getattr(estimator, "_estimator_type", None)
    return EstimatorAdapter(estimator, has_classes if declared is None else declared == "classifier")


def unwrap_estimator(estimator: Any) -> Any:
    """Return the user's object, without an adapter."""
    return estimator.estimator if isinstance(estimator, EstimatorAdapter) else estimator


def _copy_estimator(estimator: Any) -> Any:
    if not hasattr(estimator, "get_params"):
        return copy.deepcopy(estimator)
    try:
        return clone(estimator, safe=False)
    except (RuntimeError, TypeError):
        # Its constructor changes parameters, or has others than get_params returns.
        return copy.deepcopy(estimator)


def set_random_state(estimator: Any, seed: int) -> Any:
    """Set every random_state that is None, also those of nested estimators, to a seed, and return the estimator."""
    parameters = estimator.get_params(deep=True)
    unset = [
        name
        for name, value in parameters.items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    ]
    # The result of set_params is not used: FrozenEstimator.set_params returns None.
    estimator.set_params(**dict.fromkeys(sorted(unset), seed % _LARGEST_SEED))
    return estimator


def requested_metadata(consumer: Any, method: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata that a method of an estimator or scorer requests (`set_fit_request`, `set_score_request`)."""
    if not metadata:
        return {}
    mapping = MethodMapping().add(caller=method, callee=method)
    router = MetadataRouter(owner="tamiz").add(consumer=unwrap_estimator(consumer), method_mapping=mapping)
    return dict(router.route_params(caller=method, params=dict(metadata))["consumer"][method])


def check_metadata(function: str, readers: Sequence[tuple[Any, str]], metadata: Mapping[str, Any]) -> None:
    """Raise TypeError for metadata without metadata routing, or that no method of an estimator or scorer requests."""
    if not metadata:
        return
    if not get_config()["enable_metadata_routing"]:
        names = list_names(list(metadata), as_text=repr)
        raise TypeError(
            f"{function} got an unexpected keyword argument {names}. To pass such values of the rows to an estimator, call "
            "sklearn.set_config(enable_metadata_routing=True), and set_fit_request of the estimator."
        )
    requested = {name for reader, method in readers for name in requested_metadata(reader, method, metadata)}
    if unread := [name for name in metadata if name not in requested]:
        raise TypeError(
            f"{function} got {list_names(unread, as_text=repr)}, which no estimator or scorer requests. Call set_fit_request or "
            "set_score_request of one that reads it."
        )


def fit_weighted(
    estimator: Any,
    rows: Any,
    y: NDArray[Any] | None,
    weight: Floats | None,
    options: Mapping[str, Any] = MappingProxyType({}),
) -> Any:
    """Fit an estimator and return it; sample_weight is passed only if rows have weights, as not every fit accepts None."""
    target = () if y is None else (y,)
    return estimator.fit(rows, *target, **options, **({} if weight is None else {"sample_weight": weight}))


def model_importances(estimator: Any, getter: str | Callable[[Any], Any], n_columns: int) -> tuple[Floats, bool] | None:
    """Return the importances that a fitted estimator has by `importance_getter`, and whether they are coefficients per unit.

    None where "auto" finds none. They are not negative, and those of several columns add up: squares of coefficients are summed
    over the outputs.
    """
    fitted, is_scaled = unwrap_estimator(estimator), False
    if getter == "auto":
        if isinstance(fitted, Pipeline) and all(
            step in (None, "passthrough") or isinstance(step, OneToOneFeatureMixin) for _, step in fitted.steps[:-1]
        ):
            is_scaled, fitted = len(fitted.steps) > 1, fitted.steps[-1][1]
        getter = next((name for name in ("coef_", "feature_importances_") if hasattr(fitted, name)), "")
        found = getattr(fitted, getter) if getter else None
        if found is None or np.shape(found)[-1:] != (n_columns,):
            return None
    else:
        found = getter(fitted) if callable(getter) else attrgetter(getter)(fitted)
    values = np.atleast_2d(found.toarray() if sparse.issparse(found) else np.asarray(found, dtype=np.float64))
    if values.ndim > 2 or values.shape[1] != n_columns or not np.isfinite(values).all():
        raise ValueError(
            f"importance_getter={getter!r} must return a finite number for each of {n_columns:,} columns, got an array of shape "
            f"{np.shape(found)}"
        )
    adds_up = isinstance(getter, str) and getter.endswith("feature_importances_")
    per_unit = isinstance(getter, str) and getter.endswith("coef_") and not is_scaled
    return values.sum(axis=0) if adds_up else (values**2).sum(axis=0), per_unit


def is_unsupervised(estimator: Any, scoring: Any = None) -> bool:
    """Return whether an estimator can be fitted and scored without a target.

    That is a clusterer, an outlier detector, a density estimator, or an estimator without predict that has a score method or for
    which `scoring` is callable.
    """
    if not isinstance(estimator, BaseEstimator):
        return False
    tags = get_tags(estimator)
    if tags.estimator_type is not None:
        return tags.estimator_type in _UNSUPERVISED_TYPES
    scored = callable(scoring) or hasattr(estimator, "score")
    return scored and not hasattr(estimator, "predict") and not tags.target_tags.required


def check_accepts_weights(estimator: Any, schema: Schema) -> None:
    """Raise DataError if rows have weights and the estimator's fit accepts none.

    A scikit-learn pipeline or search passes weights to the steps that request them if metadata routing is enabled.
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
        out += ", or call set_fit_request(sample_weight=True) on the step that accepts them"
        out += "" if routing else " after sklearn.set_config(enable_metadata_routing=True)"
    raise DataError(f"{name} accepts no sample_weight in fit, and the rows have weights; {out}.")


def check_is_predictive(estimator: Any) -> None:
    """Raise TypeError for an estimator that predicts no target: a clusterer or an outlier detector."""
    what = "clusters" if is_clusterer(estimator) else "outliers" if is_outlier_detector(estimator) else None
    if what is not None:
        raise TypeError(
            f"{type(estimator).__name__} finds {what} and predicts no target; pass a classifier or a regressor."
        )


def check_accepts_columns(estimator: Any, schema: Schema) -> None:
    """Raise DataError for text or missing values that a scikit-learn estimator does not accept, and for columns chosen by position.

    Only plain scikit-learn estimators are checked: the tags of others and of composite estimators are unreliable, so a refit
    reports the error.
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
            if not column.is_number_like:
                raise DataError(
                    f"Column {column.name!r} contains {non_numeric_kind(column)}, and {name} accepts only numbers: pass "
                    "encode=True, or a pipeline that encodes."
                )
    incomplete = [column for column in columns if column.n_missing]
    if incomplete and not tags.input_tags.allow_nan:
        n_others = len(incomplete) - 1
        others = f", as do {n_others:,} more columns" if n_others > 1 else ", as does 1 more" if n_others else ""
        raise DataError(
            f"Column {incomplete[0].name!r} has {missing_phrase(incomplete[0])}{others}, and {name} accepts none (NaN): pass "
            "encode=True, or a pipeline that imputes them."
        )


def needs_encoding(estimator: Any, schema: Schema) -> bool:
    """Return whether a table has text that a plain scikit-learn estimator, which accepts negative numbers, does not accept."""
    if all(schema.columns[j].is_number_like for j in schema.used.tolist()) or not is_plain_sklearn(estimator):
        return False
    return not _accepts_categories(estimator) and not get_tags(estimator).input_tags.positive_only


def accepts_missing(estimator: Any) -> bool:
    """Return whether an estimator is a plain scikit-learn estimator that accepts missing values."""
    return is_plain_sklearn(estimator) and bool(get_tags(estimator).input_tags.allow_nan)


def accepts_sparse(estimator: Any) -> bool:
    """Return whether an estimator's tags declare that it accepts sparse rows."""
    return isinstance(estimator, BaseEstimator) and bool(get_tags(estimator).input_tags.sparse)


def native_rows(estimator: Any, table: Table) -> Any:
    """Return rows in the type that the user passed; a sparse matrix becomes an array if the estimator does not accept it."""
    rows = table.frame()
    return rows.toarray() if sparse.issparse(rows) and not accepts_sparse(estimator) else rows


def _accepts_categories(estimator: Any) -> bool:
    tags = get_tags(estimator).input_tags
    # Histogram gradient boosting accepts the categories of a frame by its parameter, which its tags do not reflect.
    by_parameter = estimator.get_params(deep=False).get("categorical_features") is not None
    return bool(tags.categorical or tags.string or by_parameter)


def _check_no_positions(transformer: ColumnTransformer) -> None:
    """Raise DataError for columns chosen by position: positions differ between column sets."""
    for step, _, wanted in transformer.transformers:
        columns = wanted if isinstance(wanted, slice) else np.atleast_1d(np.asarray(wanted, dtype=object))
        if isinstance(columns, slice):
            by_position = any(isinstance(end, int) for end in (columns.start, columns.stop))
        else:
            by_position = any(isinstance(one, int | np.integer | np.bool_) for one in columns.tolist())
        if by_position:
            raise DataError(
                f"Step {step!r} of a ColumnTransformer selects columns by position, and positions differ between column sets: use "
                "make_column_selector."
            )


def is_plain_sklearn(estimator: Any) -> bool:
    """Return whether an estimator is a scikit-learn estimator that validates its input and has no nested estimators."""
    is_own = type(estimator).__module__.startswith("sklearn.") and not get_tags(estimator).no_validation
    return is_own and len(nested_estimators(estimator)) == 1


def nested_estimators(estimator: Any) -> list[Any]:
    parameters = estimator.get_params(deep=True).values()
    return [estimator, *(part for part in parameters if isinstance(part, BaseEstimator))]


def non_numeric_kind(column: Column) -> str:
    """Return the word for the values of a column that is not numeric."""
    return "dates" if column.kind == "date" else "text"


def missing_phrase(column: Column) -> str:
    """Return the number of missing values of a column in words."""
    return "1 missing value" if column.n_missing == 1 else f"{column.n_missing:,} missing values"


def accepts_weights(function: Callable[..., Any]) -> bool:
    """Return whether a function accepts sample_weight or arbitrary keywords."""
    try:
        parameters = signature(function).parameters
    except ValueError:
        # Compiled functions may have no signature: assume that they accept weights.
        return True
    return "sample_weight" in parameters or any(one.kind is Parameter.VAR_KEYWORD for one in parameters.values())
