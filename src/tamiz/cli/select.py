"""`tamiz select`: select a subset of the columns."""

from __future__ import annotations

import time as clock
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tamiz.cli.command import INTERRUPTED, DataCommand
from tamiz.cli.files import check_output_paths, check_table_output, write_table
from tamiz.cli.method_options import make_method, method_options
from tamiz.cli.options import (
    FILE,
    TableOptions,
    assessment_options,
    bundled_table_options,
    check_assessment,
    dry_run_flag,
    jobs_option,
    json_flag,
    model_option,
    seed_option,
    worker_options,
)
from tamiz.cli.row_output import escape_option
from tamiz.cli.search_options import SubsetSearch, search_options
from tamiz.cli.select_methods import MethodChoice
from tamiz.cli.terminal import Messenger, show_json, show_lines, show_text

if TYPE_CHECKING:
    from tamiz.assessment import SelectionReport
    from tamiz.criteria.entropy_relevance import MissingRule
    from tamiz.search.runner import SearchPlan
    from tamiz.selection.repetition_plan import RepetitionPlan
    from tamiz.selection.selector import Selector
    from tamiz.table.schema import Kind

# A longer run of a selection with error control, and a longer assessment, are announced.
_LONG_SECONDS = 60.0


@click.command(cls=DataCommand, short_help="Select columns: the best subset, or by another method.")
@bundled_table_options
@method_options
@search_options(
    "Stop the search, boruta or stability after S seconds with what is found by then; knockoffs and redundancy fail if "
    "they take longer."
)
@assessment_options("no", "10 folds")
@click.option(
    "-o",
    "--output",
    type=FILE,
    metavar="FILE",
    help="Write every row with the selected columns and the target to a file, as CSV, TSV, Parquet or Arrow by its extension.",
)
@escape_option
@model_option
@json_flag
@dry_run_flag
@seed_option
@jobs_option
@worker_options
@click.pass_context
def select(
    context: click.Context,
    /,
    table_options: TableOptions,
    missing: MissingRule,
    method_choice: MethodChoice,
    subset_search: SubsetSearch,
    assess: bool | None,
    group: str | None,
    time: str | None,
    semi_synthetic: int,
    output: Path | None,
    escape: bool,
    model: Path | None,
    as_json: bool,
    dry_run: bool,
    seed: int,
    jobs: int | None,
) -> None:
    """\b
    tamiz select data.csv --target class
    tamiz select data.csv --target class -o selected.csv --model columns.tamiz
    tamiz select data.csv --target class --search beam:20 --n-features 8 --journal search.journal
    tamiz select data.csv --target class --search branch-and-bound --max-seconds 60
    tamiz select data.csv --target class --search genetic --dry-run
    tamiz select data.csv --target class --assess --group patient
    tamiz select data.csv --target class --assess --semi-synthetic 20
    tamiz select data.csv --target class --method boruta
    tamiz select data.csv --target class --method knockoffs --fdr 0.2
    tamiz select data.csv --target class --method stability --max-false 1
    tamiz select data.csv --method redundancy --measure linear --threshold 0.99

    Search TABLE for the subset of columns with the highest merit, select columns with error control, or drop the columns that
    others determine, and print the names of the selected columns, one per line. Ctrl-C prints the best subset so far of a
    search; the other methods have no result before they end.
    """
    table, target = table_options.table, table_options.target
    check_table_output(output, "The selected columns")
    method = make_method(context, method_choice, subset_search, missing, seed)
    method.check(target)
    check_assessment(assess, semi_synthetic, target, by_default=False)
    check_output_paths([output, model, subset_search.journal], table)
    from tamiz import save
    from tamiz.assessment.column_ranking import column_notes
    from tamiz.criteria.base import Relevance
    from tamiz.graphs.row_graph import with_default_graph
    from tamiz.runtime import parallel
    from tamiz.table import split_dates

    messenger: Messenger = context.obj
    subset_search.check_scoring(assess=bool(assess))
    with messenger.capture_messages(), parallel.thread_session(jobs):
        opened = split_dates(table_options.open(messenger, group=group, time=time))
        selector = method.make_selector(opened.schema)
        for name, part in selector.get_params(deep=False).items():
            if isinstance(part, Relevance):
                part, opened = with_default_graph(part, opened)
                selector.set_params(**{name: part})
        if dry_run:
            for note in column_notes(opened):
                messenger.write_note(note)
            show_search_plan(selector.plan(opened), as_json=as_json)
            return
        started = clock.perf_counter()
        interrupted = _fit_selector(
            messenger, selector, opened, announce=len(opened.schema.used) >= method.min_planned_columns
        )
        report = None
        if assess and not interrupted:
            _announce_assessment(messenger, opened, semi_synthetic, clock.perf_counter() - started)
            report = _assess_selector(selector, opened, subset_search.scoring, seed, semi_synthetic)
    for note in column_notes(opened):
        messenger.write_note(note)
    selected = [opened.schema.names[j] for j in selector.get_support(indices=True).tolist()]
    if interrupted:
        n = selector.n_evaluations_
        messenger.write_note(f"Interrupted after {n:,} evaluation{'s' * (n != 1)}; the best subset so far is returned.")
    elif assess and report is None:
        messenger.write_note("Interrupted after the columns were selected and before their score was assessed.")
    if output is not None:
        roles = [name for name in (target, table_options.weight, group, time) if name is not None]
        if selected or roles:
            _write_selected_columns(table_options, selected, roles, output, escape=escape)
            messenger.write_line(f"Written: {output}")
        else:
            messenger.write_note(f"No column is selected and the table has no target, so {output} is not written.")
    if model is not None:
        messenger.write_line(f"Written: {save(selector, model)}")
    _print_selection(selected, method_choice.method, method.to_dict(selector), report, as_json)
    for sentence in method.describe(selector):
        messenger.write_line(sentence)
    if report is not None:
        for line in repr(report).splitlines():
            messenger.write_line(line)
    if interrupted or (assess and report is None):
        context.exit(INTERRUPTED)


