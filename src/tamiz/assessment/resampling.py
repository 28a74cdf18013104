"""Bootstrap samples and halves of the rows of a table, of rows, groups and blocks in time, and scores of its columns in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from tamiz.arrays import Codes, Floats, Indices, Masks
from tamiz.criteria.base import Relevance, Reweightable, ReweightedScorer, StatisticRelevance, score_rows
from tamiz.exceptions import DataError
from tamiz.runtime import parallel, progress
from tamiz.runtime.user_warnings import capture_warnings
from tamiz.statistics.coded_tables import CodedTable, UnsupportedStatisticError, sample_log_table
from tamiz.table.base import Table, target_array, weight_array
from tamiz.table.views import resampled_weights, select_rows

Counts: TypeAlias = "NDArray[np.int64]"
Draw = TypeVar("Draw")
Output = TypeVar("Output")

# Fewer rows or groups have few different samples.
_MIN_UNITS = 10
# A class of fewer rows may be missing from a half, so every class is halved.
_MIN_CLASS_ROWS = 20
# Weights and samples in a batch.
_BATCH_VALUES, _BATCH_SAMPLES = 2**22, 25
# Of a 95 % interval.
_NORMAL_QUANTILE = 1.959964
# Scores that differ by less than this share of the largest are ties: iterative solvers stop at a tolerance.
_TIE_TOLERANCE = 1e-9


def map_batches(
    label: str, function: Callable[[list[Draw]], Output], draws: Iterable[Draw], n_draws: int, size: int
) -> Iterator[Output]:
    """Yield `function(batch)` for `size` draws at a time, in their order; batches are computed in parallel."""
    drawn = iter(draws)
    batches = iter(lambda: list(islice(drawn, size)), [])
    yield from progress.track_progress(label, parallel.map_blocks(function, batches), -(-n_draws // size))


def batch_size(n_values: int) -> int:
    """Return how many draws of so many values are in a batch."""
    return int(np.clip(_BATCH_VALUES // n_values, 1, _BATCH_SAMPLES))


@dataclass(frozen=True)
class Resampling:
    """A scheme that draws samples of the rows of a table."""

    draw_counts: Callable[[np.random.Generator], Counts]
    description: str
    error_factor: float = 1.0

    def map_samples(
        self, function: Callable[[Floats], Floats], n_samples: int, rng: np.random.Generator, size: int
    ) -> Floats:
        """Return `function(counts)` of batches of `size` samples, joined; `counts` has shape (n_batch, n_rows)."""
        draws = (self.draw_counts(rng).astype(np.float64) for _ in range(n_samples))
        found = map_batches("Samples of the rows", lambda one: function(np.array(one)), draws, n_samples, size)
        return np.concatenate(list(found))


def make_bootstrap(table: Table, copies: Counts | None = None) -> Resampling | str:
    """Return the bootstrap scheme of a table, or the reason why there is none.

    Rows of one group are dependent, so whole groups are drawn. Rows in time depend on their neighbours, so blocks of n^(1/3)
    consecutive rows are drawn (the moving block bootstrap of Künsch, 1989). The counts of a sample add up to the number of rows,
    or about that number if groups differ in size. `copies` are the numbers of equal rows that the rows represent; they are not used
    where there are groups.
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
        stratum = _class_strata(target_array(table)[row_of])

    def draw(rng: np.random.Generator) -> Counts:
        half = next(_halve_units(n_units, stratum, rng))[0]
        return np.bincount(row_of[half[unit]], minlength=table.schema.n_rows)

    m = n_units // 2
    description = f"half-samples: {m:,} of {n_units:,} {what} drawn without replacement"
    return Resampling(draw, description, (m / (n_units - m)) ** 0.5)


