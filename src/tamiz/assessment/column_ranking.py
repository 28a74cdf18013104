"""`rank`: the columns of a table ranked one by one, with p-values and intervals of the ranks, as numbers, text and a chart."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from tamiz.assessment.rank_stability import ranking_stability
from tamiz.assessment.ranking_report import RankingStability
from tamiz.criteria import registry as criteria
from tamiz.criteria.base import Relevance
from tamiz.criteria.entropies import MissingRule
from tamiz.display.column_selection import RankingDisplay
from tamiz.display.figures import write_svg
from tamiz.graphs.builder import GraphBuilder
from tamiz.graphs.graph import Graph
from tamiz.graphs.named_builders import resolve_graph
from tamiz.graphs.row_graph import graph_seconds, with_default_graph
from tamiz.graphs.same_class import SameClass
from tamiz.method_lookup import choose_relevance, resolve_relevance
from tamiz.runtime import parallel
from tamiz.runtime.random import Seed
from tamiz.runtime.registry import method_label
from tamiz.runtime.result_tables import align_columns, make_frame
from tamiz.runtime.user_warnings import collect_warnings, is_muted, note_user, warn
from tamiz.runtime.validation import check_integer, check_n_features
from tamiz.runtime.verdicts import Verdict
from tamiz.selection.rank_selector import RankSelector
from tamiz.statistics.independence import Correction
from tamiz.table.base import Table
from tamiz.table.date_parts import split_dates
from tamiz.table.distance_table import distance_matrix_warnings
from tamiz.table.factory import as_table
from tamiz.table.row_groups import group_warnings
from tamiz.table.row_order import monotone_column_warnings

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
        return make_frame({name: list(values) for name, values in found.items()} | {"kept": list(self.kept)}, library)

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
