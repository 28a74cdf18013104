"""Some rows of a table: which. (`tamiz.sources.views.rows_of` makes a table of them.)"""

from __future__ import annotations

import numpy as np

from tamiz.sources.views import RowNumbers

# Points of a map that a reader can still take in, and rows whose distances are compared with each other: the work is their square.
MAX_POINTS = 2000
_MAX_EVALUATED = 2000
# Of so many rows every digit is written down; of more, what a screen can show, for a file that can be sent.
MAX_EXACT_POINTS = 2000


def sample_shown_rows(n_rows: int, max_rows: int | None, rng: np.random.Generator) -> RowNumbers:
    """Return the rows that maps show: all, or a sample in their order; None is as many as a reader can still take in."""
    max_rows = MAX_POINTS if max_rows is None else max_rows
    if n_rows <= max_rows:
        return np.arange(n_rows)
    return np.sort(rng.choice(n_rows, max_rows, replace=False))


def sample_evaluated_positions(n_shown: int, seed: int) -> RowNumbers:
    """Return which of the rows drawn maps are judged by: all, or a sample in their order."""
    if n_shown <= _MAX_EVALUATED:
        return np.arange(n_shown)
    return np.sort(np.random.default_rng(seed).choice(n_shown, _MAX_EVALUATED, replace=False))


def sample_including(preferred: RowNumbers, n_rows: int, size: int, rng: np.random.Generator) -> RowNumbers:
    """Return so many rows, drawn, in their order: some of those wanted, or all of them and others.

    Parameters
    ----------
    preferred : ndarray of row numbers, ascending
    n_rows : int
        Rows that there are.
    size : int
    rng : Generator
    """
    if size <= len(preferred):
        return np.sort(rng.choice(preferred, size, replace=False))
    others = np.setdiff1d(np.arange(n_rows), preferred, assume_unique=True)
    return np.sort(np.concatenate([preferred, rng.choice(others, size - len(preferred), replace=False)]))
