"""Calibration of the probabilities of a class: predicted against observed rates on rows outside the fit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import special

from tamiz.arrays import Floats
from tamiz.assessment.effect_sizes import ALPHA, level_rate
from tamiz.exceptions import DataError
from tamiz.models.backends import RefitBackend
from tamiz.models.folds import drop_zero_weights, make_folds, sample_rows
from tamiz.models.named_models import resolve_model
from tamiz.models.task import make_task
from tamiz.runtime import parallel
from tamiz.runtime.codec import JsonResult
from tamiz.runtime.random import make_rng
from tamiz.runtime.validation import check_integer
from tamiz.statistics.two_samples import WeightedRows, mid_ranks, t_quantile
from tamiz.table.base import target_array, weight_array
from tamiz.table.factory import as_table

# Bins of predicted probabilities, and the expected rows of the class in each.
_MAX_BINS, _MIN_EXPECTED = 10, 5
# Probabilities of 0 and 1, as of a forest, have finite log-odds.
_SMALLEST = 1e-6


@dataclass(frozen=True)
class RateBin:
    """Rows of similar predicted probability: their mean, and the observed rate with its 95 % interval."""

    n_rows: float
    predicted: float
    observed: float
    interval: tuple[float, float]


@dataclass(frozen=True)
class Calibration(JsonResult):
    """The calibration of the probabilities of a class, with 95 % intervals.

    Attributes
    ----------
    model, target, of_class : str
    n_rows, n_class : float
        The rows outside the fit, and those of the class, as they count.
    observed, predicted : float
        The rate of the class, and the mean of the probabilities.
    brier, brier_of_rate : float
        The mean squared error of the probabilities, and of the rate as the probability of every row.
    slope : float
        The slope b of logit(P(class)) = a + b logit(p); 1 is calibrated, below 1 probabilities are too extreme.
    slope_interval : (float, float)
    intercept : float
        The shift a of the log-odds at a slope of 1; 0 is calibrated, above 0 the class is more frequent than predicted.
    intercept_interval : (float, float)
    bins : tuple of RateBin
    """

    json_properties: ClassVar[tuple[str, ...]] = ("sentence",)

    model: str
    target: str
    of_class: str
    n_rows: float
    n_class: float
    observed: float
    predicted: float
    brier: float
    brier_of_rate: float
    slope: float
    slope_interval: tuple[float, float]
    intercept: float
    intercept_interval: tuple[float, float]
    bins: tuple[RateBin, ...]

    @property
    def sentence(self) -> str:
        """The verdict with slope, rates and Brier score, without a full stop."""
        low, high = self.slope_interval
        verdict = (
            "are too extreme" if high < 1 else "are too timid" if low > 1 else "are calibrated as far as the rows show"
        )
        slope = f"slope {self.slope:.2f}, {low:.2f} to {high:.2f}"
        shift = ""
        if not self.intercept_interval[0] <= 0 <= self.intercept_interval[1]:
            shift = f"; they are too {'low' if self.intercept > 0 else 'high'} on average"
        rates = f"predicted {self.predicted:.1%}, observed {self.observed:.1%} of the rows"
        scores = f"Brier score {self.brier:.3f}, {self.brier_of_rate:.3f} for the rate alone"
        of = f"probabilities that {self.target} is {self.of_class}"
        return f"{self.model}: {of} {verdict} ({slope}){shift}; {rates}; {scores}"


def calibration(
    X: Any,
    y: Any = None,
    *,
    model: Any = "logistic",
    of_class: Any = None,
    n_splits: int = 5,
    max_rows: int = 10_000,
    sample_weight: Any = None,
    groups: Any = None,
    random_state: int = 0,
) -> Calibration:
    r"""Compare the probabilities of a class by a model with its rates, on rows outside the fit.

    Parameters
    ----------
    X : array, data frame or Table
    y : array of shape (n_samples,), default=None
        The target, if X is no table.
    model : str or classifier, default="logistic"
        The name of a model (`tamiz methods`), or a classifier with predict_proba.
    of_class : object, default=None
        The class, by its name; None is the rarest.
    n_splits : int, default=5
        Folds; groups and time are respected.
    max_rows : int, default=10,000
        A longer table is sampled.
    sample_weight, groups : array of shape (n_samples,), default=None
    random_state : int, default=0

    Returns
    -------
    Calibration

    Raises
    ------
    DataError
        When the target has no classes, the class is unknown, or the model has no probabilities.

    Notes
    -----
    Slope and intercept are Cox's: logistic regressions of the class on the log-odds of the probabilities of all folds,
    with variances from the residuals of rows or groups. They do not include that another sample would have given another model.
    Rows are binned into up to ten groups of equal size, fewer for a rare class.

    Cost: n_splits fits.

    References
    ----------
    Cox (1958), Two further applications of a model for binary regression, Biometrika 45; Van Calster et al.
    (2016), A calibration hierarchy
    for risk models was defined, Journal of Clinical Epidemiology 74.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tamiz.assessment import calibration
    >>> found = calibration(*load_breast_cancer(return_X_y=True), model="naive_bayes")
    >>> found.of_class, round(found.slope, 1)
    ('0', 0.2)
    """
    check_integer("max_rows", max_rows, low=10)
    table, _ = drop_zero_weights(as_table(X, y, sample_weight, groups=groups))
    schema = table.schema
    if schema.target is None or not schema.has_classes:
        raise DataError("calibration needs a target of classes.")
    rng = make_rng(random_state)
    table, _ = sample_rows(table, max_rows, n_splits, rng)
    resolved = resolve_model(model, schema, parameter="model")
    if not hasattr(resolved.estimator, "predict_proba"):
        raise DataError(f"{resolved.label} provides no probabilities; pass another model, such as 'logistic'.")
    seed = int(rng.integers(2**31))
    task = make_task(resolved, table, cv=make_folds(table, n_splits, seed), scoring="accuracy", seed=seed)
    backend, columns = RefitBackend(task), table.schema.used
    weight = weight_array(table)
    all_rows = WeightedRows(
        np.ones(table.schema.n_rows) if weight is None else weight, table.groups, schema.weight_kind == "sampling"
    )
    codes = target_array(table)
    counts = np.bincount(codes, all_rows.weight, len(schema.target.levels))
    if of_class is None:
        chosen = int(np.argmin(np.where(counts > 0, counts, np.inf)))
    elif str(of_class) in schema.target.levels:
        chosen = schema.target.levels.index(str(of_class))
    else:
        raise DataError(f"{of_class!r} is no class of {schema.target.name!r}: {', '.join(schema.target.levels[:10])}.")
    labels = table.class_labels
    label = schema.target.levels[chosen] if labels is None else labels[chosen]

    def predict(fold: int) -> Floats:
        fitted = backend.fit_fold(columns, fold)
        at = np.flatnonzero(np.asarray(fitted.estimator.classes_) == label)
        proba = np.asarray(fitted.estimator.predict_proba(fitted.test_rows), dtype=np.float64)
        return proba[:, at[0]] if len(at) else np.zeros(len(proba))

    with parallel.thread_session(), task.fit_warnings.capture():
        predicted = list(parallel.map_blocks(predict, range(len(task.folds))))
    tested = np.concatenate([fold.test for fold in task.folds])
    p = np.concatenate(predicted)
    rows, is_class = all_rows.take(tested), codes[tested] == chosen
    return _compare(p, is_class, rows, (resolved.label, schema.target.name, schema.target.levels[chosen]))


def _compare(p: Floats, is_class: Any, rows: WeightedRows, names: tuple[str, str, str]) -> Calibration:
    y = is_class.astype(np.float64)
    observed, predicted = float(rows.mean(y)), float(rows.mean(p))
    if not 0 < observed < 1:
        raise DataError(f"The tested rows have one class only, so that {names[2]!r} cannot be compared.")
    z = special.logit(np.clip(p, _SMALLEST, 1 - _SMALLEST))
    t = t_quantile(ALPHA, max(rows.n_units - 2, 1.0))
    slope, half = _logistic_coefficient(np.column_stack([np.ones(len(z)), z]), y, rows, np.zeros(len(z)), at=1)
    shift, shift_half = _logistic_coefficient(np.ones((len(z), 1)), y, rows, z, at=0)
    n_class = rows.count(rows.weight[is_class])
    n_bins = int(min(_MAX_BINS, max(n_class // _MIN_EXPECTED, 1), max(len(np.unique(p)), 1)))
    codes = np.minimum((mid_ranks(p, rows.weight) * n_bins).astype(np.intp), n_bins - 1)
    bins = []
    for k in np.unique(codes).tolist():
        here = codes == k
        rate = level_rate(codes, is_class, k, "", rows, ALPHA)
        mean = float(np.average(p[here], weights=rows.weight[here]))
        bins.append(RateBin(rows.count(rows.weight[here]), mean, rate.value, rate.interval))
    return Calibration(
        *names,
        n_rows=rows.count(rows.weight),
        n_class=n_class,
        observed=observed,
        predicted=predicted,
        brier=float(rows.mean((p - y) ** 2)),
        brier_of_rate=observed * (1 - observed),
        slope=slope,
        slope_interval=(slope - t * half, slope + t * half),
        intercept=shift,
        intercept_interval=(shift - t * shift_half, shift + t * shift_half),
        bins=tuple(bins),
    )


def _logistic_coefficient(
    design: Floats, y: Floats, rows: WeightedRows, offset: Floats, *, at: int
) -> tuple[float, float]:
    """Return a coefficient of logistic regression and its standard error."""
    beta = np.zeros(design.shape[1])
    for _ in range(100):
        fitted = special.expit(design @ beta + offset)
        information = design.T @ (design * (rows.weight * fitted * (1 - fitted))[:, None])
        information += 1e-9 * np.eye(len(beta))
        step = np.linalg.solve(information, design.T @ (rows.weight * (y - fitted)))
        beta += step * min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-12))
        if np.abs(step).max() < 1e-9:
            break
    influence = rows.total * (design @ np.linalg.inv(information))[:, at] * (y - fitted)
    return float(beta[at]), math.sqrt(rows.variance(influence))
