"""Order of the rows: tests whether it depends on the target, and columns by which the rows are sorted.

Neighbouring rows are alike in a sorted table, in a time series, and if several rows belong to one unit.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln
from scipy.stats import rankdata

from tamiz.runtime import parallel
from tamiz.runtime.user_warnings import list_names
from tamiz.runtime.verdicts import Verdict
from tamiz.table.base import Table
from tamiz.table.views import target_array

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
    >>> from tamiz.table.row_order import row_order
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
