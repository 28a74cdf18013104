"""Samples of the rows of a table: bootstrap samples and half-samples, of rows, of whole groups and of blocks in time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Codes, Floats, Indices
from tamiz.error_control.half_samples import class_strata, halve_units
from tamiz.runtime import parallel, progress
from tamiz.table.base import Table
from tamiz.table.views import target_array

Counts: TypeAlias = "NDArray[np.int64]"
Output = TypeVar("Output")

# Fewer rows or groups have few different samples.
_MIN_UNITS = 10
# Weights and samples in a batch.
_BATCH_VALUES, _BATCH_SAMPLES = 2**22, 25
# Of a 95 % interval.
_NORMAL_QUANTILE = 1.959964
# Scores that differ by less than this share of the largest are ties: iterative solvers stop at a tolerance.
_TIE_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Resampling:
    """A scheme that draws samples of the rows of a table.

    Attributes
    ----------
    draw_counts : callable
        Returns how often every row is drawn, given a Generator.
    description : str
        The kind of sample and what is drawn, in words.
    error_factor : float
        The standard error of a statistic of all rows is this factor times the standard deviation over the samples.
    """

    draw_counts: Callable[[np.random.Generator], Counts]
    description: str
    error_factor: float = 1.0

    def map_samples(
        self,
        function: Callable[[Floats], Output],
        n_samples: int,
        n_rows: int,
        rng: np.random.Generator,
        max_batch: int = _BATCH_SAMPLES,
    ) -> Iterator[Output]:
        """Yield `function(counts)` of batches of samples, in order; `counts` has shape (n_batch, n_rows)."""
        size = int(np.clip(_BATCH_VALUES // n_rows, 1, max_batch))
        batches = parallel.block_ranges(n_samples, size)
        draws = (
            np.array([self.draw_counts(rng) for _ in range(start, stop)], dtype=np.float64) for start, stop in batches
        )
        yield from progress.track_progress("Samples of the rows", parallel.map_blocks(function, draws), len(batches))


def make_bootstrap(table: Table, copies: Counts | None = None) -> Resampling | str:
    """Return the bootstrap scheme of a table, or the reason why there is none.

    Rows of one group are dependent, so whole groups are drawn. Rows in time depend on their neighbours, so blocks of n^(1/3)
    consecutive rows are drawn (the moving block bootstrap of Künsch, 1989). The counts of a sample add up to the number of rows,
    or about that number if groups differ in size.

    Parameters
    ----------
    table : Table
    copies : ndarray of shape (n_rows,), default=None
        The number of equal rows that each row represents, 1 by default; not used where there are groups.
    """
    if table.groups is not None:
        return _cluster_bootstrap(table.groups)
    n_rows, row_of = table.schema.n_rows, _represented_rows(table, copies)
    n = len(row_of)
    if n < _MIN_UNITS:
        return f"{n} rows are too few for bootstrap samples"
    if table.time is not None:
        order = row_of[np.argsort(table.time[row_of], kind="stable")]
        length = block_length(n)
        n_blocks = -(-n // length)

        def draw(rng: np.random.Generator) -> Counts:
            starts = rng.integers(0, n - length + 1, n_blocks)
            return np.bincount(order[(starts[:, None] + np.arange(length)).ravel()[:n]], minlength=n_rows)

        return Resampling(draw, f"block bootstrap: blocks of {length} consecutive rows in time, {n:,} rows in all")
    return Resampling(
        lambda rng: np.bincount(row_of[rng.integers(0, n, n)], minlength=n_rows),
        f"bootstrap: {n:,} rows drawn with replacement",
    )


def _cluster_bootstrap(groups: Codes) -> Resampling | str:
    found, group = np.unique(groups, return_inverse=True)
    n = len(found)
    if n < _MIN_UNITS:
        return f"{n} {'group is' if n == 1 else 'groups are'} too few for bootstrap samples"
    return Resampling(
        lambda rng: np.bincount(rng.integers(0, n, n), minlength=n)[group],
        f"cluster bootstrap: {n:,} whole groups drawn with replacement, about {len(groups):,} rows in all",
    )


def make_half_sampling(table: Table, copies: Counts | None = None) -> Resampling | str:
    """Return the scheme that draws halves of a table without replacement, or the reason why there is none.

    Of n rows a sample has m = floor(n / 2), each at most once. The delete-d jackknife estimates the variance of a statistic of all
    rows by m / (n - m) times its variance over the samples (Shao and Wu, 1989, with d = n - m): for halves by the variance itself.
    Whole groups are drawn where there are groups. Rows in time are drawn in blocks of n^(1/3) consecutive rows that do not overlap;
    n is the number of blocks then. Where a class has fewer than 20 rows, each class is halved.

    Parameters
    ----------
    table : Table
    copies : ndarray of shape (n_rows,), default=None
        As in `make_bootstrap`.
    """
    if table.groups is not None:
        row_of = np.arange(table.schema.n_rows)
        unit = np.unique(table.groups, return_inverse=True)[1]
        n_independent, what = int(unit.max()) + 1, "groups"
    else:
        row_of = _represented_rows(table, copies)
        unit = np.arange(len(row_of))
        n_independent, what = len(row_of), "rows"
    if n_independent < _MIN_UNITS:
        return f"{n_independent} {what[:-1] + ' is' if n_independent == 1 else what + ' are'} too few for half-samples"
    if table.groups is None and table.time is not None:
        length = block_length(len(row_of))
        unit[np.argsort(table.time[row_of], kind="stable")] = np.arange(len(row_of)) // length
        what = f"blocks of {length} consecutive rows in time"
    n_units = int(unit.max()) + 1
    stratum = np.zeros(n_units, dtype=np.intp)
    if what == "rows" and table.schema.has_classes:
        stratum = class_strata(target_array(table)[row_of])

    def draw(rng: np.random.Generator) -> Counts:
        half = next(halve_units(n_units, stratum, rng))[0]
        return np.bincount(row_of[half[unit]], minlength=table.schema.n_rows)

    m = n_units // 2
    description = f"half-samples: {m:,} of {n_units:,} {what} drawn without replacement"
    return Resampling(draw, description, (m / (n_units - m)) ** 0.5)


def _represented_rows(table: Table, copies: Counts | None) -> Indices:
    rows = np.arange(table.schema.n_rows)
    return rows if copies is None else np.repeat(rows, copies)


def block_length(n: int) -> int:
    """Return the length of the blocks of n rows in time, the cube root of n."""
    return round(n ** (1 / 3))


def average_ranks(scores: Floats) -> Floats:
    """Return the rank of every score, 1 for the largest; equal scores share the mean of their ranks."""
    order = np.argsort(-scores, kind="stable")
    falls = -np.diff(scores[order]) > _TIE_TOLERANCE * np.abs(scores).max(initial=0.0)
    tie_group = np.concatenate([[0], np.cumsum(falls)])
    size = np.bincount(tie_group)
    ranks = np.empty(len(scores))
    ranks[order] = (np.cumsum(size) - (size - 1) / 2)[tie_group]
    return ranks


def standard_interval(value: Floats, standard_error: Floats, low: float = -np.inf, high: float = np.inf) -> Floats:
    """Return value plus and minus 1.96 standard errors, cut at `low` and `high`, of shape (n, 2)."""
    reach = _NORMAL_QUANTILE * standard_error
    return np.column_stack([np.maximum(value - reach, low), np.minimum(value + reach, high)])
