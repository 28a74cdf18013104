"""`tamiz select`: select a subset of the columns."""

from __future__ import annotations

import time as clock
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tamiz.cli.command import INTERRUPTED, bundle, command, option
from tamiz.cli.files import check_output_paths, check_table_output, write_table
from tamiz.cli.options import (
    DRY_RUN,
    FILE,
    JSON,
    MISSING,
    MODEL,
    SEED,
    Assessment,
    TableOptions,
    Workers,
    assessment_options,
)
from tamiz.cli.row_output import ESCAPE
from tamiz.cli.search_options import SubsetSearch, search_options
from tamiz.cli.select_methods import MethodOptions
from tamiz.cli.terminal import Messenger, show_json, show_lines, show_text

if TYPE_CHECKING:
    from tamiz.assessment import SelectionReport
    from tamiz.criteria.entropies import MissingRule

# A longer run of a selection with error control, and a longer assessment, are announced.
_LONG_SECONDS = 60.0


@command("Select columns: the best subset, or by another method.")
def select(
    messenger: Messenger,
    *,
    table: TableOptions = bundle(TableOptions),
    missing: MissingRule = MISSING,
    method: MethodOptions = bundle(MethodOptions),
    search: SubsetSearch = search_options(
        "Stop the search, boruta or stability after S seconds with what is found by then; knockoffs and redundancy fail if "
        "they take longer."
    ),
    assessment: Assessment = assessment_options("no", "10 folds"),
    output: Path | None = option(
        "-o --output FILE",
        FILE,
        "Write every row with the selected columns and the target to a file, as CSV, TSV, Parquet or Arrow by its extension.",
    ),
    escape: bool = ESCAPE,
    model: Path | None = MODEL,
    as_json: bool = JSON,
    dry_run: bool = DRY_RUN,
    seed: int = SEED,
    workers: Workers = bundle(Workers),
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
    check_table_output(output, "The selected columns")
    method.check(search, table.target, missing)
    assessment.check(table.target, by_default=False)
    search.check_scoring(assess=bool(assessment.assess))
    check_output_paths([output, model, search.journal], table.table)
    from tamiz import save
    from tamiz.assessment.column_ranking import column_notes
    from tamiz.criteria.base import Relevance
    from tamiz.graphs.row_graph import with_default_graph
    from tamiz.table import split_dates

    report = None
    with workers.session(messenger):
        opened = split_dates(table.open(messenger))
        selector = method.make_selector(opened.schema, search, missing, seed)
        for name, part in selector.get_params(deep=False).items():
            if isinstance(part, Relevance):
                part, opened = with_default_graph(part, opened)
                selector.set_params(**{name: part})
        for note in column_notes(opened):
            messenger.write_note(note)
        if dry_run:
            plan = selector.plan(opened)
            show_json(asdict(plan)) if as_json else show_text(str(plan))
            return
        started = clock.perf_counter()
        announce = len(opened.schema.used) >= method.min_planned_columns
        interrupted = _fit_selector(messenger, selector, opened, announce=announce)
        if assessment.assess and not interrupted:
            seconds = clock.perf_counter() - started
            report = _assess_selector(messenger, selector, opened, search.scoring, seed, assessment, seconds)
    selected = [opened.schema.names[j] for j in selector.get_support(indices=True).tolist()]
    if interrupted:
        n = selector.n_evaluations_
        messenger.write_note(f"Interrupted after {n:,} evaluation{'s' * (n != 1)}; the best subset so far is returned.")
    elif assessment.assess and report is None:
        messenger.write_note("Interrupted after the columns were selected and before their score was assessed.")
    if output is not None and not (selected or table.roles):
        messenger.write_note(f"No column is selected and the table has no target, so {output} is not written.")
    elif output is not None:
        _write_selected_columns(messenger, table, selected, output, escape=escape)
    if model is not None:
        messenger.write_line(f"Written: {save(selector, model)}")
    if as_json:
        assessed = {} if report is None else {"assessment": report.to_dict()}
        show_json({"method": method.method, "columns": selected, **selector.to_dict(), **assessed})
    else:
        show_lines(selected)
    for line in [*selector.describe(), *(() if report is None else repr(report).splitlines())]:
        messenger.write_line(line)
    if interrupted or (assessment.assess and report is None):
        click.get_current_context().exit(INTERRUPTED)


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


def _assess_selector(
    messenger: Messenger,
    selector: Any,
    table: Any,
    scoring: str | None,
    seed: int,
    assessment: Assessment,
    seconds: float,
) -> SelectionReport | None:
    """Return the assessment of a selection that took some seconds, announced if it is long; None where Ctrl-C interrupted it."""
    from tamiz import selection_report
    from tamiz.assessment.nested_cv import count_selections
    from tamiz.search.runner import format_duration

    n = count_selections(table, assessment.semi_synthetic)
    if n * seconds > _LONG_SECONDS:
        messenger.write_note(
            f"The assessment repeats the selection, which took {seconds:.2g} seconds, {n:,} times: {format_duration(n * seconds)} "
            "at this pace. Ctrl-C ends it and prints the selected columns; without --assess they are not assessed."
        )
    try:
        return selection_report(
            selector, table, scoring=scoring, semi_synthetic=assessment.semi_synthetic, random_state=seed
        )
    except KeyboardInterrupt:
        return None


def _write_selected_columns(
    messenger: Messenger, table: TableOptions, selected: list[str], output: Path, *, escape: bool
) -> None:
    """Write columns of the original table, with the rows where the target is missing."""
    from tamiz.runtime.user_warnings import capture_warnings
    from tamiz.table import split_dates
    from tamiz.table.factory import open_without_target

    kinds = dict(table.kinds or ())
    dates = {name: kind for name, kind in kinds.items() if kind == "date"}
    with capture_warnings():
        # The same warnings were printed when the table was read for the search.
        known = [*table.roles, *kinds]
        opened = split_dates(open_without_target(table.table, known, kinds=dates or None, header=table.header))
    wanted = {*selected, *table.roles}
    positions = [j for j, name in enumerate(opened.schema.names) if name in wanted]
    write_table(messenger, opened.frame(positions), output, escape=escape)
