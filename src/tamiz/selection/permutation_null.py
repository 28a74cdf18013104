"""Permutation null distribution: the results of a search for shuffled targets, and how a target may be shuffled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tamiz.arrays import Indices
from tamiz.criteria.base import Merit, score_columns
from tamiz.criteria.independence_test import IndependenceTest
from tamiz.exceptions import DataError
from tamiz.runtime.user_warnings import capture_warnings
from tamiz.search.archive import Archive
from tamiz.search.runner import SearchJob
from tamiz.search.stopping import StoppingRule, TargetMerit
from tamiz.selection.subset_record import MIN_PERMUTATIONS, PermutationNull
from tamiz.table.base import Table, target_array
from tamiz.table.schema import Schema
from tamiz.table.views import select_columns, select_rows, with_groups, with_target

Target = NDArray[Any]

# Tables up to this number of values get the default number of permutations; larger ones the smallest that allows p = 0.05.
_SMALL_TABLE_VALUES, _DEFAULT_PERMUTATIONS = 200_000, 99
# A selection is not chance if a selected column has this p-value, times the number of columns that were searched.
_SIGNIFICANT = 0.025
# A search of more microseconds is repeated at most five times, or not at all, to find out whether its merit is chance.
_LONG_SEARCH, _TOO_LONG_SEARCH = 100_000.0, 10_000_000.0
# A merit is above chance beyond this quantile of the next merit on a shuffled target, by Student's t of at least so many merits.
_PREDICTION_LEVEL, _MIN_PREDICTION_MERITS = 0.999, 5


@dataclass(frozen=True)
class TargetShuffle:
    """A random reordering of the target that is exchangeable under the null hypothesis of no relation to the columns."""

    description: str
    draw: Callable[[np.random.Generator], Target]


def default_n_permutations(schema: Schema) -> int:
    """Return the default number of permutations, which depends only on the size of the table."""
    return _DEFAULT_PERMUTATIONS if schema.n_rows * len(schema.used) <= _SMALL_TABLE_VALUES else MIN_PERMUTATIONS


def chance_null(
    observed: float,
    search: Callable[[Target, np.random.Generator], tuple[float, int]],
    shuffle: TargetShuffle,
    max_searches: int,
) -> PermutationNull | None:
    """Return the permutation null distribution of a merit that may be chance; None for a merit that is clearly above it.

    Targets are shuffled one after the other until one reaches the merit (Besag and Clifford 1991, Sequential Monte Carlo p-values,
    Biometrika 78), until the merit is above the 99.9 % prediction bound of the merits of non-empty sets, or until all are. `search`
    returns the merit and the number of columns of the best set for a target and random draws.
    """
    merits: list[float] = []
    selections: list[float] = []
    for seed in range(max_searches):
        rng = np.random.default_rng(seed)
        merit, size = search(shuffle.draw(rng), rng)
        merits.append(merit)
        if merit >= observed:
            break
        selections += [merit] if size else []
        if (n := len(selections)) >= _MIN_PREDICTION_MERITS:
            half = stats.t.ppf(_PREDICTION_LEVEL, n - 1) * np.std(selections, ddof=1) * np.sqrt(1 + 1 / n)
            if observed > np.mean(selections) + half:
                return None
    return PermutationNull(np.array(merits), observed, "merit", shuffle.description)


def search_null(
    job: SearchJob, merit: Merit, archive: Archive, stop: StoppingRule | None = None
) -> PermutationNull | None:
    """Return the permutation null distribution of the merit that a search found, if it may be chance.

    It is not chance if a selected column is significant by a rank test, corrected for all columns that were searched. Otherwise
    the search is repeated on shuffled targets. Without a target of one column, without a choice among columns, and for a search
    that takes too long, None is returned.
    """
    assert archive.best is not None
    free = np.concatenate([np.zeros(0, dtype=np.intp), *job.problem.units])
    selected = free[archive.mask(archive.best)[free]]
    effort = archive.n_evaluations * job.evaluator.info.cost
    has_target = merit.reads_target and job.table.schema.target is not None
    if not has_target or len(selected) in {0, len(free)} or effort > _TOO_LONG_SEARCH:
        return None

    def search(y: Target, rng: np.random.Generator) -> tuple[float, int]:
        table, reached = with_target(job.table, y), TargetMerit(archive.best_merit)
        again = replace(job, table=table, evaluator=merit.bind(table, rng), rng=rng)
        found = again.run(reached if stop is None else stop | reached)
        if found.interrupted:
            raise KeyboardInterrupt
        return found.best_merit, found.best_size or 0

    with capture_warnings():
        if has_significant_column(job.table, selected, _SIGNIFICANT / len(free)):
            return None
        max_searches = MIN_PERMUTATIONS if effort <= _LONG_SEARCH else _MIN_PREDICTION_MERITS
        try:
            return chance_null(archive.best_merit, search, target_shuffle(job.table), max_searches)
        except DataError:
            # A model or a fold that the shuffled classes do not allow.
            return None


def has_significant_column(table: Table, columns: Indices, level: float) -> bool:
    """Return whether the rank test of one of some columns with the target has a p-value of at most `level`.

    The rows of a group are not independent: a row of each group, drawn at random, is tested.
    """
    if table.time is not None or not len(columns):
        return False
    if table.groups is not None:
        drawn = np.random.default_rng(0).permutation(table.schema.n_rows)
        of_groups = drawn[np.unique(table.groups[drawn], return_index=True)[1]]
        table = with_groups(select_rows(table, np.sort(of_groups)), None, (), None)
    tests = score_columns(IndependenceTest(test="rank"), select_columns(table, columns)).tests
    assert tests is not None
    return bool(np.where(tests.few_expected, 0.0, tests.log_p).min() <= np.log(level))


def target_shuffle(table: Table, rows: Indices | None = None) -> TargetShuffle:
    """Return how the target of a table may be shuffled; if `rows` is passed, other rows keep their values.

    Rows of a group are correlated, and so are neighbouring rows in time. Free permutation would destroy this correlation, and any
    column with the same correlation would appear significant. If more than half of the target's variation is between groups, whole
    groups exchange their values; otherwise rows are permuted within their group (exchangeability blocks: Winkler, Ridgway, Webster,
    Smith and Nichols 2014, Permutation inference for the general linear model, NeuroImage 92). With time, the target series is
    shifted circularly by a random number of rows (Lancaster, Iatsenko, Pidde, Ticcinelli and Stefanovska 2018, Surrogate data for
    hypothesis testing of physical systems, Physics Reports 748).
    """
    y = target_array(table)
    if rows is not None and len(rows) < len(y):
        return _shuffle_subset(target_shuffle(select_rows(select_columns(table, []), rows)), y, rows)
    if table.time is not None:
        return _shift_in_time(y, np.argsort(table.time, kind="stable"))
    if table.groups is None:
        return TargetShuffle("shuffled among all rows", lambda rng: rng.permutation(y))
    order = np.argsort(table.groups, kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(table.groups[order])) + 1)
    if _between_group_share(y, members, has_classes=table.schema.has_classes) > 0.5:
        return _shuffle_groups(y, members)

    def within(rng: np.random.Generator) -> Target:
        shuffled = y.copy()
        for rows in members:
            shuffled[rows] = rng.permutation(y[rows])
        return shuffled

    return TargetShuffle("shuffled within groups", within)


def _shuffle_subset(shuffle: TargetShuffle, y: Target, rows: Indices) -> TargetShuffle:
    """Return a shuffle of some rows as one of all rows, in which the others keep their values."""

    def draw(rng: np.random.Generator) -> Target:
        shuffled = y.copy()
        shuffled[rows] = shuffle.draw(rng)
        return shuffled

    return TargetShuffle(shuffle.description, draw)


def _between_group_share(y: Target, members: list[Indices], *, has_classes: bool) -> float:
    """Return the share of the target's variance, or of the Gini index of its classes, that is between groups."""

    def variation(values: Target) -> float:
        if has_classes:
            return len(values) - float((np.bincount(values) ** 2.0).sum()) / len(values)
        return float(((values - values.mean()) ** 2).sum())

    return 1 - sum(variation(y[rows]) for rows in members) / variation(y)


