"""`tamiz study`, `tamiz demo` and `tamiz report`: the commands that write a report."""

from __future__ import annotations

import csv
from dataclasses import dataclass, replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tamiz.cli.command import INTERRUPTED, argument, bundle, command, flag, option, repeat_command
from tamiz.cli.config import CONFIG
from tamiz.cli.files import check_output_paths
from tamiz.cli.options import (
    DRY_RUN,
    FILE,
    JOBS,
    MAP_NAME,
    MAP_ROWS,
    MISSING,
    RELEVANCE,
    SEED,
    Assessment,
    GraphOptions,
    Parsed,
    TableOptions,
    Workers,
    assessment_options,
    dissimilarity_option,
    find_maps,
    map_methods,
    require_relevance_target,
)
from tamiz.cli.search_options import SubsetSearch, search_options
from tamiz.cli.terminal import STDOUT, Messenger, show_json, show_table, show_text, write_page
from tamiz.runtime.memory import format_bytes
from tamiz.runtime.registry import Entry

if TYPE_CHECKING:
    from tamiz._study.run import StudyOptions
    from tamiz.criteria.entropies import MissingRule
    from tamiz.report import Result
    from tamiz.table.base import Table

# The title of a report ends with this text, within this number of bytes of the page.
_TITLE_END, _TITLE_BYTES = " · tamiz</title>".encode(), 4096
_OUTPUT = option(
    "-o --output FILE",
    FILE,
    "File of the report; - is standard output.  [default: NAME-report.html in this folder]",
)


@dataclass(frozen=True)
class _Outputs:
    """The outputs of a study."""

    output: Path | None = _OUTPUT
    json_output: Path | None = option(
        "--json FILE", FILE, "Also write the results as JSON, for `tamiz report`; - is standard output."
    )
    verbose: bool = flag("-v --verbose", "Print all notes, a line for each section, and the seconds of every step.")

    def choose_report(self, table: Path, journal: Path | None = None) -> Path:
        """Return the path of the report; raise an error for outputs that cannot be written."""
        output = self.output or _default_report_path(table)
        check_output_paths([output, self.json_output, journal], table)
        return output

    def write(self, messenger: Messenger, result: Result, output: Path) -> None:
        """Write the report and the JSON, print the verdict or all notes, and exit with status 130 after an interruption."""
        from tamiz.report.verdict import verdict_lines

        context = click.get_current_context()
        reproduction = replace(result.record.reproduction, command=repeat_command(context))
        result.record = replace(result.record, reproduction=reproduction)
        if self.json_output == STDOUT:
            show_json(result.to_dict(), indent=None)
            messenger.write_line(f"Written: {result.to_html(output)}")
        else:
            if self.json_output is not None:
                messenger.write_line(f"Written: {result.to_json(self.json_output)}")
            write_page(result, output)
        # Times differ between runs, so they are printed and not part of the report.
        seconds = {one.step: one.seconds for one in result.timings}
        if not self.verbose:
            lines = verdict_lines(result.record, sum(seconds.values()))
            messenger.write_verdict([*lines, "", "  --verbose prints all notes and a line for each section."])
        else:
            messenger.write_line(f"Result of {result.record.title}")
            for term, text in result.summary_lines():
                messenger.write_line(f"  {term}: {text}")
            # Most were written during the study, and none is written twice.
            for warning in result.record.warnings:
                messenger.write_note(warning)
            steps = ", ".join(f"{step} {elapsed:.2g}" for step, elapsed in seconds.items())
            messenger.write_line(f"  Seconds: {steps}")
        if result.record.interruption:
            context.exit(INTERRUPTED)


def _parse_columns(value: str) -> str | list[str]:
    """Return "numeric", "all", or the names of columns."""
    if value in ("numeric", "all"):
        return value
    names = next(csv.reader([value], skipinitialspace=True), [])
    if not names or not all(names):
        raise ValueError(f"{value!r} is neither numeric nor all nor names of columns, such as a,b.")
    return names


