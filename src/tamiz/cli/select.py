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
    ESCAPE,
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
from tamiz.cli.search_options import SubsetSearch, search_options
from tamiz.cli.terminal import Messenger, show_json, show_lines, show_text

if TYPE_CHECKING:
    from tamiz.assessment import SelectionReport
    from tamiz.criteria.entropies import MissingRule
import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, NamedTuple

from click.core import ParameterSource

from tamiz import registry as selectors
from tamiz.cli.options import COUNT, RELEVANCE, require_relevance_target, require_target
from tamiz.error_control import registry as error_control
from tamiz.runtime.registry import Entry, command_name

if TYPE_CHECKING:
    from tamiz.criteria.base import Relevance
    from tamiz.criteria.entropies import MissingRule
    from tamiz.table.schema import Schema

# Those of `RedundancyFilter`, whose module would import numpy.
MEASURES = ("kinds", "pearson", "linear", "symmetric-uncertainty")
# Fewer columns than twice those on which a selection is timed are selected as fast as they are timed.
_MIN_PLANNED_COLUMNS = 128


class SelectionMethod(NamedTuple):
    """A value of `--method` without a search: the parameter that is the relevance, and those that options of the same name set.

    From `min_planned_columns` on the plan is made before the run, with a note if the run is long.
    """

    entry: Entry
    relevance: str
    settings: tuple[str, ...]
    min_planned_columns: int


SELECTORS = {
    "boruta": SelectionMethod(error_control["boruta"], "relevance", ("max_iter",), 0),
    "knockoffs": SelectionMethod(error_control["knockoff_selector"], "importance", ("fdr",), _MIN_PLANNED_COLUMNS),
    "stability": SelectionMethod(
        error_control["stability"], "selector", ("n_features", "max_false", "threshold", "n_pairs"), 0
    ),
    "redundancy": SelectionMethod(
        selectors["RedundancyFilter"], "relevance", ("measure", "threshold"), _MIN_PLANNED_COLUMNS
    ),
}
# The options that each method accepts, among those that not all accept.
_OPTIONS = {
    "search": frozenset(field.name for field in fields(SubsetSearch)),
    **{name: frozenset({"relevance", "max_seconds", *method.settings}) for name, method in SELECTORS.items()},
}


