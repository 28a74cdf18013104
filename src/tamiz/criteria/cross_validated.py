"""The worth of a set of columns to a model: its score on rows that it has not seen."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags

from tamiz.criteria.base import Gather, Merit
from tamiz.evaluator import Evaluator
from tamiz.exceptions import DataError
from tamiz.sources.base import Source
from tamiz.sources.schema import Schema
from tamiz.wrappers.models import Model, model_of


class CrossValidated(Merit):
    """Worth of a set of columns: the mean score of an estimator over folds, each predicted by what the others teach.

    .. math:: M(S) = \\frac{1}{k} \\sum_{f=1}^k \\mathrm{score}(\\text{model of the other folds}, \\text{fold } f)

    Parameters
    ----------
    estimator : estimator or str
        A classifier or regressor of scikit-learn's, a pipeline that ends in one, or any object with fit and predict; it is copied,
        and stays as it is. An object that does not say what it predicts predicts classes where the target is classes. A name is a
        model in the form that the table asks for, encoded where it must be: "gaussian_nb", "mixed_nb", "knn", "linear", "ridge",
        "logistic" or "tree". "ridge" is ridge regression of a number; for classes it is RidgeClassifier, and without `scoring` its
        merit is the R2 of the regression on the classes' indicators, which a rare class moves as a frequent one does.
    cv : int, splitter or iterable of (train, test), default=10
        Folds. A number shuffles the rows by the selector's `random_state` and makes folds that each have their share of every
        class; of whole groups where the table has groups, and forward in time where it has times. For scikit-learn's folds of rows
        in the order of the table, pass a splitter such as `StratifiedKFold(10)` or `KFold(10)`.
    scoring : str or callable, default=None
        The name of a scorer of scikit-learn's, or one; larger is better. None is accuracy for a classifier and R2 for a regressor.
    encode : bool or "auto", default="auto"
        Whether the estimator sees mixed columns as points: standardised numbers with the mean in the gaps, an indicator for every
        level divided by the square root of its share, all fitted inside every fold. The indicators of a column move as one. An
        estimator of scikit-learn's that accepts missing values gets them as they are. "auto" encodes a table with text for an
        estimator of scikit-learn's that accepts none; tables of numbers, pipelines and other objects are not encoded.

    Raises
    ------
    DataError
        When the table, a fold or the estimator cannot be used; the sentence names the fold and the columns.

    Notes
    -----
    Cost one fit and one prediction a fold for every set; naive Bayes, nearest neighbours and linear models are not refitted,
    and a set then costs an addition or a small system of equations. The score of every set is that of `cross_val_score` on its
    columns. Of a set of no columns it is that of `DummyClassifier(strategy="prior")` or `DummyRegressor()` on the same folds.

    References
    ----------
    Kohavi and John (1997), Wrappers for feature subset selection, Artificial Intelligence 97.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from tamiz import SubsetSelector
    >>> from tamiz.criteria import CrossValidated
    >>> from tamiz.search import Forward
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> selector = SubsetSelector(CrossValidated(GaussianNB(), cv=10), Forward(), n_features=3).fit(X, y)
    >>> selector.get_support(indices=True), round(selector.merit_, 4)
    (array([21, 22, 24]), 0.9701)
    """

    def __init__(
        self, estimator: Any, cv: Any = 10, scoring: Any = None, *, encode: bool | Literal["auto"] = "auto"
    ) -> None:
        self.estimator = estimator
        self.cv = cv
        self.scoring = scoring
        self.encode = encode

    @property
    def takes_gaps(self) -> bool:
        """Whether the estimator, or what is made of the rows for it, has a place for missing values."""
        if self.encode is True or not isinstance(self.estimator, BaseEstimator):
            # Of an object that has no tags only its fit knows.
            return True
        return bool(get_tags(self.estimator).input_tags.allow_nan)

    def model(self, schema: Schema) -> Model:
        """Return the model whose predictions are scored on a table."""
        return model_of(self.estimator, schema, encode=self.encode)

    def regresses_classes(self, schema: Schema) -> bool:
        """Return whether the merit is the squared error of ridge regression on the indicators of classes."""
        return (
            isinstance(self.estimator, str)
            and self.estimator == "ridge"
            and self.scoring is None
            and schema.has_classes
        )

    def predictions(self, schema: Schema) -> tuple[Model, Any]:
        """Return the model and the score."""
        return self.model(schema), self.scoring

    def ready(self, source: Source) -> Merit:
        """Return the merit as it can score this table."""
        return _OfRows(self, source)

    def prepare(self, gather: Gather, schema: Schema, rng: np.random.Generator) -> Evaluator:  # noqa: ARG002
        """Refuse: a model is fitted to rows, and no statistic holds them."""
        raise DataError("CrossValidated reads rows: ask `ready(source)` for the merit first.")


class _OfRows(Merit):
    """The merit over the rows of one table."""

    def __init__(self, merit: CrossValidated, source: Source) -> None:
        self.merit = merit
        self.source = source

    def prepare(self, gather: Gather, schema: Schema, rng: np.random.Generator) -> Evaluator:  # noqa: ARG002
        """Return the evaluator over the rows."""
        self.merit.check(schema)
        from tamiz.wrappers.choice import way_of
        from tamiz.wrappers.evaluator import WrapperEvaluator
        from tamiz.wrappers.task import make_task

        merit = self.merit
        model = merit.model(schema)
        task = make_task(
            model,
            self.source,
            cv=merit.cv,
            scoring=merit.scoring,
            seed=int(rng.integers(2**31)),
        )
        if merit.regresses_classes(schema):
            from tamiz.wrappers.indicators import IndicatorEvaluator

            return IndicatorEvaluator(task)
        return WrapperEvaluator(task, *way_of(task))
