"""Linear coefficient: standard deviation of the contribution of a column to a penalised linear model of all columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from tamiz.arrays import Floats, divide_or_zero
from tamiz.criteria.base import Reweightable, ReweightedScorer
from tamiz.criteria.entropies import MissingRule
from tamiz.criteria.model_relevance import ModelRelevance, TrainingData
from tamiz.runtime.random import Seed
from tamiz.runtime.user_warnings import capture_warnings, warn, warn_user
from tamiz.runtime.validation import check_integer, check_real
from tamiz.table.base import Table
from tamiz.table.schema import Schema

# Number of coefficients up to which Newton steps, which solve a system for all of them, are faster than L-BFGS.
_MAX_NEWTON_COEFFICIENTS = 256
# Values times classes times weightings of models that are refitted: about ten seconds of matrix products.
_MAX_REFIT_PRODUCTS = 2.0**32
# Models of more than two classes need about this many times the steps of models of two.
_MULTICLASS_STEP_FACTOR = 4
# A refitted model has converged when the Newton decrement is this share of the first one: the error of the coefficients is then
# about 1 % of their differences between samples.
_TOLERANCE = 1e-4
_MAX_ITERATIONS = 100
# The intercept is not penalised; where there are more coefficients than rows the preconditioner penalises it by alpha / 1e6.
_INTERCEPT_SCALE = 1e3

_Precondition: TypeAlias = Callable[[Floats], Floats]


class LinearCoefficient(ModelRelevance, Reweightable):
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
        n_columns = table.schema.n_columns
        with capture_warnings():
            rows = self.make_training_data(table, self.random_state, self.missing)
        if rows is None:
            return lambda weights: np.zeros((len(weights), n_columns))
        if not refit_products(rows.features.size, rows.n_classes, n_weightings):
            return None
        refits = _ReweightedModels(
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

    from tamiz.models.task import FitWarnings

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


class _ReweightedModels:
    """Ridge or logistic regression of the same rows under many row weights, by preconditioned nonlinear conjugate gradients.

    `weight` has the row weights of the model of all rows. Coordinates are standardised within each sample; imputed means are those
    of the table. All samples share the preconditioner, the inverse Hessian of the model of all rows (its diagonal blocks for more
    than two classes). The fit of a sample then takes a few steps of two matrix products each.
    """

    def __init__(self, data: TrainingData, weight: Floats, alpha: float) -> None:
        m, q = data.features.shape
        self._data = data
        self._design = np.hstack([data.features, np.ones((m, 1))])
        self._alpha = alpha
        self._n_outputs = data.n_classes if data.n_classes > 2 else 1
        if data.n_classes > 2:
            self._y = (data.target[:, None] == np.arange(data.n_classes)).astype(np.float64)[:, :, None]
        else:
            self._y = data.target.astype(np.float64)[:, None, None]
        self._sqrt_share = np.where(data.is_indicator, -data.features.min(axis=0), 1.0)
        self._spread = self._scale(weight[:, None], np.ones((q, 1)))
        penalty = np.append(np.full(q, alpha), 0.0)[:, None]
        start = np.zeros((self._n_outputs, q + 1, 1))
        for tolerance in (1e-4, 1e-14):
            precondition = self._preconditioner(start[:, :, 0], weight)
            start = self._solve(start, weight[:, None], penalty, precondition, tolerance)
        self._start, self._precondition = start, self._preconditioner(start[:, :, 0], weight)

    def squared_coefficients(self, weights: Floats) -> Floats:
        """Return the squared standardised coefficient of every coordinate, for classes the mean over pairs of classes.

        Weights have the shape (n_weightings, n_rows), the result (n_weightings, n_coordinates); it is 0 where only one class has
        positive weight.
        """
        weight = np.ascontiguousarray(weights.T)
        scale = self._scale(weight, self._spread)
        penalty = np.vstack([self._alpha * scale, np.zeros((1, weight.shape[1]))])
        start = np.repeat(self._start, weight.shape[1], axis=2)
        found = self._solve(start, weight, penalty, self._precondition, _TOLERANCE)[:, :-1]
        n_classes = self._data.n_classes
        if n_classes == 0:
            return (found[0] ** 2 * scale / _variance(self._y[:, 0], weight)).T
        present = np.array([np.bincount(self._data.target, one, n_classes) > 0 for one in weight.T]).T
        several = present.sum(axis=0) > 1
        if n_classes == 2:
            return (found[0] ** 2 * scale * several).T
        n_present = np.maximum(present.sum(axis=0), 2)
        of_present = found * present[:, None]
        deviations = (of_present - of_present.sum(axis=0) / n_present) * present[:, None]
        return ((deviations**2).sum(axis=0) * scale * several * 2 / (n_present - 1)).T

    def _scale(self, weight: Floats, spread: Floats) -> Floats:
        """Return the squared scale of each coordinate under the weights: variance over `spread`, or relative share of the level."""
        features, is_indicator = self._data.features, self._data.is_indicator[:, None]
        # An indicator is (x - s) / sqrt(s) with the share s of its level in the table, so its mean under the weights gives the
        # ratio of the weighted share to s.
        mean = features.T @ weight / weight.sum(axis=0)
        relative_share = np.maximum(1 + mean / self._sqrt_share[:, None], 0.0)
        return np.where(is_indicator, relative_share, _variance(features, weight) / np.where(spread > 0, spread, 1.0))

    def _inverse_link(self, linear: Floats) -> Floats:
        """Return the means for linear predictors of shape (n_rows, n_outputs, n_weightings)."""
        if self._data.n_classes == 0:
            return linear
        if self._n_outputs == 1:
            return 0.5 * (1 + np.tanh(0.5 * linear))
        exponentials = np.exp(linear - linear.max(axis=1, keepdims=True))
        return exponentials / exponentials.sum(axis=1, keepdims=True)

    def _curvature(self, fitted: Floats, direction: Floats) -> Floats:
        """Return the second derivative of the loss of every row and weighting along a direction of linear predictors."""
        if self._data.n_classes == 0:
            return direction[:, 0] ** 2
        if self._n_outputs == 1:
            return (fitted * (1 - fitted) * direction**2)[:, 0]
        return (fitted * direction**2).sum(axis=1) - (fitted * direction).sum(axis=1) ** 2

    def _solve(
        self, start: Floats, weight: Floats, penalty: Floats, precondition: _Precondition, tolerance: float
    ) -> Floats:
        """Return coefficients of shape (n_outputs, n_coordinates + 1, n_weightings) from a start of that shape."""
        found, linear = start, self._linear_predictor(start)
        fitted = self._inverse_link(linear)
        gradient = self._gradient(fitted, weight) + penalty * found
        preconditioned = precondition(gradient)
        decrement = _dot(gradient, preconditioned)
        threshold = tolerance * decrement
        direction = -preconditioned
        for _ in range(_MAX_ITERATIONS):
            if (decrement <= threshold).all():
                break
            linear_step = self._linear_predictor(direction)
            loss_curvature = (weight * self._curvature(fitted, linear_step)).sum(axis=0)
            curvature = loss_curvature + (penalty * direction**2).sum(axis=(0, 1))
            step = divide_or_zero(-_dot(gradient, direction), curvature)
            found = found + step * direction
            linear = linear + step * linear_step
            fitted = self._inverse_link(linear)
            before, gradient = gradient, self._gradient(fitted, weight) + penalty * found
            preconditioned = precondition(gradient)
            # Polak-Ribière formula; a negative value restarts from the preconditioned gradient.
            beta = divide_or_zero(_dot(gradient - before, preconditioned), decrement)
            decrement = _dot(gradient, preconditioned)
            direction = np.maximum(beta, 0.0) * direction - preconditioned
        return found

    def _linear_predictor(self, coefficients: Floats) -> Floats:
        n_outputs, n, b = coefficients.shape
        as_matrix = coefficients.transpose(1, 0, 2).reshape(n, n_outputs * b)
        return (self._design @ as_matrix).reshape(-1, n_outputs, b)

    def _gradient(self, fitted: Floats, weight: Floats) -> Floats:
        m, n_outputs, b = fitted.shape
        residual = (fitted - self._y) * weight[:, None]
        return (self._design.T @ residual.reshape(m, -1)).reshape(-1, n_outputs, b).transpose(1, 0, 2)

    def _preconditioner(self, coefficients: Floats, weight: Floats) -> _Precondition:
        """Return the product with the inverse of the diagonal blocks of the Hessian at the coefficients, one block per output."""
        fitted = self._inverse_link(self._linear_predictor(coefficients[:, :, None]))[:, :, 0]
        curvature = weight[:, None] * (fitted * (1 - fitted) if self._data.n_classes else np.ones_like(fitted))
        inverses = [self._inverse_hessian(curvature[:, k]) for k in range(self._n_outputs)]
        return lambda gradient: np.stack([inverse(block) for inverse, block in zip(inverses, gradient, strict=True)])

    def _inverse_hessian(self, curvature: Floats) -> _Precondition:
        design, alpha = self._design, self._alpha
        m, n = design.shape
        if n <= m:
            hessian = design.T @ (curvature[:, None] * design)
            hessian[np.diag_indices(n)] += alpha
            hessian[-1, -1] += 1e-9 * max(hessian[-1, -1], 1.0) - alpha
            inverse = cho_solve(cho_factor(hessian), np.eye(n))
            return lambda gradient: np.asarray(inverse @ gradient)
        # Woodbury identity: a system with one unknown for each row.
        scale = np.append(np.ones(n - 1), _INTERCEPT_SCALE)[:, None]
        weighted_design = np.sqrt(curvature)[:, None] * design * scale.T
        inverse = cho_solve(cho_factor(weighted_design @ weighted_design.T + alpha * np.eye(m)), np.eye(m))

        def product(gradient: Floats) -> Floats:
            scaled = gradient * scale
            return scale * (scaled - weighted_design.T @ (inverse @ (weighted_design @ scaled))) / alpha

        return product


def _variance(values: Floats, weight: Floats) -> Floats:
    """Return the variance of columns with a mean near 0 under the weights, of shape (n_columns, n_weightings)."""
    total = np.maximum(weight.sum(axis=0), 2.0)
    mean = values.T @ weight / total
    return np.asarray(np.maximum((values**2).T @ weight / total - mean**2, 0.0) * total / (total - 1))


def _dot(a: Floats, b: Floats) -> Floats:
    """Return the inner products of coefficients, one for every weighting."""
    return np.asarray((a * b).sum(axis=(0, 1)))
