"""The columns of a table ranked one by one, and how scores and ranks vary between samples of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats
from sklearn.base import clone

from tamiz.arrays import Floats, Indices
from tamiz.assessment.findings import stability
from tamiz.assessment.resampling import (
    Counts,
    Resampling,
    SampleScorer,
    average_ranks,
    batch_size,
    make_bootstrap,
    make_half_sampling,
    select_highest,
    standard_interval,
)
from tamiz.criteria import registry as criteria
from tamiz.criteria.base import Relevance, StatisticRelevance, score_columns
from tamiz.criteria.entropies import MissingRule
from tamiz.display.column_selection import RankingDisplay
from tamiz.display.figures import write_svg
from tamiz.exceptions import DataError
from tamiz.graphs.builders import GraphBuilder, SameClass
from tamiz.graphs.graph import Graph
from tamiz.graphs.named_builders import resolve_graph
from tamiz.graphs.row_graph import graph_seconds, with_default_graph
from tamiz.runtime import parallel
from tamiz.runtime.codec import pop_rows, to_json
from tamiz.runtime.random import Seed, integer_seed, make_rng
from tamiz.runtime.registry import method_label
from tamiz.runtime.result_tables import align_columns, html_table, make_frame
from tamiz.runtime.user_warnings import collect_warnings, is_muted, note_user, warn, warn_user
from tamiz.runtime.validation import check_integer, check_n_features
from tamiz.runtime.verdicts import Verdict
from tamiz.selection.defaults import choose_relevance, resolve_relevance
from tamiz.selection.rank_selector import RankSelector
from tamiz.statistics.independence import Correction
from tamiz.table.base import Table, weight_array
from tamiz.table.date_parts import split_dates
from tamiz.table.distance_table import distance_matrix_warnings
from tamiz.table.factory import as_table
from tamiz.table.row_groups import group_warnings, monotone_column_warnings
from tamiz.table.views import positive_weight_rows, weight_groups_equally, with_weight

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_HEADER = ("column", "score", "95% interval", "rank", "95% interval", "in the top")


# The fields of the ranking that have an entry for every column, and their names in a row of JSON.
_COLUMN_FIELDS = {
    "names": "name",
    **{f"{of}{what}s": f"{of}{what}" for of in ("score", "rank") for what in ("", "_error", "_interval")},
    "top_shares": "top_share",
}


@dataclass(frozen=True, repr=False)
class RankingStability:
    """Scores and ranks of columns with their standard errors and intervals, and the agreement of the rankings of samples.

    Arrays have an entry for every column of `names`.

    Attributes
    ----------
    relevance, unit : str
        The label of the relevance and the unit of its scores.
    n_rows : int
        The rows of positive weight.
    groups, time : str or None
        The names of the groups or the time, if samples respect them.
    names : tuple of str
        The columns that are not excluded, in the order of the table.
    scores, score_errors : ndarray of shape (n_columns,)
        The scores of the table, as `RankSelector` computes them, and their standard errors.
    score_intervals : ndarray of shape (n_columns, 2)
        The scores plus and minus 1.96 standard errors.
    ranks, rank_errors : ndarray of shape (n_columns,)
        The ranks by these scores and their standard errors: 1 for the largest score; equal scores share the mean of their ranks.
        Constant columns share the last ranks.
    rank_intervals : ndarray of shape (n_columns, 2)
        The ranks plus and minus 1.96 standard errors, cut at the first and the last rank.
    top : int
        The number of columns in the top set of a sample.
    top_shares : ndarray of shape (n_columns,)
        The share of the samples in which the column is in the top set.
    spearman, kendall : float
        The means over the samples of Spearman's correlation and Kendall's tau-b of the ranks of a sample with those of the table;
        0 for a sample in which all columns score equally, NaN if they do so in the table. Constant columns do not count.
    top_stability : float
        The stability of the top sets (Nogueira, Sechidis and Brown 2018): 1 if they are all equal, 0 if they agree as random sets.
    n_bootstrap : int
        The number of samples.
    method : str
        How samples were drawn and scored, in a sentence.
    notes : tuple of str
    seed : int or None
    """

    relevance: str
    unit: str
    n_rows: int
    groups: str | None
    time: str | None
    names: tuple[str, ...]
    scores: Floats
    score_errors: Floats
    score_intervals: Floats
    ranks: Floats
    rank_errors: Floats
    rank_intervals: Floats
    top: int
    top_shares: Floats
    spearman: float
    kendall: float
    top_stability: float
    n_bootstrap: int
    method: str
    notes: tuple[str, ...]
    seed: int | None

    @property
    def sentence(self) -> str:
        """The agreement of the samples, in words."""
        which = "the best column" if self.top == 1 else f"the best {self.top} columns"
        text = f"tability of {which}: {self.top_stability:.2f} (1: the same in all samples, 0: no more agreement than random sets)."
        if np.isnan(self.spearman):
            return f"S{text}"
        return (
            f"Mean correlation of the ranks of a sample with those of the table: {self.spearman:.2f} (Spearman), "
            f"{self.kendall:.2f} (Kendall); s{text}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON types, with an entry for every column in the order of the table."""
        plain = to_json(self)
        plain["columns"] = pop_rows(plain, _COLUMN_FIELDS)
        return plain | {name: None for name in ("spearman", "kendall") if np.isnan(plain[name])}

    def _heading(self) -> str:
        unit = f", {self.unit}" if self.unit else ""
        return f"Ranking stability: {self.relevance}{unit}, {len(self.names):,} columns of {self.n_rows:,} rows"

    def _lines(self) -> list[tuple[str, ...]]:
        order = np.argsort(self.ranks, kind="stable").tolist()
        return [
            (
                self.names[j],
                f"{self.scores[j]:.4g}",
                "{:.4g} to {:.4g}".format(*self.score_intervals[j]),
                f"{self.ranks[j]:g}",
                "{:.1f} to {:.1f}".format(*self.rank_intervals[j]),
                f"{self.top_shares[j]:.0%}",
            )
            for j in order[:_MAX_PRINTED]
        ]

    def _closing(self) -> list[str]:
        n_more = len(self.names) - _MAX_PRINTED
        more = [f"and {n_more:,} more {'column' if n_more == 1 else 'columns'}"] if n_more > 0 else []
        return [*more, self.sentence, self.method, *self.notes]

    def __repr__(self) -> str:
        header = (*_HEADER[:-1], f"{_HEADER[-1]} {self.top}")
        lines = [header, *self._lines()]
        return "\n".join([self._heading(), *align_columns(lines), *self._closing()])

    def _repr_html_(self) -> str:
        paragraphs = "".join(f"<p>{escape(sentence)}</p>" for sentence in self._closing())
        return html_table(self._heading(), self._lines(), (*_HEADER[:-1], f"{_HEADER[-1]} {self.top}")) + paragraphs


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
        # As in `score_columns`. Weights of groups are those of the table: a group that is drawn twice counts twice.
        rows = positive_weight_rows(weight_groups_equally(table) if isinstance(chosen, StatisticRelevance) else table)
        scorer, resampling = _make_sampler(chosen, rows, n_bootstrap)
        scores = score_columns(chosen, table).scores[schema.used]
        size = batch_size(rows.schema.n_rows) if scorer.reweights else 1
        sampled = resampling.map_samples(scorer.scores, n_bootstrap, rng, size)
    how = f"every sample is scored {'by row weights' if scorer.reweights else 'as a table of its own'}"
    notes = tuple(schema.fit_notes)
    warn_user(notes)
    ranks = _rank_columns(scores, candidates)
    sampled_ranks = np.array([_rank_columns(one, candidates) for one in sampled])
    top_sets = np.zeros(sampled.shape, dtype=bool)
    for row, one in zip(top_sets, sampled, strict=True):
        row[candidates] = select_highest(one[candidates], n_top, rng)
    score_errors, rank_errors = (
        resampling.error_factor * values.std(axis=0, ddof=1) for values in (sampled, sampled_ranks)
    )
    spearman, kendall = _mean_correlations(ranks[candidates], sampled_ranks[:, candidates])
    return RankingStability(
        relevance=method_label(criteria, chosen)["label"],
        unit=chosen.unit,
        n_rows=rows.schema.n_rows,
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
        method=f"The standard errors are those of {n_bootstrap:,} samples ({resampling.description}); {how}.",
        notes=notes,
        seed=integer_seed(random_state),
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


def _make_sampler(relevance: Relevance, rows: Table, n_samples: int) -> tuple[SampleScorer, Resampling]:
    copies = _numbers_of_copies(rows)
    make = make_bootstrap if relevance.supports_bootstrap else make_half_sampling
    resampling = make(rows, copies)
    if isinstance(resampling, str):
        raise DataError(f"ranking_stability draws samples of the rows, but {resampling}: at least 10 are needed.")
    # A sample contains some of the rows that a weighted row represents: its counts are the weights.
    drawn = rows if copies is None else with_weight(rows, np.ones(len(copies)), str(rows.schema.weight))
    return SampleScorer(relevance, rows, n_samples, drawn=drawn, reweight=relevance.supports_bootstrap), resampling


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


# Columns of the chart, and lines of the printed table.
_MAX_DRAWN, _MAX_PRINTED = 20, 30
# The neighbour search of a requested graph that takes longer is announced.
_LONG_GRAPH_SECONDS = 60.0


@dataclass(frozen=True, repr=False, eq=False)
class Ranking:
    """The columns of a table, best first, with their scores.

    Tuples have an entry for every column of `columns`.

    Attributes
    ----------
    relevance, label, unit : str
        The name of the relevance on the command line, its label, and the unit of its scores ("" for a plain number).
    columns : tuple of str
        The columns that are not excluded, best first.
    scores : tuple of float
        Larger is better.
    p_values, adjusted_p_values : tuple of float or None
        As in `RankSelector`; None for a relevance without p-values, and where they are not valid.
    kept : tuple of bool
        Whether the column is kept by `n_features` and `fdr`; all are kept without them.
    stability : RankingStability or None
        Ranks and scores over samples of the rows; None without `n_bootstrap`.
    warnings : tuple of Verdict
        The warnings, and notes on excluded columns, groups and columns that sort the rows.
    selector : RankSelector
        The fitted selector; `selector.transform(X)` returns the kept columns.
    """

    relevance: str
    label: str
    unit: str
    columns: tuple[str, ...]
    scores: tuple[float, ...]
    p_values: tuple[float, ...] | None
    adjusted_p_values: tuple[float, ...] | None
    kept: tuple[bool, ...]
    stability: RankingStability | None
    warnings: tuple[Verdict, ...]
    selector: RankSelector

    def to_frame(self, library: str | None = None) -> Any:
        """Return a frame with a row for each column, best first.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}, default=None
            The library of the frame; None is pandas, or pyarrow where pandas is not installed.

        Returns
        -------
        data frame
            With "column", "score" and "kept", "p_value" and "adjusted_p_value" where there are p-values, and with a stability the
            "rank" with its 95 % interval "rank_low" to "rank_high" and the "top_share" of the samples.
        """
        found: dict[str, Any] = {"column": self.columns, "score": self.scores}
        if self.p_values is not None:
            found |= {"p_value": self.p_values, "adjusted_p_value": self.adjusted_p_values}
        if self.stability is not None:
            at = {name: j for j, name in enumerate(self.stability.names)}
            order = [at[name] for name in self.columns]
            low, high = self.stability.rank_intervals[order].T.tolist()
            found |= {
                "rank": self.stability.ranks[order].tolist(),
                "rank_low": low,
                "rank_high": high,
                "top_share": self.stability.top_shares[order].tolist(),
            }
        return make_frame(found | {"kept": np.array(self.kept, dtype=bool)}, library)

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as JSON types; the columns are a list of dictionaries with the names of `to_frame`."""
        found: dict[str, Any] = {"relevance": {"name": self.relevance, "label": self.label, "unit": self.unit}}
        if self.p_values is not None:
            found["correction"] = self.selector.correction.replace("_", "-")
        found["columns"] = self.to_frame("pyarrow").to_pylist()
        if self.stability is not None:
            found["stability"] = self.stability.to_dict()
        return found | {"warnings": [one.to_dict() for one in self.warnings]}

    def plot(self, ax: Axes | None = None) -> RankingDisplay:
        """Draw the scores of the best 20 columns.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        """
        return RankingDisplay(
            self.scores,
            names=self.columns,
            ranking=range(len(self.columns)),
            support=self.kept,
            n_columns=_MAX_DRAWN,
            score_label=self._score_label,
        ).plot(ax)

    @property
    def _score_label(self) -> str:
        return f"{self.label} ({self.unit})" if self.unit else self.label

    def _heading(self) -> str:
        n = len(self.columns)
        columns = "1 column" if n == 1 else f"{n:,} columns"
        return f"Ranking of {columns} by {self._score_label}: {sum(self.kept):,} kept"

    def __repr__(self) -> str:
        frame = self.to_frame("pyarrow")
        rows = [list(row.values()) for row in frame.slice(0, _MAX_PRINTED).to_pylist()]
        lines = [frame.column_names, *([_format_cell(cell) for cell in row] for row in rows)]
        n_more = len(self.columns) - _MAX_PRINTED
        more = [f"and {n_more:,} more {'column' if n_more == 1 else 'columns'}"] if n_more > 0 else []
        closing = [] if self.stability is None else [self.stability.sentence, self.stability.method]
        return "\n".join([self._heading(), *align_columns(lines), *more, *closing])

    def _repr_html_(self) -> str:
        heading = self._heading()
        chart = write_svg(self.plot().figure_, heading) if self.columns else ""
        return f"<figure><figcaption>{escape(heading)}</figcaption>{chart}</figure>"


def _format_cell(cell: Any) -> str:
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


def rank(
    X: Any,
    y: Any = None,
    relevance: Relevance | str | None = None,
    *,
    n_features: float | None = None,
    fdr: float | None = None,
    correction: Correction = "benjamini_hochberg",
    graph: GraphBuilder | Graph | str | None = None,
    missing: MissingRule = "distribute",
    n_bootstrap: int | None = None,
    sample_weight: Any = None,
    groups: Any = None,
    random_state: Seed = 0,
    n_jobs: int | None = None,
) -> Ranking:
    """Rank the columns of a table one by one.

    Parameters
    ----------
    X : array, sparse matrix, data frame or Table
        Dates are split into year, month, weekday and hour.
    y : array of shape (n_samples,), default=None
        The target; a Table has its own. Ignored by a relevance that needs no target.
    relevance : Relevance or str, default=None
        As in `RankSelector`: an object, or its name such as "gain-ratio". None is the first that is defined on the table: with
        `fdr` the first with p-values, with `graph` the first that uses a graph.
    n_features : int or float, default=None
        Number of columns to keep, or all if there are fewer; a float in (0, 1] is a share of the used columns.
    fdr : float, default=None
        Largest adjusted p-value of a column to keep, such as 0.05. The relevance must have p-values.
    correction : {"benjamini_hochberg", "benjamini_yekutieli", "holm", "bonferroni"}, default="benjamini_hochberg"
        How p-values are adjusted for the number of columns: the first two control the false discovery rate, the others the
        probability of any false discovery.
    graph : GraphBuilder, Graph or str, default=None
        The graph of all rows for a relevance that needs one, or its name on the command line, such as "knn:5". None joins 15
        nearest neighbours in standardised columns, of a very long table those of a random sample, with a warning.
    missing : {"distribute", "category"}, default="distribute"
        Share missing values out in proportion to the observed ones, or make missing a category of its own. Ignored where
        `relevance` is an object.
    n_bootstrap : int, default=None
        The number of samples of the rows for `stability`, as in `tamiz.assessment.ranking_stability`. None computes none.
    sample_weight : array of shape (n_samples,), default=None
        As in `RankSelector.fit`.
    groups : array of shape (n_samples,), default=None
        As in `RankSelector.fit`: where the target is constant in every group, a group counts as one row.
    random_state : int, Generator or RandomState, default=0
        Draws the samples of the rows.
    n_jobs : int, default=None
        Threads; None uses all cores available to this process. The numbers do not depend on it.

    Returns
    -------
    Ranking
        Prints as a table; a notebook shows a chart. `to_frame()` returns a data frame.

    Raises
    ------
    DataError
        When the relevance is not defined on the table; the message states why.
    ValueError
        When a parameter cannot be used.

    Notes
    -----
    The scores are those of `RankSelector`. The cost is that of the relevance, and n_bootstrap times as much for the stability.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import tamiz
    >>> iris = load_iris(as_frame=True)
    >>> tamiz.rank(iris.data, iris.target, "fisher-score", n_features=2)
    Ranking of 4 columns by Fisher score: 2 kept
    column              score  kept
    petal length (cm)  0.9414   yes
    petal width (cm)   0.9289   yes
    sepal length (cm)  0.6187    no
    sepal width (cm)   0.4008    no
    """
    if n_bootstrap is not None:
        check_integer("n_bootstrap", n_bootstrap, low=2)
    requested = resolve_relevance(relevance)
    reads_target = requested is None or requested.reads_target or isinstance(X, Table)
    with parallel.thread_session(n_jobs), collect_warnings() as messages:
        table = split_dates(as_table(X, y if reads_target else None, sample_weight, groups=groups))
        schema = table.schema
        chosen = choose_relevance(
            relevance, schema, with_p_values=fdr is not None, on_graph=graph is not None, missing=missing
        )
        if graph is None:
            chosen, rows = with_default_graph(chosen, table)
        else:
            graph = resolve_graph(graph)
            chosen, rows = clone(chosen).set_params(graph=graph), table
            _announce_graph(graph, table)
        n_used = max(len(schema.used), 1)
        top = None if n_features is None else min(check_n_features("n_features", n_features, n_used), n_used)
        selector = RankSelector(chosen, n_features=top, fdr=fdr, correction=correction).fit(rows)
        stability = None if n_bootstrap is None else _resample(rows, chosen, n_bootstrap, top, random_state)
        notes = column_notes(table)
    found = tuple(dict.fromkeys([*messages, *(one for one in notes if not is_muted(one))]))
    note_user(found)
    method = method_label(criteria, chosen)
    used = set(schema.used.tolist())
    order = [j for j in selector.ranking_.tolist() if j in used]
    p_values, adjusted = (
        None if values is None else tuple(values[order].tolist())
        for values in (selector.p_values_, selector.adjusted_p_values_)
    )
    return Ranking(
        relevance=method["id"].replace("_", "-"),
        label=method["label"],
        unit=chosen.unit,
        columns=tuple(schema.names[j] for j in order),
        scores=tuple(selector.scores_[order].tolist()),
        p_values=p_values,
        adjusted_p_values=adjusted,
        kept=tuple(selector.get_support()[order].tolist()),
        stability=stability,
        warnings=found,
        selector=selector,
    )


def _announce_graph(graph: GraphBuilder | Graph, table: Table) -> None:
    """Warn of the time that the graph of all rows takes, if it is long."""
    schema = table.schema
    seconds = graph_seconds(schema.n_rows, schema.n_coordinates)
    if seconds > _LONG_GRAPH_SECONDS and not isinstance(graph, SameClass | Graph):
        warn(
            "TZ502",
            f"The graph that graph= or --graph requests joins all {schema.n_rows:,} rows, each of {schema.n_coordinates:,} "
            f"numbers: at least about {seconds / 60:,.0f} minutes on two cores. Without it, a sample of the rows is joined.",
        )


def _resample(table: Table, chosen: Relevance, n_bootstrap: int, top: int | None, seed: Seed) -> RankingStability:
    n_candidates = sum(not table.schema.columns[j].constant for j in table.schema.used.tolist())
    top = None if top is None else min(top, max(n_candidates, 1))
    return ranking_stability(table, None, chosen, n_bootstrap=n_bootstrap, top=top, random_state=seed)


def column_notes(table: Table) -> list[Verdict]:
    """Return notes on the kind of the target, on excluded columns, on columns that sort the rows, and on groups."""
    return [
        *table.schema.notes,
        *table.schema.excluded_column_notes,
        *distance_matrix_warnings(table),
        *monotone_column_warnings(table),
        *group_warnings(table),
    ]
