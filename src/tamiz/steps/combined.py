"""One rank for every column out of all criteria, and how far it would move if other rows had been drawn."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from tamiz import parallel, progress
from tamiz.random import generator
from tamiz.sources.base import Source
from tamiz.sources.schema import Schema
from tamiz.sources.views import Rows, rows_of, weight_of
from tamiz.statistics.base import Floats
from tamiz.steps.resampling import Redraw, redraw
from tamiz.steps.scoring import Ranked, score_columns
from tamiz.warn import held, tell

# Tables drawn again: as many as the ends of an interval of 95 % need, fewer where the table is large, and none where even the least
# number would take minutes. The work of one is rows x columns x criteria, of which a million takes half a second or so.
_MOST_RESAMPLES = 60
_LEAST_RESAMPLES = 25
_WORK = 1.5e7
_MOST_WORK = 3e7
# A class beyond the second is as much work, for the models, as so many criteria.
_CLASS = 2.5
# A number is sorted and cut before it is counted; so many columns of levels are counted in that time.
_LEVELS_FOR_A_NUMBER = 4
# Of very long tables fewer rows are drawn, though not fewer than these.
_LEAST_ROWS = 500
_LEVEL = 0.95
# Scores that differ by a smaller share of the largest are equal: models find them by steps.
_TIE = 1e-9


def describe_combined(
    source: Source, ranked: Sequence[Ranked], ranking: dict[str, Any], seed: int
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
        Draws the rows.

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
    found, n_resamples, how = _intervals(source, counted, ranks, seed)
    combined = _spread(np.mean(list(ranks.values()), axis=0).tolist(), schema)
    return {
        "criteria": list(ranks),
        "ranks": combined,
        "intervals": [None] * schema.n_columns if found is None else _spread(found.tolist(), schema),
        "n_resamples": n_resamples,
        "how": " ".join([*_sentences(ranked, counted, alike, schema), *how]),
    }


def ranks_of(scores: Floats) -> Floats:
    """Return the rank of every score, 1 for the largest; equal scores share the mean of their ranks."""
    order = np.argsort(-scores, kind="stable")
    falls = -np.diff(scores[order]) > _TIE * np.abs(scores).max(initial=0.0)
    place = np.concatenate([[0], np.cumsum(falls)])
    size = np.bincount(place)
    ranks = np.empty(len(scores))
    ranks[order] = (np.cumsum(size) - (size - 1) / 2)[place]
    return ranks


def _counted(ranked: Sequence[Ranked], schema: Schema) -> list[Ranked]:
    """Return the criteria that make up the rank: those that read the target where there is one, for it is what is asked about."""
    told = [one for one in ranked if schema.target is not None and one.relevance.needs_target]
    return told or list(ranked)


def _intervals(
    source: Source, counted: Sequence[Ranked], ranks: dict[str, Floats], seed: int
) -> tuple[Floats | None, int, list[str]]:
    """Return the ends of every column's interval, of how many tables drawn again, and the sentences that tell of it."""
    kept = [one.label for one in counted if not one.relevance.resampled]
    moving = [one for one in counted if one.relevance.resampled]
    rows = _weighing(source)
    n = rows.schema.n_rows
    schema = source.schema
    n_columns = len(schema.numeric) + -(-len(schema.categorical) // _LEVELS_FOR_A_NUMBER)
    n_classes = source.schema.n_classes if source.schema.has_classes else 0
    n_resamples, size = planned(n, n_columns, len(moving), n_classes)
    if not moving:
        return None, 0, [f"There is no interval: {_told(kept)} of rows drawn twice would not mean the same."]
    if not n_resamples:
        return None, 0, ["There is no interval: to score a table of this size again and again would take minutes."]
    drawn = redraw(rows, size)
    if isinstance(drawn, str):
        return None, 0, [f"There is no interval: {drawn}."]
    found = _resampled(rows, [_fixed(one, seed) for one in moving], drawn, n_resamples, seed)
    fixed = [ranks[one.name] for one in counted if not one.relevance.resampled]
    means = np.mean([[*(ranks_of(values) for values in one), *fixed] for one in found], axis=1)
    tail = (1 - _LEVEL) / 2
    how = [
        f"The interval holds the middle {_LEVEL:.0%} of the same rank in {n_resamples} tables of {size:,} rows drawn with "
        f"replacement{f' {drawn.how}' if drawn.how else ''}, each scored again with its own cut points and models."
    ]
    if size < n:
        how.append(
            f"They are smaller than the {n:,} rows of the table, so the intervals are wider than theirs would be."
        )
    if kept:
        how.append(f"{_told(kept)} of rows drawn twice would not mean the same: its ranks stay as they are.")
    return np.quantile(means, [tail, 1 - tail], axis=0).T, n_resamples, how


def planned(n_rows: int, n_columns: int, n_criteria: int, n_classes: int = 2) -> tuple[int, int]:
    """Return how many tables are drawn again, 0 where that would take very long, and of how many rows.

    Parameters
    ----------
    n_rows, n_columns, n_criteria, n_classes : int
    """
    a_row = max(n_columns * (n_criteria + int(_CLASS * max(n_classes - 2, 0))), 1)
    size = min(n_rows, max(_LEAST_ROWS, int(_WORK / (_LEAST_RESAMPLES * a_row))))
    if _LEAST_RESAMPLES * size * a_row > _MOST_WORK:
        return 0, 0
    return max(_LEAST_RESAMPLES, min(_MOST_RESAMPLES, int(_WORK / (size * a_row)))), size


def _resampled(
    rows: Source, moving: Sequence[Ranked], drawn: Redraw, n_resamples: int, seed: int
) -> list[list[Floats]]:
    """Return the scores of the columns in use by every criterion, a list for every table drawn again."""
    used = rows.schema.used if rows.schema.n_columns else np.empty(0, dtype=np.intp)

    def scored(at: Rows) -> tuple[list[Floats], list[str]]:
        view = rows_of(rows, at)
        with held() as said:
            scores, _ = score_columns([replace(one, source=view) for one in moving], view)
        return [scores[one.name][used] for one in moving], said

    rng = generator(seed)
    draws = (drawn.draw(rng) for _ in range(n_resamples))
    found = list(progress.track("Drawing rows again", parallel.map_blocks(scored, draws), n_resamples))
    _tell_of([said for _, said in found])
    return [scores for scores, _ in found]


def _tell_of(said: Sequence[Sequence[str]]) -> None:
    """Tell what models warned of in tables drawn again, each thing once; what becomes of gaps is told of the table itself."""
    counts: dict[str, int] = {}
    first: dict[str, str] = {}
    for sentences in said:
        for sentence in sentences:
            if "missing value" in sentence or "drawn at random" in sentence:
                continue
            kind = re.sub(r"[\d.,]+", "0", sentence)
            counts[kind] = counts.get(kind, 0) + 1
            first.setdefault(kind, sentence)
    tell(f"In {counts[kind]:,} of {len(said):,} tables of rows drawn again: {first[kind]}" for kind in counts)


def _weighing(source: Source) -> Source:
    """Return the rows that have a weight."""
    weight = weight_of(source)
    return source if weight is None or weight.all() else rows_of(source, np.flatnonzero(weight))


def _fixed(one: Ranked, seed: int) -> Ranked:
    """Return a criterion whose lots are the same in every table: a generator handed in would give others in every thread."""
    given = one.relevance.get_params(deep=False).get("random_state", 0)
    if isinstance(given, int):
        return one
    return replace(one, relevance=clone(one.relevance).set_params(random_state=seed % 2**31))


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
