"""Permutation importance: loss of a model's score when the values of a column are permuted among the test rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from tamiz.arrays import Floats
from tamiz.criteria.base import RowRelevance
from tamiz.criteria.cross_validated import CrossValidated
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.user_warnings import warn_user
from tamiz.runtime.validation import check_integer
from tamiz.runtime.verdicts import Verdict
from tamiz.subsets.candidates import Candidates
from tamiz.table.base import Table
from tamiz.table.schema import Schema

if TYPE_CHECKING:
    from tamiz.models.evaluator import WrapperEvaluator


class PermutationImportance(RowRelevance):
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
        from tamiz.models.named_models import resolve_model
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
    scoring = ", a score of ranks such as scoring='roc_auc'," if schema.has_classes else ""
    return [
        Verdict(
            "TZ302",
            f"PermutationImportance: the {evaluator.name} is {score:.4g} with all columns, below the {baseline:.4g} of a constant "
            f"prediction, so a column that predicts the target can have an importance below 0. Use another estimator{scoring} or "
            "another relevance.",
        )
    ]
