"""Scorers: names or callables resolved and checked; a larger score is better."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from inspect import signature
from numbers import Real
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, get_scorer, get_scorer_names, make_scorer

from tamiz.arrays import Floats
from tamiz.exceptions import DataError
from tamiz.models.estimators import accepts_weights, requested_metadata, unwrap_estimator
from tamiz.runtime.registry import suggestion
from tamiz.table.schema import Schema

# The type of scikit-learn scorers that call only predict.
PREDICTION_SCORER = type(make_scorer(accuracy_score))
# Methods that scikit-learn's scorers call.
_RESPONSE_METHODS = ("predict", "predict_proba", "decision_function")
# Names of scikit-learn's regression scores.
_REGRESSION_SCORES = re.compile(
    r"r2|explained_variance|(neg_)?max_error|neg_(mean|root_mean|median)_\w+|d2_(absolute|pinball|tweedie)\w*"
)
# Scores for two classes, and the corresponding scores for more.
_BINARY_SCORES = {
    "roc_auc": "roc_auc_ovr",
    **{name: f"{name}_macro" for name in ("f1", "precision", "recall", "jaccard")},
}


@dataclass(frozen=True)
class Scoring:
    """A scorer(estimator, rows, y) with its name; larger is better.

    `is_sklearn` means scikit-learn's scorer of that name, and `accepts_target` that it is called with y, which is None without a
    target. `requests` has the parameters of the scorer that are metadata of the rows, with the names of the metadata.
    """

    name: str
    scorer: Callable[..., Any]
    is_sklearn: bool = False
    accepts_target: bool = True
    requests: Mapping[str, str] = field(default_factory=dict)

    def with_requests(self, metadata: Iterable[str]) -> Scoring:
        """Return the scoring with the requests of its scorer among the metadata of these names."""
        return replace(self, requests=requested_metadata(self.scorer, "score", {name: name for name in metadata}))

    @property
    def uses_predictions_only(self) -> bool:
        """Whether the score depends on the estimator only by its predictions."""
        return isinstance(self.scorer, PREDICTION_SCORER)

    def check_weights(self, schema: Schema) -> None:
        """Raise DataError if rows have weights and the score accepts none."""
        # A scikit-learn scorer passes weights to its metric, which may not accept them.
        if schema.weight is not None and not accepts_weights(getattr(self.scorer, "_score_func", self.scorer)):
            raise DataError(f"{self.name} accepts no sample_weight, and the rows have weights; leave them out.")

    def score(
        self,
        estimator: Any,
        rows: Any,
        y: NDArray[Any] | None,
        weight: Floats | None,
        metadata: Mapping[str, Any] = MappingProxyType({}),
    ) -> float:
        """Return the score of a fitted estimator on test rows; raise DataError if it is not a finite number."""
        options = {parameter: metadata[name] for parameter, name in self.requests.items()}
        options |= {} if weight is None else {"sample_weight": weight}
        if self.is_sklearn and self.name == "accuracy" and y is not None and options.keys() <= {"sample_weight"}:
            return _accuracy(y, estimator.predict(rows), options.get("sample_weight"))
        # scikit-learn's scorers read the estimator type; a callable of the user's gets the user's object.
        target = (y,) if self.accepts_target else ()
        value = self.scorer(
            estimator if self.uses_predictions_only else unwrap_estimator(estimator), rows, *target, **options
        )
        if not isinstance(value, Real) and np.ndim(value) + (np.asarray(value).dtype.kind not in "fiu"):
            raise DataError(f"{self.name} returns {reprlib.repr(value)}; a score must be one number, larger is better.")
        if not np.isfinite(number := float(value)):
            same = y is not None and y.dtype.kind != "f" and (y == y[0]).all()
            only = f", which are all of class {y[0]!s}" if y is not None and same else ""
            n_rows = rows.shape[0] if y is None else len(y)
            raise DataError(f"{self.name} is {number} on the {n_rows:,} test rows{only}; a score must be finite.")
        return number


def _accuracy(y: NDArray[Any], predicted: Any, weight: Floats | None) -> float:
    """Return scikit-learn's accuracy, whose checks of labels take longer than the predictions of a linear model."""
    is_array = isinstance(predicted, np.ndarray) and predicted.shape == y.shape == (len(y),)
    if is_array and predicted.dtype.kind == y.dtype.kind and y.dtype.kind in "biuU":
        return float(np.average(y == predicted, weights=weight))
    return float(accuracy_score(y, predicted, sample_weight=weight))


