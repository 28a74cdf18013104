"""Linear coefficient: standard deviation of the contribution of a column to a penalised linear model of all columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from tamiz.arrays import Floats
from tamiz.criteria.base import ReweightedScorer
from tamiz.criteria.entropies import MissingRule
from tamiz.criteria.model_relevance import ModelRelevance, TrainingData
from tamiz.runtime.random import Seed
from tamiz.runtime.user_warnings import capture_warnings, warn, warn_user
from tamiz.runtime.validation import check_integer, check_real
from tamiz.table.base import Table
from tamiz.table.schema import Schema

# Number of values, times the number of classes, that a model in a study is fitted to: one or two seconds.
_MAX_VALUES = 2**22
# Number of coefficients up to which Newton steps, which solve a system for all of them, are faster than L-BFGS.
_MAX_NEWTON_COEFFICIENTS = 256
# Values times classes times weightings of models that are refitted: about ten seconds of matrix products.
_MAX_REFIT_PRODUCTS = 2.0**32
# Models of more than two classes need about this many times the steps of models of two.
_MULTICLASS_STEP_FACTOR = 4


class LinearCoefficient(ModelRelevance):
    """Standard deviation of a column's term (coefficient times value) in a penalised linear model of all columns.

    For a numeric column without missing values it is the absolute standardised coefficient. For a target with classes the model is
    logistic regression, and the score is the root mean square, over all pairs of classes, of the standard deviation of the
    contribution to the log odds of the pair:

    .. math:: B_j = \\Big(\\pi_j \\frac{2}{K - 1} \\sum_k \\sum_l (w_{kl} - \\bar w_l)^2\\Big)^{1/2}

    over the K classes k and the coordinates l of the column, where :math:`\\pi_j` is the share of rows in which the column has a
    value. For a numeric target the model is ridge regression on the target divided by its standard deviation, and the score is the
    norm of the column's coefficients times :math:`\\sqrt{\\pi_j}`. A categorical column has an indicator for every level, divided
    by the square root of the level's share. The norm of their coefficients is then the standard deviation of the contribution of
    the column to the prediction, as the absolute coefficient is for a standardised numeric column.

    Parameters
    ----------
    alpha : float, default=1.0
        Penalty on the squared coefficients, above 0: `alpha` of Ridge in scikit-learn, and 1 / `C` of LogisticRegression.
    max_iter : int, default=1000
        Largest number of steps of logistic regression.
    missing : {"distribute", "category"}, default="distribute"
        "distribute" replaces a missing value by the mean of its column, or by every level in proportion to its share; "category"
        adds an indicator of missing values as well.
    max_rows : int, default=None
        Largest number of rows that the model is fitted to; more rows are sampled at random. None uses all rows, and in a study as
        many as have 4 million values, divided by the number of classes.
    max_levels : int, default=None
        Largest number of levels of a categorical column; of one with more, the most frequent are kept and all others are one level.
        None keeps all levels, and in a study 50 where more would limit the rows.
    random_state : int, Generator or RandomState, default=0
        Seed of the sample of rows.

    Raises
    ------
    DataError
        When there is no target.
    ValueError
        When a parameter is out of its range.

    Notes
    -----
    A coefficient measures the contribution of a column beside all others: redundant columns share it, and a column that predicts
    little alone can have a large one. A model that does not converge raises a ConvergenceWarning. Cost O(n p^2) for a step with few
    columns, O(n p) with many. A constant column scores 0. Row weights count as repeated rows.

    Present values are standardised by their standard deviation; missing values are at the mean, where they contribute 0. The
    coefficient alone would rank a column with few values too high: estimated from a share :math:`\\pi_j` of the rows, the
    coefficient of a noise column is larger by :math:`1 / \\sqrt{\\pi_j}`, five times where 96 % are missing. The factor
    :math:`\\sqrt{\\pi_j}` corrects for this. For a numeric target and uncorrelated columns, the squared score is the loss of
    :math:`R^2` when the column is dropped.

    References
    ----------
    Hastie, Tibshirani and Friedman (2009), The Elements of Statistical Learning, sections 3.4 and 4.4.
    Guyon, Weston, Barnhill and Vapnik (2002), Gene selection for cancer classification using support vector machines, Machine
    Learning 46: columns are ranked by the squares of a linear model's coefficients.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import RankSelector
    >>> from tamiz.criteria import LinearCoefficient
    >>> X, y = load_iris(return_X_y=True)
    >>> RankSelector(LinearCoefficient()).fit(X, y).scores_.round(2)
    array([1.32, 1.46, 3.02, 3.31])
    """

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        max_iter: int = 1000,
        missing: MissingRule = "distribute",
        max_rows: int | None = None,
        max_levels: int | None = None,
        random_state: Seed = 0,
    ) -> None:
        self.alpha = alpha
        self.max_iter = max_iter
        self.missing = missing
        self.max_rows = max_rows
        self.max_levels = max_levels
        self.random_state = random_state

    def max_study_values(self, schema: Schema) -> int:
        """Return how many values a study fits the model to: every class has coefficients of its own."""
        return _MAX_VALUES // max(schema.n_classes if schema.has_classes else 1, 1)

    def score(self, table: Table) -> Floats:
        """Return the scores of the table's columns, after fitting a model to its rows."""
        alpha = self._check_alpha()
        max_iter = check_integer("max_iter", self.max_iter, low=1)
        scores = np.zeros(table.schema.n_columns)
        rows = self.make_training_data(table, self.random_state, self.missing)
        if rows is None:
            return scores
        squares = (
            _squared_logistic_coefficients(rows, alpha, max_iter)
            if rows.n_classes
            else _squared_ridge_coefficients(rows, alpha)
        )
        np.add.at(scores, rows.source_columns, rows.present_share * squares)
        return np.sqrt(scores)

    def make_reweighted_scorer(self, table: Table, n_weightings: int) -> ReweightedScorer | None:
        """Return a function that refits the model under other row weights, starting from the model of all rows."""
        from tamiz.criteria.reweighted_linear import ReweightedLinearModels

        n_columns = table.schema.n_columns
        with capture_warnings():
            rows = self.make_training_data(table, self.random_state, self.missing)
        if rows is None:
            return lambda weights: np.zeros((len(weights), n_columns))
        if not refit_products(rows.features.size, rows.n_classes, n_weightings):
            return None
        refits = ReweightedLinearModels(
            rows, np.ones(len(rows.features)) if rows.weight is None else rows.weight, self._check_alpha()
        )

        def scores(weights: Floats) -> Floats:
            squares = np.zeros((n_columns, len(weights)))
            np.add.at(
                squares,
                rows.source_columns,
                rows.present_share[:, None] * refits.squared_coefficients(weights[:, rows.row_numbers]).T,
            )
            return np.sqrt(squares.T)

        return scores

    def study_refit_products(self, schema: Schema, n_weightings: int) -> float:
        """Return the multiplications of the models that a study refits under row weights; 0 if it does not refit them."""
        adapted = self.adapt_to(schema)
        if not isinstance(adapted, LinearCoefficient):
            return 0.0
        n_rows = schema.n_rows if adapted.max_rows is None else adapted.max_rows
        # Levels that do not occur in these rows are no coordinates.
        most = n_rows if adapted.max_levels is None else min(n_rows, adapted.max_levels)
        n_coordinates = len(schema.numeric) + sum(min(n, most) for n in schema.n_levels.values())
        products = refit_products(n_rows * n_coordinates, schema.n_classes if schema.has_classes else 0, n_weightings)
        # The preconditioner by the Woodbury identity multiplies by the rows twice more in each step.
        return 2 * products if n_coordinates >= n_rows else products

    def _check_alpha(self) -> float:
        alpha = check_real("alpha", self.alpha, low=0.0)
        if not 0 < alpha < np.inf:
            raise ValueError(
                f"alpha must be a number above 0, got {alpha:g}; without a penalty the coefficients may not be unique."
            )
        return alpha


