"""Whether the order of the rows has to do with the target: a sorted table, a series in time, units of several rows."""

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
from tamiz.sources.base import Source
from tamiz.sources.views import target_array

# MERGED: Columns that grow or fall with the row number: the rows are sorted by them.
# A rank correlation with the row number beyond this is a sorted column, some neighbours exchanged or not.
_MIN_ROW_CORRELATION = 0.999
# Of fewer rows the best of many columns comes near that by chance.
_MIN_SORTED_ROWS = 20
# Steps looked at first, and the share of them that go one way in a column that may be sorted.
_MAX_STEPS, _MIN_STEP_SHARE = 100, 0.8
_MAX_NAMED = 5
# Values of one piece of work: few columns of a long table, many of a short one.
_TASK_VALUES = 2**16


@dataclass(frozen=True)
class MonotoneColumn:
    """A column by which the rows are sorted.

    Attributes
    ----------
    name : str
    correlation : float
        Spearman's, with the row number, over the rows that have a value.
    """

    name: str
    correlation: float


def monotone_columns(source: Source) -> list[MonotoneColumn]:
    """Return the numbers and dates whose Spearman correlation with the row number is above .999 or below -.999.

    Dates that take part by their calendar parts are among them, the parts are not.

    Parameters
    ----------
    source : Source

    Notes
    -----
    Cost O(n) for a column, and a sort for one of which most of a hundred steps over the whole length go one way.
    """
    schema = source.schema
    wanted = [
        j
        for j, column in enumerate(schema.columns)
        if column.is_number
        and not column.date_part
        and (column.exclusion_reason is None or column.name in schema.split_dates)
    ]

    def look(columns: list[int]) -> list[float]:
        blocks = list(source.blocks(columns))
        return [_row_correlation(np.concatenate([block.column(j) for block in blocks])) for j in columns]

    size = max(1, _TASK_VALUES // max(schema.n_rows, 1))
    tasks = [wanted[start : start + size] for start in range(0, len(wanted), size)]
    found = zip(wanted, chain.from_iterable(parallel.map_blocks(look, tasks)), strict=True)
    return [MonotoneColumn(schema.columns[j].name, rho) for j, rho in found if abs(rho) > _MIN_ROW_CORRELATION]


def monotone_column_warnings(source: Source, leakage_columns: Collection[str] = ()) -> list[str]:
    """Return the warning that names the columns by which the rows are sorted, none where there are none.

    Parameters
    ----------
    source : Source
    leakage_columns : collection of str
        Columns reported as possible target leakage.
    """
    found = monotone_columns(source)
    if not found:
        return []
    named = ", ".join(
        f"{one.name!r} (Spearman correlation with the row number {one.correlation:.4g}"
        f"{'; also a possible target leakage' if one.name in leakage_columns else ''})"
        for one in found[:_MAX_NAMED]
    )
    more = f" and {len(found) - _MAX_NAMED:,} more" if len(found) > _MAX_NAMED else ""
    which = "it" if len(found) == 1 else "one of them"
    return [
        f"The rows are sorted by {named}{more}. If {which} is the time of a row, name it (time=, --time): folds then test on later "
        "rows, and it is no feature. If it only numbers the rows, declare the kind id."
    ]


def _row_correlation(values: NDArray[Any]) -> float:
    """Return the rank correlation of present values with the row number, 0 where it is seen to be far from 1 and -1."""
    present = np.flatnonzero(~np.isnan(values))
    n = len(present)
    if n < _MIN_SORTED_ROWS:
        return 0.0
    steps = np.diff(values[present[np.linspace(0, n - 1, min(n, _MAX_STEPS)).astype(np.intp)]])
    share = max(np.count_nonzero(steps > 0), np.count_nonzero(steps < 0)) / len(steps)
    if share < _MIN_STEP_SHARE:
        return 0.0
    ranks = rankdata(values[present])
    return float(np.corrcoef(ranks, np.arange(n))[0, 1])


# An order is reported when it is both certain and strong.
_MIN_Z = 6.0
_MIN_SERIAL_CORRELATION, _MAX_RUN_SHARE = 0.25, 0.75
# Of fewer rows outside the commonest value, a pair of neighbours decides the figures, and they are far from normal.
_MIN_OTHER_ROWS = 30
# A random order is sorted this rarely where the table is called sorted: about as rarely as z exceeds 6.
_MAX_CHANCE_SORTED = 1e-9


@dataclass(frozen=True)
class RowOrder:
    """How much a row's target resembles that of the row before it.

    Attributes
    ----------
    measure : {"correlation", "runs"}
        For numbers the serial correlation of the ranks, 1 minus half the rank von Neumann ratio; for classes the runs of one class
        as a share of those that a random order is expected to have.
    effect : float
        The value of the measure: a random order has a correlation of 0, and a share of 1.
    n_runs : int
    expected_runs : float
        Of classes; 0 for numbers.
    z : float
        The distance from a random order in standard errors, positive where neighbours are alike.
    is_sorted : bool
        Whether the rows are sorted by the target, upwards or downwards, or the rows of each class follow one another; and a random
        order would hardly ever be.
    is_dependent : bool
        Whether neighbours are alike beyond doubt, and strongly so.
    """

    measure: str
    effect: float
    n_runs: int
    expected_runs: float
    z: float
    is_sorted: bool
    is_dependent: bool


def row_order(y: NDArray[Any], *, has_classes: bool) -> RowOrder:
    """Return how much neighbouring rows resemble each other in the target.

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
    The cost is a sort. Ties of numbers share their mean rank. A constant target depends on no order.

    References
    ----------
    Bartels (1982), The rank version of von Neumann's ratio test for randomness, Journal of the American Statistical Association 77.
    Wald and Wolfowitz (1940), On a test whether two samples are from the same population, Annals of Mathematical Statistics 11; for
    more than two classes Barton and David (1957), Multiple runs, Biometrika 44.

    Examples
    --------
    >>> import numpy as np
    >>> from tamiz.sources.row_order import row_order
    >>> walk = np.random.default_rng(0).normal(size=400).cumsum()
    >>> found = row_order(walk, has_classes=False)
    >>> round(found.effect, 2), found.is_dependent, found.is_sorted
    (0.99, True, False)
    """
    return _class_runs(y) if has_classes else _serial_correlation(y)


@dataclass(frozen=True)
class RowOrderWarning:
    """What a reader of cross-validated scores must know of the order of the rows.

    Attributes
    ----------
    message : str
    is_doubtful : bool
        Whether scores by shuffled folds may be too good: neighbours are alike, and not because the table is sorted.
    """

    message: str
    is_doubtful: bool


def describe_row_order(source: Source) -> RowOrderWarning | None:
    """Return what is remarkable about a table's row order and its target; None where the order is random, or stated.

    Parameters
    ----------
    source : Source
        With groups or times, what belongs together is known, and nothing is reported.
    """
    target = source.schema.target
    if target is None or source.groups is not None or source.time is not None:
        return None
    found = row_order(target_array(source), has_classes=source.schema.has_classes)
    if found.is_sorted:
        sentence = (
            f"The rows are sorted by the target {target.name!r}. Folds are shuffled, so scores do not depend on that; rows that "
            "belong to one unit or to a time still need groups= (--group) or time= (--time)."
        )
        return RowOrderWarning(sentence, is_doubtful=False)
    if not found.is_dependent:
        return None
    if found.measure == "runs":
        how = f"they form {found.n_runs:,} runs of one class, and a random order {found.expected_runs:,.0f}"
    else:
        how = f"their ranks have a serial correlation of {found.effect:.2f}, and those of a random order 0"
    sentence = (
        f"Neighbouring rows are alike in the target {target.name!r}: {how}. If they follow one another in time, name the column of "
        "the time with time= (--time); if they belong to one unit, such as a patient, name it with groups= (--group). If the table "
        "is merely sorted, the shuffled folds are right."
    )
    return RowOrderWarning(sentence, is_doubtful=True)


def _serial_correlation(y: NDArray[Any]) -> RowOrder:
    n = len(y)
    ranks = rankdata(y)
    spread = float(((ranks - (n + 1) / 2) ** 2).sum())
    if n < 3 or spread == 0:
        return RowOrder("correlation", 0.0, 0, 0.0, 0.0, False, False)
    steps = np.diff(ranks)
    effect = 1 - float((steps**2).sum()) / spread / 2
    # The variance of the ratio, Bartels' equation for ranks without ties; ties hardly change it.
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
    """Whether a random order of values that occur so often is hardly ever one of exp(log_orders) sorted ones."""
    log_p = log_orders + float(gammaln(np.asarray(counts) + 1.0).sum() - gammaln(counts.sum() + 1.0))
    return log_p < math.log(_MAX_CHANCE_SORTED)