def _shuffle_groups(y: Target, members: list[Indices]) -> TargetShuffle:
    # The values of a group are resampled to the size of the group that receives them. In 400 tables of noise in which groups differ
    # in columns and target, at most 7 % have p = 0.05, whether group sizes are equal, spread, or one group is most of the table. If
    # the values are concatenated across group borders instead, 14 to 39 % of the tables with unequal groups have.
    def exchange_groups(rng: np.random.Generator) -> Target:
        shuffled = np.empty_like(y)
        for rows, donor in zip(members, rng.permutation(len(members)).tolist(), strict=True):
            source_rows = members[donor]
            shuffled[rows] = y[source_rows[(2 * np.arange(len(rows)) + 1) * len(source_rows) // (2 * len(rows))]]
        return shuffled

    def draw(rng: np.random.Generator) -> Target:
        shuffled = exchange_groups(rng)
        # Resampling may drop the only differing values, and a constant target cannot be fitted: draw again.
        while (shuffled == shuffled[0]).all():
            shuffled = exchange_groups(rng)
        return shuffled

    return TargetShuffle("exchanged among whole groups", draw)


def _shift_in_time(y: Target, order: Indices) -> TargetShuffle:
    # In 120 tables of 300 rows of autoregressive noise (coefficients 0.5 to 0.97), 5 to 6 % have p = 0.05 with this shift, 8 to 47
    # % if blocks of sqrt(n) rows are permuted, and all if single rows are.
    series = y[order]

    def draw(rng: np.random.Generator) -> Target:
        shuffled = np.empty_like(y)
        shuffled[order] = np.roll(series, int(rng.integers(1, len(y))))
        return shuffled

    return TargetShuffle("moved on in time", draw)