@dataclass(frozen=True)
class MethodOptions:
    """A method and the options that not all methods accept, kept as plain values until a command runs."""

    method: str = option(
        "--method",
        click.Choice(list(_OPTIONS)),
        "search: the subset with the highest merit; boruta: all columns that score higher than permuted copies of the "
        "columns; knockoffs: columns with a bounded false discovery rate; stability: columns that are selected from most "
        "halves of the rows, with a bound on the expected number of false selections; redundancy: columns that are not "
        "determined by other selected columns.",
        default="search",
    )
    relevance: Entry | None = option(
        "-r --relevance NAME",
        RELEVANCE,
        f"How columns are scored by the methods {', '.join(SELECTORS)}: {RELEVANCE.names}.  [default: for boruta "
        "tree-importance, for knockoffs a lasso, for stability the first that applies to the table; for redundancy "
        "symmetric-uncertainty where there is a target]",
    )
    max_iter: int | None = option("--max-iter N", COUNT, "The most iterations of boruta.  [default: 100]")
    fdr: float | None = option(
        "--fdr RATE",
        click.FloatRange(0, 1, min_open=True, max_open=True),
        "The bound of knockoffs on the expected share of false columns among the selected ones.  [default: 0.1]",
    )
    max_false: float | None = option(
        "--max-false X",
        click.FloatRange(min=0, min_open=True),
        "The bound of stability on the expected number of false selections.  [default: 1, without --n-features]",
    )
    measure: str | None = option(
        "--measure",
        click.Choice(MEASURES),
        "The association of redundancy. kinds: the largest one with a selected column, for numbers the correlation, for "
        "categories Cramer's V, for both the correlation ratio; pearson: the largest absolute correlation; linear: the R2 of "
        "the regression on all selected columns; symmetric-uncertainty: the largest one with a selected column, which finds "
        "relations of any form.  [default: kinds]",
    )
    threshold: float | None = option(
        "--threshold X",
        click.FloatRange(0, 1, min_open=True),
        "For stability the smallest share of the halves that must select a column, usually from 0.6 to 0.9; for redundancy "
        "the smallest association of a dropped column.  [default: for stability 0.75, or from --n-features and --max-false; "
        "for redundancy 0.95, with kinds 0.9]",
    )
    n_pairs: int | None = option(
        "--n-pairs N", COUNT, "How often stability splits the rows into two halves.  [default: 50]"
    )

    @property
    def min_planned_columns(self) -> float:
        """The number of columns from which on the plan is made before the run; that of a search is only printed on request."""
        return math.inf if self.method == "search" else SELECTORS[self.method].min_planned_columns

    def check(self, search: SubsetSearch, target: str | None, missing: MissingRule) -> None:
        """Raise a usage error for options that cannot be used, before the table is read."""
        accepted = _OPTIONS[self.method] | {"scoring"}
        others = frozenset().union(*_OPTIONS.values()) - accepted
        context = click.get_current_context()
        for param in context.command.params:
            if param.name in others and context.get_parameter_source(param.name) is not ParameterSource.DEFAULT:
                owners = [name for name, options in _OPTIONS.items() if param.name in options]
                raise click.UsageError(
                    f"{max(param.opts, key=len)} does not apply to --method {self.method}: leave it out, or use --method "
                    f"{' or '.join(owners)}."
                )
        if self.method == "search":
            search.check(target, missing)
        elif self.method in ("boruta", "knockoffs"):
            # The scores for the target are compared with those of noise.
            require_target(f"--method {self.method}", target)
            if self.relevance is not None and not self.relevance.load()().reads_target:
                raise click.UsageError(
                    f"--method {self.method} needs a relevance that uses the target, and {command_name(self.relevance)} does "
                    "not."
                )
        else:
            require_relevance_target(self.relevance, target)
        if self.method == "stability" and isinstance(search.n_features, tuple):
            raise click.UsageError(
                "--n-features of --method stability is the number of columns that every half of the rows selects: one number "
                "or share, not a range."
            )
        if self.method == "stability" and None not in (search.n_features, self.max_false, self.threshold):
            raise click.UsageError(
                "--n-features, --max-false and --threshold cannot all be used: any two of them determine the third."
            )
        if self.method == "redundancy" and missing == "category" and self.relevance is None:
            raise click.UsageError(
                "--missing category applies to the relevance of --method redundancy: name one with --relevance, or leave it "
                "out."
            )

    def make_selector(self, schema: Schema, search: SubsetSearch, missing: MissingRule, seed: int) -> Any:
        if self.method == "search":
            return search.make_selector_for(schema, missing, seed)
        method = SELECTORS[self.method]
        made = method.entry.load()(max_seconds=search.max_seconds)
        values = {**vars(search), **vars(self), method.relevance: self._choose_relevance(schema, missing)}
        if self.measure is not None:
            values["measure"] = self.measure.replace("-", "_")
        names = (method.relevance, *method.settings)
        made.set_params(**{name: values[name] for name in names if values[name] is not None})
        return made.set_params(random_state=seed) if "random_state" in made.get_params(deep=False) else made

    def _choose_relevance(self, schema: Schema, missing: MissingRule) -> Relevance | None:
        """Return the requested relevance or the default one, on as many rows as in a study."""
        from tamiz.selection.defaults import choose_relevance

        if self.relevance is None and self.method == "redundancy":
            return None
        if self.relevance is None and self.method == "knockoffs":
            from tamiz.error_control.knockoff_selector import LassoCoefficient

            return LassoCoefficient().adapt_to(schema)
        default = "tree_importance" if self.method == "boruta" else None
        return choose_relevance(default if self.relevance is None else self.relevance.name, schema, missing=missing)


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
        opened = split_dates(open_without_target(table.table, known, kinds=dates or None, **table.file))
    wanted = {*selected, *table.roles}
    positions = [j for j, name in enumerate(opened.schema.names) if name in wanted]
    write_table(messenger, opened.frame(positions), output, escape=escape)
