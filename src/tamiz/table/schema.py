"""Schema of a table: kinds and levels of its columns, numbers of missing values, and reasons of excluded columns."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import ClassVar, Literal, Self

import numpy as np

from tamiz.arrays import Indices
from tamiz.runtime.user_warnings import list_names, quote_name
from tamiz.runtime.verdicts import Verdict
from tamiz.storage.invariants import (
    Condition,
    InstanceOf,
    Integer,
    Invariants,
    ListOf,
    Nullable,
    Number,
    OneOf,
    Strings,
)

Kind = Literal["numeric", "categorical", "boolean", "date", "text", "id"]
KINDS: tuple[Kind, ...] = ("numeric", "categorical", "boolean", "date", "text", "id")
WeightKind = Literal["frequency", "sampling"]
WEIGHT_KINDS: tuple[WeightKind, ...] = ("frequency", "sampling")
# Frequency weights with a larger mean may be sampling weights that were rounded.
_MAX_MEAN_FREQUENCY = 10

# The reason of columns that a study sets aside; it warns of them with their scores.
LEAKAGE_REASON = "possible target leakage"
# Why a map does not use a column that all else uses.
MAP_REASON = "the maps do not use it"

# Numbers as they are written in tables: without Python's underscores between digits, and finite.
_NUMBER_PATTERN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes
    ----------
    name : str
    kind : {"numeric", "categorical", "boolean", "date", "text", "id"}
        Dates are numbers, in seconds since 1970-01-01.
    levels : tuple of str
        The values of a categorical or boolean column that occur. They have the order that the table declares (nominal attributes of
        ARFF, ordered categories of pandas and Arrow, Enum of polars), otherwise they are sorted: as numbers if all are numbers, as
        text otherwise.
    n_missing : int
    constant : bool
        Whether all rows have the same value and none is missing, or all values are missing.
    exclusion_reason : str or None
        Why the column is excluded; None for a used column.
    date_part : tuple of (str, str), or None
        For a calendar part, the date that it is computed from and the part, such as ("departure", "month"). None for a column of
        the user's table.
    """

    name: str
    kind: Kind
    levels: tuple[str, ...] = ()
    n_missing: int = 0
    constant: bool = False
    exclusion_reason: str | None = None
    # Not in the repr, which `Table.fingerprint` hashes: a part is identified by its name and values.
    date_part: tuple[str, str] | None = field(default=None, repr=False)

    # Whether the values are those of another column in a different order.
    is_copy: ClassVar[bool] = False

    invariants: ClassVar[Invariants] = {
        "name": InstanceOf(str),
        "kind": OneOf(*KINDS),
        "levels": (Strings(), Condition(lambda it: len({*it.levels}) == len(it.levels), "has a level twice")),
        "n_missing": Integer(),
        "constant": InstanceOf(bool),
        "exclusion_reason": Nullable(InstanceOf(str)),
        "date_part": Nullable(Strings(2)),
    }

    @property
    def is_number(self) -> bool:
        """Whether the column is stored as float64 (numeric and date) and not as codes of levels."""
        return self.kind in ("numeric", "date")

    @property
    def is_number_like(self) -> bool:
        """Whether all values are numbers, booleans or text of digits."""
        return self.is_number or self.kind == "boolean" or all(map(_is_number_text, self.levels))


def _is_number_text(level: str) -> bool:
    try:
        float(level)
    except ValueError:
        return False
    return True


@dataclass(frozen=True)
class CopiedColumn(Column):
    """A shadow or a knockoff of a column of the user's table; messages do not count its missing values."""

    is_copy: ClassVar[bool] = True

    @classmethod
    def from_column(cls, column: Column, name: str) -> Self:
        return cls(**{one.name: getattr(column, one.name) for one in fields(column)} | {"name": name})


