"""Bootstrap intervals of the mean rank: all columns are ranked again in bootstrap samples, each a weight for every row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tamiz import parallel, progress
from tamiz.criteria.base import Relevance, ReweightedScorer, RowRelevance
from tamiz.random import make_rng
from tamiz.sources.base import Source
from tamiz.sources.schema import Schema
from tamiz.sources.views import select_rows, weight_array
from tamiz.statistics.base import Floats
from tamiz.statistics.reweighted import CodedTable, UnsupportedStatisticError, sample_log_table
from tamiz.steps.budget import DEFAULT_BUDGET, Budget
from tamiz.steps.resampling import Bootstrap, make_bootstrap
from tamiz.steps.scoring import RankingCriterion

# Samples: of so many, a standard error is right to about 5 %.
N_BOOTSTRAP = 200
# Of a 95 % interval.
_NORMAL_QUANTILE = 1.959964
# Values that are counted for a sample, at most: fifteen million of them take 10 to 20 s for all samples on two cores. A category
# takes a quarter of the time of a number. Every column costs as much besides as so many rows do, and more where the target is a
# number, for cut points are then found outside of kernels.
_MAX_VALUES = 1.5e7
_COLUMN_COST_ROWS, _NUMERIC_TARGET_COST_ROWS = 5_000, 15_000
# Weights that are drawn at a time.
_BATCH_VALUES, _BATCH_SAMPLES = 2**22, 25
# Scores that differ by a smaller share of the largest are equal: models find them by steps.
_TIE_TOLERANCE = 1e-9


@dataclass(frozen=True)
class RankIntervals:
    """Intervals of the mean rank.

    Attributes
    ----------
    bounds : ndarray of shape (n_used, 2) or None
        None where there are none.
    n_samples : int
    method : str
        What was resampled, or why nothing was.
    not_resampled, too_slow : list of str
        The labels of the criteria that keep their ranks in all samples: those that rows drawn twice make meaningless, and those
        that cannot be computed from weights of the rows in the time there is.
    """

    bounds: Floats | None
    n_samples: int
    method: str
    not_resampled: Sequence[str] = ()
    too_slow: Sequence[str] = ()


@dataclass(frozen=True)
class WeightedScorers:
    """Criteria that can be scored under other weights of the rows.

    Attributes
    ----------
    source : Source
    coded_table : CodedTable or None
        What criteria count from; None where none does.
    logarithms : ndarray
        Of `sample_log_table`.
    count_based : dict of name to Relevance
    model_based : dict of name to ReweightedScorer
        Criteria that read models.
    """

    source: Source
    coded_table: CodedTable | None
    logarithms: Floats
    count_based: dict[str, Relevance]
    model_based: dict[str, ReweightedScorer]

    @classmethod
    def from_criteria(cls, ranking_criteria: Sequence[RankingCriterion], source: Source) -> WeightedScorers:
        """Return those of some criteria that can be scored so."""
        schema, base = source.schema, weight_array(source)
        known = sample_log_table(base, schema.n_rows)
        counted = {one.name: one.relevance for one in ranking_criteria if not isinstance(one.relevance, RowRelevance)}
        table = None
        if counted:
            n_classes = schema.n_classes if schema.has_classes else 0
            table = CodedTable(source.blocks(), schema.numeric, schema.n_levels, schema.n_columns, n_classes)
            sample = table.with_weights(np.ones(schema.n_rows) if base is None else base, known)
            for name, relevance in list(counted.items()):
                try:
                    relevance.reweighted_scores(sample, schema)
                except UnsupportedStatisticError:
                    del counted[name]
        found = {
            one.name: one.relevance.make_reweighted_scorer(source, N_BOOTSTRAP)
            for one in ranking_criteria
            if isinstance(one.relevance, RowRelevance)
        }
        fitted = {name: reweighting for name, reweighting in found.items() if reweighting is not None}
        return cls(source, table, known, counted, fitted)

    @property
    def names(self) -> list[str]:
        """The names of the criteria, in the order of `scores`."""
        return [*self.count_based, *self.model_based]

    def scores(self, weights: Floats) -> Floats:
        """Return scores of shape (n_weightings, n_criteria, n_used) under weights of shape (n_weightings, n_rows)."""
        schema = self.source.schema
        found = []
        for weight in weights if self.coded_table is not None else ():
            assert self.coded_table is not None
            sample = self.coded_table.with_weights(weight, self.logarithms)
            found.append([one.reweighted_scores(sample, schema) for one in self.count_based.values()])
        counted = np.array(found).reshape(len(weights), len(self.count_based), schema.n_columns)
        fitted = [reweighting(weights)[:, None] for reweighting in self.model_based.values()]
        return np.concatenate([counted, *fitted], axis=1)[:, :, schema.used]


def average_ranks(scores: Floats) -> Floats:
    """Return the rank of every score, 1 for the largest; equal scores share the mean of their ranks."""
    order = np.argsort(-scores, kind="stable")
    falls = -np.diff(scores[order]) > _TIE_TOLERANCE * np.abs(scores).max(initial=0.0)
    place = np.concatenate([[0], np.cumsum(falls)])
    size = np.bincount(place)
    ranks = np.empty(len(scores))
    ranks[order] = (np.cumsum(size) - (size - 1) / 2)[place]
    return ranks


def rank_intervals(
    source: Source,
    ranking_criteria: Sequence[RankingCriterion],
    ranks: dict[str, Floats],
    seed: int,
    budget: Budget = DEFAULT_BUDGET,
) -> RankIntervals:
    """Return the 95 % bootstrap interval of every column's mean rank.

    Parameters
    ----------
    source : Source
    ranking_criteria : list of RankingCriterion
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
    rows = _positive_weight_rows(source)
    schema = rows.schema
    undefined = [one.label for one in ranking_criteria if not one.relevance.supports_bootstrap]
    if len(undefined) == len(ranking_criteria):
        return RankIntervals(None, 0, "", undefined)
    drawn = make_bootstrap(rows)
    if isinstance(drawn, str):
        return RankIntervals(None, 0, drawn)
    if not bootstrap_cost(schema, budget):
        why = (
            f"{N_BOOTSTRAP} bootstrap samples of {schema.n_rows:,} rows and {len(schema.used):,} columns would take longer than a "
            "study may (max_seconds=, --max-seconds)"
        )
        return RankIntervals(None, 0, why)
    scorers = WeightedScorers.from_criteria([one for one in ranking_criteria if one.relevance.supports_bootstrap], rows)
    slow = [one.label for one in ranking_criteria if one.relevance.supports_bootstrap and one.name not in scorers.names]
    if not scorers.names:
        return RankIntervals(None, 0, "", undefined, slow)
    fixed = [ranks[one.name] for one in ranking_criteria if one.name not in scorers.names]
    means = (bootstrap_ranks(scorers, drawn, seed).sum(axis=1) + sum(fixed)) / len(ranking_criteria)
    whole = np.mean([ranks[one.name] for one in ranking_criteria], axis=0)
    reach = _NORMAL_QUANTILE * means.std(axis=0, ddof=1)
    ends = np.column_stack([np.maximum(whole - reach, 1.0), np.minimum(whole + reach, len(whole))])
    return RankIntervals(ends, N_BOOTSTRAP, drawn.description, undefined, slow)


