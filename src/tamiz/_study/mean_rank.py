"""The mean rank of every column over all criteria, with its bootstrap interval.

A bootstrap sample is a count for every row, used as a weight. Every criterion ranks all columns again under these weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tamiz._study.budget import DEFAULT_BUDGET, Budget
from tamiz._study.ranking import RankingCriterion
from tamiz.assessment.resampling import Resampling, average_ranks, make_bootstrap, standard_interval
from tamiz.criteria.weighted_scorers import WeightedScorers
from tamiz.report.records.columns import MeanRank, RankingRecord
from tamiz.report.text import shorten
from tamiz.runtime.random import make_rng
from tamiz.statistics.base import Floats
from tamiz.table.base import Table
from tamiz.table.schema import Schema
from tamiz.table.views import positive_weight_rows, resampled_weights


def describe_mean_rank(
    table: Table,
    ranking_criteria: Sequence[RankingCriterion],
    ranking: RankingRecord,
    seed: int,
    budget: Budget = DEFAULT_BUDGET,
) -> MeanRank | None:
    """Return the mean rank of every column and its bootstrap interval.

    Parameters
    ----------
    table : Table
    ranking_criteria : list of RankingCriterion
        The criteria.
    ranking : RankingRecord
        The record of `describe_ranking`, whose scores are ranked.
    seed : int
        Draws the bootstrap samples.
    budget : Budget

    Returns
    -------
    MeanRank or None
        None if no column or no criterion is included.
    """
    schema = table.schema
    included = _included_criteria(ranking_criteria, schema)
    if not included or not len(schema.used):
        return None
    scores = {one.name: np.array(ranking.scores[one.name], dtype=np.float64)[schema.used] for one in included}
    ranks = {name: average_ranks(values) for name, values in scores.items()}
    informative = [one for one in included if ranks[one.name].min() < ranks[one.name].max()]
    uninformative = [one.label for one in included if one not in informative] if informative else []
    included = informative or included
    ranks = {one.name: ranks[one.name] for one in included}
    found = rank_intervals(table, included, ranks, seed, budget)
    bounds = [None] * len(schema.used) if found.bounds is None else _as_pairs(found.bounds)
    return MeanRank(
        criteria=tuple(ranks),
        ranks=_expand_to_all_columns(np.mean(list(ranks.values()), axis=0).tolist(), schema),
        intervals=_expand_to_all_columns(bounds, schema),
        criterion_intervals={
            name: _expand_to_all_columns(_as_pairs(intervals.round(_INTERVAL_DECIMALS)), schema)
            for name, intervals in found.by_criterion.items()
        },
        n_bootstrap=found.n_samples,
        method=" ".join(
            [*_criteria_sentences(ranking_criteria, included, uninformative, schema), *_interval_sentences(found)]
        ),
    )


def _included_criteria(ranking_criteria: Sequence[RankingCriterion], schema: Schema) -> list[RankingCriterion]:
    """Return the criteria of the mean rank: those that use the target, or all of them if none does."""
    supervised = [one for one in ranking_criteria if schema.target is not None and one.relevance.needs_target]
    return supervised or list(ranking_criteria)


def _interval_sentences(intervals: RankIntervals) -> list[str]:
    """Return sentences on how the intervals were computed, or why there are none."""
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


def _as_pairs(intervals: Floats) -> list[Any]:
    return list(map(tuple, intervals.tolist()))


def _expand_to_all_columns(values: Sequence[Any], schema: Schema) -> tuple[Any, ...]:
    """Return values of the used columns as a tuple over all columns, None for the others."""
    of_used = dict(zip(schema.used.tolist(), values, strict=True))
    return tuple(of_used.get(j) for j in range(schema.n_columns))


def _criteria_sentences(
    ranking_criteria: Sequence[RankingCriterion],
    included: Sequence[RankingCriterion],
    uninformative: Sequence[str],
    schema: Schema,
) -> list[str]:
    n = len(included)
    over = "by one criterion" if n == 1 else f"by {n} criteria"
    sentences = [f"The mean of a column's ranks {over}; columns with equal scores share the mean of their ranks."]
    unsupervised = [one.label for one in ranking_criteria if one not in included and one.label not in uninformative]
    if unsupervised:
        assert schema.target is not None
        verb, are = ("does", "is") if len(unsupervised) == 1 else ("do", "are")
        sentences.append(
            f"{_join_labels(unsupervised)} {verb} not use {shorten(schema.target.name, 60)} and {are} not counted."
        )
    if uninformative:
        verb, are = ("scores", "is") if len(uninformative) == 1 else ("score", "are")
        sentences.append(f"{_join_labels(uninformative)} {verb} all columns equally here and {are} not counted.")
    return sentences


def _join_labels(labels: Sequence[str]) -> str:
    *others, last = labels
    return f"{', '.join(others)} and {last}" if others else last


# Bootstrap samples: with 200, the error of a standard error is about 5 %.
N_BOOTSTRAP = 200
# The most values that are counted per sample: fifteen million take 10 to 20 s for all samples on two cores. A category takes a
# quarter of the time of a number. The fixed cost of a column equals that of so many rows, and more if the target is a number,
# because cut points are then computed outside of kernels.
_MAX_VALUES = 1.5e7
_COLUMN_COST_ROWS, _NUMERIC_TARGET_COST_ROWS = 5_000, 15_000
# Of the intervals of each criterion, of which a report has many.
_INTERVAL_DECIMALS = 1


@dataclass(frozen=True)
class RankIntervals:
    """Intervals of the mean rank.

    Attributes
    ----------
    bounds : ndarray of shape (n_used, 2) or None
        None if there are no intervals.
    n_samples : int
    method : str
        What was resampled, or why nothing was.
    not_resampled, too_slow : list of str
        The labels of the criteria whose ranks are the same in all samples: those that are undefined with duplicated rows, and
        those that cannot be recomputed fast enough from row weights.
    by_criterion : dict of name to ndarray of shape (n_used, 2)
        The intervals of the ranks by each of the other criteria.
    """

    bounds: Floats | None
    n_samples: int
    method: str
    not_resampled: Sequence[str] = ()
    too_slow: Sequence[str] = ()
    by_criterion: Mapping[str, Floats] = field(default_factory=dict)


def rank_intervals(
    table: Table,
    ranking_criteria: Sequence[RankingCriterion],
    ranks: dict[str, Floats],
    seed: int,
    budget: Budget = DEFAULT_BUDGET,
) -> RankIntervals:
    """Return the 95 % bootstrap interval of every column's mean rank.

    Parameters
    ----------
    table : Table
    ranking_criteria : list of RankingCriterion
        The criteria of the mean rank.
    ranks : dict of name to ndarray of shape (n_used,)
        The ranks of the columns by each of them, from all rows.
    seed : int
        Draws the samples.
    budget : Budget

    Returns
    -------
    RankIntervals

    Notes
    -----
    A sample is a weight for every row: columns are coded once, and every criterion counts, cuts and fits again under the weights.
    The interval is the mean rank plus and minus 1.96 bootstrap standard errors, clipped to the first and the last rank, so it
    always contains the mean rank. It covers the expected mean rank of tables of this size. Percentile, basic and BC intervals are
    biased, because a sample has the noise of the table and its own: their coverage is too high for a numeric target, or too low
    (docs/honest-numbers.md has the figures).

    References
    ----------
    Efron and Tibshirani (1993), An Introduction to the Bootstrap, chapters 6 (200 samples are enough for a standard error) and 13.
    Hall and Miller (2009), Using the bootstrap to quantify the authority of an empirical ranking, Annals of Statistics 37.
    """
    rows = positive_weight_rows(table)
    schema = rows.schema
    undefined = [one.label for one in ranking_criteria if not one.relevance.supports_bootstrap]
    if len(undefined) == len(ranking_criteria):
        return RankIntervals(None, 0, "", undefined)
    drawn = make_bootstrap(rows)
    if isinstance(drawn, str):
        return RankIntervals(None, 0, drawn)
    if not bootstrap_cost(schema, budget):
        why = (
            f"{N_BOOTSTRAP} bootstrap samples of {schema.n_rows:,} rows and {len(schema.used):,} columns would exceed the time "
            "budget (max_seconds=, --max-seconds)"
        )
        return RankIntervals(None, 0, why)
    scorers = WeightedScorers.from_relevances(
        {one.name: one.relevance for one in ranking_criteria if one.relevance.supports_bootstrap}, rows, N_BOOTSTRAP
    )
    slow = [one.label for one in ranking_criteria if one.relevance.supports_bootstrap and one.name not in scorers.names]
    if not scorers.names:
        return RankIntervals(None, 0, "", undefined, slow)
    fixed = [ranks[one.name] for one in ranking_criteria if one.name not in scorers.names]
    sampled = bootstrap_ranks(scorers, drawn, seed)
    means = (sampled.sum(axis=1) + sum(fixed)) / len(ranking_criteria)
    whole = np.mean([ranks[one.name] for one in ranking_criteria], axis=0)
    errors = sampled.std(axis=0, ddof=1)
    by_criterion = {
        name: standard_interval(ranks[name], error, 1.0, len(whole))
        for name, error in zip(scorers.names, errors, strict=True)
    }
    bounds = standard_interval(whole, means.std(axis=0, ddof=1), 1.0, len(whole))
    return RankIntervals(bounds, N_BOOTSTRAP, drawn.description, undefined, slow, by_criterion)


def bootstrap_ranks(scorers: WeightedScorers, bootstrap: Resampling, seed: int) -> Floats:
    """Return the ranks of the used columns in every sample by every criterion, of shape (n_samples, n_criteria, n_used)."""

    def ranked(counts: Floats) -> Floats:
        scores = scorers.scores(resampled_weights(scorers.table, counts))
        return np.array([[average_ranks(one) for one in by_criterion] for by_criterion in scores])

    n_rows = scorers.table.schema.n_rows
    return np.concatenate(list(bootstrap.map_samples(ranked, N_BOOTSTRAP, n_rows, make_rng(seed))))


def bootstrap_cost(schema: Schema, budget: Budget) -> float:
    """Return the cost of one bootstrap sample, in counted values; 0 if it exceeds the budget."""
    by_column = _COLUMN_COST_ROWS if schema.has_classes else _NUMERIC_TARGET_COST_ROWS
    values = (schema.n_rows + by_column) * (len(schema.numeric) + len(schema.categorical) / 4)
    return values if values <= budget.scale * _MAX_VALUES else 0.0
