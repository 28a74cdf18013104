"""`tamiz study`, `tamiz demo` and `tamiz report`: the commands that draw a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tamiz.cli.assessment import assessment_options, check_assessed
from tamiz.cli.command import INTERRUPTED, Work
from tamiz.cli.config import config_option
from tamiz.cli.graphs import Asked, graph_options, make_builder
from tamiz.cli.maps import check_maps, map_options
from tamiz.cli.options import (
    FILE,
    Method,
    dry_run_flag,
    jobs_option,
    need_target,
    seed_option,
    table_options,
    tell_plan,
)
from tamiz.cli.places import STDOUT, check_places
from tamiz.cli.searches import Searching, search_options
from tamiz.cli.terminal import Voice, show_json, show_page, show_table, show_text
from tamiz.criteria import registry as criteria
from tamiz.memory import in_units
from tamiz.registry import Entry

if TYPE_CHECKING:
    from tamiz.criteria.entropy_family import Missing
    from tamiz.report import Result
    from tamiz.sources.base import Source

# How the title of a report ends, among the first bytes of the page.
_TITLE_END, _LOOKED_AT = " · tamiz</title>".encode(), 4096
_relevances = Method(criteria, "relevance")

_output_option = click.option(
    "-o",
    "--output",
    type=FILE,
    metavar="FILE",
    help="The report; - is standard output.  [default: NAME-report.html in this folder]",
)
_json_option = click.option(
    "--json",
    "json_output",
    type=FILE,
    metavar="FILE",
    help="Write the numbers as JSON too, for `tamiz report`; - is standard output.",
)


@click.command(cls=Work, short_help="Study a table and write a report of it.")
@table_options
@config_option
@click.option(
    "-r",
    "--relevance",
    "relevances",
    type=_relevances,
    metavar="NAME",
    multiple=True,
    help=f"A score to rank the columns by: {_relevances.names}. Repeatable; by default all that have a meaning and are cheap.",
)
@search_options(
    "What the study may take: steps that take longer work on a sample or are left out, with a note, and the search is "
    "stopped; inf takes all rows.  [default: samples for about two minutes on two cores]"
)
@assessment_options("done by default where it is quick")
@graph_options
@map_options
@_output_option
@_json_option
@click.option(
    "--points",
    "n_points",
    type=click.IntRange(min=2),
    metavar="N",
    help="Rows drawn in the maps at most, by default 2,000, drawn at random.",
)
@click.option("--no-points", is_flag=True, help="Draw no rows: the report then holds summaries only.")
@dry_run_flag
@seed_option
@jobs_option
@click.pass_context
def study(
    context: click.Context,
    /,
    table: Path,
    target: str | None,
    relevances: tuple[Entry, ...],
    searching: Searching,
    group: str | None,
    asked: Asked | None,
    width: float | None,
    maps: tuple[str, ...],
    dissimilarity: Entry,
    output: Path | None,
    json_output: Path | None,
    n_points: int | None,
    no_points: bool,
    dry_run: bool,
    seed: int,
    jobs: int | None,
    **same: Any,
) -> None:
    """\b
    tamiz study data.csv --target class -o report.html
    tamiz study data.csv --target price --kinds zip=categorical
    tamiz study data.parquet --target class --search beam:20 --n-features 8 --journal search.journal
    tamiz study data.csv --target class --group patient --assess
    tamiz study data.csv --graph knn:30 --t inf
    tamiz study data.csv --reduce pca --reduce mds:ordinal --dissimilarity gower
    tamiz study --config study.toml

    Study TABLE and write one HTML file: its columns, how much each tells of the target, which to keep together, how the
    rows hang together, and maps of them. Prints the name of the file. Ctrl-C writes the report of what was found so far.
    """
    output = output or _usual_place(table)
    need_target(relevances, target)
    check_assessed(same["assess"], target)
    searching.check_scoring(assessed=same["assess"] is not False and target is not None)
    _check_streams(output, json_output)
    if no_points and n_points is not None:
        raise click.UsageError("--points draws rows and --no-points draws none: give one of them.")
    check_places([output, json_output, searching.journal], table)
    graph = make_builder(asked, width, target)
    named = check_maps(maps, dissimilarity.name)
    merit, search = searching.make_merit(same["missing"]), searching.make_search()
    from tamiz import study as run

    voice: Voice = context.obj
    with voice.at_work():
        of_table = {name: same[name] for name in ("kinds", "weight", "memory", "header")}
        tell_plan(voice, table, target, **of_table, group=group, time=same["time"])
        if dry_run:
            from tamiz import open_source, parallel
            from tamiz.sources import split_dates

            with parallel.session(jobs):
                source = split_dates(open_source(table, target, groups=group, time=same["time"], **of_table))
                _show_plan(source, searching, same["missing"], seed, n_points, named or (), sampled=graph is None)
            return
        result = run(
            table,
            target,
            groups=group,
            relevances=[entry.load()().with_missing(same["missing"]) for entry in relevances] or None,
            merit=merit,
            search=search,
            n_features=searching.n_features,
            stop=replace(searching, max_seconds=None).make_stop(),
            max_seconds=searching.max_seconds,
            scoring=searching.scoring,
            journal=searching.journal,
            allow_duplicates=searching.allow_duplicates,
            maps=named,
            dissimilarity=dissimilarity.name,
            graph=graph,
            points=not no_points if n_points is None else n_points,
            random_state=seed,
            n_jobs=jobs,
            **same,
        )
    _deliver(context, result, output, json_output)


@click.command(cls=Work, short_help="Study an embedded table of penguins.")
@_output_option
@_json_option
@seed_option
@jobs_option
@click.pass_context
def demo(context: click.Context, output: Path | None, json_output: Path | None, seed: int, jobs: int | None) -> None:
    """\b
    tamiz demo
    tamiz demo -o penguins.html

    Study an embedded table, 344 penguins of three species, and write the report.
    """
    with as_file(files("tamiz.datasets") / "penguins.csv") as table:
        output = output or _usual_place(table)
        _check_streams(output, json_output)
        check_places([output, json_output], table)
        from tamiz import study as run

        voice: Voice = context.obj
        with voice.at_work():
            result = run(table, "species", random_state=seed, n_jobs=jobs)
    _deliver(context, result, output, json_output)


@click.command(cls=Work, short_help="Draw the report of a result again.")
@click.argument("result", type=FILE)
@_output_option
def report(result: Path, output: Path | None) -> None:
    """\b
    tamiz study data.csv --target class --json result.json
    tamiz report result.json -o report.html

    Draw the report of RESULT, a file that `tamiz study --json` wrote. Nothing is computed again.
    """
    output = output or _usual_place(result)
    check_places([output], result)
    from tamiz.report import Result

    _write_page(Result.from_json(result), output)


def _show_plan(
    source: Source,
    searching: Searching,
    missing: Missing,
    seed: int,
    n_points: int | None,
    maps: Sequence[str] | None,
    *,
    sampled: bool,
) -> None:
    """Write what every step of a study takes, and its search at most."""
    from tamiz.steps.budget import Budget
    from tamiz.steps.estimates import estimate_steps
    from tamiz.steps.mapping import named_maps
    from tamiz.steps.sampling import MOST_POINTS

    n_maps = len(maps or [one for one in named_maps() if one.variant.usual])
    schema = source.schema
    searched = schema.target is not None or not searching.needs_target
    n_drawn = min(schema.n_rows, MOST_POINTS if n_points is None else n_points)
    budget = Budget(searching.max_seconds)
    steps = estimate_steps(schema, budget, n_drawn, n_maps, sampled=sampled, searched=searched)
    total = sum(step.seconds for step in steps.values())
    lines = [(name, f"{step.n_rows:,}", f"{step.seconds:.1f}", in_units(step.n_bytes)) for name, step in steps.items()]
    most = max(step.n_bytes for step in steps.values())
    show_table(
        ["step", "rows", "seconds", "memory"], [*lines, ("all", f"{schema.n_rows:,}", f"{total:.1f}", in_units(most))]
    )
    if searched:
        # Where a number is the target, the merit depends on it.
        show_text(str(searching.selector(missing, seed, schema, journal=False).plan(source)))


def _usual_place(table: Path) -> Path:
    """Return where a report goes that nobody named: over an older report, and over no other file."""
    place = Path(f"{table.stem}-report.html")
    if place.is_file():
        with place.open("rb") as file:
            if _TITLE_END not in file.read(_LOOKED_AT):
                raise FileExistsError(f"{place} is there and is no report of tamiz: name another file with --output.")
    return place


def _check_streams(output: Path, json_output: Path | None) -> None:
    if output == json_output == STDOUT:
        raise click.UsageError("Only one of --output and --json can go to standard output.")


def _deliver(context: click.Context, result: Result, output: Path, json_output: Path | None) -> None:
    """Write what was found, sum it up, and leave with the right status."""
    voice: Voice = context.obj
    numbers = result.to_dict()
    if json_output == STDOUT:
        show_json(numbers, indent=None, sort_keys=True)
        voice.say(f"Written: {result.to_html(output)}")
    else:
        if json_output is not None:
            voice.say(f"Written: {result.to_json(json_output)}")
        _write_page(result, output)
    for line in repr(result).splitlines():
        # They are told as notes, and most of them were while the study ran.
        if not line.startswith("  Warning: "):
            voice.say(line)
    for warning in numbers["warnings"]:
        voice.note(warning)
    # A screen is the place of what differs from run to run.
    seconds = {one["step"]: one["seconds"] for one in result.timings}
    voice.say(f"  Seconds: {', '.join(f'{step} {taken:.2g}' for step, taken in seconds.items())}")
    if numbers["interrupted"]:
        context.exit(INTERRUPTED)


def _write_page(result: Result, output: Path) -> None:
    if output != STDOUT:
        show_text(str(result.to_html(output)))
        return
    show_page(result.page())
