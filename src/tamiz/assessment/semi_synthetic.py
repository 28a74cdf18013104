"""Error rates of a selection on semi-synthetic targets: the rows of the user, and targets that are computed from known columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np

from tamiz.arrays import Indices, Masks
from tamiz.assessment.error_rates import SelectionErrorRates, Truth
from tamiz.assessment.fold_scores import ignore_known_warnings
from tamiz.assessment.repeated_searches import run_with_progress, select_in_folds
from tamiz.assessment.selector_adapters import SelectorAdapter, adapt_selector, metadata_readers
from tamiz.assessment.signal_calibration import N_SIGNAL_SELECTIONS, Signal, estimate_signal
from tamiz.assessment.synthetic_targets import SyntheticTargets, TrueColumns
from tamiz.exceptions import DataError
from tamiz.models.estimators import check_metadata
from tamiz.models.folds import Folds, draw_folds, drop_zero_weights, sample_rows
from tamiz.runtime import parallel
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.user_warnings import capture_warnings, warn_user
from tamiz.runtime.validation import check_choice, check_integer, check_real
from tamiz.table.base import Table
from tamiz.table.factory import as_table
from tamiz.table.views import with_metadata, with_target

N_DRAWS = 20
# Folds of the model whose score determines the signal.
_N_SPLITS = 5
_MIN_ROWS = 4
_MODEL_NOTE = (
    "Semi-synthetic targets are additive in the true columns: linear in numbers, with a random effect of each level of a category. "
    "Interactions and nonlinear effects are not simulated."
)


def count_searches(n_draws: int) -> int:
    """Return how often `selection_error_rates` selects by default: on all rows, in every fold, for the signal, on every target."""
    return 1 + _N_SPLITS + N_SIGNAL_SELECTIONS + n_draws


def selection_error_rates(
    selector: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    time: Any = None,
    sample_weight: Any = None,
    truth: Truth = "random",
    n_true: int | None = None,
    signal: float | None = None,
    n_draws: int = N_DRAWS,
    max_rows: int | None = None,
    random_state: Seed = 0,
    n_jobs: int | None = None,
    params: Mapping[str, Any] | None = None,
) -> SelectionErrorRates:
    r"""Estimate the true and false positive rates of a selection on targets that are computed from known columns of the table.

    The columns and rows are those of the user. In each draw some columns are the true ones, a target is computed from them with
    noise, and the selection is repeated with it.

    Parameters
    ----------
    selector, X, y, groups, time, sample_weight
        As in `selection_report`.
    truth : {"random", "selected"}, default="random"
        The true columns. "random" draws them for each target, no two of them proxies of each other. "selected" uses those that are
        selected for the real target; the rates are then too favourable, because these are columns that the selection finds.
    n_true : int, default=None
        The number of true columns that are drawn. None is the number that is selected for the real target, at least 1.
    signal : float, default=None
        The share of the variance of the target that the true columns explain, in [0, 1]; for classes that of the latent variable,
        McKelvey and Zavoina's pseudo-R2. None is a signal as strong as that of the real target: one for which ridge regression with
        the selected columns (for classes, of their indicators) has the R2 on new rows that it has for the real target, by
        selections in 5 folds. A signal below 1/32 is replaced by 0.1, and a note states it.
    n_draws : int, default=20
        The number of targets, at least 2.
    max_rows : int, default=None
        A larger table is sampled to this number of rows, plus a few for rare classes. None uses all rows.
    random_state : int, default=0
        Seed of the sample, folds, true columns and targets, and of searches that have no seed of their own.
    n_jobs : int, default=None
        Threads; None uses all cores available to this process. The numbers do not depend on it.
    params : dict, default=None
        Further values of the rows by name, as in `selection_report`: for the estimators and scorers of the selector.

    Returns
    -------
    SelectionErrorRates

    Raises
    ------
    DataError
        When there is no target, when no column varies, when `truth="selected"` and no column is selected, or when a search fails.

    Notes
    -----
    The latent variable of a row is

    .. math:: u = \sqrt{\rho}\, s + \sqrt{1 - \rho}\, e, \qquad s \propto \sum_{j \in T} \pm z_j

    with true columns T, random signs, standard normal noise e, and the signal :math:`\rho`; s has variance 1. :math:`z_j` has mean
    0 and variance 1: a number, or a random normal effect of each level of a category; it is 0 where a value is missing. The values
    of the real target are reassigned to the rows in the order of u, classes in a random order, so that their frequencies remain.
    The target is constant in groups if the real target is. With signal 0 it is a shuffled target.

    A column is a proxy of a true column if the absolute value of their correlation is at least 0.9 or, where one is a category,
    their symmetric uncertainty. A selected proxy is a false positive; rates in which it is not are also returned.

    Effects of real columns are neither equal nor all additive: the rates describe the selection on this table for such effects, not
    the columns that were selected. The signal has an error, which is large in small tables.

    Cost: 1 + `n_draws` searches, and 55 more, on the training rows of folds, to determine the signal.

    References
    ----------
    Franklin, Schneeweiss, Polinski and Rassen (2014), Plasmode simulation for the evaluation of pharmacoepidemiologic methods in
    complex healthcare databases, Computational Statistics & Data Analysis 72; Gourieroux, Monfort and Renault (1993), Indirect
    inference, Journal of Applied Econometrics 8; McKelvey and Zavoina (1975), A statistical model for
    the analysis of ordinal level dependent variables, Journal of Mathematical Sociology 4; Benjamini and Hochberg (1995),
    Controlling the false discovery rate, Journal of the Royal Statistical Society B 57.

    Examples
    --------
    >>> import numpy as np
    >>> from tamiz import RankSelector
    >>> from tamiz.assessment import selection_error_rates
    >>> from tamiz.criteria import FisherScore
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(100, 50)), np.arange(100) % 2
    >>> rates = selection_error_rates(RankSelector(FisherScore(), n_features=5), X, y, signal=0.5)
    >>> print(f"true {rates.true_positive_rate.mean:.2f}, by chance {rates.chance_true_positive_rate.mean:.2f}")
    true 0.72, by chance 0.10
    """
    rng = make_rng(random_state)
    adapter, params = adapt_selector(selector), params or {}
    check_metadata("selection_error_rates()", metadata_readers(selector), params)
    check_choice("truth", truth, ("random", "selected"))
    if n_true is not None:
        check_integer("n_true", n_true, low=1)
        if truth == "selected":
            raise ValueError(
                "n_true applies to truth='random' only; with truth='selected' the true columns are the selected ones."
            )
    if signal is not None:
        check_real("signal", signal, low=0.0, high=1.0)
    check_integer("n_draws", n_draws, low=2)
    if max_rows is not None:
        check_integer("max_rows", max_rows, low=_MIN_ROWS)
    with parallel.thread_session(n_jobs), ignore_known_warnings():
        table = with_metadata(as_table(X, y, sample_weight, groups=groups, time=time), params)
        whole, weight_notes = drop_zero_weights(table)
        if whole.schema.target is None:
            raise DataError("selection_error_rates requires a target, but the target y is None.")
        adapter.check(whole.schema)
        opened, sample_notes = sample_rows(whole, max_rows, _N_SPLITS, rng)
        messages = [*table.schema.dropped_row_notes, *weight_notes, *sample_notes]
        targets = SyntheticTargets(opened)
        with capture_warnings() as search_warnings:
            support = adapter.select(opened, int(rng.integers(2**31))).support if n_true is None else None
        messages += search_warnings
        columns = TrueColumns(targets, support, n_true, fixed=truth == "selected")
        if signal is None:
            folds = draw_folds(opened, _N_SPLITS, rng)
            messages += folds.fold_warnings
            fold_sets, _ = select_in_folds(adapter, opened, folds)
            level = estimate_signal(targets, adapter, columns, folds, fold_sets, rng)
        else:
            level = Signal(float(signal), "as requested")
        warn_user(dict.fromkeys(messages))
        seed = int(random_state) if isinstance(random_state, Integral) else None
        rates = simulate_error_rates(targets, adapter, columns, level, n_draws, rng)
    return replace(rates, notes=(*dict.fromkeys(messages), *rates.notes), seed=seed)


def report_error_rates(
    table: Table,
    selector: SelectorAdapter,
    support: Masks,
    folds: Folds,
    fold_sets: Masks,
    n_draws: int,
    rng: np.random.Generator,
) -> SelectionErrorRates:
    """Return the error rates of a selection, whose columns on all rows and in every fold are known, for random true columns."""
    targets = SyntheticTargets(table)
    columns = TrueColumns(targets, support, None, fixed=False)
    signal = estimate_signal(targets, selector, columns, folds, fold_sets, rng)
    return simulate_error_rates(targets, selector, columns, signal, n_draws, rng)


def simulate_error_rates(
    targets: SyntheticTargets,
    selector: SelectorAdapter,
    columns: TrueColumns,
    signal: Signal,
    n_draws: int,
    rng: np.random.Generator,
) -> SelectionErrorRates:
    table = targets.table

    def run(seed: int) -> tuple[Masks, Masks, Masks, Masks]:
        draw_rng = np.random.default_rng(seed)
        true = columns.draw(draw_rng)
        view = with_target(table, targets.draw_target(true, signal.value, draw_rng))
        selected = selector.select(view, int(draw_rng.integers(2**31))).support
        return _compare_with_truth(targets, true, selected)

    results = run_with_progress(
        "Semi-synthetic targets",
        table,
        run,
        rng.integers(0, 2**63, n_draws).tolist(),
        lambda at: f"Semi-synthetic target {at + 1} of {n_draws}",
        evaluation_cost=selector.evaluation_cost,
    )
    true_sets, selected_sets, proxy_sets, covered_sets = (np.stack([sets[k] for sets, _ in results]) for k in range(4))
    candidates = np.zeros(table.schema.n_columns, dtype=bool)
    candidates[targets.usable] = True
    return SelectionErrorRates(
        selector=selector.label,
        truth="selected" if columns.fixed else "random",
        names=tuple(table.schema.names),
        n_samples=table.schema.n_rows,
        candidate_mask=candidates,
        true_sets=true_sets,
        selected_sets=selected_sets,
        proxy_sets=proxy_sets,
        covered_sets=covered_sets,
        signal=signal.value,
        signal_description=signal.description,
        target_kind="classes" if table.schema.has_classes else "number",
        notes=(*signal.notes, *_draw_notes(targets, columns.n_columns, true_sets, selected_sets), _MODEL_NOTE),
        seed=None,
        signal_strength=signal.strength,
    )


def _compare_with_truth(targets: SyntheticTargets, true: Indices, selected: Masks) -> tuple[Masks, Masks, Masks, Masks]:
    """Return the true and the selected columns, the false ones that are proxies, and the true ones that are covered, as masks."""
    is_true = np.zeros(len(selected), dtype=bool)
    is_true[true] = True
    false = np.intersect1d(np.flatnonzero(selected & ~is_true), targets.usable)
    is_proxy, is_covered = np.zeros((2, len(selected)), dtype=bool)
    is_covered[true] = selected[true]
    if len(false):
        related = targets.proxies(false, true)
        is_proxy[false] = related.any(axis=1)
        is_covered[true] |= related.any(axis=0)
    return is_true, selected, is_proxy, is_covered


def _draw_notes(targets: SyntheticTargets, n_true: int, true_sets: Masks, selected_sets: Masks) -> list[str]:
    n_draws, notes = len(true_sets), []
    fewest = int(true_sets.sum(axis=1).min())
    if fewest < n_true:
        notes.append(
            f"Some targets have {fewest:,} true columns in place of {n_true:,}: the others are proxies or constant."
        )
    if n_empty := int((~selected_sets.any(axis=1)).sum()):
        notes.append(f"For {n_empty} of {n_draws} targets no column was selected.")
    if targets.by_group:
        notes.append("Every semi-synthetic target is constant in each group, as the real one.")
    return notes
