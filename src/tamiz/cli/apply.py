"""`tamiz apply`: a selection or a map on other rows."""

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

if TYPE_CHECKING:
    import pyarrow as pa

    from tamiz.cli.options import Selector
    from tamiz.reduction.base import Reducer
    from tamiz.sources.base import Source
    from tamiz.sources.schema import Schema

_COLUMN_HINT = (
    "Columns are taken by name: rename what is called otherwise; --fill-missing takes a column that is not there as missing "
    "in every row."
)


@click.command(cls=DataCommand, short_help="Apply a selection or a map to other rows.")
@click.argument("model", type=FILE)
@click.argument("table", type=TableFile())
@keep_option
@click.option(
    "--fill-missing",
    is_flag=True,
    help="Take a column that is needed and not there as missing in every row; without it that is an error.",
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
    tamiz apply map.tamiz tomorrow.csv --keep id -o places.csv

    Apply MODEL, a file that `tamiz select`, `rank` or `reduce` wrote by --model, to the rows of TABLE: write the chosen
    columns, with the target and the weights where they are there, or the coordinates of the rows.

    Columns are found by name, in any order, and others are not read. Kinds and levels are those of the model's own table,
    and nothing is guessed anew. To a map a level that was not there is a missing value; a selection writes it as it is. A row
    that is equal to one of the model's table gets the place of that.
    """
    check_table_output(output, "The rows")
    check_output_paths([output], table, model=model)
    from tamiz.exceptions import DataError
    from tamiz.runtime import parallel
    from tamiz.runtime.user_warnings import collect_warnings, warn_user
    from tamiz.sources.factory import open_with_reader
    from tamiz.sources.schema_reader import SchemaReader

    with messenger.capture_messages(), parallel.thread_session(jobs), collect_warnings() as told:
        applied = _load_applied_model(model)
        print_read_plan(messenger, table, None, None, None, memory, header=header)
        fitted = SchemaReader(applied.needed_schema, fill_missing, applied.unknown_level_text, _COLUMN_HINT)
        source = open_with_reader(table, fitted, memory=memory, header=header)
        warn_user(_column_notes(source, applied, kept))
        rows = applied.output_rows(source, kept)
        if not rows.num_columns:
            raise DataError(
                f"{model} keeps no column, and {table.name} has neither its target nor anything else to keep."
            )
    write_rows(messenger, rows, output, to_stdout=not as_json, escape=escape)
    if as_json:
        summary = {"model": model.name, "table": table.name, "rows": source.schema.n_rows, **applied.summary()}
        show_json({**summary, "notes": told})


class _AppliedModel(ABC):
    """What is done with other rows.

    Attributes
    ----------
    schema : Schema
        The columns of fit.
    needed_schema : Schema
        The same, of which only those take part that are needed.
    unknown_level_text : str
        What becomes of unknown levels.
    """

    schema: Schema
    needed_schema: Schema
    unknown_level_text: str

    @property
    def roles(self) -> list[str]:
        """The columns with a role in fit."""
        target = None if self.schema.target is None else self.schema.target.name
        return [name for name in (target, self.schema.weight, self.schema.groups, self.schema.time) if name is not None]

    @abstractmethod
    def output_rows(self, source: Source, kept: Sequence[str]) -> pa.Table:
        """Return what is written, with columns to keep beside it."""

    @abstractmethod
    def summary(self) -> dict[str, Any]:
        """Return what it is, for JSON."""


class _AppliedSelection(_AppliedModel):
    unknown_level_text = "such a value is written as it is"

    def __init__(self, selector: Selector) -> None:
        self.schema = selector.schema_
        self._chosen_names = [self.schema.names[j] for j in selector.get_support(indices=True).tolist()]
        self.needed_schema = replace(
            self.schema,
            columns=tuple(
                column
                if column.name in self._chosen_names or column.exclusion_reason
                else replace(column, exclusion_reason="it is not chosen")
                for column in self.schema.columns
            ),
        )

    def output_rows(self, source: Source, kept: Sequence[str]) -> pa.Table:
        import pyarrow as pa

        check_kept_columns(source, kept, ())
        roles = [name for name in self.roles if name in source.column_names]
        there = [name for name in self._chosen_names if name in source.column_names]
        table = original_columns(source, [*there, *roles, *kept])
        numbers = {column.name for column in self.schema.columns if column.is_number}
        for place, name in enumerate(self._chosen_names):
            if name not in there:
                nothing = pa.nulls(source.schema.n_rows, pa.float64() if name in numbers else pa.string())
                table = table.add_column(place, name, nothing)
        return table

    def summary(self) -> dict[str, Any]:
        return {"columns": self._chosen_names}


class _AppliedMap(_AppliedModel):
    unknown_level_text = "such a value counts as missing"

    def __init__(self, reducer: Reducer, schema: Schema, path: Path) -> None:
        self._reducer = reducer
        self._path = path
        self.schema = self.needed_schema = schema
        self._coordinate_names: list[str] = reducer.get_feature_names_out().tolist()

    def output_rows(self, source: Source, kept: Sequence[str]) -> pa.Table:
        from tamiz._study.table_embedding import transform_rows
        from tamiz.exceptions import DataError

        check_kept_columns(source, kept, self._coordinate_names)
        try:
            places = transform_rows(self._reducer, source)
        except (ValueError, TypeError) as error:
            raise DataError(f"{self._path} cannot place the rows: {error}") from error
        return add_coordinates(original_columns(source, kept), self._coordinate_names, places)

    def summary(self) -> dict[str, Any]:
        return {"map": type(self._reducer).__name__, "coordinates": self._coordinate_names}


def _load_applied_model(path: Path) -> _AppliedModel:
    """Return what a model does with other rows."""
    from tamiz.exceptions import DataError
    from tamiz.reduction.base import Reducer

    model = read_model(path)
    if not isinstance(model, Reducer):
        return _AppliedSelection(model)
    if model.schema_ is None:
        raise DataError(
            f"{path} holds a map of what is no table: of distances, sparse rows, a graph or a covariance. In Python, "
            "load(path).transform(X) places what was given so."
        )
    return _AppliedMap(model, model.schema_, path)


def _column_notes(source: Source, model: _AppliedModel, kept: Sequence[str]) -> list[str]:
    """Return which columns were passed over, and which are not there and not needed either."""
    from tamiz.report.text import count_with_noun, join_names

    known = {*model.schema.names, *model.roles, *kept}
    told = []
    if others := [name for name in source.column_names if name not in known]:
        verb = "is" if len(others) == 1 else "are"
        told.append(
            f"{count_with_noun(len(others), 'column')} that the model does not know {verb} not read: {join_names(others, width=80)}."
        )
    before = zip(model.schema.columns, model.needed_schema.columns, strict=True)
    needless = [old.name for old, new in before if not old.exclusion_reason and new.exclusion_reason]
    if absent := [name for name in needless if name not in source.column_names]:
        verb = "is" if len(absent) == 1 else "are"
        told.append(
            f"{count_with_noun(len(absent), 'column')} not there {verb} not needed: {join_names(absent, width=80)}."
        )
    return told
