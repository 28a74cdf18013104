"""Classes with too few rows to be learned in every fold and tested in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

# A class of so many rows stays, whatever the number of folds: there are then fewer folds.
MIN_CLASS_ROWS = 5
# Classes of more than 1 row are left out up to this share of the rows.
_MAX_RARE_SHARE = 0.05
_MAX_NAMED = 5


def find_rare_classes(counts: NDArray[Any], n_splits: int) -> NDArray[np.bool_]:
    """Return the classes that folds are made without.

    Classes with fewer than t rows are left out, where t is the largest number up to min(n_splits, 5) such that these classes
    together have at most 5 % of the rows, and at least 2 classes remain. A class of 1 row cannot be both learned and tested: it is
    left out whatever the share, as long as 2 classes remain.

    Parameters
    ----------
    counts : ndarray of shape (n_classes,)
        The rows of every class; 0 for one that does not occur.
    n_splits : int
        Folds asked for.

    Returns
    -------
    ndarray of shape (n_classes,), bool
        None is left out where no t leaves 2 classes.

    Notes
    -----
    scikit-learn's `StratifiedKFold` raises where every class is smaller than the number of folds, and warns where one is. The rule
    is this package's own: one class of 1 row among 34,786 must neither cancel the folds of the others nor make their number 1, and
    classes left out must be too few to change the score of the others much.
    """
    present = counts > 0
    left_out = np.zeros(len(counts), dtype=bool)
    for least in range(2, min(n_splits, MIN_CLASS_ROWS) + 1):
        rare = present & (counts < least)
        if least > 2 and counts[rare].sum() > _MAX_RARE_SHARE * counts.sum():
            break
        if np.count_nonzero(present & ~rare) >= 2:
            left_out = rare
    return left_out


def describe_rare_classes(counts: NDArray[Any], rare: NDArray[np.bool_], levels: Sequence[str]) -> tuple[str, ...]:
    """Return the sentence on the classes that folds are made without, none where there are none."""
    found = np.flatnonzero(rare)
    if not len(found):
        return ()
    found = found[np.argsort(counts[found], kind="stable")]
    why = "of the folds: too rare to be both learned and tested in them."
    named = [f"{levels[c]!r} ({_row_count(int(counts[c]))})" for c in found[:_MAX_NAMED].tolist()]
    if len(found) == 1:
        return (f"Class {named[0]} is left out {why}",)
    more = len(found) - _MAX_NAMED
    listed = ", ".join(named) + f" and {more:,} more" if more > 0 else f"{', '.join(named[:-1])} and {named[-1]}"
    total = f"{int(counts[found].sum()):,} of {int(counts.sum()):,} rows"
    return (f"{len(found):,} classes, {total}, are left out {why} They are {listed}.",)


def _row_count(n: int) -> str:
    return f"{n:,} row{'s' * (n != 1)}"
