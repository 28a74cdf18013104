"""Penalised linear models of the same rows under many row weights, fitted simultaneously from the model of all rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from tamiz.arrays import Floats, divide_or_zero
from tamiz.criteria.model_relevance import TrainingData

_Precondition: TypeAlias = Callable[[Floats], Floats]

# A fit has converged when the Newton decrement is this share of the first one: the error of the coefficients is then about 1 % of
# their differences between samples.
_TOLERANCE = 1e-4
_MAX_ITERATIONS = 100
# The intercept is not penalised; where there are more coefficients than rows the preconditioner penalises it by alpha / 1e6.
_INTERCEPT_SCALE = 1e3


class ReweightedLinearModels:
    """Ridge or logistic regression of the same rows under many row weights, by preconditioned nonlinear conjugate gradients.

    Parameters
    ----------
    data : TrainingData
        Its weights are not read.
    weight : ndarray of shape (n_rows,)
        Row weights of the model of all rows.
    alpha : float
        Penalty on the coefficients of standardised coordinates, which are standardised within each sample.

    Notes
    -----
    All samples share the preconditioner, the inverse Hessian of the model of all rows (its diagonal blocks for more than two
    classes). The fit of a sample then takes a few steps of two matrix products each. Imputed means are those of the table.
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

        Parameters
        ----------
        weights : ndarray of shape (n_weightings, n_rows)

        Returns
        -------
        ndarray of shape (n_weightings, n_coordinates)
            0 where only one class has positive weight.
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
