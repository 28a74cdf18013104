"""`tamiz compare-tables`: compare a new table with the one that a model was built on."""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter

import click

from tamiz.cli.command import argument, bundle, command, option
from tamiz.cli.files import check_output_paths
from tamiz.cli.options import FILE, JOBS, JSON, NO_FOLDS, SEED, TABLE, TableOptions, read_model, require_target
from tamiz.cli.terminal import STDOUT, Messenger, show_frame, show_json, write_page


@command("Compare a new table with a known one.", "compare-tables")
def compare_tables(
    messenger: Messenger,
    *,
    table: TableOptions = bundle(TableOptions, **NO_FOLDS),
    second: Path = argument(TABLE),
    chosen: tuple[str, ...] = option(
        "--columns COLUMN",
        text="A column of that model. Repeatable; by default all columns but dates and possible leaks.",
        multiple=True,
    ),
    model: Path | None = option(
        "--model FILE", FILE, "A selection that `tamiz select` or `rank` saved with --model, for its columns."
    ),
    output: Path | None = option(
        "-o --output FILE", FILE, "Write the comparison as an HTML page; - is standard output."
    ),
    as_json: bool = JSON,
    seed: int = SEED,
    jobs: int | None = JOBS,
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
    if chosen and model is not None:
        raise click.UsageError("--columns and --model both name the columns of the model: use one of them.")
    if chosen or model is not None:
        require_target("--columns" if chosen else "--model", table.target)
    check_output_paths([output, STDOUT if as_json else None], table.table, second, model=model)
    from tamiz import compare_tables as run

    started = perf_counter()
    with messenger.capture_messages():
        columns = list(chosen) or (None if model is None else _selected_columns(model))
        found = run(table.table, second, table.target, columns=columns, random_state=seed, n_jobs=jobs, **table.reading)
    if output is not None:
        write_page(found, output)
    if as_json:
        show_json(found.to_dict())
    elif output is None and not sys.stdout.isatty():
        show_frame(found.to_frame("pyarrow"))
    from tamiz.drift.result import verdict_lines

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
