"""The mean rank of every column over all criteria, with its bootstrap interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tamiz.sources.base import Source
from tamiz.sources.schema import Schema
from tamiz.steps.budget import DEFAULT_BUDGET, Budget
from tamiz.steps.rank_intervals import RankIntervals, average_ranks, rank_intervals
from tamiz.steps.scoring import RankingCriterion


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
