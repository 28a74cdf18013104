"""Fold designs compared: whether random folds overstate the score of a model for rows in groups or in time."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import fft, stats

from tamiz.arrays import Codes, Floats, Indices, Masks
from tamiz.assessment.findings import FoldDesignComparison
from tamiz.exceptions import DataError
from tamiz.models.folds import Fold, drop_zero_weights, make_folds
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.validation import check_integer
from tamiz.table.base import Table, target_array, weight_array
from tamiz.table.factory import as_table
from tamiz.table.views import sample_table, select_rows, with_groups, with_time

_N_TREES, _N_SPLITS = 30, 5
# In time order the rows are cut into blocks; those of the second half are predicted by a model of all blocks before them.
_N_BLOCKS, _FIRST_TEST_BLOCK = 6, 3
# Contiguous blocks in time order, of which each fifth is in one fold.
_N_CONTIGUOUS = 20
# Parts of contiguous test rows whose mean differences are taken as independent.
_N_TIME_PARTS = 30
# Fewer units have no standard error worth the name.
_MIN_UNITS = 10
# The half periods of the waves along the time that are tested, beyond those of a trend, and the share of the shortest waves, which
# are noise. The p-value is conservative, because the trend that is subtracted takes part of the noise.
_FIRST_WAVE, _LAST_WAVE, _NOISE_WAVES = 5, 40, 0.75


def compare_fold_designs(
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    time: Any = None,
    sample_weight: Any = None,
    forward: bool = True,
    max_rows: int = 2_000,
    random_state: Seed = 0,
) -> FoldDesignComparison:
    """Return the score of a random forest of 30 trees in folds by groups or forward in time, and in random folds.

    Parameters
    ----------
    X, y, groups, time, sample_weight
        As in `selection_report`; either groups or times are required.
    forward : bool, default=True
        Whether rows are predicted by earlier ones only. False compares contiguous blocks, with rows before and after in the
        training set: a trend alone makes no difference then, but that rows of similar times are alike does.
    max_rows : int, default=2000
        The most rows: whole groups drawn at random, or rows drawn at random for a time.
    random_state : int, default=0
        Seed of the sample, the folds and the forests.

    Returns
    -------
    FoldDesignComparison

    Raises
    ------
    DataError
        When there is no target, neither groups nor time or both, or too few rows, groups or times for folds.

    Notes
    -----
    Every row is predicted by both designs, so that the losses are compared row by row. *Groups*: five folds of whole groups, and
    five random folds. *Time*: the rows are cut into six blocks in time order, and blocks four to six are predicted by the rows of
    all blocks before. For random folds, each half of such a block is predicted by as many rows, drawn at random among all others:
    the training sets have the same sizes, so that a difference is not one of size. The standard error of the mean difference is
    that over groups, or over 30 contiguous parts of the time. *Blocks* (`forward=False`): twenty contiguous blocks, each fifth in
    one of five folds, and five random folds; the first and the last block are not compared, because the forest extrapolates there.

    *Waves* (`forward=False`): of the residuals of random folds without the column of the time, in time order, the nearest monotone
    function and a cubic polynomial are subtracted, so that a trend, a step or a U-shape is no wave. The mean squares of their
    cosine transform at 5 to 39 half periods are compared with those of the shortest three quarters of the waves by an F-test
    (Bonferroni over the classes); independent rows have the same at all of them. A function of the time with several ups and downs
    counts as waves.

    The intraclass correlation is (B - W) / (B + (m - 1) W), with the mean squares B between and W within groups of mean size m.
    Missing values enter as they are, and categories as numbers of their levels. The cost is 10 fits, 9 for forward folds and 15 for
    blocks.

    References
    ----------
    Shrout and Fleiss (1979), Intraclass correlations: uses in assessing rater reliability, Psychological Bulletin 86;
    Roberts et al. (2017), Cross-validation strategies for data with temporal, spatial, hierarchical, or phylogenetic structure,
    Ecography 40; Bergmeir and Benitez (2012), On the use of cross-validation for time series predictor evaluation, Information
    Sciences 191.

    Examples
    --------
    >>> import numpy as np
    >>> from tamiz.assessment import compare_fold_designs
    >>> rng = np.random.default_rng(0)
    >>> patient = np.repeat(np.arange(100), 5)
    >>> X = np.column_stack([rng.normal(size=(100, 3))[patient], rng.normal(size=500)])
    >>> found = compare_fold_designs(X, rng.normal(size=100)[patient], groups=patient)
    >>> found.differs
    True
    """
    check_integer("max_rows", max_rows, low=2)
    rng = make_rng(random_state)
    opened, _ = drop_zero_weights(as_table(X, y, sample_weight, groups=groups, time=time))
    schema = opened.schema
    if schema.target is None or (opened.groups is None) == (opened.time is None):
        raise DataError("compare_fold_designs requires a target, and either groups or times of the rows.")
    opened = _sample_groups(opened, max_rows, rng) if opened.groups is not None else sample_table(opened, max_rows, rng)
    table = _Table(opened, rng)
    design = _forward_predictions if forward else _block_predictions
    if opened.groups is not None:
        design = _group_predictions
    honest, random, units = design(table)
    predicted = np.isfinite(honest[:, 0] + random[:, 0])
    name = schema.groups if opened.groups is not None else schema.time
    n_units = len(np.unique(units[predicted]))
    if n_units < _MIN_UNITS:
        raise DataError(
            f"{name!r} has too few groups or times to compare folds: {n_units}; at least {_MIN_UNITS} are needed."
        )
    scoring, score = table.score(honest, predicted)
    _, random_score = table.score(random, predicted)
    intraclass, p = (None, None) if opened.groups is None else table.intraclass_correlation(opened.groups)
    return FoldDesignComparison(
        intraclass=intraclass,
        intraclass_p=p,
        wave_p=_wave_p(table) if design is _block_predictions else None,
        kind="groups" if opened.groups is not None else "time",
        name=str(name),
        n_samples=int(predicted.sum()),
        n_units=n_units,
        scoring=scoring,
        score=score,
        random_score=random_score,
        t=_cluster_t(
            (table.losses(honest) - table.losses(random))[predicted], table.weight[predicted], units[predicted]
        ),
    )


class _Table:
    """The rows as numbers, and the forest that is fitted to some of them."""

    def __init__(self, table: Table, rng: np.random.Generator) -> None:
        schema = table.schema
        self.table, self.rng = table, rng
        columns = [table.column(j) for j in schema.used.tolist()]
        if not columns:
            raise DataError("compare_fold_designs requires at least one column.")
        values = [np.where(one < 0, np.nan, one) if one.dtype.kind == "i" else one for one in columns]
        self.X = np.column_stack(values).astype(np.float64)
        y, weight = target_array(table), weight_array(table)
        self.y = np.unique(y, return_inverse=True)[1] if schema.has_classes else y
        self.weight = np.ones(len(y)) if weight is None else weight
        # One column for the probability of each class, or one for the number.
        self.truth = np.eye(int(self.y.max()) + 1)[self.y] if schema.has_classes else self.y[:, None]

    def without_time(self) -> _Table:
        schema, other = self.table.schema, copy.copy(self)
        other.X = self.X[:, [schema.names[j] != schema.time for j in schema.used.tolist()]]
        return other

    def predict(self, train: Indices, test: Indices) -> Floats:
        """Return the probabilities of the classes, or the numbers, of shape (n_test, n_outputs)."""
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

        seed = int(self.rng.integers(2**31))
        if not self.table.schema.has_classes:
            forest = RandomForestRegressor(_N_TREES, max_features=1 / 3, random_state=seed)
            return forest.fit(self.X[train], self.y[train], self.weight[train]).predict(self.X[test])[:, None]
        forest = RandomForestClassifier(_N_TREES, random_state=seed)
        forest.fit(self.X[train], self.y[train], self.weight[train])
        found = np.zeros((len(test), self.truth.shape[1]))
        found[:, forest.classes_] = forest.predict_proba(self.X[test])
        return found

    def intraclass_correlation(self, groups: Codes) -> tuple[float, float]:
        """Return the largest intraclass correlation of the outputs, by analysis of variance, and its p-value."""
        group = np.unique(groups, return_inverse=True)[1]
        size = np.bincount(group)
        n, k = len(group), len(size)
        if n == k:
            return 0.0, 1.0
        outputs = self.truth[:, self.truth.std(axis=0) > 0]
        outputs = outputs - outputs.mean(axis=0)
        sums = np.stack([np.bincount(group, one) for one in outputs.T], axis=1)
        between = (sums**2 / size[:, None]).sum(axis=0)
        within = (outputs**2).sum(axis=0) - between
        mean_between, mean_within = between / (k - 1), np.maximum(within, 0.0) / (n - k)
        mean_size = (n - float((size**2).sum()) / n) / (k - 1)
        found = (mean_between - mean_within) / (mean_between + (mean_size - 1) * mean_within)
        p = stats.f.sf(mean_between / np.maximum(mean_within, 1e-300), k - 1, n - k)
        return float(found.max()), min(1.0, float(p.min()) * len(p))

    def predict_folds(self, folds: Sequence[Fold]) -> Floats:
        """Return the predictions of the test rows of all folds, NaN for other rows."""
        predictions = np.full(self.truth.shape, np.nan)
        for fold in folds:
            predictions[fold.test] = self.predict(fold.train, fold.test)
        return predictions

    def losses(self, predictions: Floats) -> Floats:
        return np.square(predictions - self.truth).sum(axis=1)

    def score(self, predictions: Floats, rows: Masks) -> tuple[str, float]:
        from sklearn.metrics import r2_score, roc_auc_score

        y, found, weight = self.y[rows], predictions[rows], self.weight[rows]
        if not self.table.schema.has_classes:
            return "r2", float(r2_score(y, found[:, 0], sample_weight=weight))
        classes = np.unique(y)
        if len(classes) == 1:
            raise DataError("The rows that all folds predict are of one class.")
        if self.truth.shape[1] == 2:
            return "roc_auc", float(roc_auc_score(y, found[:, 1], sample_weight=weight))
        areas = [roc_auc_score(y == k, found[:, k], sample_weight=weight) for k in classes.tolist()]
        return "roc_auc_ovr_weighted", float(
            np.average(areas, weights=[weight[y == k].sum() for k in classes.tolist()])
        )


def _sample_groups(table: Table, max_rows: int, rng: np.random.Generator) -> Table:
    """Return at most so many rows of whole groups, but for the first drawn group."""
    assert table.groups is not None
    if table.schema.n_rows <= max_rows:
        return table
    sizes = np.bincount(table.groups)
    drawn = rng.permutation(len(sizes))
    kept = np.zeros(len(sizes), dtype=bool)
    kept[drawn[: max(1, np.count_nonzero(np.cumsum(sizes[drawn]) <= max_rows))]] = True
    return select_rows(table, np.flatnonzero(kept[table.groups]))


def _group_predictions(table: _Table) -> tuple[Floats, Floats, Indices]:
    """Return the predictions in folds of whole groups and in random folds, and the groups."""
    assert table.table.groups is not None
    random = table.predict_folds(_random_folds(table))
    folds = make_folds(table.table, _N_SPLITS, int(table.rng.integers(2**31)))
    return table.predict_folds(folds), random, table.table.groups.astype(np.intp)


def _random_folds(table: _Table) -> Sequence[Fold]:
    without_roles = with_time(with_groups(table.table, None, (), None), None, None)
    return make_folds(without_roles, _N_SPLITS, int(table.rng.integers(2**31)))


def _block_predictions(table: _Table) -> tuple[Floats, Floats, Indices]:
    """Return the predictions in folds of contiguous blocks and in random folds, and contiguous parts of the rows."""
    parts = _cut_in_time(table.table, range(1, _N_CONTIGUOUS), _N_CONTIGUOUS)
    block = np.empty(len(table.truth), dtype=np.intp)
    for k, rows in enumerate(parts):
        block[rows] = k
    folds = [
        Fold(np.flatnonzero(block % _N_SPLITS != k), np.flatnonzero(block % _N_SPLITS == k)) for k in range(_N_SPLITS)
    ]
    in_blocks = table.predict_folds(folds)
    in_blocks[(block == 0) | (block == _N_CONTIGUOUS - 1)] = np.nan
    return in_blocks, table.predict_folds(_random_folds(table)), _time_parts(np.concatenate(parts))


def _time_parts(order: Indices, n_rows: int | None = None) -> Indices:
    units = np.zeros(n_rows or len(order), dtype=np.intp)
    units[order] = np.arange(len(order)) * _N_TIME_PARTS // len(order)
    return units


def _forward_predictions(table: _Table) -> tuple[Floats, Floats, Indices]:
    """Return the predictions by earlier rows and by rows of all times, and contiguous parts of the rows."""
    honest, random = np.full(table.truth.shape, np.nan), np.full(table.truth.shape, np.nan)
    n, rng = len(honest), table.rng
    first, *blocks = _cut_in_time(table.table, range(_FIRST_TEST_BLOCK, _N_BLOCKS), _N_BLOCKS)
    train = first
    for test in blocks:
        honest[test] = table.predict(np.sort(train), test)
        for half in np.array_split(rng.permutation(test), 2):
            others = np.setdiff1d(np.arange(n), half)
            drawn = rng.choice(others, min(len(train), len(others)), replace=False)
            random[half] = table.predict(drawn, half)
        train = np.concatenate([train, test])
    return honest, random, _time_parts(train[len(first) :], n)


def _wave_p(table: _Table) -> float:
    """Return the p-value of waves of the target along the time that the other columns do not explain."""
    from sklearn.isotonic import isotonic_regression

    assert table.table.time is not None
    others = table.without_time()
    found = others.predict_folds(_random_folds(others)) if others.X.shape[1] else table.truth.mean(axis=0)
    residuals = (table.truth - found)[np.argsort(table.table.time, kind="stable")]
    n = len(residuals)
    last, first_of_noise = min(_LAST_WAVE, n // 8), int((1 - _NOISE_WAVES) * n)
    if last <= _FIRST_WAVE:
        return 1.0
    position = np.linspace(-1, 1, n)
    cubic = np.polynomial.legendre.legvander(position, 3)
    for k, one in enumerate(residuals.T):
        residuals[:, k] -= isotonic_regression(one, increasing=bool(one @ position >= 0))
    residuals -= cubic @ np.linalg.lstsq(cubic, residuals, rcond=None)[0]
    energy = np.square(fft.dct(residuals, axis=0, norm="ortho"))
    noise = np.maximum(energy[first_of_noise:].mean(axis=0), np.finfo(float).tiny)
    ratios = energy[_FIRST_WAVE:last].mean(axis=0) / noise
    p = stats.f.sf(ratios, last - _FIRST_WAVE, n - first_of_noise)
    return min(1.0, float(p.min()) * len(p))


def _cut_in_time(table: Table, cuts: range, n_blocks: int) -> list[Indices]:
    """Return the rows in time order, cut at some of so many equal blocks; rows of one time are in one part."""
    assert table.time is not None
    order = np.argsort(table.time, kind="stable")
    moments = table.time[order]
    parts = np.split(order, np.searchsorted(moments, moments[[len(order) * k // n_blocks for k in cuts]]))
    if min(map(len, parts)) < 2:
        raise DataError(f"{table.schema.time!r} has too few different times to compare folds.")
    return parts


def _cluster_t(differences: Floats, weight: Floats, units: Indices) -> float:
    """Return a weighted mean in its standard errors over the units, 0 if they do not vary."""
    _, unit = np.unique(units, return_inverse=True)
    mean = float(np.average(differences, weights=weight))
    deviations = np.bincount(unit, weight * (differences - mean))
    n_units = len(deviations)
    error = float(np.sqrt(n_units / (n_units - 1) * (deviations**2).sum())) / float(weight.sum())
    return mean / error if error > 0 else 0.0
