"""Error rates of a selection on semi-synthetic targets: the rows of the user, and targets that are computed from known columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Ridge

from tamiz.arrays import Floats, Indices, Masks, is_missing
from tamiz.assessment.findings import SelectionErrorRates, SignalStrength, Truth
from tamiz.assessment.trials import (
    SelectorAdapter,
    adapt_selector,
    ignore_known_warnings,
    metadata_readers,
    number_items,
    open_rows,
    repeat_selections,
    select_in_folds,
)
from tamiz.criteria.entropies import SymmetricUncertainty
from tamiz.exceptions import DataError
from tamiz.models.design_matrix import EncodedMatrix
from tamiz.models.estimators import check_metadata
from tamiz.models.folds import Fold, Folds, draw_folds
from tamiz.runtime import parallel
from tamiz.runtime.random import Seed, integer_seed, make_rng
from tamiz.runtime.user_warnings import capture_warnings, warn_user
from tamiz.runtime.validation import check_choice, check_integer, check_real
from tamiz.statistics.cuts import EqualFrequency
from tamiz.table.base import Table, target_array, weight_array, weights_or_ones
from tamiz.table.factory import as_table
from tamiz.table.views import as_training_table, select_columns, select_rows, with_metadata, with_target, without_target

# A column is a proxy of another from this association on.
PROXY_ASSOCIATION = 0.9


class SyntheticTargets:
    r"""Targets of one table that are computed from known columns.

    The latent variable of a row is

    .. math:: u = \sqrt{\rho}\, s + \sqrt{1 - \rho}\, e, \qquad s \propto \sum_{j \in T} \pm z_j

    with the true columns T, standard normal noise e, and a share of explained variance :math:`\rho`. s has mean 0 and variance 1.
    :math:`z_j` is a number, or a random normal effect of each level of a category, with mean 0 and variance 1 over the rows; it is
    0 where the value is missing. The sorted values of the real target are assigned to the rows in the order of u, ties at random;
    classes are sorted in a random order. So the distribution of the target remains, and without signal the target is a shuffled
    one. If the real target is constant in every group, so is u, and values are assigned to groups.
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        schema = table.schema
        self._y = target_array(table)
        weight = weight_array(table)
        self._weight = np.full(schema.n_rows, 1 / schema.n_rows) if weight is None else weight / weight.sum()
        self.usable = _varying_columns(table)
        if not len(self.usable):
            raise DataError("Every column is constant or excluded, so no target can be computed from a column.")
        # The unit of every row that has one value of the target: its group, or the row itself.
        self._unit = self._find_units()
        self._unit_weight = np.bincount(self._unit, self._weight).astype(np.float64)
        self._unit_y = np.empty(len(self._unit_weight), dtype=self._y.dtype)
        self._unit_y[self._unit] = self._y

    @property
    def by_group(self) -> bool:
        return len(self._unit_y) < len(self._y)

    def _find_units(self) -> Indices:
        groups, itself = self.table.groups, np.arange(len(self._y))
        if groups is None:
            return itself
        _, first, unit = np.unique(groups, return_index=True, return_inverse=True)
        constant = len(first) > 1 and (self._y == self._y[first][unit]).all()
        return unit if constant else itself

    def draw_columns(self, n: int, rng: np.random.Generator) -> Indices:
        """Return n columns, drawn at random and ascending, none a proxy of another; fewer if there are no more."""
        order = rng.permutation(self.usable)
        drawn, done = order[:0], 0
        while len(drawn) < n and done < len(order):
            pool = np.concatenate([drawn, order[done : done + n - len(drawn)]])
            done += len(pool) - len(drawn)
            proxies = self.proxies(pool, pool)
            kept: list[int] = []
            for k in range(len(pool)):
                if not proxies[k, kept].any():
                    kept.append(k)
            drawn = pool[kept]
        return np.sort(drawn)

    def draw_target(self, columns: Indices, signal: float, rng: np.random.Generator) -> NDArray[Any]:
        """Return a target of which some columns explain the share `signal` of the variance of the latent variable."""
        score = np.bincount(self._unit, self._weight * self._draw_score(columns, rng)) / self._unit_weight
        score = _standardize(score, self._unit_weight)
        latent = np.sqrt(signal) * score + np.sqrt(1 - signal) * rng.standard_normal(len(score))
        values = np.sort(self._unit_y)
        if self.table.schema.has_classes:
            order = rng.permutation(self.table.schema.n_classes)
            values = self._unit_y[np.argsort(order[self._unit_y], kind="stable")]
        drawn = np.empty_like(values)
        drawn[np.lexsort((rng.random(len(latent)), latent))] = values
        return drawn[self._unit]

    def _draw_score(self, columns: Indices, rng: np.random.Generator) -> Floats:
        """Return the sum of the effects of some columns with random signs."""
        effects = np.empty((len(self._y), len(columns)))
        for k, values in enumerate(self._read(columns)):
            effects[:, k] = self._effect(values, int(columns[k]), rng)
        # Effects of opposite signs may cancel, as those of two copies do. The variance of their sum is the number of columns in the
        # mean over all signs, so half of it is reached soon.
        while True:
            score: Floats = effects @ rng.choice([-1.0, 1.0], len(columns))
            if self._weight @ (score - self._weight @ score) ** 2 >= 0.5 * len(columns):
                return score

    def _effect(self, values: NDArray[Any], column: int, rng: np.random.Generator) -> Floats:
        if self.table.schema.columns[column].is_number:
            return _standardize(values, self._weight)
        # The last effect is that of a missing level, whose code is negative.
        effects = np.append(rng.standard_normal(len(self.table.schema.columns[column].levels)), np.nan)
        return _standardize(effects[values], self._weight)

    def proxies(self, a: Indices, b: Indices) -> Masks:
        """Return which columns of a are proxies of which columns of b, of shape (len(a), len(b)).

        Two numbers are if the absolute value of their correlation is at least 0.9; a missing value is the mean. Two other columns
        are if their symmetric uncertainty is at least 0.9, with numbers in up to ten intervals of equal frequency.
        """
        schema = self.table.schema
        is_number = np.array([column.is_number for column in schema.columns])
        associations = np.zeros((len(a), len(b)))
        both = is_number[a][:, None] & is_number[b]
        if both.any():
            first, second = (self._standardized(part[is_number[part]]) for part in (a, b))
            associations[both] = np.abs((first * self._weight[:, None]).T @ second).ravel()
        if not both.all():
            i, j = np.nonzero(~both)
            view = select_columns(without_target(self.table), np.union1d(a, b).tolist())
            measure = SymmetricUncertainty(discretization=EqualFrequency(10))
            associations[i, j] = measure.pairwise(view.reduce, view.schema).associations(a[i], b[j])
        return associations >= PROXY_ASSOCIATION

    def _standardized(self, columns: Indices) -> Floats:
        return np.column_stack([_standardize(values, self._weight) for values in self._read(columns)])

    def _read(self, columns: Indices) -> list[NDArray[Any]]:
        return [self.table.column(j) for j in columns.tolist()]