class _CachedPredictions:
    """A fitted estimator that predicts once from the rows that several scikit-learn scorers read."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator
        self._found: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.estimator, name)
        if name not in _RESPONSE_METHODS:
            return value

        # scikit-learn's scorers read the name of the method.
        @wraps(value)
        def respond(rows: Any) -> Any:
            if name not in self._found:
                self._found[name] = value(rows)
            return self._found[name]

        return respond


def score_fitted(
    scorings: Sequence[Scoring],
    estimator: Any,
    rows: Any,
    y: NDArray[Any] | None,
    weight: Floats | None,
    metadata: Mapping[str, Any],
) -> Iterator[float]:
    """Yield the scores of a fitted estimator on test rows; scikit-learn scorers share its predictions."""
    cached = _CachedPredictions(estimator)
    for scoring in scorings:
        is_shared = scoring.uses_predictions_only and len(scorings) > 1
        yield scoring.score(cached if is_shared else estimator, rows, y, weight, metadata)


def exact_match_accuracy(y: NDArray[Any], predicted: NDArray[Any], *, sample_weight: Floats | None = None) -> float:
    """Return the share of rows with all outputs correct; for label indicators it equals scikit-learn's accuracy."""
    return float(np.average((np.asarray(y) == predicted).all(axis=1), weights=sample_weight))


def resolve_scoring(scoring: Any, *, has_classes: bool, multioutput: bool = False) -> Scoring:
    """Return the requested scorer; None is accuracy for classes and R2 for a numeric target."""
    if isinstance(scoring, Scoring):
        return scoring
    if scoring is None and has_classes and multioutput:
        return Scoring("accuracy", make_scorer(exact_match_accuracy))
    if scoring is None:
        scoring = "accuracy" if has_classes else "r2"
    if callable(scoring):
        return Scoring(getattr(scoring, "__name__", None) or type(scoring).__name__, scoring)
    names = get_scorer_names()
    if not isinstance(scoring, str) or scoring not in names:
        hint = suggestion(scoring, names) if isinstance(scoring, str) else ""
        raise ValueError(
            "scoring must be the name of a scikit-learn scorer such as 'accuracy' or 'r2', or a callable, got "
            f"{scoring!r}{hint}."
        )
    return Scoring(scoring, get_scorer(scoring), is_sklearn=True)


def resolve_unsupervised_scoring(scoring: Any, estimator: Any) -> Scoring:
    """Return the scorer without a target: a callable of the estimator and the rows, or the estimator's score method."""
    name = type(estimator).__name__
    if scoring is None:
        if not hasattr(estimator, "score"):
            raise TypeError(f"{name} has no score of its own: pass scoring=, a callable scorer(estimator, X).")
        return Scoring("score", type(estimator).score, accepts_target=False)
    if isinstance(scoring, PREDICTION_SCORER) or not callable(scoring):
        requested = repr(scoring) if isinstance(scoring, str) else reprlib.repr(scoring)
        raise ValueError(
            f"scoring={requested} compares predictions with a target, and {name} is fitted without one: pass a callable "
            "scorer(estimator, X), or None for the estimator's own score."
        )
    return replace(resolve_scoring(scoring, has_classes=False), accepts_target=not _accepts_two_arguments(scoring))


def _accepts_two_arguments(scorer: Callable[..., Any]) -> bool:
    """Return whether a function can be called with an estimator and rows only."""
    try:
        signature(scorer).bind(None, None)
    except (TypeError, ValueError):
        return False
    return True


def check_scoring_target(scoring: Scoring, schema: Schema, labels: NDArray[Any]) -> None:
    """Raise DataError for a scikit-learn scorer that is undefined for the target; `labels` is what the scorer receives."""
    target = schema.target
    if not scoring.is_sklearn or target is None:
        return
    scores_numbers = bool(_REGRESSION_SCORES.fullmatch(scoring.name))
    if not schema.has_classes:
        if not scores_numbers:
            raise DataError(
                f"{scoring.name} scores classes, and the target {target.name!r} is a number; use r2 or another score of numbers."
            )
        return
    if scores_numbers and labels.dtype.kind not in "iuf":
        raise DataError(
            f"{scoring.name} scores numbers, and the target {target.name!r} is classes; use accuracy, f1_macro or another score of "
            "classes."
        )
    if scoring.name in _BINARY_SCORES and (n_classes := len(np.unique(labels))) > 2:
        raise DataError(
            f"{scoring.name} scores two classes, and the target {target.name!r} has {n_classes:,}; use "
            f"{_BINARY_SCORES[scoring.name]} or another score of many classes."
        )