@dataclass(frozen=True)
class _MapOptions:
    """The maps of a study."""

    maps: tuple[str, ...] = option(
        "--reduce NAME[:VARIANT]",
        MAP_NAME,
        f"A map of the rows: mds:ordinal, or one of {map_methods.names}; `tamiz methods` lists all. Repeatable; by default "
        "PCA, metric and ordinal MDS, Laplacian eigenmaps and UMAP.",
        multiple=True,
    )
    dissimilarity: Entry = dissimilarity_option("the quality of every map")
    map_rows: int | None = MAP_ROWS
    map_columns: str | list[str] = option(
        "--map-columns numeric|all|NAMES",
        Parsed(_parse_columns),
        "The columns that the graph and the maps use: numeric ones where there are three or more, all, or names separated by "
        "commas. The others are colours.",
        default="numeric",
    )
    n_points: int | None = option(
        "--points N",
        click.IntRange(min=2),
        "Largest number of rows shown in the maps, a random sample.  [default: 2,000]",
    )
    no_points: bool = flag("--no-points", "Show no rows: the report contains summaries only.")

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `study`; raise a usage error for unknown or unsuitable maps."""
        if self.no_points and self.n_points is not None:
            raise click.UsageError("--points shows rows and --no-points shows none: use one of them.")
        metric = self.dissimilarity.name
        return {
            "maps": [one.id for one in find_maps(self.maps, metric)] or None,
            "dissimilarity": metric,
            "map_rows": self.map_rows,
            "map_columns": self.map_columns,
            "points": not self.no_points if self.n_points is None else self.n_points,
        }


@command("Study a table and write a report of it.", config=CONFIG)
def study(
    messenger: Messenger,
    *,
    table: TableOptions = bundle(TableOptions),
    missing: MissingRule = MISSING,
    relevances: tuple[Entry, ...] = option(
        "-r --relevance NAME",
        RELEVANCE,
        f"A score to rank the columns by: {RELEVANCE.names}. Repeatable.  [default: all that apply to the table and are cheap]",
        multiple=True,
    ),
    search: SubsetSearch = search_options(
        "Time limit of the study: steps that would take longer run on a sample or are left out, with a note, and the search is "
        "stopped; inf uses all rows.  [default: samples for about two minutes on two cores]"
    ),
    assessment: Assessment = assessment_options("yes, if it takes little time", "5 folds, or 10 for at most 100 rows"),
    keep_leaks: bool = flag(
        "--keep-leaks",
        "Use the columns of possible target leakage. By default they are set aside, and the report states the score of the best "
        "model with them and without.",
    ),
    random_folds: bool = flag(
        "--random-folds",
        "Keep random folds. By default folds respect a repeated id, or a time, if a forest scores lower with them.",
    ),
    graph: GraphOptions = bundle(GraphOptions),
    maps: _MapOptions = bundle(_MapOptions),
    outputs: _Outputs = bundle(_Outputs),
    dry_run: bool = DRY_RUN,
    seed: int = SEED,
    workers: Workers = bundle(Workers),
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
    for entry in relevances:
        require_relevance_target(entry, table.target)
    assessment.check(table.target, by_default=True)
    search.check_scoring(assess=assessment.assess is not False and table.target is not None)
    output = outputs.choose_report(table.table, search.journal)
    selector = replace(search, max_seconds=None).make_selector(missing)
    arguments = {
        "missing": missing,
        "assess": assessment.assess,
        "semi_synthetic": assessment.semi_synthetic,
        **maps.arguments(),
    }
    builder = graph.make(table.target)
    from tamiz import study as run

    with workers.session(messenger, notes=outputs.verbose or dry_run):
        if dry_run:
            from tamiz._study.run import StudyOptions

            options = StudyOptions(selector=selector, graph=builder, random_state=seed, **arguments)
            _show_study_plan(table.open(messenger), options, search.max_seconds)
            return
        table.print_read_plan(messenger)
        result = run(
            table.table,
            table.target,
            **table.reading,
            groups=table.group,
            time=table.time,
            relevances=[entry.load()().with_missing(missing) for entry in relevances] or None,
            selector=selector,
            max_seconds=search.max_seconds,
            scoring=search.scoring,
            keep_leaks=keep_leaks,
            random_folds=random_folds,
            graph=builder,
            random_state=seed,
            n_jobs=workers.jobs,
            **arguments,
        )
    outputs.write(messenger, result, output)


@command("Study an included table of penguins.")
def demo(
    messenger: Messenger,
    *,
    outputs: _Outputs = bundle(_Outputs),
    seed: int = SEED,
    jobs: int | None = JOBS,
) -> None:
    """\b
    tamiz demo
    tamiz demo -o penguins.html

    Study an included table, 344 penguins of three species, and write the report.
    """
    with as_file(files("tamiz.datasets") / "penguins.csv") as table:
        output = outputs.choose_report(table)
        from tamiz import study as run

        with messenger.capture_messages(notes=outputs.verbose):
            result = run(table, "species", random_state=seed, n_jobs=jobs)
    outputs.write(messenger, result, output)


@command("Render the report of a saved result.")
def report(_: Messenger, *, result: Path = argument(FILE), output: Path | None = _OUTPUT) -> None:
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
    write_page(found, output)


def _show_study_plan(table: Table, options: StudyOptions, max_seconds: float | None) -> None:
    """Write the rows, time and memory of every step of a study, and the largest cost of its search."""
    from tamiz._study.budget import Budget
    from tamiz._study.study import asks_for_subset, plan_study
    from tamiz.selection.defaults import choose_merit_and_search
    from tamiz.table import add_missing_level, split_dates

    assert options.selector is not None
    table, selector = add_missing_level(split_dates(table)), options.selector
    schema, asked = table.schema, asks_for_subset(selector)
    method = choose_merit_and_search(selector.merit, selector.search, schema, options.missing)
    searched = schema.target is not None or not method[0].reads_target
    n_shown = min(schema.n_rows, options.most_shown)
    plan = plan_study(
        table, Budget(max_seconds), options, method if searched else None, n_shown=n_shown, asked=asked, n_distinct={}
    )
    steps = plan.estimates
    lines = [
        (name, f"{step.n_rows:,}", f"{step.seconds:.1f}", format_bytes(step.n_bytes)) for name, step in steps.items()
    ]
    seconds, most = sum(step.seconds for step in steps.values()), max(step.n_bytes for step in steps.values())
    show_table(
        ["step", "rows", "seconds", "memory"],
        [*lines, ("all", f"{schema.n_rows:,}", f"{seconds:.1f}", format_bytes(most))],
    )
    if searched and (asked or options.assess is False):
        show_text(
            str(selector.set_params(merit=method[0], search=method[1], random_state=options.random_state).plan(table))
        )


def _default_report_path(table: Path) -> Path:
    """Return the default path of a report; raise an error where a file that is no report of tamiz exists there."""
    path = Path(f"{table.stem}-report.html")
    if path.is_file():
        with path.open("rb") as file:
            if _TITLE_END not in file.read(_TITLE_BYTES):
                raise FileExistsError(f"{path} exists and is not a report of tamiz: name another file with --output.")
    return path
