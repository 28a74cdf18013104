"""`tamiz rank`: rank the columns one by one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from tamiz.cli.command import DataCommand
from tamiz.cli.files import check_output_paths
from tamiz.cli.graph_options import GraphChoice, graph_options, make_graph_builder
from tamiz.cli.options import (
    MethodParam,
    find_used_options,
    jobs_option,
    json_flag,
    model_option,
    print_read_plan,
    require_target,
    table_options,
    worker_options,
)
from tamiz.cli.terminal import Messenger, show_json, show_table
from tamiz.criteria import registry as criteria
from tamiz.runtime.registry import Entry, command_name

if TYPE_CHECKING:
    from tamiz import RankSelector
    from tamiz.assessment import RankingStability
    from tamiz.criteria.base import Relevance
    from tamiz.graphs.builder import GraphBuilder
    from tamiz.statistics.base import Floats
    from tamiz.statistics.multiple_testing import Correction
    from tamiz.table.base import Table
    from tamiz.table.schema import Kind, Schema, WeightKind

_relevances = MethodParam(criteria, "relevance")
# Those of `adjust_p_values`, whose module would import numpy.
_CORRECTIONS = ("benjamini-hochberg", "benjamini-yekutieli", "holm", "bonferroni")

# The neighbour search of a requested graph that takes longer is announced.
_LONG_GRAPH_SECONDS = 60.0


@click.command(cls=DataCommand, short_help="Rank the columns of a table one by one.")
@table_options
@click.option(
    "-r",
    "--relevance",
    type=_relevances,
    metavar="NAME",
    help=f"The score: {_relevances.names}.  [default: the first that applies to the table]",
)
@click.option(
    "-k",
    "--top",
    "--n-features",
    "n_features",
    type=click.IntRange(min=1),
    metavar="K",
    help="Print the best K columns only, or all if there are fewer.",
)
@click.option(
    "--fdr",
    type=click.FloatRange(0, 1),
    metavar="RATE",
    help="Print the columns whose adjusted p-value is at most RATE, such as 0.05. The relevance must have p-values; the default is "
    "independence-test.",
)
@click.option(
    "--correction",
    type=click.Choice(_CORRECTIONS),
    default="benjamini-hochberg",
    show_default=True,
    help="The adjustment of p-values for the number of columns: the first two control the false discovery rate, the others the "
    "probability of any false discovery.",
)
@click.option(
    "--group",
    metavar="COLUMN",
    help="The column with the group of each row, such as a patient. Where the target is constant within each group, a group "
    "counts as one row. The column is excluded from the features.",
)
@click.option(
    "--stability",
    "n_bootstrap",
    type=click.IntRange(min=2),
    metavar="N",
    help="Also print the rank of each column with its 95 % interval over N samples of the rows, such as 200, and the share of the "
    "samples in which the column is among the best K (of --top).",
)
@graph_options
@model_option
@json_flag
@jobs_option
@worker_options
@click.pass_context
def rank(
    context: click.Context,
    /,
    table: Path,
    target: str | None,
    kinds: dict[str, Kind] | None,
    weight: str | None,
    weights: WeightKind | None,
    missing: str,
    memory: int | None,
    header: bool | None,
    relevance: Entry | None,
    n_features: int | None,
    fdr: float | None,
    correction: str,
    group: str | None,
    n_bootstrap: int | None,
    graph_choice: GraphChoice | None,
    kernel_width: float | None,
    model: Path | None,
    as_json: bool,
    jobs: int | None,
) -> None:
    """\b
    tamiz rank data.csv --target class
    tamiz rank data.csv --target class --relevance gain-ratio --top 10
    tamiz rank data.csv --relevance laplacian-score --graph knn:5
    tamiz rank large.csv --target class --memory 1GB
    tamiz rank data.csv --target class --group patient
    tamiz rank data.csv --target class --top 10 --stability 200
    tamiz rank data.csv --target class --json | jq .columns
    tamiz rank data.csv --target class --top 10 --model best.tamiz

    Rank the columns of TABLE one by one, best first. In a pipe the output is tab separated, with all digits of the scores.
    """
    require_target((relevance,) if relevance else (), target)
    if model is not None and n_features is None and fdr is None:
        raise click.UsageError("--model needs the number of columns to keep, set with --top, or --fdr.")
    check_output_paths([model], table)
    graph = make_graph_builder(graph_choice, kernel_width, target)
    entries = _candidate_entries(relevance, graph, with_p_values=fdr is not None)
    if find_used_options(context, ("correction",)):
        _require_p_values(entries[0], "--correction")
    messenger: Messenger = context.obj
    from tamiz import RankSelector, open_table, save
    from tamiz.runtime import parallel
    from tamiz.table import split_dates

    with messenger.capture_messages(), parallel.thread_session(jobs):
        criteria_of = lambda schema: [choose_criterion(entries, schema, missing)[1]]  # noqa: E731
        print_read_plan(messenger, table, target, kinds, weight, memory, criteria_of, group=group, header=header)
        opened = split_dates(
            open_table(
                table, target, kinds=kinds, weight=weight, weights=weights, groups=group, memory=memory, header=header
            )
        )
        entry, criterion = choose_criterion(entries, opened.schema, missing)
        rows = set_graph(criterion, opened, graph, messenger)
        if n_features is not None:
            # A ranking of fewer columns is printed whole.
            n_features = min(n_features, max(len(opened.schema.used), 1))
        chosen_correction = cast("Correction", correction.replace("-", "_"))
        selector = RankSelector(criterion, n_features=n_features, fdr=fdr, correction=chosen_correction).fit(rows)
        resampled = None if n_bootstrap is None else _resample_ranking(rows, criterion, n_bootstrap, n_features)
    names, ranked = _rows_to_print(selector, resampled)
    print_column_notes(messenger, opened)
    if model is not None:
        messenger.write_line(f"Written: {save(selector, model)}")
    if as_json:
        shown: dict[str, Any] = {
            "table": table.name,
            "target": target,
            "relevance": {"name": command_name(entry), "label": entry.label, "unit": criterion.unit},
            **({"correction": correction} if "p_value" in names else {}),
            "columns": [dict(zip(names, row, strict=True)) for row in ranked],
        }
        if resampled is not None:
            agreement = resampled.to_dict()
            shown["stability"] = {
                name: agreement[name]
                for name in ("n_bootstrap", "top", "spearman", "kendall", "top_stability", "method")
            }
        show_json(shown)
        return
    if resampled is not None:
        messenger.write_line(f"{resampled.sentence} {resampled.method}")
    messenger.write_line(f"{entry.label}{f', {criterion.unit}' if criterion.unit else ''}")
    show_table(names, ranked)


def set_graph(criterion: Relevance, table: Table, requested: GraphBuilder | None, messenger: Messenger) -> Table:
    """Set the graph of a relevance that needs one, and return the rows to rank: a sample of a long table, if none is requested."""
    from tamiz._study.graph import graph_seconds, needs_graph, sample_graph_rows, study_graph_builder
    from tamiz.graphs import SameClass

    if not needs_graph(criterion):
        return table
    schema = table.schema
    if requested is None:
        table = sample_graph_rows(table)
        requested = study_graph_builder(table.schema.n_rows)
    else:
        seconds = graph_seconds(schema.n_rows, schema.n_coordinates)
        if seconds > _LONG_GRAPH_SECONDS and not isinstance(requested, SameClass):
            messenger.write_note(
                f"The graph that --graph requests joins all {schema.n_rows:,} rows, each of {schema.n_coordinates:,} numbers: at "
                f"least about {seconds / 60:,.0f} minutes on two cores. Without --graph it joins a sample of the rows."
            )
    criterion.set_params(graph=requested)
    return table


def _resample_ranking(table: Table, criterion: Relevance, n_samples: int, top: int | None) -> RankingStability:
    from tamiz.assessment import ranking_stability

    n_candidates = sum(not table.schema.columns[j].constant for j in table.schema.used.tolist())
    return ranking_stability(
        table, None, criterion, n_bootstrap=n_samples, top=None if top is None else min(top, max(n_candidates, 1))
    )


def _rows_to_print(
    selector: RankSelector, resampled: RankingStability | None
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return the header and the rows of the selected columns, best first; with p-values and ranks where there are any."""
    kept = selector.get_support()
    order = selector.ranking_[kept[selector.ranking_]]
    printed: dict[str, Any] = {"score": selector.scores_}
    if selector.p_values_ is not None:
        printed |= {"p_value": selector.p_values_, "adjusted_p_value": selector.adjusted_p_values_}
    if resampled is not None:
        printed |= {
            name: _expand_columns(values, selector.schema_)
            for name, values in (
                ("rank", resampled.ranks),
                ("rank_low", resampled.rank_intervals[:, 0]),
                ("rank_high", resampled.rank_intervals[:, 1]),
                ("top_share", resampled.top_shares),
            )
        }
    names = [selector.schema_.columns[j].name for j in order.tolist()]
    return ["column", *printed], list(zip(names, *(values[order].tolist() for values in printed.values()), strict=True))


