"""`tamiz apply`: a selection or a map on other rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tamiz.cli.command import Work
from tamiz.cli.models import read_model
from tamiz.cli.options import FILE, header_option, jobs_option, json_flag, memory_option, tell_plan
from tamiz.cli.piped import TableFile
from tamiz.cli.places import check_places, check_table_output
from tamiz.cli.rows import (
    check_kept,
    columns_as_given,
    deliver,
    escape_option,
    keep_option,
    rows_option,
    with_coordinates,
)
from tamiz.cli.terminal import Voice, show_json

if TYPE_CHECKING:
    import pyarrow as pa

    from tamiz.cli.models import Selector
    from tamiz.reduction.base import Reducer
    from tamiz.sources.base import Source
    from tamiz.sources.schema import Schema

_WAY_OUT = (
    "Columns are taken by name: rename what is called otherwise; --fill-missing takes a column that is not there as missing "
    "in every row."
)


@click.command(cls=Work, short_help="Apply a selection or a map to other rows.")
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
    voice: Voice,
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
    check_places([output], table, model=model)
    from tamiz import parallel
    from tamiz.exceptions import DataError
    from tamiz.sources.fitted import Fitted
    from tamiz.sources.open import open_fitted
    from tamiz.warn import collected, tell

    with voice.at_work(), parallel.session(jobs), collected() as told:
        applied = _applied(model)
        tell_plan(voice, table, None, None, None, memory, header=header)
        fitted = Fitted(applied.read, fill_missing, applied.fate, _WAY_OUT)
        source = open_fitted(table, fitted, memory=memory, header=header)
        tell(_on_columns(source, applied, kept))
        rows = applied.rows(source, kept)
        if not rows.num_columns:
            raise DataError(
                f"{model} keeps no column, and {table.name} has neither its target nor anything else to keep."
            )
    deliver(voice, rows, output, shown=not as_json, escape=escape)
    if as_json:
        summary = {"model": model.name, "table": table.name, "rows": source.schema.n_rows, **applied.summary()}
        show_json({**summary, "notes": told})


class _Applied(ABC):
    """What is done with other rows.

    Attributes
    ----------
    schema : Schema
        The columns of fit.
    read : Schema
        The same, of which only those take part that are needed.
    fate : str
        What becomes of unknown levels.
    """

    schema: Schema
    read: Schema
    fate: str

    @property
    def roles(self) -> list[str]:
        """The columns with a role in fit."""
        target = None if self.schema.target is None else self.schema.target.name
        return [name for name in (target, self.schema.weight, self.schema.groups, self.schema.time) if name is not None]

    @abstractmethod
    def rows(self, source: Source, kept: Sequence[str]) -> pa.Table:
        """Return what is written, with columns to keep beside it."""

    @abstractmethod
    def summary(self) -> dict[str, Any]:
        """Return what it is, for JSON."""


class _Selection(_Applied):
    fate = "such a value is written as it is"

    def __init__(self, selector: Selector) -> None:
        self.schema = selector.schema_
        self._chosen = [self.schema.names[j] for j in selector.get_support(indices=True).tolist()]
        self.read = replace(
            self.schema,
            columns=tuple(
                column
                if column.name in self._chosen or column.left_out
                else replace(column, left_out="it is not chosen")
                for column in self.schema.columns
            ),
        )

    def rows(self, source: Source, kept: Sequence[str]) -> pa.Table:
        import pyarrow as pa

        check_kept(source, kept, ())
        roles = [name for name in self.roles if name in source.given]
        there = [name for name in self._chosen if name in source.given]
        table = columns_as_given(source, [*there, *roles, *kept])
        numbers = {column.name for column in self.schema.columns if column.is_number}
        for place, name in enumerate(self._chosen):
            if name not in there:
                nothing = pa.nulls(source.schema.n_rows, pa.float64() if name in numbers else pa.string())
                table = table.add_column(place, name, nothing)
        return table

    def summary(self) -> dict[str, Any]:
        return {"columns": self._chosen}


class _Map(_Applied):
    fate = "such a value counts as missing"

    def __init__(self, reducer: Reducer, schema: Schema, path: Path) -> None:
        self._reducer = reducer
        self._path = path
        self.schema = self.read = schema
        self._names: list[str] = reducer.get_feature_names_out().tolist()

    def rows(self, source: Source, kept: Sequence[str]) -> pa.Table:
        from tamiz.exceptions import DataError
        from tamiz.steps.placing import place_rows

        check_kept(source, kept, self._names)
        try:
            places = place_rows(self._reducer, source)
        except (ValueError, TypeError) as error:
            raise DataError(f"{self._path} cannot place the rows: {error}") from error
        return with_coordinates(columns_as_given(source, kept), self._names, places)

    def summary(self) -> dict[str, Any]:
        return {"map": type(self._reducer).__name__, "coordinates": self._names}


def _applied(path: Path) -> _Applied:
    """Return what a model does with other rows."""
    from tamiz.exceptions import DataError
    from tamiz.reduction.base import Reducer

    model = read_model(path)
    if not isinstance(model, Reducer):
        return _Selection(model)
    if model.schema_ is None:
        raise DataError(
            f"{path} holds a map of what is no table: of distances, sparse rows, a graph or a covariance. In Python, "
            "load(path).transform(X) places what was given so."
        )
    return _Map(model, model.schema_, path)


def _on_columns(source: Source, applied: _Applied, kept: Sequence[str]) -> list[str]:
    """Return which columns were passed over, and which are not there and not needed either."""
    from tamiz.report.text import counted, listed

    known = {*applied.schema.names, *applied.roles, *kept}
    told = []
    if others := [name for name in source.given if name not in known]:
        verb = "is" if len(others) == 1 else "are"
        told.append(
            f"{counted(len(others), 'column')} that the model does not know {verb} not read: {listed(others, width=80)}."
        )
    before = zip(applied.schema.columns, applied.read.columns, strict=True)
    needless = [old.name for old, new in before if not old.left_out and new.left_out]
    if absent := [name for name in needless if name not in source.given]:
        verb = "is" if len(absent) == 1 else "are"
        told.append(f"{counted(len(absent), 'column')} not there {verb} not needed: {listed(absent, width=80)}.")
    return told