def draw_half_pairs(table: Table, n_pairs: int, rng: np.random.Generator) -> Iterator[Masks]:
    """Yield pairs of disjoint random halves of the rows, as masks of shape (2, n_rows); of an odd number, one row is in neither.

    Halves of a table with groups consist of whole groups. Where a class has fewer than 20 rows, each class is halved, up to a row.
    """
    n = table.schema.n_rows
    unit = np.arange(n) if table.groups is None else np.unique(table.groups, return_inverse=True)[1]
    n_units = int(unit.max()) + 1
    if n_units < 4:
        what, advice = ("rows", "more rows") if table.groups is None else ("groups", "more groups or none")
        raise DataError(
            f"Stability selection needs at least 4 {what}, and there are {n_units}. Pass {advice}, or rank the columns with "
            "RankSelector (tamiz rank)."
        )
    stratum = np.zeros(n_units, dtype=np.intp)
    if table.groups is None and table.schema.has_classes:
        stratum = _class_strata(target_array(table))
    for halves in islice(_halve_units(n_units, stratum, rng), n_pairs):
        # C order, as kernels require; indexing alone returns the transpose.
        yield np.ascontiguousarray(halves[:, unit])


def _class_strata(classes: NDArray[np.generic]) -> Indices:
    """Return the class of each row where a class has fewer than 20 rows, so that each class is halved; otherwise 0."""
    found, codes, counts = np.unique(classes, return_inverse=True, return_counts=True)
    return codes if len(found) > 1 and counts.min() < _MIN_CLASS_ROWS else np.zeros(len(classes), dtype=np.intp)


