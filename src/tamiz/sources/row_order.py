"""Whether the order of the rows has to do with the target: a sorted table, a series in time, units of several rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln
from scipy.stats import rankdata

from tamiz.sources.base import Source
from tamiz.sources.views import target_array

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
