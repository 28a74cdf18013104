"""Rows drawn with replacement, as they were drawn into the table: one by one, in groups, or in stretches of time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tamiz.sources.base import Source
from tamiz.sources.views import Rows
from tamiz.statistics.base import Codes

# Of fewer, few different tables can be drawn.
_LEAST_UNITS = 10


@dataclass(frozen=True)
class Redraw:
    """How rows are drawn again.

    Attributes
    ----------
    draw : callable
        Returns row numbers, ascending, by a Generator.
    how : str
        In words, after "drawn with replacement".
    """

    draw: Callable[[np.random.Generator], Rows]
    how: str


def redraw(source: Source, size: int) -> Redraw | str:
    """Return how about `size` rows of a table are drawn again, or why they cannot be.

    Groups are drawn whole: their rows came together. Rows that are in time depend on their neighbours, and are drawn in stretches
    of consecutive ones (the moving blocks of Künsch, 1989, n^(1/3) rows each).
    """
    n = source.schema.n_rows
    if source.groups is not None:
        return _by_groups(source.groups, size)
    if n < _LEAST_UNITS:
        return f"{n} rows are too few to be drawn again"
    if source.time is not None:
        order = np.argsort(source.time, kind="stable")
        length = round(n ** (1 / 3))
        stretches = -(-size // length)

        def draw(rng: np.random.Generator) -> Rows:
            starts = rng.integers(0, n - length + 1, stretches)
            return np.sort(order[(starts[:, None] + np.arange(length)).ravel()[:size]])

        return Redraw(draw, f"in stretches of {length} rows that follow each other in time")
    return Redraw(lambda rng: np.sort(rng.integers(0, n, size)), "")


def _by_groups(groups: Codes, size: int) -> Redraw | str:
    order = np.argsort(groups, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)
    if len(parts) < _LEAST_UNITS:
        return f"{len(parts)} {'group is' if len(parts) == 1 else 'groups are'} too few to be drawn again"
    n_drawn = max(1, round(len(parts) * size / len(groups)))

    def draw(rng: np.random.Generator) -> Rows:
        drawn = rng.integers(0, len(parts), n_drawn)
        return np.sort(np.concatenate([parts[k] for k in drawn.tolist()]))

    return Redraw(draw, "in whole groups")