@dataclass(frozen=True)
class Schema:
    """The columns of a table. Columns with a role (target, weight, groups, time) are listed separately.

    Attributes
    ----------
    columns : tuple of Column
        The columns without a role, in the table's order, including excluded columns.
    n_rows : int
        Number of rows, without those whose target is missing.
    target : Column or None
        A categorical or boolean target has classes, its levels in the order of their codes.
    weight : str or None
        The name of the weights; None if rows have no weights.
    n_dropped : int
        Number of rows that were left out because their target is missing.
    notes : tuple of Verdict
        Sentences that explain how the table was read.
    groups, time : str or None
        The names of the groups and of the times of the rows; None if there are none.
    weight_kind : {"frequency", "sampling"} or None
        Whether a weight is a number of equal rows, or corrects a sampling design; None if rows have no weights.
    total_weight : float or None
        The sum of frequency weights, the effective sample size of sampling weights; None if rows have no weights.
    """

    columns: tuple[Column, ...]
    n_rows: int
    target: Column | None = None
    weight: str | None = None
    n_dropped: int = 0
    notes: tuple[Verdict, ...] = ()
    groups: str | None = None
    time: str | None = None
    # Not in the repr, which `Table.fingerprint` hashes: the weights are hashed.
    weight_kind: WeightKind | None = field(default=None, repr=False)
    total_weight: float | None = field(default=None, repr=False)

    invariants: ClassVar[Invariants] = {
        "columns": (
            ListOf(InstanceOf(Column)),
            Condition(lambda it: len({one.name for one in it.columns}) == len(it.columns), "has a name twice"),
        ),
        "n_rows": Integer(),
        "target": Nullable(InstanceOf(Column)),
        "weight": Nullable(InstanceOf(str)),
        "n_dropped": Integer(),
        "notes": Strings(),
        "groups": Nullable(InstanceOf(str)),
        "time": Nullable(InstanceOf(str)),
        "weight_kind": Nullable(OneOf(*WEIGHT_KINDS)),
        "total_weight": Nullable(Number(0.0)),
    }

    @property
    def n_effective(self) -> float:
        """The number of rows that the rows count as: `total_weight`, or `n_rows` without weights."""
        return self.n_rows if self.total_weight is None else self.total_weight

    @property
    def weight_notes(self) -> list[Verdict]:
        """A sentence on what the weights count; empty if rows have none, or if each row counts once."""
        if self.weight_kind is None or (self.weight_kind == "frequency" and self.n_effective == self.n_rows):
            return []
        if self.weight_kind == "sampling":
            size = f"{self.n_rows:,} rows have an effective sample size of {self.n_effective:,.1f}"
            return [Verdict("TZ208", f"The weights are sampling weights: {size}.")]
        counted = f"{self.n_rows:,} rows count as {self.n_effective:,.10g}"
        return [Verdict("TZ208", f"The weights are numbers of equal rows: {counted}.")]

    @property
    def large_weight_notes(self) -> list[Verdict]:
        """What to do if frequency weights, of which the table is many times larger, are sampling weights; empty otherwise."""
        if self.weight_kind != "frequency" or self.n_effective <= _MAX_MEAN_FREQUENCY * self.n_rows:
            return []
        sentence = (
            f"The weights are whole numbers, so {self.n_rows:,} rows count as {self.n_effective:,.10g}. If they correct a sampling "
            "design, pass weights='sampling' to open_table (--weights sampling)."
        )
        return [Verdict("TZ208", sentence)]

    @property
    def dropped_row_notes(self) -> list[Verdict]:
        """A sentence on the rows that were left out because their target is missing; empty if there are none."""
        rows, verb = ("row", "was") if self.n_dropped == 1 else ("rows", "were")
        sentence = f"{self.n_dropped:,} {rows} without a target {verb} left out."
        return [Verdict("TZ206", sentence)] if self.n_dropped else []

    @property
    def excluded_column_notes(self) -> list[Verdict]:
        """A sentence that lists the excluded columns with their reasons; empty if there are none."""
        excluded = [
            column
            for column in self.columns
            if column.exclusion_reason not in (None, LEAKAGE_REASON, MAP_REASON) and column.name not in self.split_dates
        ]
        if not excluded:
            return []
        verb = "is" if len(excluded) == 1 else "are"
        n_columns = sum(column.date_part is None for column in self.columns)
        listed = list_names(excluded, as_text=lambda one: f"{quote_name(one.name)} ({one.exclusion_reason})")
        sentence = f"{len(excluded):,} of {n_columns:,} columns {verb} excluded: {listed}."
        return [Verdict("TZ203", sentence, [one.name for one in excluded])]

    @property
    def raw_date_notes(self) -> list[Verdict]:
        """A sentence that lists the dates which are scored as one number each; empty if there are none."""
        used = [self.columns[j] for j in self.used.tolist()]
        dates = [column.name for column in used if column.kind == "date" and not column.constant]
        if not dates:
            return []
        subject, verb = ("Column", "a date is") if len(dates) == 1 else ("Columns", "dates are")
        sentence = (
            f"{subject} {', '.join(map(repr, dates))}: {verb} scored as one number, "
            "seconds since 1970. For year, month, weekday and hour, fit on tamiz.table.split_dates(open_table(...)). To use the "
            "number without this warning, declare the kind numeric."
        )
        return [Verdict("TZ205", sentence, dates)]

    @property
    def fit_notes(self) -> list[Verdict]:
        """Sentences for a user who fits a selector: rows and columns that are left out, and dates that are scored as numbers."""
        return [*self.dropped_row_notes, *self.excluded_column_notes, *self.raw_date_notes]

    @cached_property
    def split_dates(self) -> frozenset[str]:
        """Names of the dates that are replaced by their calendar parts."""
        return frozenset(column.date_part[0] for column in self.columns if column.date_part is not None)

    @property
    def n_columns(self) -> int:
        """Number of columns, including excluded ones. It is also the column number of the target."""
        return len(self.columns)

    @cached_property
    def names(self) -> list[str]:
        """The names of the columns; cached, because there may be 100,000: do not modify the list."""
        return [column.name for column in self.columns]

    @cached_property
    def used(self) -> Indices:
        """Numbers of the columns that are not excluded."""
        return np.array([j for j, c in enumerate(self.columns) if c.exclusion_reason is None], dtype=np.intp)

    @property
    def n_missing(self) -> int:
        """Number of missing values of the used columns, without those of copies of columns."""
        return sum(self.columns[j].n_missing for j in self.used.tolist() if not self.columns[j].is_copy)

    @cached_property
    def numeric(self) -> tuple[int, ...]:
        """Numbers of the used columns that are stored as float64."""
        return tuple(int(j) for j in self.used if self.columns[j].is_number)

    @cached_property
    def categorical(self) -> tuple[int, ...]:
        """Numbers of the used columns that are stored as codes."""
        return tuple(int(j) for j in self.used if not self.columns[j].is_number)

    @cached_property
    def n_levels(self) -> dict[int, int]:
        """Number of levels of each categorical column, by column number."""
        return {j: len(self.columns[j].levels) for j in self.categorical}

    @cached_property
    def n_coordinates(self) -> int:
        """Number of coordinates of an encoded row: one per numeric column and one per level of the categorical columns."""
        return len(self.numeric) + sum(self.n_levels.values())

    @property
    def has_classes(self) -> bool:
        return self.target is not None and not self.target.is_number

    @property
    def n_classes(self) -> int:
        """Number of classes of the target; 0 if it has none."""
        return len(self.target.levels) if self.target is not None and self.has_classes else 0

    def column(self, j: int) -> Column:
        """Return column j, or the target for j = n_columns."""
        if j < self.n_columns:
            return self.columns[j]
        if self.target is None:
            raise IndexError("The table has no target.")
        return self.target


def sort_levels(levels: Iterable[str]) -> list[str]:
    """Sort levels as numbers if all are numbers, otherwise as text, so that the order does not depend on the type of table."""
    listed = list(levels)
    if all(_NUMBER_PATTERN.fullmatch(level) and math.isfinite(float(level)) for level in listed):
        # Integers are compared exactly: beyond 2**53 float64 would merge several.
        return sorted(listed, key=lambda level: (int(level) if level.lstrip("+-").isdecimal() else float(level), level))
    return sorted(listed)


def merge_date_parts(schema: Schema) -> Schema:
    """Return the schema of the user's table for a schema with calendar parts: a date is used if one of its parts is used."""
    if not schema.split_dates:
        return schema
    needed = {column.date_part[0] for column in schema.columns if column.date_part and column.exclusion_reason is None}
    own = (column for column in schema.columns if not column.date_part)
    return replace(schema, columns=tuple(replace(c, exclusion_reason=None) if c.name in needed else c for c in own))
