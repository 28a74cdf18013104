"""The worth of a set of columns to a model: its score on rows that it has not seen."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags

from tamiz.criteria.base import GatherFunction, Merit
from tamiz.exceptions import DataError
from tamiz.models.estimators import is_plain_sklearn, is_unsupervised
from tamiz.models.multioutput import MultiOutputTarget
from tamiz.models.named_models import Model, resolve_model
from tamiz.sources.base import Source
from tamiz.sources.schema import Schema
from tamiz.sources.views import without_target
from tamiz.subsets.evaluator import Evaluator


class CrossValidated(Merit):
    """Worth of a set of columns: the mean score of an estimator over folds, each predicted by what the others teach.

    .. math:: M(S) = \\frac{1}{k} \\sum_{f=1}^k \\mathrm{score}(\\text{model of the other folds}, \\text{fold } f)

    Parameters
    ----------
    estimator : estimator or str
        A classifier or regressor of scikit-learn's, a pipeline that ends in one, or any object with fit and predict; it is copied,
        and stays as it is. One that learns without a target (clusters, outliers, a density, or components such as those of PCA) is
        fitted to the rows alone, and no y is read. An object that does not say what it predicts predicts classes where the target
        is classes. A name is a model in the form that the table asks for, encoded where it must be: "gaussian_nb", "mixed_nb",
        "knn", "linear", "ridge", "logistic" or "tree". "ridge" is ridge regression of a number; for classes it is RidgeClassifier,
        and without `scoring` its merit is the R2 of the regression on the classes' indicators, which a rare class moves as a
        frequent one does.
    cv : int, splitter or iterable of (train, test), default=10
        Folds. A number shuffles the rows by the selector's `random_state` and makes folds that each have their share of every
        class; of whole groups where the table has groups, and forward in time where it has times. For scikit-learn's folds of rows
        in the order of the table, pass a splitter such as `StratifiedKFold(10)` or `KFold(10)`. Without a target a number is
        `KFold` with the rows shuffled.
    scoring : str or callable, default=None
        The name of a scorer of scikit-learn's, or one; larger is better. None is accuracy for a classifier and R2 for a regressor;
        of several classes at once the share of rows of which all are right, of several numbers the mean of their R2.
        Without a target it is a callable scorer(estimator, X), or scorer(estimator, X, y) with y None, and None is the estimator's
        own `score(X)`.
    encode : bool or "auto", default="auto"
        Whether the estimator sees mixed columns as points: standardised numbers with the mean in the gaps, an indicator for every
        level divided by the square root of its share, all fitted inside every fold. The indicators of a column move as one. An
        estimator of scikit-learn's that accepts missing values gets them as they are. "auto" encodes a table with text for an
        estimator of scikit-learn's that accepts none; tables of numbers, pipelines and other objects are not encoded.

    Raises
    ------
    DataError
        When the table, a fold or the estimator cannot be used; the sentence names the fold and the columns.
    ValueError
        When a score that compares predictions with a target is asked for without a target.

    Notes
    -----
    Cost one fit and one prediction a fold for every set; naive Bayes, nearest neighbours and linear models are not refitted,
    and a set then costs an addition or a small system of equations. The score of every set is that of `cross_val_score` on its
    columns. Of a set of no columns it is that of `DummyClassifier(strategy="prior")` or `DummyRegressor()` on the same folds;
    without a target it has none, and is not chosen.

    Of a target y of shape (n_samples, n_outputs) the estimator predicts all columns at once, if it is one that can. Folds by
    number are then those of `KFold` with the rows shuffled, and rows that lack a value of y are refused.

    Infinite values are handed on to an estimator of scikit-learn's that accepts missing values, to a pipeline, and to any other
    object that sees the rows as they are; for every other one a table that holds them is refused.

    Refits are shared out among worker processes once those that are short, or of less than 2,000 rows, have taken three seconds
    with those that the search asks for next; a model or score that cannot be pickled is refitted in this process.

    Scores without a target are of the rows that were not learned from, and compare sets of columns only where they do not depend on
    the number and the units of columns: a silhouette does not, a sum of squared distances or a density does.

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

    Columns in which clusters of the rows learned from are found again in the others:

    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.metrics import silhouette_score
    >>> def silhouette(estimator, X):
    ...     return silhouette_score(X, estimator.predict(X))
    >>> merit = CrossValidated(KMeans(3, n_init=1), cv=5, scoring=silhouette)
    >>> selector = SubsetSelector(merit, Forward(), n_features=2).fit(load_iris().data)
    >>> selector.get_support(indices=True), round(selector.merit_, 2)
    (array([2, 3]), 0.65)
    """

    def __init__(
        self, estimator: Any, cv: Any = 10, scoring: Any = None, *, encode: bool | Literal["auto"] = "auto"
    ) -> None:
        self.estimator = estimator
        self.cv = cv
        self.scoring = scoring
        self.encode = encode

    @property
    def reads_target(self) -> bool:
        """Whether the estimator predicts: one that learns without a target needs none."""
        return not is_unsupervised(self.estimator, self.scoring)

    @property
    def allow_missing(self) -> bool:
        """Whether the estimator, or what is made of the rows for it, has a place for missing values."""
        if self.encode is True or not isinstance(self.estimator, BaseEstimator):
            # Of an object that has no tags only its fit knows.
            return True
        return bool(get_tags(self.estimator).input_tags.allow_nan)

    @property
    def allow_infinite(self) -> bool:
        """Whether the estimator sees the rows as they are, and may read infinite values."""
        if isinstance(self.estimator, str) or self.encode is True:
            return False
        return (
            not isinstance(self.estimator, BaseEstimator) or not is_plain_sklearn(self.estimator) or self.allow_missing
        )

    def model(self, schema: Schema) -> Model:
        """Return the model whose predictions are scored on a table."""
        return resolve_model(self.estimator, schema, encode=self.encode)

    def uses_indicator_regression(self, schema: Schema) -> bool:
        """Return whether the merit is the squared error of ridge regression on the indicators of classes."""
        return (
            isinstance(self.estimator, str)
            and self.estimator == "ridge"
            and self.scoring is None
            and schema.has_classes
        )

    def model_and_scoring(self, schema: Schema) -> tuple[Model, Any] | None:
        """Return the model and the score, None where no target is predicted."""
        return (self.model(schema), self.scoring) if self.reads_target else None

    @property
    def supports_multioutput(self) -> bool:
        """Whether the estimator predicts."""
        return self.reads_target

    def bind(self, source: Source, outputs: MultiOutputTarget | None = None) -> Merit:
        """Return the merit as it can score this table, of outputs where it has any in place of a target."""
        return _BoundCrossValidated(self, source if self.reads_target else without_target(source), outputs)

    def make_evaluator(self, gather: GatherFunction, schema: Schema, rng: np.random.Generator) -> Evaluator:  # noqa: ARG002
        """Refuse: a model is fitted to rows, and no statistic holds them."""
        raise DataError("CrossValidated reads rows: ask `ready(source)` for the merit first.")


class _BoundCrossValidated(Merit):
    """The merit over the rows of one table."""

    def __init__(self, merit: CrossValidated, source: Source, outputs: MultiOutputTarget | None) -> None:
        self.merit = merit
        self.source = source
        self.outputs = outputs

    def make_evaluator(self, gather: GatherFunction, schema: Schema, rng: np.random.Generator) -> Evaluator:  # noqa: ARG002
        """Return the evaluator over the rows."""
        if self.outputs is None:
            self.merit.check(schema)
        else:
            self.outputs.check_rows(self.source)
        from tamiz.models.evaluator import WrapperEvaluator
        from tamiz.models.refits import choose_backend
        from tamiz.models.task import make_task

        merit, outputs, described = self.merit, self.outputs, self.source.schema
        model = merit.model(described if outputs is None else outputs.schema_with_target(described))
        task = make_task(
            model,
            self.source,
            outputs,
            cv=merit.cv,
            scoring=merit.scoring,
            seed=int(rng.integers(2**31)),
        )
        way, how = choose_backend(task)
        if self.source.infinite_digest and (task.encode or not way.can_refit_in_workers):
            raise DataError(
                f"The table has infinite values, and {task.estimator_name} does not see the rows as they are: replace them."
            )
        if merit.uses_indicator_regression(schema):
            from tamiz.models.class_indicators import ClassIndicatorEvaluator

            return ClassIndicatorEvaluator(task)
        return WrapperEvaluator(task, way, how)