def _expand_columns(values: Floats, schema: Schema) -> Floats:
    """Return values of the used columns as an array over all columns, of which only the used ones are printed."""
    import numpy as np

    expanded = np.zeros(schema.n_columns)
    expanded[schema.used] = values
    return expanded


def print_column_notes(messenger: Messenger, table: Table) -> None:
    """Print notes on the kind of the target, on excluded columns, on columns that sort the rows, and on groups."""
    from tamiz._study.distance_table import distance_matrix_warnings
    from tamiz.table.row_groups import group_warnings
    from tamiz.table.row_order import monotone_column_warnings

    schema = table.schema
    for sentence in [
        *schema.notes,
        *schema.excluded_column_notes,
        *distance_matrix_warnings(table),
        *monotone_column_warnings(table),
        *group_warnings(table),
    ]:
        messenger.write_note(sentence)


def _candidate_entries(requested: Entry | None, graph: GraphBuilder | None, *, with_p_values: bool) -> list[Entry]:
    """Return the requested relevance, or all: with a graph, those that use one; with `--fdr`, those that have p-values."""
    listed = criteria.of_kind("relevance") if requested is None else [requested]
    if with_p_values:
        if requested is not None:
            _require_p_values(requested, "--fdr")
        listed = [entry for entry in listed if entry.load().offers_p_values]
    if graph is None:
        return listed
    from tamiz._study.graph import needs_graph

    on_graphs = [entry for entry in listed if needs_graph(entry.load()())]
    if not on_graphs:
        raise click.UsageError(f"{listed[0].label} uses no graph: leave out --graph and --t.")
    return on_graphs


def _require_p_values(relevance: Entry, option: str) -> None:
    """Raise a usage error for an option that needs p-values where the relevance has none."""
    if not relevance.load().offers_p_values:
        from tamiz.method_lookup import relevances_with_p_values

        names = ", ".join(map(command_name, relevances_with_p_values()))
        raise click.UsageError(
            f"{option} needs p-values, and {command_name(relevance)} has none: use --relevance with {names}."
        )


def choose_criterion(entries: list[Entry], schema: Schema, missing: str) -> tuple[Entry, Relevance]:
    """Return the first relevance that applies to the table, adapted to its schema."""
    for entry in entries:
        relevance = entry.load()().with_missing(missing)
        suited = relevance.adapt_to(schema)
        if suited is not None:
            return entry, suited
        if len(entries) == 1:
            relevance.check(schema)
    raise ValueError(f"No relevance applies to this table; available are {_relevances.names}.")
