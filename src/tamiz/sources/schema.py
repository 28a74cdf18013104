"""What a table's columns are: kinds, levels, gaps, and which are left out and why."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tamiz.storage.invariants import Condition, InstanceOf, Integer, Invariants, ListOf, Nullable, OneOf, Strings

Kind = Literal["numeric", "categorical", "boolean", "date", "text", "id"]
KINDS: tuple[Kind, ...] = ("numeric", "categorical", "boolean", "date", "text", "id")

# As many columns left out are named in one sentence.
_MAX_NAMED = 5
# What a table writes for a number: neither Python's digits in groups nor the words for what is not finite.
_NUMBER_PATTERN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes
    ----------
    name : str
    kind : {"numeric", "categorical", "boolean", "date", "text", "id"}
        Dates count as numbers: seconds since 1970-01-01.
    levels : tuple of str
        The values of a categorical or boolean column that occur, in the order that the table declares (nominal attributes of ARFF,
        ordered categories of pandas and Arrow, an Enum of polars), otherwise sorted: as numbers where all are numbers, as text
        otherwise.
    n_missing : int
    constant : bool
        Whether every row holds the same value and none is missing, or no value is present at all.
    exclusion_reason : str or None
        Why the column takes no part, or None.
    date_part : tuple of (str, str), or None
        The date that a calendar part is computed from, and the part: ("departure", "month"). None for a column of the user's table.
    """

    name: str
    kind: Kind
    levels: tuple[str, ...] = ()
    n_missing: int = 0
    constant: bool = False
    exclusion_reason: str | None = None
    # Fingerprints are of this text, and a part is known by its name and values.
    date_part: tuple[str, str] | None = field(default=None, repr=False)

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
        """Whether the column is held as float64 (numeric and date) rather than as codes of levels."""
        return self.kind in ("numeric", "date")


@dataclass(frozen=True)
class Schema:
    """The columns of a table, those of a role (target, weight, groups, time) apart.

    Attributes
    ----------
    columns : tuple of Column
        Every column without a role, in the table's order, those left out among them.
    n_rows : int
        Rows that count: those with a target, where there is one.
    target : Column or None
        Categorical or boolean: classes, the levels in code order. Numeric: a number.
    weight : str or None
        The name of the weights, where rows have any.
    n_dropped : int
        Rows left out because their target is missing.
    notes : tuple of str
        What a reader of the numbers must know, a sentence each.
    groups, time : str or None
        The names of the rows' groups and of their times, where they have any.
    """

    columns: tuple[Column, ...]
    n_rows: int
    target: Column | None = None
    weight: str | None = None
    n_dropped: int = 0
    notes: tuple[str, ...] = ()
    groups: str | None = None
    time: str | None = None

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
    }

    @property
    def dropped_row_notes(self) -> list[str]:
        """The sentence that tells of rows left out, none where every row counts."""
        rows = "row" if self.n_dropped == 1 else "rows"
        return [f"{self.n_dropped:,} {rows} without a target left out."] if self.n_dropped else []

    @property
    def excluded_column_notes(self) -> list[str]:
        """The sentence that tells of columns that take no part, none where every column does."""
        out = [
            f"{column.name} ({column.exclusion_reason})"
            for column in self.columns
            if column.exclusion_reason is not None and column.name not in self.split_dates
        ]
        if not out:
            return []
        verb = "takes" if len(out) == 1 else "take"
        more = f", and {len(out) - _MAX_NAMED:,} more" if len(out) > _MAX_NAMED else ""
        named = ", ".join(out[:_MAX_NAMED])
        n_given = sum(column.date_part is None for column in self.columns)
        return [f"{len(out):,} of {n_given:,} columns {verb} no part: {named}{more}."]

    @cached_property
    def split_dates(self) -> frozenset[str]:
        """Names of the dates that take part by their calendar parts."""
        return frozenset(column.date_part[0] for column in self.columns if column.date_part is not None)

    @property
    def n_columns(self) -> int:
        """Number of columns, those left out among them. As a column's number it stands for the target."""
        return len(self.columns)

    @cached_property
    def names(self) -> list[str]:
        """The columns' names; made once, for there may be 100,000, and not to be changed."""
        return [column.name for column in self.columns]

    @cached_property
    def used(self) -> NDArray[np.intp]:
        """Numbers of the columns that take part."""
        return np.array([j for j, c in enumerate(self.columns) if c.exclusion_reason is None], dtype=np.intp)

    @cached_property
    def numeric(self) -> tuple[int, ...]:
        """Numbers of the columns held as float64."""
        return tuple(int(j) for j in self.used if self.columns[j].is_number)

    @cached_property
    def categorical(self) -> tuple[int, ...]:
        """Numbers of the columns held as codes."""
        return tuple(int(j) for j in self.used if not self.columns[j].is_number)

    @cached_property
    def n_levels(self) -> dict[int, int]:
        """How many levels each column has that is held as codes."""
        return {j: len(self.columns[j].levels) for j in self.categorical}

    @cached_property
    def n_coordinates(self) -> int:
        """How many numbers most models and maps see of a row: each number, and an indicator for every level."""
        return len(self.numeric) + sum(self.n_levels.values())

    @property
    def has_classes(self) -> bool:
        """Whether the target is a set of classes."""
        return self.target is not None and not self.target.is_number

    @property
    def n_classes(self) -> int:
        """Number of classes of the target, 0 where it has none."""
        return len(self.target.levels) if self.target is not None and self.has_classes else 0

    def column(self, j: int) -> Column:
        """Return column j, or the target for j = n_columns."""
        if j < self.n_columns:
            return self.columns[j]
        if self.target is None:
            raise IndexError("The table has no target.")
        return self.target


def sort_levels(levels: Iterable[str]) -> list[str]:
    """Sort levels as numbers where every one is a number, as text otherwise: one order whatever the source."""
    listed = list(levels)
    if all(_NUMBER_PATTERN.fullmatch(level) and math.isfinite(float(level)) for level in listed):
        # Whole numbers as they are: beyond 2**53 several are one as floats.
        return sorted(listed, key=lambda level: (int(level) if level.lstrip("+-").isdecimal() else float(level), level))
    return sorted(listed)
