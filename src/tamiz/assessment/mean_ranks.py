"""The mean rank of every column over all criteria, with its bootstrap interval.

A bootstrap sample is a count for every row, used as a weight. Every criterion ranks all columns again under these weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tamiz.arrays import Floats
from tamiz.assessment.findings import MeanRank
from tamiz.assessment.resampling import (
    Resampling,
    WeightedScorers,
    average_ranks,
    batch_size,
    make_bootstrap,
    standard_interval,
)
from tamiz.criteria import registry as criteria
from tamiz.criteria.base import (
    Relevance,
    RowRelevance,
    StatisticRelevance,
    StatisticsCache,
    gather_statistics,
)
from tamiz.criteria.entropies import MissingRule
from tamiz.exceptions import DataError
from tamiz.graphs.row_graph import RowGraph, needs_graph
from tamiz.runtime.random import make_rng
from tamiz.runtime.registry import entry_label, method_label, number_repeated
from tamiz.runtime.validation import check_integer
from tamiz.table.base import Table
from tamiz.table.factory import as_table
from tamiz.table.schema import Schema
from tamiz.table.views import positive_weight_rows, resampled_weights, weight_groups_equally

# Bootstrap samples: with 200, the error of a standard error is about 5 %.
N_BOOTSTRAP = 200
# Of the intervals of each criterion, of which a report has many.
_INTERVAL_DECIMALS = 1


@dataclass(frozen=True)
class RankingCriterion:
    """One criterion of a ranking."""

    name: str
    label: str
    relevance: Relevance
    table: Table


def score_columns(
    ranking_criteria: Sequence[RankingCriterion], table: Table
) -> tuple[dict[str, Floats], StatisticsCache]:
    """Return the scores of every column by criterion, and the statistics that were collected in passes shared by all criteria."""
    schema = table.schema
    for one in ranking_criteria:
        one.relevance.check(schema)
    by_rows = {
        one.name: one.relevance.score(one.table) for one in ranking_criteria if isinstance(one.relevance, RowRelevance)
    }
    counted = {one.name: one.relevance for one in ranking_criteria if isinstance(one.relevance, StatisticRelevance)}
    known = gather_statistics(list(counted.values()), table.reduce, schema)
    scores = by_rows | {name: relevance.scores(known, schema) for name, relevance in counted.items()}
    return {one.name: scores[one.name] for one in ranking_criteria}, known


def choose_ranking_criteria(
    requested: Sequence[Relevance] | None, schema: Schema, missing: MissingRule, row_graph: RowGraph
) -> list[RankingCriterion]:
    """Return the requested criteria, adapted to the table; by default the registered ones that are defined for it and cheap."""
    chosen = (
        []
        if requested is None
        else [(label, part.adapt_to(schema) or part) for label, part in _number_duplicates(requested)]
    )
    for entry in criteria.of_kind("relevance") if requested is None else ():
        part = entry.load()().with_missing(missing).adapt_to(schema)
        if part is not None and part.used_by_default and (row_graph.graph is not None or not needs_graph(part)):
            chosen.append((entry_label(entry), part))
    with_graph = [(label, row_graph.with_graph(part)) for label, part in chosen]
    return [
        RankingCriterion(label["id"], label["label"], part, row_graph.table_for(part)) for label, part in with_graph
    ]


def _number_duplicates(requested: Sequence[Relevance]) -> list[tuple[dict[str, str], Relevance]]:
    """Return relevances with their labels, numbered if a class occurs more than once."""
    labels = [method_label(criteria, relevance) for relevance in requested]
    numbered = number_repeated([label["id"] for label in labels])
    return [
        (label if name == label["id"] else {"id": name, "label": repr(relevance)}, relevance)
        for label, name, relevance in zip(labels, numbered, requested, strict=True)
    ]


def mean_rank(
    X: Any,
    y: Any = None,
    relevances: Sequence[Relevance] | None = None,
    *,
    n_bootstrap: int = N_BOOTSTRAP,
    sample_weight: Any = None,
    groups: Any = None,
    time: Any = None,
    random_state: int = 0,
) -> MeanRank:
    """Return the mean rank of every column over several criteria, with its 95 % bootstrap interval.

    Parameters
    ----------
    X : array, data frame or Table
    y : array of shape (n_samples,), default=None
    relevances : list of Relevance, default=None
        The criteria. None is every criterion of low cost that is defined on the table and needs no graph.
    n_bootstrap : int, default=200
        The number of bootstrap samples, at least 2; with 200, the error of a standard error is about 5 %.
    sample_weight, groups, time
        As in `ranking_stability`.
    random_state : int, default=0
        Draws the samples.

    Returns
    -------
    MeanRank

    Raises
    ------
    DataError
        When no column or no criterion can be used, or when a criterion is not defined on the table.

    Notes
    -----
    Criteria that do not use the target are not counted where another one does, nor those that score all columns equally. A sample
    is a weight for every row: columns are coded once, and every criterion counts, cuts and fits again under the weights. The
    interval is the mean rank plus and minus 1.96 bootstrap standard errors, clipped to the first and the last rank, so it
    always contains the mean rank. It covers the expected mean rank of tables of this size. Percentile, basic and BC intervals are
    biased, because a sample has the noise of the table and its own: their coverage is too high for a numeric target, or too low
    (benchmarks/measured.md has the figures). The cost is that of n_bootstrap + 1 rankings by each criterion.

    References
    ----------
    Efron and Tibshirani (1993), An Introduction to the Bootstrap, chapters 6 (200 samples are enough for a standard error) and 13.
    Hall and Miller (2009), Using the bootstrap to quantify the authority of an empirical ranking, Annals of Statistics 37.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz.assessment import mean_rank
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> [round(one, 2) for one in mean_rank(X, y, n_bootstrap=20).ranks]
    [3.17, 3.83, 1.67, 1.33]
    """
    check_integer("n_bootstrap", n_bootstrap, low=2)
    table = weight_groups_equally(as_table(X, y, sample_weight, groups=groups, time=time))
    used = choose_ranking_criteria(relevances, table.schema, "distribute", RowGraph(table))
    scores, _ = score_columns(used, table)
    found = combine_ranks(table, used, scores, random_state, n_bootstrap=n_bootstrap)
    if found is None:
        raise DataError("mean_rank requires at least one column and one criterion that is defined on the table.")
    return found


def combine_ranks(
    table: Table,
    ranking_criteria: Sequence[RankingCriterion],
    scores: Mapping[str, Any],
    seed: int,
    *,
    n_bootstrap: int | None = None,
    refusal: str = "",
) -> MeanRank | None:
    """Return the mean ranks of columns by their scores, None if no column or no criterion is included.

    `refusal` is a reason why there are no intervals; "" computes them.
    """
    schema = table.schema
    # Criteria that use the target, or all of them if none does.
    supervised = [one for one in ranking_criteria if schema.target is not None and one.relevance.needs_target]
    included = supervised or list(ranking_criteria)
    if not included or not len(schema.used):
        return None
    ranks = {one.name: average_ranks(np.asarray(scores[one.name], dtype=np.float64)[schema.used]) for one in included}
    informative = [one for one in included if ranks[one.name].min() < ranks[one.name].max()] or included
    equal = [one.label for one in included if one not in informative]
    n = len(informative)
    over = "by one criterion" if n == 1 else f"by {n} criteria"
    sentences = [f"The mean of a column's ranks {over}; columns with equal scores share the mean of their ranks."]
    if unsupervised := [one.label for one in ranking_criteria if one not in included]:
        verb, are = ("does", "is") if len(unsupervised) == 1 else ("do", "are")
        sentences.append(f"{_join_labels(unsupervised)} {verb} not use the target and {are} not counted.")
    if equal:
        verb, are = ("scores", "is") if len(equal) == 1 else ("score", "are")
        sentences.append(f"{_join_labels(equal)} {verb} all columns equally here and {are} not counted.")
    ranks = {one.name: ranks[one.name] for one in informative}
    rows = positive_weight_rows(table)
    undefined = [one.label for one in informative if not one.relevance.supports_bootstrap]
    resampled = {one.name: one.relevance for one in informative if one.relevance.supports_bootstrap}
    bootstrap = make_bootstrap(rows) if resampled and not refusal else refusal
    n_samples = N_BOOTSTRAP if n_bootstrap is None else n_bootstrap
    scorers = WeightedScorers.from_relevances({} if isinstance(bootstrap, str) else resampled, rows, n_samples)
    reasons = []
    if undefined:
        reasons.append(f"{_join_labels(undefined)} cannot be computed from a sample that contains a row twice")
    slow = [one.label for one in informative if one.name in resampled and one.name not in scorers.names]
    if slow:
        reasons.append(f"to compute {_join_labels(slow)} in every bootstrap sample would take minutes")
    mean = np.mean(list(ranks.values()), axis=0)
    bounds: Sequence[Any] = [None] * len(schema.used)
    by_criterion: dict[str, tuple[Any, ...]] = {}
    if isinstance(bootstrap, str) or not scorers.names:
        why = bootstrap if isinstance(bootstrap, str) and bootstrap else "; ".join(reasons)
        sentences.append(f"There is no interval: {why}.")
        n_samples = 0
    else:
        sampled = bootstrap_ranks(scorers, bootstrap, seed, n_samples)
        fixed = [ranks[name] for name in ranks if name not in scorers.names]
        means = (sampled.sum(axis=1) + sum(fixed)) / n
        bounds = _interval(mean, means)
        for name, of_criterion in zip(scorers.names, sampled.swapaxes(0, 1), strict=True):
            intervals = _interval(ranks[name], of_criterion, _INTERVAL_DECIMALS)
            by_criterion[name] = _expand_to_all_columns(intervals, schema)
        sentences.append(
            f"The 95% interval is the mean rank plus and minus 1.96 standard errors from {n_samples} bootstrap samples "
            f"({bootstrap.description}): every criterion ranks all columns again in each of them, with its own cut points and "
            "models."
        )
        if reasons:
            reason, its = "; ".join(reasons), "its" if len(fixed) == 1 else "their"
            sentences.append(f"{reason[0].upper()}{reason[1:]}: {its} ranks are the same in all samples.")
    return MeanRank(
        columns=tuple(schema.names),
        criteria=tuple(ranks),
        ranks=_expand_to_all_columns(mean.tolist(), schema),
        intervals=_expand_to_all_columns(bounds, schema),
        criterion_intervals=by_criterion,
        n_bootstrap=n_samples,
        method=" ".join(sentences),
    )


def bootstrap_ranks(scorers: WeightedScorers, bootstrap: Resampling, seed: int, n_samples: int) -> Floats:
    """Return the ranks of the used columns in every sample by every criterion, of shape (n_samples, n_criteria, n_used)."""

    def ranked(counts: Floats) -> Floats:
        scores = scorers.scores(resampled_weights(scorers.table, counts))
        return np.array([[average_ranks(one) for one in by_criterion] for by_criterion in scores])

    return bootstrap.map_samples(ranked, n_samples, make_rng(seed), batch_size(scorers.table.schema.n_rows))


def _interval(ranks: Floats, sampled: Floats, decimals: int | None = None) -> list[tuple[float, float]]:
    """Return ranks plus and minus 1.96 standard deviations of those of the samples, clipped to the first and the last rank."""
    found = standard_interval(ranks, sampled.std(axis=0, ddof=1), 1.0, len(ranks))
    return list(map(tuple, (found if decimals is None else found.round(decimals)).tolist()))


def _expand_to_all_columns(values: Sequence[Any], schema: Schema) -> tuple[Any, ...]:
    """Return values of the used columns as a tuple over all columns, None for the others."""
    of_used = dict(zip(schema.used.tolist(), values, strict=True))
    return tuple(of_used.get(j) for j in range(schema.n_columns))


def _join_labels(labels: Sequence[str]) -> str:
    *others, last = labels
    return f"{', '.join(others)} and {last}" if others else last
