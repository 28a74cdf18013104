"""The signal of a real target: the share of explained variance for which a selection predicts semi-synthetic targets as well."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Ridge

from tamiz.arrays import Floats, Masks
from tamiz.assessment.error_rates import SignalStrength
from tamiz.assessment.repeated_searches import run_with_progress
from tamiz.assessment.selector_adapters import SelectorAdapter
from tamiz.assessment.synthetic_targets import SyntheticTargets, TrueColumns
from tamiz.models.design_matrix import EncodedMatrix
from tamiz.models.folds import Fold, Folds, draw_folds
from tamiz.table.base import Table
from tamiz.table.views import (
    as_training_table,
    select_columns,
    select_rows,
    target_array,
    weights_or_ones,
    with_target,
)

# The interval of the signal is halved so many times, each time by the R2 of so many selections.
_N_HALVINGS, _N_SELECTIONS = 5, 10
N_SIGNAL_SELECTIONS = _N_HALVINGS * _N_SELECTIONS
# The signal in place of one below the smallest that the halvings distinguish from none.
_WEAK_SIGNAL, _SMALLEST_SIGNAL = 0.1, 0.5**_N_HALVINGS


@dataclass(frozen=True)
class Signal:
    """The share of explained variance, how it was determined, its strength relative to the real one if known, and notes."""

    value: float
    description: str
    strength: SignalStrength | None = None
    notes: tuple[str, ...] = ()


def estimate_signal(
    targets: SyntheticTargets,
    selector: SelectorAdapter,
    columns: TrueColumns,
    folds: Folds,
    fold_sets: Masks,
    rng: np.random.Generator,
) -> Signal:
    """Return the signal for which a selection predicts new rows as well as for the real target.

    The R2 of ridge regression with the selected columns on test rows increases with the signal. The signal at which it is that of
    the real target is found by halving the interval [0, 1] five times, with ten selections each time. This is indirect inference
    (Gourieroux, Monfort and Renault 1993, Journal of Applied Econometrics 8): columns that the selection misses, and the errors of
    the coefficients, decrease both R2 alike.

    Parameters
    ----------
    targets : SyntheticTargets
    selector : SelectorAdapter
    columns : TrueColumns
    folds : Folds
        Of the real target.
    fold_sets : ndarray of shape (n_folds, n_columns), bool
        The columns selected for the real target on the training rows of every fold.
    rng : Generator
    """
    table = targets.table
    real = pooled_r2([prediction_errors(table, fold, chosen) for fold, chosen in zip(folds, fold_sets, strict=True)])
    seeds = rng.integers(0, 2**63, _N_SELECTIONS).tolist()
    low, high = 0.0, 1.0
    for step in range(_N_HALVINGS):
        middle = (low + high) / 2

        def errors(item: tuple[int, int], signal: float = middle) -> Floats:
            at, seed = item
            # The same columns, noise and folds at every signal, so that the R2 increases with it.
            draw_rng = np.random.default_rng(seed)
            view = with_target(table, targets.draw_target(columns.draw(draw_rng), signal, draw_rng))
            own = draw_folds(view, len(folds), draw_rng)
            fold = choose_fold(own, at, target_array(view))
            train = as_training_table(select_rows(view, fold.train))
            return prediction_errors(view, fold, selector.select(train, own.table_seed).support)

        found = run_with_progress(
            f"Signal, step {step + 1} of {_N_HALVINGS}",
            table,
            errors,
            list(enumerate(seeds)),
            lambda at: f"Semi-synthetic target {at + 1} of {_N_SELECTIONS} for the signal",
            evaluation_cost=selector.evaluation_cost,
        )
        low, high = (low, middle) if pooled_r2([one for one, _ in found]) > real else (middle, high)
    score = f"R2 {real:.2g} of ridge regression with the selected columns on new rows"
    middle = (low + high) / 2
    if low == 0:
        note = (
            f"The linear signal of the real target is below {_SMALLEST_SIGNAL:.0%} of the variance ({score}); the true columns "
            f"explain {_WEAK_SIGNAL:.0%} of it instead."
        )
        return Signal(_WEAK_SIGNAL, "stronger than the real one, which is weak", "stronger", (note,))
    if high == 1:
        note = f"Targets almost without noise ({middle:.0%}) are predicted no better than the real one ({score})."
        return Signal(middle, f"at most as strong as the real one: {score}", "weaker", (note,))
    return Signal(middle, f"as strong as the real one: {score}", "equal")


def choose_fold(folds: Folds, first: int, y: NDArray[Any]) -> Fold:
    """Return the fold of a number, or the next one in which the target of the training rows is not constant."""
    rotated = [folds[(first + k) % len(folds)] for k in range(len(folds))]
    return next((fold for fold in rotated if (y[fold.train] != y[fold.train[0]]).any()), rotated[0])


def prediction_errors(table: Table, fold: Fold, selected: Masks) -> Floats:
    """Return the sums of squared errors on the test rows of a fold: of ridge regression with some columns, and of the mean.

    Classes are predicted as the indicators of each.
    """
    y = target_array(table)
    outputs = np.eye(table.schema.n_classes)[y] if table.schema.has_classes else y[:, None]
    # Scaled, so that squares do not overflow.
    outputs = outputs / (np.abs(outputs).max() or 1.0)
    weight = weights_or_ones(table)
    mean = np.average(outputs[fold.train], axis=0, weights=weight[fold.train])
    deviations = outputs[fold.test] - mean
    errors = deviations
    columns = np.intersect1d(np.flatnonzero(selected), table.schema.used)
    if len(columns):
        matrix = EncodedMatrix(select_columns(table, columns.tolist()), [fold])
        model = Ridge().fit(matrix.train_rows(fold), outputs[fold.train] - mean, weight[fold.train])
        errors = deviations - model.predict(matrix.test_rows(fold)).reshape(deviations.shape)
    return np.array([weight[fold.test] @ (part**2).sum(axis=1) for part in (errors, deviations)])


def pooled_r2(errors: list[Floats]) -> float:
    """Return 1 minus the share of the squared deviations from the mean that remain, over the test rows of all folds."""
    remaining, total = np.sum(errors, axis=0)
    return float(1 - remaining / total)
