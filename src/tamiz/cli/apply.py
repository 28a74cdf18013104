"""`tamiz apply`: apply a saved selection or map to other rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tamiz.cli.command import DataCommand
from tamiz.cli.files import TableFile, check_output_paths, check_table_output
from tamiz.cli.options import FILE, header_option, jobs_option, json_flag, memory_option, print_read_plan, read_model
from tamiz.cli.row_output import (
    add_coordinates,
    check_kept_columns,
    escape_option,
    keep_option,
    original_columns,
    rows_option,
    write_rows,
)
from tamiz.cli.terminal import Messenger, show_json
from tamiz.runtime.verdicts import Verdict

if TYPE_CHECKING:
    import pyarrow as pa

    from tamiz.reduction.base import Reducer
    from tamiz.selection.selector import Selector
    from tamiz.table.base import Table
    from tamiz.table.schema import Schema

_COLUMN_HINT = (
    "Columns are matched by name: rename columns with other names, or use --fill-missing to treat an absent column as missing "
    "in every row."
)


@click.command(cls=DataCommand, short_help="Apply a selection or a map to other rows.")
@click.argument("model", type=FILE)
@click.argument("table", type=TableFile())
@keep_option
@click.option(
    "--fill-missing",
    is_flag=True,
    help="Treat a required column that the table lacks as missing in every row. Without this option it is an error.",
)
@rows_option
@escape_option
@header_option
@memory_option
@json_flag
@jobs_option
@click.pass_obj
def apply(
    messenger: Messenger,
    model: Path,
    table: Path,
    kept: tuple[str, ...],
    fill_missing: bool,
    output: Path | None,
    escape: bool,
    memory: int | None,
    header: bool | None,
    as_json: bool,
    jobs: int | None,
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
    check_table_output(output, "The rows")
    check_output_paths([output], table, model=model)
    from tamiz.exceptions import DataError
    from tamiz.runtime import parallel
    from tamiz.runtime.user_warnings import collect_warnings, warn_user
    from tamiz.table.factory import open_with_reader
    from tamiz.table.schema_reader import SchemaReader

    with messenger.capture_messages(), parallel.thread_session(jobs), collect_warnings() as messages:
        applied = _load_applied_model(model)
        print_read_plan(messenger, table, None, None, None, memory, header=header)
        fitted = SchemaReader(applied.needed_schema, fill_missing, applied.unknown_level_text, _COLUMN_HINT)
        opened = open_with_reader(table, fitted, memory=memory, header=header)
        warn_user(_column_notes(opened, applied, kept))
        rows = applied.output_rows(opened, kept)
        if not rows.num_columns:
            raise DataError(
                f"{model} selects no column, and {table.name} contains neither its target nor a column named by --keep."
            )
    write_rows(messenger, rows, output, to_stdout=not as_json, escape=escape)
    if as_json:
        summary = {"model": model.name, "table": table.name, "rows": opened.schema.n_rows, **applied.summary()}
        show_json({**summary, "warnings": [one.to_dict() for one in messages]})


class _AppliedModel(ABC):
    """A fitted selection or map that is applied to other rows.

    Attributes
    ----------
    schema : Schema
        The columns of the table that the model was fitted on.
    needed_schema : Schema
        The same schema with every column excluded that the model does not use.
    unknown_level_text : str
        How unknown levels are treated, as the end of a warning.
    """

    schema: Schema
    needed_schema: Schema
    unknown_level_text: str

    @property
    def roles(self) -> list[str]:
        """The names of the target, weight, group and time columns of the fit."""
        target = None if self.schema.target is None else self.schema.target.name
        return [name for name in (target, self.schema.weight, self.schema.groups, self.schema.time) if name is not None]

    @abstractmethod
    def output_rows(self, table: Table, kept: Sequence[str]) -> pa.Table:
        """Return the table to write, which includes the columns in `kept`."""

    @abstractmethod
    def summary(self) -> dict[str, Any]:
        """Return the name and the columns of the model, for JSON."""


class _AppliedSelection(_AppliedModel):
    unknown_level_text = "these values are written unchanged"

    def __init__(self, selector: Selector) -> None:
        self.schema = selector.schema_
        self._selected_names = [self.schema.names[j] for j in selector.get_support(indices=True).tolist()]
        self.needed_schema = replace(
            self.schema,
            columns=tuple(
                column
                if column.name in self._selected_names or column.exclusion_reason
                else replace(column, exclusion_reason="it is not selected")
                for column in self.schema.columns
            ),
        )

    def output_rows(self, opened: Table, kept: Sequence[str]) -> pa.Table:
        import pyarrow as pa

        check_kept_columns(opened, kept, ())
        roles = [name for name in self.roles if name in opened.column_names]
        present = [name for name in self._selected_names if name in opened.column_names]
        table = original_columns(opened, [*present, *roles, *kept])
        numbers = {column.name for column in self.schema.columns if column.is_number}
        for position, name in enumerate(self._selected_names):
            if name not in present:
                missing = pa.nulls(opened.schema.n_rows, pa.float64() if name in numbers else pa.string())
                table = table.add_column(position, name, missing)
        return table

    def summary(self) -> dict[str, Any]:
        return {"columns": self._selected_names}


class _AppliedMap(_AppliedModel):
    unknown_level_text = "these values are treated as missing"

    def __init__(self, reducer: Reducer, schema: Schema, path: Path) -> None:
        self._reducer = reducer
        self._path = path
        self.schema = self.needed_schema = schema
        self._coordinate_names: list[str] = reducer.get_feature_names_out().tolist()

    def output_rows(self, table: Table, kept: Sequence[str]) -> pa.Table:
        from tamiz.exceptions import DataError
        from tamiz.reduction.table_embedding import transform_rows

        check_kept_columns(table, kept, self._coordinate_names)
        try:
            embedding = transform_rows(self._reducer, table)
        except (ValueError, TypeError) as error:
            raise DataError(f"{self._path} cannot map the rows: {error}") from error
        return add_coordinates(original_columns(table, kept), self._coordinate_names, embedding)

    def summary(self) -> dict[str, Any]:
        return {"map": type(self._reducer).__name__, "coordinates": self._coordinate_names}


def _load_applied_model(path: Path) -> _AppliedModel:
    """Return the fitted selection or map of a file."""
    from tamiz.exceptions import DataError
    from tamiz.reduction.base import Reducer

    model = read_model(path)
    if not isinstance(model, Reducer):
        return _AppliedSelection(model)
    if model.schema_ is None:
        raise DataError(
            f"{path} contains a map that was not fitted on a table, but on distances, sparse rows, a graph or a covariance. "
            "Use load(path).transform(X) in Python."
        )
    return _AppliedMap(model, model.schema_, path)


def _column_notes(table: Table, model: _AppliedModel, kept: Sequence[str]) -> list[Verdict]:
    """Return notes on columns of the table that are not read, and on absent columns that the model does not need."""
    from tamiz.report.text import count_with_noun, join_column_names

    known = {*model.schema.names, *model.roles, *kept}
    notes: list[Verdict] = []
    if others := [name for name in table.column_names if name not in known]:
        verb = "is" if len(others) == 1 else "are"
        counted = count_with_noun(len(others), "column")
        sentence = f"{counted} that the model does not know {verb} not read: {join_column_names(others, width=80)}."
        notes.append(Verdict("TZ203", sentence, others))
    before = zip(model.schema.columns, model.needed_schema.columns, strict=True)
    unused = [old.name for old, new in before if not old.exclusion_reason and new.exclusion_reason]
    if absent := [name for name in unused if name not in table.column_names]:
        verb = "is" if len(absent) == 1 else "are"
        sentence = (
            f"{count_with_noun(len(absent), 'column')} not in the table {verb} not needed: "
            f"{join_column_names(absent, width=80)}."
        )
        notes.append(Verdict("TZ203", sentence, absent))
    return notes