def bootstrap_ranks(scorers: WeightedScorers, bootstrap: Bootstrap, seed: int) -> Floats:
    """Return the ranks of the used columns in every sample by every criterion, of shape (n_samples, n_criteria, n_used)."""
    base = weight_array(scorers.source)

    def ranked(counts: Floats) -> Floats:
        scores = scorers.scores(counts if base is None else counts * base)
        return np.array([[average_ranks(one) for one in by_criterion] for by_criterion in scores])

    rng = make_rng(seed)
    size = int(np.clip(_BATCH_VALUES // scorers.source.schema.n_rows, 1, _BATCH_SAMPLES))
    batches = parallel.block_ranges(N_BOOTSTRAP, size)
    draws = (
        np.array([bootstrap.draw_counts(rng) for _ in range(start, stop)], dtype=np.float64) for start, stop in batches
    )
    return np.concatenate(
        list(progress.track_progress("Bootstrap samples", parallel.map_blocks(ranked, draws), len(batches)))
    )


def bootstrap_cost(schema: Schema, budget: Budget) -> float:
    """Return what counting the columns for one sample costs, in values; 0 where it is too much."""
    by_column = _COLUMN_COST_ROWS if schema.has_classes else _NUMERIC_TARGET_COST_ROWS
    values = (schema.n_rows + by_column) * (len(schema.numeric) + len(schema.categorical) / 4)
    return values if values <= budget.scale * _MAX_VALUES else 0.0


def _positive_weight_rows(source: Source) -> Source:
    """Return the rows that have a weight."""
    weight = weight_array(source)
    return source if weight is None or weight.all() else select_rows(source, np.flatnonzero(weight))
