"""Samples of row numbers for a study: the rows that maps show, are evaluated on, and are fitted on."""

from __future__ import annotations

import numpy as np

from tamiz.table.views import RowNumbers

# Points of a map by default, and rows that its quality is evaluated on (at quadratic cost).
MAX_POINTS = 2000
_MAX_EVALUATED = 2000
# Above so many rows, coordinates in the result are rounded to keep the file small.
MAX_EXACT_POINTS = 2000


def sample_shown_rows(n_rows: int, max_rows: int | None, rng: np.random.Generator) -> RowNumbers:
    """Return the rows that the maps show: all, or a sorted sample of `max_rows` (None: 2,000)."""
    max_rows = MAX_POINTS if max_rows is None else max_rows
    if n_rows <= max_rows:
        return np.arange(n_rows)
    return np.sort(rng.choice(n_rows, max_rows, replace=False))


def sample_evaluated_positions(n_shown: int, seed: int) -> RowNumbers:
    """Return the positions of the shown rows that the maps are evaluated on: all, or a sorted sample."""
    if n_shown <= _MAX_EVALUATED:
        return np.arange(n_shown)
    return np.sort(np.random.default_rng(seed).choice(n_shown, _MAX_EVALUATED, replace=False))


def sample_including(preferred: RowNumbers, n_rows: int, size: int, rng: np.random.Generator) -> RowNumbers:
    """Return a sorted sample of `size` rows that contains all preferred rows, or only preferred ones if these are more.

    Parameters
    ----------
    preferred : ndarray of row numbers, ascending
    n_rows : int
        The rows of the table.
    size : int
    rng : Generator
    """
    if size <= len(preferred):
        return np.sort(rng.choice(preferred, size, replace=False))
    others = np.setdiff1d(np.arange(n_rows), preferred, assume_unique=True)
    return np.sort(np.concatenate([preferred, rng.choice(others, size - len(preferred), replace=False)]))
