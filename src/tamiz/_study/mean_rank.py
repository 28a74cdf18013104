"""Bootstrap intervals of the mean rank: all columns are ranked again in bootstrap samples, each a weight for every row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tamiz._study.budget import DEFAULT_BUDGET, Budget
from tamiz._study.ranking import RankingCriterion
from tamiz.criteria.base import Relevance, ReweightedScorer, RowRelevance
from tamiz.runtime import parallel, progress
from tamiz.runtime.random import make_rng
from tamiz.sources.base import Source
from tamiz.sources.schema import Schema
from tamiz.sources.views import select_rows, weight_array
from tamiz.statistics.base import Codes, Floats
from tamiz.statistics.coded_tables import CodedTable, UnsupportedStatisticError, sample_log_table

# MERGED: Bootstrap samples as row counts: of single rows, of whole groups (cluster bootstrap), or of blocks in time (block bootstrap).
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


# MERGED: The mean rank of every column over all criteria, with its bootstrap interval.
def describe_mean_rank(
    source: Source,
    ranking_criteria: Sequence[RankingCriterion],
    ranking: dict[str, Any],
    seed: int,
    budget: Budget = DEFAULT_BUDGET,
) -> dict[str, Any] | None:
    """Return the mean rank of every column and its bootstrap interval.

    Parameters
    ----------
    source : Source
    ranking_criteria : list of RankingCriterion
        The criteria.
    ranking : dict
        What `describe_ranking` gave: the ranks are those of its scores.
    seed : int
        Draws the bootstrap samples.
    budget : Budget

    Returns
    -------
    dict or None
        None where no column takes part.
    """
    schema = source.schema
    counted = _included_criteria(ranking_criteria, schema)
    if not counted or not len(schema.used):
        return None
    scores = {one.name: np.array(ranking["scores"][one.name], dtype=np.float64)[schema.used] for one in counted}
    ranks = {name: average_ranks(values) for name, values in scores.items()}
    told_apart = [one for one in counted if ranks[one.name].min() < ranks[one.name].max()]
    alike = [one.label for one in counted if one not in told_apart] if told_apart else []
    counted = told_apart or counted
    ranks = {one.name: ranks[one.name] for one in counted}
    found = rank_intervals(source, counted, ranks, seed, budget)
    combined = _expand_to_all_columns(np.mean(list(ranks.values()), axis=0).tolist(), schema)
    return {
        "criteria": list(ranks),
        "ranks": combined,
        "intervals": [None] * schema.n_columns
        if found.bounds is None
        else _expand_to_all_columns(found.bounds.tolist(), schema),
        "n_resamples": found.n_samples,
        "how": " ".join([*_criteria_sentences(ranking_criteria, counted, alike, schema), *_interval_sentences(found)]),
    }


def _included_criteria(ranking_criteria: Sequence[RankingCriterion], schema: Schema) -> list[RankingCriterion]:
    """Return the criteria that make up the rank: those that read the target where there is one, for it is what is asked about."""
    told = [one for one in ranking_criteria if schema.target is not None and one.relevance.needs_target]
    return told or list(ranking_criteria)


def _interval_sentences(intervals: RankIntervals) -> list[str]:
    """Return how the intervals were computed, or why there are none."""
    reasons = []
    if intervals.not_resampled:
        reasons.append(
            f"{_join_labels(intervals.not_resampled)} cannot be computed from a sample that contains a row twice"
        )
    if intervals.too_slow:
        reasons.append(f"to compute {_join_labels(intervals.too_slow)} in every bootstrap sample would take minutes")
    if intervals.bounds is None:
        return [f"There is no interval: {intervals.method or '; '.join(reasons)}."]
    sentences = [
        f"The 95% interval is the mean rank plus and minus 1.96 standard errors from {intervals.n_samples} bootstrap samples "
        f"({intervals.method}): every criterion ranks all columns again in each of them, with its own cut points and models."
    ]
    if reasons:
        n = len(intervals.not_resampled) + len(intervals.too_slow)
        reason = "; ".join(reasons)
        sentences.append(
            f"{reason[0].upper()}{reason[1:]}: {'its' if n == 1 else 'their'} ranks are the same in all samples."
        )
    return sentences


def _expand_to_all_columns(values: Sequence[Any], schema: Schema) -> list[Any]:
    """Return values of the columns in use as those of all columns, None for the others."""
    whole: list[Any] = [None] * schema.n_columns
    for j, value in zip(schema.used.tolist(), values, strict=True):
        whole[j] = value
    return whole


def _criteria_sentences(
    ranking_criteria: Sequence[RankingCriterion],
    included: Sequence[RankingCriterion],
    uninformative: Sequence[str],
    schema: Schema,
) -> list[str]:
    n = len(included)
    over = "by one criterion" if n == 1 else f"by {n} criteria"
    sentences = [f"The mean of a column's ranks {over}; columns with equal scores share the mean of their ranks."]
    silent = [one.label for one in ranking_criteria if one not in included and one.label not in uninformative]
    if silent:
        assert schema.target is not None
        one = len(silent) == 1
        sentences.append(
            f"{_join_labels(silent)} {'does' if one else 'do'} not read {schema.target.name} and {'is' if one else 'are'} not counted."
        )
    if uninformative:
        one = len(uninformative) == 1
        sentences.append(
            f"{_join_labels(uninformative)} {'scores' if one else 'score'} all columns alike here and {'is' if one else 'are'} not counted."
        )
    return sentences


def _join_labels(labels: Sequence[str]) -> str:
    *others, last = labels
    return f"{', '.join(others)} and {last}" if others else last


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
