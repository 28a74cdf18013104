"""The cross-validated score of a model as the merit of a set of columns (wrapper), and permutation importance in its folds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags

from tamiz.arrays import Floats
from tamiz.criteria.base import HasStandardDeviations, MultiOutputMerit, RowRelevance
from tamiz.exceptions import DataError
from tamiz.models.estimators import is_plain_sklearn, is_unsupervised
from tamiz.models.multioutput import MultiOutputTarget
from tamiz.models.named_models import Model, resolve_model
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.user_warnings import warn_user
from tamiz.runtime.validation import check_integer
from tamiz.runtime.verdicts import Verdict
from tamiz.search.base import Candidates, Evaluator
from tamiz.table.base import Table
from tamiz.table.schema import Schema
from tamiz.table.views import without_target

if TYPE_CHECKING:
    from tamiz.models.evaluator import WrapperEvaluator


class CrossValidated(MultiOutputMerit):
    """Mean score of an estimator over cross-validation folds, fitted on the columns of the set.

    .. math:: M(S) = \\frac{1}{k} \\sum_{f=1}^k \\mathrm{score}(\\text{model of the other folds}, \\text{fold } f)

    Parameters
    ----------
    estimator : estimator or str
        A scikit-learn classifier or regressor, a pipeline that ends in one, or any object with fit and predict; it is cloned. An
        estimator that needs no target (clusters, outliers, a density, or components such as those of PCA) is fitted to X alone,
        and y is not read. An object without an estimator type is a classifier where the target has classes. A name is a model in
        the form that suits the table, with encoded columns where necessary: "naive_bayes", "gaussian_nb", "knn", "linear",
        "ridge", "logistic", "tree", "forest" or "gradient_boosting". "ridge" is ridge regression for a numeric target and
        RidgeClassifier for classes; without `scoring`, its merit for classes is the R2 of the regression on the class indicators,
        in which rare and frequent classes count alike.
    cv : int, splitter or iterable of (train, test), default=10
        Folds. An integer shuffles the rows by the selector's `random_state` and makes stratified folds; folds of whole groups where
        the table has groups, and forward-chaining folds where it has times. For scikit-learn's folds of consecutive rows, pass a
        splitter such as `StratifiedKFold(10)` or `KFold(10)`. Without a target an integer is `KFold` with shuffled rows.
    scoring : str or callable, default=None
        A scikit-learn scorer or its name; larger is better. None is accuracy for a classifier and R2 for a regressor; with several
        outputs, the share of rows whose classes are all predicted correctly, or the mean R2. Without a target it is a callable
        scorer(estimator, X), or scorer(estimator, X, y) with y None; None is then the estimator's own `score(X)`.
    encode : bool or "auto", default="auto"
        Whether columns are encoded for the estimator: numbers are standardised with mean imputation, categories are one-hot
        indicators divided by the square root of the level's share, all fitted inside every fold. The indicators of a column are
        selected together. A scikit-learn estimator that accepts missing values gets them unchanged. "auto" encodes a table with
        text for a scikit-learn estimator that accepts no text; tables of numbers, pipelines and other objects are not encoded.

    Raises
    ------
    DataError
        When the table, a fold or the estimator cannot be used; the message names the fold and the columns.
    ValueError
        When the scoring compares predictions with a target, and there is no target.

    Notes
    -----
    Cost one fit and one prediction in each fold for every set. Naive Bayes, nearest neighbours and linear models are not refitted:
    a set then costs an addition or a small system of equations. The score of a set is that of `cross_val_score` on its columns. The
    score of the empty set is that of `DummyClassifier(strategy="prior")` or `DummyRegressor()` on the same folds; without a target
    the empty set has no score and is never selected.

    For y of shape (n_samples, n_outputs) an estimator that supports it predicts all columns at once. An integer `cv` is then
    `KFold` with shuffled rows, and rows with a missing value of y raise DataError.

    Infinite values are passed to a scikit-learn estimator that accepts missing values, to a pipeline, and to any other object that
    gets the rows unchanged; for all other estimators they raise DataError.

    Refits that are short, or that have fewer than 2,000 rows, run in worker processes once they have taken more than one second,
    the estimate for the current batch included. A model or scorer that cannot be pickled is refitted in this process.

    Scores without a target are computed on the test rows. They compare sets of columns only where they do not depend on the number
    and the units of the columns: a silhouette does not, a sum of squared distances or a density does.

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

    Columns in which the clusters of the training rows are found again in the test rows:

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
        """Whether the estimator predicts a target; an unsupervised one does not read y."""
        return not is_unsupervised(self.estimator, self.scoring)

    @property
    def allow_missing(self) -> bool:
        """Whether the estimator, or the encoding of the rows for it, accepts missing values."""
        if self.encode is True or not isinstance(self.estimator, BaseEstimator):
            # An object without tags may accept them: only its fit can reject them.
            return True
        return bool(get_tags(self.estimator).input_tags.allow_nan)

    @property
    def allow_infinite(self) -> bool:
        """Whether the estimator gets the rows unchanged and may accept infinite values."""
        if isinstance(self.estimator, str) or self.encode is True:
            return False
        return (
            not isinstance(self.estimator, BaseEstimator) or not is_plain_sklearn(self.estimator) or self.allow_missing
        )

    def model(self, schema: Schema) -> Model:
        """Return the model that is scored on a table."""
        return resolve_model(self.estimator, schema, encode=self.encode)

    def uses_indicator_regression(self, schema: Schema) -> bool:
        """Return whether the merit is the R2 of ridge regression on class indicators."""
        return (
            isinstance(self.estimator, str)
            and self.estimator == "ridge"
            and self.scoring is None
            and schema.has_classes
        )

    def model_and_scoring(self, schema: Schema) -> tuple[Model, Any] | None:
        """Return the model and the scoring, None where no target is predicted."""
        return (self.model(schema), self.scoring) if self.reads_target else None

    @property
    def supports_multioutput(self) -> bool:
        """Whether the estimator predicts a target."""
        return self.reads_target

    def bind(self, table: Table, rng: np.random.Generator, outputs: MultiOutputTarget | None = None) -> Evaluator:
        """Return the evaluator for the rows of one table, with `outputs` in place of its target where there are any."""
        from tamiz.models.backends import RefitBackend, choose_backend
        from tamiz.models.evaluator import ClassIndicatorEvaluator, WrapperEvaluator
        from tamiz.models.task import make_task

        schema = table.schema
        if not self.reads_target:
            table = without_target(table)
        if outputs is None:
            self.check(schema)
        else:
            outputs.check_rows(table)
        model = self.model(table.schema if outputs is None else outputs.schema_with_target(table.schema))
        task = make_task(model, table, outputs, cv=self.cv, scoring=self.scoring, seed=int(rng.integers(2**31)))
        backend, method = choose_backend(task)
        if table.infinite_digest and (task.is_encoded or not isinstance(backend, RefitBackend)):
            raise DataError(
                f"The table has infinite values, which {task.estimator_name} does not accept here. Replace them."
            )
        if self.uses_indicator_regression(schema):
            return ClassIndicatorEvaluator(task)
        return WrapperEvaluator(task, backend, method)


