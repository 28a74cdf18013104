"""`tamiz compare-tables`: compare a new table with the one that a model was built on."""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter

import click

from tamiz.cli.command import DataCommand
from tamiz.cli.files import STDOUT, TableFile, check_output_paths
from tamiz.cli.options import FILE, TableOptions, jobs_option, json_flag, read_model, rows_options, seed_option
from tamiz.cli.terminal import Messenger, show_json, show_page, show_table, show_text


@click.command("compare-tables", cls=DataCommand, short_help="Compare a new table with a known one.")
@rows_options
@click.argument("second", type=TableFile())
@click.option("-t", "--target", metavar="COLUMN", help="The column to predict, whose model is scored on both tables.")
@click.option(
    "--columns",
    "chosen",
    metavar="COLUMN",
    multiple=True,
    help="A column of that model. Repeatable; by default all columns but dates and possible leaks.",
)
@click.option(
    "--model",
    type=FILE,
    metavar="FILE",
    help="A selection that `tamiz select` or `rank` saved with --model, for its columns.",
)
@click.option(
    "-o", "--output", type=FILE, metavar="FILE", help="Write the comparison as an HTML page; - is standard output."
)
@json_flag
@seed_option
@jobs_option
@click.pass_obj
def compare_tables(
    messenger: Messenger,
    /,
    table_options: TableOptions,
    second: Path,
    chosen: tuple[str, ...],
    model: Path | None,
    output: Path | None,
    as_json: bool,
    seed: int,
    jobs: int | None,
) -> None:
    """\b
    tamiz compare-tables train.csv new.csv
    tamiz compare-tables train.csv new.csv --target class -o drift.html
    tamiz compare-tables train.csv new.csv --target class --model selection.tamiz
    tamiz compare-tables train.csv new.csv --json | jq .warnings

    Compare the table SECOND with TABLE, on which a model was built: the columns whose distributions have changed, how well a model
    recognises the table of a row, the score of a model of TABLE on SECOND, and the rows of SECOND that are far from those of TABLE.
    Columns are matched by name. In a pipe the measures of all columns are tab separated, with all digits.
    """
    table, target = table_options.table, table_options.target
    if chosen and model is not None:
        raise click.UsageError("--columns and --model both name the columns of the model: use one of them.")
    if target is None and (chosen or model is not None):
        raise click.UsageError("--columns and --model need a target: name its column with --target.")
    if as_json and output == STDOUT:
        raise click.UsageError("Only one of --output and --json can go to standard output.")
    check_output_paths([output], table, model=model)
    check_output_paths([output], second)
    from tamiz import compare_tables as run

    started = perf_counter()
    with messenger.capture_messages():
        columns = list(chosen) or (None if model is None else _selected_columns(model))
        reading = {name: value for name, value in vars(table_options).items() if name not in ("table", "target")}
        found = run(table, second, target, columns=columns, random_state=seed, n_jobs=jobs, **reading)
    if output == STDOUT:
        show_page(found.page())
    elif output is not None:
        show_text(str(found.to_html(output)))
    if as_json:
        show_json(found.to_dict())
    elif output is None and not sys.stdout.isatty():
        measures = found.to_frame("pyarrow").to_pydict()
        show_table(list(measures), list(zip(*measures.values(), strict=True)))
    from tamiz.drift.sentences import verdict_lines

    messenger.write_verdict(verdict_lines(found, perf_counter() - started))


def _selected_columns(path: Path) -> list[str]:
    """Return the columns of a saved selection; of a calendar part, its date."""
    from tamiz.exceptions import DataError
    from tamiz.selection.selector import Selector

    model = read_model(path)
    if not isinstance(model, Selector):
        raise DataError(f"{path} contains a map, which selects no columns; name them with --columns.")
    columns = [model.schema_.columns[j] for j in model.get_support(indices=True).tolist()]
    return list(dict.fromkeys(column.date_part[0] if column.date_part else column.name for column in columns))
