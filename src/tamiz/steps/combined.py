"""The mean rank of every column over all criteria, with its bootstrap interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tamiz.sources.base import Source
from tamiz.sources.schema import Schema
from tamiz.steps.budget import USUAL, Budget
from tamiz.steps.rank_intervals import RankIntervals, rank_intervals, ranks_of
from tamiz.steps.scoring import Ranked


def describe_combined(
    source: Source, ranked: Sequence[Ranked], ranking: dict[str, Any], seed: int, budget: Budget = USUAL
) -> dict[str, Any] | None:
    """Return the mean rank of every column and its bootstrap interval.

    Parameters
    ----------
    source : Source
    ranked : list of Ranked
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
    counted = _counted(ranked, schema)
    if not counted or not len(schema.used):
        return None
    scores = {one.name: np.array(ranking["scores"][one.name], dtype=np.float64)[schema.used] for one in counted}
    ranks = {name: ranks_of(values) for name, values in scores.items()}
    told_apart = [one for one in counted if ranks[one.name].min() < ranks[one.name].max()]
    alike = [one.label for one in counted if one not in told_apart] if told_apart else []
    counted = told_apart or counted
    ranks = {one.name: ranks[one.name] for one in counted}
    found = rank_intervals(source, counted, ranks, seed, budget)
    combined = _spread(np.mean(list(ranks.values()), axis=0).tolist(), schema)
    return {
        "criteria": list(ranks),
        "ranks": combined,
        "intervals": [None] * schema.n_columns if found.ends is None else _spread(found.ends.tolist(), schema),
        "n_resamples": found.n_samples,
        "how": " ".join([*_sentences(ranked, counted, alike, schema), *_interval_sentences(found)]),
    }


def _counted(ranked: Sequence[Ranked], schema: Schema) -> list[Ranked]:
    """Return the criteria that make up the rank: those that read the target where there is one, for it is what is asked about."""
    told = [one for one in ranked if schema.target is not None and one.relevance.needs_target]
    return told or list(ranked)


def _interval_sentences(found: RankIntervals) -> list[str]:
    """Return how the intervals were computed, or why there are none."""
    reasons = []
    if found.undefined:
        reasons.append(f"{_told(found.undefined)} cannot be computed from a sample that contains a row twice")
    if found.slow:
        reasons.append(f"to compute {_told(found.slow)} in every bootstrap sample would take minutes")
    if found.ends is None:
        return [f"There is no interval: {found.how or '; '.join(reasons)}."]
    sentences = [
        f"The 95% interval is the mean rank plus and minus 1.96 standard errors from {found.n_samples} bootstrap samples "
        f"({found.how}): every criterion ranks all columns again in each of them, with its own cut points and models."
    ]
    if reasons:
        n = len(found.undefined) + len(found.slow)
        reason = "; ".join(reasons)
        sentences.append(
            f"{reason[0].upper()}{reason[1:]}: {'its' if n == 1 else 'their'} ranks are the same in all samples."
        )
    return sentences


def _spread(values: Sequence[Any], schema: Schema) -> list[Any]:
    """Return values of the columns in use as those of all columns, None for the others."""
    whole: list[Any] = [None] * schema.n_columns
    for j, value in zip(schema.used.tolist(), values, strict=True):
        whole[j] = value
    return whole


def _sentences(ranked: Sequence[Ranked], counted: Sequence[Ranked], alike: Sequence[str], schema: Schema) -> list[str]:
    n = len(counted)
    over = "by one criterion" if n == 1 else f"by {n} criteria"
    sentences = [f"The mean of a column's ranks {over}; columns with equal scores share the mean of their ranks."]
    silent = [one.label for one in ranked if one not in counted and one.label not in alike]
    if silent:
        assert schema.target is not None
        one = len(silent) == 1
        sentences.append(
            f"{_told(silent)} {'does' if one else 'do'} not read {schema.target.name} and {'is' if one else 'are'} not counted."
        )
    if alike:
        one = len(alike) == 1
        sentences.append(
            f"{_told(alike)} {'scores' if one else 'score'} all columns alike here and {'is' if one else 'are'} not counted."
        )
    return sentences


def _told(labels: Sequence[str]) -> str:
    *others, last = labels
    return f"{', '.join(others)} and {last}" if others else last
