"""Classes with too few rows to be learned in every fold and tested in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.sources.base import Source
from tamiz.sources.duplicate_detection import DuplicateRows, find_duplicate_rows

# MERGED: Rows that repeat another row: copies of one case, which stay in one fold, or different cases with the same values.
# Where more of the rows repeat an earlier one, repeats are the rule: a table of a few patterns.
_MAX_REPEAT_SHARE = 0.5
# Equal rows are taken for different cases where their targets differ this often, as a share of how often those of any two rows do.
_MAX_DISAGREEMENT = 0.25
# Two rows that are not copies hardly ever share a value of a target this varied.
_MIN_CHANCE_AGREEMENT = 0.01
# Fewer repeats change no score.
_MIN_REPORTED_SHARE = 0.01


@dataclass(frozen=True)
class TiedRows:
    """Which rows stay in one fold.

    Attributes
    ----------
    fold_leaders : ndarray of shape (n_rows,)
        For every row the row whose fold it is in: its own number where it is in a fold by itself.
    notes : tuple of str
        The sentence on what was done; none where hardly a row repeats another.
    """

    fold_leaders: NDArray[np.intp]
    notes: tuple[str, ...] = ()


def tie_repeated_rows(source: Source, y: NDArray[Any]) -> TiedRows:
    """Return which rows stay in one fold: those equal in every column that takes part and in the target, if they are copies.

    A copy in another fold is learned from before it is tested. Equal rows are taken for copies unless

    - more than half of the rows repeat an earlier one, or
    - the targets of rows with equal columns differ at least a quarter as often as those of any two rows; a target of which two rows
      agree in less than 1 % of all cases, such as most numbers, settles the matter by itself.

    Parameters
    ----------
    source : Source
    y : ndarray of shape (n_rows,)

    Notes
    -----
    Rows of a few coarse columns coincide without being copies. Folds that keep those together which agree in the target, and learn
    from those that do not, misjudge every model. In simulations of 400 rows, 5 nearest neighbours predict .67 of new rows from 8
    binary columns: folds that tie equal rows estimate .60, others .68. With 12 % of copies among 20 columns they predict .71: folds
    that do not tie copies estimate .74, others .71.
    """
    apart = np.arange(len(y))
    copies = find_duplicate_rows(source, y)
    n = len(y)
    if copies is None:
        told = f"Whether some of {n:,} rows repeat others was not looked at, for want of memory: copies may lie in several folds."
        return TiedRows(apart, (told,) if len(source.schema.used) else ())
    if not copies.n_duplicates:
        return TiedRows(apart)
    repeated = (
        f"{copies.n_duplicates:,} of {n:,} rows {'repeats' if copies.n_duplicates == 1 else 'repeat'} an earlier row"
    )
    if copies.n_duplicates > _MAX_REPEAT_SHARE * n:
        told = f"{repeated}: equal rows are the rule in this table, are taken for different cases, and are shared out like others."
        return TiedRows(apart, (told,))
    is_told = copies.n_duplicates >= _MIN_REPORTED_SHARE * n
    if _are_coincidences(copies, y):
        told = (
            f"{repeated}, and of {copies.n_equal_features:,} rows with equal columns {copies.n_conflicting:,} differ in the target: equal rows are "
            "taken for different cases, and shared out like others."
        )
        return TiedRows(apart, (told,) if is_told else ())
    return TiedRows(copies.first_row, (f"{repeated}; equal rows are kept in one fold.",) if is_told else ())


def _are_coincidences(copies: DuplicateRows, y: NDArray[Any]) -> bool:
    """Whether the targets of rows with equal columns differ too often for copies."""
    shares = np.unique(y, return_counts=True)[1] / len(y)
    agreeing = float((shares**2).sum())
    return (
        agreeing > _MIN_CHANCE_AGREEMENT
        and copies.n_conflicting >= _MAX_DISAGREEMENT * (1 - agreeing) * copies.n_equal_features
    )


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