class PermutationImportance(RowRelevance, HasStandardDeviations):
    """Mean loss of the cross-validated score of a model when the values of a column are permuted among the test rows.

    .. math:: I_j = \\frac{1}{k R} \\sum_{f=1}^k \\sum_{r=1}^R (s_f - s_{fjr})

    with the score :math:`s_f` of fold f, and :math:`s_{fjr}` after column j was permuted by permutation r.

    In each fold one model is fitted on all columns; it predicts the test rows unchanged, and with the values of one column
    permuted. The importance of a column that the model does not use is 0; by chance an importance can be slightly negative.

    Parameters
    ----------
    estimator : estimator or str, default=None
        As in `CrossValidated`. None is "naive_bayes" for classes and "ridge" for a numeric target.
    cv : int, splitter or iterable of (train, test), default=10
        As in `CrossValidated`.
    scoring : str or callable, default=None
        As in `CrossValidated`: None is accuracy for a classifier and R2 for a regressor.
    n_repeats : int, default=5
        Number of permutations of the test rows, the same for all columns.
    encode : bool or "auto", default="auto"
        As in `CrossValidated`. The indicators of a column are permuted together.
    random_state : int, Generator or RandomState, default=0
        Seed of the folds of an integer `cv`, of the permutations, and of an estimator without a seed of its own.

    Raises
    ------
    DataError
        When the table, a fold or the estimator cannot be used; the message names the fold.

    Notes
    -----
    Cost one fit and 1 + p n_repeats predictions in each fold. Redundant columns share their importance: when one of them is
    permuted, the model still uses the other, and both importances can be near 0. `RecursiveElimination` drops one of them and
    computes the importances again. An importance from impurity decreases, such as `feature_importances_` of trees, is measured on
    the training rows and favours columns with many values, also noise; permutation importance is measured on test rows, for any
    model and score. A constant column scores 0. Row weights count in the fits and in the scores. A study computes it only on
    request, because of its cost.

    References
    ----------
    Breiman (2001), Random forests, Machine Learning 45.
    Fisher, Rudin and Dominici (2019), All models are wrong, but many are useful: learning a variable's importance by studying an
    entire class of prediction models simultaneously, Journal of Machine Learning Research 20.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from tamiz import RankSelector
    >>> from tamiz.criteria import PermutationImportance
    >>> X, y = load_iris(return_X_y=True)
    >>> selector = RankSelector(PermutationImportance(GaussianNB())).fit(X, y)
    >>> selector.scores_.round(2)
    array([0.  , 0.  , 0.34, 0.38])

    The standard deviation over folds and permutations:

    >>> bool((selector.scores_std_[2:] < 0.2).all())
    True
    """

    used_by_default: ClassVar[bool] = False
    supports_bootstrap: ClassVar[bool] = False

    def __init__(
        self,
        estimator: Any = None,
        cv: Any = 10,
        scoring: Any = None,
        *,
        n_repeats: int = 5,
        encode: bool | Literal["auto"] = "auto",
        random_state: Seed = 0,
    ) -> None:
        self.estimator = estimator
        self.cv = cv
        self.scoring = scoring
        self.n_repeats = n_repeats
        self.encode = encode
        self.random_state = random_state

    @property
    def allow_missing(self) -> bool:
        """Whether the estimator, or the encoding of the rows for it, accepts missing values."""
        return CrossValidated(self.estimator, encode=self.encode).allow_missing

    def score(self, table: Table) -> Floats:
        """Return the scores of the table's columns, after fitting models to its rows."""
        return self.score_with_std(table)[0]

    def score_with_std(self, table: Table) -> tuple[Floats, Floats]:
        """Return the scores, and their standard deviations over folds and permutations."""
        from tamiz.models.backends import RefitBackend
        from tamiz.models.evaluator import WrapperEvaluator
        from tamiz.models.task import make_task

        n_repeats = check_integer("n_repeats", self.n_repeats, low=1)
        schema = table.schema
        default = "naive_bayes" if schema.has_classes else "ridge"
        model = resolve_model(default if self.estimator is None else self.estimator, schema, encode=self.encode)
        task = make_task(
            model,
            table,
            cv=self.cv,
            scoring=self.scoring,
            seed=int(make_rng(self.random_state).integers(2**31)),
        )
        # Only refits are needed, so no faster backend is set up.
        evaluator = WrapperEvaluator(task, RefitBackend(task), RefitBackend.method)
        used = np.zeros(schema.n_columns, dtype=bool)
        used[schema.used] = True
        scores, std = np.zeros((2, schema.n_columns))
        units = [np.array([j]) for j in schema.used.tolist()]
        fold_scores, losses = evaluator.permutation_losses(used, units, n_repeats, show_progress=True)
        scores[schema.used], std[schema.used] = losses.mean(axis=2).mean(axis=0), losses.std(axis=(0, 2))
        warn_user([*evaluator.notes(), *_baseline_warnings(evaluator, float(fold_scores.mean()), schema)])
        return scores, std


def _baseline_warnings(evaluator: WrapperEvaluator, score: float, schema: Schema) -> list[Verdict]:
    """Return a warning where the model with all columns scores below the baseline: a loss then says little about a column."""
    no_columns = Candidates.from_masks(np.zeros((1, schema.n_columns), dtype=bool))
    baseline = (
        float(evaluator.fold_scores(no_columns).mean()) if len(schema.used) and schema.target is not None else -np.inf
    )
    if score >= baseline:
        return []
    name = evaluator.info.name
    scoring = ", a score of ranks such as scoring='roc_auc'," if schema.has_classes else ""
    return [
        Verdict(
            "TZ302",
            f"PermutationImportance: the {name} is {score:.4g} with all columns, below the {baseline:.4g} of a constant "
            f"prediction, so a column that predicts the target can have an importance below 0. Use another estimator{scoring} or "
            "another relevance.",
        )
    ]