def _squared_ridge_coefficients(rows: TrainingData, alpha: float) -> Floats:
    from sklearn.linear_model import Ridge

    coefficients: Any = Ridge(alpha).fit(rows.features, rows.target, sample_weight=rows.weight).coef_
    return np.asarray(coefficients**2)


def _squared_logistic_coefficients(rows: TrainingData, alpha: float, max_iter: int) -> Floats:
    """Return the mean square, over pairs of classes, of the coefficient of every coordinate in the log odds."""
    from sklearn.linear_model import LogisticRegression

    from tamiz.models.fit_warnings import FitWarnings

    few = rows.features.shape[1] * (rows.n_classes if rows.n_classes > 2 else 1) <= _MAX_NEWTON_COEFFICIENTS
    solver, tol = ("newton-cholesky", 1e-8) if few else ("lbfgs", 1e-6)
    model = LogisticRegression(C=1 / alpha, solver=solver, tol=tol, max_iter=max_iter)
    fit_warnings = FitWarnings()
    with fit_warnings.capture(), fit_warnings.record_fit():
        model.fit(rows.features, rows.target, sample_weight=rows.weight)
    if model.n_iter_.max() >= max_iter:
        warn(
            "TZ501",
            f"LinearCoefficient: logistic regression did not converge in max_iter = {max_iter:,} steps; the scores are "
            "those of the last step. Raise max_iter, or alpha.",
        )
    else:
        warn_user(one.with_sentence(f"LinearCoefficient: {one}") for one in fit_warnings.messages())
    coefficients: Any = model.coef_
    if rows.n_classes == 2:
        return np.asarray(coefficients[0] ** 2)
    deviations = coefficients - coefficients.mean(axis=0)
    return np.asarray(2 / (rows.n_classes - 1) * (deviations**2).sum(axis=0))


def refit_products(n_values: int, n_classes: int, n_weightings: int) -> float:
    """Return the multiplications of a step of refitted models, times the relative number of steps; 0 if there are too many."""
    steps = _MULTICLASS_STEP_FACTOR if n_classes > 2 else 1
    products = float(n_weightings) * n_values * max(n_classes, 1) * steps
    return products if products <= _MAX_REFIT_PRODUCTS else 0.0
