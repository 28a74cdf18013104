"""`tamiz select`: columns chosen together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tamiz.cli.command import INTERRUPTED, Work
from tamiz.cli.options import (
    FILE,
    jobs_option,
    json_flag,
    need_target,
    search_options,
    seed_option,
    stop_after,
    table_options,
    tell_plan,
)
from tamiz.cli.places import STDOUT, check_places, check_table_ending, write_table
from tamiz.cli.rank import tell_columns
from tamiz.cli.terminal import Voice, show_lines
from tamiz.registry import Entry

if TYPE_CHECKING:
    from tamiz import SubsetSelector
    from tamiz.sources.schema import Kind


@click.command(cls=Work, short_help="Choose columns that are best together.")
@table_options
@search_options
@click.option(
    "-o",
    "--output",
    type=FILE,
    metavar="FILE",
    help="Write every row with the chosen columns and the target, as CSV, TSV, Parquet or Arrow by the name's ending.",
)
@json_flag
@seed_option
@jobs_option
@click.pass_context
def select(
    context: click.Context,
    table: Path,
    target: str | None,
    kinds: dict[str, Kind] | None,
    weight: str | None,
    missing: str,
    memory: int | None,
    merit: Entry,
    search: Entry,
    n_features: int | tuple[int, int] | None,
    journal: Path | None,
    max_evaluations: int | None,
    max_seconds: float | None,
    output: Path | None,
    as_json: bool,
    seed: int,
    jobs: int | None,
) -> None:
    """\b
    tamiz select data.csv --target class
    tamiz select data.csv --target class -o selected.csv
    tamiz select data.csv --target class --search forward --n-features 8 --journal search.journal

    Choose the columns of TABLE that are best together and print them, one a line. Ctrl-C prints the best found so far.
    """
    _check_output(output)
    need_target((merit,), target)
    check_places([output, journal], table)
    from tamiz import SubsetSelector, open_source, parallel

    voice: Voice = context.obj
    selector = SubsetSelector(
        merit.load()().with_missing(missing),
        search.load()(),
        n_features=n_features,
        stop=stop_after(max_evaluations, max_seconds),
        journal=journal,
        random_state=seed,
    )
    with voice.at_work(), parallel.session(jobs):
        tell_plan(voice, table, target, kinds, weight, memory)
        source = open_source(table, target, kinds=kinds, weight=weight, memory=memory)
        interrupted = _fit(selector, source)
    tell_columns(voice, source.schema)
    chosen = [source.schema.names[j] for j in selector.get_support(indices=True).tolist()]
    if interrupted:
        voice.note(f"Interrupted after {selector.n_evaluations_:,} evaluations; the best set until then is given.")
    if output is not None:
        _write(table, [*chosen, target, weight], output)
        voice.say(f"Written: {output}")
    _show(chosen, selector, as_json)
    voice.say(
        f"{merit.label} {selector.merit_:.4g} by {search.label.lower()}, "
        f"{selector.n_evaluations_:,} evaluations: {selector.archive_.stopped}."
    )
    if interrupted:
        context.exit(INTERRUPTED)


def _check_output(output: Path | None) -> None:
    if output == STDOUT:
        raise click.UsageError("The chosen columns go to standard output already; give --output the name of a file.")
    if output is not None:
        try:
            check_table_ending(output)
        except ValueError as error:
            raise click.UsageError(str(error)) from error


def _fit(selector: SubsetSelector, source: Any) -> bool:
    """Search, and return whether Ctrl-C ended it with something found."""
    try:
        selector.fit(source)
    except KeyboardInterrupt:
        if "support_" not in vars(selector):
            raise
        return True
    return False


def _write(table: Path, wanted: list[str | None], output: Path) -> None:
    """Write columns of the file as it is: opened without a target, it keeps the rows where that is missing."""
    from tamiz import open_source

    source = open_source(table)
    names = source.schema.names
    write_table(source.frame([j for j, name in enumerate(names) if name in wanted]), output)


def _show(chosen: list[str], selector: SubsetSelector, as_json: bool) -> None:
    if not as_json:
        show_lines(chosen)
        return
    shown = {
        "columns": chosen,
        "merit": selector.merit_,
        "n_evaluations": selector.n_evaluations_,
        "stopped": selector.archive_.stopped,
    }
    click.echo(json.dumps(shown, ensure_ascii=False, indent=2))
