"""Permutation importance: what a model loses when a column tells it nothing any more."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from tamiz.criteria.base import PrecomputedScores, Relevance, RowRelevance
from tamiz.criteria.cross_validated import CrossValidated
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.user_warnings import warn_user
from tamiz.runtime.validation import check_integer
from tamiz.sources.base import Source


class PermutationImportance(RowRelevance):
    """What the score of a model on rows that it has not seen loses when they exchange their values in a column.

    .. math:: I_j = \\frac{1}{k R} \\sum_{f=1}^k \\sum_{r=1}^R (s_f - s_{fjr})

    with the score s of fold f as it is, and with column j in order r.

    One model a fold learns from all columns; the rows tested are predicted as they are and with the values of one column in
    another order. The importance is the mean loss, over orders and folds: 0 for a column that the model does not read, and a
    little below where chance had it.

    Parameters
    ----------
    estimator : estimator or str, default=None
        As in `CrossValidated`. None is "mixed_nb" for classes and "ridge" for a number.
    cv : int, splitter or iterable of (train, test), default=10
        As in `CrossValidated`.
    scoring : str or callable, default=None
        As in `CrossValidated`: None is accuracy for a classifier and R2 for a regressor.
    n_repeats : int, default=5
        Orders that the rows tested are put in, the same for all columns.
    encode : bool or "auto", default="auto"
        As in `CrossValidated`. The indicators of a column go to another row together.
    random_state : int, Generator or RandomState, default=0
        Draws the folds of a number of folds, the orders, and the seed of an estimator that has none.

    Raises
    ------
    DataError
        When the table, a fold or the estimator cannot be used; the sentence names the fold.

    Notes
    -----
    Cost one fit and 1 + p n_repeats predictions a fold. Columns that repeat each other share their importance: what one of them
    tells, the model still reads in the other, and both can come out near 0. `RecursiveElimination` drops one and asks again. An
    importance by impurity, such as `feature_importances_` of trees, is measured on the rows that the model has learned by
    heart, and favours columns of many values, noise as well; this one is measured on other rows, for any model and any score. A
    constant column scores 0. Weights of rows count in the fits and in the scores. A study ranks by it only when asked to: it is
    not cheap.

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

    The standard deviation over folds and orders:

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
        """Whether the estimator, or what is made of the rows for it, has a place for missing values."""
        return CrossValidated(self.estimator, encode=self.encode).allow_missing

    def bind(self, source: Source) -> Relevance:
        """Return the scores of a table's columns: models are fitted to its rows."""
        from tamiz.models.evaluator import WrapperEvaluator
        from tamiz.models.named_models import resolve_model
        from tamiz.models.refits import RefitBackend
        from tamiz.models.task import make_task

        n_repeats = check_integer("n_repeats", self.n_repeats, low=1)
        schema = source.schema
        usual = "mixed_nb" if schema.has_classes else "ridge"
        model = resolve_model(usual if self.estimator is None else self.estimator, schema, encode=self.encode)
        task = make_task(
            model,
            source,
            cv=self.cv,
            scoring=self.scoring,
            seed=int(make_rng(self.random_state).integers(2**31)),
        )
        # Nothing but refits is asked for: what a fast way has to make ready would be in vain.
        evaluator = WrapperEvaluator(task, RefitBackend(task), RefitBackend.method)
        used = np.zeros(schema.n_columns, dtype=bool)
        used[schema.used] = True
        scores, spread = np.zeros((2, schema.n_columns))
        units = [np.array([j]) for j in schema.used.tolist()]
        losses = evaluator.permutation_losses(used, units, n_repeats)
        scores[schema.used], spread[schema.used] = losses.mean(axis=2).mean(axis=0), losses.std(axis=(0, 2))
        warn_user(evaluator.notes())
        return PrecomputedScores(scores, spread)
