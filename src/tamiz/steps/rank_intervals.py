"""Bootstrap intervals of the mean rank: all columns are ranked again in bootstrap samples, each a weight for every row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tamiz import parallel, progress
from tamiz.criteria.base import Relevance, Reweighting, RowRelevance
from tamiz.random import generator
from tamiz.sources.base import Source
from tamiz.sources.schema import Schema
from tamiz.sources.views import rows_of, weight_of
from tamiz.statistics.base import Floats
from tamiz.statistics.reweighted import CodedTable, NotCountedError, known_logarithms
from tamiz.steps.budget import USUAL, Budget
from tamiz.steps.resampling import Bootstrap, bootstrap_of
from tamiz.steps.scoring import Ranked

# Samples: of so many, a standard error is right to about 5 %.
N_SAMPLES = 200
# Of a 95 % interval.
_NORMAL_QUANTILE = 1.959964
# Values that are counted for a sample, at most: fifteen million of them take 10 to 20 s for all samples on two cores. A category
# takes a quarter of the time of a number. Every column costs as much besides as so many rows do, and more where the target is a
# number, for cut points are then found outside of kernels.
_MOST_VALUES = 1.5e7
_ROWS_A_COLUMN, _ROWS_WITHOUT_CLASSES = 5_000, 15_000
# Weights that are drawn at a time.
_BATCH_VALUES, _BATCH_SAMPLES = 2**22, 25
# Scores that differ by a smaller share of the largest are equal: models find them by steps.
_TIE = 1e-9


@dataclass(frozen=True)
class RankIntervals:
    """Intervals of the mean rank.

    Attributes
    ----------
    ends : ndarray of shape (n_used, 2) or None
        None where there are none.
    n_samples : int
    how : str
        What was resampled, or why nothing was.
    undefined, slow : list of str
        The labels of the criteria that keep their ranks in all samples: those that rows drawn twice make meaningless, and those
        that cannot be computed from weights of the rows in the time there is.
    """

    ends: Floats | None
    n_samples: int
    how: str
    undefined: Sequence[str] = ()
    slow: Sequence[str] = ()


@dataclass(frozen=True)
class Scorers:
    """Criteria that can be scored under other weights of the rows.

    Attributes
    ----------
    rows : Source
    table : CodedTable or None
        What criteria count from; None where none does.
    known : ndarray
        Of `known_logarithms`.
    counted : dict of name to Relevance
    fitted : dict of name to Reweighting
        Criteria that read models.
    """

    rows: Source
    table: CodedTable | None
    known: Floats
    counted: dict[str, Relevance]
    fitted: dict[str, Reweighting]

    @classmethod
    def of(cls, moving: Sequence[Ranked], rows: Source) -> Scorers:
        """Return those of some criteria that can be scored so."""
        schema, base = rows.schema, weight_of(rows)
        known = known_logarithms(base, schema.n_rows)
        counted = {one.name: one.relevance for one in moving if not isinstance(one.relevance, RowRelevance)}
        table = None
        if counted:
            n_classes = schema.n_classes if schema.has_classes else 0
            table = CodedTable(rows.blocks(), schema.numeric, schema.level_sizes, schema.n_columns, n_classes)
            sample = table.reweighted(np.ones(schema.n_rows) if base is None else base, known)
            for name, relevance in list(counted.items()):
                try:
                    relevance.scores_of(sample, schema)
                except NotCountedError:
                    del counted[name]
        found = {
            one.name: one.relevance.reweighting(rows, N_SAMPLES)
            for one in moving
            if isinstance(one.relevance, RowRelevance)
        }
        fitted = {name: reweighting for name, reweighting in found.items() if reweighting is not None}
        return cls(rows, table, known, counted, fitted)

    @property
    def names(self) -> list[str]:
        """The names of the criteria, in the order of `scores`."""
        return [*self.counted, *self.fitted]

    def scores(self, weights: Floats) -> Floats:
        """Return scores of shape (n_weightings, n_criteria, n_used) under weights of shape (n_weightings, n_rows)."""
        schema = self.rows.schema
        found = []
        for weight in weights if self.table is not None else ():
            assert self.table is not None
            sample = self.table.reweighted(weight, self.known)
            found.append([one.scores_of(sample, schema) for one in self.counted.values()])
        counted = np.array(found).reshape(len(weights), len(self.counted), schema.n_columns)
        fitted = [reweighting(weights)[:, None] for reweighting in self.fitted.values()]
        return np.concatenate([counted, *fitted], axis=1)[:, :, schema.used]


def ranks_of(scores: Floats) -> Floats:
    """Return the rank of every score, 1 for the largest; equal scores share the mean of their ranks."""
    order = np.argsort(-scores, kind="stable")
    falls = -np.diff(scores[order]) > _TIE * np.abs(scores).max(initial=0.0)
    place = np.concatenate([[0], np.cumsum(falls)])
    size = np.bincount(place)
    ranks = np.empty(len(scores))
    ranks[order] = (np.cumsum(size) - (size - 1) / 2)[place]
    return ranks


def rank_intervals(
    source: Source, counted: Sequence[Ranked], ranks: dict[str, Floats], seed: int, budget: Budget = USUAL
) -> RankIntervals:
    """Return the 95 % bootstrap interval of every column's mean rank.

    Parameters
    ----------
    source : Source
    counted : list of Ranked
        The criteria that make up the mean rank.
    ranks : dict of name to ndarray of shape (n_used,)
        The ranks of all rows by each of them.
    seed : int
        Draws the samples.
    budget : Budget

    Returns
    -------
    RankIntervals

    Notes
    -----
    A sample is a weight for every row: columns are coded once, and every criterion counts, cuts and fits again under the weights.
    The interval is the mean rank plus and minus 1.96 bootstrap standard errors, no further than the first and the last rank: it
    always contains the mean rank. It covers the mean rank that tables of this size have on average. Percentile, basic and BC
    intervals are shifted, because a sample has the noise of the table and its own: they cover too often where the target is a
    number, or too seldom (docs/honest-numbers.md has the figures).

    References
    ----------
    Efron and Tibshirani (1993), An Introduction to the Bootstrap, chapters 6 (200 samples are enough for a standard error) and 13.
    Hall and Miller (2009), Using the bootstrap to quantify the authority of an empirical ranking, Annals of Statistics 37.
    """
    rows = _with_weight(source)
    schema = rows.schema
    undefined = [one.label for one in counted if not one.relevance.resampled]
    if len(undefined) == len(counted):
        return RankIntervals(None, 0, "", undefined)
    drawn = bootstrap_of(rows)
    if isinstance(drawn, str):
        return RankIntervals(None, 0, drawn)
    if not resampled_values(schema, budget):
        why = (
            f"{N_SAMPLES} bootstrap samples of {schema.n_rows:,} rows and {len(schema.used):,} columns would take longer than a "
            "study may (max_seconds=, --max-seconds)"
        )
        return RankIntervals(None, 0, why)
    scorers = Scorers.of([one for one in counted if one.relevance.resampled], rows)
    slow = [one.label for one in counted if one.relevance.resampled and one.name not in scorers.names]
    if not scorers.names:
        return RankIntervals(None, 0, "", undefined, slow)
    fixed = [ranks[one.name] for one in counted if one.name not in scorers.names]
    means = (sampled_ranks(scorers, drawn, seed).sum(axis=1) + sum(fixed)) / len(counted)
    whole = np.mean([ranks[one.name] for one in counted], axis=0)
    reach = _NORMAL_QUANTILE * means.std(axis=0, ddof=1)
    ends = np.column_stack([np.maximum(whole - reach, 1.0), np.minimum(whole + reach, len(whole))])
    return RankIntervals(ends, N_SAMPLES, drawn.how, undefined, slow)


def sampled_ranks(scorers: Scorers, drawn: Bootstrap, seed: int) -> Floats:
    """Return the ranks of the used columns in every sample by every criterion, of shape (n_samples, n_criteria, n_used)."""
    base = weight_of(scorers.rows)

    def ranked(counts: Floats) -> Floats:
        scores = scorers.scores(counts if base is None else counts * base)
        return np.array([[ranks_of(one) for one in by_criterion] for by_criterion in scores])

    rng = generator(seed)
    size = int(np.clip(_BATCH_VALUES // scorers.rows.schema.n_rows, 1, _BATCH_SAMPLES))
    batches = parallel.spans(N_SAMPLES, size)
    draws = (np.array([drawn.draw(rng) for _ in range(start, stop)], dtype=np.float64) for start, stop in batches)
    return np.concatenate(list(progress.track("Bootstrap samples", parallel.map_blocks(ranked, draws), len(batches))))


def resampled_values(schema: Schema, budget: Budget) -> float:
    """Return what counting the columns for one sample costs, in values; 0 where it is too much."""
    by_column = _ROWS_A_COLUMN if schema.has_classes else _ROWS_WITHOUT_CLASSES
    values = (schema.n_rows + by_column) * (len(schema.numeric) + len(schema.categorical) / 4)
    return values if values <= budget.scale * _MOST_VALUES else 0.0


def _with_weight(source: Source) -> Source:
    """Return the rows that have a weight."""
    weight = weight_of(source)
    return source if weight is None or weight.all() else rows_of(source, np.flatnonzero(weight))