def _fit_selector(messenger: Messenger, selector: Any, table: Any, *, announce: bool) -> bool:
    """Fit the selector, with `announce` after its plan if it is long; return True where Ctrl-C ended a search with a subset."""
    try:
        if announce and (plan := selector.plan(table)).estimated_seconds > _LONG_SECONDS:
            messenger.write_note(str(plan))
        selector.fit(table)
    except KeyboardInterrupt:
        if "support_" not in vars(selector):
            messenger.write_note("Interrupted before the selection was complete: no column is selected.")
            raise
        return True
    return False


def _announce_assessment(messenger: Messenger, table: Any, semi_synthetic: int, seconds: float) -> None:
    """Write how often an assessment repeats a selection that took some seconds, if it is long."""
    from tamiz.assessment.nested_cv import count_selections
    from tamiz.search.runner import format_duration

    n = count_selections(table, semi_synthetic)
    if n * seconds > _LONG_SECONDS:
        messenger.write_note(
            f"The assessment repeats the selection, which took {seconds:.2g} seconds, {n:,} times: {format_duration(n * seconds)} "
            "at this pace. Ctrl-C ends it and prints the selected columns; without --assess they are not assessed."
        )


def _assess_selector(
    selector: Selector, table: Any, scoring: str | None, seed: int, semi_synthetic: int
) -> SelectionReport | None:
    """Return the assessment of the selection; None where Ctrl-C interrupted it."""
    from tamiz import selection_report

    try:
        return selection_report(selector, table, scoring=scoring, semi_synthetic=semi_synthetic, random_state=seed)
    except KeyboardInterrupt:
        return None


def _write_selected_columns(
    table_options: TableOptions, selected: list[str], roles: list[str], output: Path, *, escape: bool
) -> None:
    """Write columns of the original table, with the rows where the target is missing."""
    from tamiz.runtime.user_warnings import capture_warnings
    from tamiz.table import split_dates
    from tamiz.table.factory import open_without_target

    kinds, header = table_options.kinds or {}, table_options.header
    dates: dict[str, Kind] = {name: kind for name, kind in kinds.items() if kind == "date"}
    with capture_warnings():
        # The same warnings were printed when the table was read for the search.
        opened = split_dates(
            open_without_target(table_options.table, [*roles, *kinds], kinds=dates or None, header=header)
        )
    wanted = {*selected, *roles}
    write_table(
        opened.frame([j for j, name in enumerate(opened.schema.names) if name in wanted]), output, escape=escape
    )


def show_search_plan(plan: SearchPlan | RepetitionPlan, *, as_json: bool = False) -> None:
    """Write the largest cost of a selection to stdout."""
    if as_json:
        show_json(asdict(plan))
    else:
        show_text(str(plan))


def _print_selection(
    selected: list[str], method: str, numbers: dict[str, Any], report: SelectionReport | None, as_json: bool
) -> None:
    if not as_json:
        show_lines(selected)
        return
    assessment = {} if report is None else {"assessment": report.to_dict()}
    show_json({"method": method, "columns": selected, **numbers, **assessment})
