"""Rows that are not independent: groups of rows, ids that repeat, and an order of the rows that depends on the target.

Groups have weights that make each of them count once, and columns that identify them. Neighbouring rows are alike in a sorted
table, in a time series, and if several rows belong to one unit.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Collection
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln
from scipy.stats import rankdata

from tamiz.arrays import Codes, Indices, is_missing
from tamiz.runtime import parallel
from tamiz.runtime.user_warnings import list_names
from tamiz.runtime.verdicts import Verdict
from tamiz.table.base import Table, target_array
from tamiz.table.in_memory import load_column
from tamiz.table.kinds import observed_levels
from tamiz.table.schema import Column
from tamiz.table.views import has_group_level_target, has_repeated_groups

# The rows are sorted by a column if its rank correlation with the row number exceeds this; some rows may be out of order.
_MIN_ROW_CORRELATION = 0.999
# With fewer rows, the best of many columns may reach this correlation by chance.
_MIN_SORTED_ROWS, _MIN_SORTED_VALUES = 20, 5
# Number of steps that are checked first, and the share of them with one sign in a column that may be sorted.
_MAX_STEPS, _MIN_STEP_SHARE = 100, 0.8
# Number of values of a piece of work: few columns of a long table, many of a short one.
_TASK_VALUES = 2**16


@dataclass(frozen=True)
class MonotoneColumn:
    """A column by which the rows are sorted.

    Attributes
    ----------
    name : str
    correlation : float
        Spearman's rank correlation with the row number, over the rows in which the value is present.
    """

    name: str
    correlation: float


def monotone_columns(table: Table) -> list[MonotoneColumn]:
    """Return the numbers and dates that rise or fall with the row number.

    Their Spearman correlation with it is above 0.999 or below -0.999, or they only rise or only fall, have at least five values,
    and are improbable in a random order. Dates that are replaced by their calendar parts are included, the parts are not.

    Parameters
    ----------
    table : Table

    Notes
    -----
    The cost is O(n) per column, and a sort for a column in which most of 100 steps over its whole length have the same sign.
    """
    schema = table.schema
    wanted = [
        j
        for j, column in enumerate(schema.columns)
        if column.is_number
        and not column.date_part
        and (column.exclusion_reason is None or column.name in schema.split_dates)
    ]

    def correlate(columns: list[int]) -> list[float]:
        return [_row_correlation(table.column(j)) for j in columns]

    size = max(1, _TASK_VALUES // max(schema.n_rows, 1))
    tasks = [wanted[start : start + size] for start in range(0, len(wanted), size)]
    correlations = zip(wanted, chain.from_iterable(parallel.map_blocks(correlate, tasks)), strict=True)
    return [MonotoneColumn(schema.columns[j].name, rho) for j, rho in correlations if rho]


def monotone_column_warnings(table: Table, leakage_columns: Collection[str] = ()) -> list[Verdict]:
    """Return a warning that lists the columns by which the rows are sorted; an empty list if there are none.

    Parameters
    ----------
    table : Table
    leakage_columns : collection of str
        Columns reported as possible target leakage.
    """
    found = monotone_columns(table)
    if not found:
        return []

    def describe(one: MonotoneColumn) -> str:
        leak = "; also a possible target leakage" if one.name in leakage_columns else ""
        return f"{one.name!r} (Spearman correlation with the row number {one.correlation:.4g}{leak})"

    which = "it" if len(found) == 1 else "one of them"
    sentence = (
        f"The rows are sorted by {list_names(found, as_text=describe)}. If {which} is the time of a row, pass it as time= "
        "(--time): folds then test on later rows, and it is not a feature. If it only numbers the rows, declare the kind id."
    )
    return [Verdict("TZ204", sentence, [one.name for one in found])]


def _row_correlation(values: NDArray[Any]) -> float:
    """Return the rank correlation of present values with the row number if the rows are sorted by them, else 0."""
    present = values[~np.isnan(values)]
    n = len(present)
    if n < _MIN_SORTED_ROWS:
        return 0.0
    steps = np.diff(present[np.linspace(0, n - 1, min(n, _MAX_STEPS)).astype(np.intp)])
    up, down = int((steps > 0).sum()), int((steps < 0).sum())
    if max(up, down) < _MIN_STEP_SHARE * max(up + down, 1):
        return 0.0
    ranks, counts = rankdata(present), np.unique(present, return_counts=True)[1]
    if len(counts) < _MIN_SORTED_VALUES:
        return 0.0
    rho = float(np.corrcoef(ranks, np.arange(n))[0, 1])
    steps = np.diff(ranks)
    is_monotone = bool((steps >= 0).all() or (steps <= 0).all()) and _is_rare(counts, math.log(2))
    return rho if is_monotone or abs(rho) > _MIN_ROW_CORRELATION else 0.0


# A dependence on the order is reported if it is both significant and strong.
_MIN_Z = 6.0
_MIN_SERIAL_CORRELATION, _MAX_RUN_SHARE = 0.25, 0.75
# With fewer rows outside the most frequent value, z is determined by a few pairs of neighbours and far from normal.
_MIN_OTHER_ROWS = 30
# A table is reported as sorted if a random order is sorted with at most this probability, about that of z > 6.
_MAX_CHANCE_SORTED = 1e-9


@dataclass(frozen=True)
class RowOrder:
    """Similarity of each row's target to that of the row before it.

    Attributes
    ----------
    measure : {"correlation", "runs"}
        For a numeric target the serial correlation of the ranks, 1 - (rank von Neumann ratio) / 2; for classes the number of runs
        of one class, divided by its expectation for a random order.
    effect : float
        The value of the measure; for a random order the correlation is 0 and the ratio of runs 1.
    n_runs : int
        Number of runs of one class; 0 for a numeric target.
    expected_runs : float
        Expected number of runs for a random order; 0 for a numeric target.
    z : float
        The difference from a random order in standard errors, positive if neighbours are alike.
    is_sorted : bool
        Whether the rows are sorted by the target, in ascending or descending order or class by class, and this is improbable for a
        random order.
    is_dependent : bool
        Whether neighbours are significantly and strongly alike.
    """

    measure: str
    effect: float
    n_runs: int
    expected_runs: float
    z: float
    is_sorted: bool
    is_dependent: bool


def row_order(y: NDArray[Any], *, has_classes: bool) -> RowOrder:
    """Measure how similar neighbouring rows are in the target.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
        Codes of classes, or numbers, none of them missing, in the order of the rows.
    has_classes : bool

    Returns
    -------
    RowOrder

    Notes
    -----
    The cost is a sort. Tied numbers have their mean rank. A constant target is not dependent and not sorted.

    References
    ----------
    Bartels (1982), The rank version of von Neumann's ratio test for randomness, Journal of the American Statistical Association 77.
    Wald and Wolfowitz (1940), On a test whether two samples are from the same population, Annals of Mathematical Statistics 11; for
    more than two classes Barton and David (1957), Multiple runs, Biometrika 44.

    Examples
    --------
    >>> import numpy as np

    >>> walk = np.random.default_rng(0).normal(size=400).cumsum()
    >>> found = row_order(walk, has_classes=False)
    >>> round(found.effect, 2), found.is_dependent, found.is_sorted
    (0.99, True, False)
    """
    return _class_runs(y) if has_classes else _serial_correlation(y)


@dataclass(frozen=True)
class RowOrderWarning:
    """A warning that the order of the rows affects, or does not affect, cross-validated scores.

    Attributes
    ----------
    message : Verdict
    is_doubtful : bool
        Whether scores of shuffled folds may be too optimistic: neighbours are alike although the table is not sorted.
    """

    message: Verdict
    is_doubtful: bool


def describe_row_order(table: Table) -> RowOrderWarning | None:
    """Return a warning if the target depends on the order of the rows, None otherwise.

    Parameters
    ----------
    table : Table
        With groups or times, folds account for the dependence, and the result is None.
    """
    target = table.schema.target
    if target is None or table.groups is not None or table.time is not None:
        return None
    found = row_order(target_array(table), has_classes=table.schema.has_classes)
    if found.is_sorted:
        message = (
            f"The rows are sorted by the target {target.name!r}. Folds are shuffled, so scores do not depend on this order. If "
            "several rows belong to one unit, such as a patient, or rows have a time, pass groups= (--group) or time= (--time)."
        )
        return RowOrderWarning(Verdict("TZ204", message, [target.name]), is_doubtful=False)
    if not found.is_dependent:
        return None
    if found.measure == "runs":
        evidence = f"they form {found.n_runs:,} runs of one class, and a random order {found.expected_runs:,.0f}"
    else:
        evidence = f"their ranks have a serial correlation of {found.effect:.2f}, and those of a random order 0"
    message = (
        f"Neighbouring rows are alike in the target {target.name!r}: {evidence}. If the rows are ordered by time, pass the column "
        "of the time as time= (--time); if several rows belong to one unit, such as a patient, pass it as groups= (--group). If "
        "the table is merely sorted, shuffled folds are correct."
    )
    return RowOrderWarning(Verdict("TZ204", message, [target.name]), is_doubtful=True)


def _serial_correlation(y: NDArray[Any]) -> RowOrder:
    n = len(y)
    ranks = rankdata(y)
    spread = float(((ranks - (n + 1) / 2) ** 2).sum())
    if n < 3 or spread == 0:
        return RowOrder("correlation", 0.0, 0, 0.0, 0.0, False, False)
    steps = np.diff(ranks)
    effect = 1 - float((steps**2).sum()) / spread / 2
    # Bartels' variance of the ratio for ranks without ties; ties hardly change it.
    variance = 4 * (n - 2) * (5 * n**2 - 2 * n - 9) / (5 * n * (n + 1) * (n - 1) ** 2)
    z = 2 * effect / math.sqrt(variance)
    _, counts = np.unique(ranks, return_counts=True)
    is_sorted = bool((steps >= 0).all() or (steps <= 0).all()) and _is_rare(counts, math.log(2))
    strong = z > _MIN_Z and effect >= _MIN_SERIAL_CORRELATION and n - int(counts.max()) >= _MIN_OTHER_ROWS
    return RowOrder("correlation", effect, 0, 0.0, z, is_sorted, strong)


def _class_runs(y: NDArray[Any]) -> RowOrder:
    n = len(y)
    counts = np.unique(y, return_counts=True)[1].astype(np.float64)
    n_runs = 1 + int(np.count_nonzero(y[1:] != y[:-1]))
    squares, cubes = float((counts**2).sum()), float((counts**3).sum())
    expected = n + 1 - squares / n
    variance = (squares * (squares + n * (n + 1)) - 2 * n * cubes - n**3) / (n**2 * (n - 1)) if n > 1 else 0.0
    if len(counts) < 2 or variance <= 0:
        return RowOrder("runs", 1.0, n_runs, expected, 0.0, False, False)
    effect, z = n_runs / expected, (expected - n_runs) / math.sqrt(variance)
    is_sorted = n_runs == len(counts) and _is_rare(counts, float(gammaln(len(counts) + 1.0)))
    strong = z > _MIN_Z and effect <= _MAX_RUN_SHARE and n - int(counts.max()) >= _MIN_OTHER_ROWS
    return RowOrder("runs", effect, n_runs, expected, z, is_sorted, strong)


def _is_rare(counts: NDArray[Any], log_orders: float) -> bool:
    """Whether a random order is improbable to be one of the exp(log_orders) sorted orders, given the counts of the values."""
    log_p = log_orders + float(gammaln(np.asarray(counts) + 1.0).sum() - gammaln(counts.sum() + 1.0))
    return log_p < math.log(_MAX_CHANCE_SORTED)


# A column identifies the group if at most this share of the groups with several rows has values in common with other groups.
_MAX_MIXED_SHARE = 0.1
# A column is a property of the group and not of the row if at least this share of its variance is between groups.
_MIN_BETWEEN_SHARE = 0.9
# With fewer groups a column may separate them by chance.
_MIN_GROUPS = 10
# An id that repeats has so many rows per value on average, and so many columns are constant within its values.
_MIN_ROWS_PER_ID, _MAX_ROWS_PER_ID, _MIN_CONSTANT = 1.5, 50, 2
# A panel has at least this share of the pairs of a unit and a period, each once, and at least so many periods.
_MIN_PANEL_SHARE, _MIN_PERIODS = 0.8, 3
# The largest probability that a column is constant within them by chance.
_MAX_CHANCE_CONSTANT = 1e-6
# Larger tables are not searched for it.
_MAX_ID_ROWS, _MAX_ID_COLUMNS = 200_000, 200


def untestable_reason(table: Table) -> str:
    """Return why p-values are not valid, "" where they are: tests need independent rows.

    Rows with frequency weights are as many independent rows; those with sampling weights are tested as their effective number.

    Parameters
    ----------
    table : Table
    """
    if table.groups is not None and has_repeated_groups(table.groups):
        return "the rows of a group are not independent"
    if table.time is not None:
        return "rows in time are not independent"
    return ""


def group_warnings(table: Table) -> list[Verdict]:
    """Return warnings on how the rows of a group count in a ranking, and on columns that identify the group.

    The list is empty if no group has several rows.

    Parameters
    ----------
    table : Table
    """
    groups, schema = table.groups, table.schema
    if groups is None or not has_repeated_groups(groups):
        return []
    n_groups, name = len(np.unique(groups)), schema.groups or "group"
    inspected = _inspect_columns(table, groups)
    warnings = []
    if schema.target is not None and has_group_level_target(table, groups):
        sentence = (
            f"The target {schema.target.name!r} has one value in each of the {n_groups:,} groups of {name!r}: scores from counts, "
            f"their cut points and CFS weight each of the {schema.n_rows:,} rows by 1 / the number of rows of its group, so that "
            "each group counts once. Scores of models and of neighbours weight all rows equally."
        )
        warnings.append(Verdict("TZ201", sentence))
    elif schema.target is not None and (
        constant := [schema.columns[one.column].name for one in inspected if one.is_group_level]
    ):
        sentence = (
            f"The target {schema.target.name!r} varies within groups of {name!r}, so every row counts in the ranking. Scores of "
            f"columns that are constant or nearly constant within groups are overstated, because the table has only {n_groups:,} "
            f"independent values of them: {list_names(constant, as_text=repr)}. The score of nested cross-validation "
            "with whole groups in one fold (--assess) is not overstated."
        )
        warnings.append(Verdict("TZ201", sentence, constant))
    if identifying := [schema.columns[one.column].name for one in inspected if one.identifies]:
        verb = "identifies" if len(identifying) == 1 else "identify"
        sentence = (
            f"{list_names(identifying, as_text=repr)} {verb} the group {name!r}: in at least {1 - _MAX_MIXED_SHARE:.0%} of the "
            "groups all values differ from those of every other group. A model can memorise the groups from it, which does not "
            "generalise to new groups."
        )
        warnings.append(Verdict("TZ201", sentence, identifying))
    return warnings


@dataclass(frozen=True)
class _GroupedColumn:
    column: int
    identifies: bool
    is_group_level: bool


def _inspect_columns(table: Table, groups: Codes) -> list[_GroupedColumn]:
    schema = table.schema
    wanted = [j for j in schema.used.tolist() if not schema.columns[j].constant]

    def inspect(j: int) -> _GroupedColumn:
        values = table.column(j)
        present = ~is_missing(values)
        values, present_groups = values[present], np.unique(groups[present], return_inverse=True)[1]
        if not len(values):
            return _GroupedColumn(j, False, False)
        between = between_group_share(values, present_groups, is_number=schema.columns[j].is_number)
        return _GroupedColumn(j, identifies_groups(values, present_groups), between >= _MIN_BETWEEN_SHARE)

    return list(parallel.map_blocks(inspect, wanted))


def identifies_groups(values: NDArray[Any], groups: NDArray[Any]) -> bool:
    """Return whether the values of nearly every group of several rows form an interval without values of other groups.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
        Numbers or codes, none missing.
    groups : ndarray of shape (n_rows,)
        Codes from 0 on, without unused codes.
    """
    order = np.lexsort((groups, values))
    value, group = values[order], groups[order]
    changes = np.flatnonzero(group[1:] != group[:-1]) + 1
    starts, ends = np.concatenate([[0], changes]), np.concatenate([changes, [len(group)]])
    size = np.bincount(groups)
    # A run of one group is separate if it contains the whole group and its values differ from those of the runs around it.
    differs_before = np.concatenate([[True], value[starts[1:]] > value[starts[1:] - 1]])
    differs_after = np.concatenate([differs_before[1:], [True]])
    is_separate_run = (ends - starts == size[group[starts]]) & differs_before & differs_after
    has_several_rows = size > 1
    if np.count_nonzero(has_several_rows) < _MIN_GROUPS:
        return False
    is_separate = np.zeros(len(size), dtype=bool)
    is_separate[group[starts[is_separate_run]]] = True
    n_separate = np.count_nonzero(is_separate & has_several_rows)
    return bool(n_separate >= (1 - _MAX_MIXED_SHARE) * np.count_nonzero(has_several_rows))


def between_group_share(values: NDArray[Any], groups: NDArray[Any], *, is_number: bool) -> float:
    """Return the share of the variance that is between groups, adjusted for the number of groups; Gini impurity for codes.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
        None missing.
    groups : ndarray of shape (n_rows,)
        Codes from 0 on, without unused codes.
    is_number : bool
    """
    n, size = len(values), np.bincount(groups)
    if n <= len(size):
        return 0.0
    if is_number:
        centred = values - values.mean()
        total = float(centred @ centred)
        within = total - float((np.bincount(groups, centred) ** 2 / size).sum())
    else:
        _, codes = np.unique(values, return_inverse=True)
        total = n - float((np.bincount(codes).astype(float) ** 2).sum()) / n
        cells, counts = np.unique(groups * (int(codes.max()) + 1) + codes, return_counts=True)
        squares = counts.astype(float) ** 2
        within = n - float((squares / size[cells // (int(codes.max()) + 1)]).sum())
    return 1 - (within / (n - len(size))) / (total / (n - 1)) if total > 0 else 0.0


@dataclass(frozen=True)
class RepeatedId:
    """A column whose values may be units of several rows each: persons, firms, places.

    Attributes
    ----------
    name : str
    n_units : int
        The number of values in two or more rows.
    constant : tuple of str
        The columns that are constant within each of its values.
    period : str or None
        The column of the periods, if the table is a panel.
    """

    name: str
    n_units: int
    constant: tuple[str, ...]
    period: str | None = None


def find_repeated_id(table: Table) -> RepeatedId | None:
    """Return the id of units of several rows: with columns that are constant within them, or of a panel; None if there is none.

    Parameters
    ----------
    table : Table

    Notes
    -----
    An id is text or a whole number of 1.5 to 50 rows per value; an excluded id is one, too. At least two columns are constant
    within each of its values, which has a probability of at most 1e-6 by chance, and are neither its recodings nor monotone
    functions of it; another column varies in at least half of its values. Or the table is a panel: at least 80 % of all pairs of an
    id and a period, of at least three periods, are in one row each. No id is returned where groups are declared.

    The cost is O(n log n) for each column, and O(n) for each of them and each possible id. Tables of more than 200,000 rows or 200
    columns are not searched.
    """
    schema = table.schema
    wanted = [j for j in schema.used.tolist() if not schema.columns[j].constant and not schema.columns[j].date_part]
    if table.groups is not None or schema.n_rows > _MAX_ID_ROWS or not 0 < len(wanted) <= _MAX_ID_COLUMNS:
        return None
    codes = {j: _value_codes(table.column(j)) for j in wanted}
    ids = {j: codes[j] for j in wanted if _may_be_id(codes[j])}
    for j, column in enumerate(schema.columns):
        if column.exclusion_reason and column.kind in ("id", "text") and len(ids) < _MAX_ID_COLUMNS:
            excluded = _ColumnCodes(observed_levels(load_column(table, j))[0].astype(np.intp), is_whole=True)
            if _may_be_id(excluded):
                ids[j] = excluded
    found = [one for j in ids if (one := _constant_within(schema.columns, j, ids[j], codes)) is not None]
    return max(found, key=lambda one: (len(one.constant), one.n_units), default=None)


def repeated_id_warnings(found: RepeatedId | None) -> list[Verdict]:
    """Return a warning of an id whose rows may be one unit, or an empty list."""
    if found is None:
        return []
    names = [*found.constant] if found.period is None else [found.period]
    why = (
        f"{list_names(names, as_text=repr)} are constant within each of its {found.n_units:,} values of several rows"
        if found.period is None
        else f"each of its {found.n_units:,} values has one row for each {found.period!r}"
    )
    sentence = (
        f"Rows with the same {found.name!r} may belong to one unit: {why}. If they do, pass groups={found.name!r} "
        f"(--group {shlex.quote(found.name)}): folds then keep the rows of a unit together."
    )
    return [Verdict("TZ201", sentence, [found.name, *names])]


@dataclass(frozen=True)
class _ColumnCodes:
    """The values as codes from 0 on, ascending if they are numbers, -1 if missing; and whether they are text or whole numbers."""

    codes: Indices
    is_whole: bool

    @property
    def sizes(self) -> Indices:
        return np.bincount(self.codes[self.codes >= 0])


def _value_codes(values: NDArray[Any]) -> _ColumnCodes:
    missing = is_missing(values)
    codes = np.full(len(values), -1, dtype=np.intp)
    codes[~missing] = np.unique(values[~missing], return_inverse=True)[1]
    return _ColumnCodes(codes, is_whole=not np.any(values[~missing] % 1))


def _may_be_id(values: _ColumnCodes) -> bool:
    sizes = values.sizes
    n, n_values = int(sizes.sum()), int(np.count_nonzero(sizes))
    enough = np.count_nonzero(sizes > 1) >= _MIN_GROUPS
    return bool(values.is_whole and enough and _MIN_ROWS_PER_ID * n_values <= n <= _MAX_ROWS_PER_ID * n_values)


def _constant_within(
    columns: tuple[Column, ...], j: int, unit: _ColumnCodes, others: dict[int, _ColumnCodes]
) -> RepeatedId | None:
    order = np.argsort(unit.codes, kind="stable")[int(np.count_nonzero(unit.codes < 0)) :]
    sorted_units = unit.codes[order]
    same_unit = sorted_units[1:] == sorted_units[:-1]
    n_repeats = int(np.count_nonzero(same_unit))
    first = np.concatenate([[True], ~same_unit])
    n_units = int(np.count_nonzero(unit.sizes > 1))
    constant, varies = [], False
    for k, other in others.items():
        if k == j:
            continue
        values = other.codes[order]
        differs = same_unit & (values[1:] != values[:-1])
        if differs.any():
            varies |= len(np.unique(sorted_units[1:][differs])) >= n_units / 2
            continue
        shares = np.bincount(values + 1) / len(values)
        beyond_chance = n_repeats * np.log(max(float(shares @ shares), 1e-300)) <= np.log(_MAX_CHANCE_CONSTANT)
        of_units = values[first]
        one_to_one = len(np.unique(of_units)) == len(of_units)
        steps = np.diff(of_units)
        monotone = columns[j].is_number and (np.all(steps >= 0) or np.all(steps <= 0))
        if beyond_chance and not monotone and not (one_to_one and other.is_whole):
            constant.append(columns[k].name)
    if len(constant) >= _MIN_CONSTANT and varies:
        return RepeatedId(columns[j].name, n_units, tuple(constant))
    period = next((k for k, other in others.items() if k != j and _is_panel(unit, other)), None)
    return None if period is None else RepeatedId(columns[j].name, n_units, (), columns[period].name)


def _is_panel(unit: _ColumnCodes, period: _ColumnCodes) -> bool:
    """Whether nearly all pairs of a unit and a period, of which there are fewer, are in one row each."""
    n, n_units, n_periods = len(unit.codes), len(unit.sizes), len(period.sizes)
    if not period.is_whole or not _MIN_PERIODS <= n_periods < n_units or n < _MIN_PANEL_SHARE * n_units * n_periods:
        return False
    return bool(
        min(unit.codes.min(), period.codes.min()) >= 0 and len(np.unique(unit.codes * n_periods + period.codes)) == n
    )