class TrueColumns:
    """The true columns of the draws: a fixed set, or as many columns drawn at random."""

    def __init__(self, targets: SyntheticTargets, support: Masks | None, n_true: int | None, *, fixed: bool) -> None:
        self.fixed = fixed
        self._targets = targets
        selected = np.empty(0, dtype=np.intp) if support is None else np.flatnonzero(support)
        self._selected = np.intersect1d(selected, targets.usable)
        if fixed and not len(self._selected):
            raise DataError(
                "No column that varies is selected for the real target, so none can be true: use truth='random'."
            )
        self.n_columns = len(self._selected) if fixed else n_true if n_true is not None else max(1, len(self._selected))

    def draw(self, rng: np.random.Generator) -> Indices:
        """Return the numbers of the true columns of one draw, ascending."""
        return self._selected if self.fixed else self._targets.draw_columns(self.n_columns, rng)


def _standardize(values: NDArray[Any], weight: Floats) -> Floats:
    """Return values with mean 0 and variance 1, and 0 where they are missing; weights have the sum 1."""
    values = np.asarray(values, dtype=np.float64)
    present = ~np.isnan(values)
    # Scaled first, so that squares do not overflow.
    scaled = np.where(present, values, 0.0) / (np.abs(values[present]).max(initial=0.0) or 1.0)
    centred = np.where(present, scaled - weight @ scaled / max(float(weight @ present), 1e-300), 0.0)
    variance = float(weight @ centred**2)
    return centred / np.sqrt(variance) if variance > 0 else centred


def _varying_columns(table: Table) -> Indices:
    columns = table.schema.used
    varies = []
    for j in columns.tolist():
        values = table.column(j)
        present = values[~is_missing(values)]
        varies.append(len(present) > 0 and present.min() < present.max())
    return columns[np.array(varies, dtype=bool)]


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
    """
    table = targets.table
    real = pooled_r2([prediction_errors(table, fold, chosen) for fold, chosen in zip(folds, fold_sets, strict=True)])
    seeds = rng.integers(0, 2**63, _N_SELECTIONS).tolist()
    names = [f"{name} for the signal" for name in number_items("Semi-synthetic target", _N_SELECTIONS)]
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

        label = f"Signal, step {step + 1} of {_N_HALVINGS}"
        found = repeat_selections(label, selector, table, errors, enumerate(seeds), names)
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
        opened, messages = open_rows("selection_error_rates", table, max_rows, _N_SPLITS, rng)
        adapter.check(opened.schema)
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
        rates = simulate_error_rates(targets, adapter, columns, level, n_draws, rng)
    return replace(rates, notes=(*dict.fromkeys(messages), *rates.notes), seed=integer_seed(random_state))


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

    seeds, names = rng.integers(0, 2**63, n_draws).tolist(), number_items("Semi-synthetic target", n_draws)
    results = repeat_selections("Semi-synthetic targets", selector, table, run, seeds, names)
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
