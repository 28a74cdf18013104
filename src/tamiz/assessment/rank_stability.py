"""Stability of a ranking: how the scores and ranks of columns vary between samples of the rows."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from scipy import stats
from sklearn.base import clone

from tamiz.arrays import Floats, Indices
from tamiz.assessment.ranking_report import RankingStability
from tamiz.assessment.resampling import (
    Counts,
    Resampling,
    average_ranks,
    make_bootstrap,
    make_half_sampling,
    standard_interval,
)
from tamiz.assessment.set_stability import stability
from tamiz.criteria import registry as criteria
from tamiz.criteria.base import Relevance, StatisticRelevance, WeightedScorers, score_columns, score_rows
from tamiz.error_control.half_samples import select_highest
from tamiz.exceptions import DataError
from tamiz.method_lookup import choose_relevance, resolve_relevance
from tamiz.runtime import parallel
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.registry import method_label
from tamiz.runtime.user_warnings import capture_warnings, warn_user
from tamiz.runtime.validation import check_integer
from tamiz.table.base import Table
from tamiz.table.factory import as_table
from tamiz.table.row_groups import weight_groups_equally
from tamiz.table.views import (
    positive_weight_rows,
    resampled_weights,
    select_rows,
    target_array,
    weight_array,
    with_weight,
)

# The default of `top` is half of the columns, and at most this number.
_MAX_TOP = 10


def ranking_stability(
    X: Any,
    y: Any = None,
    relevance: Relevance | str | None = None,
    *,
    n_bootstrap: int = 200,
    top: int | None = None,
    groups: Any = None,
    time: Any = None,
    sample_weight: Any = None,
    random_state: Seed = 0,
    n_jobs: int | None = None,
) -> RankingStability:
    r"""Return the scores and ranks of the columns with their standard errors and 95 % intervals over samples of the rows.

    The standard error of a score or rank is the standard deviation over the samples, and its interval

    .. math:: s_j \pm 1.96 \, \mathrm{se}_j

    Parameters
    ----------
    X : array, sparse matrix, data frame or Table
    y : array of shape (n_samples,), default=None
        Ignored by a relevance that needs no target.
    relevance : Relevance or str, default=None
        As in `RankSelector`.
    n_bootstrap : int, default=200
        The number of samples, at least 2. With 200 the error of a standard error is about 5 %.
    top : int, default=None
        The number of columns in the top set of a sample. None is half of the columns that are not constant, at most 10.
    groups : array of shape (n_samples,), default=None
        Samples consist of whole groups (cluster bootstrap). As in `RankSelector`, each group counts once where the target is
        constant in every group.
    time : array of shape (n_samples,), default=None
        Samples consist of blocks of n^(1/3) rows that are consecutive in time (moving block bootstrap).
    sample_weight : array of shape (n_samples,), default=None
        A row with frequency weight 2 is two rows, of which a sample may contain one. Rows with sampling weights, and groups, are
        drawn with their weights: so `groups=np.arange(n)` draws each row with its weight.
    random_state : int, Generator or RandomState, default=0
    n_jobs : int, default=None
        Threads; None uses all cores available to this process. The numbers do not depend on it.

    Returns
    -------
    RankingStability

    Raises
    ------
    DataError
        When there are fewer than 10 rows or groups, when all columns are constant, or when the relevance is not defined on the
        table or a sample of it.
    ValueError
        When a parameter cannot be used.

    Notes
    -----
    A sample is a bootstrap sample of n rows drawn with replacement. Where relevances compare rows or test models on held-out rows
    (`supports_bootstrap` is False), a row that is drawn twice would be its own neighbour, or would be in both parts. Their
    samples have half of the rows, each at most once. The standard error is then that of the delete-d jackknife: for m of n rows
    :math:`\sqrt{m / (n - m)}` times the standard deviation, a factor of 1 for halves. Where a class has fewer than 20 rows,
    each class is halved.

    The rank of a column in a sample has the noise of the table and that of the sample, so it varies about a rank nearer the middle.
    The interval therefore uses the standard deviation only, and contains the rank of the table (docs/honest-numbers.md). The
    interval of a score is not cut: it may exceed the range of the score. A score with a bias at n rows, such as an entropy-based
    score of a useless column, has an interval for its expectation in tables of n rows. The scores of half-samples are those of
    n / 2 rows; only their spread is used.

    In a sample with one value of the target all columns score 0. Among equal scores at the end of the top set, random columns are
    chosen. Constant columns are in no top set.

    The cost is that of n_bootstrap rankings. Relevances from counts code the columns once, and those with
    `make_reweighted_scorer` fit all samples together, with the approximations of docs/rankings.md; others are scored anew on
    the rows of each sample, n_bootstrap times the time of `RankSelector`.

    References
    ----------
    Efron and Tibshirani (1993), An Introduction to the Bootstrap, chapter 6.
    Shao and Wu (1989), A general theory for jackknife variance estimation, Annals of Statistics 17.
    Hall and Miller (2009), Using the bootstrap to quantify the authority of an empirical ranking, Annals of Statistics 37.
    Nogueira, Sechidis and Brown (2018), On the stability of feature selection algorithms, Journal of Machine Learning Research 18.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz.assessment import ranking_stability
    >>> from tamiz.criteria import FisherScore
    >>> iris = load_iris(as_frame=True)
    >>> found = ranking_stability(iris.data, iris.target, FisherScore(), top=2)
    >>> found.ranks.tolist(), found.rank_intervals.round(1).tolist()
    ([3.0, 4.0, 1.0, 2.0], [[2.9, 3.1], [3.9, 4.0], [1.0, 1.7], [1.3, 2.7]])
    >>> found.top_shares.tolist(), found.top_stability
    ([0.0, 0.0, 1.0, 1.0], 1.0)
    """
    check_integer("n_bootstrap", n_bootstrap, low=2)
    rng, requested = make_rng(random_state), resolve_relevance(relevance)
    with parallel.thread_session(n_jobs):
        reads_target = requested is None or requested.reads_target or isinstance(X, Table)
        table = as_table(X, y if reads_target else None, sample_weight, groups=groups, time=time)
        schema = table.schema
        chosen = choose_relevance(relevance, schema)
        chosen.check(schema)
        candidates = np.array([k for k, j in enumerate(schema.used) if not schema.columns[j].constant], dtype=np.intp)
        n_top = _check_top(top, len(candidates))
        sampler = _Sampler(chosen, table, n_bootstrap)
        scores = score_columns(chosen, table).scores[schema.used]
        sampled = sampler.scores(n_bootstrap, rng)
    notes = tuple(schema.fit_notes)
    warn_user(notes)
    ranks = _rank_columns(scores, candidates)
    sampled_ranks = np.array([_rank_columns(one, candidates) for one in sampled])
    top_sets = np.zeros(sampled.shape, dtype=bool)
    for row, one in zip(top_sets, sampled, strict=True):
        row[candidates] = select_highest(one[candidates], n_top, rng)
    score_errors, rank_errors = (
        sampler.resampling.error_factor * values.std(axis=0, ddof=1) for values in (sampled, sampled_ranks)
    )
    spearman, kendall = _mean_correlations(ranks[candidates], sampled_ranks[:, candidates])
    return RankingStability(
        relevance=method_label(criteria, chosen)["label"],
        unit=chosen.unit,
        n_rows=sampler.rows.schema.n_rows,
        groups=schema.groups,
        time=schema.time,
        names=tuple(schema.columns[j].name for j in schema.used.tolist()),
        scores=scores,
        score_errors=score_errors,
        score_intervals=standard_interval(scores, score_errors),
        ranks=ranks,
        rank_errors=rank_errors,
        rank_intervals=standard_interval(ranks, rank_errors, 1.0, float(len(ranks))),
        top=n_top,
        top_shares=top_sets.mean(axis=0),
        spearman=spearman,
        kendall=kendall,
        top_stability=stability(top_sets[:, candidates]).estimate,
        n_bootstrap=n_bootstrap,
        method=f"The standard errors are those of {n_bootstrap:,} samples ({sampler.resampling.description}); {sampler.how}.",
        notes=notes,
        seed=int(random_state) if isinstance(random_state, Integral) else None,
    )


def _check_top(top: int | None, n_candidates: int) -> int:
    if not n_candidates:
        raise DataError("ranking_stability requires a column that is not constant: the table has none.")
    if top is None:
        return max(1, min(_MAX_TOP, n_candidates // 2))
    n = check_integer("top", top, low=1)
    if n > n_candidates:
        raise ValueError(
            f"top={n} exceeds the {n_candidates} used columns that are not constant; ask for at most these."
        )
    return n


class _Sampler:
    """Draws samples of the rows of a table and scores its columns in each.

    Attributes
    ----------
    rows : Table
        The rows of positive weight.
    resampling : Resampling
    how : str
        How a sample is scored, in words.
    """

    def __init__(self, relevance: Relevance, table: Table, n_samples: int) -> None:
        by_counts = isinstance(relevance, StatisticRelevance)
        self._relevance = relevance
        # As in `score_columns`. Weights of groups are those of the table: a group that is drawn twice counts twice.
        self.rows = positive_weight_rows(weight_groups_equally(table) if by_counts else table)
        copies = _numbers_of_copies(self.rows)
        make = make_bootstrap if relevance.supports_bootstrap else make_half_sampling
        resampling = make(self.rows, copies)
        if isinstance(resampling, str):
            raise DataError(f"ranking_stability draws samples of the rows, but {resampling}: at least 10 are needed.")
        self.resampling: Resampling = resampling
        self._single = self.rows
        if copies is not None:
            # A sample contains some of the rows that a weighted row represents: its counts are the weights.
            self._single = with_weight(self.rows, np.ones(len(copies)), str(self.rows.schema.weight))
        self._scorers = WeightedScorers.from_relevances(
            {"": relevance} if relevance.supports_bootstrap else {}, self.rows, n_samples
        )
        reweighted = bool(self._scorers.names)
        self.how = (
            "every sample is scored by row weights" if reweighted else "every sample is scored as a table of its own"
        )
        self._score_batch: Callable[[Floats], Floats] = self._score_weights if reweighted else self._score_tables

    def scores(self, n_samples: int, rng: np.random.Generator) -> Floats:
        """Return the scores of the used columns in every sample, of shape (n_samples, n_used)."""
        max_batch = {} if self._scorers.names else {"max_batch": 1}
        n_rows = self.rows.schema.n_rows
        return np.concatenate(list(self.resampling.map_samples(self._score_batch, n_samples, n_rows, rng, **max_batch)))

    def _score_weights(self, counts: Floats) -> Floats:
        with capture_warnings():
            return self._scorers.scores(resampled_weights(self._single, counts))[:, 0]

    def _score_tables(self, counts: Floats) -> Floats:
        return np.array([self._score_table(one.astype(np.intp)) for one in counts])

    def _score_table(self, counts: Indices) -> Floats:
        schema = self.rows.schema
        with capture_warnings():
            sample = select_rows(self._single, np.repeat(np.arange(len(counts)), counts))
            if self._relevance.reads_target and not np.ptp(target_array(sample)):
                return np.zeros(len(schema.used))
            relevance = clone(self._relevance)
            try:
                return score_rows(relevance, sample)[schema.used]
            except DataError as error:
                raise DataError(
                    f"{type(relevance).__name__} is not defined on a sample of {len(np.flatnonzero(counts)):,} of the "
                    f"{schema.n_rows:,} rows: {error}"
                ) from error


def _numbers_of_copies(rows: Table) -> Counts | None:
    """Return the number of equal rows that each row is, None if rows are drawn with their weights, or have none."""
    weight = weight_array(rows)
    if weight is None or rows.groups is not None or rows.schema.weight_kind == "sampling":
        return None
    return weight.astype(np.int64)


def _rank_columns(scores: Floats, candidates: Indices) -> Floats:
    """Return the ranks of the candidates; the other columns, which are constant, share the last ranks."""
    n = len(scores)
    ranks = np.full(n, (len(candidates) + 1 + n) / 2)
    ranks[candidates] = average_ranks(scores[candidates])
    return ranks


def _mean_correlations(ranks: Floats, sampled: Floats) -> tuple[float, float]:
    """Return the means of Spearman's correlation and Kendall's tau-b of the ranks with those of every sample."""
    if np.ptp(ranks) == 0:
        return float("nan"), float("nan")
    varied = sampled[np.ptp(sampled, axis=1) > 0]
    centred, own = varied - varied.mean(axis=1, keepdims=True), ranks - ranks.mean()
    spearman = centred @ own / np.sqrt((centred**2).sum(axis=1) * (own @ own))
    kendall = [float(stats.kendalltau(ranks, one).statistic) for one in varied]
    return float(spearman.sum()) / len(sampled), sum(kendall) / len(sampled)