def _halve_units(n_units: int, stratum: Indices, rng: np.random.Generator) -> Iterator[Masks]:
    """Yield pairs of disjoint random halves of units, as masks of shape (2, n_units), without end; each stratum is halved."""
    n_strata = int(stratum.max()) + 1
    while True:
        order = rng.permutation(n_units)
        # A random order of the strata: the unit that is left out is of a random one.
        order = order[np.argsort(rng.permutation(n_strata)[stratum[order]], kind="stable")]
        halves = np.zeros((2, n_units), dtype=bool)
        for half in range(2):
            halves[half, order[half : n_units // 2 * 2 : 2]] = True
        yield halves


def _represented_rows(table: Table, copies: Counts | None) -> Indices:
    rows = np.arange(table.schema.n_rows)
    return rows if copies is None else np.repeat(rows, copies)


def block_length(n: int) -> int:
    """Return the length of the blocks of n rows in time, the cube root of n."""
    return round(n ** (1 / 3))


@dataclass(frozen=True)
class WeightedScorers:
    """Relevances, by name, that can be recomputed under other row weights: from counts of a coded table, or by refitting models."""

    table: Table
    coded_table: CodedTable | None
    logarithms: Floats
    count_based: dict[str, StatisticRelevance]
    model_based: dict[str, ReweightedScorer]

    @classmethod
    def from_relevances(cls, relevances: Mapping[str, Relevance], table: Table, n_weightings: int) -> WeightedScorers:
        """Return the relevances, by name, that can be recomputed under row weights, about `n_weightings` times."""
        schema, base = table.schema, weight_array(table)
        known = sample_log_table(base, schema.n_rows)
        counted = {name: one for name, one in relevances.items() if isinstance(one, StatisticRelevance)}
        coded = None
        if counted:
            n_classes = schema.n_classes if schema.has_classes else 0
            coded = CodedTable(table.blocks(), schema.numeric, schema.n_levels, schema.n_columns, n_classes)
            sample = coded.with_weights(np.ones(schema.n_rows) if base is None else base, known)
            for name, relevance in list(counted.items()):
                try:
                    relevance.reweighted_scores(sample, schema)
                except UnsupportedStatisticError:
                    del counted[name]
        found = {
            name: one.make_reweighted_scorer(table, n_weightings)
            for name, one in relevances.items()
            if isinstance(one, Reweightable)
        }
        fitted = {name: reweighting for name, reweighting in found.items() if reweighting is not None}
        return cls(table, coded, known, counted, fitted)

    @property
    def names(self) -> list[str]:
        """The names of the criteria, in the order of `scores`."""
        return [*self.count_based, *self.model_based]

    def scores(self, weights: Floats) -> Floats:
        """Return scores of shape (n_weightings, n_criteria, n_used) under weights of shape (n_weightings, n_rows)."""
        schema = self.table.schema
        found = []
        for weight in weights if self.coded_table is not None else ():
            assert self.coded_table is not None
            sample = self.coded_table.with_weights(weight, self.logarithms)
            found.append([one.reweighted_scores(sample, schema) for one in self.count_based.values()])
        counted = np.array(found).reshape(len(weights), len(self.count_based), schema.n_columns)
        fitted = [reweighting(weights)[:, None] for reweighting in self.model_based.values()]
        return np.concatenate([counted, *fitted], axis=1)[:, :, schema.used]


class SampleScorer:
    """Scores the columns of a table in samples of its rows.

    Where the relevance can be recomputed under weights of the rows, a sample is such weights, and columns are coded once. Otherwise
    the rows of every sample are scored by themselves.
    """

    def __init__(
        self,
        relevance: Relevance,
        table: Table,
        n_samples: int,
        *,
        drawn: Table | None = None,
        reweight: bool = True,
    ) -> None:
        self._relevance = relevance
        self._drawn = table if drawn is None else drawn
        self._scorers = WeightedScorers.from_relevances({"": relevance} if reweight else {}, table, n_samples)

    @property
    def reweights(self) -> bool:
        return bool(self._scorers.names)

    def scores(self, counts: Floats) -> Floats:
        """Return the scores of the used columns, of shape (n_samples, n_used), where rows are drawn `counts` times."""
        with capture_warnings():
            if self.reweights:
                return self._scorers.scores(resampled_weights(self._drawn, counts))[:, 0]
            return np.array([self._score_rows(one) for one in counts.astype(np.intp)])

    def _score_rows(self, counts: Indices) -> Floats:
        schema = self._drawn.schema
        sample = select_rows(self._drawn, np.repeat(np.arange(len(counts)), counts))
        if self._relevance.reads_target and not np.ptp(target_array(sample)):
            return np.zeros(len(schema.used))
        relevance = clone(self._relevance)
        try:
            return score_rows(relevance, sample)[schema.used]
        except DataError as error:
            raise DataError(
                f"{type(relevance).__name__} is not defined on a sample of {np.count_nonzero(counts):,} of the "
                f"{schema.n_rows:,} rows: {error}"
            ) from error


def average_ranks(scores: Floats) -> Floats:
    """Return the rank of every score, 1 for the largest; equal scores share the mean of their ranks."""
    order = np.argsort(-scores, kind="stable")
    falls = -np.diff(scores[order]) > _TIE_TOLERANCE * np.abs(scores).max(initial=0.0)
    tie_group = np.concatenate([[0], np.cumsum(falls)])
    size = np.bincount(tie_group)
    ranks = np.empty(len(scores))
    ranks[order] = (np.cumsum(size) - (size - 1) / 2)[tie_group]
    return ranks


def select_highest(scores: Floats, n: int, rng: np.random.Generator) -> Masks:
    """Return a mask of the n highest scores; of equal scores in the last places, random ones."""
    if n >= len(scores):
        return np.ones(len(scores), dtype=bool)
    last = np.partition(scores, len(scores) - n)[len(scores) - n]
    tolerance = _TIE_TOLERANCE * np.abs(scores).max()
    selected = scores > last + tolerance
    tied = np.flatnonzero(np.abs(scores - last) <= tolerance)
    selected[rng.permutation(tied)[: n - int(selected.sum())]] = True
    return selected


def standard_interval(value: Floats, standard_error: Floats, low: float = -np.inf, high: float = np.inf) -> Floats:
    """Return value plus and minus 1.96 standard errors, cut at `low` and `high`, of shape (n, 2)."""
    reach = _NORMAL_QUANTILE * standard_error
    return np.column_stack([np.maximum(value - reach, low), np.minimum(value + reach, high)])
