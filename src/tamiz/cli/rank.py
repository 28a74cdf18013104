"""`tamiz rank`: rank the columns one by one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from tamiz.cli.command import bundle, command, option
from tamiz.cli.files import check_output_paths
from tamiz.cli.options import (
    COUNT,
    JSON,
    MISSING,
    MODEL,
    RELEVANCE,
    GraphOptions,
    TableOptions,
    Workers,
    check_uses_graph,
    require_relevance_target,
)
from tamiz.cli.terminal import Messenger, show_frame, show_json
from tamiz.criteria import registry as criteria
from tamiz.runtime.registry import Entry, command_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tamiz.assessment.column_ranking import Ranking
    from tamiz.criteria.entropies import MissingRule
    from tamiz.statistics.independence import Correction
    from tamiz.table.schema import Schema

# Those of `adjust_p_values`, whose module would import numpy.
_CORRECTIONS = ("benjamini-hochberg", "benjamini-yekutieli", "holm", "bonferroni")


@command("Rank the columns of a table one by one.")
def rank(
    messenger: Messenger,
    *,
    table: TableOptions = bundle(
        TableOptions,
        group=option(
            "--group COLUMN",
            text="The column with the group of each row, such as a patient. Where the target is constant within each group, a "
            "group counts as one row. The column is excluded from the features.",
        ),
        time=None,
    ),
    missing: MissingRule = MISSING,
    relevance: Entry | None = option(
        "-r --relevance NAME",
        RELEVANCE,
        f"The score: {RELEVANCE.names}.  [default: the first that applies to the table]",
    ),
    n_features: int | None = option(
        "-k --top --n-features K", COUNT, "Print the best K columns only, or all if there are fewer."
    ),
    fdr: float | None = option(
        "--fdr RATE",
        click.FloatRange(0, 1),
        "Print the columns whose adjusted p-value is at most RATE, such as 0.05. The relevance must have p-values; the default "
        "is independence-test.",
    ),
    correction: str | None = option(
        "--correction",
        click.Choice(_CORRECTIONS),
        "The adjustment of p-values for the number of columns: the first two control the false discovery rate, the others the "
        "probability of any false discovery.  [default: benjamini-hochberg]",
    ),
    n_bootstrap: int | None = option(
        "--stability N",
        click.IntRange(min=2),
        "Also print the rank of each column with its 95 % interval over N samples of the rows, such as 200, and the share of "
        "the samples in which the column is among the best K (of --top).",
    ),
    graph: GraphOptions = bundle(GraphOptions),
    model: Path | None = MODEL,
    as_json: bool = JSON,
    workers: Workers = bundle(Workers),
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
    require_relevance_target(relevance, table.target)
    if model is not None and n_features is None and fdr is None:
        raise click.UsageError("--model needs the number of columns to keep, set with --top, or --fdr.")
    check_output_paths([model], table.table)
    builder = graph.make(table.target)
    _check_relevance(relevance, fdr, correction, on_graph=builder is not None)
    from tamiz import rank as rank_columns
    from tamiz import save
    from tamiz.criteria.base import StatisticRelevance, columns_per_pass
    from tamiz.selection.defaults import choose_relevance

    name = None if relevance is None else relevance.name

    def choose_passes(schema: Schema) -> Sequence[Sequence[int]] | None:
        chosen = choose_relevance(
            name, schema, with_p_values=fdr is not None, on_graph=builder is not None, missing=missing
        )
        return columns_per_pass([chosen], schema) if isinstance(chosen, StatisticRelevance) else None

    with workers.session(messenger):
        found = rank_columns(
            table.open(messenger, choose_passes),
            relevance=name,
            n_features=n_features,
            fdr=fdr,
            correction=cast("Correction", (correction or _CORRECTIONS[0]).replace("-", "_")),
            graph=builder,
            missing=missing,
            n_bootstrap=n_bootstrap,
        )
    for sentence in found.warnings:
        messenger.write_note(sentence)
    if model is not None:
        messenger.write_line(f"Written: {save(found.selector, model)}")
    _write_ranking(messenger, found, table, as_json=as_json)


def _write_ranking(messenger: Messenger, found: Ranking, table: TableOptions, *, as_json: bool) -> None:
    frame = found.to_frame("pyarrow")
    kept = frame.filter(frame["kept"]).drop_columns("kept")
    if as_json:
        show_json({"table": table.table.name, "target": table.target, **found.to_dict(), "columns": kept.to_pylist()})
        return
    if found.stability is not None:
        messenger.write_line(f"{found.stability.sentence} {found.stability.method}")
    messenger.write_line(f"{found.label}{f', {found.unit}' if found.unit else ''}")
    show_frame(kept)


def _check_relevance(requested: Entry | None, fdr: float | None, correction: str | None, *, on_graph: bool) -> None:
    """Raise a usage error for options that the requested relevance, or the default one, cannot use."""
    used = requested
    if fdr is not None or correction is not None:
        from tamiz.selection.defaults import relevances_with_p_values

        option, tested = "--correction" if fdr is None else "--fdr", relevances_with_p_values()
        used = requested or (criteria.of_kind("relevance") if fdr is None else tested)[0]
        if used not in tested:
            raise click.UsageError(
                f"{option} needs p-values, and {command_name(used)} has none: use --relevance with "
                f"{', '.join(map(command_name, tested))}."
            )
    if on_graph and used is not None:
        check_uses_graph(used.label, used)
