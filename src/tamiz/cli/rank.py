"""`tamiz rank`: rank the columns one by one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from tamiz.cli.command import DataCommand
from tamiz.cli.files import check_output_paths
from tamiz.cli.graph_options import check_uses_graph, graph_options, make_graph_builder
from tamiz.cli.options import (
    MethodParam,
    TableOptions,
    bundled_table_options,
    find_used_options,
    jobs_option,
    json_flag,
    model_option,
    require_target,
    worker_options,
)
from tamiz.cli.terminal import Messenger, show_json, show_table
from tamiz.criteria import registry as criteria
from tamiz.runtime.registry import Entry, command_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tamiz.criteria.entropy_relevance import MissingRule
    from tamiz.graphs.named_builders import NamedBuilder
    from tamiz.statistics.multiple_testing import Correction
    from tamiz.table.schema import Schema

_relevances = MethodParam(criteria, "relevance")
# Those of `adjust_p_values`, whose module would import numpy.
_CORRECTIONS = ("benjamini-hochberg", "benjamini-yekutieli", "holm", "bonferroni")


@click.command(cls=DataCommand, short_help="Rank the columns of a table one by one.")
@bundled_table_options
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
    table_options: TableOptions,
    missing: MissingRule,
    relevance: Entry | None,
    n_features: int | None,
    fdr: float | None,
    correction: str,
    group: str | None,
    n_bootstrap: int | None,
    graph_choice: NamedBuilder | None,
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
    table, target = table_options.table, table_options.target
    require_target((relevance,) if relevance else (), target)
    if model is not None and n_features is None and fdr is None:
        raise click.UsageError("--model needs the number of columns to keep, set with --top, or --fdr.")
    check_output_paths([model], table)
    graph = make_graph_builder(graph_choice, kernel_width, target)
    _check_relevance(context, relevance, on_graph=graph is not None, fdr=fdr)
    messenger: Messenger = context.obj
    from tamiz import rank as rank_columns
    from tamiz import save
    from tamiz.criteria.base import StatisticRelevance, columns_per_pass
    from tamiz.method_lookup import choose_relevance
    from tamiz.runtime import parallel

    name = None if relevance is None else relevance.name

    def choose_passes(schema: Schema) -> Sequence[Sequence[int]] | None:
        chosen = choose_relevance(
            name, schema, with_p_values=fdr is not None, on_graph=graph is not None, missing=missing
        )
        return columns_per_pass([chosen], schema) if isinstance(chosen, StatisticRelevance) else None

    with messenger.capture_messages(), parallel.thread_session(jobs):
        found = rank_columns(
            table_options.open(messenger, group=group, choose_passes=choose_passes),
            relevance=name,
            n_features=n_features,
            fdr=fdr,
            correction=cast("Correction", correction.replace("-", "_")),
            graph=graph,
            missing=missing,
            n_bootstrap=n_bootstrap,
        )
    for sentence in found.warnings:
        messenger.write_note(sentence)
    if model is not None:
        messenger.write_line(f"Written: {save(found.selector, model)}")
    frame = found.to_frame("pyarrow")
    kept = frame.filter(frame["kept"]).drop_columns("kept")
    if as_json:
        show_json({"table": table.name, "target": target, **found.to_dict(), "columns": kept.to_pylist()})
        return
    if found.stability is not None:
        messenger.write_line(f"{found.stability.sentence} {found.stability.method}")
    messenger.write_line(f"{found.label}{f', {found.unit}' if found.unit else ''}")
    show_table(kept.column_names, [list(row.values()) for row in kept.to_pylist()])


def _check_relevance(context: click.Context, requested: Entry | None, *, on_graph: bool, fdr: float | None) -> None:
    """Raise a usage error for options that the requested relevance, or the default one, cannot use."""
    used = requested
    if fdr is not None or find_used_options(context, ("correction",)):
        from tamiz.method_lookup import relevances_with_p_values

        option, tested = "--correction" if fdr is None else "--fdr", relevances_with_p_values()
        used = requested or (criteria.of_kind("relevance") if fdr is None else tested)[0]
        if used not in tested:
            raise click.UsageError(
                f"{option} needs p-values, and {command_name(used)} has none: use --relevance with "
                f"{', '.join(map(command_name, tested))}."
            )
    if on_graph and used is not None:
        check_uses_graph(used.label, used)
