"""Objects with fit and predict that are no estimators of scikit-learn's, as scorers and refits need them."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import ClassifierTags, RegressorTags, Tags, get_tags


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
