"""`tamiz study`, `tamiz demo` and `tamiz report`: the commands that write a report."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tamiz.cli.command import INTERRUPTED, DataCommand, repeat_command
from tamiz.cli.config import config_option
from tamiz.cli.files import STDOUT, check_output_paths
from tamiz.cli.graph_options import graph_options, make_graph_builder
from tamiz.cli.map_options import map_options, resolve_map_names
from tamiz.cli.options import (
    FILE,
    MethodParam,
    assessment_options,
    check_assessment,
    dry_run_flag,
    jobs_option,
    print_read_plan,
    require_target,
    seed_option,
    table_options,
    worker_options,
)
from tamiz.cli.search_options import SubsetSearch, search_options
from tamiz.cli.terminal import Messenger, show_json, show_page, show_table, show_text
from tamiz.criteria import registry as criteria
from tamiz.runtime.memory import format_bytes
from tamiz.runtime.registry import Entry

if TYPE_CHECKING:
    from tamiz import SubsetSelector
    from tamiz.criteria.entropy_relevance import MissingRule
    from tamiz.graphs.named_builders import NamedBuilder
    from tamiz.report import Result
    from tamiz.table.base import Table

# The title of a report ends with this text, within this number of bytes of the page.
_TITLE_END, _TITLE_BYTES = " · tamiz</title>".encode(), 4096
_relevances = MethodParam(criteria, "relevance")

_output_option = click.option(
    "-o",
    "--output",
    type=FILE,
    metavar="FILE",
    help="File of the report; - is standard output.  [default: NAME-report.html in this folder]",
)
_json_option = click.option(
    "--json",
    "json_output",
    type=FILE,
    metavar="FILE",
    help="Also write the results as JSON, for `tamiz report`; - is standard output.",
)
_verbose_flag = click.option(
    "-v", "--verbose", is_flag=True, help="Print all notes, a line for each section, and the seconds of every step."
)


@click.command(cls=DataCommand, short_help="Study a table and write a report of it.")
@table_options
@config_option
@click.option(
    "-r",
    "--relevance",
    "relevances",
    type=_relevances,
    metavar="NAME",
    multiple=True,
    help=f"A score to rank the columns by: {_relevances.names}. Repeatable.  [default: all that apply to the table and are cheap]",
)
@search_options(
    "Time limit of the study: steps that would take longer run on a sample or are left out, with a note, and the search is "
    "stopped; inf uses all rows.  [default: samples for about two minutes on two cores]"
)
@assessment_options("yes, if it takes little time", "5 folds, or 10 for at most 100 rows")
@click.option(
    "--keep-leaks",
    is_flag=True,
    help="Use the columns of possible target leakage. By default they are set aside, and the report states the score of the best "
    "model with them and without.",
)
@click.option(
    "--random-folds",
    is_flag=True,
    help="Keep random folds. By default folds respect a repeated id, or a time, if a forest scores lower with them.",
)
@graph_options
@map_options
@_output_option
@_json_option
@click.option(
    "--points",
    "n_points",
    type=click.IntRange(min=2),
    metavar="N",
    help="Largest number of rows shown in the maps, a random sample.  [default: 2,000]",
)
@click.option("--no-points", is_flag=True, help="Show no rows: the report contains summaries only.")
@dry_run_flag
@_verbose_flag
@seed_option
@jobs_option
@worker_options
@click.pass_context
def study(
    context: click.Context,
    /,
    table: Path,
    target: str | None,
    relevances: tuple[Entry, ...],
    subset_search: SubsetSearch,
    group: str | None,
    graph_choice: NamedBuilder | None,
    kernel_width: float | None,
    maps: tuple[str, ...],
    dissimilarity: Entry,
    output: Path | None,
    json_output: Path | None,
    n_points: int | None,
    no_points: bool,
    dry_run: bool,
    verbose: bool,
    seed: int,
    jobs: int | None,
    **shared_options: Any,
) -> None:
    """\b
    tamiz study data.csv --target class -o report.html
    tamiz study data.csv --target price --kinds zip=categorical
    tamiz study data.parquet --target class --search beam:20 --n-features 8 --journal search.journal
    tamiz study data.csv --target class --group patient --assess
    tamiz study data.csv --target class --semi-synthetic 20
    tamiz study data.csv --graph knn:30 --t inf
    tamiz study data.csv --reduce pca --reduce mds:ordinal --dissimilarity gower
    tamiz study --config study.toml

    Study TABLE and write one HTML file: its columns, the relevance of each to the target, the best subset, the graph of
    neighbouring rows, and maps of the rows. Prints the name of the file. Ctrl-C writes the report of the finished steps.
    """
    output = output or _default_report_path(table)
    require_target(relevances, target)
    check_assessment(shared_options["assess"], shared_options["semi_synthetic"], target, by_default=True)
    subset_search.check_scoring(assess=shared_options["assess"] is not False and target is not None)
    _check_stdout(output, json_output)
    if no_points and n_points is not None:
        raise click.UsageError("--points shows rows and --no-points shows none: use one of them.")
    check_output_paths([output, json_output, subset_search.journal], table)
    graph = make_graph_builder(graph_choice, kernel_width, target)
    named = resolve_map_names(maps, dissimilarity.name)
    selector = replace(subset_search, max_seconds=None).make_selector(shared_options["missing"])
    from tamiz import study as run

    messenger: Messenger = context.obj
    with messenger.capture_messages(notes=verbose or dry_run):
        of_table = {name: shared_options[name] for name in ("kinds", "weight", "memory", "header")}
        print_read_plan(messenger, table, target, **of_table, group=group, time=shared_options["time"])
        of_table["weights"] = shared_options["weights"]
        if dry_run:
            from tamiz import open_table
            from tamiz.runtime import parallel
            from tamiz.table import add_missing_level, split_dates

            with parallel.thread_session(jobs):
                opened = add_missing_level(
                    split_dates(open_table(table, target, groups=group, time=shared_options["time"], **of_table))
                )
                _show_study_plan(
                    opened,
                    selector,
                    subset_search.max_seconds,
                    seed,
                    n_points,
                    maps=named,
                    dissimilarity=dissimilarity.name,
                    sample_graph=graph is None,
                    **{
                        name: shared_options[name]
                        for name in ("missing", "assess", "semi_synthetic", "map_rows", "map_columns")
                    },
                )
            return
        result = run(
            table,
            target,
            groups=group,
            relevances=[entry.load()().with_missing(shared_options["missing"]) for entry in relevances] or None,
            selector=selector,
            max_seconds=subset_search.max_seconds,
            scoring=subset_search.scoring,
            maps=named,
            dissimilarity=dissimilarity.name,
            graph=graph,
            points=not no_points if n_points is None else n_points,
            random_state=seed,
            n_jobs=jobs,
            **shared_options,
        )
    _write_outputs(context, result, output, json_output, verbose=verbose)


@click.command(cls=DataCommand, short_help="Study an included table of penguins.")
@_output_option
@_json_option
@_verbose_flag
@seed_option
@jobs_option
@click.pass_context
def demo(
    context: click.Context, output: Path | None, json_output: Path | None, seed: int, jobs: int | None, *, verbose: bool
) -> None:
    """\b
    tamiz demo
    tamiz demo -o penguins.html

    Study an included table, 344 penguins of three species, and write the report.
    """
    with as_file(files("tamiz.datasets") / "penguins.csv") as table:
        output = output or _default_report_path(table)
        _check_stdout(output, json_output)
        check_output_paths([output, json_output], table)
        from tamiz import study as run

        messenger: Messenger = context.obj
        with messenger.capture_messages(notes=verbose):
            result = run(table, "species", random_state=seed, n_jobs=jobs)
    _write_outputs(context, result, output, json_output, verbose=verbose)


@click.command(cls=DataCommand, short_help="Render the report of a saved result.")
@click.argument("result", type=FILE)
@_output_option
def report(result: Path, output: Path | None) -> None:
    """\b
    tamiz study data.csv --target class --json result.json
    tamiz report result.json -o report.html

    Render the report of RESULT, a file that `tamiz study --json` wrote. Nothing is recomputed.
    """
    output = output or _default_report_path(result)
    check_output_paths([output], result)
    from tamiz.report import Result
    from tamiz.runtime.user_warnings import is_muted

    found = Result.from_json(result)
    found.record = replace(found.record, warnings=tuple(one for one in found.record.warnings if not is_muted(one)))
    _write_page(found, output)


def _show_study_plan(
    table: Table,
    selector: SubsetSelector,
    max_seconds: float | None,
    seed: int,
    n_points: int | None,
    *,
    missing: MissingRule,
    assess: bool | None,
    **options: Any,
) -> None:
    """Write the rows, time and memory of every step of a study, and the largest cost of its search."""
    from tamiz._study.budget import Budget
    from tamiz._study.study import asks_for_subset, plan_study
    from tamiz.graphs.row_graph import MAX_SHOWN_ROWS
    from tamiz.method_lookup import choose_merit_and_search

    schema, asked = table.schema, asks_for_subset(selector)
    method = choose_merit_and_search(selector.merit, selector.search, schema, missing)
    searched = schema.target is not None or not method[0].reads_target
    steps = plan_study(
        table,
        Budget(max_seconds),
        method if searched else None,
        n_distinct={},
        n_shown=min(schema.n_rows, MAX_SHOWN_ROWS if n_points is None else n_points),
        assessed=assess is not False,
        asked=asked,
        **options,
    ).estimates
    lines = [
        (name, f"{step.n_rows:,}", f"{step.seconds:.1f}", format_bytes(step.n_bytes)) for name, step in steps.items()
    ]
    seconds, most = sum(step.seconds for step in steps.values()), max(step.n_bytes for step in steps.values())
    show_table(
        ["step", "rows", "seconds", "memory"],
        [*lines, ("all", f"{schema.n_rows:,}", f"{seconds:.1f}", format_bytes(most))],
    )
    if searched and (asked or assess is False):
        show_text(str(selector.set_params(merit=method[0], search=method[1], random_state=seed).plan(table)))


def _default_report_path(table: Path) -> Path:
    """Return the default path of a report; raise an error where a file that is no report of tamiz exists there."""
    path = Path(f"{table.stem}-report.html")
    if path.is_file():
        with path.open("rb") as file:
            if _TITLE_END not in file.read(_TITLE_BYTES):
                raise FileExistsError(f"{path} exists and is not a report of tamiz: name another file with --output.")
    return path


def _check_stdout(output: Path, json_output: Path | None) -> None:
    if output == json_output == STDOUT:
        raise click.UsageError("Only one of --output and --json can go to standard output.")


def _write_outputs(
    context: click.Context, result: Result, output: Path, json_output: Path | None, *, verbose: bool
) -> None:
    """Write the report and the JSON, print the verdict or all notes, and exit with status 130 after an interruption."""
    from tamiz.report.summary import verdict_lines

    messenger: Messenger = context.obj
    reproduction = replace(result.record.reproduction, command=repeat_command(context))
    result.record = replace(result.record, reproduction=reproduction)
    if json_output == STDOUT:
        show_json(result.to_dict(), indent=None)
        messenger.write_line(f"Written: {result.to_html(output)}")
    else:
        if json_output is not None:
            messenger.write_line(f"Written: {result.to_json(json_output)}")
        _write_page(result, output)
    # Times differ between runs, so they are printed and not part of the report.
    seconds = {one.step: one.seconds for one in result.timings}
    if not verbose:
        lines = verdict_lines(result.record, sum(seconds.values()))
        messenger.write_verdict([*lines, "", "  --verbose prints all notes and a line for each section."])
    else:
        messenger.write_line(f"Result of {result.record.title}")
        for term, text in result.summary_lines():
            messenger.write_line(f"  {term}: {text}")
        # Most were written during the study, and none is written twice.
        for warning in result.record.warnings:
            messenger.write_note(warning)
        messenger.write_line(f"  Seconds: {', '.join(f'{step} {elapsed:.2g}' for step, elapsed in seconds.items())}")
    if result.record.interruption:
        context.exit(INTERRUPTED)


def _write_page(result: Result, output: Path) -> None:
    if output != STDOUT:
        show_text(str(result.to_html(output)))
        return
    show_page(result.page())
