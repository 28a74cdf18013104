"""Some rows of a table: which. (`tamiz.sources.views.rows_of` makes a table of them.)"""

from __future__ import annotations

import numpy as np

from tamiz.sources.views import Rows

# Points of a map that a reader can still take in, and rows whose distances are compared with each other: the work is their square.
MOST_POINTS = 2000
_MOST_JUDGED = 2000
# Of so many rows every digit is written down; of more, what a screen can show, for a file that can be sent.
MOST_EXACT = 2000


def drawn_rows(n_rows: int, most: int | None, rng: np.random.Generator) -> Rows:
    """Return the rows that maps show: all, or a sample in their order; None is as many as a reader can still take in."""
    most = MOST_POINTS if most is None else most
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(rng.choice(n_rows, most, replace=False))


def judged_places(n_drawn: int, seed: int) -> Rows:
    """Return which of the rows drawn maps are judged by: all, or a sample in their order."""
    if n_drawn <= _MOST_JUDGED:
        return np.arange(n_drawn)
    return np.sort(np.random.default_rng(seed).choice(n_drawn, _MOST_JUDGED, replace=False))


def rows_with(wanted: Rows, n_rows: int, size: int, rng: np.random.Generator) -> Rows:
    """Return so many rows, drawn, in their order: some of those wanted, or all of them and others.

    Parameters
    ----------
    wanted : ndarray of row numbers, ascending
    n_rows : int
        Rows that there are.
    size : int
    rng : Generator
    """
    if size <= len(wanted):
        return np.sort(rng.choice(wanted, size, replace=False))
    others = np.setdiff1d(np.arange(n_rows), wanted, assume_unique=True)
    return np.sort(np.concatenate([wanted, rng.choice(others, size - len(wanted), replace=False)]))
