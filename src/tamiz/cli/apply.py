"""`tamiz apply`: apply a saved selection or map to other rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tamiz.cli.command import argument, bundle, command, flag
from tamiz.cli.files import (
    add_coordinates,
    check_kept_columns,
    check_output_paths,
    check_table_output,
    original_columns,
)
from tamiz.cli.options import FILE, NO_FOLDS, THREADS, RowOutput, TableOptions, Workers, read_model
from tamiz.cli.terminal import Messenger
from tamiz.runtime.verdicts import Verdict

if TYPE_CHECKING:
    import pyarrow as pa

    from tamiz.table.base import Table
    from tamiz.table.schema import Schema

_COLUMN_HINT = (
    "Columns are matched by name: rename columns with other names, or use --fill-missing to treat an absent column as missing "
    "in every row."
)


@command("Apply a selection or a map to other rows.")
def apply(
    messenger: Messenger,
    *,
    model: Path = argument(FILE),
    table: TableOptions = bundle(TableOptions, target=None, kinds=None, weight=None, weights=None, **NO_FOLDS),
    rows: RowOutput = bundle(RowOutput),
    fill_missing: bool = flag(
        "--fill-missing",
        "Treat a required column that the table lacks as missing in every row. Without this option it is an error.",
    ),
    workers: Workers = THREADS,
) -> None:
    """\b
    tamiz select data.csv --target class --model columns.tamiz
    tamiz apply columns.tamiz tomorrow.csv -o selected.csv
    tamiz reduce data.csv --target class --model map.tamiz
    tamiz apply map.tamiz tomorrow.csv --keep id -o coordinates.csv

    Apply MODEL, a file that `tamiz select`, `rank` or `reduce` wrote with --model, to the rows of TABLE. A selection
    writes the selected columns, and the target, weights, groups and times where TABLE has them. A map writes the
    coordinates of the rows.

    Columns are matched by name, in any order; other columns are not read. Kinds and levels are those of the table that the
    model was fitted on. A map treats an unknown level as a missing value; a selection writes it unchanged. A row that is
    equal to a row of the fitted table gets the same coordinates.
    """
    check_table_output(rows.output, "The rows")
    check_output_paths([rows.output], table.table, model=model)
    from tamiz.exceptions import DataError
    from tamiz.reduction.base import Reducer
    from tamiz.reduction.table_embedding import transform_rows
    from tamiz.runtime.user_warnings import collect_warnings, warn_user
    from tamiz.table.build import SchemaReader
    from tamiz.table.factory import open_with_reader

    with workers.session(messenger), collect_warnings() as messages:
        fitted = read_model(model)
        schema, is_map = fitted.schema_, isinstance(fitted, Reducer)
        if schema is None:
            raise DataError(
                f"{model} contains a map that was not fitted on a table, but on distances, sparse rows, a graph or a covariance. "
                "Use load(path).transform(X) in Python."
            )
        if is_map:
            names = fitted.get_feature_names_out().tolist()
            needed, unknown_level_text = schema, "these values are treated as missing"
        else:
            names = [schema.names[j] for j in fitted.get_support(indices=True).tolist()]
            needed, unknown_level_text = _exclude_others(schema, names), "these values are written unchanged"
        roles = [name for name in (schema.weight, schema.groups, schema.time) if name is not None]
        roles = [*(() if schema.target is None else (schema.target.name,)), *roles]
        table.print_read_plan(messenger)
        reader = SchemaReader(needed, fill_missing, unknown_level_text, _COLUMN_HINT)
        opened = open_with_reader(table.table, reader, memory=table.memory, **table.file)
        warn_user(_column_notes(opened.column_names, schema, needed, [*roles, *rows.kept]))
        check_kept_columns(opened, rows.kept, names if is_map else ())
        if is_map:
            try:
                embedding = transform_rows(fitted, opened)
            except (ValueError, TypeError) as error:
                raise DataError(f"{model} cannot map the rows: {error}") from error
            written = add_coordinates(original_columns(opened, rows.kept), names, embedding)
        else:
            written = _selected_rows(opened, schema, names, [*roles, *rows.kept])
        if not written.num_columns:
            raise DataError(
                f"{model} selects no column, and {table.table.name} contains neither its target nor a column named by --keep."
            )
    found = {"map": type(fitted).__name__, "coordinates": names} if is_map else {"columns": names}
    summary = {"model": model.name, "table": table.table.name, "rows": opened.schema.n_rows, **found}
    rows.write(messenger, written, {**summary, "warnings": [one.to_dict() for one in messages]})


def _exclude_others(schema: Schema, selected: Sequence[str]) -> Schema:
    columns = [
        column
        if column.name in selected or column.exclusion_reason
        else replace(column, exclusion_reason="it is not selected")
        for column in schema.columns
    ]
    return replace(schema, columns=tuple(columns))


def _selected_rows(opened: Table, schema: Schema, selected: Sequence[str], others: Sequence[str]) -> pa.Table:
    """Return the selected columns, with missing values where the table lacks one, and the others that it has."""
    import pyarrow as pa

    present = set(opened.column_names)
    rows = original_columns(opened, [name for name in [*selected, *others] if name in present])
    numbers = {column.name for column in schema.columns if column.is_number}
    for position, name in enumerate(selected):
        if name not in present:
            missing = pa.nulls(opened.schema.n_rows, pa.float64() if name in numbers else pa.string())
            rows = rows.add_column(position, name, missing)
    return rows


def _column_notes(names: Sequence[str], schema: Schema, needed: Schema, others: Sequence[str]) -> list[Verdict]:
    """Return notes on columns of the table that are not read, and on absent columns that the model does not need."""
    from tamiz.report.text import count_with_noun, join_column_names

    known = {*schema.names, *others}
    before = zip(schema.columns, needed.columns, strict=True)
    unused = [old.name for old, new in before if not old.exclusion_reason and new.exclusion_reason]
    notes = [
        ([name for name in names if name not in known], "that the model does not know", "not read"),
        ([name for name in unused if name not in names], "not in the table", "not needed"),
    ]
    verdicts = []
    for found, which, state in notes:
        are, counted = "is" if len(found) == 1 else "are", count_with_noun(len(found), "column")
        sentence = f"{counted} {which} {are} {state}: {join_column_names(found, width=80)}."
        verdicts += [Verdict("TZ203", sentence, found)] if found else []
    return verdicts
