"""Bootstrap samples as row counts: of single rows, of whole groups (cluster bootstrap), or of blocks in time (block bootstrap)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tamiz.sources.base import Source
from tamiz.statistics.base import Codes

Counts: TypeAlias = "NDArray[np.int64]"

# From fewer units, few different samples can be drawn.
_MIN_UNITS = 10


@dataclass(frozen=True)
class Bootstrap:
    """How bootstrap samples of a table are drawn.

    Attributes
    ----------
    draw_counts : callable
        Returns how often every row is drawn, by a Generator: as many rows as the table has, or about as many where groups differ
        in size.
    description : str
        The kind of bootstrap and what is drawn, in words.
    """

    draw_counts: Callable[[np.random.Generator], Counts]
    description: str


def make_bootstrap(source: Source) -> Bootstrap | str:
    """Return how bootstrap samples of a table are drawn, or why they cannot be.

    Rows of one group depend on each other, and groups are drawn whole. Rows in time depend on their neighbours, and are drawn in
    blocks of n^(1/3) consecutive rows (the moving blocks of Künsch, 1989).
    """
    n = source.schema.n_rows
    if source.groups is not None:
        return _cluster_bootstrap(source.groups)
    if n < _MIN_UNITS:
        return f"{n} rows are too few for bootstrap samples"
    if source.time is not None:
        order = np.argsort(source.time, kind="stable")
        length = round(n ** (1 / 3))
        n_blocks = -(-n // length)

        def draw(rng: np.random.Generator) -> Counts:
            starts = rng.integers(0, n - length + 1, n_blocks)
            return np.bincount(order[(starts[:, None] + np.arange(length)).ravel()[:n]], minlength=n)

        return Bootstrap(draw, f"block bootstrap: blocks of {length} consecutive rows in time, {n:,} rows in all")
    return Bootstrap(
        lambda rng: np.bincount(rng.integers(0, n, n), minlength=n), f"bootstrap: {n:,} rows drawn with replacement"
    )


def _cluster_bootstrap(groups: Codes) -> Bootstrap | str:
    found, group = np.unique(groups, return_inverse=True)
    n = len(found)
    if n < _MIN_UNITS:
        return f"{n} {'group is' if n == 1 else 'groups are'} too few for bootstrap samples"
    return Bootstrap(
        lambda rng: np.bincount(rng.integers(0, n, n), minlength=n)[group],
        f"cluster bootstrap: {n:,} whole groups drawn with replacement, about {len(groups):,} rows in all",
    )
